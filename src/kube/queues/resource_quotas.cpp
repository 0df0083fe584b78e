#include <fmt/format.h>

#include <algorithm>
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

bool selects(const quota_scope& scope, const pod_manifest& pod) {
  switch (scope.what) {
    case scope_kind::terminating: return pod.deadline_seconds.has_value();
    case scope_kind::not_terminating: return !pod.deadline_seconds.has_value();
    case scope_kind::best_effort: return is_best_effort(pod);
    case scope_kind::not_best_effort: return !is_best_effort(pod);
    case scope_kind::cross_namespace_affinity: return selects_namespaces(pod.spec);
    case scope_kind::volume_attributes_class: return false;  // of claims
    case scope_kind::priority_class: break;
  }
  return takes_class(scope, pod.spec.priority_class);
}

/// The quotas of one namespace, as queues within each other.
class namespace_quotas {
 public:
  namespace_quotas(manifests& into, std::string ns, std::vector<const resource_quota*> quotas, const pod_home& homes)
      : into_(&into), ns_(std::move(ns)), quotas_(std::move(quotas)), homes_(&homes), first_(into.queues.size()) {}

  std::optional<error> run(const std::vector<std::size_t>& pods, std::size_t new_from, bool read_ones) {
    pods_of_.resize(quotas_.size());
    for (const std::size_t i : pods) {
      const pod_manifest& pod = into_->pods[i];
      const bool free = homes_->of(pod).empty();
      for (std::size_t k = 0; k < quotas_.size(); ++k) {
        const auto holds = [&](const quota_scope& one) { return selects(one, pod); };
        if (!std::ranges::all_of(quotas_[k]->scopes, holds)) continue;
        if (free)
          pods_of_[k].push_back(i);
        else
          say_once(*quotas_[k], homes_->of(pod));
        const bool is_new = i >= new_from || (read_ones && pod.node.empty());
        if (auto wrong = is_new ? lacks(pod, *quotas_[k]) : std::nullopt) return wrong;
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
    if (!inner.empty() && homes_->of_namespace(ns_).empty()) into_->queues.back().spec.namespaces = {ns_};
    place_scoped(std::move(scoped), inner);
    leave_leaves();
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
    for (std::size_t i = first_, end = into_->queues.size(); i < end; ++i) {
      const std::string name = into_->queues[i].spec.name;
      const auto below = [&](const queue_manifest& one) { return one.spec.parent == name; };
      const auto own = into_->queues.begin() + static_cast<std::ptrdiff_t>(first_);
      if (std::none_of(own, into_->queues.end(), below)) continue;
      queue_manifest made = into_->queues[i];
      made.spec = {
          .name = name + "/others", .parent = name, .namespaces = std::exchange(into_->queues[i].spec.namespaces, {})};
      bool any = !made.spec.namespaces.empty();
      for (const std::vector<std::size_t>& pods : pods_of_) {
        for (const std::size_t pod : pods) {
          if (into_->pods[pod].spec.queue != name) continue;
          into_->pods[pod].spec.queue = made.spec.name;
          any = true;
        }
      }
      if (any) into_->queues.push_back(std::move(made));
    }
  }

  /// Smaller sets of pods within larger ones. Of two sets that cross a pod would have to be in two queues.
  void place_scoped(std::vector<std::size_t> scoped, const std::string& inner) {
    std::ranges::stable_sort(scoped,
                             [&](std::size_t a, std::size_t b) { return pods_of_[a].size() > pods_of_[b].size(); });
    std::vector<std::size_t> placed;
    for (const std::size_t k : scoped) {
      std::string parent = inner;
      const resource_quota* crossing = nullptr;
      for (const std::size_t other : placed) {
        if (std::ranges::includes(pods_of_[other], pods_of_[k])) {
          if (!pods_of_[k].empty()) parent = quotas_[other]->queue_name();
        } else if (meet(pods_of_[other], pods_of_[k])) {
          crossing = quotas_[other];
        }
      }
      if (crossing != nullptr) {
        into_->warnings.push_back(
            {told(*quotas_[k]), "spec.scopeSelector",
             fmt::format("selects some of the pods of \"{}\" and others: a pod has one queue; it is left out",
                         crossing->name)});
        continue;
      }
      const std::string name = add(*quotas_[k], parent);
      for (const std::size_t i : pods_of_[k]) into_->pods[i].spec.queue = name;
      placed.push_back(k);
    }
  }
  [[nodiscard]] static bool meet(const std::vector<std::size_t>& a, const std::vector<std::size_t>& b) {
    for (auto i = a.begin(), k = b.begin(); i != a.end() && k != b.end(); *i < *k ? ++i : ++k)
      if (*i == *k) return true;
    return false;
  }

  manifests* into_;
  std::string ns_;
  std::vector<const resource_quota*> quotas_;
  const pod_home* homes_;
  std::size_t first_;  // of its queues
  bool said_ = false;
  std::vector<std::vector<std::size_t>> pods_of_;  // by quota, in order: those that are in no other queue
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
                                           bool read_ones) {
  if (queues.resource_quotas.empty()) return std::nullopt;
  std::map<std::string, std::vector<const resource_quota*>> by_namespace;
  std::set<std::string> names;
  for (const queue_manifest& one : into.queues) names.insert(one.spec.name);
  for (const resource_quota& one : queues.resource_quotas) {
    const auto wrong = [&](errc code, std::string field, std::string reason) {
      return error{code, where(into, one.from, "ResourceQuota", one.ns, one.name), std::move(field), std::move(reason)};
    };
    if (!names.insert(one.queue_name()).second)
      return wrong(errc::duplicate, "metadata.name", "there is a queue of that name already");
    std::vector<const resource_quota*>& all = by_namespace[one.ns];
    if (all.size() == most_resource_quotas)
      return wrong(errc::out_of_range, "", fmt::format("the namespace has more than {}", most_resource_quotas));
    // One of services and the like, and of claims.
    if (!one.hard.empty() || !one.needed.empty()) all.push_back(&one);
  }
  std::map<std::string_view, std::vector<std::size_t>> pods;
  for (const auto& [ns, all] : by_namespace) pods.try_emplace(ns);
  for (std::size_t i = 0; i < into.pods.size(); ++i)
    if (const auto found = pods.find(into.pods[i].spec.ns); found != pods.end()) found->second.push_back(i);
  const pod_home homes{into};
  for (const auto& [ns, all] : by_namespace)
    if (auto wrong = namespace_quotas{into, ns, all, homes}.run(pods.at(ns), new_from, read_ones)) return wrong;
  return std::nullopt;
}

}  // namespace gangsched::inline GANGSCHED_ABI::kube::detail
