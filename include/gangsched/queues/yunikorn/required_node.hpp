#pragma once
#include <span>
#include <vector>

#include "gangsched/core/config.hpp"
#include "gangsched/queues/yunikorn/partition.hpp"

namespace gangsched::inline GANGSCHED_ABI::queues::yunikorn {

/// Which allocations go so that an ask that must be on one node gets room there (YuniKorn's required node preemption, for pods of
/// DaemonSets), in order; none if that is impossible. @p there: the node's allocations; @p available: what is free there. Queues,
/// guarantees and fences do not count. An allocation may go if it does not have to be on one node, has no higher priority, is not going
/// already, and holds a requested type. First go those that neither opted out nor lead an application, then those that opted out, then
/// leaders; of these lower priority, then newer, then smaller. As many go as together hold what is asked for, whatever is free; if that and
/// what is free are not enough, none go. O(there · log there).
[[nodiscard]] GANGSCHED_API std::vector<ask_index> required_node_victims(const partition& queues, ask_index which,
                                                                         std::span<const ask_index> there,
                                                                         const resources& available);

}  // namespace gangsched::inline GANGSCHED_ABI::queues::yunikorn

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/queues/yunikorn/required_node.cpp"
#endif
