#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "conformance/cases.hpp"
#include "gangsched/framework/plugin_entry.hpp"
#include "gangsched/plugins/group_preemption.hpp"
#include "gangsched/plugins/topology_placement.hpp"
#include "gangsched/profiles.hpp"
#include "gangsched/scheduler.hpp"
#include "support/inside.hpp"

// group: objects come and go, and time passes until nothing changes; then who is where, and what groups and pods are told.
namespace gangsched::conformance {
namespace {

using namespace std::chrono_literals;
using names = std::vector<std::string>;

scheduler_options group_options() {
  scheduler_options made = with_kube_queue();
  made.ties = tie_rule::lowest_row;
  made.timers = timer_rule::by_host;
  return made;
}

void remove_plugin(kernel_table& table, std::string_view name) {
  for (auto& order : table.order) {
    std::erase_if(order, [&](std::uint16_t index) { return table.plugins[index].name == name; });
  }
  for (plugin_entry& one : table.plugins)
    if (one.name == name) one.points = {};
}

/// In 1.37 preemption by groups is part of having groups.
kernel_table profile_of(const kube::value& recorded, const std::string& file, kube_semantics semantics) {
  const names gates = texts(&field(recorded, "gates", file));
  const auto on = [&](std::string_view gate) { return std::find(gates.begin(), gates.end(), gate) != gates.end(); };
  kernel_table table = profiles::kube_default();
  if (!on("WorkloadAwarePreemption") && semantics.release() < kube_release::v1_37)
    remove_plugin(table, group_preemption::name);
  if (!on("TopologyAwareWorkloadScheduling")) remove_plugin(table, topology_placement::name);
  return table;
}

class group_runner {
 public:
  group_runner(const kube::value& recorded, const std::string& file, kube_semantics semantics)
      : recorded_(&recorded),
        file_(&file),
        cluster_({.semantics = semantics}),
        scheduler_(cluster_, profile_of(recorded, file, semantics), group_options()) {}

  /// What every settle step comes to: without names, and with them.
  void run() {
    for (const kube::value& one : field(*recorded_, "steps", *file_).items) step(one);
  }
  [[nodiscard]] const names& counts() const noexcept { return counts_; }
  [[nodiscard]] const names& outcomes() const noexcept { return outcomes_; }

  /// A recorded one in the same words.
  static std::string words_of(const kube::value& recorded) {
    switch (recorded.kind) {
      case kube::value_kind::object: {
        std::map<std::string, std::string> sorted;
        for (std::size_t i = 0; i < recorded.keys.size(); ++i) sorted[recorded.keys[i]] = words_of(recorded.items[i]);
        return object(sorted);
      }
      case kube::value_kind::list: return "[]";
      default: return recorded.text;
    }
  }

 private:
  /// A pod that was ever created.
  struct known_pod {
    pod_spec spec;
    pod_id id;
    std::string group;  ///< "namespace/name", or ""
    std::string cls;    ///< the same for interchangeable pods
    std::string reason = "none";
    bool there = true;
  };
  struct told_group {
    std::string key;  ///< of its topology
    std::string condition = "none";
  };

  static std::string object(const std::map<std::string, std::string>& fields) {
    std::string text;
    for (const auto& [name, value] : fields) text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", name, value);
    return "{" + text + "}";
  }
  template <class Each>
  void each(const kube::value& of, std::string_view key, Each&& visit) {
    if (const kube::value* found = of.find(key))
      for (const kube::value& item : found->items) visit(item);
  }
  known_pod& pod_of(const std::string& key, const kube::value& at) {
    const auto found = pods_.find(key);
    if (found == pods_.end()) refuse(*file_, at, "there is no pod " + key);
    return found->second;
  }

  void step(const kube::value& one) {
    const std::string& op = text_field(one, "op", *file_);
    if (op == "create") {
      create(one);
    } else if (op == "delete") {
      for (const std::string& key : texts(one.find("names"))) {
        known_pod& gone = pod_of(key, one);
        if (gone.there) must(cluster_.remove_pod(gone.id));
        pods_.erase(key);
      }
    } else if (op == "ungate") {
      for (const std::string& key : texts(one.find("names"))) {
        known_pod& free = pod_of(key, one);
        free.spec.scheduling_gates.clear();
        must(cluster_.update_pod(free.id, free.spec));
      }
    } else if (op == "settle") {
      settle();
      record();
    } else {
      refuse(*file_, one, "unknown op \"" + op + "\"");
    }
  }

  void create(const kube::value& of) {
    each(of, "nodes", [&](const kube::value& one) {
      must(cluster_.add_node(must(kube::read_node(one, *file_, nullptr, {.defaulting = false})).spec));
    });
    each(of, "pdbs", [&](const kube::value& one) { add_budget(cluster_, one, *file_); });
    each(of, "podGroups", [&](const kube::value& one) { create_group(one); });
    each(of, "pods", [&](const kube::value& one) { create_pod(one); });
  }

  void create_group(const kube::value& one) {
    const group_spec spec = must(kube::read_pod_group(one, *file_)).spec;
    must(cluster_.add_group(spec));
    groups_[spec.ns + "/" + spec.name].key = spec.topology.within.empty() ? "" : spec.topology.within.front();
  }

  void create_pod(const kube::value& one) {
    kube::pod_manifest made = must(kube::read_pod(one, *file_, nullptr, {.defaulting = false}));
    known_pod added;
    if (!made.node.empty()) made.spec.node = find_node(cluster_, made.node, one, *file_);
    if (!made.group.empty()) {
      added.group = made.spec.ns + "/" + made.group;
      made.spec.group = must(cluster_.expect_group(made.spec.ns, made.group, false));
    }
    kube::value alike = one;
    for (std::size_t i = 0; i < alike.keys.size(); ++i) {
      if (alike.keys[i] != "metadata") continue;
      for (std::size_t k = 0; k < alike.items[i].keys.size(); ++k) {
        if (alike.items[i].keys[k] == "name" || alike.items[i].keys[k] == "uid") alike.items[i].items[k].text = "";
      }
    }
    added.cls = made.node.empty() ? to_json(alike) : "bound " + made.spec.name;
    added.id = must(cluster_.add_pod(made.spec));
    if (!made.node.empty()) added.reason = "Scheduled";
    added.spec = std::move(made.spec);
    pods_[added.spec.ns + "/" + added.spec.name] = std::move(added);
  }

  // --- settling

  /// The cycles of whoever is active; what each asked for happens before the next.
  void drain() {
    for (int i = 0; i < 300; ++i) {
      const cycle done = scheduler_.schedule_cycle(now_);
      if (!done && done.error() == nullptr) return;
      now_ += 1us;
      carry_out(std::vector<decision>(done.begin(), done.end()));
    }
  }

  std::string key_of(pod_id id) const {
    for (const auto& [key, one] : pods_)
      if (one.id == id) return key;
    return "";
  }

  void carry_out(const std::vector<decision>& all) {
    std::map<std::string, std::string> told;  // by group: its condition
    names gone;
    std::vector<pod_id> bound;
    for (const decision& one : all) {
      const std::string key = key_of(one.pod);
      known_pod& its = pods_.at(key);
      const std::string& group = its.group;
      if (one.kind == decision_kind::bind) {
        must(scheduler_.confirm(one.pod));
        bound.push_back(one.pod);
        its.reason = "Scheduled";
        told[group] = "True/Scheduled";
      } else if (one.kind == decision_kind::evict) {
        gone.push_back(key);
      } else if (one.kind == decision_kind::reject || one.kind == decision_kind::nominate) {
        const bool failed = one.kind == decision_kind::reject && one.code == code::error;
        its.reason = failed ? "SchedulerError" : "Unschedulable";
        if (told[group].empty()) told[group] = failed ? "False/SchedulerError" : "False/Unschedulable";
      }
    }
    for (const auto& [group, condition] : told) {
      if (!group.empty() && groups_.contains(group) && groups_[group].condition != "True/Scheduled")
        groups_[group].condition = condition;
    }
    for (const std::string& key : gone) {
      known_pod& one = pods_.at(key);
      must(cluster_.remove_pod(one.id));
      one.there = false;
    }
    for (const pod_id id : bound) {
      known_pod& one = pods_.at(key_of(id));
      one.spec.node = cluster_.node_of(id);
      one.spec.start_time = std::chrono::floor<std::chrono::seconds>(now_);
      must(cluster_.update_pod(id, one.spec));
    }
  }

  /// Everything that may change, in one text.
  std::string state() {
    std::string all;
    for (const auto& [name, one] : groups_) all += fmt::format("{} {}\n", name, one.condition);
    for (const auto& [key, one] : pods_) all += fmt::format("{} {}\n", key, state_of(one));
    return all;
  }

  void flush() {
    must(scheduler_.flush_backoff(now_));
    drain();
  }
  void settle() {
    drain();
    for (int rounds = 0; rounds < 2; ++rounds) {
      for (int quiet = 0, round = 0; quiet < 2 && round <= 12; ++round) {
        const std::string before = state();
        now_ += 15s;
        flush();
        quiet = state() == before ? quiet + 1 : 0;
      }
      const std::string before = state();
      now_ += 6min;
      must(scheduler_.flush_backoff(now_));
      must(scheduler_.flush_unschedulable(now_));
      drain();
      if (state() == before) return;
    }
    now_ += 15s;
    flush();
  }

  // --- what it came to

  std::string state_of(const known_pod& one) const {
    if (!one.there) return "evicted";
    if (const node_id node = cluster_.node_of(one.id)) return fmt::format("node/{}", cluster_.name_of(node));
    const node_id nominated = cluster_.nominated_node_of(one.id);
    return fmt::format("pending/{}{}{}", one.reason, nominated ? "@" : "", cluster_.name_of(nominated));
  }

  void record() {
    std::map<std::string, std::string> groups, singles, pods;
    for (const auto& [name, group] : groups_) {
      int bound = 0, pending = 0, evicted = 0;
      std::set<std::string> domains;
      for (const auto& [key, one] : pods_) {
        if (one.group != name) continue;
        const node_id node = one.there ? cluster_.node_of(one.id) : node_id{};
        (!one.there ? evicted : node ? bound : pending) += 1;
        if (!group.key.empty() && node) domains.insert(std::string{label_of(node, group.key)});
      }
      std::map<std::string, std::string> made{
          {"bound", std::to_string(bound)}, {"pending", std::to_string(pending)}, {"condition", group.condition}};
      if (evicted != 0) made["evicted"] = std::to_string(evicted);
      if (const std::string where = fmt::format("{}", fmt::join(domains, ",")); !where.empty()) made["domain"] = where;
      groups[name] = object(made);
    }
    std::map<std::string, std::string> classes;
    std::map<std::string, std::map<std::string, int>> states;
    for (const auto& [key, one] : pods_) {
      const std::string state = state_of(one);
      if (one.group.empty()) singles[key] = state.starts_with("node/") ? "bound" : state.substr(0, state.find('@'));
      const std::string& first = one.group.empty() ? key : classes.try_emplace(one.cls, key).first->second;
      ++states[first][state];
    }
    for (const auto& [key, all] : states) {
      std::map<std::string, std::string> made;
      for (const auto& [state, count] : all) made[state] = std::to_string(count);
      pods[key] = object(made);
    }
    std::map<std::string, std::string> brief, full{{"pods", object(pods)}};
    if (!groups.empty()) brief["groups"] = full["groups"] = object(groups);
    if (!singles.empty()) brief["singles"] = object(singles);
    counts_.push_back(object(brief));
    outcomes_.push_back(object(full));
  }

  std::string_view label_of(node_id node, const std::string& key) const {
    return node_info{inside(cluster_), node.row}.label(std::string_view{key}).value_or("");
  }

  const kube::value* recorded_;
  const std::string* file_;
  gangsched::cluster cluster_;
  gangsched::scheduler scheduler_;
  std::map<std::string, known_pod> pods_;
  std::map<std::string, told_group> groups_;
  names counts_, outcomes_;
  instant now_ = 1800000000s;
};

/// Whether what came out is among what was recorded; if not, a difference.
void compare(const kube::value& wanted, const names& got, const std::string& where, const std::string& what,
             tally& into) {
  std::set<std::string> possible;
  for (const kube::value& one : wanted.items) {
    names settled;
    for (const kube::value& each : one.items) settled.push_back(group_runner::words_of(each));
    possible.insert(fmt::format("{}", fmt::join(settled, "; ")));
  }
  const std::string said = fmt::format("{}", fmt::join(got, "; "));
  if (!possible.contains(said)) into.add({where, what, "", fmt::format("{}", fmt::join(possible, " or ")), said});
}

}  // namespace

void run_group_case(const kube::value& recorded, const std::string& file, tally& into) {
  const std::string& name = text_field(recorded, "name", file);
  group_runner runner{recorded, file, kube_semantics{into.newer ? kube_release::v1_37 : kube_release::v1_36}};
  runner.run();
  tally own{.keep = 1};
  compare(field(recorded, "counts", file), runner.counts(), name, "counts", own);
  const kube::value* outcomes = recorded.find("outcomes");
  if (outcomes != nullptr && own.differences == 0) compare(*outcomes, runner.outcomes(), name, "outcome", own);
  into.steps += runner.counts().size();
  if (!into.newer) {
    for (difference& one : own.first) into.add(std::move(one));
    return;
  }
  const bool listed = into.newer->contains(name);
  if (listed && own.differences == 0)
    into.add({name, "1.37", "", "another outcome than in 1.36, as listed", "the same"});
  for (difference& one : own.first) {
    one.what += " in 1.37, not listed";
    if (!listed) into.add(std::move(one));
  }
}

}  // namespace gangsched::conformance
