#include "gangsched/kube/manifests.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "gangsched/model/transaction.hpp"
#include "gangsched/model/validate.hpp"
#include "gangsched/src/kube/colocation/admission.hpp"
#include "gangsched/src/kube/colocation/colocation.hpp"
#include "gangsched/src/kube/core/objects.hpp"
#include "gangsched/src/kube/core/references.hpp"
#include "gangsched/src/kube/core/unread_objects.hpp"
#include "gangsched/src/kube/devices/devices.hpp"
#include "gangsched/src/kube/documents/app_wrappers.hpp"
#include "gangsched/src/kube/documents/kinds.hpp"
#include "gangsched/src/kube/documents/left_out_objects.hpp"
#include "gangsched/src/kube/documents/trees.hpp"
#include "gangsched/src/kube/groups/groups.hpp"
#include "gangsched/src/kube/queues/queues.hpp"
#include "gangsched/src/kube/volumes/volumes.hpp"

namespace gangsched::inline GANGSCHED_ABI::kube {
namespace detail {

/// Collects the objects of all files.
class collector {
 public:
  collector(const read_options& how, left_out_objects& left_out)
      : how_(&how), left_out_(&left_out), budget_(how.max_pods) {
    devices_.ask_host = how.device_matcher;
  }

  /// Something was wrong that is among the mistakes: what was collected is not whole.
  [[nodiscard]] bool torn() const noexcept { return torn_; }

  /// Nothing: mistakes were put with the others, so that all is to be read again without them.
  std::optional<result<manifests>> finish() && {
    settle_kueue_workloads(controllers_, made_, groups_);
    inherit_words(made_, controllers_);
    const std::size_t read_pods = made_.pods.size();
    for (const controller_of_pods& one : controllers_)
      if (one.kind == "Job") groups_.jobs.emplace(one.meta.ns, one.meta.name);
    error wrong;
    admission_chain admission{made_, runtime_classes_, colocation_};
    admit_read_pods(admission);
    if (!expand(controllers_, made_, *how_, budget_, admission, wrong)) return failed(std::move(wrong));
    std::set<std::tuple<std::string, std::string, std::string>> owned;
    for (const controller_of_pods& one : controllers_)
      if (!one.meta.owner_name.empty()) owned.emplace(one.meta.owner_kind, one.meta.ns, one.meta.owner_name);
    if (auto bad = link_groups(owned, made_, groups_, *how_, budget_, admission)) return failed(*std::move(bad));
    mistakes_by_object noting{[this](const error& one) { return note(one); }};
    for (const auto& [of, mistake] : admission.mistakes())
      if (!noting.told(of, mistake)) return mistake;
    if (torn_) return std::nullopt;
    name_reservations(made_);
    if (auto bad = settle_priorities(made_, read_pods, *how_, noting)) return failed(*std::move(bad));
    if (torn_) return std::nullopt;
    if (auto bad = apply_limit_ranges(made_, queues_, read_pods, how_->defaulting, noting))
      return failed(*std::move(bad));
    if (torn_) return std::nullopt;
    admission.settle();
    if (auto bad = form_applications(made_, queues_)) return failed(*std::move(bad));
    if (auto bad = form_affinity_groups(made_, queues_)) return failed(*std::move(bad));
    if (auto bad = add_yunikorn_queues(made_, queues_)) return failed(*std::move(bad));
    if (auto bad = link_queues(made_, queues_)) return failed(*std::move(bad));
    if (auto bad = name_queues(made_, queues_)) return failed(*std::move(bad));
    if (auto bad = place_resource_quotas(made_, queues_, read_pods, how_->defaulting, noting))
      return failed(*std::move(bad));
    if (torn_) return std::nullopt;
    settle_group_queues(made_);
    tolerate_flavors(made_);
    if (auto bad = link_devices(made_, devices_, how_->now)) return failed(*std::move(bad));
    if (how_->whole_cluster) settle_references(made_);
    make_claims(made_, controllers_);
    if (auto bad = check_claims(made_, queues_, noting)) return failed(*std::move(bad));
    if (torn_) return std::nullopt;
    refuse_claims(made_, queues_);
    if (auto bad = settle_volumes(made_, volumes_, *how_)) return failed(*std::move(bad));
    tell_ignored();
    return std::move(made_);
  }

  result<void> add(std::span<const source> files) {
    std::vector<std::vector<document>> all;
    for (const source& file : files) {
      objects_.try_emplace(file.name);
      std::vector<document>& made = all.emplace_back();
      if (left_out_->has_file(file.name)) continue;
      auto documents = parse(file, how_->most);
      if (documents)
        made = *std::move(documents);
      else if (!note(documents.error(), [&] { return left_out_->add_file(file.name); }))
        return std::move(documents).error();
    }
    for (std::size_t i = 0; i < files.size(); ++i)
      for (document& one : all[i])
        register_object(one.root, text_at(one.root, "kind"), text_at(one.root, "apiVersion"), objects_[files[i].name]);
    latest_.clear();
    for (std::size_t i = 0; i < files.size(); ++i)
      if (auto added = add(files[i].name, std::move(all[i])); !added) return added;
    return {};
  }

  /// Puts a mistake that showed when everything had been read among the others, if they are collected, there is room for it and it is
  /// known whose it is: reading goes on, to find more.
  bool note(const error& wrong) {
    return note(wrong, [&] {
      // Whatever object the pod was made of: it has a name of its own.
      for (const pod_manifest& pod : made_.pods) {
        if (wrong.object.ends_with(pod.spec.name) &&
            where(made_, pod.from, "Pod", pod.spec.ns, pod.spec.name) == wrong.object)
          return left_out_->add(made_.files[pod.from.file], pod.from.object);
      }
      return left_out_->add(wrong, objects_);
    });
  }

 private:
  /// Those that a controller has seen already were admitted before.
  void admit_read_pods(pod_admission& admission) {
    if (!how_->defaulting) return;
    static const admission_words none;
    for (std::size_t i = 0; i < made_.pods.size(); ++i) {
      pod_manifest& pod = made_.pods[i];
      const auto words = words_.find(i);
      if (pod.node.empty() && !pod.spec.reservation)
        admission.admit(pod, words == words_.end() ? none : words->second);
      else if (words != words_.end())
        merge_label_keys(pod.spec, words->second.label_keys);
    }
    words_.clear();
  }

  template <class LeaveOut>
  bool note(const error& wrong, const LeaveOut& leave_out) {
    constexpr std::size_t most_mistakes = 100;
    if (how_->mistakes == nullptr || how_->mistakes->size() >= most_mistakes || !leave_out()) return false;
    how_->mistakes->push_back(wrong);
    return torn_ = true;
  }

  std::optional<result<manifests>> failed(error wrong) {
    if (note(wrong)) return std::nullopt;
    return wrong;
  }

  /// Objects that no scheduler reads are many where a whole application is described: one warning counts them.
  void tell_ignored() {
    if (ignored_.empty()) return;
    std::vector<std::string> counts;
    for (const auto& [kind, count] : ignored_) counts.push_back(fmt::format("{} {}", count, kind));
    made_.warnings.push_back({"ignored", {}, fmt::format("{}", fmt::join(counts, ", "))});
  }

  result<void> add(const std::string& file, std::vector<document> documents) {
    file_ = static_cast<std::uint32_t>(made_.files.size());
    made_.files.push_back(file);
    for (document& one : documents) {
      if (one.root.kind == value_kind::null) continue;  // "---" after "---"
      reader read{file, "document", &made_.warnings};
      for (const repeated_key& twice : one.repeated)
        read.warn(twice.line, {}, fmt::format("\"{}\" is there twice; the later one counts", twice.key));
      const place root{&one.root};
      if (!add(read, root, text_at(one.root, "kind"), text_at(one.root, "apiVersion")) && !note(read))
        return std::move(read).failure();
      one.root = {};
    }
    return {};
  }

  bool note(reader& read) {
    reader failed = std::exchange(read, reader{read.file(), read.object(), &made_.warnings});
    const error wrong = std::move(failed).failure();
    return note(wrong, [&] { return left_out_->add(read.file(), object_); }) || read.fail(wrong);
  }

  /// Names what has no name yet, numbers it, and finds out which objects come again: as with apply the last one counts. Of lists each item
  /// is an object.
  void register_object(value& object, std::string_view kind, std::string_view version, file_objects& of) {
    value* const items = is_list(object, kind) ? find_field(object, "items") : nullptr;
    if (items != nullptr && items->kind == value_kind::list) {
      for (value& item : items->items) {
        const auto [own, own_version] = kind_in_list(item, kind, version);
        register_object(item, own, own_version, of);
      }
      return;
    }
    generate_name(object, generated_);
    if (!how_->ns.empty() && !kind.empty() && !is_cluster_scoped(kind)) put_namespace(object);
    numbers_.emplace(&object, of.count);
    if (how_->mistakes != nullptr)
      of.by_line[object.line].push_back({of.count, name_of_object(object, kind, !is_cluster_scoped(kind))});
    ++of.count;
    if (is_app_wrapper(kind, api_group(version))) register_wrapped(object, of);
    const value* meta = object.find("metadata");
    if (kind.empty() || meta == nullptr || meta->kind != value_kind::object || text_at(*meta, "name").empty()) return;
    std::string_view ns = is_cluster_scoped(kind) ? std::string_view{} : text_at(*meta, "namespace");
    if (ns.empty()) ns = "default";
    const auto [latest, first] = latest_.try_emplace(std::array{std::string{api_group(version)}, std::string{kind},
                                                                std::string{ns}, std::string{text_at(*meta, "name")}},
                                                     &object);
    if (first) return;
    replaced_.insert(std::exchange(latest->second, &object));
  }

  void put_namespace(value& object) const {
    value* const meta = find_field(object, "metadata");
    if (meta == nullptr || meta->kind != value_kind::object) return;
    value& ns = make_field(*meta, "namespace", value_kind::text);
    if (ns.kind == value_kind::text && ns.text.empty()) ns.text = how_->ns;
  }

  void register_wrapped(value& wrapper, file_objects& of) {
    value* spec = find_field(wrapper, "spec");
    value* components = spec == nullptr ? nullptr : find_field(*spec, "components");
    if (components == nullptr) return;
    for (value& component : components->items) {
      value* wrapped = find_field(component, "template");
      if (wrapped == nullptr || wrapped->kind != value_kind::object) continue;
      complete_wrapped(*wrapped, wrapper);
      register_object(*wrapped, text_at(*wrapped, "kind"), text_at(*wrapped, "apiVersion"), of);
    }
  }

  bool add(reader& read, const place& of, std::string_view kind, std::string_view version) {
    if (const auto number = numbers_.find(of.at); number != numbers_.end()) {  // not of a list, whose items are objects
      if (left_out_->has(read.file(), number->second)) return true;
      object_ = number->second;
    }
    if (of.at->kind != value_kind::object) return read.fail(errc::malformed, of, "is no object");
    if (kind.empty()) {
      if (const auto known = read_queue_configuration(read, of, here(of), queues_)) return *known;
      return read.fail(errc::malformed, of, "has no kind");
    }
    const std::string_view group = api_group(version);
    if (is_list(*of.at, kind)) return add_items(read, of, kind, version);
    read.set_object(name_of_object(*of.at, kind, !is_cluster_scoped(kind)));
    if (!check_object_name(read, of, group)) return false;
    if (replaced_.contains(of.at)) return read.warn(of, "comes again: the later one counts");
    if (kind == "Namespace" || kind == "PriorityClass") note_yunikorn(*of.at, kind, queues_);
    if (group.empty()) {
      if (kind == "Node") return add_node(read, of);
      if (kind == "Pod") return add_pod(read, of, true);
      if (kind == "Namespace") return add_checked(read, of, kind, made_.namespaces, detail::read_namespace);
      if (kind == "Service") return add_named(read, of, made_.services, read_service);
      if (kind == "ReplicationController") return add_controller(read, of, kind);
    } else if (group == "apps") {
      if (kind == "ReplicaSet" || kind == "Deployment" || kind == "StatefulSet" || kind == "DaemonSet")
        return add_controller(read, of, kind);
    } else if (group == "batch") {
      if (kind == "Job" || kind == "CronJob") return add_controller(read, of, kind);
    } else if (group == "autoscaling") {
      if (kind == "HorizontalPodAutoscaler") return add_named(read, of, made_.autoscalers, read_autoscaler);
    } else if (group == "policy") {
      if (kind == "PodDisruptionBudget") return add_named(read, of, made_.budgets, read_budget);
    } else if (group == "scheduling.k8s.io") {
      if (kind == "PriorityClass") return add_checked(read, of, kind, made_.priority_classes, read_priority_class);
    }
    if (kind == "RuntimeClass" && group == "node.k8s.io")
      return add_named(read, of, runtime_classes_, read_runtime_class);
    if (kind == "Reservation" && group == "scheduling.koordinator.sh") return add_pod(read, of, false);
    if (is_app_wrapper(kind, group)) return add_wrapped(read, of);
    if (const auto known = read_volume_family(read, of, group, kind, here(of), made_, volumes_)) return *known;
    if (const auto known = read_device_family(read, of, group, kind, here(of), devices_)) return *known;
    if (const auto known = read_colocation_object(read, of, group, kind, here(of), colocation_, made_)) return *known;
    if (const auto known = read_queue_object(read, of, group, kind, here(of), queues_)) return *known;
    if (const auto known = read_group_object(read, of, group, kind, here(of), groups_, *how_)) return *known;
    if (never_matters(group, kind)) return ++ignored_[std::string{kind}], true;
    return read.warn(
        of, fmt::format("{} of {} is not read; it is left out", kind, version.empty() ? "no apiVersion" : version));
  }

  bool add_items(reader& read, const place& of, std::string_view kind, std::string_view version) {
    read.set_object(std::string{kind});
    return read.items(place{of.at->find("items"), &of, "items"}, [&](const place& item) {
      const auto [own, own_version] = kind_in_list(*item.at, kind, version);
      const place root{item.at};
      read.set_object(fmt::format("{} items[{}]", kind, item.index));
      return add(read, root, own, own_version) || note(read);
    });
  }

  /// The objects that an AppWrapper makes, unless it is suspended or has ended (workload.codeflare.dev/v1beta2).
  bool add_wrapped(reader& read, const place& of) {
    object_meta meta;
    bool suspended = false;
    std::string phase;
    const bool fine = read.fields(of, [&](std::string_view key, const place& v) {
      if (key == "metadata") return read_meta(read, v, meta);
      const bool is_status = key == "status";
      if (key != "spec" && !is_status) return read.ignore(key, v, {"apiVersion", "kind"});
      return read.fields(v, [&](std::string_view field, const place& w) {
        if (is_status) return field != "phase" || read.text(w, phase);
        if (field == "suspend") return read.boolean(w, suspended);
        return read.ignore(field, w, {"components", "managedBy"});
      });
    });
    if (!fine) return false;
    suspended = suspended && !is_queued_by_kueue(meta.labels, meta.annotations);
    if (suspended || meta.deleted || phase == "Succeeded" || phase == "Failed" || phase == "Terminating") return true;
    const value* const spec = of.at->find("spec");
    const value* const components = spec == nullptr ? nullptr : spec->find("components");
    if (components == nullptr) return read.fail(errc::malformed, of, "needs spec.components");
    const place up{spec, &of, "spec"};
    const std::string wrapper = read.object();
    return read.items(place{components, &up, "components"}, [&, own = object_](const place& item) {
      read.set_object(wrapper);
      object_ = own;
      const value* const wrapped = item.at->find("template");
      if (wrapped == nullptr) return read.fail(errc::malformed, item, "needs a template");
      const place root{wrapped};
      return add(read, root, text_at(*wrapped, "kind"), text_at(*wrapped, "apiVersion"));
    });
  }

  [[nodiscard]] origin here(const place& of) const { return {file_, of.at->line, object_}; }

  /// What the model says of a spec, in the words of the manifest.
  template <class Spec>
  bool checked(reader& read, const place& of, std::string_view kind, const Spec& spec) {
    const auto wrong = check(spec);
    if (!wrong) return true;
    return read.fail(in_manifest(*wrong, kind, read.file(), *of.at, read.object()));
  }

  bool add_node(reader& read, const place& of) {
    read.set_object(name_of_object(*of.at, "Node", false));
    node_manifest& made = made_.nodes.emplace_back();
    made.from = here(of);
    return read_node_and_load(read, of, made, *how_) && checked(read, of, "Node", made.spec);
  }

  /// Of the pod's spec that @p path leads to: that of a template, if it is longer than one word.
  static bool has_containers(reader& read, const place& of, std::initializer_list<std::string_view> path) {
    std::array<place, 6> steps{of};
    std::size_t at = 0;
    for (const std::string_view key : path) {
      const value* const next = steps[at].at->find(key);
      if (next == nullptr || next->kind != value_kind::object)
        return read.fail(errc::malformed, steps[at], fmt::format("needs a {}", key));
      steps[at + 1] = place{next, &steps[at], key};
      ++at;
    }
    return check_containers(read, steps[at], path.size() > 1);
  }

  /// A pod, or what is one to the scheduler.
  bool add_pod(reader& read, const place& of, bool is_pod) {
    pod_manifest made;
    made.from = here(of);
    bool over = false;
    admission_words words;
    if (!(is_pod ? read_template_pod(read, of, made, over, *how_, words)
                 : detail::read_reservation(read, of, made, over, *how_)))
      return false;
    if (how_->api_server_rules && is_pod && !has_containers(read, of, {"spec"})) return false;
    if (!checked(read, of, is_pod ? "Pod" : "Reservation", made.spec)) return false;
    if (over) return true;  // the scheduler does not know of pods that have ended
    if (!budget_.take(1))
      return read.fail(errc::out_of_range, of, fmt::format("there would be more than {} pods", budget_.most()));
    if (!words.label_keys.empty() || !words.runtime_class.empty()) words_.emplace(made_.pods.size(), std::move(words));
    made_.pods.push_back(std::move(made));
    return true;
  }

  template <class Spec>
  bool add_checked(reader& read, const place& of, std::string_view kind, std::vector<Spec>& into,
                   bool (*read_one)(reader&, const place&, Spec&)) {
    read.set_object(name_of_object(*of.at, kind, false));
    Spec& made = into.emplace_back();
    return read_one(read, of, made) && checked(read, of, kind, made);
  }

  template <class Manifest>
  bool add_named(reader& read, const place& of, std::vector<Manifest>& into,
                 bool (*read_one)(reader&, const place&, Manifest&)) {
    Manifest& made = into.emplace_back();
    made.from = here(of);
    return read_one(read, of, made);
  }

  bool add_controller(reader& read, const place& of, std::string_view kind) {
    controller_of_pods made;
    made.from = here(of);
    if (!read_controller(read, of, kind, made, *how_)) return false;
    if (how_->api_server_rules && !(check_selector(read, of, kind, made) && check_cron_job_name(read, of, kind, made)))
      return false;
    // Volumes of a StatefulSet's pods may come of its claim templates: an API server looks when a pod is made.
    const bool of_job = kind == "CronJob";
    if (how_->api_server_rules && kind != "StatefulSet" &&
        !(of_job ? has_containers(read, of, {"spec", "jobTemplate", "spec", "template", "spec"})
                 : has_containers(read, of, {"spec", "template", "spec"})))
      return false;
    if (made.meta.ns.empty()) made.meta.ns = "default";
    if (made.meta.name.empty()) return read.fail(errc::malformed, of, "needs metadata.name");
    // The template is checked as the pod that it will be.
    pod_spec pod = made.pod.spec;
    pod.name = made.meta.name.substr(0, 58) + "-x";
    pod.ns = made.meta.ns;
    if (const auto wrong = check(pod)) {
      error told = *wrong;
      told.object = fmt::format("{}:{}: {}", read.file(), of.at->line, read.object());
      const bool own = told.field == "name" || told.field == "ns";
      told.field = (own                 ? ""
                    : kind == "CronJob" ? "spec.jobTemplate.spec.template."
                                        : "spec.template.") +
                   manifest_path("Pod", told.field);
      return read.fail(std::move(told));
    }
    if (how_->expand)
      controllers_.push_back(std::move(made));
    else if (kind != "Job" && kind != "CronJob" && kind != "Deployment" && kind != "DaemonSet")
      made_.controllers.push_back({std::string{kind}, made.meta.ns, made.meta.name, made.selector, made.from});
    return true;
  }

  const read_options* how_;
  left_out_objects* left_out_;
  bool torn_ = false;
  objects_of_files objects_;
  pod_budget budget_;
  manifests made_;
  std::map<std::size_t, admission_words> words_;  // of pods that were read, by index
  std::vector<controller_of_pods> controllers_;
  std::vector<runtime_class> runtime_classes_;
  group_objects groups_;
  queue_objects queues_;
  colocation_objects colocation_;
  device_objects devices_;
  volume_objects volumes_;
  std::map<std::string, std::size_t> ignored_;                 // objects that no scheduler reads, by kind
  std::map<std::array<std::string, 4>, const value*> latest_;  // by API group, kind, namespace and name
  std::unordered_set<const value*> replaced_;                  // by one that comes later
  std::size_t generated_ = 0;                                  // names
  std::unordered_map<const value*, std::uint32_t> numbers_;    // of objects, in their files
  std::uint32_t file_ = 0, object_ = 0;                        // that are being read
};

/// One object that a host has.
template <class Made, class Read>
result<Made> read_alone(const value& object, std::string_view file, std::string name, std::vector<warning>* warnings,
                        const Read& read_it) {
  reader read{file, std::move(name), warnings};
  Made made;
  if (!read_it(read, place{&object}, made)) return std::move(read).failure();
  return made;
}

template <class Made>
result<Made> checked_alone(result<Made> made, const value& object, std::string_view file, std::string_view kind,
                           bool namespaced) {
  if (!made) return made;
  const auto wrong = [&] {
    if constexpr (requires { made->spec; })
      return check(made->spec);
    else
      return check(*made);
  }();
  if (!wrong) return made;
  return in_manifest(*wrong, kind, file, object, name_of_object(object, kind, namespaced));
}

}  // namespace detail

controller_kind controller_kind_of(std::string_view kind) noexcept {
  if (kind == "ReplicaSet") return controller_kind::replica_set;
  if (kind == "ReplicationController") return controller_kind::replication_controller;
  if (kind == "DaemonSet") return controller_kind::daemon_set;
  return kind == "StatefulSet" ? controller_kind::stateful_set : controller_kind::none;
}

result<manifests> read(std::span<const source> files, const read_options& how) {
  if (const std::vector<source> renamed = detail::told_apart(files); !renamed.empty()) return read(renamed, how);
  detail::left_out_objects left_out;
  for (;;) {
    detail::collector all{how, left_out};
    if (auto added = all.add(files); !added) return std::move(added).error();
    if (all.torn()) continue;
    if (auto made = std::move(all).finish()) return *std::move(made);
  }
}

result<manifests> read(const source& file, const read_options& how) { return read(std::span{&file, 1}, how); }

result<node_manifest> read_node(const value& object, std::string_view file, std::vector<warning>* warnings,
                                const read_options& how) {
  auto made = detail::read_alone<node_manifest>(object, file, detail::name_of_object(object, "Node", false), warnings,
                                                [&](detail::reader& read, const detail::place& of, node_manifest& out) {
                                                  out.from.line = object.line;
                                                  return detail::read_node_and_load(read, of, out, how);
                                                });
  return detail::checked_alone(std::move(made), object, file, "Node", false);
}

result<pod_manifest> read_pod(const value& object, std::string_view file, std::vector<warning>* warnings,
                              const read_options& how) {
  auto made = detail::read_alone<pod_manifest>(
      object, file, detail::name_of_object(object, "Pod", true), warnings,
      [&](detail::reader& read, const detail::place& of, pod_manifest& out) {
        out.from.line = object.line;
        bool over = false;
        if (!detail::read_pod(read, of, out, over, how)) return false;
        detail::settle_alone(read, of, out);
        auto wrong = detail::read_membership(out);
        return !wrong || read.fail(wrong->code, object.line, std::move(wrong->field), std::move(wrong->reason));
      });
  return detail::checked_alone(std::move(made), object, file, "Pod", true);
}

result<pod_manifest> read_reservation(const value& object, std::string_view file, std::vector<warning>* warnings,
                                      const read_options& how) {
  auto made =
      detail::read_alone<pod_manifest>(object, file, detail::name_of_object(object, "Reservation", false), warnings,
                                       [&](detail::reader& read, const detail::place& of, pod_manifest& out) {
                                         out.from.line = object.line;
                                         bool over = false;
                                         return detail::read_reservation(read, of, out, over, how);
                                       });
  return detail::checked_alone(std::move(made), object, file, "Reservation", false);
}

result<namespace_spec> read_namespace(const value& object, std::string_view file, std::vector<warning>* warnings) {
  auto made = detail::read_alone<namespace_spec>(object, file, detail::name_of_object(object, "Namespace", false),
                                                 warnings, detail::read_namespace);
  return detail::checked_alone(std::move(made), object, file, "Namespace", false);
}

result<service_manifest> read_service(const value& object, std::string_view file, std::vector<warning>* warnings) {
  return detail::read_alone<service_manifest>(object, file, detail::name_of_object(object, "Service", true), warnings,
                                              detail::read_service);
}

result<controller_manifest> read_controller(const value& object, std::string_view kind, std::string_view file,
                                            std::vector<warning>* warnings) {
  return detail::read_alone<controller_manifest>(
      object, file, detail::name_of_object(object, kind, true), warnings,
      [&](detail::reader& read, const detail::place& of, controller_manifest& out) {
        detail::controller_of_pods made;
        if (!detail::read_controller(read, of, kind, made, {.defaulting = false})) return false;
        const std::string ns = made.meta.ns.empty() ? "default" : made.meta.ns;
        out = {std::string{kind}, ns, made.meta.name, std::move(made.selector), {0, object.line}};
        return true;
      });
}

result<disruption_budget_manifest> read_disruption_budget(const value& object, std::string_view file,
                                                          std::vector<warning>* warnings) {
  return detail::read_alone<disruption_budget_manifest>(
      object, file, detail::name_of_object(object, "PodDisruptionBudget", true), warnings, detail::read_budget);
}

result<group_manifest> read_pod_group(const value& object, std::string_view file, std::vector<warning>* warnings) {
  const std::string_view kind = detail::text_at(object, "kind"), version = detail::text_at(object, "apiVersion");
  const std::string name = detail::name_of_object(object, kind.empty() ? "PodGroup" : kind, true);
  auto made = detail::read_alone<group_manifest>(
      object, file, name, warnings, [&](detail::reader& read, const detail::place& of, group_manifest& out) {
        detail::group_draft draft;
        const std::string_view api = version.empty() ? "scheduling.k8s.io" : detail::api_group(version);
        const auto fine = detail::read_any_group(read, of, api, kind.empty() ? "PodGroup" : kind, draft);
        if (!fine) return read.fail(errc::unknown, of, "is no group that stands for itself");
        if (!*fine) return false;
        if (!draft.has_policy) return read.fail(errc::malformed, of, "needs a schedulingPolicy");
        draft.made.from.line = object.line;
        if (auto wrong = detail::read_own_annotations(draft, file, warnings)) return read.fail(std::move(*wrong));
        if (!draft.asks.empty()) {
          read.warn(of, "what the group asks of topology needs other objects; it is left out");
          draft.when_full.reset();
        }
        if (const auto wrong = detail::settle_own_words(draft))
          return read.fail(detail::in_manifest(*wrong, "PodGroup", file, object, name));
        if (!draft.sub_groups.empty()) read.warn(of, "which sub-groups there are, its pods tell; they are left out");
        out = std::move(draft.made);
        out.from.line = object.line;
        return true;
      });
  return detail::checked_alone(std::move(made), object, file, kind.empty() ? "PodGroup" : kind, true);
}

result<label_selector> read_label_selector(const value& object, std::string_view file) {
  return detail::read_alone<label_selector>(object, file, "LabelSelector", nullptr, detail::read_label_selector);
}

result<std::vector<node_selector_term>> read_node_selector(const value& object, std::string_view file) {
  return detail::read_alone<std::vector<node_selector_term>>(object, file, "NodeSelector", nullptr,
                                                             detail::read_node_selector);
}

}  // namespace gangsched::inline GANGSCHED_ABI::kube
