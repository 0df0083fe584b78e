#include "gangsched/queues/capacity_scheduling/victims.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace gangsched::inline GANGSCHED_ABI::queues::capacity_scheduling {

/// Which pods are on the node, for the caller's node and for the quotas, which get all of them back in the end.
class victim_search {
 public:
  victim_search(elastic_quotas& quotas, std::span<const quota_pod> running, trial_node& node)
      : quotas_(&quotas), running_(running), node_(&node), gone_(running.size(), 0) {}
  victim_search(const victim_search&) = delete;
  victim_search& operator=(const victim_search&) = delete;
  ~victim_search() {
    for (std::size_t pod = 0; pod < gone_.size(); ++pod)
      if (gone_[pod] != 0) quotas_->add_used(running_[pod], 1);
  }

  static result<void> check(const elastic_quotas& quotas, const quota_pod& pod, std::span<const quota_pod> running) {
    if (result<void> wrong = quotas.check(pod); !wrong) return wrong;
    for (const quota_pod& one : running)
      if (result<void> wrong = quotas.check(one); !wrong) return wrong;
    return {};
  }

  void remove(std::uint32_t pod) {
    node_->remove(pod);
    quotas_->add_used(running_[pod], -1);
    gone_[pod] = 1;
  }
  void put_back(std::uint32_t pod) {
    node_->put_back(pod);
    quotas_->add_used(running_[pod], 1);
    gone_[pod] = 0;
  }
  bool fits() { return node_->fits(); }
  bool violates_budget(std::uint32_t pod) { return node_->violates_budget(pod); }

 private:
  elastic_quotas* quotas_;
  std::span<const quota_pod> running_;
  trial_node* node_;
  std::vector<char> gone_;
};

GANGSCHED_INLINE result<victims> select_victims(elastic_quotas& quotas, const quota_pod& pod,
                                                const quota_demand& demand, std::span<const quota_pod> running,
                                                trial_node& node) {
  if (result<void> wrong = victim_search::check(quotas, pod, running); !wrong) return std::move(wrong).error();
  const auto more_important = [&](std::uint32_t a, std::uint32_t b) {
    if (running[a].priority != running[b].priority) return running[a].priority > running[b].priority;
    return running[a].start != running[b].start ? running[a].start < running[b].start : a < b;
  };
  std::vector<std::uint32_t> candidates(running.size());
  std::iota(candidates.begin(), candidates.end(), std::uint32_t{0});
  std::sort(candidates.begin(), candidates.end(), more_important);

  victim_search trial{quotas, running, node};
  const victim_scope scope = quotas.scope(pod, demand);  // before any pod is gone: its own quota shrinks with each
  std::vector<std::uint32_t> taken;
  for (auto other = candidates.rbegin(); other != candidates.rend(); ++other) {
    if (!quotas.may_evict(scope, pod, running[*other])) continue;
    taken.push_back(*other);
    trial.remove(*other);
  }
  std::reverse(taken.begin(), taken.end());
  if (taken.empty() || !trial.fits()) return victims{};
  const std::vector<std::int64_t> alone(pod.request.begin(), pod.request.end());
  if (!quotas.admit(pod, {alone, alone})) return victims{};

  victim_list left = put_back(taken, trial, [&] { return !quotas.admit(pod, demand); });
  if (left.failed) return victims{victims_outcome::failed};
  if (left.pods.empty()) return victims{};
  std::sort(left.pods.begin(), left.pods.end(), more_important);
  return victims{victims_outcome::found, std::move(left.pods), left.violating};
}

}  // namespace gangsched::inline GANGSCHED_ABI::queues::capacity_scheduling
