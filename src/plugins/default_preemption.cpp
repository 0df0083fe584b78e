#include "gangsched/plugins/default_preemption.hpp"

#include <algorithm>
#include <compare>
#include <iterator>
#include <limits>

#include "gangsched/core/hash.hpp"
#include "gangsched/framework/argument_reader.hpp"

namespace gangsched {
namespace detail {

/// A pod that may have to go, with what it is sorted by.
struct potential_victim {
  pod_id pod;
  std::int32_t priority;
  instant start;  ///< without one it counts as started now: the youngest
  std::uint64_t arrival;
  bool violating = false;
};

GANGSCHED_INLINE instant start_of(const pod_info& pod) { return pod.start_time().value_or(instant::max()); }

GANGSCHED_INLINE bool more_important(const potential_victim& a, const potential_victim& b) {
  if (a.priority != b.priority) return a.priority > b.priority;
  return a.start != b.start ? a.start < b.start : a.arrival < b.arrival;
}

/// Added to every priority in a sum, so that fewer victims are better even if their priorities are negative.
inline constexpr std::int64_t priority_offset = std::int64_t{1} << 31;

/// A disruption budget with what it still allows in one dry run.
struct open_budget {
  budget_view budget;
  std::int64_t allowed;
};

}  // namespace detail

/// One call's tools; the lists are kept from node to node.
struct default_preemption::search {
  /// What nodes are compared by, most significant first; lower is better.
  struct cost {
    std::int64_t violations = 0;
    std::int64_t highest = 0;  ///< priority of the most important victim
    std::int64_t sum = 0;      ///< of priority + 2^31
    std::int64_t victims = 0;
    std::int64_t late = 0;  ///< minus the earliest start among the victims of highest priority
    friend auto operator<=>(const cost&, const cost&) = default;
  };
  struct remembered {
    bool stale = true;
    std::optional<cost> price;  ///< if the node is a candidate
  };
  struct memory {
    std::vector<remembered> nodes;  ///< by row
  };

  trial& attempt;
  const pod_info& pod;
  std::vector<detail::open_budget> budgets;
  std::vector<detail::potential_victim> victims;

  search(trial& t, const pod_info& p) : attempt(t), pod(p) {
    t.cluster().each_budget([&](const budget_view& one) { budgets.push_back({one, 0}); });
  }

  void collect(const node_info& node) {
    victims.clear();
    node.each_pod([&](const pod_info& other) {
      if (other.priority() >= pod.priority()) return;
      victims.push_back({other.id(), other.priority(), detail::start_of(other), other.arrival()});
    });
    std::sort(victims.begin(), victims.end(), detail::more_important);
  }

  /// Potential victims use the budgets up in order of importance, also those that will be put back; all budgets of a pod count.
  void mark_violating() {
    for (detail::open_budget& one : budgets) one.allowed = one.budget.spec().disruptions_allowed;
    for (detail::potential_victim& victim : victims) {
      const pod_info info = *attempt.cluster().pod(victim.pod);
      for (detail::open_budget& one : budgets) {
        if (!one.budget.covers(info) || one.budget.disrupts(info)) continue;
        if (--one.allowed < 0) victim.violating = true;
      }
    }
  }

  status dry_run(node_id node, candidate& out) {
    const std::optional<node_info> there = attempt.cluster().node(node);
    if (there) collect(*there);
    if (!there || victims.empty()) return status::unresolvable("No preemption victims found for incoming pod");
    for (const detail::potential_victim& victim : victims) attempt.remove(victim.pod);
    const status said = attempt.filter(pod.id(), node);
    if (said.ok()) reprieve(node, out);
    attempt.reset();
    if (said.ok() && out.victims.empty()) return status::error("preemption found no victim though the pod did not fit");
    return said;
  }

  void reprieve(node_id node, candidate& out) {
    if (!budgets.empty()) mark_violating();
    out = {node, {}, 0};
    std::vector<bool> stays(victims.size());
    for (const bool violating : {true, false}) {
      for (std::size_t i = 0; i < victims.size(); ++i) {
        if (victims[i].violating != violating) continue;
        attempt.restore(victims[i].pod);
        stays[i] = attempt.filter(pod.id(), node).ok();
        if (stays[i]) continue;
        attempt.remove(victims[i].pod);
        out.violations += violating ? 1 : 0;
      }
    }
    // Of equally important ones those that break a budget come first, as in Kubernetes.
    for (std::size_t first = 0, last = 0; first < victims.size(); first = last) {
      while (last < victims.size() && same_importance(victims[first], victims[last])) ++last;
      for (const bool violating : {true, false}) {
        for (std::size_t i = first; i < last; ++i) {
          if (!stays[i] && victims[i].violating == violating) out.victims.push_back(victims[i].pod);
        }
      }
    }
  }
  static bool same_importance(const detail::potential_victim& a, const detail::potential_victim& b) {
    return a.priority == b.priority && a.start == b.start;
  }

  /// @pre at least one victim
  [[nodiscard]] cost cost_of(const candidate& one) const {
    const cluster_view cluster = attempt.cluster();
    const pod_info first = *cluster.pod(one.victims.front());
    instant earliest = detail::start_of(first);
    cost made{one.violations, first.priority(), 0, static_cast<std::int64_t>(one.victims.size()), 0};
    for (const pod_id id : one.victims) {
      const pod_info victim = *cluster.pod(id);
      made.sum += victim.priority() + detail::priority_offset;
      if (victim.priority() == first.priority()) earliest = std::min(earliest, detail::start_of(victim));
    }
    made.late = -earliest.count();
    return made;
  }

  /// The cost of the node if it is a candidate.
  std::optional<cost> try_node(const node_info& node, candidate& out) {
    bool anybody = false;  // the cheapest test first
    node.each_pod([&](const pod_info& other) { anybody = anybody || other.priority() < pod.priority(); });
    if (!anybody || attempt.filter(pod.id(), node.id()).code != code::unschedulable) return std::nullopt;
    if (!dry_run(node.id(), out).ok()) return std::nullopt;
    return cost_of(out);
  }

  /// The best node by what is remembered; nodes that changed are tried again.
  std::optional<node_id> best_of(memory& known, const std::vector<row_t>& changed) {
    const cluster_view cluster = attempt.cluster();
    known.nodes.resize(cluster.node_rows());
    for (const row_t row : changed) known.nodes[row].stale = true;
    // On its own nominated node the pod does not stand in its own way, as others see it do.
    const std::optional<node_info> own = pod.nominated_node();
    const row_t own_row = own ? own->id().row : no_row;
    candidate found;
    std::optional<cost> best;
    row_t best_row = no_row;
    for (row_t row = 0; row < known.nodes.size(); ++row) {
      std::optional<cost> here;
      if (row == own_row) {
        here = try_node(*own, found);
      } else {
        remembered& one = known.nodes[row];
        if (one.stale) {
          const std::optional<node_info> node = cluster.node_at(row);
          one = {false, node ? try_node(*node, found) : std::nullopt};
        }
        here = one.price;
      }
      if (here && (!best || *here < *best)) best = here, best_row = row;
    }
    return best ? std::optional{cluster.node_at(best_row)->id()} : std::nullopt;
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
      if (!here || (best && !(*here < price))) continue;
      best = std::move(found);
      price = *here;
    }
    return best;
  }
  /// No candidate there can cost less: somebody has to go, at best the least important pod.
  static cost least_cost(const node_info& node) {
    std::int64_t lowest = std::numeric_limits<std::int32_t>::max();
    node.each_pod([&](const pod_info& other) { lowest = std::min(lowest, std::int64_t{other.priority()}); });
    return {0, lowest, lowest + detail::priority_offset, 1, std::numeric_limits<std::int64_t>::min()};
  }

  /// Kubernetes' way: the search ends when there is a candidate without broken budgets and enough candidates altogether.
  std::vector<candidate> some(const limit& limited) {
    const std::vector<node_id> nodes = potential_nodes();
    if (nodes.empty()) return {};
    const std::size_t count = nodes.size();
    const std::size_t share = count * static_cast<std::size_t>(limited.percentage) / 100;
    const std::size_t wanted = std::min(count, std::max(share, static_cast<std::size_t>(limited.absolute)));
    const std::size_t offset = mix64(limited.seed ^ mix64(pod.arrival())) % count;
    std::vector<candidate> clean, violating;
    for (std::size_t i = 0; i < count; ++i) {
      candidate found;
      if (!dry_run(nodes[(offset + i) % count], found).ok()) continue;
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
      if (dry_run(node, found).ok()) made.push_back(std::move(found));
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
  if (pod.spec().preemption == preemption_policy::never) {
    return status::unschedulable("not eligible due to preemptionPolicy=Never.");
  }
  const std::optional<node_info> node = pod.nominated_node();
  if (!node || attempt.filter(pod.id(), node->id()).code == code::unresolvable) return status::success();
  bool waits = false;
  node->each_pod([&](const pod_info& other) {
    waits = waits || (other.terminating() && other.preempted() && other.priority() < pod.priority());
  });
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
             return there && there->node() && there->node()->id() == one.node;
           });
  };
  for (const extender& one : extenders_) {
    if (candidates.empty()) break;
    const auto wanted = [&](const std::string& resource) { return pod.request(resource) != 0; };
    if (!one.managed_resources.empty() && std::none_of(one.managed_resources.begin(), one.managed_resources.end(), wanted)) continue;
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
    return plan;
  }
  const std::optional<std::int32_t> lowest = attempt.cluster().lowest_priority();
  if (!lowest || *lowest >= pod.priority()) return plan;
  search with{attempt, pod};
  std::optional<candidate> best;
  std::vector<row_t> changed;
  if (limit_ || !extenders_.empty()) {
    std::vector<candidate> candidates = limit_ ? with.some(*limit_) : with.all();
    if (const status said = ask_extenders(attempt, pod, candidates); !said.ok()) {
      plan.verdict = said;
      plan.keep_nomination = true;
      return plan;
    }
    best = with.cheapest(candidates);
  } else if (auto* const known = attempt.recall<search::memory>(pod.id(), changed)) {
    if (const std::optional<node_id> node = with.best_of(*known, changed)) {
      best.emplace();
      if (!with.dry_run(*node, *best).ok()) best.reset();
    }
  } else {
    best = with.best_of_all();
  }
  if (best) plan = {status::success(), best->node, std::move(best->victims)};
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

}  // namespace gangsched
