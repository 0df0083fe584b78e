#include "gangsched/policies/kueue_books.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "gangsched/core/is_among.hpp"
#include "gangsched/framework/disruption.hpp"
#include "gangsched/policies/group_need.hpp"

namespace gangsched::inline GANGSCHED_ABI {
namespace detail {

/// Says that there are no candidates for preemption, and notes whether it was asked.
class no_preemption final : public queues::kueue::preemption_oracle {
 public:
  queues::kueue::oracle_answer ask(queues::kueue::fr_index /*of*/, std::int64_t /*amount*/) override {
    asked = true;
    return {queues::kueue::preemption_outlook::no_candidates, 0};
  }
  bool asked = false;
};

inline queues::kueue::label_operator kueue_operator(selector_operator of) noexcept {
  using queues::kueue::label_operator;
  switch (of) {
    case selector_operator::in: return label_operator::in;
    case selector_operator::not_in: return label_operator::not_in;
    case selector_operator::exists: return label_operator::exists;
    case selector_operator::does_not_exist: return label_operator::does_not_exist;
    case selector_operator::gt: return label_operator::greater;
    case selector_operator::lt: break;
  }
  return label_operator::less;
}

/// What flavors are chosen by. A term that means nothing is for the nodes to refuse.
inline queues::kueue::pod_set_spec kueue_pod_set(const pod_info& pod, std::int32_t count,
                                                 const queues::kueue::configuration& quotas) {
  queues::kueue::pod_set_spec made{.count = count};
  for (const amount& one : pod.requests())
    if (const std::string name{pod.kind_name(one.kind)}; quotas.find_resource(name) != queues::kueue::none)
      made.requests[name] = one.value;
  const pod_class& cls = pod.spec();
  for (const label_symbols& one : cls.node_selector)
    made.node_selector[std::string{pod.text(one.key)}] = pod.text(one.value);
  if (cls.required_nodes) {
    for (const node_term& term : *cls.required_nodes) {
      if (term.broken) continue;
      auto& added = made.affinity.emplace_back();
      for (const node_requirement& one : term.expressions) {
        queues::kueue::label_requirement& wanted = added.emplace_back();
        wanted.key = pod.text(one.key);
        wanted.op = kueue_operator(one.op);
        for (const symbol value : one.values) wanted.values.emplace_back(pod.text(value));
      }
    }
  }
  for (const toleration_symbols& one : pod.tolerations()) {
    queues::kueue::tolerated_taint& added = made.tolerations.emplace_back();
    added.key = pod.text(one.key);
    if (one.op == toleration_operator::equal) added.value = pod.text(one.value);
    if (one.effect) added.what = kueue_effect(*one.effect);
  }
  return made;
}

/// Whether all gangs of the tree have as many members as they need. O(groups).
inline bool is_complete(const group_view& group) {
  bool all = group.spec().composite || !group.is_gang() || group.members() >= group.min_count();
  group.each_child([&](const group_view& child) { all = all && is_complete(child); });
  return all;
}
/// Whether a pod of the tree runs. O(groups).
inline bool has_started(const group_view& group) {
  bool any = group.bound() > 0;
  group.each_child([&](const group_view& child) { any = any || has_started(child); });
  return any;
}
inline bool waits_for_node(const pod_info& pod) {
  return pod.state() == pod_state::pending && !pod.node() && !pod.terminating();
}

}  // namespace detail

GANGSCHED_INLINE bool kueue_books::workload::has(const pod_info& other) const {
  const auto group = other.group();
  return group ? group->root().row() == tree : other.id() == pod;
}

GANGSCHED_INLINE void kueue_books::read(const cluster_view& cluster) {
  // The assigner is made last: without one, and without a fault, memory ran out half-way.
  if (!quotas.read(cluster) && (assigner_ || !quotas.fault().empty())) return;
  counted_at_.clear();
  asked_.at.reset();
  promised_.clear();
  cycle_.reset();
  local_.reset();
  assigner_.reset();
  if (!quotas.fault().empty()) return;
  jobs_.forget();
  local_.emplace(quotas.all(), queues::kueue::local_usage_options{});
  cycle_.emplace(quotas.ledger(), jobs_.workloads(), shapes_, options_, &*local_);
  assigner_.emplace(quotas.ledger(), options_.fair_sharing.enabled);
}

GANGSCHED_INLINE double kueue_books::score(const cluster_view& cluster, queue_index queue, std::string_view ns) const {
  if (!quotas.all().by_local_usage(queue)) return 0;
  const auto row = cluster.find_row(scores, std::string{quotas.all().name(queue)} + "/" + std::string{ns});
  if (!row) return 0;
  const auto used = std::bit_cast<double>(cluster.own(scores, *row));
  return used >= 0 ? used : std::numeric_limits<double>::infinity();  // what is no amount comes last
}

/// Its number among those that victims are ordered by, with all that it used as one amount.
GANGSCHED_INLINE queues::kueue::local_index kueue_books::local_with_score(const cluster_view& cluster,
                                                                          queue_index queue, std::string_view ns) {
  const double used = score(cluster, queue, ns);
  queues::kueue::local_queue_spec one{.name = std::string{ns}, .queue = std::string{quotas.all().name(queue)}};
  if (quotas.all().resource_count() != 0 && std::isfinite(used))
    one.consumed[quotas.all().resource(0)] = used;
  else
    one.weight = 0;
  return local_->set(one).value();
}

GANGSCHED_INLINE bool kueue_books::is_of(const pod_set& set, const pod_info& pod) {
  const auto group = pod.group();
  return set.cls == &pod.spec() && set.group == (group ? group->row() : no_row);
}

GANGSCHED_INLINE kueue_books::pod_set& kueue_books::add(const pod_info& pod, workload& to, bool needed) const {
  const auto its = [&](const pod_set& one) { return is_of(one, pod); };
  auto set = std::find_if(to.sets.begin(), to.sets.end(), its);
  const auto group = pod.group();
  if (set == to.sets.end())
    set = to.sets.insert(set, {.group = group ? group->row() : no_row, .like = pod.id(), .cls = &pod.spec()});
  ++set->count;
  set->least += needed ? 1 : 0;
  return *set;
}

/// Of the gangs that lack members on nodes the first that wait, in the workload's queue.
GANGSCHED_INLINE void kueue_books::need(const group_view& group, workload& to) const {
  if (group.is_gang() && !group.spec().composite) {
    std::uint32_t left = group.min_count(), there = group.assumed() + group.bound();
    left -= std::min(left, there);
    if (left > 0)
      group.each_member([&](const pod_info& member) {
        if (left == 0 || !detail::waits_for_node(member)) return;
        --left;
        const auto queue = member.queue();
        if (queue && quotas.find(*queue) == to.queue) add(member, to);
      });
  }
  group.each_child([&](const group_view& child) { need(child, to); });
}

/// Of each gang all members in the workload's queue, up to its maximum; of those the first, as many as its minimum, are needed.
GANGSCHED_INLINE void kueue_books::start(const group_view& group, workload& to) const {
  if (group.is_gang() && !group.spec().composite) {
    const std::uint32_t least = group.min_count();
    const std::optional<std::int32_t>& most = group.policy()->max_count;
    std::uint32_t number = 0;
    const auto take = [&](const pod_info& member) {
      const bool needed = number < least;
      if ((most && std::cmp_greater_equal(number, *most)) || (!needed && !member.gates().empty())) return;
      ++number;
      const auto queue = member.queue();
      if (!queue || quotas.find(*queue) != to.queue) return;
      pod_set& its = add(member, to, needed);
      if (!member.node()) return;
      ++its.there;
      if (to.queue != queues::no_queue) quotas.add_amounts(member, to.queue, member.node()->flavor(), to.held);
    };
    group.each_member([&](const pod_info& member) {
      if (member.node() && !member.terminating()) take(member);
    });
    group.each_member([&](const pod_info& member) {
      if (detail::waits_for_node(member)) take(member);
    });
  }
  group.each_child([&](const group_view& child) { start(child, to); });
}

GANGSCHED_INLINE void kueue_books::ask_for(const group_view& root, workload& to) const {
  if (!options_.partial_admission || detail::has_started(root)) return need(root, to);
  start(root, to);
  if (!fixed_ || fixed_->tree != to.tree || fixed_->queue != to.queue) return;
  for (pod_set& one : to.sets)
    for (const pod_set& as : fixed_->sets)
      if (one.group == as.group && one.cls == as.cls) one.count = one.least = as.count;
}

GANGSCHED_INLINE void kueue_books::fix_counts(const workload& who, const entry* made) {
  fixed_.reset();
  asked_.at.reset();
  if (made == nullptr || who.tree == no_row) return;
  fixed_ = who;
  for (std::size_t i = 0; i < who.sets.size() && i < made->flavors.pod_sets.size(); ++i)
    fixed_->sets[i].count = made->flavors.pod_sets[i].count;
}

GANGSCHED_INLINE kueue_books::workload kueue_books::of(const pod_info& pod) const {
  workload made;
  const auto queue = pod.queue();
  if (queue) made.queue = quotas.find(*queue);
  const auto group = pod.group();
  if (!group) {
    made.priority = pod.priority(), made.arrival = pod.arrival(), made.pod = pod.id();
    made.ns = pod.ns();
    add(pod, made);
    return made;
  }
  const group_view root = group->root();
  made.priority = tree_priority(root), made.arrival = root.arrival(), made.tree = root.row();
  made.ns = root.spec().ns;
  ask_for(root, made);
  const auto its = [&](const pod_set& one) { return is_of(one, pod); };
  if (std::none_of(made.sets.begin(), made.sets.end(), its)) add(pod, made);
  return made;
}

GANGSCHED_INLINE kueue_books::workload kueue_books::of(const group_view& group) const {
  workload made;
  const group_view root = group.root();
  if (const auto queue = group.queue()) made.queue = quotas.find(*queue);
  made.priority = tree_priority(root), made.arrival = root.arrival(), made.tree = root.row();
  made.ns = root.spec().ns;
  ask_for(root, made);
  if (made.sets.empty()) {
    root.each_pod_below([&](const pod_info& member) {
      const auto queue = member.queue();
      if (made.sets.empty() && detail::waits_for_node(member) && queue && quotas.find(*queue) == made.queue)
        add(member, made);
    });
  }
  return made;
}

/// What was promised to others is used, too.
GANGSCHED_INLINE void kueue_books::count(const cluster_view& cluster, queue_index root) {
  const standing_of_log now = cluster.standing();
  const auto found = counted_at_.find(root);
  if (found != counted_at_.end() && found->second == now) return;
  counted_at_.erase(root);
  quotas.count(cluster, root);
  std::erase_if(promised_, [&](const promise& one) { return quotas.root_of(one.queue) == root; });
  cluster.each_nominated([&](const pod_info& other) {
    const auto queue = other.queue();
    const queue_index its = queue ? quotas.find(*queue) : queues::no_queue;
    if (other.node() || its == queues::no_queue || quotas.root_of(its) != root) return;
    const auto group = other.group();
    promise made{its, group ? group->root().row() : no_row, other.id(), {}};
    quotas.add_amounts(other, its, other.nominated_node()->flavor(), made.amounts);
    quotas.ledger().add(its, made.amounts);
    promised_.push_back(std::move(made));
  });
  counted_at_[root] = now;
}

GANGSCHED_INLINE void kueue_books::list_jobs(const cluster_view& cluster) {
  if (local_->size() > 2 * jobs_.workloads().size() + 8) {  // most are of namespaces that have no job any more
    queues::kueue::local_usage none{quotas.all(), queues::kueue::local_usage_options{}};
    jobs_.forget();
    *local_ = std::move(none);
  }
  jobs_.list(cluster, [&](queue_index queue, std::string_view ns) { return local_with_score(cluster, queue, ns); });
}

/// Pods that join others of their group and class go where those are.
GANGSCHED_INLINE void kueue_books::keep_flavors(const cluster_view& cluster, const pod_set& set, queue_index queue,
                                                queues::kueue::workload_shape::pod_set& of) const {
  if (set.group == no_row) return;
  std::optional<flavor_id> node;
  cluster.pod(set.like)->group()->each_member([&](const pod_info& member) {
    if (!node && &member.spec() == set.cls && member.node()) node = member.node()->flavor();
  });
  if (!node) return;
  for (const queues::kueue::flavor_choice& group : quotas.all().groups(queue)) {
    if (group.resources.empty()) continue;
    const auto is_there = [&](queues::kueue::flavor_index one) {
      return quotas.is_on(queue, group.resources.front(), one, *node);
    };
    if (std::none_of(group.flavors.begin(), group.flavors.end(), is_there)) continue;
    for (const queues::kueue::flavor_index one : group.flavors)
      if (!is_there(one)) of.flavors.reset(one);
  }
}

GANGSCHED_INLINE queues::kueue::workload_shape kueue_books::shape_of(const cluster_view& cluster,
                                                                     const workload& who) const {
  queues::kueue::workload_spec text;
  text.name = "w";
  text.queue = quotas.all().name(who.queue);
  text.priority = who.priority;
  for (const pod_set& one : who.sets) {
    text.pod_sets.push_back(detail::kueue_pod_set(*cluster.pod(one.like), one.count, quotas.all()));
    text.pod_sets.back().min_count = one.least;
  }
  // The model has checked what pods say of themselves.
  queues::kueue::workload_shape made = queues::kueue::workload_shape::make(quotas.all(), text).value();
  for (std::size_t i = 0; i < who.sets.size(); ++i) keep_flavors(cluster, who.sets[i], who.queue, made.pod_sets[i]);
  return made;
}

GANGSCHED_INLINE void kueue_books::forget_own(const workload& who) {
  quotas.ledger().remove(who.queue, who.held);
  for (const promise& one : promised_)
    if (one.tree == no_row ? one.pod == who.pod : one.tree == who.tree) quotas.ledger().remove(one.queue, one.amounts);
}

GANGSCHED_INLINE void kueue_books::nominate(const workload& who) {
  queues::kueue::workload_record record;
  record.queue = who.queue;
  record.priority = who.priority;
  record.created = instant{static_cast<instant::rep>(who.arrival)};
  queues::kueue::workload_shape shape = shape_;
  const row_t row = jobs_.workloads().add(std::move(record)).row;
  struct guard {
    ~guard() {
      if (shape) books->shapes_.release(*shape);
      books->jobs_.workloads().erase(row);
    }
    kueue_books* books;
    row_t row;
    std::optional<queues::kueue::shape_index> shape = {};
  } asked{this, row};
  asked.shape = shapes_.acquire(std::move(shape));  // used in this call only: it is given back below
  cycle_->begin();
  cycle_->nominate(row, *asked.shape, {});
  made_ = cycle_->entries().front();
}

/// Whether a workload would have to go for it, or fewer pods may do.
GANGSCHED_INLINE kueue_books::outlook kueue_books::assign(const workload& who) {
  detail::no_preemption oracle;
  made_.queue = who.queue;
  made_.targets.clear();
  assigner_->assign(shape_, {}, {}, oracle, made_.flavors);
  const auto may_shrink = [](const pod_set& one) { return one.least < one.count; };
  const bool fits = made_.flavors.mode == queues::kueue::fit_mode::fit;
  return {oracle.asked, !fits && std::any_of(who.sets.begin(), who.sets.end(), may_shrink)};
}

GANGSCHED_INLINE const kueue_books::entry& kueue_books::look(const cluster_view& cluster, const workload& who,
                                                             bool for_victims) {
  count(cluster, quotas.root_of(who.queue));
  const queues::kueue::quota_ledger::trial own{quotas.ledger()};
  forget_own(who);
  shape_ = shape_of(cluster, who);
  const outlook seen = assign(who);
  if (!seen.victims && !seen.fewer) return made_;
  // What would fit if others go does not fit: a flavor that fits would be chosen whether they can or not.
  if (!for_victims && !seen.fewer && made_.flavors.mode != queues::kueue::fit_mode::fit) return made_;
  list_jobs(cluster);
  jobs_.pass_over_nobody();
  jobs_.pass_over(who.tree == no_row ? jobs_.of_pod(who.pod.row) : jobs_.of_tree(who.tree));
  nominate(who);
  return made_;
}

GANGSCHED_INLINE const kueue_books::answer& kueue_books::look_at(const cluster_view& cluster, const pod_info& pod) {
  const standing_of_log now = cluster.standing();
  if (asked_.at == now && asked_.pod == pod.id()) return asked_.told;
  asked_.at.reset();
  asked_.told.who = of(pod);
  asked_.told.made = look(cluster, asked_.told.who, false);
  asked_.pod = pod.id();
  asked_.at = now;
  return asked_.told;
}

GANGSCHED_INLINE const kueue_books::entry& kueue_books::look_again(const cluster_view& cluster, const workload& who,
                                                                   const std::vector<bool>& may_go) {
  count(cluster, quotas.root_of(who.queue));
  const queues::kueue::quota_ledger::trial own{quotas.ledger()};
  forget_own(who);
  shape_ = shape_of(cluster, who);
  list_jobs(cluster);
  jobs_.pass_over_nobody();
  for (row_t row = 0; row < jobs_.all().size(); ++row)
    if (!may_go[row] && !jobs_.all()[row].pods.empty()) jobs_.pass_over(row);
  nominate(who);
  return made_;
}

GANGSCHED_INLINE bool kueue_books::has_place(const workload& who, const entry& made, const pod_info& pod) {
  for (std::size_t i = 0; i < who.sets.size() && i < made.flavors.pod_sets.size(); ++i)
    if (is_of(who.sets[i], pod)) return who.sets[i].there < made.flavors.pod_sets[i].count;
  return false;
}

GANGSCHED_INLINE bool kueue_books::has_place(const workload& who, const entry& made, const group_view& /*group*/) {
  for (std::size_t i = 0; i < who.sets.size() && i < made.flavors.pod_sets.size(); ++i)
    if (who.sets[i].there < made.flavors.pod_sets[i].count) return true;
  return false;
}

GANGSCHED_INLINE bool kueue_books::is_for(const workload& who, const entry& made, const pod_info& pod,
                                          flavor_id node) const {
  for (std::size_t i = 0; i < who.sets.size() && i < made.flavors.pod_sets.size(); ++i) {
    if (!is_of(who.sets[i], pod)) continue;
    for (const queues::kueue::chosen_flavor& one : made.flavors.flavors_of(made.flavors.pod_sets[i]))
      if (one.amount > 0 && !quotas.is_on(who.queue, one.resource, one.flavor, node)) return false;
    return true;
  }
  return false;
}

GANGSCHED_INLINE bool kueue_books::has_earlier(const cluster_view& cluster, const workload& than,
                                               const pod_info& like) const {
  bool found = false;
  const double used = score(cluster, than.queue, than.ns);
  cluster.each_pod([&](const pod_info& other) {
    if (found || !detail::waits_for_node(other) || !other.gates().empty() || than.has(other)) return;
    const auto queue = other.queue();
    if (!queue || quotas.find(*queue) != than.queue || other.spec().scheduler_name != like.spec().scheduler_name)
      return;
    std::int32_t priority = other.priority();
    std::uint64_t arrival = other.arrival();
    std::string_view ns = other.ns();
    if (const auto group = other.group()) {
      const group_view root = group->root();
      if (is_on_nodes(root) || !detail::is_complete(root)) return;
      priority = tree_priority(root), arrival = root.arrival(), ns = root.spec().ns;
    }
    if (const double by_other = score(cluster, than.queue, ns); by_other != used) {
      found = by_other < used;
      return;
    }
    found = priority != than.priority ? priority > than.priority : arrival < than.arrival;
  });
  return found;
}

GANGSCHED_INLINE kueue_books::standing kueue_books::with(const workload& who, const entry& made) {
  const queues::kueue::quota_ledger::trial taken{quotas.ledger()};
  forget_own(who);
  quotas.ledger().add(who.queue, made.flavors.usage);
  return {quotas.ledger().borrows_any(who.queue, made.flavors.usage), quotas.ledger().share(who.queue)};
}

GANGSCHED_INLINE std::string kueue_books::words(const cluster_view& cluster, const workload& who) {
  const queues::kueue::configuration& all = quotas.all();
  const std::string in{all.name(who.queue)};
  const queues::kueue::quota_ledger::trial own{quotas.ledger()};
  forget_own(who);
  std::string said;
  const auto say = [&](std::string what) { said += (said.empty() ? "" : "; ") + std::move(what); };
  const queues::kueue::workload_shape shape = shape_of(cluster, who);
  for (const queues::kueue::workload_shape::pod_set& set : shape.pod_sets) {
    for (const queues::kueue::workload_shape::request& one : shape.requests_of(set)) {
      const std::int64_t amount = queues::kueue::product(one.each, set.min_count);
      if (one.of == queues::kueue::none || amount == 0) continue;
      const std::string& resource = all.resource(one.of);
      const std::uint32_t group = all.group_of(who.queue, one.of);
      if (group == queues::kueue::none) {
        say("queue " + in + " has no quota of " + resource);
        continue;
      }
      for (const queues::kueue::flavor_index flavor : all.groups(who.queue)[group].flavors) {
        const std::string where = resource + " in flavor " + all.flavor(flavor).name;
        const queues::kueue::fr_index of = all.find_fr(flavor, one.of);
        if (!set.flavors.test(flavor)) {
          say("flavor " + all.flavor(flavor).name + " is not for its pods");
        } else if (const std::int64_t most = quotas.ledger().potential(who.queue, of); amount > most) {
          say("insufficient quota for " + where + ": " + std::to_string(amount) + " requested, at most " +
              std::to_string(most) + " could be had");
        } else if (const std::int64_t room = quotas.ledger().room(who.queue, of); amount > room) {
          say("insufficient unused quota for " + where + ", " + std::to_string(amount - room) + " more needed");
        }
      }
    }
  }
  return said.empty() ? said : "queue " + in + ": " + said;
}

}  // namespace gangsched::inline GANGSCHED_ABI
