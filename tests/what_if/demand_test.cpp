#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "gangsched/framework/profile.hpp"
#include "gangsched/plugins/node_resources_fit.hpp"
#include "gangsched/plugins/priority_sort.hpp"
#include "gangsched/profiles.hpp"
#include "gangsched/what_if/autoscaling.hpp"
#include "gangsched/what_if/trial_cluster.hpp"
#include "support/builders.hpp"
#include "support/catch.hpp"
#include "support/dice.hpp"

namespace gangsched::testing::demand_test {

using namespace std::chrono_literals;

namespace {

/// Holds the pods named first, and refuses to bind them.
struct refuses_first {
  static constexpr std::string_view name = "RefusesFirst";
  using points = implements<point::permit, point::pre_bind>;
  permit_verdict permit(const reservation& r, permit_room&) {
    return r.pod.name() == "first" ? permit_verdict{status::wait("it is held"), 10min} : permit_verdict{};
  }
  status pre_bind(const reservation& r, decision&) {
    return r.pod.name() == "first" ? status::unschedulable("it may not") : status::success();
  }
};

/// A cluster with one full node, and pods that wait for another.
struct waiting_pods {
  gangsched::cluster cluster;
  scheduler by{cluster, profiles::kube_default()};
  std::vector<pod_spec> specs;
  std::vector<pod_id> pods;

  pod_id add(const pod_spec& spec) {
    specs.push_back(spec);
    pods.push_back(cluster.add_pod(spec).value());
    return pods.back();
  }
  [[nodiscard]] demand_answer ask(const std::vector<node_shape>& shapes, demand_options options = {}) {
    const std::uint64_t before = cluster.digest();
    options.now = std::max(options.now, instant{1});
    result<demand_answer> made = demand(by, shapes, options);
    INFO((made ? std::string{} : made.error().message()));
    REQUIRE(made);
    CHECK(cluster.digest() == before);
    return *std::move(made);
  }
};

node_shape shape(const std::string& name, std::int64_t cpu, std::int64_t gib, std::int64_t price) {
  return {a_node{name}.cpu(cpu).memory(std::to_string(gib) + "Gi"), price};
}

std::int64_t milli_of(const pod_spec& pod) { return pod.containers.front().requests.at("cpu").milli_value().value(); }
std::int64_t mebi_of(const pod_spec& pod) { return pod.containers.front().requests.at("memory").value().value() >> 20; }

/// What the tests' plain models know: amounts and one label.
struct plain_problem {
  struct item {
    std::int64_t cpu, memory;
    bool wants_disk;
  };
  struct bin {
    std::int64_t cpu, memory, price;
    bool disk;
    [[nodiscard]] bool takes(const item& one) const {
      return one.cpu <= cpu && one.memory <= memory && (!one.wants_disk || disk);
    }
    void put(const item& one, int sign = 1) { cpu -= sign * one.cpu, memory -= sign * one.memory; }
  };
  std::vector<item> items;
  std::vector<bin> shapes;

  /// The cluster autoscaler's estimator: first fit decreasing by the sum of the shares of cpu and memory, one shape at a time; the cheapest
  /// of the shapes that take all.
  [[nodiscard]] std::optional<std::int64_t> first_fit_decreasing() const {
    std::optional<std::int64_t> best;
    for (const bin& of : shapes) {
      std::vector<item> sorted = items;
      const auto size = [&](const item& one) {
        return static_cast<double>(one.cpu) / static_cast<double>(of.cpu) +
               static_cast<double>(one.memory) / static_cast<double>(of.memory);
      };
      std::stable_sort(sorted.begin(), sorted.end(), [&](const item& a, const item& b) { return size(a) > size(b); });
      std::vector<bin> nodes;
      bool all = true;
      for (const item& one : sorted) {
        auto at = std::find_if(nodes.begin(), nodes.end(), [&](const bin& node) { return node.takes(one); });
        if (at == nodes.end()) {
          if (!of.takes(one)) {
            all = false;
            break;
          }
          at = nodes.insert(nodes.end(), of);
        }
        at->put(one);
      }
      const std::int64_t price = static_cast<std::int64_t>(nodes.size()) * of.price;
      if (all && (!best || price < *best)) best = price;
    }
    return best;
  }
  void search(std::size_t i, std::vector<bin>& nodes, std::int64_t price, std::optional<std::int64_t>& best) const {
    if (best && price >= *best) return;
    if (i == items.size()) {
      best = price;
      return;
    }
    for (std::size_t at = 0; at < nodes.size(); ++at) {
      if (!nodes[at].takes(items[i])) continue;
      nodes[at].put(items[i]);
      search(i + 1, nodes, price, best);
      nodes[at].put(items[i], -1);
    }
    for (const bin& of : shapes) {
      if (!of.takes(items[i])) continue;
      nodes.push_back(of);
      nodes.back().put(items[i]);
      search(i + 1, nodes, price + of.price, best);
      nodes.pop_back();
    }
  }
  [[nodiscard]] std::optional<std::int64_t> optimum() const {
    std::optional<std::int64_t> best;
    std::vector<bin> nodes;
    search(0, nodes, 0, best);
    return best;
  }
};

struct random_case {
  waiting_pods world;
  std::vector<node_shape> shapes;
  plain_problem plain;

  random_case(std::uint64_t seed, std::size_t pods) {
    dice any{seed};
    const std::size_t kinds = 1 + any.below(3);
    for (std::size_t i = 0; i < kinds; ++i) {
      const std::int64_t cpu = any.between(4, 32), gib = any.between(8, 96);
      shapes.push_back(shape("s" + std::to_string(i), cpu, gib, any.between(1, 4) + cpu * any.between(3, 6) + gib / 2));
      const bool disk = any.percent(60);
      if (disk) shapes.back().like.labels["disk"] = "ssd";
      plain.shapes.push_back({cpu * 1000, gib * 1024, shapes.back().price, disk});
    }
    for (std::size_t i = 0; i < pods; ++i) {
      a_pod pod{"p" + std::to_string(i)};
      pod.cpu_milli(any.between(2, 40) * 100).memory(std::to_string(any.between(1, 16) * 256) + "Mi");
      const bool disk = any.percent(15);
      if (disk) pod.spec.node_selector["disk"] = "ssd";
      world.add(pod);
      plain.items.push_back({milli_of(pod), mebi_of(pod), disk});
    }
  }
  /// Nobody is where there is no room for him, and everybody is somewhere.
  void check(const demand_plan& plan) const {
    std::int64_t price = 0;
    std::size_t placed = 0;
    for (const demand_plan::added_node& node : plan.nodes) {
      plain_problem::bin room = plain.shapes[node.shape];
      price += room.price;
      for (const pod_id pod : node.pods) {
        const auto at =
            static_cast<std::size_t>(std::find(world.pods.begin(), world.pods.end(), pod) - world.pods.begin());
        CHECK(room.takes(plain.items[at]));
        room.put(plain.items[at]);
        ++placed;
      }
    }
    CHECK(price == plan.price);
    CHECK(placed == world.pods.size());
  }
};

std::map<std::size_t, std::size_t> by_shape(const demand_plan& plan) {
  std::map<std::size_t, std::size_t> made;
  for (const demand_plan::added_node& node : plan.nodes) ++made[node.shape];
  return made;
}

}  // namespace

TEST_CASE("a pod has room that another one gives back when permit ends its wait", "[what_if]") {
  gangsched::cluster cluster;
  scheduler by{cluster, profile{priority_sort{}, node_resources_fit{}, refuses_first{}}};
  REQUIRE(cluster.add_node(a_node{"n"}.cpu(2)));
  const pod_id first = cluster.add_pod(a_pod{"first"}.cpu(2)).value();
  while (by.schedule_cycle(instant{1})) {
  }
  const pod_id second = cluster.add_pod(a_pod{"second"}.cpu(2)).value();
  while (by.schedule_cycle(instant{1})) {
  }
  REQUIRE(cluster.state_of(first) == pod_state::assumed);
  REQUIRE(cluster.state_of(second) == pod_state::pending);
  REQUIRE(by.allow(first));
  const std::vector<node_shape> shapes{shape("extra", 2, 8, 1)};
  const std::vector<pod_id> asked{second};
  const demand_answer made = demand(by, shapes, {.now = instant{1}, .pods = asked}).value();
  CHECK(made.plans.empty());  // no node is missing
  CHECK(made.left.empty());
}

TEST_CASE("demand is never dearer than first fit decreasing with one shape, and every plan holds whom it says") {
  std::size_t cheaper = 0, compared = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    CAPTURE(seed);
    random_case one{seed, 5 + seed % 40};
    const std::optional<std::int64_t> plain = one.plain.first_fit_decreasing();
    const demand_answer answer = one.world.ask(one.shapes, {.search_steps = 20'000});
    if (!plain) continue;  // no shape takes all of them
    ++compared;
    REQUIRE_FALSE(answer.plans.empty());
    CHECK(answer.left.empty());
    for (const demand_plan& plan : answer.plans) one.check(plan);
    CHECK(answer.plans.front().price <= *plain);
    if (answer.plans.front().price < *plain) ++cheaper;
  }
  CHECK(compared > 30);
  CHECK(cheaper > 10);
}

TEST_CASE("on small cases demand is within 5 % of the cheapest nodes that there are") {
  for (std::uint64_t seed = 1; seed <= 120; ++seed) {
    CAPTURE(seed);
    random_case one{seed + 1000, 2 + seed % 6};
    const std::optional<std::int64_t> best = one.plain.optimum();
    const demand_answer answer = one.world.ask(one.shapes);
    if (!best) continue;
    REQUIRE_FALSE(answer.plans.empty());
    CHECK(answer.plans.front().price * 100 <= *best * 105);
    CHECK(answer.plans.front().price >= *best);
  }
}

TEST_CASE("random worlds: a plan that the host carries out does what it says") {
  std::size_t carried_out = 0, nominated = 0;
  for (std::uint64_t seed = 1; seed <= 80; ++seed) {
    CAPTURE(seed);
    dice any{seed};
    waiting_pods world;
    for (std::size_t i = 0, nodes = any.below(3); i < nodes; ++i)
      world.cluster
          .add_node(a_node{"there-" + std::to_string(i)}.cpu(any.between(2, 8)).memory("16Gi").label("rack", "r0"))
          .value();
    std::vector<group_id> gangs;
    for (int i = 0; i < 2; ++i) {
      a_gang gang{"g" + std::to_string(i), static_cast<std::int32_t>(any.between(2, 4))};
      if (any.percent(50))
        gang.permit();
      else if (any.percent(60))
        gang.spec.topology.within = {"rack"};
      gangs.push_back(world.cluster.add_group(gang).value());
    }
    for (std::int64_t i = 0, pods = any.between(4, 16); i < pods; ++i) {
      a_pod pod{"p" + std::to_string(i)};
      pod.cpu_milli(any.between(2, 40) * 100).memory("1Gi").label("app", any.percent(50) ? "a" : "b");
      pod.spec.priority = static_cast<std::int32_t>(any.below(2));
      if (any.percent(20)) pod.gpus(any.between(1, 2));
      if (any.percent(20)) {
        pod.spec.topology_spread_constraints = {
            {.topology_key = "rack", .selector = label_selector{.match_labels = {{"app", "a"}}}}};
      }
      if (any.percent(20)) {
        pod.spec.anti_affinity_to_pods.required = {
            {.topology_key = "kubernetes.io/hostname", .selector = label_selector{.match_labels = {{"app", "b"}}}}};
      }
      if (any.percent(40)) pod.in(any.of(gangs));
      world.add(pod);
    }
    std::vector<node_shape> shapes;
    for (int i = 0; i < 3; ++i) {
      const std::int64_t cpu = any.between(3, 12);
      shapes.push_back(shape("s" + std::to_string(i), cpu, 32, cpu * 3 + any.between(0, 6)));
      shapes.back().like.labels["rack"] = "r" + std::to_string(any.below(3));
      if (any.percent(50)) shapes.back().like.allocatable["nvidia.com/gpu"] = 2;
      if (any.percent(20)) shapes.back().most = 2;
    }
    const demand_answer answer = world.ask(shapes, {.most_nodes = 16});
    const auto runs = [](const forked& in) {
      std::size_t count = 0;
      for (const pod_id pod : in.cluster.pods()) count += in.cluster.state_of(pod) == pod_state::bound ? 1u : 0u;
      return count;
    };
    for (const demand_plan& plan : answer.plans) {
      forked host = world.by.fork().value();
      what_if::settle(host, instant{1});
      const std::size_t before = runs(host);
      std::size_t number = 1, placed = plan.elsewhere.size();
      std::vector<std::pair<pod_id, node_id>> wishes;
      for (const demand_plan::added_node& node : plan.nodes) {
        node_spec spec = shapes[node.shape].like;
        spec.name += "-came-" + std::to_string(number++);
        spec.labels["kubernetes.io/hostname"] = spec.name;
        const node_id came = host.cluster.add_node(spec).value();
        for (const pod_id pod : node.pods) wishes.emplace_back(pod, came);
        placed += node.pods.size();
      }
      for (const assignment& one : plan.elsewhere) wishes.emplace_back(one.pod, one.node);
      if (!plan.by_itself) {
        for (const auto& [pod, node] : wishes) host.cluster.nominate(pod, node).value();
        ++nominated;
      }
      std::vector<pod_id> wanted;
      for (const auto& [pod, node] : wishes) wanted.push_back(pod);
      host.scheduler.activate(wanted, instant{1}).value();
      what_if::settle(host, instant{1});
      for (const pod_id pod : wanted) CHECK(host.cluster.state_of(pod) == pod_state::bound);
      CHECK(runs(host) >= before + placed);
      ++carried_out;
    }
  }
  CHECK(carried_out > 80);
  CHECK(nominated > 5);
}

TEST_CASE("a gang that waits as a whole gets nodes for all that it lacks, beside the room that there is") {
  waiting_pods world;
  world.cluster.add_node(a_node{"there"}.cpu(4).memory("64Gi")).value();
  const group_id gang = world.cluster.add_group(a_gang{"train", 4}).value();
  for (int i = 0; i < 4; ++i) world.add(a_pod{"t" + std::to_string(i)}.cpu(4).memory("1Gi").in(gang));
  const demand_answer answer = world.ask({shape("small", 4, 64, 10), shape("large", 8, 64, 19)});
  REQUIRE_FALSE(answer.plans.empty());
  CHECK(answer.plans.front().price == 29);
  CHECK(answer.plans.front().elsewhere.size() == 1);
  CHECK(by_shape(answer.plans.front()) == std::map<std::size_t, std::size_t>{{0, 1}, {1, 1}});
}

TEST_CASE("a gang that has to share a rack gets its nodes in one") {
  waiting_pods world;
  group_spec spec = a_gang{"train", 3};
  spec.topology.within = {"rack"};
  const group_id gang = world.cluster.add_group(spec).value();
  for (int i = 0; i < 3; ++i) world.add(a_pod{"t" + std::to_string(i)}.cpu(4).memory("1Gi").in(gang));
  node_shape near = shape("near", 4, 64, 10), far = shape("far", 4, 64, 9);
  near.like.labels["rack"] = "r1", far.like.labels["rack"] = "r2";
  far.most = 2;
  const demand_answer answer = world.ask({near, far});
  REQUIRE_FALSE(answer.plans.empty());
  CHECK(by_shape(answer.plans.front()) == std::map<std::size_t, std::size_t>{{0, 3}});
}

TEST_CASE("what amounts do not say decides too: pods that are against each other get a node each") {
  waiting_pods world;
  for (int i = 0; i < 3; ++i) {
    a_pod pod{"p" + std::to_string(i)};
    pod.cpu(1).memory("1Gi").label("app", "db");
    pod.spec.anti_affinity_to_pods.required = {
        {.topology_key = "kubernetes.io/hostname", .selector = label_selector{.match_labels = {{"app", "db"}}}}};
    world.add(pod);
  }
  const demand_answer answer = world.ask({shape("small", 2, 8, 10), shape("large", 32, 64, 50)});
  REQUIRE_FALSE(answer.plans.empty());
  CHECK(answer.plans.front().price == 30);
  CHECK(answer.plans.front().nodes.size() == 3);
}

TEST_CASE("devices count: a pod that wants two GPUs of a node gets one that has them") {
  waiting_pods world;
  for (int i = 0; i < 3; ++i) world.add(a_pod{"p" + std::to_string(i)}.cpu(1).memory("1Gi").gpus(2));
  node_shape one = shape("one", 8, 64, 5), four = shape("four", 8, 64, 18);
  one.like = a_node{"one"}.cpu(8).memory("64Gi").gpus(1).cards(1, "A100", 40960);
  four.like = a_node{"four"}.cpu(8).memory("64Gi").gpus(4).cards(4, "A100", 40960);
  const demand_answer answer = world.ask({one, four});
  REQUIRE_FALSE(answer.plans.empty());
  CHECK(by_shape(answer.plans.front()) == std::map<std::size_t, std::size_t>{{1, 2}});
}

TEST_CASE("who is gated, or fits no shape, or is too much for what may be had is left, and the others are served") {
  waiting_pods world;
  a_pod gated{"gated"};
  gated.cpu(1).memory("1Gi");
  gated.spec.scheduling_gates = {"later"};
  const pod_id waits = world.add(gated), giant = world.add(a_pod{"giant"}.cpu(64).memory("1Gi"));
  for (int i = 0; i < 5; ++i) world.add(a_pod{"p" + std::to_string(i)}.cpu(4).memory("1Gi"));
  node_shape only = shape("s", 4, 16, 3);
  only.most = 3;
  const demand_answer answer = world.ask({only});
  REQUIRE_FALSE(answer.plans.empty());
  CHECK(answer.plans.front().nodes.size() == 3);
  CHECK(answer.left.size() == 4);
  CHECK(std::find(answer.left.begin(), answer.left.end(), waits) != answer.left.end());
  CHECK(std::find(answer.left.begin(), answer.left.end(), giant) != answer.left.end());
}

TEST_CASE("demand of some pods leaves out the others who wait") {
  waiting_pods world;
  const pod_id first = world.add(a_pod{"first"}.cpu(4).memory("1Gi"));
  world.add(a_pod{"second"}.cpu(4).memory("1Gi"));
  const std::vector<pod_id> meant{first};
  const demand_answer answer = world.ask({shape("s", 4, 16, 3)}, {.pods = meant});
  REQUIRE_FALSE(answer.plans.empty());
  CHECK(answer.plans.front().nodes.size() == 1);
  CHECK(answer.plans.front().nodes.front().pods == meant);
  CHECK(answer.plans.front().by_itself);
}

TEST_CASE("nodes whose prices are more than 64 bits together are dearer than one that costs less") {
  waiting_pods world;
  for (const char* const name : {"a", "b"}) world.add(a_pod{name}.cpu(4).memory("1Gi"));
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  const demand_answer answer = world.ask({shape("small", 4, 16, most / 2 + 2), shape("large", 8, 16, most - 1)});
  REQUIRE(answer.plans.size() == 2);
  CHECK(answer.plans[0].price == most - 1);
  CHECK(answer.plans[0].nodes.size() == 1);
  CHECK(answer.plans[1].price == most);
  CHECK(answer.plans[1].nodes.size() == 2);
}

TEST_CASE("who is meant has to be there, and who is not is named") {
  waiting_pods world;
  world.add(a_pod{"stays"}.cpu(4).memory("1Gi"));
  const pod_id gone = world.add(a_pod{"gone"}.cpu(4).memory("1Gi"));
  const group_id group = world.cluster.add_group(a_gang("gang", 1)).value();
  world.cluster.remove_pod(gone).value();
  world.cluster.remove_group(group).value();
  const std::vector shapes{shape("s", 4, 16, 3)};
  const std::vector<pod_id> pods{world.pods.front(), gone};
  CHECK(demand(world.by, shapes, {.now = instant{1}, .pods = pods}).error().message() ==
        "pods[1]: id: names no pod of this cluster");
  CHECK(demand(world.by, shapes, {.now = instant{1}, .groups = std::span{&group, 1}}).error().message() ==
        "groups[0]: id: names no group of this cluster");
}

TEST_CASE("room that victims leave for somebody who gets no node by the question is not free") {
  waiting_pods world;
  const node_id ssd = world.cluster.add_node(a_node{"ssd"}.cpu(4).memory("16Gi").label("disk", "ssd")).value();
  world.add(a_pod{"low"}.cpu(2).memory("1Gi").on(ssd));
  a_pod high = a_pod{"high"}.cpu(3).memory("1Gi");
  high.spec.priority = 100;
  high.spec.node_selector = {{"disk", "ssd"}};
  const pod_id first = world.add(high), small = world.add(a_pod{"small"}.cpu(2).memory("1Gi"));
  while (auto cycle = world.by.schedule_cycle(instant{1})) {
    for (const decision& one : cycle) {
      if (one.kind == decision_kind::evict) world.cluster.set_terminating(one.pod, true).value();
    }
  }
  REQUIRE(world.cluster.nominated_node_of(first) == ssd);
  const std::vector<pod_id> meant{small};
  for (const demand_options& options : {demand_options{}, demand_options{.pods = meant}}) {
    const demand_answer answer = world.ask({shape("plain", 4, 16, 1)}, options);
    CHECK(answer.left == (options.pods.empty() ? std::vector{first} : std::vector<pod_id>{}));
    REQUIRE(answer.plans.size() == 1);
    REQUIRE(answer.plans[0].nodes.size() == 1);
    CHECK(answer.plans[0].nodes[0].pods == meant);
  }
}

TEST_CASE("who could evict somebody does not keep the room for that from the others") {
  waiting_pods world;
  const node_id n = world.cluster.add_node(a_node{"n"}.cpu(4).memory("16Gi")).value();
  world.add(a_pod{"low"}.cpu(3).memory("1Gi").on(n));
  a_pod high = a_pod{"high"}.cpu(2).memory("1Gi");
  high.spec.priority = 5;
  const pod_id first = world.add(high);
  const pod_id small = world.add(a_pod{"small"}.cpu(1).memory("1Gi"));
  const demand_answer answer = world.ask({shape("two", 2, 16, 1)});
  REQUIRE_FALSE(answer.plans.empty());
  CHECK(answer.plans[0].price == 1);
  CHECK(answer.plans[0].nodes[0].pods == std::vector{first});
  REQUIRE(answer.plans[0].elsewhere.size() == 1);
  CHECK(answer.plans[0].elsewhere[0].pod == small);
}

TEST_CASE("nobody who waits needs nothing, and wrong questions are refused") {
  waiting_pods world;
  CHECK(world.ask({shape("s", 4, 16, 3)}).plans.empty());
  CHECK(demand(world.by, std::vector{shape("s", 4, 16, -3)}, {}).error().code == errc::out_of_range);
  world.by.catch_up(instant{10}).value();
  CHECK(demand(world.by, {}, {.now = instant{9}}).error().code == errc::time_went_back);
}

}  // namespace gangsched::testing::demand_test
