#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gangsched/devices/device_fit.hpp"

/// The value of what is left of a node for the expected pods: the measure of FGD (USENIX ATC 2023), and prices by which placements are
/// compared beyond it (docs/packing.md).
namespace gangsched::inline GANGSCHED_ABI {

/// Pods with equal requests, as far as packing is concerned, and how many of them are expected: a line of a target distribution.
struct expected_pods {
  std::int64_t cpu_milli = 0;
  std::int32_t gpus = 0;
  std::int32_t milli = whole_gpu;        ///< of each GPU
  std::vector<std::string> models = {};  ///< any of these; empty: every model
  std::int64_t count = 1;
  friend auto operator<=>(const expected_pods&, const expected_pods&) = default;
};

/// Equal lines are added up and sorted by count, highest first (then the larger line); the rest is dropped once @p percent of all pods are
/// there. The list that FGD uses, with 95 %. O(lines · log lines).
[[nodiscard]] GANGSCHED_API std::vector<expected_pods> most_frequent(std::vector<expected_pods> all,
                                                                     std::int32_t percent);

/// A pod's GPU request, in one number each.
struct gpu_ask {
  std::int32_t gpus = 0;
  std::int32_t milli = 0;                  ///< of each
  std::uint32_t fits = ~std::uint32_t{0};  ///< of a share: the GPUs that have room for all of it, memory included
  [[nodiscard]] bool share() const noexcept { return gpus == 1 && milli < whole_gpu; }
  [[nodiscard]] std::int32_t total() const noexcept { return gpus * milli; }
};
/// Of the first want that is about GPUs as a whole, or about shares; none if there is no such.
[[nodiscard]] GANGSCHED_API gpu_ask gpu_ask_of(std::span<const device_want> wants, const device_state& there) noexcept;
/// The request of a pod of class @p cls for GPUs of a node, read through its view.
template <class Class, class Node>
[[nodiscard]] gpu_ask gpu_ask_of(const Class& cls, const Node& node) {
  if (const auto only = node.only_want(cls)) return gpu_ask_of({&*only, 1}, node.devices());
  const device_wants wants = node.wants_of(cls);
  return gpu_ask_of({wants.data(), wants.size()}, node.devices());
}

/// What is left of a node's GPUs and CPUs.
struct GANGSCHED_API gpu_rest {
  std::int64_t cpu_milli = 0;
  std::int32_t sum = 0;  ///< thousandths of all GPUs
  std::uint32_t gpus = 0;
  std::array<std::int32_t, max_node_gpus> left{};  ///< thousandths of each

  gpu_rest() = default;
  gpu_rest(const device_state& state, std::int64_t cpu) noexcept;
  /// With @p ask placed: a share on GPU @p gpu, whole ones in order of index.
  [[nodiscard]] GANGSCHED_API gpu_rest without(const gpu_ask& ask, std::int64_t cpu, std::uint32_t gpu) const noexcept;
};

/// Calls visit(gpu) for each distinct way to place @p ask: a share once for each amount that is left of some GPU with room, on the first
/// such GPU; anything else once, with 0.
template <class Visit>
void each_option(const gpu_rest& rest, const gpu_ask& ask, const Visit& visit) {
  if (!ask.share()) return visit(std::int8_t{0});
  for (std::uint32_t gpu = 0; gpu < rest.gpus; ++gpu) {
    bool seen = (ask.fits >> gpu & 1u) == 0;
    for (std::uint32_t other = 0; other < gpu && !seen; ++other)
      seen = (ask.fits >> other & 1u) != 0 && rest.left[other] == rest.left[gpu];
    if (!seen) visit(static_cast<std::int8_t>(gpu));
  }
}

/// A target distribution, prepared for measuring nodes. Immutable; integers only.
class GANGSCHED_API gpu_outlook {
 public:
  /// The sum of all weights: measures are thousandths of a GPU times this.
  static constexpr std::int64_t unit = 65536;
  /// When stranded CPU is measured, so many lines with one GPU, the most frequent of a model, stand for all of them.
  static constexpr std::size_t stranding_lines = 8;

  gpu_outlook() = default;
  /// @p stranding: in 256ths, the weight of CPU shortage that leaves free GPUs unusable (0: FGD).
  /// @pre lines with counts above 0, shares of 1 to 1000 thousandths.
  explicit gpu_outlook(std::span<const expected_pods> target, std::int32_t stranding = 0);

  /// A model's number; models that no line names share one.
  [[nodiscard]] std::size_t model(std::string_view name) const noexcept;
  /// F_n of FGD: the part of the idle GPUs that pods of the target could not use, on average.
  [[nodiscard]] std::int64_t fragment(std::size_t model, const gpu_rest& rest) const noexcept;

 private:
  struct line {
    std::int64_t cpu_milli;
    std::int64_t feeds;  ///< milli of GPU per milli of CPU, times 65536
    std::int32_t gpus;
    std::uint32_t size;  ///< its index in `sizes_`
    std::int32_t weight;
  };
  /// Lines with equal GPU requests: where so many GPUs have room for the size, the CPU alone decides which of them run.
  struct bundle {
    std::uint32_t size;
    std::int32_t gpus;
  };
  /// The pods of one model.
  struct prospects {
    std::vector<line> lines;
    std::vector<line> stranding;  ///< least fed by CPU first, with the weight of all that they stand for
    std::int64_t weight = 0;      ///< of all pods, those that can never run there included
    std::vector<bundle> bundles;
    std::vector<std::int64_t> cpus;  ///< that lines ask for, ascending
    std::vector<std::int32_t>
        runs;  ///< weight of a bundle's lines that so much CPU feeds: a row for each of `cpus`, from none
  };
  void bundle_up(prospects& one) const;
  static void choose_stranding(prospects& one);

  std::int32_t stranding_ = 0;
  std::vector<std::int32_t> sizes_;
  std::vector<std::string> models_;
  std::vector<prospects> of_ = std::vector<prospects>(1);  ///< by model; the last: models that no line names
};

/// The scarcity of each model: the demand of lines that name models, scaled so that all of @p expected fills @p supply, spread over the
/// allowed models so that the largest ratio is minimal; in thousandths of the model's supply.
struct gpu_supply {
  std::string model;
  std::int64_t gpus = 0;
  std::int64_t price = 0;      ///< out
  std::int64_t cpu_milli = 0;  ///< of the nodes with them, all together; 0: not known
};
GANGSCHED_API void price_by_scarcity(std::span<const expected_pods> expected, std::vector<gpu_supply>& supply);

}  // namespace gangsched::inline GANGSCHED_ABI

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/devices/gpu_outlook.cpp"
#endif
