#include "gangsched/queues/yunikorn/preemption.hpp"

#include <algorithm>

namespace gangsched::inline GANGSCHED_ABI::queues::yunikorn {

namespace detail {

/// What a node with @p available lacks for @p request.
[[nodiscard]] inline resources shortfall(const resources& request, const resources& available) {
  resources made;
  resources::for_each(request.types(), [&](resource_type type) {
    made.set(type, std::max<std::int64_t>(0, request[type] - available[type]));
  });
  return made;
}

/// Whether its queue would have more than its own guarantee with the ask: that does not depend on the victims, which are of other queues.
[[nodiscard]] inline bool exceeds_own_guarantee(const partition& queues, ask_index which) {
  const ask_spec& spec = queues.of_ask(which).spec;
  const queue_index leaf = queues.of(spec.application).spec.queue;
  const resources& guaranteed = queues.settings(leaf).guaranteed;
  if (guaranteed.empty() || queues.tree().parent(leaf) == no_queue) return false;
  const queue_usage& usage = queues.usage(leaf);
  return !at_least(minus_where_set(guaranteed, minus_where_set(usage.allocated + spec.request, usage.preempting)), {});
}

}  // namespace detail

GANGSCHED_INLINE bool preemptor::may_try(const partition& queues, ask_index which, instant now) const {
  const ask& one = queues.of_ask(which);
  if (!one.spec.may_preempt || one.triggered_preemption || one.spec.on_required_node) return false;
  const queue_index leaf = queues.of(one.spec.application).spec.queue;
  return now >= later_by(one.spec.created, queues.settings(leaf).preemption_delay) &&
         (!one.preemption_try || now >= later_by(*one.preemption_try, retry_));
}

GANGSCHED_INLINE const resources& preemptor::held(std::size_t victim) const {
  return queues_->of_ask(victims_[victim].which).spec.request;
}

GANGSCHED_INLINE void preemptor::involve(queue_index queue) {
  for (; queue != no_queue && !is_involved_[queue]; queue = queues_->tree().parent(queue)) {
    is_involved_[queue] = true;
    involved_.push_back(queue);
  }
}
GANGSCHED_INLINE void preemptor::add(queue_index queue, const resources& amount) {
  for (; queue != no_queue; queue = queues_->tree().parent(queue)) used_[queue] += amount;
}
GANGSCHED_INLINE void preemptor::remove(queue_index queue, const resources& amount) {
  for (; queue != no_queue; queue = queues_->tree().parent(queue)) used_[queue] -= amount;
}

/// What is left of a queue's guarantee, what is to go already counted as gone, and no more than is left of that of the queues above.
/// Nothing set: no queue above guarantees anything. The ask's queue has what is left of its own guarantee, whatever is left above; if it
/// has one, guarantees of queues above it hold back no other queue.
GANGSCHED_INLINE resources preemptor::remaining(queue_index queue) const {
  const queue_tree& tree = queues_->tree();
  if (queue == no_queue) return {};
  const resources above = remaining(tree.parent(queue)), &guaranteed = queues_->settings(queue).guaranteed;
  if (above.empty() && guaranteed.empty()) return {};
  const resources left = minus_where_set(guaranteed, minus_where_set(used_[queue], queues_->usage(queue).preempting));
  if (tree.parent(queue) != no_queue && !left.empty()) {
    if (queue == leaf_) return overlay(above, left);
    if (tree.is_within(leaf_, queue) && !queues_->settings(leaf_).guaranteed.empty()) return {};
  }
  return least(left, above);
}

GANGSCHED_INLINE bool preemptor::ask_within_guarantee() const {
  const resources left = remaining(leaf_);
  return !left.empty() && at_least(left, {});
}
GANGSCHED_INLINE bool preemptor::ask_above_guarantee() const {
  const resources left = remaining(leaf_);
  return !left.empty() && strictly_greater({}, left);
}

/// Takes the victim out of its queues if those have more than their guarantee, in what is guaranteed; and otherwise nothing.
GANGSCHED_INLINE bool preemptor::gives(const candidate& victim) {
  const resources left = remaining(victim.leaf);
  if (!left.empty() && !strictly_greater({}, left)) return false;
  remove(victim.leaf, queues_->of_ask(victim.which).spec.request);
  return true;
}

/// Asks that may go: below the fence, which is the first queue on the way up that is one, that is full or that is a root, but not in the
/// ask's leaf.
GANGSCHED_INLINE void preemptor::collect(ask_index which) {
  const queue_tree& tree = queues_->tree();
  ask_ = &queues_->of_ask(which);
  leaf_ = queues_->of(ask_->spec.application).spec.queue;
  on_way_.assign(tree.size(), false);
  priority_on_way_.resize(tree.size());
  is_involved_.assign(tree.size(), false);
  used_.resize(tree.size());
  involved_.clear();
  victims_.clear();
  involve(leaf_);
  std::int64_t priority = ask_->spec.priority;
  queue_index fence = leaf_;
  for (;; fence = tree.parent(fence)) {
    const queue_settings& has = queues_->settings(fence);
    priority = has.priority == priority_policy::fence ? has.priority_offset : priority + has.priority_offset;
    on_way_[fence] = true;
    priority_on_way_[fence] = priority;
    const bool full = !has.max.empty() && same_amounts(has.max, queues_->usage(fence).allocated);
    if (tree.parent(fence) == no_queue || has.preemption == preemption_policy::fence || full) break;
  }
  for (const queue_index queue : tree.top_down()) used_[queue] = queues_->usage(queue).allocated;
  collect_below(fence, priority, false);
  std::sort(victims_.begin(), victims_.end(), [](const candidate& a, const candidate& b) {
    if (a.reluctance != b.reluctance) return a.reluctance < b.reluctance;
    return a.created != b.created ? a.created > b.created : a.which < b.which;
  });
}

/// @param priority the ask's as this queue sees it. @param all whether priorities do not matter here any more.
GANGSCHED_INLINE void preemptor::collect_below(queue_index queue, std::int64_t priority, bool all) {
  const queue_tree& tree = queues_->tree();
  if (queue == leaf_) return;
  if (!tree.is_leaf(queue)) {
    for (const queue_index child : tree.children(queue)) {
      if (on_way_[child]) {
        collect_below(child, priority_on_way_[child], all);
        continue;
      }
      const queue_settings& has = queues_->settings(child);
      if (has.priority == priority_policy::pass) {
        collect_below(child, priority - has.priority_offset, all);
      } else if (has.priority_offset <= priority) {
        collect_below(child, priority, true);
      }
    }
    return;
  }
  if (queues_->settings(queue).preemption == preemption_policy::disabled) return;
  if (const resources left = remaining(queue); !left.empty() && at_least(left, {})) return;
  for (const application_index member : queues_->applications(queue))
    for (const ask_index one : queues_->of(member).allocations) {
      const ask& held = queues_->of_ask(one);
      if (!may_go(held.spec) || (held.spec.request.types() & ask_->spec.request.types()) == 0) continue;
      if (!all && held.spec.priority > priority) continue;
      const std::uint32_t reluctance = (held.spec.opted_out ? 2u : 0u) + (held.spec.originator ? 1u : 0u);
      victims_.push_back({one, queue, held.node, reluctance, held.spec.created});
      involve(queue);
    }
}

/// Whether the ask's queue is within its guarantee with the ask and without any of the victims.
GANGSCHED_INLINE bool preemptor::guarantee_can_be_met() {
  add(leaf_, ask_->spec.request);
  for (std::size_t i = 0; i < victims_.size(); ++i) remove(victims_[i].leaf, held(i));
  const bool met = !victims_.empty() && ask_within_guarantee();
  for (const queue_index queue : involved_) used_[queue] = queues_->usage(queue).allocated;
  return met;
}

/// Victims on one node, of which the first `needed` make room there; nothing if there is no way.
GANGSCHED_INLINE std::optional<preemptor::node_plan> preemptor::plan_node(const node_amounts& node) {
  const resources& request = ask_->spec.request;
  if (fits(node.available, request)) return node_plan{};
  std::vector<std::size_t> head, tail;
  resources available = node.available;
  for (std::size_t i = 0; i < victims_.size(); ++i) {
    if (victims_[i].node != node.node || !gives(victims_[i])) continue;
    add(leaf_, held(i));
    if (ask_above_guarantee()) break;
    const resources with = available + held(i);
    if (same_amounts(detail::shortfall(request, available), detail::shortfall(request, with))) {
      remove(leaf_, held(i));  // it does not help: a last resort
      add(victims_[i].leaf, held(i));
      tail.push_back(i);
    } else {
      available = with;
      head.push_back(i);
    }
  }
  for (const queue_index queue : involved_) used_[queue] = queues_->usage(queue).allocated;
  head.insert(head.end(), tail.begin(), tail.end());
  node_plan made;
  available = node.available;
  for (const std::size_t i : head) {
    if (!gives(victims_[i])) continue;
    available += held(i);
    made.victims.push_back(i);
    if (made.needed == 0 && fits(available, request)) made.needed = made.victims.size();
  }
  for (const queue_index queue : involved_) used_[queue] = queues_->usage(queue).allocated;
  return made.needed > 0 ? std::optional{std::move(made)} : std::nullopt;
}

/// Adds victims of any node until the ask's queue has its guarantee's worth of them. @return whether that is within its guarantee.
GANGSCHED_INLINE bool preemptor::extend(std::vector<std::size_t>& victims) {
  std::vector<bool> chosen(victims_.size(), false);
  for (const std::size_t i : victims) {
    remove(victims_[i].leaf, held(i));
    chosen[i] = true;
  }
  for (std::size_t i = 0; i < victims_.size(); ++i) {
    if (chosen[i] || !gives(victims_[i])) continue;
    const resources before = remaining(leaf_);
    add(leaf_, held(i));
    if (ask_above_guarantee()) {
      remove(leaf_, held(i));
      add(victims_[i].leaf, held(i));
      break;
    }
    if (same_amounts(before, remaining(leaf_))) {  // of no type that matters to the ask's queue
      remove(leaf_, held(i));
      add(victims_[i].leaf, held(i));
    } else {
      victims.push_back(i);
    }
  }
  const bool within = ask_within_guarantee();
  for (const queue_index queue : involved_) used_[queue] = queues_->usage(queue).allocated;
  return within;
}

GANGSCHED_INLINE preemption_plan preemptor::find(const partition& queues, ask_index which,
                                                 std::span<const node_amounts> nodes, bool nodes_tried) {
  queues_ = &queues;
  preemption_plan plan;
  plan.refusal = preemption_refusal::guarantees;
  if (detail::exceeds_own_guarantee(queues, which)) return plan;
  collect(which);
  if (!guarantee_can_be_met()) return plan;

  plan.refusal = preemption_refusal::no_victims;
  const node_amounts* best = nullptr;
  node_plan on_best;
  for (const node_amounts& node : nodes) {
    if (!node.usable || !fits(node.capacity, ask_->spec.request)) continue;
    std::optional<node_plan> here = plan_node(node);
    if (!here || (here->victims.empty() && nodes_tried)) continue;
    if (best != nullptr && here->needed >= on_best.needed) continue;
    best = &node;
    on_best = *std::move(here);
  }
  if (best == nullptr) return plan;
  std::vector<std::size_t> chosen{on_best.victims.begin(),
                                  on_best.victims.begin() + static_cast<std::ptrdiff_t>(on_best.needed)};
  if (!extend(chosen) || chosen.empty()) return plan;

  // No more than the ask needs, and from elsewhere only if the node has room.
  const resources& request = ask_->spec.request;
  const bool has_room = fits(best->available, request);
  resources freed;
  for (const std::size_t i : chosen) {
    if (!has_room && victims_[i].node != best->node) continue;
    if (strictly_greater_where_set(request, freed)) plan.victims.push_back(victims_[i].which);
    freed += held(i);
  }
  if (strictly_greater_where_set(request, freed)) {
    plan.refusal = preemption_refusal::short_of_resources;
    plan.victims.clear();
    return plan;
  }
  plan.refusal = preemption_refusal::granted;
  plan.node = best->node;
  return plan;
}

}  // namespace gangsched::inline GANGSCHED_ABI::queues::yunikorn
