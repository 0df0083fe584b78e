// Claims of devices that pods share, through the engine: where their pods go, in gangs, preemption and trials.
#include <array>
#include <random>

#include "support/inside.hpp"
#include "world.hpp"

namespace gangsched::testing::resource_claims_test {

namespace {

scheduler_options checked(wake_rule wake = wake_rule::one_per_class) {
  return {.ties = tie_rule::lowest_row, .wake = wake, .check_hooks = true};
}

struct sharing_world : world {
  explicit sharing_world(const scheduler_options& options = checked()) : world(profiles::kube_default(), options) {}
  using world::add;
  resource_claim_id claim(const std::string& name, std::int32_t cards, std::int32_t most_pods = 256) {
    return must(cluster.add_resource_claim({.name = name, .devices = {{.count = cards}}, .most_pods = most_pods}));
  }
  static a_pod sharing(const std::string& name, std::vector<resource_claim_id> claims) {
    a_pod made{name};
    made.cpu(1).spec.resource_claims = std::move(claims);
    return made;
  }
  std::string why(const std::string& name) { return must(scheduler.explain(pod(name))).summary; }
};

}  // namespace

TEST_CASE("pods that share a claim run where it is, and take nothing more", "[engine][resource_claims]") {
  sharing_world w;
  w.add(a_node{"n"}.cpu(3).cards(2));
  w.add(a_node{"m"}.cpu(64).cards(8));
  const resource_claim_id pair = w.claim("pair", 2);
  w.add(w.sharing("b", {pair}).on(w.node("n")));
  for (const char* name : {"c", "d", "e"}) w.add(w.sharing(name, {pair}));
  w.add(w.sharing("own", {}).cards(1));
  CHECK(w.run() == words{"bind c n", "bind d n", "reject e", "bind own m"});
  CHECK(w.cluster.users_of(pair) == 3);
  CHECK(w.why("e") == "0/2 nodes are available: 1 Insufficient cpu, 1 resourceclaim not available on the node.");
  w.remove(w.pod("c"));
  CHECK(w.run() == words{"bind e n"});
}

TEST_CASE("when its last pod has left the claim can go elsewhere, and who waits for that is woken",
          "[engine][resource_claims]") {
  sharing_world w;
  w.add(a_node{"n"}.cpu(1).cards(2));
  w.add(a_node{"m"}.cpu(4).cards(2));
  const resource_claim_id pair = w.claim("pair", 2), other = w.claim("other", 1);
  w.add(w.sharing("a", {pair}).on(w.node("n")));
  w.add(w.sharing("o", {other}).on(w.node("m")));
  w.add(w.sharing("b", {pair}));
  CHECK(w.run() == words{"reject b"});  // n is full, and m has no claim of it
  w.add(w.sharing("both", {pair, other}));
  CHECK(w.run() == words{"reject both"});
  CHECK(w.why("both") == "0/2 nodes are available: 1 Insufficient cpu, 1 resourceclaim not available on the node.");
  w.remove(w.pod("o"));
  CHECK(w.run_at(1h).size() == 2);
  w.remove(w.pod("a"));
  CHECK(sorted(w.run_at(2h)) == words{"bind b m", "reject both"});  // m has two devices, and other needs a third
  w.remove(w.pod("b"));
  w.add(a_node{"large"}.cpu(4).cards(3));
  CHECK(w.run_at(3h) == words{"bind both large"});
}

TEST_CASE("a pod is woken for the other nodes too when its claim is given back", "[engine][resource_claims]") {
  sharing_world w;
  w.add(a_node{"n"}.cpu(1).cards(1));
  w.add(a_node{"m"}.cpu(1).cards(1));
  const resource_claim_id one = w.claim("one", 1);
  w.add(a_pod{"full"}.cpu(1).on(w.node("n")));
  a_pod user{"user"};
  user.spec.resource_claims = {one};
  w.add(user.on(w.node("n")));
  w.add(w.sharing("waits", {one}));
  CHECK(w.run() == words{"reject waits"});
  w.remove(w.pod("user"));  // n has no more cpu than before
  CHECK(w.run_at(1min) == words{"bind waits m"});
}

TEST_CASE("pods go where their claim is allocated already, and wait until it is deallocated if there is no room",
          "[engine][resource_claims]") {
  sharing_world w;
  w.add(a_node{"n"}.cpu(1).cards(2));
  w.add(a_node{"m"}.cpu(4).cards(2));
  const resource_claim_id pair =
      w.must(w.cluster.add_resource_claim({.name = "pair", .devices = {{.count = 2}}, .node = w.node("n")}));
  w.add(w.sharing("a", {pair}));
  w.add(w.sharing("own", {}).cards(1));
  CHECK(w.run() == words{"bind a n", "bind own m"});
  w.add(w.sharing("b", {pair}));
  CHECK(w.run() == words{"reject b"});
  CHECK(w.why("b") == "0/2 nodes are available: 1 Insufficient cpu, 1 resourceclaim not available on the node.");
  CHECK_FALSE(w.cluster.deallocate(pair));
  w.remove(w.pod("own"));
  w.remove(w.pod("a"));
  w.add(a_pod{"full"}.cpu(1).on(w.node("n")));
  CHECK(w.run_at(1h) == words{"reject b"});  // nobody has run with it
  w.must(w.cluster.deallocate(pair));
  CHECK(w.run_at(2h) == words{"bind b m"});
}

TEST_CASE("pods share a device as long as its capacity lasts, and a host's predicates choose which",
          "[engine][resource_claims]") {
  cluster_options options;
  options.device_matcher.ask = [](void*, std::string_view expression, const other_device& device) -> device_verdict {
    return {.matches = device.attributes.at("d/model") == device_attribute{std::string{expression}}};
  };
  world w{profiles::kube_default(), checked(), options};
  for (const char* name : {"n", "m"}) {
    a_node node{name};
    node.cpu(64);
    other_device& one = node.spec.devices.others.emplace_back(other_device{.id = "card", .device_class = "card"});
    one.attributes["d/model"] = std::string{name} + "-model";
    one.capacities["d/memory"] = {.amount = 10};
    one.shared = true;
    w.add(node);
  }
  const auto wanting = [](const std::string& name, std::int64_t memory, std::vector<std::string> expressions) {
    return a_pod{name}.cpu(1).device(
        {.device_class = "card", .expressions = std::move(expressions), .capacities = {{"d/memory", memory}}});
  };
  w.add(wanting("a", 6, {"m-model"}));
  w.add(wanting("b", 6, {"m-model"}));
  w.add(wanting("c", 4, {"m-model"}));
  w.add(wanting("d", 6, {"x"}));
  CHECK(w.run() == words{"bind a m", "reject b", "bind c m", "reject d"});
  w.add(wanting("e", 10, {}));
  CHECK(w.run() == words{"bind e n"});
  w.remove(w.pod("a"));
  CHECK(w.run_at(1h) == words{"bind b m", "reject d"});
}

TEST_CASE("a claim has at most so many pods", "[engine][resource_claims]") {
  sharing_world w;
  w.add(a_node{"n"}.cpu(600).pods(600).cards(1));
  const resource_claim_id two = w.claim("two", 1, 2);
  for (const char* name : {"a", "b", "c"}) w.add(w.sharing(name, {two}));
  CHECK(w.run() == words{"bind a n", "bind b n", "reject c"});
  CHECK(w.why("c") == "0/1 nodes are available: 1 resourceclaim in use.");
  w.remove(w.pod("a"));
  CHECK(w.run() == words{"bind c n"});
  for (const char* name : {"b", "c"}) w.remove(w.pod(name));
  const resource_claim_id kube = w.claim("kube", 1);
  for (int i = 0; i < 257; ++i) w.add(w.sharing("p" + std::to_string(i), {kube}));
  const words said = w.run();
  CHECK(said.size() == 257);
  CHECK(said.back() == "reject p256");
}

TEST_CASE("a pod whose claims are on different nodes has no node", "[engine][resource_claims]") {
  sharing_world w;
  for (const char* name : {"n", "m"}) w.add(a_node{name}.cpu(64).cards(4));
  const resource_claim_id one = w.claim("one", 1), two = w.claim("two", 1);
  w.add(w.sharing("a", {one}).on(w.node("n")));
  w.add(w.sharing("b", {two}).on(w.node("m")));
  w.add(w.sharing("both", {one, two}));
  CHECK(w.run() == words{"reject both"});
  CHECK(w.why("both") == "0/2 nodes are available: 2 resourceclaim not available on the node.");
}

TEST_CASE("a claim's devices are chosen together with the pod's own", "[engine][resource_claims]") {
  sharing_world w;
  w.add(a_node{"small"}.cpu(64).cards(2));
  w.add(a_node{"large"}.cpu(64).cards(3));
  const resource_claim_id pair = w.claim("pair", 2);
  w.add(w.sharing("a", {pair}).cards(1));
  CHECK(w.run() == words{"bind a large"});
  CHECK(w.cluster.devices_of(w.pod("a")).size() == 1);
  CHECK(w.cluster.devices_of(pair).size() == 2);
  CHECK(w.cluster.node_of(pair) == w.node("large"));
}

TEST_CASE("a gang whose members share a claim goes to one node, or nowhere", "[engine][resource_claims]") {
  sharing_world w;
  w.add(a_node{"few"}.cpu(3).cards(8));
  w.add(a_node{"many"}.cpu(6).cards(8));
  w.add(a_node{"bare"}.cpu(64));
  const resource_claim_id all = w.claim("all", 8, 0);
  const std::uint64_t members = 5;
  const auto gang = [&](int count) {
    const group_id made = w.add(a_gang{"gang", count});
    for (int i = 0; i < count; ++i) w.add(w.sharing("m" + std::to_string(i), {all}).in(made));
    return made;
  };
  SECTION("also where the first node that will do for one is too small") {
    w.add(a_pod{"busy"}.cpu(1).on(w.node("many")));
    gang(static_cast<int>(members));
    const words said = w.run();
    REQUIRE(said.size() == members);
    for (const std::string& one : said) CHECK(one.ends_with(" many"));
    CHECK(w.cluster.users_of(all) == members);
  }
  SECTION("a rejected one leaves no trace") {
    const group_id made = gang(7);
    for (const std::string& one : w.run()) CHECK(one.starts_with("reject"));
    CHECK_FALSE(w.cluster.node_of(all));
    for (const char* name : {"few", "many"}) CHECK(w.cluster.devices_of(w.node(name)).gpu(0).idle());
    w.must(w.cluster.update_group(made, a_gang{"gang", 6}));
    const words said = w.run_at(1h);
    CHECK(std::count_if(said.begin(), said.end(), [](const std::string& one) { return one.ends_with(" many"); }) == 6);
  }
  SECTION("by a choice of domains too") {
    for (const char* name : {"few", "many"}) {
      a_node spec = a_node{name}.cpu(name[0] == 'f' ? 3 : 6).cards(8).label("rack", name);
      w.must(w.cluster.update_node(w.node(name), spec));
    }
    a_gang spec{"gang", 5};
    spec.spec.topology.within = {"rack"};
    spec.spec.topology.choice = domain_choice::best_fit;
    const group_id made = w.add(spec);
    for (int i = 0; i < 5; ++i) w.add(w.sharing("m" + std::to_string(i), {all}).in(made));
    const words said = w.run();
    CHECK(said.size() == 5);
    for (const std::string& one : said) CHECK(one.ends_with(" many"));
  }
}

TEST_CASE("a gang in the permit room gives its claim back when it gives up", "[engine][resource_claims]") {
  sharing_world w;
  w.add(a_node{"n"}.cpu(2).cards(2));
  const resource_claim_id pair = w.claim("pair", 2);
  const group_id gang = w.add(a_gang{"gang", 3}.permit().timeout(10s));
  for (int i = 0; i < 3; ++i) w.add(w.sharing("m" + std::to_string(i), {pair}).in(gang));
  CHECK(w.run() == words{"wait m0 n", "wait m1 n", "reject m2"});
  CHECK(w.cluster.users_of(pair) == 2);
  CHECK(w.permit_at(11s).size() == 2);
  CHECK_FALSE(w.cluster.node_of(pair));
  CHECK(w.cluster.devices_of(w.node("n")).gpu(0).idle());
}

TEST_CASE("victims free a claim only if nobody else uses it", "[engine][resource_claims]") {
  sharing_world w;
  w.add(a_node{"n"}.cpu(64).cards(3));
  const resource_claim_id pair = w.claim("pair", 2);
  w.add(w.sharing("a", {pair}).priority(1).on(w.node("n")));
  w.add(w.sharing("single", {}).cards(1).priority(5).on(w.node("n")));
  SECTION("all that use it go") {
    w.add(w.sharing("b", {pair}).priority(2).on(w.node("n")));
    w.add(w.sharing("high", {}).cards(2).priority(10));
    CHECK(sorted(w.run()) == words{"evict a n", "evict b n", "nominate high n"});
    w.remove(w.pod("a"));
    CHECK(w.run().empty());
    w.remove(w.pod("b"));
    CHECK(w.run() == words{"bind high n"});
  }
  SECTION("one that stays keeps it, and nobody goes in vain") {
    w.add(w.sharing("b", {pair}).priority(20).on(w.node("n")));
    w.add(w.sharing("high", {}).cards(2).priority(10));
    CHECK(w.run() == words{"reject high"});
    w.add(w.sharing("less", {}).cards(1).priority(10));
    CHECK(w.run() == words{"nominate less n", "evict single n"});
  }
  SECTION("a pod that shares it takes it over") {
    w.add(w.sharing("high", {pair}).cards(1).priority(10));
    CHECK(w.run() == words{"nominate high n", "evict single n"});
  }
}

TEST_CASE("gangs preempt all that share a claim", "[engine][resource_claims]") {
  sharing_world w;
  for (const char* name : {"n", "m"}) w.add(a_node{name}.cpu(64).cards(2));
  const resource_claim_id low = w.claim("low", 2), high = w.claim("high", 2);
  for (const char* name : {"a", "b"}) w.add(w.sharing(name, {low}).priority(1).on(w.node("n")));
  w.add(w.sharing("keeps", {}).cards(1).priority(100).on(w.node("m")));
  const group_id gang = w.add(a_gang{"gang", 2}.priority(10));
  for (const char* name : {"x", "y"}) w.add(w.sharing(name, {high}).priority(10).in(gang));
  CHECK(sorted(w.run()) == words{"evict a n", "evict b n", "nominate x n", "nominate y n"});
  for (const char* name : {"a", "b"}) w.remove(w.pod(name));
  CHECK(sorted(w.run_at(1h)) == words{"bind x n", "bind y n"});
  CHECK(w.cluster.users_of(high) == 2);
}

TEST_CASE("plans of moves take everybody along who shares a claim", "[engine][resource_claims]") {
  sharing_world w;
  w.add(a_node{"n"}.cpu(64).cards(4));
  w.add(a_node{"m"}.cpu(64).cards(4));
  const resource_claim_id one = w.claim("one", 1);
  for (const char* name : {"a", "b"}) w.add(w.sharing(name, {one}).on(w.node("n")));
  w.add(w.sharing("stays", {}).cards(2).on(w.node("m")));
  const group_id gang = w.add(a_gang{"gang", 1});
  w.add(w.sharing("x", {}).cards(4).in(gang));
  CHECK(w.run() == words{"reject x"});
  const std::uint64_t before = inside(w.cluster).digest_with_derived();
  move_options options;
  options.cost = [](const pod_info& pod) { return pod.name() == "stays" ? -1 : 1; };
  const auto plan = w.must(w.scheduler.plan_moves(gang, options));
  CHECK(inside(w.cluster).digest_with_derived() == before);
  REQUIRE(plan);
  REQUIRE(plan->moves.size() == 2);
  for (const pod_move& move : plan->moves) CHECK(move.to == w.node("m"));
}

TEST_CASE("a pod is placed exactly if some node will do, whatever is shared", "[engine][resource_claims]") {
  std::mt19937 random{20261122};
  const auto dice = [&](int sides) { return static_cast<int>(random() % static_cast<unsigned>(sides)); };
  int binds = 0, rejects = 0;
  for (int round = 0; round < 60; ++round) {
    sharing_world w{checked(
        std::array{wake_rule::one_per_class, wake_rule::all, wake_rule::hints}[static_cast<std::size_t>(round % 3)])};
    struct machine {
      std::string name;
      int cpu, cards;
    };
    std::vector<machine> machines;
    for (int i = 0; i < 4; ++i) {
      machines.push_back({"n" + std::to_string(i), 1 + dice(4), dice(5)});
      w.add(
          a_node{machines.back().name}.cpu(machines.back().cpu).cards(static_cast<std::size_t>(machines.back().cards)));
    }
    struct shared {
      resource_claim_id id;
      int cards, most;
    };
    std::vector<shared> claims;
    for (int i = 0; i < 4; ++i) {
      const int cards = 1 + dice(3), most = 1 + dice(3);
      claims.push_back({w.claim("c" + std::to_string(i), cards, most), cards, most});
    }
    struct user {
      std::string name;
      std::vector<std::size_t> claims;
      int cards;
      std::size_t on = 99;  // number of the machine
    };
    std::vector<user> pods;
    // The plain truth: who is where.
    const auto users = [&](std::size_t claim) {
      return std::count_if(pods.begin(), pods.end(), [&](const user& one) {
        return one.on != 99 && std::find(one.claims.begin(), one.claims.end(), claim) != one.claims.end();
      });
    };
    const auto home = [&](std::size_t claim) -> std::size_t {
      for (const user& one : pods)
        if (one.on != 99 && std::find(one.claims.begin(), one.claims.end(), claim) != one.claims.end()) return one.on;
      return 99;
    };
    const auto fits = [&](const user& pod, std::size_t at) {
      int cpu = machines[at].cpu - 1, cards = machines[at].cards - pod.cards;
      for (const user& one : pods)
        if (one.on == at) cpu -= 1, cards -= one.cards;
      for (std::size_t i = 0; i < claims.size(); ++i) {
        const bool mine = std::find(pod.claims.begin(), pod.claims.end(), i) != pod.claims.end();
        if (mine && (users(i) >= claims[i].most || (home(i) != 99 && home(i) != at))) return false;
        if (mine || home(i) == at) cards -= claims[i].cards;
      }
      return cpu >= 0 && cards >= 0;
    };
    for (int step = 0; step < 60; ++step) {
      if (dice(3) != 0 || pods.empty()) {
        user made{"p" + std::to_string(step), {}, dice(2)};
        std::vector<resource_claim_id> named;
        for (std::size_t i = 0; i < claims.size(); ++i)
          if (dice(3) == 0) made.claims.push_back(i), named.push_back(claims[i].id);
        a_pod spec = w.sharing(made.name, named);
        if (made.cards != 0) spec.cards(made.cards);
        w.add(spec);
        pods.push_back(made);
      } else {
        const std::size_t which = static_cast<std::size_t>(dice(static_cast<int>(pods.size())));
        w.remove(w.pod(pods[which].name));
        pods.erase(pods.begin() + static_cast<std::ptrdiff_t>(which));
      }
      w.now += 1min;  // backoffs are over, but who is parked has to be woken
      while (const cycle done = w.scheduler.schedule_cycle(w.now)) {
        REQUIRE(done.error() == nullptr);
        for (const decision& one : done) {
          user& pod = *std::find_if(pods.begin(), pods.end(),
                                    [&](const user& p) { return p.name == w.cluster.name_of(one.pod); });
          std::vector<std::size_t> possible;
          for (std::size_t at = 0; at < machines.size(); ++at)
            if (fits(pod, at)) possible.push_back(at);
          if (one.kind == decision_kind::reject) {
            REQUIRE(possible.empty());
            ++rejects;
            continue;
          }
          REQUIRE(one.kind == decision_kind::bind);
          const std::size_t at = static_cast<std::size_t>(w.cluster.name_of(one.node)[1] - '0');
          REQUIRE(std::find(possible.begin(), possible.end(), at) != possible.end());
          pod.on = at;
          ++binds;
        }
      }
      for (std::size_t i = 0; i < claims.size(); ++i) {
        REQUIRE(w.cluster.users_of(claims[i].id) == static_cast<std::uint32_t>(users(i)));
        const node_id there = w.cluster.node_of(claims[i].id);
        REQUIRE((there ? w.cluster.name_of(there) : std::string_view{}) ==
                (home(i) == 99 ? "" : machines[home(i)].name));
      }
      for (const user& pod : pods) {
        bool any = pod.on != 99;
        for (std::size_t at = 0; at < machines.size(); ++at) any = any || fits(pod, at);
        REQUIRE(
            (w.cluster.state_of(w.pod(pod.name)) != pod_state::pending || !any));  // nobody who fits is left waiting
      }
    }
  }
  CHECK(binds > 300);
  CHECK(rejects > 100);
}

TEST_CASE("what a victim's claim had binds no gang that would use the claim when the victim is gone",
          "[engine][resource_claims]") {
  sharing_world w;
  node_spec n = a_node{"n"}.cpu(4).cards(3);
  for (std::size_t i = 0; i < 3; ++i) n.devices.gpus[i].numa = i < 2 ? 0 : 1;
  const node_id node = w.add(n);
  const resource_claim_id one = w.must(w.cluster.add_resource_claim(
      {.name = "one", .devices = {{.count = 1}}, .held_devices = {{.id = "0"}}, .node = node}));
  w.add(w.sharing("victim", {one}).cpu(4).on(node));
  const group_id gang = w.add(a_gang{"g", 1}.priority(10));
  pod_spec next =
      w.sharing("next", {one}).cpu(2).priority(10).device({.count = 2, .within = device_scope::numa}).in(gang);
  w.add(next);
  CHECK(w.run() == words{"nominate next n", "evict victim n"});  // GPUs 0 and 1 for itself, 2 for the claim
  w.remove(w.pod("victim"));
  CHECK(w.run_at(60s) == words{"bind next n"});
}

}  // namespace gangsched::testing::resource_claims_test
