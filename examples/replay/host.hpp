#pragma once
#include <cstdint>
#include <functional>
#include <string>

#include "replay/outcome.hpp"
#include "replay/workload.hpp"

namespace replay {

enum class profile_choice : std::uint8_t { pack, spread };

struct replay_options {
  profile_choice profile = profile_choice::pack;
  handling gangs = handling::group_cycle;
  std::string queue_policy =
      {};  ///< the plugin that divides the cluster between the workload's tenants; empty: nobody does
  bool by_age =
      false;  ///< jobs are tried in the order in which they came, not in that in which they failed last; so under every policy
  bool timeline = false;   ///< wanted: who had which node when
  std::uint64_t seed = 1;  ///< of ties, and of when a job's workers arrive
};

/// Called now and then with how many of the workload's pods have arrived or left, of twice their number.
using progress_sink = std::function<void(std::uint64_t done)>;

/// Plays host to a scheduler: lets pods arrive and leave in virtual time, executes every decision at once, and measures.
/// Throws std::runtime_error if the library refuses something.
[[nodiscard]] outcome replay_workload(const workload& work, const replay_options& how, const progress_sink& show);

}  // namespace replay
