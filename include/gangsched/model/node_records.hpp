#pragma once
#include <memory>
#include <optional>
#include <string>

#include "gangsched/model/requests.hpp"
#include "gangsched/model/state.hpp"

/// What a cluster keeps of a node's spec, which was checked.
namespace gangsched::inline GANGSCHED_ABI::detail {

/// Absent if the node has no devices that the host knows of. Errors: what of them cannot be; @p object names the node. O(devices).
[[nodiscard]] GANGSCHED_API result<std::optional<device_inventory>> read_devices(model::cluster_state& state,
                                                                                 const node_spec& spec,
                                                                                 const std::string& object);
/// New names are interned. O(size of the spec).
[[nodiscard]] GANGSCHED_API std::unique_ptr<model::node_record> make_node_record(
    model::cluster_state& state, const node_spec& spec, const integer_resources& allocatable,
    std::optional<device_inventory> devices);
/// Nothing of a kind that it has none of.
[[nodiscard]] GANGSCHED_API std::int64_t amount_of(const model::node_record& record, resource_kind kind) noexcept;
/// Sets an amount that its spec does not name; 0: it has none. O(amounts · log amounts).
GANGSCHED_API void set_beside_spec(const model::resource_kinds& kinds, model::node_record& record, amount has);
/// What was set beside the spec of @p before stays, unless the new one names it. O(amounts · those set).
GANGSCHED_API void keep_beside_spec(const model::resource_kinds& kinds, const model::node_record& before,
                                    model::node_record& record);
/// What plugins may read in which the two differ. O(size of the records).
[[nodiscard]] GANGSCHED_API reads difference(const model::node_record& before, const model::node_record& after);

}  // namespace gangsched::inline GANGSCHED_ABI::detail

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/model/node_records.cpp"
#endif
