#include "soak.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <optional>
#include <utility>

#include "support/builders.hpp"
#include "support/inside.hpp"

namespace gangsched::testing {

namespace {

constexpr std::int64_t half = std::numeric_limits<std::int64_t>::max() / 2 + 1;
constexpr const char* apps[] = {"a", "b", "c", "d"};

template <class Id>
void remember(std::vector<Id>& old, Id id) {
  if (old.size() == 16) old.erase(old.begin());
  old.push_back(id);
}

template <class Map>
auto& some_of(dice& dice, Map& map) {
  return std::next(map.begin(), static_cast<std::ptrdiff_t>(dice.below(map.size())))->second;
}

}  // namespace

soak::soak(const soak_options& options)
    : options_(options), dice_(options.seed), cluster_({.log_bound = options.log_bound}) {
  model::cluster_state& state = inside(cluster_);
  const reads facet = state.columns.new_facet();
  for (const scope_number of : {scope_number::nodes, scope_number::groups, state.columns.scope("rows")}) {
    static_cast<void>(state.columns.make(of, "counted", column_writer::reserve_hooks, facet));
  }
  static_cast<void>(cluster_.add_node_column("by_host"));
  static_cast<void>(cluster_.add_group_column("by_host"));
  static_cast<void>(cluster_.add_pod_column("by_host"));
  static_cast<void>(cluster_.add_scope_column("rows", "by_host"));
  state.collection.always = options.collect;
}

soak::~soak() {
  while (!open_.empty()) open_.pop_back();  // innermost first
}

void soak::fail(const std::string& what) const {
  throw std::logic_error("seed " + std::to_string(options_.seed) + ", operation " + std::to_string(counts_.calls) +
                         ", depth " + std::to_string(open_.size()) + ": " + what);
}

template <class Call>
bool soak::agree(const char* what, mini_cluster::failure why_not, Call&& call) {
  const bool look = why_not.has_value() && dice_.percent(5);  // a digest is dear
  const std::uint64_t digest = look ? inside(cluster_).digest_with_derived() : 0;
  const std::uint64_t log_end = inside(cluster_).log.end();
  auto outcome = call();
  if (outcome.has_value()) {
    check(!why_not.has_value(),
          std::string{what} + " should have failed: " + std::string{to_string(why_not.value_or(errc{}))});
    return true;
  }
  ++counts_.refused;
  check(why_not == outcome.error().code, std::string{what} + ": " + outcome.error().message());
  check(inside(cluster_).log.end() == log_end, std::string{what} + " failed and left something in the log");
  check(!look || inside(cluster_).digest_with_derived() == digest, std::string{what} + " failed and changed something");
  return false;
}

void soak::run(std::size_t operations) {
  const std::size_t until = counts_.calls + operations;
  while (counts_.calls < until) {
    const std::size_t what = dice_.below(100);
    if (what < 3 && open_.size() < options_.depth) {
      begin();
    } else if (what < 6 && !open_.empty()) {
      end();
    } else {
      one_operation();
      if (++counts_.calls % options_.compare_every == 0) compare();
    }
  }
  while (!open_.empty()) end();
  compare();
}

void soak::begin() {
  const std::uint64_t digest = inside(cluster_).digest_with_derived();
  const change_log& log = inside(cluster_).log;
  open_.push_back({std::make_unique<transaction>(cluster_), model_, digest, log.begin(), log.end()});
  counts_.deepest = std::max(counts_.deepest, open_.size());
}

void soak::end() {
  checkpoint last = std::move(open_.back());
  open_.pop_back();
  if (dice_.percent(40)) {
    last.trial->commit();
    ++counts_.committed;
    return;
  }
  if (dice_.percent(50)) last.trial->roll_back();
  last.trial.reset();
  model_ = std::move(last.model);
  ++counts_.rolled_back;
  const change_log& log = inside(cluster_).log;
  check(inside(cluster_).digest_with_derived() == last.digest, "the digest after a roll-back is not that before");
  check(log.end() == last.log_end, "the log's end after a roll-back is not that before");
  check(open_.empty() || log.begin() == last.log_begin, "the log was trimmed inside a transaction");
  if (dice_.percent(20)) compare();
}

void soak::one_operation() {
  const std::size_t what = dice_.below(100);
  if (what < 10)
    node_operation();
  else if (what < 43)
    pod_operation();
  else if (what < 87)
    placement_operation();
  else if (what < 91)
    group_operation();
  else if (what < 93)
    budget_operation();
  else if (what < 96)
    name_operation();
  else
    column_operation();
}

void soak::node_operation() {
  const std::size_t what = dice_.below(10);
  const bool few = model_.nodes.size() < options_.nodes;
  if (few ? what < 6 : what < 2) {
    const node_spec spec = some_node(numbered("n", 2 * options_.nodes));
    std::optional<node_id> made;
    const auto call = [&] {
      auto outcome = cluster_.add_node(spec);
      if (outcome) made = *outcome;
      return outcome;
    };
    if (agree("add_node", model_.why_not_add(spec), call)) model_.add(spec, *made);
  } else if (what < 8) {
    const node_id id = a_node_id();
    const node_spec spec = some_node(model_.find(id) != nullptr && !dice_.percent(3) ? model_.name_of(id) : "n0");
    if (agree("update_node", model_.why_not_update(id, spec), [&] { return cluster_.update_node(id, spec); })) {
      model_.update(id, spec);
    }
  } else {
    const node_id id = a_node_id();
    std::vector<pod_id> gone;
    const auto call = [&] {
      auto outcome = cluster_.remove_node(id);
      if (outcome) {
        for (const removed_pod& one : *outcome) gone.push_back(one.id);
      }
      return outcome;
    };
    if (agree("remove_node", model_.why_not_remove(id), call)) {
      check(gone == model_.remove(id), "remove_node returned other pods than were bound");
      remember(old_nodes_, id);
    }
  }
}

void soak::pod_operation() {
  const std::size_t what = dice_.below(30);
  const bool few = model_.pods.size() < options_.pods;
  if (few ? what < 17 : what < 10) {
    const std::string ns = some_namespace();
    const auto spec = std::make_shared<const mini_spec>(some_pod(ns, numbered("p", 2 * options_.pods)));
    std::optional<pod_id> made;
    const auto call = [&] {
      auto outcome = cluster_.add_pod(spec->spec);
      if (outcome) made = *outcome;
      return outcome;
    };
    if (agree("add_pod", model_.why_not_add(*spec), call)) model_.add(spec, *made);
  } else if (what < 21) {
    const pod_id id = a_pod_id();
    const mini_pod* pod = model_.find(id);
    pod_spec spec = some_pod(some_namespace(), "p0");
    if (pod != nullptr) {  // mostly what must stay stays
      if (!dice_.percent(2)) spec.name = pod->spec().name;
      if (!dice_.percent(2)) spec.ns = pod->spec().ns;
      if (!dice_.percent(2)) spec.group = pod->spec().group;
      if (pod->state == pod_state::bound && !dice_.percent(2)) {
        spec.node = model_.nodes.at(pod->node).id;
        spec.scheduling_gates.clear();
      }
    }
    const auto made = std::make_shared<const mini_spec>(std::move(spec));
    if (agree("update_pod", model_.why_not_update(id, *made), [&] { return cluster_.update_pod(id, made->spec); })) {
      model_.update(id, made);
    }
  } else if (what < 29) {
    const pod_id id = a_pod_id();
    if (agree("remove_pod", model_.why_not_remove(id), [&] { return cluster_.remove_pod(id); })) {
      model_.remove(id);
      remember(old_pods_, id);
    }
  } else {
    const pod_id id = a_pod_id();
    if (agree("set_terminating", model_.why_not_remove(id), [&] { return cluster_.set_terminating(id); })) {
      model_.find(id)->terminating = true;
    }
  }
}

void soak::placement_operation() {
  model::cluster_state& state = inside(cluster_);
  const pod_id pod = a_pod_id();
  const mini_pod* known = model_.find(pod);
  const bool by_row = dice_.percent(30);  // as engines do it, without checks
  const auto call_or_row = [&](const char* what, mini_cluster::failure why_not, auto by_id, auto row_call) {
    if (!why_not && by_row) return row_call(), true;
    return agree(what, why_not, by_id);
  };
  // Mostly what the pod's state allows.
  const bool sensible = known != nullptr && dice_.percent(80);
  const std::size_t what = !sensible                            ? dice_.below(4)
                           : known->state == pod_state::pending ? (dice_.percent(85) ? 0 : 3)
                           : known->state == pod_state::assumed ? 1 + dice_.below(2)
                                                                : dice_.below(4);
  if (what == 0) {
    const node_id node = a_node_id();
    if (call_or_row(
            "assume", model_.why_not_assume(pod, node), [&] { return cluster_.assume(pod, node); },
            [&] { state.assigned.assume(pod.row, node.row); })) {
      model_.assume(pod, node);
    }
  } else if (what == 1) {
    if (call_or_row(
            "bind", model_.why_not_when(pod, pod_state::assumed), [&] { return cluster_.bind(pod); },
            [&] { state.assigned.bind(pod.row); })) {
      model_.bind(pod);
    }
  } else if (what == 2) {
    if (call_or_row(
            "release", model_.why_not_when(pod, pod_state::assumed), [&] { return cluster_.release(pod); },
            [&] { state.assigned.release(pod.row); })) {
      model_.release(pod);
    }
  } else {
    const node_id node = dice_.percent(30) ? node_id{} : a_node_id();
    if (call_or_row(
            "nominate", model_.why_not_nominate(pod, node), [&] { return cluster_.nominate(pod, node); },
            [&] { state.assigned.nominate(pod.row, node.row); })) {
      model_.nominate(pod, node);
    }
  }
}

void soak::group_operation() {
  const std::size_t what = dice_.below(10);
  const bool few = model_.groups.size() < options_.groups;
  if (few ? what < 6 : what < 1) {
    const std::string ns = some_namespace();
    const group_spec spec = some_group(ns, numbered("g", options_.groups));
    std::optional<group_id> made;
    const auto call = [&] {
      auto outcome = cluster_.add_group(spec);
      if (outcome) made = *outcome;
      return outcome;
    };
    if (agree("add_group", model_.why_not_add(spec), call)) model_.add(spec, *made);
  } else if (what < 8) {
    const group_id id = a_group_id();
    const mini_group* group = model_.find(id);
    const bool keep = group != nullptr && dice_.percent(95);
    group_spec spec = keep ? some_group(group->spec->ns, group->spec->name) : some_group(some_namespace(), "g0");
    if (keep && dice_.percent(90)) {  // the kind of policy and the mode stay
      const gang* before = std::get_if<gang>(&group->spec->policy);
      if (before == nullptr)
        spec.policy = basic{};
      else
        spec.policy = gang{.min_count = static_cast<std::int32_t>(dice_.between(1, 9)), .mode = before->mode};
    }
    if (agree("update_group", model_.why_not_update(id, spec), [&] { return cluster_.update_group(id, spec); })) {
      model_.update(id, spec);
    }
  } else {
    const group_id id = a_group_id();
    if (agree("remove_group", model_.why_not_remove(id), [&] { return cluster_.remove_group(id); })) {
      model_.remove(id);
      remember(old_groups_, id);
    }
  }
}

void soak::name_operation() {
  if (dice_.percent(50)) {
    const std::string name = numbered("ns", 5);
    if (dice_.percent(60)) {
      const namespace_spec spec{.name = name, .labels = {{"team", numbered("t", 3)}}};
      agree("set_namespace", {}, [&] { return cluster_.set_namespace(spec); });
      model_.namespaces[name] = spec;
    } else {
      const bool known = model_.namespaces.contains(name);
      agree("remove_namespace", known ? mini_cluster::failure{} : errc::unknown,
            [&] { return cluster_.remove_namespace(name); });
      model_.namespaces.erase(name);
    }
    return;
  }
  const std::string name = numbered("level", 4);
  if (dice_.percent(70)) {
    const priority_class_spec spec{
        .name = name, .value = static_cast<std::int32_t>(dice_.between(-3, 3)), .global_default = dice_.percent(30)};
    agree("set_priority_class", {}, [&] { return cluster_.set_priority_class(spec); });
    model_.priority_classes[name] = spec;
  } else {
    const bool known = model_.priority_classes.contains(name);
    agree("remove_priority_class", known ? mini_cluster::failure{} : errc::unknown,
          [&] { return cluster_.remove_priority_class(name); });
    model_.priority_classes.erase(name);
  }
}

void soak::budget_operation() {
  pod_disruption_budget_spec spec{.name = numbered("b", 6), .ns = numbered("ns", 3)};
  spec.selector = label_selector{.match_labels = {{"app", apps[dice_.below(4)]}}};
  spec.disruptions_allowed = static_cast<std::int32_t>(dice_.between(-1, 5));
  if (dice_.percent(20)) spec.disrupted_pods = {numbered("p", 9)};
  const auto known = model_.budgets.find({spec.ns, spec.name});
  const mini_cluster::failure wrong =
      spec.disruptions_allowed < 0 ? mini_cluster::failure{errc::out_of_range} : mini_cluster::failure{};
  if (known == model_.budgets.end()) {
    budget_id made;
    const auto add = [&] {
      auto outcome = cluster_.add_disruption_budget(spec);
      if (outcome) made = *outcome;
      return outcome;
    };
    if (agree("add_disruption_budget", wrong, add)) model_.budgets[{spec.ns, spec.name}] = {made, spec};
    return;
  }
  const budget_id id = known->second.id;
  if (dice_.percent(50)) {
    if (agree("update_disruption_budget", wrong, [&] { return cluster_.update_disruption_budget(id, spec); }))
      known->second.spec = spec;
  } else if (dice_.percent(50)) {
    agree("add_disruption_budget", wrong ? wrong : errc::duplicate,
          [&] { return cluster_.add_disruption_budget(spec); });
  } else {
    agree("remove_disruption_budget", {}, [&] { return cluster_.remove_disruption_budget(id); });
    agree("remove_disruption_budget", errc::unknown, [&] { return cluster_.remove_disruption_budget(id); });
    model_.budgets.erase(known);
  }
}

void soak::column_operation() {
  if (dice_.percent(30)) return compare_classes();  // re-keys every pod
  const std::size_t what = dice_.below(11);
  if (what < 4) return note_operation();
  if (what == 10) return set_column(a_pod_id());
  if (what == 4) return set_column(a_node_id());
  if (what == 5) return set_column(a_group_id());
  if (what == 6) return set_column(a_row_id());
  if (what < 9) {
    const std::string name = numbered("r", 5);
    std::optional<scope_row_id> made;
    agree("add_scope_row", {}, [&] {
      auto outcome = cluster_.add_scope_row("rows", name);
      if (outcome) made = *outcome;
      return outcome;
    });
    const auto known = model_.rows.find(name);
    if (known != model_.rows.end())
      check(known->second.id == made, "add_scope_row of one that is there");
    else
      model_.rows[name] = {*made};
    return;
  }
  const scope_row_id id = a_row_id();
  const mini_cluster::failure wrong =
      model_.find(id) == nullptr ? mini_cluster::failure{errc::unknown} : mini_cluster::failure{};
  if (!agree("remove_scope_row", wrong, [&] { return cluster_.remove_scope_row(id); })) return;
  std::erase_if(model_.rows, [&](const auto& one) { return one.second.id == id; });
  remember(old_rows_, id);
}

template <class Id>
void soak::set_column(Id id) {
  const std::string column = dice_.percent(90) ? "by_host" : dice_.percent(50) ? "counted" : "nobody's";
  const std::int64_t value = dice_.between(-3, 3);
  if (agree("set_column", model_.why_not_set(id, column), [&] { return cluster_.set_column(id, column, value); }))
    model_.set(id, value);
}

/// As a reserve hook does it, and, now and then, a trial that takes the pod off its node and puts it back.
void soak::note_operation() {
  model::own_columns& own = inside(cluster_).columns;
  std::vector<mini_pod*> placed;
  for (auto& [name, pod] : model_.pods) {
    if (pod.state != pod_state::pending) placed.push_back(&pod);
  }
  if (placed.empty()) return;
  mini_pod& pod = *dice_.of(placed);
  if (dice_.percent(20)) return own.count(pod.id.row, -1), own.count(pod.id.row, +1);
  const std::uint32_t column = static_cast<std::uint32_t>(dice_.below(3));
  if (pod.uses.size() == 8) return;  // as many as plugins could have
  mini_use use{own.scope_of(column), no_row, 0, dice_.between(-5, 5)};
  const auto of = [&](const auto& all) {
    if (all.empty()) return;
    const auto& id = some_of(dice_, all).id;
    use.row = id.row, use.generation = id.generation;
  };
  if (column == 0) of(model_.nodes);
  if (column == 1) of(model_.groups);
  if (column == 2) of(model_.rows);
  if (use.row == no_row) return;
  own.note(pod.id.row, {column, use.row, use.generation, use.amount});
  pod.uses.push_back(use);
}

// --- what calls are made with

node_id soak::a_node_id() {
  if (model_.nodes.empty() || dice_.percent(2)) return old_nodes_.empty() ? node_id{} : dice_.of(old_nodes_);
  return some_of(dice_, model_.nodes).id;
}
pod_id soak::a_pod_id() {
  if (model_.pods.empty() || dice_.percent(2)) return old_pods_.empty() ? pod_id{} : dice_.of(old_pods_);
  return some_of(dice_, model_.pods).id;
}
scope_row_id soak::a_row_id() {
  if (model_.rows.empty() || dice_.percent(2)) return old_rows_.empty() ? scope_row_id{} : dice_.of(old_rows_);
  return some_of(dice_, model_.rows).id;
}
group_id soak::a_group_id() {
  if (model_.groups.empty() || dice_.percent(2)) return old_groups_.empty() ? group_id{} : dice_.of(old_groups_);
  return some_of(dice_, model_.groups).id;
}

node_spec soak::some_node(const std::string& name) {
  a_node made{name};
  if (dice_.percent(90)) made.cpu(dice_.between(0, 64));
  if (dice_.percent(90)) made.resource("memory", quantity{dice_.between(0, 1000)});
  if (dice_.percent(50)) made.resource(numbered("example.com/r", 20), quantity{dice_.between(0, 8)});
  if (dice_.percent(50)) made.zone(numbered("z", 3));
  if (dice_.percent(20)) made.taint("dedicated", numbered("v", 3), static_cast<taint_effect>(dice_.below(3)));
  if (dice_.percent(20)) made.image(numbered("image", 3), dice_.between(0, 9));
  return made.unschedulable(dice_.percent(10)).cookie(dice_.below(4));
}

void soak::add_container(pod_spec& spec) {
  container& made = spec.containers.emplace_back();
  if (dice_.percent(60)) made.requests["cpu"] = quantity::from_milli(100 * dice_.between(0, 20));
  if (dice_.percent(50)) made.requests["memory"] = quantity{dice_.between(0, 100)};
  if (dice_.percent(20)) made.requests[numbered("example.com/r", 20)] = quantity{dice_.between(0, 3)};
  if (dice_.percent(10)) made.limits[dice_.percent(50) ? "cpu" : "memory"] = quantity{dice_.between(0, 2)};
  if (dice_.percent(15)) {
    made.ports.push_back({static_cast<std::int32_t>(dice_.between(80, 84)), static_cast<protocol>(dice_.below(3)),
                          dice_.percent(50) ? (dice_.percent(50) ? "0.0.0.0" : "") : numbered("10.0.0.", 3)});
  }
}

pod_spec soak::some_pod(const std::string& ns, const std::string& name) {
  pod_spec made{.name = name, .ns = ns};
  add_container(made);
  if (dice_.percent(20)) add_container(made);
  if (dice_.percent(2)) made.containers[0].requests["example.com/huge"] = quantity{half};
  if (dice_.percent(50)) made.labels["app"] = apps[dice_.below(4)];
  if (dice_.percent(30)) made.labels["index"] = std::to_string(dice_.below(1000));
  if (dice_.percent(1)) made.labels["?"] = "not a name";
  if (dice_.percent(8)) {
    const label_selector selector{.match_labels = {{"app", apps[dice_.below(4)]}}};
    made.anti_affinity_to_pods.required.push_back({"kubernetes.io/hostname", selector});
  }
  if (dice_.percent(10)) made.node_selector["disk"] = numbered("d", 2);
  if (dice_.percent(20)) made.priority = static_cast<std::int32_t>(dice_.between(-3, 3));
  if (dice_.percent(10)) made.priority_class = numbered("level", 5);
  if (dice_.percent(8)) made.scheduling_gates.push_back(numbered("example.com/gate", 2));
  if (dice_.percent(15)) made.node = a_node_id();
  if (dice_.percent(15)) made.nominated_node = a_node_id();
  if (dice_.percent(30)) {
    made.group = a_group_id();
    if (const mini_group* group = model_.find(made.group); group != nullptr && dice_.percent(95)) {
      made.ns = group->spec->ns;
    }
  }
  made.terminating = dice_.percent(4);
  if (dice_.percent(10)) made.volumes.exclusive_claims.push_back(numbered("c", 4));
  if (dice_.percent(10)) made.volumes.disks.push_back({numbered("disk", 3), dice_.percent(50)});
  if (dice_.percent(10)) made.volumes.attachments = {{"driver", numbered("v", 3)}, {"driver", numbered("v", 3)}};
  made.cookie = dice_.below(100);
  return made;
}

group_spec soak::some_group(const std::string& ns, const std::string& name) {
  group_spec made{.name = name, .ns = ns};
  if (dice_.percent(80)) {
    made.policy = gang{.min_count = static_cast<std::int32_t>(dice_.between(1, 9)),
                       .mode = dice_.percent(50) ? gang_mode::permit : gang_mode::group_cycle,
                       .atomic = dice_.percent(20)};
  }
  if (dice_.percent(20)) made.priority = static_cast<std::int32_t>(dice_.between(-3, 3));
  made.cookie = dice_.below(4);
  return made;
}

}  // namespace gangsched::testing
