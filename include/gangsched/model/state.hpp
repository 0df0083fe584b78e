#pragma once
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gangsched/core/interner.hpp"
#include "gangsched/model/change_log.hpp"
#include "gangsched/model/column.hpp"
#include "gangsched/model/class_table.hpp"
#include "gangsched/model/image_table.hpp"
#include "gangsched/model/name_index.hpp"
#include "gangsched/model/node_tree.hpp"
#include "gangsched/model/pod_class.hpp"
#include "gangsched/model/port_column.hpp"
#include "gangsched/model/priority_table.hpp"
#include "gangsched/model/spec.hpp"

/// The tables behind a `cluster`: one column a fact, one row an object. Views read them; only `cluster` and `transaction` write.
namespace gangsched {

/// Allocates rows of one table: last freed, first reused, under the undo log like everything else.
class slots {
 public:
  explicit slots(undo_log& undo) : generation_(undo), next_free_(undo, no_row), head_(undo, no_row), count_(undo) {
    head_.grow(1);
    count_.grow(1);
  }
  /// Rows ever used: the bound of every row number.
  [[nodiscard]] row_t count() const noexcept { return count_[0]; }
  [[nodiscard]] std::uint32_t generation(row_t row) const noexcept { return generation_[row]; }
  row_t take() {
    if (const row_t row = head_[0]; row != no_row) {
      head_.set(0, next_free_[row]);
      return row;
    }
    const row_t row = count_[0];
    count_.set(0, row + 1);
    generation_.grow(row + 1);
    next_free_.grow(row + 1);
    return row;
  }
  void give_back(row_t row) {
    generation_.set(row, generation_[row] + 1);
    next_free_.set(row, head_[0]);
    head_.set(0, row);
  }
  void digest_into(digest& out) const {
    generation_.digest_into(out, count());
    next_free_.digest_into(out, count());
    head_.digest_into(out, 1);
    count_.digest_into(out, 1);
  }

 private:
  column<std::uint32_t> generation_;
  column<row_t> next_free_;
  column<row_t> head_;
  column<row_t> count_;
};

/// What of a node changes only when the host says so.
struct node_record {
  std::string name_text;
  symbol name;
  std::vector<label_symbols> labels;  ///< by key symbol
  std::vector<taint_symbols> taints;  ///< in the host's order
  std::vector<image_symbols> images;  ///< by name symbol, each name once
  std::vector<amount> allocatable;
  bool unschedulable = false;
  std::uint64_t cookie = 0;

  /// The value of label @p key, if the node has it. O(log labels).
  [[nodiscard]] GANGSCHED_API std::optional<symbol> label(symbol key) const noexcept;
  GANGSCHED_API void digest_into(digest& out) const;
};

struct node_table {
  explicit node_table(undo_log& undo);

  slots rows;
  object_column<node_record> record;  ///< null: no node in this row
  matrix_column allocatable;
  matrix_column used;
  column<row_t> first_pod;
  column<row_t> first_nominated;  ///< of the pods that are nominated to it
  column<std::uint64_t> arrival;  ///< order of add_node
  port_column ports;
  name_index by_name;
  column<std::uint32_t> total;  ///< row 0: nodes there are

  [[nodiscard]] bool alive(row_t row) const noexcept { return row < rows.count() && record[row] != nullptr; }
};

/// Where a pod is in its life. Terminating is a flag beside it.
enum class pod_state : std::uint8_t {
  none,     ///< no pod in this row
  pending,  ///< waits to be scheduled
  assumed,  ///< a node is reserved for it; waiting in the permit room or binding
  bound,    ///< runs on its node
};

struct pod_record {
  std::string name;
  symbol ns;
  label_map labels;
  std::vector<std::string> gates;
  std::optional<instant> start_time;
  std::uint64_t cookie = 0;
  GANGSCHED_API void digest_into(digest& out) const;
};

struct pod_table {
  explicit pod_table(undo_log& undo);

  slots rows;
  object_column<pod_record> record;
  column<pod_state> state;
  column<bool> terminating;
  column<bool> preempted;  ///< it terminates because a scheduler evicted it
  column<class_id> cls;
  column<std::uint32_t> cls_epoch;  ///< the selector epoch `cls` was computed in
  column<row_t> node;
  column<row_t> nominated;
  column<row_t> group;
  column<row_t> next_on_node, prev_on_node;
  column<row_t> next_nominated, prev_nominated;  ///< to the same node
  column<row_t> next_in_group, prev_in_group;
  column<std::uint64_t> arrival;  ///< order of add_pod
  name_index by_name;

  [[nodiscard]] bool alive(row_t row) const noexcept { return row < rows.count() && state[row] != pod_state::none; }
};

struct group_record {
  group_spec spec;
  symbol ns;
  GANGSCHED_API void digest_into(digest& out) const;
};

struct group_table {
  explicit group_table(undo_log& undo);

  slots rows;
  object_column<group_record> record;
  column<row_t> first, last;               ///< members in order of arrival
  column<std::uint32_t> members, assumed, bound;  ///< pending = members − assumed − bound
  column<std::uint64_t> arrival;           ///< order of add_group
  name_index by_name;

  [[nodiscard]] bool alive(row_t row) const noexcept { return row < rows.count() && record[row] != nullptr; }
  /// Members that must be placed together: the gang's minimum count, 1 for a basic group.
  [[nodiscard]] std::uint32_t min_count(row_t row) const noexcept {
    const gang* policy = std::get_if<gang>(&record[row]->spec.policy);
    return policy != nullptr ? static_cast<std::uint32_t>(policy->min_count) : 1;
  }
};

struct namespace_record {
  namespace_spec spec;
  GANGSCHED_API void digest_into(digest& out) const;
};
struct priority_class_record {
  priority_class_spec spec;
  GANGSCHED_API void digest_into(digest& out) const;
};

struct budget_record {
  pod_disruption_budget_spec spec;
  symbol ns;
  GANGSCHED_API void digest_into(digest& out) const;
};

/// A table of nothing but names and records.
template <class Record>
struct named_table {
  explicit named_table(undo_log& undo) : rows(undo), record(undo), by_name(undo) {}
  slots rows;
  object_column<Record> record;
  name_index by_name;
};

/// Everything of one cluster. Heap-allocated and pinned by `cluster`, because columns point at its undo log.
struct GANGSCHED_API cluster_state {
  explicit cluster_state(std::size_t log_bound);
  cluster_state(const cluster_state&) = delete;
  cluster_state& operator=(const cluster_state&) = delete;

  undo_log undo;
  change_log log;
  interner names;
  std::vector<symbol> kind_names;  ///< by resource_kind
  node_table nodes;
  node_tree tree{names};
  image_table images;
  pod_table pods;
  priority_table priorities;  ///< of pods on nodes
  group_table groups;
  class_table classes;
  named_table<namespace_record> namespaces;
  named_table<priority_class_record> priority_classes;
  named_table<budget_record> budgets;
  column<std::uint64_t> arrivals;  ///< row 0: nodes, pods and groups ever added
  std::vector<std::unique_ptr<column<std::int64_t>>> plugin_columns;  ///< of nodes
  bool in_hook = false;  ///< a hook is running: the host's calls that would change anything are refused

  /// The kind of resource @p name, made on first sight (kind_of) or only if it is known.
  resource_kind kind_of(std::string_view name);
  [[nodiscard]] std::optional<resource_kind> find_kind(std::string_view name) const;
  [[nodiscard]] std::string_view kind_name(resource_kind kind) const { return names.text(kind_names[kind]); }
  [[nodiscard]] resource_kind kind_count() const noexcept { return static_cast<resource_kind>(kind_names.size()); }

  /// The pod's class, re-keyed if selectors came or went since it was computed.
  class_id class_of(row_t pod);

  // What happens to a pod, by row, without checks: `cluster` checks the host's calls, engines know what they do.
  void assume(row_t pod, row_t node);
  void bind(row_t pod);
  void release(row_t pod);
  void nominate(row_t pod, row_t node);
  /// Moves the pod to the list of @p node without a word in the log.
  void point_at(row_t pod, row_t node);
  void put_on_node(row_t pod, row_t node);
  void take_off_node(row_t pod);
  void set_pod_state(row_t pod, pod_state to);
  /// Adds (sign +1) or takes back (−1) what a pod of class @p cls uses on @p node.
  void count_usage(row_t node, const pod_class& cls, std::int64_t sign);
  /// Whether the node's usage stays below 2^63 with one more pod of @p cls, instead of one of @p replaced if there is that.
  [[nodiscard]] bool fits_in_words(row_t node, const pod_class& cls, const pod_class* replaced = nullptr) const noexcept;
  /// What a pod of @p cls touches on its node.
  [[nodiscard]] static reads facets_of(const pod_class& cls) noexcept;

  /// Adds to a plugin's column.
  void add_own(std::uint32_t index, row_t node, std::int64_t value) {
    plugin_columns[index]->set(node, (*plugin_columns[index])[node] + value);
    changed({.kind = change_kind::node_updated, .facets = reads::own, .row = node});
  }
  /// The next number of the order in which nodes, pods and groups arrive.
  std::uint64_t next_arrival() {
    arrivals.set(0, arrivals[0] + 1);
    return arrivals[0];
  }
  /// Appends to the change log.
  void changed(const change& record) {
    log.append(record);
    log.trim();
  }
  [[nodiscard]] std::uint64_t digest() const;
};

}  // namespace gangsched

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/model/state.cpp"
#endif
