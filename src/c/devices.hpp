#pragma once
#include "gangsched/c/devices.h"
#include "gangsched/src/c/copier.hpp"

/// Devices, claims and volumes in C as the library's. What is wrong is the copier's to tell. O(size of the struct).
namespace gangsched::inline GANGSCHED_ABI::c {

[[nodiscard]] node_devices read_devices(copier& copy, const gangsched_node_devices& given);
[[nodiscard]] std::vector<device_request> read_requests(copier& copy, const gangsched_device_request* from,
                                                        std::size_t count, const char* field);
[[nodiscard]] std::vector<device_constraint> read_constraints(copier& copy, const gangsched_device_constraint* from,
                                                              std::size_t count);
[[nodiscard]] std::vector<held_device> read_held_devices(copier& copy, const gangsched_held_device* from,
                                                         std::size_t count);
[[nodiscard]] pod_volumes read_volumes(copier& copy, const gangsched_pod_volumes& given);

}  // namespace gangsched::inline GANGSCHED_ABI::c
