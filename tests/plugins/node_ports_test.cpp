#include "gangsched/plugins/node_ports.hpp"

#include "support/builders.hpp"
#include "support/catch.hpp"
#include "support/hooks.hpp"

namespace gangsched::testing::node_ports_test {

TEST_CASE("NodePorts: a port conflicts per protocol, number and address, and the wildcard with every address") {
  struct example {
    const char* what;
    container_port wanted, taken;
    bool conflict;
  };
  const example examples[] = {
      {"same", {8080}, {8080}, true},
      {"other number", {8080}, {8081}, false},
      {"other protocol", {8080, protocol::udp}, {8080, protocol::tcp}, false},
      {"same address", {8080, protocol::tcp, "10.0.0.1"}, {8080, protocol::tcp, "10.0.0.1"}, true},
      {"other address", {8080, protocol::tcp, "10.0.0.1"}, {8080, protocol::tcp, "10.0.0.2"}, false},
      {"wildcard wanted", {8080, protocol::tcp, "0.0.0.0"}, {8080, protocol::tcp, "10.0.0.2"}, true},
      {"wildcard taken", {8080, protocol::tcp, "10.0.0.2"}, {8080, protocol::tcp, ""}, true},
      {"two spellings of the wildcard", {8080, protocol::sctp, ""}, {8080, protocol::sctp, "0.0.0.0"}, true},
      {"IPv6's is an address like others", {8080, protocol::tcp, "::"}, {8080, protocol::tcp, "10.0.0.2"}, false},
      {"no host port", {0}, {0}, false},
  };
  for (const example& one : examples) {
    INFO(one.what);
    hooks on{node_ports{}};
    const node_id node = on.add(a_node{"n"});
    on.add(a_pod{"there"}.on(node).port(one.taken.host_port, one.taken.protocol, one.taken.host_ip));
    const pod_id pod = on.add(a_pod{"new"}.port(one.wanted.host_port, one.wanted.protocol, one.wanted.host_ip));
    const verdict refused{code::unschedulable, {"node(s) didn't have free ports for the requested pod ports"}};
    CHECK(on.filter(pod, node) == (one.conflict ? refused : verdict{}));
  }
}

TEST_CASE("NodePorts: sidecars' ports count, other init containers' do not") {
  hooks on{node_ports{}};
  const node_id node = on.add(a_node{"n"});
  on.add(a_pod{"there"}.on(node).port(80));
  a_pod init{"init"}, sidecar{"sidecar"};
  init.spec.init_containers.push_back({.ports = {{.host_port = 80}}});
  sidecar.spec.init_containers.push_back({.ports = {{.host_port = 80}}, .sidecar = true});
  const pod_id with_init = on.add(init);
  CHECK(on.pre_filter(with_init).code == code::skip);
  CHECK(on.filter(with_init, node) == verdict{});
  CHECK(on.filter(on.add(sidecar), node).code == code::unschedulable);
}

TEST_CASE(
    "NodePorts: a pod without ports is skipped; ports wanted twice are not compared; a pod's end frees its ports") {
  hooks on{node_ports{}};
  const node_id node = on.add(a_node{"n"});
  CHECK(on.pre_filter(on.add(a_pod{"none"})).code == code::skip);
  const pod_id twice = on.add(a_pod{"twice"}.port(80).container().port(80));
  CHECK(on.pre_filter(twice) == verdict{});
  CHECK(on.filter(twice, node) == verdict{});
  const pod_id there = on.add(a_pod{"there"}.on(node).port(80));
  CHECK(on.filter(twice, node).code == code::unschedulable);
  must(on.cluster.remove_pod(there));
  CHECK(on.filter(twice, node) == verdict{});
}

}  // namespace gangsched::testing::node_ports_test
