#include <algorithm>
#include <string>
#include <vector>

#include "gangsched/queues/yunikorn/preemption.hpp"
#include "queues/invariants.hpp"
#include "queues/yunikorn_units.hpp"

namespace gangsched::testing::invariants_yunikorn_test {

using namespace gangsched::queues;
using namespace gangsched::queues::yunikorn;
using invariants::holds;
using invariants::shuffled;

struct tally {
  std::size_t operations = 0, placed = 0, preempted = 0, back = 0, waits = 0;
};

/// A host that takes the first node with room, and notes who is to go.
struct host : node_host {
  partition queues;
  std::vector<node_amounts> nodes;
  preemptor by{instant{}};
  preemption_plan plan = {};

  host(partition of, std::vector<node_amounts> with) : queues(std::move(of)), nodes(std::move(with)) {}
  node_number place(ask_index which) override {
    for (node_amounts& one : nodes)
      if (fits(one.available, queues.of_ask(which).spec.request)) {
        one.available -= queues.of_ask(which).spec.request;
        return one.node;
      }
    return none;
  }
  bool preempt(ask_index which, bool nodes_tried) override {
    if (!by.may_try(queues, which, std::chrono::hours{1})) return false;
    plan = by.find(queues, which, nodes, nodes_tried);
    return plan && queues.begin_preemption(which, plan.victims).has_value();
  }
  void release(ask_index which) {
    const ask& gone = queues.of_ask(which);
    nodes[gone.node].available += gone.spec.request;
    queues.release(which).value();
  }
};

/// The same queues in two orders, and all that happens in them.
class life {
 public:
  /// @param flat leaves right below the root, one type of resource, and no fences: whoever had to go cannot win back.
  life(dice random, bool flat, tally& count) : random_(random), flat_(flat), count_(&count) {
    const std::size_t queues = 3 + random_.below(7);
    names_.push_back("root");
    parents_.push_back("");
    std::vector<std::string> inner{"root"};
    for (std::size_t i = 1; i < queues; ++i) {
      const std::string above = flat ? "root" : random_.of(inner);
      names_.push_back(above + "." + std::string(1, static_cast<char>('a' + (i * 5) % 26)) + std::to_string(i));
      parents_.push_back(above);
      if (random_.percent(30)) inner.push_back(names_.back());
    }
    resources total;
    std::vector<node_amounts> nodes;
    for (node_number i = 0; i < 1 + random_.below(3); ++i) {
      const resources capacity = amount(8, 20);
      nodes.push_back({i, capacity, capacity});
      total += capacity;
    }
    for (std::size_t i = 0; i < queues; ++i) settings_.push_back(some_settings());
    settings_[0] = {.max = total};
    order_.resize(queues);
    for (std::size_t i = 0; i < queues; ++i) order_[i] = i;
    worlds_.emplace_back(make(order_), nodes);
    order_ = shuffled(random_, order_);
    worlds_.emplace_back(make(order_), nodes);
    where_.resize(queues);
    for (std::size_t at = 0; at < queues; ++at) where_[order_[at]] = static_cast<queue_index>(at);
    std::vector<queue_index> leaves;
    for (queue_index queue = 0; queue < queues; ++queue)
      if (first().tree().is_leaf(queue)) leaves.push_back(queue);
    for (int i = 0; i < 6; ++i) {  // no two were submitted at once: applications have no names
      const queue_index leaf = random_.of(leaves);
      application_spec spec{leaf, "u" + std::to_string(random_.below(3)), {"g" + std::to_string(random_.below(2))}, i};
      worlds_[0].queues.add_application(spec).value();
      spec.queue = where_[leaf];
      worlds_[1].queues.add_application(spec).value();
    }
  }

  void step() {
    ++count_->operations;
    const std::size_t what = random_.below(100);
    if (what < 35) {
      ask_spec spec;
      spec.application = static_cast<application_index>(random_.below(6));
      spec.request = amount(1, 5);
      spec.priority = flat_ ? 0 : static_cast<std::int32_t>(random_.below(4)) - 1;
      spec.created = instant{++clock_};
      spec.may_preempt = random_.percent(80);
      spec.opted_out = random_.percent(10);
      spec.originator = random_.percent(10);
      const ask_index made = worlds_[0].queues.add_ask(spec).value();
      holds(worlds_[1].queues.add_ask(spec).value() == made);
      waiting_.push_back(made);
    } else if (what < 75) {
      cycle();
    } else if (what < 90 && !running_.empty()) {
      release(random_.below(running_.size()));
    } else if (!waiting_.empty()) {
      const std::size_t at = random_.below(waiting_.size());
      for (host& one : worlds_) one.queues.remove_ask(waiting_[at]).value();
      waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(at));
    }
  }

  /// Nodes and queues hold what runs, no maximum is exceeded.
  void check() {
    std::vector<resources> used(names_.size());
    std::vector<resources> left;
    for (const node_amounts& one : worlds_[0].nodes) left.push_back(one.capacity);
    for (const ask_index which : running_) {
      const ask& one = first().of_ask(which);
      left[one.node] -= one.spec.request;
      for (queue_index up = leaf_of(which); up != no_queue; up = first().tree().parent(up))
        used[up] += one.spec.request;
    }
    for (std::size_t i = 0; i < left.size(); ++i) {
      holds(same_amounts(left[i], worlds_[0].nodes[i].available));
      holds(at_least(left[i], {}));
    }
    for (queue_index queue = 0; queue < names_.size(); ++queue) {
      holds(same_amounts(used[queue], first().usage(queue).allocated));
      holds(at_least(minus_where_set(first().settings(queue).max, used[queue]), {}));
      holds(same_amounts(used[queue], worlds_[1].queues.usage(where_[queue]).allocated));
      holds(first().priority(queue) == worlds_[1].queues.priority(where_[queue]));
    }
    for (application_index which = 0; which < 6; ++which) holds(at_least(first().user_room(which), {}));
  }

 private:
  [[nodiscard]] const partition& first() const { return worlds_[0].queues; }
  resources amount(std::int64_t low, std::int64_t high) {
    return flat_ ? units(random_.between(low, high)) : units(random_.between(low, high), random_.between(low, high));
  }
  queue_settings some_settings() {
    queue_settings made;
    if (random_.percent(60)) made.guaranteed = amount(0, 15);
    if (random_.percent(50)) made.max = amount(5, 25);
    if (random_.percent(20)) made.max_applications = static_cast<std::uint32_t>(1 + random_.below(3));
    if (random_.percent(40)) made.order = application_order::fair;
    if (random_.percent(30)) made.limits = {{{"u0"}, {"g0"}, amount(5, 20), 2}, {{"*"}, {}, amount(5, 20), 2}};
    if (flat_) return made;
    made.priority_first = random_.percent(70);
    made.priority_offset = static_cast<std::int32_t>(random_.below(5)) - 2;
    if (random_.percent(10)) made.priority = priority_policy::fence;
    if (random_.percent(10)) made.preemption = static_cast<preemption_policy>(random_.below(3));
    return made;
  }
  [[nodiscard]] partition make(const std::vector<std::size_t>& order) const {
    std::vector<queue_link> links;
    std::vector<queue_settings> settings;
    for (const std::size_t at : order) {
      links.push_back({names_[at], parents_[at]});
      settings.push_back(settings_[at]);
    }
    return partition::make(queue_tree::make(links).value(), settings).value();
  }
  [[nodiscard]] queue_index leaf_of(ask_index which) const {
    return first().of(first().of_ask(which).spec.application).spec.queue;
  }
  void release(std::size_t at) {
    for (host& one : worlds_) one.release(running_[at]);
    running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(at));
  }

  void cycle() {
    const cycle_outcome done = worlds_[0].queues.try_allocate(worlds_[0]);
    const cycle_outcome there = worlds_[1].queues.try_allocate(worlds_[1]);
    holds(done.what == there.what && done.which == there.which);
    if (done.what == cycle_outcome::kind::nothing) {
      ++count_->waits;
    } else if (done.what == cycle_outcome::kind::placed) {
      ++count_->placed;
      std::erase(waiting_, done.which);
      running_.push_back(done.which);
    } else {
      holds(worlds_[0].plan.victims == worlds_[1].plan.victims && worlds_[0].plan.node == worlds_[1].plan.node);
      carry_out(done.which, worlds_[0].plan);
    }
  }

  /// The victims are gone. Without the last one they would not have been worth the ask; with all of them the queues they are of still have
  /// what they are guaranteed; and none of them can evict who came, even if it is placed at once.
  void carry_out(ask_index which, const preemption_plan& plan) {
    const ask_spec by = first().of_ask(which).spec;
    resources freed;
    for (std::size_t i = 0; i + 1 < plan.victims.size(); ++i) freed += first().of_ask(plan.victims[i]).spec.request;
    holds(strictly_greater_where_set(by.request, freed));
    const queue_index leaf = leaf_of(which);
    std::vector<ask_spec> gone;
    for (const ask_index victim : plan.victims) {
      gone.push_back(first().of_ask(victim).spec);
      release(static_cast<std::size_t>(std::find(running_.begin(), running_.end(), victim) - running_.begin()));
    }
    count_->preempted += gone.size();
    node_amounts& node = worlds_[0].nodes[plan.node];
    if (!flat_ || !fits(node.available, by.request) || !fits_limit(first().headroom(leaf), by.request)) return;
    for (host& one : worlds_) {
      one.queues.allocate(which, plan.node).value();
      one.nodes[plan.node].available -= by.request;
    }
    std::erase(waiting_, which);
    running_.push_back(which);
    for (ask_spec& back : gone) {
      ++count_->back;
      back.may_preempt = true;
      const ask_index made = worlds_[0].queues.add_ask(back).value();
      const preemption_plan again = worlds_[0].by.find(first(), made, worlds_[0].nodes, false);
      holds(std::find(again.victims.begin(), again.victims.end(), which) == again.victims.end());
      worlds_[0].queues.remove_ask(made).value();
    }
  }

  dice random_;
  bool flat_;
  tally* count_;
  std::vector<std::string> names_, parents_;
  std::vector<queue_settings> settings_;
  std::vector<std::size_t> order_;
  std::vector<queue_index> where_;  ///< by queue: its number in the second world
  std::vector<host> worlds_;
  std::vector<ask_index> waiting_, running_;
  int clock_ = 0;
};

TEST_CASE(
    "YuniKorn: maxima hold on every level, victims are worth the ask and do not win back, and the order of queues "
    "decides nothing",
    "[invariants]") {
  tally count;
  const std::size_t all = invariants::in_worlds(130, count.operations, [&](std::uint64_t seed) {
    life of{dice{seed}, seed % 3 == 0, count};
    invariants::step_and_check(of, 120);
  });
  CAPTURE(count.operations, count.placed, count.preempted, count.back, count.waits);
  CHECK(count.placed > all / 20);
  CHECK(count.preempted > all / 1000);
  CHECK(count.back > all / 2000);
  CHECK(count.waits > all / 20);
}

}  // namespace gangsched::testing::invariants_yunikorn_test
