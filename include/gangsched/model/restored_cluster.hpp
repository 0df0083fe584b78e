#pragma once
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "gangsched/model/cluster_checks.hpp"
#include "gangsched/model/inside.hpp"
#include "gangsched/model/saved_cluster.hpp"

/// Saves a cluster as plain data, and restores it.
namespace gangsched::inline GANGSCHED_ABI {

/// Restores the rows of a table, each for its object.
class GANGSCHED_API row_restorer {
 public:
  /// Makes all rows at once; a row can then be taken only by `offer`. @pre nothing was taken yet
  row_restorer(slots& of, const model::saved_rows& from);
  /// The next row that is taken is this one. False if it is out of bounds, offered already, or the last offer was not taken.
  [[nodiscard]] bool offer(row_t row);
  /// Several of them, the first one first.
  [[nodiscard]] bool offer(const std::vector<row_t>& rows);
  /// Rows that were not taken become free, in the saved order. False if they are not exactly the saved free rows.
  [[nodiscard]] bool finish();

 private:
  slots* of_;
  const model::saved_rows* from_;
  std::vector<bool> taken_;
};

}  // namespace gangsched::inline GANGSCHED_ABI

namespace gangsched::inline GANGSCHED_ABI::model {

[[nodiscard]] GANGSCHED_API saved_rows saved(const slots& of);
[[nodiscard]] GANGSCHED_API saved_change saved(const change& one) noexcept;
/// The inverse; nothing if the rows that it names are not within their tables. O(1).
[[nodiscard]] GANGSCHED_API std::optional<change> restored(const cluster_state& state,
                                                           const saved_change& one) noexcept;

void put_disks(const saved_disks& from, pod_volumes& to);
/// For a past node, without devices; nothing if the spec is invalid.
[[nodiscard]] GANGSCHED_API std::optional<node_record> restored_record(cluster_state& state, const node_spec& spec);
/// Null if there are none.
[[nodiscard]] GANGSCHED_API std::shared_ptr<const pod_disks> restored_disks(cluster_state& state,
                                                                            const saved_disks& from, symbol ns);

/// Saves a cluster, and other references to classes of its pods.
class GANGSCHED_API cluster_saver {
 public:
  /// @p of must outlive it.
  explicit cluster_saver(const cluster_state& of) : state_(&of) {}

  static constexpr std::uint32_t none = 0xffffffffu;
  /// The class's index among the saved ones; none if it is no longer valid. O(size of the spec), the first time.
  [[nodiscard]] std::uint32_t number_of(class_id cls, std::uint32_t generation);
  /// The same of one that there is.
  [[nodiscard]] std::uint32_t number_of(class_id cls) { return number_of(cls, state_->classes.generation(cls)); }
  /// The same for a class that may be gone: it has a number if it is @p past, without the parts that are gone.
  [[nodiscard]] std::uint32_t number_of(const std::shared_ptr<const pod_class>& cls, bool past);
  /// Without its devices. O(size).
  [[nodiscard]] node_spec spec_of(const node_record& record) const;
  [[nodiscard]] saved_disks disks_of(const pod_disks& from, symbol ns) const;
  /// @p unread: the first record of the log that is needed. O(state).
  [[nodiscard]] saved_cluster save(std::uint64_t unread) &&;
  [[nodiscard]] const cluster_state& state() const noexcept { return *state_; }

 private:
  template <class Table, class Spec>
  void save_named(const Table& table, std::vector<saved_object<Spec>>& out);
  void save_nodes();
  void save_pods();
  void save_groups();
  void save_queues();
  void save_rooms();
  void save_log(std::uint64_t unread);
  [[nodiscard]] saved_devices devices_of(const device_claim& claim) const;
  [[nodiscard]] std::string text(symbol name) const { return std::string{state_->names.text(name)}; }

  const cluster_state* state_;
  std::unordered_map<const pod_class*, std::uint32_t> numbers_;
  saved_cluster made_;
};

/// Restores a cluster. The data is checked like a host's specs, and the result must have the digest that the data names.
class GANGSCHED_API cluster_restorer {
 public:
  /// Keeps a reference to @p from. @p most_words bounds each table of resources by row, so that bad bytes cannot exhaust memory.
  cluster_restorer(const saved_cluster& from, const device_matcher& matcher, std::uint64_t most_words);

  /// Names, and columns up to there; the cluster is still empty.
  [[nodiscard]] result<void> begin(const own_columns::extent& columns);
  /// Everything else. Columns that were made since `begin` have to be the next ones.
  [[nodiscard]] result<void> finish();

  [[nodiscard]] gangsched::cluster& cluster() noexcept { return cluster_; }
  /// By their numbers.
  [[nodiscard]] const std::vector<class_id>& classes() const noexcept { return classes_; }

 private:
  enum table : std::size_t {
    nodes,
    pods,
    groups,
    namespaces,
    priority_classes,
    budgets,
    services,
    controllers,
    flavors,
    queues,
    queue_parts,
    claims,
    rooms,
    room_parts,
    tables
  };
  [[nodiscard]] cluster_state& state() noexcept { return gangsched::detail::inside(cluster_); }
  [[nodiscard]] slots& rows_of(table which) noexcept;
  [[nodiscard]] bool has_room(std::size_t wide) const noexcept;
  void grow();
  template <class Spec, class Set>
  [[nodiscard]] result<void> set_named(table which, const std::vector<saved_object<Spec>>& all, const Set& set);
  [[nodiscard]] result<void> set_names();
  [[nodiscard]] result<void> add_queues();
  [[nodiscard]] result<void> add_nodes();
  [[nodiscard]] result<void> add_groups();
  [[nodiscard]] result<void> add_claims();
  [[nodiscard]] result<void> add_rooms();
  [[nodiscard]] result<void> add_queue_parts();
  [[nodiscard]] result<void> add_pods();
  [[nodiscard]] result<void> add_pod(const saved_pod& from);
  [[nodiscard]] result<class_id> make_class(const pod_spec& spec, row_t queue);
  [[nodiscard]] result<void> place_pods();
  [[nodiscard]] result<void> nominate();
  [[nodiscard]] result<void> settle_claims();
  [[nodiscard]] bool restore_log();
  [[nodiscard]] std::unique_ptr<device_claim> devices(row_t node, const saved_devices& from, bool alone = false);

  const saved_cluster* from_;
  gangsched::cluster cluster_;
  std::uint64_t most_words_;
  std::vector<row_restorer> tables_;
  std::vector<class_id> classes_;
  struct known_class {
    const saved_pod* like = nullptr;  ///< the last pod of it
    class_id made = no_class;
    std::uint32_t epoch = 0;
    std::weak_ptr<const pod_details> details = {};  ///< of the pods that are as `like`
  };
  std::vector<known_class> known_;        ///< by number
  std::vector<const saved_pod*> by_row_;  ///< pods
};

}  // namespace gangsched::inline GANGSCHED_ABI::model

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/model/own_columns_saved.cpp"
#include "gangsched/src/model/restored_cluster.cpp"
#include "gangsched/src/model/restored_log.cpp"
#include "gangsched/src/model/saved_cluster.cpp"
#endif
