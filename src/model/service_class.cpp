#include "gangsched/model/service_class.hpp"

#include <algorithm>
#include <optional>
#include <string>

#include "gangsched/model/inside.hpp"

namespace gangsched::inline GANGSCHED_ABI {

GANGSCHED_INLINE priority_band band_of(std::string_view name) noexcept {
  if (name == "koord-prod") return priority_band::prod;
  if (name == "koord-mid") return priority_band::mid;
  if (name == "koord-batch") return priority_band::batch;
  return name == "koord-free" ? priority_band::free : priority_band::none;
}

GANGSCHED_INLINE qos_class qos_of(std::string_view name) noexcept {
  if (name == "LSE") return qos_class::lse;
  if (name == "LSR") return qos_class::lsr;
  if (name == "LS") return qos_class::ls;
  if (name == "BE") return qos_class::be;
  return name == "SYSTEM" ? qos_class::system : qos_class::none;
}

namespace detail {

/// What a pod says of its class.
struct service_words {
  const label_map* labels;
  bool guaranteed;
  bool best_effort;  ///< Kubernetes' class: no container requests or limits CPU or memory

  [[nodiscard]] std::optional<std::string_view> label(std::string_view key) const {
    const auto found = labels->find(key);
    return found == labels->end() ? std::nullopt : std::optional<std::string_view>{found->second};
  }
  [[nodiscard]] qos_class qos() const {
    if (const auto said = label(qos_label); said && qos_of(*said) != qos_class::none) return qos_of(*said);
    if (guaranteed) return qos_class::lsr;
    return best_effort ? qos_class::be : qos_class::ls;
  }
  [[nodiscard]] priority_band band(std::int32_t priority) const {
    // (A label that names no band hides the priority, in Koordinator too.)
    const auto said = label(priority_band_label);
    const priority_band known = said ? band_of(*said) : band_of(priority);
    if (known != priority_band::none) return known;
    return qos() == qos_class::be ? priority_band::batch : priority_band::prod;
  }
};

GANGSCHED_INLINE service_words words_of(const pod_spec& pod) {
  const auto some = [](const resource_list& all) {
    return std::any_of(all.begin(), all.end(), [](const auto& one) {
      return (one.first == "cpu" || one.first == "memory") && one.second != quantity{};
    });
  };
  const auto none_of = [&](const std::vector<container>& all) {
    return std::none_of(all.begin(), all.end(),
                        [&](const container& one) { return some(one.requests) || some(one.limits); });
  };
  return {&pod.labels, pod.guaranteed,
          none_of(pod.containers) && none_of(pod.init_containers) && !(pod.resources && some(*pod.resources))};
}

}  // namespace detail

GANGSCHED_INLINE qos_class qos_of(const pod_spec& pod) { return detail::words_of(pod).qos(); }
GANGSCHED_INLINE priority_band band_of(const pod_spec& pod, std::int32_t priority) {
  return detail::words_of(pod).band(priority);
}
GANGSCHED_INLINE qos_class qos_of(const cluster_questions& on, pod_id pod) {
  if (!on.contains(pod)) return qos_class::none;
  const model::cluster_state& state = detail::inside(on);
  return state.classes[state.pods.cls[pod.row]].qos;
}
GANGSCHED_INLINE priority_band band_of(const cluster_questions& on, pod_id pod) {
  if (!on.contains(pod)) return priority_band::none;
  const model::cluster_state& state = detail::inside(on);
  return state.classes[state.pods.cls[pod.row]].band;
}

namespace detail {

GANGSCHED_INLINE void move_amount(resource_list& list, const char* from, std::string_view to) {
  const auto found = list.find(from);
  if (found == list.end()) return;
  quantity moved = found->second;
  std::int64_t milli = 0;
  // What does not fit stays where it is: adding the pod says so.
  if (from == std::string_view{"cpu"}) {
    if (!moved.milli_value(milli)) return;
    moved = quantity{milli};
  }
  list.erase(found);
  list.insert_or_assign(std::string{to}, moved);
}

}  // namespace detail

GANGSCHED_INLINE void request_resources_of(priority_band band, pod_spec& pod) {
  const band_resources to = resources_of(band);
  if (to.cpu.empty()) return;
  const auto move_all = [&](resource_list& list) {
    detail::move_amount(list, "cpu", to.cpu);
    detail::move_amount(list, "memory", to.memory);
  };
  for (auto* const containers : {&pod.init_containers, &pod.containers}) {
    for (container& one : *containers) {
      move_all(one.requests);
      move_all(one.limits);
      for (const std::string_view name : {to.cpu, to.memory}) {
        const auto limit = one.limits.find(name);
        if (limit != one.limits.end()) one.requests.emplace(std::string{name}, limit->second);
      }
    }
  }
  move_all(pod.overhead);
}

}  // namespace gangsched::inline GANGSCHED_ABI
