#include "gangsched/queues/capacity_scheduling/elastic_quota.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace gangsched::inline GANGSCHED_ABI::queues::capacity_scheduling {
namespace detail {

inline constexpr std::int64_t no_limit = std::numeric_limits<std::int64_t>::max();

/// A sum with what one pod more needs, which then needs something of what it names.
inline void add_to_demand(std::vector<std::int64_t>& demand, std::span<const std::int64_t> request) {
  for (std::size_t resource = 0; resource < demand.size(); ++resource)
    if (is_named(request[resource])) demand[resource] = amount_or_zero(demand[resource]) + request[resource];
}

}  // namespace detail

GANGSCHED_INLINE result<elastic_quotas> elastic_quotas::make(std::span<const resource_kind> resources,
                                                             std::span<const quota_spec> quotas) {
  if (resources.size() > most_resources)
    return error{errc::out_of_range, "elastic quotas", "resources",
                 std::to_string(resources.size()) + ", at most " + std::to_string(most_resources) + " can be"};
  elastic_quotas made;
  made.kinds_.assign(resources.begin(), resources.end());
  made.all_min_.assign(resources.size(), 0);
  made.all_used_ = made.all_min_;
  made.min_.assign(quotas.size() * resources.size(), 0);
  made.max_ = made.used_ = made.min_;
  for (const quota_spec& spec : quotas) made.names_.push_back(spec.name);
  for (queue_index quota = 0; quota < quotas.size(); ++quota) {
    if (made.names_[quota].empty()) return error{errc::malformed, made.called(quota), "name", "is empty"};
    if (made.find(made.names_[quota]) != quota)
      return error{errc::duplicate, made.called(quota), "name", "another quota has it"};
    if (result<void> wrong = made.set_quota(quota, quotas[quota]); !wrong) return std::move(wrong).error();
  }
  return made;
}

GANGSCHED_INLINE std::optional<queue_index> elastic_quotas::find(std::string_view name) const {
  const auto at = std::find(names_.begin(), names_.end(), name);
  return at != names_.end() ? std::optional{static_cast<queue_index>(at - names_.begin())} : std::nullopt;
}

GANGSCHED_INLINE std::string elastic_quotas::called(queue_index quota) const { return "quota " + names_[quota]; }

GANGSCHED_INLINE result<void> elastic_quotas::check(const quota_pod& pod) const {
  if (pod.quota != no_queue && pod.quota >= size())
    return error{errc::unknown, "quota " + std::to_string(pod.quota), "", "there is none"};
  return check_request(pod.request, resources(),
                       [&] { return pod.quota == no_queue ? "a pod without quota" : called(pod.quota); });
}

GANGSCHED_INLINE result<void> elastic_quotas::set_quota(queue_index quota, const quota_spec& spec) {
  if (quota >= size()) return error{errc::unknown, "quota " + std::to_string(quota), "", "there is none"};
  const auto at = [](const std::optional<std::vector<std::int64_t>>& amounts, std::size_t resource) {
    return !amounts || amounts->empty() ? unnamed : (*amounts)[resource];
  };
  if (spec.min)
    if (result<void> wrong = check_amounts(*spec.min, resources(), called(quota), "min"); !wrong) return wrong;
  if (spec.max)
    if (result<void> wrong = check_amounts(*spec.max, resources(), called(quota), "max", detail::no_limit); !wrong)
      return wrong;
  for (std::size_t resource = 0; resource < resources(); ++resource) {
    const std::int64_t others = all_min_[resource] - row(min_, quota)[resource];
    if (amount_or_zero(at(spec.min, resource)) > largest_amount - others)
      return error{errc::overflow, called(quota), "min[" + std::to_string(resource) + "]", "the sum is too large"};
  }
  for (std::size_t resource = 0; resource < resources(); ++resource) {
    std::int64_t &min = min_[quota * resources() + resource], &max = max_[quota * resources() + resource];
    all_min_[resource] -= min;
    min = amount_or_zero(at(spec.min, resource));
    all_min_[resource] += min;
    max = at(spec.max, resource);
    if (!is_named(max)) max = spec.max && kinds_[resource] == resource_kind::field ? 0 : detail::no_limit;
  }
  return {};
}

GANGSCHED_INLINE void elastic_quotas::add_used(const quota_pod& pod, std::int64_t sign) {
  if (pod.quota == no_queue) return;
  for (std::size_t resource = 0; resource < resources(); ++resource) {
    const std::int64_t amount = sign * amount_or_zero(pod.request[resource]);
    used_[pod.quota * resources() + resource] += amount;
    all_used_[resource] += amount;
  }
}

GANGSCHED_INLINE result<void> elastic_quotas::use(const quota_pod& pod) {
  if (result<void> wrong = check(pod); !wrong || pod.quota == no_queue) return wrong;
  for (std::size_t resource = 0; resource < resources(); ++resource)
    if (amount_or_zero(pod.request[resource]) > largest_amount - all_used_[resource])
      return error{errc::overflow, called(pod.quota), "request[" + std::to_string(resource) + "]",
                   "the sum is too large"};
  add_used(pod, 1);
  return {};
}

GANGSCHED_INLINE result<void> elastic_quotas::release(const quota_pod& pod) {
  if (result<void> wrong = check(pod); !wrong || pod.quota == no_queue) return wrong;
  for (std::size_t resource = 0; resource < resources(); ++resource)
    if (const std::int64_t has = used(pod.quota)[resource]; amount_or_zero(pod.request[resource]) > has)
      return error{errc::wrong_state, called(pod.quota), "request[" + std::to_string(resource) + "]",
                   "the quota uses only " + std::to_string(has)};
  add_used(pod, -1);
  return {};
}

GANGSCHED_INLINE result<void> elastic_quotas::set_used(std::span<const std::int64_t> amounts) {
  if (amounts.size() != used_.size())
    return error{errc::malformed, "elastic quotas", "used",
                 std::to_string(amounts.size()) + " amounts instead of " + std::to_string(used_.size())};
  const auto bad = [&](std::size_t at, errc what, const char* why) {
    return error{what, called(static_cast<queue_index>(at / resources())),
                 "used[" + std::to_string(at % resources()) + "]", why};
  };
  for (std::size_t resource = 0; resource < resources(); ++resource) {
    std::int64_t sum = 0;
    for (std::size_t at = resource; at < amounts.size(); at += resources()) {
      if (amounts[at] < 0 || amounts[at] > largest_amount) return bad(at, errc::out_of_range, "is no amount");
      if (amounts[at] > largest_amount - sum) return bad(at, errc::overflow, "the sum is too large");
      sum += amounts[at];
    }
  }
  std::copy(amounts.begin(), amounts.end(), used_.begin());
  std::fill(all_used_.begin(), all_used_.end(), 0);
  for (std::size_t at = 0; at < amounts.size(); ++at) all_used_[at % resources()] += amounts[at];
  return {};
}

GANGSCHED_INLINE bool elastic_quotas::is_over_min(queue_index quota) const {
  const std::span<const std::int64_t> uses = used(quota), min = row(min_, quota);
  for (std::size_t resource = 0; resource < resources(); ++resource)
    if (uses[resource] > min[resource]) return true;
  return false;
}

GANGSCHED_INLINE result<quota_demand> elastic_quotas::demand(const quota_pod& pod,
                                                             std::span<const quota_pod> nominated) const {
  if (result<void> wrong = check(pod); !wrong) return std::move(wrong).error();
  quota_demand made;
  made.own.assign(pod.request.begin(), pod.request.end());
  made.all = made.own;
  if (pod.quota == no_queue) return made;
  for (const quota_pod& other : nominated) {
    if (result<void> wrong = check(other); !wrong) return std::move(wrong).error();
    const bool same = other.quota == pod.quota;
    if (other.quota == no_queue || (same ? other.priority < pod.priority : is_over_min(other.quota))) continue;
    for (std::size_t resource = 0; resource < resources(); ++resource)
      if (amount_or_zero(other.request[resource]) > largest_amount - amount_or_zero(made.all[resource]))
        return error{errc::overflow, called(other.quota), "request[" + std::to_string(resource) + "]",
                     "the sum of nominated pods is too large"};
    detail::add_to_demand(made.all, other.request);
    if (same) detail::add_to_demand(made.own, other.request);
  }
  return made;
}

GANGSCHED_INLINE quota_verdict elastic_quotas::admit(const quota_pod& pod, const quota_demand& demand) const {
  if (pod.quota == no_queue) return {};
  const std::span<const std::int64_t> uses = used(pod.quota), max = row(max_, pod.quota);
  std::uint64_t over_max = 0, over_min = 0;
  for (std::size_t resource = 0; resource < resources(); ++resource) {
    const std::uint64_t bit = std::uint64_t{1} << resource;
    const bool asks = kinds_[resource] == resource_kind::field || is_named(demand.own[resource]);
    if (asks && uses[resource] + amount_or_zero(demand.own[resource]) > max[resource]) over_max |= bit;
    if (all_used_[resource] + amount_or_zero(demand.all[resource]) > all_min_[resource]) over_min |= bit;
  }
  if (over_max != 0) return {quota_check::over_max, over_max};
  if (over_min != 0) return {quota_check::over_min, over_min};
  return {};
}

GANGSCHED_INLINE victim_scope elastic_quotas::scope(const quota_pod& pod, const quota_demand& demand) const {
  if (pod.quota == no_queue) return victim_scope::without_quota;
  const std::span<const std::int64_t> uses = used(pod.quota), min = row(min_, pod.quota);
  for (std::size_t resource = 0; resource < resources(); ++resource) {
    const bool asks = kinds_[resource] == resource_kind::field || is_named(demand.own[resource]);
    if (asks && uses[resource] + amount_or_zero(demand.own[resource]) > min[resource]) return victim_scope::own_quota;
  }
  return victim_scope::borrowers;
}

GANGSCHED_INLINE bool elastic_quotas::may_evict(victim_scope scope, const quota_pod& pod,
                                                const quota_pod& other) const {
  if (scope != victim_scope::borrowers) return other.quota == pod.quota && other.priority < pod.priority;
  return other.quota != no_queue && other.quota != pod.quota && is_over_min(other.quota);
}

}  // namespace gangsched::inline GANGSCHED_ABI::queues::capacity_scheduling
