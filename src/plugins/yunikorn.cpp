#include "gangsched/plugins/yunikorn.hpp"

#include <algorithm>
#include <chrono>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gangsched/framework/argument_reader.hpp"
#include "gangsched/framework/disruption.hpp"
#include "gangsched/model/inside.hpp"
#include "gangsched/model/node_selector.hpp"
#include "gangsched/policies/group_need.hpp"
#include "gangsched/policies/node_victims.hpp"
#include "gangsched/queues/yunikorn/preemption.hpp"
#include "gangsched/queues/yunikorn/required_node.hpp"

namespace gangsched::inline GANGSCHED_ABI {
namespace detail {

inline constexpr const char* why_yunikorn_evicts = "its queue has more than it is guaranteed, and another one less";
inline constexpr const char* no_yunikorn_victims =
    "nobody goes for it: its queue has its guarantee, or others have no more";
inline constexpr const char* why_required_node_evicts = "a pod that has to be on its node has no room there";
inline constexpr const char* no_required_node_victims = "nobody goes for it on the node that it has to be on";

inline bool is_below(const pod_info& pod, const queue_view& queue) {
  const auto its = pod.queue();
  return its && !its->each_up([&](const queue_view& up) { return !(up == queue); });
}

}  // namespace detail

GANGSCHED_INLINE const yunikorn_books& yunikorn_policy::read(const cluster_view& cluster) const {
  books_->read(cluster, options_);
  return *books_;
}

GANGSCHED_INLINE std::int64_t yunikorn_policy::queue_of(const pod_info& pod) const {
  const auto queue = pod.queue();
  if (!queue) return -1;
  const auto group = pod.group();
  if (options_.order == queues::yunikorn::application_order::fair && group && is_on_nodes(group->root()))
    return (std::int64_t{1} << 40) + group->root().row();
  return queue->row();
}

GANGSCHED_INLINE bool yunikorn_policy::queue_before(const queue_head& a, const queue_head& b,
                                                    const cluster_view& cluster) const {
  const yunikorn_books& books = read(cluster);
  const auto pod_a = cluster.pod(a.pod), pod_b = cluster.pod(b.pod);
  const auto leaf_of = [&](const auto& pod) { return pod ? books.find(pod->queue()) : queues::no_queue; };
  const queues::queue_index left = leaf_of(pod_a), right = leaf_of(pod_b);
  if (left == queues::no_queue || right == queues::no_queue)
    return left == queues::no_queue && right != queues::no_queue;
  if (left != right) return books.queues().goes_first(left, right);
  const auto one = books.application_of(*pod_a), two = books.application_of(*pod_b);
  if (one == two || one == queues::yunikorn::none || two == queues::yunikorn::none) return less(a, b);
  return books.queues().application_before(one, two);
}

GANGSCHED_INLINE status yunikorn_policy::admit(const pod_info& pod, const cluster_view& cluster) const {
  const auto queue = pod.queue();
  if (!queue) return status::success();
  if (!queue->admits()) return status::pending(queue_admits_nobody);
  if (queue->has_children()) return status::unschedulable("pods run in queues without children");
  const yunikorn_books& books = read(cluster);
  const queues::yunikorn::application_index its = books.application_of(pod);
  if (its == queues::yunikorn::none || books.queues().may_run(its)) return status::success();
  return status::pending("its queue, or its user or group, runs as many applications as it may");
}

GANGSCHED_INLINE status yunikorn_policy::admit(const group_view& group, const cluster_view& cluster) const {
  status said = status::success();
  group.each_pod_below([&](const pod_info& pod) {  // members may name queues of their own
    if (said.ok() && pod.state() == pod_state::pending && !pod.terminating()) said = admit(pod, cluster);
  });
  return said;
}

GANGSCHED_INLINE void yunikorn_policy::finish_filter(const pod_info& pod, const cluster_view& cluster,
                                                     std::span<filtered_group> groups) const {
  const auto queue = pod.queue();
  if (!queue) return;
  const auto refuse = [&](const status& why) { refuse_all(groups, why); };
  const yunikorn_books& books = read(cluster);
  const queues::yunikorn::ask_index ask = books.ask_of(pod);
  if (ask == queues::yunikorn::none || !queue->admits()) return refuse(status::unresolvable(queue_has_no_pods));
  std::vector<pod_info> promised;  // what victims released for these is kept for them, as is their room on nodes
  cluster.each_nominated([&](const pod_info& other) {
    if (!other.node() && keeps_its_quota(other, pod)) promised.push_back(other);
  });
  const auto amount_of = [](const pod_info& one, resource_kind kind) {
    return kind == kinds::pods ? 1 : one.request(kind);
  };
  const bool within = queue->each_up([&](const queue_view& one) {
    const queue_amounts* const quota = one.quota();
    if (quota == nullptr) return true;
    const auto kept = [&](resource_kind kind) {  // in sum no more than the queue's pods request: it fits into 64 bits
      std::int64_t sum = 0;
      for (const pod_info& other : promised)
        if (detail::is_below(other, one)) sum += amount_of(other, kind);
      return sum;
    };
    return std::ranges::all_of(quota->limit, [&](const amount& limit) {
      const std::int64_t asked = amount_of(pod, limit.kind);
      return asked == 0 || one.used(limit.kind) + asked <= limit.value - kept(limit.kind);
    });
  });
  if (!within) return refuse(status::unschedulable("over the maximum of a queue that it is in"));
  if (options_.limits.empty()) return;
  // What its application has beside what was there before the trial.
  queues::yunikorn::resources room = books.queues().user_room(books.queues().of_ask(ask).spec.application);
  if (const auto group = pod.group())
    group->root().each_pod_below([&](const pod_info& member) {
      const queues::yunikorn::ask_index its = books.ask_of(member);
      if (its == queues::yunikorn::none || its == ask || !member.node()) return;
      if (books.queues().of_ask(its).node == queues::yunikorn::none)
        room = minus_where_set(room, books.queues().of_ask(its).spec.request);
    });
  if (!fits_limit(room, books.queues().of_ask(ask).spec.request))
    refuse(status::unschedulable("over a limit of its user or group"));
}

/// Finds victims for asks, on nodes as the trial has them.
struct yunikorn_policy::search {
  const yunikorn_books& books;
  trial& attempt;
  std::optional<queues::yunikorn::partition> changed = {};  ///< the queues, once a pod was placed or evicted
  queues::yunikorn::preemptor finder{};
  std::vector<pod_id> victims = {};
  std::vector<assignment> placed = {};
  const char* reason = detail::why_yunikorn_evicts;

  /// Takes leaving pods off their nodes.
  search(const yunikorn_books& b, trial& in) : books{b}, attempt{in} {
    std::vector<pod_id> leaving;
    attempt.cluster().each_node([&](const node_info& node) {
      node.each_pod([&](const pod_info& pod) {
        if (pod.terminating()) leaving.push_back(pod.id());
      });
    });
    for (const pod_id pod : leaving) attempt.remove(pod);
  }

  [[nodiscard]] const queues::yunikorn::partition& now() const { return changed ? *changed : books.queues(); }
  [[nodiscard]] queues::yunikorn::partition& to_change() {
    return changed ? *changed : changed.emplace(books.queues());
  }
  /// A member that held its node in the permit room has none in the trial: its ask waits like those of the others.
  void ask_again(const pod_info& pod) {
    const queues::yunikorn::ask_index ask = books.ask_of(pod);
    if (now().runs(ask)) to_change().take_back(ask).value();
  }
  bool put(const pod_info& pod, node_id node) {
    if (!attempt.filter(pod.id(), node).ok() || !attempt.put(pod.id(), node)) return false;
    to_change().allocate(books.ask_of(pod), node.row).value();
    placed.push_back({pod.id(), node});
    return true;
  }
  bool find_room(const pod_info& pod, const std::vector<node_id>& nodes) {
    return std::ranges::any_of(nodes, [&](node_id node) { return put(pod, node); });
  }
  /// If filters refuse the node even with the victims gone, that node is left out and another is looked for.
  bool evict(const pod_info& pod, const std::vector<node_id>& nodes) {
    const queues::yunikorn::ask_index ask = books.ask_of(pod);
    const queues::yunikorn::ask_spec& spec = now().of_ask(ask).spec;
    if (!fits_limit(now().user_room(spec.application), spec.request)) return false;
    const bool within = fits_limit(now().headroom(now().of(spec.application).spec.queue), spec.request);
    if (spec.on_required_node) return within && evict_there(pod, nodes);
    if (!spec.may_preempt) return false;
    // Without nodes: fails early if the queue would not be within its guarantee even with all victims gone.
    if (finder.find(now(), ask, {}, within).refusal == queues::yunikorn::preemption_refusal::guarantees) return false;
    std::vector<queues::yunikorn::node_amounts> all;
    for (const node_id id : nodes) {
      const node_info node = *attempt.cluster().node(id);
      all.push_back({id.row, books.capacity_of(node), books.free_of(node)});
      all.back().usable = attempt.filter(pod.id(), id).code == code::unschedulable;
    }
    for (std::size_t tries = 0; tries < all.size(); ++tries) {
      const queues::yunikorn::preemption_plan plan = finder.find(now(), ask, all, within);
      if (!plan || plan.victims.empty()) return false;
      const auto at = std::ranges::find(all, plan.node, &queues::yunikorn::node_amounts::node);
      if (put_instead(pod, nodes[static_cast<std::size_t>(at - all.begin())], plan.victims)) return true;
      at->usable = false;
    }
    return false;
  }
  /// Looks on the one node that the pod must be on, if it is among @p nodes.
  bool evict_there(const pod_info& pod, const std::vector<node_id>& nodes) {
    const std::optional<symbol> required = required_node(pod.spec());
    const auto at =
        std::ranges::find_if(nodes, [&](node_id id) { return attempt.cluster().node(id)->name_symbol() == *required; });
    if (at == nodes.end() || attempt.filter(pod.id(), *at).code != code::unschedulable) return false;
    const node_info node = *attempt.cluster().node(*at);
    std::vector<queues::yunikorn::ask_index> there;
    node.each_pod([&](const pod_info& other) {
      const queues::yunikorn::ask_index its = books.ask_of(other);
      // No pod of its own gang, and none that this search has put there.
      if (its != queues::yunikorn::none && books.queues().runs(its) && now().runs(its) &&
          books.application_of(other) != books.application_of(pod))
        there.push_back(its);
    });
    const auto going = required_node_victims(now(), books.ask_of(pod), there, books.free_of(node));
    if (going.empty() || !put_instead(pod, *at, going)) return false;
    reason = detail::why_required_node_evicts;
    return true;
  }
  /// Evicts @p going and puts the pod there, if filters then let it in; else undoes it.
  bool put_instead(const pod_info& pod, node_id node, const std::vector<queues::yunikorn::ask_index>& going) {
    for (const queues::yunikorn::ask_index one : going) attempt.remove(books.pod_of(one));
    if (!attempt.filter(pod.id(), node).ok()) {
      for (const queues::yunikorn::ask_index one : going) attempt.restore(books.pod_of(one));
      return false;
    }
    for (const queues::yunikorn::ask_index one : going) {
      victims.push_back(books.pod_of(one));
      to_change().release(one).value();
    }
    return put(pod, node);
  }
  [[nodiscard]] std::vector<node_id> all_nodes() const {
    std::vector<node_id> made;
    attempt.cluster().each_node([&](const node_info& node) { made.push_back(node.id()); });
    return made;
  }
  void settle(victim_plan& plan) {
    plan.verdict = status::success();
    plan.nominated = placed.front().node;
    plan.victims = std::move(victims);
    plan.reason = reason;
  }
};

GANGSCHED_INLINE victim_plan yunikorn_policy::post_filter(trial& attempt, const pod_info& pod) const {
  victim_plan plan;
  const auto queue = pod.queue();
  if (!queue) return plan;
  plan.verdict = status::unresolvable(detail::no_yunikorn_victims);
  const yunikorn_books& books = read(attempt.cluster());
  if (books.ask_of(pod) == queues::yunikorn::none || queue->spec().reclaim == queue_reclaim::never) return plan;
  if (books.queues().of_ask(books.ask_of(pod)).spec.on_required_node)
    plan.verdict = status::unresolvable(detail::no_required_node_victims);
  if (waits_for_leaving(attempt, pod, [](const pod_info& other) { return other.preempted(); })) {
    plan.keep_nomination = true;
    return plan;
  }
  search one{books, attempt};
  const std::vector<node_id> nodes = one.all_nodes();
  if (one.find_room(pod, nodes) || one.evict(pod, nodes)) one.settle(plan);
  return plan;
}

GANGSCHED_INLINE victim_plan yunikorn_policy::group_preempt(trial& attempt, const group_view& group) const {
  victim_plan plan;
  const auto queue = group.queue();
  if (!queue) return plan;
  plan.verdict = status::unresolvable(detail::no_yunikorn_victims);
  const yunikorn_books& books = read(attempt.cluster());
  bool may = queue->spec().reclaim != queue_reclaim::never, waits = false;
  struct part {
    std::uint32_t lacks;
    std::vector<pod_info> pending;
  };
  std::vector<part> parts;
  const auto look = [&](const group_view& one, const auto& self) -> void {
    const std::uint32_t has = one.assumed() + one.bound(), least = one.spec().composite ? 0 : one.min_count();
    part& its = parts.emplace_back(part{least > has ? least - has : has == 0 && !one.spec().composite ? 1 : 0, {}});
    one.each_member([&](const pod_info& pod) {
      if (pod.state() != pod_state::pending || pod.terminating()) return;
      may = may && books.ask_of(pod) != queues::yunikorn::none;
      its.pending.push_back(pod);
      waits = waits || awaits_victims(pod);
    });
    std::ranges::stable_sort(its.pending, std::ranges::greater{}, [](const pod_info& pod) { return pod.priority(); });
    one.each_child([&](const group_view& child) { self(child, self); });
  };
  look(group.root(), look);
  plan.keep_nomination = may && waits;
  if (!may || waits) return plan;
  const bool whole = std::ranges::none_of(parts, [](const part& one) { return one.lacks > 0; });
  for (part& one : parts)  // all have their minimum: one more
    if (whole && !one.pending.empty()) {
      one.lacks = 1;
      break;
    }
  const std::vector<placement> placements = attempt.placements(group);
  for (std::size_t i = 0; i < std::max<std::size_t>(placements.size(), 1); ++i) {
    attempt.reset();
    search one{books, attempt};
    for (const part& its : parts)
      for (const pod_info& pod : its.pending) one.ask_again(pod);
    const bool anywhere = placements.empty() || placements[i].all;
    const std::vector<node_id> nodes = anywhere ? one.all_nodes() : placements[i].nodes;
    const bool fits = std::ranges::all_of(parts, [&](const part& its) {
      std::uint32_t left = its.lacks;
      for (const pod_info& pod : its.pending)
        if (left > 0 && (one.find_room(pod, nodes) || one.evict(pod, nodes))) --left;
      return left == 0;
    });
    if (!fits || one.placed.empty()) continue;
    one.settle(plan);
    plan.nominations = std::move(one.placed);
    return plan;
  }
  return plan;
}

GANGSCHED_INLINE std::vector<pod_id> yunikorn_policy::over_quota(const cluster& of, instant now,
                                                                 queues::yunikorn::quota_watch& watch) const {
  return over_quota(cluster_view{detail::inside(of)}, now, watch);
}

GANGSCHED_INLINE std::vector<pod_id> yunikorn_policy::over_quota(const cluster_view& of, instant now,
                                                                 queues::yunikorn::quota_watch& watch) const {
  std::vector<pod_id> made;
  if (options_.quota_preemption.empty()) return made;
  const yunikorn_books& books = read(of);
  queues::yunikorn::quota_watch looked = watch;
  for (const queues::queue_index queue : looked.due(books.queues(), now))
    for (const queues::yunikorn::ask_index one : over_quota_victims(books.queues(), queue))
      made.push_back(books.pod_of(one));
  watch = std::move(looked);
  return made;
}

GANGSCHED_INLINE result<yunikorn_policy> yunikorn_policy::from(const argument& args) {
  using queues::yunikorn::application_order;
  options chosen;
  argument_reader read{name};
  const auto one_limit = [&](const argument& value, const std::string& path) {
    options::limits_of& made = chosen.limits.emplace_back();
    const bool fine = read.fields(value, path, [&](std::string_view key, const argument& its, const std::string& at) {
      if (key == "queue") return read.text(its, at, made.queue);
      if (key == "user") return read.text(its, at, made.user);
      if (key == "group") return read.text(its, at, made.group);
      if (key == "maxApplications") {
        std::int64_t most = 0;
        if (!read.number(its, at, 0, std::numeric_limits<std::int32_t>::max(), most)) return false;
        made.max_applications = static_cast<std::uint32_t>(most);
        return true;
      }
      if (key != "maxResources") return read.unknown(at);
      return read.fields(its, at, [&](std::string_view resource, const argument& amount, const std::string& where) {
        std::int64_t most = 0;
        if (!read.number(amount, where, 0, std::numeric_limits<std::int64_t>::max(), most)) return false;
        made.max.emplace_back(resource, most);
        return true;
      });
    });
    if (!fine) return false;
    if (made.queue.empty()) return read.fail(errc::malformed, path, "names no queue");
    return made.user.empty() != made.group.empty() || read.fail(errc::malformed, path, "names a user or a group");
  };
  const bool fine = read.root(args, [&](std::string_view key, const argument& value, const std::string& path) {
    if (key == "applicationSortPolicy")
      return read.word(value, path,
                       std::initializer_list<std::pair<std::string_view, application_order>>{
                           {"fifo", application_order::fifo},
                           {"fair", application_order::fair},
                           {"stateaware", application_order::fifo}},
                       chosen.order);
    if (key == "applicationSortPriority")
      return read.word(value, path,
                       std::initializer_list<std::pair<std::string_view, bool>>{{"enabled", true}, {"disabled", false}},
                       chosen.priority_first);
    if (key == "priorityFences") return read.texts(value, path, chosen.priority_fences);
    if (key == "preemptionFences") return read.texts(value, path, chosen.preemption_fences);
    if (key == "limits") return read.items(value, path, one_limit);
    if (key == "quotaPreemptionDelays")
      return read.fields(value, path, [&](std::string_view queue, const argument& delay, const std::string& at) {
        std::int64_t seconds = 0;
        if (!read.number(delay, at, 1, 1'000'000'000, seconds)) return false;
        chosen.quota_preemption.emplace_back(queue, std::chrono::seconds{seconds});
        return true;
      });
    return read.unknown(path);
  });
  if (!fine) return std::move(read).failure();
  return yunikorn_policy{std::move(chosen)};
}

}  // namespace gangsched::inline GANGSCHED_ABI
