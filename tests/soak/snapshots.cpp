#include <algorithm>

#include "gangsched/record/snapshot.hpp"
#include "host.hpp"

/// Snapshots, which decide the same: after some steps the host goes on with what was restored from one. Damaged ones are refused.
namespace gangsched::soak {

void host::snapshot() {
  dice any{mix64(on_.seed * 31 + counts_.steps)};
  if (on_.broken_hooks || record_ || !any.percent(on_.snapshots)) return;  // (as with forks)
  std::vector<std::byte> bytes = must(record::take_snapshot(cluster_, *scheduler_), "take_snapshot");
  const auto setup = [&] { return record::restore_setup{make_tables(on_, rules_), on_.cluster.device_matcher}; };
  forked again = must(record::restore_snapshot(bytes, setup()), "restore_snapshot");
  if (again.cluster.digest() != cluster_.digest()) wrong("what was restored is another cluster");
  *scheduler_ = std::move(again.scheduler);
  cluster_ = std::move(again.cluster);
  must(scheduler_->observe(&watcher_), "observe");
  if (!any.percent(10)) return;
  const auto at = static_cast<std::ptrdiff_t>(any.below(bytes.size()));
  if (any.percent(50))
    bytes.erase(bytes.begin() + at, bytes.end());
  else
    bytes[static_cast<std::size_t>(at)] ^= static_cast<std::byte>(1 + any.below(255));
  if (record::restore_snapshot(bytes, setup())) wrong("a damaged snapshot is restored");
}

}  // namespace gangsched::soak
