#include "gangsched/queues/koordinator/elastic_quota.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

namespace gangsched::inline GANGSCHED_ABI::queues::koordinator {
namespace detail {

inline std::int64_t amount_at(const std::vector<std::int64_t>& amounts, std::size_t resource) {
  return amounts.empty() ? unnamed : amounts[resource];
}

/// Own pods count in resources that max names.
inline std::int64_t counted(const quota_account& account, std::int64_t own) { return is_named(account.max) ? own : 0; }

inline bool has_weight(const quota_spec& spec) {
  return std::any_of(spec.weight.begin(), spec.weight.end(), [](std::int64_t one) { return amount_or_zero(one) > 0; });
}

inline result<void> check_totals(std::span<const std::int64_t> total) {
  for (std::size_t resource = 0; resource < total.size(); ++resource)
    if (!is_named(total[resource]))
      return error{errc::out_of_range, "cluster", "total[" + std::to_string(resource) + "]", "is not given"};
  return check_amounts(total, total.size(), "cluster", "total");
}

}  // namespace detail

GANGSCHED_INLINE result<elastic_quotas> elastic_quotas::make(queue_tree tree, std::span<const quota_spec> quotas,
                                                             std::span<const std::int64_t> total,
                                                             quota_options options) {
  const std::size_t count = tree.size(), resources = total.size();
  if (quotas.size() != count)
    return error{errc::malformed, "elastic quotas", "quotas",
                 std::to_string(quotas.size()) + " for a tree of " + std::to_string(count)};
  if (resources > most_resources)
    return error{
        errc::out_of_range, "elastic quotas", "total",
        "has " + std::to_string(resources) + " resources, at most " + std::to_string(most_resources) + " can be"};
  if (result<void> wrong = detail::check_totals(total); !wrong) return std::move(wrong).error();

  elastic_quotas made;
  made.tree_ = std::move(tree);
  made.options_ = options;
  made.total_.assign(total.begin(), total.end());
  made.demanded_.assign(resources, 0);
  made.accounts_.resize((count + 2) * resources);
  made.flags_.resize(count + 2);
  made.mins_.resize((count + 1) * resources);
  made.stale_.assign(count + 1, 1);
  std::size_t most_siblings = made.tree_.roots().size();
  std::uint32_t deepest = 0;
  for (queue_index quota = 0; quota < count; ++quota) {
    most_siblings = std::max(most_siblings, made.tree_.children(quota).size());
    deepest = std::max(deepest, made.tree_.depth(quota));
  }
  made.claims_.reserve(most_siblings);
  made.path_.reserve(std::size_t{deepest} + 1);
  for (queue_index quota = 0; quota < count; ++quota)
    if (result<void> wrong = made.set_quota(quota, quotas[quota]); !wrong) return std::move(wrong).error();
  return made;
}

GANGSCHED_INLINE result<elastic_quotas> elastic_quotas::with_tree(queue_tree tree,
                                                                  std::span<const quota_spec> quotas) const {
  result<elastic_quotas> made = make(std::move(tree), quotas, total_, options_);
  if (!made) return made;
  for (queue_index quota = 0; quota <= system_quota(); ++quota) {
    std::optional<queue_index> becomes;
    if (quota < tree_.size()) {
      becomes = made->tree_.find(tree_.name(quota));
    } else {
      becomes = made->default_quota() + (quota - default_quota());
      if (result<void> wrong = made->set_quota(*becomes, spec(quota)); !wrong) return std::move(wrong).error();
    }
    for (std::size_t resource = 0; resource < resources(); ++resource) {
      const quota_account& own = accounts(quota)[resource];
      if (own.own_request == 0 && own.own_used == 0) continue;
      if (!becomes) return error{errc::wrong_state, called(quota), "name", "is gone from the tree and has pods"};
      if (own.own_request + own.own_used > largest_amount - made->demanded_[resource])
        return error{errc::overflow, called(quota), "request[" + std::to_string(resource) + "]",
                     "the sum is too large"};
      made->add_own(*becomes, resource, own.own_request, own.own_used, own.own_non_preemptible_used);
    }
  }
  return made;
}

GANGSCHED_INLINE quota_spec elastic_quotas::spec(queue_index quota) const {
  quota_spec made{.lends = flags_[quota].lends, .scales_min = flags_[quota].scales_min};
  for (const quota_account& one : accounts(quota)) {
    made.min.push_back(one.min);
    made.max.push_back(one.max);
    made.weight.push_back(one.weight);
  }
  return made;
}

GANGSCHED_INLINE std::string elastic_quotas::called(queue_index quota) const {
  if (quota == default_quota()) return "the default quota";
  return quota == system_quota() ? std::string{"the system quota"} : "quota " + tree_.name(quota);
}

GANGSCHED_INLINE result<void> elastic_quotas::check(queue_index quota, std::span<const std::int64_t> request) const {
  if (quota > system_quota()) return error{errc::unknown, "quota " + std::to_string(quota), "", "there is none"};
  return check_request(request, resources(), [&] { return called(quota); });
}

GANGSCHED_INLINE queue_index elastic_quotas::level_of(queue_index quota) const {
  if (quota >= tree_.size()) return default_quota();
  const queue_index parent = tree_.parent(quota);
  return parent == no_queue ? default_quota() : parent;
}

GANGSCHED_INLINE void elastic_quotas::add_min(queue_index quota, std::size_t resource, std::int64_t sign) {
  const std::int64_t min = amount_or_zero(at(quota, resource).min);
  demanded_[resource] += sign * min;
  if (quota >= tree_.size()) return;
  sum_of_mins& sum = mins_[level_of(quota) * resources() + resource];
  (flags_[quota].scales_min ? sum.scalable : sum.fixed) += sign * min;
}

/// The quota's wanted grows by so much, or shrinks, and what follows from it for the quotas above.
GANGSCHED_INLINE void elastic_quotas::raise_request(queue_index quota, std::size_t resource, std::int64_t wanted) {
  while (true) {
    quota_account& account = at(quota, resource);
    account.wanted += wanted;
    const bool lends = flags_[quota].lends && !options_.guarantee_usage;
    account.request = lends ? account.wanted : std::max(account.wanted, amount_or_zero(account.min));
    const std::int64_t before = account.limited;
    account.limited = is_named(account.max) ? std::min(account.request, account.max) : account.request;
    wanted = account.limited - before;
    if (wanted == 0 || quota >= tree_.size()) return;
    stale_[level_of(quota)] = 1;
    quota = tree_.parent(quota);
    if (quota == no_queue) return;
  }
}

GANGSCHED_INLINE void elastic_quotas::raise_allocated(queue_index quota, std::size_t resource, std::int64_t allocated) {
  while (quota < tree_.size()) {
    quota_account& account = at(quota, resource);
    account.allocated += allocated;
    const std::int64_t before = account.guaranteed;
    account.guaranteed = std::max(amount_or_zero(account.min), account.allocated);
    allocated = account.guaranteed - before;
    if (allocated == 0) return;
    stale_[level_of(quota)] = 1;
    quota = tree_.parent(quota);
  }
}

GANGSCHED_INLINE void elastic_quotas::raise_used(queue_index quota, std::size_t resource, std::int64_t used,
                                                 std::int64_t non_preemptible) {
  if (options_.guarantee_usage) raise_allocated(quota, resource, used);
  if (quota >= tree_.size()) stale_[default_quota()] = 1;
  while (true) {
    quota_account& account = at(quota, resource);
    account.used += used;
    account.non_preemptible_used += non_preemptible;
    if (quota >= tree_.size() || tree_.parent(quota) == no_queue) return;
    quota = tree_.parent(quota);
  }
}

GANGSCHED_INLINE void elastic_quotas::add_own(queue_index quota, std::size_t resource, std::int64_t request,
                                              std::int64_t used, std::int64_t non_preemptible) {
  quota_account& account = at(quota, resource);
  account.own_request += request;
  account.own_used += used;
  account.own_non_preemptible_used += non_preemptible;
  demanded_[resource] += request + used;
  if (!is_named(account.max)) return;
  if (request != 0) raise_request(quota, resource, request);
  if (used != 0) raise_used(quota, resource, used, non_preemptible);
}

GANGSCHED_INLINE result<void> elastic_quotas::set_quota(queue_index quota, const quota_spec& spec) {
  if (quota > system_quota()) return error{errc::unknown, "quota " + std::to_string(quota), "", "there is none"};
  const std::string name = called(quota);
  constexpr std::int64_t any =
      std::numeric_limits<std::int64_t>::max();  // what is compared only, or summed in 128 bits
  if (result<void> wrong = check_amounts(spec.min, resources(), name, "min"); !wrong) return wrong;
  if (result<void> wrong = check_amounts(spec.max, resources(), name, "max", any); !wrong) return wrong;
  if (result<void> wrong = check_amounts(spec.weight, resources(), name, "weight", any); !wrong) return wrong;
  for (std::size_t resource = 0; resource < resources(); ++resource) {
    const std::int64_t others = demanded_[resource] - amount_or_zero(at(quota, resource).min);
    if (amount_or_zero(detail::amount_at(spec.min, resource)) > largest_amount - others)
      return error{errc::overflow, name, "min[" + std::to_string(resource) + "]", "the sum is too large"};
  }

  const std::vector<std::int64_t>& weight = detail::has_weight(spec) ? spec.weight : spec.max;
  for (std::size_t resource = 0; resource < resources(); ++resource) add_min(quota, resource, -1);
  flags_[quota] = {spec.lends, spec.scales_min};
  for (std::size_t resource = 0; resource < resources(); ++resource) {
    quota_account& account = at(quota, resource);
    const quota_account before = account;
    account.min = detail::amount_at(spec.min, resource);
    account.max = detail::amount_at(spec.max, resource);
    account.weight = amount_or_zero(detail::amount_at(weight, resource));
    add_min(quota, resource, 1);
    const auto change = [&](std::int64_t own) { return detail::counted(account, own) - detail::counted(before, own); };
    raise_request(quota, resource, change(before.own_request));
    raise_used(quota, resource, change(before.own_used), change(before.own_non_preemptible_used));
  }
  stale_[level_of(quota)] = 1;
  return {};
}

GANGSCHED_INLINE result<void> elastic_quotas::set_total(std::span<const std::int64_t> total) {
  if (total.size() != resources())
    return error{errc::malformed, "cluster", "total",
                 "has " + std::to_string(total.size()) + " amounts for " + std::to_string(resources()) + " resources"};
  if (result<void> wrong = detail::check_totals(total); !wrong) return wrong;
  std::copy(total.begin(), total.end(), total_.begin());
  stale_[default_quota()] = 1;
  return {};
}

GANGSCHED_INLINE result<void> elastic_quotas::change(queue_index quota, const quota_pod& pod, part of,
                                                     std::int64_t sign) {
  if (result<void> wrong = check(quota, pod.request); !wrong) return wrong;
  for (std::size_t resource = 0; resource < resources(); ++resource) {
    const std::int64_t amount = amount_or_zero(pod.request[resource]);
    const quota_account& account = at(quota, resource);
    const auto wrong = [&](errc code, std::string reason) {
      return error{code, called(quota), "request[" + std::to_string(resource) + "]", std::move(reason)};
    };
    if (sign > 0 && amount > largest_amount - demanded_[resource]) return wrong(errc::overflow, "the sum is too large");
    if (sign > 0) continue;
    const std::int64_t has = of == part::request ? account.own_request
                             : pod.preemptible   ? account.own_used - account.own_non_preemptible_used
                                                 : account.own_non_preemptible_used;
    if (amount > has) return wrong(errc::wrong_state, "the quota has only " + std::to_string(has) + " of that kind");
  }
  for (std::size_t resource = 0; resource < resources(); ++resource) {
    const std::int64_t amount = sign * amount_or_zero(pod.request[resource]);
    if (of == part::request) {
      add_own(quota, resource, amount, 0, 0);
    } else {
      add_own(quota, resource, 0, amount, pod.preemptible ? 0 : amount);
    }
  }
  return {};
}

GANGSCHED_INLINE result<void> elastic_quotas::add_pod(queue_index quota, const quota_pod& pod) {
  return change(quota, pod, part::request, 1);
}
GANGSCHED_INLINE result<void> elastic_quotas::assign_pod(queue_index quota, const quota_pod& pod) {
  return change(quota, pod, part::used, 1);
}
GANGSCHED_INLINE result<void> elastic_quotas::unassign_pod(queue_index quota, const quota_pod& pod) {
  return change(quota, pod, part::used, -1);
}
GANGSCHED_INLINE result<void> elastic_quotas::remove_pod(queue_index quota, const quota_pod& pod) {
  return change(quota, pod, part::request, -1);
}

GANGSCHED_INLINE std::int64_t elastic_quotas::shared(std::size_t resource) const {
  return total_[resource] - accounts(default_quota())[resource].used - accounts(system_quota())[resource].used;
}

GANGSCHED_INLINE void elastic_quotas::share(queue_index level) {
  const std::span<const queue_index> members = level == default_quota() ? tree_.roots() : tree_.children(level);
  for (std::size_t resource = 0; resource < resources(); ++resource) {
    const std::int64_t total = level == default_quota() ? shared(resource) : at(level, resource).runtime;
    const sum_of_mins& mins = mins_[level * resources() + resource];
    claims_.clear();
    for (const queue_index quota : members) {
      quota_account& account = at(quota, resource);
      const std::int64_t min = amount_or_zero(account.min);
      const bool scales = options_.scale_min && flags_[quota].scales_min;
      account.scaled_min = scales ? scaled_min(min, total, mins.scalable, mins.fixed) : min;
      claims_.push_back({.floor = std::max(account.scaled_min, account.guaranteed),
                         .request = account.limited,
                         .weight = account.weight,
                         .lends = flags_[quota].lends && !options_.guarantee_usage,
                         .order = tree_.name_rank(quota)});
    }
    share_runtime(total, claims_, options_.rounding);
    for (std::size_t i = 0; i < members.size(); ++i) {
      quota_account& account = at(members[i], resource);
      if (account.runtime == claims_[i].runtime) continue;
      account.runtime = claims_[i].runtime;
      stale_[members[i]] = 1;
    }
  }
  stale_[level] = 0;
}

GANGSCHED_INLINE void elastic_quotas::refresh(queue_index quota) {
  if (quota >= tree_.size()) return;
  path_.clear();
  for (queue_index above = tree_.parent(quota); above != no_queue; above = tree_.parent(above)) path_.push_back(above);
  if (stale_[default_quota()] != 0) share(default_quota());
  for (auto level = path_.rbegin(); level != path_.rend(); ++level)
    if (stale_[*level] != 0) share(*level);
}

GANGSCHED_INLINE void elastic_quotas::refresh() {
  if (stale_[default_quota()] != 0) share(default_quota());
  for (const queue_index level : tree_.top_down())
    if (stale_[level] != 0) share(level);
}

GANGSCHED_INLINE bool elastic_quotas::is_over_runtime(queue_index quota) {
  refresh(quota);
  const std::span<const quota_account> all = accounts(quota);
  return quota < tree_.size() && std::any_of(all.begin(), all.end(), [](const quota_account& one) {
           return is_named(one.max) && one.used > one.runtime;
         });
}

/// Where @p quota would be over its limit with what the pod counts for in the quota @p counts_as; @p asked_for: only in what it asks for.
GANGSCHED_INLINE std::uint64_t elastic_quotas::over_limit(queue_index quota, const quota_pod& pod,
                                                          queue_index counts_as, bool asked_for) const {
  if (options_.runtime && quota >= tree_.size()) return 0;
  std::uint64_t over = 0;
  for (std::size_t resource = 0; resource < resources(); ++resource) {
    const quota_account& account = accounts(quota)[resource];
    const bool asks = is_named(pod.request[resource]) && is_named(accounts(counts_as)[resource].max);
    if (!is_named(account.max) || (asked_for && !asks)) continue;
    const std::int64_t used = account.used + (asks ? pod.request[resource] : 0);
    if (used > (options_.runtime ? account.runtime : account.max)) over |= std::uint64_t{1} << resource;
  }
  return over;
}

GANGSCHED_INLINE result<quota_verdict> elastic_quotas::admit(queue_index quota, const quota_pod& pod) {
  if (result<void> wrong = check(quota, pod.request); !wrong) return std::move(wrong).error();
  if (options_.runtime) refresh(quota);
  if (const std::uint64_t over = over_limit(quota, pod, quota, false); over != 0)
    return quota_verdict{quota_verdict::reason::over_quota, quota, over};
  if (!pod.preemptible) {
    std::uint64_t over = 0;
    for (std::size_t resource = 0; resource < resources(); ++resource) {
      const quota_account& account = accounts(quota)[resource];
      const std::int64_t asks = detail::counted(account, amount_or_zero(pod.request[resource]));
      if (is_named(account.min) && account.non_preemptible_used + asks > account.min)
        over |= std::uint64_t{1} << resource;
    }
    if (over != 0) return quota_verdict{quota_verdict::reason::non_preemptible, quota, over};
  }
  if (!options_.check_parents || quota >= tree_.size()) return quota_verdict{};
  for (queue_index above = tree_.parent(quota); above != no_queue; above = tree_.parent(above))
    if (const std::uint64_t over = over_limit(above, pod, quota, true); over != 0)
      return quota_verdict{quota_verdict::reason::over_ancestor, above, over};
  return quota_verdict{};
}

}  // namespace gangsched::inline GANGSCHED_ABI::queues::koordinator
