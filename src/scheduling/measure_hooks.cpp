#include "gangsched/scheduling/measure_hooks.hpp"

#include <concepts>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "gangsched/devices/device_fit.hpp"
#include "gangsched/framework/plugin_entry.hpp"

namespace gangsched::inline GANGSCHED_ABI {
namespace detail {

/// Stands in a row of the kernel table in place of a plugin. The row's functions get it as their plugin, and call the plugin
/// inside.
struct measured_plugin {
  plugin_entry inside;
  observer* to;
  std::string profile;
};

/// A copy that holds a copy of the plugin.
GANGSCHED_INLINE std::shared_ptr<void> copy_measured(const void* self) {
  auto made = std::make_shared<measured_plugin>(*static_cast<const measured_plugin*>(self));
  made->inside.self = made->inside.copy(made->inside.self.get());
  return made;
}

/// The same for a fork, by the plugin's own hook.
GANGSCHED_INLINE std::shared_ptr<void> fork_measured(const void* self, const cluster_view& to) {
  auto made = std::make_shared<measured_plugin>(*static_cast<const measured_plugin*>(self));
  made->inside.self = made->inside.fork(made->inside.self.get(), to);
  return made;
}

/// Kubernetes' word for what a requeue hook was asked about; of several things at once for the first.
GANGSCHED_INLINE std::string_view requeue_event_word(events what) noexcept {
  constexpr std::pair<events, std::string_view> words[] = {
      {events::node_added, "NodeAdd"},
      {events::node_removed, "NodeDelete"},
      {events::node_allocatable, "NodeUpdateNodeAllocatable"},
      {events::node_labels, "NodeUpdateNodeLabel"},
      {events::node_taints, "NodeUpdateNodeTaint"},
      {events::node_volume_limits, "storage.k8s.io/CSINodeUpdate"},
      {events::node_features, "NodeUpdateNodeDeclaredFeature"},
      {events::node_images, "NodeUpdate"},
      {events::pod_added, "AssignedPodAdd"},
      {events::pod_removed, "AssignedPodDelete"},
      {events::pod_labels, "PodUpdatePodLabel"},
      {events::pod_scaled_down, "PodUpdatePodScaleDown"},
      {events::pod_tolerations, "PodUpdatePodToleration"},
      {events::pod_gates_gone, "PodUpdatePodSchedulingGatesEliminated"},
      {events::pod_updated, "PodUpdate"},
      {events::namespace_changed, "NamespaceUpdate"},
      {events::column_changed, "ColumnUpdate"},
      {events::queue_changed, "QueueUpdate"},
  };
  for (const auto& [one, word] : words) {
    if (any(what & one)) return word;
  }
  return "";
}

template <class Said>
code code_said_by(const Said& said) noexcept {
  if constexpr (std::is_same_v<Said, status>)
    return said.code;
  else if constexpr (requires { said.verdict.code; })
    return said.verdict.code;
  else if constexpr (std::is_same_v<Said, bool>)
    return said ? code::success : code::error;
  else
    return code::success;
}

/// Reports a hook when it ends, also by an exception.
class hook_timer {
 public:
  hook_timer(const measured_plugin& of, std::string_view extension_point) noexcept : to_(of.to) {
    ran.profile = of.profile;
    ran.plugin = of.inside.name;
    ran.key = &of;
    ran.extension_point = extension_point;
    ran.said = code::error;
    ran.measured = to_->times_hooks();
    if (ran.measured) ran.took.begin = to_->now_ns();
  }
  hook_timer(const hook_timer&) = delete;
  hook_timer& operator=(const hook_timer&) = delete;
  ~hook_timer() {
    if (ran.measured) ran.took.end = to_->now_ns();
    to_->hook_ran(ran);
  }

  observed_hook ran;

 private:
  observer* to_;
};

/// The name of an extension point as a template argument; "" for hooks that are not reported.
template <std::size_t Size>
struct literal {
  constexpr literal(const char (&text)[Size]) noexcept {  // NOLINT(google-explicit-constructor): a template's argument
    for (std::size_t i = 0; i < Size; ++i) words[i] = text[i];
  }
  char words[Size] = {};
};

/// Replaces a slot of the table by a function that calls the same slot of the plugin inside. @p Get: gets that slot of an entry.
template <literal ExtensionPoint, class Get, class Result, class Self, bool Quiet, class... A>
void measure_slot(Result (*&slot)(Self*, A...) noexcept(Quiet), Get) {
  if (slot == nullptr) return;
  slot = [](Self* self, A... arguments) noexcept(Quiet) -> Result {
    const measured_plugin& measured = *static_cast<const measured_plugin*>(self);
    const auto hook = Get{}(measured.inside);
    void* const inside = measured.inside.self.get();
    constexpr std::string_view words{ExtensionPoint.words};
    if constexpr (words.empty()) {
      return hook(inside, static_cast<A>(arguments)...);
    } else {
      hook_timer timer{measured, words};
      if constexpr (std::is_void_v<Result>) {
        hook(inside, static_cast<A>(arguments)...);
        timer.ran.said = code::success;
      } else {
        Result said = hook(inside, static_cast<A>(arguments)...);
        timer.ran.said = code_said_by(said);
        if constexpr (std::is_same_v<Result, hint>) {
          const auto about = [](const event& what, const auto&...) { return what.what; };
          timer.ran.event = requeue_event_word(about(arguments...));
          timer.ran.helps = said == hint::queue;
        }
        return said;
      }
    }
  };
}

#define GANGSCHED_SLOT(words, slot) measure_slot<words>(row.slot, [](const plugin_entry& of) { return of.slot; })

/// Every slot of a row that takes the plugin. A slot that is left out would get the measured_plugin instead of its plugin.
GANGSCHED_INLINE void measure_row(plugin_entry& row) {
  GANGSCHED_SLOT("", attach);
  GANGSCHED_SLOT("", sort_by_key);
  GANGSCHED_SLOT("", sort_less);
  GANGSCHED_SLOT("", sorts_by_run_time);
  GANGSCHED_SLOT("", queue_of);
  GANGSCHED_SLOT("", queue_before);
  GANGSCHED_SLOT("PreEnqueue", pre_enqueue);
  GANGSCHED_SLOT("QueueingHint", requeue);
  GANGSCHED_SLOT("QueueingHint", requeue_pod);
  GANGSCHED_SLOT("Admission", admit_pod);
  GANGSCHED_SLOT("Admission", admit_group);
  GANGSCHED_SLOT("", admission_words);
  GANGSCHED_SLOT("PreFilter", pre_filter);
  GANGSCHED_SLOT("PreFilterExtensionAddPod", add_pod);
  GANGSCHED_SLOT("PreFilterExtensionRemovePod", remove_pod);
  GANGSCHED_SLOT("Filter", filter.rows);
  GANGSCHED_SLOT("Filter", filter.block);
  GANGSCHED_SLOT("Filter", filter.bound);
  GANGSCHED_SLOT("Filter", filter.one);
  GANGSCHED_SLOT("", filter.reasons);
  GANGSCHED_SLOT("", filter.key);
  GANGSCHED_SLOT("", filter.label_keys);
  GANGSCHED_SLOT("", filter.key_reads);
  GANGSCHED_SLOT("Filter", filter.finish);
  GANGSCHED_SLOT("", filter.idle);
  GANGSCHED_SLOT("", filter.by_class);
  GANGSCHED_SLOT("", filter.by_alike_groups);
  GANGSCHED_SLOT("", filter.capacity);
  GANGSCHED_SLOT("", filter.least_free);
  GANGSCHED_SLOT("PostFilter", post_filter);
  GANGSCHED_SLOT("PreScore", pre_score);
  GANGSCHED_SLOT("Score", score.rows);
  GANGSCHED_SLOT("Score", score.block);
  GANGSCHED_SLOT("Score", score.bound);
  if (row.score.raw_is_key)
    GANGSCHED_SLOT("", score.one);
  else
    GANGSCHED_SLOT("Score", score.one);
  GANGSCHED_SLOT("", score.label_keys);
  GANGSCHED_SLOT("", score.key_reads);
  GANGSCHED_SLOT("ScoreExtensionNormalize", score.finish);
  GANGSCHED_SLOT("ChooseDevices", choose_devices);
  GANGSCHED_SLOT("Reserve", reserve);
  GANGSCHED_SLOT("Unreserve", unreserve);
  GANGSCHED_SLOT("Permit", permit);
  GANGSCHED_SLOT("PreBind", pre_bind);
  GANGSCHED_SLOT("Bind", bind);
  GANGSCHED_SLOT("PostBind", post_bind);
  GANGSCHED_SLOT("PodGroupPreFilter", group_pre_filter);
  GANGSCHED_SLOT("PlacementGenerate", generate_placements);
  GANGSCHED_SLOT("PlacementFeasible", placement_feasible);
  GANGSCHED_SLOT("PlacementScore", score_placement);
  GANGSCHED_SLOT("", placement_bound);
  GANGSCHED_SLOT("PodGroupPostFilter", group_preempt);
}

#undef GANGSCHED_SLOT

}  // namespace detail

GANGSCHED_INLINE kernel_table unmeasured_hooks(kernel_table table) {
  for (plugin_entry& row : table.plugins) {
    while (row.copy == detail::copy_measured) {
      plugin_entry inside = static_cast<const detail::measured_plugin*>(row.self.get())->inside;
      inside.weight = row.weight;
      inside.columns = row.columns;  // columns that it has asked for since
      inside.filter.facets = row.filter.facets;
      inside.score.facets = row.score.facets;
      row = std::move(inside);
    }
  }
  return table;
}

GANGSCHED_INLINE kernel_table measure_hooks(kernel_table table, observer& to) {
  for (plugin_entry& row : table.plugins) {
    auto inside = std::make_shared<detail::measured_plugin>(detail::measured_plugin{row, &to, table.scheduler_name});
    detail::measure_row(row);
    if (row.copy != nullptr) row.copy = detail::copy_measured;
    if (row.fork != nullptr) row.fork = detail::fork_measured;
    row.self = std::move(inside);
  }
  return table;
}

}  // namespace gangsched::inline GANGSCHED_ABI
