#include <chrono>
#include <iterator>

#include "scheduler.hpp"

// What those see who watch a scheduler: metrics, events, a trace.
namespace bindings {

using namespace gangsched;

namespace {

std::uint64_t monotonic_ns() noexcept {
  return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

/// The clock that a word asks for; @p without is the word for none.
report::clock clock_of(const std::string& word, const char* without, const char* option) {
  if (word == without) return nullptr;
  if (word == "timed") return monotonic_ns;
  raise({errc::malformed, "scheduler", option, "\"" + word + "\" is none of " + without + ", timed"});
}

/// The part of a scheduler that was asked for when it was made.
template <class Part>
Part& kept(py_scheduler& of, std::unique_ptr<Part> watchers::*part, const char* option) {
  static_cast<void>(of.open());
  if (of.watched == nullptr || of.watched.get()->*part == nullptr)
    raise({errc::wrong_state, "scheduler", option, "was not asked for when it was made"});
  return *(of.watched.get()->*part);
}

}  // namespace

std::unique_ptr<watchers> watchers::make(const cluster& on, const watch_options& options) {
  if (!options.metrics && !options.trace && options.events == 0) return nullptr;
  std::unique_ptr<watchers> made{new watchers};
  if (options.metrics)
    made->metrics = std::make_unique<report::metrics>(
        report::metrics_options{.clock = clock_of(*options.metrics, "counted", "metrics")});
  if (options.trace)
    made->trace = std::make_unique<report::trace>(
        on,
        report::trace_options{.clock = clock_of(*options.trace, "by_now", "trace"), .records = options.trace_records});
  if (options.events != 0) {
    auto keep = [&on, to = made.get(), most = options.events](const report::event& one) {
      to->happened.push_back({std::string{one.type}, std::string{one.reason}, std::string{one.action}, one.note,
                              std::string{on.namespace_of(one.about)}, std::string{on.name_of(one.about)}, one.about,
                              one.related, on.cookie_of(one.about), one.now});
      if (to->happened.size() > most) to->happened.pop_front(), ++to->dropped;
    };
    made->events = std::make_unique<report::events>(on, std::move(keep));
  }
  made->list_ = std::make_unique<observer_list>(
      std::initializer_list<observer*>{made->metrics.get(), made->trace.get(), made->events.get()});
  return made;
}

void add_reports(nb::module_& to, class_of_scheduler& by) {
  nb::class_<pod_event>(to, "PodEvent", "An event of Kubernetes' about a pod, in kube-scheduler's words")
      .def_ro("type", &pod_event::type, "Normal or Warning")
      .def_ro("reason", &pod_event::reason,
              "Scheduled, FailedScheduling, Preempted, Evicted, PreemptionNotice or PreemptionWithdrawn")
      .def_ro("action", &pod_event::action,
              "Binding, Scheduling, Preempting (of the last two reasons, too) or Evicting")
      .def_ro("note", &pod_event::note, "\"Successfully assigned default/web-0 to node-1\"")
      .def_ro("namespace", &pod_event::ns, "Of the pod, which may be gone by now")
      .def_ro("name", &pod_event::name)
      .def_ro("about", &pod_event::about)
      .def_prop_ro(
          "related", [](const pod_event& of) { return of.related ? std::optional{of.related} : std::nullopt; },
          "Of Preempted: for whom; a member if that is a group")
      .def_ro("cookie", &pod_event::cookie)
      .def_prop_ro("now", [](const pod_event& of) { return to_seconds(of.now); })
      .def("__repr__", [](const pod_event& of) {
        return "PodEvent(" + of.type + " " + of.reason + " " + of.ns + "/" + of.name + ": " + of.note + ")";
      });
  by.def(
        "metrics",
        [](py_scheduler& of) {
          const report::metrics& its = kept(of, &watchers::metrics, "metrics");
          return of.on->away([&](cluster& in) { return its.text(*of.core, in); });
        },
        "kube-scheduler's metrics in Prometheus' text format 0.0.4, what /metrics answers.")
      .def(
          "trace",
          [](py_scheduler& of) {
            const report::trace& its = kept(of, &watchers::trace, "trace");
            return of.on->away([&](cluster&) { return its.json(); });
          },
          "Where the time of calls went, as Chrome's trace events: JSON for ui.perfetto.dev.")
      .def(
          "events",
          [](py_scheduler& of) {
            static_cast<void>(kept(of, &watchers::events, "events"));
            std::deque<pod_event>& all = of.watched->happened;
            std::vector<pod_event> taken(std::make_move_iterator(all.begin()), std::make_move_iterator(all.end()));
            all.clear();
            return taken;
          },
          "Takes what happened since it was asked last, oldest first: Scheduled when the host confirmed, "
          "FailedScheduling "
          "of every attempt that failed, Preempted of each victim (with an `eviction_notice` PreemptionNotice before, "
          "or "
          "PreemptionWithdrawn instead), Evicted of who must go for another reason. With "
          "`count_reasons` a note has the whole line that users know.")
      .def_prop_ro(
          "events_dropped",
          [](py_scheduler& of) { return of.watched == nullptr ? std::uint64_t{0} : of.watched->dropped; },
          "How many had to go because more than `events` waited to be taken.");
}

}  // namespace bindings
