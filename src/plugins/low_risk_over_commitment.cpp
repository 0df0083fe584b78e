#include "gangsched/plugins/low_risk_over_commitment.hpp"

#include <cmath>

#include "gangsched/framework/argument_reader.hpp"
#include "gangsched/policies/beta_distribution.hpp"
#include "gangsched/policies/pod_bounds.hpp"

namespace gangsched::inline GANGSCHED_ABI {

GANGSCHED_INLINE std::optional<error> low_risk_over_commitment::check(const options& chosen) {
  const auto wrong = [](const char* field, const char* why) {
    return error{errc::out_of_range, "plugin LowRiskOverCommitment", field, why};
  };
  if (chosen.window < 1 || chosen.window > 1'000'000) return wrong("window", "is not in 1 to 10^6");
  if (!(chosen.cpu_weight >= 0 && chosen.cpu_weight <= 1)) return wrong("cpu_weight", "is not in 0 to 1");
  if (!(chosen.memory_weight >= 0 && chosen.memory_weight <= 1)) return wrong("memory_weight", "is not in 0 to 1");
  return std::nullopt;
}

GANGSCHED_INLINE result<low_risk_over_commitment> low_risk_over_commitment::from(const argument& args) {
  options made;
  argument_reader read{name};
  const auto read_weight = [&](std::string_view resource, const argument& value, const std::string& path) {
    if (resource == "cpu") return read.real(value, path, 0, 1, made.cpu_weight);
    return resource == "memory" ? read.real(value, path, 0, 1, made.memory_weight) : read.unknown(path);
  };
  const bool fine = read.root(args, [&](std::string_view key, const argument& value, const std::string& path) {
    if (key == "smoothingWindowSize") return read.number(value, path, 1, 1'000'000, made.window);
    if (key == "riskLimitWeights") return read.fields(value, path, read_weight);
    return key == "metricProvider" || key == "watcherAddress" || read.unknown(path);
  });
  if (!fine) return std::move(read).failure();
  return low_risk_over_commitment{made};
}

GANGSCHED_INLINE double low_risk_over_commitment::risk_of_load(room node, resource_kind of, double requested,
                                                               double limited) const {
  const auto use = used_.use_of(node, of);
  if (!use || use->capacity <= 0) return 0;
  const double mean = use->mean / use->capacity, share = requested / use->capacity;
  const double widest = std::sqrt(mean * (1 - mean) * 0.99);
  const double deviation =
      std::min(use->deviation / use->capacity * std::sqrt(static_cast<double>(options_.window)), widest);
  const double variance = (deviation * deviation + mean * mean) - mean * mean;  // as upstream has it: from its moments
  const bool spread = mean > 0 && mean < 1 && deviation > 0 && variance > 0;
  const double tightness = spread ? mean * (1 - mean) / variance - 1 : 0;
  const auto at_most = [&](double x) { return beta_at_most(mean * tightness, (1 - mean) * tightness, x); };
  double likely = spread ? at_most(share) : mean <= share ? 1 : 0;
  if (limited < use->capacity && requested <= limited) {
    const double within = spread && limited != 0 ? at_most(limited / use->capacity) : 0;
    if (limited == 0)
      likely = 1;
    else if (within > 0)
      likely = std::min(likely / within, 1.0);
  }
  return 1 - likely;
}

GANGSCHED_INLINE double low_risk_over_commitment::risk_of(const pod_view& pod, room node, resource_kind of,
                                                          double weight) const {
  const auto most = [&](const pod_class& one) { return std::max(limit_of(one, of), one.request(of)); };
  std::int64_t limits = 0;
  node.each_pod([&](const pod_info& other) { limits = saturating_add(limits, most(other.spec())); });
  const std::int64_t capacity = node.allocatable(of), used = node.used(of);
  const auto real = [](std::int64_t value) { return static_cast<double>(value); };
  const std::int64_t limits_with = saturating_add(limits, most(pod.spec()));
  const std::int64_t with = std::min(saturating_add(used, pod.request(of)), capacity);
  const double risk_of_limits = limits_with > capacity ? real(limits_with - capacity) / real(limits_with - with) : 0;
  const double load = risk_of_load(node, of, real(std::min(used, capacity)), real(limits));
  return std::max(std::min(weight * risk_of_limits + (1 - weight) * load, 1.0), 0.0);
}

GANGSCHED_INLINE std::int64_t low_risk_over_commitment::score(const pod_view& pod, room node) const {
  const auto names = [&](resource_kind of) { return pod.request(of) != 0 || limit_of(pod.spec(), of) != 0; };
  if (!used_.measured_at(node) || (!names(kinds::cpu) && !names(kinds::memory))) return 0;
  const double risk = std::max(risk_of(pod, node, kinds::cpu, options_.cpu_weight),
                               risk_of(pod, node, kinds::memory, options_.memory_weight));
  return static_cast<std::int64_t>(std::round((1 - risk) * 100));
}

}  // namespace gangsched::inline GANGSCHED_ABI
