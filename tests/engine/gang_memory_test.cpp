// What the engine remembers from pick to pick and from gang to gang, against schedulers that look at everything anew.
#include "support/dice.hpp"
#include "world.hpp"

namespace gangsched::testing::gang_memory_test {

namespace {

/// Says nothing, and nothing helps against it; but it has to be asked about every candidate at every pick.
struct nobodys_business {
  static constexpr std::string_view name = "NobodysBusiness";
  using points = implements<point::requeue, point::filter>;
  static constexpr events wakes_on = events::node_added;
  [[nodiscard]] hint requeue(const event&, const pod_view&) const { return hint::skip; }
  [[nodiscard]] status filter(const pod_info&, const node_info&) const { return {}; }
};
static_assert(filter_plugin<nobodys_business>);

enum class memory : std::uint8_t { kept, none };

/// Gangs of members that are alike come to racks that differ, and leave again.
words play(std::uint64_t seed, memory which, tie_rule ties) {
  dice roll{seed};
  kernel_table profile = profiles::kube_default();
  if (which == memory::none) add_plugin(profile, lower(nobodys_business{}));
  scheduler_options options;
  options.ties = ties;
  options.seed = seed;
  options.wake = wake_rule::all;     // alike groups that wait are tried alike
  options.max_backoff = instant{0};  // when room ends one is told from what is remembered
  world w{std::move(profile), options};
  const std::int64_t nodes = roll.between(6, 40), racks = roll.between(2, 5);
  for (std::int64_t i = 0; i < nodes; ++i) {
    a_node node{"n" + std::to_string(i)};
    node.cpu(roll.between(4, 6)).memory("16Gi").gpus(roll.between(2, 8)).label("rack", "r" + std::to_string(i % racks));
    if (roll.percent(20)) node.label("disk", "ssd");
    if (roll.percent(15)) node.taint("spot", "", taint_effect::prefer_no_schedule);
    w.add(node);
  }
  words all;
  std::vector<std::pair<group_id, std::vector<pod_id>>> running;
  for (int g = 0; g < 30; ++g) {
    const auto size = static_cast<std::int32_t>(roll.between(2, 12));
    a_gang gang{"g" + std::to_string(g), roll.percent(70) ? size : static_cast<std::int32_t>(roll.between(1, size))};
    if (roll.percent(80)) gang.topology("rack");
    const group_id id = w.add(gang);
    const bool ssd = roll.percent(20), cheap = roll.percent(50);
    std::vector<pod_id> pods;
    for (int i = 0; i < size; ++i) {
      a_pod pod{"p" + std::to_string(g) + "-" + std::to_string(i)};
      pod.cpu(1).memory(cheap ? "1Gi" : "2Gi").gpus(cheap ? 1 : 2).in(id);
      if (ssd) pod.select("disk", "ssd");
      pods.push_back(w.add(pod));
    }
    if (which == memory::none) w.must(w.scheduler.forget_cached());
    for (;;) {
      const cycle done = w.scheduler.schedule_cycle(w.now);
      REQUIRE(done.error() == nullptr);
      if (!done) break;
      for (const decision& one : done) {
        all.push_back(w.word(one) + " " + std::to_string(one.score));
        if (one.kind == decision_kind::bind && roll.percent(90)) w.confirm(one.pod);
      }
      if (which == memory::none) w.must(w.scheduler.forget_cached());
    }
    running.emplace_back(id, std::move(pods));
    while (running.size() > 3) {
      const std::size_t goes = roll.below(running.size());
      for (const pod_id pod : running[goes].second) w.remove(pod);
      w.must(w.cluster.remove_group(running[goes].first));
      running.erase(running.begin() + static_cast<std::ptrdiff_t>(goes));
    }
  }
  return all;
}

}  // namespace

TEST_CASE("gangs are placed as if nothing were remembered from member to member and from gang to gang",
          "[engine][group][memory]") {
  std::size_t bound = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    CAPTURE(seed);
    const tie_rule ties = seed % 3 == 0 ? tie_rule::lowest_row : tie_rule::uniform;
    const words with = play(seed, memory::kept, ties);
    CHECK(with == play(seed, memory::none, ties));
    for (const std::string& one : with) bound += one.starts_with("bind ") ? 1 : 0;
  }
  CHECK(bound > 3000);
}

}  // namespace gangsched::testing::gang_memory_test
