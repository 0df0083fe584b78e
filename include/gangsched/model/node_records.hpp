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
[[nodiscard]] GANGSCHED_API std::unique_ptr<const model::node_record> make_node_record(
    model::cluster_state& state, const node_spec& spec, const integer_resources& allocatable,
    std::optional<device_inventory> devices);
/// What plugins may read in which the two differ. O(size of the records).
[[nodiscard]] GANGSCHED_API reads difference(const model::node_record& before, const model::node_record& after);

}  // namespace gangsched::inline GANGSCHED_ABI::detail

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/model/node_records.cpp"
#endif
