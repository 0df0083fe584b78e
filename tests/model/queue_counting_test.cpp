// What the model counts of queues, after random changes and trials, against counting anew from what was said.
#include <map>
#include <memory>

#include "gangsched/model/cluster.hpp"
#include "gangsched/model/cluster_queues.hpp"
#include "gangsched/model/transaction.hpp"
#include "support/builders.hpp"
#include "support/catch.hpp"
#include "support/dice.hpp"
#include "support/inside.hpp"

namespace gangsched::testing::queue_counting_test {

namespace {

using amounts = std::map<std::string, std::int64_t>;
struct counted {
  amounts used, requested;
  std::map<std::string, amounts> by_flavor;
  std::uint32_t running = 0;
  friend bool operator==(const counted&, const counted&) = default;
};

/// A cluster to which anything happens, and the specs of its pods. Only calls that may succeed are looked at further.
struct world {
  explicit world(std::uint64_t seed) : dice_(seed) { inside(c).collection.always = seed % 3 == 0; }

  cluster c;
  std::map<pod_id, pod_spec> pods;
  std::vector<group_id> groups;
  dice dice_;
  std::uint64_t made = 0;

  std::string name(const char* of, std::size_t many) { return of + std::to_string(dice_.below(many)); }
  std::string queue_or_none() { return dice_.percent(50) ? "" : name("q", 7); }
  queue_spec queue() {
    queue_spec made_spec{.name = name("q", 7)};
    if (dice_.percent(60)) made_spec.parent = name("q", 7);
    for (const char* ns : {"a", "b", "c"})
      if (dice_.percent(15)) made_spec.namespaces.emplace_back(ns);
    if (dice_.percent(30)) made_spec.quotas = {{.flavor = name("f", 4), .limit = {{"cpu", 4}}}};
    return made_spec;
  }
  pod_spec pod() {
    pod_spec spec = a_pod("p" + std::to_string(made++)).ns(std::string(1, static_cast<char>('a' + dice_.below(3))));
    spec.queue = queue_or_none();
    if (dice_.percent(70)) spec.containers[0].requests["cpu"] = quantity::from_milli(dice_.between(1, 9));
    if (dice_.percent(40)) spec.containers[0].requests["x/" + name("y", 5)] = dice_.between(1, 3);
    if (!groups.empty() && dice_.percent(50)) {
      const group_id group = dice_.of(groups);
      if (c.contains(group)) spec.group = group, spec.ns = inside(c).groups.record[group.row]->spec.ns;
    }
    const std::vector<node_id> nodes = c.nodes();
    if (!nodes.empty() && dice_.percent(30)) spec.node = nodes[dice_.below(nodes.size())];
    return spec;
  }
  group_spec group() {
    group_spec spec{.name = name("g", 5), .ns = std::string(1, static_cast<char>('a' + dice_.below(2)))};
    spec.composite = dice_.percent(40);
    spec.queue = queue_or_none();
    if (!groups.empty() && dice_.percent(50)) spec.parent = dice_.of(groups);
    return spec;
  }
  a_node node() {
    a_node made_node{name("n", 5)};
    made_node.cpu(64);
    if (dice_.percent(70)) made_node.label("kind", name("k", 3));
    return made_node;
  }
  template <class Map>
  auto any_of(const Map& map) {
    return std::next(map.begin(), static_cast<std::ptrdiff_t>(dice_.below(map.size())))->first;
  }

  bool step() {
    const std::vector<node_id> nodes = c.nodes();
    const std::vector<queue_id> queues = c.queues().all();
    switch (dice_.below(20)) {
      case 0: return c.queues().add(queue()).has_value();
      case 1: {
        const queue_spec spec = queue();
        const auto known = c.queues().find(spec.name);
        return known && c.queues().update(*known, spec).has_value();
      }
      case 2: return !queues.empty() && c.queues().remove(queues[dice_.below(queues.size())]).has_value();
      case 3: {
        flavor_spec spec{.name = name("f", 4)};
        if (dice_.percent(70)) spec.node_labels["kind"] = name("k", 3);
        return c.queues().set_flavor(spec).has_value();
      }
      case 4: return dice_.percent(50) && c.queues().remove_flavor(name("f", 4)).has_value();
      case 5: return c.add_node(node()).has_value();
      case 6: {
        const node_spec spec = node();
        const auto known = c.find_node(spec.name);
        return known && c.update_node(*known, spec).has_value();
      }
      case 7: {
        if (nodes.empty() || dice_.percent(60)) return false;
        const auto gone = c.remove_node(nodes[dice_.below(nodes.size())]);
        for (const removed_pod& one : gone.value()) pods.erase(one.id);
        return true;
      }
      case 8: {
        const group_spec spec = group();
        const auto added = dice_.percent(30) ? c.expect_group(spec.ns, spec.name, spec.composite) : c.add_group(spec);
        if (added) groups.push_back(*added);
        return added.has_value();
      }
      case 9: {
        if (groups.empty()) return false;
        const group_id id = dice_.of(groups);
        const group_spec* const spec = c.spec_of(id);
        if (spec == nullptr) return false;
        group_spec changed = *spec;
        changed.queue = queue_or_none();
        return c.update_group(id, changed).has_value();
      }
      case 10: return !groups.empty() && dice_.percent(40) && c.remove_group(dice_.of(groups)).has_value();
      case 11:
      case 12:
      case 13: {
        const pod_spec spec = pod();
        if (dice_.percent(20) && !spec.node) {
          const std::vector<std::string> names{spec.name, spec.name + "x"};
          const auto added = c.add_pods(spec, names);
          if (!added) return false;
          for (const pod_id one : *added) pods[one] = spec, pods[one].name = c.name_of(one);
          return true;
        }
        const auto added = c.add_pod(spec);
        if (added) pods[*added] = spec;
        return added.has_value();
      }
      default: break;
    }
    if (pods.empty()) return false;
    const pod_id id = any_of(pods);
    switch (dice_.below(6)) {
      case 0: {
        pod_spec spec = pods[id];
        spec.queue = queue_or_none();
        spec.node = c.state_of(id) == pod_state::bound ? c.node_of(id) : node_id{};
        if (dice_.percent(50)) spec.containers[0].requests["cpu"] = quantity::from_milli(dice_.between(1, 9));
        const bool done = c.update_pod(id, spec).has_value();
        if (done) pods[id] = spec;
        return done;
      }
      case 1: pods.erase(id); return c.remove_pod(id).has_value();
      case 2: return c.bind(id).has_value();
      case 3: return c.release(id).has_value();
      default: return !nodes.empty() && c.assume(id, nodes[dice_.below(nodes.size())]).has_value();
    }
  }

  // --- anew
  [[nodiscard]] const group_spec* spec_of(group_id group) const { return c.spec_of(group); }
  [[nodiscard]] std::string queue_of(const pod_spec& spec) const {
    if (!spec.queue.empty()) return spec.queue;
    for (group_id up = spec.group; up;) {
      const group_spec* const group = spec_of(up);
      if (group == nullptr) break;
      if (!group->queue.empty()) return group->queue;
      up = group->parent;
    }
    for (const queue_id one : c.queues().all()) {
      const queue_spec* const queue = c.queues().spec_of(one);
      if (queue == nullptr) continue;
      for (const std::string& ns : queue->namespaces)
        if (ns == spec.ns) return queue->name;
    }
    return "";
  }
  [[nodiscard]] std::vector<std::string> up_from(std::string queue) const {
    std::vector<std::string> all;
    while (!queue.empty()) {
      all.push_back(queue);
      const auto known = c.queues().find(queue);
      const queue_spec* const spec = known ? c.queues().spec_of(*known) : nullptr;
      queue = spec == nullptr ? "" : spec->parent;
    }
    return all;
  }
  [[nodiscard]] std::string flavor_of(node_id node) const {
    const model::node_record& record = *inside(c).nodes.record[node.row];
    for (int i = 0; i < 4; ++i) {
      const flavor_spec* const flavor = c.queues().find_flavor("f" + std::to_string(i));
      if (flavor == nullptr) continue;
      bool has = true;
      for (const auto& [key, value] : flavor->node_labels) {
        const auto label = inside(c).names.find(key);
        const auto its = label ? record.label(*label) : std::nullopt;
        has = has && its && inside(c).names.text(*its) == value;
      }
      if (has) return flavor->name;
    }
    return "";
  }
  [[nodiscard]] std::map<std::string, counted> count_anew() const {
    std::map<std::string, counted> all;
    std::map<std::pair<std::string, std::uint64_t>, bool> runs;  // a tree in a queue, or a pod
    for (const auto& [id, spec] : pods) {
      const std::string queue = queue_of(spec);
      amounts its{{"pods", 1}};
      for (const auto& [name, amount] : spec.containers[0].requests)
        its[name] += name == "cpu" ? amount.milli_value().value() : amount.value().value();
      const node_id node = c.node_of(id);
      std::uint64_t entity = std::uint64_t{1} << 40 | id.row;
      if (spec.group) {
        group_id root = spec.group;
        while (spec_of(root) != nullptr && spec_of(root)->parent) root = spec_of(root)->parent;
        entity = root.row;
      }
      for (const std::string& one : up_from(queue)) {
        counted& to = all[one];
        for (const auto& [name, value] : its) {
          to.requested[name] += value;
          if (!node) continue;
          to.used[name] += value;
          if (const std::string flavor = flavor_of(node); !flavor.empty()) to.by_flavor[flavor][name] += value;
        }
        if (node && !runs[{queue, entity}]) ++to.running;
      }
      if (node && !queue.empty()) runs[{queue, entity}] = true;
    }
    return all;
  }
  [[nodiscard]] std::size_t differences() const {
    const std::map<std::string, counted> anew = count_anew();
    std::size_t wrong = 0, seen = 0;
    const auto plain = [](const integer_resources& from) { return amounts{from.begin(), from.end()}; };
    for (const queue_id one : c.queues().all()) {
      const std::string queue{c.queues().name_of(one)};
      const queue_usage usage = c.queues().usage_of(one);
      counted now{plain(usage.used), plain(usage.requested), {}, usage.running};
      for (int i = 0; i < 4; ++i) {
        const std::string flavor = "f" + std::to_string(i);
        if (const auto of = c.queues().usage_of(one, flavor); !of.used.empty()) now.by_flavor[flavor] = plain(of.used);
      }
      const auto expected = anew.find(queue);
      if (expected != anew.end()) ++seen;
      wrong += !(now == (expected == anew.end() ? counted{} : expected->second));
    }
    for (const auto& [id, spec] : pods) wrong += c.queues().name_of(c.queues().queue_of(id)) != queue_of(spec);
    for (const node_id node : c.nodes()) wrong += c.queues().flavor_of(node) != flavor_of(node);
    return wrong + (anew.size() - seen);  // all that have pods are there
  }
};

}  // namespace

TEST_CASE("what is counted of queues is what counting anew says, whatever happens, and trials leave no trace",
          "[model][queues]") {
  std::size_t done = 0, taken_back = 0, kept = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    world w{seed};
    for (int round = 0; round < 40; ++round) {
      for (int i = 0; i < 6; ++i) done += w.step();
      INFO("seed " << seed << ", round " << round);
      REQUIRE(w.differences() == 0);
      const std::uint64_t digest = inside(w.c).digest_with_derived();
      const auto pods = w.pods;
      const auto groups = w.groups;
      {
        transaction outer{w.c};
        for (int i = 0; i < 5; ++i) done += w.step();
        REQUIRE(w.differences() == 0);
        const auto inner_pods = w.pods;
        const auto inner_groups = w.groups;
        {
          transaction inner{w.c};
          for (int i = 0; i < 5; ++i) done += w.step();
          REQUIRE(w.differences() == 0);
          if (w.dice_.percent(30)) {
            inner.commit();
          } else {
            inner.roll_back();
            w.pods = inner_pods, w.groups = inner_groups;
            ++taken_back;
          }
        }
        REQUIRE(w.differences() == 0);
        if (w.dice_.percent(30)) {
          outer.commit();
          ++kept;
          continue;
        }
      }
      w.pods = pods, w.groups = groups;
      ++taken_back;
      REQUIRE(inside(w.c).digest_with_derived() == digest);
      REQUIRE(w.differences() == 0);
    }
  }
  CHECK(done > 15'000);
  CHECK(taken_back > 2'000);
  CHECK(kept > 500);
}

}  // namespace gangsched::testing::queue_counting_test
