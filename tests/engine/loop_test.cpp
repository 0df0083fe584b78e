// Whatever plugins and hosts do: the host's loop ends, next_deadline is exactly when something changes, and books balance.
#include "world.hpp"

#include "support/dice.hpp"
#include "support/inside.hpp"

namespace gangsched::testing::loop_test {

namespace {

/// Does in every hook what the pod's labels say.
struct obedient {
  static constexpr std::string_view name = "Obedient";
  using points = implements<point::filter, point::reserve, point::permit, point::pre_bind>;
  node_column held;

  void attach(column_maker& columns) { held = columns.make_node_column(); }
  static status say(const pod_info& pod, const char* where) {
    const auto what = pod.label(where);
    if (what == "no") return status::unschedulable("told to");
    return what == "error" ? status::error("told to fail") : status::success();
  }
  [[nodiscard]] status filter(const pod_info& pod, node_info) const { return say(pod, "filter"); }
  status reserve(const new_reservation& r) { return r.add(held, 1), say(r.pod, "reserve"); }
  void unreserve(const reservation&) noexcept {}
  permit_verdict permit(const reservation& r, permit_room& room) {
    if (r.pod.label("permit") == "wait") return {status::wait(), std::chrono::seconds{7}};
    if (r.pod.label("permit") == "never") return {status::wait(), instant{0}};
    if (r.pod.label("permit") == "open") {
      const std::vector<pod_id> all{room.waiting().begin(), room.waiting().end()};
      for (const pod_id pod : all) room.allow(pod);
    }
    return {say(r.pod, "permit")};
  }
  status pre_bind(const reservation& r, decision&) { return say(r.pod, "bind"); }
};

/// A host that does as it likes.
class careless_host {
 public:
  careless_host(std::uint64_t seed, const scheduler_options& options, bool with_plugin)
      : roll_(seed), plugin_(with_plugin), w_(table(with_plugin), options) {
    for (int i = 0; i < 4; ++i) w_.add(a_node{"n" + std::to_string(i)}.cpu(roll_.between(2, 6)));
    for (int i = 0; i < 4; ++i) {
      a_gang gang{"g" + std::to_string(i), static_cast<std::int32_t>(roll_.between(1, 4))};
      if (i % 2 == 1) gang.permit();
      w_.add(gang.timeout(std::chrono::seconds{roll_.between(1, 20)}).atomic(roll_.percent(30)));
    }
    w_.add(group_spec{.name = "g4"});
  }

  void step() {
    const std::vector<pod_id> pods = w_.cluster.pods();
    const std::size_t what = roll_.below(12);
    if (what < 5 || pods.empty()) return add_pod();
    const pod_id pod = pods[roll_.below(pods.size())];
    if (what == 5) return w_.remove(pod);
    if (what == 6) return static_cast<void>(w_.scheduler.confirm(pod).has_value());
    if (what == 7) return static_cast<void>(w_.scheduler.fail(pod, "so there").error());
    if (what == 8) {
      static_cast<void>((roll_.percent(50) ? w_.scheduler.allow(pod) : w_.scheduler.reject(pod, "no")).has_value());
      return;
    }
    if (what == 9) return static_cast<void>(w_.cluster.set_terminating(pod).has_value());
    if (what == 10) {
      const std::string name = "n" + std::to_string(roll_.below(4));
      return w_.must(w_.cluster.update_node(w_.node(name), a_node{name}.cpu(roll_.between(1, 6))));
    }
    w_.now += std::chrono::milliseconds{roll_.between(0, 5000)};
  }

  /// The loop and the room, to the end.
  words settle() {
    words all;
    for (int cycles = 0;; ++cycles) {
      REQUIRE(cycles < 3000);
      const cycle done = w_.scheduler.schedule_cycle(w_.now);
      REQUIRE((done.error() == nullptr || done.error()->code == errc::contract));
      for (const std::string& one : w_.said(done.decisions())) all.push_back(one);
      if (!done) break;
    }
    const cycle verdicts = w_.scheduler.permit(w_.now);
    REQUIRE((verdicts.error() == nullptr || verdicts.error()->code == errc::contract));
    for (const std::string& one : w_.said(verdicts.decisions())) all.push_back(one);
    return all;
  }

  /// Nothing happens before the deadline, and something at it.
  void check_deadline() {
    while (!settle().empty()) {
    }
    const places before = w_.counts();
    const std::optional<instant> next = w_.scheduler.next_deadline();
    if (next) {
      REQUIRE(*next > w_.now);
      w_.now = *next - 1ns;
    } else {
      w_.now += 100h;
    }
    REQUIRE(settle() == words{});
    REQUIRE(w_.counts() == before);
    REQUIRE(w_.scheduler.next_deadline() == next);
    if (!next) return;
    w_.now = *next;
    const words said = settle();
    CHECK(!said.empty());
  }

  /// What nodes have in use is what their pods hold, and so are the plugin's columns.
  void check_books() {
    static_cast<void>(w_.counts());
    for (const node_id node : w_.cluster.nodes()) {
      std::int64_t used = 0, held = 0;
      for (const pod_id pod : w_.cluster.pods()) {
        if (w_.cluster.node_of(pod) != node) continue;
        used += inside(w_.cluster).classes[inside(w_.cluster).pods.cls[pod.row]].request(kinds::cpu);
        ++held;
      }
      REQUIRE(w_.cluster.requested(node, "cpu") == used);
      if (plugin_) REQUIRE(inside(w_.cluster).columns.at(0, node.row) == held);
    }
    const std::vector<pod_id> pods = w_.cluster.pods();
    const std::size_t pending = static_cast<std::size_t>(std::count_if(pods.begin(), pods.end(), [&](pod_id pod) {
      return w_.cluster.state_of(pod) == pod_state::pending && !inside(w_.cluster).pods.terminating[pod.row];
    }));
    const places where = w_.counts();
    if (pending == 0)
      CHECK(where[0] + where[1] + where[2] + where[3] == 0);
    else
      CHECK(where[0] + where[1] + where[2] + where[3] > 0);
  }

 private:
  static kernel_table table(bool with_plugin) {
    kernel_table made = profiles::kube_default();
    if (with_plugin) add_plugin(made, lower(obedient{}));
    return made;
  }
  void add_pod() {
    a_pod pod{"p" + std::to_string(made_++)};
    pod.cpu(roll_.between(1, 3)).priority(static_cast<std::int32_t>(roll_.below(3)));
    const char* const answers[] = {"no", "error", "yes"};
    for (const char* where : {"filter", "reserve", "permit", "bind"}) {
      if (roll_.percent(10)) pod.label(where, answers[roll_.below(3)]);
    }
    if (roll_.percent(15)) pod.label("permit", roll_.percent(50) ? "wait" : roll_.percent(50) ? "never" : "open");
    if (roll_.percent(10)) pod.gate("g");
    if (roll_.percent(60)) pod.in(w_.cluster.find_group("default", "g" + std::to_string(roll_.below(5))).value());
    w_.add(pod);
  }

  dice roll_;
  bool plugin_;
  world w_;
  int made_ = 0;
};

}  // namespace

TEST_CASE("the host's loop ends, and the next deadline is exactly when something changes", "[engine][loop]") {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    scheduler_options options{.seed = seed};
    if (seed % 3 == 1) options.max_backoff = instant{0};
    if (seed % 5 == 1) options.wake = wake_rule::all;
    if (seed % 4 == 1) options.holds = hold_rule::timers_only;
    careless_host host{seed, options, seed % 2 == 0};
    INFO("seed " << seed);
    for (int i = 0; i < 60; ++i) {
      host.step();
      if (i % 3 == 0) static_cast<void>(host.settle());
      if (i % 10 == 0) host.check_deadline();
      host.check_books();
    }
    for (int i = 0; i < 10; ++i) host.check_deadline();
    host.check_books();
  }
}

}  // namespace gangsched::testing::loop_test
