#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <gangsched/scheduling/measure_hooks.hpp>

#include <array>
#include <map>

#include "decisions.hpp"
#include "scheduler.hpp"

namespace bindings {
namespace {

using namespace gangsched;

template <class Choice>
struct word {
  const char* name;
  Choice means;
};
constexpr std::array<word<tie_rule>, 3> tie_words{
    {{"uniform", tie_rule::uniform}, {"lowest_row", tie_rule::lowest_row}, {"kube_heap", tie_rule::kube_heap}}};
constexpr std::array<word<wake_rule>, 3> wake_words{
    {{"one_per_class", wake_rule::one_per_class}, {"all", wake_rule::all}, {"hints", wake_rule::hints}}};
constexpr std::array<word<timer_rule>, 2> timer_words{
    {{"by_now", timer_rule::by_now}, {"by_host", timer_rule::by_host}}};
constexpr std::array<word<backfill_rule>, 3> backfill_words{
    {{"none", backfill_rule::none}, {"easy", backfill_rule::easy}, {"conservative", backfill_rule::conservative}}};
constexpr std::array<const char*, 8> place_names = {"none",          "active", "backoff",   "error_backoff",
                                                    "unschedulable", "gated",  "in_flight", "kept_back"};

template <class Words>
auto choice(const Words& among, const std::string& name, const char* option) {
  std::string all;
  for (const auto& one : among) {
    if (name == one.name) return one.means;
    all += (all.empty() ? "" : ", ") + std::string{one.name};
  }
  raise({errc::malformed, "scheduler", option, "\"" + name + "\" is none of " + all});
}

/// What a call said, copied while it is good. The error, if there was one, is raised with the decisions that stand.
class collected {
 public:
  explicit collected(py_scheduler& of) : of_(&of) {}

  /// Without the GIL. Whether there was something to do and no error.
  bool take(cluster& in, const cycle& said, bool confirm) {
    batch_.worked |= static_cast<bool>(said);
    for (const decision& one : said) {
      batch_.add(in, one);
      if (!confirm || one.kind != decision_kind::bind) continue;
      if (auto done = of_->core->confirm(one.pod, one.attempt); !done) error_ = done.error();
    }
    if (said.error() != nullptr) error_ = *said.error();
    return !error_ && static_cast<bool>(said);
  }
  [[nodiscard]] bool empty() const { return batch_.rows.empty(); }
  [[nodiscard]] std::size_t size() const { return batch_.rows.size(); }
  [[nodiscard]] bool failed() const { return error_.has_value(); }

  decision_batch finish() {
    const nb::object cause = take_raised(of_->states);
    if (error_) raise(*error_, cause, nb::cast(std::move(batch_)));
    return std::move(batch_);
  }

 private:
  py_scheduler* of_;
  decision_batch batch_;
  std::optional<error> error_;
};

decision_batch schedule_cycle(py_scheduler& of, nb::handle now) {
  const instant when = to_instant(now);
  collected all{of};
  of.on->away([&](cluster& in) { all.take(in, of.core->schedule_cycle(when), false); });
  return all.finish();
}

decision_batch permit(py_scheduler& of, nb::handle now) {
  const instant when = to_instant(now);
  collected all{of};
  of.on->away([&](cluster& in) { all.take(in, of.core->permit(when), false); });
  return all.finish();
}

/// Cycles until nobody is left to try, then the permit room, as long as that changes something.
decision_batch run(py_scheduler& of, nb::handle now, bool confirm, std::size_t most) {
  const instant when = to_instant(now);
  collected all{of};
  of.on->away([&](cluster& in) {
    for (std::size_t before = 0; !all.failed() && all.size() < most; before = all.size()) {
      while (all.size() < most && all.take(in, of.core->schedule_cycle(when), confirm)) continue;
      if (all.failed() || all.size() >= most) break;
      const std::size_t cycles = all.size();
      all.take(in, of.core->permit(when), confirm);
      if (all.size() == cycles || all.size() == before) break;
    }
  });
  return all.finish();
}

scheduler_options to_options(std::uint64_t seed, const std::string& ties, const std::string& wake,
                             const std::string& timers, nb::handle initial_backoff, nb::handle max_backoff,
                             nb::handle backoff_window, nb::handle unschedulable_timeout, std::size_t indexed_classes,
                             std::size_t indexed_at_once, bool check_hooks, bool count_reasons,
                             const std::string& backfill, nb::handle max_overtake, nb::handle eviction_notice) {
  scheduler_options made;
  made.seed = seed;
  made.ties = choice(tie_words, ties, "ties");
  made.wake = choice(wake_words, wake, "wake");
  made.timers = choice(timer_words, timers, "timers");
  made.initial_backoff = to_instant(initial_backoff);
  made.max_backoff = to_instant(max_backoff);
  made.backoff_window = to_instant(backoff_window);
  made.unschedulable_timeout = to_instant(unschedulable_timeout);
  made.indexed_classes = indexed_classes;
  made.indexed_at_once = indexed_at_once;
  made.check_hooks = check_hooks;
  made.count_reasons = count_reasons;
  made.backfill = choice(backfill_words, backfill, "backfill");
  if (!max_overtake.is_none()) made.max_overtake = to_instant(max_overtake);
  made.eviction_notice = to_instant(eviction_notice);
  return made;
}

void make(py_scheduler* self, shared_cluster on, nb::handle profile, const scheduler_options& options,
          const watch_options& watching) {
  auto watched = watchers::make(on->open(), watching);
  ready_profiles by = ready(profile, watched.get());
  py_scheduler made{std::move(on), std::move(by.plugins), std::move(by.states), std::move(watched), std::nullopt};
  made.on->check_idle("scheduler");
  made.core.emplace(made.on->open(), std::move(by.tables), options);
  if (made.watched != nullptr) made.must(made.core->observe(&made.watched->all()));
  new (self) py_scheduler{std::move(made)};
}

/// What it keeps, for Python's collector of cycles: a cluster may have an attribute that has its scheduler.
int visit(PyObject* self, visitproc visit, void* arg) {
  if (nb::inst_ready(self)) Py_VISIT(nb::find(nb::inst_ptr<py_scheduler>(self)->on).ptr());
  return visit_plugins<py_scheduler>(self, visit, arg);
}

PyType_Slot slots[] = {{Py_tp_traverse, reinterpret_cast<void*>(visit)},
                       {Py_tp_clear, reinterpret_cast<void*>(clear_plugins<py_scheduler>)},
                       {0, nullptr}};

void add_calls(class_of_scheduler& to) {
  to.def("schedule_cycle", &schedule_cycle, "now"_a, nb::sig("def schedule_cycle(self, now: float) -> Decisions"),
         "Handles one pod or group: places it, makes room for it, or rejects it. Not `worked`: nobody waits. A "
         "plugin's error raises `Error` "
         "with the `decisions` that stand.")
      .def("permit", &permit, "now"_a, nb::sig("def permit(self, now: float) -> Decisions"),
           "What changed for those in the permit room: bind, or revoke.")
      .def("run", &run, "now"_a, nb::kw_only(), "confirm"_a = true, "most"_a = std::size_t{1} << 62,
           nb::sig("def run(self, now: float, *, confirm: bool = True, most: int = 4611686018427387904) -> Decisions"),
           "`schedule_cycle` and `permit` until nobody is left to try, or about `most` decisions are made. With "
           "`confirm` every bind is "
           "said to run at once.")
      .def(
          "confirm",
          [](py_scheduler& of, const pod_ref& pod, std::optional<std::uint64_t> attempt) {
            const pod_id id = find(of.on->open(), pod);
            of.must(of.away([&](scheduler& core) {
              return attempt ? core.confirm(id, bind_attempt{*attempt}) : core.confirm(id);
            }));
          },
          "pod"_a, "attempt"_a = nb::none(),
          "The pod of a bind decision runs. Without an attempt: of the one under way.")
      .def(
          "fail",
          [](py_scheduler& of, const pod_ref& pod, const std::string& reason, std::optional<std::uint64_t> attempt) {
            const pod_id id = find(of.on->open(), pod);
            collected all{of};
            of.on->away([&](cluster& in) {
              all.take(in, attempt ? of.core->fail(id, bind_attempt{*attempt}, reason) : of.core->fail(id, reason),
                       false);
            });
            return all.finish();
          },
          "pod"_a, "reason"_a = "", "attempt"_a = nb::none(),
          "The pod could not be started: its reservation is given back and it is queued again. Of an atomic gang: what "
          "becomes of the rest.")
      .def(
          "allow",
          [](py_scheduler& of, const pod_ref& pod, const std::optional<std::string>& plugin) {
            const pod_id id = find(of.on->open(), pod);
            of.must(of.away([&](scheduler& core) { return plugin ? core.allow(id, *plugin) : core.allow(id); }));
          },
          "pod"_a, "plugin"_a = nb::none(),
          "A pod in the permit room may go, as far as that plugin, or everyone, is concerned.")
      .def(
          "reject",
          [](py_scheduler& of, const pod_ref& pod, const std::string& reason) {
            const pod_id id = find(of.on->open(), pod);
            of.must(of.away([&](scheduler& core) { return core.reject(id, reason); }));
          },
          "pod"_a, "reason"_a, "A pod in the permit room is sent back at the next `permit`.")
      .def(
          "pending_plugins",
          [](py_scheduler& of, const pod_ref& pod) {
            const pod_id id = find(of.on->open(), pod);
            return of.must(of.away([&](scheduler& core) { return core.pending_plugins(id); }));
          },
          "pod"_a, "The plugins that hold the pod in the permit room.")
      .def(
          "activate",
          [](py_scheduler& of, const std::vector<pod_ref>& pods, nb::handle now) {
            std::vector<pod_id> ids;
            for (const pod_ref& one : pods) ids.push_back(find(of.on->open(), one));
            const instant when = to_instant(now);
            of.must(of.away([&](scheduler& core) { return core.activate(ids, when); }));
          },
          "pods"_a, "now"_a,
          nb::sig("def activate(self, pods: collections.abc.Sequence[PodId | str], now: float) -> None"),
          "Pods that wait become active, whatever they wait for.")
      .def(
          "catch_up",
          [](py_scheduler& of, nb::handle now) {
            const instant when = to_instant(now);
            of.must(of.away([&](scheduler& core) { return core.catch_up(when); }));
          },
          "now"_a, nb::sig("def catch_up(self, now: float) -> None"),
          "Reads what the host did since the last call, as all calls do that are told the time.")
      .def(
          "forget_cached",
          [](py_scheduler& of) { of.must(of.away([](scheduler& core) { return core.forget_cached(); })); },
          "What plugins go by has changed, and no change of the cluster says so: everything kept of their answers is "
          "asked anew.");
}

void add_questions(class_of_scheduler& to) {
  to.def(
        "explain",
        [](py_scheduler& of, const pod_ref& pod) {
          const pod_id id = find(of.on->open(), pod);
          return of.must(of.away([&](scheduler& core) { return core.explain(id); }));
        },
        "pod"_a, "Why the pod is not placed, or what it would score where, as things stand now, in an open trial too.")
      .def(
          "explain_group",
          [](py_scheduler& of, const group_ref& group) {
            const group_id id = find(of.on->open(), group);
            return of.must(of.away([&](scheduler& core) { return core.explain(id); }));
          },
          "group"_a, "The same for the waiting members of a group, or of each group of pods in a tree.")
      .def(
          "next_deadline",
          [](py_scheduler& of) {
            const auto when = of.open().next_deadline();
            return when ? std::optional{to_seconds(*when)} : std::nullopt;
          },
          "When something changes without anybody doing anything: seconds, or None.")
      .def(
          "counts",
          [](py_scheduler& of) {
            const queue_counts now = of.open().counts();
            return std::map<std::string, std::size_t>{
                {"active", now.active}, {"backoff", now.backoff}, {"unschedulable", now.unschedulable},
                {"gated", now.gated},   {"waiting", now.waiting}, {"in_flight", now.in_flight}};
          },
          "How many stand where in the queue.")
      .def(
          "statistics",
          [](py_scheduler& of) {
            const engine_statistics& so_far = of.open().statistics();
            return std::map<std::string, std::uint64_t>{{"cycles", so_far.cycles},
                                                        {"decisions", so_far.decisions},
                                                        {"index_builds", so_far.index_builds},
                                                        {"rows_evaluated", so_far.rows_evaluated},
                                                        {"opaque_evaluations", so_far.opaque_evaluations},
                                                        {"scans", so_far.scans},
                                                        {"search_steps", so_far.search_steps},
                                                        {"wake_ups", so_far.wake_ups},
                                                        {"observer_errors", so_far.observer_errors},
                                                        {"reservations", so_far.reservations},
                                                        {"late_reservations", so_far.late_reservations}};
          },
          "What the engine did so far. `reservations`: how often nodes were reserved for who found no room; "
          "`late_reservations`: of them, how often one was put off, because somebody ran longer than expected.")
      .def(
          "standing",
          [](py_scheduler& of, const pod_ref& pod) {
            const pod_id id = find(of.on->open(), pod);
            return of.must(of.away([&](scheduler& core) { return core.standing(id); }));
          },
          "pod"_a, "How the pod stands in the queue, or its group, if that is queued as one.")
      .def(
          "restore",
          [](py_scheduler& of, const pod_ref& pod, std::uint32_t failures, nb::handle since) {
            const instant when = to_instant(since);
            const pod_id id = find(of.on->open(), pod);
            of.must(of.away([&](scheduler& core) { return core.restore(id, {failures, when}); }));
          },
          "pod"_a, "failures"_a, "since"_a,
          nb::sig("def restore(self, pod: PodId | str, failures: int, since: float) -> None"),
          "After a restart: where the pod stood.");
}

nb::object frame_of(const char* maker, nb::handle of) {
  return nb::module_::import_("gangsched._frames").attr(maker)(of);
}

void add_explanations(nb::module_& to) {
  nb::class_<plugin_score>(to, "PluginScore", "One plugin's part in a node's score")
      .def_ro("plugin", &plugin_score::plugin)
      .def_ro("raw", &plugin_score::raw)
      .def_ro("normalized", &plugin_score::normalized)
      .def_ro("weight", &plugin_score::weight)
      .def_prop_ro("weighted", &plugin_score::weighted);
  nb::class_<node_verdict>(to, "NodeVerdict", "What a node says to a pod")
      .def_ro("node", &node_verdict::node)
      .def_ro("name", &node_verdict::name)
      .def_prop_ro("code", [](const node_verdict& of) { return code_name(of.code); })
      .def_ro("plugin", &node_verdict::plugin, "The first that rejects")
      .def_ro("reasons", &node_verdict::reasons)
      .def_ro("scores", &node_verdict::scores)
      .def_ro("total", &node_verdict::total);
  nb::class_<explanation>(to, "Explanation", "Why a pod is not placed, or what it would score where")
      .def_ro("summary", &explanation::summary, "The line that users know")
      .def_ro("nodes", &explanation::nodes)
      .def_ro("rejected_by", &explanation::rejected_by, "Who rejected it before it met the filters")
      .def(
          "to_pandas", [](nb::handle self) { return frame_of("explanation_to_pandas", self); },
          nb::sig("def to_pandas(self) -> pandas.DataFrame"),
          "A row a node; a column for each plugin's weighted score.")
      .def("__repr__", [](const explanation& of) { return "Explanation(" + of.summary + ")"; });
  nb::class_<placement_verdict>(to, "PlacementVerdict", "How far a group's members come in one placement")
      .def_ro("name", &placement_verdict::name)
      .def_ro("fit", &placement_verdict::fit)
      .def_ro("wanted", &placement_verdict::wanted)
      .def_ro("feasible", &placement_verdict::feasible)
      .def_ro("missing", &placement_verdict::missing);
  nb::class_<group_explanation>(to, "GroupExplanation", "Why a group is not placed")
      .def_ro("group", &group_explanation::group)
      .def_ro("name", &group_explanation::name)
      .def_ro("summary", &group_explanation::summary)
      .def_ro("placements", &group_explanation::placements, "The nearest first")
      .def_ro("change", &group_explanation::change, "The smallest change that would help the next member");
  nb::class_<queue_standing>(to, "QueueStanding", "How a pod stands in the queue")
      .def_prop_ro(
          "place",
          [](const queue_standing& of) { return std::string{place_names[static_cast<std::size_t>(of.place)]}; },
          "none, active, backoff, error_backoff, unschedulable, gated, in_flight or kept_back")
      .def_ro("attempts", &queue_standing::attempts)
      .def_ro("failures", &queue_standing::failures)
      .def_ro("errors", &queue_standing::errors)
      .def_prop_ro("since", [](const queue_standing& of) { return to_seconds(of.since); })
      .def_prop_ro("backoff_until",
                   [](const queue_standing& of) {
                     return of.backoff_until ? std::optional{to_seconds(*of.backoff_until)} : std::nullopt;
                   })
      .def_prop_ro("rejected_by", [](const queue_standing& of) { return of.rejected.unschedulable_plugins; });
}

}  // namespace

ready_profiles ready(nb::handle profile, watchers* by) {
  std::vector<nb::object> all;
  if (profile.is_none()) {
    all.push_back(nb::type<py_profile>().attr("default")());
  } else if (nb::isinstance<py_profile>(profile)) {
    all.push_back(nb::borrow(profile));
  } else {
    for (const nb::handle one : nb::iter(profile)) all.push_back(nb::borrow(one));
  }
  ready_profiles made;
  for (const nb::object& one : all) {
    const py_profile* from = nullptr;  // None is cast as well
    if (!nb::try_cast(one, from) || from == nullptr)
      raise({errc::malformed, "scheduler", "profile", "cannot be " + nb::cast<std::string>(nb::repr(one))});
    made.tables.push_back(from->table);  // a copy has plugins of its own, which this cluster's columns are for
    made.plugins.insert(made.plugins.end(), from->plugins.begin(), from->plugins.end());
    const auto of_python = states_in(made.tables.back().plugins);
    for (const auto& state : of_python) state->raised = std::make_shared<first_raised>();
    made.states.insert(made.states.end(), of_python.begin(), of_python.end());
  }
  must(scheduler::check(made.tables));
  if (by != nullptr && by->times_hooks())
    for (kernel_table& one : made.tables) one = measure_hooks(std::move(one), by->all());
  return made;
}

void add_scheduler(nb::module_& to) {
  add_explanations(to);
  class_of_scheduler made(
      to, "Scheduler", nb::type_slots(slots),
      "Decides which pod goes where and when, on a cluster that it keeps alive. Times are seconds and never go back.");
  made.def(
      "__init__",
      [](py_scheduler* self, shared_cluster on, nb::object profile, std::uint64_t seed, const std::string& ties,
         const std::string& wake, const std::string& timers, nb::object initial_backoff, nb::object max_backoff,
         nb::object backoff_window, nb::object unschedulable_timeout, std::size_t indexed_classes,
         std::size_t indexed_at_once, bool check_hooks, bool count_reasons, const std::string& backfill,
         nb::object max_overtake, nb::object eviction_notice, const std::optional<std::string>& metrics,
         const std::optional<std::string>& trace, std::size_t trace_records, std::size_t events) {
        make(self, std::move(on), profile,
             to_options(seed, ties, wake, timers, initial_backoff, max_backoff, backoff_window, unschedulable_timeout,
                        indexed_classes, indexed_at_once, check_hooks, count_reasons, backfill, max_overtake,
                        eviction_notice),
             {metrics, trace, trace_records, events});
      },
      "cluster"_a, "profile"_a = nb::none(), nb::kw_only(), "seed"_a = 0, "ties"_a = "uniform",
      "wake"_a = "one_per_class", "timers"_a = "by_now", "initial_backoff"_a = 1, "max_backoff"_a = 10,
      "backoff_window"_a = 0, "unschedulable_timeout"_a = 300, "indexed_classes"_a = 0,
      "indexed_at_once"_a = scheduler_options{}.indexed_at_once, "check_hooks"_a = false, "count_reasons"_a = false,
      "backfill"_a = "none", "max_overtake"_a = nb::none(), "eviction_notice"_a = 0, "metrics"_a = nb::none(),
      "trace"_a = nb::none(), "trace_records"_a = 1u << 15, "events"_a = 0,
      nb::sig(
          "def __init__(self, cluster: ClusterBase, profile: Profile | collections.abc.Sequence[Profile] | None = "
          "None, *, seed: int = 0, "
          "ties: str = 'uniform', wake: str = 'one_per_class', timers: str = 'by_now', initial_backoff: float = 1, "
          "max_backoff: float "
          "= 10, backoff_window: float = 0, unschedulable_timeout: float = 300, indexed_classes: int = 0, "
          "indexed_at_once: int = 32768, "
          "check_hooks: bool = False, count_reasons: bool = False, backfill: str = 'none', max_overtake: float | None "
          "= None, eviction_notice: float = 0, metrics: str | None = None, trace: str | None = "
          "None, trace_records: int = 32768, events: int = 0) -> None"),
      "One profile, or several with one queue. `ties`: uniform (by `seed`), lowest_row or kube_heap; `wake`: "
      "one_per_class, all or hints; "
      "`timers`: by_now or by_host. The options are `scheduler_options` of the library. `backfill`: "
      "none, easy or conservative, by `Pod.expected_run_time`: for whom nodes are reserved that have no room yet; who "
      "has waited longer than `max_overtake` gets nodes reserved at once (None: nobody). Victims of preemption may "
      "stay for `eviction_notice` after a notice. "
      "`metrics`: counted (no clock "
      "is "
      "read), or timed (by the machine's monotonic clock); `trace`: by_now or timed, of the last `trace_records`; "
      "`events`: how many are kept until they are taken.");
  add_calls(made);
  add_questions(made);
  add_what_if(to, made);
  add_snapshots(to, made);
  add_reports(to, made);
}

}  // namespace bindings
