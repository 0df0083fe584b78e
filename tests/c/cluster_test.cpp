// The C interface, as far as it is about the cluster: what comes in, what is refused and how it is said.
#include <cstring>

#include "c/world.hpp"

namespace gangsched::testing::c_cluster_test {

using words = std::vector<std::string>;

TEST_CASE("an error says its code, its parts and all of them as one line", "[c]") {
  c_world world;
  world.node("a", 4);
  gangsched_node_spec again{};
  again.struct_size = sizeof again;
  again.name = "a";
  REQUIRE(gangsched_cluster_add_node(world.cluster, &again, nullptr, world.error) == GANGSCHED_DUPLICATE);
  CHECK(gangsched_error_code(world.error) == GANGSCHED_DUPLICATE);
  CHECK(world.error.message() == "node a: name: exists already");
  CHECK(gangsched_error_object(world.error) == std::string{"node a"});
  CHECK(gangsched_error_field(world.error) == std::string{"name"});
  CHECK(gangsched_error_reason(world.error) == std::string{"exists already"});
  CHECK(gangsched_code_name(GANGSCHED_DUPLICATE) == std::string{"duplicate"});
  CHECK(gangsched_code_name(GANGSCHED_NO_MEMORY) == std::string{"no_memory"});
  CHECK(gangsched_code_name(99) == std::string{});
  // Who wants the code alone hands in no error.
  CHECK(gangsched_cluster_add_node(world.cluster, &again, nullptr, nullptr) == GANGSCHED_DUPLICATE);
}

TEST_CASE("null handles, structs and places are errors", "[c]") {
  c_world world;
  gangsched_node_id node{};
  gangsched_node_spec spec{};
  spec.struct_size = sizeof spec;
  CHECK(gangsched_cluster_create(nullptr, nullptr, world.error) == GANGSCHED_MALFORMED);
  CHECK(gangsched_cluster_add_node(nullptr, &spec, &node, world.error) == GANGSCHED_MALFORMED);
  CHECK(world.error.message() == "cluster: is null");
  CHECK(gangsched_cluster_add_node(world.cluster, nullptr, &node, world.error) == GANGSCHED_MALFORMED);
  CHECK(world.error.message() == "spec: is null");
  CHECK(gangsched_scheduler_schedule_cycle(nullptr, 0, nullptr, world.error) == GANGSCHED_MALFORMED);
  CHECK(gangsched_scheduler_create(world.cluster, nullptr, nullptr, nullptr, world.error) == GANGSCHED_MALFORMED);
  gangsched_cluster_destroy(nullptr);
  gangsched_scheduler_destroy(nullptr);
  gangsched_error_destroy(nullptr);
  CHECK(text_of(gangsched_cluster_node_name(nullptr, node)).empty());
  CHECK(gangsched_scheduler_next_deadline(nullptr) == GANGSCHED_NEVER);
}

TEST_CASE("a list that is null and counts something is an error", "[c]") {
  c_world world;
  gangsched_node_spec spec{};
  spec.struct_size = sizeof spec;
  spec.name = "a";
  spec.allocatable = {nullptr, 1};
  CHECK(gangsched_cluster_add_node(world.cluster, &spec, nullptr, world.error) == GANGSCHED_MALFORMED);
  CHECK(world.error.message() == "node a: allocatable: is null, and not empty");
}

TEST_CASE("terms of node affinity that are null and counted are an error, also where there may be none", "[c]") {
  c_world world;
  const auto terms = [](std::size_t count) {
    return [=](gangsched_pod_spec& spec) {
      spec.has_node_terms = true;
      spec.node_term_count = count;
    };
  };
  world.pod_with("p", 1, terms(1), GANGSCHED_MALFORMED);
  CHECK(world.error.message() == "pod default/p: affinity.required: is null, and not empty");
  world.pod_with("p", 1, terms(0));
}

TEST_CASE("limits of volumes are amounts as all others are", "[c]") {
  c_world world;
  world.node("fits", 4);
  std::vector<gangsched_amount> limits;
  const auto add = [&](const char* name, gangsched_amount limit) {
    const gangsched_amount room[] = {{"cpu", nullptr, 4, 0}, {"pods", nullptr, 110, 0}};
    limits.push_back(limit);
    gangsched_node_spec spec{};
    spec.struct_size = sizeof spec;
    spec.name = name;
    spec.allocatable = {room, 2};
    spec.volume_limits = {limits.data(), limits.size()};
    return gangsched_cluster_add_node(world.cluster, &spec, nullptr, world.error);
  };
  CHECK(add("twice", {"csi", "2", 0, 0}) == GANGSCHED_OK);
  CHECK(add("twice-again", {"csi", nullptr, 2, 0}) == GANGSCHED_DUPLICATE);
  for (const gangsched_amount& wrong :
       {gangsched_amount{"csi", nullptr, -1, 0}, {"csi", "2500m", 0, 0}, {"csi", "3G", 0, 0}}) {
    limits.clear();
    CHECK(add("wrong", wrong) == GANGSCHED_OUT_OF_RANGE);
    CHECK(world.error.message() == "node wrong: volume_limits[csi]: is no number of volumes");
  }
  limits.clear();
  CHECK(add("wrong", {"csi", "many", 0, 0}) == GANGSCHED_MALFORMED);
  limits.clear();
  CHECK(add("tens", {"csi", nullptr, 1, 1}) == GANGSCHED_OK);
  // A pod with three volumes finds room where ten are allowed, or nobody says, not where two are.
  const char* const ids[] = {"a", "b", "c"};
  gangsched_attached_volume volumes[3];
  for (std::size_t i = 0; i < 3; ++i) volumes[i] = {"csi", ids[i]};
  gangsched_pod_volumes all{};
  all.struct_size = sizeof all;
  all.attachments = volumes;
  all.attachment_count = 3;
  const gangsched_pod_id pod = world.pod_with("p", 1, [&](gangsched_pod_spec& spec) { spec.volumes = &all; });
  world.schedules();
  char* why = nullptr;
  world.must(gangsched_scheduler_explain(world.scheduler, pod, GANGSCHED_TEXT, &why, world.error));
  const std::string told = why;
  gangsched_free(why);
  CHECK(told.find("twice: NodeVolumeLimits") != std::string::npos);
  CHECK(told.find("tens: NodeVolumeLimits") == std::string::npos);
  INFO(told);
  CHECK(told.find("fits: NodeVolumeLimits") == std::string::npos);
}

TEST_CASE("a struct of an earlier version is read as far as it goes, one of a later version if what it adds is zero",
          "[c]") {
  c_world world;
  struct {
    gangsched_node_spec known;
    std::uint64_t added;
  } later{};
  later.known.struct_size = sizeof later;
  later.known.name = "later";
  later.known.cookie = 7;
  world.must(gangsched_cluster_add_node(world.cluster, &later.known, nullptr, world.error));
  later.known.name = "more";
  later.added = 1;
  CHECK(gangsched_cluster_add_node(world.cluster, &later.known, nullptr, world.error) == GANGSCHED_MALFORMED);
  CHECK(std::string{gangsched_error_field(world.error)} == "struct_size");

  // Of the earlier version nothing behind its end is read: it is not even there.
  const std::size_t size = offsetof(gangsched_node_spec, volume_limits);
  const auto earlier = std::make_unique<unsigned char[]>(size);
  gangsched_node_spec whole{};
  whole.struct_size = size;
  whole.name = "earlier";
  std::memcpy(earlier.get(), &whole, size);
  gangsched_node_id made{};
  world.must(gangsched_cluster_add_node(world.cluster, reinterpret_cast<gangsched_node_spec*>(earlier.get()), &made,
                                        world.error));
  CHECK(text_of(gangsched_cluster_node_name(world.cluster, made)) == "earlier");

  whole.struct_size = 0;
  CHECK(gangsched_cluster_add_node(world.cluster, &whole, nullptr, world.error) == GANGSCHED_MALFORMED);
}

TEST_CASE("an array is walked in steps of the size that its first element says", "[c]") {
  struct later_container {
    gangsched_container known;
    std::uint64_t added;
  };
  c_world world;
  const gangsched_amount one{"cpu", nullptr, 1, 0}, two{"cpu", nullptr, 2, 0};
  later_container all[2]{};
  all[0].known.struct_size = all[1].known.struct_size = sizeof(later_container);
  all[0].known.requests = {&one, 1};
  all[1].known.requests = {&two, 1};
  gangsched_pod_spec spec{};
  spec.struct_size = sizeof spec;
  spec.name = "p";
  spec.containers = &all[0].known;
  spec.container_count = 2;
  spec.node = world.node("a", 8);
  world.must(gangsched_cluster_add_pod(world.cluster, &spec, nullptr, world.error));
  CHECK(gangsched_cluster_requested(world.cluster, spec.node, "cpu") == 3000);
}

TEST_CASE("amounts are texts or numbers with a scale", "[c]") {
  c_world world;
  const gangsched_amount room[] = {{"cpu", "1500m", 0, 0},
                                   {"memory", nullptr, 2, 9},
                                   {"pods", nullptr, 10, 0},
                                   {"example.com/x", nullptr, 2500, -3}};
  gangsched_node_spec spec{};
  spec.struct_size = sizeof spec;
  spec.name = "a";
  spec.allocatable = {room, 4};
  gangsched_node_id node{};
  world.must(gangsched_cluster_add_node(world.cluster, &spec, &node, world.error));
  CHECK(gangsched_cluster_allocatable(world.cluster, node, "cpu") == 1500);
  CHECK(gangsched_cluster_allocatable(world.cluster, node, "memory") == 2'000'000'000);
  CHECK(gangsched_cluster_allocatable(world.cluster, node, "example.com/x") == 3);  // rounded up, once

  spec.name = "b";
  const auto refused = [&](gangsched_amount amount, gangsched_code code) {
    spec.allocatable = {&amount, 1};
    CHECK(gangsched_cluster_add_node(world.cluster, &spec, nullptr, world.error) == code);
  };
  refused({"cpu", "much", 0, 0}, GANGSCHED_MALFORMED);
  refused({"cpu", nullptr, 1, -10}, GANGSCHED_OUT_OF_RANGE);
  refused({"cpu", nullptr, 1, 19}, GANGSCHED_OUT_OF_RANGE);
  refused({"cpu", nullptr, INT64_MAX, 18}, GANGSCHED_OUT_OF_RANGE);
  const gangsched_amount twice[] = {{"cpu", nullptr, 1, 0}, {"cpu", nullptr, 2, 0}};
  spec.allocatable = {twice, 2};
  CHECK(gangsched_cluster_add_node(world.cluster, &spec, nullptr, world.error) == GANGSCHED_DUPLICATE);
}

TEST_CASE("objects come, change and go", "[c]") {
  c_world world;
  const gangsched_node_id a = world.node("a", 4, 11), b = world.node("b", 4);
  const gangsched_pod_id pod = world.pod("p", 1, {}, 5);
  CHECK(gangsched_cluster_find_node(world.cluster, "a").value == a.value);
  CHECK(gangsched_cluster_find_node(world.cluster, "z").value == 0);
  CHECK(gangsched_cluster_find_pod(world.cluster, nullptr, "p").value == pod.value);
  CHECK(gangsched_cluster_pod_state(world.cluster, pod) == GANGSCHED_POD_PENDING);
  world.must(gangsched_cluster_assume(world.cluster, pod, a, world.error));
  CHECK(gangsched_cluster_pod_state(world.cluster, pod) == GANGSCHED_POD_ASSUMED);
  CHECK(gangsched_cluster_pod_attempt(world.cluster, pod) != 0);
  world.must(gangsched_cluster_release(world.cluster, pod, world.error));
  world.must(gangsched_cluster_nominate(world.cluster, pod, b, world.error));
  CHECK(gangsched_cluster_nominated_node(world.cluster, pod).value == b.value);
  world.must(gangsched_cluster_assume(world.cluster, pod, a, world.error));
  world.must(gangsched_cluster_bind(world.cluster, pod, world.error));
  CHECK(gangsched_cluster_pod_node(world.cluster, pod).value == a.value);
  CHECK(gangsched_cluster_bind(world.cluster, pod, world.error) == GANGSCHED_WRONG_STATE);
  world.must(gangsched_cluster_set_terminating(world.cluster, pod, false, world.error));

  gangsched_node_id nodes[4];
  CHECK(gangsched_cluster_nodes(world.cluster, nodes, 1) == 2);
  CHECK(nodes[0].value == a.value);
  std::uint64_t cookies[2]{};
  std::size_t count = 0;
  world.must(gangsched_cluster_remove_node(world.cluster, a, cookies, 2, &count, world.error));
  CHECK(count == 1);
  CHECK(cookies[0] == 5);
  CHECK(gangsched_cluster_pods(world.cluster, nullptr, 0) == 0);
  CHECK(gangsched_cluster_remove_node(world.cluster, a, nullptr, 0, nullptr, world.error) == GANGSCHED_UNKNOWN);
  const gangsched_node_id again = world.node("a", 4);
  CHECK(again.value != a.value);
}

TEST_CASE("a pod's affinity, spreading, tolerations and the rest come to the cluster", "[c]") {
  c_world world;
  const gangsched_pair zone{"zone", "east"};
  const gangsched_taint taint{"dedicated", "ml", GANGSCHED_NO_SCHEDULE};
  const gangsched_amount room[] = {{"cpu", nullptr, 4, 0}, {"pods", nullptr, 10, 0}};
  gangsched_node_spec node{};
  node.struct_size = sizeof node;
  node.allocatable = {room, 2};
  node.name = "east";
  node.labels = {&zone, 1};
  node.taints = &taint;
  node.taint_count = 1;
  world.must(gangsched_cluster_add_node(world.cluster, &node, nullptr, world.error));
  world.node("bare", 4);

  const char* const values[] = {"east"};
  const gangsched_requirement in_east{"zone", GANGSCHED_IN, {values, 1}};
  const gangsched_node_term term{{&in_east, 1}, {}, 0};
  const gangsched_toleration tolerates{"dedicated", "ml", 0, false};
  const gangsched_pair app{"app", "web"};
  const gangsched_selector web{{&app, 1}, {}};
  const gangsched_pod_term away{"zone", &web, {}, nullptr, 0};
  gangsched_pod_spec pod{};
  pod.struct_size = sizeof pod;
  pod.name = "first";
  pod.labels = {&app, 1};
  pod.node_terms = &term;
  pod.node_term_count = 1;
  pod.tolerations = &tolerates;
  pod.toleration_count = 1;
  pod.apart = {&away, 1};
  world.must(gangsched_cluster_add_pod(world.cluster, &pod, nullptr, world.error));
  pod.name = "second";
  gangsched_pod_id second{};
  world.must(gangsched_cluster_add_pod(world.cluster, &pod, &second, world.error));
  world.schedules();
  CHECK(world.run() == words{"first bind east", "second reject"});
  CHECK(world.explain(second) ==
        "0/2 nodes are available: 1 node(s) didn't match Pod's node affinity/selector, 1 node(s) didn't match pod "
        "anti-affinity rules.");
  pod.name = "third";
  pod.tolerations = nullptr;
  CHECK(gangsched_cluster_add_pod(world.cluster, &pod, nullptr, world.error) == GANGSCHED_MALFORMED);
  pod.toleration_count = 0;
  pod.controller_kind = 9;
  CHECK(gangsched_cluster_add_pod(world.cluster, &pod, nullptr, world.error) == GANGSCHED_OUT_OF_RANGE);
}

TEST_CASE("a pod goes where the features are that it requires", "[c]") {
  c_world world;
  const char* const some[] = {"Y", "X", "Y"};
  gangsched_node_spec node{};
  node.struct_size = sizeof node;
  const gangsched_amount room{"pods", nullptr, 10, 0};
  node.allocatable = {&room, 1};
  node.name = "without";
  node.declared_features = {some, 1};
  gangsched_node_id without{};
  world.must(gangsched_cluster_add_node(world.cluster, &node, &without, world.error));
  const auto require = [&](gangsched_pod_spec& spec) { spec.required_features = {some + 1, 2}; };
  const gangsched_pod_id pod = world.pod_with("p", 0, require);
  world.schedules();
  CHECK(world.run() == words{"p reject"});
  CHECK(world.explain(pod) == "0/1 nodes are available: 1 node(s) didn't match Pod's required features.");
  node.declared_features = {some, 3};
  world.must(gangsched_cluster_update_node(world.cluster, without, &node, world.error));
  CHECK(world.run(60'000'000'000) == words{"p bind without"});
  const char* const empty[] = {"X", ""};
  node.name = "wrong";
  node.declared_features = {empty, 2};
  CHECK(gangsched_cluster_add_node(world.cluster, &node, nullptr, world.error) == GANGSCHED_MALFORMED);
  CHECK(world.error.message() == "node wrong: declared_features[1]: is empty");
  node.declared_features = {nullptr, 1};
  CHECK(gangsched_cluster_add_node(world.cluster, &node, nullptr, world.error) == GANGSCHED_MALFORMED);
  world.pod_with(
      "q", 1,
      [&](gangsched_pod_spec& spec) {
        spec.required_features = {empty, 2};
      },
      GANGSCHED_MALFORMED);
  CHECK(world.error.message() == "pod default/q: required_features[1]: is empty");
}

TEST_CASE("what is wrong is said with its place in the array", "[c]") {
  c_world world;
  const auto sized_pod = [] {
    gangsched_pod_spec spec{};
    spec.struct_size = sizeof spec;
    spec.name = "p";
    return spec;
  };
  const auto refused = [&](const gangsched_pod_spec& spec) {
    CHECK(gangsched_cluster_add_pod(world.cluster, &spec, nullptr, world.error) != GANGSCHED_OK);
    return world.error.message();
  };
  const gangsched_taint taints[] = {{"a", "b", 1}, {"a", "c", 7}};
  gangsched_node_spec node{};
  node.struct_size = sizeof node;
  node.name = "n";
  node.taints = taints;
  node.taint_count = 2;
  CHECK(gangsched_cluster_add_node(world.cluster, &node, nullptr, world.error) == GANGSCHED_OUT_OF_RANGE);
  CHECK(world.error.message() == "node n: taints[1].effect: 6 is none of them");

  gangsched_toleration tolerations[2]{};
  tolerations[1].effect = 9;
  gangsched_pod_spec spec = sized_pod();
  spec.tolerations = tolerations;
  spec.toleration_count = 2;
  CHECK(refused(spec) == "pod default/p: tolerations[1].effect: 8 is none of them");

  const gangsched_requirement asked[] = {{"zone", 0, {}}, {"rack", 44, {}}};
  gangsched_node_term terms[2]{};
  terms[1].match_fields = {asked, 2};
  spec = sized_pod();
  spec.node_terms = terms;
  spec.node_term_count = 2;
  CHECK(refused(spec) == "pod default/p: affinity.required[1].match_fields[1].op: 44 is none of them");
  spec = sized_pod();
  spec.preferred_nodes = terms;
  spec.preferred_node_count = 2;
  CHECK(refused(spec) == "pod default/p: affinity.preferred[1].match_fields[1].op: 44 is none of them");

  const gangsched_selector selector{{}, {asked, 2}};
  gangsched_pod_term near[2]{};
  near[1].selector = &selector;
  spec = sized_pod();
  spec.prefer_apart = {near, 2};
  CHECK(refused(spec) ==
        "pod default/p: anti_affinity_to_pods.preferred[1].selector.match_expressions[1].op: 44 is none of them");

  gangsched_container containers[2]{};
  for (gangsched_container& one : containers) one.struct_size = sizeof one;
  const gangsched_amount odd{"cpu", "much", 0, 0};
  containers[1].requests = {&odd, 1};
  spec = sized_pod();
  spec.containers = containers;
  spec.container_count = 2;
  CHECK(refused(spec).starts_with("pod default/p: containers[1].requests[cpu]: "));
  struct {
    gangsched_container known;
    std::uint64_t more;
  } later[2]{};
  for (auto& one : later) one.known.struct_size = sizeof one;
  later[1].more = 1;
  spec.containers = &later[0].known;
  CHECK(refused(spec) == "pod default/p: containers[1].struct_size: is not what the library can read");
}

TEST_CASE("what a file says of all queues is so, in whatever order it does", "[c]") {
  c_world world;
  const auto set = [&](const std::string& text) {
    world.must(gangsched_cluster_set_queues(world.cluster, text.data(), text.size(), nullptr, nullptr, world.error));
  };
  const auto tree = [](const std::string& name, const std::string& parent) {
    return "---\napiVersion: scheduling.volcano.sh/v1beta1\nkind: Queue\nmetadata: {name: " + name + "}\nspec: {" +
           (parent.empty() ? "" : "parent: " + parent) + "}\n";
  };
  set(tree("a", "") + tree("b", "a") + tree("c", "b"));
  set(tree("a", "b") + tree("b", "c") + tree("c", ""));
  set(tree("c", "a") + tree("a", "") + tree("b", ""));
  set(tree("c", "b") + tree("b", ""));
  const auto quota = [](const std::string& name, const std::string& namespaces) {
    return "---\napiVersion: scheduling.sigs.k8s.io/v1alpha1\nkind: ElasticQuota\nmetadata:\n  name: " + name +
           "\n  namespace: kube-system\n  labels: {quota.scheduling.koordinator.sh/is-parent: \"false\"}\n"
           "  annotations: {quota.scheduling.koordinator.sh/namespaces: '" +
           namespaces + "'}\nspec: {max: {cpu: 4}}\n";
  };
  set(quota("first", R"(["one", "two"])") + quota("second", R"(["three"])"));
  set(quota("first", R"(["three", "two"])") + quota("second", R"(["one"])"));
  set(quota("second", R"(["two"])") + quota("first", R"(["one"])"));
  const std::uint64_t before = gangsched_cluster_digest(world.cluster);
  const std::string cycle = tree("a", "b") + tree("b", "a");
  CHECK(gangsched_cluster_set_queues(world.cluster, cycle.data(), cycle.size(), nullptr, nullptr, world.error) !=
        GANGSCHED_OK);
  CHECK(gangsched_cluster_digest(world.cluster) == before);
}

TEST_CASE("queues share a cluster", "[c]") {
  c_world world;
  world.node("a", 4);
  const gangsched_amount two{"cpu", nullptr, 2, 0};
  gangsched_quota quota{};
  quota.guaranteed = {&two, 1};
  quota.limit = {&two, 1};
  const char* const namespaces[] = {"default"};
  gangsched_queue_spec spec{};
  spec.struct_size = sizeof spec;
  spec.name = "team";
  spec.quotas = &quota;
  spec.quota_count = 1;
  spec.namespaces = {namespaces, 1};
  gangsched_queue_id queue{};
  world.must(gangsched_cluster_add_queue(world.cluster, &spec, &queue, world.error));
  const gangsched_pod_id first = world.pod("first", 2);
  world.pod("second", 2);
  CHECK(gangsched_cluster_queue_of(world.cluster, first).value == queue.value);
  CHECK(gangsched_cluster_find_queue(world.cluster, "team").value == queue.value);
  CHECK(text_of(gangsched_cluster_queue_name(world.cluster, queue)) == "team");

  gangsched_configuration* by = nullptr;
  world.must(gangsched_configuration_create(&by, world.error));
  gangsched_profile_spec profile{};
  profile.struct_size = sizeof profile;
  profile.base = GANGSCHED_PROFILE_WITH_QUEUES;
  world.must(gangsched_configuration_add_profile(by, nullptr, &profile, world.error));
  world.schedules(by);
  gangsched_configuration_destroy(by);
  CHECK(world.run() == words{"first bind a", "second reject"});
  CHECK(gangsched_cluster_queue_used(world.cluster, queue, "cpu") == 2000);

  quota.limit = {};
  world.must(gangsched_cluster_update_queue(world.cluster, queue, &spec, world.error));
  CHECK(world.run(1) == words{"second bind a"});
  CHECK(gangsched_cluster_add_queue(world.cluster, &spec, nullptr, world.error) == GANGSCHED_DUPLICATE);
  world.must(gangsched_cluster_remove_queue(world.cluster, queue, world.error));
}

TEST_CASE("namespaces, priority classes, flavors and columns come and go", "[c]") {
  c_world world;
  const gangsched_node_id node = world.node("a", 4);
  const gangsched_pair label{"team", "x"};
  world.must(gangsched_cluster_set_namespace(world.cluster, "ns", {&label, 1}, world.error));
  world.must(gangsched_cluster_remove_namespace(world.cluster, "ns", world.error));
  CHECK(gangsched_cluster_remove_namespace(world.cluster, "ns", world.error) == GANGSCHED_UNKNOWN);
  gangsched_priority_class_spec high{};
  high.struct_size = sizeof high;
  high.name = "high";
  high.value = 1000;
  world.must(gangsched_cluster_set_priority_class(world.cluster, &high, world.error));
  world.must(gangsched_cluster_remove_priority_class(world.cluster, "high", world.error));
  gangsched_flavor_spec flavor{};
  flavor.struct_size = sizeof flavor;
  flavor.name = "spot";
  world.must(gangsched_cluster_set_flavor(world.cluster, &flavor, world.error));
  world.must(gangsched_cluster_remove_flavor(world.cluster, "spot", world.error));
  gangsched_amount lent[] = {{}, {}};
  lent[0].resource = "kubernetes.io/batch-cpu", lent[0].quantity = "2500";
  lent[1].resource = "cpu", lent[1].quantity = "1";
  world.must(gangsched_cluster_set_allocatable(world.cluster, node, {lent, 1}, world.error));
  CHECK(gangsched_cluster_allocatable(world.cluster, node, "kubernetes.io/batch-cpu") == 2500);
  CHECK(gangsched_cluster_set_allocatable(world.cluster, node, {lent, 2}, world.error) == GANGSCHED_WRONG_STATE);
  lent[1].resource = "kubernetes.io/batch-cpu";
  CHECK(gangsched_cluster_set_allocatable(world.cluster, node, {lent, 2}, world.error) == GANGSCHED_DUPLICATE);
  CHECK(gangsched_cluster_set_node_column(world.cluster, node, "heat", 3, world.error) == GANGSCHED_UNKNOWN);
  world.must(gangsched_cluster_add_node_column(world.cluster, "heat", world.error));
  world.must(gangsched_cluster_set_node_column(world.cluster, node, "heat", 3, world.error));
  CHECK(gangsched_cluster_node_column(world.cluster, node, "heat") == 3);
  const std::uint64_t before = gangsched_cluster_digest(world.cluster);
  world.must(gangsched_cluster_set_node_column(world.cluster, node, "heat", 4, world.error));
  CHECK(gangsched_cluster_digest(world.cluster) != before);
}

TEST_CASE("Kubernetes' objects come as JSON, all or none, and are followed as a watch tells of them", "[c]") {
  c_world world;
  const std::string all = R"({"apiVersion": "v1", "kind": "List", "items": [
    {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a"}, "speck": 1,
     "status": {"allocatable": {"cpu": "4", "pods": "10"}}},
    {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"},
     "spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]}}]})";
  char* warnings = nullptr;
  world.must(
      gangsched_cluster_add_manifests(world.cluster, all.data(), all.size(), "all.json", 0, &warnings, world.error));
  REQUIRE(warnings != nullptr);
  CHECK(std::string{warnings}.find("speck") != std::string::npos);
  gangsched_free(warnings);
  const std::uint64_t before = gangsched_cluster_digest(world.cluster);
  CHECK(gangsched_cluster_add_manifests(world.cluster, all.data(), all.size(), "all.json", 0, nullptr, world.error) ==
        GANGSCHED_DUPLICATE);
  CHECK(gangsched_cluster_digest(world.cluster) == before);

  const auto set = [&](const std::string& text, std::uint64_t cookie) {
    gangsched_object made{};
    world.must(gangsched_cluster_set_object(world.cluster, text.data(), text.size(), cookie, &made, world.error));
    return made;
  };
  const gangsched_object b =
      set(R"({"kind": "Node", "metadata": {"name": "b"}, "status": {"allocatable": {"cpu": "8", "pods": "10"}}})", 3);
  CHECK(b.kind == GANGSCHED_OBJECT_NODE);
  CHECK(gangsched_cluster_allocatable(world.cluster, {b.id}, "cpu") == 8000);
  CHECK(set(R"({"kind": "Node", "metadata": {"name": "b"}, "status": {"allocatable": {"cpu": "6", "pods": "10"}}})", 3)
            .id == b.id);
  CHECK(gangsched_cluster_allocatable(world.cluster, {b.id}, "cpu") == 6000);
  set(R"({"kind": "Pod", "metadata": {"name": "p"}, "spec": {"nodeName": "b", )"
      R"("containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]}})",
      0);
  const gangsched_pod_id pod = gangsched_cluster_find_pod(world.cluster, "default", "p");
  CHECK(gangsched_cluster_pod_node(world.cluster, pod).value == b.id);
  const gangsched_object group =
      set(R"({"apiVersion": "scheduling.k8s.io/v1alpha1", "kind": "PodGroup", )"
          R"("metadata": {"name": "g"}, "spec": {"schedulingPolicy": {"gang": {"minCount": 2}}}})",
          0);
  CHECK(group.kind == GANGSCHED_OBJECT_GROUP);
  CHECK(text_of(gangsched_cluster_group_name(world.cluster, {group.id})) == "g");
  // A pod that has ended is gone, and one that was not there stays away.
  const std::string over =
      R"({"kind": "Pod", "metadata": {"name": "p"}, "status": {"phase": "Succeeded"}, "spec": {"containers": [{"name": "c"}]}})";
  CHECK(set(over, 0).kind == GANGSCHED_OBJECT_NONE);
  CHECK(set(over, 0).kind == GANGSCHED_OBJECT_NONE);
  CHECK(gangsched_cluster_find_pod(world.cluster, "default", "p").value == 0);

  // A Reservation is a pod in the namespace of its template, which holds what it requests until it has ended.
  const auto reservation = [](const std::string& phase) {
    return R"({"apiVersion": "scheduling.koordinator.sh/v1alpha1", "kind": "Reservation", "metadata": {"name": "held"}, "spec": )"
           R"({"owners": [{"object": {"name": "q"}}], "ttl": "0s", "template": {"metadata": {"namespace": "x"}, "spec": )"
           R"({"containers": [{"name": "c", "resources": {"requests": {"cpu": "4"}}}]}}}, "status": {"nodeName": "b", "phase": ")" +
           phase + "\"}}";
  };
  const gangsched_object held = set(reservation("Available"), 0);
  CHECK(held.kind == GANGSCHED_OBJECT_POD);
  CHECK(held.id == gangsched_cluster_find_pod(world.cluster, "x", "held").value);
  CHECK(gangsched_cluster_requested(world.cluster, {b.id}, "cpu") == 4000);
  CHECK(set(reservation("Available"), 0).id == held.id);
  CHECK(set(reservation("Succeeded"), 0).kind == GANGSCHED_OBJECT_NONE);
  CHECK(gangsched_cluster_requested(world.cluster, {b.id}, "cpu") == 0);

  CHECK(set(R"({"kind": "Service", "metadata": {"name": "s"}, "spec": {"selector": {"app": "web"}}})", 0).kind ==
        GANGSCHED_OBJECT_SERVICE);
  CHECK(
      set(R"({"kind": "ReplicaSet", "metadata": {"name": "r"}, "spec": {"selector": {"matchLabels": {"app": "web"}}}})",
          0)
          .kind == GANGSCHED_OBJECT_CONTROLLER);
  for (const char* allowed : {"0", "1"})
    CHECK(
        set(R"({"kind": "PodDisruptionBudget", "metadata": {"name": "d"}, "spec": {"selector": {"matchLabels": {"app": "web"}}}, )"
            R"("status": {"disruptionsAllowed": )" +
                std::string{allowed} + "}}",
            0)
            .kind == GANGSCHED_OBJECT_BUDGET);
  for (const char* kind : {"Service", "ReplicaSet", "PodDisruptionBudget"}) {
    const std::string name = kind == std::string{"Service"} ? "s" : kind == std::string{"ReplicaSet"} ? "r" : "d";
    const std::string it = "{\"kind\": \"" + std::string{kind} + "\", \"metadata\": {\"name\": \"" + name + "\"}}";
    world.must(gangsched_cluster_remove_object(world.cluster, it.data(), it.size(), world.error));
    CHECK(gangsched_cluster_remove_object(world.cluster, it.data(), it.size(), world.error) == GANGSCHED_UNKNOWN);
  }

  const std::string gone = R"({"kind": "Node", "metadata": {"name": "b"}})";
  world.must(gangsched_cluster_remove_object(world.cluster, gone.data(), gone.size(), world.error));
  CHECK(gangsched_cluster_remove_object(world.cluster, gone.data(), gone.size(), world.error) == GANGSCHED_UNKNOWN);
  const std::string other = R"({"kind": "Secret", "metadata": {"name": "s"}})";
  CHECK(gangsched_cluster_set_object(world.cluster, other.data(), other.size(), 0, nullptr, world.error) ==
        GANGSCHED_UNKNOWN);
  const std::string torn = R"({"kind": )";
  CHECK(gangsched_cluster_set_object(world.cluster, torn.data(), torn.size(), 0, nullptr, world.error) ==
        GANGSCHED_MALFORMED);
  // An object that is refused leaves no names behind.
  const std::uint64_t now = gangsched_cluster_digest(world.cluster);
  const std::string lost = R"({"kind": "Pod", "metadata": {"name": "q"}, "spec": {"nodeName": "nowhere", )"
                           R"("schedulingGroup": {"podGroupName": "new"}, "containers": [{"name": "c"}]}})";
  CHECK(gangsched_cluster_set_object(world.cluster, lost.data(), lost.size(), 0, nullptr, world.error) ==
        GANGSCHED_UNKNOWN);
  CHECK(gangsched_cluster_digest(world.cluster) == now);
}

}  // namespace gangsched::testing::c_cluster_test
