#pragma once
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "gangsched/framework/argument_reader.hpp"
#include "gangsched/framework/points.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// Heterogeneous GPUs: scores nodes, and placements of gangs, by their type's throughput for its price. ⌊100·v/v_max⌋ with v = throughput /
/// price, which the host measures for the kind of work of the profile; 0 for types that are not listed. A gang is placed on one type, that
/// of its running members if there are any, unless mixing is allowed. Types are not shared out among users.
class gpu_type_value {
 public:
  static constexpr std::string_view name = "GpuTypeValue";
  using points = implements<point::pre_score, point::score, point::generate_placements, point::score_placement>;
  using facts = node_view<reads::labels>;

  struct type {
    std::string name;             ///< value of the label
    std::int64_t throughput = 0;  ///< in any unit, the same for all types
    std::int64_t price = 1;       ///< per time, likewise; above 0
  };
  struct options {
    std::string label = "nvidia.com/gpu.product";
    std::vector<type> types = {};
    bool may_mix = false;
  };

  gpu_type_value() = default;
  /// @pre check(chosen) finds nothing.
  explicit gpu_type_value(options chosen) : options_(std::move(chosen)) {
    GANGSCHED_ASSERT(!check(options_));
    for (const type& one : options_.types) best_ = std::max(best_, value_of(one));
  }
  /// The first type with a throughput below 0, a price below 1, or one of them above 2⁴⁰. O(types).
  [[nodiscard]] static std::optional<error> check(const options& chosen) {
    for (std::size_t i = 0; i < chosen.types.size(); ++i) {
      const type& one = chosen.types[i];
      const bool runs = one.throughput >= 0 && one.throughput <= most;
      if (runs && one.price >= 1 && one.price <= most) continue;
      return error{errc::out_of_range, "plugin GpuTypeValue",
                   "types[" + std::to_string(i) + (runs ? "].price" : "].throughput"),
                   runs ? "is not in 1 to 2^40" : "is not in 0 to 2^40"};
    }
    return std::nullopt;
  }
  /// Arguments: label, gangs ("OneType", the default, or "Mixed"), types: [{name, throughput, price}].
  [[nodiscard]] static result<gpu_type_value> from(const argument& args) {
    options made;
    argument_reader read{name};
    const bool fine = read.root(args, [&](std::string_view key, const argument& value, const std::string& path) {
      if (key == "label") return read.text(value, path, made.label);
      if (key == "gangs") return read.word(value, path, {{"OneType", false}, {"Mixed", true}}, made.may_mix);
      if (key != "types") return read.unknown(path);
      return read.items(value, path, [&](const argument& item, const std::string& at) {
        type& one = made.types.emplace_back();
        return read.fields(item, at, [&](std::string_view field, const argument& v, const std::string& where) {
          if (field == "name") return read.text(v, where, one.name);
          if (field == "throughput") return read.number(v, where, 0, most, one.throughput);
          if (field == "price") return read.number(v, where, 1, most, one.price);
          return read.unknown(where);
        });
      });
    });
    if (!fine) return std::move(read).failure();
    return gpu_type_value{std::move(made)};
  }

  [[nodiscard]] status pre_score(const pod_view& pod) const {
    return pod.spec().requests_others() || !pod.spec().devices.empty() ? status::success() : status::skip();
  }
  [[nodiscard]] std::int64_t score(const pod_view&, facts node) const {
    return rate(node.label(std::string_view{options_.label}));
  }

  /// O(members).
  [[nodiscard]] status generate_placements(const group_view& group, const cluster_view&,
                                           const placement_sink& sink) const {
    if (options_.may_mix || !group.is_gang() || group.spec().composite) return status::skip();
    std::string settled;
    group.each_member([&](const pod_info& member) {
      const std::optional<node_info> node = member.node();
      const auto its = node ? node->label(std::string_view{options_.label}) : std::nullopt;
      if (its) settled = *its;
    });
    sink({.each_of = options_.label, .only = std::move(settled)});
    return status::success();
  }
  [[nodiscard]] std::int64_t score_placement(const group_view&, const placement_view& where,
                                             std::span<const assignment>) const {
    return rate(where.name());
  }
  [[nodiscard]] std::int64_t placement_bound(const placement_view& where, const placement_demand&) const {
    return rate(where.name());
  }

 private:
  static constexpr std::int64_t most = std::int64_t{1} << 40;
  /// In thousandths.
  [[nodiscard]] static std::int64_t value_of(const type& one) noexcept { return one.throughput * 1000 / one.price; }
  [[nodiscard]] std::int64_t rate(std::optional<std::string_view> label) const {
    const auto found =
        std::find_if(options_.types.begin(), options_.types.end(), [&](const type& one) { return one.name == label; });
    return found == options_.types.end() || best_ == 0 ? 0 : max_node_score * value_of(*found) / best_;
  }

  options options_;
  std::int64_t best_ = 0;
};

static_assert(pre_score_plugin<gpu_type_value> && score_plugin<gpu_type_value> &&
              generate_placements_plugin<gpu_type_value> && score_placement_plugin<gpu_type_value>);

}  // namespace gangsched::inline GANGSCHED_ABI
