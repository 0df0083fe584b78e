#include "gangsched/plugins/load_variation_risk_balancing.hpp"

#include <cmath>

#include "gangsched/framework/argument_reader.hpp"

namespace gangsched::inline GANGSCHED_ABI {

GANGSCHED_INLINE std::optional<error> load_variation_risk_balancing::check(const options& chosen) {
  const auto wrong = [](const char* field, const char* why) {
    return error{errc::out_of_range, "plugin LoadVariationRiskBalancing", field, why};
  };
  if (!(chosen.margin >= 0 && chosen.margin <= 1e6)) return wrong("margin", "is not in 0 to 10^6");
  if (!(chosen.sensitivity >= -1e6 && chosen.sensitivity <= 1e6))
    return wrong("sensitivity", "is not in -10^6 to 10^6");
  return std::nullopt;
}

GANGSCHED_INLINE result<load_variation_risk_balancing> load_variation_risk_balancing::from(const argument& args) {
  options made;
  argument_reader read{name};
  const bool fine = read.root(args, [&](std::string_view key, const argument& value, const std::string& path) {
    if (key == "safeVarianceMargin") return read.real(value, path, 0, 1e6, made.margin);
    if (key == "safeVarianceSensitivity") return read.real(value, path, -1e6, 1e6, made.sensitivity);
    return key == "metricProvider" || key == "watcherAddress" || read.unknown(path);
  });
  if (!fine) return std::move(read).failure();
  return load_variation_risk_balancing{made};
}

GANGSCHED_INLINE std::optional<double> load_variation_risk_balancing::score_of(const pod_view& pod, room node,
                                                                               resource_kind of, double unit) const {
  const auto use = used_.use_of(node, of, unit);
  if (!use) return std::nullopt;
  if (use->capacity <= 0) return 0;
  const auto cut = [](double share) { return std::max(std::min(share, 1.0), 0.0); };
  const double mean = cut((use->mean + static_cast<double>(pod.request(of)) / unit) / use->capacity);
  double deviation = cut(use->deviation / use->capacity);
  if (options_.sensitivity >= 0)
    deviation = std::pow(deviation, 1 / options_.sensitivity);  // of 0: a deviation of 1 stays
  deviation = cut(deviation * options_.margin);
  return (1 - (mean + deviation) / 2) * 100;
}

GANGSCHED_INLINE std::int64_t load_variation_risk_balancing::score(const pod_view& pod, room node) const {
  if (!used_.measured_at(node)) return 0;
  const auto cpu = score_of(pod, node, kinds::cpu, 1), memory = score_of(pod, node, kinds::memory, 1 << 20);
  const double lower = cpu && memory ? std::min(*cpu, *memory) : cpu.value_or(memory.value_or(0));
  return static_cast<std::int64_t>(std::round(lower));
}

}  // namespace gangsched::inline GANGSCHED_ABI
