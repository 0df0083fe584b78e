#include "gangsched/queues/volcano/fair_hierarchy.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

namespace gangsched::inline GANGSCHED_ABI::queues::volcano {

namespace detail {

/// The part before the next '/', which is taken off with it.
inline std::string_view take_part(std::string_view& of) {
  const std::size_t end = of.find('/');
  const std::string_view part = of.substr(0, end);
  of = end == std::string_view::npos ? std::string_view{} : of.substr(end + 1);
  return part;
}

}  // namespace detail

GANGSCHED_INLINE fair_hierarchy::fair_hierarchy(const resources& total) : total_{total} {
  nodes_.push_back({.name = "root"});
  nodes_.front().saturated = true;
  demanding_ = wanted();
}

GANGSCHED_INLINE result<fair_hierarchy> fair_hierarchy::make(const resources& total) {
  for (kind k = 0; k < most_kinds; ++k)
    if (!std::isfinite(total.get(k)) || total.get(k) < 0)
      return error{errc::out_of_range, "cluster", "total", "has to be finite and at least 0"};
  return fair_hierarchy{total};
}

GANGSCHED_INLINE fair_hierarchy::node_index fair_hierarchy::add(node_index parent, std::string name, double weight) {
  const auto made = static_cast<node_index>(nodes_.size());
  nodes_.push_back({.name = std::move(name), .parent = parent, .weight = weight});
  nodes_.back().saturated = true;
  nodes_[parent].children.push_back(made);
  return made;
}

GANGSCHED_INLINE result<fair_hierarchy::node_index> fair_hierarchy::add_queue(std::string_view queue,
                                                                              std::string_view path,
                                                                              std::string_view weights) {
  std::vector<part> parts;
  detail::take_part(path);  // the root, whatever it is called
  while (!path.empty()) {
    const std::string object = "queue " + std::string{queue};
    if (detail::take_part(weights); weights.empty())
      return error{errc::malformed, object, "hierarchy_weights", "has fewer parts than the path"};
    std::string_view rest = weights;
    const std::string_view text = detail::take_part(rest);
    double weight = 0;
    if (const auto read = std::from_chars(text.data(), text.data() + text.size(), weight);
        read.ec != std::errc{} || read.ptr != text.data() + text.size() || !std::isfinite(weight))
      return error{errc::malformed, object, "hierarchy_weights", "\"" + std::string{text} + "\" is no number"};
    parts.push_back({std::string{detail::take_part(path)}, weight});
  }
  return add_queue(parts);
}

GANGSCHED_INLINE fair_hierarchy::node_index fair_hierarchy::add_queue(std::span<const part> path) {
  node_index at = root;
  for (const part& one : path) {
    const auto& children = nodes_[at].children;
    const auto found = std::ranges::find_if(
        children, [&](node_index child) { return !nodes_[child].is_job && nodes_[child].name == one.name; });
    at = found == children.end() ? add(at, one.name, std::max(1.0, one.weight)) : *found;
  }
  return at;
}

GANGSCHED_INLINE fair_hierarchy::node_index fair_hierarchy::add_job(node_index queue, std::string name,
                                                                    const resources& request) {
  const node_index made = add(queue, std::move(name), 1);
  nodes_[made].is_job = true;
  nodes_[made].request = request;
  changed(made);
  return made;
}

GANGSCHED_INLINE void fair_hierarchy::allocate(node_index job, const resources& task) {
  nodes_[job].allocated.add(task);
  allocated_.add(task);
  changed(job);
}

GANGSCHED_INLINE void fair_hierarchy::release(node_index job, const resources& task) {
  nodes_[job].allocated.subtract(task);
  allocated_.subtract(task);
  changed(job);
}

GANGSCHED_INLINE std::uint32_t fair_hierarchy::wanted() const {
  std::uint32_t kinds = 0;
  for (kind k = 0; k < most_kinds; ++k)
    if (total_.get(k) >= resources::least && allocated_.get(k) < total_.get(k)) kinds |= 1U << k;
  return kinds;
}

GANGSCHED_INLINE void fair_hierarchy::changed(node_index job) {
  if (const std::uint32_t now = wanted(); now != demanding_) {
    demanding_ = now;
    // A child comes after its parent.
    for (std::size_t i = nodes_.size(); i-- > 0;) settle(nodes_[i]);
    return;
  }
  for (node_index at = job; at != hierarchy_node::none; at = nodes_[at].parent) settle(nodes_[at]);
}

GANGSCHED_INLINE void fair_hierarchy::settle(hierarchy_node& one) {
  if (one.is_job) {
    one.share = dominant_share(one.allocated, total_);
    one.saturated = false;
    for (kind k = 0; k < most_kinds; ++k) {
      const double has = one.allocated.get(k), wants = one.request.get(k);
      if (has >= resources::least && wants != 0 && (has >= wants || (demanding_ >> k & 1U) == 0)) one.saturated = true;
    }
    return;
  }
  double least = 1;
  for (const node_index child : one.children)
    if (const hierarchy_node& of = nodes_[child]; of.share != 0 && !of.saturated) least = std::min(least, of.share);
  one.allocated = {};
  one.saturated = true;
  for (const node_index child : one.children) {
    const hierarchy_node& of = nodes_[child];
    one.saturated = one.saturated && of.saturated;
    if (of.share == 0) continue;
    resources counted = of.allocated;
    one.allocated.add(of.saturated ? counted : counted.scale(least / of.share));
  }
  one.share = dominant_share(one.allocated, total_);
}

GANGSCHED_INLINE std::string fair_hierarchy::path(node_index at) const {
  std::string made = nodes_[at].name;
  for (at = nodes_[at].parent; at != hierarchy_node::none; at = nodes_[at].parent) made = nodes_[at].name + "/" + made;
  return made;
}

GANGSCHED_INLINE std::weak_ordering fair_hierarchy::order(node_index queue_a, node_index queue_b) const {
  std::vector<node_index> a, b;
  for (node_index at = queue_a; at != hierarchy_node::none; at = nodes_[at].parent) a.push_back(at);
  for (node_index at = queue_b; at != hierarchy_node::none; at = nodes_[at].parent) b.push_back(at);
  for (; !a.empty() && !b.empty(); a.pop_back(), b.pop_back()) {
    const hierarchy_node &left = nodes_[a.back()], &right = nodes_[b.back()];
    if (left.saturated != right.saturated)
      return left.saturated ? std::weak_ordering::greater : std::weak_ordering::less;
    const double of_left = left.share / left.weight, of_right = right.share / right.weight;
    if (of_left != of_right) return of_left < of_right ? std::weak_ordering::less : std::weak_ordering::greater;
  }
  return std::weak_ordering::equivalent;
}

GANGSCHED_INLINE void fair_hierarchy::reclaimable(const candidate& reclaimer, std::span<const candidate> candidates,
                                                  std::vector<std::uint32_t>& victims) const {
  victims.clear();
  fair_hierarchy trial = *this;
  trial.allocate(reclaimer.job, reclaimer.request);
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    trial.release(candidates[i].job, candidates[i].request);
    if (trial.order(reclaimer.queue, candidates[i].queue) < 0) victims.push_back(static_cast<std::uint32_t>(i));
    trial.allocate(candidates[i].job, candidates[i].request);
  }
}

}  // namespace gangsched::inline GANGSCHED_ABI::queues::volcano
