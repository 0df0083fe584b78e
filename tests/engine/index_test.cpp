// Class indexes are what an index built from nothing would be: through nested trials, roll-backs, and every way to be left behind.
#include "world.hpp"

#include "gangsched/model/transaction.hpp"
#include "support/dice.hpp"
#include "support/inside.hpp"

namespace gangsched::testing::index_test {

namespace {

/// Keyed twice over: the node's name as the filter's key, its number of ports as a raw score.
struct many_keys {
  static constexpr std::string_view name = "ManyKeys";
  using points = implements<point::filter, point::score>;
  [[nodiscard]] std::int64_t filter_key(const pod_view&, node_view<reads::name> node) const {
    return node.name_symbol().value;
  }
  void finish_filter(const pod_view& pod, std::span<filtered_group> groups) const {
    for (filtered_group& group : groups) {
      if (pod.priority() > 0 && group.key % 3 == 0) group.verdict = status::unschedulable("a third is closed");
    }
  }
  [[nodiscard]] std::int64_t score(const pod_view&, node_view<reads::ports> node) const {
    return static_cast<std::int64_t>(node.ports().size());
  }
  void normalize_score(const pod_view&, std::span<scored_group> groups) const {
    for (scored_group& group : groups) group.score = std::min<std::int64_t>(100, 10 * group.score);
  }
};

/// Keyed by name: open is the node that is called like the pod's namespace. Its raw score differs on every node, too.
struct only_named {
  static constexpr std::string_view name = "OnlyNamed";
  using points = implements<point::filter, point::score>;
  [[nodiscard]] std::int64_t filter_key(const pod_view&, node_view<reads::name | reads::labels> node) const {
    return node.name_symbol().value;
  }
  void finish_filter(const pod_view& pod, std::span<filtered_group> groups) const {
    const std::int64_t wanted = pod.spec().ns.value;
    for (filtered_group& group : groups) {
      if (group.key != wanted) group.verdict = status::unschedulable("another");
    }
  }
  [[nodiscard]] std::int64_t score(const pod_view&, node_view<reads::name> node) const {
    return node.name_symbol().value;
  }
  void normalize_score(const pod_view&, std::span<scored_group> groups) const {
    for (scored_group& group : groups) group.score = group.score % 101;
  }
};

/// Reads the pods on the node, and a column of its own that its reserve hook counts up.
struct counted {
  static constexpr std::string_view name = "Counted";
  using points = implements<point::filter, point::score, point::reserve>;
  node_column count;
  void attach(column_maker& columns) { count = columns.make_node_column(); }
  [[nodiscard]] status filter(const pod_view&, node_view<reads::own | reads::pods> node) const {
    std::int64_t pods = 0;
    node.each_pod([&](const pod_info&) { ++pods; });
    return node.own(count) + pods < 12 ? status::success() : status::unschedulable("enough");
  }
  [[nodiscard]] std::int64_t score(const pod_view&, node_view<reads::own> node) const {
    return 100 - 3 * node.own(count);
  }
  status reserve(const new_reservation& r) {
    r.add(count, 1);
    return r.pod.priority() > 1 ? status::unschedulable("too important") : status::success();
  }
  void unreserve(const reservation&) noexcept {}
};

struct kind {
  const char* name;
  kernel_table table;
  scheduler_options options;
  cluster_options bounds;
  int nodes;
};

kernel_table all_shapes() {
  kernel_table table = profiles::kube_default();
  add_plugin(table, lower(many_keys{}));
  add_plugin(table, lower(counted{}, 2));
  return table;
}

/// Random changes of a cluster, in the host's own transactions or outside, with picks in between.
class changes {
 public:
  changes(world& w, std::uint64_t seed, int nodes) : w_(&w), roll_(seed) {
    for (int i = 0; i < nodes; ++i) add_node();
    for (const char* name : {"g0", "g1", "g2"}) w.add(a_gang{name, 2});
  }

  void step() {
    if (roll_.percent(25)) {
      trial(3);
    } else if (roll_.percent(50)) {
      for (std::size_t i = roll_.below(4); i-- > 0;) pick();
    } else {
      for (std::size_t i = roll_.below(6); i-- > 0;) change();
    }
    w_->now += std::chrono::milliseconds{roll_.between(0, 2000)};
  }
  std::size_t rolled_back = 0;

 private:
  void trial(int depth) {
    transaction attempt{w_->cluster};
    const std::size_t count = 1 + roll_.below(6);
    for (std::size_t i = 0; i < count; ++i) {
      if (depth > 0 && roll_.percent(30))
        trial(depth - 1);
      else
        change();
      // Some readers look inside the trial, some do not.
      if (roll_.percent(15)) CHECK(w_->scheduler.verify());
      if (roll_.percent(15)) static_cast<void>(w_->scheduler.counts());
      if (roll_.percent(15)) static_cast<void>(w_->scheduler.next_deadline());
    }
    if (roll_.percent(40))
      attempt.commit();
    else
      ++rolled_back;
  }
  void pick() {
    const cycle done = w_->scheduler.schedule_cycle(w_->now);
    REQUIRE(done.error() == nullptr);
    std::vector<decision> all{done.begin(), done.end()};
    for (const decision& one : all) {
      if (one.kind != decision_kind::bind || roll_.percent(30)) continue;
      if (roll_.percent(70))
        w_->must(w_->scheduler.confirm(one.pod));
      else
        CHECK(w_->scheduler.fail(one.pod, "no").error() == nullptr);
    }
  }
  a_node random_node(const std::string& name) {
    a_node node{name};
    node.cpu(roll_.between(1, 16))
        .memory(std::to_string(roll_.between(1, 32)) + "Gi")
        .label("disk", roll_.percent(50) ? "ssd" : "hdd");
    if (roll_.percent(20))
      node.taint("x", "", roll_.percent(50) ? taint_effect::prefer_no_schedule : taint_effect::no_schedule);
    if (roll_.percent(30)) node.cards(1 + roll_.below(3));
    return node.unschedulable(roll_.percent(5));
  }
  void add_node() { w_->add(random_node("n" + std::to_string(made_++))); }
  void add_pod() {
    a_pod pod{"p" + std::to_string(made_++)};
    pod.cpu_milli(100 * roll_.between(1, 12)).priority(static_cast<std::int32_t>(roll_.below(3)));
    if (roll_.percent(25)) pod.port(static_cast<std::int32_t>(80 + roll_.below(3)));
    if (roll_.percent(25)) pod.prefer(3, "disk", {"ssd"});
    if (roll_.percent(20)) pod.select("disk", "hdd");
    if (roll_.percent(5)) pod.avoid("a", "b");
    if (roll_.percent(15)) pod.milli(static_cast<std::int32_t>(250 * roll_.between(1, 4)));
    const std::vector<node_id> nodes = w_->cluster.nodes();
    if (roll_.percent(20) && !nodes.empty()) pod.on(nodes[roll_.below(nodes.size())]);
    if (roll_.percent(20)) pod.in(w_->cluster.find_group("default", "g" + std::to_string(roll_.below(3))).value());
    w_->add(pod);
  }
  void change() {
    const std::vector<node_id> nodes = w_->cluster.nodes();
    const std::vector<pod_id> pods = w_->cluster.pods();
    const std::size_t what = roll_.below(10);
    if (pods.empty() || nodes.empty()) return nodes.empty() ? add_node() : add_pod();
    const node_id node = nodes[roll_.below(nodes.size())];
    const pod_id pod = pods[roll_.below(pods.size())];
    switch (what) {
      case 0: return add_node();
      case 1:
      case 2: return add_pod();
      case 3:
        if (nodes.size() > 4) w_->must(w_->cluster.remove_node(node));
        return;
      case 4:
      case 5: return w_->must(w_->cluster.update_node(node, random_node(std::string{w_->cluster.name_of(node)})));
      case 6: return w_->remove(pod);
      case 7: static_cast<void>(w_->cluster.assume(pod, node).has_value()); return;
      case 8: static_cast<void>(w_->cluster.release(pod).has_value()); return;
      default: static_cast<void>(w_->cluster.bind(pod).has_value()); return;
    }
  }

  world* w_;
  dice roll_;
  int made_ = 0;
};

void verify(world& w) {
  const result<void> right = w.scheduler.verify();
  INFO((right ? std::string{} : right.error().message()));
  REQUIRE(right);
  const model::node_table& nodes = inside(w.cluster).nodes;
  for (row_t row = 0; row < nodes.rows.count(); ++row) {
    const bool has = nodes.alive(row) && nodes.record[row]->devices;
    CHECK(nodes.inventory[row] == (has ? nodes.record[row]->devices->inventory.get() : nullptr));
  }
}

}  // namespace

TEST_CASE("after random nested trials every class index equals one rebuilt from nothing", "[engine][index]") {
  kernel_table wide = all_shapes();
  for (plugin_entry& plugin : wide.plugins) plugin.weight = 1000;  // more scores than there are buckets
  const std::vector<kind> kinds = {
      {"the default profile", profiles::kube_default(), {.seed = 1}, {}, 12},
      {"every shape", all_shapes(), {.seed = 1}, {}, 12},
      {"scores too wide for buckets", wide, {.seed = 1}, {}, 12},
      {"a log that forgets at once", all_shapes(), {.seed = 1}, {.log_bound = 8}, 12},
      {"fewer indexes than classes", all_shapes(), {.seed = 1, .indexed_classes = 2}, {}, 12},
      {"kube's ties and everybody woken", all_shapes(), {.ties = tie_rule::kube_heap, .wake = wake_rule::all}, {}, 12},
      {"the lowest row, no backoff", all_shapes(), {.ties = tie_rule::lowest_row, .max_backoff = instant{0}}, {}, 12},
  };
  for (const kind& one : kinds) {
    INFO(one.name);
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
      world w{one.table, one.options, one.bounds};
      changes random{w, seed, one.nodes};
      for (int i = 0; i < 80; ++i) {
        random.step();
        if (i % 8 == 0) verify(w);
      }
      verify(w);
      // Whatever happened in trials, nobody is lost: all that can be placed is.
      w.now += 10min;
      w.run(true);
      w.permit();
      verify(w);
      const queue_counts all = w.scheduler.counts();
      CHECK(all.active == 0);
      std::size_t pending = 0;
      for (const pod_id pod : w.cluster.pods()) {
        if (w.cluster.state_of(pod) == pod_state::pending && inside(w.cluster).pods.group[pod.row] == no_row) ++pending;
      }
      CHECK(pending <= all.backoff + all.unschedulable + all.gated);
      CHECK(random.rolled_back > 5);
    }
  }
}

TEST_CASE("an index of more than 512 groups still picks right", "[engine][index]") {
  world w{profile{priority_sort{}, node_resources_fit{}, many_keys{}}};
  for (int i = 0; i < 700; ++i) w.add(a_node{"n" + std::to_string(i)}.cpu(1));
  for (int i = 0; i < 30; ++i) w.add(a_pod{"p" + std::to_string(i)}.cpu(1).priority(i % 2));
  const words all = w.run(true);
  CHECK(all.size() == 30);
  CHECK(std::all_of(all.begin(), all.end(), [](const std::string& one) { return one.starts_with("bind"); }));
  verify(w);
  CHECK(w.scheduler.statistics().scans == 30);
  // With fewer nodes the buckets are there again.
  for (int i = 100; i < 700; ++i) w.must(w.cluster.remove_node(w.node("n" + std::to_string(i))));
  for (int i = 0; i < 10; ++i) w.add(a_pod{"q" + std::to_string(i)}.cpu(1));
  w.run(true);
  verify(w);
}

TEST_CASE("as many groups as nodes are told apart, and do not make an index build anew for each pick",
          "[engine][index]") {
  world w{profile{priority_sort{}, node_resources_fit{}, only_named{}}};
  const int count = 70000;
  for (int i = 0; i < count; ++i) w.add(a_node{"n" + std::to_string(i)}.cpu(1));
  for (const int wanted : {66000, 3, 65535, 69999, 65536}) {
    const std::string node = "n" + std::to_string(wanted);
    w.add(a_pod{"p" + std::to_string(wanted)}.cpu(1).ns(node));
    const cycle done = w.scheduler.schedule_cycle(w.now);
    REQUIRE(done.decisions().size() == 1);
    CHECK(w.cluster.name_of(done.decisions()[0].node) == node);
  }
  CHECK(w.scheduler.statistics().index_builds == 5);  // each was of a class of its own
  for (int i = 0; i < 5; ++i) {
    w.must(w.cluster.update_node(w.node("n5"), a_node{"n5"}.cpu(1).label("turn", std::to_string(i))));
    w.add(a_pod{"again" + std::to_string(i)}.cpu(1).ns("n3"));
    REQUIRE(w.scheduler.schedule_cycle(w.now).decisions().size() == 1);
  }
  CHECK(w.scheduler.statistics().index_builds == 5);
}

TEST_CASE("groups that come and go do not pile up", "[engine][index]") {
  world w{profile{priority_sort{}, node_resources_fit{}, many_keys{}}};
  for (int i = 0; i < 20; ++i) w.add(a_node{"n" + std::to_string(i)}.cpu(64));
  for (int i = 20; i < 1500; ++i) {
    w.must(w.cluster.remove_node(w.node("n" + std::to_string(i - 20))));
    w.add(a_node{"n" + std::to_string(i)}.cpu(64));
    if (i % 3 != 0) continue;
    w.add(a_pod{"p" + std::to_string(i)}.cpu(1));
    REQUIRE(w.run(true).size() == 1);
  }
  verify(w);
  CHECK(w.scheduler.statistics().scans < 10);
  CHECK(w.scheduler.statistics().index_builds < 10);
}

TEST_CASE("a pick after a trial sees nothing of it", "[engine][index]") {
  world w;
  const node_id a = w.add(a_node{"a"}.cpu(4));
  const node_id b = w.add(a_node{"b"}.cpu(2));
  w.add(a_pod{"first"}.cpu(1));
  CHECK(w.run(true) == words{"bind first a"});
  {
    transaction trial{w.cluster};
    w.must(w.cluster.remove_node(a));
    w.add(a_node{"c"}.cpu(64));
    CHECK(w.scheduler.verify());  // the index follows into the trial
    transaction inner{w.cluster};
    w.must(w.cluster.update_node(b, a_node{"b"}.cpu(64)));
    CHECK(w.scheduler.verify());
    inner.commit();
  }
  w.add(a_pod{"second"}.cpu(2));
  CHECK(w.run() == words{"bind second a"});
  verify(w);
}

TEST_CASE("a pod that is only placed in a trial is not lost to the queue", "[engine][index]") {
  world w;
  const node_id n = w.add(a_node{"n"}.cpu(4));
  const pod_id pod = w.add(a_pod{"p"}.cpu(1));
  {
    transaction trial{w.cluster};
    w.must(w.cluster.assume(pod, n));
    static_cast<void>(w.scheduler.counts());
    static_cast<void>(w.scheduler.next_deadline());
  }
  CHECK(w.run() == words{"bind p n"});
}

TEST_CASE("pods that take the rows of others while the log was lost are themselves", "[engine][index]") {
  world w{profiles::kube_default(), world::lowest_first(), {.log_bound = 8}};
  const pod_id a = w.add(a_pod{"a"}.priority(50));
  const pod_id b = w.add(a_pod{"b"}.priority(40));
  CHECK(w.run() == words{"reject a", "reject b"});
  w.remove(a), w.remove(b);
  const pod_id low = w.add(a_pod{"low"}.priority(-1));
  const pod_id high = w.add(a_pod{"high"}.priority(1));
  REQUIRE(low.row == b.row);
  REQUIRE(high.row == a.row);
  for (int i = 0; i < 40; ++i) w.remove(w.add(a_pod{"noise"}.gate("g")));
  CHECK(w.counts() == places{2, 0, 0, 0, 0});
  CHECK(w.run() == words{"reject high", "reject low"});
}

}  // namespace gangsched::testing::index_test
