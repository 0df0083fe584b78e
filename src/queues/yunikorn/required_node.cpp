#include "gangsched/queues/yunikorn/required_node.hpp"

#include <algorithm>
#include <tuple>

namespace gangsched::inline GANGSCHED_ABI::queues::yunikorn {

GANGSCHED_INLINE std::vector<ask_index> required_node_victims(const partition& queues, ask_index which,
                                                              std::span<const ask_index> there,
                                                              const resources& available) {
  const ask_spec& wants = queues.of_ask(which).spec;
  std::vector<ask_index> victims;
  for (const ask_index one : there) {
    const ask& its = queues.of_ask(one);
    if (!may_go(its.spec) || its.spec.priority > wants.priority || its.preempted != 0 ||
        (its.spec.request.types() & wants.request.types()) == 0)
      continue;
    victims.push_back(one);
  }
  const auto order = [&](ask_index one) {
    const ask_spec& its = queues.of_ask(one).spec;
    // An ask with less of everything has the smaller sum; of others the sum makes the order a strict one.
    __extension__ unsigned __int128 size = 0;
    resources::for_each(its.request.types(),
                        [&](resource_type type) { size += static_cast<std::uint64_t>(its.request[type]); });
    return std::tuple{turn_to_go(its), its.priority, -its.created.count(), size, one};
  };
  std::sort(victims.begin(), victims.end(), [&](ask_index a, ask_index b) { return order(a) < order(b); });
  resources held;
  auto last = victims.begin();
  for (; last != victims.end() && !at_least(held, wants.request); ++last) held += queues.of_ask(*last).spec.request;
  victims.erase(last, victims.end());
  if (!at_least(held + available, wants.request)) victims.clear();
  return victims;
}

}  // namespace gangsched::inline GANGSCHED_ABI::queues::yunikorn
