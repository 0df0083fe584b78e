#include "gangsched/engine/placed_members.hpp"

#include <algorithm>

#include "gangsched/core/make_room.hpp"
#include "gangsched/model/transaction.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

GANGSCHED_INLINE bool placed_members::place(row_t pod, const picked& where, status& said) {
  if (!state_->assigned.fits_in_words(where.node, state_->classes[state_->pods.cls[pod]])) return false;
  gangsched::detail::make_room(all_);  // once hooks have reserved, nothing may fail
  transaction one{*state_};
  const member_place placed{pod, where.node, where.score, all_.size()};
  if (!reserved_->assume(pod, where.node, said) || !reserved_->reserve(pod, where.node, said)) return false;
  one.commit();
  all_.push_back(placed);
  return true;
}

GANGSCHED_INLINE status placed_members::swap_places(std::span<const move> moves) {
  std::vector<member_place> then = all_;
  std::size_t first_turn = all_.size();
  bool elsewhere = false;
  for (const auto& [which, of] : moves) {
    then[which] = all_[of];
    then[which].pod = all_[which].pod;
    first_turn = std::min(first_turn, all_[of].turn);
    elsewhere = elsewhere || all_[which].node != all_[of].node;
  }
  if (elsewhere) {
    const auto comes_later = [&](const member_place& one) { return one.turn >= first_turn; };
    const auto first = std::find_if(all_.begin(), all_.end(), comes_later) - all_.begin();
    std::vector<member_place> again{then.begin() + first, then.end()};
    std::sort(again.begin(), again.end(), [](const member_place& a, const member_place& b) { return a.turn < b.turn; });
    undo(static_cast<std::size_t>(first));
    for (const member_place& one : again) {
      if (status said; !reserved_->assume(one.pod, one.node, said) || !reserved_->reserve(one.pod, one.node, said)) {
        return said.code == code::error ? said : status::unschedulable("a reserve hook refused the node of a rank");
      }
      all_.push_back(one);
    }
  }
  all_ = std::move(then);
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
    const auto& [pod, node, score, turn] = all_[i];
    made.push_back({{pod, state_->pods.rows.generation(pod)}, {node, state_->nodes.rows.generation(node)}});
  }
  return made;
}

}  // namespace gangsched::inline GANGSCHED_ABI::engine
