#include "gangsched/queues/fair_share/fair_shares.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace gangsched::inline GANGSCHED_ABI::queues::fair_share {
namespace detail {

inline constexpr std::int64_t most_weight = std::int64_t{1} << 40;
inline constexpr std::int64_t no_limit = std::numeric_limits<std::int64_t>::max();

inline std::int64_t named_or(const std::vector<std::int64_t>& amounts, std::size_t resource, std::int64_t otherwise) {
  return resource < amounts.size() && is_named(amounts[resource]) ? amounts[resource] : otherwise;
}
inline std::int64_t sum_below(std::int64_t a, std::int64_t b) { return a > no_limit - b ? no_limit : a + b; }

}  // namespace detail

GANGSCHED_INLINE result<void> fair_shares::check(const queue_tree& tree, std::size_t resources,
                                                 std::span<const queue_terms> terms) {
  if (terms.size() != tree.size())
    return error{errc::malformed, "fair shares", "terms",
                 std::to_string(terms.size()) + " for a tree of " + std::to_string(tree.size())};
  if (resources > most_resources)
    return error{errc::malformed, "fair shares", "resources", "more than " + std::to_string(most_resources)};
  std::vector<std::int64_t> guaranteed(resources, 0);
  for (queue_index queue = 0; queue < tree.size(); ++queue) {
    const queue_terms& one = terms[queue];
    const std::string object = "queue " + tree.name(queue);
    const std::pair<const char*, const std::vector<std::int64_t>*> lists[] = {{"guaranteed", &one.guaranteed},
                                                                              {"limit", &one.limit},
                                                                              {"borrowing_limit", &one.borrowing_limit},
                                                                              {"lending_limit", &one.lending_limit}};
    for (const auto& [field, amounts] : lists) {
      if (result<void> wrong = check_amounts(*amounts, resources, object, field); !wrong) return wrong;
    }
    if (result<void> wrong = check_amounts(one.weights, resources, object, "weights", detail::most_weight); !wrong)
      return wrong;
    if (one.weight < 0 || one.weight > detail::most_weight)
      return error{errc::out_of_range, object, "weight", std::to_string(one.weight) + " is not in 0 … 2^40"};
    if (one.most_running < 0) return error{errc::out_of_range, object, "most_running", "is negative"};
    for (std::size_t i = 0; i < resources; ++i) {
      const std::int64_t own = detail::named_or(one.guaranteed, i, 0);
      if (own > detail::named_or(one.limit, i, detail::no_limit))
        return error{errc::malformed, object, "guaranteed", "is above the limit"};
      if (own > largest_amount - guaranteed[i])
        return error{errc::overflow, object, "guaranteed", "the sum is above 2^61"};
      guaranteed[i] += own;
    }
  }
  return {};
}

GANGSCHED_INLINE void fair_shares::take_terms(std::size_t resource, std::span<const queue_terms> terms) {
  const std::span<const queue_index> top_down = tree_.top_down();
  std::for_each(top_down.rbegin(), top_down.rend(), [&](queue_index queue) {
    const queue_terms& said = terms[queue];
    part& one = all_[at(
        queue, resource)];  // what its children made of it so far: the sums of their guarantees, and of what is kept
    const std::int64_t own = detail::named_or(said.guaranteed, resource, 0);
    one.guaranteed = std::max(one.guaranteed, own);
    one.own_kept = own - std::min(own, detail::named_or(said.lending_limit, resource, own));
    one.kept = std::max(one.kept, one.own_kept);
    one.most =
        std::min(detail::named_or(said.limit, resource, detail::no_limit),
                 detail::sum_below(one.guaranteed, detail::named_or(said.borrowing_limit, resource, detail::no_limit)));
    one.weight = detail::named_or(said.weights, resource, said.weight);
    bound(one);
    if (tree_.parent(queue) == no_queue) return;
    part& above = all_[at(tree_.parent(queue), resource)];
    above.guaranteed += one.guaranteed;
    above.kept += one.kept;
    above.lows_below += one.low;
    above.requested += one.high;
  });
}

GANGSCHED_INLINE result<fair_shares> fair_shares::make(queue_tree tree, std::size_t resources,
                                                       std::span<const queue_terms> terms) {
  if (result<void> wrong = check(tree, resources, terms); !wrong) return std::move(wrong).error();
  fair_shares made;
  made.tree_ = std::move(tree);
  made.resources_ = resources;
  const std::size_t queues = made.tree_.size();
  for (const queue_index queue : made.tree_.top_down())
    if (!made.tree_.is_leaf(queue)) made.inner_.push_back(queue);
  made.all_.resize(queues * resources);
  made.capacity_.resize(resources, 0);
  made.requested_in_all_.resize(resources, 0);
  made.stale_.resize(resources, 1);
  made.changed_.resize(resources * (queues + 1), 1);
  made.highest_below_.resize(queues + 1, std::numeric_limits<std::int32_t>::min());
  for (queue_index queue = 0; queue < queues; ++queue) {
    made.weight_.push_back(terms[queue].weight);
    made.priority_.push_back(terms[queue].priority);
    made.admits_.push_back(terms[queue].admits ? 1 : 0);
    made.most_running_.push_back(terms[queue].most_running);
    std::int32_t& highest = made.highest_below_[made.level_of(queue)];
    highest = std::max(highest, terms[queue].priority);
  }
  for (std::size_t i = 0; i < resources; ++i) made.take_terms(i, terms);
  made.claims_.reserve(queues);
  made.filled_.reserve(queues);
  made.divide();
  return made;
}

GANGSCHED_INLINE void fair_shares::bound(part& one) {
  const std::int64_t guaranteed = std::max(one.guaranteed, one.lows_below);
  one.low = std::min(one.most, std::max(std::min(guaranteed, one.requested), one.kept));
  one.high = one.weight == 0 ? one.low : std::max(one.low, std::min(one.requested, one.most));
}

GANGSCHED_INLINE void fair_shares::bound_up(queue_index queue, std::size_t resource) {
  stale_[resource] = 1;
  while (true) {
    part& one = all_[at(queue, resource)];
    const std::int64_t low = one.low, high = one.high;
    bound(one);
    if (one.low == low && one.high == high) return;
    changed_[resource * (tree_.size() + 1) + level_of(queue)] = 1;
    const queue_index parent = tree_.parent(queue);
    if (parent == no_queue) return;
    part& above = all_[at(parent, resource)];
    above.lows_below += one.low - low;
    above.requested += one.high - high;
    queue = parent;
  }
}

GANGSCHED_INLINE result<void> fair_shares::set_capacity(std::size_t resource, std::int64_t amount) {
  if (resource >= resources_)
    return error{errc::unknown, "fair shares", "resource", "there is no resource " + std::to_string(resource)};
  if (amount < 0 || amount > largest_amount)
    return error{errc::out_of_range, "fair shares", "capacity", std::to_string(amount) + " is not in 0 … 2^61"};
  if (capacity_[resource] == amount) return {};
  capacity_[resource] = amount;
  stale_[resource] = 1;
  changed_[resource * (tree_.size() + 1) + tree_.size()] = 1;
  return {};
}

GANGSCHED_INLINE result<void> fair_shares::set_requested(queue_index queue, std::size_t resource, std::int64_t amount) {
  if (queue >= tree_.size())
    return error{errc::unknown, "fair shares", "queue", "there is no queue " + std::to_string(queue)};
  const auto wrong = [&](errc code, std::string reason) {
    return error{code, "queue " + tree_.name(queue), "requested", std::move(reason)};
  };
  if (resource >= resources_) return wrong(errc::unknown, "there is no resource " + std::to_string(resource));
  if (!tree_.is_leaf(queue)) return wrong(errc::malformed, "it has children, whose requests are its own");
  if (amount < 0 || amount > largest_amount)
    return wrong(errc::out_of_range, std::to_string(amount) + " is not in 0 … 2^61");
  part& one = all_[at(queue, resource)];
  const std::int64_t others = requested_in_all_[resource] - one.requested;
  if (amount > largest_amount - others) return wrong(errc::overflow, "the sum is above 2^61");
  if (amount == one.requested) return {};
  requested_in_all_[resource] = others + amount;
  one.requested = amount;
  bound_up(queue, resource);
  return {};
}

GANGSCHED_INLINE void fair_shares::divide_level(std::size_t resource, std::int64_t total,
                                                std::span<const queue_index> members) {
  std::int64_t lows = 0;
  for (const queue_index queue : members) lows += all_[at(queue, resource)].low;
  const bool shrunk = lows > total;
  claims_.clear();
  for (const queue_index queue : members) {
    const part& one = all_[at(queue, resource)];
    claims_.push_back(shrunk ? fill_claim{.request = one.low, .weight = one.low}
                             : fill_claim{.request = one.high - one.low, .weight = one.weight});
  }
  filled_.assign(members.size(), 0);
  fill_.divide(shrunk ? total : total - lows, claims_, filled_).value();  // in range: their sums were checked
  for (std::size_t i = 0; i < members.size(); ++i) {
    part& one = all_[at(members[i], resource)];
    const std::int64_t due = filled_[i] + (shrunk ? 0 : one.low);
    if (due != one.due) changed_[resource * (tree_.size() + 1) + members[i]] = 1;
    one.due = due;
  }
}

GANGSCHED_INLINE void fair_shares::divide() {
  for (std::size_t resource = 0; resource < resources_; ++resource) {
    if (stale_[resource] == 0) continue;
    stale_[resource] = 0;
    const std::span<unsigned char> changed =
        std::span{changed_}.subspan(resource * (tree_.size() + 1), tree_.size() + 1);
    if (std::exchange(changed[tree_.size()], 0) != 0) divide_level(resource, capacity_[resource], tree_.roots());
    for (const queue_index queue : inner_) {
      if (std::exchange(changed[queue], 0) != 0)
        divide_level(resource, all_[at(queue, resource)].due, tree_.children(queue));
    }
  }
}

}  // namespace gangsched::inline GANGSCHED_ABI::queues::fair_share
