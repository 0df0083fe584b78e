#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "gangsched/model/canonical_selectors.hpp"
#include "gangsched/model/pod_counting.hpp"

// Keeps counters and classes right while pods, nodes and namespaces change.
namespace gangsched::inline GANGSCHED_ABI::detail {

/// Whether pods are in a scope, remembered for those that were asked about lately: equal pods share their details (`pod_templates`), so a
/// walk over all pods compares few labels.
class scope_matches {
 public:
  scope_matches(const model::pod_scope& scope, const model::named_objects& named) : scope_(scope), named_(named) {}
  [[nodiscard]] bool has(const model::pod_record& pod) {
    const model::pod_details* const its = pod.details.get();
    known& one = all_[std::bit_cast<std::uintptr_t>(its) / alignof(std::max_align_t) % all_.size()];
    if (one.of != its || one.ns != pod.ns)
      one = {its, pod.ns, matches(scope_, pod.ns, its->labels, named_.labels_of(pod.ns))};
    return one.matches;
  }

 private:
  struct known {
    const model::pod_details* of = nullptr;
    symbol ns;
    bool matches = false;
  };
  const model::pod_scope& scope_;
  const model::named_objects& named_;
  std::array<known, 256> all_{};
};

}  // namespace gangsched::inline GANGSCHED_ABI::detail

namespace gangsched::inline GANGSCHED_ABI::model {

GANGSCHED_INLINE void pod_counting::catch_up(row_t pod) {
  while (pods_.cls_epoch[pod] != classes_.epoch()) rekey(pod);  // a new class may bring counters to life that match it
}

GANGSCHED_INLINE bool pod_counting::is_kept(const pod_record& record, class_id cls) noexcept {
  const kept& last = kept_of(cls);
  return last.cls == cls && last.ns == record.ns && last.epoch == classes_.epoch() &&
         last.epoch_moves == classes_.epoch_moves() && last.generation == classes_.generation(cls) &&
         !last.details.owner_before(record.details) && !record.details.owner_before(last.details);
}

GANGSCHED_INLINE void pod_counting::keep(const pod_record& record, class_id cls) noexcept {
  if (!reserved_.empty()) return;  // a reservation may be for the pod's name
  kept_of(cls) = {record.details, record.ns, cls, classes_.generation(cls), classes_.epoch(), classes_.epoch_moves()};
}

GANGSCHED_INLINE void pod_counting::rekey(row_t pod) {
  const class_id old = pods_.cls[pod];
  pods_.cls_epoch.set(pod, classes_.epoch());
  const pod_record& record = *pods_.record[pod];
  if (is_kept(record, old)) return;
  std::vector<counter_id> matched = counters_.matching(record.ns, record.details->labels, named_.labels_of(record.ns));
  std::optional<label_selector> selector;
  if (!default_spread.empty() && classes_[old].spread.empty()) {
    selector = default_selector(record.ns, record.details->labels, record.details->controller);
  }
  const std::optional<label_selector>& before = classes_[old].default_selector;
  const bool none = !selector && !before;  // as a rule
  const bool renamed = !none && (canonical::bytes(selector) != canonical::bytes(before) ||
                                 (selector && classes_[old].counters.default_spread.size() != default_spread.size()));
  std::vector<row_t> owned;
  if (!classes_[old].reserves)
    owned = reserved_.owned_by(names_.text(record.ns), record.name, record.details->labels, record.details->controller);
  if (!renamed && matched == classes_[old].counters.matched && owned == classes_[old].owned) return keep(record, old);
  pod_class changed = classes_[old];
  changed.owned = std::move(owned);
  if (renamed) {
    changed.default_selector = std::move(selector);
    name_counters(changed);
  }
  match_counters(changed, std::move(matched));
  const class_id now = classes_.intern(std::move(changed));
  enter_class(now);  // before leaving the old one, so that counters which both name stay alive
  leave_class(old);
  pods_.cls.set(pod, now);
}

GANGSCHED_INLINE void pod_counting::enter_class(class_id cls) {
  if (!classes_.add_pod(cls)) return;
  devices_.class_came(classes_[cls]);
  for (const counter_id id : classes_[cls].counters.named) {
    if (!counters_.add_user(id)) continue;
    classes_.move_epoch();
    fill(id);
  }
}

GANGSCHED_INLINE void pod_counting::leave_class(class_id cls) {
  if (!classes_.remove_pod(cls)) return;
  devices_.class_left(classes_[cls]);
  for (const counter_id id : classes_[cls].counters.named) {
    if (counters_.remove_user(id)) classes_.move_epoch();
  }
}

/// Counts from zero. Counters of terms need no walk over pods: no pod carries a term that no class has named.
GANGSCHED_INLINE void pod_counting::fill(counter_id id) {
  const counter_spec& spec = counters_.spec(id);
  topologies_.follow(spec.topology, nodes_);
  choices_.follow(spec.nodes, nodes_, names_);
  counters_.clear(id);
  if (spec.spread && spec.topology != node_itself) {
    for (row_t row = 0; row < nodes_.rows.count(); ++row) {
      const domain_id domain = topologies_.domain(spec.topology, row);
      if (nodes_.alive(row) && domain != no_domain && choices_.takes(spec.nodes, row))
        counters_.add_node(id, domain, true);
    }
  }
  if (spec.what != counts::matching || spec.nobody) return;
  gangsched::detail::scope_matches scope{counters_.scope(spec.scope), named_};
  // In the order in which they stand in memory, and not node by node.
  constexpr row_t ahead = 16;
  const row_t pods = pods_.rows.count();
  for (row_t pod = 0; pod < pods; ++pod) {
    if (pod + ahead < pods) gangsched::detail::prefetch(pods_.record[pod + ahead]);
    const row_t node = pods_.alive(pod) ? pods_.node[pod] : no_row;
    if (node == no_row || !scope.has(*pods_.record[pod]) || (spec.spread && pods_.terminating[pod])) continue;
    const domain_id domain = topologies_.domain(spec.topology, node);
    if (domain != no_domain && choices_.takes(spec.nodes, node)) counters_.add(id, domain, 1);
  }
}

GANGSCHED_INLINE void pod_counting::count_in(std::span<const counter_id> counted, row_t pod, row_t node,
                                             std::int32_t by, removal how) {
  for (const counter_id id : counted) {
    const counter_spec& spec = counters_.spec(id);
    if (spec.spread && how == removal::real && (spec.nobody || pods_.terminating[pod])) continue;
    const domain_id domain = topologies_.domain(spec.topology, node);
    if (domain == no_domain || !choices_.takes(spec.nodes, node) || !counters_.lives(id)) continue;
    counters_.add(id, domain, by);
  }
}

/// Counts all pods of a node, or of a namespace. All get their current classes first: a counter that comes to life by that
/// counts them by itself.
GANGSCHED_INLINE void pod_counting::count_all(const std::vector<row_t>& all, std::int32_t by) {
  std::uint32_t epoch = 0;
  do {
    epoch = classes_.epoch();
    for (const row_t pod : all) static_cast<void>(class_of(pod));
  } while (epoch != classes_.epoch());
  for (const row_t pod : all) count_pod(pod, classes_[pods_.cls[pod]], pods_.node[pod], by);
}

GANGSCHED_INLINE void pod_counting::mark_terminating(row_t pod) {
  const row_t node = pods_.node[pod];
  if (node != no_row) count_pod(pod, classes_[class_of(pod)], node, -1);
  pods_.terminating.set(pod, true);
  if (node != no_row) count_pod(pod, classes_[pods_.cls[pod]], node, +1);  // affinity counts it all the same
}

GANGSCHED_INLINE void pod_counting::count_node(row_t node, bool came) {
  for (counter_id id = 0; id < counters_.size(); ++id) {
    if (!counters_.lives(id)) continue;
    const counter_spec& spec = counters_.spec(id);
    if (!spec.spread || spec.topology == node_itself) continue;
    const domain_id domain = topologies_.domain(spec.topology, node);
    if (domain != no_domain && choices_.takes(spec.nodes, node)) counters_.add_node(id, domain, came);
  }
}

GANGSCHED_INLINE void pod_counting::node_came(row_t node) {
  topologies_.grow(node + 1);
  choices_.grow(node + 1);
  topologies_.join(node, *nodes_.record[node]);
  choices_.join(node, *nodes_.record[node], names_);
  count_node(node, true);
}

GANGSCHED_INLINE void pod_counting::node_leaves(row_t node) {
  count_node(node, false);
  topologies_.leave(node);
}

GANGSCHED_INLINE void pod_counting::set_node_record(row_t node, std::unique_ptr<const node_record> record) {
  if (!topologies_.moves(node, *record) && !choices_.moves(node, *record, names_)) {
    nodes_.set_record(node, std::move(record));
    return;
  }
  std::vector<row_t> there;
  for (row_t pod = nodes_.first_pod[node]; pod != no_row; pod = pods_.next_on_node[pod]) there.push_back(pod);
  count_all(there, -1);
  node_leaves(node);
  nodes_.set_record(node, std::move(record));
  node_came(node);
  count_all(there, +1);
  topologies_.settle();
}

GANGSCHED_INLINE std::vector<row_t> pod_counting::placed_in(symbol ns) const {
  std::vector<row_t> placed;
  for (row_t pod = 0; pod < pods_.rows.count(); ++pod) {
    if (pods_.alive(pod) && pods_.node[pod] != no_row && pods_.record[pod]->ns == ns) placed.push_back(pod);
  }
  return placed;
}

GANGSCHED_INLINE std::uint32_t pod_counting::add_default_spread(spread_defaults set) {
  const auto same = [&](const spread_defaults& one) {
    return one.system == set.system && canonical::bytes(one.constraints) == canonical::bytes(set.constraints);
  };
  const auto found = std::find_if(default_spread.begin(), default_spread.end(), same);
  const auto number = static_cast<std::uint32_t>(found - default_spread.begin());
  if (found == default_spread.end()) {
    default_spread.push_back(std::move(set));
    classes_.move_epoch();
  }
  return number;
}

}  // namespace gangsched::inline GANGSCHED_ABI::model
