#include "gangsched/src/kube/simulation/ordered_sets.hpp"

#include <charconv>
#include <limits>
#include <string_view>

namespace gangsched::inline GANGSCHED_ABI::kube::simulation {

std::uint64_t ordinal_of(std::string_view name) {
  constexpr std::uint64_t none = std::numeric_limits<std::uint64_t>::max();
  const std::string_view digits = name.substr(name.rfind('-') + 1);
  std::uint64_t made = 0;
  const auto [end, wrong] = std::from_chars(digits.data(), digits.data() + digits.size(), made);
  return wrong == std::errc{} && end == digits.data() + digits.size() ? made : none;
}

ordered_sets::ordered_sets(const manifests& of) {
  for (const controller_manifest& one : of.controllers)
    if (one.one_by_one) sets_.try_emplace({one.ns, one.name});
}

ordered_sets::set* ordered_sets::find(const pod_manifest& pod) {
  if (pod.owner_kind != "StatefulSet" || !pod.group.empty()) return nullptr;
  const auto found = sets_.find({pod.spec.ns, pod.owner_name});
  return found == sets_.end() ? nullptr : &found->second;
}

bool ordered_sets::hold(const pod_manifest& pod, std::size_t index) {
  set* const of = find(pod);
  if (of != nullptr) of->held.emplace(ordinal_of(pod.spec.name), index);
  return of != nullptr;
}

void ordered_sets::is_unready(const pod_manifest& pod, std::size_t index) {
  if (set* const of = find(pod)) of->unready.emplace(ordinal_of(pod.spec.name), index);
}

void ordered_sets::runs(const pod_manifest& pod, std::size_t index) {
  if (set* const of = find(pod)) of->unready.erase({ordinal_of(pod.spec.name), index});
}

void ordered_sets::left(const pod_manifest& pod, std::size_t index) {
  runs(pod, index);
  if (set* const of = find(pod)) of->held.erase({ordinal_of(pod.spec.name), index});
}

std::optional<std::size_t> ordered_sets::next(const pod_manifest& like) {
  set* const of = find(like);
  if (of == nullptr || of->held.empty()) return std::nullopt;
  const auto [number, pod] = *of->held.begin();
  if (!of->unready.empty() && of->unready.begin()->first < number) return std::nullopt;
  of->held.erase(of->held.begin());
  return pod;
}

}  // namespace gangsched::inline GANGSCHED_ABI::kube::simulation
