#pragma once
#include "gangsched/c/devices.h"
#include "gangsched/core/result.hpp"
#include "gangsched/model/queue_spec.hpp"
#include "gangsched/model/spec.hpp"

/// Objects in C as the library's specs. Error: malformed (a struct_size, a quantity, a null where something is counted), out_of_range (a
/// number that is none of an enumeration, a scale), duplicate (a name twice in a list). What is in them is checked where it is used.
/// O(size of the object).
namespace gangsched::inline GANGSCHED_ABI::c {

[[nodiscard]] result<node_spec> read_spec(const gangsched_node_spec& from);
[[nodiscard]] result<pod_spec> read_spec(const gangsched_pod_spec& from);
[[nodiscard]] result<group_spec> read_spec(const gangsched_group_spec& from);
[[nodiscard]] result<queue_spec> read_spec(const gangsched_queue_spec& from);
[[nodiscard]] result<flavor_spec> read_spec(const gangsched_flavor_spec& from);
[[nodiscard]] result<priority_class_spec> read_spec(const gangsched_priority_class_spec& from);
[[nodiscard]] result<resource_claim_spec> read_spec(const gangsched_resource_claim_spec& from);
/// Of the node of that name, for what is wrong.
[[nodiscard]] result<resource_list> read_allocatable(std::string_view node, const gangsched_amounts& amounts);
[[nodiscard]] result<namespace_spec> read_namespace(const char* name, const gangsched_pairs& labels);

}  // namespace gangsched::inline GANGSCHED_ABI::c
