// Queues with quota as a plugin of a user's: a queue is a row of a named scope, with columns that the host sets and one that reserve hooks
// count; its limit is an admission hook, and whose turn it is a queue_order hook.
#include "column_plugins.hpp"

namespace gangsched::testing::queue_plugin_test {

namespace {

/// A queue of GPUs for each namespace that has a row, guaranteed so many, and limited to so many.
struct gpu_queues {
  static constexpr std::string_view name = "GpuQueues";
  using points = implements<point::admission, point::queue_order, point::reserve>;
  by_host<scope_column> guaranteed, limit;
  scope_column used;

  void attach(column_maker& columns) {
    guaranteed = columns.scope_column_by_host("queues", "guaranteed");
    limit = columns.scope_column_by_host("queues", "limit");
    used = columns.make_scope_column("queues", "used");
  }
  static std::int64_t gpus(const pod_view& pod) { return pod.request("nvidia.com/gpu"); }
  [[nodiscard]] status room_for(std::int64_t more, std::string_view queue, const cluster_view& cluster) const {
    const auto row = cluster.find_row(used, queue);
    const bool fits = row && cluster.own(used, *row) + more <= cluster.own(limit, *row);
    return fits ? status::success() : status::pending("over the queue's limit");
  }
  [[nodiscard]] status admit(const pod_view& pod, const cluster_view& cluster) const {
    return room_for(gpus(pod), pod.ns(), cluster);
  }
  [[nodiscard]] status admit(const group_view& group, const cluster_view& cluster) const {
    std::int64_t all = 0;
    group.each_member([&](const pod_info& pod) { all += pod.state() == pod_state::pending ? gpus(pod) : 0; });
    return room_for(all, group.spec().ns, cluster);
  }
  status reserve(const new_reservation& r) {
    r.add(used, r.pod.ns(), gpus(r.pod));
    return status::success();
  }
  void unreserve(const reservation&) noexcept {}

  static symbol queue_of(const pod_info& pod) { return pod.spec().ns; }
  /// Who has the smaller part of what it is guaranteed goes first.
  [[nodiscard]] bool queue_before(const queue_head& a, const queue_head& b, const cluster_view& cluster) const {
    return of(used, a, cluster) * of(guaranteed, b, cluster) < of(used, b, cluster) * of(guaranteed, a, cluster);
  }
  template <class Column>
  static std::int64_t of(Column column, const queue_head& head, const cluster_view& cluster) {
    const auto row = cluster.find_row(column, cluster.text(symbol{static_cast<std::uint32_t>(head.queue)}));
    return row ? cluster.own(column, *row) : 0;
  }
};
static_assert(admission_plugin<gpu_queues> && queue_order_plugin<gpu_queues> && reserve_plugin<gpu_queues>);

/// Ten GPUs: four are the team infer's, six the team train's. A team may have two more than it is guaranteed.
struct two_teams : world {
  two_teams() : world(with_columns_of(gpu_queues{})) {
    add(a_node{"n"}.cpu(64).gpus(5));
    add(a_node{"m"}.cpu(64).gpus(5));
    infer = queue("infer", 4, 6);
    train = queue("train", 6, 8);
  }
  scope_row_id queue(const char* name, std::int64_t guaranteed, std::int64_t limit) {
    const scope_row_id row = must(cluster.add_scope_row("queues", name));
    must(cluster.set_column(row, "guaranteed", guaranteed));
    must(cluster.set_column(row, "limit", limit));
    return row;
  }
  void ask(const std::string& team, int count) {
    for (int i = 0; i < count; ++i) add(a_pod{team + "-" + std::to_string(asked++)}.ns(team).gpus(1));
  }
  [[nodiscard]] std::int64_t used(scope_row_id of) const { return cluster.column_of(of, "used").value(); }
  /// The teams whose pods were bound, in order.
  [[nodiscard]] static std::string turns(const words& said) {
    std::string all;
    for (const std::string& one : said)
      if (one.starts_with("bind ")) all += one[5];
    return all;
  }
  scope_row_id infer, train;
  int asked = 0;
};

}  // namespace

TEST_CASE("queues that a plugin keeps in columns take turns by what they are guaranteed, and stop at their limits",
          "[engine][columns][admission]") {
  two_teams w;
  w.ask("infer", 8);
  w.ask("train", 8);
  const words said = w.run();
  CHECK(two_teams::turns(said) ==
        "ittititti"
        "t");
  CHECK(w.used(w.infer) == 4);
  CHECK(w.used(w.train) == 6);
}

TEST_CASE(
    "a queue borrows up to its limit, and a raised limit or a pod that goes lets the next one in, without attempts in "
    "vain",
    "[engine][columns][admission]") {
  two_teams w;
  w.ask("infer", 9);
  const words said = w.run();
  CHECK(two_teams::turns(said) == "iiiiii");
  CHECK(count(said, "reject") == 3);
  CHECK(w.run_at(30s).empty());
  w.must(w.cluster.set_column(w.infer, "limit", 7));
  CHECK(two_teams::turns(w.run_at(60s)) == "i");
  CHECK(w.run_at(70s).empty());
  w.remove(w.cluster.find_pod("infer", "infer-0").value());
  CHECK(two_teams::turns(w.run_at(90s)) == "i");
  CHECK(w.used(w.infer) == 7);
}

TEST_CASE("a gang is admitted with what all of it needs, and one that finds no nodes leaves its queue as it was",
          "[engine][columns][admission]") {
  two_teams w;
  a_gang over{"over", 7};
  over.spec.ns = "infer";
  const group_id too_many = w.add(over);
  for (int i = 0; i < 7; ++i) w.add(a_pod{"o" + std::to_string(i)}.ns("infer").gpus(1).in(too_many));
  a_gang wide{"wide", 3};
  wide.spec.ns = "train";
  const group_id no_place = w.add(wide);
  for (int i = 0; i < 3; ++i) w.add(a_pod{"w" + std::to_string(i)}.ns("train").gpus(i == 2 ? 6 : 1).in(no_place));
  for (const std::string& one : w.run()) CHECK(one.starts_with("reject"));
  CHECK(w.used(w.infer) == 0);
  CHECK(w.used(w.train) == 0);
  w.must(w.cluster.set_column(w.infer, "limit", 7));
  CHECK(two_teams::turns(w.run_at(60s)) == "ooooooo");
  CHECK(w.used(w.infer) == 7);
  CHECK(w.scheduler.verify());
}

}  // namespace gangsched::testing::queue_plugin_test
