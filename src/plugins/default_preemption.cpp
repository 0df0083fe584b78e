#include "gangsched/plugins/default_preemption.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <utility>

#include "gangsched/core/hash.hpp"
#include "gangsched/core/nodes_line.hpp"
#include "gangsched/framework/argument_reader.hpp"
#include "gangsched/framework/disruption.hpp"
#include "gangsched/framework/row_reasons.hpp"
#include "gangsched/policies/node_cost.hpp"
#include "gangsched/queues/put_back.hpp"

namespace gangsched::inline GANGSCHED_ABI {
namespace detail {

/// A pod that may have to go, or a group as a whole.
struct potential_victim {
  pod_id pod;  ///< on the node
  victim_rank rank;
  bool violating = false;
  group_id group = {};  ///< of a whole group, or of the part that a gang needs; `first`: its place in `members`
  std::size_t first = 0;
  group_id goes_with = {};  ///< of a gang's surplus: the gang; surplus cannot stay without the pods that the gang needs
};

}  // namespace detail

/// The state of one call; the lists are reused from node to node.
struct default_preemption::search {
  using cost = node_cost;
  struct remembered {
    bool stale = true;
    std::optional<cost> price;  ///< if the node is a candidate
  };
  static constexpr row_t block_rows = 32;
  /// The first of the cheapest candidates among block_rows rows, so that blocks without changes need not be gone through.
  struct block {
    bool stale = true;  ///< some node of the block is stale
    std::optional<cost> price;
    row_t row = no_row;
  };
  struct memory {
    std::vector<remembered> nodes;  ///< by row
    std::vector<block> blocks;      ///< of these nodes
    row_reasons said;               ///< why nodes are no candidates, if the trial counts reasons
  };

  trial& attempt;
  const pod_info& pod;
  const bool groups;     ///< group disruption is respected, and the cluster has groups
  open_budgets budgets;  ///< what they still allow in one dry run
  std::vector<detail::potential_victim> victims;
  std::vector<pod_id> members;  ///< pods of the victims that are groups
  const bool telling;
  /// Why the node tried last is no candidate, if the trial counts reasons; empty if removing pods would not help there.
  std::vector<std::string> reasons;
  std::map<std::vector<std::string>, std::size_t> unhelpful;  ///< how many nodes are no candidates, by reasons

  search(trial& t, const pod_info& p)
      : attempt(t),
        pod(p),
        groups(p.semantics().release() >= kube_release::v1_37 && t.cluster().has_groups()),
        budgets(t.cluster()),
        telling(t.counts_reasons()) {}

  void count(const std::vector<std::string>& said) {
    if (!said.empty()) ++unhelpful[said];
  }
  /// Kubernetes' line about a search that found no candidate.
  [[nodiscard]] std::string words() const {
    std::size_t left = attempt.cluster().node_count();
    if (!telling || left == 0) return {};
    std::map<std::string, std::size_t> counts;
    for (const auto& [said, nodes] : unhelpful) {
      for (const std::string& text : said) counts[text] += nodes;
      left -= nodes;
    }
    if (left != 0) counts["Preemption is not helpful for scheduling"] += left;
    std::vector<std::string> parts;
    for (const auto& [text, nodes] : counts) parts.push_back(std::to_string(nodes) + " " + text);
    return "preemption: " + detail::nodes_line(0, attempt.cluster().node_count(), std::move(parts));
  }

  [[nodiscard]] std::int32_t priority_of(const pod_info& other) const {
    return groups ? victim_priority(other) : other.priority();
  }

  void collect(const node_info& node) {
    victims.clear();
    members.clear();
    node.each_pod([&](const pod_info& other) {
      const std::int32_t priority = priority_of(other);
      if (priority >= pod.priority()) return;
      const std::optional<group_view> whole = groups ? disrupted_with(other) : std::nullopt;
      if (whole) return collect(*whole, other, priority);
      if (groups && other.group() && other.group()->spec().disruption == disruption_mode::surplus)
        return collect_partly(other, priority);
      victims.push_back({other.id(), {priority, 0, 1, victim_start(other), other.arrival()}});
    });
    std::sort(victims.begin(), victims.end(),
              [](const auto& a, const auto& b) { return a.rank.more_important(b.rank); });
  }
  void collect(const group_view& whole, const pod_info& here, std::int32_t priority) {
    const auto known = [&](const detail::potential_victim& one) { return one.group == whole.id(); };
    if (std::any_of(victims.begin(), victims.end(), known)) return;
    victim_rank rank{priority, static_cast<std::uint8_t>(whole.spec().composite ? 2 : 1), 0, victim_start(here),
                     here.arrival()};
    const std::size_t first = members.size();
    whole.each_pod_below([&](const pod_info& member) {
      if (!member.node()) return;
      members.push_back(member.id());
      ++rank.pods;
      rank.start = std::min(rank.start, victim_start(member));
      rank.arrival = std::min(rank.arrival, member.arrival());
    });
    victims.push_back({here.id(), rank, false, whole.id(), first});
  }
  void collect_partly(const pod_info& here, std::int32_t priority) {
    const group_view gang = *here.group();
    const std::vector<pod_info> running = running_members(gang);
    const std::size_t least = std::min<std::size_t>(gang.min_count(), running.size());
    const auto needed = running.begin() + static_cast<std::ptrdiff_t>(least);
    if (std::none_of(running.begin(), needed, [&](const pod_info& one) { return one.id() == here.id(); })) {
      victims.push_back({here.id(), {priority, 0, 1, victim_start(here), here.arrival()}, false, {}, 0, gang.id()});
      return;
    }
    const auto known = [&](const detail::potential_victim& one) { return one.group == gang.id(); };
    if (std::any_of(victims.begin(), victims.end(), known)) return;
    const victim_rank rank{priority, 1, static_cast<std::uint32_t>(least), victim_start(running.front()),
                           running.front().arrival()};
    victims.push_back({here.id(), rank, false, gang.id(), members.size()});
    for (auto one = running.begin(); one != needed; ++one) members.push_back(one->id());
  }
  /// Whether the pods that the surplus pod's gang needs go.
  [[nodiscard]] bool rest_goes(const detail::potential_victim& surplus, const std::vector<bool>& stays) const {
    for (std::size_t i = 0; i < victims.size(); ++i) {
      if (surplus.goes_with && victims[i].group == surplus.goes_with && !stays[i]) return true;
    }
    return false;
  }
  /// If the pods that a gang needs go, its surplus on other nodes goes too.
  void add_surplus_elsewhere(const detail::potential_victim& gone, node_id node, candidate& out) const {
    if (!gone.group) return;
    const group_view gang = *attempt.cluster().pod(gone.pod)->group()->find(gone.group);
    if (gang.spec().disruption != disruption_mode::surplus) return;
    gang.each_member([&](const pod_info& member) {
      const bool elsewhere = member.node() && member.node()->id() != node;
      const std::span<const pod_id> needed = pods_of(gone);
      if (elsewhere && std::find(needed.begin(), needed.end(), member.id()) == needed.end())
        out.victims.push_back(member.id());
    });
  }
  [[nodiscard]] std::span<const pod_id> pods_of(const detail::potential_victim& one) const {
    if (!one.group) return {&one.pod, 1};
    return std::span{members}.subspan(one.first, one.rank.pods);
  }
  void take(const detail::potential_victim& one) {
    for (const pod_id id : pods_of(one)) attempt.remove(id);
  }
  void give_back(const detail::potential_victim& one) {
    for (const pod_id id : pods_of(one)) attempt.restore(id);
  }
  /// Whether victims here bring down pods on other nodes: then the node's answer cannot be remembered.
  [[nodiscard]] bool reaches_out(const node_info& node) const {
    bool reaches = false;
    if (!groups) return false;
    node.each_pod([&](const pod_info& other) { reaches = reaches || takes_others_along(other); });
    return reaches;
  }

  /// All potential victims are charged to budgets in order of importance, also those put back later; all budgets of a pod count.
  void mark_violating() {
    budgets.open();
    for (detail::potential_victim& victim : victims)
      for (const pod_id id : pods_of(victim))
        victim.violating = budgets.charge(*attempt.cluster().pod(id)) || victim.violating;
    for (const detail::potential_victim& surplus : victims) {  // what a gang needs is as protected as its surplus
      if (!surplus.goes_with || !surplus.violating) continue;
      for (detail::potential_victim& rest : victims) rest.violating = rest.violating || rest.group == surplus.goes_with;
    }
  }

  status dry_run(node_id node, candidate& out) {
    const std::optional<node_info> there = attempt.cluster().node(node);
    reasons.clear();
    if (there) collect(*there);
    if (!there || victims.empty()) {
      constexpr const char* nobody = "No preemption victims found for incoming pod";
      if (telling) reasons.emplace_back(nobody);
      return status::unresolvable(nobody);
    }
    for (const detail::potential_victim& victim : victims) take(victim);
    const status said = attempt.filter(pod.id(), node);
    if (said.ok())
      reprieve(node, out);
    else if (telling)
      reasons = attempt.reasons(pod.id(), node);
    attempt.reset();
    if (said.ok() && out.victims.empty()) return status::error("preemption found no victim though the pod did not fit");
    return said;
  }

  void reprieve(node_id node, candidate& out) {
    if (!budgets.empty()) mark_violating();
    out = {node, {}, 0};
    std::vector<bool> stays(victims.size());
    queues::in_order_of_put_back(
        victims.size(), [&](std::size_t i) { return victims[i].violating; },
        [&](std::size_t i) {
          if (rest_goes(victims[i], stays)) return;
          give_back(victims[i]);
          stays[i] = attempt.filter(pod.id(), node).ok();
          if (stays[i]) return;
          take(victims[i]);
          out.violations += victims[i].violating ? 1 : 0;
        });
    // Among equally important victims those that break a budget come first, as in Kubernetes.
    for (std::size_t first = 0, last = 0; first < victims.size(); first = last) {
      while (last < victims.size() && same_importance(victims[first], victims[last])) ++last;
      for (const bool violating : {true, false}) {
        for (std::size_t i = first; i < last; ++i) {
          if (stays[i] || victims[i].violating != violating) continue;
          for (const pod_id id : pods_of(victims[i])) out.victims.push_back(id);
          if (groups) add_surplus_elsewhere(victims[i], node, out);
        }
      }
    }
  }
  static bool same_importance(const detail::potential_victim& a, const detail::potential_victim& b) {
    const victim_rank &x = a.rank, &y = b.rank;
    return x.priority == y.priority && x.kind == y.kind && x.pods == y.pods && x.start == y.start;
  }

  /// @pre at least one victim
  [[nodiscard]] cost cost_of(const candidate& one) const {
    return cost_of_victims(attempt.cluster(), one.victims, one.violations,
                           [&](const pod_info& victim) { return priority_of(victim); });
  }

  /// The cost of the node if it is a candidate.
  std::optional<cost> try_node(const node_info& node, candidate& out) {
    reasons.clear();
    bool anybody = telling;  // the cheapest test first
    node.each_pod([&](const pod_info& other) { anybody = anybody || priority_of(other) < pod.priority(); });
    if (!anybody || attempt.filter(pod.id(), node.id()).code != code::unschedulable) return std::nullopt;
    if (!dry_run(node.id(), out).ok()) return std::nullopt;
    return cost_of(out);
  }

  /// The best node by what is remembered; nodes that changed are tried again. O(nodes / block_rows + nodes that changed), plus the trials,
  /// and block_rows for each block whose best may be another one.
  std::optional<node_id> best_of(memory& known, const std::vector<row_t>& changed) {
    const cluster_view cluster = attempt.cluster();
    if (const std::size_t had = known.nodes.size(), rows = cluster.node_rows(); had != rows) {
      known.blocks.resize((rows + block_rows - 1) / block_rows);  // first: if memory runs out, no node lacks a block
      known.nodes.resize(rows);
      if (const std::size_t joint = std::min(had, rows) / block_rows; joint < known.blocks.size())
        known.blocks[joint].stale = true;  // rows join this block, or leave it
    }
    // Other pods count this pod on its nominated node; for the pod itself that node is tried anew.
    const std::optional<node_info> own = pod.nominated_node();
    const row_t own_row = own ? own->id().row : no_row;
    candidate found;
    std::vector<std::string> own_reasons;
    const auto price_of = [&](row_t row) {
      if (row == own_row) {
        const std::optional<cost> here = try_node(*own, found);
        own_reasons = std::move(reasons);
        return here;
      }
      remembered& one = known.nodes[row];
      if (one.stale) {
        const std::optional<node_info> node = cluster.node_at(row);
        reasons.clear();
        one = {node && reaches_out(*node), node ? try_node(*node, found) : std::nullopt};
        if (reasons.empty())
          known.said.drop(row);
        else
          known.said.set(row, {0, std::move(reasons)});
      }
      return one.price;
    };
    for (const row_t row : changed) {
      block& its = known.blocks[row / block_rows];
      const bool was_stale = std::exchange(its.stale, true);  // first: memory may run out below
      known.nodes[row].stale = true;
      if (was_stale || row == own_row) continue;
      // The block's best stays, unless this was it or may be better.
      const std::optional<cost> here = price_of(row);
      its.stale = known.nodes[row].stale || its.row == row || (here && (!its.price || !(*its.price < *here)));
    }
    std::optional<cost> best;
    row_t best_row = no_row;
    for (row_t first = 0; first < known.nodes.size(); first += block_rows) {
      block& one = known.blocks[first / block_rows];
      const row_t end = std::min(first + block_rows, static_cast<row_t>(known.nodes.size()));
      const bool has_own = own_row >= first && own_row < end;
      if (one.stale || has_own) {
        block now{has_own, std::nullopt, no_row};  // the price of its nominated node holds for this pod only
        for (row_t row = first; row < end; ++row) {
          const std::optional<cost> here = price_of(row);
          now.stale = now.stale || known.nodes[row].stale;
          if (here && (!now.price || *here < *now.price)) now.price = here, now.row = row;
        }
        one = now;
      }
      if (one.price && (!best || *one.price < *best)) best = one.price, best_row = one.row;
    }
    if (best) return cluster.node_at(best_row)->id();
    if (!telling) return std::nullopt;
    known.said.each([&](const row_reasons::words& said, std::size_t nodes) { unhelpful[said.second] += nodes; });
    const row_reasons::words* const not_so = own ? known.said.find(own_row) : nullptr;
    if (not_so != nullptr && --unhelpful[not_so->second] == 0) unhelpful.erase(not_so->second);
    if (own) count(own_reasons);
    return std::nullopt;
  }

  /// The best candidate of all nodes, when nothing can be remembered.
  std::optional<candidate> best_of_all() {
    std::optional<candidate> best;
    cost price;
    std::vector<node_id> nodes;
    attempt.cluster().each_node([&](const node_info& node) { nodes.push_back(node.id()); });
    for (const node_id id : nodes) {
      const node_info node = *attempt.cluster().node(id);
      if (best && !(least_cost(node) < price)) continue;
      candidate found;
      const std::optional<cost> here = try_node(node, found);
      if (!here) count(reasons);
      if (!here || (best && !(*here < price))) continue;
      best = std::move(found);
      price = *here;
    }
    return best;
  }
  /// A lower bound of a candidate's cost on this node: at least the least important pod has to go.
  [[nodiscard]] cost least_cost(const node_info& node) const {
    std::int64_t lowest = std::numeric_limits<std::int32_t>::max();
    node.each_pod([&](const pod_info& other) { lowest = std::min(lowest, std::int64_t{priority_of(other)}); });
    return {0, lowest, lowest + cost::priority_offset, 1, std::numeric_limits<std::int64_t>::min()};
  }

  /// Kubernetes' way: the search ends when there is a candidate without broken budgets and enough candidates altogether.
  std::vector<candidate> some(const limit& limited) {
    const std::vector<node_id> nodes = potential_nodes();
    if (nodes.empty()) return {};
    const std::size_t share = nodes.size() * static_cast<std::size_t>(limited.percentage) / 100;
    const std::size_t wanted = std::min(nodes.size(), std::max(share, static_cast<std::size_t>(limited.absolute)));
    const std::size_t offset = mix64(limited.seed ^ mix64(pod.arrival())) % nodes.size();
    std::vector<candidate> clean, violating;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      candidate found;
      if (!dry_run(nodes[(offset + i) % nodes.size()], found).ok()) {
        count(reasons);
        continue;
      }
      std::vector<candidate>& list = found.violations == 0 ? clean : violating;
      if (list.size() < wanted) list.push_back(std::move(found));
      if (!clean.empty() && clean.size() + violating.size() >= wanted) break;
    }
    clean.insert(clean.end(), std::make_move_iterator(violating.begin()), std::make_move_iterator(violating.end()));
    return clean;
  }

  std::vector<candidate> all() {
    std::vector<candidate> made;
    for (const node_id node : potential_nodes()) {
      candidate found;
      if (dry_run(node, found).ok())
        made.push_back(std::move(found));
      else
        count(reasons);
    }
    return made;
  }

  std::vector<node_id> potential_nodes() {
    std::vector<node_id> nodes;
    attempt.cluster().each_node([&](const node_info& node) { nodes.push_back(node.id()); });
    std::erase_if(nodes, [&](node_id node) { return attempt.filter(pod.id(), node).code != code::unschedulable; });
    return nodes;
  }

  std::optional<candidate> cheapest(const std::vector<candidate>& among) const {
    if (among.empty()) return std::nullopt;
    const auto cheaper = [&](const candidate& a, const candidate& b) {
      const cost left = cost_of(a), right = cost_of(b);
      return left != right ? left < right : a.node < b.node;
    };
    return *std::min_element(among.begin(), among.end(), cheaper);
  }
};

GANGSCHED_INLINE status default_preemption::eligible(trial& attempt, const pod_info& pod) {
  const std::optional<group_view> group = pod.group();
  const bool of_group = group && group->spec().preemption && group->semantics().release() >= kube_release::v1_37;
  if ((of_group ? *group->spec().preemption : pod.spec().preemption) == preemption_policy::never) {
    return status::unschedulable("not eligible due to preemptionPolicy=Never.");
  }
  const std::optional<node_info> node = pod.nominated_node();
  if (!node || attempt.filter(pod.id(), node->id()).code == code::unresolvable) return status::success();
  const search with{attempt, pod};
  const bool waits =
      awaits_victims(pod, [&](const pod_info& other) { return with.priority_of(other) < pod.priority(); });
  return waits ? status::unschedulable("not eligible due to a terminating pod on the nominated node.")
               : status::success();
}

GANGSCHED_INLINE status default_preemption::dry_run(trial& attempt, const pod_info& pod, node_id node, candidate& out) {
  return search{attempt, pod}.dry_run(node, out);
}

GANGSCHED_INLINE status default_preemption::ask_extenders(trial& attempt, const pod_info& pod,
                                                          std::vector<candidate>& candidates) const {
  const cluster_view cluster = attempt.cluster();
  const auto stands = [&](const candidate& one) {
    return cluster.node(one.node) && std::all_of(one.victims.begin(), one.victims.end(), [&](pod_id victim) {
             const std::optional<pod_info> there = cluster.pod(victim);
             // Somewhere else, if it goes with its group.
             return there && there->node() && (there->node()->id() == one.node || takes_others_along(*there));
           });
  };
  for (const extender& one : extenders_) {
    if (candidates.empty()) break;
    const auto wanted = [&](const std::string& resource) { return pod.request(resource) != 0; };
    if (!one.managed_resources.empty() &&
        std::none_of(one.managed_resources.begin(), one.managed_resources.end(), wanted))
      continue;
    std::vector<candidate> judged = candidates;
    if (!one.preempt(pod, cluster, judged) || !std::all_of(judged.begin(), judged.end(), stands)) {
      if (one.ignorable) continue;
      return status::error("the extender's preemption failed");
    }
    const auto spares = [](const candidate& left) { return left.victims.empty(); };
    if (!one.ignorable && std::any_of(judged.begin(), judged.end(), spares)) {
      return status::error("the extender's preemption leaves a node without victims");
    }
    std::erase_if(judged, spares);
    candidates = std::move(judged);
  }
  return status::success();
}

GANGSCHED_INLINE victim_plan default_preemption::post_filter(trial& attempt, const pod_info& pod) const {
  victim_plan plan;
  if (const status said = eligible(attempt, pod); !said.ok()) {
    plan.verdict = said;
    plan.keep_nomination = true;
    if (attempt.counts_reasons()) plan.words = std::string{"preemption: "} + said.reason;
    return plan;
  }
  search with{attempt, pod};
  if (!with.telling && !anybody_below(attempt.cluster(), pod.priority())) return plan;
  std::optional<candidate> best;
  std::vector<row_t> changed;
  if (limit_ || !extenders_.empty()) {
    std::vector<candidate> candidates = limit_ ? with.some(*limit_) : with.all();
    const bool any = !candidates.empty();
    if (const status said = ask_extenders(attempt, pod, candidates); !said.ok()) {
      plan.verdict = said;
      plan.keep_nomination = true;
      return plan;
    }
    best = with.cheapest(candidates);
    if (with.telling && any && !best) return plan.words = "preemption: no candidate node for preemption", plan;
  } else if (auto* const known = attempt.recall<search::memory>(pod.id(), changed)) {
    if (const std::optional<node_id> node = with.best_of(*known, changed)) {
      best.emplace();
      if (!with.dry_run(*node, *best).ok()) best.reset();
    }
  } else {
    best = with.best_of_all();
  }
  if (best)
    plan = {status::success(), best->node, std::move(best->victims)};
  else
    plan.words = with.words();
  return plan;
}

GANGSCHED_INLINE std::optional<error> default_preemption::check(const limit& limited) {
  const auto bad = [](const char* field, const char* why) {
    return error{errc::out_of_range, "plugin DefaultPreemption", std::string{"args."} += field, why};
  };
  if (limited.percentage < 0 || limited.percentage > 100)
    return bad("minCandidateNodesPercentage", "is not in 0 to 100");
  if (limited.absolute < 0) return bad("minCandidateNodesAbsolute", "is negative");
  if (limited.percentage == 0 && limited.absolute == 0)
    return bad("minCandidateNodesAbsolute", "is 0 like the percentage");
  return std::nullopt;
}

GANGSCHED_INLINE result<default_preemption> default_preemption::from(const argument& args) {
  limit limited;
  bool given = false;
  argument_reader read{name};
  const bool fine = read.root(args, [&](std::string_view key, const argument& value, const std::string& path) {
    std::int64_t number = 0;
    given = true;
    if (key == "minCandidateNodesPercentage") {
      if (!read.number(value, path, 0, 100, number)) return false;
      limited.percentage = static_cast<std::int32_t>(number);
      return true;
    }
    if (key != "minCandidateNodesAbsolute") return read.unknown(path);
    if (!read.number(value, path, 0, std::numeric_limits<std::int32_t>::max(), number)) return false;
    limited.absolute = static_cast<std::int32_t>(number);
    return true;
  });
  if (!fine) return std::move(read).failure();
  if (!given) return default_preemption{};
  if (auto wrong = check(limited)) return std::move(*wrong);
  return default_preemption{limited};
}

}  // namespace gangsched::inline GANGSCHED_ABI
