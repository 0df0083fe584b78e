#include "gangsched/model/queue_table.hpp"

#include <algorithm>
#include <bit>

#include "gangsched/model/canonical_selectors.hpp"
#include "gangsched/model/free_places.hpp"

namespace gangsched::inline GANGSCHED_ABI::detail {

GANGSCHED_INLINE void put_amounts(canonical::text_bytes& text, const resource_list& list) {
  canonical::append(text, canonical::size_of(list));
  for (const auto& [name, value] : list) canonical::append(text, name, value.to_string());
}

}  // namespace gangsched::inline GANGSCHED_ABI::detail

namespace gangsched::inline GANGSCHED_ABI::model {

GANGSCHED_INLINE std::string queue_record::bytes() const {
  canonical::text_bytes text{nullptr, nullptr};
  canonical::append(text, expected, spec.name, spec.parent, canonical::size_of(spec.quotas));
  for (const queue_quota& one : spec.quotas) {
    canonical::append(text, one.flavor);
    for (const resource_list* list : {&one.guaranteed, &one.limit, &one.borrowing_limit, &one.lending_limit})
      detail::put_amounts(text, *list);
    canonical::append(text, canonical::size_of(one.weights));
    for (const auto& [name, weight] : one.weights) canonical::append(text, name, std::bit_cast<std::uint64_t>(weight));
  }
  canonical::append(text, std::bit_cast<std::uint64_t>(spec.weight), spec.priority, spec.state, spec.heads,
                    spec.within_queue, spec.reclaim, spec.lends_running, spec.reclaims_to_borrow,
                    spec.reclaims_to_borrow_up_to, spec.flavors.stops_at_borrowing, spec.flavors.stops_at_preemption,
                    spec.flavors.avoids_borrowing, spec.preempt_min_runtime.count(), spec.reclaim_min_runtime.count(),
                    spec.namespaces, spec.max_running, spec.cookie);
  return std::move(text.bytes);
}

GANGSCHED_INLINE void queue_record::digest_into(digest& out) const { out.add(bytes()); }

GANGSCHED_INLINE std::string flavor_record::bytes() const {
  canonical::text_bytes text{nullptr, nullptr};
  canonical::append(text, spec.name, spec.node_labels, canonical::size_of(spec.taints),
                    canonical::size_of(spec.tolerations));
  for (const taint& one : spec.taints) canonical::append(text, one);
  for (const toleration& one : spec.tolerations) canonical::append(text, one);
  return std::move(text.bytes);
}

GANGSCHED_INLINE void flavor_record::digest_into(digest& out) const { out.add(bytes()); }

GANGSCHED_INLINE flavor_table::flavor_table(undo_log& undo)
    : rows(undo), record(undo), by_name(undo), next(undo, no_row), first(undo, no_row), of(undo, no_row) {
  first.grow(1);
}

GANGSCHED_INLINE row_t flavor_table::for_labels(std::span<const label_symbols> labels) const noexcept {
  row_t row = first[0];
  const auto has = [&](const label_symbols& wanted) {
    return std::find(labels.begin(), labels.end(), wanted) != labels.end();
  };
  while (row != no_row && !std::all_of(record[row]->labels.begin(), record[row]->labels.end(), has)) row = next[row];
  return row;
}

GANGSCHED_INLINE void flavor_table::digest_into(digest& out, row_t nodes) const {
  rows.digest_into(out);
  if (rows.count() == 0) return;
  record.digest_into(out, rows.count());
  by_name.digest_into(out, 0);
  of.digest_into(out, nodes);
}

GANGSCHED_INLINE queue_table::queue_table(undo_log& with_undo)
    : rows(with_undo),
      record(with_undo),
      parent(with_undo, no_row),
      first_child(with_undo, no_row),
      last_child(with_undo, no_row),
      next_sibling(with_undo, no_row),
      prev_sibling(with_undo, no_row),
      roots(with_undo, no_row),
      named(with_undo),
      running(with_undo),
      used(with_undo),
      requested(with_undo),
      by_name(with_undo),
      by_namespace(with_undo),
      flavors(with_undo),
      parts(with_undo),
      undo(&with_undo) {
  roots.grow(2);
}

GANGSCHED_INLINE queue_table& queue_table::operator=(const queue_table& from) {
  rows = from.rows, record = from.record;
  parent = from.parent, first_child = from.first_child, last_child = from.last_child;
  next_sibling = from.next_sibling, prev_sibling = from.prev_sibling;
  roots = from.roots, named = from.named, running = from.running;
  used = from.used, requested = from.requested;
  used_of_flavor = detail::copies_of(from.used_of_flavor,
                                     [&](const matrix_column&) { return std::make_unique<matrix_column>(*undo); });
  by_name = from.by_name, by_namespace = from.by_namespace;
  flavors = from.flavors;
  parts = from.parts;
  return *this;
}

GANGSCHED_INLINE void queue_table::link(row_t row, row_t to) {
  const auto before = [&](row_t a, row_t b) { return record[a]->spec.name < record[b]->spec.name; };
  const row_t last = to == no_row ? roots[1] : last_child[to];
  row_t next = no_row;
  if (last != no_row && before(row, last)) {
    next = to == no_row ? roots[0] : first_child[to];
    while (before(next, row)) next = next_sibling[next];
  }
  const row_t prev = next == no_row ? last : prev_sibling[next];
  parent.set(row, to);
  next_sibling.set(row, next);
  prev_sibling.set(row, prev);
  if (next != no_row)
    prev_sibling.set(next, row);
  else if (to == no_row)
    roots.set(1, row);
  else
    last_child.set(to, row);
  if (prev != no_row)
    next_sibling.set(prev, row);
  else if (to == no_row)
    roots.set(0, row);
  else
    first_child.set(to, row);
}

GANGSCHED_INLINE void queue_table::unlink(row_t row) {
  const row_t from = parent[row], next = next_sibling[row], prev = prev_sibling[row];
  if (next != no_row)
    prev_sibling.set(next, prev);
  else if (from == no_row)
    roots.set(1, prev);
  else
    last_child.set(from, prev);
  if (prev != no_row)
    next_sibling.set(prev, next);
  else if (from == no_row)
    roots.set(0, next);
  else
    first_child.set(from, next);
  for (column<row_t>* one : {&parent, &next_sibling, &prev_sibling}) one->set(row, no_row);
}

GANGSCHED_INLINE void queue_table::grow(row_t to, resource_kind kinds) {
  record.grow(to);
  for (column<row_t>* one : {&parent, &first_child, &last_child, &next_sibling, &prev_sibling}) one->grow(to);
  named.grow(to), running.grow(to);
  used.grow(to, kinds), requested.grow(to, kinds);
  for (const auto& one : used_of_flavor) one->grow(to, kinds);
}

GANGSCHED_INLINE void queue_table::add_flavor(row_t flavor, resource_kind kinds) {
  while (used_of_flavor.size() <= flavor) used_of_flavor.push_back(std::make_unique<matrix_column>(*undo));
  used_of_flavor[flavor]->grow(rows.count(), kinds);
}

GANGSCHED_INLINE void queue_table::digest_into(digest& out, resource_kind kinds, row_t nodes) const {
  flavors.digest_into(out, nodes);
  parts.digest_into(out);
  rows.digest_into(out);
  if (rows.count() == 0) return;
  const row_t all = rows.count();
  for (const column_base* one : std::initializer_list<const column_base*>{&record, &parent, &first_child, &next_sibling,
                                                                          &named, &running, &by_name, &by_namespace}) {
    one->digest_into(out, all);
  }
  roots.digest_into(out, 2);
  for (const matrix_column* one : {&used, &requested}) one->digest_by_kind(out, all, kinds);
  for (row_t flavor = 0; flavor < flavors.rows.count(); ++flavor)
    used_of_flavor[flavor]->digest_by_kind(out, all, kinds);
}

GANGSCHED_INLINE queue_part_table::queue_part_table(undo_log& undo)
    : rows(undo),
      root(undo, no_row),
      queue(undo, no_row),
      next(undo, no_row),
      pods(undo),
      placed(undo),
      first(undo, no_row),
      of(undo, no_row) {}

GANGSCHED_INLINE void queue_part_table::digest_into(digest& out) const {
  rows.digest_into(out);
  for (row_t part = 0; part < rows.count(); ++part) {
    if (pods[part] == 0) continue;  // no pods: the row is free
    for (const row_t one : {root[part], queue[part], next[part]}) out.add(one);
    out.add(pods[part]), out.add(placed[part]);
  }
}

}  // namespace gangsched::inline GANGSCHED_ABI::model
