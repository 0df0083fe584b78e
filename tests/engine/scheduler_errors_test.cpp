// What the facade refuses, and that a refusal changes nothing.
#include "world.hpp"

#include "gangsched/model/transaction.hpp"
#include "support/inside.hpp"

namespace gangsched::testing::scheduler_errors_test {

namespace {

struct second_sort {
  static constexpr std::string_view name = "SecondSort";
  using points = implements<point::queue_sort>;
  [[nodiscard]] sort_key key(const queued&) const noexcept { return {}; }
};
struct wants_arguments {
  static constexpr std::string_view name = "WantsArguments";
  using points = implements<point::score>;
  std::int64_t value = 0;
  static result<wants_arguments> from(const argument& args) {
    if (args.empty()) return error{errc::malformed, "plugin WantsArguments", "args", "needs some"};
    return wants_arguments{};
  }
  [[nodiscard]] std::int64_t score(const pod_view&, node_view<reads::name>) const { return value; }
};

error refused(const result<kernel_table>& made) {
  REQUIRE_FALSE(made);
  return made.error();
}

}  // namespace

TEST_CASE("time does not go back, and standing still is fine", "[engine][errors]") {
  world w;
  w.add(a_node{"n"});
  w.add(a_pod{"p"});
  w.now = 10s;
  CHECK(w.run() == words{"bind p n"});
  CHECK(w.run().empty());
  const std::uint64_t before = inside(w.cluster).digest_with_derived();
  w.add(a_pod{"q"});
  for (const bool permit : {false, true}) {
    const cycle said = permit ? w.scheduler.permit(10s - 1ns) : w.scheduler.schedule_cycle(10s - 1ns);
    CHECK_FALSE(said);
    CHECK(said.decisions().empty());
    REQUIRE(said.error() != nullptr);
    CHECK(said.error()->code == errc::time_went_back);
    CHECK(said.error()->field == "now");
  }
  CHECK(inside(w.cluster).digest_with_derived() != before);  // q is there
  CHECK(w.run() == words{"bind q n"});
  CHECK(w.scheduler.permit(11s).error() == nullptr);
  CHECK(w.scheduler.schedule_cycle(10s).error()->code == errc::time_went_back);
}

TEST_CASE("nothing is decided while a transaction is open on the cluster", "[engine][errors]") {
  world w;
  const node_id n = w.add(a_node{"n"}.cpu(4));
  const pod_id bound = w.add(a_pod{"bound"}.cpu(1));
  CHECK(w.run() == words{"bind bound n"});
  const group_id gang = w.add(a_gang{"gang", 2}.permit());
  const pod_id waiting = w.add(a_pod{"waiting"}.cpu(1).in(gang));
  w.add(a_pod{"large"}.cpu(9).in(gang));
  CHECK(w.run() == words{"wait waiting n", "reject large"});
  const pod_id pending = w.add(a_pod{"pending"}.cpu(1));
  {
    transaction trial{w.cluster};
    const auto busy = [](const auto& said) {
      return said.error()->code == errc::busy && said.decisions().empty() && !said;
    };
    const auto refuses = [](const result<void>& said) { return !said && said.error().code == errc::busy; };
    CHECK(busy(w.scheduler.schedule_cycle(w.now)));
    CHECK(busy(w.scheduler.permit(w.now)));
    CHECK(busy(w.scheduler.fail(bound, "")));
    CHECK(refuses(w.scheduler.confirm(bound)));
    CHECK(refuses(w.scheduler.allow(waiting)));
    CHECK(refuses(w.scheduler.reject(waiting, "")));
    CHECK(refuses(w.scheduler.restore(pending, {.failures = 1, .since = 0s})));
    // Questions are answered, about what is committed or about the trial.
    CHECK(w.scheduler.counts().waiting == 1);
    w.must(w.cluster.update_node(n, a_node{"n"}.cpu(0)));
    CHECK(world::must(w.scheduler.explain(pending)).summary == "0/1 nodes are available: 1 Insufficient cpu.");
  }
  CHECK(w.run() == words{"bind pending n"});
  w.confirm(bound);
  CHECK(w.fail(waiting).empty());
}

TEST_CASE("two schedulers do not mind each other's clusters", "[engine][errors]") {
  world one;
  world other;
  one.add(a_node{"n"});
  const pod_id pod = one.add(a_pod{"p"});
  CHECK(one.run() == words{"bind p n"});
  const auto unknown = other.scheduler.confirm(pod);
  REQUIRE_FALSE(unknown);
  CHECK(unknown.error().code == errc::unknown);
  CHECK(unknown.error().object == "pod");
}

TEST_CASE("calls about a pod or a group say when there is none, or when it is not in the state they are for",
          "[engine][errors]") {
  world w;
  w.add(a_node{"n"}.cpu(3));
  const pod_id runs = w.add(a_pod{"runs"}.cpu(1)), binds = w.add(a_pod{"binds"}.cpu(1));
  const group_id gang = w.add(a_gang{"gang", 2}.permit()), empty = w.add(a_gang{"empty", 2});
  const pod_id waits = w.add(a_pod{"waits"}.cpu(1).in(gang)), pends = w.add(a_pod{"pends"}.cpu(9));
  w.add(a_pod{"mate"}.cpu(9).in(gang));
  const pod_id gone = w.add(a_pod{"gone"});
  w.remove(gone);
  w.run();
  w.confirm(runs);
  REQUIRE(w.cluster.state_of(waits) == pod_state::assumed);
  REQUIRE(w.cluster.state_of(binds) == pod_state::assumed);

  const auto code = [](const auto& said) {
    return said.has_value() ? std::string{"done"} : std::string{to_string(said.error().code)};
  };
  const auto failure = [](const cycle& said) {
    return said.error() == nullptr ? std::string{"done"} : std::string{to_string(said.error()->code)};
  };
  const auto all = [](const std::vector<pod_id>& pods, const auto& call) {
    words said;
    for (const pod_id pod : pods) said.push_back(call(pod));
    return said;
  };
  const std::vector<pod_id> nobody{gone, pod_id{}, pod_id{9999, 0}};
  const words unknown(3, "unknown");
  const bind_attempt old{};
  auto& s = w.scheduler;
  CHECK(all(nobody, [&](pod_id p) { return code(s.confirm(p)); }) == unknown);
  CHECK(all(nobody, [&](pod_id p) { return code(s.confirm(p, old)); }) == unknown);
  CHECK(all(nobody, [&](pod_id p) { return failure(s.fail(p, "")); }) == unknown);
  CHECK(all(nobody, [&](pod_id p) { return failure(s.fail(p, old, "")); }) == unknown);
  CHECK(all(nobody, [&](pod_id p) { return code(s.allow(p)); }) == unknown);
  CHECK(all(nobody, [&](pod_id p) { return code(s.reject(p, "")); }) == unknown);
  CHECK(all(nobody, [&](pod_id p) { return code(s.restore(p, {})); }) == unknown);
  CHECK(all(nobody, [&](pod_id p) { return code(s.explain(p)); }) == unknown);
  CHECK(code(s.explain(group_id{})) == "unknown");
  CHECK(code(s.explain(group_id{9999, 0})) == "unknown");

  const words no(2, "wrong_state");
  CHECK(all({pends, waits, runs}, [&](pod_id p) { return code(s.confirm(p)); }) == words(3, "wrong_state"));
  CHECK(all({pends, runs}, [&](pod_id p) { return failure(s.fail(p, "")); }) == no);
  CHECK(all({pends, binds, runs}, [&](pod_id p) { return code(s.allow(p)); }) == words(3, "wrong_state"));
  CHECK(all({pends, binds, runs}, [&](pod_id p) { return code(s.reject(p, "")); }) == words(3, "wrong_state"));
  CHECK(all({waits, binds, runs}, [&](pod_id p) { return code(s.restore(p, {})); }) == words(3, "wrong_state"));

  // What they are for. Explanations are for everybody.
  CHECK(all({pends, waits, binds, runs}, [&](pod_id p) { return code(s.explain(p)); }) == words(4, "done"));
  CHECK(code(s.explain(empty)) == "done");
  CHECK(code(s.explain(gang)) == "done");
  CHECK(code(s.restore(pends, {.failures = 1})) == "done");
  CHECK(code(s.allow(waits)) == "done");
  CHECK(code(s.confirm(binds)) == "done");
  CHECK(w.permit() == words{"bind waits n"});
  CHECK(failure(s.fail(waits, "")) == "done");
}

TEST_CASE("a scheduler may be moved", "[engine][errors]") {
  world w;
  w.add(a_node{"n"});
  w.add(a_pod{"p"});
  scheduler moved = std::move(w.scheduler);
  CHECK(moved.schedule_cycle(0s).decisions().size() == 1);
  w.scheduler = std::move(moved);
  w.confirm(w.pod("p"));
}

TEST_CASE("a result of a refusal names the pod and what is wrong with it", "[engine][errors]") {
  world w;
  w.add(a_node{"n"});
  const pod_id pod = w.add(a_pod{"p"}.ns("team"));
  const auto early = w.scheduler.confirm(pod);
  REQUIRE_FALSE(early);
  CHECK(early.error().message() == "pod team/p: state: is not assumed");
  CHECK(w.scheduler.fail(pod, "").error()->message() == "pod team/p: state: nothing is reserved for it");
  CHECK(w.scheduler.allow(pod).error().message() == "pod team/p: state: does not wait");
}

TEST_CASE("a runtime profile is refused with what is wrong in it", "[engine][errors]") {
  plugin_registry plugins = builtin_plugins();
  REQUIRE(plugins.add<second_sort>());
  REQUIRE(plugins.add<wants_arguments>());
  CHECK(plugins.add<second_sort>().error().code == errc::duplicate);
  const auto profile_of = [&] { return runtime_profile{plugins, "mine"}; };

  const error unknown = refused(profile_of().enable("PrioritySort").enable("NodeResourceFit").table());
  CHECK(unknown.code == errc::unknown);
  CHECK(unknown.object == "plugin NodeResourceFit");
  const error twice = refused(profile_of().enable("PrioritySort").enable("NodePorts").enable("NodePorts").table());
  CHECK(twice.code == errc::duplicate);
  CHECK(twice.object == "profile mine");
  const error none = refused(profile_of().enable("NodePorts").table());
  CHECK(none.code == errc::malformed);
  CHECK(none.field == "plugins");
  CHECK(refused(profile_of().enable("PrioritySort").enable("SecondSort").table()).code == errc::malformed);
  CHECK(refused(profile_of().enable("PrioritySort").disable("PrioritySort", point::queue_sort).table()).code ==
        errc::malformed);
  const error negative = refused(profile_of().enable("PrioritySort").enable("NodeResourcesFit", -1).table());
  CHECK(negative.code == errc::out_of_range);
  CHECK(negative.field == "NodeResourcesFit.weight");
  CHECK(refused(profile_of().enable("PrioritySort").enable("WantsArguments").table()).field == "args");
  CHECK(
      refused(profile_of().enable("PrioritySort").enable("NodePorts", 1, argument::fields{{"a", 1}}).table()).reason ==
      "takes no arguments");
  const error bad = refused(profile_of()
                                .enable("PrioritySort")
                                .enable("NodeResourcesFit", 1, argument::fields{{"scoringStrategie", 1}})
                                .table());
  CHECK(bad.object == "plugin NodeResourcesFit");

  // And the whole one runs.
  auto table = profile_of()
                   .enable("PrioritySort")
                   .enable("NodePorts")
                   .enable("NodeResourcesFit", 7)
                   .disable("NodePorts")
                   .table();
  REQUIRE(table);
  CHECK(table->scheduler_name == "mine");
  world w{*table};
  w.add(a_node{"n"}.cpu(1).memory("1Gi"));
  w.add(a_pod{"web"}.port(80).on(w.node("n")));
  a_pod pod = a_pod{"p"}.port(80);
  pod.spec.scheduler_name = "mine";
  w.add(pod);
  const cycle done = w.scheduler.schedule_cycle(0s);
  REQUIRE(done.decisions().size() == 1);
  CHECK(done.decisions()[0].kind == decision_kind::bind);
  CHECK(done.decisions()[0].score % 7 == 0);
}

}  // namespace gangsched::testing::scheduler_errors_test
