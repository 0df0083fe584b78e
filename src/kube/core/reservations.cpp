#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "gangsched/model/name_rules.hpp"
#include "gangsched/model/requests.hpp"
#include "gangsched/src/kube/core/objects.hpp"
#include "gangsched/src/kube/documents/annotations.hpp"

// Koordinator's Reservation (scheduling.koordinator.sh/v1alpha1), and what pods say of reservations.
namespace gangsched::inline GANGSCHED_ABI::kube::detail {
namespace {

using namespace std::chrono_literals;

constexpr const char* ignored_label = "scheduling.koordinator.sh/reservation-ignored";
constexpr const char* order_label = "scheduling.koordinator.sh/reservation-order";
constexpr const char* required_label = "scheduling.koordinator.sh/pre-allocation-required";
constexpr const char* affinity_annotation = "scheduling.koordinator.sh/reservation-affinity";
constexpr const char* allocated_annotation = "scheduling.koordinator.sh/reservation-allocated";
constexpr const char* restricted_annotation = "scheduling.koordinator.sh/reservation-restricted-options";
constexpr const char* exact_annotation = "scheduling.koordinator.sh/exact-match-reservation";

/// Reads an annotation that names resources, in its only field @p key.
bool read_resources(reader& read, const place& of, const char* name, std::string_view key,
                    std::vector<std::string>& out) {
  return read_annotation(read, of, name, [&](reader& inner, const place& at) {
    return inner.fields(at, [&](std::string_view field, const place& v) {
      return field == key ? inner.texts(v, out) : inner.ignore(field, v, {});
    });
  });
}

/// What became requests for devices is left out; what the pod does not request at all stays, because it may end the comparison.
bool read_exact_match(reader& read, const place& of, const std::vector<resource_list>& device_resources,
                      std::vector<std::string>& out) {
  const auto is_of_devices = [&](const std::string& name) {
    return std::ranges::any_of(device_resources, [&](const resource_list& one) { return one.contains(name); });
  };
  std::vector<std::string> names;
  if (!read_resources(read, of, exact_annotation, "resourceNames", names)) return false;
  const spot at = find_spot(of, {"metadata", "annotations", exact_annotation});
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string path = fmt::format("{}.resourceNames[{}]", at.path, i);
    if (!gangsched::detail::is_qualified_name(names[i]))
      return read.fail(errc::malformed, at.line, path, fmt::format("\"{}\" is no name of a resource", names[i]));
    if (!is_of_devices(names[i]))
      out.push_back(std::move(names[i]));
    else
      read.warn(at.line, path, fmt::format("\"{}\" is of devices here; it is not compared", names[i]));
  }
  return true;
}

/// @p nobody: no pod can be meant. UIDs are not read, so one alone names nobody.
bool read_owner(reader& read, const place& of, reservation_owner& out, bool& nobody) {
  std::string space;
  bool by_uid = false;
  const auto uid = [&](std::string_view field, const place& w) { by_uid = field == "uid" && !w.at->text.empty(); };
  const bool fine = read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "labelSelector") return read_label_selector(read, v, out.labels.emplace());
    by_uid = false;
    if (key == "object") {
      const bool read_all = read.fields(v, [&](std::string_view field, const place& w) {
        if (field == "name") return read.text(w, out.pod);
        if (field == "namespace") return read.text(w, out.ns);
        if (field == "uid") return uid(field, w), true;
        return read.ignore(field, w, {"kind", "apiVersion", "resourceVersion", "fieldPath"});
      });
      if (read_all && by_uid && out.pod.empty()) nobody = read.warn(v, "names a pod by uid, which is not read: nobody");
      return read_all;
    }
    if (key != "controller") return read.ignore(key, v, {});
    const bool read_all = read.fields(v, [&](std::string_view field, const place& w) {
      std::string kind;
      if (field == "namespace") return read.text(w, space);
      if (field == "name") return read.text(w, out.controller.name);
      if (field == "uid") return uid(field, w), true;
      if (field != "kind") return read.ignore(field, w, {"apiVersion", "controller", "blockOwnerDeletion"});
      if (!read.text(w, kind)) return false;
      out.controller.kind = controller_kind_of(kind);
      return true;
    });
    if (read_all && by_uid && out.controller.name.empty())
      nobody = read.warn(v, "names a controller by uid, which is not read: nobody");
    return read_all;
  });
  nobody = nobody || (!out.ns.empty() && !space.empty() && out.ns != space);
  if (out.ns.empty()) out.ns = std::move(space);
  return fine;
}

/// What a Reservation says of its life.
struct reservation_life {
  std::optional<instant> created, expires;
  instant ttl = 24h;
  bool pre_allocation = false, owned = false;
  std::string phase = {}, node = {};
  std::optional<resource_list> allocatable = {};
};

bool read_spec(reader& read, const place& of, pod_manifest& out, reservation_life& life, const read_options& how) {
  reservation_spec& spec = *out.spec.reservation;
  return read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "template") {
      bool over = false;
      return read_pod(read, v, out, over, how);
    }
    if (key == "owners") {
      return read.items(v, [&](const place& item) {
        bool nobody = false;
        reservation_owner one;
        life.owned = true;
        if (!read_owner(read, item, one, nobody)) return false;
        if (!nobody) spec.owners.push_back(std::move(one));
        return true;
      });
    }
    if (key == "ttl") return read_duration(read, v, "24h", life.ttl);
    if (key == "expires") return read.time(v, life.expires.emplace());
    if (key == "allocateOnce") return read.boolean(v, spec.once);
    if (key == "preAllocation") return read.boolean(v, life.pre_allocation);
    if (key == "unschedulable") return read.boolean(v, spec.unschedulable);
    if (key == "taints")
      return read.list(v, spec.taints, [&](const place& item, taint& one) { return read_taint(read, item, one); });
    if (key == "allocatePolicy") {
      return read.word(v, spec.policy,
                       {{"", allocate_policy::aligned},
                        {"Aligned", allocate_policy::aligned},
                        {"Restricted", allocate_policy::restricted}});
    }
    return read.ignore(key, v, {});
  });
}

bool read_status(reader& read, const place& of, reservation_life& life) {
  return read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "phase") return read.text(v, life.phase);
    if (key == "nodeName") return read.text(v, life.node);
    if (key == "allocatable") return read.amounts(v, life.allocatable.emplace());
    return read.ignore(key, v, {"conditions", "currentOwners", "allocated"});
  });
}

/// What the status of one that is Available says it holds counts instead of what its template requests (Koordinator 1.7.0,
/// pkg/util/reservation, ReservationRequests), but for devices.
void hold_allocatable(reader& read, const place& of, resource_list amounts, pod_manifest& out) {
  pod_spec& spec = out.spec;
  for (const resource_list& one : out.device_resources)
    for (const auto& [name, amount] : one) amounts.erase(name);
  if (!spec.devices.empty())  // which its template may ask for in other words
    for (auto one = amounts.begin(); one != amounts.end();)
      one = one->first.starts_with("koordinator.sh/") ? amounts.erase(one) : std::next(one);
  const auto said = to_integers(amounts, "", "allocatable");
  if (!said) {
    const spot at = find_spot(of, {"status", "allocatable"});
    read.warn(at.line, at.path, said.error().reason + "; it holds what its template requests");
    return;
  }
  const auto asked = requests_of(spec);
  if (!asked) return;  // checking it will say what is wrong
  integer_resources some;
  for (const auto& [name, amount] : *said)
    if (amount != 0) some.emplace(name, amount);
  if (some == asked->requests) return;
  spec.resources.reset(), spec.overhead.clear();
  if (spec.containers.empty()) spec.containers.emplace_back();
  for (auto* const all : {&spec.containers, &spec.init_containers})
    for (container& one : *all) one.requests.clear(), one.limits.clear();
  out.limits.clear(), out.pod_limits.clear();
  spec.containers.front().requests = std::move(amounts);
}

}  // namespace

bool read_reservation(reader& read, const place& of, pod_manifest& out, bool& over, const read_options& how) {
  object_meta meta;
  reservation_life life;
  out.spec.reservation.emplace();
  // Of an object that is in no namespace; its pod is in that of its template.
  const bool fine = read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "metadata") {
      const value* const created = v.at->find("creationTimestamp");
      const bool known = created != nullptr && created->kind == value_kind::text && !created->text.empty();
      return read_meta(read, v, meta) &&
             (!known || read.time({created, &v, "creationTimestamp"}, life.created.emplace()));
    }
    if (key == "spec") return read_spec(read, v, out, life, how);
    if (key == "status") return read_status(read, v, life);
    return read.ignore(key, v, {"apiVersion", "kind"});
  });
  if (!fine) return false;
  reservation_spec& spec = *out.spec.reservation;
  if (!life.owned) return read.fail(errc::malformed, of, "needs spec.owners");
  over = life.phase == "Succeeded" || life.phase == "Failed";
  out.spec.name = meta.name;
  out.spec.reservation_affinity.reset(), out.spec.exact_reservation.clear();  // of its template
  out.spec.ignores_reservations = false, out.reservation.clear();
  for (const auto& [key, text] : meta.labels) out.spec.labels[key] = text;
  out.spec.terminating = meta.deleted.has_value();
  out.spec.required_node = std::exchange(out.node, life.phase == "Available" ? life.node : std::string{});
  if (!out.node.empty()) out.spec.required_node.clear();
  if (!out.node.empty() && life.allocatable) hold_allocatable(read, of, std::move(*life.allocatable), out);
  if (!out.spec.priority && out.spec.priority_class.empty())
    out.spec.priority = std::numeric_limits<std::int32_t>::max();  // it is not preempted
  if (const auto order = meta.labels.find(order_label); order != meta.labels.end()) {
    const char *const first = order->second.data(), *const last = first + order->second.size();
    std::int64_t number = 0;  // (what is no number is none)
    if (const auto parsed = std::from_chars(first, last, number); parsed.ec == std::errc{} && parsed.ptr == last)
      spec.order = number;
  }
  if (life.expires || life.ttl != 0s)
    spec.expires = life.expires ? *life.expires : later_by(life.created.value_or(how.now), life.ttl);
  const auto required = out.spec.labels.find(required_label);
  if (life.pre_allocation) {
    const bool one_at_least = required != out.spec.labels.end() && required->second == "true";
    spec.pre_allocation = one_at_least ? pre_allocation::required : pre_allocation::if_needed;
  }
  const bool restricted = read_resources(read, of, restricted_annotation, "resources", spec.restricted);
  if (spec.policy != allocate_policy::restricted) spec.restricted.clear();
  return restricted;
}

void name_reservations(manifests& all) {
  const auto is_reservation = [](const pod_manifest& one) { return one.spec.reservation.has_value(); };
  if (std::ranges::none_of(all.pods, is_reservation)) return;
  std::set<std::pair<std::string, std::string>> taken;
  for (const pod_manifest& one : all.pods)
    if (!is_reservation(one)) taken.emplace(one.spec.ns, one.spec.name);
  std::map<std::string, std::string> renamed;
  for (pod_manifest& one : all.pods) {
    if (!is_reservation(one) || taken.emplace(one.spec.ns, one.spec.name).second) continue;
    constexpr std::size_t longest = 253;  // of a pod's name
    std::string made;
    for (int number = 1; made.empty() || !taken.emplace(one.spec.ns, made).second; ++number) {
      const std::string end = number == 1 ? "-reservation" : fmt::format("-reservation-{}", number);
      made = one.spec.name.substr(0, longest - end.size());
      while (made.ends_with('.') || made.ends_with('-')) made.pop_back();
      made += end;
    }
    all.warnings.push_back(
        {where(all, one.from, "Reservation", {}, one.spec.name), "metadata.name",
         fmt::format("a pod in its template's namespace has that name: it is called \"{}\" here", made)});
    renamed.emplace(std::exchange(one.spec.name, made), made);
  }
  if (renamed.empty()) return;
  const auto rename = [&](std::string& name) {
    if (const auto found = renamed.find(name); found != renamed.end()) name = found->second;
  };
  for (pod_manifest& one : all.pods) {
    rename(one.reservation);
    if (one.spec.reservation_affinity) rename(one.spec.reservation_affinity->name);
  }
}

bool read_reservation_words(reader& read, const place& of, pod_manifest& out) {
  const auto ignored = out.spec.labels.find(ignored_label);
  out.spec.ignores_reservations = ignored != out.spec.labels.end() && ignored->second == "true";
  const bool fine = read_annotation(read, of, affinity_annotation, [&](reader& inner, const place& at) {
    reservation_affinity& affinity = out.spec.reservation_affinity.emplace();
    return inner.fields(at, [&](std::string_view key, const place& v) {
      if (key == "name") return inner.text(v, affinity.name);
      if (key == "reservationSelector") return inner.texts_by_name(v, affinity.selector);
      if (key == "tolerations") {
        return inner.list(v, affinity.tolerations,
                          [&](const place& item, toleration& one) { return read_toleration(inner, item, one); });
      }
      if (key != "requiredDuringSchedulingIgnoredDuringExecution") return inner.ignore(key, v, {});
      return inner.fields(v, [&](std::string_view field, const place& w) {
        if (field != "reservationSelectorTerms") return inner.ignore(field, w, {});
        return inner.list(w, affinity.required.emplace(),
                          [&](const place& item, node_selector_term& one) { return read_node_term(inner, item, one); });
      });
    });
  });
  const bool exact = read_exact_match(read, of, out.device_resources, out.spec.exact_reservation);
  if (out.spec.ignores_reservations)
    out.spec.reservation_affinity.reset(), out.spec.exact_reservation.clear();  // as Koordinator
  return fine && exact && read_annotation(read, of, allocated_annotation, [&](reader& inner, const place& at) {
           return inner.fields(at, [&](std::string_view key, const place& v) {
             return key == "name" ? inner.text(v, out.reservation) : inner.ignore(key, v, {"uid"});
           });
         });
}

}  // namespace gangsched::inline GANGSCHED_ABI::kube::detail
