#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "queue_world.hpp"
#include "support/dice.hpp"

namespace gangsched::testing {

/// Pods and gangs that come and go by dice in the queues a, b and c of cores. At the end of each instant queues are within their limits,
/// and gangs are whole of which nobody was taken; then those go who were evicted.
class jobs_by_dice {
 public:
  std::size_t bound = 0, evicted = 0, refused = 0;
  std::map<std::string, std::int64_t> limits = {};  ///< cores, by queue

  jobs_by_dice(core_queues& on, dice& roll) : on_(&on), roll_(&roll) {}

  /// Half a minute later. Calls ask(name, queue) for a pod that comes, and look() when nothing happens any more.
  template <class Ask, class Look>
  void step(const Ask& ask, const Look& look) {
    on_->now += 30s;
    const std::string name = "j" + std::to_string(steps_++);
    const char* const queue = std::vector<const char*>{"a", "b", "c"}[roll_->below(3)];
    if (roll_->percent(40)) {
      ask(name, queue);
    } else if (roll_->percent(60)) {
      const auto least = static_cast<std::int32_t>(roll_->between(1, 4));
      const int members = least + static_cast<int>(roll_->below(3));
      gangs_[name] = {least, members};
      on_->job(name, queue, least, members, roll_->between(1, 2), static_cast<std::int32_t>(roll_->below(3)));
    } else if (const std::vector<pod_id> all = on_->cluster.pods(); !all.empty()) {
      const pod_id one = roll_->of(all);
      lose(one);
      on_->remove(one);
    }
    const std::vector<pod_id> gone = rest();
    check();
    look();
    for (const pod_id pod : gone)
      if (on_->cluster.contains(pod)) on_->remove(pod);
  }

 private:
  /// Who was evicted.
  std::vector<pod_id> rest() {
    std::vector<pod_id> gone;
    for (int cycles = 0;; ++cycles) {
      REQUIRE(cycles < 500);
      const gangsched::cycle done = on_->decide();
      if (!done) return gone;
      for (const decision& one : done) {
        if (one.kind == decision_kind::bind) on_->confirm(one.pod), ++bound;
        if (one.kind == decision_kind::reject) ++refused;
        if (one.kind == decision_kind::evict) gone.push_back(one.pod), lose(one.pod), ++evicted;
      }
    }
  }
  void check() const {
    for (const auto& [queue, limit] : limits) CHECK(on_->used(queue, "cpu") <= limit * 1000);
    for (const auto& [gang, size] : gangs_) {
      int on_nodes = 0;
      for (int i = 0; i < size.second; ++i)
        on_nodes += on_->cluster.node_of(on_->pod(gang + "-" + std::to_string(i))) ? 1 : 0;
      CHECK((on_nodes == 0 || on_nodes >= size.first));
    }
  }
  void lose(pod_id pod) {
    const std::string name{on_->cluster.name_of(pod)};
    gangs_.erase(name.substr(0, name.find('-')));
  }

  core_queues* on_;
  dice* roll_;
  int steps_ = 0;
  std::map<std::string, std::pair<int, int>> gangs_ = {};  ///< minimum and members, of those that nobody was taken from
};

}  // namespace gangsched::testing
