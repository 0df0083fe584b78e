// Queues in the model: what is refused, who is in which queue, and what is counted of each, against counting anew.
#include "gangsched/model/queue_table.hpp"

#include <limits>
#include <map>

#include "gangsched/model/cluster.hpp"
#include "gangsched/model/cluster_queues.hpp"
#include "gangsched/model/transaction.hpp"
#include "support/builders.hpp"
#include "support/catch.hpp"
#include "support/inside.hpp"
#include "support/refused.hpp"

namespace gangsched::testing::queue_table_test {

namespace {

integer_resources amounts(std::int64_t milli, std::int64_t pods) {
  integer_resources made;
  if (milli != 0) made["cpu"] = milli;
  if (pods != 0) made["pods"] = pods;
  return made;
}

/// A tree all/{research/{a,b},serving}, of which a takes the namespace "lab".
struct tree {
  tree() {
    queue({.name = "research", .parent = "all"});
    queue({.name = "a", .parent = "research", .namespaces = {"lab"}});
    queue({.name = "b", .parent = "research"});
    queue({.name = "serving", .parent = "all"});
    queue({.name = "all"});
    n = c.add_node(a_node("n").cpu(64).label("gpu", "big")).value();
    m = c.add_node(a_node("m").cpu(64).label("gpu", "small")).value();
  }
  queue_id queue(const queue_spec& spec) { return c.queues().add(spec).value(); }
  [[nodiscard]] queue_id find(const char* name) const { return c.queues().find(name).value(); }
  [[nodiscard]] queue_usage usage(const char* name) const { return c.queues().usage_of(find(name)); }
  [[nodiscard]] std::string queue_of(pod_id pod) const {
    return std::string{c.queues().name_of(c.queues().queue_of(pod))};
  }
  pod_id add(pod_spec spec, const char* queue = "") {
    spec.queue = queue;
    return c.add_pod(spec).value();
  }
  cluster c;
  node_id n, m;
};

}  // namespace

TEST_CASE("quota of a resource that nobody has yet counts once somebody has it", "[model][queues]") {
  gangsched::cluster c;
  REQUIRE(c.queues().add({.name = "q", .quotas = {{.limit = {{"example.com/new", 2}}}}}));
  const node_id node = c.add_node(a_node("n").cpu(8).pods(10)).value();
  node_spec more = a_node("n").cpu(8).pods(10);
  more.allocatable["example.com/new"] = 3;
  REQUIRE(c.update_node(node, more));
  pod_spec pod = a_pod("p").on(node).queue("q");
  pod.containers.front().requests["example.com/new"] = 2;
  REQUIRE(c.add_pod(pod));
  CHECK(c.queues().usage_of(c.queues().find("q").value()).requested.at("example.com/new") == 2);
}

TEST_CASE("what is wrong with a queue is said with queue, field and reason, and changes nothing", "[model][queues]") {
  tree w;
  const auto says = [&](const queue_spec& spec) {
    return refused(w.c, [&] { return w.c.queues().add(spec); }).message();
  };
  const auto one = [](queue_quota quota) { return queue_spec{.name = "q", .quotas = {std::move(quota)}}; };
  CHECK(says({.name = ""}) == "queue : name: is no name: 1 to 253 characters of ASCII without blanks");
  CHECK(says({.name = "two words"}).starts_with("queue two words: name: is no name"));
  CHECK(says({.name = "a"}) == "queue a: name: exists already");
  CHECK(says({.name = "q", .parent = "q"}) == "queue q: parent: is the queue itself");
  CHECK(says(one({.guaranteed = {{"cpu", 3}}, .limit = {{"cpu", 2}}})) ==
        "queue q: quotas[0].guaranteed[\"cpu\"]: is above the limit");
  CHECK(says(one({.guaranteed = {{"cpu", -1}}})) == "queue q: quotas[0].guaranteed[\"cpu\"]: is negative");
  CHECK(says(one({.limit = {{"cpu", 9'300'000'000'000'000}}})) ==
        "queue q: quotas[0].limit[\"cpu\"]: does not fit into 64 bits");
  CHECK(says(one({.limit = {{"no name", 1}}})) ==
        "queue q: quotas[0].limit[\"no name\"]: is not the name of a resource");
  const std::string unheard_of =
      "is not a resource that pods request: cpu, memory, ephemeral-storage, pods, hugepages-* or a name with a prefix "
      "such as example.com/gpu";
  CHECK(says(one({.guaranteed = {{"gpu", 1}}})) == "queue q: quotas[0].guaranteed[\"gpu\"]: " + unheard_of);
  CHECK(says(one({.weights = {{"storage", 1}}})) == "queue q: quotas[0].weights[\"storage\"]: " + unheard_of);
  CHECK(says(one({.guaranteed = {{"cpu", 2}}, .lending_limit = {{"cpu", 3}}})) ==
        "queue q: quotas[0].lending_limit[\"cpu\"]: is above what is guaranteed");
  CHECK(says(one({.lending_limit = {{"cpu", 1}}})) ==
        "queue q: quotas[0].lending_limit[\"cpu\"]: is above what is guaranteed");
  CHECK(says(one({.weights = {{"cpu", -0.5}}})) == "queue q: quotas[0].weights[\"cpu\"]: is negative or no number");
  CHECK(says(one({.flavor = "big"})) == "queue q: quotas[0].flavor: no such flavor \"big\"");
  CHECK(says({.name = "q", .quotas = {{}, {}}}) == "queue q: quotas[1].flavor: \"\" is there twice");
  CHECK(says({.name = "q", .weight = 0}) == "queue q: weight: is not above 0");
  CHECK(says({.name = "q", .weight = std::numeric_limits<double>::quiet_NaN()}) == "queue q: weight: is not above 0");
  CHECK(says({.name = "q", .state = static_cast<queue_state>(9)}) == "queue q: state: is not one of its values");
  CHECK(says({.name = "q", .preempt_min_runtime = instant{-1}}) == "queue q: preempt_min_runtime: is negative");
  CHECK(says({.name = "q", .max_running = -1}) == "queue q: max_running: is negative");
  CHECK(says({.name = "q", .namespaces = {"Lab"}}) == "queue q: namespaces[0]: \"Lab\" is not a DNS label");
  CHECK(says({.name = "q", .namespaces = {"x", "x"}}) == "queue q: namespaces[1]: \"x\" is there twice");
  CHECK(says({.name = "q", .namespaces = {"x", "lab"}}) == "queue q: namespaces[1]: queue a takes it");
  const auto says_of = [&](queue_id id, const queue_spec& spec) {
    return refused(w.c, [&] { return w.c.queues().update(id, spec); }).message();
  };
  CHECK(says_of(w.find("all"), {.name = "all", .parent = "b"}) == "queue all: parent: \"b\" is below the queue itself");
  CHECK(says_of(w.find("all"), {.name = "al"}) == "queue all: name: a queue cannot be renamed");
  CHECK(says_of({}, {.name = "a"}) == "queue a: id: no such object (removed, or of another cluster)");
  CHECK(refused(w.c, [&] { return w.c.queues().remove({}); }).message() ==
        "queue: id: no such object (removed, or of another cluster)");
}

TEST_CASE("what is wrong with a flavor is said, and one that a queue has quota of stays", "[model][queues]") {
  tree w;
  const auto says = [&](const flavor_spec& spec) {
    return refused(w.c, [&] { return w.c.queues().set_flavor(spec); }).message();
  };
  CHECK(says({.name = ""}).starts_with("flavor : name: is no name"));
  CHECK(says({.name = "f", .node_labels = {{"-", "x"}}}).starts_with("flavor f: node_labels[\"-\"]: "));
  CHECK(says({.name = "f", .taints = {{.key = ""}}}).starts_with("flavor f: taints[0].key: "));
  CHECK(says({.name = "f", .tolerations = {{.key = ""}}}).starts_with("flavor f: tolerations[0].op: "));
  REQUIRE(w.c.queues().set_flavor({.name = "f"}));
  REQUIRE(w.c.queues().update(w.find("b"), {.name = "b", .parent = "research", .quotas = {{.flavor = "f"}}}));
  CHECK(refused(w.c, [&] { return w.c.queues().remove_flavor("f"); }).message() ==
        "flavor f: name: queue b has quota of it");
  CHECK(refused(w.c, [&] { return w.c.queues().remove_flavor("g"); }).message() == "flavor g: name: no such flavor");
  REQUIRE(w.c.queues().update(w.find("b"), {.name = "b", .parent = "research"}));
  REQUIRE(w.c.queues().remove_flavor("f"));
}

TEST_CASE("a pod is in the queue that it names, else its groups', else its namespace's", "[model][queues]") {
  tree w;
  const group_id top = w.c.add_group({.name = "top", .ns = "lab", .composite = true, .queue = "b"}).value();
  const group_id low = w.c.add_group({.name = "low", .ns = "lab", .parent = top}).value();
  const group_id alone = w.c.add_group({.name = "alone", .ns = "lab"}).value();
  CHECK(w.queue_of(w.add(a_pod("p1"))) == "");
  CHECK(w.queue_of(w.add(a_pod("p2"), "serving")) == "serving");
  CHECK(w.queue_of(w.add(a_pod("p3").ns("lab"))) == "a");
  CHECK(w.queue_of(w.add(a_pod("p4").ns("lab").in(alone))) == "a");
  const pod_id p5 = w.add(a_pod("p5").ns("lab").in(low));
  CHECK(w.queue_of(p5) == "b");
  CHECK(w.queue_of(w.add(a_pod("p6").ns("lab").in(low), "serving")) == "serving");
  CHECK(w.c.queues().queue_of(low) == w.find("b"));
  CHECK(w.c.queues().queue_of(alone) == w.find("a"));
  REQUIRE(w.c.update_group(top, {.name = "top", .ns = "lab", .composite = true}));
  CHECK(w.queue_of(p5) == "a");
  REQUIRE(w.c.queues().update(w.find("a"), {.name = "a", .parent = "research"}));
  CHECK(w.queue_of(p5) == "");
  CHECK(w.c.queues().name_of(w.c.queues().queue_of(top)) == "serving");  // that of p6
}

TEST_CASE("a queue counts what its pods use and request, with those below it, and trees of groups as one",
          "[model][queues]") {
  tree w;
  const pod_id p = w.add(a_pod("p").cpu(2), "a");
  const group_id g = w.c.add_group({.name = "g", .queue = "a"}).value();
  const pod_id q = w.add(a_pod("q").cpu(1).in(g).spec);
  const pod_id r = w.add(a_pod("r").cpu(4).in(g).on(w.m).spec);
  CHECK(w.usage("a").requested == amounts(7000, 3));
  CHECK(w.usage("a").used == amounts(4000, 1));
  CHECK(w.usage("a").running == 1);
  REQUIRE(w.c.assume(p, w.n));
  REQUIRE(w.c.assume(q, w.n));
  for (const char* one : {"a", "research", "all"}) {
    CHECK(w.usage(one).used == amounts(7000, 3));
    CHECK(w.usage(one).requested == amounts(7000, 3));
    CHECK(w.usage(one).running == 2);
  }
  CHECK(w.usage("serving").requested == amounts(0, 0));
  REQUIRE(w.c.release(q));
  CHECK(w.usage("all").running == 2);
  REQUIRE(w.c.remove_pod(r));
  CHECK(w.usage("all").used == amounts(2000, 1));
  CHECK(w.usage("all").requested == amounts(3000, 2));
  CHECK(w.usage("all").running == 1);
  REQUIRE(w.c.queues().update(w.find("a"), {.name = "a", .parent = "serving"}));
  CHECK(w.usage("research").requested == amounts(0, 0));
  CHECK(w.usage("serving").requested == amounts(3000, 2));
  CHECK(w.usage("serving").running == 1);
  CHECK(w.usage("all").used == amounts(2000, 1));
}

TEST_CASE("usage is counted by the flavor of the node, which follows its labels", "[model][queues]") {
  tree w;
  w.add(a_pod("p").cpu(2).on(w.n).spec, "a");
  w.add(a_pod("q").cpu(1).on(w.m).spec, "a");
  const auto of = [&](const char* flavor) { return w.c.queues().usage_of(w.find("all"), flavor).used; };
  REQUIRE(w.c.queues().set_flavor({.name = "s", .node_labels = {{"gpu", "small"}}}));
  REQUIRE(w.c.queues().set_flavor({.name = "t", .node_labels = {{"gpu", "big"}}}));
  CHECK(of("s") == amounts(1000, 1));
  CHECK(of("t") == amounts(2000, 1));
  CHECK(w.c.queues().flavor_of(w.n) == "t");
  REQUIRE(w.c.queues().set_flavor({.name = "r"}));  // takes every node, and comes before the others
  CHECK(of("r") == amounts(3000, 2));
  CHECK(of("s") == amounts(0, 0));
  REQUIRE(w.c.queues().remove_flavor("r"));
  REQUIRE(w.c.update_node(w.n, a_node("n").cpu(64).label("gpu", "small")));
  CHECK(of("s") == amounts(3000, 2));
  CHECK(of("t") == amounts(0, 0));
  REQUIRE(w.c.remove_node(w.n));
  CHECK(of("s") == amounts(1000, 1));
}

TEST_CASE("a queue that is named before it is there is only known by its name, and goes with who names it",
          "[model][queues]") {
  cluster c;
  const node_id n = c.add_node(a_node("n").cpu(8)).value();
  pod_spec spec = a_pod("p").cpu(2);
  spec.queue = "late";
  const pod_id p = c.add_pod(spec).value();
  const queue_id late = c.queues().find("late").value();
  CHECK(c.queues().contains(late));
  CHECK(c.queues().spec_of(late) == nullptr);
  CHECK(c.queues().queue_of(p) == late);
  check_refused(c, errc::wrong_state, "queue late", "name", [&] { return c.queues().update(late, {.name = "late"}); });
  check_refused(c, errc::unknown, "queue", "id", [&] { return c.queues().remove(late); });
  REQUIRE(c.assume(p, n));
  CHECK(c.queues().add({.name = "late", .parent = "top"}).value() == late);
  CHECK(c.queues().usage_of(c.queues().find("top").value()).used == amounts(2000, 1));
  REQUIRE(c.queues().remove(late));
  CHECK(c.queues().contains(late));
  CHECK(c.queues().spec_of(late) == nullptr);
  CHECK(c.queues().usage_of(late).used == amounts(2000, 1));
  CHECK_FALSE(c.queues().find("top"));
  REQUIRE(c.remove_pod(p));
  CHECK_FALSE(c.queues().contains(late));
  CHECK(c.queues().all().empty());
}

TEST_CASE("what pods of a queue request fits into 64 bits, or the call is refused", "[model][queues]") {
  cluster c;
  const queue_id q = c.queues().add({.name = "q"}).value();
  pod_spec spec = a_pod("p").memory("6Ei");
  spec.queue = "q";
  const pod_id p = c.add_pod(spec).value();
  spec.name = "p2";
  check_refused(c, errc::overflow, "pod default/p2", "queue", [&] { return c.add_pod(spec); });
  const std::vector<std::string> names{"p3", "p4"};
  check_refused(c, errc::overflow, "pod default/p3", "queue", [&] { return c.add_pods(spec, names); });
  spec.queue.clear();
  const pod_id other = c.add_pod(spec).value();
  spec.queue = "q";
  check_refused(c, errc::overflow, "pod default/p2", "queue", [&] { return c.update_pod(other, spec); });
  check_refused(c, errc::overflow, "queue q", "namespaces",
                [&] { return c.queues().update(q, {.name = "q", .namespaces = {"default"}}); });
  spec.queue = "r";
  REQUIRE(c.update_pod(other, spec));
  check_refused(c, errc::overflow, "queue q", "parent",
                [&] { return c.queues().update(q, {.name = "q", .parent = "r"}); });
  REQUIRE(c.remove_pod(p));
  REQUIRE(c.queues().update(q, {.name = "q", .parent = "r"}));
}

TEST_CASE("the log says when a queue changed, and when less is used in it", "[model][queues]") {
  tree w;
  REQUIRE(w.c.queues().set_flavor({.name = "s", .node_labels = {{"gpu", "small"}}}));
  const pod_id p = w.add(a_pod("p").cpu(2), "a");
  const change_log& log = inside(w.c).log;
  const auto said = [&](const auto& call) {
    const std::uint64_t from = log.end();
    REQUIRE(call());
    std::vector<row_t> rows;
    for (const change& one : changes_since(w.c, from)) {
      if (one.kind != change_kind::queue_changed) continue;
      CHECK(one.facets == reads::queues);
      rows.push_back(one.row);
    }
    return rows;
  };
  using list = std::vector<row_t>;
  const row_t a = w.find("a").row, b = w.find("b").row;
  CHECK(said([&] { return w.c.assume(p, w.m); }).empty());
  CHECK(said([&] { return w.c.release(p); }) == list{a});
  REQUIRE(w.c.assume(p, w.m));
  CHECK(said([&] { return w.c.queues().update(w.find("b"), {.name = "b", .parent = "all"}); }) == list{b});
  CHECK(said([&] { return w.c.update_node(w.m, a_node("m").cpu(64)); }) == list{no_row});
  CHECK(said([&] { return w.c.update_node(w.m, a_node("m").cpu(64).label("gpu", "small")); }).empty());
  CHECK(said([&] { return w.c.queues().remove_flavor("s"); }) == list{no_row, no_row});
  pod_spec moved = a_pod("p").cpu(2);
  moved.queue = "b";
  CHECK(said([&] { return w.c.update_pod(p, moved); }) == list{a});
  CHECK(said([&] { return w.c.remove_pod(p); }) == list{b});
}

TEST_CASE("pods of two queues are of two classes, and of one queue of one", "[model][queues]") {
  tree w;
  const auto class_of = [&](pod_id pod) { return w.c.class_of(pod).value(); };
  const pod_id p = w.add(a_pod("p").cpu(2), "a"), q = w.add(a_pod("q").cpu(2), "b"), r = w.add(a_pod("r").cpu(2));
  CHECK(class_of(p) != class_of(q));
  CHECK(class_of(p) != class_of(r));
  CHECK(class_of(w.add(a_pod("s").cpu(2), "a")) == class_of(p));
  CHECK(class_of(w.add(a_pod("t").cpu(2))) == class_of(r));
  REQUIRE(w.c.queues().update(w.find("b"), {.name = "b", .parent = "all", .namespaces = {"default"}}));
  CHECK(class_of(r) == class_of(q));
}

TEST_CASE("queues are no deeper than a thousand below each other, whichever end comes first", "[model][queue]") {
  cluster c;
  const auto name = [](int number) { return "q" + std::to_string(number); };
  c.queues().add({.name = name(0)}).value();
  for (int i = 1; i <= 1000; ++i) c.queues().add({.name = name(i), .parent = name(i - 1)}).value();
  const auto too_deep = [](const auto& refused, const std::string& queue) {
    REQUIRE_FALSE(refused);
    CHECK(refused.error().message() ==
          "queue " + queue + ": parent: a queue would have more than 1000 others above it");
  };
  too_deep(c.queues().add({.name = "lowest", .parent = name(1000)}), "lowest");
  too_deep(c.queues().update(c.queues().find(name(0)).value(), {.name = name(0), .parent = "top"}), name(0));
  CHECK_FALSE(c.queues().find("top"));
  c.queues().add({.name = "other", .parent = "expected"}).value();
  too_deep(c.queues().add({.name = "expected", .parent = name(999)}), "expected");
  c.queues().add({.name = "expected", .parent = name(998)}).value();
  c.queues().update(c.queues().find("other").value(), {.name = "other", .parent = "expected", .priority = 1}).value();
}

}  // namespace gangsched::testing::queue_table_test
