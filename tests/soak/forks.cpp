#include <chrono>

#include "gangsched/fork.hpp"
#include "gangsched/what_if/autoscaling.hpp"
#include "host.hpp"

/// Forks, which decide the same. After some steps the host goes on with one, and nothing may show that it did; after others it makes havoc
/// in one, which may not show either.
namespace gangsched::soak {

namespace {

void make_havoc(forked& in, instant now, dice any) {
  const auto settle = [&](instant at) {
    while (auto said = in.scheduler.schedule_cycle(at)) {
      for (const decision& one : said) {
        if (one.kind == decision_kind::bind && any.percent(50)) static_cast<void>(in.scheduler.confirm(one.pod));
      }
    }
    static_cast<void>(in.scheduler.permit(at));
  };
  settle(now + std::chrono::minutes{20});
  for (const node_id node : in.cluster.nodes()) {
    if (any.percent(50)) static_cast<void>(in.cluster.remove_node(node));
  }
  settle(now + std::chrono::minutes{40});
  for (const pod_id pod : in.cluster.pods()) {
    if (any.percent(50)) static_cast<void>(in.cluster.remove_pod(pod));
  }
  settle(now + std::chrono::minutes{60});
}

/// Which nodes are missing and which are not needed: whatever the answer is, it was asked in forks of this one.
void ask_about_nodes(const forked& in, instant now) {
  const std::uint64_t before = inside(in.cluster).digest_with_derived();
  node_shape shape{.like = {.name = "more"}};
  shape.like.allocatable = {{"cpu", 8}, {"memory", std::int64_t{64} << 30}, {"pods", 20}};
  const auto missing = demand(in.scheduler, {&shape, 1}, {.now = now, .most_nodes = 16, .most_trials = 8});
  if (!missing) throw fault{"demand is refused", missing.error().message()};
  const std::vector<node_id> nodes = in.cluster.nodes();
  const auto not_needed = removable(in.scheduler, nodes, {.now = now});
  if (!not_needed) throw fault{"removable is refused", not_needed.error().message()};
  if (inside(in.cluster).digest_with_derived() != before) throw fault{"a question about nodes changes something", ""};
}

}  // namespace

void host::fork(const step& one) {
  dice any{mix64(one.seed + counts_.steps)};
  if (on_.broken_hooks || !any.percent(6)) return;  // (which call of a hook throws depends on how often it is asked)
  const std::uint64_t before = inside(cluster_).digest_with_derived();
  called<"cluster::fork">();
  if (inside(must(cluster_.fork(), "fork")).digest_with_derived() != before) wrong("a fork is another cluster");
  called<"scheduler::fork">();
  forked copy = must(scheduler_->fork(), "fork");
  if (inside(copy.cluster).digest_with_derived() != before) wrong("a fork is another cluster");
  if (!record_ && any.percent(50)) {  // (a log is one cluster's)
    *scheduler_ = std::move(copy.scheduler);
    cluster_ = std::move(copy.cluster);
    return must(scheduler_->observe(&watcher_), "observe");
  }
  if (any.percent(10)) ask_about_nodes(copy, now_);
  make_havoc(copy, now_, any);
  if (inside(cluster_).digest_with_derived() != before) wrong("what is done in a fork shows in the original");
}

}  // namespace gangsched::soak
