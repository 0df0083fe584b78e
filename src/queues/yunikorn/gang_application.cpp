#include "gangsched/queues/yunikorn/gang_application.hpp"

#include <algorithm>
#include <utility>

#include "gangsched/core/make_room.hpp"

namespace gangsched::inline GANGSCHED_ABI::queues::yunikorn {

GANGSCHED_INLINE gang_application::gang_application(node_book& nodes, application_index which, terms with)
    : nodes_{&nodes}, which_{which}, terms_{std::move(with)}, counts_(terms_.groups.size()) {}

GANGSCHED_INLINE std::size_t gang_application::find_group(std::string_view name) const {
  const auto found =
      std::find_if(terms_.groups.begin(), terms_.groups.end(), [&](const task_group& one) { return one.name == name; });
  return found == terms_.groups.end() ? no_group : static_cast<std::size_t>(found - terms_.groups.begin());
}

GANGSCHED_INLINE gang_application::counts gang_application::of(std::string_view group) const {
  const std::size_t at = find_group(group);
  return at == no_group ? counts{} : counts_[at];
}

GANGSCHED_INLINE bool gang_application::may_replace(std::size_t group) const {
  const counts& its = counts_[group];
  return its.total > its.replaced + its.timed_out;
}

GANGSCHED_INLINE resources gang_application::held_by_placeholders() const {
  resources made;
  for (const placeholder& one : placeholders_)
    if (one.has_node) made += nodes_->queues().of_ask(one.which).spec.request;
  return made;
}
GANGSCHED_INLINE resources gang_application::held() const {
  return minus_where_set(nodes_->queues().of(which_).allocated, held_by_placeholders());
}

GANGSCHED_INLINE result<void> gang_application::check_application(application_index of) const {
  if (of == which_) return {};
  return error{errc::wrong_state, "application " + std::to_string(which_), "application",
               "the ask is of application " + std::to_string(of)};
}

GANGSCHED_INLINE result<ask_index> gang_application::add_placeholder(const ask_spec& spec, std::string_view group) {
  if (auto its = check_application(spec.application); !its) return its.error();
  const std::size_t at = find_group(group);
  if (at == no_group) return error{errc::unknown, "task group " + std::string{group}, "", "there is none"};
  gangsched::detail::make_room(placeholders_);
  auto made = nodes_->queues().add_ask(spec);
  if (!made) return made;
  placeholders_.push_back({*made, at});
  ++counts_[at].total;
  hold_real();
  return made;
}

GANGSCHED_INLINE result<ask_index> gang_application::add(const ask_spec& spec, std::string_view group) {
  if (auto its = check_application(spec.application); !its) return its.error();
  gangsched::detail::make_room(waiting_);
  auto made = nodes_->queues().add_ask(spec);
  if (!made) return made;
  if (const std::size_t at = find_group(group); at != no_group) waiting_.push_back({*made, at});
  hold_real();
  return made;
}

GANGSCHED_INLINE result<void> gang_application::remove(ask_index which) {
  if (!nodes_->queues().waits(which))
    return error{errc::unknown, "waiting ask " + std::to_string(which), "", "there is none"};
  if (auto its = check_application(nodes_->queues().of_ask(which).spec.application); !its) return its;
  for (std::size_t at = 0; at < placeholders_.size(); ++at) {
    placeholder& one = placeholders_[at];
    if (one.which == which) return gone(at, false), result<void>{};
    if (one.by && one.by->real == which) give_up_place(one);
  }
  std::erase_if(waiting_, [&](const real& one) { return one.which == which; });
  return nodes_->remove_ask(which);
}

/// The placeholder gets no replacement any more. It still goes.
GANGSCHED_INLINE void gang_application::give_up_place(placeholder& one) {
  const partition& queues = nodes_->queues();
  if (one.by->node != queues.of_ask(one.which).node)
    nodes_->give_back(one.by->node, queues.of_ask(one.by->real).spec.request);
  one.by.reset();
}

/// Real asks are passed over as long as there is a placeholder that they may get.
GANGSCHED_INLINE void gang_application::hold_real() {
  for (const real& one : waiting_) {
    const bool held = may_replace(one.group);
    if (held && !nodes_->queues().of_ask(one.which).held) nodes_->unreserve(one.which);
    nodes_->queues().hold(one.which, held).value();
  }
}

GANGSCHED_INLINE void gang_application::placed(ask_index which, instant now) {
  std::erase_if(waiting_, [&](const real& one) { return one.which == which; });
  const auto its = std::find_if(placeholders_.begin(), placeholders_.end(),
                                [&](const placeholder& one) { return one.which == which; });
  if (its == placeholders_.end()) return;
  if (!its->has_node) ++placed_;
  its->has_node = true;
  if (!deadline_ && phase_ == gang_phase::accepted && terms_.timeout > instant::zero())
    deadline_ = later_by(now, terms_.timeout);
  std::uint64_t asked = 0;
  for (const task_group& one : terms_.groups) asked += one.members;
  if (phase_ == gang_phase::accepted && placed_ >= asked) phase_ = gang_phase::running;
}

GANGSCHED_INLINE bool gang_application::is_replacing(ask_index which) const {
  return std::any_of(placeholders_.begin(), placeholders_.end(),
                     [&](const placeholder& one) { return one.by && one.by->real == which; });
}

/// Whether the placeholder can be replaced: it has a node, and is neither released nor being preempted.
GANGSCHED_INLINE bool gang_application::can_take(const placeholder& one) const {
  return one.has_node && !one.released && nodes_->queues().of_ask(one.which).preempted == 0;
}

/// @pre released_ has room.
GANGSCHED_INLINE void gang_application::release(placeholder& one) {
  released_.push_back(one.which);
  one.released = true;
}

GANGSCHED_INLINE std::optional<replacement> gang_application::try_replace() {
  partition& queues = nodes_->queues();
  std::vector<ask_index> order;  // by priority and age
  for (const ask_index one : queues.of(which_).pending)
    if (std::any_of(waiting_.begin(), waiting_.end(), [&](const real& its) { return its.which == one; }) &&
        !is_replacing(one))
      order.push_back(one);
  // First what may throw.
  released_.reserve(placeholders_.size());
  std::vector<bool> small(placeholders_.size());
  placeholder* chosen = nullptr;
  replacement made;
  for (auto which = order.begin(); which != order.end() && made.node == none; ++which) {
    const std::size_t group =
        std::find_if(waiting_.begin(), waiting_.end(), [&](const real& its) { return its.which == *which; })->group;
    for (std::size_t at = 0; at < placeholders_.size() && made.node == none; ++at) {
      placeholder& one = placeholders_[at];
      if (one.group != group || small[at] || !can_take(one)) continue;
      if (!at_least(queues.of_ask(one.which).spec.request, queues.of_ask(*which).spec.request)) {
        small[at] = &one != chosen;  // one that was chosen for a smaller ask is kept for that ask
        continue;
      }
      const node_number node = queues.of_ask(one.which).node;
      const bool is_usable = nodes_->nodes()[node].usable;
      if (chosen != nullptr && !is_usable) continue;
      chosen = &one;
      made = {*which, one.which, is_usable ? node : none};
    }
  }
  const bool moves = chosen != nullptr && made.node == none;
  if (moves) made.node = nodes_->find_room(made.real);

  for (std::size_t at = 0; at < placeholders_.size(); ++at)
    if (small[at]) release(placeholders_[at]);
  if (made.node == none) return std::nullopt;
  if (moves) nodes_->take(made.node, queues.of_ask(made.real).spec.request);  // it has both until the host confirms
  release(*chosen);
  chosen->by = made;
  return made;
}

GANGSCHED_INLINE std::vector<ask_index> gang_application::take_released() { return std::exchange(released_, {}); }

/// The real ask becomes the allocation; its queue, user and node are charged that.
GANGSCHED_INLINE void gang_application::swap(const placeholder& one) {
  partition& queues = nodes_->queues();
  const node_number from = queues.of_ask(one.which).node, to = one.by->node;
  const resources request = queues.of_ask(one.by->real).spec.request;
  if (from == to) nodes_->take(to, request);
  queues.allocate(one.by->real, to).value();  // first, so that the application is never without anything
  std::erase_if(waiting_, [&](const real& its) { return its.which == one.by->real; });
}

GANGSCHED_INLINE void gang_application::gone(std::size_t at, bool replaced) {
  const placeholder one = placeholders_[at];
  if (one.has_node && !one.released) --placed_;
  if (replaced) swap(one);
  placeholders_.erase(placeholders_.begin() + static_cast<std::ptrdiff_t>(at));
  std::erase(released_, one.which);
  (replaced ? counts_[one.group].replaced : counts_[one.group].timed_out) += 1;
  (one.has_node ? nodes_->release(one.which) : nodes_->remove_ask(one.which)).value();
  hold_real();
  if (std::any_of(placeholders_.begin(), placeholders_.end(), [](const placeholder& its) { return its.has_node; }))
    return;
  deadline_.reset();
  if (phase_ == gang_phase::resuming) phase_ = gang_phase::running;
}

GANGSCHED_INLINE result<void> gang_application::confirm(ask_index placeholder_ask) {
  const auto its = std::find_if(placeholders_.begin(), placeholders_.end(),
                                [&](const placeholder& one) { return one.which == placeholder_ask && one.has_node; });
  if (its == placeholders_.end())
    return error{errc::unknown, "placeholder " + std::to_string(placeholder_ask), "", "there is none on a node"};
  gone(static_cast<std::size_t>(its - placeholders_.begin()), its->by.has_value());
  return {};
}

GANGSCHED_INLINE void gang_application::expire(instant now) {
  if (!deadline_ || now < *deadline_) return;
  released_.reserve(placeholders_.size());
  deadline_.reset();
  for (placeholder& one : placeholders_)
    if (can_take(one)) release(one);
  if (phase_ == gang_phase::running) return;
  phase_ = terms_.style == gang_style::hard ? gang_phase::failing : gang_phase::resuming;
  for (std::size_t at = placeholders_.size(); at-- > 0;)
    if (!placeholders_[at].has_node) gone(at, false);
  if (phase_ != gang_phase::failing) return;
  std::erase_if(waiting_, [&](const real& one) { return !is_replacing(one.which); });
  const std::vector<ask_index>& pending = nodes_->queues().of(which_).pending;
  for (std::size_t at = pending.size(); at-- > 0;)
    if (const ask_index one = pending[at]; !is_replacing(one)) nodes_->remove_ask(one).value();
}

GANGSCHED_INLINE void gang_application::node_lost(node_number node) {
  partition& queues = nodes_->queues();
  const std::vector<ask_index> had = queues.of(which_).allocations;
  nodes_->set_usable(node, false);
  for (placeholder& one : placeholders_)
    if (one.by && one.by->node == node) give_up_place(one);  // the ask that was to replace it waits again
  for (std::size_t at = placeholders_.size(); at-- > 0;)
    if (placeholders_[at].has_node && queues.of_ask(placeholders_[at].which).node == node)
      gone(at, placeholders_[at].by.has_value());
  for (const ask_index one : had)
    if (queues.of_ask(one).node == node) nodes_->release(one).value();
}

}  // namespace gangsched::inline GANGSCHED_ABI::queues::yunikorn
