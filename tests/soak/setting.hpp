#pragma once
#include <string>
#include <vector>

#include "gangsched/scheduler.hpp"
#include "host_plugin.hpp"

namespace gangsched::soak {

/// What a sequence runs on. A function of its seed.
struct setting {
  enum class base : std::uint8_t { kube_default, bin_packing, random };

  std::uint64_t seed = 0;
  cluster_options cluster = {};
  scheduler_options scheduler = {};
  base profile = base::kube_default;
  std::optional<std::int32_t> percentage = {};  ///< of nodes to score
  bool two_profiles = false;                    ///< pods of the scheduler "other" are ours too
  bool devices = false, numa = false;
  bool host_plugin = false;     ///< the profile has one of the host's own
  bool broken_hooks = false;    ///< which throws now and then
  bool host_decides = false;    ///< the queue is used alone, too
  bool held_rooms = false;      ///< room of nodes is held for some pods
  bool reservations = false;    ///< pods hold room for others
  bool columns = false;         ///< the host sets columns
  bool queues = false;          ///< pods and groups are in queues
  std::uint32_t snapshots = 6;  ///< percent of the steps after which the host goes on with what is restored
};

[[nodiscard]] setting make_setting(std::uint64_t seed);
/// New every time: schedulers do not share plugins.
[[nodiscard]] std::vector<kernel_table> make_tables(const setting& of, const std::shared_ptr<host_rules>& rules);
[[nodiscard]] std::string describe(const setting& of);

}  // namespace gangsched::soak
