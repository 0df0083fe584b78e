#include "gangsched/queues/kueue/local_usage.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "gangsched/core/make_room.hpp"

namespace gangsched::inline GANGSCHED_ABI::queues::kueue {

GANGSCHED_INLINE local_usage::local_usage(const configuration& of, local_usage_options options)
    : of_(&of), options_(std::move(options)), weights_(of.resource_count(), 1), by_name_(of.resource_count()) {
  options_.half_life = std::max(options_.half_life, instant{});
  options_.sampling_interval = std::max(options_.sampling_interval, instant{});
  for (const auto& [name, weight] : options_.resource_weights)
    if (const resource_index which = of.find_resource(name); which != none)
      weights_[which] = std::isfinite(weight) ? weight : 0;
  std::iota(by_name_.begin(), by_name_.end(), resource_index{0});
  std::sort(by_name_.begin(), by_name_.end(),
            [&](resource_index a, resource_index b) { return of.resource(a) < of.resource(b); });
}

GANGSCHED_INLINE std::optional<local_index> local_usage::find(queue_index queue, std::string_view name) const {
  const auto found = numbers_.find(std::pair{queue, name});
  return found == numbers_.end() ? std::nullopt : std::optional{found->second};
}

GANGSCHED_INLINE local_index local_usage::find_or_add(queue_index queue, std::string_view name) {
  if (const auto found = find(queue, name)) return *found;
  std::string own{name};
  if (free_.empty()) {
    const std::size_t amounts = (locals_.size() + 1) * resources();
    if (consumed_.capacity() < amounts) consumed_.reserve(2 * amounts);
    if (held_.capacity() < amounts) held_.reserve(2 * amounts);
    if (free_.capacity() <= locals_.size()) free_.reserve(2 * locals_.size() + 8);  // forgetting needs no memory
    gangsched::detail::make_room(locals_);
    const auto local = static_cast<local_index>(locals_.size());
    numbers_.emplace(std::pair{queue, std::string{name}}, local);
    locals_.emplace_back();
    free_.push_back(local);
    consumed_.resize(amounts, 0);
    held_.resize(amounts, 0);
  } else {
    numbers_.emplace(std::pair{queue, std::string{name}}, free_.back());
  }
  const local_index local = free_.back();
  free_.pop_back();
  locals_[local] = {.queue = queue, .name = std::move(own)};
  rate(local);
  next_sample_ = instant::min();  // it is forgotten at the next sample unless somebody keeps it
  return local;
}

GANGSCHED_INLINE bool local_usage::is_idle(local_index local) const noexcept {
  if (locals_[local].weight != 1) return false;
  for (std::size_t at = local * resources(); at < (local + std::size_t{1}) * resources(); ++at)
    if (consumed_[at] != 0 || held_[at] != 0) return false;
  return true;
}

GANGSCHED_INLINE void local_usage::forget_if_idle(local_index local) noexcept {
  state& one = locals_[local];
  if (one.users != 0 || !is_idle(local)) return;
  numbers_.erase(numbers_.find(std::pair{one.queue, std::string_view{one.name}}));
  one.queue = no_queue;
  free_.push_back(local);
}

GANGSCHED_INLINE void local_usage::let_go(local_index local) noexcept {
  if (--locals_[local].users == 0) forget_if_idle(local);
}

GANGSCHED_INLINE result<local_index> local_usage::set(const local_queue_spec& spec) {
  const std::string object = "local queue " + spec.name;
  const auto queue = of_->find_queue(spec.queue);
  if (!queue) return error{errc::unknown, object, "queue", "there is no queue " + spec.queue};
  if (!std::isfinite(spec.weight)) return error{errc::out_of_range, object, "weight", "is no number"};
  for (const auto& [name, amount] : spec.consumed)
    if (!std::isfinite(amount) || amount < 0)
      return error{errc::out_of_range, object, "consumed " + name, "has to be finite and at least 0"};
  const local_index local = find_or_add(*queue, spec.name);
  locals_[local].weight = spec.weight;
  next_sample_ = instant::min();  // its time may begin
  for (const auto& [name, amount] : spec.consumed)
    if (const resource_index which = of_->find_resource(name); which != none)
      consumed_[local * resources() + which] = amount;
  rate(local);
  return local;
}

/// How much of a sample is what is used now.
GANGSCHED_INLINE double local_usage::part(instant half_life, instant elapsed) noexcept {
  if (half_life.count() <= 0 || elapsed.count() <= 0) return 0;
  return 1 - std::pow(0.5, static_cast<double>(elapsed.count()) / static_cast<double>(half_life.count()));
}

GANGSCHED_INLINE bool local_usage::is_due(local_index local, instant now) noexcept {
  std::optional<instant>& last = locals_[local].sampled_at;
  if (!last && is_idle(local)) return false;
  if (!last) last = now;
  return now >= later_by(*last, options_.sampling_interval);
}

GANGSCHED_INLINE void local_usage::decay(local_index local, instant now) noexcept {
  state& one = locals_[local];
  const double now_counts = part(options_.half_life, later_by(now, -one.sampled_at.value_or(now)));
  for (std::size_t at = local * resources(); at < (local + std::size_t{1}) * resources(); ++at) {
    consumed_[at] = consumed_[at] * (1 - now_counts) + held_[at] * now_counts;
    if (held_[at] == 0) consumed_[at] = nothing_if_small(consumed_[at]);
  }
  one.sampled_at = now;
  rate(local);
}

GANGSCHED_INLINE void local_usage::rate(local_index local) noexcept {
  state& one = locals_[local];
  double sum = 0;
  for (const resource_index which : by_name_) sum += weights_[which] * consumed(local, which);
  one.score = one.weight <= 0 ? std::numeric_limits<double>::infinity() : sum / one.weight;
}

GANGSCHED_INLINE void local_usage::charge(local_index local, resource_index of, std::int64_t amount) noexcept {
  const double counts = part(options_.half_life, options_.sampling_interval);
  consumed_[local * resources() + of] += static_cast<double>(amount) * counts;
  rate(local);
}

GANGSCHED_INLINE void local_usage::hold(local_index local, std::span<const fr_amount> usage) noexcept {
  if (!locals_[local].sampled_at) next_sample_ = instant::min();
  for (const fr_amount& one : usage)
    held_[local * resources() + of_->resource_of(one.of)] += static_cast<double>(one.amount);
}

GANGSCHED_INLINE void local_usage::release(local_index local, std::span<const fr_amount> usage) noexcept {
  for (const fr_amount& one : usage)
    held_[local * resources() + of_->resource_of(one.of)] -= static_cast<double>(one.amount);
}

}  // namespace gangsched::inline GANGSCHED_ABI::queues::kueue
