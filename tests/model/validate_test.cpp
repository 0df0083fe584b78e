#include "gangsched/model/validate.hpp"

#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "support/catch.hpp"

namespace gangsched::testing::validate_test {

namespace {

const std::string label_63(63, 'a');
const std::string label_64(64, 'a');
const std::string name_253(253, 'a');
const std::string name_254(254, 'a');

constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
const quantity too_much = quantity{most} + quantity{1};

node_spec good_node() {
  node_spec made;
  made.name = "n1";
  made.labels = {{"kubernetes.io/hostname", "n1"}, {"empty", ""}};
  made.taints = {{.key = "dedicated", .value = "ml", .effect = taint_effect::no_schedule},
                 {.key = "dedicated", .value = "ml", .effect = taint_effect::no_execute}};
  made.allocatable = {{"cpu", 8}, {"memory", 1 << 30}, {"pods", 110}, {"nvidia.com/gpu", 4}};
  made.capacity = made.allocatable;
  made.images = {{.names = {"registry/app:1", "registry/app@sha256:00"}, .size_bytes = 1}};
  made.declared_features = {"Some", "Other", "Some"};
  return made;
}

label_selector good_selector() {
  return {.match_labels = {{"app", "web"}},
          .match_expressions = {{.key = "tier", .op = selector_operator::in, .values = {"a", ""}},
                                {.key = "example.com/x", .op = selector_operator::exists}}};
}

pod_affinity_term good_pod_term() {
  return {.topology_key = "topology.kubernetes.io/zone",
          .selector = good_selector(),
          .namespaces = {"blue", "green"},
          .namespace_selector = good_selector()};
}

node_selector_term good_node_term() {
  return {.match_expressions = {{.key = "zone", .op = selector_operator::in, .values = {"a"}},
                                {.key = "cores", .op = selector_operator::gt, .values = {"8"}}},
          .match_fields = {{.key = "metadata.name", .op = selector_operator::in, .values = {"n1"}}}};
}

container good_container() {
  return {.requests = {{"cpu", 1}, {"memory", 64}, {"nvidia.com/gpu", 1}},
          .image = "app:1",
          .ports = {{.host_port = 80}, {.host_port = 53, .protocol = protocol::udp, .host_ip = "::"}}};
}

pod_spec good_pod() {
  pod_spec made;
  made.name = "web-1";
  made.labels = {{"app", "web"}};
  made.containers = {good_container(), good_container()};
  made.init_containers = {good_container()};
  made.init_containers[0].sidecar = true;
  made.image_volumes = {"data:1"};
  made.resources = resource_list{{"cpu", 2}};
  made.overhead = {{"memory", 1}};
  made.node_selector = {{"disk", "ssd"}};
  made.affinity = {.required = std::vector{good_node_term()}, .preferred = {{.weight = 1, .term = good_node_term()}}};
  made.affinity_to_pods = {.required = {good_pod_term()}, .preferred = {{.weight = 100, .term = good_pod_term()}}};
  made.anti_affinity_to_pods = made.affinity_to_pods;
  made.tolerations = {{.key = "dedicated", .value = "ml", .effect = taint_effect::no_execute},
                      {.op = toleration_operator::exists},
                      {.key = "k", .op = toleration_operator::exists, .effect = taint_effect::no_schedule}};
  made.topology_spread_constraints = {
      {.topology_key = "zone",
       .selector = good_selector(),
       .min_domains = 3,
       .match_label_keys = {"pod-template-hash"}},
      {.topology_key = "zone", .max_skew = 5, .action = when_unsatisfiable::schedule_anyway}};
  made.priority = 1000;
  made.priority_class = "high";
  made.scheduling_gates = {"example.com/quota"};
  made.required_features = {"Some", "Some"};
  made.required_node = "n1";
  return made;
}

group_spec good_group() {
  return {.name = "train", .policy = gang{.min_count = 8}, .priority = 7, .topology = {.within = {"rack"}}};
}

// A change of a good spec that makes one field of it bad.
template <class Spec>
struct bad {
  std::function<void(Spec&)> change;
  std::string field;
  errc code = errc::malformed;
};

template <class Spec>
void check_all(const Spec& good, const std::string& object, const std::vector<bad<Spec>>& table) {
  const std::optional<error> none = check(good);
  INFO((none ? none->message() : ""));
  REQUIRE_FALSE(none);
  for (std::size_t row = 0; row < table.size(); ++row) {
    Spec spec = good;
    table[row].change(spec);
    CAPTURE(row, table[row].field);
    const std::optional<error> found = check(spec);
    REQUIRE(found);
    CHECK(found->field == table[row].field);
    CHECK(to_string(found->code) == to_string(table[row].code));
    if (found->field != "name" && found->field != "ns") CHECK(found->object == object);
    CHECK_FALSE(found->reason.empty());
  }
}

template <class Spec>
void check_good(const Spec& spec) {
  const std::optional<error> none = check(spec);
  INFO((none ? none->message() : ""));
  CHECK_FALSE(none);
}

}  // namespace

TEST_CASE("nodes", "[model][validate]") {
  using s = node_spec;
  check_all<s>(
      good_node(), "node n1",
      {
          {[](s& n) { n.name = ""; }, "name"},
          {[](s& n) { n.name = "N1"; }, "name"},
          {[](s& n) { n.name = "a..b"; }, "name"},
          {[](s& n) { n.name = "a.-b"; }, "name"},
          {[](s& n) { n.name = "a-.b"; }, "name"},
          {[](s& n) { n.name = "a."; }, "name"},
          {[](s& n) { n.name = name_254; }, "name"},
          {[](s& n) { n.labels["-x"] = ""; }, "labels[\"-x\"]"},
          {[](s& n) { n.labels["Example.com/x"] = ""; }, "labels[\"Example.com/x\"]"},
          {[](s& n) { n.labels["a/b/c"] = ""; }, "labels[\"a/b/c\"]"},
          {[](s& n) { n.labels["zone"] = "a b"; }, "labels[\"zone\"]"},
          {[](s& n) { n.labels["zone"] = label_64; }, "labels[\"zone\"]"},
          {[](s& n) { n.taints[0].key = ""; }, "taints[0].key"},
          {[](s& n) { n.taints[1].key = "a/"; }, "taints[1].key"},
          {[](s& n) { n.taints[0].value = "x-"; }, "taints[0].value"},
          {[](s& n) { n.taints[1].effect = static_cast<taint_effect>(9); }, "taints[1].effect", errc::out_of_range},
          {[](s& n) { n.taints[1].effect = taint_effect::no_schedule; }, "taints[1]", errc::duplicate},
          {[](s& n) { n.allocatable["cpu"] = -1; }, "allocatable[\"cpu\"]", errc::out_of_range},
          {[](s& n) { n.allocatable["cpu"] = quantity::from_nanos(-1); }, "allocatable[\"cpu\"]", errc::out_of_range},
          {[](s& n) { n.allocatable["cpu"] = most; }, "allocatable[\"cpu\"]", errc::overflow},
          {[](s& n) { n.allocatable["memory"] = too_much; }, "allocatable[\"memory\"]", errc::overflow},
          {[](s& n) { n.allocatable["pods"] = too_much; }, "allocatable[\"pods\"]", errc::overflow},
          {[](s& n) { n.allocatable["pods"] = -1; }, "allocatable[\"pods\"]", errc::out_of_range},
          {[](s& n) { n.allocatable["gpu"] = 1; }, "allocatable[\"gpu\"]"},
          {[](s& n) { n.allocatable["CPU"] = 1; }, "allocatable[\"CPU\"]"},
          {[](s& n) { n.allocatable[""] = 1; }, "allocatable[\"\"]"},
          {[](s& n) { n.allocatable["hugepages-"] = 1; }, "allocatable[\"hugepages-\"]"},
          {[](s& n) { n.allocatable["nvidia.com/"] = 1; }, "allocatable[\"nvidia.com/\"]"},
          {[](s& n) { n.capacity["memory"] = -1; }, "capacity[\"memory\"]", errc::out_of_range},
          {[](s& n) { n.capacity["gpu"] = 1; }, "capacity[\"gpu\"]"},
          {[](s& n) { n.images[0].names[1] = ""; }, "images[0].names[1]"},
          {[](s& n) { n.images[0].size_bytes = -1; }, "images[0].size_bytes", errc::out_of_range},
          {[](s& n) { n.declared_features[1] = ""; }, "declared_features[1]"},
      });

  node_spec limits = good_node();
  limits.name = name_253;
  limits.labels = {{name_253 + "/" + label_63, label_63}, {"A_b.c-d", "A_b.c-d"}, {"x", ""}};
  limits.taints.push_back({.key = "only-key"});
  limits.allocatable = {{"cpu", quantity::from_milli(most)},
                        {"memory", most},
                        {"ephemeral-storage", 0},
                        {"hugepages-2Mi", 1},
                        {"hugepages-1Gi", 0},
                        {"pods", 0},
                        {"storage", 1},
                        {"attachable-volumes-aws-ebs", 25},
                        {"example.com/x", 1},
                        {"devices.kubernetes.io/x", 1}};
  limits.images = {{.names = {}, .size_bytes = 0}, {.names = {"x"}, .size_bytes = most}};
  check_good(limits);
  check_good(node_spec{.name = "1"});
}

TEST_CASE("pods: names, containers and resources", "[model][validate]") {
  using s = pod_spec;
  check_all<s>(
      good_pod(), "pod default/web-1",
      {
          {[](s& p) { p.name = ""; }, "name"},
          {[](s& p) { p.name = "web_1"; }, "name"},
          {[](s& p) { p.name = name_254; }, "name"},
          {[](s& p) { p.ns = ""; }, "ns"},
          {[](s& p) { p.ns = "a.b"; }, "ns"},
          {[](s& p) { p.ns = label_64; }, "ns"},
          {[](s& p) { p.labels["app"] = "?"; }, "labels[\"app\"]"},
          {[](s& p) { p.labels[label_64] = "x"; }, "labels[\"" + label_64 + "\"]"},
          {[](s& p) { p.containers[1].requests["cpu"] = -1; }, "containers[1].requests[\"cpu\"]", errc::out_of_range},
          {[](s& p) { p.containers[0].requests["cpu"] = most; }, "containers[0].requests[\"cpu\"]", errc::overflow},
          {[](s& p) { p.containers[0].requests["memory"] = too_much; }, "containers[0].requests[\"memory\"]",
           errc::overflow},
          {[](s& p) { p.containers[0].requests["pods"] = 1; }, "containers[0].requests[\"pods\"]"},
          {[](s& p) { p.containers[0].requests["storage"] = 1; }, "containers[0].requests[\"storage\"]"},
          {[](s& p) { p.containers[0].requests["attachable-volumes-x"] = 1; },
           "containers[0].requests[\"attachable-volumes-x\"]"},
          {[](s& p) { p.containers[0].requests["gpu"] = 1; }, "containers[0].requests[\"gpu\"]"},
          {[](s& p) { p.containers[0].requests["x y/z"] = 1; }, "containers[0].requests[\"x y/z\"]"},
          {[](s& p) { p.containers[0].requests["hugepages-2 Mi"] = 1; }, "containers[0].requests[\"hugepages-2 Mi\"]"},
          {[](s& p) { p.containers[0].requests["requests.x.com/y"] = 1; },
           "containers[0].requests[\"requests.x.com/y\"]"},
          {[](s& p) { p.containers[1].ports[0].host_port = -1; }, "containers[1].ports[0].host_port",
           errc::out_of_range},
          {[](s& p) { p.containers[1].ports[1].host_port = 65536; }, "containers[1].ports[1].host_port",
           errc::out_of_range},
          {[](s& p) { p.containers[0].ports[0].protocol = static_cast<protocol>(3); },
           "containers[0].ports[0].protocol", errc::out_of_range},
          {[](s& p) { p.containers[1].sidecar = true; }, "containers[1].sidecar"},
          {[](s& p) { p.init_containers[0].requests["memory"] = -1; }, "init_containers[0].requests[\"memory\"]",
           errc::out_of_range},
          {[](s& p) { p.init_containers[0].ports[0].host_port = 1 << 20; }, "init_containers[0].ports[0].host_port",
           errc::out_of_range},
          {[](s& p) { p.image_volumes.push_back(""); }, "image_volumes[1]"},
          {[](s& p) { (*p.resources)["memory"] = -1; }, "resources[\"memory\"]", errc::out_of_range},
          {[](s& p) { p.resources->at("cpu") = most; }, "resources[\"cpu\"]", errc::overflow},
          {[](s& p) { p.overhead["memory"] = -1; }, "overhead[\"memory\"]", errc::out_of_range},
          {[](s& p) { p.overhead["pods"] = 1; }, "overhead[\"pods\"]"},
          {[](s& p) { p.node_selector[""] = "x"; }, "node_selector[\"\"]"},
          {[](s& p) { p.node_selector["disk"] = "s d"; }, "node_selector[\"disk\"]"},
          {[](s& p) { p.priority_class = "High"; }, "priority_class"},
          {[](s& p) { p.preemption = static_cast<preemption_policy>(2); }, "preemption", errc::out_of_range},
          {[](s& p) { p.scheduler_name = ""; }, "scheduler_name"},
          {[](s& p) { p.scheduling_gates[0] = ""; }, "scheduling_gates[0]"},
          {[](s& p) { p.scheduling_gates[0] = "a b"; }, "scheduling_gates[0]"},
          {[](s& p) { p.scheduling_gates.push_back(p.scheduling_gates[0]); }, "scheduling_gates[1]", errc::duplicate},
          {[](s& p) { p.required_node = "N1"; }, "required_node"},
          {[](s& p) {
             p.node = {3, 1};
           },
           "node"},
      });

  pod_spec limits = good_pod();
  limits.name = name_253;
  limits.ns = label_63;
  limits.containers[0].image = "";
  limits.containers[0].requests = {{"cpu", quantity::from_milli(most)},
                                   {"memory", most},
                                   {"hugepages-1Gi", 0},
                                   {"example.com/a", 1},
                                   {"x.kubernetes.io/y", 1}};
  limits.containers[0].ports = {{.host_port = 0}, {.host_port = 65535, .protocol = protocol::sctp}};
  limits.resources = resource_list{{"gpu", 1}, {"ephemeral-storage", 1}};  // ignored, not refused
  limits.priority = std::numeric_limits<std::int32_t>::max();
  limits.scheduling_gates = {};
  limits.node = {3, 1};
  limits.priority_class = "";
  limits.required_node = "";
  check_good(limits);
  limits.priority = std::numeric_limits<std::int32_t>::min();
  limits.containers = {};
  limits.resources = resource_list{};
  check_good(limits);
  pod_spec least;
  least.name = "p";
  check_good(least);
}

TEST_CASE("pods: tolerations", "[model][validate]") {
  using s = pod_spec;
  check_all<s>(good_pod(), "pod default/web-1",
               {
                   {[](s& p) { p.tolerations[0].key = "a b"; }, "tolerations[0].key"},
                   {[](s& p) { p.tolerations[0].key = ""; }, "tolerations[0].op"},
                   {[](s& p) { p.tolerations[0].op = static_cast<toleration_operator>(2); }, "tolerations[0].op",
                    errc::out_of_range},
                   {[](s& p) { p.tolerations[0].value = "a b"; }, "tolerations[0].value"},
                   {[](s& p) { p.tolerations[1].value = "x"; }, "tolerations[1].value"},
                   {[](s& p) { p.tolerations[2].value = "x"; }, "tolerations[2].value"},
                   {[](s& p) { p.tolerations[2].effect = static_cast<taint_effect>(9); }, "tolerations[2].effect",
                    errc::out_of_range},
               });
  pod_spec spec = good_pod();
  spec.tolerations = {{.key = "k"}, {.key = "k"}};  // equal to the empty value; twice is allowed
  check_good(spec);
  spec.tolerations[1].effect = static_cast<taint_effect>(9);
  CHECK(check(spec)->message() == "pod default/web-1: tolerations[1].effect: unknown effect 9");
}

TEST_CASE("pods: node affinity", "[model][validate]") {
  using s = pod_spec;
  using op = selector_operator;
  const auto term = [](s& p) -> node_selector_term& { return (*p.affinity.required)[0]; };
  const std::string at = "affinity.required[0].";
  check_all<s>(
      good_pod(), "pod default/web-1",
      {
          {[&](s& p) { term(p).match_expressions[0].key = ""; }, at + "match_expressions[0].key"},
          {[&](s& p) { term(p).match_expressions[1].op = static_cast<op>(6); }, at + "match_expressions[1].op",
           errc::out_of_range},
          {[&](s& p) { term(p).match_expressions[0].values = {}; }, at + "match_expressions[0].values"},
          {[&](s& p) {
             term(p).match_expressions[0] = {"a", op::not_in, {}};
           },
           at + "match_expressions[0].values"},
          {[&](s& p) { term(p).match_expressions[0].op = op::exists; }, at + "match_expressions[0].values"},
          {[&](s& p) { term(p).match_expressions[0].op = op::does_not_exist; }, at + "match_expressions[0].values"},
          {[&](s& p) {
             term(p).match_expressions[1].values = {"1", "2"};
           },
           at + "match_expressions[1].values"},
          {[&](s& p) {
             term(p).match_expressions[1] = {"a", op::lt, {}};
           },
           at + "match_expressions[1].values"},
          {[&](s& p) { term(p).match_fields[0].key = "metadata.uid"; }, at + "match_fields[0].key"},
          {[&](s& p) { term(p).match_fields[0].op = op::exists; }, at + "match_fields[0].op"},
          {[&](s& p) { term(p).match_fields[0].op = op::gt; }, at + "match_fields[0].op"},
          {[&](s& p) { term(p).match_fields[0].op = static_cast<op>(200); }, at + "match_fields[0].op",
           errc::out_of_range},
          {[&](s& p) { term(p).match_fields[0].values = {}; }, at + "match_fields[0].values"},
          {[&](s& p) {
             term(p).match_fields[0].values = {"n1", "n2"};
           },
           at + "match_fields[0].values"},
          {[](s& p) { p.affinity.preferred[0].weight = 0; }, "affinity.preferred[0].weight", errc::out_of_range},
          {[](s& p) { p.affinity.preferred[0].weight = 101; }, "affinity.preferred[0].weight", errc::out_of_range},
          {[](s& p) { p.affinity.preferred[0].term.match_expressions[1].values = {}; },
           "affinity.preferred[0].term.match_expressions[1].values"},
          {[](s& p) { p.affinity.preferred[0].term.match_fields[0].values = {}; },
           "affinity.preferred[0].term.match_fields[0].values"},
      });

  pod_spec spec = good_pod();
  term(spec).match_expressions = {{"a", op::gt, {"many"}}, {"a", op::lt, {""}}, {"a", op::in, {"no label value!"}}};
  term(spec).match_fields = {{"metadata.name", op::not_in, {"no node name!"}}};
  check_good(spec);
  spec.affinity.required->push_back({});
  spec.affinity.preferred = {{.weight = 100, .term = {}}};
  check_good(spec);
  spec.affinity.required = std::vector<node_selector_term>{};
  check_good(spec);
}

TEST_CASE("pods: affinity to pods", "[model][validate]") {
  using s = pod_spec;
  using op = selector_operator;
  struct side {
    pod_affinity pod_spec::*member;
    std::string name;
  };
  for (const side& each :
       {side{&s::affinity_to_pods, "affinity_to_pods"}, side{&s::anti_affinity_to_pods, "anti_affinity_to_pods"}}) {
    const auto of = [&](s& p) -> pod_affinity& { return p.*each.member; };
    const auto term = [&](s& p) -> pod_affinity_term& { return of(p).required[0]; };
    const auto expression = [&](s& p) -> selector_requirement& { return term(p).selector->match_expressions[0]; };
    const std::string at = each.name + ".required[0].";
    check_all<s>(
        good_pod(), "pod default/web-1",
        {
            {[&](s& p) { term(p).topology_key = ""; }, at + "topology_key"},
            {[&](s& p) { term(p).topology_key = "a b"; }, at + "topology_key"},
            {[&](s& p) { term(p).selector->match_labels["a b"] = ""; }, at + "selector.match_labels[\"a b\"]"},
            {[&](s& p) { term(p).selector->match_labels["app"] = "a b"; }, at + "selector.match_labels[\"app\"]"},
            {[&](s& p) { expression(p).key = ""; }, at + "selector.match_expressions[0].key"},
            {[&](s& p) { expression(p).op = op::gt; }, at + "selector.match_expressions[0].op"},
            {[&](s& p) {
               expression(p) = {"a", op::lt, {"1"}};
             },
             at + "selector.match_expressions[0].op"},
            {[&](s& p) { expression(p).op = static_cast<op>(6); }, at + "selector.match_expressions[0].op",
             errc::out_of_range},
            {[&](s& p) { expression(p).values = {}; }, at + "selector.match_expressions[0].values"},
            {[&](s& p) {
               expression(p) = {"a", op::not_in, {}};
             },
             at + "selector.match_expressions[0].values"},
            {[&](s& p) {
               expression(p).values = {"a", "b c"};
             },
             at + "selector.match_expressions[0].values[1]"},
            {[&](s& p) { term(p).selector->match_expressions[1].values = {"x"}; },
             at + "selector.match_expressions[1].values"},
            {[&](s& p) { expression(p).op = op::does_not_exist; }, at + "selector.match_expressions[0].values"},
            {[&](s& p) { term(p).namespaces[1] = "Green"; }, at + "namespaces[1]"},
            {[&](s& p) { term(p).namespaces[0] = ""; }, at + "namespaces[0]"},
            {[&](s& p) { term(p).namespace_selector->match_labels["a"] = "b c"; },
             at + "namespace_selector.match_labels[\"a\"]"},
            {[&](s& p) { term(p).namespace_selector->match_expressions[0].values = {}; },
             at + "namespace_selector.match_expressions[0].values"},
            {[&](s& p) { of(p).preferred[0].weight = 0; }, each.name + ".preferred[0].weight", errc::out_of_range},
            {[&](s& p) { of(p).preferred[0].weight = 101; }, each.name + ".preferred[0].weight", errc::out_of_range},
            {[&](s& p) { of(p).preferred[0].term.topology_key = ""; }, each.name + ".preferred[0].term.topology_key"},
        });
  }
  pod_spec spec = good_pod();
  spec.affinity_to_pods.required = {{.topology_key = "k"}, {.topology_key = "k", .selector = label_selector{}}};
  check_good(spec);
}

TEST_CASE("pods: topology spread", "[model][validate]") {
  using s = pod_spec;
  const auto first = [](s& p) -> topology_spread& { return p.topology_spread_constraints[0]; };
  const std::string at = "topology_spread_constraints[0]";
  check_all<s>(
      good_pod(), "pod default/web-1",
      {
          {[&](s& p) { first(p).topology_key = ""; }, at + ".topology_key"},
          {[&](s& p) { first(p).topology_key = "/zone"; }, at + ".topology_key"},
          {[&](s& p) { first(p).max_skew = 0; }, at + ".max_skew", errc::out_of_range},
          {[&](s& p) { first(p).action = static_cast<when_unsatisfiable>(2); }, at + ".action", errc::out_of_range},
          {[&](s& p) { first(p).selector->match_labels["app"] = "a b"; }, at + ".selector.match_labels[\"app\"]"},
          {[&](s& p) { first(p).selector->match_expressions[0].values = {}; },
           at + ".selector.match_expressions[0].values"},
          {[&](s& p) { first(p).min_domains = 0; }, at + ".min_domains", errc::out_of_range},
          {[](s& p) { p.topology_spread_constraints[1].min_domains = 2; },
           "topology_spread_constraints[1].min_domains"},
          {[&](s& p) { first(p).node_affinity_policy = static_cast<node_inclusion>(2); }, at + ".node_affinity_policy",
           errc::out_of_range},
          {[&](s& p) { first(p).node_taints_policy = static_cast<node_inclusion>(2); }, at + ".node_taints_policy",
           errc::out_of_range},
          {[&](s& p) { first(p).match_label_keys.push_back("a b"); }, at + ".match_label_keys[1]"},
          {[&](s& p) { first(p).selector.reset(); }, at + ".match_label_keys"},
          {[](s& p) { p.topology_spread_constraints[1].action = when_unsatisfiable::do_not_schedule; },
           "topology_spread_constraints[1]", errc::duplicate},
      });
  pod_spec spec = good_pod();
  first(spec).max_skew = std::numeric_limits<std::int32_t>::max();
  first(spec).min_domains = std::numeric_limits<std::int32_t>::max();
  first(spec).node_affinity_policy = node_inclusion::ignore;
  first(spec).node_taints_policy = node_inclusion::honor;
  check_good(spec);
}

TEST_CASE("groups", "[model][validate]") {
  using s = group_spec;
  const auto policy = [](s& g) -> gang& { return std::get<gang>(g.policy); };
  check_all<s>(good_group(), "group default/train",
               {
                   {[](s& g) { g.name = ""; }, "name"},
                   {[](s& g) { g.name = name_254; }, "name"},
                   {[](s& g) { g.ns = "a.b"; }, "ns"},
                   {[&](s& g) { policy(g).min_count = 0; }, "policy.min_count", errc::out_of_range},
                   {[&](s& g) { policy(g).mode = static_cast<gang_mode>(2); }, "policy.mode", errc::out_of_range},
                   {[&](s& g) { policy(g).timeout = instant{0}; }, "policy.timeout", errc::out_of_range},
                   {[&](s& g) { policy(g).timeout = instant{-1}; }, "policy.timeout", errc::out_of_range},
                   {[](s& g) { g.priority = 1'000'000'001; }, "priority", errc::out_of_range},
                   {[](s& g) { g.topology.within = {"a b"}; }, "topology.within[0]"},
               });
  group_spec limits = good_group();
  limits.name = name_253;
  limits.policy = gang{.min_count = 1, .mode = gang_mode::permit, .timeout = instant{1}};
  limits.topology = {};
  limits.priority = 1'000'000'000;
  check_good(limits);
  limits.priority = std::numeric_limits<std::int32_t>::min();
  limits.policy = basic{};
  check_good(limits);
}

TEST_CASE("what looks at a group as a whole is refused where members are placed one by one", "[model][validate]") {
  using s = group_spec;
  group_spec one_by_one = good_group();
  one_by_one.topology = {};
  one_by_one.policy =
      gang{.min_count = 2, .mode = gang_mode::permit, .atomic = true, .strict = true, .stale_after = instant{1}};
  one_by_one.start_after = {{group_id{3, 0}}};
  one_by_one.disruption = disruption_mode::all;
  one_by_one.preemption = preemption_policy::never;
  const auto policy = [](s& g) -> gang& { return std::get<gang>(g.policy); };
  check_all<s>(one_by_one, "group default/train",
               {
                   {[](s& g) { g.composite = true; }, "policy.mode"},
                   {[](s& g) {
                      g.parent = group_id{3, 0};
                    },
                    "policy.mode"},
                   {[&](s& g) { policy(g).desired_count = 2; }, "policy.desired_count"},
                   {[&](s& g) { policy(g).max_count = 4; }, "policy.max_count"},
                   {[&](s& g) {
                      policy(g).roles = {{"head", 1}};
                    },
                    "policy.roles"},
                   {[](s& g) { g.topology.within = {"rack"}; }, "topology.within"},
                   {[](s& g) {
                      g.topology.slices = {{"rack", 2}};
                    },
                    "topology.slices"},
                   {[](s& g) { g.topology.spread_key = "rack", g.topology.spread_most = 1; }, "topology.spread_key"},
                   {[](s& g) { g.topology.choice = domain_choice::balanced; }, "topology.choice"},
                   {[](s& g) {
                      g.affinity = {{group_id{3, 0}, "rack", true}};
                    },
                    "affinity"},
                   {[](s& g) {
                      g.ratios = {{group_id{3, 0}, 1, 1}};
                    },
                    "ratios"},
               });
  one_by_one.affinity = {{group_id{3, 0}, "rack", true}};
  CHECK(check(one_by_one)->reason == "needs the group cycle: members in permit mode are placed one by one");
}

TEST_CASE("priority classes and namespaces", "[model][validate]") {
  using c = priority_class_spec;
  check_all<c>(
      {.name = "high", .value = 1}, "priority class high",
      {
          {[](c& one) { one.name = "High"; }, "name"},
          {[](c& one) { one.name = name_254; }, "name"},
          {[](c& one) { one.preemption = static_cast<preemption_policy>(2); }, "preemption", errc::out_of_range},
      });
  check_good(c{.name = "system-node-critical", .value = 2'000'001'000, .global_default = true});
  check_good(
      c{.name = name_253, .value = std::numeric_limits<std::int32_t>::min(), .preemption = preemption_policy::never});

  using n = namespace_spec;
  check_all<n>({.name = "blue", .labels = {{"team", "a"}}}, "namespace blue",
               {
                   {[](n& one) { one.name = ""; }, "name"},
                   {[](n& one) { one.name = "a.b"; }, "name"},
                   {[](n& one) { one.name = label_64; }, "name"},
                   {[](n& one) { one.labels["a b"] = ""; }, "labels[\"a b\"]"},
                   {[](n& one) { one.labels["team"] = "-"; }, "labels[\"team\"]"},
               });
  check_good(n{.name = label_63});
}

TEST_CASE("the first problem in field order is the one that is told", "[model][validate]") {
  pod_spec spec = good_pod();
  spec.scheduler_name = "";
  spec.tolerations[0].value = "a b";
  spec.containers[1].ports[0].host_port = -1;
  spec.containers[1].requests["memory"] = -1;
  spec.name = "A";
  const auto next = [&] { return check(spec)->message().substr(0, check(spec)->message().rfind(':')); };
  CHECK(check(spec)->object == "pod default/A");
  CHECK(check(spec)->field == "name");
  spec.name = "a";
  CHECK(next() == "pod default/a: containers[1].requests[\"memory\"]");
  spec.containers[1].requests["memory"] = 1;
  CHECK(check(spec)->field == "containers[1].ports[0].host_port");
  spec.containers[1].ports[0].host_port = 1;
  CHECK(check(spec)->field == "tolerations[0].value");
  spec.tolerations[0].value = "";
  CHECK(check(spec)->field == "scheduler_name");
  spec.scheduler_name = "mine";
  CHECK_FALSE(check(spec));
}

}  // namespace gangsched::testing::validate_test
