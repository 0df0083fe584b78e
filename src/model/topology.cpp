#include "gangsched/model/topology.hpp"

#include <algorithm>
#include <string>
#include <unordered_map>

#include "gangsched/model/canonical_selectors.hpp"
#include "gangsched/model/free_places.hpp"
#include "gangsched/model/mark_names.hpp"
#include "gangsched/model/node_selector.hpp"
#include "gangsched/model/node_table.hpp"

namespace gangsched::inline GANGSCHED_ABI::model {
GANGSCHED_INLINE topology_table::topology::topology(undo_log& undo, symbol with_key, bool with_empty)
    : key(with_key),
      absent_is_empty(with_empty),
      rows(undo),
      nodes(undo),
      value(undo),
      by_value(undo),
      domain_of(undo, no_domain),
      facts(undo) {
  facts.grow(fact_count);
}

GANGSCHED_INLINE topology_table::topology_table(undo_log& undo) : undo_(&undo), epoch_(undo) {
  all_.push_back(nullptr);  // node_itself
  epoch_.grow(1);
}
GANGSCHED_INLINE topology_table::~topology_table() = default;

GANGSCHED_INLINE topology_table& topology_table::operator=(const topology_table& from) {
  all_ = detail::copies_of(
      from.all_, [&](const topology& one) { return std::make_unique<topology>(*undo_, one.key, one.absent_is_empty); });
  free_ = from.free_;
  made_ = from.made_;
  nodes_ = from.nodes_;
  epoch_ = from.epoch_;
  last_epoch_ = from.last_epoch_;
  local_from = from.local_from;
  return *this;
}

GANGSCHED_INLINE topology_id topology_table::number(symbol key, bool absent_is_empty) {
  for (topology_id id = 1; id < all_.size(); ++id) {
    if (all_[id] != nullptr && all_[id]->key == key && all_[id]->absent_is_empty == absent_is_empty) return id;
  }
  auto fresh = std::make_unique<topology>(*undo_, key, absent_is_empty);
  fresh->domain_of.grow(nodes_);
  ++made_;
  return detail::put_in_free_place(all_, free_, std::move(fresh));
}

GANGSCHED_INLINE bool topology_table::sweep(const std::vector<bool>& used, interner& names) {
  made_ = 0;
  return detail::free_unused(all_, free_, 1, used, [&](const topology& one) { names.mark(one.key); }) != 0;
}

GANGSCHED_INLINE void topology_table::follow(topology_id id, const node_table& nodes) {
  if (id == node_itself || all_[id]->facts[is_followed] != 0) return;
  topology& one = *all_[id];
  one.facts.set(is_followed, 1);
  for (row_t row = 0; row < nodes.rows.count(); ++row) {
    if (nodes.alive(row)) enter(one, row, *nodes.record[row]);
  }
  settle();
}

GANGSCHED_INLINE domain_id topology_table::find(topology_id id, symbol value) const noexcept {
  return all_[id]->by_value.find(value, {});
}

GANGSCHED_INLINE std::optional<symbol> topology_table::value_of(const topology& one, const node_record& record) {
  const std::optional<symbol> value = record.label(one.key);
  return !value && one.absent_is_empty ? symbol{} : value;
}

GANGSCHED_INLINE void topology_table::enter(topology& one, row_t node, const node_record& record) {
  const std::optional<symbol> value = value_of(one, record);
  if (!value) return;
  domain_id domain = one.by_value.find(*value, {});
  if (domain == no_domain) {
    domain = one.rows.take();
    one.nodes.grow(domain + 1);
    one.value.grow(domain + 1);
    one.value.set(domain, value->value);
    one.by_value.insert(*value, {}, domain);
    one.facts.set(domains, one.facts[domains] + 1);
  }
  one.nodes.set(domain, one.nodes[domain] + 1);
  if (one.nodes[domain] == 2) one.facts.set(shared_domains, one.facts[shared_domains] + 1);
  one.domain_of.set(node, domain);
}

GANGSCHED_INLINE void topology_table::grow(row_t nodes) {
  nodes_ = std::max(nodes_, nodes);
  for (const auto& one : all_) {
    if (one != nullptr) one->domain_of.grow(nodes_);
  }
}

GANGSCHED_INLINE void topology_table::join(row_t node, const node_record& record) {
  for (const auto& one : all_) {
    if (follows(one)) enter(*one, node, record);
  }
}

GANGSCHED_INLINE void topology_table::leave(row_t node) {
  for (const auto& each : all_) {
    if (!follows(each)) continue;
    topology& one = *each;
    const domain_id domain = one.domain_of[node];
    if (domain == no_domain) continue;
    one.domain_of.set(node, no_domain);
    one.nodes.set(domain, one.nodes[domain] - 1);
    if (one.nodes[domain] == 1) one.facts.set(shared_domains, one.facts[shared_domains] - 1);
    if (one.nodes[domain] != 0) continue;
    one.by_value.erase(symbol{one.value[domain]}, {});
    one.rows.give_back(domain);
    one.facts.set(domains, one.facts[domains] - 1);
  }
}

GANGSCHED_INLINE void topology_table::settle() {
  for (const auto& each : all_) {
    if (each == nullptr) continue;
    topology& one = *each;
    const bool before = one.facts[is_local] != 0;
    const std::uint32_t from = before ? local_from / 2 : local_from;  // not back and forth with every node
    const bool now = one.facts[shared_domains] == 0 && one.facts[domains] >= from && !one.absent_is_empty;
    if (now == before) continue;
    one.facts.set(is_local, now ? 1 : 0);
    move_plan_epoch();
  }
}

GANGSCHED_INLINE bool topology_table::moves(row_t node, const node_record& after) const {
  return std::any_of(all_.begin(), all_.end(), [&](const auto& one) {
    if (!follows(one)) return false;
    const std::optional<symbol> value = value_of(*one, after);
    const domain_id domain = one->domain_of[node];
    return value.has_value() != (domain != no_domain) || (value && one->value[domain] != value->value);
  });
}

/// Which node is where, by value: domains are numbered as seen. Whether a key is `local` depends on its history and does not count.
GANGSCHED_INLINE void topology_table::digest_into(digest& out, row_t nodes, const std::vector<bool>& counted_by) const {
  std::uint64_t sum = 0;
  for (topology_id id = 1; id < all_.size(); ++id) {
    if (!counted_by[id]) continue;
    const topology& one = *all_[id];
    digest mine = out.another();
    add_name(mine, one.key);
    mine.add(std::uint64_t{one.absent_is_empty});
    for (row_t node = 0; node < nodes; ++node) {
      const domain_id domain = one.domain_of[node];
      mine.add(domain == no_domain ? 0 : one.nodes[domain]);
      if (domain != no_domain) add_name(mine, symbol{one.value[domain]});
    }
    for (const row_t which : {shared_domains, domains}) mine.add(one.facts[which]);
    sum += mine.value();
  }
  out.add(sum);
}

struct choice_table::index {
  std::unordered_map<std::string, choice_id> by_key;
};

GANGSCHED_INLINE choice_table::entry::entry(undo_log& undo, node_choice&& given)
    : choice(std::move(given)), taken(undo), followed(undo) {
  followed.grow(1);
}

GANGSCHED_INLINE choice_table::choice_table(undo_log& undo) : undo_(&undo), index_(std::make_unique<index>()) {
  all_.push_back(nullptr);  // every_node
}
GANGSCHED_INLINE choice_table::~choice_table() = default;

GANGSCHED_INLINE choice_table& choice_table::operator=(const choice_table& from) {
  all_ = detail::copies_of(from.all_,
                           [&](const entry& one) { return std::make_unique<entry>(*undo_, node_choice{one.choice}); });
  free_ = from.free_;
  made_ = from.made_;
  *index_ = *from.index_;
  nodes_ = from.nodes_;
  return *this;
}

GANGSCHED_INLINE choice_id choice_table::number(node_choice&& choice) {
  if (choice.keys.empty() && choice.node_selector.empty() && !choice.required && !choice.taints) return every_node;
  std::string key;
  canonical::append(key, choice.keys, choice.node_selector, choice.required, choice.taints, choice.tolerations);
  if (const auto known = index_->by_key.find(key); known != index_->by_key.end()) return known->second;
  auto fresh = std::make_unique<entry>(*undo_, std::move(choice));
  fresh->taken.grow(nodes_);
  const choice_id id = detail::put_in_free_place(all_, free_, std::move(fresh));
  index_->by_key.emplace(std::move(key), id);
  ++made_;
  return id;
}

GANGSCHED_INLINE bool choice_table::sweep(const std::vector<bool>& used, interner& names) {
  made_ = 0;
  std::erase_if(index_->by_key, [&](const auto& known) { return !used[known.second]; });
  return detail::free_unused(all_, free_, 1, used, [&](const entry& one) { detail::mark(names, one.choice); }) != 0;
}

GANGSCHED_INLINE void choice_table::follow(choice_id id, const node_table& nodes, const interner& names) {
  if (id == every_node || all_[id]->followed[0]) return;
  entry& one = *all_[id];
  one.followed.set(0, true);
  for (row_t row = 0; row < nodes.rows.count(); ++row) {
    if (nodes.alive(row)) one.taken.set(row, model::takes(one.choice, *nodes.record[row], names));
  }
}

GANGSCHED_INLINE void choice_table::grow(row_t nodes) {
  nodes_ = std::max(nodes_, nodes);
  for (const auto& one : all_) {
    if (one != nullptr) one->taken.grow(nodes_);
  }
}

GANGSCHED_INLINE void choice_table::join(row_t node, const node_record& record, const interner& names) {
  for (const auto& each : all_) {
    if (each == nullptr || !each->followed[0]) continue;
    entry& one = *each;
    const bool taken = model::takes(one.choice, record, names);
    if (one.taken[node] != taken) one.taken.set(node, taken);
  }
}

GANGSCHED_INLINE bool choice_table::moves(row_t node, const node_record& after, const interner& names) const {
  return std::any_of(all_.begin(), all_.end(), [&](const auto& one) {
    return one != nullptr && one->followed[0] && one->taken[node] != model::takes(one->choice, after, names);
  });
}

}  // namespace gangsched::inline GANGSCHED_ABI::model

namespace gangsched::inline GANGSCHED_ABI::detail {

/// A record as node selectors want a node.
struct record_words {
  const model::node_record& record;
  const interner& names;
  [[nodiscard]] std::optional<symbol> label(symbol key) const { return record.label(key); }
  [[nodiscard]] symbol name_symbol() const { return record.name; }
  [[nodiscard]] std::string_view text(symbol name) const { return names.text(name); }
};

}  // namespace gangsched::inline GANGSCHED_ABI::detail

namespace gangsched::inline GANGSCHED_ABI::model {

GANGSCHED_INLINE bool takes(const node_choice& choice, const node_record& record, const interner& names) {
  const auto has = [&](symbol key) { return record.label(key).has_value(); };
  if (!std::all_of(choice.keys.begin(), choice.keys.end(), has)) return false;
  for (const label_symbols& pair : choice.node_selector) {
    if (record.label(pair.key) != pair.value) return false;
  }
  const detail::record_words node{record, names};
  const auto holds = [&](const node_term& term) { return matches(term, node); };
  if (choice.required && std::none_of(choice.required->begin(), choice.required->end(), holds)) return false;
  if (!choice.taints) return true;
  return std::all_of(record.taints.begin(), record.taints.end(), [&](const taint_symbols& taint) {
    const auto tolerates = [&](const toleration_symbols& one) { return one.tolerates(taint); };
    return taint.effect == taint_effect::prefer_no_schedule ||
           std::any_of(choice.tolerations.begin(), choice.tolerations.end(), tolerates);
  });
}

}  // namespace gangsched::inline GANGSCHED_ABI::model
