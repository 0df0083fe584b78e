#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "gangsched/devices/links.hpp"
#include "gangsched/framework/device_views.hpp"
#include "gangsched/framework/normalize.hpp"
#include "gangsched/framework/points.hpp"
#include "gangsched/framework/weighted_resource.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// koord-scheduler 1.7's DeviceShare (docs/devices.md): filters and scores nodes by shares of GPUs or whole ones, and chooses the GPUs.
///
/// A GPU has 100 hundredths of koordinator.sh/gpu-core and of gpu-memory-ratio, and its bytes of gpu-memory. What names one of the latter
/// two takes as much of the other, rounded down (⌊ratio·bytes/100⌋, and ⌊bytes/all·100⌋ in floating point); a whole GPU has all three.
///
/// Filter: as many GPUs as the pod asks for have room for one share of it each.
/// Score: Σ weight·s / Σ weight, rounded down, over the configured resources that the node's healthy GPUs have, with least
/// s = ⌊100·(total − used − request)/total⌋ and most s = ⌊100·(used + request)/total⌋. The request is one GPU's share, however many the pod
/// asks for, and only in what it names: what it does not name counts as untouched (O21). Other devices of which koordinator.sh/<class> is
/// configured likewise, added. Then ⌊100·score/highest⌋.
/// Choice: in the deepest scope (PCIe switch, NUMA cell, node) that has enough, of several the one of which most is in use, counting
/// itself and what it is in, of equals the first. In it the lowest numbers; of one share the GPU with the best s, of free against total:
/// where a resource is in use it says 0 under least and 100 under most, and where none is left nothing. Shares of several GPUs, and GPUs
/// of which neither switch nor cell is known, go by the s of each GPU, then by number. Whole GPUs go to a free partition first, if the node
/// has a table: the library's own rule. Pods with claims that are shared are DynamicResources' affair, and of several requests for GPUs
/// the first is rated and the library chooses.
class device_share {
 public:
  static constexpr std::string_view name = "DeviceShare";
  static constexpr std::int64_t default_weight = 1;
  using points = implements<point::requeue, point::pre_filter, point::filter, point::pre_score, point::score,
                            point::choose_devices>;
  static constexpr bool reads_population = false;
  static constexpr events wakes_on =
      events::node_added | events::node_allocatable | events::pod_removed | events::pod_scaled_down;
  using room = node_view<reads::devices | reads::pods>;
  using strategy = allocation_strategy;

  [[nodiscard]] static std::vector<weighted_resource> defaults() {
    return {{"koordinator.sh/gpu-memory-ratio"},
            {"koordinator.sh/gpu-memory"},
            {"koordinator.sh/rdma"},
            {"koordinator.sh/fpga"}};
  }
  /// Weights: 1 to 100.
  GANGSCHED_API explicit device_share(strategy how = strategy::least_allocated,
                                      std::vector<weighted_resource> resources = defaults());
  /// Arguments: Koordinator's DeviceShareArgs, `scoringStrategy: {type: LeastAllocated | MostAllocated, resources: [{name, weight}]}`.
  /// Without resources: the defaults.
  [[nodiscard]] static result<device_share> from(const argument& args) {
    return by_allocation_strategy<device_share>(args);
  }

  [[nodiscard]] hint requeue(const event&, const pod_info&) const { return hint::queue; }
  [[nodiscard]] status pre_filter(const pod_view& pod) const {
    const bool asks = pod.spec().requests_others() || !pod.spec().devices.empty();
    return asks && pod.spec().claims.empty() ? status::success() : status::skip();
  }
  [[nodiscard]] status filter(const pod_view& pod, node_view<reads::devices> node) const {
    return node.devices_fit(pod.spec(), {});
  }
  [[nodiscard]] status pre_score(const pod_view& pod) const { return pre_filter(pod); }
  [[nodiscard]] GANGSCHED_API std::int64_t score(const pod_view& pod, room node) const;
  void normalize_score(const pod_view&, std::span<scored_group> groups) const { normalize(groups, better::higher); }
  [[nodiscard]] GANGSCHED_API device_rules choose_devices(const pod_view& pod, room node) const;

 private:
  /// Core in thousandths, memory in hundredths, memory in bytes: of one GPU, or of a node's together.
  using amounts = std::array<std::int64_t, 3>;
  struct gpu_books {
    amounts each{};             ///< what a healthy GPU has
    std::uint32_t healthy = 0;  ///< a bit for each GPU, as in `in_use`
    std::uint32_t in_use = 0;   ///< of these
    std::array<amounts, max_node_gpus> used{};
  };
  [[nodiscard]] static gpu_books books_of(room node);
  [[nodiscard]] static amounts named_by(const device_demand& demand) noexcept;

  [[nodiscard]] std::int64_t rate(std::int64_t with, std::int64_t total) const noexcept;
  [[nodiscard]] std::int64_t rate(const amounts& with, const amounts& total) const noexcept;
  [[nodiscard]] std::int64_t rate_others(const device_demand& demand, const device_state& there) const noexcept;

  [[nodiscard]] std::uint32_t choose(const device_want& want, const device_state& there, const gpu_books& books) const;
  [[nodiscard]] std::uint32_t from_scopes(const device_want& want, bool shared, std::uint32_t fits,
                                          const device_state& there, const gpu_books& books) const;
  [[nodiscard]] std::pair<std::int64_t, std::uint32_t> best_share(const amounts& asked, std::uint32_t among,
                                                                  const gpu_books& books) const;
  [[nodiscard]] std::uint32_t best_scores(const amounts& asked, std::uint32_t among, std::int32_t count,
                                          const gpu_books& books) const;

  strategy strategy_;
  std::vector<weighted_resource> resources_;
  amounts weights_{};  ///< of what GPUs have
};

static_assert(requeue_plugin<device_share> && pre_filter_plugin<device_share> && filter_plugin<device_share> &&
              pre_score_plugin<device_share> && score_plugin<device_share> && choose_devices_plugin<device_share>);

}  // namespace gangsched::inline GANGSCHED_ABI

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/plugins/device_share.cpp"
#endif
