#pragma once
#include <boost/container/small_vector.hpp>
#include <map>
#include <vector>

#include "gangsched/core/config.hpp"
#include "gangsched/model/pod_class.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

/// Finds entities by the amounts that they need free on one node, given what a node has free.
///
/// Those that need the same kinds are in one treap, ordered by the amounts. Each of its nodes knows the
/// least amount of each kind below it: the search descends only if the cluster's node has that much.
/// With one or two kinds that differ it costs O(found · log n); with more it may descend in vain.
class GANGSCHED_API room_index {
 public:
  struct place {
    std::uint32_t tree = 0, node = 0;
  };
  /// @p least: amounts above zero, each kind once. Expected O(log n).
  place add(std::uint32_t whose, std::vector<amount> least);
  void remove(place at);
  [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
  /// Calls visit(id) for all whose needs are met by free(kind), in unspecified order.
  template <class Free, class Visit>
  void each(const Free& free, const Visit& visit) const {
    amounts there;
    for (const auto& [kinds, number] : numbers_) {
      const tree& its = trees_[number];
      there.clear();
      for (const resource_kind kind : kinds) there.push_back(free(kind));
      its.each(its.root, there, visit);
    }
  }

 private:
  static constexpr std::uint32_t none = ~std::uint32_t{0};
  using amounts = boost::container::small_vector<std::int64_t, 8>;  // each event is asked about: without an allocation
  struct tree {
    struct node {
      std::uint32_t whose, left, right;
      std::uint64_t rank;  ///< above that of those below
    };
    std::vector<resource_kind> of;
    std::size_t kinds = 0;                   ///< how many
    std::uint32_t root = none, free = none;  ///< free ones are linked by `left`
    std::vector<node> nodes;
    std::vector<std::int64_t> own, least;  ///< by node and kind; of the node, and of all below it too

    [[nodiscard]] bool fits(const std::vector<std::int64_t>& needs, std::uint32_t at,
                            const amounts& there) const noexcept {
      for (std::size_t i = 0; i < kinds; ++i) {
        if (needs[at * kinds + i] > there[i]) return false;
      }
      return true;
    }
    template <class Visit>
    void each(std::uint32_t at, const amounts& there, const Visit& visit) const {
      if (at == none || !fits(least, at, there)) return;
      each(nodes[at].left, there, visit);
      if (fits(own, at, there)) visit(nodes[at].whose);
      each(nodes[at].right, there, visit);
    }
    [[nodiscard]] std::uint32_t take(std::uint32_t whose, const std::vector<amount>& needs, std::uint64_t rank);
    [[nodiscard]] bool before(std::uint32_t a, std::uint32_t b) const noexcept;
    void update(std::uint32_t at) noexcept;
    [[nodiscard]] std::uint32_t insert(std::uint32_t at, std::uint32_t made) noexcept;
    void split(std::uint32_t at, std::uint32_t by, std::uint32_t& below, std::uint32_t& above) noexcept;
    [[nodiscard]] std::uint32_t join(std::uint32_t below, std::uint32_t above) noexcept;
    [[nodiscard]] std::uint32_t erase(std::uint32_t at, std::uint32_t gone) noexcept;
  };
  std::map<std::vector<resource_kind>, std::uint32_t> numbers_;  // of trees with entities
  std::vector<tree> trees_;
  std::vector<std::uint32_t> free_;  // numbers of no tree
  std::uint64_t made_ = 0;
  std::size_t count_ = 0;
};

}  // namespace gangsched::inline GANGSCHED_ABI::engine

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/engine/room_index.cpp"
#endif
