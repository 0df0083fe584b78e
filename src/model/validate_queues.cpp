#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "gangsched/model/name_rules.hpp"
#include "gangsched/model/requests.hpp"
#include "gangsched/model/spec_path.hpp"
#include "gangsched/model/validate.hpp"

// What can be told of a queue or flavor by itself.
namespace gangsched::inline GANGSCHED_ABI {
namespace detail {

/// Checks one queue; each function notes the first problem that it finds and returns false.
struct queue_checker {
  const queue_spec& spec;
  error failure = {};

  bool fail(errc code, const spec_path& at, std::string why) {
    failure = {code, "queue " + spec.name, at.text(), std::move(why)};
    return false;
  }
  static spec_path top(std::string_view name) noexcept { return {nullptr, spec_path::step::field, name}; }

  /// Quota of a resource that no pod can request would have no effect, without a word: mostly it is misspelt.
  bool resource(std::string_view name, const spec_path& at) {
    if (!is_qualified_name(name)) return fail(errc::malformed, at, "is not the name of a resource");
    return is_counted_resource(name) ||
           fail(errc::malformed, at,
                "is not a resource that pods request: cpu, memory, ephemeral-storage, pods, hugepages-* or a name with "
                "a prefix such as example.com/gpu");
  }
  bool amounts(const resource_list& list, const spec_path& at) {
    for (const auto& [name, value] : list) {
      std::int64_t ignored = 0;
      if (!resource(name, at.at(name))) return false;
      if (value.negative()) return fail(errc::out_of_range, at.at(name), "is negative");
      if (!(name == "cpu" ? value.milli_value(ignored) : value.value(ignored)))
        return fail(errc::overflow, at.at(name), "does not fit into 64 bits");
    }
    return true;
  }
  /// Each amount that both name is no larger in @p list than in @p most.
  bool within(const resource_list& list, const resource_list& most, const spec_path& at, const char* above,
              bool absent_is_nothing) {
    for (const auto& [name, value] : list) {
      const auto bound = most.find(name);
      if (bound == most.end() ? absent_is_nothing && !(value == quantity{}) : value > bound->second)
        return fail(errc::malformed, at.at(name), std::string{"is above "} + above);
    }
    return true;
  }
  bool quota(const queue_quota& one, const spec_path& at) {
    if (!amounts(one.guaranteed, at.field("guaranteed")) || !amounts(one.limit, at.field("limit")) ||
        !amounts(one.borrowing_limit, at.field("borrowing_limit")) ||
        !amounts(one.lending_limit, at.field("lending_limit")))
      return false;
    for (const auto& [name, weight] : one.weights) {
      if (!resource(name, at.field("weights").at(name))) return false;
      if (!std::isfinite(weight) || weight < 0)
        return fail(errc::out_of_range, at.field("weights").at(name), "is negative or no number");
    }
    return within(one.guaranteed, one.limit, at.field("guaranteed"), "the limit", false) &&
           within(one.lending_limit, one.guaranteed, at.field("lending_limit"), "what is guaranteed", true);
  }
  bool quotas() {
    const spec_path all = top("quotas");
    for (std::size_t i = 0; i < spec.quotas.size(); ++i) {
      const spec_path at = all.at(i);
      if (!spec.quotas[i].flavor.empty() && !is_queue_name(spec.quotas[i].flavor))
        return fail(errc::malformed, at.field("flavor"), not_a_queue_name);
      for (std::size_t other = 0; other < i; ++other) {
        if (spec.quotas[other].flavor == spec.quotas[i].flavor)
          return fail(errc::duplicate, at.field("flavor"), "\"" + spec.quotas[i].flavor + "\" is there twice");
      }
      if (!quota(spec.quotas[i], at)) return false;
    }
    return true;
  }
  template <class Enum>
  bool enumerator(Enum value, Enum last, const char* field) {
    return value <= last || fail(errc::out_of_range, top(field), "is not one of its values");
  }
  bool namespaces() {
    const spec_path all = top("namespaces");
    for (std::size_t i = 0; i < spec.namespaces.size(); ++i) {
      const std::string& ns = spec.namespaces[i];
      if (!is_dns_label(ns)) return fail(errc::malformed, all.at(i), "\"" + ns + "\" is not a DNS label");
      if (std::find(spec.namespaces.begin(), spec.namespaces.end(), ns) - spec.namespaces.begin() !=
          static_cast<std::ptrdiff_t>(i))
        return fail(errc::duplicate, all.at(i), "\"" + ns + "\" is there twice");
    }
    return true;
  }
  bool queue() {
    if (!is_queue_name(spec.name)) return fail(errc::malformed, top("name"), not_a_queue_name);
    if (!spec.parent.empty() && !is_queue_name(spec.parent))
      return fail(errc::malformed, top("parent"), not_a_queue_name);
    if (spec.parent == spec.name) return fail(errc::malformed, top("parent"), "is the queue itself");
    if (!quotas()) return false;
    if (!std::isfinite(spec.weight) || spec.weight <= 0)
      return fail(errc::out_of_range, top("weight"), "is not above 0");
    if (spec.preempt_min_runtime < instant::zero())
      return fail(errc::out_of_range, top("preempt_min_runtime"), "is negative");
    if (spec.reclaim_min_runtime < instant::zero())
      return fail(errc::out_of_range, top("reclaim_min_runtime"), "is negative");
    if (spec.max_running.value_or(0) < 0) return fail(errc::out_of_range, top("max_running"), "is negative");
    return enumerator(spec.state, queue_state::drain, "state") && enumerator(spec.heads, head_rule::strict, "heads") &&
           enumerator(spec.within_queue, queue_preemption::lower_or_newer_equal_priority, "within_queue") &&
           enumerator(spec.reclaim, queue_reclaim::any, "reclaim") && namespaces();
  }
};

}  // namespace detail

GANGSCHED_INLINE std::optional<error> check(const queue_spec& spec) {
  detail::queue_checker checker{spec};
  if (checker.queue()) return std::nullopt;
  return std::move(checker.failure);
}

GANGSCHED_INLINE std::optional<error> check(const flavor_spec& spec) {
  const std::string object = "flavor " + spec.name;
  if (!detail::is_queue_name(spec.name)) return error{errc::malformed, object, "name", detail::not_a_queue_name};
  // Labels and taints are those of nodes, tolerations those of pods.
  if (auto wrong = check(node_spec{.name = "n", .labels = spec.node_labels, .taints = spec.taints})) {
    wrong->object = object;
    if (wrong->field.starts_with("labels")) wrong->field.insert(0, "node_");
    return wrong;
  }
  if (auto wrong = check(pod_spec{.name = "p", .tolerations = spec.tolerations})) {
    wrong->object = object;
    return wrong;
  }
  return std::nullopt;
}

}  // namespace gangsched::inline GANGSCHED_ABI
