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

/// From which queues a job may take what its queue is due, and in which order the victims go.
namespace gangsched::inline GANGSCHED_ABI::queues::fair_share {

enum class own_victims : std::uint8_t { never, lower_priority, lower_or_newer_equal_priority };
enum class others_victims : std::uint8_t { never, lower_priority, any };

/// A job without room.
struct preemptor {
  queue_index queue = no_queue;
  std::span<const std::int64_t> request = {};  ///< by resource
  std::int32_t priority = 0;
  std::uint64_t arrival = 0;  ///< the order in which jobs came
  own_victims own = own_victims::lower_priority;
  others_victims others = others_victims::any;
};

inline constexpr std::uint32_t no_unit = std::numeric_limits<std::uint32_t>::max();

/// Running pods that are evicted together: a job, or a part of one that is not needed by the rest.
struct running_unit {
  queue_index queue = no_queue;
  std::span<const std::int64_t> amounts = {};  ///< by resource
  std::int32_t priority = 0;
  std::uint64_t arrival = 0;
  std::int64_t lost_work = 0;     ///< by evicting it, in any unit
  instant start{};                ///< the latest start is evicted first
  bool spared_by_own = false;     ///< its own queue may not evict it, because it has not run for long enough
  bool spared_by_others = false;  ///< the same for other queues
  std::uint64_t part = 0;         ///< the order of a job's parts: of equal priority and arrival the lower one first
  std::uint32_t after = no_unit;  ///< the part before it: this one is only covered with that one
};

/// Victims for one job, one after another.
///
/// What a queue is due covers its units, the most important first (higher priority, then earlier arrival), each unit if it still fits; a
/// unit that is not covered is borrowed. If its queue's due has room for the job, the job takes what other queues borrowed. That is limited
/// to resources that it requests, and of which, below the lowest queue above both, each of its own queues stays within its due with the job
/// and each of the victim's queues has more than its due. The first victim is, level by level, of the branch that uses the largest part of
/// its due (saturation_of); within a queue it has lower priority, then less lost work, then the later start. After that the job takes less
/// important units of its own queue: any of them if the job is covered in their place, beside all more important units and its own running
/// parts; otherwise only borrowed ones, because the job would be borrowed, too.
///
/// Why no job wins back what it lost, while requests stay the same: give each queue two words with a bit for each of its jobs, the most
/// important first. In the first word the bit says that the job runs and is covered, in the second that it runs. Read words as numbers. A
/// job that reclaims from other queues becomes covered, since its queue's due has room for it beside all that runs there, so the first word
/// of its queue grows. It also grows when a covered job replaces less important ones. Victims in other queues were not covered: their bits
/// were 0, and the bits after them do not change. A job that starts in free room is covered, and the word grows, or it is not, and the word
/// stays. So no first word ever shrinks. Where no first word grows, job and victims are of one queue and not covered, and only the second
/// word of that queue changes: it grows. So there are finitely many evictions, in any order, with any starts between them: first words
/// count before second words. In the end every queue has what it is due, as far as whole jobs allow: if a queue's due has room for a job
/// that does not fit the cluster, then more is in use than is due, at the lowest such level by a sibling, and so on down to a queue whose
/// units cannot all be covered. An evicted job may come back as the last of its priority: that only moves a 0 back in a word.
/// Memory is kept: planning for no more queues and units than before does not allocate. The arguments of `begin` must outlive the plan, and
/// must not change.
class GANGSCHED_API reclaim_plan {
 public:
  /// O(queues · resources + units · log units).
  void begin(const fair_shares& shares, const usage& now, const preemptor& who, std::span<const running_unit> units);

  /// Whether its queue's due covers the job, beside the queue's more important units and the running parts of the job itself.
  [[nodiscard]] bool covers_preemptor() const { return who_covered_; }
  /// Whether its queue's due covers the unit.
  [[nodiscard]] bool is_covered(std::uint32_t unit) const { return covered_[unit] != 0; }
  /// Whether the unit may be taken in addition to those taken so far. O(depth · resources).
  [[nodiscard]] bool may_take(std::uint32_t unit) const;
  /// Takes the unit, whether it may be taken or not; `give_back` undoes that. O(depth · resources).
  void take(std::uint32_t unit);
  void give_back(std::uint32_t unit);
  [[nodiscard]] bool is_taken(std::uint32_t unit) const { return taken_[unit] != 0; }

  /// Takes the next victim in order; nothing if no unit may be taken. Do not call `take` after this. Any of its victims may be given back
  /// afterwards: the others may still be evicted, because they were not covered. O(depth · (resources + log siblings)).
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
  std::vector<std::int64_t> left_;  ///< by queue, then resource: the use without the units taken
  std::vector<resource_mask>
      reach_;  ///< by depth: the resources of which the preemptor's queues, so deep or deeper, stay within their due
  std::vector<unsigned char> covered_, taken_;
  bool who_covered_ = false;
  std::vector<std::uint32_t> order_;               ///< units by queue, each queue's in the order of eviction
  std::vector<std::uint32_t> first_, next_, end_;  ///< by queue: its units in order_, and those not considered yet
  std::vector<std::uint32_t> important_;           ///< of one queue, most important first
  std::vector<std::int64_t> room_;                 ///< likewise, what of its due is not covered
  // Branches by level (of the children of a queue; the roots last): a heap of those that may have victims, the fullest of their due first.
  std::vector<queue_index> heap_;
  std::vector<std::uint32_t> heap_begin_, heap_end_;
  std::vector<unsigned char> heap_built_;
  std::vector<saturation> part_;   ///< by queue, of what is left
  std::vector<queue_index> path_;  ///< the preemptor's queue and those above it, root first
  std::size_t stage_ = 0;          ///< how many levels of the path have been searched
  std::uint32_t found_ = 0;
};

}  // namespace gangsched::inline GANGSCHED_ABI::queues::fair_share

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/queues/fair_share/reclaim.cpp"
#endif
