#pragma once
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gangsched/engine/amount_memory.hpp"
#include "gangsched/engine/hook_errors.hpp"
#include "gangsched/framework/plugin_entry.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

/// The error of one that waits.
inline constexpr const char* neither_filters = "a pre_filter hook neither accepts nor rejects";

/// A plugin's hook as far as one class needs it: the plugin, the class's data, and its mark (1 + index among the active filters).
struct planned {
  const plugin_entry* plugin = nullptr;
  void* data = nullptr;
  std::uint8_t mark = 0;
  bool by_amounts = false;  ///< of a local filter or score: it reads only amounts of a node
  bool opaque = false;      ///< of a filter or score, or of its key: for pods of this class it is called every time
};

/// Verdict bytes of a row beside the marks.
inline constexpr std::uint8_t passes = 0;
inline constexpr std::uint8_t no_node = 255;
inline constexpr std::uint8_t not_asked = 254;  ///< the index is being built

/// In place of a set of plugins that rejected a pod or group: which ones did is unknown.
inline constexpr std::uint64_t unknown_rejectors = ~std::uint64_t{0};
/// A plugin among those of its profile, as a set of one; the 62nd and later ones share a bit.
[[nodiscard]] inline std::uint64_t plugin_bit(const kernel_table& of, const plugin_entry& plugin) noexcept {
  constexpr std::ptrdiff_t last = 61;
  return std::uint64_t{1} << std::min(&plugin - of.plugins.data(), last);
}

/// The kernel table cut down to what one pod class needs: pre_filter and pre_score have run, skipped hooks are gone, the rest is
/// sorted by shape.
struct class_plan {
  class_id cls = no_class;
  const kernel_table* table = nullptr;  ///< the profile that it is made from
  std::uint32_t generation = 0;
  std::uint64_t epoch = 0;  ///< topology_table::plan_epoch when it was made

  /// Whether it is still about this class, and the hooks' data for it is still valid.
  [[nodiscard]] bool holds(const model::cluster_state& state) const noexcept {
    return generation == state.classes.generation(cls) && epoch == state.topologies.plan_epoch();
  }

  status rejected;  ///< a pre-filter's verdict for every node
  std::string rejected_by;
  std::string rejection;  ///< its text
  bool narrowed = false;  ///< only `only` can be feasible
  std::vector<symbol> only;
  std::string narrowed_by;  ///< plugin names, sorted, for the reason text

  std::vector<planned> filters;  ///< all, in profile order
  std::uint64_t filtering = 0;   ///< their plugins, as a set
  std::vector<planned> local_filters, keyed_filters, opaque_filters;
  std::vector<planned> scores;  ///< all, in profile order
  std::vector<planned> local_scores, keyed_scores, opaque_scores;
  std::vector<planned> cycle_hooks;  ///< pre-filters with cycle_data
  std::vector<planned> incremental;  ///< those of them that follow trials

  std::vector<planned> device_choosers;  ///< the first one decides

  /// What is remembered of each row: verdicts and sums of the local hooks, and keys.
  struct cached_parts {
    reads filters = reads::nothing, scores = reads::nothing, keys = reads::nothing;  ///< what of a node they read
    std::size_t by_amounts = 0;                    ///< local filters and scores that see nothing of a node but amounts
    std::size_t by_block = 0;                      ///< those of them that look at blocks, too
    std::int64_t local_range = 0;                  ///< the largest sum of local scores
    std::vector<planned> filter_keys, score_keys;  ///< in this order; opaque ones left out
    /// What of any node the keyed scores read in `finish`, beside the groups; no value: they are called at every pick.
    std::optional<reads> finish_reads = reads::nothing;
    bool by_population = false;      ///< … and whether they look at how many candidates the groups have
    bool served_by_answers = false;  ///< `node_answers` can judge and rate all nodes for it
  };
  cached_parts cached;
  bool opaque = false;  ///< some hook must be called for every candidate at every pick

  std::vector<std::shared_ptr<void>> data;  ///< by plugin

  [[nodiscard]] reads cached_facets() const noexcept { return cached.filters | cached.scores | cached.keys; }
  /// The number of cached keys of a row.
  [[nodiscard]] std::size_t key_count() const noexcept { return cached.filter_keys.size() + cached.score_keys.size(); }

  /// The plugin that rejects with this mark, as a set.
  [[nodiscard]] std::uint64_t rejector(std::uint8_t mark) const noexcept {
    return plugin_bit(*table, *filters[mark - 1u].plugin);
  }
  [[nodiscard]] hook_context context(const model::cluster_state& state, const planned& hook, row_t pod) const noexcept {
    return {&state, &state.classes[cls], pod, hook.data};
  }
  /// Whether a filter may give other pods of the class another verdict than @p pod, one of them; or, @p in_alike_groups, members like it of
  /// groups like its own. O(filters).
  [[nodiscard]] bool filters_tell_apart(const model::cluster_state& state, row_t pod,
                                        bool in_alike_groups = false) const {
    return std::any_of(filters.begin(), filters.end(), [&](const planned& hook) {
      const filter_kernel& its = hook.plugin->filter;
      if (its.opaque || !its.personal) return its.opaque;
      const auto says = [&](auto* word) {
        return word != nullptr && word(hook.plugin->self.get(), context(state, hook, pod));
      };
      return !says(its.by_class) && !(in_alike_groups && says(its.by_alike_groups));
    });
  }
};

/// Calls visit(status) for all reasons of the filter that rejects the node, with @p said.
template <class Visit>
void each_reason(const planned& hook, const hook_context& context, row_t node, const status& said, const Visit& visit) {
  if (hook.plugin->filter.reasons == nullptr) return visit(said);
  std::vector<status> all;
  hook.plugin->filter.reasons(hook.plugin->self.get(), context, node, all);
  for (const status& one : all) visit(one);
}

/// Runs the class-level pre_filter and pre_score hooks of @p cls. O(plugins).
[[nodiscard]] GANGSCHED_API std::unique_ptr<class_plan> make_plan(const kernel_table& table,
                                                                  const model::cluster_state& state, class_id cls);

/// The plugin whose pre_filter or pre_score has another result in @p b than in @p a, if there is one.
[[nodiscard]] GANGSCHED_API std::optional<std::string> plan_difference(const class_plan& a, const class_plan& b);

}  // namespace gangsched::inline GANGSCHED_ABI::engine

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/engine/class_plan.cpp"
#endif
