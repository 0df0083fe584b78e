#include "gangsched/model/reservation_table.hpp"

#include <algorithm>
#include <utility>

#include "gangsched/core/hash.hpp"
#include "gangsched/core/is_among.hpp"
#include "gangsched/model/canonical_reservations.hpp"
#include "gangsched/model/label_selector.hpp"
#include "gangsched/model/node_selector.hpp"
#include "gangsched/model/state.hpp"

namespace gangsched::inline GANGSCHED_ABI::detail {

[[nodiscard]] GANGSCHED_INLINE bool owns(const reservation_owner& owner, std::string_view ns, std::string_view name,
                                         const label_map& labels, const controller_ref& controller) {
  const controller_ref& by = owner.controller;
  return (owner.pod.empty() || owner.pod == name) && (owner.ns.empty() || owner.ns == ns) &&
         (by.kind == controller_kind::none || by.kind == controller.kind) &&
         (by.name.empty() || by.name == controller.name) && (!owner.labels || matches(*owner.labels, labels));
}

/// Calls visit(kind) for all that a pod of the class counts for.
template <class Visit>
void each_counted_kind(const pod_class& cls, Visit&& visit) {
  for (const amount& one : cls.requests) visit(one.kind);
  visit(kinds::pods), visit(kinds::scored_cpu), visit(kinds::scored_memory);
}

/// A reservation as selectors see it: its own labels, and for keys that it has not those of its node.
struct labelled_reservation {
  const model::cluster_state& state;
  const model::pod_record& pod;
  const model::node_record& node;

  [[nodiscard]] std::optional<std::string_view> label(std::string_view key) const {
    if (const auto own = pod.details->labels.find(key); own != pod.details->labels.end())
      return std::string_view{own->second};
    const std::optional<symbol> known = state.names.find(key);
    const std::optional<symbol> value = known ? node.label(*known) : std::nullopt;
    return value ? std::optional{state.names.text(*value)} : std::nullopt;
  }
  [[nodiscard]] std::string_view name() const noexcept { return pod.name; }
};

[[nodiscard]] GANGSCHED_INLINE bool tolerates(const std::vector<toleration>& all, const taint& of) {
  return std::any_of(all.begin(), all.end(), [&](const toleration& one) {
    return (!one.effect || *one.effect == of.effect) && (one.key.empty() || one.key == of.key) &&
           (one.op == toleration_operator::exists || one.value == of.value);
  });
}

[[nodiscard]] GANGSCHED_INLINE bool matches(const reservation_affinity& affinity, const labelled_reservation& one) {
  for (const auto& [key, value] : affinity.selector)
    if (one.label(key) != std::string_view{value}) return false;
  return !affinity.required ||
         std::any_of(affinity.required->begin(), affinity.required->end(),
                     [&](const node_selector_term& term) { return gangsched::matches(term, one); });
}

/// Whether a reservation holds just what a pod of @p cls requests of the resources that it names for that. One that neither of them has
/// at all, not even as 0, ends the comparison, whatever is named after it (Koordinator 1.7.0, apis/extension/reservation.go,
/// ExactMatchReservation).
[[nodiscard]] GANGSCHED_INLINE bool holds_exactly(const model::resource_kinds& kinds, const pod_class& held,
                                                  const pod_class& cls) {
  for (const std::string& name : cls.exact_reservation) {
    const std::optional<resource_kind> kind = kinds.find(name);
    const std::int64_t there = kind ? held.request(*kind) : 0, wanted = kind ? cls.request(*kind) : 0;
    const bool known = there != 0 || is_among(name, held.requests_none),
               asked = wanted != 0 || is_among(name, cls.requests_none);
    if (!known && !asked) return true;
    if (known != asked || there != wanted) return false;
  }
  return true;
}

}  // namespace gangsched::inline GANGSCHED_ABI::detail

namespace gangsched::inline GANGSCHED_ABI::model {

GANGSCHED_INLINE reservation_table::reservation_table(undo_log& undo, node_table& nodes, pod_table& pods,
                                                      class_table& classes)
    : nodes_(nodes),
      pods_(pods),
      classes_(classes),
      rows_(undo),
      sets_(undo),
      record_(undo),
      set_(undo),
      first_(undo, no_row),
      last_(undo, no_row),
      next_(undo, no_row),
      prev_(undo, no_row),
      drawn_(undo),
      owners_(undo),
      there_before_(undo),
      used_up_(undo),
      devices_(undo),
      of_pod_(undo, no_row),
      was_there_(undo),
      count_(undo),
      naming_(undo) {
  count_.grow(1), naming_.grow(1);
}

GANGSCHED_INLINE reservation_table& reservation_table::operator=(const reservation_table& from) {
  rows_ = from.rows_, sets_ = from.sets_, record_ = from.record_, set_ = from.set_;
  first_ = from.first_, last_ = from.last_, next_ = from.next_, prev_ = from.prev_;
  drawn_ = from.drawn_, owners_ = from.owners_, there_before_ = from.there_before_, used_up_ = from.used_up_,
  devices_ = from.devices_, of_pod_ = from.of_pod_, was_there_ = from.was_there_;
  count_ = from.count_, naming_ = from.naming_;
  pod_rows_ = from.pod_rows_;
  return *this;
}

// --- reservations that come and go

GANGSCHED_INLINE row_t reservation_table::find_set(const std::vector<reservation_owner>& owners, bool& fresh) {
  std::string key = canonical::bytes(owners);
  for (row_t row = 0; row < sets_.count(); ++row)
    if (set_[row] != nullptr && set_[row]->key == key) return row;
  fresh = true;
  const row_t row = sets_.take();
  set_.grow(row + 1), first_.grow(row + 1), last_.grow(row + 1);
  set_.set(row, std::make_unique<const owner_set>(owner_set{std::move(key), owners}));
  first_.set(row, no_row), last_.set(row, no_row);
  if (std::any_of(owners.begin(), owners.end(), [](const reservation_owner& one) { return !one.pod.empty(); }))
    naming_.set(0, naming_[0] + 1);
  return row;
}

GANGSCHED_INLINE void reservation_table::point(row_t pod, row_t at) {
  if (pod >= pod_rows_) {
    if (at == no_row) return;
    of_pod_.grow(pod + 1), was_there_.grow(pod + 1);
    pod_rows_ = pod + 1;
  }
  if (of_pod_[pod] != at) of_pod_.set(pod, at);
}

GANGSCHED_INLINE bool reservation_table::add(row_t pod) {
  const pod_class& cls = classes_[pods_.cls[pod]];
  bool fresh = false;
  const row_t set = find_set(cls.reserves->spec.owners, fresh);
  const row_t row = rows_.take();
  record_.grow(row + 1), next_.grow(row + 1), prev_.grow(row + 1), owners_.grow(row + 1), used_up_.grow(row + 1);
  devices_.grow(row + 1), there_before_.grow(row + 1);
  resource_kind widest = kinds::first_other;
  for (const amount& one : cls.requests) widest = std::max(widest, one.kind + 1);
  drawn_.grow(rows_.count(), widest);
  record_.set(row, std::make_unique<const reservation_record>(reservation_record{pod, set}));
  detail::each_counted_kind(cls, [&](resource_kind kind) { drawn_.set(row, kind, 0); });
  owners_.set(row, 0), there_before_.set(row, 0), used_up_.set(row, false);
  const row_t last = last_[set];
  prev_.set(row, last), next_.set(row, no_row);
  if (last != no_row)
    next_.set(last, row);
  else
    first_.set(set, row);
  last_.set(set, row);
  point(pod, row);
  count_.set(0, count_[0] + 1);
  return fresh;
}

GANGSCHED_INLINE bool reservation_table::remove(row_t pod, row_t node) {
  const row_t row = row_of(pod);
  for (row_t other = node == no_row ? no_row : nodes_.first_pod[node]; other != no_row;
       other = pods_.next_on_node[other])
    if (other < pod_rows_ && of_pod_[other] == row) choose(other, no_row);
  point(pod, no_row);
  const row_t set = record_[row]->set, next = next_[row], prev = prev_[row];
  if (next != no_row)
    prev_.set(next, prev);
  else
    last_.set(set, prev);
  if (prev != no_row)
    next_.set(prev, next);
  else
    first_.set(set, next);
  if (devices_[row] != nullptr) devices_.set(row, nullptr);
  record_.set(row, nullptr);
  rows_.give_back(row);
  count_.set(0, count_[0] - 1);
  if (first_[set] != no_row) return false;
  const std::vector<reservation_owner>& owners = set_[set]->owners;
  if (std::any_of(owners.begin(), owners.end(), [](const reservation_owner& one) { return !one.pod.empty(); }))
    naming_.set(0, naming_[0] - 1);
  set_.set(set, nullptr);
  sets_.give_back(set);
  return true;
}

GANGSCHED_INLINE bool reservation_table::renew(row_t pod, row_t node) {
  const row_t old = row_of(pod);
  struct owner {
    row_t pod;
    bool there;
  };
  std::vector<owner> drawing;
  for (row_t other = node == no_row ? no_row : nodes_.first_pod[node]; other != no_row;
       other = pods_.next_on_node[other])
    if (other < pod_rows_ && of_pod_[other] == old) drawing.push_back({other, was_there_[other]});
  const bool was_used_up = used_up_[old];
  auto held = devices_[old] != nullptr ? std::make_unique<const device_claim>(*devices_[old]) : nullptr;
  const bool last = remove(pod, node), first = add(pod);
  const row_t row = row_of(pod);
  if (was_used_up) used_up_.set(row, true);
  if (held != nullptr) devices_.set(row, std::move(held));
  for (const owner& other : drawing) {
    choose(other.pod, pod, other.there), draw(row, other.pod, node, +1);
    if (pods_.state[other.pod] == pod_state::bound) runs(other.pod);  // it may be for once from now on
  }
  return last || first;
}

GANGSCHED_INLINE std::vector<row_t> reservation_table::owned_by(std::string_view ns, std::string_view name,
                                                                const label_map& labels,
                                                                const controller_ref& controller) const {
  std::vector<row_t> found;
  if (empty()) return found;
  for (row_t row = 0; row < sets_.count(); ++row) {
    if (set_[row] == nullptr) continue;
    const std::vector<reservation_owner>& owners = set_[row]->owners;
    const bool in = std::any_of(owners.begin(), owners.end(), [&](const reservation_owner& one) {
      return detail::owns(one, ns, name, labels, controller);
    });
    if (in) found.push_back(row);
  }
  return found;
}

// --- questions

GANGSCHED_INLINE row_t reservation_table::row_of(row_t pod) const noexcept {
  const row_t row = pod < pod_rows_ ? of_pod_[pod] : no_row;
  return row != no_row && record_[row] != nullptr && record_[row]->pod == pod ? row : no_row;
}

GANGSCHED_INLINE bool reservation_table::is_on(row_t row, row_t node) const noexcept {
  return record_[row] != nullptr && pods_.node[record_[row]->pod] == node;
}

GANGSCHED_INLINE bool reservation_table::spent(row_t pod) const noexcept {
  const row_t row = row_of(pod);
  return classes_[pods_.cls[pod]].reserves->spec.once && (newcomers(row) != 0 || used_up_[row]);
}
GANGSCHED_INLINE bool reservation_table::used_up(row_t pod) const noexcept { return used_up_[row_of(pod)]; }
GANGSCHED_INLINE std::uint32_t reservation_table::owners(row_t pod) const noexcept { return owners_[row_of(pod)]; }

GANGSCHED_INLINE std::int64_t reservation_table::left(row_t pod, resource_kind kind) const noexcept {
  if (spent(pod)) return 0;
  const std::int64_t held = counted_amount(classes_[pods_.cls[pod]], kind);
  return held == 0 ? 0 : std::max<std::int64_t>(0, held - drawn_.at(row_of(pod), kind));
}

GANGSCHED_INLINE bool reservation_table::lets(const cluster_state& state, row_t pod, const pod_class& cls, row_t node,
                                              bool runs) const {
  return admits(state, pod, cls, node, runs) && detail::holds_exactly(state.kinds, classes_[pods_.cls[pod]], cls);
}

GANGSCHED_INLINE bool reservation_table::admits(const cluster_state& state, row_t pod, const pod_class& cls, row_t node,
                                                bool runs) const {
  const reservation_spec& spec = classes_[pods_.cls[pod]].reserves->spec;
  const reservation_affinity* const affinity = cls.reservation_affinity.get();
  if (affinity != nullptr && !affinity->name.empty()) return affinity->name == pods_.record[pod]->name;
  if (spec.unschedulable && !runs) return false;
  if (affinity == nullptr) return true;
  for (const taint& one : spec.taints)
    if (one.effect != taint_effect::prefer_no_schedule && !detail::tolerates(affinity->tolerations, one)) return false;
  return detail::matches(*affinity, {state, *pods_.record[pod], *nodes_.record[node]});
}

// --- pods that draw

GANGSCHED_INLINE void reservation_table::choose(row_t pod, row_t from, bool there) {
  point(pod, from == no_row ? no_row : row_of(from));
  if (pod < pod_rows_ && was_there_[pod] != there) was_there_.set(pod, there);
}

GANGSCHED_INLINE void reservation_table::count(row_t pod, row_t node, std::int64_t sign) {
  const row_t row = pod < pod_rows_ ? of_pod_[pod] : no_row;
  if (row == no_row || record_[row] == nullptr) return;
  const pod_class& cls = classes_[pods_.cls[pod]];
  if (record_[row]->pod != pod) return draw(row, pod, node, sign);
  detail::each_counted_kind(cls, [&](resource_kind kind) {
    const std::int64_t drawn = counted_amount(cls, kind) - left(pod, kind);
    if (drawn != 0) nodes_.used.set(node, kind, nodes_.used.at(node, kind) - sign * drawn);
  });
}

GANGSCHED_INLINE void reservation_table::draw(row_t row, row_t pod, row_t node, std::int64_t sign) {
  const pod_class& cls = classes_[pods_.cls[pod]];
  const row_t holder = record_[row]->pod;
  const pod_class& held = classes_[pods_.cls[holder]];
  const bool counts = is_on(row, node), spent_before = spent(holder);
  owners_.set(row, static_cast<std::uint32_t>(owners_[row] + sign));
  if (was_there_[pod]) there_before_.set(row, static_cast<std::uint32_t>(there_before_[row] + sign));
  const bool spent_after = spent(holder);
  detail::each_counted_kind(held, [&](resource_kind kind) {
    const std::int64_t all = counted_amount(held, kind), drawn = drawn_.at(row, kind);
    const std::int64_t now = drawn + sign * counted_amount(cls, kind);
    const std::int64_t before = spent_before ? 0 : std::max<std::int64_t>(0, all - drawn);
    const std::int64_t after = spent_after ? 0 : std::max<std::int64_t>(0, all - now);
    if (now != drawn) drawn_.set(row, kind, now);
    if (counts && after != before) nodes_.used.set(node, kind, nodes_.used.at(node, kind) + after - before);
  });
}

GANGSCHED_INLINE void reservation_table::runs(row_t pod) {
  const row_t holder = drawn_by(pod);
  if (holder == no_row || was_there_[pod] || !classes_[pods_.cls[holder]].reserves->spec.once) return;
  if (!used_up(holder)) use_up(holder);
}

GANGSCHED_INLINE void reservation_table::digest_into(digest& out, row_t pods) const {
  if (empty()) return;
  for (row_t pod = 0; pod < pods && pod < pod_rows_; ++pod) {
    const row_t row = of_pod_[pod];
    if (row == no_row || record_[row] == nullptr) continue;
    const bool own = record_[row]->pod == pod;
    if (!own && pods_.node[pod] == no_row) continue;  // what the next attempt will choose anew
    out.add(std::uint64_t{pod}), out.add(std::uint64_t{record_[row]->pod});
    if (!own) out.add(std::uint64_t{was_there_[pod]});
    if (own) out.add(std::uint64_t{owners_[row]} << 1 | static_cast<std::uint64_t>(used_up_[row]));
    if (own && devices_[row] != nullptr) devices_[row]->digest_into(out);
  }
}

}  // namespace gangsched::inline GANGSCHED_ABI::model
