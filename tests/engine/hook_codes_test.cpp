// What each hook may return, and whose hook the error of a cycle names.
#include <memory>
#include <string>
#include <utility>

#include "world.hpp"

namespace gangsched::testing::hook_codes_test {

namespace {

/// One of its hooks returns what the test says, the others agree.
struct speaker {
  static constexpr std::string_view name = "Speaker";
  using points =
      implements<point::admission, point::pre_filter, point::filter, point::post_filter, point::pre_score, point::score,
                 point::reserve, point::permit, point::pre_bind, point::bind, point::group_pre_filter,
                 point::generate_placements, point::placement_feasible, point::group_preempt>;
  struct lines {
    std::string hook;
    status says;
    bool throws = false;
    bool no_node = false;
  };
  std::shared_ptr<lines> at = std::make_shared<lines>();

  status say(std::string_view hook, status else_ = {}) const {
    if (at->hook != hook) return else_;
    if (at->throws) throw std::runtime_error{"thrown"};
    return at->says;
  }
  victim_plan plan(std::string_view hook) const { return {.verdict = say(hook, status::unschedulable("no victims"))}; }

  [[nodiscard]] status admit(const pod_view&, const cluster_view&) const { return say("admit"); }
  [[nodiscard]] status admit(const group_view&, const cluster_view&) const { return say("admit"); }
  [[nodiscard]] status pre_filter(const pod_view&) const { return say("pre_filter"); }
  [[nodiscard]] status filter(const pod_view&, node_view<reads::labels>) const {
    return at->no_node ? status::unschedulable("no") : status::success();
  }
  [[nodiscard]] victim_plan post_filter(trial&, const pod_info&) const { return plan("post_filter"); }
  [[nodiscard]] status pre_score(const pod_view&) const { return say("pre_score"); }
  [[nodiscard]] std::int64_t score(const pod_view&, node_view<reads::labels>) const { return 0; }
  status reserve(const new_reservation&) { return say("reserve"); }
  void unreserve(const reservation&) noexcept {}
  permit_verdict permit(const reservation&, permit_room&) { return {say("permit"), 10s}; }
  status pre_bind(const reservation&, decision&) { return say("pre_bind"); }
  status bind(const reservation&, decision&) { return say("bind", status::skip()); }
  [[nodiscard]] status group_pre_filter(const group_view&) const { return say("group_pre_filter"); }
  [[nodiscard]] status generate_placements(const group_view&, const cluster_view&, const placement_sink&) const {
    return say("generate_placements", status::skip());
  }
  [[nodiscard]] status placement_feasible(const group_view&, const group_progress& progress) const {
    return say("placement_feasible", progress.scheduled != 0 ? status::success() : status::wait());
  }
  [[nodiscard]] victim_plan group_preempt(trial&, const group_view&) const { return plan("group_preempt"); }
};

/// The error of a cycle in which the hook says that to a pod, or to a gang; and what was decided.
struct heard {
  std::string error;
  words decided;
};
heard hear(const char* hook, const status& says, bool in_gang, bool throws = false) {
  const speaker plugin;
  *plugin.at = {hook, says, throws, hook == std::string{"post_filter"} || hook == std::string{"group_preempt"}};
  world w{profile{priority_sort{}, node_resources_fit{}, plugin}};
  w.add(a_node{"n"}.cpu(8));
  if (in_gang)
    w.add(a_pod{"p"}.cpu(1).in(w.add(a_gang{"g", 1})));
  else
    w.add(a_pod{"p"}.cpu(1));
  const cycle done = w.scheduler.schedule_cycle(w.now);
  return {done.error() != nullptr ? done.error()->message() : "", w.said(done.decisions())};
}

}  // namespace

TEST_CASE("a code that a hook may not return is an error of its cycle, and names the plugin", "[engine][hooks]") {
  const status wait = status::wait(), skip = status::skip(), pending = status::pending("later");
  const auto is_error = [](const char* hook, const status& says, bool in_gang) {
    const heard got = hear(hook, says, in_gang);
    INFO(hook << ": " << got.error);
    CHECK(got.error.find(std::string{"plugin Speaker: a "} + hook + " hook neither ") != std::string::npos);
    CHECK(got.decided == words{"reject p"});
  };
  for (const bool in_gang : {false, true}) {
    for (const char* hook : {"pre_filter", "pre_score"}) is_error(hook, wait, in_gang);
    for (const status& says : {wait, skip}) is_error("reserve", says, in_gang);
    is_error("permit", skip, in_gang);
  }
  for (const status& says : {wait, skip}) is_error("group_pre_filter", says, true);
  is_error("generate_placements", wait, true);
  for (const status& says : {skip, pending}) is_error("placement_feasible", says, true);
}

TEST_CASE("an error that a hook returns names its plugin once, one that it throws too", "[engine][hooks]") {
  const auto names = [](const char* hook, bool in_gang) {
    const std::string whose = in_gang ? "group default/g: plugins: " : "pod default/p: plugins: ";
    const bool of_member =
        hook == std::string{"permit"} || hook == std::string{"pre_bind"} || hook == std::string{"bind"};
    const std::string of = of_member ? "pod default/p: plugins: " : whose;
    INFO(hook);
    const heard returned = hear(hook, status::error("broken"), in_gang);
    CHECK(returned.error == of + "plugin Speaker: broken");
    CHECK(returned.decided ==
          words{hook == std::string{"pre_bind"} || hook == std::string{"bind"} ? "reject p n" : "reject p"});
    CHECK(hear(hook, {}, in_gang, true).error == of + "Speaker threw an exception");
  };
  for (const bool in_gang : {false, true}) {
    for (const char* hook : {"admit", "pre_filter", "pre_score", "reserve", "permit", "pre_bind", "bind"})
      names(hook, in_gang);
  }
  names("post_filter", false);
  for (const char* hook : {"group_pre_filter", "placement_feasible", "group_preempt"}) names(hook, true);
}

TEST_CASE("what generate_placements says of a group is the group's error, and no plugin's", "[engine][hooks]") {
  const heard got = hear("generate_placements", status::error("contradiction"), true);
  CHECK(got.error.empty());
  CHECK(got.decided == words{"reject p"});
}

TEST_CASE("pre_bind may skip, and the pod is bound", "[engine][hooks]") {
  CHECK(hear("pre_bind", status::skip(), false).decided == words{"bind p n"});
}

}  // namespace gangsched::testing::hook_codes_test
