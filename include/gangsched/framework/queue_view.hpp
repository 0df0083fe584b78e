#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

#include "gangsched/framework/views.hpp"
#include "gangsched/model/queue_table.hpp"

/// Queues as hooks see them.
namespace gangsched::inline GANGSCHED_ABI {

/// A queue. Counts include all queues below it and are current: in a trial, with the trial's changes. Amounts are those of node_view: cpu
/// in milli, everything else in whole units. With a flavor they are about nodes of that flavor, without one about all nodes together. O(1),
/// or O(flavors · resources) where the queue's quota is read.
class queue_view {
 public:
  queue_view(const model::queue_table& queues, row_t row) noexcept : queues_(&queues), row_(row) {}

  [[nodiscard]] queue_id id() const noexcept { return queues_->id_of(row_); }
  [[nodiscard]] std::string_view name() const noexcept { return spec().name; }
  [[nodiscard]] const queue_spec& spec() const noexcept { return record().spec; }
  /// The queue was named, but not added yet; of its spec only the name counts. Pods in it, or below it, wait.
  [[nodiscard]] bool expected() const noexcept { return record().expected; }
  [[nodiscard]] std::optional<queue_view> parent() const noexcept {
    const row_t row = table().parent[row_];
    return row == no_row ? std::nullopt : std::optional{queue_view{*queues_, row}};
  }
  /// The number of queues above it. O(depth).
  [[nodiscard]] std::uint32_t depth() const noexcept {
    std::uint32_t above = 0;
    for (row_t row = table().parent[row_]; row != no_row; row = table().parent[row]) ++above;
    return above;
  }
  /// The root of its tree. O(depth).
  [[nodiscard]] queue_view root() const noexcept {
    row_t row = row_;
    while (table().parent[row] != no_row) row = table().parent[row];
    return {*queues_, row};
  }
  /// Whether the queue and all above it have been added and are open (neither held nor draining). O(depth).
  [[nodiscard]] bool admits() const noexcept {
    return each_up([](const queue_view& one) { return !one.expected() && one.spec().state == queue_state::open; });
  }
  [[nodiscard]] bool has_children() const noexcept { return table().first_child[row_] != no_row; }
  /// Calls visit(queue_view) for each queue right below it, by name.
  template <class Visit>
  void each_child(Visit&& visit) const {
    for (row_t row = table().first_child[row_]; row != no_row; row = table().next_sibling[row])
      visit(queue_view{*queues_, row});
  }
  /// Calls visit(queue_view) for this queue and each above it, until one call returns false. Returns whether none did.
  template <class Visit>
  bool each_up(Visit&& visit) const {
    for (row_t row = row_; row != no_row; row = table().parent[row])
      if (!visit(queue_view{*queues_, row})) return false;
    return true;
  }

  /// The guarantee of this queue alone; 0 for a resource that its quota does not name.
  [[nodiscard]] std::int64_t guaranteed(resource_kind kind, flavor_id flavor = {}) const noexcept {
    const queue_amounts* const its = quota(flavor);
    return its == nullptr ? 0 : queue_amounts::find(its->guaranteed, kind).value_or(0);
  }
  /// The limit of this queue alone; nothing if there is none.
  [[nodiscard]] std::optional<std::int64_t> limit(resource_kind kind, flavor_id flavor = {}) const noexcept {
    const queue_amounts* const its = quota(flavor);
    return its == nullptr ? std::nullopt : queue_amounts::find(its->limit, kind);
  }
  [[nodiscard]] std::optional<std::int64_t> borrowing_limit(resource_kind kind, flavor_id flavor = {}) const noexcept {
    const queue_amounts* const its = quota(flavor);
    return its == nullptr ? std::nullopt : queue_amounts::find(its->borrowing_limit, kind);
  }
  [[nodiscard]] std::optional<std::int64_t> lending_limit(resource_kind kind, flavor_id flavor = {}) const noexcept {
    const queue_amounts* const its = quota(flavor);
    return its == nullptr ? std::nullopt : queue_amounts::find(its->lending_limit, kind);
  }
  /// The weight that the quota names for the resource, else the queue's weight.
  [[nodiscard]] double weight(resource_kind kind, flavor_id flavor = {}) const noexcept {
    if (const queue_amounts* const its = quota(flavor)) {
      for (const auto& [one, weight] : its->weights)
        if (one == kind) return weight;
    }
    return spec().weight;
  }
  /// The quota of a flavor, or that of all nodes together; null if it has none. Valid until the queue changes.
  [[nodiscard]] const queue_amounts* quota(flavor_id flavor = {}) const noexcept {
    const row_t wanted = queues_->flavors.find(flavor);
    if (flavor && wanted == no_row) return nullptr;
    for (const queue_amounts& one : record().quotas)
      if (one.flavor == wanted) return &one;
    return nullptr;
  }
  /// What its pods on nodes use; the second call: what all its pods request, the waiting ones included.
  [[nodiscard]] std::int64_t used(resource_kind kind, flavor_id flavor = {}) const noexcept {
    if (!flavor) return table().used.at(row_, kind);
    const row_t its = queues_->flavors.find(flavor);
    return its == no_row ? 0 : table().used_of_flavor[its]->at(row_, kind);
  }
  [[nodiscard]] std::int64_t requested(resource_kind kind) const noexcept { return table().requested.at(row_, kind); }
  /// How many of its jobs have a pod on a node. A job is a tree of groups, or a pod without a group.
  [[nodiscard]] std::uint32_t running() const noexcept { return table().running[row_]; }
  [[nodiscard]] row_t row() const noexcept { return row_; }
  friend bool operator==(const queue_view& a, const queue_view& b) noexcept { return a.row_ == b.row_; }

 private:
  [[nodiscard]] const model::queue_table& table() const noexcept { return *queues_; }
  [[nodiscard]] const model::queue_record& record() const noexcept { return *table().record[row_]; }
  const model::queue_table* queues_;
  row_t row_;
};

/// A kind of node that queues have quota of (`cluster_view::each_flavor`). Valid as long as the flavor. O(1).
class flavor_view {
 public:
  flavor_view(const model::flavor_table& flavors, row_t row) noexcept : flavors_(&flavors), row_(row) {}
  [[nodiscard]] flavor_id id() const noexcept { return flavors_->id_of(row_); }
  [[nodiscard]] std::string_view name() const noexcept { return spec().name; }
  [[nodiscard]] const flavor_spec& spec() const noexcept { return flavors_->record[row_]->spec; }
  [[nodiscard]] row_t row() const noexcept { return row_; }

 private:
  const model::flavor_table* flavors_;
  row_t row_;
};

namespace detail {
[[nodiscard]] GANGSCHED_API const model::queue_table& queues_of(const model::viewed_tables& tables) noexcept;
}  // namespace detail

template <class Visit>
void cluster_view::each_queue(Visit&& visit) const {
  const model::queue_table& queues = detail::queues_of(*state_);
  queues.each([&](row_t row) { visit(queue_view{queues, row}); });
}
template <class Visit>
void cluster_view::each_flavor(Visit&& visit) const {
  const model::flavor_table& flavors = detail::queues_of(*state_).flavors;
  for (row_t row = flavors.first[0]; row != no_row; row = flavors.next[row]) visit(flavor_view{flavors, row});
}

}  // namespace gangsched::inline GANGSCHED_ABI

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/framework/views.cpp"
#endif
