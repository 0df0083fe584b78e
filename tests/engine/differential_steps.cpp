#include "differential_steps.hpp"

#include <algorithm>

#include "support/builders.hpp"

namespace gangsched::testing {
namespace {

constexpr const char* zone_key = "topology.kubernetes.io/zone";

template <class... Cases>
struct overload : Cases... {
  using Cases::operator()...;
};
template <class... Cases>
overload(Cases...) -> overload<Cases...>;  // clang 16 does not deduce it

/// Makes steps; knows the names given so far, not whether they still stand for something.
class writer {
 public:
  writer(std::uint64_t seed, const mix& of) : roll_(seed), mix_(of) {}

  std::vector<step> write() {
    for (std::size_t i = 0; i < 1 + roll_.below(mix_.nodes); ++i)
      out_.push_back(put_node{node("n" + std::to_string(i))});
    for (std::size_t g = 0; g < mix_.groups; ++g) {
      if (roll_.percent(70)) out_.push_back(put_group{group("g" + std::to_string(g))});
    }
    const std::size_t rounds = 1 + roll_.below(mix_.rounds);
    for (std::size_t r = 0; r < rounds; ++r) {
      for (std::size_t i = roll_.below(2 * mix_.pods / rounds + 1) + 1; i-- > 0;) new_pod();
      for (std::size_t i = roll_.below(4); i-- > 0;) disturb();
      work();
    }
    return std::move(out_);
  }

 private:
  std::string feature() { return "Feature" + std::to_string(roll_.below(3)); }
  std::string node_name() { return "n" + std::to_string(roll_.below(mix_.nodes + 1)); }
  std::string pod_name() { return "p" + std::to_string(roll_.below(std::max<std::size_t>(1, pods_))); }

  node_spec node(const std::string& name) {
    a_node made{name};
    made.cpu_milli(500 * roll_.between(1, 8))
        .resource("memory", quantity{(std::int64_t{256} << 20) * roll_.between(1, 16)});
    if (roll_.percent(80))
      made.pods(roll_.between(2, 12));
    else if (roll_.percent(20))
      made.spec.allocatable.erase("pods");
    if (roll_.percent(40)) made.gpus(roll_.between(0, 8));
    if (roll_.percent(30)) made.resource("example.com/dongle", quantity{roll_.between(1, 4)});
    if (roll_.percent(30)) made.resource("ephemeral-storage", quantity{(std::int64_t{1} << 30) * roll_.between(1, 20)});
    if (roll_.percent(60)) made.zone(roll_.percent(50) ? "a" : roll_.percent(50) ? "bb" : "ccc");
    if (roll_.percent(40)) made.label("disk", roll_.percent(60) ? "ssd" : roll_.percent(60) ? "hdd" : "floppy");
    if (roll_.percent(30)) made.label("rank", std::to_string(roll_.between(0, 20)));
    if (roll_.percent(40)) made.label("color", roll_.percent(50) ? "red" : "green");
    if (roll_.percent(12)) made.taint("dedicated", roll_.percent(50) ? "ml" : "web");
    if (roll_.percent(6)) made.taint("broken", "", taint_effect::no_execute);
    if (roll_.percent(25)) made.taint("spot", roll_.percent(50) ? "yes" : "", taint_effect::prefer_no_schedule);
    if (roll_.percent(12)) made.taint("old", "", taint_effect::prefer_no_schedule);
    made.unschedulable(roll_.percent(7));
    for (std::size_t i = roll_.below(4); i-- > 0;) made.declare(feature());
    for (std::int64_t i = 0; i < 4; ++i) {  // a name has one size everywhere
      if (roll_.percent(25)) made.image("app" + std::to_string(i) + ":latest", (i + 1) * 300'000'000);
    }
    return made.spec;
  }

  group_spec group(const std::string& name) {
    a_gang made{name, static_cast<std::int32_t>(roll_.between(1, 5))};
    const bool permit = mix_.permit_gangs && (!mix_.group_cycles || roll_.percent(50));
    if (permit) made.permit().timeout(std::chrono::seconds{roll_.between(2, 40)});
    if (roll_.percent(25)) made.atomic();
    if (roll_.percent(25)) made.priority(static_cast<std::int32_t>(roll_.between(0, 3)) * 10);
    if (mix_.group_cycles && roll_.percent(15)) made.spec.policy = basic{};
    return made.spec;
  }

  /// A preferred term that does not parse is an error of the attempt; a required one matches nothing.
  selector_requirement requirement(bool preferred) {
    switch (roll_.below(7)) {
      case 0: return {"disk", selector_operator::in, {"ssd", "hdd"}};
      case 1: return {"disk", selector_operator::not_in, {"ssd"}};
      case 2: return {zone_key, selector_operator::exists, {}};
      case 3: return {zone_key, selector_operator::does_not_exist, {}};
      case 4: return {"rank", selector_operator::gt, {std::to_string(roll_.between(preferred ? 0 : -3, 15))}};
      case 5: return {"rank", selector_operator::lt, {"0" + std::to_string(roll_.between(0, 20))}};
      default: return {zone_key, selector_operator::in, {roll_.percent(50) ? "a" : "bb"}};
    }
  }
  node_selector_term term(bool preferred) {
    node_selector_term made;
    if (!preferred && roll_.percent(25)) {
      made.match_fields.push_back({"metadata.name", selector_operator::in, {node_name()}});
      if (roll_.percent(20)) made.match_fields.push_back({"metadata.name", selector_operator::in, {node_name()}});
      if (roll_.percent(60)) return made;
    }
    if (roll_.percent(8)) made.match_fields.push_back({"metadata.name", selector_operator::not_in, {node_name()}});
    for (std::size_t i = 1 + roll_.below(2); i-- > 0;) made.match_expressions.push_back(requirement(preferred));
    return made;
  }

  void ask_for(a_pod& pod) {
    if (roll_.percent(85)) pod.cpu_milli(roll_.percent(80) ? 250 * roll_.between(0, 8) : roll_.between(1, 2500));
    if (roll_.percent(75)) pod.resource("memory", quantity{(std::int64_t{64} << 20) * roll_.between(0, 16)});
    if (roll_.percent(20)) pod.gpus(roll_.between(0, 4));
    if (roll_.percent(15)) pod.resource("example.com/dongle", quantity{roll_.between(1, 2)});
    if (roll_.percent(12)) pod.resource("ephemeral-storage", quantity{(std::int64_t{1} << 29) * roll_.between(1, 12)});
    if (roll_.percent(10)) pod.resource("cpu", quantity::from_nanos(500'000 * roll_.between(1, 2001)));
  }

  pod_spec pod(const std::string& name) {
    a_pod made{name};
    made.ns(roll_.percent(75) ? "default" : "blue");
    ask_for(made);
    if (roll_.percent(30)) made.image("app" + std::to_string(roll_.below(4)));
    if (roll_.percent(15)) ask_for(made.container());
    if (roll_.percent(12)) {
      a_pod other{"init"};
      for (std::size_t i = 1 + roll_.below(2); i-- > 0;) {
        ask_for(other);
        other.spec.containers.back().sidecar = roll_.percent(50);
        if (i != 0) other.container();
      }
      made.spec.init_containers = other.spec.containers;
    }
    if (roll_.percent(6)) made.spec.overhead = {{"cpu", quantity::from_milli(roll_.between(1, 300))}};
    if (roll_.percent(6)) pod_level(made.spec);
    if (roll_.percent(12))
      made.port(static_cast<std::int32_t>(8000 + roll_.below(3)), protocol::tcp, roll_.percent(30) ? "10.0.0.1" : "");
    if (roll_.percent(30)) made.tolerate("dedicated", roll_.percent(50) ? "ml" : "");
    if (roll_.percent(15)) made.tolerate("spot", "", taint_effect::prefer_no_schedule);
    if (roll_.percent(5)) made.tolerate_everything();
    if (roll_.percent(15)) made.select("disk", "ssd");
    if (roll_.percent(15)) {
      made.spec.affinity.required.emplace();
      for (std::size_t i = 1 + roll_.below(2); i-- > 0;) made.spec.affinity.required->push_back(term(false));
    }
    for (std::size_t i = roll_.percent(25) ? 1 + roll_.below(2) : 0; i-- > 0;) {
      made.spec.affinity.preferred.push_back({static_cast<std::int32_t>(roll_.between(1, 100)), term(true)});
    }
    if (roll_.percent(40)) made.label("color", roll_.percent(50) ? "red" : "green");
    if (roll_.percent(40)) made.priority(static_cast<std::int32_t>(roll_.between(-1, 3)) * 10);
    if (roll_.percent(6)) made.gate("wait-for-me");
    if (roll_.percent(5)) made.spec.required_node = node_name();
    for (std::size_t i = roll_.percent(15) ? 1 + roll_.below(2) : 0; i-- > 0;) made.require(feature());
    return made.spec;
  }
  /// Pod-level requests are at least what the containers need.
  void pod_level(pod_spec& spec) {
    spec.resources = resource_list{{"cpu", quantity{64}}};
    if (roll_.percent(50)) spec.resources = resource_list{{"memory", quantity{std::int64_t{64} << 30}}};
    if (roll_.percent(60)) {
      for (auto* list : {&spec.containers, &spec.init_containers}) {
        for (container& one : *list) one.requests.clear();
      }
      spec.resources = resource_list{{"cpu", quantity::from_milli(roll_.between(1, 2000))}};
    }
  }

  /// Members of a group have one priority, as Kubernetes demands (KEP-4671).
  static void share_priority(put_pod& member) { member.spec.priority = 10 * (member.group.back() % 3); }

  void new_pod() {
    // Pods often come as copies of one another: one class.
    pod_spec spec = !known_.empty() && roll_.percent(50) ? roll_.of(known_).spec : pod("");
    put_pod made{std::move(spec), "", "", ""};
    made.spec.name = "p" + std::to_string(pods_++);
    if (mix_.groups != 0 && roll_.percent(45)) {
      made.group = "g" + std::to_string(roll_.below(mix_.groups));
      made.spec.ns = "default";
    }
    if (roll_.percent(8)) made.node = node_name();
    if (mix_.nominations && roll_.percent(15)) made.nominated = node_name();
    if (made.group.empty() && roll_.percent(2)) made.spec.terminating = true;
    if (!made.group.empty()) share_priority(made);
    known_.push_back(made);
    out_.push_back(std::move(made));
  }

  void change_pod() {
    if (known_.empty()) return;
    put_pod& of = roll_.of(known_);
    pod_spec next = roll_.percent(50) ? pod(of.spec.name) : of.spec;
    next.ns = of.spec.ns;
    if (roll_.percent(40)) next.scheduling_gates.clear();
    of.spec = next;
    if (!of.group.empty()) share_priority(of);
    of.node = roll_.percent(12) ? node_name() : of.node;
    out_.push_back(of);
  }

  void disturb() {
    const std::size_t which = roll_.below(100);
    if (which < 12)
      out_.push_back(put_node{node(node_name())});
    else if (which < 30)
      out_.push_back(put_node{node(node_name())});
    else if (which < 40)
      out_.push_back(remove_node{node_name()});
    else if (which < 55)
      change_pod();
    else if (which < 75)
      gone<remove_pod>();
    else if (which < 82)
      gone<end_pod>();
    else if (which < 92 && mix_.groups != 0)
      out_.push_back(put_group{group("g" + std::to_string(roll_.below(mix_.groups)))});
    else if (mix_.groups != 0)
      out_.push_back(remove_group{"g" + std::to_string(roll_.below(mix_.groups))});
  }
  template <class Step>
  void gone() {
    if (!known_.empty()) {
      const put_pod& which = roll_.of(known_);
      out_.push_back(Step{which.spec.ns, which.spec.name});
    }
  }

  void work() {
    out_.push_back(run_cycles{});
    for (std::size_t i = roll_.below(5); i-- > 0;) {
      switch (roll_.below(6)) {
        case 0:
          out_.push_back(pass_time{
              std::chrono::milliseconds{roll_.percent(60) ? roll_.between(1, 3000) : roll_.between(1, 400'000)}});
          break;
        case 1: out_.push_back(ask_permit{}); break;
        case 2: out_.push_back(tell_outcomes{roll_.next(), 70, 15}); break;
        case 3: out_.push_back(tell_outcomes{roll_.next(), 100, 0}); break;
        case 4:
          out_.push_back(roll_.percent(25) ? step{word_on_waiting{roll_.next(), roll_.percent(50)}}
                                           : step{ask_permit{}});
          break;
        default: disturb(); break;
      }
    }
    if (roll_.percent(70)) out_.push_back(run_cycles{});
  }

  dice roll_;
  mix mix_;
  std::size_t pods_ = 0;
  std::vector<put_pod> known_;
  std::vector<step> out_;
};

std::string text_of(const resource_list& all) {
  std::string text;
  for (const auto& [name, amount] : all) text += " " + name + "=" + amount.to_string();
  return text;
}
std::string text_of(const label_map& all) {
  std::string text;
  for (const auto& [key, value] : all) text += " " + key + "=" + value;
  return text;
}
std::string text_of(const node_selector_term& term) {
  static const char* const operators[] = {"in", "not_in", "exists", "does_not_exist", "gt", "lt"};
  std::string text = "(";
  for (const auto* list : {&term.match_expressions, &term.match_fields}) {
    for (const selector_requirement& one : *list) {
      text += (text.size() > 1 ? " and " : "") + one.key + " " + operators[static_cast<int>(one.op)];
      for (const std::string& value : one.values) text += " " + value;
    }
  }
  return text + ")";
}
std::string text_of(const container& one) {
  std::string text = "{" + text_of(one.requests) + (one.sidecar ? " sidecar" : "");
  for (const container_port& port : one.ports) text += " port " + std::to_string(port.host_port) + "@" + port.host_ip;
  return text + " }";
}
std::string text_of(const put_pod& step) {
  const pod_spec& p = step.spec;
  std::string text = "put pod " + p.ns + "/" + p.name;
  if (!step.group.empty()) text += " group " + step.group;
  if (!step.node.empty()) text += " ON " + step.node;
  if (!step.nominated.empty()) text += " nominated " + step.nominated;
  if (p.priority) text += " priority " + std::to_string(*p.priority);
  for (const container& one : p.containers) text += " " + text_of(one);
  for (const container& one : p.init_containers) text += " init" + text_of(one);
  if (p.resources) text += " pod-level" + text_of(*p.resources);
  if (!p.overhead.empty()) text += " overhead" + text_of(p.overhead);
  for (const toleration& one : p.tolerations) {
    text += " tolerates " + one.key + (one.op == toleration_operator::exists ? "" : "=" + one.value) +
            (one.effect ? ":" + std::to_string(static_cast<int>(*one.effect)) : "");
  }
  if (!p.node_selector.empty()) text += " selects" + text_of(p.node_selector);
  if (p.affinity.required) {
    text += " requires";
    for (const auto& one : *p.affinity.required) text += " " + text_of(one);
  }
  for (const auto& one : p.affinity.preferred) text += " prefers " + std::to_string(one.weight) + text_of(one.term);
  if (!p.labels.empty()) text += " labels" + text_of(p.labels);
  for (const std::string& gate : p.scheduling_gates) text += " gate " + gate;
  if (!p.required_node.empty()) text += " only " + p.required_node;
  for (const std::string& feature : p.required_features) text += " needs " + feature;
  return text + (p.terminating ? " terminating" : "");
}
std::string text_of(const node_spec& n) {
  std::string text = "put node " + n.name + text_of(n.allocatable) + " labels" + text_of(n.labels);
  for (const taint& one : n.taints)
    text += " taint " + one.key + "=" + one.value + ":" + std::to_string(static_cast<int>(one.effect));
  for (const std::string& feature : n.declared_features) text += " declares " + feature;
  return text + (n.unschedulable ? " unschedulable" : "");
}
std::string text_of(const group_spec& g) {
  std::string text = "put group " + g.name;
  if (g.priority) text += " priority " + std::to_string(*g.priority);
  const gang* policy = std::get_if<gang>(&g.policy);
  if (policy == nullptr) return text + " basic";
  text += " min " + std::to_string(policy->min_count) + (policy->atomic ? " atomic" : "");
  if (policy->mode == gang_mode::group_cycle) return text;
  return text + " permit " + std::to_string(policy->timeout.count() / 1'000'000) + "ms";
}

}  // namespace

scenario make_scenario(std::uint64_t seed, unsigned profile, const mix& of) {
  scenario made;
  made.seed = seed;
  made.profile = profile;
  dice roll{seed ^ 0x5eed};
  made.options.seed = roll.next();
  made.options.ties = static_cast<tie_rule>(roll.below(3));
  made.options.wake = roll.percent(50) ? wake_rule::one_per_class : wake_rule::all;
  made.options.search_budget = 0;  // the reference places one after another
  made.options.indexed_classes = roll.percent(70) ? 64 : 1 + roll.below(3);
  made.options.check_hooks = roll.percent(30);
  if (dice{mix64(seed)}.percent(50)) made.options.indexed_at_once = 1;
  made.steps = writer{seed, of}.write();
  return made;
}

std::string to_text(const step& what) {
  const auto is = overload{
      [](const put_node& s) { return text_of(s.spec); },
      [](const remove_node& s) { return "remove node " + s.name; },
      [](const put_pod& s) { return text_of(s); },
      [](const remove_pod& s) { return "remove pod " + s.ns + "/" + s.name; },
      [](const end_pod& s) { return "terminate pod " + s.ns + "/" + s.name; },
      [](const put_group& s) { return text_of(s.spec); },
      [](const remove_group& s) { return "remove group " + s.name; },
      [](const pass_time& s) { return "pass " + std::to_string(s.by.count() / 1'000'000) + "ms"; },
      [](const run_cycles&) { return std::string{"run cycles"}; },
      [](const ask_permit&) { return std::string{"permit"}; },
      [](const tell_outcomes& s) {
        return "outcomes: confirm " + std::to_string(s.confirm) + "%, fail " + std::to_string(s.fail) + "%, seed " +
               std::to_string(s.seed);
      },
      [](const word_on_waiting& s) {
        return std::string{s.allow ? "allow" : "reject"} + " a waiting one, seed " + std::to_string(s.seed);
      },
  };
  return std::visit(is, what);
}

std::string to_text(const scenario& all) {
  static const char* const ties[] = {"uniform", "lowest row", "kube heap"};
  std::string text = "seed " + std::to_string(all.seed) + ", profile " + std::to_string(all.profile) + ", ties " +
                     ties[static_cast<int>(all.options.ties)] + ", wake " +
                     (all.options.wake == wake_rule::all ? "all" : "one per class") + ", " +
                     std::to_string(all.options.indexed_classes) + " indexes" +
                     (all.options.check_hooks ? ", hooks checked" : "") +
                     (all.options.indexed_at_once == 1 ? ", built in parts" : "");
  for (const step& one : all.steps) text += "\n  " + to_text(one);
  return text;
}

}  // namespace gangsched::testing
