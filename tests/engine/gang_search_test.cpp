// Gangs and trees on small clusters against a search of everything, written plainly here: what is bound may be, what is refused cannot
// be, and what failed has left nothing behind.
#include "support/inside.hpp"
#include "world.hpp"

#include <functional>
#include <map>
#include <numeric>
#include <tuple>

#include "support/dice.hpp"

namespace gangsched::testing::gang_search_test {

namespace {

constexpr const char* proved = "there is no place for the group's minimum";

struct machine {
  int cpus, gpus;
  int rack, zone;  ///< -1: without the label
  bool fast;
};
struct kind {
  int cpus = 1, gpus = 0;
  bool fast = false;
  int role = -1;
  friend bool operator==(const kind&, const kind&) = default;
};
struct wanted_gang {
  std::vector<kind> members;
  int least = 1;
  std::vector<int> role_least = {};  ///< by role
  std::vector<std::string> within = {};
  bool or_anywhere = false;
  int spread = 0;  ///< at most so many a rack, if not 0
};
struct free_room {
  std::vector<int> cpus, gpus;
};

int domain(const machine& one, const std::string& key) { return key == "rack" ? one.rack : one.zone; }

/// Whether the members find places, so many as are needed; `rest` is what has to find one afterwards.
class everything {
 public:
  explicit everything(const std::vector<machine>& machines) : machines_(&machines) {
    for (const machine& one : machines) room_.cpus.push_back(one.cpus), room_.gpus.push_back(one.gpus);
  }
  using step = std::function<bool()>;

  /// In one of the domains of @p key among @p nodes; in all of @p nodes, if there is no key.
  bool in_a_domain(const std::string& key, const std::vector<int>& nodes,
                   const std::function<bool(const std::vector<int>&)>& then) {
    if (key.empty()) return then(nodes);
    for (int which = 0; which < 6; ++which) {
      std::vector<int> inside;
      for (const int node : nodes) {
        if (domain((*machines_)[static_cast<std::size_t>(node)], key) == which) inside.push_back(node);
      }
      if (!inside.empty() && then(inside)) return true;
    }
    return false;
  }
  /// The tier of the first level that has room: 0, 1, …; -1 if none.
  int tier_of(const wanted_gang& gang) {
    std::vector<std::string> levels = gang.within;
    if (levels.empty() || gang.or_anywhere) levels.emplace_back();
    for (std::size_t tier = 0; tier < levels.size(); ++tier) {
      if (in_a_domain(levels[tier], all(), [&](const auto& nodes) { return fits(gang, nodes, [] { return true; }); }))
        return static_cast<int>(tier);
    }
    return -1;
  }
  bool fits(const wanted_gang& gang, const std::vector<int>& nodes, const step& rest) {
    std::vector<int> chosen;
    return place(gang, nodes, chosen, rest);
  }
  [[nodiscard]] std::vector<int> all() const {
    std::vector<int> nodes(machines_->size());
    std::iota(nodes.begin(), nodes.end(), 0);
    return nodes;
  }

 private:
  static constexpr int nowhere = 99;

  [[nodiscard]] bool enough(const wanted_gang& gang, const std::vector<int>& chosen) const {
    std::vector<int> roles(gang.role_least.size(), 0);
    int count = 0;
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      if (chosen[i] == nowhere) continue;
      ++count;
      if (gang.members[i].role >= 0) ++roles[static_cast<std::size_t>(gang.members[i].role)];
    }
    for (std::size_t role = 0; role < roles.size(); ++role) {
      if (roles[role] < gang.role_least[role]) return false;
    }
    return count >= gang.least;
  }
  /// Members stand sorted by kind; alike ones take nodes in ascending order, `nowhere` last.
  bool place(const wanted_gang& gang, const std::vector<int>& nodes, std::vector<int>& chosen, const step& rest) {
    if (enough(gang, chosen)) return rest();  // with more of them there is less room for the rest
    const std::size_t at = chosen.size();
    if (at == gang.members.size()) return false;
    const kind& one = gang.members[at];
    const int lowest = at > 0 && gang.members[at - 1] == one ? chosen[at - 1] : 0;
    for (const int node : nodes) {
      if (node < lowest) continue;
      const auto n = static_cast<std::size_t>(node);
      const machine& there = (*machines_)[n];
      if (room_.cpus[n] < one.cpus || room_.gpus[n] < one.gpus || (one.fast && !there.fast)) continue;
      if (gang.spread != 0) {
        const auto same = [&](int other) {
          return other != nowhere && (*machines_)[static_cast<std::size_t>(other)].rack == there.rack;
        };
        if (there.rack < 0 || std::count_if(chosen.begin(), chosen.end(), same) >= gang.spread) continue;
      }
      room_.cpus[n] -= one.cpus, room_.gpus[n] -= one.gpus;
      chosen.push_back(node);
      const bool found = place(gang, nodes, chosen, rest);
      chosen.pop_back();
      room_.cpus[n] += one.cpus, room_.gpus[n] += one.gpus;
      if (found) return true;
    }
    chosen.push_back(nowhere);
    const bool found = place(gang, nodes, chosen, rest);
    chosen.pop_back();
    return found;
  }

  const std::vector<machine>* machines_;
  free_room room_;
};

std::vector<machine> roll_machines(dice& roll, std::size_t most) {
  std::vector<machine> all(2 + roll.below(most - 1));
  const int racks = static_cast<int>(roll.between(1, 3));
  for (machine& one : all) {
    const int rack = roll.percent(8) ? -1 : static_cast<int>(roll.below(static_cast<std::size_t>(racks)));
    // Racks lie in one zone; the second one may be alone in its.
    one = {static_cast<int>(roll.between(1, 7)), static_cast<int>(roll.between(0, 3)), rack, rack < 0 ? -1 : rack / 2,
           roll.percent(60)};
  }
  return all;
}
std::vector<kind> roll_members(dice& roll, std::size_t most, std::size_t kinds) {
  std::vector<kind> choice(kinds);
  for (kind& one : choice) {
    one = {static_cast<int>(roll.between(1, 3)), static_cast<int>(roll.below(kinds == 1 ? 1 : 2)), roll.percent(20),
           -1};
  }
  std::vector<kind> all;
  for (std::size_t i = 1 + roll.below(most); i > 0; --i) all.push_back(roll.of(choice));
  return all;
}
std::vector<std::string> roll_within(dice& roll) {
  const std::vector<std::vector<std::string>> choice{{}, {"rack"}, {"zone"}, {"rack", "zone"}};
  return choice[roll.below(choice.size())];
}
bool by_kind(const kind& a, const kind& b) {
  return std::tuple{a.cpus, a.gpus, a.fast, a.role} < std::tuple{b.cpus, b.gpus, b.fast, b.role};
}

/// The same cluster with its nodes added in another order.
struct instance : world {
  std::vector<node_id> nodes;  ///< by index of the machine

  instance(const std::vector<machine>& all, const std::vector<int>& order, const scheduler_options& options)
      : world(profiles::kube_default(), options), nodes(all.size()) {
    for (const int which : order) {
      const machine& one = all[static_cast<std::size_t>(which)];
      a_node node{"n" + std::to_string(which)};
      node.cpu(one.cpus).gpus(one.gpus);
      if (one.rack >= 0)
        node.label("rack", "r" + std::to_string(one.rack)).label("zone", "z" + std::to_string(one.zone));
      if (one.fast) node.label("fast", "yes");
      nodes[static_cast<std::size_t>(which)] = add(node);
    }
  }
  static group_spec spec_of(const std::string& name, const wanted_gang& gang) {
    group_spec made = a_gang{name, gang.least};
    for (std::size_t role = 0; role < gang.role_least.size(); ++role) {
      std::get<gangsched::gang>(made.policy).roles.push_back({"role" + std::to_string(role), gang.role_least[role]});
    }
    made.topology.within = gang.within, made.topology.or_anywhere = gang.or_anywhere;
    if (gang.spread != 0) made.topology.spread_key = "rack", made.topology.spread_most = gang.spread;
    return made;
  }
  void add_pods(group_id group, const std::string& name, const wanted_gang& gang, dice& roll) {
    std::vector<std::size_t> order(gang.members.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[roll.below(i)]);
    for (const std::size_t i : order) {
      const kind& one = gang.members[i];
      a_pod pod{name + std::to_string(i)};
      pod.cpu(one.cpus).gpus(one.gpus).in(group);
      if (one.fast) pod.select("fast", "yes");
      if (one.role >= 0) pod.spec.role = "role" + std::to_string(one.role);
      added.push_back({add(pod), one});
    }
  }
  /// By index of the member: its node, or -1.
  [[nodiscard]] std::vector<int> where(const std::string& name, const wanted_gang& gang) const {
    std::vector<int> all;
    for (std::size_t i = 0; i < gang.members.size(); ++i) {
      const node_id node = cluster.node_of(pod(name + std::to_string(i)));
      const auto found = std::find(nodes.begin(), nodes.end(), node);
      all.push_back(found == nodes.end() ? -1 : static_cast<int>(found - nodes.begin()));
    }
    return all;
  }
  /// Every node has requested what its pods request, and no more than it has (I7).
  void check_nodes() const {
    for (const node_id node : nodes) {
      std::int64_t cpus = 0, gpus = 0;
      for (const auto& [pod, one] : added) {
        if (cluster.node_of(pod) == node) cpus += 1000 * one.cpus, gpus += one.gpus;
      }
      CHECK(cluster.requested(node, "cpu") == cpus);
      CHECK(cluster.requested(node, "nvidia.com/gpu") == gpus);
      CHECK(cpus <= cluster.allocatable(node, "cpu"));
      CHECK(gpus <= cluster.allocatable(node, "nvidia.com/gpu"));
    }
  }
  std::vector<std::pair<pod_id, kind>> added;
};

/// How many members have a node; and no rule of the gang is broken by those (I1).
int check_gang(const std::vector<machine>& machines, const wanted_gang& gang, const std::vector<int>& where) {
  std::map<int, int> by_rack, by_role;
  int count = 0;
  for (std::size_t i = 0; i < where.size(); ++i) {
    if (where[i] < 0) continue;
    ++count, ++by_role[gang.members[i].role];
    const machine& there = machines[static_cast<std::size_t>(where[i])];
    if (gang.members[i].fast) CHECK(there.fast);
    if (gang.spread != 0) CHECK(there.rack >= 0);
    ++by_rack[there.rack];
  }
  if (count == 0) return 0;
  CHECK(count >= gang.least);
  for (std::size_t role = 0; role < gang.role_least.size(); ++role)
    CHECK(by_role[static_cast<int>(role)] >= gang.role_least[role]);
  for (const auto& [rack, members] : by_rack) {
    if (gang.spread != 0) CHECK(members <= gang.spread);
  }
  return count;
}
/// The first level on which they share a domain.
int tier_of(const std::vector<machine>& machines, const wanted_gang& gang, const std::vector<int>& where) {
  for (std::size_t tier = 0; tier < gang.within.size(); ++tier) {
    std::vector<int> all;
    for (const int node : where) {
      if (node >= 0) all.push_back(domain(machines[static_cast<std::size_t>(node)], gang.within[tier]));
    }
    if (std::all_of(all.begin(), all.end(), [&](int one) { return one >= 0 && one == all.front(); }))
      return static_cast<int>(tier);
  }
  return gang.within.empty() || gang.or_anywhere ? static_cast<int>(gang.within.size()) : -1;
}
struct answer {
  bool placed = false;
  bool searched = false;  ///< by the complete search
  std::string reason = {};
};
answer run_once(instance& w) {
  const std::uint64_t before = inside(w.cluster).digest_with_derived();
  const cycle done = w.scheduler.schedule_cycle(w.now);
  REQUIRE(done.error() == nullptr);
  answer made;
  for (const decision& one : done) {
    made.placed = made.placed || one.kind == decision_kind::bind;
    if (one.reason != nullptr) made.reason = one.reason;
  }
  made.searched = w.scheduler.statistics().search_steps != 0;
  if (!made.placed) CHECK(inside(w.cluster).digest_with_derived() == before);
  w.check_nodes();
  return made;
}
std::vector<int> shuffled(std::size_t count, dice& roll) {
  std::vector<int> order(count);
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t i = count; i > 1; --i) std::swap(order[i - 1], order[roll.below(i)]);
  return order;
}
scheduler_options roll_options(dice& roll) {
  scheduler_options options;
  options.seed = roll.next();
  options.ties = static_cast<tie_rule>(roll.below(3));
  return options;
}

}  // namespace

TEST_CASE("a small gang is placed if and only if there is a place", "[engine][group][search][property]") {
  int alike = 0, mixed = 0, refused = 0, missed = 0, too_far = 0, searched = 0;
  for (std::uint64_t seed = 0; seed < 12000; ++seed) {
    dice roll{seed};
    const std::vector<machine> machines = roll_machines(roll, 6);
    wanted_gang gang;
    gang.members = roll_members(roll, 8, roll.percent(25) ? 1 : 2 + roll.below(2));
    const auto size = static_cast<int>(gang.members.size());
    gang.least = static_cast<int>(roll.between((size + 1) / 2, size));
    gang.within = roll_within(roll);
    gang.or_anywhere = !gang.within.empty() && roll.percent(25);
    const bool one_class =
        std::all_of(gang.members.begin(), gang.members.end(), [&](const kind& one) { return one == gang.members[0]; });
    if (roll.percent(25)) {
      for (kind& one : gang.members) one.role = static_cast<int>(roll.below(3)) - 1;
      for (int role = 0; role < 2; ++role) gang.role_least.push_back(static_cast<int>(roll.between(1, 2)));
    }
    if (roll.percent(15)) gang.spread = static_cast<int>(roll.between(1, 3));
    std::sort(gang.members.begin(), gang.members.end(), by_kind);
    domain_choice choice = domain_choice::scored;
    if (one_class && roll.percent(60)) choice = static_cast<domain_choice>(1 + roll.below(4));

    INFO("seed " << seed << ", members " << size << ", least " << gang.least << ", choice "
                 << static_cast<int>(choice));
    const auto with_order = [&](const std::vector<int>& order) {
      dice pods{seed};
      instance w{machines, order, roll_options(pods)};
      group_spec spec = instance::spec_of("gang", gang);
      spec.topology.choice = choice;
      w.add_pods(w.add(spec), "p", gang, pods);
      const answer made = run_once(w);
      const std::vector<int> where = w.where("p", gang);
      CHECK((check_gang(machines, gang, where) > 0) == made.placed);
      return std::pair{made, made.placed ? tier_of(machines, gang, where) : -1};
    };
    const auto [made, tier] = with_order(shuffled(machines.size(), roll));
    const int best = everything{machines}.tier_of(gang);
    if (made.placed) {
      CHECK(tier >= 0);
      REQUIRE(best >= 0);
      if (one_class && choice != domain_choice::balanced) CHECK(tier == best);
      too_far += tier > best ? 1 : 0;
      searched += made.searched ? 1 : 0;
    } else {
      ++refused;
      if (one_class) CHECK(best < 0);
      if (made.reason == proved) CHECK(best < 0);
      missed += best >= 0 ? 1 : 0;
    }
    ++(one_class ? alike : mixed);
    // Another order of the nodes changes who goes where, not whether (I9).
    CHECK(with_order(shuffled(machines.size(), roll)).first.placed == made.placed);
  }
  INFO("mixed " << mixed << ", refused " << refused << ", missed " << missed << ", found by search " << searched
                << ", in a later tier than need be " << too_far);
  CHECK(alike >= 3000);
  CHECK(mixed >= 3000);
  CHECK(refused >= 1000);
  CHECK(searched >= 50);
  CHECK(missed * 1000 < mixed);
  CHECK(too_far * 100 < mixed);
}

TEST_CASE("a small tree is placed if and only if there is a place", "[engine][group][search][tree][property]") {
  int trees = 0, refused = 0, missed = 0, searched = 0;
  for (std::uint64_t seed = 0; seed < 6000; ++seed) {
    dice roll{seed};
    const std::vector<machine> machines = roll_machines(roll, 6);
    std::vector<wanted_gang> children(2 + roll.below(2));
    for (wanted_gang& child : children) {
      child.members = roll_members(roll, children.size() == 2 ? 4 : 2, 1 + roll.below(2));
      const auto size = static_cast<int>(child.members.size());
      child.least = static_cast<int>(roll.between((size + 1) / 2, size));
      child.within = roll_within(roll);
      std::sort(child.members.begin(), child.members.end(), by_kind);
    }
    const int least = static_cast<int>(roll.between(1, static_cast<std::int64_t>(children.size())));
    const std::vector<std::string> within = roll_within(roll);
    INFO("seed " << seed << ", children " << children.size() << ", least " << least);

    instance w{machines, shuffled(machines.size(), roll), roll_options(roll)};
    group_spec spec{.name = "root", .policy = gang{.min_count = least}, .composite = true};
    spec.topology.within = within;
    const group_id root = w.add(spec);
    for (std::size_t i = 0; i < children.size(); ++i) {
      group_spec child = instance::spec_of("c" + std::to_string(i), children[i]);
      child.parent = root;
      w.add_pods(w.add(child), "p" + std::to_string(i) + "-", children[i], roll);
    }
    const answer made = run_once(w);
    int stand = 0;
    std::vector<int> everywhere;
    for (std::size_t i = 0; i < children.size(); ++i) {
      const std::vector<int> where = w.where("p" + std::to_string(i) + "-", children[i]);
      if (check_gang(machines, children[i], where) == 0) continue;
      ++stand;
      CHECK(tier_of(machines, children[i], where) >= 0);
      everywhere.insert(everywhere.end(), where.begin(), where.end());
    }
    if (made.placed) {
      CHECK(stand >= least);
      wanted_gang as_root;
      as_root.within = within;
      CHECK(tier_of(machines, as_root, everywhere) >= 0);
    } else {
      CHECK(stand == 0);
    }

    everything all{machines};
    const std::function<bool(std::size_t, int, const std::vector<int>&)> fits = [&](std::size_t at, int standing,
                                                                                    const std::vector<int>& nodes) {
      if (standing == least) return true;
      if (at == children.size()) return false;
      std::vector<std::string> levels = children[at].within;
      if (levels.empty()) levels.emplace_back();
      for (const std::string& level : levels) {
        const bool found = all.in_a_domain(level, nodes, [&](const std::vector<int>& inside) {
          return all.fits(children[at], inside, [&] { return fits(at + 1, standing + 1, nodes); });
        });
        if (found) return true;
      }
      return fits(at + 1, standing, nodes);
    };
    std::vector<std::string> levels = within;
    if (levels.empty()) levels.emplace_back();
    const bool possible = std::any_of(levels.begin(), levels.end(), [&](const std::string& level) {
      return all.in_a_domain(level, all.all(), [&](const std::vector<int>& nodes) { return fits(0, 0, nodes); });
    });
    ++trees;
    if (made.placed)
      CHECK(possible);
    else
      ++refused;
    searched += made.placed && made.searched ? 1 : 0;
    if (!made.placed && made.reason == proved) CHECK_FALSE(possible);
    missed += possible && !made.placed ? 1 : 0;
  }
  INFO("trees " << trees << ", refused " << refused << ", missed " << missed << ", found by search " << searched);
  CHECK(searched >= 50);
  CHECK(refused > 300);
  CHECK(trees - refused > 300);
  CHECK(missed * 1000 < trees);
}

TEST_CASE("slices are placed whole, each in a domain of its own level, if and only if there is a place",
          "[engine][group][search][property]") {
  int placed = 0, refused = 0, missed = 0, planned = 0;
  for (std::uint64_t seed = 0; seed < 6000; ++seed) {
    dice roll{seed};
    const std::vector<machine> machines = roll_machines(roll, 6);
    wanted_gang gang;  // in order of rank
    gang.members = roll_members(roll, 8, 1 + roll.below(2));
    const auto size = static_cast<int>(gang.members.size());
    const bool one_class =
        std::all_of(gang.members.begin(), gang.members.end(), [&](const kind& one) { return one == gang.members[0]; });
    const int inner = static_cast<int>(roll.between(1, 3)), outer = roll.percent(40) ? inner * 2 : 0;
    const bool plan = one_class && roll.percent(50);
    const int unit = outer != 0 ? outer : inner;
    gang.least = static_cast<int>(roll.between((size + 1) / 2, size));
    // whole runs only
    if (plan)
      gang.members.resize(static_cast<std::size_t>(size / unit * unit)),
          gang.least = (gang.least + unit - 1) / unit * unit;
    if (gang.members.empty() || gang.least > static_cast<int>(gang.members.size())) continue;
    INFO("seed " << seed << ", members " << gang.members.size() << ", least " << gang.least << ", slices of " << outer
                 << " and " << inner << (plan ? ", planned" : ""));

    instance w{machines, shuffled(machines.size(), roll), roll_options(roll)};
    group_spec spec = instance::spec_of("gang", gang);
    if (outer != 0) spec.topology.slices.push_back({"zone", outer});
    spec.topology.slices.push_back({"rack", inner});
    if (plan) spec.topology.choice = static_cast<domain_choice>(1 + roll.below(3));
    const group_id group = w.add(spec);
    for (std::size_t i = 0; i < gang.members.size(); ++i) {
      const kind& one = gang.members[i];
      a_pod pod{"p" + std::to_string(i)};
      pod.cpu(one.cpus).gpus(one.gpus).in(group);
      if (one.fast) pod.select("fast", "yes");
      pod.spec.rank = static_cast<std::int32_t>(i);
      w.added.push_back({w.add(pod), one});
    }
    const answer made = run_once(w);
    const std::vector<int> where = w.where("p", gang);
    CHECK((check_gang(machines, gang, where) > 0) == made.placed);
    const auto whole = [&](int run, const std::string& key) {
      for (std::size_t from = 0; from < where.size(); from += static_cast<std::size_t>(run)) {
        for (std::size_t i = from; i < std::min(where.size(), from + static_cast<std::size_t>(run)); ++i) {
          CHECK((where[i] < 0) == (where[from] < 0));
          if (where[i] < 0 || where[from] < 0) continue;
          CHECK(domain(machines[static_cast<std::size_t>(where[i])], key) ==
                domain(machines[static_cast<std::size_t>(where[from])], key));
          CHECK(domain(machines[static_cast<std::size_t>(where[i])], key) >= 0);
        }
      }
    };
    whole(inner, "rack");
    if (outer != 0) whole(outer, "zone");

    everything all{machines};
    const auto take = [&](std::size_t from, int count) {
      wanted_gang run;
      const auto begin = gang.members.begin() + static_cast<std::ptrdiff_t>(from);
      run.members.assign(begin, begin + std::min<std::ptrdiff_t>(count, gang.members.end() - begin));
      run.least = static_cast<int>(run.members.size());
      std::sort(run.members.begin(), run.members.end(), by_kind);
      return run;
    };
    // The inner runs of [at, end), then what comes after them.
    const std::function<bool(std::size_t, std::size_t, const std::vector<int>&, const everything::step&)> inner_runs =
        [&](std::size_t at, std::size_t end, const std::vector<int>& nodes, const everything::step& rest) {
          if (at >= end) return rest();
          return all.in_a_domain("rack", nodes, [&](const std::vector<int>& inside) {
            return all.fits(take(at, std::min(inner, static_cast<int>(end - at))), inside,
                            [&] { return inner_runs(at + static_cast<std::size_t>(inner), end, nodes, rest); });
          });
        };
    const std::function<bool(std::size_t, int)> runs = [&](std::size_t at, int count) {
      if (count >= gang.least) return true;
      if (at >= gang.members.size()) return false;
      const std::size_t end = std::min(gang.members.size(), at + static_cast<std::size_t>(unit));
      const bool found = all.in_a_domain(outer != 0 ? "zone" : "", all.all(), [&](const std::vector<int>& nodes) {
        return inner_runs(at, end, nodes, [&] { return runs(end, count + static_cast<int>(end - at)); });
      });
      return found || runs(end, count);
    };
    const bool possible = runs(0, 0);
    if (made.placed) CHECK(possible);
    if (!made.placed && made.reason == proved) CHECK_FALSE(possible);
    if (one_class) CHECK(possible == made.placed);
    (made.placed ? placed : refused) += 1;
    planned += plan && made.placed ? 1 : 0;
    missed += possible && !made.placed ? 1 : 0;
  }
  INFO("placed " << placed << ", planned " << planned << ", refused " << refused << ", missed " << missed);
  CHECK(placed > 1000);
  CHECK(planned > 200);
  CHECK(refused > 500);
  CHECK(missed * 1000 < placed + refused);
}

}  // namespace gangsched::testing::gang_search_test
