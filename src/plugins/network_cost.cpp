#include "gangsched/plugins/network_cost.hpp"

#include <algorithm>
#include <map>

#include "gangsched/framework/argument_reader.hpp"

namespace gangsched {
namespace detail {

/// Members per role, in all or in one domain.
using role_counts = std::vector<std::int64_t>;

/// Pairs times weights times costs of a large group do not fit into 64 bits.
__extension__ using wide = __int128;

/// Demanded pairs among members of these counts.
GANGSCHED_INLINE wide demanded_pairs(const std::vector<network_cost::demand>& demands, const std::vector<std::string_view>& roles,
                                             const role_counts& count) {
  if (demands.empty()) return wide{count[0]} * (count[0] - 1) / 2;
  const auto of = [&](const std::string& role) {
    return count[static_cast<std::size_t>(std::find(roles.begin(), roles.end(), role) - roles.begin())];
  };
  wide pairs = 0;
  for (const network_cost::demand& one : demands) {
    const wide here = one.from == one.to ? wide{of(one.from)} * (of(one.from) - 1) / 2 : wide{of(one.from)} * of(one.to);
    pairs += here * one.weight;
  }
  return pairs;
}

}  // namespace detail

GANGSCHED_INLINE std::optional<error> network_cost::check(const options& chosen) {
  constexpr std::int64_t most = 1'000'000;
  const auto wrong = [](std::string field, const char* why) {
    return error{errc::out_of_range, "plugin NetworkCost", std::move(field), why};
  };
  std::int64_t before = 0;
  for (std::size_t i = 0; i < chosen.levels.size(); ++i) {
    const std::string at = "levels[" + std::to_string(i) + "].";
    if (chosen.levels[i].key.empty()) return wrong(at + "key", "is empty");
    if (chosen.levels[i].cost < before || chosen.levels[i].cost > most) return wrong(at + "cost", "is below the level before, or above 1000000");
    before = chosen.levels[i].cost;
  }
  if (chosen.beyond < std::max<std::int64_t>(before, 1) || chosen.beyond > most) {
    return wrong("beyond", "is below the last level's cost or 1, or above 1000000");
  }
  for (std::size_t i = 0; i < chosen.demands.size(); ++i) {
    const demand& one = chosen.demands[i];
    if (one.weight < 1 || one.weight > 1000) return wrong("demands[" + std::to_string(i) + "].weight", "is not in 1 to 1000");
  }
  return std::nullopt;
}

GANGSCHED_INLINE std::int64_t network_cost::score_placement(const group_view& group, const placement_view&,
                                                            std::span<const assignment>) const {
  std::vector<std::string_view> roles;
  for (const demand& one : options_.demands) {
    for (const std::string* role : {&one.from, &one.to}) {
      if (std::find(roles.begin(), roles.end(), *role) == roles.end()) roles.push_back(*role);
    }
  }
  if (roles.empty()) roles.push_back({});
  const detail::role_counts none(roles.size(), 0);
  detail::role_counts everybody = none;
  std::map<row_t, detail::role_counts> by_node;
  std::vector<std::map<std::string_view, detail::role_counts>> by_level(options_.levels.size());
  group.each_pod_below([&](const pod_info& member) {
    const std::optional<node_info> node = member.node();
    const auto role = options_.demands.empty() ? roles.begin() : std::find(roles.begin(), roles.end(), member.role());
    if (!node || role == roles.end()) return;
    const auto which = static_cast<std::size_t>(role - roles.begin());
    const auto count = [&](auto& counts, const auto& key) { ++counts.try_emplace(key, none).first->second[which]; };
    ++everybody[which];
    count(by_node, node->id().row);
    for (std::size_t i = 0; i < by_level.size(); ++i) {
      if (const auto value = node->label(std::string_view{options_.levels[i].key})) count(by_level[i], *value);
    }
  });
  const auto pairs_in = [&](const auto& domains) {
    detail::wide pairs = 0;
    for (const auto& [domain, counts] : domains) pairs += detail::demanded_pairs(options_.demands, roles, counts);
    return pairs;
  };
  const detail::wide all = detail::demanded_pairs(options_.demands, roles, everybody);
  if (all == 0) return max_node_score;
  detail::wide nearer = pairs_in(by_node), total = 0;
  std::int64_t dearest = 0;
  const auto add = [&](detail::wide pairs, std::int64_t cost) {
    if (pairs <= nearer) return;  // a level that is none: its domains lie across those before
    total += (pairs - nearer) * cost;
    dearest = cost;
    nearer = pairs;
  };
  for (std::size_t i = 0; i < by_level.size(); ++i) add(pairs_in(by_level[i]), options_.levels[i].cost);
  add(all, options_.beyond);
  const bool by_total = options_.objective == objective::total;
  return by_total ? max_node_score - static_cast<std::int64_t>(max_node_score * total / (options_.beyond * all))
                  : max_node_score - max_node_score * dearest / options_.beyond;
}

GANGSCHED_INLINE result<network_cost> network_cost::from(const argument& args) {
  options chosen;
  argument_reader read{name};
  const auto read_level = [&](const argument& item, const std::string& at) {
    level& one = chosen.levels.emplace_back();
    return read.fields(item, at, [&](std::string_view field, const argument& v, const std::string& here) {
      if (field == "key") return read.text(v, here, one.key);
      return field == "cost" ? read.number(v, here, 0, 1'000'000, one.cost) : read.unknown(here);
    });
  };
  const auto read_demand = [&](const argument& item, const std::string& at) {
    demand& one = chosen.demands.emplace_back();
    return read.fields(item, at, [&](std::string_view field, const argument& v, const std::string& here) {
      if (field == "from") return read.text(v, here, one.from);
      if (field == "to") return read.text(v, here, one.to);
      return field == "weight" ? read.number(v, here, 1, 1000, one.weight) : read.unknown(here);
    });
  };
  const bool fine = read.root(args, [&](std::string_view key, const argument& value, const std::string& path) {
    if (key == "levels") return read.items(value, path, read_level);
    if (key == "demands") return read.items(value, path, read_demand);
    if (key == "beyond") return read.number(value, path, 1, 1'000'000, chosen.beyond);
    if (key != "objective") return read.unknown(path);
    std::string text;
    if (!read.text(value, path, text)) return false;
    if (text == "Maximum") chosen.objective = objective::maximum;
    else if (text != "Total") return read.fail(errc::malformed, path, "is not Total or Maximum");
    return true;
  });
  if (!fine) return std::move(read).failure();
  if (auto wrong = check(chosen)) return std::move(*wrong);
  return network_cost{std::move(chosen)};
}

}  // namespace gangsched
