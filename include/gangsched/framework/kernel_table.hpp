#pragma once
#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gangsched/framework/points.hpp"

/// What a profile is lowered to: per plugin a row of function pointers. One engine runs any table, so a profile put together at
/// compile time and one put together at run time cannot differ.
namespace gangsched {

/// What a kernel is called on: a class, a pod of it (no_row while nothing but the class is known), and the plugin's data.
struct hook_context {
  const cluster_state* state;
  const pod_class* cls;
  row_t pod = no_row;
  void* data = nullptr;
};

/// How the engine treats a hook (docs/architecture.md, "Shapes").
enum class shape : std::uint8_t {
  none,    ///< the plugin has no such hook
  local,   ///< cached per class and node; asked again when the node's columns it reads change
  keyed,   ///< its key is cached like that; groups of equal keys are judged at every pick
  opaque,  ///< asked for every candidate every time
};

struct filter_kernel {
  gangsched::shape shape = shape::none;
  reads facets = reads::nothing;
  /// The key, or the filter itself, is opaque: a keyed filter whose key wants everything.
  bool opaque = false;
  /// Sets verdicts[row] = mark for every row of @p rows whose verdict is 0 and that is rejected; false if one is an error.
  bool (*rows)(const void* self, const hook_context&, std::span<const row_t> rows, std::uint8_t* verdicts, std::uint8_t mark) = nullptr;
  status (*one)(const void* self, const hook_context&, row_t row) = nullptr;
  void (*reasons)(const void* self, const hook_context&, row_t row, std::vector<status>& out) = nullptr;
  std::int64_t (*key)(const void* self, const hook_context&, row_t row) = nullptr;
  void (*finish)(const void* self, const hook_context&, std::span<filtered_group> groups) = nullptr;
  bool (*idle)(const void* self, const hook_context&) = nullptr;
  std::int64_t (*capacity)(const void* self, const hook_context&, row_t row) = nullptr;
};

struct score_kernel {
  gangsched::shape shape = shape::none;
  reads facets = reads::nothing;
  bool opaque = false;
  bool raw_is_key = false;  ///< `one` says a key, which nobody wants to read
  /// Adds weight × score to totals[row] for every row; false if a score is outside [0, 100].
  bool (*rows)(const void* self, const hook_context&, std::span<const row_t> rows, std::int64_t weight, std::int64_t* totals) = nullptr;
  /// The raw score, or the key.
  std::int64_t (*one)(const void* self, const hook_context&, row_t row) = nullptr;
  /// Normalises the raw scores, or turns keys into scores. skip: there is no score this time.
  status (*finish)(const void* self, const hook_context&, std::span<scored_group> groups) = nullptr;
};

/// One plugin of a profile.
struct plugin_entry {
  std::string name;
  std::shared_ptr<void> self;
  point_set points;  ///< those it takes part in here: implemented and not disabled
  std::int64_t weight = 1;

  void (*attach)(void* self, column_maker&) = nullptr;
  std::shared_ptr<void> (*make_data)() = nullptr;
  bool cycle_data = false;  ///< data belongs to one cycle, not to the class: reset before each
  void (*reset_data)(void* data) = nullptr;

  sort_key (*sort_by_key)(const void* self, const queued&) noexcept = nullptr;
  bool (*sort_less)(const void* self, const queued&, const queued&) noexcept = nullptr;
  status (*pre_enqueue)(const void* self, const pod_info&) = nullptr;
  hint (*requeue)(const void* self, const event&, const pod_view&) = nullptr;      ///< null if the hook asks for the pod itself
  hint (*requeue_pod)(const void* self, const event&, const pod_info&) = nullptr;  ///< either kind
  events wakes_on = events::anything;  ///< what it is asked about
  status (*pre_filter)(const void* self, const hook_context&, node_names&) = nullptr;
  status (*add_pod)(const void* self, const pod_info&, void* data, const pod_info&, const node_info&) = nullptr;
  status (*remove_pod)(const void* self, const pod_info&, void* data, const pod_info&, const node_info&) = nullptr;
  filter_kernel filter;
  victim_plan (*post_filter)(const void* self, trial&, const pod_info&) = nullptr;
  status (*pre_score)(const void* self, const hook_context&) = nullptr;
  score_kernel score;
  device_rules (*choose_devices)(const void* self, const hook_context&, row_t row) = nullptr;
  status (*reserve)(void* self, const new_reservation&) = nullptr;
  void (*unreserve)(void* self, const reservation&) noexcept = nullptr;
  permit_verdict (*permit)(void* self, const reservation&, permit_room&) = nullptr;
  status (*pre_bind)(void* self, const reservation&, decision&) = nullptr;
  status (*bind)(void* self, const reservation&, decision&) = nullptr;
  void (*post_bind)(void* self, const reservation&) noexcept = nullptr;
  status (*group_pre_filter)(const void* self, const group_view&) = nullptr;
  status (*generate_placements)(const void* self, const group_view&, const cluster_view&, const placement_sink&) = nullptr;
  status (*placement_feasible)(const void* self, const group_view&, const group_progress&) = nullptr;
  std::int64_t (*score_placement)(const void* self, const group_view&, const placement_view&, std::span<const assignment>) = nullptr;
  std::int64_t (*placement_bound)(const void* self, const placement_view&, const placement_demand&) = nullptr;
  bool relative_placement_score = false;
  bool ignores_group_identity = false;  ///< its group hooks say the same of groups that differ only in name, cookie and age
  victim_plan (*group_preempt)(const void* self, trial&, const group_view&) = nullptr;
};

/// The plugins that take part in an extension point, in order.
class hook_range {
 public:
  class iterator {
   public:
    iterator(const plugin_entry* plugins, const std::uint16_t* at) noexcept : plugins_(plugins), at_(at) {}
    [[nodiscard]] const plugin_entry& operator*() const noexcept { return plugins_[*at_]; }
    iterator& operator++() noexcept { return ++at_, *this; }
    friend bool operator==(const iterator& a, const iterator& b) noexcept { return a.at_ == b.at_; }

   private:
    const plugin_entry* plugins_;
    const std::uint16_t* at_;
  };
  hook_range(const plugin_entry* plugins, std::span<const std::uint16_t> order) noexcept : plugins_(plugins), order_(order) {}

  [[nodiscard]] iterator begin() const noexcept { return {plugins_, order_.data()}; }
  [[nodiscard]] iterator end() const noexcept { return {plugins_, order_.data() + order_.size()}; }
  [[nodiscard]] bool empty() const noexcept { return order_.empty(); }
  [[nodiscard]] std::size_t size() const noexcept { return order_.size(); }
  [[nodiscard]] const plugin_entry& operator[](std::size_t i) const noexcept { return plugins_[order_[i]]; }

 private:
  const plugin_entry* plugins_;
  std::span<const std::uint16_t> order_;
};

/// A profile ready to run: its plugins, and per extension point their order (indices into `plugins`).
struct kernel_table {
  std::string scheduler_name = "default-scheduler";  ///< of the pods that it is for
  std::vector<plugin_entry> plugins;
  std::array<std::vector<std::uint16_t>, point_count> order;
  /// Kubernetes' percentageOfNodesToScore: how many feasible nodes are enough. 0: by cluster size; 100 or nothing: all, which is exact.
  std::optional<std::int32_t> percentage_of_nodes_to_score = {};

  [[nodiscard]] std::span<const std::uint16_t> at(point p) const noexcept { return order[static_cast<std::size_t>(p)]; }
  [[nodiscard]] hook_range hooks(point p) const noexcept { return {plugins.data(), at(p)}; }
};

}  // namespace gangsched
