#include "gangsched/src/kube/simulation/queues.hpp"

#include "gangsched/core/quantity.hpp"
#include "gangsched/core/saturating_add.hpp"
#include "gangsched/model/cluster_queues.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <set>

namespace gangsched::inline GANGSCHED_ABI::kube::simulation {
namespace {

/// The cluster took each amount: only a sum of several may be more than fits, and counts as the most that does.
std::int64_t units_of(const std::string& resource, const quantity& amount) {
  std::int64_t units = 0;
  const bool fits = resource == "cpu" ? amount.milli_value(units) : amount.value(units);
  return fits ? units : std::numeric_limits<std::int64_t>::max();
}

std::int64_t at(const integer_resources& in, const std::string& resource) {
  const auto found = in.find(resource);
  return found == in.end() ? 0 : found->second;
}

/// The resources that quotas name, which are those that are shared; if none names any, all are.
std::set<std::string> shared_in(const queue_questions& queues) {
  std::set<std::string> named, all;
  for (const queue_id one : queues.all()) {
    for (const auto& [name, amount] : queues.usage_of(one).requested)
      if (name != "pods") all.insert(name);
    const queue_spec* const spec = queues.spec_of(one);
    if (spec == nullptr) continue;
    for (const queue_quota& quota : spec->quotas)
      for (const resource_list* const list : {&quota.guaranteed, &quota.limit, &quota.borrowing_limit})
        for (const auto& [name, amount] : *list) named.insert(name);
  }
  return named.empty() ? all : named;
}

/// What a queue has of a flavor, or of all nodes, by resource: of those of @p shared that it has something to do with.
void add_amounts(const queue_quota& quota, const queue_usage& used, const std::set<std::string>& shared,
                 std::vector<queue_amount>& to) {
  std::set<std::string> resources;
  for (const resource_list* const list : {&quota.guaranteed, &quota.limit, &quota.borrowing_limit})
    for (const auto& [name, amount] : *list) resources.insert(name);
  if (quota.flavor.empty()) {
    for (const auto& [name, amount] : used.requested)
      if (shared.contains(name)) resources.insert(name);
  }
  for (const std::string& name : resources) {
    queue_amount& made = to.emplace_back();
    made.resource = name;
    made.flavor = quota.flavor;
    if (const auto found = quota.guaranteed.find(name); found != quota.guaranteed.end())
      made.guaranteed = units_of(name, found->second);
    if (const auto found = quota.limit.find(name); found != quota.limit.end())
      made.limit = units_of(name, found->second);
    if (const auto found = quota.borrowing_limit.find(name); found != quota.borrowing_limit.end()) {
      const std::int64_t most = saturating_add(made.guaranteed.value_or(0), units_of(name, found->second));
      made.limit = std::min(made.limit.value_or(most), most);
    }
    made.used = at(used.used, name);
    if (made.guaranteed) made.borrowed = std::max<std::int64_t>(0, made.used - *made.guaranteed);
    if (quota.flavor.empty()) made.waiting = at(used.requested, name) - made.used;
  }
}

}  // namespace

std::vector<queue_outcome> queues_of(const cluster& in) {
  const queue_questions queues = in.queues();
  const std::set<std::string> shared = shared_in(queues);
  std::map<std::string, std::vector<queue_id>, std::less<>> below;
  for (const queue_id one : queues.all()) {
    const queue_spec* const spec = queues.spec_of(one);
    below[spec == nullptr ? std::string{} : spec->parent].push_back(one);
  }
  std::vector<queue_outcome> made;
  std::vector<std::pair<queue_id, std::size_t>> next;
  const auto push = [&](const std::string& parent, std::size_t depth) {
    const auto found = below.find(parent);
    if (found == below.end()) return;
    for (auto one = found->second.rbegin(); one != found->second.rend(); ++one) next.emplace_back(*one, depth);
  };
  push({}, 0);
  while (!next.empty()) {
    const auto [id, depth] = next.back();
    next.pop_back();
    queue_outcome& one = made.emplace_back();
    one.name = queues.name_of(id);
    one.depth = depth;
    const queue_usage used = queues.usage_of(id);
    one.running = used.running;
    if (const queue_spec* const spec = queues.spec_of(id); spec != nullptr) {
      one.known = true;
      one.state = spec->state;
      one.parent = spec->parent;
      queue_quota whole;
      std::vector<const queue_quota*> flavors;
      for (const queue_quota& quota : spec->quotas) {
        if (quota.flavor.empty())
          whole = quota;
        else
          flavors.push_back(&quota);
      }
      // Together, because what waits is of no flavor yet; of one flavor that is all.
      for (const queue_quota* const quota : flavors)
        for (const auto& [name, amount] : quota->guaranteed) whole.guaranteed[name] += amount;
      if (flavors.size() == 1) {
        for (const auto& [name, amount] : flavors[0]->limit) whole.limit.emplace(name, amount);
        for (const auto& [name, amount] : flavors[0]->borrowing_limit) whole.borrowing_limit.emplace(name, amount);
      }
      add_amounts(whole, used, shared, one.amounts);
      if (flavors.size() > 1)
        for (const queue_quota* const quota : flavors)
          add_amounts(*quota, queues.usage_of(id, quota->flavor), shared, one.amounts);
    } else {
      add_amounts({}, used, shared, one.amounts);
    }
    push(one.name, depth + 1);
  }
  return made;
}

}  // namespace gangsched::inline GANGSCHED_ABI::kube::simulation
