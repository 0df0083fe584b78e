#include "gang_host.hpp"

#include <algorithm>

#include "gangsched/fork.hpp"
#include "gangsched/profiles.hpp"
#include "support/builders.hpp"
#include "support/inside.hpp"

namespace gangsched::testing {

gang_host::gang_host(const std::vector<machine>& machines, const std::vector<job>& jobs,
                     const scheduler_options& options) {
  for (std::size_t i = 0; i < machines.size(); ++i) {
    machines_.push_back(cluster_.add_node(a_node{"m" + std::to_string(i)}.cpu(machines[i].slots)).value());
    slots_.push_back(machines[i].slots);
  }
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    a_gang group{"job-" + std::to_string(j)};
    group.spec.policy = jobs[j].policy;
    jobs_.push_back({jobs[j], cluster_.add_group(group).value()});
  }
  scheduler_.emplace(cluster_, profiles::kube_default(), options);
}

gang_host gang_host::fork() const {
  gang_host made;
  forked copies = scheduler_->fork().value();
  made.cluster_ = std::move(copies.cluster);
  made.scheduler_ = std::move(copies.scheduler);
  made.machines_ = machines_, made.slots_ = slots_, made.jobs_ = jobs_, made.members_ = members_;
  made.now_ = now_, made.complaint_ = complaint_;
  return made;
}

bool gang_host::arrive(std::size_t which) {
  job_state& of = jobs_[which];
  if (of.finished || of.arrived == of.of.members) return false;
  const std::string name = "job-" + std::to_string(which) + "-" + std::to_string(of.named++);
  ++of.arrived;
  const pod_id pod = cluster_.add_pod(a_pod{name}.cpu(of.of.slots).in(of.group)).value();
  members_[pod] = {.job = which};
  return true;
}

bool gang_host::cycle() {
  const auto done = scheduler_->schedule_cycle(now_);
  if (done.error() != nullptr) complain(done.error()->message());
  take_all(done.decisions());
  return static_cast<bool>(done);
}

void gang_host::run() {
  // Everybody may be tried, wake everybody else by what came of it, and take back what others hold: a bound without much thought.
  const std::size_t bound = 50 + 20 * members_.size() * (jobs_.size() + 1);
  for (std::size_t count = 0; cycle(); ++count) {
    if (count > bound) return complain("the loop over schedule_cycle does not end");
  }
}

bool gang_host::permit() {
  const auto verdicts = scheduler_->permit(now_);
  if (verdicts.error() != nullptr) complain(verdicts.error()->message());
  take_all(verdicts.decisions());
  return !verdicts.decisions().empty();
}

bool gang_host::confirm(std::size_t which) {
  const std::vector<pod_id> open = in_state(hold::binding);
  if (which >= open.size()) return false;
  if (const auto done = scheduler_->confirm(open[which]); !done) complain(done.error().message());
  members_.at(open[which]).state = hold::running;
  check_books();
  return true;
}

bool gang_host::fail(std::size_t which) {
  const std::vector<pod_id> open = in_state(hold::binding);
  if (which >= open.size()) return false;
  members_.at(open[which]).state = hold::nothing;
  const auto taken_back = scheduler_->fail(open[which], "the machine said no");
  if (taken_back.error() != nullptr) complain(taken_back.error()->message());
  take_all(taken_back.decisions());
  return true;
}

void gang_host::confirm_all() {
  while (confirm(0)) {
  }
}

bool gang_host::wait_for_deadline(std::optional<instant> no_later_than) {
  const std::optional<instant> next = scheduler_->next_deadline();
  if (!next || (no_later_than && *next > *no_later_than)) return false;
  now_ = std::max(now_, *next);
  return true;
}

void gang_host::finish(std::size_t which) {
  jobs_[which].finished = true;
  std::erase_if(members_, [&](const auto& entry) {
    if (entry.second.job != which) return false;
    if (!cluster_.remove_pod(entry.first)) complain("a pod could not be removed");
    return true;
  });
  check_books();
}

int gang_host::holding(std::size_t which) const {
  return static_cast<int>(std::count_if(members_.begin(), members_.end(), [&](const auto& entry) {
    return entry.second.job == which && entry.second.state != hold::nothing;
  }));
}

int gang_host::running(std::size_t which) const {
  return static_cast<int>(std::count_if(members_.begin(), members_.end(), [&](const auto& entry) {
    return entry.second.job == which && entry.second.state == hold::running;
  }));
}

void gang_host::take_all(std::span<const decision> all) {
  std::vector<std::size_t> let_go;
  for (const decision& one : all) {
    const auto found = members_.find(one.pod);
    if (one.kind == decision_kind::bind && found != members_.end() && !found->second.released)
      let_go.push_back(found->second.job);
    take(one);
  }
  for (const std::size_t which : let_go) {
    if (holding(which) < jobs_[which].of.policy.min_count)
      complain("a member was let go while the gang is below its minimum");
  }
  for (auto& [pod, who] : members_) {
    who.released =
        who.state == hold::waiting && (who.released || holding(who.job) >= jobs_[who.job].of.policy.min_count);
  }
  check_books();
}

void gang_host::take(const decision& one) {
  const auto found = members_.find(one.pod);
  if (found == members_.end()) {
    if (one.kind != decision_kind::reject) complain("a decision about nobody");
    return;
  }
  member& who = found->second;
  const auto expect = [&](bool fine) {
    static const char* const names[] = {"nothing", "room and waits", "room and is being bound", "room and runs"};
    if (!fine) {
      complain(std::string{to_string(one.kind)} + " of " + std::string{cluster_.name_of(one.pod)} + ", which has " +
               names[static_cast<int>(who.state)]);
    }
  };
  switch (one.kind) {
    case decision_kind::wait:
      expect(who.state == hold::nothing);
      who.state = hold::waiting;
      who.node = one.node;
      break;
    case decision_kind::bind:
      expect(who.state == hold::nothing || (who.state == hold::waiting && one.node == who.node));
      who.state = hold::binding;
      who.node = one.node;
      break;
    case decision_kind::revoke:
      expect(who.state == hold::waiting || who.state == hold::binding);
      who.state = hold::nothing;
      break;
    case decision_kind::reject: expect(who.state == hold::nothing); break;
    case decision_kind::evict:
      expect(who.state == hold::running);
      if (!cluster_.remove_pod(one.pod)) complain("a pod could not be removed");
      --jobs_[who.job].arrived;  // its controller makes a new one
      members_.erase(found);
      break;
    case decision_kind::nominate:
    case decision_kind::notice:
    case decision_kind::withdraw: expect(false); break;
  }
}

void gang_host::check_books() {
  std::vector<std::int64_t> held(machines_.size());
  for (const auto& [pod, who] : members_) {
    const node_id node = cluster_.node_of(pod);
    const bool holds = who.state != hold::nothing;
    if (holds != static_cast<bool>(node) || (holds && node != who.node)) {
      complain(std::string{cluster_.name_of(pod)} + " stands elsewhere than was decided");
    }
    if (who.state == hold::running && cluster_.state_of(pod) != pod_state::bound)
      complain("a running pod is not bound");
    if (!holds) continue;
    for (std::size_t m = 0; m < machines_.size(); ++m) {
      if (machines_[m] == who.node) held[m] += jobs_[who.job].of.slots;
    }
  }
  for (std::size_t m = 0; m < machines_.size(); ++m) {
    if (cluster_.requested(machines_[m], "cpu") != 1000 * held[m])
      complain("a machine's usage is not the sum of its pods");
    if (held[m] > slots_[m]) complain("a machine holds more than it has");
  }
}

void gang_host::complain(const std::string& what) {
  if (!complaint_) complaint_ = what;
}

std::vector<pod_id> gang_host::in_state(hold state) const {
  std::vector<pod_id> all;
  for (const auto& [pod, who] : members_) {
    if (who.state == state) all.push_back(pod);
  }
  return all;
}

std::uint64_t gang_host::fingerprint() const {
  digest seen;
  seen.add(static_cast<std::uint64_t>(now_.count()));
  for (const auto& [pod, who] : members_) {
    seen.add(pod.row);
    seen.add(who.job);
    seen.add(who.node.row);
    seen.add(static_cast<std::uint64_t>(who.state));
  }
  const queue_counts counts = scheduler_->counts();
  for (const std::size_t count : {counts.active, counts.backoff, counts.unschedulable, counts.gated, counts.waiting})
    seen.add(count);
  // The order in which pods came and failed.
  const model::cluster_state& state = inside(cluster_);
  for (const auto& [pod, who] : members_) seen.add(state.pods.arrival[pod.row]);
  seen.add(scheduler_->statistics().cycles);
  seen.add(static_cast<std::uint64_t>(scheduler_->next_deadline().value_or(instant{-1}).count()));
  return seen.value();
}

std::string gang_host::to_text() const {
  std::string text = "at " + std::to_string(now_.count() / 1'000'000) + "ms:";
  for (std::size_t j = 0; j < jobs_.size(); ++j) {
    text += " job " + std::to_string(j) + " has " + std::to_string(jobs_[j].arrived) + "/" +
            std::to_string(jobs_[j].of.members) + " members (min " + std::to_string(jobs_[j].of.policy.min_count) +
            ", " + std::to_string(holding(j)) + " hold, " + std::to_string(running(j)) + " run)" +
            (jobs_[j].finished ? " finished" : "") + ";";
  }
  return text;
}

}  // namespace gangsched::testing
