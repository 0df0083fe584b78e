#pragma once
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "gangsched/core/config.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

/// Placing members that differ as a question of amounts alone: which of them go together on which node. Nodes are filled one after
/// another, the smallest first, with sets to which no member can be added (bin completion). The waste on a node is bounded by what
/// all nodes have beyond the members' needs. Where that is little, the sets that fill a node are listed beforehand for all nodes,
/// and the member or node with the fewest sets left is decided next, as in an exact cover. Equal nodes are one kind of node.
class GANGSCHED_API member_packing {
 public:
  using amounts = std::vector<std::int64_t>;
  struct kind {
    amounts needs;
    std::uint32_t count = 0;
    std::vector<std::uint8_t> may;  ///< by node: whether it may be there at all
  };
  enum class answer : std::uint8_t { found, none, unknown };

  /// @p least: so many of the members have to find a place. @p free: of each node, none negative, in the order of `needs`.
  member_packing(std::vector<amounts> free, std::vector<kind> kinds, std::uint32_t least, std::uint64_t steps);

  /// `none` is proved; `unknown`: the steps were used up. O(steps · (kinds + amounts)).
  [[nodiscard]] answer solve();
  [[nodiscard]] std::uint64_t steps_left() const noexcept { return steps_; }
  /// When it was found: how many of that kind are on the node.
  [[nodiscard]] std::uint32_t on(std::size_t which, std::size_t node) const { return result_[which][node]; }

 private:
  using counts = std::vector<std::uint32_t>;  ///< by kind, in the order of `order_`
  struct node_class {
    amounts free;
    std::vector<std::uint8_t> may;   ///< by kind, in order
    std::vector<std::size_t> nodes;  ///< that are alike
  };
  struct filling {
    counts of;
    amounts waste;
    std::uint64_t weight = 0;  ///< of the waste: in 2^20ths of all that is free
  };
  struct cover;

  [[nodiscard]] bool step() noexcept { return steps_ != 0 && --steps_ != 0; }
  [[nodiscard]] std::uint64_t weigh(const amounts& some) const noexcept;
  [[nodiscard]] bool all_needed() const noexcept { return least_ == members_; }
  [[nodiscard]] amounts least_needs(const counts& left, std::uint32_t members) const;
  [[nodiscard]] bool hopeless(const counts& left, std::uint32_t members, std::size_t from) const;
  template <class Take>
  bool each_filling(const node_class& of, const counts& left, const amounts& at_least, bool all, std::size_t at,
                    filling& so_far, const Take& take);
  answer complete(std::size_t from, counts& left, std::uint32_t needed);
  answer cover_exactly();
  answer cover_from(cover& with, std::uint32_t left);
  void put(const counts& some, std::size_t node);
  void take_back(const counts& some, std::size_t node);

  std::vector<kind> kinds_;
  std::vector<std::size_t> order_;     ///< of kinds: the largest first
  std::vector<node_class> classes_;    ///< the smallest first
  std::vector<std::size_t> sequence_;  ///< the class of each node, in the order in which they are filled
  std::vector<amounts> free_after_;    ///< of the nodes from that one on
  std::vector<std::size_t> last_;      ///< by kind in order: after this node of the sequence none takes it
  amounts total_;
  std::uint32_t members_ = 0, least_;
  std::uint64_t steps_;
  bool cut_ = false;  ///< fillings were left out
  std::set<std::pair<std::uint64_t, std::uint64_t>> failed_;
  std::vector<counts> result_;  ///< by kind as given, and node
};

}  // namespace gangsched::inline GANGSCHED_ABI::engine

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/engine/member_packing.cpp"
#endif
