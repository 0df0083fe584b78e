#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "conformance/cases.hpp"
#include "gangsched/framework/plugin_entry.hpp"
#include "gangsched/framework/registry.hpp"
#include "gangsched/profiles.hpp"
#include "gangsched/scheduler.hpp"

// fit, node, interpod, spread, mixed: one scheduler a case, its steps as changes of the cluster between the picks.
namespace gangsched::conformance {
namespace {

/// Objects are recorded as they were given to the plugins: the API server's defaulting has not been done and must not
/// be.
kube::read_options as_recorded() { return {.defaulting = false}; }

std::string code_name(code said) {
  return said == code::unschedulable  ? "Unschedulable"
         : said == code::unresolvable ? "UnschedulableAndUnresolvable"
                                      : "other";
}

/// A verdict as the recording writes it: [plugin, code, [reasons]].
std::string verdict_text(const std::string& plugin, const std::string& code, std::vector<std::string> reasons) {
  std::sort(reasons.begin(), reasons.end());
  return fmt::format("[\"{}\",\"{}\",[\"{}\"]]", plugin, code, fmt::join(reasons, "\",\""));
}

class case_runner {
 public:
  case_runner(const kube::value& recorded, const std::string& file, kernel_table table, std::string run, tally& into)
      : recorded_(&recorded),
        file_(&file),
        run_(std::move(run)),
        into_(&into),
        scheduler_(cluster_, without_preemption(std::move(table))) {}

  void run() {
    for (const kube::value* one : list(*recorded_, "namespaces"))
      must(cluster_.set_namespace(must(kube::read_namespace(*one, *file_))));
    for (const kube::value* one : list(*recorded_, "nodes"))
      must(cluster_.add_node(must(kube::read_node(*one, *file_, nullptr, as_recorded())).spec));
    for (const kube::value* one : list(*recorded_, "services")) {
      const auto made = must(kube::read_service(*one, *file_));
      must(cluster_.set_service({made.name, made.ns, made.selector}));
    }
    for (const kube::value* one : list(*recorded_, "replicaSets")) {
      const auto made = must(kube::read_controller(*one, "ReplicaSet", *file_));
      must(cluster_.set_controller({controller_kind::replica_set, made.name, made.ns, made.selector}));
    }
    for (const kube::value* one : list(*recorded_, "pods")) add_bound(*one);
    std::size_t number = 0;
    for (const kube::value* one : list(*recorded_, "steps")) {
      where_ = fmt::format("{}{} step {}", text_field(*recorded_, "name", *file_), run_, number++);
      step(*one);
    }
  }

  [[nodiscard]] std::size_t scheduled() const noexcept { return scheduled_; }

 private:
  /// The recordings made nobody go.
  static kernel_table without_preemption(kernel_table table) {
    table.order[static_cast<std::size_t>(point::post_filter)].clear();
    for (plugin_entry& one : table.plugins) one.points.remove(point::post_filter);
    return table;
  }

  static std::vector<const kube::value*> list(const kube::value& of, std::string_view key) {
    std::vector<const kube::value*> all;
    if (const kube::value* found = of.find(key))
      for (const kube::value& item : found->items) all.push_back(&item);
    return all;
  }

  void differ(std::string what, std::string node, std::string expected, std::string got) {
    into_->add({where_, std::move(what), std::move(node), std::move(expected), std::move(got)});
  }

  static std::string key_of(const pod_spec& spec) { return spec.ns + "/" + spec.name; }
  pod_id id_of(const std::string& ns, const std::string& name, const kube::value& at) {
    const auto found = cluster_.find_pod(ns, name);
    if (!found) refuse(*file_, at, "there is no pod " + ns + "/" + name);
    return *found;
  }
  node_id node_of(const std::string& name, const kube::value& at) { return find_node(cluster_, name, at, *file_); }

  void add_bound(const kube::value& recorded) {
    kube::pod_manifest made = must(kube::read_pod(recorded, *file_, nullptr, as_recorded()));
    made.spec.controller = {kube::controller_kind_of(made.owner_kind), made.owner_name};
    made.spec.node = node_of(made.node, recorded);
    must(cluster_.add_pod(made.spec));
    pods_[key_of(made.spec)] = std::move(made.spec);
  }

  void step(const kube::value& one) {
    const std::string& op = text_field(one, "op", *file_);
    const auto node = [&] {
      return must(kube::read_node(field(one, "node", *file_), *file_, nullptr, as_recorded())).spec;
    };
    const auto ns = [&] {
      return one.find("namespace") == nullptr ? std::string{"default"} : text_field(one, "namespace", *file_);
    };
    if (op == "schedule") {
      schedule(one);
    } else if (op == "addNode") {
      must(cluster_.add_node(node()));
    } else if (op == "updateNode") {
      const node_spec spec = node();
      must(cluster_.update_node(node_of(spec.name, one), spec));
    } else if (op == "removeNode") {
      must(cluster_.remove_node(node_of(text_field(one, "name", *file_), one)));
    } else if (op == "addPod") {
      add_bound(field(one, "pod", *file_));
    } else if (op == "updatePod") {  // the labels and nothing else
      const kube::pod_manifest update = must(kube::read_pod(field(one, "pod", *file_), *file_, nullptr, as_recorded()));
      const pod_id pod = id_of(update.spec.ns, update.spec.name, one);
      pod_spec& spec = pods_.at(key_of(update.spec));
      spec.labels = update.spec.labels;
      must(cluster_.update_pod(pod, spec));
    } else if (op == "removePod") {
      must(cluster_.remove_pod(id_of(ns(), text_field(one, "name", *file_), one)));
    } else {
      refuse(*file_, one, "unknown op \"" + op + "\"");
    }
  }

  void schedule(const kube::value& one) {
    ++scheduled_;
    const kube::value& expect = field(one, "expect", *file_);
    kube::pod_manifest made = must(kube::read_pod(field(one, "pod", *file_), *file_, nullptr, as_recorded()));
    pod_spec spec = std::move(made.spec);
    spec.required_node = made.node;
    spec.controller = {kube::controller_kind_of(made.owner_kind), made.owner_name};
    const pod_id pod = must(cluster_.add_pod(spec));
    compare(expect, must(scheduler_.explain(pod)));
    pick(expect, pod, spec);
  }

  void compare(const kube::value& expect, const explanation& got) {
    if (const kube::value* prefilter = expect.find("prefilter")) {
      const std::string wanted =
          verdict_text(text_field(*prefilter, "plugin", *file_), text_field(*prefilter, "code", *file_),
                       texts(prefilter->find("reasons")));
      const std::string said = got.rejected_by.empty() || got.nodes.empty()
                                   ? "none"
                                   : verdict_text(got.rejected_by, code_name(got.code), got.nodes.front().reasons);
      if (wanted != said) differ("prefilter", "", wanted, said);
      return;
    }
    if (!got.rejected_by.empty()) {
      differ("prefilter", "", "none", verdict_text(got.rejected_by, code_name(got.code), {got.summary}));
      return;
    }
    std::map<std::string, const node_verdict*> verdicts;
    for (const node_verdict& node : got.nodes) verdicts[node.name] = &node;
    const std::vector<std::string> feasible = texts(expect.find("feasible"));
    const kube::value& rejected = field(expect, "rejected", *file_);
    if (verdicts.size() != feasible.size() + rejected.keys.size())
      differ("nodes", "", fmt::format("{}", feasible.size() + rejected.keys.size()),
             fmt::format("{}", verdicts.size()));
    bool same = true;
    const auto judge = [&](const std::string& name, const std::string& wanted, const std::string& plugin) {
      const auto found = verdicts.find(name);
      std::string said = "no such node";
      if (found != verdicts.end()) {
        const node_verdict& node = *found->second;
        said = node.code == code::success ? "feasible" : verdict_text(node.plugin, code_name(node.code), node.reasons);
      }
      same = same && wanted == said;
      if (wanted != said) differ("filter " + plugin, name, wanted, said);
    };
    for (const std::string& name : feasible) judge(name, "feasible", "");
    for (std::size_t i = 0; i < rejected.keys.size(); ++i) {
      const kube::value& word = rejected.items[i];
      if (word.items.size() != 3) refuse(*file_, word, "a verdict has three parts");
      judge(rejected.keys[i], verdict_text(word.items[0].text, word.items[1].text, texts(&word.items[2])),
            word.items[0].text);
    }
    if (same && !feasible.empty()) compare_scores(expect, feasible, verdicts);
  }

  void compare_scores(const kube::value& expect, const std::vector<std::string>& feasible,
                      const std::map<std::string, const node_verdict*>& verdicts) {
    std::map<std::string, std::vector<std::string>> wanted, said;
    if (const kube::value* scores = expect.find("scores"))
      for (std::size_t i = 0; i < scores->keys.size(); ++i) wanted[scores->keys[i]] = texts(&scores->items[i]);
    wanted.erase("DynamicResources");  // zeros, of claims that no pod has
    std::vector<std::string> totals;
    for (const std::string& name : feasible) {
      const node_verdict& node = *verdicts.at(name);
      for (const plugin_score& score : node.scores) said[score.plugin].push_back(fmt::format("{}", score.weighted()));
      totals.push_back(fmt::format("{}", node.total));
    }
    const auto compare_one = [&](const std::string& plugin, const std::vector<std::string>* a,
                                 const std::vector<std::string>* b) {
      if (a == nullptr || b == nullptr || a->size() != b->size()) {
        const auto word = [](const std::vector<std::string>* of) {
          return of == nullptr ? std::string{"absent"} : fmt::format("[{}]", fmt::join(*of, ","));
        };
        differ("score " + plugin, "", word(a), word(b));
        return;
      }
      for (std::size_t i = 0; i < a->size(); ++i)
        if ((*a)[i] != (*b)[i]) differ("score " + plugin, feasible[i], (*a)[i], (*b)[i]);
    };
    std::set<std::string> plugins;
    for (const auto& [plugin, unused] : wanted) plugins.insert(plugin);
    for (const auto& [plugin, unused] : said) plugins.insert(plugin);
    for (const std::string& plugin : plugins) {
      const auto a = wanted.find(plugin), b = said.find(plugin);
      compare_one(plugin, a == wanted.end() ? nullptr : &a->second, b == said.end() ? nullptr : &b->second);
    }
    const std::vector<std::string> expected = texts(&field(expect, "total", *file_));
    compare_one("total", &expected, &totals);
  }

  /// The engine picks; whatever it picks, the pod ends up where the recording has it.
  void pick(const kube::value& expect, pod_id pod, pod_spec spec) {
    now_ += std::chrono::seconds{1};
    const cycle done = scheduler_.schedule_cycle(now_);
    if (done.error() != nullptr) differ("cycle", "", "no error", done.error()->message());
    node_id picked;
    for (const decision& one : done)
      if (one.kind == decision_kind::bind && one.pod == pod) picked = one.node;
    const kube::value* bind = expect.find("bind");
    const std::vector<std::string> best = texts(expect.find("best"));
    const std::string name{cluster_.name_of(picked)};
    const bool fits = bind == nullptr ? !picked : std::find(best.begin(), best.end(), name) != best.end();
    if (!fits) differ("pick", "", fmt::format("[{}]", fmt::join(best, ",")), name.empty() ? "none" : name);
    if (bind == nullptr) {
      must(cluster_.remove_pod(pod));
    } else {
      spec.node = node_of(bind->text, *bind);
      if (picked && picked == spec.node)
        must(scheduler_.confirm(pod));
      else
        must(cluster_.update_pod(pod, spec));
      pods_[key_of(spec)] = std::move(spec);
    }
  }

  const kube::value* recorded_;
  const std::string* file_;
  std::string run_;
  tally* into_;
  gangsched::cluster cluster_;
  gangsched::scheduler scheduler_;
  std::map<std::string, pod_spec> pods_;
  std::string where_;
  instant now_{};
  std::size_t scheduled_ = 0;
};

/// The profile as this library expands it, against the recorded expansion.
void compare_profile(const kube::value& recorded, const kube::scheduler_profile& ours, const std::string& file,
                     tally& into) {
  const kube::value& resolved = field(recorded, "resolved", file);
  const std::string where = text_field(recorded, "name", file) + " profile";
  const std::pair<std::string_view, point> lists[] = {{"preFilter", point::pre_filter},
                                                      {"filter", point::filter},
                                                      {"preScore", point::pre_score},
                                                      {"score", point::score}};
  for (const auto& [key, at] : lists) {
    std::vector<std::string> wanted, got;
    if (const kube::value* found = resolved.find(key))
      for (const kube::value& one : found->items) wanted.push_back(at == point::score ? to_json(one) : one.text);
    for (const kube::configured_plugin& one : ours.at(at))
      got.push_back(at == point::score ? fmt::format("[\"{}\",{}]", one.name, one.weight) : one.name);
    if (wanted != got)
      into.add({where, std::string{key}, "", fmt::format("{}", fmt::join(wanted, " ")),
                fmt::format("{}", fmt::join(got, " "))});
  }
}

}  // namespace

void run_scheduling_case(const kube::value& recorded, const std::string& file, tally& into) {
  static const plugin_registry registry = builtin_plugins();
  const kube::value& written = field(recorded, "profile", file);
  const auto profile = must(kube::read_profile(written, file, registry, nullptr, {.gang_scheduling = false}));
  compare_profile(recorded, profile, file, into);
  case_runner by_configuration{recorded, file, must(kube::make_table(profile, registry)), "", into};
  by_configuration.run();
  into.steps += by_configuration.scheduled();
  if (written.find("plugins") == nullptr && written.find("pluginConfig") == nullptr)
    case_runner{recorded, file, profiles::kube_default(), " (compile-time profile)", into}.run();
}

}  // namespace gangsched::conformance
