#pragma once
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "gangsched/devices/gpu_bids.hpp"
#include "gangsched/framework/device_views.hpp"
#include "gangsched/framework/expected_pods_argument.hpp"
#include "gangsched/framework/points.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// What `gpu_pricing` scores by. The host may change it between calls, and then calls `scheduler::forget_cached`.
struct gpu_price_book {
  gpu_outlook outlook;             ///< of the expected pods, with stranding, and with more weight on the largest
  std::vector<gpu_supply> models;  ///< how scarce each is: `price_by_scarcity`
  bid_values bids;  ///< the value of a GPU's remainder for shares: `bid_for_shares`; without it shares do not bid
  std::int32_t cpu_weight = 0;  ///< in 256ths: what shares pay for more CPU than a node has for so much of its GPUs
  std::int32_t large_gpus =
      0;  ///< GPUs of the largest expected pods; 0: none has two or more, or says what CPU it needs
  std::int64_t large_cpu = 0;  ///< thousandths that those need for a GPU: nodes with so many GPUs count with no more

  /// From a list of pods that are like those to come, and the GPUs there are. Shares pay for CPU only if @p supply says how much there
  /// is and the pods that fill the GPUs leave some of it. @pre counts of 0 to 2³², as many lines at most as there are
  /// kinds of pods.
  [[nodiscard]] GANGSCHED_API static gpu_price_book of(std::span<const expected_pods> expected,
                                                       std::vector<gpu_supply> supply);
};

/// Fragmentation with prices (docs/packing.md): what the pod takes from the expected ones, in thousandths of a GPU,
///   F − F′ − ½ · price of the model · what it asks for − 6 · (v[R] − v[R − share] − v[share]) − weight · max(0, its CPU in GPUs − share),
/// F as in GpuFragmentation with stranded CPU counted at 45/256 and the pods with the most GPUs counting for more, v the bids, the weight
/// and what CPU is in GPUs of the node by the book. Candidates whose worth is within a window of the best (10 thousandths for a share, 40
/// else) score 100, those in the next window 99, …: near-equals go to the first node, wherever the best one lies, so untouched nodes stay
/// whole.
class gpu_pricing {
 public:
  static constexpr std::string_view name = "GpuPricing";
  using points = implements<point::score, point::choose_devices>;
  static constexpr bool reads_population = false;
  using room = node_view<reads::allocatable | reads::usage | reads::devices>;
  static constexpr std::int32_t stranding = 45;  ///< in 256ths

  explicit gpu_pricing(std::shared_ptr<const gpu_price_book> book) : book_(std::move(book)) {}
  /// Arguments, which must be there: "expected", the pods that are like those to come, [{cpuMilli, gpus, milli, models, count}]; "supply",
  /// how many GPUs there are of each model, and how much CPU with them, [{model, gpus, cpuMilli}]. A book that learns is the
  /// host's: it makes the plugin itself.
  [[nodiscard]] static result<gpu_pricing> from(const argument& args) {
    std::vector<expected_pods> all;
    std::vector<gpu_supply> supply;
    argument_reader read{name};
    bool read_all = read.root(args, [&](std::string_view key, const argument& value, const std::string& path) {
      if (key == "expected") return read_expected_pods(read, value, path, all);
      if (key != "supply") return read.unknown(path);
      return read.items(value, path, [&](const argument& item, const std::string& at) {
        gpu_supply& one = supply.emplace_back();
        return read.fields(item, at, [&](std::string_view field, const argument& v, const std::string& where) {
          if (field == "model") return read.text(v, where, one.model);
          if (field == "gpus") return read.number(v, where, 1, std::int64_t{1} << 32, one.gpus);
          if (field == "cpuMilli") return read.number(v, where, 0, std::int64_t{1} << 53, one.cpu_milli);
          return read.unknown(where);
        });
      });
    });
    read_all = read_all && (!all.empty() || read.fail(errc::malformed, "args.expected", "is missing, or empty"));
    read_all = read_all && (!supply.empty() || read.fail(errc::malformed, "args.supply", "is missing, or empty"));
    if (!read_all) return std::move(read).failure();
    return gpu_pricing{std::make_shared<const gpu_price_book>(gpu_price_book::of(all, std::move(supply)))};
  }

  [[nodiscard]] std::int64_t score(const pod_view& pod, room node) const { return best(pod, node).worth; }
  void normalize_score(const pod_view& pod, std::span<scored_group> groups) const {
    std::int64_t high = groups.front().score;
    for (const scored_group& one : groups) high = std::max(high, one.score);
    const std::int64_t window = fine * (is_share(pod) ? 10 : 40) + 1;
    for (scored_group& one : groups) one.score = max_node_score - std::min(max_node_score, (high - one.score) / window);
  }
  [[nodiscard]] device_rules choose_devices(const pod_view& pod, room node) const {
    return {.gpu = best(pod, node).gpu};
  }

 private:
  static constexpr std::int64_t fine = 8;  ///< worths are in 8ths of a thousandth
  struct option {
    std::int64_t worth;
    std::int8_t gpu;  ///< of a share
  };
  [[nodiscard]] static bool is_share(const pod_view& pod) noexcept {
    for (const device_demand& one : pod.spec().devices)
      if (one.kind == device_demand::form::share) return one.count == 1;
    return false;
  }
  [[nodiscard]] GANGSCHED_API option best(const pod_view& pod, room node) const;

  std::shared_ptr<const gpu_price_book> book_;
};

static_assert(score_plugin<gpu_pricing> && choose_devices_plugin<gpu_pricing>);

}  // namespace gangsched::inline GANGSCHED_ABI

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/plugins/gpu_pricing.cpp"
#endif
