#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "gangsched/queues/fair_share/fair_shares.hpp"
#include "gangsched/queues/fair_share/reclaim.hpp"
#include "support/dice.hpp"

/// Random trees of queues, and jobs in them.
namespace gangsched::testing::fair_share_worlds {

using namespace gangsched::queues;
using namespace gangsched::queues::fair_share;
using amounts = std::vector<std::int64_t>;

struct random_tree {
  queue_tree tree;
  std::vector<queue_terms> terms;
};

/// Guarantees of roots are within @p capacity together, those of children within their parent's, unless @p any_guarantees.
inline random_tree make_tree(dice& roll, std::size_t queues, const amounts& capacity, bool any_guarantees = false) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < queues; ++i) names.push_back("q" + std::to_string(i));
  std::vector<queue_link> links;
  for (std::size_t i = 0; i < queues; ++i)
    links.push_back({names[i], i > 0 && roll.percent(60) ? names[roll.below(i)] : std::string_view{}});
  random_tree made{queue_tree::make(links).value(), std::vector<queue_terms>(queues)};
  const std::size_t resources = capacity.size();
  std::vector<amounts> left(queues);  // of each queue's guarantee, for its children
  amounts left_at_all = capacity;
  for (const queue_index queue : made.tree.top_down()) {
    queue_terms& one = made.terms[queue];
    amounts& above = made.tree.parent(queue) == no_queue ? left_at_all : left[made.tree.parent(queue)];
    one.guaranteed.assign(resources, 0);
    for (std::size_t i = 0; i < resources; ++i) {
      one.guaranteed[i] = roll.percent(70) ? roll.between(0, any_guarantees ? capacity[i] : above[i]) : 0;
      if (!any_guarantees) above[i] -= one.guaranteed[i];
    }
    left[queue] = one.guaranteed;
    one.weight = roll.percent(5) ? 0 : weight_unit * roll.between(1, 4) / roll.between(1, 3);
    one.priority = roll.percent(30) ? static_cast<std::int32_t>(roll.between(0, 3)) : 0;
    const auto sometimes = [&](std::vector<std::int64_t>& list, unsigned chance, std::int64_t least_over_guarantee) {
      if (!roll.percent(chance)) return;
      for (std::size_t i = 0; i < resources; ++i)
        list.push_back(roll.percent(30) ? unnamed
                                        : (least_over_guarantee >= 0 ? one.guaranteed[i] : 0) +
                                              roll.between(0, capacity[i] / 2 + 1));
    };
    sometimes(one.limit, 20, 0);
    sometimes(one.borrowing_limit, 20, -1);
    sometimes(one.lending_limit, 20, -1);
    if (roll.percent(10))
      for (std::size_t i = 0; i < resources; ++i) one.weights.push_back(weight_unit * roll.between(0, 3));
  }
  return made;
}

inline std::vector<queue_index> leaves_of(const queue_tree& tree) {
  std::vector<queue_index> leaves;
  for (queue_index queue = 0; queue < tree.size(); ++queue)
    if (tree.is_leaf(queue)) leaves.push_back(queue);
  return leaves;
}

}  // namespace gangsched::testing::fair_share_worlds
