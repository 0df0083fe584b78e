#include "gangsched/queues/yunikorn/gang_application.hpp"

#include <algorithm>
#include <utility>

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

GANGSCHED_INLINE result<ask_index> gang_application::add_placeholder(const ask_spec& spec, std::string_view group) {
  const std::size_t at = find_group(group);
  if (at == no_group) return error{errc::unknown, "task group " + std::string{group}, "", "there is none"};
  auto made = nodes_->queues().add_ask(spec);
  if (!made) return made;
  placeholders_.push_back({*made, at});
  ++counts_[at].total;
  hold_real();
  return made;
}

GANGSCHED_INLINE result<ask_index> gang_application::add(const ask_spec& spec, std::string_view group) {
  auto made = nodes_->queues().add_ask(spec);
  if (!made) return made;
  if (const std::size_t at = find_group(group); at != no_group) waiting_.push_back({*made, at});
  hold_real();
  return made;
}

/// Real asks are passed over as long as there is a placeholder that they may get.
GANGSCHED_INLINE void gang_application::hold_real() {
  for (const real& one : waiting_) nodes_->queues().hold(one.which, may_replace(one.group)).value();
}

GANGSCHED_INLINE void gang_application::placed(ask_index which, instant now) {
  std::erase_if(waiting_, [&](const real& one) { return one.which == which; });
  const auto its = std::find_if(placeholders_.begin(), placeholders_.end(),
                                [&](const placeholder& one) { return one.which == which; });
  if (its == placeholders_.end()) return;
  its->has_node = true;
  if (!deadline_ && phase_ == gang_phase::accepted && terms_.timeout > instant::zero())
    deadline_ = later_by(now, terms_.timeout);
  std::uint64_t asked = 0, have = 0;
  for (const task_group& one : terms_.groups) asked += one.members;
  for (const placeholder& one : placeholders_) have += one.has_node ? 1 : 0;
  if (phase_ == gang_phase::accepted && have >= asked) phase_ = gang_phase::running;
}

GANGSCHED_INLINE bool gang_application::is_replacing(ask_index which) const {
  return std::any_of(placeholders_.begin(), placeholders_.end(),
                     [&](const placeholder& one) { return one.by && one.by->real == which; });
}

/// Neither on its way out nor somebody's already.
GANGSCHED_INLINE bool gang_application::can_take(const placeholder& one) const {
  return one.has_node && !one.released && nodes_->queues().of_ask(one.which).preempted == 0;
}

GANGSCHED_INLINE void gang_application::release(placeholder& one) {
  one.released = true;
  released_.push_back(one.which);
}

GANGSCHED_INLINE std::optional<replacement> gang_application::try_replace() {
  partition& queues = nodes_->queues();
  std::vector<ask_index> order;  // by priority and age
  for (const ask_index one : queues.of(which_).pending)
    if (std::any_of(waiting_.begin(), waiting_.end(), [&](const real& its) { return its.which == one; }) &&
        !is_replacing(one))
      order.push_back(one);
  placeholder* first = nullptr;
  ask_index first_real = none;
  const auto take = [&](placeholder& one, ask_index which, node_number node) {
    release(one);
    one.by = replacement{which, one.which, node};
    return *one.by;
  };
  for (const ask_index which : order) {
    const std::size_t group =
        std::find_if(waiting_.begin(), waiting_.end(), [&](const real& its) { return its.which == which; })->group;
    for (placeholder& one : placeholders_) {
      if (one.group != group || !can_take(one)) continue;
      if (!at_least(queues.of_ask(one.which).spec.request, queues.of_ask(which).spec.request)) {
        release(one);
        continue;
      }
      if (first == nullptr) first = &one, first_real = which;
      const node_number node = queues.of_ask(one.which).node;
      if (nodes_->nodes()[node].usable) return take(one, which, node);
    }
  }
  if (first == nullptr) return std::nullopt;
  const node_number node = nodes_->find_room(first_real);
  if (node == none) return std::nullopt;
  nodes_->take(node, queues.of_ask(first_real).spec.request);  // it has both until the host confirms
  return take(*first, first_real, node);
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
  deadline_.reset();
  for (placeholder& one : placeholders_)
    if (can_take(one)) release(one);
  if (phase_ == gang_phase::running) return;
  phase_ = terms_.style == gang_style::hard ? gang_phase::failing : gang_phase::resuming;
  for (std::size_t at = placeholders_.size(); at-- > 0;)
    if (!placeholders_[at].has_node) gone(at, false);
  if (phase_ != gang_phase::failing) return;
  for (const real& one : waiting_)
    if (!is_replacing(one.which)) nodes_->remove_ask(one.which).value();
  std::erase_if(waiting_, [&](const real& one) { return !is_replacing(one.which); });
}

GANGSCHED_INLINE void gang_application::node_lost(node_number node) {
  partition& queues = nodes_->queues();
  nodes_->set_usable(node, false);
  for (placeholder& one : placeholders_) {
    if (!one.by || one.by->node != node) continue;
    if (queues.of_ask(one.which).node != node) nodes_->give_back(node, queues.of_ask(one.by->real).spec.request);
    one.by.reset();  // it waits again; the placeholder, if it is elsewhere, goes all the same
  }
  for (std::size_t at = placeholders_.size(); at-- > 0;)
    if (placeholders_[at].has_node && queues.of_ask(placeholders_[at].which).node == node)
      gone(at, placeholders_[at].by.has_value());
  for (const ask_index one : std::vector(queues.of(which_).allocations))
    if (queues.of_ask(one).node == node) nodes_->release(one).value();
}

}  // namespace gangsched::inline GANGSCHED_ABI::queues::yunikorn
