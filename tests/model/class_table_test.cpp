#include "gangsched/model/class_table.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "gangsched/model/cluster.hpp"
#include "gangsched/model/label_selector.hpp"
#include "gangsched/model/transaction.hpp"
#include "support/builders.hpp"
#include "support/catch.hpp"
#include "support/inside.hpp"

namespace gangsched::testing::class_table_test {

namespace {

pod_id add(cluster& c, const pod_spec& spec) { return c.add_pod(spec).value(); }
class_id class_of(cluster& c, pod_id pod) { return inside(c).class_of(pod.row); }

/// A pod of a Job: its index and its own name are labels.
a_pod job_pod(int index) {
  const std::string number = std::to_string(index);
  return a_pod("job-" + number)
      .cpu_milli(100)
      .label("batch.kubernetes.io/job-completion-index", number)
      .label("statefulset.kubernetes.io/pod-name", "job-" + number)
      .label("app", "job");
}

// --- what is one class

TEST_CASE("pods that differ only in what is theirs alone have one class, whatever selectors came since",
          "[model][class_table]") {
  cluster c;
  const pod_id one = c.add_pod(a_pod("one").cpu(1).label("app", "a")).value();
  const pod_id like = c.add_pod(a_pod("like").cpu(1).label("app", "b")).value();
  const pod_id more = c.add_pod(a_pod("more").cpu(2)).value();
  CHECK(c.class_of(one).value() == c.class_of(like).value());
  CHECK(c.class_of(one).value() != c.class_of(more).value());
  CHECK(c.class_of(pod_id{}).error().code == errc::unknown);
  CHECK(c.priority_of(pod_id{}) == 0);

  REQUIRE(c.add_pod(a_pod("shy").avoid("app", "a")));
  const std::uint64_t before = inside(c).log.end();
  CHECK(c.class_of(one).value() != c.class_of(like).value());
  CHECK(inside(c).log.end() == before);
}

TEST_CASE("a digest does not tell when somebody looked at a pod", "[model]") {
  cluster c;
  const pod_id waits = add(c, a_pod("waits").label("app", "a"));
  REQUIRE(c.add_pod(a_pod("apart").avoid("app", "a")));  // counts the other one
  const std::uint64_t before = c.digest(), derived = inside(c).digest_with_derived();
  REQUIRE(c.class_of(waits));
  CHECK(c.digest() == before);
  CHECK(inside(c).digest_with_derived() != derived);
}

TEST_CASE("the pods of a Job are one class, each with its own index", "[model][class]") {
  cluster c;
  const class_id first = class_of(c, add(c, job_pod(0)));
  for (int index = 1; index < 50; ++index) CHECK(class_of(c, add(c, job_pod(index))) == first);
}

TEST_CASE("what no plugin can read does not make a class", "[model][class]") {
  cluster c;
  const group_id group = c.add_group({.name = "g"}).value();
  const node_id node = c.add_node(a_node("n")).value();
  const class_id plain = class_of(c, add(c, a_pod("plain").cpu(1)));
  CHECK(plain == class_of(c, add(c, a_pod("in-group").cpu(1).in(group))));
  CHECK(plain == class_of(c, add(c, a_pod("gated").cpu(1).gate("wait/here"))));
  CHECK(plain == class_of(c, add(c, a_pod("running").cpu(1).on(node))));
  CHECK(plain == class_of(c, add(c, a_pod("nominated").cpu(1).nominated(node))));
  CHECK(plain == class_of(c, add(c, a_pod("cookie").cpu(1).cookie(77))));
}

TEST_CASE("everything that a plugin can read makes a class", "[model][class]") {
  std::vector<std::pair<const char*, a_pod>> pods;
  const auto variant = [&](const char* what) -> a_pod& {
    return pods.emplace_back(what, a_pod("p" + std::to_string(pods.size())).cpu(1)).second;
  };
  variant("plain");
  variant("namespace").ns("other");
  variant("cpu").cpu_milli(1001);
  variant("memory").memory("1Gi");
  variant("extended resource").gpus(1);
  variant("priority").priority(1);
  variant("preemption").spec.preemption = preemption_policy::never;
  variant("scheduler").spec.scheduler_name = "mine";
  variant("required node").spec.required_node = "n1";
  variant("required feature").require("X");
  variant("another one").require("Y");
  variant("both").require("X").require("Y");
  variant("toleration").tolerate("k", "v");
  variant("toleration of an effect").tolerate("k", "v", taint_effect::no_execute);
  variant("node selector").select("disk", "ssd");
  variant("required terms, none").spec.affinity.required.emplace();
  variant("preferred term").prefer(1, "zone", {"a"});
  variant("preferred term's weight").prefer(2, "zone", {"a"});
  variant("port").port(80);
  variant("udp port").port(80, gangsched::protocol::udp);
  variant("port of an address").port(80, gangsched::protocol::tcp, "10.0.0.1");
  variant("image").image("app:1");
  variant("one more container").container();
  variant("anti-affinity").avoid("app", "web");
  variant("anti-affinity elsewhere").avoid("app", "web", "zone");
  variant("affinity").spec.affinity_to_pods.required.push_back({"zone", label_selector{}});
  variant("spread").spec.topology_spread_constraints.push_back({.topology_key = "zone"});
  variant("overhead").spec.overhead["cpu"] = 1;
  variant("pod-level resources").spec.resources = resource_list{{"cpu", 1}};

  cluster c;
  std::vector<class_id> classes;
  for (const auto& [what, spec] : pods) {
    INFO(what);
    const class_id one = class_of(c, add(c, spec));
    CHECK(std::find(classes.begin(), classes.end(), one) == classes.end());
    classes.push_back(one);
  }
}

TEST_CASE("spellings of the same thing are one class", "[model][class]") {
  cluster c;
  CHECK(class_of(c, add(c, a_pod("a").cpu(1).memory("1Gi").image("app").port(80))) ==
        class_of(c, add(c, a_pod("b")
                               .memory("1024Mi")
                               .cpu_milli(1000)
                               .image("app:latest")
                               .port(80, gangsched::protocol::tcp, "0.0.0.0"))));
  CHECK(class_of(c, add(c, a_pod("x").require("X").require("Y"))) ==
        class_of(c, add(c, a_pod("y").require("Y").require("X").require("Y"))));
}

TEST_CASE("a spread constraint's label keys count with the pod's own values", "[model][class]") {
  const auto spread_pod = [](const char* name, const char* revision) {
    a_pod pod{name};
    pod.label("app", "web").label("pod-template-hash", revision);
    pod.spec.topology_spread_constraints.push_back({.topology_key = "zone",
                                                    .selector = label_selector{.match_labels = {{"app", "web"}}},
                                                    .match_label_keys = {"pod-template-hash", "absent"}});
    return pod;
  };
  cluster c;
  const pod_id one = add(c, spread_pod("one", "1")), twin = add(c, spread_pod("twin", "1")),
               two = add(c, spread_pod("two", "2"));
  CHECK(class_of(c, one) == class_of(c, twin));
  CHECK(class_of(c, one) != class_of(c, two));
  const topology_spread& spread = inside(c).classes[class_of(c, two)].spread.front();
  CHECK(matches(*spread.selector, {{"app", "web"}, {"pod-template-hash", "2"}}));
  CHECK_FALSE(matches(*spread.selector, {{"app", "web"}, {"pod-template-hash", "1"}}));
}

// --- live selectors

TEST_CASE("a label makes classes while some pod's selector asks for it, and no longer", "[model][class]") {
  cluster c;
  const pod_id zero = add(c, job_pod(0)), one = add(c, job_pod(1)), two = add(c, job_pod(2));
  REQUIRE(class_of(c, zero) == class_of(c, one));

  const pod_id loner = add(c, a_pod("loner").avoid("batch.kubernetes.io/job-completion-index", "1"));
  CHECK(class_of(c, zero) == class_of(c, two));
  CHECK(class_of(c, zero) != class_of(c, one));

  REQUIRE(c.remove_pod(loner));
  CHECK(class_of(c, zero) == class_of(c, one));
  CHECK(class_of(c, zero) == class_of(c, two));
}

TEST_CASE("a pod that comes while a selector lives is of the class of its like at once", "[model][class]") {
  cluster c;
  const pod_id early = add(c, a_pod("early").label("app", "web"));
  const pod_id asks = add(c, a_pod("asks").avoid("app", "web"));
  const pod_id late = add(c, a_pod("late").label("app", "web"));
  const pod_id other = add(c, a_pod("other").label("app", "db"));
  CHECK(inside(c).pods.cls[late.row] == class_of(c, early));
  CHECK(inside(c).pods.cls[other.row] != class_of(c, early));
  CHECK(class_of(c, asks) != class_of(c, other));
}

TEST_CASE("a pod that its own selector matches is re-keyed like any other", "[model][class]") {
  cluster c;
  const auto web = [](const char* name) { return a_pod(name).label("app", "web").avoid("app", "web"); };
  const pod_id first = add(c, web("first"));
  const class_id before = class_of(c, first);
  const pod_id second = add(c, web("second"));
  CHECK(class_of(c, second) == before);
  CHECK(class_of(c, first) == before);
  CHECK(inside(c).classes[before].counters.matched.size() == 2);  // by what it asks for, and by what its like ask for
}

TEST_CASE("a selector lives until the last class that names it has no pods", "[model][class]") {
  cluster c;
  const pod_id web = add(c, a_pod("web").label("app", "web")), plain = add(c, a_pod("plain"));
  const auto apart = [&] { return class_of(c, web) != class_of(c, plain); };
  const pod_id small = add(c, a_pod("small").cpu(1).avoid("app", "web"));
  const pod_id large = add(c, a_pod("large").cpu(9).avoid("app", "web"));
  const pod_id twin = add(c, a_pod("twin").cpu(9).avoid("app", "web"));
  CHECK(apart());
  const std::uint32_t epoch = inside(c).classes.epoch();
  REQUIRE(c.remove_pod(small));
  CHECK(apart());
  REQUIRE(c.remove_pod(large));
  CHECK(apart());
  CHECK(inside(c).classes.epoch() == epoch);  // nobody is re-keyed in vain
  REQUIRE(c.remove_pod(twin));
  CHECK_FALSE(apart());
  CHECK(inside(c).classes.epoch() != epoch);
}

TEST_CASE("an update that brings or drops a selector splits and merges classes too", "[model][class]") {
  cluster c;
  const pod_id web = add(c, a_pod("web").label("app", "web")), plain = add(c, a_pod("plain"));
  const pod_id changing = add(c, a_pod("changing"));
  REQUIRE(c.update_pod(changing, a_pod("changing").avoid("app", "web")));
  CHECK(class_of(c, web) != class_of(c, plain));
  REQUIRE(c.update_pod(web, a_pod("web").label("app", "db")));
  CHECK(class_of(c, web) == class_of(c, plain));
  REQUIRE(c.update_pod(web, a_pod("web").label("app", "web")));
  CHECK(class_of(c, web) != class_of(c, plain));
  REQUIRE(c.update_pod(changing, a_pod("changing")));
  CHECK(class_of(c, web) == class_of(c, plain));
  CHECK(class_of(c, changing) == class_of(c, plain));
}

TEST_CASE("affinity, anti-affinity and spread, required and preferred, all bring their selectors to life",
          "[model][class]") {
  const auto selector = [](const char* value) { return label_selector{.match_labels = {{"app", value}}}; };
  cluster c;
  a_pod asks{"asks"};
  asks.spec.affinity_to_pods.required.push_back({"zone", selector("a")});
  asks.spec.affinity_to_pods.preferred.push_back({1, {"zone", selector("b")}});
  asks.spec.anti_affinity_to_pods.required.push_back({"zone", selector("c")});
  asks.spec.anti_affinity_to_pods.preferred.push_back({1, {"zone", selector("d")}});
  asks.spec.topology_spread_constraints.push_back({.topology_key = "zone", .selector = selector("e")});
  asks.spec.anti_affinity_to_pods.required.push_back({"rack", selector("a")});  // the same selector again
  asks.spec.anti_affinity_to_pods.required.push_back({"row", std::nullopt});    // matches nothing
  const pod_id pod = add(c, asks);
  CHECK(inside(c).classes[class_of(c, pod)].counters.named.size() == 6 * 2 + 1);  // a term asks, and is minded
  std::vector<class_id> classes;
  for (const char* value : {"a", "b", "c", "d", "e", "f"}) {
    const pod_id labelled = add(c, a_pod(std::string{"p-"} + value).label("app", value));
    classes.push_back(class_of(c, labelled));
    const std::size_t terms = *value == 'a' ? 2 : *value == 'f' ? 0 : 1;
    CHECK(inside(c).classes[classes.back()].counters.matched.size() == (*value == 'e' ? 1 : 2 * terms));
  }
  std::sort(classes.begin(), classes.end());
  CHECK(std::unique(classes.begin(), classes.end()) == classes.end());
}

TEST_CASE("re-keying a pod changes its class and nothing that it holds", "[model][class]") {
  cluster c;
  const node_id node = c.add_node(a_node("n").cpu(8)).value();
  const pod_id web = add(c, a_pod("web").cpu(2).port(80).label("app", "web").on(node));
  const class_id before = class_of(c, web);
  add(c, a_pod("asks").avoid("app", "web"));
  REQUIRE(class_of(c, web) != before);
  CHECK(c.requested(node, "cpu") == 2000);
  REQUIRE(c.remove_pod(web));
  CHECK(c.requested(node, "cpu") == 0);
  CHECK(inside(c).nodes.ports[node.row].empty());
}

TEST_CASE("a discarded trial leaves classes and selectors as they were", "[model][class]") {
  cluster c;
  const pod_id web = add(c, a_pod("web").label("app", "web")), plain = add(c, a_pod("plain"));
  const class_id before = class_of(c, web);
  const std::uint64_t digest = inside(c).digest_with_derived();
  {
    transaction trial{c};
    add(c, a_pod("asks").avoid("app", "web"));
    CHECK(class_of(c, web) != class_of(c, plain));
    CHECK(inside(c).digest_with_derived() != digest);
  }
  CHECK(inside(c).digest_with_derived() == digest);
  CHECK(class_of(c, web) == before);
  CHECK(class_of(c, plain) == before);
  add(c, a_pod("asks").avoid("app", "other"));  // the same epoch number as in the trial, another selector
  CHECK(class_of(c, web) == before);
  CHECK(class_of(c, plain) == before);
}

// --- the table itself

pod_class with_key(const std::string& key) {
  pod_class made;
  made.key = key;
  made.key_prefix = key.size();
  return made;
}

TEST_CASE("a class table adopts a class once", "[model][class]") {
  undo_log undo;
  model::class_table table{undo};
  const class_id a = table.intern(with_key("a")), b = table.intern(with_key("b"));
  CHECK(a != b);
  CHECK(table.intern(with_key("a")) == a);
  CHECK(table.size() == 2);
  CHECK(table[b].key == "b");
}

TEST_CASE("a sweep frees classes without pods when they are many, and their ids are seen to be new", "[model][class]") {
  undo_log undo;
  model::class_table table{undo};
  const class_id kept = table.intern(with_key("kept"));
  table.add_pod(kept);
  const class_id idle = table.intern(with_key("idle"));
  table.sweep();
  CHECK(table.intern(with_key("idle")) == idle);  // few: nothing is swept

  for (int i = 0; i < 2000; ++i) {
    const class_id busy = table.intern(with_key("busy " + std::to_string(i)));
    table.add_pod(busy);
    table.remove_pod(busy);
  }
  const class_id size = table.size();
  const std::uint32_t kept_generation = table.generation(kept), idle_generation = table.generation(idle);
  table.sweep();
  CHECK(table[kept].key == "kept");
  CHECK(table.generation(kept) == kept_generation);
  CHECK(table.generation(idle) != idle_generation);
  for (int i = 0; i < 2001; ++i) CHECK(table.intern(with_key("next " + std::to_string(i))) < size);  // ids are reused
  CHECK(table.size() == size);
  CHECK(table.intern(with_key("kept")) == kept);
}

TEST_CASE("a cluster's classes stay few when pods of ever new classes come and go", "[model][class]") {
  cluster c;
  const pod_id stays = add(c, a_pod("stays").cpu(1));
  const class_id cls = class_of(c, stays);
  for (int i = 0; i < 5000; ++i) {
    const pod_id pod = add(c, a_pod("passing").cpu_milli(2000 + i));
    REQUIRE(c.remove_pod(pod));
  }
  CHECK(inside(c).classes.size() <= 1100);
  CHECK(class_of(c, stays) == cls);
  CHECK(class_of(c, add(c, a_pod("like").cpu(1))) == cls);
}

TEST_CASE("a class table's digest counts classes with pods, in no order", "[model][class]") {
  undo_log undo;
  model::class_table one{undo}, other{undo};
  const auto digest_of = [](const model::class_table& table) {
    digest out;
    std::vector<std::uint64_t> of;  // by number, here of the key
    for (class_id id = 0; id < table.size(); ++id) {
      digest key;
      key.add(table[id].key);
      of.push_back(key.value());
    }
    table.digest_into(out, of);
    return out.value();
  };
  const std::uint64_t empty = digest_of(one);
  one.add_pod(one.intern(with_key("a")));
  const std::uint64_t with_a = digest_of(one);
  CHECK(with_a != empty);
  one.add_pod(one.intern(with_key("b")));
  one.intern(with_key("idle"));
  other.add_pod(other.intern(with_key("b")));
  other.add_pod(other.intern(with_key("a")));
  CHECK(digest_of(one) == digest_of(other));
  one.add_pod(one.intern(with_key("b")));
  CHECK(digest_of(one) != digest_of(other));
}

TEST_CASE("a label selector wants every requirement to hold", "[model][class]") {
  using op = selector_operator;
  const label_map labels{{"app", "web"}, {"tier", ""}};
  const auto holds = [&](selector_requirement one) { return matches({.match_expressions = {std::move(one)}}, labels); };
  CHECK(matches({}, labels));
  CHECK(matches({}, {}));
  CHECK(matches({.match_labels = {{"app", "web"}, {"tier", ""}}}, labels));
  CHECK_FALSE(matches({.match_labels = {{"app", "web"}, {"absent", ""}}}, labels));
  CHECK_FALSE(matches({.match_labels = {{"app", "db"}}}, labels));
  CHECK(holds({"app", op::in, {"db", "web"}}));
  CHECK_FALSE(holds({"app", op::in, {"db"}}));
  CHECK_FALSE(holds({"absent", op::in, {""}}));
  CHECK(holds({"app", op::not_in, {"db"}}));
  CHECK_FALSE(holds({"app", op::not_in, {"db", "web"}}));
  CHECK(holds({"absent", op::not_in, {"web"}}));
  CHECK(holds({"tier", op::exists, {}}));
  CHECK_FALSE(holds({"absent", op::exists, {}}));
  CHECK(holds({"absent", op::does_not_exist, {}}));
  CHECK_FALSE(holds({"tier", op::does_not_exist, {}}));
  CHECK_FALSE(
      matches({.match_labels = {{"app", "web"}}, .match_expressions = {{"app", op::does_not_exist, {}}}}, labels));
}

}  // namespace

}  // namespace gangsched::testing::class_table_test
