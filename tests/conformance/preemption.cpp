#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>

#include "conformance/cases.hpp"
#include "gangsched/framework/lower.hpp"
#include "gangsched/framework/registry.hpp"
#include "gangsched/plugins/default_preemption.hpp"
#include "gangsched/profiles.hpp"
#include "gangsched/scheduler.hpp"

// preempt: a cluster and one pod that fits nowhere; what the nodes say, who would have to go where, and who goes.
namespace gangsched::conformance {
namespace {

using names = std::vector<std::string>;

std::string text(const names& all) { return fmt::format("[{}]", fmt::join(all, ",")); }

/// What the parts of DefaultPreemption say of each node, asked where the plugin itself is asked.
struct findings {
  bool asked = false, eligible = false;
  std::map<std::string, std::string> dry_runs;    ///< by node: "U" or "UU"
  std::map<std::string, std::string> candidates;  ///< by node: violations and victims
};

struct probe {
  static constexpr std::string_view name = "Probe";
  using points = implements<point::post_filter>;
  std::shared_ptr<findings> found;

  victim_plan post_filter(trial& attempt, const pod_info& pod) const {
    found->asked = true;
    found->eligible = default_preemption::eligible(attempt, pod).ok();
    std::vector<node_id> nodes;
    attempt.cluster().each_node([&](const node_info& node) { nodes.push_back(node.id()); });
    for (const node_id node : nodes) {
      if (!found->eligible || attempt.filter(pod.id(), node).code != code::unschedulable) continue;
      const std::string key{attempt.cluster().node(node)->name()};
      default_preemption::candidate made;
      const status said = default_preemption::dry_run(attempt, pod, node, made);
      if (!said.ok()) {
        found->dry_runs[key] = said.code == code::unschedulable ? "U" : "UU";
        continue;
      }
      names victims;
      for (const pod_id one : made.victims) {
        const pod_info victim = *attempt.cluster().pod(one);
        victims.push_back(fmt::format("{}/{}", victim.ns(), victim.name()));
      }
      found->candidates[key] = fmt::format("{} {}", made.violations, text(victims));
    }
    return {.verdict = status::unschedulable("only looks"), .keep_nomination = true};
  }
};

class preemption_case {
 public:
  preemption_case(const kube::value& recorded, const std::string& file, std::string run, tally& into)
      : recorded_(&recorded), file_(&file), where_(text_field(recorded, "name", file) + run), into_(&into) {}

  /// With @p found the parts are compared too.
  void run(kernel_table table, const findings* found) {
    build();
    gangsched::scheduler scheduler{cluster_, std::move(table)};
    const explanation before = must(scheduler.explain(pod_));
    const cycle done = scheduler.schedule_cycle(instant{1});
    if (done.error() != nullptr) return differ("cycle", "", "no error", done.error()->message());
    const kube::value& expect = field(*recorded_, "expect", *file_);
    compare_nodes(field(expect, "nodeStatus", *file_), before);
    if (found != nullptr) compare_parts(expect, *found);
    compare_outcome(expect, done);
  }

 private:
  void differ(std::string what, std::string node, std::string expected, std::string got) {
    into_->add({where_, std::move(what), std::move(node), std::move(expected), std::move(got)});
  }
  template <class Each>
  void each(std::string_view key, Each&& visit) {
    if (const kube::value* found = recorded_->find(key))
      for (const kube::value& item : found->items) visit(item);
  }
  kube::pod_manifest read(const kube::value& at) {
    return must(kube::read_pod(at, *file_, nullptr, {.defaulting = false}));
  }
  node_id node_of(const std::string& name, const kube::value& at) { return find_node(cluster_, name, at, *file_); }
  pod_id add(const pod_spec& spec) {
    const pod_id made = must(cluster_.add_pod(spec));
    names_[made] = spec.ns + "/" + spec.name;
    if (spec.terminating) going_.insert(names_[made]);
    return made;
  }

  void build() {
    each("namespaces",
         [&](const kube::value& one) { must(cluster_.set_namespace(must(kube::read_namespace(one, *file_)))); });
    each("nodes", [&](const kube::value& one) {
      must(cluster_.add_node(must(kube::read_node(one, *file_, nullptr, {.defaulting = false})).spec));
    });
    each("pods", [&](const kube::value& one) {
      kube::pod_manifest made = read(one);
      made.spec.node = node_of(made.node, one);
      add(made.spec);
    });
    each("pdbs", [&](const kube::value& one) { add_budget(cluster_, one, *file_); });
    each("nominated", [&](const kube::value& one) {
      kube::pod_manifest made = read(one);
      made.spec.nominated_node = node_of(made.nominated_node, one);
      made.spec.scheduling_gates = {"example.com/stands-in-the-queue"};
      nominated_.push_back(add(made.spec));
    });
    kube::pod_manifest preemptor = read(field(*recorded_, "pod", *file_));
    if (const auto node = cluster_.find_node(preemptor.nominated_node)) preemptor.spec.nominated_node = *node;
    hoped_ = preemptor.spec.nominated_node;
    pod_ = add(preemptor.spec);
  }

  void compare_nodes(const kube::value& wanted, const explanation& got) {
    std::map<std::string, std::string> said;
    for (const node_verdict& node : got.nodes)
      said[node.name] = node.code == code::unschedulable ? "U" : node.code == code::unresolvable ? "UU" : "fits";
    compare_map("node status", wanted, said);
  }

  void compare_map(const std::string& what, const kube::value& wanted, std::map<std::string, std::string>& said) {
    for (std::size_t i = 0; i < wanted.keys.size(); ++i) {
      const auto found = said.find(wanted.keys[i]);
      const std::string got = found == said.end() ? "nothing" : found->second;
      if (got != wanted.items[i].text) differ(what, wanted.keys[i], wanted.items[i].text, got);
      if (found != said.end()) said.erase(found);
    }
    for (const auto& [node, got] : said) differ(what, node, "nothing", got);
  }

  void compare_parts(const kube::value& expect, const findings& found) {
    const std::string eligible = found.eligible ? "true" : "false";
    if (!found.asked) return differ("post-filter", "", "asked", "not asked");
    if (field(expect, "eligible", *file_).text != eligible)
      differ("eligible", "", field(expect, "eligible", *file_).text, eligible);
    if (!found.eligible) return;
    static const kube::value none;
    const kube::value* dry_runs = expect.find("dryRunStatus");
    std::map<std::string, std::string> said = found.dry_runs;
    compare_map("dry run", dry_runs == nullptr ? none : *dry_runs, said);
    kube::value wanted;
    for (const kube::value& one : field(expect, "candidates", *file_).items) {
      wanted.keys.push_back(text_field(one, "node", *file_));
      wanted.items.emplace_back().text =
          fmt::format("{} {}", field(one, "pdbViolations", *file_).text, text(texts(one.find("victims"))));
    }
    said = found.candidates;
    compare_map("candidate", wanted, said);
  }

  void compare_outcome(const kube::value& expect, const cycle& done) {
    std::string node;
    names evicted;
    for (const decision& one : done) {
      if (one.kind == decision_kind::bind) return differ("outcome", "", "no node", "bound");
      if (one.kind == decision_kind::nominate) node = cluster_.name_of(one.node);
      if (one.kind == decision_kind::evict) evicted.push_back(names_.at(one.pod));
    }
    std::sort(evicted.begin(), evicted.end());
    names cleared;
    for (const pod_id one : nominated_)
      if (!cluster_.nominated_node_of(one)) cleared.push_back(names_.at(one));
    std::sort(cleared.begin(), cleared.end());
    const auto word = [](const std::string& where, const names& gone, const names& lost) {
      return fmt::format("{} evicts {} clears {}", where.empty() ? "no node" : where, text(gone), text(lost));
    };
    names wanted;
    for (const kube::value& one : field(expect, "answers", *file_).items) wanted.push_back(answer(one, word));
    if (wanted.empty()) wanted.push_back(word({}, {}, {}));
    const std::string got = word(node, evicted, cleared);
    if (std::find(wanted.begin(), wanted.end(), got) == wanted.end())
      differ("answer", "", fmt::format("{}", fmt::join(wanted, " or ")), got);

    const std::string& nomination = text_field(expect, "nomination", *file_);
    const node_id now = cluster_.nominated_node_of(pod_);
    const bool right = nomination == "set"     ? !node.empty() && now == cluster_.find_node(node)
                       : nomination == "clear" ? !now
                                               : now == hoped_;
    if (!right) differ("nomination", "", nomination, std::string{cluster_.name_of(now)});
  }

  template <class Word>
  std::string answer(const kube::value& one, const Word& word) {
    // Of the victims those are not deleted that go already.
    names deleted = texts(one.find("deleted") != nullptr ? one.find("deleted") : one.find("victims"));
    if (one.find("deleted") == nullptr)
      std::erase_if(deleted, [&](const std::string& name) { return going_.contains(name); });
    names cleared = texts(one.find("clearedNominations"));
    std::sort(deleted.begin(), deleted.end());
    std::sort(cleared.begin(), cleared.end());
    return word(text_field(one, "node", *file_), deleted, cleared);
  }

  const kube::value* recorded_;
  const std::string* file_;
  std::string where_;
  tally* into_;
  gangsched::cluster cluster_;
  pod_id pod_;
  node_id hoped_;
  std::vector<pod_id> nominated_;
  std::map<pod_id, std::string> names_;
  std::set<std::string> going_;  ///< they terminate already
};

/// A configuration with the recorded arguments.
kube::value configuration_of(const kube::value& recorded) {
  using kube::value;
  using kube::value_kind;
  value made{.kind = value_kind::object};
  if (const value* args = recorded.find("args")) {
    value entry{.kind = value_kind::object, .keys = {"name", "args"}};
    entry.items.push_back({.kind = value_kind::text, .text = "DefaultPreemption"});
    entry.items.push_back(*args);
    made.keys = {"pluginConfig"};
    made.items.push_back({.kind = value_kind::list, .items = {std::move(entry)}});
  }
  return made;
}

}  // namespace

void run_preemption_case(const kube::value& recorded, const std::string& file, tally& into) {
  static const plugin_registry registry = builtin_plugins();
  const auto profile =
      must(kube::read_profile(configuration_of(recorded), file, registry, nullptr, {.gang_scheduling = false}));
  kernel_table table = must(kube::make_table(profile, registry));
  const auto found = std::make_shared<findings>();
  add_plugin(table, lower(probe{found}));
  std::vector<std::uint16_t>& order = table.order[static_cast<std::size_t>(point::post_filter)];
  std::rotate(order.begin(), order.end() - 1, order.end());
  preemption_case{recorded, file, "", into}.run(std::move(table), found.get());
  ++into.steps;
  if (recorded.find("args") == nullptr)
    preemption_case{recorded, file, " (compile-time profile)", into}.run(profiles::kube_default(), nullptr);
}

}  // namespace gangsched::conformance
