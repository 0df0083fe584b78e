#include "support/dice.hpp"
#include "world.hpp"

// Members of a gang in a placement: a pick goes on from the one before. Where a filter looks at pods themselves each begins anew.
namespace gangsched::testing::gang_scan_test {

namespace {

struct looks_at_all {
  static constexpr std::string_view name = "LooksAtAll";
  using points = implements<point::filter>;
  [[nodiscard]] status filter(const pod_info&, const node_info&) const { return status::success(); }
};

/// Takes every fifth pod back that has a node: of what was picked for it and before it, its gang tries some again.
struct fifth_refused {
  static constexpr std::string_view name = "FifthRefused";
  using points = implements<point::reserve>;
  [[nodiscard]] status reserve(const new_reservation& on) const {
    return on.pod.name().back() == '4' ? status::unschedulable("refused") : status::success();
  }
  void unreserve(const reservation&) const noexcept {}
};

/// As many points as there are candidates.
struct crowd {
  static constexpr std::string_view name = "Crowd";
  using points = implements<point::score>;
  [[nodiscard]] std::int64_t score_key(const pod_view&, node_view<reads::labels>) const { return 0; }
  void finish_score(const pod_view&, std::span<scored_group> groups) const {
    for (scored_group& group : groups) group.score = std::min<std::int64_t>(group.population, max_node_score);
  }
};
/// As many points as the first node has pods.
struct first_node {
  static constexpr std::string_view name = "FirstNode";
  using points = implements<point::score>;
  static constexpr reads finish_reads = reads::usage;
  [[nodiscard]] std::int64_t score_key(const pod_view&, node_view<reads::labels>) const { return 0; }
  void finish_score(const pod_view&, const cluster_view& cluster, std::span<scored_group> groups) const {
    for (scored_group& group : groups) group.score = cluster.node_at(0)->used(kinds::pods);
  }
};

/// Gangs of alike members come to racks of different nodes and leave again; images come and go.
words decisions(std::uint64_t seed, bool anew) {
  dice roll{seed};
  kernel_table table = profiles::kube_default();
  if (anew) add_plugin(table, lower(looks_at_all{}));
  if (seed % 5 == 0) add_plugin(table, lower(fifth_refused{}));
  if (seed % 3 == 0) add_plugin(table, lower(crowd{}));
  if (seed % 3 == 1) add_plugin(table, lower(first_node{}));
  world w{std::move(table), {}};
  constexpr std::size_t racks = 3;
  std::vector<node_spec> nodes;
  std::vector<node_id> rows;
  const auto image = [&] { return "image-" + std::to_string(roll.below(3)); };
  for (std::size_t i = 0; i < racks * 6; ++i) {
    a_node one{"n" + std::to_string(i)};
    one.cpu(seed % 2 == 0 ? roll.between(2, 9) : 8).memory("64Gi").label("rack", std::to_string(i % racks));
    if (roll.below(3) == 0) one.image(image(), roll.between(1, 900) << 20);
    if (roll.below(5) == 0) one.taint("slow", "", taint_effect::prefer_no_schedule);
    nodes.push_back(one);
    rows.push_back(w.add(one));
  }
  words all;
  std::vector<pod_id> there;
  for (int g = 0; g < 12; ++g) {
    const std::size_t members = 1 + roll.below(20);
    a_gang gang{"g" + std::to_string(g), static_cast<std::int32_t>(1 + roll.below(members))};
    const group_id group = w.add(gang.topology("rack"));
    const std::string used = image();
    const std::int64_t cpus = roll.between(1, 2), kinds = roll.between(1, 2);
    for (std::size_t i = 0; i < members; ++i) {
      a_pod one{"p" + std::to_string(g) + "-" + std::to_string(i)};
      one.cpu(i % static_cast<std::size_t>(kinds) == 0 ? cpus : 1).image(used).in(group);
      there.push_back(w.add(one));
    }
    while (const gangsched::cycle done = w.decide()) {
      for (const decision& one : done) {
        all.push_back(w.word(one) + " " + std::to_string(one.score));
        if (one.kind == decision_kind::bind) w.confirm(one.pod);
      }
    }
    for (std::size_t i = there.size() - members; i < there.size(); ++i)  // nobody waits to be woken
      if (!w.cluster.node_of(there[i])) w.remove(there[i]);
    // (After one alone, the picks of the next gang may go on with that node.)
    for (std::size_t i = roll.below(2) == 0 ? 1 : roll.below(8); i > 0 && !there.empty(); --i) {
      const std::size_t which = roll.below(there.size());
      if (w.cluster.contains(there[which])) w.remove(there[which]);
      there.erase(there.begin() + static_cast<std::ptrdiff_t>(which));
    }
    if (roll.below(4) == 0) {
      const std::size_t which = roll.below(nodes.size());
      nodes[which].images.assign(1, {{image()}, roll.between(1, 900) << 20});
      w.must(w.cluster.update_node(rows[which], nodes[which]));
    }
    w.now += 60s;
  }
  return all;
}

}  // namespace

TEST_CASE("a gang's picks in a rack are those that begin anew each time", "[engine][gang][property]") {
  std::size_t bound = 0;
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    INFO("seed " << seed);
    const words all = decisions(seed, false);
    REQUIRE(all == decisions(seed, true));
    bound += static_cast<std::size_t>(count(all, "bind"));
  }
  CHECK(bound > 5000);
}

}  // namespace gangsched::testing::gang_scan_test
