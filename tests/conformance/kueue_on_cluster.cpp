#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "conformance/kueue_setup.hpp"
#include "gangsched/framework/profile.hpp"
#include "gangsched/model/cluster_queues.hpp"
#include "gangsched/plugins/gang_scheduling.hpp"
#include "gangsched/plugins/kueue.hpp"
#include "gangsched/plugins/node_resources_fit.hpp"
#include "gangsched/plugins/scheduling_gates.hpp"
#include "gangsched/scheduler.hpp"

// kueue-schedule, kueue-upstream-schedule with nodes and queues of a cluster: a node for each flavor, with room for everybody; a tree of
// groups for each workload, in it a gang for each pod set. Of each tree of queues the workload that Kueue took first in a cycle is asked
// about alone, by the plugin Kueue: whether it starts, with how many pods, on which flavors, and who goes for it. Later ones are judged by
// what Kueue has set aside in that cycle, which a cluster does not.
namespace gangsched::conformance {
namespace {

namespace kueue = queues::kueue;
using names = std::vector<std::string>;

std::string joined(const std::set<std::string>& all) { return fmt::format("{}", fmt::join(all, ", ")); }

quantity amount_of(const std::string& resource, std::int64_t amount) {
  return resource == "cpu" ? quantity::from_milli(amount) : quantity{amount};
}

/// Pods request only resources of these names.
std::string known_as(const std::string& resource) {
  const bool plain =
      resource == "cpu" || resource == "memory" || resource == "pods" || resource.find('/') != std::string::npos;
  return plain ? resource : "example.com/" + resource;
}

/// What is guaranteed, by flavor and resource.
using totals = std::map<std::pair<std::string, std::string>, std::int64_t>;

class cluster_history {
 public:
  cluster_history(const kube::value& recorded, const std::string& file, tally& into)
      : recorded_(&recorded),
        file_(&file),
        into_(&into),
        name_(text_field(recorded, "name", file)),
        setup_(read_kueue_setup(recorded, file)),
        sharing_(read_kueue_sharing(recorded, file)),
        partial_(kueue_gate(recorded, "PartialAdmission", true)) {}

  /// Nodes are of one flavor: cases in which resources of a queue have flavors of their own are no question to a cluster.
  [[nodiscard]] bool can_be_asked() const {
    const auto plain = [](const auto& node) { return node.groups.size() <= 1; };
    return std::ranges::all_of(setup_.queues, plain) && std::ranges::all_of(setup_.cohorts, plain);
  }

  void run(const kube::value& steps) {
    follow(steps);
    if (into_->exceptions.contains(name_) && !differs_)
      into_->add({name_, "cluster", "", "an exception, as listed", "no difference"});
  }

 private:
  void follow(const kube::value& steps) {
    for (const kube::value& one : field(*recorded_, "workloads", *file_).items) add(one);
    std::size_t number = 0;
    for (const kube::value& step : steps.items) {
      const std::string& op = text_field(step, "op", *file_);
      where_ = fmt::format("{} step {}", name_, number++);
      if (op == "cycle") {
        const kube::value& expect = field(step, "expect", *file_);
        const kube::value& order = field(expect, "order", *file_);
        for (const kube::value& tree : order.items)
          if (const names all = texts(&tree); !all.empty()) ask(all.front(), expect);
        apply(expect);
      } else if (op == "add") {
        for (const kube::value& one : field(step, "add", *file_).items) add(one);
      } else {
        for (const std::string& one : texts(&field(step, "workloads", *file_))) {
          if (op == "evicted")
            workloads_.at(one).admission = nullptr, workloads_.at(one).evicted = false;
          else
            workloads_.erase(one);
        }
      }
    }
  }

  struct workload {
    kueue::workload_spec spec;
    const kube::value* admission = nullptr;
    instant at = {};
    bool evicted = false;
    bool tried = false;
  };

  void add(const kube::value& one) {
    workload made{read_kueue_workload(one, *recorded_, *file_)};
    made.admission = one.find("admission");
    if (made.admission != nullptr) made.at = read_seconds(field(*made.admission, "at", *file_), *file_);
    made.evicted = one.find("evicted") != nullptr;
    workloads_[made.spec.name] = std::move(made);
  }
  void apply(const kube::value& expect) {
    for (const kube::value& one : field(expect, "entries", *file_).items)
      workloads_.at(text_field(one, "workload", *file_)).tried = true;
    const kube::value& admitted = field(expect, "admitted", *file_);
    for (std::size_t i = 0; i < admitted.keys.size(); ++i) {
      workload& one = workloads_.at(admitted.keys[i]);
      one.admission = &admitted.items[i];
      one.at = std::chrono::hours{24 * 365} + std::chrono::seconds{++admissions_};
    }
    const kube::value& preempted = field(expect, "preempted", *file_);
    for (const std::string& one : preempted.keys) workloads_.at(one).evicted = true;
  }

  // --- the cluster

  void add_up(const std::vector<kueue::resource_group>& groups, totals& to) const {
    for (const kueue::resource_group& group : groups)
      for (const kueue::flavor_quota& flavor : group.flavors)
        for (std::size_t r = 0; r < group.resources.size(); ++r)
          to[{flavor.flavor, group.resources[r]}] += flavor.quotas[r].nominal;
  }
  [[nodiscard]] totals below(const std::string& cohort) const {
    totals made;
    for (const kueue::queue_spec& one : setup_.queues)
      if (one.cohort == cohort) add_up(one.groups, made);
    for (const kueue::cohort_spec& one : setup_.cohorts) {
      if (one.parent != cohort) continue;
      add_up(one.groups, made);
      for (const auto& [what, amount] : below(one.name)) made[what] += amount;
    }
    return made;
  }
  static std::vector<queue_quota> quotas_of(const std::vector<kueue::resource_group>& groups, const totals& beside) {
    std::vector<queue_quota> made;
    for (const kueue::resource_group& group : groups) {
      for (const kueue::flavor_quota& flavor : group.flavors) {
        queue_quota& one = made.emplace_back();
        one.flavor = flavor.flavor;
        for (std::size_t r = 0; r < group.resources.size(); ++r) {
          const std::string resource = known_as(group.resources[r]);
          const kueue::quota& amounts = flavor.quotas[r];
          const auto more = beside.find({flavor.flavor, group.resources[r]});
          const std::int64_t all = amounts.nominal + (more == beside.end() ? 0 : more->second);
          one.guaranteed[resource] = amount_of(resource, all);
          if (amounts.borrowing_limit != kueue::unlimited)
            one.borrowing_limit[resource] = amount_of(resource, amounts.borrowing_limit);
          if (amounts.lending_limit < all) one.lending_limit[resource] = amount_of(resource, amounts.lending_limit);
        }
      }
    }
    return made;
  }
  static std::string cohort_name(const std::string& name) { return name.empty() ? name : "cohort/" + name; }
  static double weight_of(double weight) { return std::max(weight, 1e-9); }

  void add_queues(gangsched::cluster& to) const {
    for (const kueue::flavor_spec& one : setup_.flavors) {
      gangsched::flavor_spec made{.name = one.name, .node_labels = {{"flavor", one.name}}};
      for (const auto& [key, value] : one.labels) made.node_labels[key] = value;
      for (const kueue::node_taint& taint : one.taints) made.taints.push_back({taint.key, taint.value, of(taint.what)});
      for (const kueue::tolerated_taint& each : one.tolerations) made.tolerations.push_back(of(each));
      must(to.queues().set_flavor(made));
      gangsched::node_spec node{.name = one.name, .labels = made.node_labels};
      node.allocatable["pods"] = 1'000'000;
      for (const kueue::queue_spec& queue : setup_.queues)
        for (const kueue::resource_group& group : queue.groups)
          for (const std::string& resource : group.resources)
            node.allocatable[known_as(resource)] = std::int64_t{1} << 50;
      must(to.add_node(node));
    }
    for (const kueue::cohort_spec& one : setup_.cohorts) {
      gangsched::queue_spec made{.name = cohort_name(one.name), .parent = cohort_name(one.parent)};
      made.weight = weight_of(one.weight);
      made.quotas = quotas_of(one.groups, below(one.name));
      must(to.queues().add(made));
    }
    std::set<std::string> only_named;  // cohorts
    for (const kueue::cohort_spec& one : setup_.cohorts) only_named.insert(one.parent);
    for (const kueue::queue_spec& one : setup_.queues) only_named.insert(one.cohort);
    for (const kueue::cohort_spec& one : setup_.cohorts) only_named.erase(one.name);
    for (const std::string& one : only_named)
      if (!one.empty()) must(to.queues().add({.name = cohort_name(one)}));
    for (const kueue::queue_spec& one : setup_.queues) {
      gangsched::queue_spec made{.name = one.name, .parent = cohort_name(one.cohort)};
      made.weight = weight_of(one.weight);
      made.quotas = quotas_of(one.groups, {});
      made.within_queue = static_cast<queue_preemption>(one.preemption.within_queue);
      made.reclaim = one.preemption.within_cohort == kueue::victim_policy::never ? queue_reclaim::never
                     : one.preemption.within_cohort == kueue::victim_policy::any ? queue_reclaim::any
                                                                                 : queue_reclaim::lower_priority;
      made.reclaims_to_borrow = one.preemption.while_borrowing;
      made.reclaims_to_borrow_up_to = one.preemption.max_priority;
      made.flavors.stops_at_borrowing = one.fungibility.when_can_borrow == kueue::flavor_search::may_stop;
      made.flavors.stops_at_preemption = one.fungibility.when_can_preempt == kueue::flavor_search::may_stop;
      made.flavors.avoids_borrowing = one.fungibility.preference == kueue::flavor_preference::preemption_over_borrowing;
      must(to.queues().add(made));
    }
  }
  static taint_effect of(kueue::effect what) {
    return what == kueue::effect::no_schedule  ? taint_effect::no_schedule
           : what == kueue::effect::no_execute ? taint_effect::no_execute
                                               : taint_effect::prefer_no_schedule;
  }
  static toleration of(const kueue::tolerated_taint& one) {
    toleration made{.key = one.key};
    made.op = one.value ? toleration_operator::equal : toleration_operator::exists;
    if (one.value) made.value = *one.value;
    if (one.what) made.effect = of(*one.what);
    return made;
  }
  static pod_spec pod_of(const workload& one, const kueue::pod_set_spec& set) {
    static const std::map<kueue::label_operator, selector_operator> operators{
        {kueue::label_operator::in, selector_operator::in},
        {kueue::label_operator::not_in, selector_operator::not_in},
        {kueue::label_operator::exists, selector_operator::exists},
        {kueue::label_operator::does_not_exist, selector_operator::does_not_exist},
        {kueue::label_operator::greater, selector_operator::gt},
        {kueue::label_operator::less, selector_operator::lt}};
    pod_spec made;
    made.priority = one.spec.priority;
    resource_list requests;
    for (const auto& [resource, amount] : set.requests) requests[known_as(resource)] = amount_of(resource, amount);
    made.containers.push_back({.requests = requests});
    for (const auto& [key, value] : set.node_selector) made.node_selector[key] = value;
    for (const std::vector<kueue::label_requirement>& term : set.affinity) {
      if (!made.affinity.required) made.affinity.required.emplace();
      node_selector_term& added = made.affinity.required->emplace_back();
      for (const kueue::label_requirement& each : term)
        added.match_expressions.push_back({each.key, operators.at(each.op), each.values});
    }
    for (const kueue::tolerated_taint& each : set.tolerations) made.tolerations.push_back(of(each));
    return made;
  }

  /// What a pod set was admitted with.
  struct admitted_set {
    std::string flavor;
    std::int64_t count;
  };
  /// Of each pod set, if its flavor is one for all of its resources and its pods are counted; none otherwise.
  [[nodiscard]] std::optional<std::vector<admitted_set>> admission_of(const workload& one,
                                                                      const kube::value& admission) const {
    std::vector<admitted_set> made;
    const std::vector<kube::value>& sets = field(admission, "podSets", *file_).items;
    if (sets.size() != one.spec.pod_sets.size()) return std::nullopt;
    for (std::size_t i = 0; i < sets.size(); ++i) {
      const kueue::pod_set_spec& set = one.spec.pod_sets[i];
      const kube::value& flavors = field(sets[i], "flavors", *file_);
      const kube::value& usage = field(sets[i], "usage", *file_);
      const std::int64_t count = whole_field(sets[i], "count", *file_);
      if (flavors.items.empty() || count < set.min_count.value_or(set.count) || count > set.count) return std::nullopt;
      for (std::size_t f = 0; f < flavors.keys.size(); ++f) {
        const kube::value* used = usage.find(flavors.keys[f]);
        const auto request = set.requests.find(flavors.keys[f]);
        if (flavors.items[f].text != flavors.items.front().text || used == nullptr || request == set.requests.end() ||
            whole(*used, *file_) != request->second * count)
          return std::nullopt;
      }
      made.push_back({flavors.items.front().text, count});
    }
    return made;
  }
  [[nodiscard]] static bool is_plain(const workload& one) {
    return std::ranges::all_of(one.spec.pod_sets, [](const kueue::pod_set_spec& set) {
      return set.count > 0 && set.reclaimable == 0 && set.min_count.value_or(set.count) > 0 &&
             std::ranges::none_of(set.requests, [](const auto& each) { return each.second == 0; });
    });
  }

  /// Everybody who runs, and who is asked about. False if somebody cannot be put on nodes as he was admitted.
  bool add_workloads(gangsched::cluster& to, const std::string& asked,
                     const std::map<std::string, std::string>& named) {
    std::vector<const workload*> all;
    for (const auto& [name, one] : workloads_)
      if (one.admission != nullptr || name == asked) all.push_back(&one);
    std::ranges::sort(all, [](const workload* a, const workload* b) {
      return std::tie(a->spec.created, a->spec.uid) < std::tie(b->spec.created, b->spec.uid);
    });
    for (const workload* one : all) {
      std::optional<std::vector<admitted_set>> has;
      if (one->admission != nullptr) has = admission_of(*one, *one->admission);
      if (!is_plain(*one) || (one->admission != nullptr && !has)) return false;
      // A group for each pod set, with its minimum. Of one that was admitted with fewer pods there are no others.
      const auto sets = static_cast<std::int32_t>(one->spec.pod_sets.size());
      group_spec group{.name = named.at(one->spec.name), .policy = gang{.min_count = sets}, .composite = true};
      group.queue = one->spec.queue;
      group.priority = one->spec.priority;
      const group_id root = must(to.add_group(group));
      for (std::size_t set = 0; set < one->spec.pod_sets.size(); ++set) {
        const kueue::pod_set_spec& wants = one->spec.pod_sets[set];
        group_spec part{.name = fmt::format("{}.{}", group.name, set), .parent = root};
        const std::int64_t pods = has ? (*has)[set].count : wants.count;
        part.policy = gang{.min_count = partial_ ? wants.min_count.value_or(wants.count) : wants.count};
        const group_id id = must(to.add_group(part));
        for (std::int64_t i = 0; i < pods; ++i) {
          pod_spec pod = pod_of(*one, wants);
          pod.name = fmt::format("{}.{}.{}", group.name, set, i);
          pod.group = id;
          if (has) {
            pod.node = *to.find_node((*has)[set].flavor);
            pod.start_time = one->at;
          }
          const result<pod_id> made = to.add_pod(pod);
          if (!made) return false;  // a cluster's sums fit into 64 bits
          if (has && one->evicted) must(to.set_terminating(*made, true));
        }
      }
    }
    return true;
  }
  /// By workload, names of Kubernetes in the order of the uids.
  [[nodiscard]] std::map<std::string, std::string> names_of_groups() const {
    std::vector<std::pair<std::string, std::string>> order;
    for (const auto& [name, one] : workloads_) order.emplace_back(one.spec.uid, name);
    std::ranges::sort(order);
    std::map<std::string, std::string> made;
    for (const auto& [uid, name] : order) made[name] = fmt::format("w{:05}", made.size());
    return made;
  }

  void ask(const std::string& asked, const kube::value& expect) {
    if (workloads_.at(asked).tried) return;  // Kueue goes on where its search for flavors stopped
    gangsched::cluster cluster;
    add_queues(cluster);
    const std::map<std::string, std::string> named = names_of_groups();
    if (!add_workloads(cluster, asked, named)) return;
    std::map<std::string, std::string> known;
    for (const auto& [name, group] : named) known[group] = name;
    const auto whose = [&](pod_id pod) {
      const std::string name{cluster.name_of(pod)};
      return known.at(name.substr(0, name.rfind('.', name.rfind('.') - 1)));
    };
    const kueue_policy policy{{.fair_sharing = sharing_, .partial_admission = partial_}};
    gangsched::scheduler scheduler{cluster,
                                   profile{policy, scheduling_gates{}, node_resources_fit{}, gang_scheduling{}}};
    std::set<std::string> placed, gone;
    for (int cycles = 0; cycles < 100; ++cycles) {
      const cycle done = scheduler.schedule_cycle(std::chrono::hours{24 * 700});
      if (done.error() != nullptr) placed.insert(done.error()->message());
      if (!done) break;
      for (const decision& one : done) {
        const std::string name{cluster.name_of(one.pod)};
        if (one.kind == decision_kind::bind)
          placed.insert(name.substr(name.rfind('.', name.rfind('.') - 1) + 1) + " " +
                        std::string{cluster.name_of(one.node)});
        if (one.kind == decision_kind::evict) gone.insert(whose(one.pod));
      }
    }
    std::set<std::string> wanted, victims;
    if (const kube::value* admission = field(expect, "admitted", *file_).find(asked)) {
      const std::optional<std::vector<admitted_set>> has = admission_of(workloads_.at(asked), *admission);
      if (!has) return;
      for (std::size_t set = 0; set < has->size(); ++set)
        for (std::int64_t i = 0; i < (*has)[set].count; ++i)
          wanted.insert(fmt::format("{}.{} {}", set, i, (*has)[set].flavor));
    }
    const kube::value& preempted = field(expect, "preempted", *file_);
    for (std::size_t i = 0; i < preempted.keys.size(); ++i)
      if (text_field(preempted.items[i], "by", *file_) == asked) victims.insert(preempted.keys[i]);
    compare(asked, "cluster admitted", joined(wanted), joined(placed));
    compare(asked, "cluster preempted", joined(victims), joined(gone));
  }

  void compare(const std::string& asked, const std::string& level, const std::string& wanted, const std::string& got) {
    const bool listed = wanted != got && into_->exceptions.contains(name_);
    if (listed) ++into_->levels[level].exceptions;
    differs_ = differs_ || listed;
    into_->compare(level, wanted == got || listed, [&] {
      return difference{fmt::format("{}: {}", where_, asked), level, "", wanted, got};
    });
  }

  const kube::value* recorded_;
  const std::string* file_;
  tally* into_;
  std::string name_, where_;
  kueue::configuration_spec setup_;
  kueue::fair_sharing_options sharing_;
  bool partial_;  ///< workloads may start with fewer pods than they want
  std::map<std::string, workload> workloads_;
  std::int64_t admissions_ = 0;
  bool differs_ = false;  ///< where that is listed
};

}  // namespace

void run_kueue_cycles_on_cluster(const kube::value& recorded, const std::string& file, tally& into) {
  cluster_history one{recorded, file, into};
  if (one.can_be_asked()) one.run(field(recorded, "runs", file).items.front());
}

}  // namespace gangsched::conformance
