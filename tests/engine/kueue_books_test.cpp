// Kueue's books follow the log of changes, in trials too: at any time they say what books say that are made anew, and list who runs as a
// walk over all pods does.
#include <memory>
#include <tuple>

#include "gangsched/framework/queue_view.hpp"
#include "gangsched/policies/kueue_books.hpp"
#include "kueue_world.hpp"
#include "support/dice.hpp"

namespace gangsched::testing::kueue_books_test {

using namespace kueue_world;
using queues::kueue::fit_mode;

namespace {

/// Root of the tree or no_row, its pods by row, priority.
using plain_job = std::tuple<row_t, std::vector<row_t>, std::int32_t>;

std::vector<plain_job> walk(const cluster_view& cluster, const kueue_books& books) {
  struct found {
    queues::queue_index queue;
    plain_job made;
    bool divided = false;
  };
  std::map<std::pair<row_t, row_t>, found> all;
  cluster.each_pod([&](const pod_info& pod) {
    if (!pod.node()) return;
    const auto queue = pod.queue();
    const auto its = queue ? books.quotas.find(*queue) : queues::no_queue;
    const auto group = pod.group();
    const row_t tree = group ? group->root().row() : no_row;
    const std::int32_t priority = group ? tree_priority(group->root()) : pod.priority();
    found& one = all.try_emplace({tree, group ? no_row : pod.row()}, found{its, {tree, {}, priority}}).first->second;
    one.divided = one.divided || one.queue != its;
    std::get<1>(one.made).push_back(pod.row());
  });
  std::vector<plain_job> made;
  for (const auto& [key, one] : all)
    if (!one.divided && one.queue != queues::no_queue) made.push_back(one.made);
  std::sort(made.begin(), made.end());
  return made;
}

std::vector<row_t> rows_of(const std::vector<pod_id>& pods) {
  std::vector<row_t> made;
  for (const pod_id pod : pods) made.push_back(pod.row);
  return made;
}

/// Compares books that are kept with those made anew, whenever somebody is asked something.
struct comparison {
  explicit comparison(const kueue_policy::options& chosen) : with(chosen), kept(made()) {}

  [[nodiscard]] std::unique_ptr<kueue_books> made() const {
    return std::make_unique<kueue_books>(with.fair_sharing, with.partial_admission, with.by_local_usage);
  }
  void expect(bool same, const char* what) {
    if (!same && wrong.empty()) wrong = what;
  }
  void look(const pod_info& asked, const cluster_view& cluster) {
    const std::unique_ptr<kueue_books> plain = made();
    kept->read(cluster);
    plain->read(cluster);
    expect(kept->quotas.fault() == plain->quotas.fault(), "faults");
    if (!plain->quotas.fault().empty()) return;
    trials += cluster.has_uncommitted() ? 1 : 0;
    const auto compare = [&](const pod_info& pod) {
      const auto queue = pod.queue();
      if (pod.node() || !queue || plain->quotas.find(*queue) == queues::no_queue) return;
      const kueue_books::workload who = plain->of(pod);
      const kueue_books::entry by_plain = plain->look(cluster, who);
      const bool fits = kept->look_at(cluster, pod).made.flavors.mode == fit_mode::fit;
      expect(fits == (by_plain.flavors.mode == fit_mode::fit), "whether it fits, asked without victims");
      const kueue_books::entry by_kept = kept->look(cluster, kept->of(pod));
      expect(by_kept.flavors.mode == by_plain.flavors.mode, "modes");
      expect(by_kept.flavors.borrowing == by_plain.flavors.borrowing, "borrowing");
      expect(by_kept.flavors.usage == by_plain.flavors.usage, "usage");
      expect(by_kept.targets.size() == by_plain.targets.size(), "how many targets");
      for (std::size_t i = 0; i < std::min(by_kept.targets.size(), by_plain.targets.size()); ++i) {
        const auto &one = by_kept.targets[i], &other = by_plain.targets[i];
        expect(kept->jobs().all()[one.workload].pods == plain->jobs().all()[other.workload].pods,
               "whose pods targets are");
        expect(one.reason == other.reason, "why targets go");
        ++targets;
      }
      ++compared;
    };
    compare(asked);
    std::size_t more = 2;
    cluster.each_pod([&](const pod_info& pod) {
      if (more == 0 || !roll.percent(20)) return;
      --more;
      compare(pod);
    });
    std::vector<plain_job> listed;
    kept->list_jobs(cluster);
    for (const kueue_jobs::job& one : kept->jobs().all())
      if (!one.pods.empty()) listed.emplace_back(one.tree, rows_of(one.pods), one.priority);
    std::sort(listed.begin(), listed.end());
    expect(listed == walk(cluster, *kept), "who runs");
  }

  kueue_policy::options with;
  std::unique_ptr<kueue_books> kept;
  dice roll{7};
  std::string wrong = {};
  std::size_t compared = 0, targets = 0, trials = 0;
};

struct watching {
  static constexpr std::string_view name = "Watching";
  static constexpr bool reads_queues = true;
  using points = implements<point::admission, point::filter>;
  std::shared_ptr<comparison> by;

  [[nodiscard]] status admit(const pod_info& pod, const cluster_view& cluster) const {
    by->look(pod, cluster);
    return status::success();
  }
  [[nodiscard]] std::int64_t filter_key(const pod_view&, node_view<reads::labels>) const { return 0; }
  void finish_filter(const pod_info& pod, const cluster_view& cluster, std::span<filtered_group>) const {
    by->look(pod, cluster);
  }
};

/// Lists who runs whenever somebody is let in.
struct kept_books {
  kueue_books books{{}, true, {"team"}};
  std::size_t listed = 0;
};
struct listing {
  static constexpr std::string_view name = "Listing";
  static constexpr bool reads_queues = true;
  using points = implements<point::admission>;
  std::shared_ptr<kept_books> by;
  by_host<scope_column> scores = {};

  void attach(column_maker& columns) { scores = columns.scope_column_by_host(kueue_local_queues, kueue_local_score); }
  [[nodiscard]] status admit(const pod_info& pod, const cluster_view& cluster) const {
    by->books.scores = scores;
    by->books.read(cluster);
    by->books.list_jobs(cluster);
    const auto runs = [](const kueue_jobs::job& one) { return !one.pods.empty(); };
    const auto& all = by->books.jobs().all();
    by->listed += pod.name().starts_with("q") && std::count_if(all.begin(), all.end(), runs) == 1 ? 1 : 0;
    return status::success();
  }
};

kernel_table watched(const kueue_policy::options& chosen, const std::shared_ptr<comparison>& by) {
  return profile{watching{by},       kueue_policy{chosen}, scheduling_gates{}, node_affinity_plugin{},
                 taint_toleration{}, node_resources_fit{}, gang_scheduling{}};
}

/// Two flavors, three queues in a cohort and one beside it, jobs that come, grow, end, and change.
struct dice_world : gpu_queues {
  dice_world(const kueue_policy::options& chosen, const std::shared_ptr<comparison>& by, std::uint64_t seed)
      : gpu_queues(watched(chosen, by)), roll(seed) {
    for (const char* flavor : {"first", "next"})
      must(cluster.queues().set_flavor({.name = flavor, .node_labels = {{"kind", flavor}}}));
    for (int i = 0; i < 4; ++i) gpus("n" + std::to_string(i), 3, i % 2 == 0 ? "first" : "next");
    queue({.name = "all"});
    for (const char* const name : {"a", "b", "c", "d"}) {
      queue_spec spec{.name = name, .parent = *name == 'd' ? "" : "all"};
      for (const char* flavor : {"first", "next"})
        spec.quotas.push_back({.flavor = flavor, .guaranteed = {{gpu, roll.between(0, 2)}}});
      spec.within_queue = static_cast<queue_preemption>(roll.below(3));
      spec.flavors.stops_at_borrowing = roll.percent(50);
      spec.flavors.stops_at_preemption = roll.percent(50);
      spec.flavors.avoids_borrowing = roll.percent(30);
      spec.reclaims_to_borrow = roll.percent(40);
      queue(spec);
    }
  }
  [[nodiscard]] std::string some_queue() { return std::string(1, "abcd"[roll.below(4)]); }

  void change() {
    const std::vector<pod_id> all = cluster.pods();
    const auto priority = static_cast<std::int32_t>(roll.below(3));
    const std::string number = std::to_string(asked++);
    switch (roll.below(all.empty() ? 3 : 10)) {
      case 0: ask(some_queue(), static_cast<int>(roll.between(1, 3)), priority); break;
      case 1:
      case 2: {
        const auto least = static_cast<std::int32_t>(roll.between(1, 3));
        const group_id parent =
            roll.percent(30) ? add(group_spec{.name = "t" + number, .composite = true}) : group_id{};
        group_spec spec = a_gang{"g" + number, least};
        spec.parent = parent;
        if (roll.percent(50)) spec.priority = priority;
        job(spec, some_queue(), a_pod{""}.gpus(1), least + static_cast<int>(roll.below(2)), priority);
        groups.push_back(cluster.find_group("default", "g" + number).value());
        break;
      }
      case 3: {  // of another queue than the rest of its group, or of none
        if (groups.empty()) break;
        a_pod more{"m" + number};
        more.gpus(1);
        const group_id group = roll.of(groups);
        if (!cluster.contains(group)) break;
        ask(more.in(group), roll.percent(50) ? some_queue() : "", priority);
        break;
      }
      case 4: {
        if (groups.empty()) break;
        const group_id group = roll.of(groups);
        if (cluster.contains(group)) must(cluster.remove_group(group));
        break;
      }
      case 5: {
        if (groups.empty()) break;
        const group_id group = roll.of(groups);
        const group_spec* const was = cluster.contains(group) ? cluster.spec_of(group) : nullptr;
        if (was == nullptr) break;
        group_spec spec = *was;
        spec.priority = priority;
        must(cluster.update_group(group, spec));
        break;
      }
      case 6: {  // a node of the other flavor
        a_node spec{"n" + std::to_string(roll.below(4))};
        spec.cpu(64).gpus(3).label("kind", roll.percent(50) ? "first" : "next");
        must(cluster.update_node(node(spec.spec.name), spec));
        break;
      }
      case 7: {
        const pod_id pod = roll.of(all);
        if (cluster.node_of(pod)) must(cluster.set_terminating(pod, roll.percent(50)));
        break;
      }
      default: remove(roll.of(all)); break;
    }
  }
  dice roll;
  std::vector<group_id> groups = {};
};

}  // namespace

TEST_CASE("Kueue's books that are kept say what books say that are made anew", "[engine][kueue][property]") {
  std::size_t compared = 0, targets = 0, trials = 0;
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    CAPTURE(seed);
    const bool fair = seed % 3 == 0;
    const kueue_policy::options chosen{.fair_sharing = {.enabled = fair}, .partial_admission = seed % 2 == 0};
    const auto by = std::make_shared<comparison>(chosen);
    dice_world w{chosen, by, seed};
    for (int step = 0; step < 40; ++step) {
      CAPTURE(step);
      w.change();
      if (w.roll.percent(30)) continue;
      w.now += 20s;
      std::vector<pod_id> gone;
      for (int cycles = 0; const gangsched::cycle done = w.decide(); ++cycles) {
        REQUIRE(cycles < 500);
        for (const decision& one : done) {
          if (one.kind == decision_kind::bind) w.confirm(one.pod);
          if (one.kind == decision_kind::evict) gone.push_back(one.pod);
        }
      }
      REQUIRE(by->wrong == "");
      for (const pod_id pod : gone)
        if (w.cluster.contains(pod) && w.roll.percent(80)) w.remove(pod);
    }
    compared += by->compared, targets += by->targets, trials += by->trials;
  }
  CHECK(compared > 20'000);
  CHECK(targets > 1'000);
  CHECK(trials > 1'000);
}

TEST_CASE("Kueue's books remember the namespaces of those who run, not of all that ever ran", "[engine][kueue]") {
  const auto by = std::make_shared<kept_books>();
  gpu_queues w{profile{listing{by}, kueue_policy{{.by_local_usage = {"team"}}}, node_resources_fit{}}};
  w.gpus("n", 8);
  w.queue(gpu_queues::team("team", 4));
  std::size_t most = 0;
  for (int number = 0; number < 100; ++number) {
    const std::string name = std::to_string(number);
    pod_spec pod = a_pod{"p" + name}.gpus(1);
    pod.ns = "space-" + name;
    const pod_id made = w.ask(pod, "team");
    CHECK(w.act(w.now + 1s) == words{"bind p" + name + " n"});
    w.ask(a_pod{"q" + name}.gpus(5), "team");  // to have them listed: it has no quota
    CHECK(w.act(w.now + 1s).empty());
    most = std::max(most, by->books.local_queues());
    w.remove(made);
    w.remove(w.cluster.find_pod("default", "q" + name).value());
  }
  CHECK(by->listed == 100);
  CHECK(most > 5);
  CHECK(most < 20);
}

}  // namespace gangsched::testing::kueue_books_test
