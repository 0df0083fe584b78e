#include <utility>

#include "gangsched/model/node_records.hpp"
#include "gangsched/model/pod_records.hpp"
#include "gangsched/model/restored_cluster.hpp"
#include "gangsched/model/validate.hpp"

// The log, and objects as they were once.
namespace gangsched::inline GANGSCHED_ABI::model {

/// Whether its rows are within their tables.
GANGSCHED_INLINE bool fits(const cluster_state& state, const change& record) noexcept {
  const auto none_or_below = [](row_t row, row_t count) { return row == no_row || row < count; };
  const row_t of_nodes = state.nodes.rows.count(), of_pods = state.pods.rows.count();
  const row_t of_groups = state.groups.rows.count();
  switch (record.kind) {
    case change_kind::node_added:
    case change_kind::node_updated:
    case change_kind::node_removed: return record.row < of_nodes;
    case change_kind::group_added:
    case change_kind::group_updated:
    case change_kind::group_removed: return record.row < of_groups;
    case change_kind::namespace_changed: return true;
    case change_kind::budget_changed: return none_or_below(record.row, state.named.budgets.rows.count());
    case change_kind::queue_changed: return none_or_below(record.row, state.queues.rows.count());
    case change_kind::column_changed:
      switch (record.scope()) {
        case scope_number::nodes: return record.row < of_nodes;
        case scope_number::groups: return record.row < of_groups;
        case scope_number::pods: return record.row < of_pods && none_or_below(record.after, of_nodes);
        default: return record.row < state.columns.row_count();
      }
    case change_kind::pod_removed:
      return record.row < of_pods && none_or_below(record.before, of_nodes) && none_or_below(record.after, of_groups);
    default:
      return record.row < of_pods && none_or_below(record.before, of_nodes) && none_or_below(record.after, of_nodes);
  }
}

GANGSCHED_INLINE std::optional<change> restored(const cluster_state& state, const saved_change& one) noexcept {
  if (one.kind > static_cast<std::uint8_t>(change_kind::column_changed) || one.flags > 3 || one.author >= 1u << 22)
    return std::nullopt;
  const change made{.kind = static_cast<change_kind>(one.kind),
                    .more = (one.flags & 1) != 0,
                    .undone = (one.flags & 2) != 0,
                    .author = one.author & ((1u << 22) - 1),
                    .facets = static_cast<reads>(one.facets),
                    .row = one.row,
                    .before = one.before,
                    .after = one.after};
  return fits(state, made) ? std::optional{made} : std::nullopt;
}

GANGSCHED_INLINE std::optional<node_record> restored_record(cluster_state& state, const node_spec& spec) {
  if (check(spec)) return std::nullopt;
  const auto allocatable = to_integers(spec.allocatable, "node", "allocatable");
  if (!allocatable) return std::nullopt;
  return *gangsched::detail::make_node_record(state, spec, *allocatable, std::nullopt);
}

GANGSCHED_INLINE std::shared_ptr<const pod_disks> restored_disks(cluster_state& state, const saved_disks& from,
                                                                 symbol ns) {
  pod_spec of{.name = "", .ns = std::string{state.names.text(ns)}};
  put_disks(from, of.volumes);
  return gangsched::detail::make_pod_disks(state, of);
}

GANGSCHED_INLINE bool cluster_restorer::restore_log() {
  cluster_state& all = state();
  const saved_log& from = from_->log;
  std::vector<change> records;
  records.reserve(from.records.size());
  for (const saved_change& one : from.records) {
    const std::optional<change> record = restored(all, one);
    if (!record) return false;
    records.push_back(*record);
  }
  constexpr std::uint64_t most = std::uint64_t{1} << 62;
  const std::uint64_t end = from.first + records.size();
  if (from.first > most || from.begin > from.first || from.authors >= 1u << 22 || from.truncations > most) return false;
  change_log::standing stands{from.begin, from.truncations, from.forgotten, from.authors, {}};
  for (const auto& [number, at] : from.cuts) {
    if (number > from.truncations || at > end ||
        (!stands.cuts.empty() && (number <= stands.cuts.back().number || at <= stands.cuts.back().end)))
      return false;
    stands.cuts.push_back({number, at});
  }
  all.log.stand(std::move(stands), end, std::move(records));
  return true;
}

}  // namespace gangsched::inline GANGSCHED_ABI::model
