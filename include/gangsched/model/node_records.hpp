#pragma once
#include <array>
#include <memory>
#include <optional>
#include <string>

#include "gangsched/model/requests.hpp"
#include "gangsched/model/state.hpp"
#include "gangsched/model/validate.hpp"

/// What a cluster stores of a checked node spec.
namespace gangsched::inline GANGSCHED_ABI::detail {

/// Absent if the node has no devices that the host reported. Errors: invalid devices; @p object names the node. O(devices).
[[nodiscard]] GANGSCHED_API result<std::optional<device_inventory>> read_devices(model::cluster_state& state,
                                                                                 const node_spec& spec,
                                                                                 const std::string& object);
constexpr reads parts_of_a_node = reads::labels | reads::taints | reads::schedulable | reads::allocatable |
                                  reads::images | reads::features | reads::devices;
/// The parts of a node's new spec that its record already has.
struct known_node {
  /// Of the parts above those that come to what the record has. (Some that do may be missing.)
  reads same = reads::nothing;
  right_before right;  ///< parts of the spec that need no check because of that
  /// Of the first labels those with a bit in `right.labels`; the others are not set.
  std::array<label_symbols, 64> labels;
};
/// @p of: the node's record, made of a spec that was checked. @pre the spec has its name. O(size of the spec).
[[nodiscard]] GANGSCHED_API known_node known_of(const model::cluster_state& state, const model::node_record& of,
                                                const node_spec& spec);
/// Interns new names. O(size of the spec).
[[nodiscard]] GANGSCHED_API std::unique_ptr<const model::node_record> make_node_record(
    model::cluster_state& state, const node_spec& spec, const integer_resources& allocatable,
    std::optional<device_inventory> devices);
/// Empty for a kind that it has none of.
[[nodiscard]] GANGSCHED_API std::int64_t amount_of(const model::node_record& record, resource_kind kind) noexcept;
/// Sets an amount that its spec does not name; 0 removes it. O(amounts · log amounts).
GANGSCHED_API void set_beside_spec(const model::resource_kinds& kinds, model::node_record& record, amount has);
/// The record for a changed spec: equal parts are shared with @p before. @p allocatable and @p devices are used only if they changed.
[[nodiscard]] GANGSCHED_API std::unique_ptr<const model::node_record> changed_node_record(
    model::cluster_state& state, const model::node_record& before, const node_spec& spec, const known_node& known,
    const integer_resources& allocatable, std::optional<device_inventory> devices);
/// The facets in which the two records differ; those in @p same are known to be equal. O(size of the records).
[[nodiscard]] GANGSCHED_API reads difference(const model::node_record& before, const model::node_record& after,
                                             reads same);

}  // namespace gangsched::inline GANGSCHED_ABI::detail

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/model/node_records.cpp"
#endif
