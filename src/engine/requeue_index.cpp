#include "gangsched/engine/requeue_index.hpp"

#include <algorithm>
#include <utility>

#include "gangsched/model/state.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

GANGSCHED_INLINE void requeue_index::set(std::uint32_t who, help_condition needs) {
  erase(who);
  if (needs.anything) needs = {.anything = true};
  standing& its = known_[who];
  its = {needs.anything, needs.labels, needs.victims, needs.what, needs.columns, needs.hears, {}, {}, reads::nothing};
  for (const needed_node& one : needs.nodes) its.facets |= one.facets;
  if (its.labels) its.facets |= reads::labels;
  if (its.anything) anything_.insert(who);
  if (its.labels) labels_.insert(who);
  if (its.victims) victims_.insert(who);
  if (any(its.what)) by_events_[its.what].insert(who);
  if (any(its.columns)) by_columns_[its.columns].insert(who);
  if (its.hears != 0) by_hearing_[its.hears].insert(who);
  if (any(its.facets)) by_facets_[its.facets].insert(who);
  all_.what |= its.what, all_.columns |= its.columns, all_.facets |= its.facets;
  for (needed_node& one : needs.nodes) {
    for (const symbol name : one.named) by_name_[name].insert(who);
    its.named.insert(its.named.end(), one.named.begin(), one.named.end());
    if (one.named.empty()) its.rooms.push_back({one.owner, rooms_[one.owner].add(who, std::move(one.least))});
  }
}

template <class Sets, class Key>
bool requeue_index::leave(Sets& sets, const Key& key, std::uint32_t who) {
  const auto found = sets.find(key);
  if (found == sets.end()) return false;
  found->second.erase(who);
  if (!found->second.empty()) return false;
  sets.erase(found);
  return true;
}

GANGSCHED_INLINE void requeue_index::add_up() noexcept {
  all_ = {};
  for (const auto& [mask, all] : by_events_) all_.what |= mask;
  for (const auto& [mask, all] : by_columns_) all_.columns |= mask;
  for (const auto& [mask, all] : by_facets_) all_.facets |= mask;
}

GANGSCHED_INLINE void requeue_index::erase(std::uint32_t who) {
  const auto found = known_.find(who);
  if (found == known_.end()) return;
  const standing& its = found->second;
  if (its.anything) anything_.erase(who);
  if (its.labels) labels_.erase(who);
  if (its.victims) victims_.erase(who);
  const bool last_by_events = leave(by_events_, its.what, who), last_by_columns = leave(by_columns_, its.columns, who);
  if (leave(by_facets_, its.facets, who) || last_by_events || last_by_columns) add_up();
  leave(by_hearing_, its.hears, who);
  for (const symbol name : its.named) leave(by_name_, name, who);
  for (const auto& [owner, at] : its.rooms) {
    const auto room = rooms_.find(owner);
    room->second.remove(at);
    if (room->second.empty()) rooms_.erase(room);
  }
  known_.erase(found);
}

GANGSCHED_INLINE void requeue_index::clear() {
  known_.clear();
  anything_.clear(), labels_.clear(), victims_.clear();
  by_events_.clear(), by_columns_.clear(), by_facets_.clear(), by_name_.clear(), by_hearing_.clear();
  rooms_.clear();
  all_ = {};
}

namespace detail {

GANGSCHED_INLINE std::vector<std::uint32_t> ascending(std::vector<std::uint32_t> found) {
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

}  // namespace detail

GANGSCHED_INLINE std::vector<std::uint32_t> requeue_index::candidates(const model::cluster_state& state,
                                                                      const event& what, bool about_victims) const {
  std::vector<std::uint32_t> found{anything_.begin(), anything_.end()};
  const auto take = [&](const members& all) { found.insert(found.end(), all.begin(), all.end()); };
  for (const auto& [mask, all] : by_events_) {
    if (any(mask & what.what)) take(all);
  }
  if (what.kind == change_kind::column_changed || what.kind == change_kind::queue_changed) {
    for (const auto& [mask, all] : by_columns_) {
      if (any(mask & what.facets)) take(all);
    }
  }
  if (about_victims) take(victims_);
  if (!what.node || !any(what.facets & all_.facets)) return detail::ascending(std::move(found));
  const row_t node = what.node->id().row;
  if (any(what.facets & reads::labels)) take(labels_);
  if (const auto named = by_name_.find(state.nodes.record[node]->name); named != by_name_.end()) take(named->second);
  for (const auto& [owner, room] : rooms_) {
    const model::held_room_record* const held = owner ? state.rooms.find(owner) : nullptr;
    const auto free = [&](resource_kind kind) {
      return what.node->free(kind) + (held == nullptr ? 0 : state.rooms.left(*held, node, kind));
    };
    room.each(free, [&](std::uint32_t who) { found.push_back(who); });
  }
  return detail::ascending(std::move(found));
}

GANGSCHED_INLINE std::vector<std::uint32_t> requeue_index::candidates(std::uint64_t told) const {
  std::vector<std::uint32_t> found;
  for (const auto& [hears, all] : by_hearing_) {
    if ((hears & told) != 0 || hears == ~std::uint64_t{0}) found.insert(found.end(), all.begin(), all.end());
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace gangsched::inline GANGSCHED_ABI::engine
