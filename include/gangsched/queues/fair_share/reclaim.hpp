#pragma once
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "gangsched/core/config.hpp"
#include "gangsched/core/instant.hpp"
#include "gangsched/queues/fair_share/fair_shares.hpp"
#include "gangsched/queues/fair_share/turns.hpp"
#include "gangsched/queues/fair_share/usage.hpp"

/// Whom a job may take what it is due from, and in what order they go.
namespace gangsched::inline GANGSCHED_ABI::queues::fair_share {

enum class own_victims : std::uint8_t { never, lower_priority, lower_or_newer_equal_priority };
enum class others_victims : std::uint8_t { never, lower_priority, any };

/// A job that has no room.
struct preemptor {
  queue_index queue = no_queue;
  std::span<const std::int64_t> request = {};  ///< by resource
  std::int32_t priority = 0;
  std::uint64_t arrival = 0;  ///< the order in which jobs came
  own_victims own = own_victims::lower_priority;
  others_victims others = others_victims::any;
};

inline constexpr std::uint32_t no_unit = std::numeric_limits<std::uint32_t>::max();

/// What runs and goes as a whole: a job, or a part of one that the rest can do without.
struct running_unit {
  queue_index queue = no_queue;
  std::span<const std::int64_t> amounts = {};  ///< by resource
  std::int32_t priority = 0;
  std::uint64_t arrival = 0;
  std::int64_t lost_work = 0;     ///< with it, in any unit
  instant start{};                ///< who started last goes first
  bool spared_by_own = false;     ///< its own queue may not take it, as who has not run for long enough
  bool spared_by_others = false;  ///< likewise
  std::uint64_t part = 0;         ///< the order of a job's parts: of equal priority and arrival the lower one first
  std::uint32_t after = no_unit;  ///< a part that comes before, without which this one is not covered
};

/// Victims for one job, one after another.
///
/// A queue's units are covered by what it is due, the most important first (priority, then arrival), each that still fits in; what is not
/// covered is borrowed. A job that its queue's due has room for takes from other queues what they borrowed: of a resource that it
/// requests and that it, and each queue above it below the lowest one above both, is due; and of which the victim's queue, and each
/// above that likewise, has more than it is due. Who goes first is of the branch, level by level, that has most of its due
/// (saturation_of); within a queue, of lower priority, then with less lost work, then who started later.
/// In its own queue it takes from lesser ones, after what others borrowed: whoever they are if it is covered in their place, beside all
/// that are more important and the parts of it that run; else what is borrowed, as it is itself.
///
/// Why nobody wins back what he lost, while requests stay: let each queue have a word with a bit for each of its jobs, the most important
/// first: whether it runs and is covered; and another with a bit for whether it runs. A reclaiming job becomes covered, since its queue's
/// due has room for it beside all that runs there, so its queue's first word grows (as a number); so it does when a job that is covered
/// takes the place of lesser ones. Victims in other queues were not covered: their bits were 0, and the bits after them do not change.
/// A job that starts in free room is covered, and the word grows, or it is not, and the word stays. So no first word ever shrinks. Where
/// none grows, who goes and who comes is not covered, and the second word of their queue grows, the only one that changes. So there are
/// finitely many evictions, in any order, with any starts between them: the first words count before the second ones. And then
/// everybody has what it is due, as far as it consists of whole jobs: if a job that its queue's due has room for finds none in the
/// cluster, there is more in use than is due, at the lowest level where that holds by a sibling, and so down to a queue whose units
/// cannot all be covered. A job that is evicted may come anew, as the last of its priority: of a word that only moves a 0 back.
/// The object keeps its room: planning for no more queues and units than before does not allocate. What it was begun with has to outlive
/// it, and to stay as it is.
class GANGSCHED_API reclaim_plan {
 public:
  /// O(queues · resources + units · log units).
  void begin(const fair_shares& shares, const usage& now, const preemptor& who, std::span<const running_unit> units);

  /// Whether its queue's due would cover the job, beside what is more important in the queue and what runs of the job itself.
  [[nodiscard]] bool covers_preemptor() const { return who_covered_; }
  /// Whether its queue's due covers the unit.
  [[nodiscard]] bool is_covered(std::uint32_t unit) const { return covered_[unit] != 0; }
  /// Whether the unit may be taken beside those that were. O(depth · resources).
  [[nodiscard]] bool may_take(std::uint32_t unit) const;
  /// Takes it, allowed or not; and back. O(depth · resources).
  void take(std::uint32_t unit);
  void give_back(std::uint32_t unit);
  [[nodiscard]] bool is_taken(std::uint32_t unit) const { return taken_[unit] != 0; }

  /// Takes the next one in order, nobody if there is none left that may be. Once it was called, it alone takes. Any of those may be
  /// given back afterwards, what has to go goes by right of it: it was not covered. O(depth · (resources + log siblings)).
  std::optional<std::uint32_t> take_next();

 private:
  /// Bits of resources: queues are compared by no more than most_resources.
  using resource_mask = std::uint64_t;
  [[nodiscard]] std::int64_t& left(queue_index queue, std::size_t resource) {
    return left_[queue * shares_->resources() + resource];
  }
  [[nodiscard]] bool own_may_go(std::uint32_t unit) const;
  [[nodiscard]] bool others_may_go(std::uint32_t unit) const;
  [[nodiscard]] resource_mask above_due(queue_index queue) const;
  bool find_reach();
  void sort_units();
  void cover(queue_index queue);
  [[nodiscard]] bool fits_room(std::span<const std::int64_t> amounts) const;
  void count(std::uint32_t unit, std::int64_t sign);
  [[nodiscard]] bool uses(std::uint32_t unit, resource_mask of) const;
  [[nodiscard]] bool less_in_heap(queue_index a, queue_index b) const;
  void place_heaps();
  void build_heap(std::size_t level);
  bool find_own_of(queue_index queue, resource_mask of);
  bool find_in(std::size_t level, resource_mask reach);
  bool find_beside_path();
  void sink(queue_index queue);
  void search_anew();

  const fair_shares* shares_ = nullptr;
  preemptor who_;
  std::span<const running_unit> units_;
  std::vector<std::int64_t> left_;  ///< by queue, then resource: what is in use without who was taken
  std::vector<resource_mask>
      reach_;  ///< by depth: of what the preemptor, and each above it so deep or deeper, stays within its due
  std::vector<unsigned char> covered_, taken_;
  bool who_covered_ = false;
  std::vector<std::uint32_t> order_;               ///< units, by queue, and within one who goes first
  std::vector<std::uint32_t> first_, next_, end_;  ///< by queue: its units in order_, and those that were not looked at
  std::vector<std::uint32_t> important_;           ///< of one queue, most important first
  std::vector<std::int64_t> room_;                 ///< likewise, what of its due is not covered
  // Branches by level (of the children of a queue; the roots last): a heap of those that may have victims, who has most of its due first.
  std::vector<queue_index> heap_;
  std::vector<std::uint32_t> heap_begin_, heap_end_;
  std::vector<unsigned char> heap_built_;
  std::vector<saturation> part_;   ///< by queue, of what is left
  std::vector<queue_index> path_;  ///< the preemptor's queue and those above it, root first
  std::size_t stage_ = 0;          ///< how much of the path was searched beside
  std::uint32_t found_ = 0;
};

}  // namespace gangsched::inline GANGSCHED_ABI::queues::fair_share

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/queues/fair_share/reclaim.cpp"
#endif
