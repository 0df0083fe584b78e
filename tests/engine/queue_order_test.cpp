// Several queues: in which one somebody stands, and whose head goes first as the cluster is now.
#include "host_queue.hpp"

#include <map>
#include <memory>
#include <stdexcept>
#include <tuple>

#include "support/dice.hpp"

namespace gangsched::testing::queue_order_test {

namespace {

/// The namespace with the fewest pods on nodes goes first: fair shares of equal weight.
struct fewest_running {
  static constexpr std::string_view name = "FewestRunning";
  using points = implements<point::queue_order>;

  [[nodiscard]] symbol queue_of(const pod_info& pod) const { return pod.spec().ns; }
  [[nodiscard]] bool queue_before(const queue_head& a, const queue_head& b, const cluster_view& cluster) const {
    return running(a, cluster) < running(b, cluster);
  }

 private:
  static std::int64_t running(const queue_head& head, const cluster_view& cluster) {
    std::int64_t count = 0;
    cluster.each_node([&](const node_info& node) {
      node.each_pod([&](const pod_info& pod) { count += pod.spec().ns.value == head.queue ? 1 : 0; });
    });
    return count;
  }
};

/// Queues by a label, in the order of weights that the test changes as it likes.
struct by_weight {
  static constexpr std::string_view name = "ByWeight";
  using points = implements<point::queue_order>;
  std::shared_ptr<std::map<std::int64_t, int>> weights;

  [[nodiscard]] std::int64_t queue_of(const pod_info& pod) const {
    return std::stoll(std::string{pod.label("queue").value_or("0")});
  }
  [[nodiscard]] bool queue_before(const queue_head& a, const queue_head& b, const cluster_view&) const {
    return weight(a.queue) < weight(b.queue);
  }
  [[nodiscard]] int weight(std::int64_t queue) const { return weights->count(queue) == 0 ? 0 : weights->at(queue); }
};

/// PrioritySort by comparison.
struct compared_priority {
  static constexpr std::string_view name = "ComparedPriority";
  using points = implements<point::queue_sort>;
  [[nodiscard]] bool less(const queued& a, const queued& b) const noexcept {
    return a.priority != b.priority ? a.priority > b.priority : a.since < b.since;
  }
};

/// Throws where the test says.
struct broken_order {
  static constexpr std::string_view name = "BrokenOrder";
  using points = implements<point::queue_order>;
  std::shared_ptr<std::string> where = std::make_shared<std::string>();

  [[nodiscard]] std::int64_t queue_of(const pod_info& pod) const {
    if (*where == "queue_of") throw std::runtime_error("no queue");
    return std::int64_t{pod.name().front()};
  }
  [[nodiscard]] bool queue_before(const queue_head& a, const queue_head& b, const cluster_view&) const {
    if (*where == "queue_before") throw std::runtime_error("no order");
    return a.queue > b.queue;
  }
};

template <class Order>
kernel_table with(Order order) {
  return profile{priority_sort{}, gang_scheduling{}, node_resources_fit{}, topology_placement{}, order};
}

}  // namespace

TEST_CASE("the queue with the smaller share goes first, and shares change as pods are placed",
          "[engine][queue_order]") {
  const wake_rule rule = GENERATE(wake_rule::one_per_class, wake_rule::hints);
  scheduler_options options = world::lowest_first();
  options.wake = rule;
  world w{with(fewest_running{}), options};
  w.add(a_node{"n"}.cpu(100));
  for (int i = 0; i < 4; ++i) w.add(a_pod{"a" + std::to_string(i)}.ns("a").cpu(1));
  for (int i = 0; i < 3; ++i) w.add(a_pod{"b" + std::to_string(i)}.ns("b").cpu(1));
  w.add(a_pod{"c0"}.ns("c").cpu(1).priority(-5));
  w.add(a_pod{"b3"}.ns("b").cpu(1).priority(9));
  // Equal shares: by priority, then by age.
  CHECK(w.run(true) == words{"bind b3 n", "bind a0 n", "bind c0 n", "bind a1 n", "bind b0 n", "bind a2 n", "bind b1 n",
                             "bind a3 n", "bind b2 n"});
  for (const char* name : {"b0", "b1", "b2"}) w.remove(w.cluster.find_pod("b", name).value());
  for (const char* ns : {"a", "b"}) {
    for (int i = 0; i < 4; ++i) w.add(a_pod{ns + std::to_string(10 + i)}.ns(ns).cpu(1));
  }
  CHECK(w.run() == words{"bind b10 n", "bind b11 n", "bind b12 n", "bind a10 n", "bind b13 n", "bind a11 n",
                         "bind a12 n", "bind a13 n"});
}

TEST_CASE("a gang stands in the queue of its first member that waits, and moves with it", "[engine][queue_order]") {
  const auto weights = std::make_shared<std::map<std::int64_t, int>>();
  world w{with(by_weight{weights})};
  w.add(a_node{"n"}.cpu(100));
  const auto of = [](const std::string& name, const std::string& queue) {
    return a_pod{name}.cpu(1).label("queue", queue);
  };
  *weights = {{1, 2}, {2, 1}, {3, 0}, {4, 3}};
  const group_id gang = w.add(a_gang{"gang", 1});
  const pod_id first = w.add(of("first", "1").in(gang));
  w.add(of("second", "3").in(gang));
  w.add(of("single", "2"));
  SECTION("as it is") { CHECK(w.run() == words{"bind single n", "bind first n", "bind second n"}); }
  SECTION("its first member goes") {
    CHECK(w.counts() == places{2, 0, 0, 0, 0});
    w.remove(first);
    CHECK(w.run() == words{"bind second n", "bind single n"});
  }
  SECTION("its first member is updated") {
    CHECK(w.counts() == places{2, 0, 0, 0, 0});
    w.must(w.cluster.update_pod(first, of("first", "3").in(gang)));
    CHECK(w.run() == words{"bind first n", "bind second n", "bind single n"});
  }
  SECTION("a pod is updated") {
    CHECK(w.counts() == places{2, 0, 0, 0, 0});
    w.must(w.cluster.update_pod(w.pod("single"), of("single", "4")));
    CHECK(w.run() == words{"bind first n", "bind second n", "bind single n"});
  }
}

TEST_CASE("the queues give what a list with a plain search gives", "[engine][queue_order]") {
  const bool by_key = GENERATE(true, false);
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    CAPTURE(by_key, seed);
    const auto weights = std::make_shared<std::map<std::int64_t, int>>();
    const by_weight order{weights};
    kernel_table table =
        by_key ? kernel_table{profile{priority_sort{}, order}} : kernel_table{profile{compared_priority{}, order}};
    host_queue w{std::move(table), world::lowest_first()};
    struct waiting {
      std::string name;
      std::int64_t queue;
      int priority;
      instant since;
      int arrival;
    };
    std::vector<waiting> reference;
    dice random{seed};
    int made = 0;
    const auto any_queue = [&] { return random.between(1, seed % 2 == 0 ? 5 : 100); };
    const auto spec = [](const waiting& one) {
      return a_pod{one.name}.label("queue", std::to_string(one.queue)).priority(one.priority);
    };
    for (int step = 0; step < 400; ++step) {
      w.now += 1s;
      switch (random.below(6)) {
        case 0:
        case 1:
        case 2: {
          waiting one{"p" + std::to_string(made), any_queue(), static_cast<int>(random.below(3)), w.now, made};
          ++made;
          w.add(spec(one));
          w.must(w.scheduler.catch_up(w.now));
          reference.push_back(one);
          break;
        }
        case 3:
          for (int i = 0; i < 3; ++i) (*weights)[any_queue()] = static_cast<int>(random.below(4));
          break;
        case 4: {
          if (reference.empty()) break;
          const std::size_t which = random.below(reference.size());
          waiting& one = reference[which];
          if (random.percent(50)) {
            w.remove(w.pod(one.name));
            reference.erase(reference.begin() + static_cast<std::ptrdiff_t>(which));
            break;
          }
          one.queue = any_queue(), one.priority = static_cast<int>(random.below(3));
          w.must(w.cluster.update_pod(w.pod(one.name), spec(one)));
          break;
        }
        default: {
          const auto key = [&](const waiting& one) {
            return std::tuple{order.weight(one.queue), -one.priority, one.since, one.arrival};
          };
          // Of a queue its head counts, and of equal queues the better head: the least of all by weight, priority, time and age.
          const auto best = std::min_element(reference.begin(), reference.end(),
                                             [&](const waiting& a, const waiting& b) { return key(a) < key(b); });
          const std::string expected = best == reference.end() ? "" : best->name;
          REQUIRE(w.pop() == expected);
          if (best == reference.end()) break;
          const pod_id pod = w.pod(best->name);
          if (random.percent(30)) {  // it comes back, later than the others
            w.reject(pod, {"OfTheHost"});
            w.must(w.scheduler.activate(std::vector{pod}, w.now));
            best->since = w.now;
          } else {
            w.must(w.scheduler.done(pod));
            reference.erase(best);
          }
        }
      }
    }
  }
}

TEST_CASE("who backs off is popped early in the order of backoffs, whatever its queue", "[engine][queue_order]") {
  const auto weights = std::make_shared<std::map<std::int64_t, int>>();
  *weights = {{1, 9}, {2, 0}};
  host_queue w{with(by_weight{weights})};
  w.add(a_pod{"a"}.label("queue", "1"));
  w.add(a_pod{"b"}.label("queue", "2"));
  CHECK(w.pop() == "b");
  CHECK(w.pop() == "a");
  for (const char* name : {"a", "b"}) {
    w.now += 1s;
    w.reject(w.pod(name), {"NodeResourcesFit"});
  }
  w.add(a_node{"n"});
  CHECK(w.pop() == "a");
  CHECK(w.pop() == "b");
}

TEST_CASE(
    "a queue order that throws is an error of the attempt of who would be first, and keeps nobody from having one",
    "[engine][queue_order][hooks]") {
  const broken_order order;
  for (const char* where : {"queue_of", "queue_before"}) {
    INFO(where);
    world w{with(order)};
    w.add(a_node{"n"}.cpu(100));
    *order.where = where;
    w.add(a_pod{"a"}.cpu(1));
    w.add(a_pod{"b"}.cpu(1));
    w.add(a_pod{"m"}.cpu(1).in(w.add(a_gang{"gang", 1})));
    for (int i = 0; i < (*order.where == "queue_of" ? 3 : 2); ++i) {
      const gangsched::cycle done = w.scheduler.schedule_cycle(w.now);
      REQUIRE(done.error() != nullptr);
      CHECK(done.error()->code == errc::contract);
      CHECK(done.error()->reason.find("BrokenOrder") != std::string::npos);
      CHECK(done.decisions().size() == 1);
    }
    CHECK(w.cluster.assumed().empty());
    w.add(a_pod{"c"}.cpu(1));
    if (*order.where == "queue_of") REQUIRE(w.scheduler.schedule_cycle(w.now).error() != nullptr);
    order.where->clear();
    w.now += 1min;
    CHECK(sorted(w.run()).size() == 4);
    CHECK(w.scheduler.verify());
  }
  host_queue w{with(order)};
  *order.where = "queue_of";
  const pod_id p = w.add(a_pod{"p"});
  CHECK(w.pop().empty());
  CHECK(w.place(p) == queue_place::error_backoff);
  order.where->clear();
}

}  // namespace gangsched::testing::queue_order_test
