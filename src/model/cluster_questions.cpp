#include "gangsched/model/cluster_questions.hpp"

#include <utility>

#include "gangsched/model/cluster_checks.hpp"
#include "gangsched/model/state.hpp"

namespace gangsched::inline GANGSCHED_ABI {

GANGSCHED_INLINE cluster_questions::cluster_questions(std::unique_ptr<model::cluster_state> state) noexcept
    : state_(std::move(state)) {}
GANGSCHED_INLINE cluster_questions::cluster_questions(cluster_questions&&) noexcept = default;
GANGSCHED_INLINE cluster_questions& cluster_questions::operator=(cluster_questions&&) noexcept = default;
GANGSCHED_INLINE cluster_questions::~cluster_questions() = default;

namespace detail {

GANGSCHED_INLINE std::optional<std::int64_t> column_of(const model::cluster_state& state, scope_number of, row_t row,
                                                       std::string_view column) {
  auto found = state.columns.find(of, column, column_writer::host);
  if (!found) found = state.columns.find(of, column, column_writer::reserve_hooks);
  if (!found) return std::nullopt;
  return state.columns.at(*found, row);
}

}  // namespace detail

GANGSCHED_INLINE std::optional<node_id> cluster_questions::find_node(std::string_view name) const {
  const row_t row = state_->nodes.find(state_->names, name);
  if (row == no_row) return std::nullopt;
  return node_id{row, state_->nodes.rows.generation(row)};
}

GANGSCHED_INLINE bool cluster_questions::contains(node_id node) const noexcept {
  return detail::names_node(*state_, node);
}

GANGSCHED_INLINE std::string_view cluster_questions::name_of(node_id node) const {
  return contains(node) ? state_->names.text(state_->nodes.record[node.row]->name) : std::string_view{};
}

GANGSCHED_INLINE std::uint64_t cluster_questions::cookie_of(node_id node) const {
  return contains(node) ? state_->nodes.record[node.row]->cookie : 0;
}

GANGSCHED_INLINE std::int64_t cluster_questions::allocatable(node_id node, std::string_view resource) const {
  const auto kind = state_->kinds.find(resource);
  return kind && contains(node) ? state_->nodes.allocatable.at(node.row, *kind) : 0;
}

GANGSCHED_INLINE std::int64_t cluster_questions::requested(node_id node, std::string_view resource) const {
  const auto kind = state_->kinds.find(resource);
  return kind && contains(node) ? state_->nodes.used.at(node.row, *kind) : 0;
}

GANGSCHED_INLINE std::vector<node_id> cluster_questions::nodes() const {
  std::vector<node_id> all;
  for (row_t row = 0; row < state_->nodes.rows.count(); ++row) {
    if (state_->nodes.alive(row)) all.push_back({row, state_->nodes.rows.generation(row)});
  }
  return all;
}

GANGSCHED_INLINE std::uint64_t cluster_questions::digest() const { return state_->digest(); }

GANGSCHED_INLINE std::optional<budget_id> cluster_questions::find_disruption_budget(std::string_view ns,
                                                                                    std::string_view name) const {
  const auto symbol = state_->names.find(ns);
  const row_t row = symbol ? state_->named.budgets.by_name.find(*symbol, name) : no_row;
  if (row == no_row) return std::nullopt;
  return budget_id{row, state_->named.budgets.rows.generation(row)};
}

GANGSCHED_INLINE bool cluster_questions::contains(budget_id budget) const noexcept {
  const auto& budgets = state_->named.budgets;
  return budget.row < budgets.rows.count() && budgets.record[budget.row] != nullptr &&
         budgets.rows.generation(budget.row) == budget.generation;
}

GANGSCHED_INLINE std::optional<std::int64_t> cluster_questions::column_of(node_id node, std::string_view column) const {
  if (!contains(node)) return std::nullopt;
  return detail::column_of(*state_, scope_number::nodes, node.row, column);
}

GANGSCHED_INLINE std::optional<std::int64_t> cluster_questions::column_of(group_id group,
                                                                          std::string_view column) const {
  if (!contains(group)) return std::nullopt;
  return detail::column_of(*state_, scope_number::groups, group.row, column);
}

GANGSCHED_INLINE std::optional<std::int64_t> cluster_questions::column_of(pod_id pod, std::string_view column) const {
  if (!contains(pod)) return std::nullopt;
  return detail::column_of(*state_, scope_number::pods, pod.row, column);
}

GANGSCHED_INLINE std::optional<std::int64_t> cluster_questions::column_of(scope_row_id row,
                                                                          std::string_view column) const {
  if (!contains(row)) return std::nullopt;
  return detail::column_of(*state_, state_->columns.record(row.row).scope, row.row, column);
}

GANGSCHED_INLINE std::optional<scope_row_id> cluster_questions::find_scope_row(std::string_view scope,
                                                                               std::string_view row) const {
  const auto known = state_->columns.find_scope(scope);
  const row_t found = known ? state_->columns.find_row(*known, row) : no_row;
  if (found == no_row) return std::nullopt;
  return state_->columns.id_of(found);
}

GANGSCHED_INLINE bool cluster_questions::contains(scope_row_id row) const noexcept {
  return state_->columns.contains(row);
}

GANGSCHED_INLINE std::string_view cluster_questions::name_of(scope_row_id row) const {
  return contains(row) ? std::string_view{state_->columns.record(row.row).name} : std::string_view{};
}

GANGSCHED_INLINE std::string_view cluster_questions::name_of(node_id node, const device_grant& grant) const {
  if (!contains(node) || !state_->nodes.record[node.row]->devices) return {};
  const device_record& devices = *state_->nodes.record[node.row]->devices;
  if (grant.kind == device_grant::form::cpus) return "cpu";
  if (grant.kind == device_grant::form::memory) {
    const auto kind = static_cast<std::size_t>(grant.milli);
    return kind < devices.memory_kinds.size() ? state_->kinds.name(devices.memory_kinds[kind]) : std::string_view{};
  }
  const std::size_t index = (grant.is_gpu() ? 0 : devices.inventory->gpu_count()) + grant.device;
  return index < devices.ids.size() ? std::string_view{devices.ids[index]} : std::string_view{};
}

GANGSCHED_INLINE std::string_view cluster_questions::capacity_of(node_id node, const device_grant& grant) const {
  const device_state now = devices_of(node);
  if (!now || grant.kind != device_grant::form::capacity || grant.device >= now.inventory->others.size()) return {};
  const auto& all = now.inventory->others[grant.device].capacities;
  const auto which = static_cast<std::size_t>(grant.milli);
  return which < all.size() ? state_->names.text(all[which].name) : std::string_view{};
}

GANGSCHED_INLINE std::string_view cluster_questions::profile_of(const device_grant& grant) const {
  return grant.mig_profile.value < state_->names.bound() ? state_->names.text(grant.mig_profile) : std::string_view{};
}

GANGSCHED_INLINE std::span<const device_grant> cluster_questions::devices_of(pod_id pod) const noexcept {
  const device_claim* claim = contains(pod) ? state_->pods.claim[pod.row] : nullptr;
  if (claim == nullptr) return {};
  return {claim->grants.data(), claim->grants.size()};
}

GANGSCHED_INLINE device_state cluster_questions::devices_of(node_id node) const noexcept {
  return contains(node) ? state_->devices.devices_of(node.row) : device_state{};
}

GANGSCHED_INLINE std::optional<group_id> cluster_questions::find_group(std::string_view ns, std::string_view name,
                                                                       bool composite) const {
  const auto symbol = state_->names.find(ns);
  const row_t row = symbol ? state_->groups.names_of(composite).find(*symbol, name) : no_row;
  if (row == no_row) return std::nullopt;
  return group_id{row, state_->groups.rows.generation(row)};
}

GANGSCHED_INLINE bool cluster_questions::contains(group_id group) const noexcept {
  return detail::names_group(*state_, group);
}

GANGSCHED_INLINE const group_spec* cluster_questions::spec_of(group_id group) const noexcept {
  if (!contains(group)) return nullptr;
  const model::group_record& record = *state_->groups.record[group.row];
  return record.expected ? nullptr : &record.spec;
}

GANGSCHED_INLINE std::string_view cluster_questions::name_of(group_id group) const {
  return contains(group) ? std::string_view{state_->groups.record[group.row]->spec.name} : std::string_view{};
}

GANGSCHED_INLINE std::string_view cluster_questions::namespace_of(group_id group) const {
  return contains(group) ? std::string_view{state_->groups.record[group.row]->spec.ns} : std::string_view{};
}

GANGSCHED_INLINE std::uint64_t cluster_questions::cookie_of(group_id group) const {
  return contains(group) ? state_->groups.record[group.row]->spec.cookie : 0;
}

GANGSCHED_INLINE std::int64_t cluster_questions::left_of_room(std::string_view room, node_id node,
                                                              std::string_view resource) const {
  const std::optional<symbol> owner = state_->names.find(room);
  const model::held_room_record* const held = owner && contains(node) ? state_->rooms.find(*owner) : nullptr;
  const auto kind = state_->kinds.find(resource);
  return held != nullptr && kind ? state_->rooms.left(*held, node.row, *kind) : 0;
}

GANGSCHED_INLINE pod_id cluster_questions::reservation_of(pod_id pod) const noexcept {
  if (!contains(pod) || state_->pods.node[pod.row] == no_row) return {};
  const row_t from = state_->reserved.drawn_by(pod.row);
  return from == no_row ? pod_id{} : pod_id{from, state_->pods.rows.generation(from)};
}

GANGSCHED_INLINE std::optional<pod_id> cluster_questions::find_reservation(std::string_view name) const {
  const model::pod_table& pods = state_->pods;
  row_t found = no_row;
  state_->reserved.each([&](row_t pod) {
    if (pods.record[pod]->name == name && (found == no_row || pods.arrival[pod] < pods.arrival[found])) found = pod;
  });
  if (found == no_row) return std::nullopt;
  return pod_id{found, pods.rows.generation(found)};
}

GANGSCHED_INLINE std::int64_t cluster_questions::left_of(pod_id reservation, std::string_view resource) const {
  const bool held = contains(reservation) && state_->pods.node[reservation.row] != no_row &&
                    state_->reserved.row_of(reservation.row) != no_row;
  const auto kind = state_->kinds.find(resource);
  return held && kind ? state_->reserved.left(reservation.row, *kind) : 0;
}

GANGSCHED_INLINE std::optional<std::int32_t> cluster_questions::find_priority_class(std::string_view name) const {
  const row_t row = state_->named.priority_classes.by_name.find({}, name);
  return row == no_row ? std::nullopt : std::optional{state_->named.priority_classes.record[row]->spec.value};
}

GANGSCHED_INLINE std::optional<pod_id> cluster_questions::find_pod(std::string_view ns, std::string_view name) const {
  const auto symbol = state_->names.find(ns);
  const row_t row = symbol ? state_->pods.by_name.find(*symbol, name) : no_row;
  if (row == no_row) return std::nullopt;
  return pod_id{row, state_->pods.rows.generation(row)};
}

GANGSCHED_INLINE bool cluster_questions::contains(pod_id pod) const noexcept { return detail::names_pod(*state_, pod); }

GANGSCHED_INLINE pod_state cluster_questions::state_of(pod_id pod) const noexcept {
  return contains(pod) ? state_->pods.state[pod.row] : pod_state::none;
}

GANGSCHED_INLINE node_id cluster_questions::node_of(pod_id pod) const noexcept {
  const row_t row = contains(pod) ? state_->pods.node[pod.row] : no_row;
  return row == no_row ? node_id{} : node_id{row, state_->nodes.rows.generation(row)};
}

GANGSCHED_INLINE node_id cluster_questions::nominated_node_of(pod_id pod) const noexcept {
  const row_t row = contains(pod) ? state_->pods.nominated[pod.row] : no_row;
  return row == no_row ? node_id{} : node_id{row, state_->nodes.rows.generation(row)};
}

GANGSCHED_INLINE std::optional<instant> cluster_questions::reserved_from(pod_id pod) const noexcept {
  const instant from = contains(pod) ? state_->pods.times.reserved_from(pod.row) : model::pod_times::never;
  return from >= model::pod_times::unknown_yet ? std::nullopt : std::optional{from};
}

GANGSCHED_INLINE std::int32_t cluster_questions::priority_of(pod_id pod) const noexcept {
  return contains(pod) ? state_->classes[state_->pods.cls[pod.row]].priority : 0;
}

GANGSCHED_INLINE group_id cluster_questions::group_of(pod_id pod) const noexcept {
  const row_t group = contains(pod) ? state_->pods.group[pod.row] : no_row;
  return group == no_row ? group_id{} : group_id{group, state_->groups.rows.generation(group)};
}

GANGSCHED_INLINE bool cluster_questions::is_terminating(pod_id pod) const noexcept {
  return contains(pod) && state_->pods.terminating[pod.row];
}

GANGSCHED_INLINE bind_attempt cluster_questions::attempt_of(pod_id pod) const noexcept {
  return contains(pod) ? state_->pods.attempt[pod.row] : bind_attempt::none;
}

GANGSCHED_INLINE std::string_view cluster_questions::name_of(pod_id pod) const {
  return contains(pod) ? std::string_view{state_->pods.record[pod.row]->name} : std::string_view{};
}

GANGSCHED_INLINE std::string_view cluster_questions::namespace_of(pod_id pod) const {
  return contains(pod) ? state_->names.text(state_->pods.record[pod.row]->ns) : std::string_view{};
}

GANGSCHED_INLINE std::uint64_t cluster_questions::cookie_of(pod_id pod) const {
  return contains(pod) ? state_->pods.record[pod.row]->cookie : 0;
}

GANGSCHED_INLINE std::vector<pod_id> cluster_questions::assumed() const {
  std::vector<pod_id> all = pods();
  std::erase_if(all, [&](pod_id pod) { return state_->pods.state[pod.row] != pod_state::assumed; });
  return all;
}

GANGSCHED_INLINE std::vector<pod_id> cluster_questions::pods() const {
  std::vector<pod_id> all;
  for (row_t row = 0; row < state_->pods.rows.count(); ++row) {
    if (state_->pods.alive(row)) all.push_back({row, state_->pods.rows.generation(row)});
  }
  return all;
}

GANGSCHED_INLINE std::optional<resource_claim_id> cluster_questions::find_resource_claim(std::string_view ns,
                                                                                         std::string_view name) const {
  const model::resource_claim_table& claims = state_->devices.resource_claims;
  const auto symbol = state_->names.find(ns);
  const row_t row = symbol ? claims.by_name.find(*symbol, name) : no_row;
  if (row == no_row) return std::nullopt;
  return resource_claim_id{row, claims.rows.generation(row)};
}

GANGSCHED_INLINE bool cluster_questions::contains(resource_claim_id claim) const noexcept {
  return state_->devices.resource_claims.contains(claim);
}

GANGSCHED_INLINE std::span<const resource_claim_id> cluster_questions::claims_of(pod_id pod) const noexcept {
  if (!contains(pod)) return {};
  return state_->classes[state_->pods.cls[pod.row]].claims;
}

GANGSCHED_INLINE node_id cluster_questions::node_of(resource_claim_id claim) const noexcept {
  const row_t row = contains(claim) ? state_->devices.resource_claims.allocated_on(claim.row) : no_row;
  return row == no_row ? node_id{} : node_id{row, state_->nodes.rows.generation(row)};
}

GANGSCHED_INLINE std::span<const device_grant> cluster_questions::devices_of(resource_claim_id claim) const noexcept {
  if (!node_of(claim)) return {};
  const device_claim& held = *state_->devices.resource_claims.held[claim.row];
  return {held.grants.data(), held.grants.size()};
}

GANGSCHED_INLINE std::uint32_t cluster_questions::users_of(resource_claim_id claim) const noexcept {
  return contains(claim) ? state_->devices.resource_claims.users[claim.row] : 0;
}

GANGSCHED_INLINE std::string_view cluster_questions::name_of(resource_claim_id claim) const {
  return contains(claim) ? std::string_view{state_->devices.resource_claims.record[claim.row]->spec.name}
                         : std::string_view{};
}

}  // namespace gangsched::inline GANGSCHED_ABI
