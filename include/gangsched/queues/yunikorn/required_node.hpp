#pragma once
#include <span>
#include <vector>

#include "gangsched/core/config.hpp"
#include "gangsched/queues/yunikorn/partition.hpp"

namespace gangsched::inline GANGSCHED_ABI::queues::yunikorn {

/// Who goes so that an ask that has to be on one node gets room there (YuniKorn's required node preemption, which serves pods of
/// DaemonSets), in order; nobody, if that cannot be. @p there is who has the node, @p available what is free of it. Queues, guarantees and
/// fences are not asked. May go: who has not to be on one node, has no higher priority, is not to go already, and holds something of what
/// is asked for; first who neither opted out nor leads an application, then who opted out, then who leads; of these by priority (the
/// lowest first), age (the newest first) and size (the smallest first). They go until they hold together what is asked for, whatever is
/// free; with what is free it has to be enough. O(there · log there).
[[nodiscard]] GANGSCHED_API std::vector<ask_index> required_node_victims(const partition& queues, ask_index which,
                                                                         std::span<const ask_index> there,
                                                                         const resources& available);

}  // namespace gangsched::inline GANGSCHED_ABI::queues::yunikorn

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/queues/yunikorn/required_node.cpp"
#endif
