#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <set>

#include "conformance/kueue_setup.hpp"
#include "gangsched/queues/kueue/admission_controller.hpp"

// kueue-schedule, kueue-upstream-schedule: histories of cycles, with evictions, endings and arrivals between them.
namespace gangsched::conformance {
namespace {

using namespace queues::kueue;

const char* const decisions = "1 admitted and preempted";
const char* const entries = "2 entries and order";
const char* const states = "3 active and inadmissible";
const char* const shares = "4 shares and tournaments";

std::string joined(std::vector<std::string> all, bool sorted) {
  if (sorted) std::sort(all.begin(), all.end());
  std::string made;
  for (const std::string& one : all) made += (made.empty() ? "" : ", ") + one;
  return made;
}

const char* to_text(entry_result result) {
  return result == entry_result::admitted ? "admitted" : result == entry_result::skipped ? "skipped" : "pending";
}

const char* to_text(requeue_reason reason) {
  switch (reason) {
    case requeue_reason::not_requeued: return "";
    case requeue_reason::no_fit: return "NoFit";
    case requeue_reason::preemption_no_candidates: return "PreemptionNoCandidates";
    case requeue_reason::pending_preemption: return "PendingPreemption";
    case requeue_reason::failed_after_nomination:
    case requeue_reason::pods_not_ready: break;
  }
  return "FailedAfterNomination";
}

class history {
 public:
  history(const kube::value& recorded, const std::string& file, tally& into)
      : recorded_(&recorded), file_(&file), into_(&into), name_(text_field(recorded, "name", file)) {
    admission_options options;
    options.fair_sharing = read_kueue_sharing(recorded, file);
    options.partial_admission = kueue_gate(recorded, "PartialAdmission", true);
    options.recompute_overlapping_targets =
        kueue_gate(recorded, "RecomputeAssignmentUponPreemptionTargetsOverlap", false);
    options.describe_tournaments = options.fair_sharing.enabled;
    kueue_ =
        std::make_unique<admission_controller>(must(configuration::make(read_kueue_setup(recorded, file))), options);
    for (const kube::value& one : field(recorded, "workloads", file).items) add(one);
  }

  /// To the first cycle that decides otherwise: what follows has another past.
  void run(const kube::value& steps) {
    std::size_t number = 0;
    for (const kube::value& step : steps.items) {
      const std::string& op = text_field(step, "op", *file_);
      where_ = fmt::format("{} step {} ({})", name_, number++, op);
      if (op == "cycle") {
        if (!run_cycle(step)) return;
        continue;
      }
      if (op == "add") {
        for (const kube::value& one : field(step, "add", *file_).items) add(one);
      } else {
        for (const std::string& one : texts(&field(step, "workloads", *file_)))
          must(op == "evicted" ? kueue_->evicted(ids_.at(one)) : kueue_->remove(ids_.at(one)));
      }
      compare_state(field(step, "state", *file_));
    }
  }

 private:
  [[nodiscard]] const configuration& of() const { return kueue_->of(); }
  [[nodiscard]] const std::string& name(row_t workload) const { return (*kueue_)[workload].name; }

  void compare(const char* level, const char* what, const std::string& wanted, const std::string& got) {
    into_->compare(level, wanted == got, [&] { return difference{where_, what, "", wanted, got}; });
  }

  void add(const kube::value& one) {
    const workload_spec spec = read_kueue_workload(one, *recorded_, *file_);
    const kube::value* admission = one.find("admission");
    if (admission == nullptr) {
      ids_[spec.name] = must(kueue_->add(spec));
      return;
    }
    std::vector<admitted_usage> usage;
    for (const kube::value& pods : field(*admission, "podSets", *file_).items) {
      const kube::value& flavors = field(pods, "flavors", *file_);
      for (std::size_t i = 0; i < flavors.keys.size(); ++i)
        if (const kube::value* amount = field(pods, "usage", *file_).find(flavors.keys[i]))
          usage.push_back({flavors.items[i].text, flavors.keys[i], whole(*amount, *file_)});
    }
    const workload_id id =
        must(kueue_->add_admitted(spec, read_seconds(field(*admission, "at", *file_), *file_), usage));
    if (one.find("evicted") != nullptr) must(kueue_->mark_evicted(id));
    ids_[spec.name] = id;
  }

  bool run_cycle(const kube::value& step) {
    const kube::value& expect = field(step, "expect", *file_);
    const admission_cycle& made = kueue_->cycle(read_seconds(field(step, "time", *file_), *file_));
    const std::size_t before = into_->levels[decisions].differences;
    compare_decisions(expect, made);
    if (into_->levels[decisions].differences != before) return false;
    compare_entries(expect, made);
    compare_state(expect);
    compare_kueue_shares(kueue_->ledger(), expect, shares, where_, *file_, *into_);
    compare_tournaments(expect, made);
    return true;
  }

  void compare_decisions(const kube::value& expect, const admission_cycle& made) {
    std::vector<std::string> wanted, got;
    const kube::value& admitted = field(expect, "admitted", *file_);
    for (std::size_t i = 0; i < admitted.keys.size(); ++i) {
      std::string text = admitted.keys[i];
      for (const kube::value& pods : field(admitted.items[i], "podSets", *file_).items)
        text += fmt::format("; {} of {} using {}", whole_field(pods, "count", *file_),
                            usage_text(field(pods, "flavors", *file_)), usage_text(field(pods, "usage", *file_)));
      wanted.push_back(text);
    }
    for (const cycle_entry& entry : made.entries()) {
      if (entry.result != entry_result::admitted) continue;
      std::string text = name(entry.workload);
      for (const assignment::pod_set& pods : entry.flavors.pod_sets) {
        std::map<std::string, std::string> flavors, usage;
        for (const chosen_flavor& one : entry.flavors.flavors_of(pods)) {
          flavors[of().resource(one.resource)] = of().flavor(one.flavor).name;
          usage[of().resource(one.resource)] = std::to_string(one.amount);
        }
        text += fmt::format("; {} of {} using {}", pods.count, pairs_text(flavors), pairs_text(usage));
      }
      got.push_back(text);
    }
    compare(decisions, "admitted", joined(wanted, true), joined(got, true));
    wanted.clear(), got.clear();
    const kube::value& preempted = field(expect, "preempted", *file_);
    for (std::size_t i = 0; i < preempted.keys.size(); ++i)
      wanted.push_back(fmt::format("{} {} by {}", preempted.keys[i], text_field(preempted.items[i], "reason", *file_),
                                   text_field(preempted.items[i], "by", *file_)));
    for (const issued_preemption& one : made.preempted())
      got.push_back(fmt::format("{} {} by {}", name(one.workload), conformance::to_text(one.reason), name(one.by)));
    compare(decisions, "preempted", joined(wanted, true), joined(got, true));
  }

  void compare_entries(const kube::value& expect, const admission_cycle& made) {
    std::map<std::string, const cycle_entry*> by_name;
    for (const cycle_entry& entry : made.entries()) by_name[name(entry.workload)] = &entry;
    const std::vector<kube::value>& wanted = field(expect, "entries", *file_).items;
    compare(entries, "number of entries", std::to_string(wanted.size()), std::to_string(by_name.size()));
    for (const kube::value& one : wanted) {
      const std::string& who = text_field(one, "workload", *file_);
      const auto found = by_name.find(who);
      if (found == by_name.end()) {
        compare(entries, "entry", who, "");
        continue;
      }
      const cycle_entry& entry = *found->second;
      const bool flavors = text_field(one, "mode", *file_) != "NoFit";
      std::string recorded = fmt::format("{}: {} {} {}", who, text_field(one, "mode", *file_),
                                         text_field(one, "result", *file_), text_or(one, "requeue", ""));
      std::string got = fmt::format("{}: {} {} {}", who, conformance::to_text(entry.flavors.mode),
                                    to_text(entry.result), to_text(entry.reason));
      if (flavors) {
        recorded += fmt::format(" borrowing {}", whole_field(one, "borrowing", *file_));
        got += fmt::format(" borrowing {}", entry.flavors.borrowing);
        for (const kube::value& pods : field(one, "podSets", *file_).items)
          recorded +=
              fmt::format("; {} {}", whole_field(pods, "count", *file_), flavors_text(field(pods, "flavors", *file_)));
        for (const assignment::pod_set& pods : entry.flavors.pod_sets)
          got += fmt::format("; {} {}", pods.count, flavors_text(of(), entry.flavors.flavors_of(pods)));
      }
      std::vector<std::string> targets;
      for (const preemption_target& target : entry.targets) targets.push_back(name(target.workload));
      recorded += "; targets " + joined(texts(one.find("targets")), true);
      got += "; targets " + joined(targets, true);
      compare(entries, "entry", recorded, got);
    }
    std::map<std::string, std::vector<std::string>> orders;
    for (const std::uint32_t at : made.order()) {
      const cycle_entry& entry = made.entries()[at];
      const auto root = of().tree().root_of(entry.queue);
      orders[(of().is_queue(root) ? "queue " : "") + std::string{of().name(root)}].push_back(name(entry.workload));
    }
    const kube::value& order = field(expect, "order", *file_);
    compare(entries, "trees", std::to_string(order.keys.size()), std::to_string(orders.size()));
    for (std::size_t i = 0; i < order.keys.size(); ++i)
      compare(entries, "order", joined(texts(&order.items[i]), false), joined(orders[order.keys[i]], false));
  }

  void compare_state(const kube::value& expect) {
    for (const bool active : {true, false}) {
      const char* what = active ? "active" : "inadmissible";
      const kube::value& recorded = field(expect, what, *file_);
      for (auto queue = of().first_queue(); queue < of().tree().size(); ++queue) {
        std::vector<std::string> got;
        for (const row_t one : kueue_->waiting(queue, active)) got.push_back(name(one));
        compare(states, what, joined(texts(recorded.find(of().name(queue))), true), joined(got, true));
      }
    }
  }

  void compare_tournaments(const kube::value& expect, const admission_cycle& made) {
    const kube::value* recorded = expect.find("tournaments");
    if (recorded == nullptr) return;
    // Trees are independent: what is compared is each tree's own sequence.
    std::map<std::string, std::vector<const tournament*>> got;
    for (const tournament& one : made.tournaments())
      if (!of().is_queue(one.root)) got[std::string{of().name(one.root)}].push_back(&one);
    std::map<std::string, std::size_t> at;
    for (const kube::value& one : recorded->items) {
      const std::string& root = text_field(one, "root", *file_);
      const std::size_t number = at[root]++;
      if (number >= got[root].size()) {
        compare(shares, "tournament", to_json(one), "");
        continue;
      }
      const tournament& mine = *got[root][number];
      compare(shares, "winner", text_field(one, "winner", *file_), name(mine.winner));
      std::map<std::pair<std::string, std::string>, double> values;
      for (const tournament::share& share : mine.shares)
        values[{std::string{of().name(share.parent)}, name(share.workload)}] = share.weighted;
      const std::vector<kube::value>& wanted = field(one, "shares", *file_).items;
      compare(shares, "number of shares", std::to_string(wanted.size()), std::to_string(values.size()));
      for (const kube::value& share : wanted) {
        const auto found = values.find({text_field(share, "parent", *file_), text_field(share, "workload", *file_)});
        const bool same = found != values.end() && same_share(text_field(share, "share", *file_), found->second);
        into_->compare(shares, same, [&] {
          return difference{where_, "share", "", to_json(share),
                            found == values.end() ? "none" : std::to_string(found->second)};
        });
      }
    }
    for (const auto& [root, all] : got)
      compare(shares, "number of tournaments", std::to_string(at[root]), std::to_string(all.size()));
  }

  static std::string pairs_text(const std::map<std::string, std::string>& all) {
    std::string made;
    for (const auto& [key, value] : all) made += fmt::format("{}{}={}", made.empty() ? "" : " ", key, value);
    return made;
  }

  const kube::value* recorded_;
  const std::string* file_;
  tally* into_;
  std::string name_, where_;
  std::unique_ptr<admission_controller> kueue_;
  std::map<std::string, workload_id> ids_;
};

}  // namespace

void run_kueue_schedule_case(const kube::value& recorded, const std::string& file, tally& into) {
  // Where Kueue's choice among equals is random, one of its histories has to come out.
  std::optional<tally> best;
  for (const kube::value& steps : field(recorded, "runs", file).items) {
    tally one{.keep = into.keep};
    history{recorded, file, one}.run(steps);
    if (!best || one.differences < best->differences) best = std::move(one);
  }
  if (!best) refuse(file, recorded, "has no history");
  into.steps += best->steps;
  into.differences += best->differences;
  for (const auto& [what, level] : best->levels) {
    into.levels[what].compared += level.compared;
    into.levels[what].differences += level.differences;
  }
  for (difference& one : best->first)
    if (into.first.size() < into.keep) into.first.push_back(std::move(one));
}

}  // namespace gangsched::conformance
