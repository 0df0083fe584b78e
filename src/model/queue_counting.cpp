#include "gangsched/model/queue_counting.hpp"

#include <algorithm>
#include <bit>

#include "gangsched/core/hash.hpp"
#include "gangsched/model/canonical_class.hpp"

namespace gangsched::inline GANGSCHED_ABI::model {

GANGSCHED_INLINE row_t queue_counting::queue_for(row_t own, symbol ns, row_t group) const noexcept {
  if (own != no_row || !any()) return own;
  for (; group != no_row; group = groups_.parent[group]) {
    if (const row_t named = groups_.record[group]->queue; named != no_row) return named;
  }
  return queues_.by_namespace.size() == 0 ? no_row : queues_.by_namespace.find({}, names_.text(ns));
}

GANGSCHED_INLINE row_t queue_counting::queue_of_group(row_t group) const noexcept {
  if (!any()) return no_row;
  row_t found = queue_for(no_row, groups_.record[group]->ns, group);
  if (found != no_row) return found;
  groups_.each_below(group, [&](row_t below) {
    for (row_t pod = groups_.first[below]; pod != no_row && found == no_row; pod = pods_.next_in_group[pod])
      found = classes_[pods_.cls[pod]].queue.row;
    return found == no_row;
  });
  return found;
}

GANGSCHED_INLINE class_id queue_counting::class_in(class_id cls, row_t queue) {
  const queue_id wanted = queues_.id_of(queue);
  if (classes_[cls].queue == wanted) return cls;
  const std::size_t places = std::bit_ceil(std::size_t{64} + 4 * std::size_t{queues_.rows.count()});
  if (derived_.size() < places) derived_.assign(places, {});
  derived& known = derived_[mix64(std::uint64_t{cls} << 32 | queue) % derived_.size()];
  if (known.from == cls && known.from_generation == classes_.generation(cls) && known.queue == wanted &&
      known.made_generation == classes_.generation(known.made))
    return known.made;
  pod_class made = classes_[cls];
  made.queue = wanted;
  made.key.clear();
  canonical::append(made.key, made);
  made.key_prefix = made.key.size();
  counting_.match_counters(made, made.counters.matched);
  const class_id its = classes_.intern(std::move(made));
  known = {cls, its, classes_.generation(cls), classes_.generation(its), wanted};
  return its;
}

GANGSCHED_INLINE row_t queue_counting::expect(std::string_view name) {
  if (const row_t known = queues_.by_name.find({}, name); known != no_row) return known;
  const row_t row = queues_.rows.make_room();
  queues_.grow(row + 1, kinds_.count());
  static_cast<void>(queues_.rows.take());
  auto record = std::make_unique<queue_record>();
  record->spec.name = name;
  record->expected = true;
  queues_.by_name.insert({}, name, row);
  queues_.record.set(row, std::move(record));
  queues_.link(row, no_row);
  changed(row, true);
  return row;
}

GANGSCHED_INLINE void queue_counting::name(row_t queue) { queues_.named.set(queue, queues_.named[queue] + 1); }

GANGSCHED_INLINE void queue_counting::unname(row_t queue) {
  queues_.named.set(queue, queues_.named[queue] - 1);
  if (!queues_.record[queue]->expected || queues_.named[queue] != 0) return;
  queues_.unlink(queue);
  queues_.by_name.erase({}, queues_.record[queue]->spec.name);
  queues_.record.set(queue, nullptr);
  queues_.rows.give_back(queue);
  changed(queue, true);
}

GANGSCHED_INLINE bool queue_counting::fits(const pod_class& cls) const noexcept {
  for (row_t queue = cls.queue.row; queue != no_row; queue = queues_.parent[queue]) {
    for (const amount& one : cls.requests) {
      std::int64_t sum = 0;
      if (__builtin_add_overflow(queues_.requested.at(queue, one.kind), one.value, &sum)) return false;
    }
  }
  return true;
}

}  // namespace gangsched::inline GANGSCHED_ABI::model

namespace gangsched::inline GANGSCHED_ABI::detail {

/// What a pod of the class requests, in one queue.
GANGSCHED_INLINE void add_requests(matrix_column& to, row_t queue, const pod_class& cls, std::int64_t sign) {
  for (const amount& one : cls.requests) to.set(queue, one.kind, to.at(queue, one.kind) + sign * one.value);
  to.set(queue, kinds::pods, to.at(queue, kinds::pods) + sign);
}

}  // namespace gangsched::inline GANGSCHED_ABI::detail

namespace gangsched::inline GANGSCHED_ABI::model {

/// The same in the queue and above.
GANGSCHED_INLINE void queue_counting::add(matrix_column& to, row_t queue, const pod_class& cls, std::int64_t sign) {
  for (; queue != no_row; queue = queues_.parent[queue]) detail::add_requests(to, queue, cls, sign);
}

GANGSCHED_INLINE row_t queue_counting::part_for(row_t root, row_t queue) {
  parts_.first.grow(root + 1);
  for (row_t part = parts_.first[root]; part != no_row; part = parts_.next[part]) {
    if (parts_.queue[part] == queue) return part;
  }
  const row_t made = parts_.rows.make_room();
  for (column<row_t>* one : {&parts_.root, &parts_.queue, &parts_.next}) one->grow(made + 1);
  parts_.pods.grow(made + 1), parts_.placed.grow(made + 1);
  static_cast<void>(parts_.rows.take());
  parts_.root.set(made, root);
  parts_.queue.set(made, queue);
  parts_.next.set(made, parts_.first[root]);
  parts_.first.set(root, made);
  return made;
}

GANGSCHED_INLINE void queue_counting::enter(row_t pod) {
  const pod_class& cls = classes_[pods_.cls[pod]];
  add(queues_.requested, cls.queue.row, cls, +1);
  const row_t group = pods_.group[pod];
  if (group == no_row) return;
  const row_t part = part_for(groups_.root(group), cls.queue.row);
  parts_.of.grow(pod + 1);
  parts_.of.set(pod, part);
  parts_.pods.set(part, parts_.pods[part] + 1);
}

GANGSCHED_INLINE void queue_counting::leave(row_t pod) {
  const pod_class& cls = classes_[pods_.cls[pod]];
  add(queues_.requested, cls.queue.row, cls, -1);
  if (pods_.group[pod] == no_row) return;
  const row_t part = parts_.of[pod];
  parts_.of.set(pod, no_row);
  parts_.pods.set(part, parts_.pods[part] - 1);
  if (parts_.pods[part] != 0) return;
  const row_t root = parts_.root[part];
  if (parts_.first[root] == part) {
    parts_.first.set(root, parts_.next[part]);
  } else {
    row_t before = parts_.first[root];
    while (parts_.next[before] != part) before = parts_.next[before];
    parts_.next.set(before, parts_.next[part]);
  }
  parts_.next.set(part, no_row);
  parts_.rows.give_back(part);
}

GANGSCHED_INLINE void queue_counting::count_running(row_t queue, bool more) {
  for (; queue != no_row; queue = queues_.parent[queue])
    queues_.running.set(queue, more ? queues_.running[queue] + 1 : queues_.running[queue] - 1);
}

GANGSCHED_INLINE void queue_counting::count_flavor(const pod_class& cls, row_t flavor, std::int64_t sign) {
  if (flavor != no_row) add(*queues_.used_of_flavor[flavor], cls.queue.row, cls, sign);
}

GANGSCHED_INLINE void queue_counting::count_use(row_t pod, row_t node, const pod_class& cls, std::int64_t sign) {
  const row_t flavor = flavors_.of[node];
  matrix_column* const of_flavor = flavor == no_row ? nullptr : queues_.used_of_flavor[flavor].get();
  for (row_t queue = cls.queue.row; queue != no_row; queue = queues_.parent[queue]) {
    detail::add_requests(queues_.used, queue, cls, sign);
    if (of_flavor != nullptr) detail::add_requests(*of_flavor, queue, cls, sign);
  }
  const bool more = sign > 0;
  if (pods_.group[pod] == no_row) return count_running(cls.queue.row, more);
  const row_t part = parts_.of[pod];
  const std::uint32_t placed = more ? parts_.placed[part] + 1 : parts_.placed[part] - 1;
  parts_.placed.set(part, placed);
  if (placed == (more ? 1 : 0)) count_running(cls.queue.row, more);
}

GANGSCHED_INLINE bool queue_counting::settle(row_t pod) {
  const pod_record& record = *pods_.record[pod];
  const row_t group = pods_.group[pod], node = pods_.node[pod];
  const row_t to = queue_for(record.queue, record.ns, group);
  const class_id before = pods_.cls[pod];
  const row_t from = classes_[before].queue.row;
  if (to == from && (to == no_row || group == no_row || parts_.root[parts_.of[pod]] == groups_.root(group)))
    return true;
  if (from != no_row) {
    if (node != no_row) count(pod, node, classes_[before], -1);
    leave(pod);
  }
  if (to != from) {
    const class_id now = class_in(before, to);
    counting_.enter_class(now);  // before it leaves the old one: what both name stays alive
    counting_.leave_class(before);
    pods_.cls.set(pod, now);
  }
  if (to != no_row) {
    const pod_class& cls = classes_[pods_.cls[pod]];
    if (!fits(cls)) return false;
    enter(pod);
    if (node != no_row) count(pod, node, cls, +1);
  }
  if (to == from) return true;
  log_.write({.kind = change_kind::pod_updated, .row = pod, .before = node});
  if (from != no_row && tells_of(from, node)) changed(from);
  return true;
}

GANGSCHED_INLINE bool queue_counting::settle_group(row_t group) {
  return !any() || groups_.each_below(group, [&](row_t below) {
    row_t pod = groups_.first[below];
    while (pod != no_row && settle(pod)) pod = pods_.next_in_group[pod];
    return pod == no_row;
  });
}

GANGSCHED_INLINE bool queue_counting::settle_namespaces(const std::vector<symbol>& of) {
  if (of.empty()) return true;
  for (row_t pod = 0; pod < pods_.rows.count(); ++pod) {
    if (!pods_.alive(pod) || std::find(of.begin(), of.end(), pods_.record[pod]->ns) == of.end()) continue;
    if (!settle(pod)) return false;
  }
  return true;
}

/// All of row @p from, in the queue and above.
GANGSCHED_INLINE bool queue_counting::add_row(matrix_column& to, row_t from, row_t queue, std::int64_t sign) {
  for (; queue != no_row; queue = queues_.parent[queue]) {
    for (resource_kind kind = 0; kind < kinds_.count(); ++kind) {
      const std::int64_t value = to.at(from, kind);
      if (value == 0) continue;
      std::int64_t sum = 0;
      if (__builtin_add_overflow(to.at(queue, kind), sign * value, &sum)) return false;
      to.set(queue, kind, sum);
    }
  }
  return true;
}

GANGSCHED_INLINE bool queue_counting::set_parent(row_t queue, row_t parent) {
  const row_t old = queues_.parent[queue];
  if (old == parent) return true;
  const auto move_all = [&](row_t above, std::int64_t sign) {
    bool fit = add_row(queues_.requested, queue, above, sign) && add_row(queues_.used, queue, above, sign);
    for (row_t flavor = 0; fit && flavor < flavors_.rows.count(); ++flavor)
      fit = add_row(*queues_.used_of_flavor[flavor], queue, above, sign);
    for (; fit && above != no_row; above = queues_.parent[above]) {
      const std::uint32_t its = queues_.running[queue], all = queues_.running[above];
      if (its != 0) queues_.running.set(above, sign > 0 ? all + its : all - its);
    }
    return fit;
  };
  if (!move_all(old, -1)) return false;
  queues_.unlink(queue);
  queues_.link(queue, parent);
  return move_all(parent, +1);
}

GANGSCHED_INLINE void queue_counting::set_flavor(row_t node, row_t flavor) {
  const row_t old = flavors_.of[node];
  if (old == flavor) return;
  bool anybody = false;
  for (row_t pod = nodes_.first_pod[node]; pod != no_row; pod = pods_.next_on_node[pod]) {
    const pod_class& cls = classes_[pods_.cls[pod]];
    if (!cls.queue) continue;
    count_flavor(cls, old, -1);
    count_flavor(cls, flavor, +1);
    anybody = true;
  }
  flavors_.of.set(node, flavor);
  if (anybody && old != no_row) changed(no_row);
}

GANGSCHED_INLINE void queue_counting::node_changed(row_t node) {
  flavors_.of.grow(node + 1);
  if (flavors_.first[0] != no_row || flavors_.of[node] != no_row)
    set_flavor(node, flavors_.for_labels(nodes_.record[node]->labels));
}

GANGSCHED_INLINE void queue_counting::node_leaves(row_t node) { set_flavor(node, no_row); }

GANGSCHED_INLINE void queue_counting::flavors_changed() {
  for (row_t node = 0; node < nodes_.rows.count(); ++node) {
    if (nodes_.alive(node)) set_flavor(node, flavors_.for_labels(nodes_.record[node]->labels));
  }
}

}  // namespace gangsched::inline GANGSCHED_ABI::model
