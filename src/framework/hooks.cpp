#include "gangsched/framework/hooks.hpp"

#include "gangsched/model/state.hpp"

namespace gangsched::inline GANGSCHED_ABI {

GANGSCHED_INLINE void new_reservation::add(scope_column column, scope_row_id row, std::int64_t amount) const {
  if (whole(*state_).columns.contains(row)) note(column.index, row.row, row.generation, amount);
}
GANGSCHED_INLINE void new_reservation::add(scope_column column, std::string_view row, std::int64_t amount) const {
  model::own_columns& columns = whole(*state_).columns;
  add(column, columns.id_of(columns.row(columns.scope_of(column.index), row)), amount);
}
GANGSCHED_INLINE void new_reservation::note(std::uint32_t column, row_t row, std::uint32_t generation,
                                            std::int64_t amount) const {
  whole(*state_).columns.note(pod.row(), {column, row, generation, amount});
}

GANGSCHED_INLINE std::uint32_t column_maker::add_default_spread(const spread_defaults& set) {
  return whole(*state_).counting.add_default_spread(set);
}
GANGSCHED_INLINE std::uint32_t column_maker::of_nodes(std::string_view name, bool by_host) {
  return find_or_make(scope_number::nodes, name, by_host);
}
GANGSCHED_INLINE std::uint32_t column_maker::of_groups(std::string_view name, bool by_host) {
  return find_or_make(scope_number::groups, name, by_host);
}
GANGSCHED_INLINE std::uint32_t column_maker::of_pods(std::string_view name) {
  return find_or_make(scope_number::pods, name, true);
}
GANGSCHED_INLINE std::uint32_t column_maker::of_scope(std::string_view scope, std::string_view name, bool by_host) {
  return find_or_make(whole(*state_).columns.scope(scope), name, by_host);
}
GANGSCHED_INLINE std::uint32_t column_maker::find_or_make(scope_number of, std::string_view name, bool by_host) {
  model::own_columns& columns = whole(*state_).columns;
  const column_writer writer = by_host ? column_writer::host : column_writer::reserve_hooks;
  std::optional<std::uint32_t> column = columns.find(of, name, writer);
  if (!column) {
    if (!any(mine_)) mine_ = columns.new_facet();
    column = columns.make(of, name, writer, mine_);
  }
  all_ |= columns.facet_of(*column);
  return *column;
}

}  // namespace gangsched::inline GANGSCHED_ABI
