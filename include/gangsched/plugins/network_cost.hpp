#pragma once
#include <optional>
#include <string>
#include <vector>

#include "gangsched/core/result.hpp"
#include "gangsched/framework/argument.hpp"
#include "gangsched/framework/points.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// The placement in which a group's traffic is cheapest. Two members cost what the innermost level whose domain they share costs (leaf
/// switch, spine, rail), nothing on one node, and `beyond` if they share none; costs are multiplied by the demand between the members'
/// roles. Score = 100·(1 − total / (beyond · pairs)), or with objective::maximum 100·(1 − dearest pair / beyond).
class network_cost {
 public:
  static constexpr std::string_view name = "NetworkCost";
  static constexpr std::int64_t default_weight = 1;
  using points = implements<point::score_placement>;

  enum class objective : std::uint8_t { total, maximum };
  struct level {
    std::string key;  ///< node label
    std::int64_t cost = 0;
  };
  /// Between any two members of these roles; within one role if both are the same.
  struct demand {
    std::string from, to;
    std::int64_t weight = 1;
  };
  /// The cost between members in different domains of one label, whatever levels they share; row and column of each value. Two members in
  /// one domain cost its diagonal, or a level that they share if that is less; if the key is a level too, that level counts, and the
  /// diagonal is 0 or its cost. Nodes with none of the values have only the levels.
  struct cost_matrix {
    std::string key;  ///< node label
    std::vector<std::string> values;
    std::vector<std::vector<std::int64_t>> costs;  ///< symmetric; none above `beyond`
  };
  struct options {
    std::vector<level> levels = {};    ///< innermost first, costs not falling
    std::int64_t beyond = 100;         ///< not below the last level's
    std::vector<demand> demands = {};  ///< none: every two members, once
    network_cost::objective objective = objective::total;
    std::optional<cost_matrix> matrix = {};
  };

  network_cost() = default;
  /// @pre check(chosen) finds nothing.
  explicit network_cost(options chosen) : options_(std::move(chosen)) { GANGSCHED_ASSERT(!check(options_)); }
  /// The first option out of range, if any.
  [[nodiscard]] GANGSCHED_API static std::optional<error> check(const options& chosen);
  /// Arguments: `levels: [{key, cost}]`, `beyond`, `demands: [{from, to, weight}]`, `objective: Total | Maximum`,
  /// `matrix: {key, values: [name], costs: [[cost]]}`.
  [[nodiscard]] GANGSCHED_API static result<network_cost> from(const argument& args);

  /// O(members · levels · log domains), and with a matrix O((domains of it)² · demands) more.
  [[nodiscard]] GANGSCHED_API std::int64_t score_placement(const group_view& group, const placement_view& where,
                                                           std::span<const assignment> members) const;

 private:
  options options_;
};

static_assert(score_placement_plugin<network_cost>);

}  // namespace gangsched::inline GANGSCHED_ABI

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/plugins/network_cost.cpp"
#endif
