#pragma once
#include <algorithm>

#include "gangsched/devices/device_fit.hpp"
#include "gangsched/framework/argument_reader.hpp"
#include "gangsched/framework/device_views.hpp"
#include "gangsched/framework/points.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// Places MIG instances so that the most is left for future ones: the least growth of the free slices that requests of all sizes could not
/// use (devices/mig.hpp), then the GPU that most pods share, because it will be empty last. Baselines: the fullest GPU alone, or the first
/// node. The worst candidate scores 0, the best 100. Pods without a MIG profile get no score from it. For those that have one it outweighs
/// the other scores of the default profile. O(GPUs · starts).
class mig_packing {
 public:
  static constexpr std::string_view name = "MigPacking";
  static constexpr std::int64_t default_weight = 5;
  using points = implements<point::pre_score, point::score, point::choose_devices>;
  static constexpr bool reads_population = false;
  using room = node_view<reads::devices>;

  explicit mig_packing(mig_rule rule = mig_rule::fragmentation) : rule_(rule) {}
  /// Argument "rule": Fragmentation (the default), BestFit or FirstFit.
  [[nodiscard]] static result<mig_packing> from(const argument& args) {
    mig_rule rule = mig_rule::fragmentation;
    argument_reader read{name};
    const bool fine = read.root(args, [&](std::string_view key, const argument& value, const std::string& path) {
      if (key != "rule") return read.unknown(path);
      std::string text;
      if (!read.text(value, path, text)) return false;
      if (text != "Fragmentation" && text != "BestFit" && text != "FirstFit") {
        return read.fail(errc::unknown, path, "\"" + text + "\" is not Fragmentation, BestFit or FirstFit");
      }
      rule = text == "BestFit"    ? mig_rule::best_fit
             : text == "FirstFit" ? mig_rule::first_fit
                                  : mig_rule::fragmentation;
      return true;
    });
    if (!fine) return std::move(read).failure();
    return mig_packing{rule};
  }

  [[nodiscard]] status pre_score(const pod_view& pod) const {
    for (const device_demand& one : pod.spec().devices) {
      if (one.kind == device_demand::form::mig) return status::success();
    }
    for (const amount& one : pod.requests()) {
      if (one.kind >= kinds::first_other && pod.text(pod.kind_symbol(one.kind)).starts_with(mig_resource_prefix))
        return status::success();
    }
    return status::skip();
  }

  /// Of the first instance that the pod asks for.
  [[nodiscard]] std::int64_t score(const pod_view& pod, room node) const {
    const device_state state = node.devices();
    for (const device_want& one : node.wants_of(pod.spec())) {
      if (one.what->kind != device_demand::form::mig || rule_ == mig_rule::first_fit) continue;
      if (!state) return worst;
      const auto profile = state.inventory->find_profile(one.what->mig_profile);
      const auto choice = profile ? choose_instance(state, *profile, rule_) : std::nullopt;
      if (!choice) return worst;
      const gpu_word there = state.gpu(choice->gpu);
      if (rule_ == mig_rule::best_fit) return -std::int64_t{state.inventory->mig->free_slices(there.instances())};
      // Slices times the weights' sum; how many share it breaks ties.
      return std::min(there.pods(), 15) - 16 * (choice->delta * 16 / state.inventory->fragmentation->weight_sum());
    }
    return 0;
  }
  void normalize_score(const pod_view&, std::span<scored_group> groups) const {
    std::int64_t low = groups.front().score, high = low;
    for (const scored_group& one : groups) low = std::min(low, one.score), high = std::max(high, one.score);
    // Only the best may reach 100.
    for (scored_group& one : groups)
      one.score = one.score == high ? max_node_score : (one.score - low) * (max_node_score - 1) / (high - low);
  }
  [[nodiscard]] device_rules choose_devices(const pod_view&, room) const { return {.mig = rule_}; }

 private:
  static constexpr std::int64_t worst = -4096;
  mig_rule rule_;
};

static_assert(pre_score_plugin<mig_packing> && score_plugin<mig_packing> && choose_devices_plugin<mig_packing>);

}  // namespace gangsched::inline GANGSCHED_ABI
