// scheduler_options::check_hooks: a plugin that reads more than its signature says is caught. And what a score may be.
#include "world.hpp"

#include <memory>

#include "support/dice.hpp"
#include "support/inside.hpp"

namespace gangsched::testing::check_hooks_test {

namespace {

/// Answers differently each time, by a counter of its own.
struct counting {
  static constexpr std::string_view name = "Counting";
  using points = implements<point::filter>;
  mutable int calls = 0;
  [[nodiscard]] status filter(const pod_view&, node_view<reads::labels>) const {
    return ++calls % 2 == 0 ? status::unschedulable("even") : status::success();
  }
};

std::int64_t the_global = 5;

struct global_score {
  static constexpr std::string_view name = "GlobalScore";
  using points = implements<point::score>;
  [[nodiscard]] std::int64_t score(const pod_view&, node_view<reads::name>) const { return the_global; }
};
struct global_normalized {
  static constexpr std::string_view name = "GlobalNormalized";
  using points = implements<point::score>;
  [[nodiscard]] std::int64_t score(const pod_view&, node_view<reads::name>) const { return the_global; }
  void normalize_score(const pod_view&, std::span<scored_group> groups) const {
    for (scored_group& group : groups) group.score = 1;
  }
};
struct global_key {
  static constexpr std::string_view name = "GlobalKey";
  using points = implements<point::filter>;
  [[nodiscard]] std::int64_t filter_key(const pod_view&, node_view<reads::name>) const { return the_global; }
  void finish_filter(const pod_view&, std::span<filtered_group>) const {}
};
/// In its pre-filter, by turning itself off.
struct global_skip {
  static constexpr std::string_view name = "GlobalSkip";
  using points = implements<point::pre_filter, point::filter>;
  [[nodiscard]] status pre_filter(const pod_view&) const { return the_global > 0 ? status::skip() : status::success(); }
  [[nodiscard]] status filter(const pod_view&, node_view<reads::name>) const { return status::unschedulable("closed"); }
};
/// In its pre-filter, by what it writes down for the filter.
struct global_data {
  static constexpr std::string_view name = "GlobalData";
  using points = implements<point::pre_filter, point::filter>;
  struct data {
    std::int64_t limit = 0;
  };
  [[nodiscard]] status pre_filter(const pod_view&, data& d) const { return d.limit = the_global, status::success(); }
  [[nodiscard]] status filter(const pod_view&, const data& d, node_view<reads::name>) const {
    return d.limit > 0 ? status::success() : status::unschedulable("closed");
  }
};
struct global_rejection {
  static constexpr std::string_view name = "GlobalRejection";
  using points = implements<point::pre_filter>;
  [[nodiscard]] status pre_filter(const pod_view&) const {
    return the_global > 0 ? status::unschedulable("not now") : status::success();
  }
};
struct global_names {
  static constexpr std::string_view name = "GlobalNames";
  using points = implements<point::pre_filter>;
  [[nodiscard]] status pre_filter(const pod_view& pod, node_names& names) const {
    names.only({*pod.find(the_global > 0 ? "n1" : "n2")});
    return status::success();
  }
};

/// Keeps a pointer to the cluster's tables and looks at usage, though it says that it reads labels.
struct peeping {
  static constexpr std::string_view name = "Peeping";
  using points = implements<point::filter>;
  std::shared_ptr<const model::cluster_state*> tables = std::make_shared<const model::cluster_state*>(nullptr);
  [[nodiscard]] status filter(const pod_view&, node_view<reads::labels | reads::name> node) const {
    if (*tables == nullptr) return status::success();
    return (*tables)->nodes.used.at(node.id().row, kinds::pods) > 0 ? status::unschedulable("taken")
                                                                    : status::success();
  }
};

struct raw_score {
  static constexpr std::string_view name = "RawScore";
  using points = implements<point::score>;
  [[nodiscard]] std::int64_t score(const pod_view&, node_view<reads::labels> node) const {
    const auto label = node.label(std::string_view{"score"});
    return label ? std::stoll(std::string{*label}) - 50 : 0;
  }
};
struct raw_opaque {
  static constexpr std::string_view name = "RawOpaque";
  using points = implements<point::score>;
  [[nodiscard]] std::int64_t score(const pod_view&, node_info node) const { return node.label("score") ? 101 : 0; }
};
struct raw_normalized {
  static constexpr std::string_view name = "RawNormalized";
  using points = implements<point::score>;
  [[nodiscard]] std::int64_t score(const pod_view&, node_view<reads::labels> node) const {
    return node.label("score") ? -7 : 7;
  }
  void normalize_score(const pod_view&, std::span<scored_group>) const {}
};
struct raw_opaque_normalized {
  static constexpr std::string_view name = "RawOpaqueNormalized";
  using points = implements<point::score>;
  [[nodiscard]] std::int64_t score(const pod_view&, node_info node) const { return node.label("score") ? -7 : 7; }
  void normalize_score(const pod_view&, std::span<scored_group>) const {}
};
struct failing_filter {
  static constexpr std::string_view name = "FailingFilter";
  using points = implements<point::filter>;
  [[nodiscard]] status filter(const pod_view&, node_view<reads::labels> node) const {
    return node.label("score") ? status::error("cannot say") : status::success();
  }
};
struct failing_opaque {
  static constexpr std::string_view name = "FailingOpaque";
  using points = implements<point::filter>;
  [[nodiscard]] status filter(const pod_info&, node_info node) const {
    return node.label("score") ? status::error("cannot say") : status::success();
  }
};
struct failing_key {
  static constexpr std::string_view name = "FailingKey";
  using points = implements<point::filter>;
  [[nodiscard]] std::int64_t filter_key(const pod_view&, node_view<reads::labels> node) const {
    return node.label("score") ? 1 : 0;
  }
  void finish_filter(const pod_view&, std::span<filtered_group> groups) const {
    for (filtered_group& group : groups)
      if (group.key == 1) group.verdict = status::error("cannot say");
  }
};

scheduler_options checked() { return {.ties = tie_rule::lowest_row, .check_hooks = true}; }
kernel_table with(auto... plugins) { return profile{priority_sort{}, node_resources_fit{}, std::move(plugins)...}; }

/// The error that one cycle ends with, or nothing.
std::string complaint(world& w) {
  const cycle done = w.scheduler.schedule_cycle(w.now);
  if (done.error() == nullptr) return {};
  CHECK(done.error()->code == errc::contract);
  CHECK(done);  // something was done: the pod was rejected
  return done.error()->message();
}
bool mentions(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

/// What the second of two pods of one class meets, with the global changed in between.
std::string second_complaint(kernel_table table, bool check = true) {
  world w{std::move(table), check ? checked() : world::lowest_first()};
  the_global = 5;
  w.add(a_node{"n1"}.cpu(4));
  w.add(a_node{"n2"}.cpu(4));
  w.add(a_pod{"a"}.cpu(1));
  w.add(a_pod{"b"}.cpu(1));
  CHECK(complaint(w).empty());
  the_global = -5;
  const std::string text = complaint(w);
  CHECK(w.cluster.state_of(w.pod("b")) == (text.empty() ? w.cluster.state_of(w.pod("b")) : pod_state::pending));
  return text;
}

}  // namespace

TEST_CASE("a plugin that answers by a counter of its own is caught, with plugin and node named", "[engine][check]") {
  world w{with(counting{}), checked()};
  for (int i = 0; i < 5; ++i) w.add(a_node{"n" + std::to_string(i)});
  w.add(a_pod{"p"});
  const std::string text = complaint(w);
  CHECK(mentions(text, "Counting"));
  CHECK(mentions(text, "node n"));
  CHECK(mentions(text, "pod default/p"));
  CHECK(w.counts() == places{0, 1, 0, 0, 0});
}

TEST_CASE("a plugin that reads a global is caught, wherever it reads it", "[engine][check]") {
  CHECK(mentions(second_complaint(with(global_score{})), "node n2: score"));
  CHECK(mentions(second_complaint(with(global_normalized{})), "node n1"));
  CHECK(mentions(second_complaint(with(global_key{})), "node n1"));
  CHECK(mentions(second_complaint(with(global_skip{})), "GlobalSkip"));
  CHECK(mentions(second_complaint(with(global_data{})), "GlobalData"));
  CHECK(mentions(second_complaint(with(global_rejection{})), "GlobalRejection"));
  CHECK(mentions(second_complaint(with(global_names{})), "GlobalNames"));
}

TEST_CASE("without the option nothing is compared", "[engine][check]") {
  CHECK(second_complaint(with(global_data{}), false).empty());
  CHECK(second_complaint(with(global_skip{}), false).empty());
}

TEST_CASE("after the complaint the plugin's new word counts", "[engine][check]") {
  world w{with(global_skip{}), checked()};
  the_global = 5;
  w.add(a_node{"n"}.cpu(4));
  w.add(a_pod{"a"}.cpu(1));
  w.add(a_pod{"b"}.cpu(1));
  CHECK(complaint(w).empty());
  the_global = -5;
  CHECK_FALSE(complaint(w).empty());
  w.now = 1s;
  CHECK(w.run() == words{"reject b"});
  the_global = 5;
}

TEST_CASE("a plugin that peeps at the cluster's tables is caught when they change", "[engine][check]") {
  peeping plugin;
  world w{with(plugin), checked()};
  *plugin.tables = &inside(w.cluster);
  w.add(a_node{"n1"}.cpu(4));
  w.add(a_pod{"a"}.cpu(1));
  w.add(a_pod{"b"}.cpu(1));
  CHECK(complaint(w).empty());
  const std::string text = complaint(w);
  CHECK(mentions(text, "Peeping"));
  CHECK(mentions(text, "node n1"));
}

TEST_CASE("honest plugins pass, through everything that happens to a cluster", "[engine][check]") {
  dice roll{7};
  kernel_table table = profiles::kube_default();
  add_plugin(table, lower(scarce_resource_avoidance{{"nvidia.com/gpu"}}));
  world w{table, {.seed = 3, .check_hooks = true}};
  std::vector<std::string> pods;
  const auto node_of = [&](int which) {
    a_node node{"n" + std::to_string(which)};
    node.cpu(roll.between(1, 8)).gpus(roll.between(0, 2)).label("disk", roll.percent(50) ? "ssd" : "hdd");
    if (roll.percent(20)) node.taint("x", "", taint_effect::prefer_no_schedule);
    return node.unschedulable(roll.percent(10));
  };
  for (int i = 0; i < 8; ++i) w.add(node_of(i));
  for (int step = 0; step < 300; ++step) {
    w.now += 1s;
    if (roll.percent(60)) {
      a_pod pod{"p" + std::to_string(step)};
      pod.cpu_milli(100 * roll.between(1, 10)).prefer(5, "disk", {"ssd"});
      if (roll.percent(30)) pod.gpus(1);
      if (roll.percent(30)) pod.port(80);
      if (roll.percent(5)) pod.avoid("a", "b");
      w.add(pod);
      pods.push_back(pod.spec.name);
    } else if (roll.percent(50) && !pods.empty()) {
      const std::size_t which = roll.below(pods.size());
      w.remove(w.pod(pods[which]));
      pods.erase(pods.begin() + static_cast<std::ptrdiff_t>(which));
    } else {
      const int which = static_cast<int>(roll.below(8));
      w.must(w.cluster.update_node(w.node("n" + std::to_string(which)), node_of(which)));
    }
    w.run(true);
  }
  CHECK(w.scheduler.verify());
}

TEST_CASE("a score outside 0 to 100 is an error that names the plugin, and is forgotten when it is mended",
          "[engine][check]") {
  struct one {
    kernel_table table;
    const char* plugin;
  };
  for (const one& each : std::vector<one>{{with(raw_score{}), "plugin RawScore, node bad"},
                                          {with(raw_opaque{}), "plugin RawOpaque"},
                                          {with(raw_normalized{}), "plugin RawNormalized"},
                                          {with(raw_opaque_normalized{}), "plugin RawOpaqueNormalized"}}) {
    INFO(each.plugin);
    world w{each.table};
    w.add(a_node{"good"}.cpu(1).label("other", "x"));
    const node_id bad = w.add(a_node{"bad"}.cpu(1).label("score", "49"));
    w.add(a_pod{"p"}.cpu(1));
    const std::string text = complaint(w);
    CHECK(mentions(text, each.plugin));
    CHECK(mentions(text, "a score is outside 0 to 100"));
    CHECK(w.cluster.assumed().empty());
    w.must(w.cluster.update_node(bad, a_node{"bad"}.cpu(1)));
    w.now = 1s;
    CHECK(w.run() == words{"bind p good"});
  }
  world w{with(raw_score{})};
  w.add(a_node{"n"}.label("score", "151"));
  w.add(a_pod{"p"});
  CHECK(mentions(complaint(w), "outside 0 to 100"));
  w.must(w.cluster.update_node(w.node("n"), a_node{"n"}.label("score", "150")));
  w.now = 1s;
  const cycle done = w.scheduler.schedule_cycle(w.now);
  REQUIRE(done.decisions().size() == 1);
  CHECK(done.decisions()[0].score == 100);  // the largest that is allowed
}

TEST_CASE("a filter that fails with an error ends the cycle with it, and names plugin, node and reason",
          "[engine][check]") {
  for (const kernel_table& table : {with(failing_filter{}), with(failing_opaque{}), with(failing_key{})}) {
    world w{table};
    w.add(a_node{"good"});
    const node_id bad = w.add(a_node{"bad"}.label("score", "1"));
    w.add(a_pod{"p"});
    const std::string text = complaint(w);
    INFO(text);
    CHECK(mentions(text, "plugin Failing"));
    CHECK(mentions(text, "cannot say"));
    CHECK(mentions(text, "pod default/p"));
    CHECK(w.counts() == places{0, 1, 0, 0, 0});
    w.must(w.cluster.update_node(bad, a_node{"bad"}));
    w.now = 1s;
    CHECK(w.run() == words{"bind p good"});
  }
}

}  // namespace gangsched::testing::check_hooks_test
