#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <map>
#include <set>
#include <utility>

#include "conformance/cases.hpp"
#include "gangsched/queues/volcano/session.hpp"

// volcano-*.jsonl: what Volcano's plugins see of queues when a session begins, and what the session decides.
namespace gangsched::conformance {
namespace {

using namespace gangsched::queues;

constexpr volcano::kind gpu = volcano::first_device;
constexpr std::array<std::pair<std::string_view, volcano::kind>, 4> kind_names{
    {{"cpu", volcano::cpu}, {"memory", volcano::memory}, {"pods", volcano::pods}, {"gpu", gpu}}};
constexpr std::array<std::pair<std::string_view, volcano::job_phase>, 5> phase_names{
    {{"Pending", volcano::job_phase::pending},
     {"Inqueue", volcano::job_phase::inqueue},
     {"Running", volcano::job_phase::running},
     {"Unknown", volcano::job_phase::unknown},
     {"Completed", volcano::job_phase::completed}}};
constexpr std::array<std::pair<std::string_view, volcano::action>, 5> action_names{
    {{"enqueue", volcano::action::enqueue},
     {"allocate", volcano::action::allocate},
     {"preempt", volcano::action::preempt},
     {"reclaim", volcano::action::reclaim},
     {"backfill", volcano::action::backfill}}};
constexpr std::array<std::pair<std::string_view, volcano::plugin_name>, 6> plugin_names{
    {{"priority", volcano::plugin_name::priority},
     {"gang", volcano::plugin_name::gang},
     {"drf", volcano::plugin_name::drf},
     {"proportion", volcano::plugin_name::proportion},
     {"capacity", volcano::plugin_name::capacity},
     {"overcommit", volcano::plugin_name::overcommit}}};

double number(const kube::value* of) { return of == nullptr ? 0 : std::strtod(of->text.c_str(), nullptr); }
template <class Int>
Int whole(const kube::value* of, Int otherwise = 0) {
  return of == nullptr ? otherwise : static_cast<Int>(std::strtoll(of->text.c_str(), nullptr, 10));
}
std::string text_or_none(const kube::value* of) { return of == nullptr ? std::string{} : of->text; }
bool is_true(const kube::value* of) { return of != nullptr && of->text == "true"; }

template <class T, std::size_t N>
T by_name(const std::array<std::pair<std::string_view, T>, N>& names, const kube::value& at, const std::string& file) {
  for (const auto& [name, of] : names)
    if (name == at.text) return of;
  refuse(file, at, "unknown: " + at.text);
}
template <class T, std::size_t N>
std::string name_of(const std::array<std::pair<std::string_view, T>, N>& names, T of) {
  return std::string{std::ranges::find(names, of, &std::pair<std::string_view, T>::second)->first};
}

/// @p device: what one of the recording's is in thousandths.
volcano::resources amounts_of(const kube::value* of, double device) {
  volcano::resources made;
  for (const auto& [name, kind] : kind_names)
    if (of != nullptr && of->find(name) != nullptr) made.set(kind, number(of->find(name)) * (kind == gpu ? device : 1));
  return made;
}

/// What a session did to whom; of tasks, or of jobs where only the choice among a job's tasks is meant.
struct happened {
  std::multiset<std::string> bound, evicted, pipelined;
  friend bool operator==(const happened&, const happened&) = default;
  [[nodiscard]] std::string text() const {
    std::string made;
    for (const auto& [what, of] : {std::pair{"bound", &bound}, {"evicted", &evicted}, {"pipelined", &pipelined}}) {
      made += fmt::format("{}{}", made.empty() ? "" : "; ", what);
      for (const std::string& one : *of) made += " " + one;
    }
    return made;
  }
};

struct volcano_case {
  const kube::value& recorded;
  const std::string& file;
  tally& into;
  std::string name;
  volcano::cluster_state state;
  volcano::session_options options;

  volcano_case(const kube::value& of, const std::string& in, tally& to)
      : recorded{of}, file{in}, into{to}, name{text_field(of, "name", in)} {
    for (const kube::value& one : field(of, "actions", in).items)
      options.actions.push_back(by_name(action_names, one, in));
    for (const kube::value& tier : field(of, "tiers", in).items) {
      auto& made = options.tiers.emplace_back();
      for (const kube::value& one : tier.items)
        if (text_field(one, "name", in) != "first") made.push_back(plugin_of(one));
    }
    for (const kube::value& one : field(of, "nodes", in).items)
      state.nodes.push_back({text_field(one, "name", in), amounts_of(&field(one, "capacity", in), 1000)});
    for (const kube::value& one : field(of, "queues", in).items)
      state.queues.push_back({.name = text_field(one, "name", in),
                              .weight = whole<std::int32_t>(one.find("weight")),
                              .priority = whole<std::int32_t>(one.find("priority")),
                              .created = whole<std::int64_t>(one.find("created")),
                              .capability = amounts_of(one.find("capability"), 1000),
                              .guarantee = amounts_of(one.find("guarantee"), 1000),
                              .deserved = amounts_of(one.find("deserved"), 1000),
                              .reclaimable = !is_true(one.find("notReclaimable")),
                              .hierarchy = text_or_none(one.find("hierarchy")),
                              .hierarchy_weights = text_or_none(one.find("hierarchyWeights"))});
    for (const kube::value& one : field(of, "jobs", in).items) add_job(one);
  }

  volcano::plugin plugin_of(const kube::value& one) const {
    volcano::plugin made{.name = by_name(plugin_names, field(one, "name", file), file)};
    for (const std::string& off : texts(one.find("off"))) {
      if (off == "preemptable") {
        made.preemptable = false;
      } else if (off == "reclaimable") {
        made.reclaimable = false;
      } else {
        refuse(file, one, "cannot turn off " + off);
      }
    }
    made.hierarchy = is_true(one.find("hierarchy"));
    if (const kube::value* args = one.find("args"); args != nullptr)
      made.overcommit_factor = number(&field(*args, "overcommit-factor", file));
    return made;
  }

  void add_job(const kube::value& one) {
    volcano::job_spec job{.name = text_field(one, "name", file),
                          .queue = queue_at(field(one, "queue", file)),
                          .priority = whole<std::int32_t>(one.find("priority")),
                          .created = whole<std::int64_t>(one.find("created")),
                          .min_member = whole<std::int32_t>(one.find("minMember")),
                          .phase = by_name(phase_names, field(one, "phase", file), file)};
    if (const kube::value* roles = one.find("minRoles"); roles != nullptr)
      for (std::size_t i = 0; i < roles->keys.size(); ++i)
        job.min_roles.push_back({roles->keys[i], whole<std::int32_t>(&roles->items[i])});
    if (one.find("minResources") != nullptr) job.min_resources = amounts_of(one.find("minResources"), 1000);
    for (const kube::value& task : field(one, "tasks", file).items) {
      auto& made = job.tasks.emplace_back(
          volcano::task_spec{.name = text_field(task, "name", file),
                             .role = text_or_none(task.find("role")),
                             .priority = whole<std::int32_t>(task.find("priority"), 1),
                             .created = job.created + static_cast<std::int64_t>(job.tasks.size()),
                             .request = amounts_of(task.find("request"), 1000).set(volcano::pods, 1),
                             .is_protected = is_true(task.find("protected"))});
      if (const kube::value* node = task.find("node"); node != nullptr) {
        made.node = node_at(*node);
        made.status = volcano::task_status::running;
      }
    }
    state.jobs.push_back(std::move(job));
  }

  [[nodiscard]] queue_index queue_at(const kube::value& of) const { return at(state.queues, of.text, of); }
  [[nodiscard]] volcano::node_index node_at(const kube::value& of) const { return at(state.nodes, of.text, of); }
  template <class T>
  [[nodiscard]] std::uint32_t at(const std::vector<T>& all, const std::string& called, const kube::value& of) const {
    const auto found = std::ranges::find(all, called, &T::name);
    if (found == all.end()) refuse(file, of, "nothing is called " + called);
    return static_cast<std::uint32_t>(found - all.begin());
  }
  volcano::task_spec& task_at(const kube::value& of) {
    for (volcano::job_spec& job : state.jobs)
      if (const auto found = std::ranges::find(job.tasks, of.text, &volcano::task_spec::name); found != job.tasks.end())
        return *found;
    refuse(file, of, "there is no task " + of.text);
  }

  void compare(const std::string& level, const std::string& where, const std::string& of, double expected,
               double got) const {
    into.compare(level, std::abs(expected - got) <= 1e-6 * std::max(1.0, std::abs(expected)), [&] {
      return difference{where, fmt::format("{} of {}", level, of), "", fmt::format("{}", expected),
                        fmt::format("{}", got)};
    });
  }

  void compare_amounts(const std::string& level, const std::string& where, const kube::value& expected,
                       std::string_view key, const std::string& of, const volcano::resources& got) const {
    const volcano::resources right = amounts_of(expected.find(key), 1);
    for (const auto& [kind_name, kind] : kind_names)
      compare(level, where, fmt::format("{}, {} {}", of, key, kind_name), right.get(kind), got.get(kind));
  }

  void compare_open(const volcano::session& now, const kube::value& step, const std::string& where) const {
    if (const kube::value* shares = step.find("jobShares"); shares != nullptr)
      for (std::size_t i = 0; i < shares->keys.size(); ++i)
        for (std::size_t job = 0; job < state.jobs.size(); ++job)
          if (state.jobs[job].name == shares->keys[i])
            compare("share of a job", where, shares->keys[i], number(&shares->items[i]), now.job_share(job));
    const kube::value* open = step.find("open");
    if (open == nullptr) return;
    for (std::size_t i = 0; i < open->keys.size(); ++i) {
      const kube::value& expected = open->items[i];
      const std::string& key = open->keys[i];
      if (const volcano::queue_shares* queues = now.queues(); queues != nullptr) {
        const volcano::queue_account& got = queues->account(at(state.queues, key, step));
        compare_amounts("deserved", where, expected, "deserved", key, got.deserved);
        compare_amounts("real capability", where, expected, "realCapability", key, got.real_capability);
        compare("share of a queue", where, key, number(expected.find("share")), got.share);
        compare_amounts("amounts of a queue", where, expected, "allocated", key, got.allocated);
        compare_amounts("amounts of a queue", where, expected, "request", key, got.request);
        compare_amounts("amounts of a queue", where, expected, "inqueue", key, got.inqueue);
        compare_amounts("amounts of a queue", where, expected, "elastic", key, got.elastic);
      } else if (const volcano::fair_hierarchy* tree = now.hierarchy(); tree != nullptr) {
        const volcano::hierarchy_node* got = node_of(*tree, key);
        compare("share in the hierarchy", where, key, number(expected.find("share")), got == nullptr ? -1 : got->share);
        compare("saturated", where, key, is_true(expected.find("saturated")) ? 1 : 0,
                got == nullptr ? -1 : (got->saturated ? 1 : 0));
      }
    }
  }
  static const volcano::hierarchy_node* node_of(const volcano::fair_hierarchy& tree, const std::string& path) {
    for (volcano::fair_hierarchy::node_index i = 0; i < tree.size(); ++i)
      if (!tree.node(i).is_job && tree.path(i) == path) return &tree.node(i);
    return nullptr;
  }

  [[nodiscard]] static std::string job_part(const std::string& task) { return task.substr(0, task.rfind('-')); }
  [[nodiscard]] static happened recorded_outcome(const kube::value& of, bool jobs) {
    const auto label = [&](const kube::value& one) { return jobs ? job_part(one.text) : one.text; };
    happened made;
    const auto each = [&](std::string_view key, auto&& take) {
      if (const kube::value* list = of.find(key); list != nullptr)
        for (const kube::value& one : list->items) take(one);
    };
    each("bound", [&](const kube::value& one) { made.bound.insert(label(one.items[0])); });
    each("evicted",
         [&](const kube::value& one) { made.evicted.insert(label(one.items[0]) + ":" + one.items[1].text); });
    each("pipelined", [&](const kube::value& one) { made.pipelined.insert(label(one.items[0])); });
    return made;
  }
  [[nodiscard]] happened outcome_of(const volcano::session_result& of, bool jobs) const {
    const auto label = [&](const volcano::decision& one) {
      return jobs ? state.jobs[one.job].name : state.jobs[one.job].tasks[one.task].name;
    };
    happened made;
    for (const auto& one : of.bound) made.bound.insert(label(one));
    for (const auto& one : of.evicted) made.evicted.insert(label(one) + ":" + name_of(action_names, one.by));
    for (const auto& one : of.pipelined) made.pipelined.insert(label(one));
    return made;
  }

  void compare_outcome(const volcano::session& now, const volcano::session_result& got, const kube::value& step,
                       const std::string& where) const {
    const kube::value& outcomes = field(step, "outcomes", file);
    // Which tasks of a job are chosen is arbitrary where nothing tells them apart.
    for (const bool jobs : {false, true}) {
      const happened mine = outcome_of(got, jobs);
      std::vector<const kube::value*> same;
      for (const kube::value& one : outcomes.items)
        if (recorded_outcome(one, jobs) == mine) same.push_back(&one);
      if (same.empty() && !jobs) continue;
      into.compare(jobs ? "decisions, by job" : "decisions", !same.empty(), [&] {
        return difference{where, "decisions", "", recorded_outcome(outcomes.items.front(), false).text(),
                          outcome_of(got, false).text()};
      });
      if (jobs || same.empty()) return;
      compare_orders(got, same, where);
      compare_phases(got, *same.front(), where);
      if (same.size() == 1) compare_end(now, *same.front(), where);
      return;
    }
  }

  /// Who is bound and evicted in which order, and where.
  void compare_orders(const volcano::session_result& got, const std::vector<const kube::value*>& same,
                      const std::string& where) const {
    const auto task_of = [&](const volcano::decision& one) { return state.jobs[one.job].tasks[one.task].name; };
    std::string mine, expected;
    for (const auto& one : got.bound) mine += " " + task_of(one) + "@" + state.nodes[one.node].name;
    for (const auto& one : got.evicted) mine += " -" + task_of(one);
    bool found = false;
    for (const kube::value* one : same) {
      expected.clear();
      if (const kube::value* bound = one->find("bound"); bound != nullptr)
        for (const kube::value& task : bound->items) expected += " " + task.items[0].text + "@" + task.items[1].text;
      if (const kube::value* evicted = one->find("evicted"); evicted != nullptr)
        for (const kube::value& task : evicted->items) expected += " -" + task.items[0].text;
      found = found || expected == mine;
    }
    into.compare("orders and nodes", found, [&] { return difference{where, "order", "", expected, mine}; });
  }

  void compare_end(const volcano::session& now, const kube::value& outcome, const std::string& where) const {
    const kube::value* shares = outcome.find("shares");
    if (shares == nullptr) return;
    for (std::size_t i = 0; i < shares->keys.size(); ++i) {
      const std::string& key = shares->keys[i];
      if (const volcano::queue_shares* queues = now.queues(); queues != nullptr) {
        compare("share at the end", where, key, number(&shares->items[i]),
                queues->account(at(state.queues, key, outcome)).share);
      } else if (now.hierarchy() != nullptr) {
        const volcano::hierarchy_node* got = node_of(*now.hierarchy(), key);
        compare("share at the end", where, key, number(&shares->items[i]), got == nullptr ? -1 : got->share);
      }
    }
  }

  void compare_phases(const volcano::session_result& got, const kube::value& outcome, const std::string& where) const {
    const kube::value* phases = outcome.find("phases");
    for (std::size_t job = 0; job < state.jobs.size(); ++job) {
      const kube::value* changed = phases == nullptr ? nullptr : phases->find(state.jobs[job].name);
      const std::string expected = changed == nullptr ? name_of(phase_names, state.jobs[job].phase) : changed->text;
      const std::string mine = name_of(phase_names, got.phases[job]);
      into.compare("phases", expected == mine, [&] {
        return difference{where, "phase of " + state.jobs[job].name, "", expected, mine};
      });
    }
  }

  /// What comes after a cycle goes on from its first outcome.
  void follow(const kube::value& outcome) {
    if (const kube::value* bound = outcome.find("bound"); bound != nullptr) {
      for (const kube::value& one : bound->items) {
        volcano::task_spec& task = task_at(one.items[0]);
        task.status = volcano::task_status::running;
        task.node = node_at(one.items[1]);
      }
    }
    if (const kube::value* evicted = outcome.find("evicted"); evicted != nullptr)
      for (const kube::value& one : evicted->items) task_at(one.items[0]).status = volcano::task_status::leaving;
    if (const kube::value* phases = outcome.find("phases"); phases != nullptr)
      for (std::size_t i = 0; i < phases->keys.size(); ++i)
        for (volcano::job_spec& job : state.jobs)
          if (job.name == phases->keys[i]) job.phase = by_name(phase_names, phases->items[i], file);
  }

  void run() {
    std::size_t number_of_step = 0;
    for (const kube::value& step : field(recorded, "steps", file).items) {
      const std::string where = fmt::format("{} step {}", name, number_of_step++);
      const std::string& op = text_field(step, "op", file);
      if (op == "cycle") {
        volcano::session now = must(volcano::session::open(state, options));
        compare_open(now, step, where);
        compare_outcome(now, now.run(), step, where);
        follow(field(step, "outcomes", file).items.front());
      } else if (op == "left") {
        for (const kube::value& one : field(step, "tasks", file).items) {
          volcano::task_spec& task = task_at(one);
          task.status = volcano::task_status::pending;
          task.node = volcano::no_node;
        }
      } else if (op == "finish") {
        for (const std::string& gone : texts(step.find("names")))
          std::erase_if(state.jobs, [&](const volcano::job_spec& job) { return job.name == gone; });
      } else if (op == "add") {
        for (const kube::value& one : field(step, "jobs", file).items) add_job(one);
      } else {
        refuse(file, step, "unknown step " + op);
      }
    }
  }
};

}  // namespace

void run_volcano_case(const kube::value& recorded, const std::string& file, tally& into) {
  volcano_case{recorded, file, into}.run();
}

}  // namespace gangsched::conformance
