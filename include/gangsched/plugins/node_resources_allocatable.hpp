#pragma once
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gangsched/core/percent.hpp"
#include "gangsched/core/result.hpp"
#include "gangsched/framework/argument_reader.hpp"
#include "gangsched/framework/points.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// scheduler-plugins' NodeResourcesAllocatable: small nodes first, or large ones, independent of running pods and of the pod's requests.
/// Per node: a = Σ weight·allocatable / Σ weight over the configured resources (cpu in milli), rounded down; score = 100·(a − min)/(max −
/// min) over the feasible nodes for large ones first, 100·(max − a)/(max − min) for small ones, rounded down; 0 if all are equal.
class node_resources_allocatable {
 public:
  static constexpr std::string_view name = "NodeResourcesAllocatable";
  static constexpr std::int64_t default_weight = 1;
  using points = implements<point::score>;
  static constexpr bool reads_population = false;

  enum class mode : std::uint8_t { least, most };  ///< small nodes first, or large ones
  struct weighted_resource {
    std::string name;
    std::int64_t weight = 1;  ///< 1 to 2^20
  };

  node_resources_allocatable() = default;
  /// @pre check(resources) finds nothing.
  explicit node_resources_allocatable(node_resources_allocatable::mode first,
                                      std::vector<weighted_resource> resources = defaults())
      : first_(first), resources_(std::move(resources)) {
    GANGSCHED_ASSERT(!check(resources_));
  }
  /// The first resource whose weight is not in 1 to 2^20. O(resources).
  [[nodiscard]] static std::optional<error> check(const std::vector<weighted_resource>& resources) {
    for (std::size_t i = 0; i < resources.size(); ++i) {
      if (resources[i].weight < 1 || resources[i].weight > 1 << 20)
        return error{errc::out_of_range, "plugin NodeResourcesAllocatable",
                     "resources[" + std::to_string(i) + "].weight", "is not in 1 to 2^20"};
    }
    return std::nullopt;
  }
  /// A core weighs as much as 1000 MiB of memory.
  [[nodiscard]] static std::vector<weighted_resource> defaults() { return {{"cpu", 1 << 20}, {"memory", 1}}; }

  /// Arguments: NodeResourcesAllocatableArgs, `mode: Least | Most`, `resources: [{name, weight}]`. Without resources: the defaults.
  [[nodiscard]] static result<node_resources_allocatable> from(const argument& args) {
    node_resources_allocatable made;
    std::vector<weighted_resource> resources;
    argument_reader read{name};
    const auto read_resource = [&](const argument& item, const std::string& path) {
      weighted_resource& one = resources.emplace_back();
      return read.fields(item, path, [&](std::string_view field, const argument& value, const std::string& at) {
        if (field == "name") return read.text(value, at, one.name);
        return field == "weight" ? read.number(value, at, 1, 1 << 20, one.weight) : read.unknown(at);
      });
    };
    const bool fine = read.root(args, [&](std::string_view key, const argument& value, const std::string& path) {
      if (key == "resources") return read.items(value, path, read_resource);
      if (key != "mode") return read.unknown(path);
      return read.word(value, path, {{"Least", mode::least}, {"Most", mode::most}}, made.first_);
    });
    if (!fine) return std::move(read).failure();
    if (!resources.empty()) made.resources_ = std::move(resources);
    return made;
  }

  [[nodiscard]] std::int64_t score(const pod_view& pod, node_view<reads::allocatable> node) const {
    wide sum = 0, weights = 0;
    for (const weighted_resource& one : resources_) {
      const auto kind = pod.find_kind(one.name);
      sum += kind ? wide{node.allocatable(*kind)} * one.weight : wide{0};
      weights += one.weight;
    }
    const auto mean = weights == 0 ? std::int64_t{0} : static_cast<std::int64_t>(sum / weights);
    return first_ == mode::least ? -mean : mean;
  }
  void normalize_score(const pod_view&, std::span<scored_group> groups) const {
    const auto [least, most] = std::minmax_element(groups.begin(), groups.end(), by_score);
    if (least == groups.end()) return;
    const std::int64_t low = least->score, range = most->score - low;
    for (scored_group& group : groups) group.score = range == 0 ? 0 : percent(group.score - low, range);
  }

 private:
  __extension__ using wide = __int128;  // sums of products
  static bool by_score(const scored_group& a, const scored_group& b) noexcept { return a.score < b.score; }

  node_resources_allocatable::mode first_ = mode::least;
  std::vector<weighted_resource> resources_ = defaults();
};

static_assert(score_plugin<node_resources_allocatable>);

}  // namespace gangsched::inline GANGSCHED_ABI
