#include "gangsched/engine/placed_members.hpp"

#include "gangsched/model/transaction.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

GANGSCHED_INLINE bool placed_members::place(row_t pod, const picked& where, status& said) {
  if (!state_->assigned.fits_in_words(where.node, state_->classes[state_->pods.cls[pod]])) return false;
  transaction one{*state_};
  const member_place placed{pod, where.node, where.score};
  if (!reserved_->assume(pod, where.node, said) || !reserved_->reserve(pod, where.node, said)) return false;
  one.commit();
  all_.push_back(placed);
  return true;
}

GANGSCHED_INLINE status placed_members::swap_nodes(std::span<const move> moves) {
  for (const move& one : moves) reserved_->release(all_[one.which].pod);
  for (const move& one : moves) all_[one.which].node = one.node;
  for (const move& one : moves) {
    const member_place& now = all_[one.which];
    if (status said; !reserved_->assume(now.pod, now.node, said) || !reserved_->reserve(now.pod, now.node, said)) {
      return said.code == code::error ? said : status::unschedulable("a reserve hook refused the node of a rank");
    }
  }
  return {};
}

GANGSCHED_INLINE void placed_members::discard(std::size_t left) noexcept {
  for (; all_.size() > left; all_.pop_back()) reserved_->unreserve(all_.back().pod, all_.back().node);
}

GANGSCHED_INLINE void placed_members::undo(std::size_t left) {
  for (; all_.size() > left; all_.pop_back()) reserved_->release(all_.back().pod);
}

GANGSCHED_INLINE std::vector<assignment> placed_members::assignments(std::size_t from) const {
  std::vector<assignment> made;
  for (std::size_t i = from; i < all_.size(); ++i) {
    const auto& [pod, node, score] = all_[i];
    made.push_back({{pod, state_->pods.rows.generation(pod)}, {node, state_->nodes.rows.generation(node)}});
  }
  return made;
}

}  // namespace gangsched::inline GANGSCHED_ABI::engine
