#include "differential_runner.hpp"

#include <algorithm>

#include "differential_profiles.hpp"
#include "gangsched/scheduler.hpp"
#include "gangsched/scheduling/measure_hooks.hpp"
#include "support/inside.hpp"
#include "support/referee.hpp"

namespace gangsched::testing {
namespace {

bool operator==(const decision& a, const decision& b) {
  const auto all = [](const decision& d) {
    return std::tuple{d.kind,       d.code,        std::string{d.reason != nullptr ? d.reason : ""},
                      d.pod,        d.node,        d.group,
                      d.pod_cookie, d.node_cookie, d.score,
                      d.annotation};
  };
  return all(a) == all(b);
}
bool same(std::span<const decision> a, std::span<const decision> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const decision& x, const decision& y) { return x == y; });
}

std::vector<reference::verdict> verdicts_of(std::span<const decision> all) {
  std::vector<reference::verdict> said;
  for (const decision& d : all) said.push_back({std::string{to_string(d.kind)}, d.pod, d.node.row, d.score});
  return said;
}

/// One of the two schedulers.
struct side {
  gangsched::cluster cluster;
  scheduler under_test;
  side(kernel_table profile, const scheduler_options& options) : under_test(cluster, std::move(profile), options) {}
};

class run {
 public:
  explicit run(const scenario& what) : run(what, profile_of(what)) {}
  run(const scenario& what, threefold_profile profile)
      : what_(what),
        first_(std::move(profile.compiled), what.options),
        second_(measure_hooks(std::move(profile.assembled), watcher_), what.options),
        referee_({std::move(profile.rules), what.options.seed, what.options.ties},
                 {what.options.initial_backoff, what.options.max_backoff, what.options.unschedulable_timeout,
                  what.options.holds == hold_rule::older_first, what.options.wake == wake_rule::all}),
        roll_(what.seed ^ 0xa5c) {
    // What nobody names any more goes at once on one side, and is still there on the other.
    static_cast<void>(second_.under_test.observe(&watcher_));
    if (what.seed % 2 != 0) inside(second_.cluster).collection.always = true;
  }

  differential_result go() {
    for (std::size_t i = 0; i < what_.steps.size() && !result_.complaint; ++i) {
      std::visit([&](const auto& step) { take(step); }, what_.steps[i]);
      if (result_.complaint) *result_.complaint = "step " + std::to_string(i) + ": " + *result_.complaint;
    }
    if (!result_.complaint) {
      if (first_.cluster.digest() != second_.cluster.digest()) complain("the two clusters differ in the end");
      for (side* one : {&first_, &second_}) {
        if (auto fine = one->under_test.verify(); !fine) complain("verify: " + fine.error().message());
      }
    }
    return std::move(result_);
  }

 private:
  static threefold_profile profile_of(const scenario& what) {
    dice roll{what.seed ^ 0xf00d};
    return make_profile(what.profile, roll);
  }
  /// The first complaint counts.
  void complain(const std::optional<std::string>& what) {
    if (!result_.complaint) result_.complaint = what;
  }
  /// The same call on both clusters; whether it was accepted.
  template <class Call>
  auto both(Call&& call) {
    auto one = call(first_.cluster);
    auto other = call(second_.cluster);
    if (one.has_value() != other.has_value()) complain("a call is accepted by one cluster only");
    return one;
  }
  [[nodiscard]] const reference::world& world() const { return referee_.world(); }

  // --- what the host does

  void take(const put_node& s) {
    if (const auto node = first_.cluster.find_node(s.spec.name)) {
      if (both([&](cluster& c) { return c.update_node(*node, s.spec); })) referee_.put_node(*node, s.spec);
    } else if (const auto made = both([&](cluster& c) { return c.add_node(s.spec); })) {
      referee_.put_node(*made, s.spec);
    }
  }
  void take(const remove_node& s) {
    const auto node = first_.cluster.find_node(s.name);
    if (node && both([&](cluster& c) { return c.remove_node(*node); })) referee_.drop_node(*node);
  }
  void take(const put_pod& s) {
    pod_spec spec = s.spec;
    spec.group = first_.cluster.find_group(spec.ns, s.group).value_or(group_id{});
    spec.node = first_.cluster.find_node(s.node).value_or(node_id{});
    spec.nominated_node = first_.cluster.find_node(s.nominated).value_or(node_id{});
    const auto pod = first_.cluster.find_pod(spec.ns, spec.name);
    if (!pod) {
      if (const auto made = both([&](cluster& c) { return c.add_pod(spec); })) referee_.put_pod(*made, spec);
      return;
    }
    spec.group = world().pods.at(*pod).spec.group;
    if (world().pods.at(*pod).stage == reference::stage::bound) spec.node = first_.cluster.node_of(*pod);
    if (both([&](cluster& c) { return c.update_pod(*pod, spec); })) referee_.put_pod(*pod, spec);
  }
  void take(const remove_pod& s) {
    if (const auto pod = first_.cluster.find_pod(s.ns, s.name)) remove(*pod);
  }
  void remove(pod_id pod) {
    if (both([&](cluster& c) { return c.remove_pod(pod); })) referee_.remove_pod(pod);
  }
  void take(const end_pod& s) {
    const auto pod = first_.cluster.find_pod(s.ns, s.name);
    if (pod && both([&](cluster& c) { return c.set_terminating(*pod); })) referee_.end_pod(*pod);
  }
  void take(const put_group& s) {
    const auto group = first_.cluster.find_group(s.spec.ns, s.spec.name);
    if (!group) {
      if (const auto made = both([&](cluster& c) { return c.add_group(s.spec); })) referee_.put_group(*made, s.spec);
      return;
    }
    // The kind and the mode must stay.
    group_spec spec = world().groups.at(*group).spec;
    spec.priority = s.spec.priority;
    const gang* wanted = std::get_if<gang>(&s.spec.policy);
    if (gang* policy = std::get_if<gang>(&spec.policy); policy != nullptr && wanted != nullptr) {
      policy->min_count = wanted->min_count;
    }
    if (both([&](cluster& c) { return c.update_group(*group, spec); })) referee_.put_group(*group, spec);
  }
  void take(const remove_group& s) {
    const auto group = first_.cluster.find_group("default", s.name);
    if (!group) return;
    for (const auto& [id, pod] : world().pods) {
      if (pod.spec.group == *group) return;  // it would be expected then, which the referee does not know
    }
    if (both([&](cluster& c) { return c.remove_group(*group); })) referee_.remove_group(*group);
  }
  void take(const pass_time& s) { now_ += s.by; }

  // --- what the schedulers do

  void take(const run_cycles&) {
    ask_about_some();
    const std::size_t bound = 100 + 40 * (world().pods.size() + 1) * (world().groups.size() + 1);
    for (std::size_t count = 0; !result_.complaint; ++count) {
      if (count > bound) return complain("the loop over schedule_cycle does not end");
      if (!one_cycle()) break;
    }
    if (result_.complaint) return;
    complain(referee_.at_rest(now_));
    const auto next = first_.under_test.next_deadline();
    if (next != second_.under_test.next_deadline()) complain("next_deadline differs between the two schedulers");
    if (const auto known = referee_.next_deadline(); known && (!next || *next > *known)) {
      complain("next_deadline is later than a wait or a backoff that ends at " + std::to_string(known->count()));
    }
  }
  bool one_cycle() {
    const std::uint64_t numbered = first_.under_test.statistics().decisions;
    const cycle a = first_.under_test.schedule_cycle(now_);
    const cycle b = second_.under_test.schedule_cycle(now_);
    if (!agree("schedule_cycle", a, b) || !a) return false;
    complain(referee_.cycle(now_, verdicts_of(a.decisions()), numbered));
    const std::uint64_t picks = first_.under_test.statistics().decisions - numbered;
    if (!result_.complaint && picks != referee_.picks()) {
      complain(std::to_string(picks) + " picks were numbered, expected " + std::to_string(referee_.picks()));
    }
    count(a.decisions());
    for (const decision& d : a) {
      if (d.kind == decision_kind::reject && !result_.complaint) {
        compare_explanations(d.pod);
        break;
      }
    }
    return !result_.complaint;
  }
  bool agree(const std::string& call, const cycle& a, const cycle& b) {
    for (const cycle* one : {&a, &b}) {
      if (one->error() != nullptr) complain(call + ": " + one->error()->message());
    }
    if (static_cast<bool>(a) != static_cast<bool>(b) || !same(a.decisions(), b.decisions())) {
      complain(call + " differs between the two schedulers");
    }
    return !result_.complaint;
  }
  void count(std::span<const decision> all) {
    for (const decision& d : all) {
      ++result_.decisions;
      result_.placed += d.kind == decision_kind::bind ? 1 : 0;
      result_.waits += d.kind == decision_kind::wait ? 1 : 0;
      result_.rejected += d.kind == decision_kind::reject ? 1 : 0;
      result_.revoked += d.kind == decision_kind::revoke ? 1 : 0;
    }
  }
  void take(const ask_permit&) {
    const cycle a = first_.under_test.permit(now_);
    const cycle b = second_.under_test.permit(now_);
    if (!agree("permit", a, b)) return;
    complain(referee_.permit(now_, verdicts_of(a.decisions())));
    count(a.decisions());
  }
  void take(const tell_outcomes& s) {
    for (const pod_id pod : referee_.in_stage(reference::stage::assumed)) {
      if (result_.complaint) return;
      const auto here = world().pods.find(pod);
      if (here == world().pods.end() || here->second.stage != reference::stage::assumed) continue;
      digest name;
      name.add(here->second.spec.name);
      const std::uint64_t fate = mix64(s.seed ^ name.value()) % 100;
      if (fate < s.confirm) {
        if (!both([&](cluster& c) { return (&c == &first_.cluster ? first_ : second_).under_test.confirm(pod); })) {
          return complain("a bind cannot be confirmed: " + here->second.spec.name);
        }
        referee_.confirm(pod);
      } else if (fate < s.confirm + s.fail) {
        const cycle a = first_.under_test.fail(pod, "the test says so");
        const cycle b = second_.under_test.fail(pod, "the test says so");
        if (!agree("fail", a, b)) return;
        complain(referee_.fail(pod, verdicts_of(a.decisions())));
        for (const decision& d : std::vector<decision>{a.begin(), a.end()}) {
          if (d.kind == decision_kind::evict) remove(d.pod);
        }
      }
    }
  }
  void take(const word_on_waiting& s) {
    const std::vector<pod_id> waiting = referee_.undecided();
    if (waiting.empty()) return;
    const pod_id pod = waiting[s.seed % waiting.size()];
    const auto say = [&](scheduler& to) { return s.allow ? to.allow(pod) : to.reject(pod, "the test says so"); };
    if (!say(first_.under_test) || !say(second_.under_test))
      return complain("a waiting pod cannot be allowed or rejected");
    if (s.allow)
      referee_.allow(pod);
    else
      referee_.reject(pod);
  }

  // --- why and why not

  void ask_about_some() {
    const std::vector<pod_id> pending = referee_.in_stage(reference::stage::pending);
    for (std::size_t i = 0; i < 2 && !pending.empty() && !result_.complaint; ++i) {
      compare_explanations(pending[roll_.below(pending.size())]);
    }
  }
  void compare_explanations(pod_id pod) {
    const auto a = first_.under_test.explain(pod);
    const auto b = second_.under_test.explain(pod);
    if (!a || !b) return complain("explain refuses a pod");
    ++result_.explained;
    const std::string of = "explain of " + world().pods.at(pod).spec.name + ": ";
    if (in_words(*a, false) != in_words(*b, false)) return complain(of + "differs between the two schedulers");
    if (const auto gate = reference::own_gate(world(), world().pods.at(pod), referee_.rules())) {
      if (a->rejected_by != *gate) complain(of + "gated by " + *gate + ", but it says " + a->rejected_by);
      return;
    }
    const reference::outlook expected = reference::look(world(), pod, referee_.rules());
    const std::string wanted = in_words(expected);
    explanation shorter = *a;  // more may follow the line that users know: the last failure, what the group waits for
    if (shorter.summary.starts_with(expected.summary)) shorter.summary = expected.summary;
    const std::string got = in_words(shorter, true);
    if (wanted != got) complain(of + "expected " + wanted + "\n    got " + got);
  }
  // The summary counts for a pod that fits nowhere; a key is no raw score.
  static std::string line(const std::string& plugin, std::int64_t raw, std::int64_t normal, std::int64_t weight) {
    const bool keyed = plugin == "ZoneShare" || plugin == "ImageLocality";
    return " " + plugin + "=" + (keyed ? "" : std::to_string(raw) + "->") + std::to_string(normal) + "*" +
           std::to_string(weight);
  }
  static std::string in_words(const explanation& all, bool brief) {
    if (brief && !all.rejected_by.empty()) return "rejected by " + all.rejected_by + ": " + all.summary;
    std::string text;
    bool feasible = false;
    for (const node_verdict& n : all.nodes) {
      text += "\n      " + n.name + ": " + std::to_string(static_cast<int>(n.code)) + " " + n.plugin;
      for (const std::string& reason : n.reasons) text += " (" + reason + ")";
      for (const plugin_score& s : n.scores) text += line(s.plugin, s.raw, s.normalized, s.weight);
      text += " total " + std::to_string(n.total);
      feasible = feasible || n.code == code::success;
    }
    return (brief && (feasible || all.nodes.empty()) ? "" : all.summary) + text;
  }
  std::string in_words(const reference::outlook& all) const {
    if (!all.rejected_by.empty()) return "rejected by " + all.rejected_by + ": " + all.summary;
    std::string text;
    for (const auto& [row, n] : all.nodes) {
      text += "\n      " + world().nodes.at(row).spec.name + ": " + std::to_string(static_cast<int>(n.code)) + " " +
              n.plugin;
      for (const std::string& reason : n.reasons) text += " (" + reason + ")";
      for (const auto& s : n.lines) text += line(s.plugin, s.raw, s.normalized, s.weight);
      text += " total " + std::to_string(n.total);
    }
    return (all.nodes.empty() ? "" : all.summary) + text;
  }

  const scenario& what_;
  observer watcher_;  // nobody decides otherwise for being watched
  side first_, second_;
  reference::referee referee_;
  dice roll_;
  instant now_{};
  differential_result result_;
};

/// Simpler versions of a step.
std::vector<step> simpler(const step& of) {
  std::vector<step> all;
  if (const auto* pod = std::get_if<put_pod>(&of)) {
    const auto with = [&](auto&& change) {
      put_pod next = *pod;
      change(next);
      if (to_text(step{next}) != to_text(of)) all.push_back(next);
    };
    with([](put_pod& p) { p.spec.affinity = {}; });
    with([](put_pod& p) { p.spec.tolerations.clear(); });
    with([](put_pod& p) { p.spec.labels.clear(); });
    with([](put_pod& p) { p.spec.node_selector.clear(); });
    with([](put_pod& p) { p.spec.init_containers.clear(), p.spec.overhead.clear(); });
    with([](put_pod& p) { p.spec.resources.reset(); });
    with([](put_pod& p) { p.spec.priority.reset(); });
    with([](put_pod& p) { p.spec.containers.resize(1); });
    with([](put_pod& p) { p.spec.containers[0].ports.clear(); });
    with([](put_pod& p) { p.spec.containers[0].requests.clear(); });
    with([](put_pod& p) { p.spec.scheduling_gates.clear(); });
    with([](put_pod& p) { p.spec.required_node.clear(); });
    with([](put_pod& p) { p.spec.required_features.clear(); });
    with([](put_pod& p) { p.node.clear(); });
    with([](put_pod& p) { p.group.clear(); });
  } else if (const auto* node = std::get_if<put_node>(&of)) {
    const auto with = [&](auto&& change) {
      put_node next = *node;
      change(next.spec);
      if (to_text(step{next}) != to_text(of)) all.push_back(next);
    };
    with([](node_spec& n) { n.labels.clear(); });
    with([](node_spec& n) { n.taints.clear(); });
    with([](node_spec& n) { n.declared_features.clear(); });
    with([](node_spec& n) { n.unschedulable = false; });
    with([](node_spec& n) { n.allocatable = {{"cpu", quantity{1}}, {"pods", quantity{9}}}; });
  } else if (const auto* group = std::get_if<put_group>(&of)) {
    put_group next = *group;
    next.spec.priority.reset();
    if (group->spec.priority) all.push_back(next);
  }
  return all;
}

/// A complaint without the step and the names in it: what must stay the same while a sequence shrinks.
std::string kind_of(const std::string& complaint) {
  std::string kind;
  std::string word;
  for (const char c : complaint.substr(complaint.find(": ") + 1) + " ") {
    if (c != ' ') {
      word += c;
      continue;
    }
    const bool named = std::any_of(word.begin(), word.end(), [](char of) { return of >= '0' && of <= '9'; });
    kind += named ? "# " : word + " ";
    word.clear();
  }
  return kind.substr(0, 40);
}

}  // namespace

differential_result run_differential(const scenario& what) { return run{what}.go(); }

scenario shrink(scenario failing) {
  const std::string kind = kind_of(run_differential(failing).complaint.value_or(""));
  const auto fails = [&](const scenario& s) {
    const auto complaint = run_differential(s).complaint;
    return complaint && kind_of(*complaint) == kind;
  };
  for (bool smaller = true; smaller;) {
    smaller = false;
    for (std::size_t chunk = std::max<std::size_t>(1, failing.steps.size() / 2); chunk != 0; chunk /= 2) {
      for (std::size_t at = 0; at + chunk <= failing.steps.size();) {
        scenario next = failing;
        next.steps.erase(next.steps.begin() + static_cast<std::ptrdiff_t>(at),
                         next.steps.begin() + static_cast<std::ptrdiff_t>(at + chunk));
        if (fails(next))
          failing = std::move(next), smaller = true;
        else
          at += chunk;
      }
    }
    for (std::size_t i = 0; i < failing.steps.size(); ++i) {
      for (bool again = true; again;) {
        again = false;
        for (step& one : simpler(failing.steps[i])) {
          scenario next = failing;
          next.steps[i] = std::move(one);
          if (!fails(next)) continue;
          failing = std::move(next);
          again = smaller = true;
          break;
        }
      }
    }
  }
  return failing;
}

}  // namespace gangsched::testing
