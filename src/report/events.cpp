#include "gangsched/report/events.hpp"

#include <algorithm>
#include <utility>

#include "gangsched/model/cluster.hpp"
#include "gangsched/src/report/names.hpp"

namespace gangsched::inline GANGSCHED_ABI::report {

events::events(const cluster& on, std::function<void(const event&)> sink) : on_(&on), sink_(std::move(sink)) {}

void events::tell_failed(const decision& of, const observed_call& in) {
  event told{"Warning", "FailedScheduling", "Scheduling", in.why(of.pod), of.pod, {}, in.now};
  const bool taken_back = of.kind == decision_kind::revoke;
  if ((told.note.empty() || taken_back) && of.reason != nullptr) told.note = of.reason;
  if (told.note.empty()) told.note = "no node fits";
  sink_(told);
}

void events::called(const observed_call& what) {
  for (const observed_step& step : what.steps) {
    if (step.kind == step_kind::answer && step.result == attempt_result::bound) {
      std::string note = "Successfully assigned ";
      detail::append_name(note, *on_, step.pod);
      (note += " to ") += on_->name_of(on_->node_of(step.pod));
      sink_({"Normal", "Scheduled", "Binding", std::move(note), step.pod, {}, what.now});
    }
    if (step.kind == step_kind::answer && step.result == attempt_result::error)
      sink_({"Warning",
             "FailedScheduling",
             "Binding",
             "binding failed: " + std::string{step.note},
             step.pod,
             {},
             what.now});
    for (const decision& one : step.decisions) {
      switch (one.kind) {
        case decision_kind::reject:
        case decision_kind::revoke: tell_failed(one, what); break;
        case decision_kind::nominate:
          if (!step.evicts(one.pod)) tell_failed(one, what);
          break;
        case decision_kind::notice:
        case decision_kind::withdraw: {
          const bool goes = one.kind == decision_kind::notice;
          sink_({"Normal",
                 goes ? "PreemptionNotice" : "PreemptionWithdrawn",
                 "Preempting",
                 goes ? "Its room is needed: it is evicted when its notice is over" : "Nobody needs its room any more",
                 one.pod,
                 {},
                 what.now});
          break;
        }
        case decision_kind::evict: {
          const bool preempted = step.victims != 0;
          const auto helped = std::find_if(step.decisions.begin(), step.decisions.end(), [&](const decision& other) {
            return other.kind == decision_kind::nominate && !step.evicts(other.pod);
          });
          event told{
              "Normal", preempted ? "Preempted" : "Evicted", preempted ? "Preempting" : "Evicting", "", one.pod, {},
              what.now};
          if (preempted && helped != step.decisions.end()) {
            told.related = helped->pod;
            told.note = "Preempted by pod ";
            detail::append_name(told.note, *on_, helped->pod);
            (told.note += " on node ") += on_->name_of(one.node);
          } else {
            told.note = one.reason != nullptr ? one.reason : "Preempted on node ";
            if (one.reason == nullptr) told.note += on_->name_of(one.node);
          }
          sink_(told);
          break;
        }
        case decision_kind::bind:
        case decision_kind::wait: break;
      }
    }
  }
}

}  // namespace gangsched::inline GANGSCHED_ABI::report
