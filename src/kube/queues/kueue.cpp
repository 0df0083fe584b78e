#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "gangsched/src/kube/queues/queues.hpp"

// Kueue (kueue.x-k8s.io v1beta1 and v1beta2): ClusterQueue, Cohort, ResourceFlavor, LocalQueue, WorkloadPriorityClass.
namespace gangsched::inline GANGSCHED_ABI::kube::detail {
namespace {

// Kueue's own bounds.
constexpr std::size_t most_resource_groups = 16;
constexpr std::size_t most_in_resource_group = 64;
constexpr double least_kueue_weight = 1e-9;

bool no_more_than(reader& read, const place& of, std::size_t most) {
  return of.at->items.size() <= most ||
         read.fail(errc::out_of_range, of, fmt::format("has more than {} entries", most));
}

bool read_quota_amount(reader& read, const place& of, const std::string& resource, resource_list& out) {
  quantity amount;
  if (!read.amount(of, amount)) return false;
  if (amount.negative()) return read.fail(errc::out_of_range, of, fmt::format("{} is negative", amount.to_string()));
  out[resource] = amount;
  return true;
}

/// Which limits make sense.
struct limit_rules {
  bool has_parent = false;
  bool lends_what_is_below = false;  ///< a cohort's: more than its own quota
};

/// {name, nominalQuota, borrowingLimit, lendingLimit}
bool read_quota_of_resource(reader& read, const place& of, queue_quota& out, const limit_rules& rules) {
  std::string name;
  const value* said = of.at->find("name");
  if (said == nullptr || said->text.empty()) return read.fail(errc::malformed, of, "needs a name");
  const bool fine = read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "name") return read.text(v, name);
    if (key == "nominalQuota") return read_quota_amount(read, v, said->text, out.guaranteed);
    if (key == "borrowingLimit" || key == "lendingLimit") {
      if (!rules.has_parent) return read.fail(errc::malformed, v, "goes with a cohort");
      return read_quota_amount(read, v, said->text, key == "borrowingLimit" ? out.borrowing_limit : out.lending_limit);
    }
    return read.ignore(key, v, {});
  });
  if (!fine) return false;
  if (!out.guaranteed.contains(name)) return read.fail(errc::malformed, of, "needs a nominalQuota");
  const auto lent = out.lending_limit.find(name);
  return rules.lends_what_is_below || lent == out.lending_limit.end() || lent->second <= out.guaranteed.at(name) ||
         read.fail(errc::out_of_range, of, "lendingLimit is above nominalQuota");
}

bool read_flavor_quotas(reader& read, const place& of, queue_quota& out, const limit_rules& rules) {
  return read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "name") return read.text(v, out.flavor);
    if (key == "resources") {
      return no_more_than(read, v, most_in_resource_group) && read.items(v, [&](const place& item) {
        const std::size_t before = out.guaranteed.size();
        if (!read_quota_of_resource(read, item, out, rules)) return false;
        return out.guaranteed.size() > before || read.fail(errc::duplicate, item, "the resource is there already");
      });
    }
    return read.ignore(key, v, {});
  });
}

/// A quota for each flavor: all flavors of a group have the resources that it covers.
bool read_resource_groups(reader& read, const place& of, std::vector<queue_quota>& out, const limit_rules& rules) {
  std::set<std::string> resources, flavors;
  return no_more_than(read, of, most_resource_groups) && read.items(of, [&](const place& group) {
    std::vector<std::string> covered;
    const std::size_t first = out.size();
    const bool fine = read.fields(group, [&](std::string_view key, const place& v) {
      if (key == "coveredResources") return no_more_than(read, v, most_in_resource_group) && read.texts(v, covered);
      if (key == "flavors") {
        return no_more_than(read, v, most_in_resource_group) && read.items(v, [&](const place& item) {
          queue_quota& made = out.emplace_back();
          if (!read_flavor_quotas(read, item, made, rules)) return false;
          if (made.flavor.empty()) return read.fail(errc::malformed, item, "needs a name");
          return flavors.insert(made.flavor).second ||
                 read.fail(errc::duplicate, item, fmt::format("the flavor \"{}\" is there already", made.flavor));
        });
      }
      return read.ignore(key, v, {});
    });
    if (!fine) return false;
    for (const std::string& name : covered) {
      if (!resources.insert(name).second)
        return read.fail(errc::duplicate, group, fmt::format("\"{}\" is covered already", name));
    }
    for (std::size_t i = first; i < out.size(); ++i) {
      const bool same =
          out[i].guaranteed.size() == covered.size() &&
          std::ranges::all_of(covered, [&](const std::string& name) { return out[i].guaranteed.contains(name); });
      if (!same)
        return read.fail(errc::malformed, group,
                         fmt::format("the flavor \"{}\" has other resources than those covered", out[i].flavor));
    }
    return true;
  });
}

bool read_stop_policy(reader& read, const place& of, queue_state& out) {
  return read.word(of, out,
                   {{"None", queue_state::open}, {"Hold", queue_state::hold}, {"HoldAndDrain", queue_state::drain}});
}

/// {weight}: 0 means that others always come first.
bool read_fair_sharing(reader& read, const place& of, double& out) {
  return read.fields(of, [&](std::string_view key, const place& v) {
    if (key != "weight") return read.ignore(key, v, {});
    quantity amount;
    if (!read.amount(v, amount)) return false;
    if (amount.negative()) return read.fail(errc::out_of_range, v, fmt::format("{} is negative", amount.to_string()));
    out = std::max(least_kueue_weight, static_cast<double>(amount.nanos()) / 1e9);
    return true;
  });
}

bool read_borrow_within_cohort(reader& read, const place& of, queue_spec& out) {
  return read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "policy") return read.word(v, out.reclaims_to_borrow, {{"Never", false}, {"LowerPriority", true}});
    if (key == "maxPriorityThreshold") return read.integer(v, out.reclaims_to_borrow_up_to.emplace(0));
    return read.ignore(key, v, {});
  });
}

/// {whenCanBorrow, whenCanPreempt, preference}, in the words of v1beta1 and of v1beta2.
bool read_flavor_fungibility(reader& read, const place& of, flavor_rules& out) {
  return read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "whenCanBorrow")
      return read.word(v, out.stops_at_borrowing,
                       {{"Borrow", true}, {"MayStopSearch", true}, {"TryNextFlavor", false}});
    if (key == "whenCanPreempt")
      return read.word(v, out.stops_at_preemption,
                       {{"Preempt", true}, {"MayStopSearch", true}, {"TryNextFlavor", false}});
    if (key == "preference")
      return read.word(v, out.avoids_borrowing,
                       {{"BorrowingOverPreemption", false}, {"PreemptionOverBorrowing", true}});
    return read.ignore(key, v, {});
  });
}

bool read_queue_preemption(reader& read, const place& of, queue_spec& out) {
  return read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "withinClusterQueue") {
      return read.word(v, out.within_queue,
                       {{"Never", queue_preemption::never},
                        {"LowerPriority", queue_preemption::lower_priority},
                        {"LowerOrNewerEqualPriority", queue_preemption::lower_or_newer_equal_priority}});
    }
    if (key == "reclaimWithinCohort") {
      return read.word(v, out.reclaim,
                       {{"Never", queue_reclaim::never},
                        {"LowerPriority", queue_reclaim::lower_priority},
                        {"Any", queue_reclaim::any}});
    }
    if (key == "borrowWithinCohort") return read_borrow_within_cohort(read, v, out);
    return read.ignore(key, v, {});
  });
}

bool read_name_only(reader& read, const place& of, std::string& out) {
  object_meta meta;
  if (!read_meta(read, of, meta)) return false;
  out = std::move(meta.name);
  return true;
}

}  // namespace

std::string cohort_queue(std::string_view name) { return fmt::format("cohort/{}", name); }

bool read_cluster_queue(reader& read, const place& of, queue_spec& out, cluster_queue_rules& rules) {
  out.within_queue = queue_preemption::never;
  out.reclaim = queue_reclaim::never;
  return read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "metadata") return read_name_only(read, v, out.name);
    if (key != "spec") return read.ignore(key, v, {"apiVersion", "kind", "status"});
    for (const char* const name : {"cohort", "cohortName"}) {  // of v1beta1, of v1beta2
      const value* cohort = v.at->find(name);
      if (cohort != nullptr && cohort->kind == value_kind::text && !cohort->text.empty())
        out.parent = cohort_queue(cohort->text);
    }
    std::string cohort;
    return read.fields(v, [&](std::string_view field, const place& w) {
      if (field == "cohort" || field == "cohortName") return read.text(w, cohort);
      if (field == "resourceGroups")
        return read_resource_groups(read, w, out.quotas, {.has_parent = !out.parent.empty()});
      if (field == "queueingStrategy") {
        return read.word(w, out.heads, {{"BestEffortFIFO", head_rule::best_effort}, {"StrictFIFO", head_rule::strict}});
      }
      if (field == "namespaceSelector") return read_label_selector(read, w, rules.namespaces.emplace());
      if (field == "preemption") return read_queue_preemption(read, w, out);
      if (field == "stopPolicy") return read_stop_policy(read, w, out.state);
      if (field == "fairSharing") return read_fair_sharing(read, w, out.weight);
      if (field == "admissionScope") {
        return read.fields(w, [&](std::string_view word, const place& x) {
          if (word != "admissionMode") return read.ignore(word, x, {});
          return read.word(x, rules.weighs_local_queues,
                           {{"UsageBasedAdmissionFairSharing", true}, {"NoAdmissionFairSharing", false}});
        });
      }
      if (field == "flavorFungibility") return read_flavor_fungibility(read, w, out.flavors);
      if (field == "admissionChecks" || field == "admissionChecksStrategy")
        return w.at->items.empty() || read.warn(w, "what others check is not asked; it is left out");
      if (field == "concurrentAdmissionPolicy")
        return read.warn(w, "who runs is not moved to a flavor that comes before its own; it is left out");
      return read.ignore(field, w, {});
    });
  });
}

bool read_cohort(reader& read, const place& of, queue_spec& out) {
  return read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "metadata") {
      std::string name;
      if (!read_name_only(read, v, name)) return false;
      out.name = name.empty() ? std::move(name) : cohort_queue(name);
      return true;
    }
    if (key != "spec") return read.ignore(key, v, {"apiVersion", "kind", "status"});
    for (const char* const name : {"parent", "parentName"}) {  // of v1beta1's first releases, of all since
      const value* parent = v.at->find(name);
      if (parent != nullptr && parent->kind == value_kind::text && !parent->text.empty())
        out.parent = cohort_queue(parent->text);
    }
    std::string parent;
    return read.fields(v, [&](std::string_view field, const place& w) {
      if (field == "parent" || field == "parentName") return read.text(w, parent);
      if (field == "resourceGroups")
        return read_resource_groups(read, w, out.quotas,
                                    {.has_parent = !out.parent.empty(), .lends_what_is_below = true});
      if (field == "fairSharing") return read_fair_sharing(read, w, out.weight);
      return read.ignore(field, w, {});
    });
  });
}

bool read_resource_flavor(reader& read, const place& of, flavor_spec& out) {
  return read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "metadata") return read_name_only(read, v, out.name);
    if (key != "spec") return read.ignore(key, v, {"apiVersion", "kind"});
    return read.fields(v, [&](std::string_view field, const place& w) {
      if (field == "nodeLabels") return read.texts_by_name(w, out.node_labels);
      if (field == "nodeTaints") {
        return read.list(w, out.taints, [&](const place& item, taint& one) { return read_taint(read, item, one); });
      }
      if (field == "tolerations") {
        return read.list(w, out.tolerations,
                         [&](const place& item, toleration& one) { return read_toleration(read, item, one); });
      }
      return read.ignore(field, w, {"topologyName"});  // groups say by which levels they want to be together
    });
  });
}

bool read_local_queue(reader& read, const place& of, local_queue& out) {
  return read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "metadata") {
      object_meta meta;
      if (!read_meta(read, v, meta)) return false;
      out.name = std::move(meta.name);
      out.ns = meta.ns.empty() ? "default" : std::move(meta.ns);
      return true;
    }
    if (key != "spec") return read.ignore(key, v, {"apiVersion", "kind", "status"});
    return read.fields(v, [&](std::string_view field, const place& w) {
      if (field == "clusterQueue") return read.text(w, out.cluster_queue);
      if (field == "stopPolicy") return read_stop_policy(read, w, out.state);
      if (field == "fairSharing") return read_fair_sharing(read, w, out.weight.emplace(1));
      return read.ignore(field, w, {});
    });
  });
}

bool read_workload_priority(reader& read, const place& of, std::map<std::string, std::int32_t>& out) {
  std::string name;
  std::int32_t number = 0;
  const bool fine = read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "metadata") return read_name_only(read, v, name);
    if (key == "value") return read.integer(v, number);
    return read.ignore(key, v, {"apiVersion", "kind", "description"});
  });
  if (!fine) return false;
  if (name.empty()) return read.fail(errc::malformed, of, "needs metadata.name");
  out.insert_or_assign(std::move(name), number);
  return true;
}

}  // namespace gangsched::inline GANGSCHED_ABI::kube::detail
