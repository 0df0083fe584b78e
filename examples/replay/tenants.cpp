#include "replay/tenants.hpp"

#include <algorithm>

namespace replay {
namespace {

using seconds = std::chrono::duration<double>;

double mean_of(const std::vector<double>& all) {
  double sum = 0;
  for (const double one : all) sum += one;
  return all.empty() ? 0 : sum / static_cast<double>(all.size());
}

}  // namespace

double jain_index(const std::vector<double>& each) {
  double sum = 0, squares = 0;
  for (const double one : each) {
    sum += one;
    squares += one * one;
  }
  return squares == 0 ? 1 : sum * sum / (static_cast<double>(each.size()) * squares);
}

sharing_anomaly anomaly_of(const std::vector<tenant_outcome>& shared, const std::vector<tenant_outcome>& alone) {
  sharing_anomaly all;
  for (std::size_t tenant = 0; tenant < shared.size(); ++tenant) {
    const double longer = mean_of(shared[tenant].waits) - mean_of(alone[tenant].waits);
    if (longer <= 0) continue;
    ++all.tenants;
    all.most_seconds = std::max(all.most_seconds, longer);
  }
  return all;
}

tenant_ledger::tenant_ledger(const workload& of)
    : work_(&of), outcomes_(of.tenants.size()), usage_(of.tenants.size()) {}

void tenant_ledger::holds(std::uint32_t job, std::int64_t milli, instant now) {
  usage_[tenant_of(job)].push_back({now, milli});
}

ended_job ended_job_of(const job& which, instant complete, instant end) {
  const double whole = seconds{end - complete}.count();
  const instant own = which.lifetime.value_or(instant{});
  return {whole, own > instant{} ? whole / seconds{own}.count() : 1};
}

void tenant_ledger::ended(std::uint32_t job, instant complete, instant now) {
  const ended_job its = ended_job_of(work_->jobs[job], complete, now);
  tenant_outcome& to = outcomes_[tenant_of(job)];
  to.completion.push_back(its.completion_seconds);
  to.waits.push_back(seconds{now - complete - work_->jobs[job].lifetime.value_or(instant{})}.count());
  to.slowdown.push_back(its.slowdown);
}

std::vector<tenant_outcome> tenant_ledger::take(instant from, instant to) {
  for (std::size_t tenant = 0; tenant < outcomes_.size(); ++tenant) {
    tenant_outcome& one = outcomes_[tenant];
    std::ranges::sort(one.waits);
    std::ranges::sort(one.completion);
    std::ranges::sort(one.slowdown);
    for (const usage_change& change : usage_[tenant]) {
      const instant begin = std::clamp(change.when, from, to);
      one.gpu_seconds += seconds{to - begin}.count() * static_cast<double>(change.milli) / 1000;
    }
    const double due = seconds{to - from}.count() * static_cast<double>(work_->tenants[tenant].gpus);
    one.share = due > 0 ? one.gpu_seconds / due : 0;
  }
  return std::move(outcomes_);
}

}  // namespace replay
