#pragma once
#include <map>
#include <vector>

#include "gangsched/core/peer.hpp"
#include "gangsched/framework/plugin_entry.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

/// An entity of the queue: a pod, or a group whose members are scheduled together.
struct entity {
  row_t row = no_row;
  bool group = false;
  friend bool operator==(const entity&, const entity&) = default;
};

/// An entity where it was put in order; void when the entity has moved on, which its ticket tells.
struct queue_entry {
  std::int64_t order;
  std::uint64_t arrival;
  entity who;
  std::uint32_t ticket;
  [[nodiscard]] bool before(const queue_entry& other) const noexcept {
    return order != other.order ? order < other.order : arrival < other.arrival;
  }
};

/// First in, first out; a vector whose front is dropped in halves.
struct queue_fifo {
  std::vector<queue_entry> entries;
  std::size_t front = 0;
  [[nodiscard]] bool empty() const noexcept { return front == entries.size(); }
  [[nodiscard]] const queue_entry& first() const noexcept { return entries[front]; }
  void pop() {
    if (++front == entries.size())
      entries.clear(), front = 0;
    else if (front > 1024 && front * 2 > entries.size())
      drop_popped();
  }
  [[gnu::noinline]] void drop_popped() {
    entries.erase(entries.begin(), entries.begin() + static_cast<std::ptrdiff_t>(front));
    front = 0;
  }
};

/// The queue sort plugin's order; ties go by arrival.
class GANGSCHED_API sort_order {
 public:
  explicit sort_order(const plugin_entry& plugin) noexcept
      : plugin_(&plugin),
        reads_run_time_(plugin.sorts_by_run_time != nullptr && plugin.sorts_by_run_time(plugin.self.get())) {}

  [[nodiscard]] bool has_key() const noexcept { return plugin_->sort_by_key != nullptr; }
  [[nodiscard]] bool reads_run_time() const noexcept { return reads_run_time_; }
  /// Whether times of pods may be in the keys. @p have_limits: some pod has a deadline or a longest wait.
  [[nodiscard]] bool reads_times(bool have_limits) const noexcept { return have_limits || reads_run_time_; }
  /// @pre has_key()
  [[nodiscard]] sort_key key_of(const queued& what) const noexcept {
    return plugin_->sort_by_key(plugin_->self.get(), what);
  }
  [[nodiscard]] bool before(const queued& a, const queued& b) const noexcept;

 private:
  peer<const plugin_entry> plugin_;
  bool reads_run_time_;  // asked once: it is for each entity that comes
};

/// Entities in that order. With a key O(1) for one that is put in in order, O(log n) for others; with a comparator O(log n).
class GANGSCHED_API sorted_entities {
 public:
  sorted_entities() = default;
  sorted_entities(const sorted_entities& other) : bands_(other.bands_), compared_(other.compared_) {}
  sorted_entities& operator=(const sorted_entities& other) {
    bands_ = other.bands_, compared_ = other.compared_;
    first_in_ = added_to_ = nullptr;
    return *this;
  }
  void add(const sort_order& order, const queued& what, entity who, std::uint32_t ticket);
  /// The first of those that current(entry) says are still here, or null; the others before it are dropped. Valid until the next call.
  template <class Current>
  [[nodiscard]] const queue_entry* first(const sort_order& order, const Current& current);
  /// Takes out what `first` found.
  void pop_first(const sort_order& order) {
    if (order.has_key() && first_in_->first_is_in_order())
      first_in_->in_order.pop();
    else
      pop_from_heap(order);
  }
  /// The entity of what `first` finds, taken out; of no row if there is none.
  template <class Current>
  [[nodiscard, gnu::always_inline]] entity pop(const sort_order& order, const Current& current) {
    // As a rule it is the first of its band, and nobody has returned to that.
    for (auto& [key, in] : bands_) {
      if (in.in_order.empty() && in.returned.empty()) continue;
      if (!in.returned.empty() || !current(in.in_order.first())) break;
      const entity who = in.in_order.first().who;
      in.in_order.pop();
      return who;
    }
    const queue_entry* const found = first(order, current);
    if (found == nullptr) return {};
    const entity who = found->who;
    pop_first(order);
    return who;
  }
  void clear();

 private:
  struct band {
    queue_fifo in_order;                ///< entered in the order of the key: the usual case
    std::vector<queue_entry> returned;  ///< a heap of the others
    [[nodiscard]] bool first_is_in_order() const noexcept {
      return !in_order.empty() && (returned.empty() || in_order.first().before(returned.front()));
    }
  };
  struct compared {
    queued what;
    queue_entry at;
  };
  static bool after(const queue_entry& a, const queue_entry& b) noexcept { return b.before(a); }
  [[nodiscard]] band& band_of(std::int64_t key);
  void pop_returned(band& from);
  void pop_compared(const sort_order& order);
  void pop_from_heap(const sort_order& order);

  std::map<std::int64_t, band> bands_;
  band* first_in_ = nullptr;  // what `first` found
  band* added_to_ = nullptr;  // the last one that something was added to, and its key
  std::int64_t added_key_ = 0;
  std::vector<compared> compared_;  // a heap, if the sort has only a comparator
};

template <class Current>
[[gnu::noinline]] const queue_entry* sorted_entities::first(const sort_order& order, const Current& current) {
  if (!order.has_key()) {
    while (!compared_.empty() && !current(compared_.front().at)) pop_compared(order);
    return compared_.empty() ? nullptr : &compared_.front().at;
  }
  for (auto it = bands_.begin(); it != bands_.end();) {
    band& in = it->second;
    while (!in.in_order.empty() && !current(in.in_order.first())) in.in_order.pop();
    while (!in.returned.empty() && !current(in.returned.front())) pop_returned(in);
    if (!in.in_order.empty() || !in.returned.empty()) {
      first_in_ = &in;
      return in.first_is_in_order() ? &in.in_order.first() : &in.returned.front();
    }
    // Empty bands stay while they are few: a steady state allocates nothing.
    if (bands_.size() > 64) {
      added_to_ = nullptr;
      it = bands_.erase(it);
    } else {
      ++it;
    }
  }
  return nullptr;
}

}  // namespace gangsched::inline GANGSCHED_ABI::engine

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/engine/sorted_entities.cpp"
#endif
