#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "queues/hived_world.hpp"
#include "queues/invariants.hpp"

namespace gangsched::testing::hived_random_test {

using namespace gangsched::queues;
using hived::cell_index;
using hived::decision;
using hived::group_state;
using hived_world::small_world;
using invariants::holds;

/// All that a scheduler says of itself, the order of its lists included.
std::vector<std::int64_t> everything(const hived::cell_scheduler& in) {
  std::vector<std::int64_t> all;
  const hived::cell_layout& layout = in.layout();
  const hived::buddy_cells& cells = in.cells().physical();
  for (cell_index cell = 0; cell < static_cast<cell_index>(layout.cells()); ++cell)
    for (const std::int64_t one :
         {cells.bound(cell), cells.listed_above(cell), cells.priority(cell), cells.user(cell), cells.heir(cell),
          cells.guaranteed_in(cell), cells.opportunistic_in(cell), std::int32_t{cells.is_bad(cell)}})
      all.push_back(one);
  for (std::uint32_t chain = 0; chain < layout.chains().size(); ++chain)
    for (std::uint32_t level = 0; level < layout.chains()[chain].levels.size(); ++level) {
      all.push_back(cells.bad_left(chain, level));
      for (const cell_index cell : cells.free(chain, level)) all.push_back(cell);
      for (std::uint32_t cluster = 0; cluster < layout.clusters().size(); ++cluster) {
        all.push_back(in.cells().cluster(cluster).due(chain, level));
        all.push_back(in.cells().cluster(cluster).doomed(chain, level));
      }
    }
  for (std::uint32_t cluster = 0; cluster < layout.clusters().size(); ++cluster) {
    const hived::virtual_cluster& of = in.cells().cluster(cluster);
    for (cell_index cell = of.layout().first; cell < of.layout().end; ++cell)
      for (const std::int64_t one :
           {of.bound(cell), of.used(cell), of.priority(cell), std::int32_t{of.is_doomed(cell)}})
        all.push_back(one);
  }
  all.push_back(static_cast<std::int64_t>(in.groups()));
  return all;
}

/// A plain world beside the scheduler: which groups there are and what nodes are bad. Everything else is counted anew from that, from which
/// virtual cells are bound to what, and from the configuration.
struct plain {
  const hived::cell_scheduler& in;
  const hived::cell_layout& layout = in.layout();
  const hived::buddy_cells& cells = in.cells().physical();

  [[nodiscard]] bool within(cell_index cell, cell_index above) const {
    for (; cell != hived::none; cell = layout.parent(cell))
      if (cell == above) return true;
    return false;
  }
  [[nodiscard]] std::vector<cell_index> devices_in(cell_index cell) const {
    std::vector<cell_index> found;
    const hived::cell_level& level = layout.level(layout.chain_of(cell), 0);
    for (cell_index device = level.first; device < level.first + level.count; ++device)
      if (within(device, cell)) found.push_back(device);
    return found;
  }

  /// Whether cells of these levels can all be had from the free ones: tries it, the largest first, in every way.
  [[nodiscard]] static bool packs(const hived::cell_layout& layout, std::vector<std::uint32_t> wanted,
                                  std::vector<cell_index> free) {
    if (wanted.empty()) return true;
    std::sort(wanted.begin(), wanted.end());
    const std::uint32_t level = wanted.back();
    wanted.pop_back();
    std::set<std::uint32_t> tried;  // cells of the same level are alike
    for (std::size_t at = 0; at < free.size(); ++at) {
      const std::uint32_t has = layout.level_of(free[at]);
      if (has < level || !tried.insert(has).second) continue;
      std::vector<cell_index> left = free;
      cell_index cell = left[at];
      left.erase(left.begin() + static_cast<std::ptrdiff_t>(at));
      while (layout.level_of(cell) > level) {
        const cell_index first = layout.first_child(cell);
        for (std::uint32_t child = 1; child < layout.level_at(cell).children; ++child)
          left.push_back(first + static_cast<cell_index>(child));
        cell = first;
      }
      if (packs(layout, wanted, left)) return true;
    }
    return false;
  }

  void check(const std::set<std::string>& bad_nodes, const std::map<std::string, hived::group_request>& groups) const {
    // Who is on which device, from what groups say.
    std::map<cell_index, std::string> user, heir;
    std::map<cell_index, std::int32_t> guaranteed;
    holds(in.groups() == groups.size());
    for (const auto& [name, request] : groups) {
      const hived::group_status status = in.group(name).value();
      std::size_t devices = 0;
      for (const hived::pod_place& pod : status.pods) {
        const std::uint32_t node = layout.find_node(pod.node).value();
        for (const std::int32_t number : pod.devices)
          for (const cell_index device : layout.devices_of(node))
            if (layout.number_of(device) == number) {
              ++devices;
              auto& to = status.state == group_state::preempting ? heir : user;
              holds(to.emplace(device, name).second);
              if (status.guaranteed) guaranteed[device] = std::max(guaranteed[device], status.priority);
            }
      }
      std::size_t wanted = 0;
      for (const hived::member& one : request.members) wanted += one.pods * one.devices;
      holds(devices == wanted);
    }
    std::map<cell_index, cell_index> roots;  // by physical cell, from the virtual clusters
    for (std::uint32_t cluster = 0; cluster < layout.clusters().size(); ++cluster) {
      const hived::virtual_cluster& of = in.cells().cluster(cluster);
      std::map<std::pair<std::uint32_t, std::uint32_t>, std::int32_t> due, doomed;
      for (cell_index cell = of.layout().first; cell < of.layout().end; ++cell) {
        const hived::virtual_cell& virtual_one = layout.virtual_at(cell);
        const cell_index is = of.bound(cell);
        const bool is_root = virtual_one.parent == hived::none;
        if (is_root && is == hived::none) ++due[{virtual_one.chain, virtual_one.level}];
        if (is_root && of.is_doomed(cell)) ++doomed[{virtual_one.chain, virtual_one.level}];
        if (virtual_one.level == 0) holds((of.priority(cell) >= 0) == (of.used(cell) == 1));
        if (is == hived::none) {
          holds(of.used(cell) == 0);
          continue;
        }
        holds(cells.bound(is) == cell);
        holds(layout.chain_of(is) == virtual_one.chain);
        holds(layout.level_of(is) == virtual_one.level);
        holds(of.used(cell) == cells.guaranteed_in(is));
        if (virtual_one.level == 0)
          holds(of.priority(cell) == (of.used(cell) > 0 ? cells.priority(is) : hived::unused));
        if (is_root) {
          holds(roots.emplace(is, cell).second);
          holds((of.used(cell) > 0 || of.is_doomed(cell) || virtual_one.pin != hived::none));
          if (of.is_doomed(cell)) holds(cells.is_bad(is));
          if (virtual_one.pin != hived::none) holds(is == virtual_one.pin);
        } else {
          holds(of.bound(virtual_one.parent) == layout.parent(is));
          holds((of.used(cell) > 0 || cells.is_bad(is)));
        }
      }
      for (std::uint32_t chain = 0; chain < layout.chains().size(); ++chain)
        for (std::uint32_t level = 0; level < layout.chains()[chain].levels.size(); ++level) {
          holds(of.due(chain, level) == due[{chain, level}]);
          holds(of.doomed(chain, level) == doomed[{chain, level}]);
        }
    }
    std::vector<std::vector<cell_index>> free(layout.chains().size());
    for (cell_index cell = 0; cell < static_cast<cell_index>(layout.cells()); ++cell) {
      const std::vector<cell_index> devices = devices_in(cell);
      const auto count = [&](const auto& is) { return std::count_if(devices.begin(), devices.end(), is); };
      holds(cells.is_bad(cell) ==
            (count([&](cell_index at) { return bad_nodes.contains(layout.nodes()[layout.node_of(at)]); }) > 0));
      holds(cells.guaranteed_in(cell) ==
            count([&](cell_index at) { return guaranteed.contains(at) && cells.priority(at) >= 0; }));
      holds(cells.opportunistic_in(cell) ==
            count([&](cell_index at) { return cells.priority(at) == hived::opportunistic; }));
      const auto overlaps = [&](cell_index of) {
        return std::any_of(roots.begin(), roots.end(),
                           [&](const auto& root) { return within(of, root.first) || within(root.first, of); });
      };
      const bool is_free = !overlaps(cell);
      holds(cells.is_free(cell) == is_free);
      const cell_index above = layout.parent(cell);
      if (is_free && (above == hived::none || overlaps(above))) free[layout.chain_of(cell)].push_back(cell);
      if (is_free) holds(cells.bound(cell) == hived::none);
      if (cells.bound(cell) != hived::none) holds(in.cells().bound(cells.bound(cell)) == cell);
      if (cells.is_bad(cell) && above != hived::none && cells.bound(above) != hived::none)
        holds(cells.bound(cell) != hived::none);
      if (layout.level_of(cell) > 0) continue;
      holds(in.user(cell) == (user.contains(cell) ? user[cell] : ""));
      holds(in.heir(cell) == (heir.contains(cell) ? heir[cell] : ""));
      const std::string& books = heir.contains(cell) ? heir[cell] : user[cell];
      std::int32_t expected = hived::unused;
      if (!books.empty()) {
        const hived::group_status status = in.group(books).value();
        expected = status.guaranteed ? status.priority : hived::opportunistic;
      }
      holds(cells.priority(cell) == expected);
    }
    for (std::uint32_t chain = 0; chain < layout.chains().size(); ++chain) {
      std::vector<std::uint32_t> wanted;
      for (std::uint32_t level = 0; level < layout.chains()[chain].levels.size(); ++level) {
        std::vector<cell_index> listed(cells.free(chain, level).begin(), cells.free(chain, level).end()), naive;
        std::sort(listed.begin(), listed.end());
        for (const cell_index cell : free[chain])
          if (layout.level_of(cell) == level) naive.push_back(cell);
        holds(listed == naive);
        std::int32_t left = 0, bad = 0;
        const hived::cell_level& of = layout.level(chain, level);
        for (cell_index cell = of.first; cell < of.first + of.count; ++cell) {
          left += cells.is_free(cell) ? 1 : 0;
          bad += cells.is_free(cell) && cells.is_bad(cell) ? 1 : 0;
        }
        holds(cells.left(chain, level) == left);
        holds(cells.bad_left(chain, level) == bad);
        for (std::uint32_t cluster = 0; cluster < layout.clusters().size(); ++cluster) {
          const hived::virtual_cluster& has = in.cells().cluster(cluster);
          for (std::int32_t each = 0; each < has.due(chain, level); ++each) wanted.push_back(level);
          // No one's cells are doomed while there are healthy ones, and every one that has to be is, if that takes nothing from others.
          if (has.doomed(chain, level) > 0) holds(has.due(chain, level) >= left - bad);
          if (bad_nodes.empty()) holds(has.doomed(chain, level) == 0);
        }
      }
      holds(packs(layout, wanted, free[chain]));
    }
  }
};

struct tally {
  std::size_t operations = 0, placed = 0, refused = 0, preempting = 0, evicted = 0, cancelled = 0, downgraded = 0,
              reverted = 0, bad = 0, doomed = 0, started = 0, opportunistic = 0, errors = 0;
};

/// Groups come and go, nodes break and are mended.
struct life {
  dice random;
  hived::configuration from = small_world(random);
  hived::cell_scheduler in = hived::cell_scheduler::make(from).value();
  std::map<std::string, hived::group_request> groups = {};
  std::set<std::string> bad = {};
  std::uint64_t next = 0;

  [[nodiscard]] hived::group_request request() {
    const hived::virtual_cluster_spec& of = random.of(from.clusters);
    hived::group_request made{"g" + std::to_string(next++), of.name};
    made.priority = random.percent(30) ? hived::opportunistic : static_cast<std::int32_t>(random.below(4));
    made.members = {{1 + static_cast<std::uint32_t>(random.below(2)), 1 + static_cast<std::uint32_t>(random.below(4))}};
    if (random.percent(30)) made.members.push_back({1, 1 + static_cast<std::uint32_t>(random.below(3))});
    if (!of.pins.empty() && made.priority >= 0 && random.percent(30)) made.pin = random.of(of.pins);
    made.lazy_preemption = random.percent(60);
    if (random.percent(15)) {
      made.nodes.emplace();
      for (const std::string& node : in.layout().nodes())
        if (random.percent(70)) made.nodes->push_back(node);
    }
    return made;
  }

  /// What holds of a single answer.
  void judge(const hived::group_request& of, const decision& made) const {
    REQUIRE((made.state == group_state::preempting) == !made.victims.empty());
    REQUIRE((made.state == group_state::waiting) == made.missing.has_value());
    if (made.missing) REQUIRE(made.missing->count > 0);
    if (of.priority < 0) REQUIRE((made.victims.empty() && made.cancelled.empty() && made.downgraded.empty()));
    for (const auto* names : {&made.victims, &made.cancelled, &made.downgraded})
      for (const std::string& name : *names) {
        const hived::group_request& other = groups.at(name);
        // Who is in a virtual cluster goes for a higher priority of the same one only.
        if (in.group(name).value().guaranteed) REQUIRE((other.cluster == of.cluster && other.priority < of.priority));
      }
    // While every node may be used, what a virtual cluster has it gets.
    if (made.missing && of.priority >= 0 && bad.empty() && !of.nodes)
      REQUIRE(made.missing->why == hived::obstacle::quota);
  }

  template <class Check>
  void step(tally& count, const Check& check) {
    ++count.operations;
    const std::size_t what = random.below(100);
    if (what < 55) {
      const hived::group_request one = request();
      const auto made = check(one);
      if (!made) return static_cast<void>(++count.errors);
      const decision& done = made.value();
      if (done.missing && done.missing->why == hived::obstacle::no_usable_cell) ++count.reverted;
      for (const std::string& name : done.cancelled) groups.erase(name);
      count.cancelled += done.cancelled.size();
      count.downgraded += done.downgraded.size();
      if (done.state == group_state::waiting) return static_cast<void>(++count.refused);
      groups.emplace(one.name, one);
      ++(done.state == group_state::preempting ? count.preempting : count.placed);
      if (one.priority < 0) ++count.opportunistic;
      if (random.percent(70))  // the host evicts at once
        for (const std::string& name : done.victims) {
          in.remove(name).value();
          groups.erase(name);
          ++count.evicted;
        }
      return;
    }
    if (what < 80 && !groups.empty()) {
      auto one = groups.begin();
      std::advance(one, static_cast<std::ptrdiff_t>(random.below(groups.size())));
      in.remove(one->first).value();
      groups.erase(one);
    } else if (what < 90 && !groups.empty()) {
      auto one = groups.begin();
      std::advance(one, static_cast<std::ptrdiff_t>(random.below(groups.size())));
      const auto started = in.start(one->first);
      if (!started) return;
      if (started.value() == hived::start_outcome::started) ++count.started;
      if (started.value() == hived::start_outcome::cancelled) groups.erase(one);
    } else {
      const std::string& node = random.of(in.layout().nodes());
      const bool to = bad.size() < 3 && random.percent(40);
      in.set_bad(node, to).value();
      if (to) {
        bad.insert(node);
      } else {
        bad.erase(node);
      }
      ++count.bad;
    }
  }
};

TEST_CASE(
    "in small worlds everything is as counted anew after each step, all virtual clusters can have theirs, and a look "
    "leaves no trace") {
  tally count;
  for (unsigned seed = 0; seed < 250; ++seed) {
    life of{dice{seed}};
    const plain beside{of.in};
    beside.check(of.bad, of.groups);
    for (int step = 0; step < 120; ++step) {
      INFO("seed " << seed << " step " << step);
      of.step(count, [&](const hived::group_request& one) {
        const std::vector<std::int64_t> before = everything(of.in);
        const auto look = of.in.look(one);
        REQUIRE(everything(of.in) == before);
        if (look) of.judge(one, look.value());
        auto made = of.in.place(one);
        REQUIRE(made.has_value() == look.has_value());
        if (!made || made.value().state == group_state::waiting) REQUIRE(everything(of.in) == before);
        if (made) {
          REQUIRE(look.value().pods == made.value().pods);
          REQUIRE(look.value().victims == made.value().victims);
          REQUIRE(look.value().downgraded == made.value().downgraded);
        }
        return made;
      });
      beside.check(of.bad, of.groups);
      for (std::uint32_t chain = 0; chain < of.in.layout().chains().size(); ++chain)
        for (std::uint32_t level = 0; level < of.in.layout().chains()[chain].levels.size(); ++level)
          for (std::uint32_t cluster = 0; cluster < 3; ++cluster)
            count.doomed += static_cast<std::size_t>(of.in.cells().cluster(cluster).doomed(chain, level));
    }
  }
  CAPTURE(count.operations, count.placed, count.refused, count.preempting, count.evicted, count.cancelled,
          count.downgraded, count.reverted, count.bad, count.doomed, count.started, count.opportunistic, count.errors);
  CHECK(count.operations == 30'000);
  CHECK(count.placed > 1000);
  CHECK(count.reverted > 10);
  CHECK(count.doomed > 100);
}

/// What a host would have written down of a group: where each pod's devices are, and the type of virtual cell that they are in.
std::vector<std::vector<hived::known_device>> written(const hived::cell_scheduler& in, const std::string& name) {
  const hived::cell_layout& layout = in.layout();
  const hived::group_status status = in.group(name).value();
  std::vector<std::vector<hived::known_device>> made;
  for (const hived::pod_place& pod : status.pods) {
    auto& devices = made.emplace_back();
    for (const std::int32_t number : pod.devices)
      for (const cell_index device : layout.devices_of(layout.find_node(pod.node).value())) {
        if (layout.number_of(device) != number) continue;
        hived::known_device known{pod.node, number};
        if (status.guaranteed) {
          const hived::virtual_cell& root =
              layout.virtual_at(layout.virtual_at(in.cells().physical().bound(device)).root);
          known.root_type = layout.level(root.chain, root.level).type;
        }
        devices.push_back(std::move(known));
      }
  }
  return made;
}

TEST_CASE(
    "after a restart every group is where it was; in other virtual clusters too, and all of these can have theirs") {
  std::size_t kept = 0, lost = 0, pushed_out = 0;
  tally count;
  for (unsigned seed = 0; seed < 500; ++seed) {
    INFO("seed " << seed);
    life before{dice{seed}};
    for (int step = 0; step < 60; ++step)
      before.step(count, [&](const hived::group_request& one) { return before.in.place(one); });
    for (const bool same : {true, false}) {
      life after{dice{seed}};
      if (!same) {  // as many virtual clusters, with what still fits when some have lost a part and others have more
        for (hived::virtual_cluster_spec& cluster : after.from.clusters) {
          if (cluster.cells.empty() || before.random.percent(40)) continue;
          hived::cell_quota& quota = before.random.of(cluster.cells);
          if (quota.count > 0) --quota.count;
        }
        for (int tries = 0; tries < 5; ++tries) {
          hived::configuration more = after.from;
          const hived::cell_type& type = after.random.of(more.types);
          after.random.of(more.clusters).cells.push_back({after.random.of(more.cells).type, type.name, 1});
          if (hived::cell_scheduler::make(more)) after.from = std::move(more);
        }
        after.in = hived::cell_scheduler::make(after.from).value();
      }
      for (const auto& [name, request] : before.groups) {
        const hived::group_status status = before.in.group(name).value();
        if (status.state == group_state::preempting) continue;
        const auto out = after.in.restore(request, written(before.in, name)).value();
        after.groups.emplace(name, request);
        const hived::group_status now = after.in.group(name).value();
        REQUIRE(now.pods == status.pods);
        const bool is_out = std::find(out.begin(), out.end(), name) != out.end();
        REQUIRE(is_out == (request.priority >= 0 && !now.guaranteed));
        if (same) REQUIRE(now.guaranteed == status.guaranteed);
        if (status.guaranteed) ++(now.guaranteed ? kept : lost);
        pushed_out += out.size() - (is_out ? 1 : 0);
        plain{after.in}.check({}, after.groups);
      }
      for (const std::string& node : before.bad) {
        after.in.set_bad(node, true).value();
        after.bad.insert(node);
      }
      plain{after.in}.check(after.bad, after.groups);
    }
  }
  CAPTURE(kept, lost, pushed_out);
  CHECK(kept > 500);
  CHECK(lost > 50);
  CHECK(pushed_out > 0);
}

TEST_CASE("a million steps: no virtual cluster ever loses what it is due", "[invariants]") {
  tally count;
  const auto worlds = static_cast<unsigned>(invariants::operations(840) / 5000);
  for (unsigned seed = 1000; seed < 1000 + worlds; ++seed) {
    life of{dice{seed}};
    std::vector<std::int32_t> spare;
    for (int step = 0; step < 5000; ++step) {
      of.step(count, [&](const hived::group_request& one) { return of.in.place(one); });
      for (std::uint32_t chain = 0; chain < of.in.layout().chains().size(); ++chain) {
        of.in.cells().spare(chain, spare);
        holds(std::none_of(spare.begin(), spare.end(), [](std::int32_t one) { return one < 0; }));
      }
      if (step % 500 == 499) plain{of.in}.check(of.bad, of.groups);
    }
    // When everybody is gone and every node is mended, nothing is left of it all.
    for (const auto& [name, request] : of.groups) of.in.remove(name).value();
    for (const std::string& node : of.bad) of.in.set_bad(node, false).value();
    of.groups.clear();
    of.bad.clear();
    plain{of.in}.check(of.bad, of.groups);
    const hived::cell_scheduler fresh = hived::cell_scheduler::make(of.from).value();
    for (std::uint32_t chain = 0; chain < of.in.layout().chains().size(); ++chain)
      for (std::uint32_t level = 0; level < of.in.layout().chains()[chain].levels.size(); ++level)
        REQUIRE(of.in.cells().physical().free(chain, level).size() ==
                fresh.cells().physical().free(chain, level).size());
  }
  CAPTURE(count.operations, count.placed, count.refused, count.preempting, count.evicted, count.cancelled,
          count.downgraded, count.bad, count.started, count.opportunistic);
  const std::size_t all = worlds * std::size_t{5000};
  CHECK(count.operations == all);
  CHECK(count.placed > all / 10);
  CHECK(count.refused > all / 20);
  CHECK(count.preempting > all / 100);
  CHECK(count.evicted > all / 100);
  CHECK(count.cancelled > all / 1000);
  CHECK(count.downgraded > all / 1000);
  CHECK(count.bad > all / 20);
  CHECK(count.started > all / 1000);
}

}  // namespace gangsched::testing::hived_random_test
