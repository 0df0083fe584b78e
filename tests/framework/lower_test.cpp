#include "gangsched/framework/lower.hpp"

#include "gangsched/framework/normalize.hpp"
#include "gangsched/profiles.hpp"
#include "support/catch.hpp"

// What kernels a plugin becomes, and how the engine is told to treat them.

namespace gangsched::testing::lower_test {

namespace {

template <point... Points>
struct of {
  static constexpr std::string_view name = "test";
  using points = implements<Points...>;
};

struct cached : of<point::filter, point::score> {
  status filter(const pod_view&, node_view<reads::labels>) const { return {}; }
  std::int64_t score(const pod_view&, node_view<reads::usage>) const { return 0; }
};
struct wants_all : of<point::filter, point::score> {
  status filter(const pod_view&, const node_info&) const { return {}; }
  std::int64_t score(const pod_view&, node_info) const { return 0; }
};
struct wants_the_pod : of<point::filter> {
  status filter(const pod_info&, node_view<reads::labels>) const { return {}; }
};
struct wants_cycle_data : of<point::pre_filter, point::filter> {
  struct cycle_data {};
  status pre_filter(const pod_info&, const cluster_view&, cycle_data&) const { return {}; }
  status filter(const pod_view&, const cycle_data&, node_view<reads::labels>) const { return {}; }
};
struct keyed : of<point::filter, point::score> {
  std::int64_t filter_key(const pod_view&, node_view<reads::labels>) const { return 0; }
  void finish_filter(const pod_view&, std::span<filtered_group>) const {}
  std::int64_t score(const pod_view&, node_view<reads::taints>) const { return 0; }
  void normalize_score(const pod_view&, std::span<scored_group>) const {}
};

}  // namespace

TEST_CASE("the shape of a hook follows from its type") {
  const plugin_entry local = lower(cached{}, 4);
  CHECK(local.weight == 4);
  CHECK(local.filter.shape == shape::local);
  CHECK(local.filter.facets == reads::labels);
  CHECK(local.score.shape == shape::local);
  CHECK(local.score.facets == reads::usage);
  CHECK(local.make_data == nullptr);
  CHECK(local.pre_filter == nullptr);

  const plugin_entry all = lower(wants_all{});
  CHECK(all.filter.shape == shape::opaque);
  CHECK(all.score.shape == shape::opaque);
  CHECK(lower(wants_the_pod{}).filter.shape == shape::opaque);

  const plugin_entry cycle = lower(wants_cycle_data{});
  CHECK(cycle.filter.shape == shape::opaque);
  CHECK(cycle.cycle_data);
  CHECK(cycle.make_data != nullptr);

  const plugin_entry groups = lower(keyed{});
  CHECK(groups.filter.shape == shape::keyed);
  CHECK_FALSE(groups.filter.opaque);
  CHECK(groups.score.shape == shape::keyed);
  CHECK(groups.score.facets == reads::taints);
}

TEST_CASE("no hook of the library's own is opaque, except for pods with disks of their own") {
  const plugin_registry registry = builtin_plugins();
  for (const std::string& name : registry.names()) {
    INFO(name);
    argument::fields args;  // those that must be there
    if (name == "GpuFragmentation" || name == "GpuPricing")
      args.emplace_back("expected", argument::list{argument::fields{{"cpuMilli", 1000}, {"gpus", 1}, {"count", 1}}});
    if (name == "GpuPricing")
      args.emplace_back("supply", argument::list{argument::fields{{"model", "A100"}, {"gpus", 8}}});
    auto made = registry.make(name, args.empty() ? argument{} : argument{args});
    REQUIRE(made);
    // Disks are a pod's own, and would make a class of every pod; pods without any are skipped.
    const bool own_disks = name == "VolumeRestrictions" || name == "NodeVolumeLimits";
    CHECK((made->filter.shape == shape::opaque) == own_disks);
    CHECK(made->filter.opaque == own_disks);
    CHECK(made->score.shape != shape::opaque);
    CHECK_FALSE(made->score.opaque);
    CHECK_FALSE(made->cycle_data);
    CHECK((made->filter.shape == shape::none) == !made->points.has(point::filter));
    CHECK((made->score.shape == shape::none) == !made->points.has(point::score));
  }
}

TEST_CASE("normalize scales by the maximum, truncating") {
  const auto scaled = [](std::vector<std::int64_t> raw, better end) {
    std::vector<scored_group> groups;
    for (const std::int64_t score : raw) groups.push_back({score, 1});
    normalize(groups, end);
    raw.clear();
    for (const scored_group& group : groups) raw.push_back(group.score);
    return raw;
  };
  using scores = std::vector<std::int64_t>;
  CHECK(scaled({0, 1, 2, 3}, better::higher) == scores{0, 33, 66, 100});
  CHECK(scaled({0, 1, 2, 3}, better::lower) == scores{100, 67, 34, 0});
  CHECK(scaled({0}, better::higher) == scores{0});
  CHECK(scaled({0}, better::lower) == scores{100});
  CHECK(scaled({}, better::lower).empty());
  CHECK(scaled({std::int64_t{1} << 61, std::int64_t{1} << 62}, better::higher) == scores{50, 100});
}

}  // namespace gangsched::testing::lower_test
