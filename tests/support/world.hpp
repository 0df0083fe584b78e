#pragma once
#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gangsched/framework/profile.hpp"
#include "gangsched/profiles.hpp"
#include "gangsched/scheduler.hpp"
#include "support/builders.hpp"
#include "support/catch.hpp"

namespace gangsched::testing {

using namespace std::chrono_literals;
using words = std::vector<std::string>;

/// A cluster, a scheduler on it, and a clock: what was decided, in words.
struct world {
  gangsched::cluster cluster;
  gangsched::scheduler scheduler;
  instant now{0};

  explicit world(kernel_table profile = profiles::kube_default(), const scheduler_options& options = lowest_first(),
                 const cluster_options& bounds = {})
      : cluster(bounds), scheduler(cluster, std::move(profile), options) {}

  explicit world(std::vector<kernel_table> profiles) : scheduler(cluster, std::move(profiles), lowest_first()) {}

  /// Ties go to the node added first, so that tests can name nodes.
  static scheduler_options lowest_first() { return {.ties = tie_rule::lowest_row}; }

  template <class T>
  static T must(result<T> made) {
    INFO((made ? std::string{} : made.error().message()));
    REQUIRE(made.has_value());
    return std::move(*made);
  }
  static void must(const result<void>& made) {
    INFO((made ? std::string{} : made.error().message()));
    REQUIRE(made.has_value());
  }
  node_id add(const node_spec& spec) { return must(cluster.add_node(spec)); }
  pod_id add(const pod_spec& spec) { return must(cluster.add_pod(spec)); }
  group_id add(const group_spec& spec) { return must(cluster.add_group(spec)); }
  [[nodiscard]] pod_id pod(std::string_view name) const { return cluster.find_pod("default", name).value(); }
  [[nodiscard]] node_id node(std::string_view name) const { return cluster.find_node(name).value(); }

  /// "bind web-1 node-1", "reject web-2"
  [[nodiscard]] std::string word(const decision& one) const {
    std::string text{to_string(one.kind)};
    (text += ' ') += cluster.name_of(one.pod);
    if (one.node) (text += ' ') += cluster.name_of(one.node);
    return text;
  }
  [[nodiscard]] words said(std::span<const decision> all) const {
    words texts;
    for (const decision& one : all) texts.push_back(word(one));
    return texts;
  }

  /// One entity, in which nothing goes wrong; false if none was left.
  gangsched::cycle decide() {
    gangsched::cycle done = scheduler.schedule_cycle(now);
    INFO((done.error() != nullptr ? done.error()->message() : std::string{}));
    REQUIRE(done.error() == nullptr);
    return done;
  }
  words cycle() { return said(decide().decisions()); }
  /// The host's loop, to its end. @p confirming: what is bound runs at once.
  words run(bool confirming = false) {
    words all;
    for (int cycles = 0;; ++cycles) {
      REQUIRE(cycles < 20000);  // the loop ends
      const gangsched::cycle done = decide();
      if (!done) return all;
      for (const decision& one : done) {
        all.push_back(word(one));
        if (confirming && one.kind == decision_kind::bind) must(scheduler.confirm(one.pod));
      }
    }
  }
  words run_at(instant when) { return now = when, run(); }
  words permit() {
    const gangsched::cycle done = scheduler.permit(now);
    REQUIRE(done.error() == nullptr);
    return said(done.decisions());
  }
  words permit_at(instant when) { return now = when, permit(); }
  words fail(pod_id pod) {
    const gangsched::cycle done = scheduler.fail(pod, "the host says so");
    INFO((done.error() != nullptr ? done.error()->message() : std::string{}));
    REQUIRE(done.error() == nullptr);
    return said(done.decisions());
  }
  void confirm(pod_id pod) { must(scheduler.confirm(pod)); }
  void remove(pod_id pod) { must(cluster.remove_pod(pod)); }
  [[nodiscard]] std::uint64_t wake_ups() const { return scheduler.statistics().wake_ups; }
  /// active, backoff, unschedulable, gated, waiting
  [[nodiscard]] std::vector<std::size_t> counts() {
    must(scheduler.catch_up(now));
    const queue_counts all = scheduler.counts();
    return {all.active, all.backoff, all.unschedulable, all.gated, all.waiting};
  }
};

inline words sorted(words all) {
  std::sort(all.begin(), all.end());
  return all;
}

/// How many begin like that.
[[nodiscard]] inline std::ptrdiff_t count(const words& all, std::string_view beginning) {
  return std::ranges::count_if(all, [&](const std::string& one) { return one.starts_with(beginning); });
}

using places = std::vector<std::size_t>;  ///< what world::counts gives

}  // namespace gangsched::testing
