#include "gangsched/queues/queue_tree.hpp"

#include <algorithm>
#include <numeric>

namespace gangsched::inline GANGSCHED_ABI::queues {

GANGSCHED_INLINE result<queue_tree> queue_tree::make(std::span<const queue_link> queues) {
  const std::size_t count = queues.size();
  const auto wrong = [&](errc code, std::size_t queue, const char* field, std::string reason) {
    return error{code, "queue " + std::string{queues[queue].name}, field, std::move(reason)};
  };
  queue_tree made;
  made.by_name_.resize(count);
  std::iota(made.by_name_.begin(), made.by_name_.end(), queue_index{0});
  for (queue_index queue = 0; queue < count; ++queue) {
    if (queues[queue].name.empty()) return wrong(errc::malformed, queue, "name", "is empty");
    made.name_.emplace_back(queues[queue].name);
  }
  std::stable_sort(made.by_name_.begin(), made.by_name_.end(),
                   [&](queue_index a, queue_index b) { return made.name_[a] < made.name_[b]; });
  const auto same_name = [&](queue_index a, queue_index b) { return made.name_[a] == made.name_[b]; };
  if (const auto twice = std::adjacent_find(made.by_name_.begin(), made.by_name_.end(), same_name);
      twice != made.by_name_.end())
    return wrong(errc::duplicate, twice[1], "name", "another queue has it");
  made.name_rank_.resize(count);
  for (std::uint32_t rank = 0; rank < count; ++rank) made.name_rank_[made.by_name_[rank]] = rank;

  made.first_child_.assign(count + 1, 0);
  for (queue_index queue = 0; queue < count; ++queue) {
    const std::optional<queue_index> parent = made.find(queues[queue].parent);
    if (!parent && !queues[queue].parent.empty())
      return wrong(errc::unknown, queue, "parent", "there is no queue " + std::string{queues[queue].parent});
    made.parent_.push_back(parent.value_or(no_queue));
    if (parent) {
      ++made.first_child_[*parent + 1];
    } else {
      made.roots_.push_back(queue);
    }
  }
  std::partial_sum(made.first_child_.begin(), made.first_child_.end(), made.first_child_.begin());
  made.children_.resize(count - made.roots_.size());
  std::vector<std::uint32_t> next{made.first_child_.begin(), made.first_child_.end()};
  for (queue_index queue = 0; queue < count; ++queue)
    if (made.parent_[queue] != no_queue) made.children_[next[made.parent_[queue]]++] = queue;

  made.depth_.resize(count);
  made.height_.resize(count);
  made.root_.resize(count);
  made.top_down_ = made.roots_;
  made.top_down_.reserve(count);
  for (std::size_t at = 0; at < made.top_down_.size(); ++at) {
    const queue_index queue = made.top_down_[at], parent = made.parent_[queue];
    made.depth_[queue] = parent == no_queue ? 0 : made.depth_[parent] + 1;
    made.root_[queue] = parent == no_queue ? queue : made.root_[parent];
    const std::span<const queue_index> below = made.children(queue);
    made.top_down_.insert(made.top_down_.end(), below.begin(), below.end());
  }
  if (made.top_down_.size() != count) {  // what no root leads to goes round in a circle
    std::vector<bool> reached(count, false);
    for (const queue_index queue : made.top_down_) reached[queue] = true;
    const auto lost = static_cast<std::size_t>(std::find(reached.begin(), reached.end(), false) - reached.begin());
    return wrong(errc::malformed, lost, "parent", "the queues above it lead back to one of them");
  }
  for (auto queue = made.top_down_.rbegin(); queue != made.top_down_.rend(); ++queue)
    if (const queue_index parent = made.parent_[*queue]; parent != no_queue)
      made.height_[parent] = std::max(made.height_[parent], made.height_[*queue] + 1);
  return made;
}

GANGSCHED_INLINE std::optional<queue_index> queue_tree::find(std::string_view name) const {
  const auto at = std::lower_bound(by_name_.begin(), by_name_.end(), name,
                                   [&](queue_index queue, std::string_view wanted) { return name_[queue] < wanted; });
  return at != by_name_.end() && name_[*at] == name ? std::optional{*at} : std::nullopt;
}

GANGSCHED_INLINE queue_index queue_tree::common_ancestor(queue_index a, queue_index b) const {
  if (root_[a] != root_[b]) return no_queue;
  while (a != b) (depth_[a] >= depth_[b] ? a : b) = depth_[a] >= depth_[b] ? parent_[a] : parent_[b];
  return a;
}

GANGSCHED_INLINE bool queue_tree::is_within(queue_index queue, queue_index above) const {
  while (queue != no_queue && depth_[queue] > depth_[above]) queue = parent_[queue];
  return queue == above;
}

}  // namespace gangsched::inline GANGSCHED_ABI::queues
