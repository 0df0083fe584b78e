#include "gangsched/plugins/network_cost.hpp"

#include <algorithm>
#include <map>

#include "gangsched/framework/argument_reader.hpp"

namespace gangsched::inline GANGSCHED_ABI {
namespace detail {

/// Members per role, in all or in one domain.
using role_counts = std::vector<std::int64_t>;

/// Pairs times weights times costs of a large group do not fit into 64 bits.
__extension__ using wide = __int128;

/// Demanded pairs among members of these counts.
GANGSCHED_INLINE wide demanded_pairs(const std::vector<network_cost::demand>& demands,
                                     const std::vector<std::string_view>& roles, const role_counts& count) {
  if (demands.empty()) return wide{count[0]} * (count[0] - 1) / 2;
  const auto of = [&](const std::string& role) {
    return count[static_cast<std::size_t>(std::find(roles.begin(), roles.end(), role) - roles.begin())];
  };
  wide pairs = 0;
  for (const network_cost::demand& one : demands) {
    const wide here =
        one.from == one.to ? wide{of(one.from)} * (of(one.from) - 1) / 2 : wide{of(one.from)} * of(one.to);
    pairs += here * one.weight;
  }
  return pairs;
}

/// Some members, by role: all of them, and those of each domain.
struct traffic_counts {
  role_counts everybody;
  std::map<row_t, role_counts> by_node;
  std::vector<std::map<std::string_view, role_counts>> by_level;

  /// @p none: 0 of each role. @p levels: the values of the member's node; none where it lacks the label.
  void add(std::size_t role, const role_counts& none, row_t node,
           const std::vector<std::optional<std::string_view>>& levels) {
    const auto count = [&](auto& counts, const auto& key) { ++counts.try_emplace(key, none).first->second[role]; };
    everybody.resize(none.size(), 0);
    by_level.resize(levels.size());
    ++everybody[role];
    count(by_node, node);
    for (std::size_t i = 0; i < levels.size(); ++i) {
      if (levels[i]) count(by_level[i], *levels[i]);
    }
  }

  /// Demanded pairs on one node, in one domain of each level, and in all.
  [[nodiscard]] std::vector<wide> pairs(const std::vector<network_cost::demand>& demands,
                                        const std::vector<std::string_view>& roles) const {
    std::vector<wide> all;
    const auto sum = [&](const auto& domains) {
      wide& pairs = all.emplace_back(0);
      for (const auto& [domain, counts] : domains) pairs += demanded_pairs(demands, roles, counts);
    };
    sum(by_node);
    for (const auto& level : by_level) sum(level);
    all.push_back(demanded_pairs(demands, roles, everybody));
    return all;
  }
};

struct traffic_cost {
  wide total = 0;
  std::int64_t dearest = 0;

  void add(wide pairs, std::int64_t cost) {
    if (pairs <= 0) return;
    total += pairs * cost;
    dearest = std::max(dearest, cost);
  }
  /// @p pairs as `traffic_counts` has them. Nothing costs more than @p most.
  void add_levels(const std::vector<wide>& pairs, const network_cost::options& chosen, std::int64_t most) {
    wide nearer = pairs.front();
    for (std::size_t i = 1; i < pairs.size(); ++i) {
      if (pairs[i] <= nearer) continue;  // a level that is none: its domains lie across those before
      add(pairs[i] - nearer, std::min(most, i <= chosen.levels.size() ? chosen.levels[i - 1].cost : chosen.beyond));
      nearer = pairs[i];
    }
  }
};

GANGSCHED_INLINE const network_cost::level* level_of(const network_cost::options& chosen, const std::string& key) {
  const auto found =
      std::find_if(chosen.levels.begin(), chosen.levels.end(), [&](const auto& one) { return one.key == key; });
  return found == chosen.levels.end() ? nullptr : &*found;
}

GANGSCHED_INLINE std::optional<error> check_cost_matrix(const network_cost::options& chosen) {
  const network_cost::cost_matrix& matrix = *chosen.matrix;
  const auto wrong = [](errc code, const std::string& field, const char* why) {
    return error{code, "plugin NetworkCost", "matrix." + field, why};
  };
  const auto at = [](std::size_t i) { return "[" + std::to_string(i) + "]"; };
  const std::size_t size = matrix.values.size();
  if (matrix.key.empty()) return wrong(errc::malformed, "key", "is empty");
  if (size == 0) return wrong(errc::malformed, "values", "is empty");
  std::map<std::string_view, std::size_t> known;
  for (std::size_t i = 0; i < size; ++i) {
    if (!known.emplace(matrix.values[i], i).second) return wrong(errc::duplicate, "values" + at(i), "is there twice");
  }
  if (matrix.costs.size() != size) return wrong(errc::malformed, "costs", "has not one row for each value");
  for (std::size_t i = 0; i < size; ++i) {
    if (matrix.costs[i].size() != size)
      return wrong(errc::malformed, "costs" + at(i), "has not one cost for each value");
  }
  const network_cost::level* own = level_of(chosen, matrix.key);
  for (std::size_t i = 0; i < size; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      const std::int64_t cost = matrix.costs[i][j];
      const std::string field = "costs" + at(i) + at(j);
      if (cost != matrix.costs[j][i]) return wrong(errc::malformed, field, "is not what it is the other way round");
      if (cost < 0 || cost > chosen.beyond) return wrong(errc::out_of_range, field, "is below 0, or above beyond");
      if (i == j && own != nullptr && cost != 0 && cost != own->cost) {
        return wrong(errc::malformed, field, "is neither 0 nor the cost of the level with this key");
      }
    }
  }
  return std::nullopt;
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
    if (chosen.levels[i].cost < before || chosen.levels[i].cost > most)
      return wrong(at + "cost", "is below the level before, or above 1000000");
    before = chosen.levels[i].cost;
  }
  if (chosen.beyond < std::max<std::int64_t>(before, 1) || chosen.beyond > most) {
    return wrong("beyond", "is below the last level's cost or 1, or above 1000000");
  }
  for (std::size_t i = 0; i < chosen.demands.size(); ++i) {
    const demand& one = chosen.demands[i];
    if (one.weight < 1 || one.weight > 1000)
      return wrong("demands[" + std::to_string(i) + "].weight", "is not in 1 to 1000");
  }
  if (chosen.matrix) return detail::check_cost_matrix(chosen);
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
  std::map<std::string_view, std::size_t> domains;  // of the matrix
  for (std::size_t i = 0; options_.matrix && i < options_.matrix->values.size(); ++i)
    domains.emplace(options_.matrix->values[i], i);
  const detail::role_counts none(roles.size(), 0);
  detail::traffic_counts everybody{.everybody = none, .by_node = {}, .by_level = {}}, in_matrix;
  std::map<std::size_t, detail::traffic_counts> by_domain;
  std::vector<std::optional<std::string_view>> levels(options_.levels.size());
  group.each_pod_below([&](const pod_info& member) {
    const std::optional<node_info> node = member.node();
    const auto role = options_.demands.empty() ? roles.begin() : std::find(roles.begin(), roles.end(), member.role());
    if (!node || role == roles.end()) return;
    const auto which = static_cast<std::size_t>(role - roles.begin());
    for (std::size_t i = 0; i < levels.size(); ++i) levels[i] = node->label(std::string_view{options_.levels[i].key});
    const auto count = [&](detail::traffic_counts& in) { in.add(which, none, node->id().row, levels); };
    count(everybody);
    if (domains.empty()) return;
    const auto value = node->label(std::string_view{options_.matrix->key});
    const auto domain = value ? domains.find(*value) : domains.end();
    if (domain == domains.end()) return;
    count(in_matrix);
    count(by_domain[domain->second]);
  });
  std::vector<detail::wide> pairs = everybody.pairs(options_.demands, roles);
  const detail::wide all = pairs.back();
  if (all == 0) return max_node_score;
  detail::traffic_cost cost;
  if (!by_domain.empty()) {  // those pairs are none of the levels'
    const std::vector<detail::wide> named = in_matrix.pairs(options_.demands, roles);
    for (std::size_t i = 0; i < pairs.size(); ++i) pairs[i] -= named[i];
    const bool own_level = detail::level_of(options_, options_.matrix->key) != nullptr;
    for (auto one = by_domain.begin(); one != by_domain.end(); ++one) {
      const std::vector<std::int64_t>& costs = options_.matrix->costs[one->first];
      const std::vector<detail::wide> inside = one->second.pairs(options_.demands, roles);
      cost.add_levels(inside, options_, own_level ? options_.beyond : costs[one->first]);
      for (auto other = std::next(one); other != by_domain.end(); ++other) {
        detail::role_counts both = one->second.everybody;
        for (std::size_t i = 0; i < both.size(); ++i) both[i] += other->second.everybody[i];
        const detail::wide across = detail::demanded_pairs(options_.demands, roles, both) - inside.back() -
                                    detail::demanded_pairs(options_.demands, roles, other->second.everybody);
        cost.add(across, costs[other->first]);
      }
    }
  }
  cost.add_levels(pairs, options_, options_.beyond);
  const bool by_total = options_.objective == objective::total;
  return by_total ? max_node_score - static_cast<std::int64_t>(max_node_score * cost.total / (options_.beyond * all))
                  : max_node_score - max_node_score * cost.dearest / options_.beyond;
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
  const auto read_row = [&](const argument& row, const std::string& at) {
    std::vector<std::int64_t>& costs = chosen.matrix->costs.emplace_back();
    return read.items(row, at, [&](const argument& v, const std::string& here) {
      return read.number(v, here, 0, 1'000'000, costs.emplace_back());
    });
  };
  const auto read_matrix = [&](std::string_view field, const argument& v, const std::string& here) {
    if (field == "key") return read.text(v, here, chosen.matrix->key);
    if (field == "values") return read.texts(v, here, chosen.matrix->values);
    return field == "costs" ? read.items(v, here, read_row) : read.unknown(here);
  };
  const bool fine = read.root(args, [&](std::string_view key, const argument& value, const std::string& path) {
    if (key == "levels") return read.items(value, path, read_level);
    if (key == "matrix") return chosen.matrix.emplace(), read.fields(value, path, read_matrix);
    if (key == "demands") return read.items(value, path, read_demand);
    if (key == "beyond") return read.number(value, path, 1, 1'000'000, chosen.beyond);
    if (key != "objective") return read.unknown(path);
    std::string text;
    if (!read.text(value, path, text)) return false;
    if (text == "Maximum")
      chosen.objective = objective::maximum;
    else if (text != "Total")
      return read.fail(errc::malformed, path, "is not Total or Maximum");
    return true;
  });
  if (!fine) return std::move(read).failure();
  if (auto wrong = check(chosen)) return std::move(*wrong);
  return network_cost{std::move(chosen)};
}

}  // namespace gangsched::inline GANGSCHED_ABI
