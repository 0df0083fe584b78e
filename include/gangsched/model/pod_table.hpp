#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gangsched/core/config.hpp"
#include "gangsched/model/affinity_spec.hpp"
#include "gangsched/model/column.hpp"
#include "gangsched/model/fwd.hpp"
#include "gangsched/model/pod_class.hpp"
#include "gangsched/model/pod_state.hpp"
#include "gangsched/model/pod_times.hpp"
#include "gangsched/model/record_index.hpp"
#include "gangsched/model/slots.hpp"

/// The pods of a cluster: a row each. The pods on a node, nominated to one or in a group are lists through the rows.
namespace gangsched::inline GANGSCHED_ABI {

struct pod_spec;

/// The volumes that are a pod's own.
struct pod_disks {
  struct disk {
    symbol id;
    bool read_only;
  };
  struct attachment {
    symbol driver, id;
    friend bool operator==(const attachment&, const attachment&) = default;
  };
  std::vector<disk> disks;
  std::vector<symbol> exclusive_claims;  ///< "namespace/claim"
  std::vector<attachment> attachments;   ///< each once
};

}  // namespace gangsched::inline GANGSCHED_ABI

namespace gangsched::inline GANGSCHED_ABI::model {

/// The parts of a pod's spec beside its class that equal pods share.
struct pod_details {
  symbol priority_class = {};  ///< that it names
  label_map labels;
  std::vector<std::string> gates;
  instant expected_run_time{0};  ///< 0: unknown
  std::optional<instant> deadline;
  instant max_wait{0};
  controller_ref controller;
  std::shared_ptr<const pod_disks> disks;  ///< null if there are none
  std::string role;
  std::shared_ptr<const pod_spec> spec = {};  ///< if it is kept
};

/// The parts that belong to the pod alone.
struct pod_record {
  std::string name;
  std::shared_ptr<const pod_details> details;  ///< never null
  std::optional<instant> start_time;
  std::uint64_t cookie = 0;
  std::optional<std::int32_t> rank;
  symbol ns;
  row_t queue = no_row;  ///< that it names
  [[nodiscard]] std::pair<symbol, std::string_view> key() const noexcept { return {ns, name}; }
  /// Reset for another pod, which writes all of it; keeps the name's memory.
  void clear() noexcept { name.clear(), details.reset(); }
  GANGSCHED_API void digest_into(digest& out) const;
};

/// What changes during a pod's life, in one cache line.
struct alignas(64) pod_words {
  const pod_record* record = nullptr;
  const device_claim* claim = nullptr;
  std::uint64_t arrival = 0;
  class_id cls = no_class;
  std::uint32_t cls_epoch = 0;
  row_t node = no_row, nominated = no_row, group = no_row;
  row_t next_on_node = no_row, prev_on_node = no_row;
  row_t next_in_group = no_row, prev_in_group = no_row;
  pod_state state = pod_state::none;
  bool terminating = false, preempted = false;
};
static_assert(sizeof(pod_words) == 64);

struct pod_table {
  explicit pod_table(undo_log& undo);
  GANGSCHED_API pod_table& operator=(const pod_table& from);

  slots rows;
  std::vector<pod_words> words;
  word_object_column<&pod_words::record> record;
  word_column<&pod_words::state> state;
  word_column<&pod_words::terminating> terminating;
  word_column<&pod_words::preempted> preempted;  ///< it terminates because a scheduler evicted it
  word_object_column<&pod_words::claim> claim;   ///< what it holds of its node's devices; null: nothing
  word_column<&pod_words::cls> cls;
  word_column<&pod_words::cls_epoch> cls_epoch;  ///< the selector epoch `cls` was computed in
  word_column<&pod_words::node> node;
  word_column<&pod_words::nominated> nominated;
  word_column<&pod_words::group> group;
  word_column<&pod_words::next_on_node> next_on_node;
  word_column<&pod_words::prev_on_node> prev_on_node;
  column<row_t> next_nominated, prev_nominated;  ///< to the same node
  column<bind_attempt> attempt;                  ///< that gave it its node; none: it has no node, or was added with it
  word_column<&pod_words::next_in_group> next_in_group;
  word_column<&pod_words::prev_in_group> prev_in_group;
  word_column<&pod_words::arrival> arrival;  ///< order of add_pod
  pod_times times;
  record_index<word_object_column<&pod_words::record>> by_name;
  row_t grown = 0;            ///< rows that every column has
  bool name_classes = false;  ///< some pod named a priority class, once
  bool have_limits = false;   ///< some pod or group had a deadline or a longest wait, once (time_limits.hpp)

  GANGSCHED_API void grow(row_t to);
  void prefetch(row_t row) const noexcept { detail::prefetch(&words[row]); }
  /// When a running pod is expected to end; `never` if that is unknown, it has no node, or a DaemonSet makes another one then.
  [[nodiscard]] instant expected_end(row_t row) const noexcept {
    const pod_record& its = *record[row];
    const instant start = its.start_time.value_or(times.started(row));
    const instant run = its.details->expected_run_time;
    if (run == instant{0} || node[row] == no_row || start == pod_times::never ||
        its.details->controller.kind == controller_kind::daemon_set)
      return pod_times::never;
    return later_by(start, run);
  }
  [[nodiscard]] bool alive(row_t row) const noexcept { return row < rows.count() && state[row] != pod_state::none; }
};

}  // namespace gangsched::inline GANGSCHED_ABI::model

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/model/pod_table.cpp"
#endif
