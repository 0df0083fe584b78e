#include "gangsched/plugins/target_load_packing.hpp"

#include <cmath>

#include "gangsched/core/quantity.hpp"
#include "gangsched/framework/argument_reader.hpp"
#include "gangsched/policies/pod_bounds.hpp"

namespace gangsched::inline GANGSCHED_ABI {

GANGSCHED_INLINE std::optional<error> target_load_packing::check(const options& chosen) {
  const auto wrong = [](const char* field, const char* why) {
    return error{errc::out_of_range, "plugin TargetLoadPacking", field, why};
  };
  if (chosen.target < 1 || chosen.target > 100) return wrong("target", "is not in 1 to 100");
  if (!(chosen.multiplier >= 0 && chosen.multiplier <= 1e6)) return wrong("multiplier", "is not in 0 to 10^6");
  if (chosen.default_cpu < 0 || chosen.default_cpu > std::int64_t{1} << 40)
    return wrong("default_cpu", "is not in 0 to 2^40");
  if (chosen.lag < instant::zero()) return wrong("lag", "is negative");
  return std::nullopt;
}

GANGSCHED_INLINE result<target_load_packing> target_load_packing::from(const argument& args) {
  options made;
  argument_reader read{name};
  const auto read_default = [&](std::string_view resource, const argument& value, const std::string& path) {
    if (resource != "cpu") return read.unknown(path);
    const std::string* text = value.if_text();
    const std::int64_t* whole = value.if_int();
    if (text == nullptr && whole == nullptr) return read.fail(errc::malformed, path, "has to be a quantity");
    const std::string said = text != nullptr ? *text : std::to_string(*whole);
    const auto cpu = quantity::parse(said);
    if (!cpu) return read.fail(errc::malformed, path, '"' + said + "\" is not a quantity");
    const bool fits =
        !cpu->negative() && cpu->milli_value(made.default_cpu) && made.default_cpu <= std::int64_t{1} << 40;
    return fits || read.fail(errc::out_of_range, path, "is not in 0 to 2^40 thousandths");
  };
  const bool fine = read.root(args, [&](std::string_view key, const argument& value, const std::string& path) {
    if (key == "targetUtilization") return read.number(value, path, 1, 100, made.target);
    if (key == "defaultRequestsMultiplier") return read.real(value, path, 0, 1e6, made.multiplier);
    if (key == "defaultRequests") return read.fields(value, path, read_default);
    return key == "metricProvider" || key == "watcherAddress" || read.unknown(path);
  });
  if (!fine) return std::move(read).failure();
  return target_load_packing{made};
}

GANGSCHED_INLINE std::int64_t target_load_packing::predicted(const pod_class& pod) const {
  using maybe = std::optional<std::int64_t>;
  std::int64_t sum = overhead_of(pod, kinds::cpu);
  each_container(pod, kinds::cpu, [&](container_kind kind, const maybe& request, const maybe& limit) {
    if (kind != container_kind::app) return;
    const auto from_request = [&] {
      return saturating_cast(std::round(static_cast<double>(*request) * options_.multiplier));
    };
    sum = saturating_add(sum, limit ? *limit : request ? from_request() : options_.default_cpu);
  });
  return sum;
}

GANGSCHED_INLINE std::int64_t target_load_packing::score(const pod_view& pod, room node) const {
  const auto end = used_.measured_at(node);
  const auto share = used_.cpu_of(node);
  if (!end || !share) return 0;
  std::int64_t unseen = 0;
  node.each_pod([&](const pod_info& other) {
    const auto started = other.start_time();
    if (!started || *started > later_by(*end, -options_.lag)) unseen = saturating_add(unseen, predicted(other.spec()));
  });
  const auto target = static_cast<double>(options_.target), capacity = static_cast<double>(used_.capacity_of(node));
  const double used = *share / 100 * capacity;
  const auto more = [](std::int64_t milli) { return static_cast<double>(milli); };
  const double percent = capacity == 0 ? 0 : 100 * (used + more(predicted(pod.spec())) + more(unseen)) / capacity;
  if (percent > 100) return 0;
  const double score =
      percent > target ? target * (100 - percent) / (100 - target) : (100 - target) * percent / target + target;
  return static_cast<std::int64_t>(std::round(std::max(score, 0.0)));
}

}  // namespace gangsched::inline GANGSCHED_ABI
