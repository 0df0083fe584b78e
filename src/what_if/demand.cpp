#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "gangsched/core/saturating_add.hpp"
#include "gangsched/model/cluster_listing.hpp"
#include "gangsched/scheduling/queue_listing.hpp"
#include "gangsched/what_if/autoscaling.hpp"
#include "gangsched/what_if/node_packing.hpp"
#include "gangsched/what_if/trial_cluster.hpp"

namespace gangsched::inline GANGSCHED_ABI::what_if {
namespace detail {

/// Nodes to add, by shape in order, and where pods are to be nominated to: a node that there is, or the place of one of these.
struct intended {
  std::vector<std::size_t> shapes;
  struct wish {
    pod_id pod;
    node_id node;
    std::size_t added = 0;  ///< if there is no node
  };
  std::vector<wish> wishes = {};
};

/// A fork in which the nodes were added and the scheduler had its turns.
struct tried {
  forked in;
  std::vector<node_id> added;
};

class demand_search {
 public:
  demand_search(forked base, std::span<const node_shape> shapes, const demand_options& options)
      : base_(std::move(base)), shapes_(shapes), options_(options) {}

  result<demand_answer> answer() {
    for (const pod_id pod : base_.cluster.pods()) {
      if (const node_id node = base_.cluster.nominated_node_of(pod)) promised_.emplace(pod, node);
    }
    settle(base_, options_.now);
    wanted_ = find_wanted();
    if (auto narrowed = narrow(); !narrowed) return std::move(narrowed).error();
    demand_answer made;
    made.left = left_;
    if (wanted_.empty()) return made;
    if (auto described = describe(); !described) return std::move(described).error();
    std::vector<bool> allowed(shapes_.size(), true);
    if (auto best = cheapest(allowed, true)) made.plans.push_back(std::move(*best));
    for (std::size_t shape = 0; shape < shapes_.size() && shapes_.size() > 1; ++shape) {
      std::fill(allowed.begin(), allowed.end(), false);
      allowed[shape] = true;
      if (auto plan = cheapest(allowed, false); plan && !known(made.plans, *plan))
        made.plans.push_back(std::move(*plan));
    }
    std::stable_sort(made.plans.begin(), made.plans.end(),
                     [](const demand_plan& a, const demand_plan& b) { return a.price < b.price; });
    return made;
  }

 private:
  /// Pods that are meant and have no node yet. Others that wait are set aside.
  std::vector<pod_id> find_wanted() {
    const bool everybody = options_.pods.empty() && options_.groups.empty();
    std::set<pod_id> meant(options_.pods.begin(), options_.pods.end());
    for (const group_id group : options_.groups) add_members(group, meant);
    std::vector<pod_id> found;
    for (const pod_id pod : base_.cluster.pods()) {
      if (base_.cluster.state_of(pod) != pod_state::pending) continue;
      if (everybody || meant.contains(pod))
        found.push_back(pod);
      else
        set_aside(pod);
    }
    return found;
  }
  /// It takes no room any more, but what was promised to it is not free.
  void set_aside(pod_id pod) {
    if (gangsched::detail::inside(base_.cluster).pods.nominated[pod.row] == no_row)
      static_cast<void>(base_.cluster.remove_pod(pod));
    else
      static_cast<void>(base_.cluster.set_terminating(pod));
  }
  void add_members(group_id group, std::set<pod_id>& to) const {
    const std::optional<listed_group> its = base_.cluster.list().find(group);
    if (!its) return;
    to.insert(its->members.begin(), its->members.end());
    for (const group_id child : its->children) add_members(child, to);
  }

  [[nodiscard]] std::uint32_t most_of(std::size_t shape) const noexcept {
    const auto all = static_cast<std::uint32_t>(std::min<std::size_t>(wanted_.size(), options_.most_nodes));
    return std::min(shapes_[shape].most, all);
  }

  result<node_id> add_node(cluster& to, std::size_t shape, std::uint32_t& number) const {
    node_spec spec = shapes_[shape].like;
    const std::string stem = spec.name.empty() ? "node" : spec.name;
    do {
      spec.name = stem + "-" + std::to_string(number++);
    } while (to.find_node(spec.name));
    spec.labels["kubernetes.io/hostname"] = spec.name;
    return to.add_node(spec);
  }

  result<tried> attempt(const intended& what, bool nominating) {
    result<forked> made = base_.scheduler.fork();
    if (!made) return std::move(made).error();
    tried done{std::move(*made), {}};
    std::uint32_t number = 1;
    for (const std::size_t shape : what.shapes) {
      result<node_id> node = add_node(done.in.cluster, shape, number);
      if (!node) return std::move(node).error();
      done.added.push_back(*node);
    }
    if (nominating) {
      for (const intended::wish& one : what.wishes)
        static_cast<void>(done.in.cluster.nominate(one.pod, one.node ? one.node : done.added[one.added]));
    }
    if (auto woken = done.in.scheduler.activate(wanted_, options_.now); !woken) return std::move(woken).error();
    settle(done.in, options_.now);
    return done;
  }
  [[nodiscard]] bool whole(const tried& what) const {
    return std::all_of(wanted_.begin(), wanted_.end(), [&](pod_id pod) { return runs(what.in.cluster, pod); }) &&
           all_stay(base_.cluster, what.in.cluster);
  }

  [[nodiscard]] intended of_each(const std::vector<bool>& allowed, std::uint32_t count) const {
    intended made;
    for (std::size_t shape = 0; shape < shapes_.size(); ++shape) {
      if (allowed[shape]) made.shapes.insert(made.shapes.end(), std::min(count, most_of(shape)), shape);
    }
    return made;
  }
  /// The fewest of each shape with which all find a node by themselves, if more of them are never worse; of these, those that are used.
  [[nodiscard]] std::optional<intended> fewest_of_each(const std::vector<bool>& allowed) {
    std::optional<intended> found;
    std::uint32_t low = 1, high = 0;
    for (std::size_t shape = 0; shape < shapes_.size(); ++shape) {
      if (allowed[shape]) high = std::max(high, most_of(shape));
    }
    const auto enough = [&](std::uint32_t count) {
      const intended all = of_each(allowed, count);
      result<tried> trial = attempt(all, false);
      const bool is = trial && whole(*trial);
      if (is) found = used(all, *trial);
      return is;
    };
    std::uint32_t count = std::min<std::uint32_t>(1, high);
    while (count < high && !enough(count)) low = count + 1, count = std::min(2 * count, high);
    if (!found && (high == 0 || !enough(high))) return std::nullopt;
    for (high = count; low < high;) {
      const std::uint32_t middle = low + (high - low) / 2;
      if (enough(middle))
        high = middle;
      else
        low = middle + 1;
    }
    return found;
  }

  /// Pods that get no node with as many nodes of each shape as there may be are left.
  result<void> narrow() {
    if (wanted_.empty()) return {};
    result<tried> plenty = attempt(of_each(std::vector<bool>(shapes_.size(), true), options_.most_nodes), false);
    if (!plenty) return std::move(plenty).error();
    std::vector<pod_id> helped;
    for (const pod_id pod : wanted_) (runs(plenty->in.cluster, pod) ? helped : left_).push_back(pod);
    for (const pod_id pod : left_) set_aside(pod);
    wanted_ = std::move(helped);
    return {};
  }
  /// The nodes of @p all on which some wanted pod runs, and where each of those runs.
  [[nodiscard]] intended used(const intended& all, const tried& what) const {
    intended made;
    std::map<node_id, std::size_t> place;
    for (std::size_t i = 0; i < what.added.size(); ++i) place[what.added[i]] = i;
    std::map<std::size_t, std::size_t> kept;
    for (const pod_id pod : wanted_) {
      const node_id node = what.in.cluster.node_of(pod);
      const auto found = place.find(node);
      if (found == place.end()) {
        made.wishes.push_back({pod, node});
        continue;
      }
      const auto [at, fresh] = kept.try_emplace(found->second, made.shapes.size());
      if (fresh) made.shapes.push_back(all.shapes[found->second]);
      made.wishes.push_back({pod, {}, at->second});
    }
    return made;
  }

  /// The question of amounts: classes of pods, what each needs, and where each may be as far as its filters say now.
  result<void> describe() {
    result<forked> probe = base_.scheduler.fork();
    if (!probe) return std::move(probe).error();
    // What they were nominated to only here keeps no room from the others: nobody was evicted for it, and they get nodes.
    for (const pod_id pod : wanted_) {
      const auto found = promised_.find(pod);
      if (found == promised_.end() || found->second != probe->cluster.nominated_node_of(pod))
        static_cast<void>(probe->cluster.nominate(pod, {}));
    }
    std::vector<node_id> samples;
    std::uint32_t number = 1;
    for (std::size_t shape = 0; shape < shapes_.size(); ++shape) {
      result<node_id> node = add_node(probe->cluster, shape, number);
      if (!node) return std::move(node).error();
      samples.push_back(*node);
    }
    model::cluster_state& state = gangsched::detail::inside(probe->cluster);
    std::map<class_id, std::size_t> kinds;
    std::vector<resource_kind> resources{kinds::cpu, kinds::memory, kinds::pods};
    for (const pod_id pod : wanted_) {
      const class_id cls = state.class_of(pod.row);
      const auto [at, fresh] = kinds.try_emplace(cls, of_kind_.size());
      if (fresh) of_kind_.emplace_back();
      of_kind_[at->second].push_back(pod);
      for (const amount& one : state.classes[cls].requests) {
        if (std::find(resources.begin(), resources.end(), one.kind) == resources.end()) resources.push_back(one.kind);
      }
    }
    const auto free_on = [&](node_id node) {
      std::vector<std::int64_t> all;
      for (const resource_kind kind : resources)
        all.push_back(state.nodes.allocatable.at(node.row, kind) - state.nodes.used.at(node.row, kind));
      return all;
    };
    for (std::size_t shape = 0; shape < shapes_.size(); ++shape)
      problem_.bins.push_back({free_on(samples[shape]), shapes_[shape].price, most_of(shape)});
    std::map<node_id, std::size_t> open;
    for (const std::vector<pod_id>& alike : of_kind_) {
      packed_kind made{.count = static_cast<std::uint32_t>(alike.size()), .on_bin = std::vector<bool>(shapes_.size())};
      const pod_class& cls = state.classes[state.class_of(alike.front().row)];
      for (const resource_kind kind : resources) made.needs.push_back(kind == kinds::pods ? 1 : cls.request(kind));
      made.on_open.resize(open_.size());
      if (const auto said = probe->scheduler.explain(alike.front())) {
        for (const node_verdict& one : said->nodes) {
          if (one.code != code::success) continue;
          const auto sample = std::find(samples.begin(), samples.end(), one.node);
          if (sample != samples.end()) {
            made.on_bin[static_cast<std::size_t>(sample - samples.begin())] = true;
            continue;
          }
          const auto [at, fresh] = open.try_emplace(one.node, open_.size());
          if (fresh) {
            open_.push_back(one.node);
            problem_.open.push_back(free_on(one.node));
            made.on_open.resize(open_.size());
          }
          made.on_open[at->second] = true;
        }
      }
      // A pod that fits nowhere yet, but may beside others, counts as fitting anywhere.
      if (std::find(made.on_bin.begin(), made.on_bin.end(), true) == made.on_bin.end())
        made.on_bin.assign(shapes_.size(), true);
      problem_.items.push_back(std::move(made));
    }
    for (packed_kind& one : problem_.items) one.on_open.resize(open_.size());
    return {};
  }

  /// As a question of amounts; where that is not enough for the scheduler, from the fewest of each shape that are, by leaving
  /// out nodes.
  std::optional<demand_plan> cheapest(const std::vector<bool>& allowed, bool thoroughly) {
    if (const std::optional<packing> found = pack_cheaply(problem_, allowed, thoroughly ? options_.search_steps : 0)) {
      if (auto plan = verified(intended_by(*found))) return plan;
    }
    std::optional<intended> some = fewest_of_each(allowed);
    if (!some) return std::nullopt;
    return verified(thinned(*std::move(some)));
  }
  [[nodiscard]] intended intended_by(const packing& found) const {
    intended made{.shapes = found.bins};
    for (std::size_t kind = 0; kind < of_kind_.size(); ++kind) {
      for (std::size_t i = 0; i < of_kind_[kind].size(); ++i) {
        const std::size_t at = found.where[kind][i];
        if (at < open_.size())
          made.wishes.push_back({of_kind_[kind][i], open_[at]});
        else
          made.wishes.push_back({of_kind_[kind][i], {}, at - open_.size()});
      }
    }
    return made;
  }
  /// Without the nodes that can be left out, those first that cost most and hold least.
  [[nodiscard]] intended thinned(intended some) {
    std::uint32_t trials = options_.most_trials;
    for (std::size_t kept = 0; trials != 0 && kept < some.shapes.size(); --trials) {
      std::vector<std::size_t> pods(some.shapes.size()), order(some.shapes.size());
      for (const intended::wish& one : some.wishes) {
        if (!one.node) ++pods[one.added];
      }
      for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
      std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        const std::int64_t dear = shapes_[some.shapes[a]].price, other = shapes_[some.shapes[b]].price;
        return dear != other ? dear > other : pods[a] < pods[b];
      });
      const std::size_t gone = order[kept];
      intended less;
      for (std::size_t i = 0; i < some.shapes.size(); ++i) {
        if (i != gone) less.shapes.push_back(some.shapes[i]);
      }
      for (intended::wish one : some.wishes) {
        if (!one.node && one.added == gone) continue;
        if (!one.node && one.added > gone) --one.added;
        less.wishes.push_back(one);
      }
      bool smaller = false;
      for (const bool nominating : {true, false}) {
        if (result<tried> trial = attempt(less, nominating); trial && whole(*trial)) {
          some = used(less, *trial);
          smaller = true;
          break;
        }
      }
      kept = smaller ? 0 : kept + 1;
    }
    return some;
  }

  /// The plan as the scheduler carried it out, if it did.
  std::optional<demand_plan> verified(const intended& what) {
    result<tried> alone = attempt(what, false);
    const bool by_itself = alone && whole(*alone);
    result<tried> done = by_itself ? std::move(alone) : attempt(what, true);
    if (!done || !whole(*done)) return std::nullopt;
    const intended carried_out = used(what, *done);
    demand_plan made{.by_itself = by_itself};
    for (const std::size_t shape : carried_out.shapes) {
      made.nodes.push_back({shape, {}});
      made.price = saturating_add(made.price, shapes_[shape].price);
    }
    for (const intended::wish& one : carried_out.wishes) {
      if (one.node)
        made.elsewhere.push_back({one.pod, one.node});
      else
        made.nodes[one.added].pods.push_back(one.pod);
    }
    return made;
  }
  [[nodiscard]] static bool known(const std::vector<demand_plan>& all, const demand_plan& one) {
    const auto counted = [](const demand_plan& plan) {
      std::map<std::size_t, std::size_t> by_shape;
      for (const demand_plan::added_node& node : plan.nodes) ++by_shape[node.shape];
      return by_shape;
    };
    return std::any_of(all.begin(), all.end(),
                       [&](const demand_plan& other) { return counted(other) == counted(one); });
  }

  forked base_;
  std::span<const node_shape> shapes_;
  const demand_options& options_;
  std::vector<pod_id> wanted_, left_;
  std::map<pod_id, node_id> promised_;        // who was nominated before the question
  std::vector<std::vector<pod_id>> of_kind_;  // pods by kind of the problem
  std::vector<node_id> open_;                 // nodes by open bin of it
  packing_problem problem_;
};

}  // namespace detail
}  // namespace gangsched::inline GANGSCHED_ABI::what_if

namespace gangsched::inline GANGSCHED_ABI {

GANGSCHED_INLINE result<demand_answer> demand(const scheduler& by, std::span<const node_shape> shapes,
                                              const demand_options& options) {
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    if (shapes[i].price < 0)
      return error{errc::out_of_range, "shapes[" + std::to_string(i) + "]", "price", "is below 0"};
  }
  result<forked> base = by.fork();
  if (!base) return std::move(base).error();
  for (std::size_t i = 0; i < options.pods.size(); ++i) {
    if (!base->cluster.contains(options.pods[i]))
      return error{errc::unknown, "pods[" + std::to_string(i) + "]", "id", "names no pod of this cluster"};
  }
  for (std::size_t i = 0; i < options.groups.size(); ++i) {
    if (!base->cluster.contains(options.groups[i]))
      return error{errc::unknown, "groups[" + std::to_string(i) + "]", "id", "names no group of this cluster"};
  }
  if (auto told = base->scheduler.catch_up(options.now); !told) return std::move(told).error();
  return what_if::detail::demand_search{std::move(*base), shapes, options}.answer();
}

}  // namespace gangsched::inline GANGSCHED_ABI
