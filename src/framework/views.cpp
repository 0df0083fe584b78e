#include "gangsched/framework/views.hpp"

#include "gangsched/framework/device_views.hpp"
#include "gangsched/framework/queue_view.hpp"
#include "gangsched/model/label_selector.hpp"
#include "gangsched/model/state.hpp"
#include "gangsched/model/time_limits.hpp"

namespace gangsched::inline GANGSCHED_ABI {
namespace detail {

GANGSCHED_INLINE std::int64_t own_word(const model::viewed_tables& tables, std::uint32_t column, row_t row) noexcept {
  return whole(tables).columns.at(column, row);
}
GANGSCHED_INLINE domain_id domain_of(const model::viewed_tables& tables, topology_id key, row_t node) noexcept {
  return whole(tables).topologies.domain(key, node);
}
GANGSCHED_INLINE flavor_id flavor_of(const model::viewed_tables& tables, row_t node) noexcept {
  const model::flavor_table& flavors = whole(tables).queues.flavors;
  return flavors.id_of(flavors.of[node]);
}
GANGSCHED_INLINE std::int32_t count_at(const model::viewed_tables& tables, counter_id counter, row_t node) noexcept {
  const model::cluster_state& in = whole(tables);
  return in.counters.count(counter, in.topologies.domain(in.counters.spec(counter).topology, node));
}
GANGSCHED_INLINE status claims_allow(const model::viewed_tables& tables, const pod_class& cls, row_t node) noexcept {
  return whole(tables).devices.claims_allow(cls, node);
}
GANGSCHED_INLINE std::uint64_t first_change(const model::viewed_tables& tables) noexcept {
  return whole(tables).log.first();
}
GANGSCHED_INLINE const change& change_at(const model::viewed_tables& tables, std::uint64_t number) noexcept {
  return whole(tables).log[number];
}
GANGSCHED_INLINE row_t budget_rows(const model::viewed_tables& tables) noexcept {
  return whole(tables).named.budgets.rows.count();
}
GANGSCHED_INLINE const model::budget_record* budget_at(const model::viewed_tables& tables, row_t row) noexcept {
  return whole(tables).named.budgets.record[row];
}
GANGSCHED_INLINE device_wants wants_of(const model::viewed_tables& tables, const pod_class& cls, row_t node) {
  return whole(tables).devices.wants_of(cls, node);
}
GANGSCHED_INLINE std::optional<device_want> only_want(const model::viewed_tables& tables, const pod_class& cls,
                                                      row_t node) {
  return whole(tables).devices.only_want(cls, node);
}
GANGSCHED_INLINE status devices_fit_on(const model::viewed_tables& tables, const pod_class& cls, row_t node,
                                       const device_rules& rules) {
  const model::device_ledger& ledger = whole(tables).devices;
  if (const std::optional<device_want> only = ledger.only_want(cls, node))
    return devices_fit(ledger.devices_of(node), *only, rules);
  const device_wants wants = ledger.wants_of(cls, node);
  return wants.nothing() ? status::success() : devices_fit(ledger.devices_of(node), wants, rules);
}
GANGSCHED_INLINE const model::queue_table& queues_of(const model::viewed_tables& tables) noexcept {
  return whole(tables).queues;
}
[[nodiscard]] GANGSCHED_INLINE std::optional<queue_view> queue_at(const model::viewed_tables& tables,
                                                                  row_t row) noexcept {
  return row == no_row ? std::nullopt : std::optional{queue_view{whole(tables).queues, row}};
}

}  // namespace detail

GANGSCHED_INLINE const counter_spec& pod_view::counter(counter_id id) const noexcept {
  return whole(*state_).counters.spec(id);
}
GANGSCHED_INLINE bool pod_view::local(topology_id key) const noexcept { return whole(*state_).topologies.local(key); }
GANGSCHED_INLINE domain_id pod_view::find_domain(topology_id key, symbol value) const noexcept {
  return whole(*state_).topologies.find(key, value);
}
GANGSCHED_INLINE std::int64_t pod_view::pack(std::span<const std::int64_t> words) const {
  return whole(*state_).tuples.pack(words);
}
GANGSCHED_INLINE std::span<const std::int64_t> pod_view::unpack(const std::int64_t& key, std::size_t words) const {
  return whole(*state_).tuples.unpack(key, words);
}

GANGSCHED_INLINE std::uint32_t pod_info::claim_users(symbol claim) const noexcept {
  return whole(*state_).assigned.claims.users(claim);
}
GANGSCHED_INLINE std::optional<queue_view> pod_info::queue() const noexcept {
  return in_queue() ? std::optional{queue_view{whole(*state_).queues, in_queue().row}} : std::nullopt;
}

GANGSCHED_INLINE std::optional<queue_view> group_view::queue() const noexcept {
  return detail::queue_at(*state_, whole(*state_).queued.queue_of_group(row_));
}

GANGSCHED_INLINE const pod_disruption_budget_spec& budget_view::spec() const noexcept { return record_->spec; }
GANGSCHED_INLINE bool budget_view::covers(const pod_info& pod) const {
  const std::optional<label_selector>& selector = record_->spec.selector;
  if (pod.spec().ns != record_->ns || !selector || pod.labels().empty()) return false;
  if (selector->match_labels.empty() && selector->match_expressions.empty()) return false;
  return matches(*selector, pod.labels());
}
GANGSCHED_INLINE bool budget_view::disrupts(const pod_info& pod) const {
  for (const std::string& name : record_->spec.disrupted_pods)
    if (name == pod.name()) return true;
  return false;
}

GANGSCHED_INLINE instant pod_info::latest_start() const noexcept {
  return model::limits_of_pod(*state_, row_).latest_start;
}
GANGSCHED_INLINE instant group_view::latest_start() const noexcept {
  return model::limits_of_group(*state_, row_).latest_start;
}

GANGSCHED_INLINE std::optional<std::int32_t> cluster_view::lowest_priority() const noexcept {
  return whole(*state_).assigned.priorities.lowest();
}
GANGSCHED_INLINE const priority_class_spec* cluster_view::priority_class(symbol name) const noexcept {
  const auto& table = whole(*state_).named.priority_classes;
  const row_t row = table.by_name.find({}, text(name));
  return row == no_row ? nullptr : &table.record[row]->spec;
}
GANGSCHED_INLINE std::uint64_t cluster_view::changes() const noexcept { return whole(*state_).log.committed_end(); }
GANGSCHED_INLINE bool cluster_view::has_uncommitted() const noexcept {
  return whole(*state_).log.end() != whole(*state_).log.committed_end();
}
GANGSCHED_INLINE cluster_view::log_standing cluster_view::standing() const noexcept {
  const log_cursor tip = whole(*state_).log.tip();
  return {tip.position, tip.truncations};
}
GANGSCHED_INLINE bool cluster_view::has_queues() const noexcept { return whole(*state_).queued.any(); }
GANGSCHED_INLINE std::optional<queue_view> cluster_view::find_queue(std::string_view name) const {
  return detail::queue_at(*state_, whole(*state_).queues.by_name.find({}, name));
}
GANGSCHED_INLINE std::optional<queue_view> cluster_view::queue(queue_id id) const noexcept {
  return detail::queue_at(*state_, whole(*state_).queues.find(id));
}
GANGSCHED_INLINE std::optional<queue_view> cluster_view::queue_of(const pod_view& pod) const noexcept {
  return queue(pod.in_queue());
}
GANGSCHED_INLINE std::optional<flavor_view> cluster_view::flavor_at(row_t row) const noexcept {
  const model::cluster_state& in = whole(*state_);
  return in.queues.flavors.alive(row) ? std::optional{flavor_view{in.queues.flavors, row}} : std::nullopt;
}
GANGSCHED_INLINE std::optional<scope_row_id> cluster_view::find_row(scope_column column, std::string_view name) const {
  const model::own_columns& columns = whole(*state_).columns;
  const row_t row = columns.find_row(columns.scope_of(column.index), name);
  return row == no_row ? std::nullopt : std::optional{columns.id_of(row)};
}
GANGSCHED_INLINE std::int64_t cluster_view::own(scope_column column, scope_row_id row) const {
  const model::own_columns& columns = whole(*state_).columns;
  return columns.contains(row) ? columns.at(column.index, row.row) : 0;
}
GANGSCHED_INLINE std::int32_t cluster_view::count(counter_id counter, domain_id domain) const {
  return whole(*state_).counters.count(counter, domain);
}
GANGSCHED_INLINE std::int64_t cluster_view::total(counter_id counter) const {
  return whole(*state_).counters.total(counter);
}
GANGSCHED_INLINE std::int32_t cluster_view::least(counter_id counter) const {
  return whole(*state_).counters.least(counter);
}
GANGSCHED_INLINE std::uint32_t cluster_view::domains(counter_id counter) const {
  return whole(*state_).counters.domains(counter);
}

}  // namespace gangsched::inline GANGSCHED_ABI
