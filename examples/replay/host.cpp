#include "replay/host.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gangsched/framework/plugin_entry.hpp>
#include <gangsched/gangsched.hpp>
#include <gangsched/model/cluster_queues.hpp>

#include <algorithm>
#include <queue>
#include <set>
#include <stdexcept>
#include <type_traits>
#include <unordered_map>
#include <utility>

#include "replay/random.hpp"

namespace replay {
namespace {

using gangsched::decision;
using gangsched::decision_kind;
using clock = std::chrono::steady_clock;

/// A rejected pod is retried when something changes that can help it. Kubernetes' retry every five minutes in spite of that would
/// only cost time here, where no change goes unnoticed.
constexpr instant never = std::chrono::hours{24 * 365 * 50};

/// How long the scheduler's own deadlines (backoffs, permit timeouts) are followed when nobody arrives or leaves any more.
constexpr instant patience = std::chrono::hours{1};

/// Explaining a rejection costs more than deciding it: after so many, a shape's latest explanation stands for all of its pods.
constexpr std::uint64_t most_explanations = 100;

template <class T>
T must(gangsched::result<T> got) {
  if (!got) throw std::runtime_error{got.error().message()};
  if constexpr (!std::is_void_v<T>) return *std::move(got);
}

/// The plugins of a profile as an administrator would list them: the policy of queues, if there is one, before the others. Jobs keep their
/// age: in which order they failed depends on who else is there, and a tenant is compared with one that is alone.
gangsched::kernel_table profile_with(const std::string& queue_policy, gangsched::argument fit) {
  const gangsched::plugin_registry plugins = gangsched::builtin_plugins();
  gangsched::runtime_profile profile{plugins};
  if (!queue_policy.empty()) profile.enable(queue_policy);
  if (queue_policy.empty() || !must(plugins.make(queue_policy, {})).points.has(gangsched::point::queue_sort))
    profile.enable("ArrivalSort");
  profile.enable("NodeResourcesFit", 0, std::move(fit));
  for (const char* name :
       {"GangScheduling", "NodeResourcesBalancedAllocation", "TopologyPlacementGenerator", "PodGroupPodsCount"})
    profile.enable(name);
  return must(profile.table());
}

gangsched::kernel_table profile_for(const workload& work, const replay_options& how) {
  using fields = gangsched::argument::fields;
  using list = gangsched::argument::list;
  const bool packs = how.profile == profile_choice::pack;
  if (!how.by_age)
    return packs ? gangsched::profiles::bin_packing(work.gpu_resource) : gangsched::profiles::kube_default();
  if (!packs) return profile_with(how.queue_policy, {});
  const auto resource = [](const std::string& name, int weight) { return fields{{"name", name}, {"weight", weight}}; };
  const list all{resource("cpu", 1), resource("memory", 1), resource(work.gpu_resource, 5)};
  return profile_with(how.queue_policy,
                      fields{{"scoringStrategy", fields{{"type", "MostAllocated"}, {"resources", all}}}});
}

gangsched::scheduler_options options_for(const replay_options& how) {
  gangsched::scheduler_options options;
  options.seed = how.seed;
  options.unschedulable_timeout = never;
  // As in Kubernetes, a failed group comes back after its backoff even if nothing changed: seconds in a replay of months. A change
  // still cuts a backoff of any length short. Permit's timeouts are another matter: those pods have nothing but their backoff.
  if (how.gangs == handling::group_cycle) options.max_backoff = never;
  options.indexed_classes = 512;  // openb's lists have up to 457 classes
  return options;
}

/// "0/9 nodes are available: 3 Insufficient cpu, 6 node(s) were unschedulable." without its numbers, in order.
std::string reasons_in(std::string_view summary) {
  const std::size_t colon = summary.find(": ");
  if (colon == std::string_view::npos) return std::string{summary};
  summary.remove_prefix(colon + 2);
  if (summary.ends_with('.')) summary.remove_suffix(1);
  std::set<std::string_view> reasons;
  while (!summary.empty()) {
    const std::size_t end = std::min(summary.find(", "), summary.size());
    std::string_view reason = summary.substr(0, end);
    reason.remove_prefix(std::min(reason.size(), reason.find_first_not_of("0123456789 ")));
    reasons.insert(reason);
    summary.remove_prefix(std::min(summary.size(), end + 2));
  }
  return fmt::format("{}", fmt::join(reasons, "; "));
}

class host {
 public:
  host(const workload& work, const replay_options& how, const progress_sink& show);
  outcome run();

 private:
  enum class task_state : std::uint8_t { coming, waiting, reserved, bound, gone };
  struct task {  // one worker of a job
    std::uint32_t job;
    task_state state = task_state::coming;
    bool was_rejected = false;
    gangsched::pod_id pod = {};
    std::size_t stay = 0;  // its latest, in the time line
  };
  struct job_state {
    std::uint32_t first_task = 0;
    std::uint32_t arrived = 0;
    std::uint32_t placed = 0;  // reserved or bound
    std::uint32_t bound = 0;
    bool started = false, over = false, was_partial = false;
    instant complete{};       // when its last worker arrived
    instant since{}, left{};  // when it started last; what it had left to do then
    std::uint32_t runs = 0;
    gangsched::group_id group = {};
  };
  struct arrival {
    instant when;
    std::uint32_t task;
  };
  struct leaving {
    instant when;
    std::uint32_t job;
    std::uint32_t run;  // it does not leave if it lost its GPUs before
    friend auto operator<=>(const leaving&, const leaving&) = default;
  };

  struct explained {
    std::string summary, reasons;
  };

  [[nodiscard]] std::optional<instant> next_time();
  void worker_arrives(std::uint32_t index);
  void add_worker(std::uint32_t index);
  void job_leaves(std::uint32_t index);
  void remove_workers(std::uint32_t index, task_state to);
  void start_again(std::uint32_t index);
  void schedule();
  void execute(const decision& d);
  void placed(std::uint32_t index, task_state to, gangsched::node_id node);
  void loses_node(const task& of);
  void taken_back(std::uint32_t index);
  void rejected(std::uint32_t index, const char* reason);
  void explain_rejections();
  void add_queues();
  void hold(std::uint32_t index, std::int64_t milli, bool at_work);
  void start(std::uint32_t job_index);
  void measure();
  [[nodiscard]] bool gangs_block_each_other() const;
  void count_fates();
  void explain_those_waiting();
  [[nodiscard]] std::int64_t milli_of(std::uint32_t job_index) const {
    return work_.shapes[work_.jobs[job_index].shape].gpu_milli;
  }

  const workload& work_;
  const replay_options how_;
  const progress_sink& show_;
  gangsched::cluster cluster_;
  std::optional<gangsched::scheduler> scheduler_;

  std::vector<task> tasks_;
  std::vector<job_state> jobs_;
  std::vector<arrival> arrivals_;
  std::size_t next_arrival_ = 0;
  std::priority_queue<leaving, std::vector<leaving>, std::greater<>> leavings_;
  instant now_{};
  instant last_event_{};  // when somebody arrived or left last
  std::uint64_t events_ = 0;

  std::set<std::uint32_t> partial_;  // jobs with some workers placed, but not all
  std::set<std::uint32_t> evicted_;  // jobs of which a worker is to go, for others
  tenant_ledger tenants_;
  std::unordered_map<std::string_view, std::uint32_t> node_numbers_;
  std::int64_t computing_ = 0, idle_ = 0;
  std::optional<instant> blocked_since_;
  std::vector<std::pair<std::uint32_t, const char*>> just_rejected_;  // for the first time, with the decision's reason
  std::vector<explained> latest_;                                     // by shape
  std::uint64_t explanations_ = 0;
  outcome out_;
};

host::host(const workload& work, const replay_options& how, const progress_sink& show)
    : work_(work), how_(how), show_(show), jobs_(work.jobs.size()), tenants_(work), latest_(work.shapes.size()) {
  for (const gangsched::node_spec& node : work.nodes) {
    must(cluster_.add_node(node));
    node_numbers_.emplace(node.name, static_cast<std::uint32_t>(node_numbers_.size()));
  }
  if (how.timeline) out_.times.emplace().jobs.resize(work.jobs.size());
  if (!how.queue_policy.empty()) add_queues();
  scheduler_.emplace(cluster_, profile_for(work, how), options_for(how));

  for (std::uint32_t j = 0; j < work.jobs.size(); ++j) {
    jobs_[j].first_task = static_cast<std::uint32_t>(tasks_.size());
    for (std::uint32_t worker = 0; worker < work.jobs[j].workers; ++worker) {
      // The first worker comes with its job, the others when the cluster got round to making them.
      const instant late = worker == 0
                               ? instant{}
                               : instant{random{how.seed, work.jobs[j].number, worker}.below(work.spread.count() + 1)};
      arrivals_.push_back({work.jobs[j].arrival + late, static_cast<std::uint32_t>(tasks_.size())});
      tasks_.push_back({.job = j});
    }
  }
  std::ranges::stable_sort(arrivals_, {}, &arrival::when);
  out_.gangs = how.gangs;
  out_.queue_policy = how.queue_policy;
  out_.gpu_milli = work.gpu_milli;
  for (auto* by_size : {&out_.waits, &out_.completion, &out_.slowdown}) by_size->resize(work.sizes.size());
  if (!arrivals_.empty()) {
    out_.first_arrival = arrivals_.front().when;
    out_.last_arrival = arrivals_.back().when;
  }
}

outcome host::run() {
  const auto begin = clock::now();
  if (!arrivals_.empty()) now_ = last_event_ = arrivals_.front().when;
  while (const auto next = next_time()) {
    if (blocked_since_) {
      out_.partial.deadlock += *next - now_;
      out_.partial.longest_deadlock = std::max(out_.partial.longest_deadlock, *next - *blocked_since_);
    }
    now_ = *next;
    while (!leavings_.empty() && leavings_.top().when <= now_) {
      const leaving leaver = leavings_.top();
      leavings_.pop();
      if (leaver.run == jobs_[leaver.job].runs) job_leaves(leaver.job);
    }
    while (next_arrival_ < arrivals_.size() && arrivals_[next_arrival_].when <= now_) {
      worker_arrives(arrivals_[next_arrival_++].task);
    }
    schedule();
    measure();
    show_(events_);
  }
  out_.end = now_;
  out_.wall_seconds = std::chrono::duration<double>(clock::now() - begin).count();
  count_fates();
  explain_those_waiting();
  out_.tenants = tenants_.take(out_.first_arrival, out_.last_arrival);
  for (auto* by_size : {&out_.waits, &out_.completion, &out_.slowdown}) {
    for (std::vector<double>& of_size : *by_size) std::ranges::sort(of_size);
  }
  return std::move(out_);
}

std::optional<instant> host::next_time() {
  std::optional<instant> next;
  const auto offer = [&](instant when) { next = next ? std::min(*next, when) : when; };
  if (next_arrival_ < arrivals_.size()) offer(arrivals_[next_arrival_].when);
  if (!leavings_.empty()) offer(leavings_.top().when);
  const bool others_come = next.has_value();
  if (const auto deadline = scheduler_->next_deadline()) {
    if (others_come || *deadline <= last_event_ + patience) offer(std::max(*deadline, now_));
  }
  return next;
}

/// All below one queue: some policies have only such queues share.
void host::add_queues() {
  const std::string whole = "all-tenants";
  must(cluster_.queues().add({.name = whole}));
  for (const tenant& one : work_.tenants) {
    gangsched::queue_spec spec{.name = one.name, .parent = whole};
    spec.quotas.push_back({.guaranteed = {{work_.gpu_resource, one.gpus}}});
    must(cluster_.queues().add(spec));
  }
}

void host::worker_arrives(std::uint32_t index) {
  const job& j = work_.jobs[tasks_[index].job];
  job_state& state = jobs_[tasks_[index].job];
  add_worker(index);
  if (++state.arrived == j.workers) {
    state.complete = now_;
    if (out_.times) out_.times->jobs[tasks_[index].job].complete = now_;
    state.left = j.lifetime.value_or(instant{});
    if (!work_.tenants.empty()) tenants_.arrived(tasks_[index].job);
    if (work_.lifetimes == lifetime_rule::from_arrival && j.lifetime)
      leavings_.push({j.arrival + *j.lifetime, tasks_[index].job, 0});
  }
  last_event_ = now_;
  ++events_;
}

void host::add_worker(std::uint32_t index) {
  task& t = tasks_[index];
  const job& j = work_.jobs[t.job];
  job_state& state = jobs_[t.job];
  gangsched::pod_spec spec = work_.shapes[j.shape].pod;
  const std::string name = j.workers == 1 ? j.name : fmt::format("{}-{}", j.name, index - state.first_task);
  spec.name = name;  // another job may be called as one of these workers
  for (int more = 2; cluster_.find_pod(spec.ns, spec.name); ++more) spec.name = fmt::format("{}-{}", name, more);
  spec.cookie = index;
  if (j.workers > 1 && how_.gangs != handling::pod_by_pod) {
    if (!state.group) {
      const auto mode =
          how_.gangs == handling::permit ? gangsched::gang_mode::permit : gangsched::gang_mode::group_cycle;
      state.group = must(cluster_.add_group(
          {.name = j.name,
           .policy = gangsched::gang{.min_count = static_cast<std::int32_t>(j.workers), .mode = mode},
           .disruption = gangsched::disruption_mode::all}));
    }
    spec.group = state.group;
  }
  if (!how_.queue_policy.empty()) spec.queue = work_.tenants[j.tenant].name;
  t.pod = must(cluster_.add_pod(spec));
  t.state = task_state::waiting;
}

void host::job_leaves(std::uint32_t index) {
  job_state& state = jobs_[index];
  remove_workers(index, task_state::gone);
  state.over = true;
  if (out_.times) out_.times->jobs[index].ended = now_;
  if (state.started && work_.lifetimes == lifetime_rule::from_start) {
    const job& j = work_.jobs[index];
    const ended_job its = ended_job_of(j, state.complete, now_);
    out_.completion[work_.shapes[j.shape].size].push_back(its.completion_seconds);
    out_.slowdown[work_.shapes[j.shape].size].push_back(its.slowdown);
  }
  if (state.started && !work_.tenants.empty()) tenants_.ended(index, state.complete, now_);
  last_event_ = now_;
  events_ += work_.jobs[index].workers;
}

/// The job's pods go, with what they hold.
void host::remove_workers(std::uint32_t index, task_state to) {
  job_state& state = jobs_[index];
  for (std::uint32_t i = state.first_task; i < state.first_task + work_.jobs[index].workers; ++i) {
    if (tasks_[i].state == task_state::coming) continue;
    must(cluster_.remove_pod(tasks_[i].pod));
    loses_node(tasks_[i]);
    tasks_[i].state = to;
  }
  if (state.group) must(cluster_.remove_group(std::exchange(state.group, {})));
  hold(index, -milli_of(index) * state.placed, state.started);
  partial_.erase(index);
}

/// The job lost its GPUs to another one: it goes on from where it was when it has some again.
void host::start_again(std::uint32_t index) {
  job_state& state = jobs_[index];
  remove_workers(index, task_state::waiting);
  if (state.started) state.left -= now_ - state.since;
  state.started = false;
  state.placed = state.bound = 0;
  ++state.runs;
  if (!work_.tenants.empty()) tenants_.preempted(index);
  for (std::uint32_t i = state.first_task; i < state.first_task + state.arrived; ++i)
    if (tasks_[i].state == task_state::waiting) add_worker(i);
}

/// So many thousandths of GPUs more, or fewer, are held by the job.
void host::hold(std::uint32_t index, std::int64_t milli, bool at_work) {
  (at_work ? computing_ : idle_) += milli;
  if (milli != 0 && !work_.tenants.empty()) tenants_.holds(index, milli, now_);
}

void host::schedule() {
  for (bool again = true; again;) {
    again = false;
    for (;;) {
      const auto begin = clock::now();
      const gangsched::cycle cycle = scheduler_->schedule_cycle(now_);
      const auto nanos = std::chrono::nanoseconds{clock::now() - begin}.count();
      if (cycle.error() != nullptr) throw std::runtime_error{cycle.error()->message()};
      if (!cycle) break;
      out_.decisions += cycle.decisions().size();
      out_.scheduling_seconds += static_cast<double>(nanos) * 1e-9;
      out_.calls.add(static_cast<std::uint64_t>(nanos));
      for (const decision& d : cycle) execute(d);
      explain_rejections();
      for (const std::uint32_t job : std::exchange(evicted_, {})) start_again(job);
    }
    const gangsched::cycle verdicts = scheduler_->permit(now_);
    if (verdicts.error() != nullptr) throw std::runtime_error{verdicts.error()->message()};
    for (const decision& d : verdicts) {
      again = again || d.kind != decision_kind::wait;  // a bind or a revoke may let others move
      execute(d);
    }
  }
}

void host::execute(const decision& d) {
  const auto index = static_cast<std::uint32_t>(d.pod_cookie);
  switch (d.kind) {
    case decision_kind::bind: must(scheduler_->confirm(d.pod)); return placed(index, task_state::bound, d.node);
    case decision_kind::wait: return placed(index, task_state::reserved, d.node);
    case decision_kind::revoke: return taken_back(index);
    case decision_kind::reject: return rejected(index, d.reason);
    case decision_kind::nominate:
    case decision_kind::notice:
    case decision_kind::withdraw: return;
    case decision_kind::evict: evicted_.insert(tasks_[index].job); return;
  }
  throw std::runtime_error{fmt::format("unexpected decision: {}", to_string(d.kind))};
}

void host::loses_node(const task& of) {
  const bool has_one = of.state == task_state::reserved || of.state == task_state::bound;
  if (out_.times && has_one) out_.times->stays[of.stay].until = now_;
}

void host::placed(std::uint32_t index, task_state to, gangsched::node_id node) {
  task& t = tasks_[index];
  job_state& state = jobs_[t.job];
  if (t.state == task_state::waiting) {
    ++state.placed;
    hold(t.job, milli_of(t.job), false);
    partial_.insert(t.job);
    if (out_.times) {
      t.stay = out_.times->stays.size();
      out_.times->stays.push_back({t.job, node_numbers_.at(cluster_.name_of(node)), now_, {}});
    }
  }
  if (to == task_state::bound && t.state != task_state::bound && ++state.bound == work_.jobs[t.job].workers)
    start(t.job);
  t.state = to;
}

void host::taken_back(std::uint32_t index) {
  task& t = tasks_[index];
  job_state& state = jobs_[t.job];
  if (t.state != task_state::reserved) throw std::runtime_error{"revoked what was not waiting to be permitted"};
  loses_node(t);
  t.state = task_state::waiting;
  hold(t.job, -milli_of(t.job), false);
  if (--state.placed == 0) partial_.erase(t.job);
}

void host::start(std::uint32_t job_index) {
  const job& j = work_.jobs[job_index];
  job_state& state = jobs_[job_index];
  state.started = true;
  partial_.erase(job_index);
  idle_ -= milli_of(job_index) * j.workers;
  computing_ += milli_of(job_index) * j.workers;
  state.since = now_;
  if (state.runs == 0)
    out_.waits[work_.shapes[j.shape].size].push_back(std::chrono::duration<double>(now_ - state.complete).count());
  if (out_.times && state.runs == 0) out_.times->jobs[job_index].started = now_;
  if (work_.lifetimes == lifetime_rule::from_start && j.lifetime)
    leavings_.push({now_ + state.left, job_index, state.runs});
}

void host::rejected(std::uint32_t index, const char* reason) {
  ++out_.rejected_attempts;
  if (!std::exchange(tasks_[index].was_rejected, true)) just_rejected_.emplace_back(index, reason);
}

void host::explain_rejections() {
  for (const auto& [index, said] : just_rejected_) {
    explained& latest = latest_[work_.jobs[tasks_[index].job].shape];
    if (latest.summary.empty() || explanations_ < most_explanations) {
      ++explanations_;
      latest.summary = must(scheduler_->explain(tasks_[index].pod)).summary;
      latest.reasons = reasons_in(latest.summary);
    }
    const std::string why_group = said == nullptr ? "" : fmt::format(" ({})", said);
    rejection& why = out_.rejections[latest.reasons + why_group];
    const bool told = said != nullptr && latest.summary.find(said) != std::string::npos;
    why.example = latest.summary + (told ? "" : why_group);
    ++why.count;
    if (!out_.times) continue;
    std::string& first = out_.times->jobs[tasks_[index].job].rejected_for;
    if (first.empty()) first = why.example;
  }
  just_rejected_.clear();
}

void host::measure() {
  for (const std::uint32_t j : partial_) {
    if (!std::exchange(jobs_[j].was_partial, true)) ++out_.partial.ever;
  }
  out_.partial.at_once = std::max<std::uint64_t>(out_.partial.at_once, partial_.size());
  if (!gangs_block_each_other())
    blocked_since_.reset();
  else if (!blocked_since_)
    blocked_since_ = now_;
  if (out_.usage.empty() || out_.usage.back().computing != computing_ || out_.usage.back().idle != idle_) {
    if (!out_.usage.empty() && out_.usage.back().from == now_) out_.usage.pop_back();
    out_.usage.push_back({now_, computing_, idle_});
  }
}

bool host::gangs_block_each_other() const {
  if (partial_.size() < 2) return false;
  const std::int64_t free = out_.gpu_milli - computing_ - idle_;
  return 2 <= std::ranges::count_if(partial_, [&](std::uint32_t j) {
           const job_state& state = jobs_[j];
           const std::uint32_t workers = work_.jobs[j].workers;
           const std::int64_t missing = milli_of(j) * (workers - state.placed);
           const std::int64_t of_others = idle_ - milli_of(j) * state.placed;
           return state.arrived == workers && missing > free && missing <= free + of_others;
         });
}

void host::count_fates() {
  for (std::uint32_t j = 0; j < jobs_.size(); ++j) {
    const job_state& state = jobs_[j];
    fates pods;
    pods.arrived = state.arrived;
    if (state.over)
      (state.started ? pods.finished : pods.left) = state.arrived;
    else
      (state.started ? pods.running : pods.holding) = state.placed;
    pods.waiting = pods.arrived - pods.finished - pods.left - pods.running - pods.holding;
    const auto add = [&](fates& to, const fates& what) {
      to.arrived += what.arrived;
      to.finished += what.finished;
      to.running += what.running;
      to.holding += what.holding;
      to.waiting += what.waiting;
      to.left += what.left;
    };
    add(out_.pods, pods);
    const fates whole{.arrived = 1,
                      .finished = pods.finished > 0,
                      .running = pods.running > 0,
                      .holding = pods.holding > 0,
                      .waiting = pods.waiting > 0 && pods.holding == 0,
                      .left = pods.left > 0};
    add(out_.jobs, whole);
    if (work_.jobs[j].workers > 1) add(out_.multi, whole);
  }
  out_.partial.at_end = partial_.size();
  for (std::size_t i = 0; i < out_.usage.size(); ++i) {
    const instant end = i + 1 < out_.usage.size() ? out_.usage[i + 1].from : out_.end;
    out_.partial.idle_gpu_hours += static_cast<double>(out_.usage[i].idle) / 1000 *
                                   std::chrono::duration<double, std::ratio<3600>>(end - out_.usage[i].from).count();
  }
}

void host::explain_those_waiting() {
  std::vector<std::string> summaries(work_.shapes.size());  // pods of one shape wait for the same reasons
  for (const task& t : tasks_) {
    if (t.state != task_state::waiting) continue;
    std::string& summary = summaries[work_.jobs[t.job].shape];
    if (summary.empty()) summary = must(scheduler_->explain(t.pod)).summary;
    rejection& why = out_.still_waiting[reasons_in(summary)];
    why.example = summary;
    ++why.count;
  }
}

}  // namespace

outcome replay_workload(const workload& work, const replay_options& how, const progress_sink& show) {
  return host{work, how, show}.run();
}

}  // namespace replay
