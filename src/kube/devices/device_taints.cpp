#include "gangsched/src/kube/devices/device_taints.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>

#include "gangsched/model/name_rules.hpp"

namespace gangsched::inline GANGSCHED_ABI::kube::detail {
namespace {

/// @p none: the effect is None, which is none.
bool read_device_effect(reader& read, const place& of, std::optional<taint_effect>& out, bool& none) {
  using effect = std::optional<taint_effect>;
  if (!read.word(of, out,
                 {{"NoSchedule", effect{taint_effect::no_schedule}},
                  {"NoExecute", effect{taint_effect::no_execute}},
                  {"None", effect{}}}))
    return false;
  none = !out;
  return true;
}

/// An empty one is none.
bool read_taint_key(reader& read, const place& of, std::string& out) {
  return read.text(of, out) && (out.empty() || gangsched::detail::is_qualified_name(out) ||
                                read.fail(errc::malformed, of, "is not the name of a label"));
}
bool read_taint_value(reader& read, const place& of, std::string& out) {
  return read.text(of, out) &&
         (gangsched::detail::is_label_value(out) || read.fail(errc::malformed, of, "is not the value of a label"));
}

bool read_device_toleration(reader& read, const place& of, device_tolerations& to) {
  device_toleration made;
  bool none = false;
  const bool fine = read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "key") return read_taint_key(read, v, made.is.key);
    if (key == "value") return read_taint_value(read, v, made.is.value);
    if (key == "operator")
      return read.word(v, made.is.op, {{"Equal", toleration_operator::equal}, {"Exists", toleration_operator::exists}});
    if (key == "effect") return v.at->text.empty() || read_device_effect(read, v, made.is.effect, none);
    if (key == "tolerationSeconds") return read.integer(v, made.seconds.emplace());
    return read.ignore(key, v, {});
  });
  if (!fine) return false;
  if (made.is.op == toleration_operator::exists && !made.is.value.empty())
    return read.fail(errc::malformed, of, "has a value, which the operator Exists does not look at");
  if (!none) to.push_back(std::move(made));
  return true;
}

}  // namespace

std::int64_t seconds_between(instant first, instant last) noexcept {
  const auto whole = [](instant at) { return std::chrono::floor<std::chrono::seconds>(at).count(); };
  return whole(last) - whole(first);
}

bool read_device_taint(reader& read, const place& of, std::vector<device_taint>& to) {
  device_taint made;
  std::optional<taint_effect> effect;
  bool none = false;
  const bool fine = read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "key") return read_taint_key(read, v, made.key);
    if (key == "value") return read_taint_value(read, v, made.value);
    if (key == "effect") return read_device_effect(read, v, effect, none);
    if (key == "timeAdded") return read.time(v, made.since.emplace());
    return read.ignore(key, v, {});
  });
  if (!fine) return false;
  if (made.key.empty() || (!effect && !none)) return read.fail(errc::malformed, of, "needs a key and an effect");
  if (none) return true;
  made.effect = *effect;
  to.push_back(std::move(made));
  return true;
}

bool read_device_tolerations(reader& read, const place& of, device_tolerations& to) {
  return read.items(of, [&](const place& item) {
    if (item.index == most_taints)
      return read.fail(errc::out_of_range, of, fmt::format("are more than {}", most_taints));
    return read_device_toleration(read, item, to);
  });
}

bool tolerates_all(const device_tolerations& these, std::span<const device_taint> taints) {
  return std::ranges::all_of(taints, [&](const taint& one) {
    return std::ranges::any_of(these, [&](const device_toleration& each) { return tolerates(each.is, one); });
  });
}

std::optional<taint_eviction> eviction_for(const device_tolerations& these, std::span<const device_taint> taints,
                                           instant now) {
  std::optional<taint_eviction> made;
  for (const device_taint& one : taints) {
    if (one.effect != taint_effect::no_execute) continue;
    bool for_ever = false;
    std::optional<std::int64_t> seconds;
    for (const device_toleration& each : these) {
      if (each.is.effect != taint_effect::no_execute || !tolerates(each.is, one)) continue;
      for_ever = for_ever || !each.seconds;
      if (each.seconds) seconds = std::min(seconds.value_or(*each.seconds), *each.seconds);
    }
    if (for_ever) continue;
    constexpr std::int64_t longest = std::numeric_limits<std::int32_t>::max();  // as of grace periods
    const std::int64_t tolerated = std::clamp<std::int64_t>(seconds.value_or(0), 0, longest);
    const std::int64_t passed = seconds_between(std::min(one.since.value_or(now), now), now);
    const std::int64_t after = std::max<std::int64_t>(0, tolerated - passed);
    if (made && made->after_seconds <= after) continue;
    made = {after, fmt::format("{}{}{}:NoExecute", one.key, one.value.empty() ? "" : "=", one.value)};
  }
  return made;
}

void tolerated_devices::add(const device_tolerations& these) {
  if (lists_.emplace(attribute_of(these), these).second) tolerations_ += these.size();
}

void tolerated_devices::look_at(const std::string& driver, std::span<const device_taint> taints, bool held) {
  if (!taints.empty() && (held || somebody_tolerates(taints))) divided_.insert(driver);
}

void tolerated_devices::mark(const std::string& driver, std::span<const device_taint> taints, bool held,
                             other_device& device) const {
  device.healthy = device.healthy && (taints.empty() || held || somebody_tolerates(taints));
  if (!divides(driver)) return;
  for (const auto& [attribute, list] : lists_)
    if (tolerates_all(list, taints)) device.attributes[attribute] = true;
}

std::string tolerated_devices::attribute_of(const device_tolerations& these) {
  std::string name = "gangsched.dev/tolerated-by";
  for (const auto& [one, seconds] : these) {
    const bool any = one.op == toleration_operator::exists;
    const char* const effect = !one.effect ? "" : *one.effect == taint_effect::no_execute ? "NoExecute" : "NoSchedule";
    name += fmt::format(" {}{}{}:{}", one.key, any ? "" : "=", one.value, effect);
  }
  return name;
}

bool tolerated_devices::somebody_tolerates(std::span<const device_taint> taints) const {
  return std::ranges::any_of(lists_, [&](const auto& each) { return tolerates_all(each.second, taints); });
}

}  // namespace gangsched::inline GANGSCHED_ABI::kube::detail
