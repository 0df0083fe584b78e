#include "gangsched/policies/yunikorn_books.hpp"

#include <algorithm>
#include <string_view>

#include "gangsched/core/is_among.hpp"
#include "gangsched/framework/disruption.hpp"
#include "gangsched/model/node_selector.hpp"

namespace gangsched::inline GANGSCHED_ABI {

GANGSCHED_INLINE void yunikorn_books::read(const cluster_view& cluster, const yunikorn_settings& settings) {
  if (whose_ && *whose_ == cluster && read_to_ == cluster.changes()) return;
  bool all = !whose_ || !(*whose_ == cluster) || read_to_ > cluster.changes();
  std::vector<row_t> pods;
  const auto look = [&](const change& one) {
    switch (one.kind) {
      case change_kind::pod_nominated:
      case change_kind::pod_gated:
      case change_kind::pod_bound:
      case change_kind::budget_changed:
      case change_kind::column_changed:
      case change_kind::namespace_changed: break;
      case change_kind::pod_added:
      case change_kind::pod_removed:
      case change_kind::pod_terminating:
      case change_kind::pod_assumed:
      case change_kind::pod_released: pods.push_back(one.row); break;
      case change_kind::
          group_added:  // if it was expected, those below it that are counted are of another application now
        if (const std::optional<group_view> group = cluster.group_at(one.row))
          group->each_pod_below([&](const pod_info& pod) { all = all || ask_of(pod) != queues::yunikorn::none; });
        break;
      case change_kind::queue_changed: all = all || one.more || one.row == no_row; break;
      default: all = true;
    }
  };
  if (!all && !cluster.each_change(read_to_, look)) all = true;
  whose_.reset();
  if (all) {
    make(cluster, settings);
  } else {
    std::sort(pods.begin(), pods.end());
    pods.erase(std::unique(pods.begin(), pods.end()), pods.end());
    for (const row_t pod : pods) sync(cluster, pod, settings);
  }
  whose_ = cluster;
  read_to_ = cluster.changes();
}

template <class Amount>
yunikorn_books::resources yunikorn_books::sum_of(const Amount& amount) const {
  resources made;
  for (std::size_t at = 0; at < kinds_.size(); ++at)
    if (const std::int64_t some = amount(kinds_.kinds()[at]); some != 0)
      made.set(static_cast<queues::yunikorn::resource_type>(at), some);
  return made;
}
GANGSCHED_INLINE yunikorn_books::resources yunikorn_books::listed(const std::vector<amount>& list) const {
  resources made;
  for (const amount& one : list)
    if (const std::size_t at = kinds_.find(one.kind); at != compared_resources::none)
      made.set(static_cast<queues::yunikorn::resource_type>(at), one.value);
  return made;
}
GANGSCHED_INLINE yunikorn_books::resources yunikorn_books::request_of(const pod_view& pod) const {
  return sum_of([&](resource_kind kind) { return kind == kinds::pods ? std::int64_t{1} : pod.request(kind); });
}
GANGSCHED_INLINE yunikorn_books::resources yunikorn_books::capacity_of(const node_info& node) const {
  return sum_of([&](resource_kind kind) { return node.allocatable(kind); });
}
GANGSCHED_INLINE yunikorn_books::resources yunikorn_books::free_of(const node_info& node) const {
  return sum_of([&](resource_kind kind) { return node.free(kind); });
}

/// Pods, cores and memory; those that quotas and limits name; then those of nodes, by name.
GANGSCHED_INLINE void yunikorn_books::name_kinds(const cluster_view& cluster, const std::vector<queue_view>& all,
                                                 const yunikorn_settings& settings) {
  kinds_.clear(cluster.kind_count());
  const auto add = [&](resource_kind kind) {
    if (kind == kinds::scored_cpu || kind == kinds::scored_memory) return;
    if (kinds_.size() < queues::yunikorn::max_types) kinds_.add(kind);
  };
  for (const resource_kind kind : {kinds::pods, kinds::cpu, kinds::memory}) add(kind);
  each_quota_kind(all, add);
  for (const yunikorn_settings::limits_of& one : settings.limits)
    for (const auto& [name, most] : one.max)
      if (const auto kind = cluster.find_kind(name)) add(*kind);
  for (const resource_kind kind : kinds_of_nodes(cluster)) add(kind);
}

GANGSCHED_INLINE void yunikorn_books::make(const cluster_view& cluster, const yunikorn_settings& settings) {
  namespace yunikorn = queues::yunikorn;
  const std::vector<queue_view> all = list_.read(cluster);
  name_kinds(cluster, all, settings);
  static constexpr std::string_view top = "<root>";
  std::vector<queues::queue_link> links{{top}};
  std::vector<yunikorn::queue_settings> terms(all.size() + 1);
  terms[0].priority_first = settings.priority_first;
  cluster.each_node([&](const node_info& node) { terms[0].max += capacity_of(node); });
  for (std::size_t at = 0; at < all.size(); ++at) {
    const queue_view& queue = all[at];
    const auto above = queue.parent();
    links.push_back({queue.name(), above ? above->name() : top});
    yunikorn::queue_settings& its = terms[at + 1];
    if (const queue_amounts* const quota = queue.quota()) {
      its.guaranteed = listed(quota->guaranteed);
      its.max = listed(quota->limit);
    }
    const queue_spec& spec = queue.spec();
    if (spec.max_running)
      its.max_applications = static_cast<std::uint32_t>(std::clamp<std::int64_t>(*spec.max_running, 0, 0x7fffffff));
    its.order = settings.order;
    its.priority_first = settings.priority_first;
    its.priority_offset = spec.priority;
    if (is_among(spec.name, settings.priority_fences)) its.priority = yunikorn::priority_policy::fence;
    if (is_among(spec.name, settings.preemption_fences)) its.preemption = yunikorn::preemption_policy::fence;
    if (!spec.lends_running) its.preemption = yunikorn::preemption_policy::disabled;
    for (const auto& [name, delay] : settings.quota_preemption)
      if (name == spec.name) its.quota_preemption_delay = delay;
    for (const yunikorn_settings::limits_of& one : settings.limits) {
      if (one.queue != spec.name) continue;
      yunikorn::user_limit made{.max_applications = one.max_applications};
      if (!one.user.empty()) made.users.push_back(one.user);
      if (!one.group.empty()) made.groups.push_back(one.group);
      for (const auto& [name, most] : one.max) {
        const auto kind = cluster.find_kind(name);
        const std::size_t place = kind ? kinds_.find(*kind) : compared_resources::none;
        if (place != compared_resources::none) made.max.set(static_cast<yunikorn::resource_type>(place), most);
      }
      its.limits.push_back(std::move(made));
    }
  }
  // The model has no queue twice, nor one below itself, and no amount below 0.
  queues_ = partition::make(queues::queue_tree::make(links).value(), std::move(terms)).value();
  applications_.clear();
  entries_.assign(cluster.pod_rows(), {});
  pods_.clear();
  std::vector<pod_info> pods;
  cluster.each_pod([&](const pod_info& pod) { pods.push_back(pod); });
  std::sort(pods.begin(), pods.end(), [](const pod_info& a, const pod_info& b) { return a.arrival() < b.arrival(); });
  for (const pod_info& pod : pods) add(pod, settings);
}

/// @return pods of its application to be added anew: an application without any allocation has not begun, whatever it had once, so that
/// the books do not depend on how they came about.
GANGSCHED_INLINE std::vector<pod_id> yunikorn_books::drop(row_t pod) {
  std::vector<pod_id> again;
  const entry its = entries_[pod];
  if (its.ask == queues::yunikorn::none) return again;
  const auto application = applications_.find(its.key);
  const queues::yunikorn::application_index which = application->second;
  const bool ran = queues_->of_ask(its.ask).node != queues::yunikorn::none;
  (ran ? queues_->release(its.ask) : queues_->remove_ask(its.ask)).value();
  entries_[pod] = {};
  const queues::yunikorn::application& of = queues_->of(which);
  if (!of.allocations.empty() || (!ran && !of.pending.empty())) return again;
  for (const queues::yunikorn::ask_index one : std::vector(of.pending)) {
    again.push_back(pods_[one]);
    entries_[pods_[one].row] = {};
    queues_->remove_ask(one).value();
  }
  queues_->remove_application(which).value();
  applications_.erase(application);
  return again;
}

GANGSCHED_INLINE void yunikorn_books::add(const pod_info& pod, const yunikorn_settings& settings) {
  const queues::queue_index leaf = find(pod.queue());
  if (leaf == queues::no_queue || pod.terminating()) return;
  if (pod.row() >= entries_.size()) entries_.resize(pod.row() + 1);
  const auto group = pod.group();
  // Members of a tree may be in several queues; each part is an application.
  application_key key{group ? group->root().row() : no_row, group ? static_cast<row_t>(leaf) : pod.row()};
  const auto [found, made] = applications_.try_emplace(key);
  if (made) {
    const auto arrival = static_cast<std::int64_t>(group ? group->root().arrival() : pod.arrival());
    queues::yunikorn::application_spec spec{.queue = leaf, .submitted = arrival};
    spec.user = std::string{pod.label(settings.user_label).value_or("")};
    if (const auto in = pod.label(settings.group_label)) spec.groups.emplace_back(*in);
    found->second = queues_->add_application(std::move(spec)).value();
  }
  queues::yunikorn::ask_spec spec{.application = found->second, .request = request_of(pod), .priority = pod.priority()};
  spec.created = instant{static_cast<std::int64_t>(pod.arrival())};
  spec.may_preempt = pod.spec().preemption != preemption_policy::never;
  spec.opted_out = pod.label(settings.allow_label) == "false";
  spec.originator = made && group.has_value();
  spec.on_required_node = required_node(pod.spec()).has_value();
  spec.stays = disrupted_with(pod).has_value();  // it does not go alone
  entry& its = entries_[pod.row()];
  its = {queues_->add_ask(spec).value(), pod.id(), key};
  if (its.ask >= pods_.size()) pods_.resize(its.ask + 1);
  pods_[its.ask] = pod.id();
  if (const auto node = pod.node()) queues_->allocate(its.ask, node->id().row).value();
}

GANGSCHED_INLINE void yunikorn_books::sync(const cluster_view& cluster, row_t row, const yunikorn_settings& settings) {
  std::vector<pod_id> again;
  if (row < entries_.size()) again = drop(row);
  for (const pod_id one : again)  // of a pod that is gone the change is still to be read
    if (const auto pod = cluster.pod(one)) add(*pod, settings);
  if (const auto pod = cluster.pod_at(row)) add(*pod, settings);
}

GANGSCHED_INLINE queues::yunikorn::application_index yunikorn_books::application_of(const pod_info& pod) const {
  const queues::yunikorn::ask_index ask = ask_of(pod);
  return ask == queues::yunikorn::none ? queues::yunikorn::none : queues_->of_ask(ask).spec.application;
}

}  // namespace gangsched::inline GANGSCHED_ABI
