#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "gangsched/src/kube/documents/annotations.hpp"
#include "gangsched/src/kube/queues/queues.hpp"

// ResourceQuota: a queue with a limit, of the pods of its namespace that its scopes select.
namespace gangsched::inline GANGSCHED_ABI::kube::detail {
namespace {

constexpr std::size_t most_resource_quotas = 100;  // of a namespace: each pod is asked of all of them

bool read_scope(reader& read, const place& of, quota_scope& out) {
  return read.word(of, out.what,
                   {{"Terminating", scope_kind::terminating},
                    {"NotTerminating", scope_kind::not_terminating},
                    {"BestEffort", scope_kind::best_effort},
                    {"NotBestEffort", scope_kind::not_best_effort},
                    {"PriorityClass", scope_kind::priority_class},
                    {"CrossNamespacePodAffinity", scope_kind::cross_namespace_affinity},
                    {"VolumeAttributesClass", scope_kind::volume_attributes_class}});
}

/// {scopeName, operator, values}
bool read_scope_requirement(reader& read, const place& of, quota_scope& out) {
  const bool fine = read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "scopeName") return read_scope(read, v, out);
    if (key == "operator") {
      return read.word(v, out.op,
                       {{"In", selector_operator::in},
                        {"NotIn", selector_operator::not_in},
                        {"Exists", selector_operator::exists},
                        {"DoesNotExist", selector_operator::does_not_exist}});
    }
    if (key == "values") return read.texts(v, out.values);
    return read.ignore(key, v, {});
  });
  if (!fine) return false;
  const bool listed = out.op == selector_operator::in || out.op == selector_operator::not_in;
  if (listed == out.values.empty())
    return read.fail(errc::malformed, of, listed ? "needs values" : "has values beside Exists or DoesNotExist");
  const bool has_values = out.what == scope_kind::priority_class || out.what == scope_kind::volume_attributes_class;
  if (!has_values && out.op != selector_operator::exists)
    return read.fail(errc::malformed, of,
                     "has another operator than Exists, which only PriorityClass and VolumeAttributesClass may");
  return true;
}

/// `requests.cpu: 4`, `pods: 10`, …
bool read_hard(reader& read, const place& of, resource_quota& out) {
  return read.fields(of, [&](std::string_view key, const place& v) {
    quantity amount;
    if (!read.amount(v, amount)) return false;
    if (amount.negative()) return read.fail(errc::out_of_range, v, fmt::format("{} is negative", amount.to_string()));
    if (is_of_claims(key)) return out.hard_claims.emplace(std::string{key}, amount), true;
    std::string_view name = key;
    if (name.ends_with(".deviceclass.resource.k8s.io/devices"))
      return read.warn(v, "devices of claims are not counted; it is left out");
    if (name.starts_with("limits.")) {
      if (name == "limits.cpu" || name == "limits.memory") out.needed.emplace_back(name.substr(7), true);
      return read.warn(v, "requests are counted, limits are not; it is left out");
    }
    const bool asked = name.starts_with("requests.");
    if (asked) name.remove_prefix(9);
    if (name == "count/pods") name = "pods";
    if (name == "cpu" || name == "memory") out.needed.emplace_back(name, false);
    // What else there is in a namespace is not the scheduler's.
    const bool of_pods = name == "cpu" || name == "memory" || name == "ephemeral-storage" || name == "pods" ||
                         name.starts_with("hugepages-") || asked;
    if (!of_pods) return true;
    const auto [known, added] = out.hard.emplace(std::string{name}, amount);
    if (!added) known->second = std::min(known->second, amount);
    return true;
  });
}

bool is_best_effort(const pod_manifest& pod) {
  const auto asks = [](const resource_list& of) {
    for (const char* const name : {"cpu", "memory"})
      if (const auto found = of.find(name); found != of.end() && found->second > quantity{}) return true;
    return false;
  };
  if (pod.spec.resources && asks(*pod.spec.resources)) return false;
  const auto any = [&](const std::vector<container>& of) {
    return std::ranges::any_of(of, [&](const container& one) { return asks(one.requests); });
  };
  return !any(pod.spec.containers) && !any(pod.spec.init_containers) && std::ranges::none_of(pod.limits, asks);
}

bool selects_namespaces(const pod_spec& pod) {
  const auto any = [](const auto& terms) {
    return std::ranges::any_of(terms, [](const pod_affinity_term& one) {
      return !one.namespaces.empty() || one.namespace_selector.has_value();
    });
  };
  const auto of = [&](const auto& both) {
    return any(both.required) || std::ranges::any_of(both.preferred, [](const auto& one) {
             return !one.term.namespaces.empty() || one.term.namespace_selector.has_value();
           });
  };
  return of(pod.affinity_to_pods) || of(pod.anti_affinity_to_pods);
}

/// Whether a scope of classes, of priority or of volume attributes, takes in the class of that name; empty: none.
bool takes_class(const quota_scope& scope, const std::string& name) {
  const bool listed = std::ranges::find(scope.values, name) != scope.values.end();
  switch (scope.op) {
    case selector_operator::in: return listed;
    case selector_operator::not_in: return !listed;
    case selector_operator::exists: return !name.empty();
    default: return name.empty();
  }
}

/// @p usual: the name of the class that an API server gives a pod that says nothing of its priority.
bool selects(const quota_scope& scope, const pod_manifest& pod, const std::string& usual) {
  switch (scope.what) {
    case scope_kind::terminating: return pod.deadline_seconds.has_value();
    case scope_kind::not_terminating: return !pod.deadline_seconds.has_value();
    case scope_kind::best_effort: return is_best_effort(pod);
    case scope_kind::not_best_effort: return !is_best_effort(pod);
    case scope_kind::cross_namespace_affinity: return selects_namespaces(pod.spec);
    case scope_kind::volume_attributes_class: return false;  // of claims
    case scope_kind::priority_class: break;
  }
  const bool says_nothing = pod.spec.priority_class.empty() && !pod.spec.priority;
  return takes_class(scope, says_nothing ? usual : pod.spec.priority_class);
}

/// What the quotas of all namespaces are held against.
struct quota_surroundings {
  const pod_home* homes;
  std::string usual_class = {};                      ///< of pods that say nothing of their priority
  std::set<std::string, std::less<>> reserved = {};  ///< namespaces with Reservations that are in no queue
  std::size_t new_from = 0;                          ///< what containers have to say is for pods from there on,
  bool read_ones = false;                            ///< and for those that were read and have no node
};

/// The quotas of one namespace, as queues within each other.
class namespace_quotas {
 public:
  /// @p pods: of the namespace, by place
  namespace_quotas(manifests& into, std::string ns, std::vector<const resource_quota*> quotas,
                   const std::vector<std::size_t>& pods, const quota_surroundings& around)
      : into_(&into),
        ns_(std::move(ns)),
        quotas_(std::move(quotas)),
        pods_(&pods),
        around_(&around),
        first_(into.queues.size()) {}

  std::optional<error> run(mistakes_by_object& note) {
    pods_of_.resize(quotas_.size());
    free_.resize(pods_->size());
    for (std::uint32_t at = 0; at < pods_->size(); ++at) {
      const pod_manifest& pod = into_->pods[(*pods_)[at]];
      const std::string& home = around_->homes->of(pod);
      free_[at] = home.empty();
      const bool is_new = (*pods_)[at] >= around_->new_from || (around_->read_ones && pod.node.empty());
      for (std::size_t k = 0; k < quotas_.size(); ++k) {
        const auto holds = [&](const quota_scope& one) { return selects(one, pod, around_->usual_class); };
        if (!std::ranges::all_of(quotas_[k]->scopes, holds)) continue;
        if (!free_[at])
          say_once(*quotas_[k], home);
        else if (!quotas_[k]->scopes.empty())
          pods_of_[k].push_back(at);
        if (auto wrong = is_new ? lacks(pod, *quotas_[k]) : std::nullopt; wrong && !note.told(pod.from, *wrong))
          return wrong;
      }
    }
    place();
    return std::nullopt;
  }

 private:
  [[nodiscard]] std::string told(const resource_quota& of) const {
    return where(*into_, of.from, "ResourceQuota", of.ns, of.name);
  }

  /// With a quota of a resource each container has to say how much of it it takes.
  std::optional<error> lacks(const pod_manifest& pod, const resource_quota& quota) const {
    for (const auto& [name, limit] : quota.needed) {
      const std::size_t first = pod.spec.containers.size();
      for (std::size_t i = 0; i < first + pod.spec.init_containers.size(); ++i) {
        const container& one = i < first ? pod.spec.containers[i] : pod.spec.init_containers[i - first];
        if (limit ? i < pod.limits.size() && pod.limits[i].contains(name) : one.requests.contains(name)) continue;
        if (pod.spec.resources && pod.spec.resources->contains(name)) continue;
        return error{errc::malformed, where(*into_, pod.from, "Pod", ns_, pod.spec.name),
                     fmt::format("spec.{}[{}].resources.{}.{}", i < first ? "containers" : "initContainers",
                                 i < first ? i : i - first, limit ? "limits" : "requests", name),
                     fmt::format("is not there, and the ResourceQuota \"{}\" has a bound of it", quota.name)};
      }
    }
    return std::nullopt;
  }

  /// A pod has one queue, and its own word counts.
  void say_once(const resource_quota& quota, const std::string& queue) {
    if (std::exchange(said_, true)) return;
    into_->warnings.push_back(
        {told(quota), "",
         fmt::format("pods of its namespace are in the queue \"{}\": it holds for those that are in none", queue)});
  }

  void place() {
    std::string inner;
    std::vector<std::size_t> scoped;
    for (std::size_t k = 0; k < quotas_.size(); ++k) {
      if (quotas_[k]->scopes.empty())
        inner = add(*quotas_[k], inner);
      else
        scoped.push_back(k);
    }
    if (!inner.empty() && around_->homes->of_namespace(ns_).empty()) hold_namespace(inner);
    place_scoped(std::move(scoped), inner);
    leave_leaves();
  }

  /// The namespace is the queue's; but a Reservation is none of its pods, and beside one each pod has to name the queue.
  void hold_namespace(const std::string& queue) {
    if (!around_->reserved.contains(ns_)) {
      into_->queues.back().spec.namespaces = {ns_};
      return;
    }
    for (std::size_t at = 0; at < pods_->size(); ++at)
      if (free_[at]) into_->pods[(*pods_)[at]].spec.queue = queue;
  }

  std::string add(const resource_quota& quota, const std::string& parent) {
    queue_manifest& made = into_->queues.emplace_back();
    made.api = "v1", made.kind = "ResourceQuota", made.ns = quota.ns, made.name = quota.name, made.from = quota.from;
    made.spec.name = quota.queue_name();
    made.spec.parent = parent;
    made.spec.quotas.push_back({.limit = quota.hard});
    return made.spec.name;
  }

  /// Pods are in queues that have none below them: those of no narrower quota get one of their own.
  void leave_leaves() {
    std::map<std::string, std::vector<std::size_t>> named;
    for (std::size_t at = 0; at < pods_->size(); ++at) {
      const std::string& queue = into_->pods[(*pods_)[at]].spec.queue;
      if (free_[at] && !queue.empty()) named[queue].push_back((*pods_)[at]);
    }
    for (std::size_t i = first_, end = into_->queues.size(); i < end; ++i) {
      const std::string name = into_->queues[i].spec.name;
      const auto below = [&](const queue_manifest& one) { return one.spec.parent == name; };
      const auto own = into_->queues.begin() + static_cast<std::ptrdiff_t>(first_);
      if (std::none_of(own, into_->queues.end(), below)) continue;
      queue_manifest made = into_->queues[i];
      made.spec = {
          .name = name + "/others", .parent = name, .namespaces = std::exchange(into_->queues[i].spec.namespaces, {})};
      const auto pods = named.find(name);
      if (pods != named.end())
        for (const std::size_t pod : pods->second) into_->pods[pod].spec.queue = made.spec.name;
      if (pods != named.end() || !made.spec.namespaces.empty()) into_->queues.push_back(std::move(made));
    }
  }

  /// Smaller sets of pods within larger ones. Of two sets that cross a pod would have to be in two queues. O(pods of all sets + sets²).
  void place_scoped(std::vector<std::size_t> scoped, const std::string& inner) {
    constexpr std::size_t none = ~std::size_t{0};
    std::ranges::stable_sort(scoped,
                             [&](std::size_t a, std::size_t b) { return pods_of_[a].size() > pods_of_[b].size(); });
    struct placed_set {
      std::size_t quota, parent;  // in quotas_; of those placed before
    };
    std::vector<placed_set> placed;
    // Of those placed, by pod: the others that have it are around that one.
    std::vector<std::size_t> innermost(pods_->size(), none);
    std::vector<std::size_t> shared;  // how many pods each of those placed has of the one that is being placed
    for (const std::size_t k : scoped) {
      shared.assign(placed.size(), 0);
      for (const std::uint32_t at : pods_of_[k])
        if (innermost[at] != none) ++shared[innermost[at]];
      std::size_t around = none, crossing = none;
      for (std::size_t i = placed.size(); i-- > 0;)
        if (placed[i].parent != none) shared[placed[i].parent] += shared[i];
      for (std::size_t i = 0; i < placed.size(); ++i) {
        if (shared[i] == 0) continue;
        (shared[i] == pods_of_[k].size() ? around : crossing) = i;
      }
      if (crossing != none) {
        into_->warnings.push_back(
            {told(*quotas_[k]), "spec.scopeSelector",
             fmt::format("selects some of the pods of \"{}\" and others: a pod has one queue; it is left out",
                         quotas_[placed[crossing].quota]->name)});
        continue;
      }
      const std::string name = add(*quotas_[k], around == none ? inner : quotas_[placed[around].quota]->queue_name());
      for (const std::uint32_t at : pods_of_[k]) {
        into_->pods[(*pods_)[at]].spec.queue = name;
        innermost[at] = placed.size();
      }
      placed.push_back({k, around});
    }
  }

  manifests* into_;
  std::string ns_;
  std::vector<const resource_quota*> quotas_;
  const std::vector<std::size_t>* pods_;
  const quota_surroundings* around_;
  std::size_t first_;  // of its queues
  bool said_ = false;
  std::vector<bool> free_;                           // of pods_: in no other queue
  std::vector<std::vector<std::uint32_t>> pods_of_;  // by quota with scopes, in pods_: those that are free
};

}  // namespace

bool selects_claim(const quota_scope& scope, const volume_claim_manifest& claim) {
  return scope.what == scope_kind::volume_attributes_class && takes_class(scope, claim.spec.attributes_class);
}

bool read_resource_quota(reader& read, const place& of, resource_quota& out) {
  return read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "metadata") return read_names(read, v, out.name, out.ns);
    if (key != "spec") return read.ignore(key, v, {"apiVersion", "kind", "status"});
    return read.fields(v, [&](std::string_view field, const place& w) {
      constexpr std::size_t most_scopes = 100;
      if (w.at->items.size() > most_scopes && field == "scopes")
        return read.fail(errc::out_of_range, w, fmt::format("has more than {} entries", most_scopes));
      if (field == "hard") return read_hard(read, w, out);
      if (field == "scopes")
        return read.list(w, out.scopes,
                         [&](const place& item, quota_scope& one) { return read_scope(read, item, one); });
      if (field == "scopeSelector") {
        return read.fields(w, [&](std::string_view word, const place& x) {
          if (word != "matchExpressions") return read.ignore(word, x, {});
          if (x.at->items.size() > most_scopes)
            return read.fail(errc::out_of_range, x, fmt::format("has more than {} entries", most_scopes));
          return read.list(x, out.scopes, [&](const place& item, quota_scope& one) {
            return read_scope_requirement(read, item, one);
          });
        });
      }
      return read.ignore(field, w, {});
    });
  });
}

std::optional<error> place_resource_quotas(manifests& into, const queue_objects& queues, std::size_t new_from,
                                           bool read_ones, mistakes_by_object note) {
  if (queues.resource_quotas.empty()) return std::nullopt;
  std::map<std::string, std::vector<const resource_quota*>> by_namespace;
  std::map<std::string_view, std::size_t> counts;
  std::set<std::string> names;
  for (const queue_manifest& one : into.queues) names.insert(one.spec.name);
  for (const resource_quota& one : queues.resource_quotas) {
    const auto wrong = [&](errc code, std::string field, std::string reason) {
      return error{code, where(into, one.from, "ResourceQuota", one.ns, one.name), std::move(field), std::move(reason)};
    };
    if (!names.insert(one.queue_name()).second)
      return wrong(errc::duplicate, "metadata.name", "there is a queue of that name already");
    const bool of_pods = !one.hard.empty() || !one.needed.empty();
    if (!of_pods && one.hard_claims.empty()) continue;  // of services and the like
    if (++counts[one.ns] > most_resource_quotas)
      return wrong(errc::out_of_range, "", fmt::format("the namespace has more than {}", most_resource_quotas));
    if (of_pods) by_namespace[one.ns].push_back(&one);
  }
  const pod_home homes{into};
  quota_surroundings around{.homes = &homes, .new_from = new_from, .read_ones = read_ones};
  if (const priority_class_spec* const usual = default_priority_class(into)) around.usual_class = usual->name;
  std::map<std::string_view, std::vector<std::size_t>> pods;
  for (const auto& [ns, all] : by_namespace) pods.try_emplace(ns);
  for (std::size_t i = 0; i < into.pods.size(); ++i) {
    const pod_manifest& pod = into.pods[i];
    const auto found = pods.find(pod.spec.ns);
    if (found == pods.end()) continue;
    if (!pod.spec.reservation)
      found->second.push_back(i);
    else if (homes.of(pod).empty())
      around.reserved.insert(pod.spec.ns);
  }
  for (const auto& [ns, all] : by_namespace)
    if (auto wrong = namespace_quotas{into, ns, all, pods.at(ns), around}.run(note)) return wrong;
  return std::nullopt;
}

}  // namespace gangsched::inline GANGSCHED_ABI::kube::detail
