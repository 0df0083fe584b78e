#include <gangsched/framework/plugin_entry.hpp>
#include <gangsched/gangsched.hpp>
#include <gangsched/scheduling/queue_listing.hpp>

#include <set>

/// A scheduler with other profiles or options, which goes on where @p before stood. That one is asked nothing more.
inline gangsched::result<gangsched::scheduler> with_other_profiles(gangsched::cluster& cluster,
                                                                   const gangsched::scheduler& before,
                                                                   std::vector<gangsched::kernel_table> profiles,
                                                                   const gangsched::scheduler_options& options = {}) {
  if (auto fine = gangsched::scheduler::check(profiles); !fine) return std::move(fine).error();
  const auto queue = before.queue();
  if (!queue) return queue.error();
  const auto room = before.waiting();
  if (!room) return room.error();
  std::set<std::string> permit;  // plugins that can hold a pod from now on
  for (const gangsched::kernel_table& profile : profiles)
    for (const std::uint16_t plugin : profile.at(gangsched::point::permit)) permit.insert(profile.plugins[plugin].name);

  gangsched::scheduler made{cluster, std::move(profiles), options};
  for (const gangsched::queued_entity& one : *queue) {  // of a group one member will do
    if (auto done = made.restore(one.pod, one.standing.position()); !done) return std::move(done).error();
  }
  for (gangsched::waiting_pod one : *room) {
    std::erase_if(one.holders, [&](const auto& holder) { return !permit.contains(holder.plugin); });
    std::erase_if(one.allowed, [&](const std::string& plugin) { return !permit.contains(plugin); });
    if (auto done = made.restore(one); !done) return std::move(done).error();
  }
  return made;
}
