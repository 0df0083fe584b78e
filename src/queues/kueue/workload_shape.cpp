#include "gangsched/queues/kueue/workload_shape.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>
#include <string_view>

namespace gangsched::inline GANGSCHED_ABI::queues::kueue {
namespace detail {

inline std::optional<std::int64_t> whole_number(const std::string& text) {
  std::int64_t made = 0;
  const char* end = text.data() + text.size();
  const auto [at, failed] = std::from_chars(text.data(), end, made);
  return at == end && failed == std::errc{} ? std::optional{made} : std::nullopt;
}

inline bool tolerates(const tolerated_taint& one, const node_taint& taint) {
  return (!one.what || *one.what == taint.what) && (one.key.empty() || one.key == taint.key) &&
         (!one.value || *one.value == taint.value);
}

/// Of a label that the flavor has.
inline bool holds(const label_requirement& one, const std::string& value) {
  const auto listed = [&] { return std::find(one.values.begin(), one.values.end(), value) != one.values.end(); };
  switch (one.op) {
    case label_operator::in: return listed();
    case label_operator::not_in: return !listed();
    case label_operator::exists: return true;
    case label_operator::does_not_exist: return false;
    case label_operator::greater:
    case label_operator::less: break;
  }
  const std::optional<std::int64_t> has = whole_number(value), bound = whole_number(one.values.front());
  return has && bound && (one.op == label_operator::greater ? *has > *bound : *has < *bound);
}

/// Whether pods of the pod set may run on the flavor's nodes. Requirements on labels that the flavor does not name are for its nodes
/// to meet, and a term with nothing else accepts any flavor.
inline bool accepts(const pod_set_spec& pods, const flavor_spec& flavor) {
  for (const node_taint& taint : flavor.taints) {
    const auto tolerated = [&](const tolerated_taint& one) { return tolerates(one, taint); };
    if (taint.what != effect::prefer_no_schedule && std::ranges::none_of(pods.tolerations, tolerated) &&
        std::ranges::none_of(flavor.tolerations, tolerated))
      return false;
  }
  for (const auto& [key, value] : pods.node_selector) {
    const auto label = flavor.labels.find(key);
    if (label != flavor.labels.end() && label->second != value) return false;
  }
  bool some_holds = pods.affinity.empty();
  for (const std::vector<label_requirement>& term : pods.affinity) {
    bool says_something = false, all_hold = true;
    for (const label_requirement& one : term) {
      const auto label = flavor.labels.find(one.key);
      if (label == flavor.labels.end()) continue;
      says_something = true;
      all_hold = all_hold && holds(one, label->second);
    }
    if (!says_something) return true;
    some_holds = some_holds || all_hold;
  }
  return some_holds;
}

/// Texts and numbers as one text that nothing else makes.
class shape_key {
 public:
  void add(std::int64_t number) {
    char bytes[sizeof number];
    std::memcpy(bytes, &number, sizeof number);
    text_.append(bytes, sizeof number);
  }
  void add(std::string_view text) {
    add(static_cast<std::int64_t>(text.size()));
    text_.append(text);
  }
  void add(const pod_set_spec& pods) {
    add(std::string_view{pods.name});
    add(pods.count - pods.reclaimable);
    add(pods.min_count ? std::int64_t{*pods.min_count} : -1);
    // What partial admission starts from. (Kueue's hash has it not, but each workload has its own there.)
    if (pods.min_count && *pods.min_count < pods.count) add(pods.count);
    add(static_cast<std::int64_t>(pods.requests.size()));
    for (const auto& [resource, amount] : pods.requests) add(std::string_view{resource}), add(amount);
    add(static_cast<std::int64_t>(pods.node_selector.size()));
    for (const auto& [key, value] : pods.node_selector) add(std::string_view{key}), add(std::string_view{value});
    add(static_cast<std::int64_t>(pods.affinity.size()));
    for (const std::vector<label_requirement>& term : pods.affinity) {
      add(static_cast<std::int64_t>(term.size()));
      for (const label_requirement& one : term) {
        add(std::string_view{one.key}), add(static_cast<std::int64_t>(one.op));
        add(static_cast<std::int64_t>(one.values.size()));
        for (const std::string& value : one.values) add(std::string_view{value});
      }
    }
    add(static_cast<std::int64_t>(pods.tolerations.size()));
    for (const tolerated_taint& one : pods.tolerations) {
      add(std::string_view{one.key});
      add(one.value ? std::int64_t{1} : 0), add(std::string_view{one.value ? *one.value : ""});
      add(one.what ? static_cast<std::int64_t>(*one.what) : -1);
    }
  }
  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

/// What is wrong with a pod set: the field and the reason.
inline std::optional<error> fault_of(const pod_set_spec& pods, const std::string& object, const std::string& where) {
  const auto wrong = [&](errc code, const std::string& what, std::string reason) {
    return error{code, object, where + what, std::move(reason)};
  };
  if (pods.count < 0) return wrong(errc::out_of_range, ".count", "is negative");
  if (pods.min_count && (*pods.min_count < 0 || *pods.min_count > pods.count))
    return wrong(errc::out_of_range, ".min_count", "has to be from 0 to the count");
  if (pods.reclaimable < 0 || pods.reclaimable > pods.count)
    return wrong(errc::out_of_range, ".reclaimable", "has to be from 0 to the count");
  for (const auto& [resource, amount] : pods.requests)
    if (amount < 0) return wrong(errc::out_of_range, ".requests[" + resource + "]", "is negative");
  for (std::size_t term = 0; term < pods.affinity.size(); ++term) {
    for (std::size_t at = 0; at < pods.affinity[term].size(); ++at) {
      const label_requirement& one = pods.affinity[term][at];
      const std::string what = ".affinity[" + std::to_string(term) + "][" + std::to_string(at) + "].values";
      switch (one.op) {
        case label_operator::in:
        case label_operator::not_in:
          if (one.values.empty()) return wrong(errc::malformed, what, "is empty");
          break;
        case label_operator::exists:
        case label_operator::does_not_exist:
          if (!one.values.empty()) return wrong(errc::malformed, what, "has to be empty");
          break;
        case label_operator::greater:
        case label_operator::less:
          if (one.values.size() != 1 || !whole_number(one.values.front()))
            return wrong(errc::malformed, what, "has to be one whole number");
          break;
      }
    }
  }
  return std::nullopt;
}

}  // namespace detail

GANGSCHED_INLINE result<workload_shape> workload_shape::make(const configuration& of, const workload_spec& from) {
  const std::string object = "workload " + from.name;
  const std::optional<queue_index> queue = of.find_queue(from.queue);
  if (!queue) return error{errc::unknown, object, "queue", "there is no queue " + from.queue};
  if (from.pod_sets.empty()) return error{errc::malformed, object, "pod_sets", "is empty"};
  for (std::size_t i = 0; i < from.pod_sets.size(); ++i)
    if (auto fault = detail::fault_of(from.pod_sets[i], object, "pod_sets[" + std::to_string(i) + "]"))
      return *std::move(fault);

  workload_shape made;
  made.queue = *queue;
  made.priority = from.priority;
  detail::shape_key key;
  key.add(std::int64_t{*queue}), key.add(std::int64_t{from.priority});
  const resource_index pods_resource = of.find_resource("pods");
  const bool counts_pods = pods_resource != none && of.group_of(*queue, pods_resource) != none;
  struct named {
    std::string_view name;
    request what;
  };
  std::vector<named> wanted;
  for (const pod_set_spec& one : from.pod_sets) {
    key.add(one);
    wanted.clear();
    for (const auto& [resource, amount] : one.requests)
      if (!counts_pods || resource != "pods") wanted.push_back({resource, {of.find_resource(resource), amount}});
    if (counts_pods) wanted.push_back({"pods", {pods_resource, 1, true}});
    std::sort(wanted.begin(), wanted.end(),
              [](const named& a, const named& b) { return looked_at_before(a.name, b.name); });
    pod_set& added = made.pod_sets.emplace_back();
    added.count = one.count - one.reclaimable;
    added.full_count = one.count;
    added.min_count = one.min_count.value_or(one.count);
    added.first = static_cast<std::uint32_t>(made.requests.size());
    for (const named& each : wanted) made.requests.push_back(each.what);
    added.last = static_cast<std::uint32_t>(made.requests.size());
    added.flavors.resize(static_cast<row_t>(of.flavor_count()));
    for (const flavor_choice& group : of.groups(*queue))
      for (const flavor_index flavor : group.flavors)
        if (detail::accepts(one, of.flavor(flavor))) added.flavors.set(flavor);
  }
  made.key = key.take();
  return made;
}

}  // namespace gangsched::inline GANGSCHED_ABI::queues::kueue
