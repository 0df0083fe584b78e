#pragma once
#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gangsched/core/result.hpp"
#include "gangsched/devices/device_demand.hpp"
#include "gangsched/model/name_rules.hpp"
#include "gangsched/model/node_selector.hpp"
#include "gangsched/model/requests.hpp"
#include "gangsched/model/spec.hpp"
#include "gangsched/model/spec_path.hpp"
#include "gangsched/model/validate.hpp"

namespace gangsched::inline GANGSCHED_ABI::detail {

enum class selector_kind : std::uint8_t { labels, node };
enum class resource_owner : std::uint8_t { pod, node };

// Every member checks one part and returns false after noting the first problem in it.
class spec_checker {
 public:
  /// The noted problem, as one of @p object.
  [[nodiscard]] error failure(std::string object) && {
    failure_.object = std::move(object);
    return std::move(failure_);
  }

  [[nodiscard]] bool node(const node_spec& spec) {
    return dns_subdomain(spec.name, top("name")) && labels(spec.labels, top("labels")) &&
           taints(spec.taints, top("taints")) &&
           resources(spec.allocatable, resource_owner::node, top("allocatable")) &&
           resources(spec.capacity, resource_owner::node, top("capacity")) && images(spec.images, top("images")) &&
           filled(spec.declared_features, top("declared_features")) && volume_limits(spec, top("volume_limits"));
  }
  /// The same in the same order, without what is @p right.
  [[nodiscard]] bool node_again(const node_spec& spec, const right_before& right) {
    const auto known = [&](reads part) { return any(right.parts & part); };
    return (known(reads::labels) || labels(spec.labels, top("labels"), right.labels)) &&
           (known(reads::taints) || taints(spec.taints, top("taints"))) &&
           resources(spec.allocatable, resource_owner::node, top("allocatable"), known(reads::allocatable)) &&
           resources(spec.capacity, resource_owner::node, top("capacity")) &&
           (known(reads::images) || images(spec.images, top("images"))) &&
           (known(reads::features) || filled(spec.declared_features, top("declared_features"))) &&
           (known(reads::allocatable) || volume_limits(spec, top("volume_limits")));
  }

  [[nodiscard]] bool pod(const pod_spec& spec) {
    return pod_own(spec) && dns_label(spec.ns, top("ns")) && labels(spec.labels, top("labels")) &&
           containers(spec.containers, false, top("containers")) &&
           containers(spec.init_containers, true, top("init_containers")) &&
           filled(spec.image_volumes, top("image_volumes")) && volumes(spec.volumes, top("volumes")) &&
           (!spec.resources || amounts(*spec.resources, top("resources"))) &&
           resources(spec.overhead, resource_owner::pod, top("overhead")) &&
           labels(spec.node_selector, top("node_selector")) && node_terms(spec.affinity, top("affinity")) &&
           pod_terms(spec.affinity_to_pods, top("affinity_to_pods")) &&
           pod_terms(spec.anti_affinity_to_pods, top("anti_affinity_to_pods")) &&
           tolerations(spec.tolerations, top("tolerations")) &&
           spread(spec.topology_spread_constraints, top("topology_spread_constraints")) &&
           (spec.priority_class.empty() || dns_subdomain(spec.priority_class, top("priority_class"))) &&
           enumerator(spec.preemption, preemption_policy::never, "preemption policy", top("preemption")) &&
           (!spec.scheduler_name.empty() || fail(errc::malformed, top("scheduler_name"), "is empty")) &&
           kind(spec.controller.kind, top("controller").field("kind")) &&
           enumerator(spec.bind_cpus.exclusive, cpu_exclusive_policy::numa_node_level, "policy",
                      top("bind_cpus").field("exclusive")) &&
           enumerator(spec.bind_cpus.policy, cpu_bind_policy::spread_by_pcpus, "policy",
                      top("bind_cpus").field("policy")) &&
           (spec.required_node.empty() || dns_subdomain(spec.required_node, top("required_node"))) &&
           (spec.held_room.empty() || dns_subdomain(spec.held_room, top("held_room"))) &&
           (!spec.reservation || reservation(spec, top("reservation"))) &&
           (!spec.reservation_affinity || reservation_affinity_(spec, top("reservation_affinity"))) &&
           (spec.exact_reservation.empty() || (may_draw(spec, top("exact_reservation")) &&
                                               all_qualified(spec.exact_reservation, top("exact_reservation")))) &&
           (!spec.ignores_reservations || !spec.reservation ||
            fail(errc::malformed, top("ignores_reservations"), "a reservation looks for room of its own")) &&
           filled(spec.required_features, top("required_features")) && load(spec.load, top("load"));
  }
  [[nodiscard]] bool load(const load_estimate& said, const spec_path& at) {
    return not_negative(said.cpu_percent.value_or(0), at.field("cpu_percent")) &&
           not_negative(said.memory_percent.value_or(0), at.field("memory_percent")) &&
           not_negative(said.after_scheduled.value_or(instant{0}), at.field("after_scheduled")) &&
           not_negative(said.after_initialized.value_or(instant{0}), at.field("after_initialized"));
  }

  /// What pods that are otherwise alike differ in.
  [[nodiscard]] bool pod_own(const pod_spec& spec) {
    return dns_subdomain(spec.name, top("name")) && queue(spec.queue) && not_negative(spec.max_wait, top("max_wait")) &&
           gates(spec.scheduling_gates, top("scheduling_gates")) &&
           (spec.node || spec.held_devices.empty() ||
            fail(errc::malformed, top("held_devices"), "a pod without a node holds none")) &&
           not_negative(spec.expected_run_time, top("expected_run_time")) &&
           (!spec.node || spec.scheduling_gates.empty() ||
            fail(errc::malformed, top("node"), "a pod with scheduling gates cannot be bound"));
  }

  [[nodiscard]] bool group(const group_spec& spec) {
    return dns_subdomain(spec.name, top("name")) && dns_label(spec.ns, top("ns")) && queue(spec.queue) &&
           gang_policy(spec, top("policy")) && not_negative(spec.max_wait, top("max_wait")) &&
           (spec.priority.value_or(0) <= 1'000'000'000 ||
            fail(errc::out_of_range, top("priority"), fmt::format("{} is above 1000000000", *spec.priority))) &&
           enumerator(spec.preemption.value_or(preemption_policy::never), preemption_policy::never, "preemption policy",
                      top("preemption")) &&
           group_topology_(spec.topology, top("topology")) &&
           enumerator(spec.disruption, disruption_mode::surplus, "mode", top("disruption")) &&
           each(spec.start_after, top("start_after"),
                [&](const group_dependency& one, const spec_path& at) {
                  return enumerator(one.until, dependency_state::done, "state", at.field("until"));
                }) &&
           each(spec.affinity, top("affinity"),
                [&](const group_affinity& one, const spec_path& at) { return qualified(one.key, at.field("key")); });
  }

  [[nodiscard]] bool priority_class(const priority_class_spec& spec) {
    return dns_subdomain(spec.name, top("name")) &&
           enumerator(spec.preemption, preemption_policy::never, "preemption policy", top("preemption"));
  }

  [[nodiscard]] bool resource_claim(const resource_claim_spec& spec) {
    return dns_subdomain(spec.name, top("name")) && dns_label(spec.ns, top("ns")) &&
           (!spec.devices.empty() || fail(errc::malformed, top("devices"), "are none")) &&
           at_least(spec.most_pods, 0, "", top("most_pods"));
  }
  [[nodiscard]] bool namespace_(const namespace_spec& spec) {
    return dns_label(spec.name, top("name")) && labels(spec.labels, top("labels"));
  }

  [[nodiscard]] bool budget(const pod_disruption_budget_spec& spec) {
    return dns_subdomain(spec.name, top("name")) && dns_label(spec.ns, top("ns")) &&
           (!spec.selector || selector(*spec.selector, top("selector"))) &&
           not_negative(spec.disruptions_allowed, top("disruptions_allowed")) &&
           each(spec.disrupted_pods, top("disrupted_pods"),
                [&](const std::string& name, const spec_path& at) { return dns_subdomain(name, at); });
  }

  [[nodiscard]] bool held_room(const held_room_spec& spec) {
    return dns_subdomain(spec.name, top("name")) &&
           each(spec.parts, top("parts"), [&](const held_room_spec::part& one, const spec_path& at) {
             return resources(one.amounts, resource_owner::pod, at.field("amounts"));
           });
  }

  [[nodiscard]] bool service(const service_spec& spec) {
    return dns_subdomain(spec.name, top("name")) && dns_label(spec.ns, top("ns")) &&
           labels(spec.selector, top("selector"));
  }

  [[nodiscard]] bool controller(const controller_spec& spec) {
    return dns_subdomain(spec.name, top("name")) && dns_label(spec.ns, top("ns")) && kind(spec.kind, top("kind")) &&
           (spec.kind != controller_kind::none || fail(errc::malformed, top("kind"), "is none")) &&
           (!spec.selector || selector(*spec.selector, top("selector")));
  }

 private:
  error failure_{};

  [[nodiscard]] static spec_path top(std::string_view name) noexcept { return {nullptr, spec_path::step::field, name}; }

  bool fail(errc code, const spec_path& at, std::string_view reason) {
    failure_ = error{code, {}, at.text(), std::string{reason}};
    return false;
  }

  template <class List, class Check>
  static bool each(const List& list, const spec_path& at, Check check) {
    std::size_t i = 0;
    for (const auto& element : list)
      if (!check(element, at.at(i++))) return false;
    return true;
  }

  template <class Enum>
  bool enumerator(Enum value, Enum last, std::string_view what, const spec_path& at) {
    return value <= last ||
           fail(errc::out_of_range, at, fmt::format("unknown {} {}", what, static_cast<unsigned>(value)));
  }

  bool kind(controller_kind value, const spec_path& at) {
    return enumerator(value, controller_kind::daemon_set, "controller kind", at);
  }

  // Names and labels.

  bool dns_subdomain(std::string_view text, const spec_path& at) {
    constexpr auto why =
        "\"{}\" is not a DNS subdomain: at most 253 of a-z, 0-9, '-' and '.', each part beginning and ending with a "
        "letter or digit";
    return is_dns_subdomain(text) || fail(errc::malformed, at, fmt::format(why, text));
  }

  bool dns_label(std::string_view text, const spec_path& at) {
    constexpr auto why =
        "\"{}\" is not a DNS label: at most 63 of a-z, 0-9 and '-', beginning and ending with a letter or digit";
    return is_dns_label(text) || fail(errc::malformed, at, fmt::format(why, text));
  }

  bool queue(std::string_view name) {
    return name.empty() || is_queue_name(name) || fail(errc::malformed, top("queue"), not_a_queue_name);
  }

  bool qualified(std::string_view text, const spec_path& at) {
    constexpr auto why =
        "\"{}\" is not a qualified name: at most 63 of A-Z, a-z, 0-9, '-', '_' and '.', beginning and ending with a "
        "letter or digit, "
        "optionally after a DNS subdomain and '/'";
    return is_qualified_name(text) || fail(errc::malformed, at, fmt::format(why, text));
  }

  bool label_value(std::string_view text, const spec_path& at) {
    constexpr auto why =
        "\"{}\" is not a label value: empty, or at most 63 of A-Z, a-z, 0-9, '-', '_' and '.', beginning and ending "
        "with a letter or digit";
    return is_label_value(text) || fail(errc::malformed, at, fmt::format(why, text));
  }

  /// @p right: bits of those that need no check.
  bool labels(const label_map& map, const spec_path& at, std::uint64_t right = 0) {
    for (const auto& [key, value] : map) {
      if ((right & 1) == 0 && (!qualified(key, at.at(key)) || !label_value(value, at.at(key)))) return false;
      right >>= 1;
    }
    return true;
  }

  bool filled(const std::vector<std::string>& names, const spec_path& list) {
    return each(names, list, [&](const std::string& name, const spec_path& at) { return filled(name, at); });
  }

  bool images(const std::vector<node_image>& list, const spec_path& path) {
    return each(list, path, [&](const node_image& image, const spec_path& at) {
      return filled(image.names, at.field("names")) && not_negative(image.size_bytes, at.field("size_bytes"));
    });
  }

  bool filled(std::string_view text, const spec_path& at) {
    return !text.empty() || fail(errc::malformed, at, "is empty");
  }

  bool volumes(const pod_volumes& all, const spec_path& path) {
    const auto names = [&](const std::string& name, const spec_path& at) { return dns_subdomain(name, at); };
    return (!all.nodes || each(*all.nodes, path.field("nodes"), names)) &&
           (!all.bindable_nodes || each(*all.bindable_nodes, path.field("bindable_nodes"), names)) &&
           each(all.zones, path.field("zones"),
                [&](const volume_zone& zone, const spec_path& at) {
                  return qualified(zone.key, at.field("key")) &&
                         each(zone.values, at.field("values"), [&](const std::string& value, const spec_path& where) {
                           return label_value(value, where);
                         });
                }) &&
           each(all.disks, path.field("disks"),
                [&](const used_disk& disk, const spec_path& at) { return filled(disk.id, at.field("id")); }) &&
           each(all.exclusive_claims, path.field("exclusive_claims"), names) &&
           each(all.attachments, path.field("attachments"), [&](const attached_volume& volume, const spec_path& at) {
             return filled(volume.driver, at.field("driver")) && filled(volume.id, at.field("id"));
           });
  }

  bool volume_limits(const node_spec& spec, const spec_path& path) {
    for (const auto& [driver, most] : spec.volume_limits)
      if (!filled(driver, path) || !not_negative(most, path.at(driver))) return false;
    return true;
  }

  // Resources.

  bool amounts(const resource_list& list, const spec_path& at) {
    for (const auto& [name, amount] : list)
      if (!fits(name, amount, at.at(name))) return false;
    return true;
  }

  /// @p right: only what there is 0 of needs a check.
  bool resources(const resource_list& list, resource_owner owner, const spec_path& at, bool right = false) {
    for (const auto& [name, amount] : list) {
      if (right && amount != quantity{}) continue;
      if (!resource_name(name, owner, at.at(name)) || !fits(name, amount, at.at(name))) return false;
    }
    return true;
  }

  bool not_negative(auto number, const spec_path& at) {
    return number >= decltype(number){} || fail(errc::out_of_range, at, "is negative");
  }

  bool fits(std::string_view name, const quantity& amount, const spec_path& at) {
    std::int64_t ignored = 0;
    if (amount.negative()) return fail(errc::out_of_range, at, "is negative");
    if (name == "cpu")
      return amount.milli_value(ignored) || fail(errc::overflow, at, "does not fit into 64 bits in thousandths");
    return amount.value(ignored) || fail(errc::overflow, at, "does not fit into 64 bits");
  }

  bool resource_name(std::string_view name, resource_owner owner, const spec_path& at) {
    const bool on_node = owner == resource_owner::node;
    if (name == "cpu" || name == "memory" || name == "ephemeral-storage") return true;
    if (on_node && (name == "pods" || name == "storage")) return true;
    const bool well_formed = is_qualified_name(name);
    if (name.find('/') != std::string_view::npos) {
      if (!well_formed) return qualified(name, at);
      return on_node || is_counted_resource(name) ||
             fail(errc::malformed, at,
                  fmt::format(
                      "\"{}\" is not the name of an extended resource: it begins with \"requests.\" or is too long",
                      name));
    }
    if (well_formed && (name.starts_with("hugepages-") || (on_node && name.starts_with("attachable-volumes-"))))
      return true;
    return fail(
        errc::malformed, at,
        fmt::format(
            "\"{}\" is not a resource here: cpu, memory, ephemeral-storage, hugepages-*, {}or a name with a prefix "
            "such as example.com/gpu",
            name, on_node ? "pods, storage, attachable-volumes-* " : ""));
  }

  bool containers(const std::vector<container>& list, bool init, const spec_path& path) {
    return each(list, path, [&](const container& one, const spec_path& at) {
      return resources(one.requests, resource_owner::pod, at.field("requests")) &&
             ports(one.ports, at.field("ports")) && resources(one.limits, resource_owner::pod, at.field("limits")) &&
             (init || !one.sidecar ||
              fail(errc::malformed, at.field("sidecar"), "only an init container can be a sidecar"));
    });
  }

  bool ports(const std::vector<container_port>& list, const spec_path& path) {
    return each(list, path, [&](const container_port& port, const spec_path& at) {
      if (port.host_port < 0 || port.host_port > 65535)
        return fail(errc::out_of_range, at.field("host_port"), fmt::format("{} is not in 0 to 65535", port.host_port));
      return enumerator(port.protocol, protocol::sctp, "protocol", at.field("protocol"));
    });
  }

  // Taints and tolerations.

  bool taints(const std::vector<taint>& list, const spec_path& path) {
    return each(list, path, [&](const taint& one, const spec_path& at) {
      if (!qualified(one.key, at.field("key")) || !label_value(one.value, at.field("value")) ||
          !enumerator(one.effect, taint_effect::no_execute, "effect", at.field("effect")))
        return false;
      for (std::size_t i = 0; i < at.index; ++i)
        if (list[i].key == one.key && list[i].effect == one.effect)
          return fail(errc::duplicate, at, fmt::format("has the key and effect of {}", path.at(i).text()));
      return true;
    });
  }

  bool tolerations(const std::vector<toleration>& list, const spec_path& path) {
    return each(list, path, [&](const toleration& one, const spec_path& at) {
      if (!one.key.empty() && !qualified(one.key, at.field("key"))) return false;
      if (!enumerator(one.op, toleration_operator::exists, "operator", at.field("op"))) return false;
      const bool exists = one.op == toleration_operator::exists;
      if (one.key.empty() && !exists)
        return fail(errc::malformed, at.field("op"), "has to be exists when the key is empty");
      if (exists && !one.value.empty())
        return fail(errc::malformed, at.field("value"), "has to be empty when the operator is exists");
      return label_value(one.value, at.field("value")) &&
             (!one.effect || enumerator(*one.effect, taint_effect::no_execute, "effect", at.field("effect")));
    });
  }

  // Selectors.

  bool requirements(const std::vector<selector_requirement>& list, selector_kind kind, const spec_path& path) {
    return each(list, path,
                [&](const selector_requirement& one, const spec_path& at) { return requirement(one, kind, at); });
  }

  bool requirement(const selector_requirement& one, selector_kind kind, const spec_path& at) {
    if (!qualified(one.key, at.field("key"))) return false;
    const spec_path values = at.field("values");
    switch (one.op) {
      case selector_operator::in:
      case selector_operator::not_in:
        if (one.values.empty()) return fail(errc::malformed, values, "needs at least one value for in and not_in");
        // Kubernetes leaves the values of node selectors alone.
        return kind == selector_kind::node ||
               each(one.values, values,
                    [&](const std::string& value, const spec_path& where) { return label_value(value, where); });
      case selector_operator::exists:
      case selector_operator::does_not_exist:
        return one.values.empty() || fail(errc::malformed, values, "has to be empty for exists and does_not_exist");
      case selector_operator::gt:
      case selector_operator::lt:
        if (kind != selector_kind::node)
          return fail(errc::malformed, at.field("op"), "gt and lt are for node selectors");
        // A bound that is no number is allowed: its term matches nothing.
        return one.values.size() == 1 || fail(errc::malformed, values, "needs exactly one value for gt and lt");
    }
    return enumerator(one.op, selector_operator::lt, "operator", at.field("op"));
  }

  bool selector(const label_selector& one, const spec_path& at) {
    return labels(one.match_labels, at.field("match_labels")) &&
           requirements(one.match_expressions, selector_kind::labels, at.field("match_expressions"));
  }

  bool node_term(const node_selector_term& term, const spec_path& at) {
    if (!requirements(term.match_expressions, selector_kind::node, at.field("match_expressions"))) return false;
    return each(
        term.match_fields, at.field("match_fields"), [&](const selector_requirement& one, const spec_path& where) {
          if (one.key != "metadata.name")
            return fail(errc::malformed, where.field("key"), fmt::format("\"{}\" is not metadata.name", one.key));
          if (!enumerator(one.op, selector_operator::lt, "operator", where.field("op"))) return false;
          if (one.op != selector_operator::in && one.op != selector_operator::not_in)
            return fail(errc::malformed, where.field("op"), "has to be in or not_in");
          return one.values.size() == 1 || fail(errc::malformed, where.field("values"), "needs exactly one value");
        });
  }

  bool weight(std::int32_t value, const spec_path& at) {
    return (value >= 1 && value <= 100) || fail(errc::out_of_range, at, fmt::format("{} is not in 1 to 100", value));
  }

  bool node_terms(const node_affinity& affinity, const spec_path& path) {
    if (affinity.required &&
        !each(*affinity.required, path.field("required"),
              [&](const node_selector_term& term, const spec_path& at) { return node_term(term, at); }))
      return false;
    return each(affinity.preferred, path.field("preferred"), [&](const preferred_node_term& one, const spec_path& at) {
      return weight(one.weight, at.field("weight")) && node_term(one.term, at.field("term"));
    });
  }

  bool pod_term(const pod_affinity_term& term, const spec_path& at) {
    return qualified(term.topology_key, at.field("topology_key")) &&
           (!term.selector || selector(*term.selector, at.field("selector"))) &&
           each(term.namespaces, at.field("namespaces"),
                [&](const std::string& name, const spec_path& where) { return dns_label(name, where); }) &&
           (!term.namespace_selector || selector(*term.namespace_selector, at.field("namespace_selector")));
  }

  bool pod_terms(const pod_affinity& affinity, const spec_path& path) {
    return each(affinity.required, path.field("required"),
                [&](const pod_affinity_term& term, const spec_path& at) { return pod_term(term, at); }) &&
           each(affinity.preferred, path.field("preferred"), [&](const preferred_pod_term& one, const spec_path& at) {
             return weight(one.weight, at.field("weight")) && pod_term(one.term, at.field("term"));
           });
  }

  bool spread(const std::vector<topology_spread>& list, const spec_path& path) {
    return each(list, path, [&](const topology_spread& one, const spec_path& at) {
      if (!spread_constraint(one, at)) return false;
      for (std::size_t i = 0; i < at.index; ++i)
        if (list[i].topology_key == one.topology_key && list[i].action == one.action)
          return fail(errc::duplicate, at, fmt::format("has the topology key and action of {}", path.at(i).text()));
      return true;
    });
  }

  bool spread_constraint(const topology_spread& one, const spec_path& at) {
    if (!qualified(one.topology_key, at.field("topology_key"))) return false;
    if (one.max_skew < 1)
      return fail(errc::out_of_range, at.field("max_skew"), fmt::format("{} is below 1", one.max_skew));
    if (!enumerator(one.action, when_unsatisfiable::schedule_anyway, "action", at.field("action"))) return false;
    if (one.selector && !selector(*one.selector, at.field("selector"))) return false;
    if (one.min_domains < 1)
      return fail(errc::out_of_range, at.field("min_domains"), fmt::format("{} is below 1", one.min_domains));
    if (one.min_domains > 1 && one.action != when_unsatisfiable::do_not_schedule)
      return fail(errc::malformed, at.field("min_domains"), "is for do_not_schedule only");
    if (!enumerator(one.node_affinity_policy, node_inclusion::ignore, "policy", at.field("node_affinity_policy")) ||
        !enumerator(one.node_taints_policy, node_inclusion::ignore, "policy", at.field("node_taints_policy")))
      return false;
    const spec_path keys = at.field("match_label_keys");
    if (!one.match_label_keys.empty() && !one.selector) return fail(errc::malformed, keys, "needs a selector");
    return each(one.match_label_keys, keys,
                [&](const std::string& key, const spec_path& where) { return qualified(key, where); });
  }

  // The rest of pods and groups.

  bool reservation(const pod_spec& pod, const spec_path& at) {
    const reservation_spec& one = *pod.reservation;
    return each(one.owners, at.field("owners"),
                [&](const reservation_owner& owner, const spec_path& where) {
                  return (owner.pod.empty() || dns_subdomain(owner.pod, where.field("pod"))) &&
                         (owner.ns.empty() || dns_label(owner.ns, where.field("ns"))) &&
                         kind(owner.controller.kind, where.field("controller").field("kind")) &&
                         (!owner.labels || selector(*owner.labels, where.field("labels")));
                }) &&
           (!one.starts || !one.expires || *one.starts < *one.expires ||
            fail(errc::malformed, at.field("expires"), "is not after its start")) &&
           enumerator(one.policy, allocate_policy::restricted, "policy", at.field("policy")) &&
           enumerator(one.pre_allocation, pre_allocation::required, "mode", at.field("pre_allocation")) &&
           (one.restricted.empty() || one.policy == allocate_policy::restricted ||
            fail(errc::malformed, at.field("restricted"), "is of policy restricted only")) &&
           all_qualified(one.restricted, at.field("restricted")) && taints(one.taints, at.field("taints")) &&
           (pod.resource_claims.empty() || fail(errc::malformed, at, "shares no claims of devices"));
  }

  bool all_qualified(const std::vector<std::string>& names, const spec_path& list) {
    return each(names, list, [&](const std::string& name, const spec_path& at) { return qualified(name, at); });
  }

  /// A word on which reservations a pod may use.
  bool may_draw(const pod_spec& pod, const spec_path& at) {
    if (pod.reservation) return fail(errc::malformed, at, "a reservation looks for room of its own");
    return !pod.ignores_reservations || fail(errc::malformed, at, "contradicts ignores_reservations");
  }

  bool reservation_affinity_(const pod_spec& pod, const spec_path& at) {
    const reservation_affinity& one = *pod.reservation_affinity;
    return may_draw(pod, at) && (one.name.empty() || dns_subdomain(one.name, at.field("name"))) &&
           labels(one.selector, at.field("selector")) && tolerations(one.tolerations, at.field("tolerations")) &&
           (!one.required ||
            each(*one.required, at.field("required"),
                 [&](const node_selector_term& term, const spec_path& where) { return node_term(term, where); }));
  }

  bool gates(const std::vector<std::string>& list, const spec_path& path) {
    return each(list, path, [&](const std::string& gate, const spec_path& at) {
      if (!qualified(gate, at)) return false;
      for (std::size_t i = 0; i < at.index; ++i)
        if (list[i] == gate) return fail(errc::duplicate, at, fmt::format("\"{}\" is there twice", gate));
      return true;
    });
  }

  bool at_least(std::int32_t value, std::int32_t least, const char* than, const spec_path& at) {
    return value >= least || fail(errc::out_of_range, at, fmt::format("{} is below {}{}", value, than, least));
  }

  bool gang_policy(const group_spec& spec, const spec_path& at) {
    const gang* policy = std::get_if<gang>(&spec.policy);
    if (policy == nullptr) return true;
    const std::int32_t desired = policy->desired_count.value_or(policy->min_count);
    if (!at_least(policy->min_count, 1, "", at.field("min_count")) ||
        !at_least(desired, policy->min_count, "the minimum count ", at.field("desired_count")) ||
        !at_least(policy->max_count.value_or(desired), desired, "the count before it, ", at.field("max_count")) ||
        !enumerator(policy->mode, gang_mode::permit, "mode", at.field("mode")) ||
        !enumerator(policy->match, match_policy::once_satisfied, "match policy", at.field("match")) ||
        (policy->mode == gang_mode::permit && !one_by_one(spec, *policy, at)))
      return false;
    if (spec.composite && (!policy->roles.empty() || policy->desired_count || policy->max_count))
      return fail(errc::malformed, at, "a group of groups has a minimum and stale_after, nothing else");
    return not_negative(policy->stale_after.value_or(instant::zero()), at.field("stale_after")) &&
           roles(*policy, at.field("roles")) &&
           (policy->timeout > instant::zero() ||
            fail(errc::out_of_range, at.field("timeout"), "has to be more than nothing"));
  }

  /// Where members are placed one by one the group is never looked at as a whole: what asks for that is for the group cycle.
  bool one_by_one(const group_spec& spec, const gang& policy, const spec_path& at) {
    if (spec.composite) return fail(errc::malformed, at.field("mode"), "a group of groups is tried as one");
    if (spec.parent) return fail(errc::malformed, at.field("mode"), "a group in a tree is tried with it");
    const auto absent = [&](bool none, const spec_path& where) {
      return none ||
             fail(errc::malformed, where, "needs the group cycle: members in permit mode are placed one by one");
    };
    const group_topology& asks = spec.topology;
    const spec_path topology = top("topology");
    return absent(!policy.desired_count, at.field("desired_count")) &&
           absent(!policy.max_count, at.field("max_count")) && absent(policy.roles.empty(), at.field("roles")) &&
           absent(asks.within.empty(), topology.field("within")) &&
           absent(asks.slices.empty(), topology.field("slices")) &&
           absent(asks.spread_key.empty(), topology.field("spread_key")) &&
           absent(asks.choice == domain_choice::scored, topology.field("choice")) &&
           absent(asks.when_full == full_domain::wait, topology.field("when_full")) &&
           absent(spec.affinity.empty(), top("affinity")) && absent(spec.ratios.empty(), top("ratios"));
  }

  bool roles(const gang& policy, const spec_path& path) {
    return each(policy.roles, path, [&](const role_minimum& one, const spec_path& at) {
      if (one.role.empty()) return fail(errc::malformed, at.field("role"), "is empty");
      for (std::size_t i = 0; i < at.index; ++i)
        if (policy.roles[i].role == one.role)
          return fail(errc::duplicate, at, fmt::format("\"{}\" is there twice", one.role));
      return at_least(one.min_count, 0, "", at.field("min_count"));
    });
  }

  bool group_topology_(const group_topology& one, const spec_path& at) {
    const auto key = [&](const std::string& name, const spec_path& where) { return qualified(name, where); };
    if (!each(one.within, at.field("within"), key)) return false;
    if (one.or_anywhere && one.within.empty())
      return fail(errc::malformed, at.field("or_anywhere"), "there is nothing before it");
    const bool sliced = each(one.slices, at.field("slices"), [&](const topology_slice& slice, const spec_path& where) {
      if (!qualified(slice.key, where.field("key")) || !at_least(slice.size, 1, "", where.field("size"))) return false;
      if (where.index == 0 || one.slices[where.index - 1].size % slice.size == 0) return true;
      return fail(errc::malformed, where.field("size"), "does not divide the size before it");
    });
    if (!sliced || !enumerator(one.choice, domain_choice::balanced, "choice", at.field("choice")) ||
        !enumerator(one.when_full, full_domain::move, "policy", at.field("when_full")))
      return false;
    if (one.when_full == full_domain::move && one.within.empty())
      return fail(errc::malformed, at.field("when_full"), "there is no domain to move from");
    if (one.spread_key.empty() != (one.spread_most == 0))
      return fail(errc::malformed, at.field("spread_most"), "goes with a spread key");
    return one.spread_key.empty() || (qualified(one.spread_key, at.field("spread_key")) &&
                                      at_least(one.spread_most, 1, "", at.field("spread_most")));
  }
};

}  // namespace gangsched::inline GANGSCHED_ABI::detail
