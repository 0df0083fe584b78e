#include "gangsched/policies/hived_books.hpp"

#include <algorithm>
#include <charconv>
#include <set>
#include <utility>

#include "gangsched/core/is_among.hpp"
#include "gangsched/core/saturating_add.hpp"
#include "gangsched/framework/device_views.hpp"
#include "gangsched/framework/disruption.hpp"

namespace gangsched::inline GANGSCHED_ABI {
namespace detail {

/// HiveD's priority: below 0 it is opportunistic.
inline std::int32_t hived_priority(std::int32_t of) noexcept {
  return std::clamp(of, queues::hived::opportunistic, queues::hived::highest_priority);
}
inline std::uint32_t hived_unit(const std::string& name) {
  std::uint32_t made = 0;
  std::from_chars(name.data(), name.data() + name.size(), made);
  return made;
}
/// Takes the first place for so many devices on the node out of @p left.
inline bool take_place(std::vector<hived_books::place>& left, const hived_books::place& one) {
  const auto found = std::find(left.begin(), left.end(), one);
  if (found == left.end()) return false;
  left.erase(found);
  return true;
}

}  // namespace detail

GANGSCHED_INLINE bool hived_books::plan::is_of(pod_id pod) const noexcept {
  return std::any_of(whose.pods.begin(), whose.pods.end(), [&](const member& one) { return one.pod == pod; });
}

// --- what is asked

GANGSCHED_INLINE std::uint32_t hived_books::devices_of(const pod_info& pod) const {
  constexpr std::int64_t most = 1 << 20;  // more than any cell has
  const std::int64_t counted = pod.request(options_.gpu);
  std::int64_t wanted = counted;
  for (const device_demand& either : pod.spec().devices) {
    const device_demand& one = either.first_of.empty() ? either : either.first_of.front();
    // Whole ones are as many as containers request by number, if they do.
    if (one.wants_gpu() && (counted == 0 || one.kind != device_demand::form::whole))
      wanted = saturating_add(wanted, std::int64_t{one.count});
  }
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(wanted, 0, most));
}

GANGSCHED_INLINE std::optional<std::string> hived_books::cluster_of(const queue_view& queue) const {
  const auto& clusters = cells_->layout().clusters();
  std::optional<std::string> found;
  queue.each_up([&](const queue_view& one) {
    const auto cluster = cells_->layout().find_cluster(one.name());
    if (!cluster) return true;
    const bool has_cells = !clusters[*cluster].views.empty();
    if (!found || has_cells) found = std::string{one.name()};
    return !has_cells;
  });
  return found;
}

GANGSCHED_INLINE queues::hived::group_request hived_books::request_of(const demand& whose, std::string name,
                                                                      bool lazy) {
  queues::hived::group_request made{.name = std::move(name), .cluster = whose.cluster, .priority = whose.priority};
  made.device_type = whose.device_type;
  made.pin = whose.pin;
  made.lazy_preemption = lazy;
  for (const member& one : whose.pods) {
    if (made.members.empty() || made.members.back().devices != one.devices) made.members.push_back({0, one.devices});
    ++made.members.back().pods;
  }
  return made;
}

GANGSCHED_INLINE std::vector<hived_books::place> hived_books::places_of(
    const queues::hived::decision& made, const queues::hived::group_request& request) const {
  std::vector<place> places;
  for (const queues::hived::pod_place& one : made.pods) {
    const auto node = node_ids_.find(one.node);
    places.push_back({node == node_ids_.end() ? node_id{} : node->second, request.members[one.member].devices});
  }
  return places;
}

GANGSCHED_INLINE hived_books::plan hived_books::decide(demand whose, std::optional<std::vector<std::string>> nodes) {
  plan out;
  std::stable_sort(whose.pods.begin(), whose.pods.end(),
                   [](const member& a, const member& b) { return a.devices < b.devices; });
  out.whose = std::move(whose);
  out.nodes = std::move(nodes);
  std::vector<std::uint32_t> sizes;
  for (const member& one : out.whose.pods) sizes.push_back(one.devices);
  std::tuple key{out.whose.cluster, out.whose.priority, out.whose.device_type, out.whose.pin, std::move(sizes)};
  if (!out.nodes) {
    if (const auto known = refused_.find(key); known != refused_.end()) return out.made = known->second, out;
  }
  queues::hived::group_request request = request_of(out.whose, std::to_string(next_), options_.lazy_preemption);
  request.nodes = out.nodes;
  if (auto said = cells_->look(request)) {
    out.made = *std::move(said);
    if (!out.waits())
      out.places = places_of(out.made, request);
    else if (!out.nodes)
      refused_.emplace(std::move(key), out.made);
  } else {
    out.why = said.error().code == errc::out_of_range ? "no cell of its virtual cluster could hold one of its pods"
                                                      : "its virtual cluster has no cells";
  }
  return out;
}

GANGSCHED_INLINE std::optional<hived_books::plan> hived_books::promised_to(const demand& whose) const {
  for (const member& one : whose.pods) {
    const auto found = unit_of_.find(one.pod);
    if (found == unit_of_.end()) continue;
    const unit& its = units_.at(found->second);
    if (!its.promised) continue;
    plan made;
    made.whose = its.whose;
    made.unit = found->second;
    made.made.state = queues::hived::group_state::allocated;
    std::set<std::string> victims;
    for (const unit::part& part : its.parts) {
      made.places.push_back({part.node, part.devices});
      for (const std::int32_t number : part.numbers) {
        const std::string_view user = cells_->user(device(part.node_name, number));
        if (!user.empty() && user != std::to_string(found->second)) victims.emplace(user);
      }
    }
    made.made.victims.assign(victims.begin(), victims.end());
    if (!victims.empty()) made.made.state = queues::hived::group_state::preempting;
    return made;
  }
  return std::nullopt;
}

GANGSCHED_INLINE std::vector<const hived_books::unit*> hived_books::in_the_way(const plan& of) const {
  std::vector<const unit*> all;
  for (const auto* const names : {&of.made.victims, &of.made.cancelled})
    for (const std::string& name : *names)
      if (const auto found = units_.find(detail::hived_unit(name)); found != units_.end())
        all.push_back(&found->second);
  return all;
}

// --- what is kept

GANGSCHED_INLINE void hived_books::read(const cluster_view& cluster, std::optional<plan>& last) {
  if (!whose_ || !(*whose_ == cluster) || read_to_ > cluster.changes()) {
    units_.clear(), unit_of_.clear(), on_node_.clear();
    from_ = {}, cells_.reset();
    last.reset();
  } else if (read_to_ == cluster.changes()) {
    return;
  }
  bool all = !cells_, nodes = all, terms = all;
  std::set<row_t> rows;
  const auto note = [&](const change& one) {
    nodes = nodes || one.kind == change_kind::node_added || one.kind == change_kind::node_removed ||
            one.kind == change_kind::node_updated || (one.kind == change_kind::queue_changed && one.more);
    terms = terms || (one.kind == change_kind::group_updated && one.more) || one.kind == change_kind::pod_updated ||
            (one.kind == change_kind::queue_changed && one.more);
    if (one.about_pod() && one.node() != no_row) rows.insert(one.node());
  };
  if (!all && !cluster.each_change(read_to_, note)) all = nodes = terms = true;
  whose_.reset();  // if what follows throws, all is made anew the next time
  refused_.clear();
  if (last && cells_) keep(cluster, *last);
  last.reset();
  if (nodes && lay_out(cluster)) all = true;  // pods that had no cells may have some now
  if (terms) drop_changed(cluster);
  if (all) {
    std::vector<std::uint32_t> numbers;
    for (const auto& [number, one] : units_) numbers.push_back(number);
    for (const std::uint32_t number : numbers) drop_gone(cluster, number);
    for (const std::uint32_t number : numbers) drop_short(number);
    cluster.each_node([&](const node_info& node) { look_at(node); });
  } else {
    for (const row_t row : rows) {
      if (const auto there = on_node_.find(row); there != on_node_.end()) {
        const std::vector<std::uint32_t> numbers = there->second;
        for (const std::uint32_t number : numbers) drop_gone(cluster, number);
        for (const std::uint32_t number : numbers) drop_short(number);
        std::erase_if(there->second, [&](std::uint32_t number) {
          const auto its = units_.find(number);
          return its == units_.end() || std::none_of(its->second.parts.begin(), its->second.parts.end(),
                                                     [&](const unit::part& part) { return part.node.row == row; });
        });
        if (there->second.empty()) on_node_.erase(there);
      }
      if (const auto node = cluster.node_at(row)) look_at(*node);
    }
  }
  settle_promised(cluster);
  adopt_found(cluster);
  whose_ = cluster;
  read_to_ = cluster.changes();
}

/// Matches pods with places. False if a pod is not where it was decided.
GANGSCHED_INLINE bool hived_books::take_places(const cluster_view& cluster, const plan& made,
                                               std::vector<unit::part>& parts) const {
  std::vector<place> left = made.places;
  bool any_there = false, any_meant = false;
  for (const member& one : made.whose.pods) {
    const auto pod = cluster.pod(one.pod);
    if (!pod) continue;
    const bool there = pod->node().has_value();
    const auto node = there ? pod->node() : pod->nominated_node();
    if (!node) continue;
    if (!detail::take_place(left, {node->id(), one.devices})) return false;
    (there ? any_there : any_meant) = true;
    parts.push_back({one.pod, one.devices, node->id(), std::string{node->name()}});
  }
  if (any_there) {
    std::erase_if(parts, [&](const unit::part& part) { return !cluster.pod(part.pod)->node(); });
    return true;
  }
  return any_meant && parts.size() == made.whose.pods.size();
}

GANGSCHED_INLINE void hived_books::add(std::uint32_t number, unit one) {
  one.first = std::none_of(units_.begin(), units_.end(), [&](const auto& other) {
    return one.whose.tree && other.second.whose.tree == one.whose.tree;
  });
  for (const unit::part& part : one.parts) {
    unit_of_[part.pod] = number;
    std::vector<std::uint32_t>& there = on_node_[part.node.row];
    if (!is_among(number, there)) there.push_back(number);
  }
  units_.emplace(number, std::move(one));
}

/// Does what was decided, if it came to be.
GANGSCHED_INLINE void hived_books::keep(const cluster_view& cluster, const plan& made) {
  if (made.unit || made.waits() || made.why != nullptr) return;
  unit one{.whose = made.whose};
  if (!take_places(cluster, made, one.parts)) return;
  one.promised = !cluster.pod(one.parts.front().pod)->node().has_value();
  if (!one.promised && !made.may_go()) return;
  const std::uint32_t number = next_++;
  queues::hived::group_request request = request_of(made.whose, std::to_string(number), options_.lazy_preemption);
  request.nodes = made.nodes;
  const auto done = cells_->place(request);
  if (!done || done->state != made.made.state || places_of(*done, request) != made.places) {
    if (done && done->state != queues::hived::group_state::waiting) cells_->remove(request.name).value();
    return;
  }
  for (const std::string& name : done->cancelled) erase(detail::hived_unit(name));
  // Which of the places are whose; those of pods that did not come are given back.
  for (std::size_t i = 0; i < done->pods.size(); ++i) {
    const auto its = std::find_if(one.parts.begin(), one.parts.end(), [&](const unit::part& part) {
      return part.numbers.empty() && part.devices == made.places[i].devices && part.node == made.places[i].node;
    });
    if (its != one.parts.end())
      its->numbers = done->pods[i].devices;
    else
      cells_->shrink(request.name, done->pods[i].node, done->pods[i].devices).value();
  }
  one.root_type = root_type_of(one);
  add(number, std::move(one));
}

GANGSCHED_INLINE hived_books::cell_index hived_books::device(const std::string& node, std::int32_t number) const {
  const auto at = cells_->layout().find_node(node);
  if (!at) return none;
  for (const cell_index one : cells_->layout().devices_of(*at))
    if (cells_->layout().number_of(one) == number) return one;
  return none;
}

GANGSCHED_INLINE std::string hived_books::root_type_of(const unit& of) const {
  for (const unit::part& part : of.parts)
    for (const std::int32_t number : part.numbers) {
      const cell_index at = device(part.node_name, number);
      const cell_index as = at == none ? none : cells_->cells().physical().bound(at);
      if (as == none) continue;
      const auto& root = cells_->layout().virtual_at(cells_->layout().virtual_at(as).root);
      return cells_->layout().level(root.chain, root.level).type;
    }
  return {};
}

GANGSCHED_INLINE void hived_books::erase(std::uint32_t number) {
  const auto found = units_.find(number);
  if (found == units_.end()) return;
  for (const unit::part& part : found->second.parts)
    if (const auto its = unit_of_.find(part.pod); its != unit_of_.end() && its->second == number) unit_of_.erase(its);
  units_.erase(found);
}

GANGSCHED_INLINE void hived_books::forget(std::uint32_t number) {
  static_cast<void>(cells_->remove(std::to_string(number)));  // it may have been cancelled
  erase(number);
  refused_.clear();
}

/// Pods of the unit that have no node any more, or another one, give back what they had.
GANGSCHED_INLINE void hived_books::drop_gone(const cluster_view& cluster, std::uint32_t number) {
  const auto found = units_.find(number);
  if (found == units_.end() || found->second.promised) return;
  std::vector<unit::part>& parts = found->second.parts;
  const auto is_there = [&](const unit::part& part) {
    const auto pod = cluster.pod(part.pod);
    return pod && pod->node() && pod->node()->id() == part.node;
  };
  if (std::none_of(parts.begin(), parts.end(), is_there)) return forget(number);
  for (std::size_t i = parts.size(); i-- > 0;) {
    if (is_there(parts[i])) continue;
    cells_->shrink(std::to_string(number), parts[i].node_name, parts[i].numbers).value();
    unit_of_.erase(parts[i].pod);
    parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

/// A unit that was promised cells has them, waits for them, or does not any more: also if one of its nodes turned bad.
GANGSCHED_INLINE void hived_books::settle_promised(const cluster_view& cluster) {
  std::vector<std::uint32_t> promised;
  for (const auto& [number, one] : units_)
    if (one.promised) promised.push_back(number);
  for (const std::uint32_t number : promised) {
    unit& one = units_.at(number);
    const std::string name = std::to_string(number);
    plan of{.whose = one.whose};
    for (const unit::part& part : one.parts) of.places.push_back({part.node, part.devices});
    std::vector<unit::part> parts;
    const bool fits = take_places(cluster, of, parts);
    const bool runs = fits && cluster.pod(parts.front().pod)->node();
    if (!fits || (!runs && std::any_of(parts.begin(), parts.end(), [&](const auto& part) { return is_bad(part); }))) {
      forget(number);
      continue;
    }
    if (!runs) continue;
    const auto state = cells_->group(name);
    if (state && state->state == queues::hived::group_state::preempting) {
      const auto started = cells_->start(name);
      if (!started || *started != queues::hived::start_outcome::started) {
        forget(number);  // its cells are in use, or bad
        continue;
      }
    }
    if (!state) {
      erase(number);
      continue;
    }
    one.promised = false;
    for (const unit::part& part : one.parts) unit_of_.erase(part.pod);
    // Its pods may have changed places with each other.
    for (const unit::part& had : one.parts) {
      const auto its = std::find_if(parts.begin(), parts.end(), [&](const unit::part& part) {
        return part.numbers.empty() && part.node == had.node && part.devices == had.devices;
      });
      if (its != parts.end())
        its->numbers = had.numbers;
      else
        cells_->shrink(name, had.node_name, had.numbers).value();
    }
    one.parts = std::move(parts);
    for (const unit::part& part : one.parts) unit_of_[part.pod] = number;
  }
  std::erase_if(found_, [&](pod_id pod) { return unit_of_.contains(pod); });
}

GANGSCHED_INLINE hived_books::demand hived_books::demand_of(const pod_info& pod) const {
  demand made;
  const auto group = pod.group();
  if (group) made.tree = group->root().id();
  const auto queue = pod.queue();
  const auto cluster = queue ? cluster_of(*queue) : std::nullopt;
  made.priority = queues::hived::opportunistic;
  if (!cluster) return made;
  made.cluster = *cluster;
  made.pin = pod.label(options_.pin_label).value_or("");
  made.device_type = pod.label(options_.type_label).value_or("");
  made.priority = detail::hived_priority(group ? tree_priority(*group) : pod.priority());
  return made;
}

// --- cells

/// Whether all cells were made anew.
GANGSCHED_INLINE bool hived_books::lay_out(const cluster_view& cluster) {
  node_ids_.clear();
  cluster.each_node([&](const node_info& node) { node_ids_.emplace(node.name(), node.id()); });
  configuration now = options_.cells ? *options_.cells : cells_of_nodes(cluster, options_.gpu);
  const bool anew = !cells_ || !(now == from_);
  if (anew) {
    from_ = std::move(now);
    std::vector<std::uint32_t> order;
    std::vector<std::uint32_t> promised;
    for (auto& [number, one] : units_) {
      (one.promised ? promised : order).push_back(number);
      const auto was = cells_->group(std::to_string(number));
      if (was && !was->guaranteed && !one.root_type.empty()) one.whose.priority = queues::hived::opportunistic;
    }
    for (const std::uint32_t number : promised) erase(number);
    std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
      return units_.at(a).whose.priority > units_.at(b).whose.priority;
    });
    cells_ =
        queues::hived::cell_scheduler::make(from_).value();  // given cells were checked, the others fit by themselves
    bad_.assign(cells_->layout().nodes().size(), 0);
    for (const std::uint32_t number : order) adopt(number);
  }
  mark_bad(cluster);
  return anew;
}

/// Nodes that are not there, or take no pods.
GANGSCHED_INLINE void hived_books::mark_bad(const cluster_view& cluster) {
  for (std::size_t i = 0; i < bad_.size(); ++i) {
    const std::string& name = cells_->layout().nodes()[i];
    const auto id = node_ids_.find(name);
    const auto node = id == node_ids_.end() ? std::nullopt : cluster.node(id->second);
    const char bad = !node || node->unschedulable() ? 1 : 0;
    if (bad == bad_[i]) continue;
    cells_->set_bad(name, bad != 0).value();
    bad_[i] = bad;
  }
}

}  // namespace gangsched::inline GANGSCHED_ABI
