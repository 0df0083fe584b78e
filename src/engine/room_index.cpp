#include "gangsched/engine/room_index.hpp"

#include <algorithm>

#include "gangsched/core/hash.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

GANGSCHED_INLINE std::uint32_t room_index::tree::take(std::uint32_t whose, const std::vector<amount>& needs,
                                                      std::uint64_t rank) {
  std::uint32_t made = free;
  if (made != none) {
    free = nodes[made].left;
  } else {
    made = static_cast<std::uint32_t>(nodes.size());
    own.resize((nodes.size() + 1) * kinds), least.resize((nodes.size() + 1) * kinds);
    nodes.emplace_back();
  }
  nodes[made] = {whose, none, none, rank};
  for (std::size_t i = 0; i < kinds; ++i) own[made * kinds + i] = least[made * kinds + i] = needs[i].value;
  return made;
}

GANGSCHED_INLINE bool room_index::tree::before(std::uint32_t a, std::uint32_t b) const noexcept {
  for (std::size_t i = 0; i < kinds; ++i) {
    if (own[a * kinds + i] != own[b * kinds + i]) return own[a * kinds + i] < own[b * kinds + i];
  }
  return a < b;
}

GANGSCHED_INLINE void room_index::tree::update(std::uint32_t at) noexcept {
  const auto [left, right] = std::pair{nodes[at].left, nodes[at].right};
  for (std::size_t i = 0; i < kinds; ++i) {
    std::int64_t& made = least[at * kinds + i];
    made = own[at * kinds + i];
    if (left != none) made = std::min(made, least[left * kinds + i]);
    if (right != none) made = std::min(made, least[right * kinds + i]);
  }
}

GANGSCHED_INLINE std::uint32_t room_index::tree::insert(std::uint32_t at, std::uint32_t made) noexcept {
  if (at == none) return made;
  if (nodes[made].rank > nodes[at].rank) {
    split(at, made, nodes[made].left, nodes[made].right);
    update(made);
    return made;
  }
  std::uint32_t& below = before(made, at) ? nodes[at].left : nodes[at].right;
  below = insert(below, made);
  update(at);
  return at;
}

GANGSCHED_INLINE void room_index::tree::split(std::uint32_t at, std::uint32_t by, std::uint32_t& below,
                                              std::uint32_t& above) noexcept {
  if (at == none) {
    below = above = none;
    return;
  }
  if (before(at, by)) {
    below = at;
    split(nodes[at].right, by, nodes[at].right, above);
  } else {
    above = at;
    split(nodes[at].left, by, below, nodes[at].left);
  }
  update(at);
}

GANGSCHED_INLINE std::uint32_t room_index::tree::join(std::uint32_t below, std::uint32_t above) noexcept {
  if (below == none || above == none) return below == none ? above : below;
  if (nodes[below].rank > nodes[above].rank) {
    nodes[below].right = join(nodes[below].right, above);
    update(below);
    return below;
  }
  nodes[above].left = join(below, nodes[above].left);
  update(above);
  return above;
}

GANGSCHED_INLINE std::uint32_t room_index::tree::erase(std::uint32_t at, std::uint32_t gone) noexcept {
  if (at == gone) return join(nodes[at].left, nodes[at].right);
  std::uint32_t& below = before(gone, at) ? nodes[at].left : nodes[at].right;
  below = erase(below, gone);
  update(at);
  return at;
}

GANGSCHED_INLINE room_index::place room_index::add(std::uint32_t whose, std::vector<amount> least) {
  std::sort(least.begin(), least.end(), [](const amount& a, const amount& b) { return a.kind < b.kind; });
  std::vector<resource_kind> kinds;
  for (const amount& one : least) kinds.push_back(one.kind);
  if (free_.empty()) {
    free_.reserve(trees_.size() + 1);
    free_.push_back(static_cast<std::uint32_t>(trees_.size()));
    trees_.emplace_back();
  }
  const auto [known, fresh] = numbers_.try_emplace(kinds, free_.back());
  tree& its = trees_[known->second];
  if (fresh) {
    free_.pop_back();
    its.kinds = kinds.size();
    its.of = std::move(kinds);
  }
  const std::uint32_t made = its.take(whose, least, mix64(++made_));
  its.root = its.insert(its.root, made);
  ++count_;
  return {known->second, made};
}

GANGSCHED_INLINE void room_index::remove(place at) {
  tree& its = trees_[at.tree];
  its.root = its.erase(its.root, at.node);
  its.nodes[at.node].left = its.free;
  its.free = at.node;
  --count_;
  if (its.root != none) return;
  numbers_.erase(its.of);  // kinds that no entity needs any more are dropped
  its = {};
  free_.push_back(at.tree);
}

}  // namespace gangsched::inline GANGSCHED_ABI::engine
