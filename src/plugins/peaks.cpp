#include "gangsched/plugins/peaks.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "gangsched/framework/argument_reader.hpp"
#include "gangsched/policies/pod_bounds.hpp"

namespace gangsched::inline GANGSCHED_ABI {

GANGSCHED_INLINE peaks::peaks(std::vector<power_model> models) : models_(std::move(models)) {
  std::sort(models_.begin(), models_.end(), [](const auto& a, const auto& b) { return a.node < b.node; });
}

GANGSCHED_INLINE result<peaks> peaks::from(const argument& args) {
  std::vector<power_model> models;
  argument_reader read{name};
  const auto read_model = [&](std::string_view node, const argument& value, const std::string& path) {
    power_model& one = models.emplace_back();
    one.node = node;
    return read.fields(value, path, [&](std::string_view field, const argument& v, const std::string& at) {
      double* const to = field == "k0"   ? &one.idle
                         : field == "k1" ? &one.factor
                         : field == "k2" ? &one.exponent
                                         : nullptr;
      return to == nullptr ? read.unknown(at) : read.real(v, at, -1e9, 1e9, *to);
    });
  };
  const bool fine = read.root(args, [&](std::string_view key, const argument& value, const std::string& path) {
    if (key == "nodePowerModel") return read.fields(value, path, read_model);
    return key == "metricProvider" || key == "watcherAddress" || read.unknown(path);
  });
  if (!fine) return std::move(read).failure();
  return peaks{std::move(models)};
}

GANGSCHED_INLINE std::int64_t peaks::score(const pod_view& pod, room node) const {
  const auto model =
      std::lower_bound(models_.begin(), models_.end(), node.name(),
                       [](const power_model& one, std::string_view wanted) { return one.node < wanted; });
  const auto share = used_.cpu_of(node);
  if (!used_.measured_at(node) || !share || model == models_.end() || model->node != node.name()) return 0;
  const std::int64_t overhead = overhead_of(pod.spec(), kinds::cpu), asked = pod.request(kinds::cpu);
  const auto request = static_cast<double>(asked == overhead ? 0 : asked);  // of no container: nothing, as upstream
  const double used = *share, capacity = static_cast<double>(used_.capacity_of(node));
  const double then = capacity == 0 ? 0 : 100 * (used / 100 * capacity + request) / capacity;
  if (then > 100) return 0;
  const double more = model->factor * (std::exp(model->exponent * then) - std::exp(model->exponent * used)) * 1e15;
  constexpr double bound = 9223372036854775808.0;
  // What upstream's conversion makes of it on amd64.
  return more >= -bound && more < bound ? static_cast<std::int64_t>(more) : std::numeric_limits<std::int64_t>::min();
}

GANGSCHED_INLINE void peaks::normalize_score(const pod_view&, std::span<scored_group> groups) const {
  if (groups.empty()) return;
  std::int64_t least = groups.front().score, most = least;
  for (const scored_group& one : groups) least = std::min(least, one.score), most = std::max(most, one.score);
  // Differences wrap, as upstream's do.
  const auto above = [&](std::int64_t cost) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(cost) - static_cast<std::uint64_t>(least));
  };
  for (scored_group& one : groups) {
    if (least == most)
      one.score = most == 0 ? 0 : max_node_score;
    else
      one.score = max_node_score -
                  static_cast<std::int64_t>(static_cast<double>(max_node_score) *
                                            static_cast<double>(above(one.score)) / static_cast<double>(above(most)));
  }
}

}  // namespace gangsched::inline GANGSCHED_ABI
