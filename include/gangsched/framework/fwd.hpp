#pragma once
#include <cstdint>

#include "gangsched/model/fwd.hpp"
#include "gangsched/model/reads.hpp"

/// Types of the framework that hosts' headers name and do not define: views, and what hooks take and return.
namespace gangsched::inline GANGSCHED_ABI {

template <reads Reads>
class node_view;
using node_info = node_view<reads::everything>;
class budget_view;
class cluster_view;
class column_maker;
class group_view;
class new_reservation;
class node_names;
class permit_room;
class placement_sink;
class placement_view;
class queue_view;
class pod_info;
class pod_view;
class reservation;
class trial;
enum class hint : std::uint8_t;
struct assignment;
struct decision;
struct event;
struct filtered_group;
struct group_progress;
struct key_reads;
struct permit_verdict;
struct placement;
struct placement_demand;
struct plugin_entry;
struct queue_head;
struct queued;
struct scored_group;
struct sort_key;
struct status;
struct victim_plan;

}  // namespace gangsched::inline GANGSCHED_ABI
