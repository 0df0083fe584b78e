#pragma once
#include <algorithm>
#include <limits>
#include <span>

#include "gangsched/framework/argument_reader.hpp"
#include "gangsched/framework/device_views.hpp"
#include "gangsched/framework/points.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// The node's devices can serve the pod's requests: whole GPUs, shares, replicas and MIG instances, and other devices.
///
/// Kubernetes' plugin of that name handles device claims; this one handles all devices of the model (docs/devices.md).
/// Filter: `choose_devices` of devices/device_fit.hpp finds devices for all requests at once. A pod that only requests resources by number
/// ("nvidia.com/gpu: 2") also fits nodes whose devices the host did not report; one with requests for devices does not.
/// A claim that pods share may be allocated on any node that fits; once allocated, only its node is feasible, until it has as many pods as
/// it may (Kubernetes: 256).
/// Where the host reported a node's NUMA cells, the kubelet's admission is checked, too: `numa_admit` of devices/numa_admit.hpp, with the
/// CPUs, memory and devices of the pods there. Its reasons are the kubelet's.
/// Score: of requests that offer alternatives, and of those of claims that are not allocated yet, each counts 8 less the place of the
/// alternative that it would get on the node; where the sum is the largest is 100, others are in proportion (KEP-4816).
/// Choice: the closest GPUs for several; a share goes where the least is left (or the most, or to the first with room).
class device_fit {
 public:
  static constexpr std::string_view name = "DynamicResources";
  static constexpr std::int64_t default_weight = 2;
  using points = implements<point::requeue, point::pre_filter, point::filter, point::pre_score, point::score,
                            point::choose_devices>;
  static constexpr events wakes_on =
      events::node_added | events::node_allocatable | events::pod_removed | events::pod_scaled_down;
  using room = node_view<reads::devices | reads::claims>;

  explicit device_fit(share_rule share = share_rule::tightest) : rules_{.share = share} {}
  /// Argument "share": Tightest (the default), Widest or First.
  [[nodiscard]] static result<device_fit> from(const argument& args) {
    share_rule share = share_rule::tightest;
    argument_reader read{name};
    const bool fine = read.root(args, [&](std::string_view key, const argument& value, const std::string& path) {
      if (key != "share") return read.unknown(path);
      return read.word(
          value, path,
          {{"Tightest", share_rule::tightest}, {"Widest", share_rule::widest}, {"First", share_rule::first}}, share);
    });
    if (!fine) return std::move(read).failure();
    return device_fit{share};
  }

  [[nodiscard]] hint requeue(const event&, const pod_info&) const { return hint::queue; }
  [[nodiscard]] status pre_filter(const pod_view& pod) const {
    const bool asks = !pod.spec().devices.empty() || !pod.spec().claims.empty();
    const bool own = pod.spec().guaranteed || pod.spec().bind_cpus.policy != cpu_bind_policy::none;
    return pod.spec().requests_others() || asks || own ? status::success() : status::skip();
  }
  [[nodiscard]] status filter(const pod_view& pod, room node) const {
    if (asks_nothing(pod, node)) return status::success();
    if (const status said = node.claims_allow(pod.spec()); !said.ok()) return said;
    return node.devices_fit(pod.spec(), rules_);
  }
  [[nodiscard]] std::int64_t capacity(const pod_view& pod, room node) const {
    constexpr std::int64_t any = std::numeric_limits<std::int64_t>::max(), most = 1024;
    if (asks_nothing(pod, node)) return any;
    const device_wants wants = node.wants_of(pod.spec());
    return wants.nothing() ? any : device_capacity(node.devices(), wants, rules_, most);
  }
  [[nodiscard]] status pre_score(const pod_view& pod) const {
    const auto offers = [](const device_demand& one) { return !one.first_of.empty(); };
    const bool may = !pod.spec().claims.empty() || std::ranges::any_of(pod.spec().devices, offers);
    return may ? status::success() : status::skip();
  }
  [[nodiscard]] std::int64_t score(const pod_view& pod, room node) const {
    const device_wants wants = node.wants_of(pod.spec());
    const auto offers = [](const device_want& one) { return !one.what->first_of.empty(); };
    device_claim chosen;
    if (std::ranges::none_of(wants, offers) || !gangsched::choose_devices(node.devices(), wants, rules_, chosen).ok())
      return 0;
    constexpr std::int64_t most = 8;  // alternatives of a request, in Kubernetes
    const std::span<const device_grant> got{chosen.grants.data(), chosen.grants.size()};
    std::int64_t sum = 0;
    for (const device_want& one : wants) {
      if (!offers(one)) continue;
      const auto place = alternative_chosen(*node.devices().inventory, wants, got, one.request);
      if (place) sum += std::max<std::int64_t>(most - *place, 0);
    }
    return sum;
  }
  void normalize_score(const pod_view&, std::span<scored_group> nodes) const {
    std::int64_t most = 0;
    for (const scored_group& one : nodes) most = std::max(most, one.score);
    for (scored_group& one : nodes) one.score = most == 0 ? 0 : max_node_score * one.score / most;
  }
  [[nodiscard]] device_rules choose_devices(const pod_view&, room) const { return rules_; }

 private:
  /// True for most pods and nodes of most clusters: what the pod requests by number, NodeResourcesFit alone counts there.
  [[nodiscard]] static bool asks_nothing(const pod_view& pod, const room& node) noexcept {
    return pod.spec().devices.empty() && pod.spec().claims.empty() && !node.has_devices();
  }
  device_rules rules_;
};

static_assert(requeue_plugin<device_fit> && pre_filter_plugin<device_fit> && filter_plugin<device_fit> &&
              pre_score_plugin<device_fit> && score_plugin<device_fit> && choose_devices_plugin<device_fit>);

}  // namespace gangsched::inline GANGSCHED_ABI
