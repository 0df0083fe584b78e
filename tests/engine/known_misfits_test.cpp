#include "gangsched/engine/known_misfits.hpp"

#include <map>

#include "gangsched/policies/group_victims.hpp"
#include "support/dice.hpp"
#include "support/inside.hpp"
#include "world.hpp"

// What a search for victims knows without trying: it decides as one that tries every victim.
namespace gangsched::testing::known_misfits_test {

namespace {

using engine::known_misfits;
using scope = known_misfits::scope;

/// Which pods are away, and beside which class of pods members had no room, with who was away then.
struct plain_misfits {
  std::vector<std::map<row_t, class_id>> away;  // by node
  struct note {
    row_t node;
    class_id cls;
    scope of;
    std::vector<std::map<row_t, class_id>> away;
  };
  std::vector<note> notes;

  [[nodiscard]] bool knows(row_t node, class_id cls, scope of) const {
    return std::ranges::any_of(notes, [&](const note& one) {
      return one.node == node && one.cls == cls && one.of == of &&
             (of == scope::node ? one.away[node] == away[node] : one.away == away);
    });
  }
};

}  // namespace

TEST_CASE("of a class that came back in vain it is known, until another pod of the node, or of the cluster, moves") {
  known_misfits known;
  CHECK_FALSE(known.knows(0, class_id{1}, scope::node));
  known.follow(2);
  known.went(5, 0);
  known.went(6, 0);
  known.went(7, 1);
  known.came_back(5, 0);
  CHECK(known.last() == 5);
  CHECK_FALSE(known.knows_last(class_id{1}, scope::node));
  known.note_last(class_id{1}, scope::node);
  known.note_last(class_id{1}, scope::cluster);
  CHECK(known.knows_last(class_id{1}, scope::node));
  CHECK_FALSE(known.knows(0, class_id{1}, scope::node));  // another one beside it
  known.went(5, 0);
  CHECK(known.last() == no_row);
  CHECK(known.knows(0, class_id{1}, scope::node));
  CHECK(known.knows(0, class_id{1}, scope::cluster));
  CHECK_FALSE(known.knows(0, class_id{2}, scope::node));
  CHECK_FALSE(known.knows(1, class_id{1}, scope::node));
  known.came_back(7, 1);
  CHECK(known.knows(0, class_id{1}, scope::node));
  CHECK_FALSE(known.knows(0, class_id{1}, scope::cluster));
  known.went(7, 1);
  CHECK(known.knows(0, class_id{1}, scope::cluster));
  known.forget();
  CHECK_FALSE(known.knows(0, class_id{1}, scope::node));
  CHECK_FALSE(known.knows(0, class_id{1}, scope::cluster));
}

TEST_CASE("what is known is what a list of all that was tried says", "[property]") {
  constexpr std::size_t nodes = 3, pods = 12;
  std::size_t told = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    dice roll{seed};
    known_misfits known;
    known.follow(nodes);
    plain_misfits plain;
    plain.away.resize(nodes);
    const auto node_of = [&](row_t pod) { return static_cast<row_t>(pod % nodes); };
    const auto class_of = [&](row_t pod) { return class_id{static_cast<row_t>(pod / nodes % 2)}; };
    for (int step = 0; step < 60; ++step) {
      const auto pod = static_cast<row_t>(roll.below(pods));
      const row_t node = node_of(pod);
      const scope of = roll.below(2) == 0 ? scope::node : scope::cluster;
      const bool is_away = plain.away[node].contains(pod);
      if (roll.below(40) == 0) {
        known.forget();
        plain.notes.clear();
      } else if (!is_away) {
        known.went(pod, node);
        plain.away[node][pod] = class_of(pod);
      } else {
        if (known.knows(node, class_of(pod), of)) {
          REQUIRE(plain.knows(node, class_of(pod), of));
          ++told;
        }
        const auto before = plain.away;
        known.came_back(pod, node);
        plain.away[node].erase(pod);
        if (roll.below(3) == 0) continue;  // it stays
        plain.notes.push_back({node, class_of(pod), of, before});
        known.note_last(class_of(pod), of);
        REQUIRE(known.knows_last(class_of(pod), of));
        known.went(pod, node);
        plain.away[node][pod] = class_of(pod);
        REQUIRE(known.knows(node, class_of(pod), of));
      }
    }
  }
  CHECK(told > 500);
}

// --- the search

namespace {

/// A trial that knows nothing: whatever it is asked it tries.
class forgetful final : public trial {
 public:
  explicit forgetful(trial& with) : with_(&with) {}
  [[nodiscard]] cluster_view cluster() const override { return with_->cluster(); }
  [[nodiscard]] instant now() const override { return with_->now(); }
  [[nodiscard]] status filter(pod_id pod, node_id node) override { return with_->filter(pod, node); }
  [[nodiscard]] bool counts_reasons() const override { return with_->counts_reasons(); }
  [[nodiscard]] words reasons(pod_id pod, node_id node) override { return with_->reasons(pod, node); }
  void spared_until(instant when) override { with_->spared_until(when); }
  void remove(pod_id victim) override { with_->remove(victim); }
  void restore(pod_id victim) override { with_->restore(victim); }
  void take_node(pod_id member) override { with_->take_node(member); }
  [[nodiscard]] bool put(pod_id pod, node_id node) override { return with_->put(pod, node); }
  [[nodiscard]] std::size_t put_so_far() const override { return with_->put_so_far(); }
  void take_back(std::size_t left) override { with_->take_back(left); }
  void reset() override { with_->reset(); }
  [[nodiscard]] std::vector<placement> placements(const group_view& group) override { return with_->placements(group); }
  [[nodiscard]] status place(const group_view& group, std::vector<assignment>& placed,
                             const placement* within) override {
    forget();
    return with_->place(group, placed, within);
  }
  void suppose(std::span<const assignment> placed) override { with_->suppose(placed); }
  [[nodiscard]] bool still_fits(std::span<const pod_id> moved) override {
    forget();
    return with_->still_fits(moved);
  }
  [[nodiscard]] bool known_to_be_in_the_way(std::span<const pod_id>, bool) override { return false; }

 private:
  /// Members that are put somewhere, even none, end all that is known.
  void forget() { with_->take_back(with_->put_so_far()); }
  [[nodiscard]] std::shared_ptr<void>* kept(pod_id, std::vector<row_t>&) override { return nullptr; }

  trial* with_;
};

struct searching {
  static constexpr std::string_view name = "Searching";
  using points = implements<point::group_preempt>;
  bool tries_all = false;

  [[nodiscard]] victim_plan group_preempt(trial& attempt, const group_view& group) const {
    const lower_priority rule{tree_priority(group)};
    if (!tries_all) return find_group_victims(attempt, group, rule, true, {});
    forgetful plain{attempt};
    return find_group_victims(plain, group, rule, true, {});
  }
};

/// Nodes on which some pod has an unlucky name take nobody: a filter that looks at pods one by one.
struct superstitious {
  static constexpr std::string_view name = "Superstitious";
  using points = implements<point::filter>;
  [[nodiscard]] status filter(const pod_view&, node_view<reads::pods> node) const {
    bool unlucky = false;
    node.each_pod(
        [&](const pod_info& pod) { unlucky = unlucky || pod.name().ends_with('3') || pod.name().ends_with('6'); });
    return unlucky ? status::unschedulable("node(s) had an unlucky pod") : status::success();
  }
};

/// What pods weigh, which their class does not say.
struct loading {
  static constexpr std::string_view name = "Loading";
  using points = implements<point::reserve>;
  node_column load;
  void attach(column_maker& columns) { load = columns.make_node_column("load"); }
  status reserve(const new_reservation& r) {
    r.add(load, 1 + r.pod.name().back() % 3);
    return status::success();
  }
  void unreserve(const reservation&) noexcept {}
};
struct load_limit {
  static constexpr std::string_view name = "LoadLimit";
  using points = implements<point::filter>;
  node_column load;
  void attach(column_maker& columns) { load = columns.make_node_column("load"); }
  [[nodiscard]] status filter(const pod_view&, node_view<reads::own> node) const {
    return node.own(load) > 3 ? status::unschedulable("node(s) bore too much") : status::success();
  }
};

enum class flavour : std::uint8_t { plain, names, loads, devices };

std::vector<kernel_table> profiles_of(flavour what, bool tries_all) {
  kernel_table table = profiles::kube_default();
  for (auto& order : table.order)
    std::erase_if(order, [&](std::uint16_t index) { return table.plugins[index].name == "GroupPreemption"; });
  for (plugin_entry& one : table.plugins)
    if (one.name == "GroupPreemption") one.name = "unused", one.points = {};
  kernel_table loader = profiles::kube_default();
  loader.scheduler_name = "loader";
  add_plugin(table, lower(searching{tries_all}));
  if (what == flavour::names) add_plugin(table, lower(superstitious{}));
  if (what == flavour::loads) add_plugin(table, lower(load_limit{})), add_plugin(loader, lower(loading{}));
  return {std::move(table), std::move(loader)};
}

words evictions(std::uint64_t seed, bool tries_all) {
  dice roll{seed};
  const auto what = static_cast<flavour>(roll.below(4));
  world w{profiles_of(what, tries_all)};
  const std::size_t nodes = 2 + roll.below(5);
  for (std::size_t i = 0; i < nodes; ++i) {
    a_node one{"n" + std::to_string(i)};
    one.cpu(static_cast<std::int64_t>(3 + roll.below(5))).label("rack", i % 2 == 0 ? "a" : "b");
    if (what == flavour::devices) one.cards(1 + roll.below(3));
    w.add(one);
  }
  const std::size_t kinds = 1 + roll.below(3);
  const bool protects = roll.below(3) == 0;
  if (protects)
    w.must(w.cluster.add_disruption_budget(
        {.name = "budget", .selector = label_selector{.match_labels = {{"kind", "0"}}}, .disruptions_allowed = 1}));
  a_gang whole{"whole", 1};
  whole.spec.disruption = disruption_mode::all;
  const group_id group = w.add(whole.priority(0));
  for (int i = 0; i < 30; ++i) {
    const std::size_t kind = roll.below(kinds);
    a_pod one{"p" + std::to_string(i)};
    one.cpu(static_cast<std::int64_t>(1 + kind))
        .priority(static_cast<std::int32_t>(kind))
        .label("kind", std::to_string(kind));
    one.spec.scheduler_name = "loader";
    if (what == flavour::devices && roll.below(2) == 0) one.milli(500);
    if (kind == 0 && roll.below(6) == 0) one.in(group);
    w.add(one);
  }
  w.run(true);
  const std::size_t members = 1 + roll.below(5);
  a_gang gang{"g", static_cast<std::int32_t>(1 + roll.below(members))};
  if (roll.below(2) == 0) gang.topology("rack");
  const group_id made = w.add(gang.priority(9));
  const bool mixed = roll.below(3) == 0;
  for (std::size_t i = 0; i < members; ++i) {
    a_pod one{"g" + std::to_string(i)};
    one.cpu(static_cast<std::int64_t>(mixed ? 1 + roll.below(4) : 1 + members % 2)).priority(9).in(made);
    if (what == flavour::devices) one.cards(1);
    w.add(one);
  }
  w.now += 60s;
  return w.run();
}

}  // namespace

TEST_CASE("the victims of a search that knows who is in the way are those of one that tries all", "[property]") {
  int evicting = 0;
  for (std::uint64_t seed = 1; seed <= 600; ++seed) {
    INFO("seed " << seed);
    const words known = evictions(seed, false);
    REQUIRE(known == evictions(seed, true));
    evicting += count(known, "evict") != 0 ? 1 : 0;
  }
  CHECK(evicting > 200);
}

}  // namespace gangsched::testing::known_misfits_test
