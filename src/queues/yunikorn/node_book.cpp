#include "gangsched/queues/yunikorn/node_book.hpp"

#include <algorithm>
#include <limits>
#include <tuple>

namespace gangsched::inline GANGSCHED_ABI::queues::yunikorn {

namespace detail {

/// Over all types of a request the part of it that is missing.
[[nodiscard]] inline double missing_parts(const resources& available, const resources& request) {
  double sum = 0;
  resources::for_each(request.types(), [&](resource_type type) {
    const std::int64_t there = std::max<std::int64_t>(0, available[type]);
    if (request[type] > there) sum += static_cast<double>(request[type] - there) / static_cast<double>(request[type]);
  });
  return sum;
}

}  // namespace detail

GANGSCHED_INLINE double node_score(const booked_node& of, std::span<const std::pair<resource_type, double>> weights,
                                   node_order by) {
  double used = 0, sum = 0;
  for (const auto& [type, weight] : weights) {
    if (of.capacity[type] == 0) continue;
    used += weight * (1 - static_cast<double>(of.available[type]) / static_cast<double>(of.capacity[type]));
    sum += weight;
  }
  const double part = sum == 0 ? 0 : used / sum;
  return by == node_order::fair ? part : 1 - part;
}

GANGSCHED_INLINE node_book::node_book(partition& queues) : node_book{queues, options{}} {}
GANGSCHED_INLINE node_book::node_book(partition& queues, options chosen)
    : queues_{&queues}, options_{std::move(chosen)}, preemptor_{options_.preemption_retry} {}

GANGSCHED_INLINE result<node_number> node_book::add_node(std::string name, const resources& capacity) {
  if (std::find_if(nodes_.begin(), nodes_.end(), [&](const booked_node& one) { return one.name == name; }) !=
      nodes_.end())
    return error{errc::duplicate, "node " + name, "", "there is one already"};
  if (!at_least(capacity, {})) return error{errc::out_of_range, "node " + name, "capacity", "an amount is below 0"};
  nodes_.push_back({std::move(name), capacity, capacity});
  return static_cast<node_number>(nodes_.size() - 1);
}

GANGSCHED_INLINE void node_book::set_usable(node_number node, bool usable) {
  nodes_[node].usable = usable;
  if (!usable) nodes_[node].reserved_for = none;
}

GANGSCHED_INLINE node_number node_book::reserved_by(ask_index which) const {
  for (node_number at = 0; at < nodes_.size(); ++at)
    if (nodes_[at].reserved_for == which) return at;
  return none;
}

GANGSCHED_INLINE std::vector<node_number> node_book::in_order() const {
  std::vector<std::pair<double, node_number>> scored;
  for (node_number at = 0; at < nodes_.size(); ++at)
    if (nodes_[at].usable) scored.emplace_back(node_score(nodes_[at], options_.weights, options_.order), at);
  std::sort(scored.begin(), scored.end(), [&](const auto& a, const auto& b) {
    return std::tie(a.first, nodes_[a.second].name) < std::tie(b.first, nodes_[b.second].name);
  });
  std::vector<node_number> made;
  for (const auto& [score, at] : scored) made.push_back(at);
  return made;
}

GANGSCHED_INLINE node_number node_book::find_room(ask_index which) const {
  for (const node_number at : in_order())
    if ((nodes_[at].reserved_for == none || nodes_[at].reserved_for == which) &&
        fits(nodes_[at].available, queues_->of_ask(which).spec.request))
      return at;
  return none;
}

GANGSCHED_INLINE void node_book::put(ask_index which, node_number node) {
  take(node, queues_->of_ask(which).spec.request);
  unreserve(which);
}

GANGSCHED_INLINE void node_book::unreserve(ask_index which) {
  for (booked_node& one : nodes_)
    if (one.reserved_for == which) one.reserved_for = none;
}

GANGSCHED_INLINE node_number node_book::place(ask_index which) {
  const node_number at = find_room(which);
  if (at != none) put(which, at);
  return at;
}

GANGSCHED_INLINE bool node_book::reserve(ask_index which) {
  const ask_spec& spec = queues_->of_ask(which).spec;
  if (spec.on_required_node || reserved_by(which) != none) return false;
  if (options_.reservation_delay == instant::max() || elapsed(spec.created, now_) <= options_.reservation_delay)
    return false;
  node_number best = none;
  double least = std::numeric_limits<double>::infinity();
  for (const node_number at : in_order()) {
    if (nodes_[at].reserved_for != none || !fits(nodes_[at].capacity, spec.request)) continue;
    if (const double missing = detail::missing_parts(nodes_[at].available, spec.request); missing < least)
      least = missing, best = at;
  }
  if (best == none) return false;
  nodes_[best].reserved_for = which;
  nodes_[best].reserved_at = now_;
  return true;
}

GANGSCHED_INLINE bool node_book::preempt(ask_index which, bool nodes_tried) {
  if (!options_.preempts || !preemptor_.may_try(*queues_, which, now_)) return false;
  std::vector<node_amounts> seen;
  for (node_number at = 0; at < nodes_.size(); ++at) {
    const booked_node& one = nodes_[at];
    const bool free = one.reserved_for == none || one.reserved_for == which;
    seen.push_back({at, one.capacity, one.available, one.usable && free});
  }
  queues_->note_preemption_try(which, now_);
  plan_ = preemptor_.find(*queues_, which, seen, nodes_tried);
  if (!*plan_) return false;
  queues_->begin_preemption(which, plan_->victims).value();
  // An application reserves a node once, and an ask one node: the one where its victims are.
  booked_node& there = nodes_[plan_->node];
  const bool is_its = there.reserved_for != none &&
                      queues_->of_ask(there.reserved_for).spec.application == queues_->of_ask(which).spec.application;
  if (!is_its) {
    unreserve(which);
    there.reserved_for = which;
    there.reserved_at = now_;
  }
  return true;
}

GANGSCHED_INLINE void node_book::leaves_below(queue_index queue, std::vector<queue_index>& leaves) const {
  if (queues_->tree().is_leaf(queue)) leaves.push_back(queue);
  for (const queue_index child : queues_->sorted_children(queue)) leaves_below(child, leaves);
}

GANGSCHED_INLINE cycle_outcome node_book::try_reserved() {
  std::vector<node_number> reserved;
  for (node_number at = 0; at < nodes_.size(); ++at)
    if (nodes_[at].reserved_for != none) reserved.push_back(at);
  if (reserved.empty()) return {};
  const auto leaf_of = [&](node_number at) {
    return queues_->of(queues_->of_ask(nodes_[at].reserved_for).spec.application).spec.queue;
  };
  std::sort(reserved.begin(), reserved.end(), [&](node_number a, node_number b) {
    const ask_index one = nodes_[a].reserved_for, other = nodes_[b].reserved_for;
    return std::pair{queues_->of_ask(one).spec.created, one} < std::pair{queues_->of_ask(other).spec.created, other};
  });
  std::vector<queue_index> leaves;
  for (const queue_index root : queues_->tree().roots()) leaves_below(root, leaves);
  for (const queue_index leaf : leaves)
    for (const bool elsewhere : {false, true})
      for (const node_number at : reserved) {
        const ask_index which = nodes_[at].reserved_for;
        if (which == none || leaf_of(at) != leaf) continue;
        if (queues_->why_waiting(which).any()) {
          if (elapsed(nodes_[at].reserved_at, now_) > options_.reservation_wait) nodes_[at].reserved_for = none;
          continue;
        }
        if (queues_->of_ask(which).held) continue;  // it waits for another's place
        node_number to = none;
        if (elsewhere) {
          to = place(which);
        } else if (fits(nodes_[at].available, queues_->of_ask(which).spec.request)) {
          put(which, at);
          to = at;
        }
        if (to == none) continue;
        queues_->allocate(which, to).value();
        return {cycle_outcome::kind::placed, which};
      }
  return {};
}

GANGSCHED_INLINE cycle_outcome node_book::cycle(instant now) {
  now_ = now;
  const cycle_outcome done = try_reserved();
  return done.what == cycle_outcome::kind::nothing ? queues_->try_allocate(*this, 10, now) : done;
}

GANGSCHED_INLINE result<void> node_book::allocate(ask_index which, node_number node) {
  if (node >= nodes_.size()) return error{errc::unknown, "node " + std::to_string(node), "", "there is none"};
  if (auto done = queues_->allocate(which, node); !done) return done;
  put(which, node);
  return {};
}

GANGSCHED_INLINE result<void> node_book::release(ask_index which) {
  if (!queues_->runs(which)) return error{errc::unknown, "allocation " + std::to_string(which), "", "there is none"};
  give_back(queues_->of_ask(which).node, queues_->of_ask(which).spec.request);
  return queues_->release(which);
}

GANGSCHED_INLINE result<void> node_book::remove_ask(ask_index which) {
  if (auto done = queues_->remove_ask(which); !done) return done;
  unreserve(which);
  return {};
}

GANGSCHED_INLINE result<void> node_book::remove_application(application_index which) {
  if (!queues_->has(which)) return error{errc::unknown, "application " + std::to_string(which), "", "there is none"};
  const std::vector<ask_index> waiting = queues_->of(which).pending, running = queues_->of(which).allocations;
  for (const ask_index one : waiting) remove_ask(one).value();
  for (const ask_index one : running) release(one).value();
  return queues_->remove_application(which);
}

}  // namespace gangsched::inline GANGSCHED_ABI::queues::yunikorn
