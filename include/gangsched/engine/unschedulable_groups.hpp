#pragma once
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "gangsched/engine/requeue_judge.hpp"
#include "gangsched/engine/sorted_entities.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

struct unschedulable_group : rejected_group {
  std::uint64_t since;                ///< the log's end when it failed
  std::string reason;                 ///< its own, or empty
  std::uint64_t kind = 0;             ///< of groups that are equal; 0: unlike all others
  std::size_t pending = 0;            ///< members
  bool filtered = true;               ///< it, or one like it, got beyond admission
  rejection refused = {};             ///< by admission plugins
  instant ready = {};                 ///< when its backoff ends, as the queue has it
  instant retry_at = instant::max();  ///< when time alone may help it
  queued place = {};                  ///< its key for the queue sort

  /// Those alike fare alike if this is equal, too.
  [[nodiscard]] std::pair<std::uint64_t, bool> standing() const noexcept { return {refused.all(), filtered}; }
};

/// Rejected groups in order of failure, each once, found by row, by kind, and by what can help them. The owner knows what that is, and
/// whether they still wait. Those of a kind are in the order of the queue sort as well.
class GANGSCHED_API unschedulable_groups {
 public:
  using slot = std::uint32_t;  ///< a group's place while it is here
  static constexpr slot none = ~slot{0};

  [[nodiscard]] bool empty() const noexcept { return all_.first == none; }
  /// Its kind is changed by `set_kind`; after changes of what can help it, `forget_condition` must be called.
  [[nodiscard]] unschedulable_group& operator[](slot at) noexcept { return slots_[at].group; }
  [[nodiscard]] const unschedulable_group& operator[](slot at) const noexcept { return slots_[at].group; }
  /// In order, and in that among those of a kind; `none` after the last.
  [[nodiscard]] slot first() const noexcept { return all_.first; }
  [[nodiscard]] slot last() const noexcept { return all_.last; }
  [[nodiscard]] slot after(slot at) const noexcept { return slots_[at].in_all.after; }
  [[nodiscard]] slot first_of_kind(std::uint64_t kind) const noexcept;
  [[nodiscard]] slot after_of_kind(slot at) const noexcept { return slots_[at].in_kind.after; }
  /// The same in the order in which the queue would try them.
  [[nodiscard]] slot first_to_try(std::uint64_t kind) const noexcept;
  [[nodiscard]] slot next_to_try(slot at) const noexcept { return slots_[at].in_turn.after; }
  /// Whether it is the first that failed before @p position of the log, of those that are alike and stand alike. O(alike).
  [[nodiscard]] bool is_first_alike(slot at, std::uint64_t position) const noexcept;
  /// The one with that row, or `none`. O(log n).
  [[nodiscard]] slot find(row_t group) const noexcept;

  /// As the last, instead of one with its row. O(log n), and O(alike) comparisons for one that is tried neither before nor after all of its
  /// kind.
  slot add(unschedulable_group made, const sort_order& by);
  void remove(slot at);
  void clear();
  /// Becomes the last, and stands at another place in the queue. O(log kinds), and comparisons as add().
  void move_to_end(slot at, const queued& place, const sort_order& by);
  /// It stands at another place in the queue. Comparisons as add().
  void set_place(slot at, const queued& place, const sort_order& by);
  void set_kind(slot at, std::uint64_t kind, const sort_order& by);
  /// What can help it is to be determined again.
  void forget_condition(slot at);
  void forget_conditions();
  /// Whether nothing can help any of them, as far as is known.
  [[nodiscard]] bool helpless() const noexcept {
    return unknown_.empty() && dirty_.empty() && index_.empty() && kind_index_.empty();
  }
  /// Those that the event may help, in order; of those that are alike and stand alike only the first. condition_of(group) says what can
  /// help one; @p what: as for `requeue_index`.
  template <class ConditionOf, class... What>
  [[nodiscard]] std::vector<slot> candidates(const ConditionOf& condition_of, const What&... what) {
    for (const slot at : unknown_) index_.set(at, condition_of(slots_[at].group));
    unknown_.clear();
    for (const std::uint64_t kind : dirty_) {
      alike& of = kinds_.find(kind)->second;
      find_firsts(of);
      help_condition all{.anything = !of.by_age};
      for (const slot at : of.firsts) all.add(condition_of(slots_[at].group));
      kind_index_.set(of.number, std::move(all));
    }
    dirty_.clear();
    return in_order(index_.candidates(what...), kind_index_.candidates(what...));
  }

 private:
  struct links {
    slot before = none, after = none;
  };
  struct ends {
    slot first = none, last = none;
  };
  struct alike {
    ends members, turns;
    std::uint32_t number = 0;       ///< in `kind_index_`
    bool by_age = true;             ///< in order of `since`, as they are unless the log was cut off
    std::vector<slot> firsts = {};  ///< of those that stand alike; all, if not by age
  };
  struct entry {
    unschedulable_group group;
    std::uint64_t order = 0;  ///< among all; grows
    links in_all, in_kind, in_turn;
  };
  [[nodiscard]] std::vector<slot> in_order(std::vector<slot> found, const std::vector<std::uint32_t>& kinds) const;
  void find_firsts(alike& of) const;
  void link(ends& to, links entry::*in, slot at, slot before = none) noexcept;
  /// As the queue sort says; of equal ones the one that failed first.
  [[nodiscard]] bool is_tried_before(slot a, slot b, const sort_order& by) const noexcept;
  void take_turn(ends& among, slot at, const sort_order& by) noexcept;
  void unlink(ends& from, links entry::*in, slot at) noexcept;
  void leave_kind(slot at);

  std::vector<entry> slots_;
  std::vector<slot> free_;
  ends all_;
  std::map<std::uint64_t, alike> kinds_;
  std::vector<std::uint64_t> kind_of_number_;
  std::vector<std::uint32_t> free_numbers_;
  std::map<row_t, slot> rows_;
  requeue_index index_, kind_index_;  // of those like no other; of kinds
  std::set<slot> unknown_;            // those like no other whose condition is
  std::set<std::uint64_t> dirty_;     // kinds whose firsts, or what can help them, may have changed
  std::uint64_t made_ = 0;
};

}  // namespace gangsched::inline GANGSCHED_ABI::engine

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/engine/unschedulable_groups.cpp"
#endif
