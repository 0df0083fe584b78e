#include <functional>
#include <new>
#include <optional>
#include <utility>

#include "gangsched/framework/profile.hpp"
#include "memory/full_house.hpp"
#include "support/catch.hpp"
#include "support/inside.hpp"

namespace gangsched::testing::scheduler_calls_test {

struct call {
  const char* name;
  std::function<void(full_house&)> before;  ///< what happens first
  std::function<void(full_house&)> make;
  bool same = true;  ///< as many pods find a node as if nothing had failed
};

using profile_maker = std::function<kernel_table()>;

/// Takes one of each node, and a licence, for each pod.
struct taker {
  static constexpr std::string_view name = "Taker";
  using points = implements<point::reserve>;
  node_column taken;
  scope_column licences;

  void attach(column_maker& columns) {
    taken = columns.make_node_column();
    licences = columns.make_scope_column("licences", "taken");
  }
  status reserve(const new_reservation& r) { return r.add(taken, 1), r.add(licences, "matlab", 1), status::success(); }
  void unreserve(const reservation&) noexcept {}
};
kernel_table with_taker() {
  kernel_table made = profiles::kube_default();
  add_plugin(made, lower(taker{}));
  return made;
}

/// One queue a namespace; who asks for 50 cores or more is refused.
struct gatekeeper {
  static constexpr std::string_view name = "Gatekeeper";
  using points = implements<point::admission, point::queue_order>;
  static constexpr bool ignores_group_identity = true;

  status admit(const pod_info& pod, const cluster_view&) const {
    return pod.request(kinds::cpu) < 50000 ? status::success() : status::unschedulable("too large");
  }
  status admit(const group_view& group, const cluster_view& cluster) const {
    status said;
    group.each_pod_below([&](const pod_info& pod) { said = said.ok() ? admit(pod, cluster) : said; });
    return said;
  }
  symbol queue_of(const pod_info& pod) const { return pod.spec().ns; }
  bool queue_before(const queue_head& a, const queue_head& b, const cluster_view&) const {
    return a.priority > b.priority;
  }
};
kernel_table with_gatekeeper() {
  kernel_table made = profiles::kube_default();
  add_plugin(made, lower(gatekeeper{}));
  return made;
}

/// Scores by amounts, node by node: not by blocks of nodes, and not so that answers are kept.
struct emptier {
  static constexpr std::string_view name = "Emptier";
  using points = implements<point::score>;

  std::int64_t score(const pod_view&, node_view<reads::allocatable | reads::usage> node) const {
    return node.free(kinds::cpu) >= 2000 ? max_node_score : 0;
  }
};
kernel_table with_emptier() {
  kernel_table made = profiles::kube_default();
  add_plugin(made, lower(emptier{}));
  return made;
}

void cycle_of(full_house& house) { static_cast<void>(house.scheduler->schedule_cycle(house.now)); }

/// How many pods have a node when nobody is active any more, now and after a while.
std::size_t placed(full_house& house) {
  house.run();
  house.now += std::chrono::seconds{30};
  house.run();
  std::size_t count = 0;
  for (const pod_id pod : house.cluster.pods()) count += house.cluster.node_of(pod) ? 1u : 0u;
  return count;
}

/// Whether the call comes to its end although the n-th allocation fails. If not, the cluster is as it was, everybody is accounted for, and
/// what waits finds its place as it would have.
bool succeeds(const call& of, const scheduler_options& options, const profile_maker& profile, long nth,
              failing_allocation::how how, std::size_t expected) {
  full_house house{options, profile()};
  of.before(house);
  const std::uint64_t before = inside(house.cluster).digest_with_derived();
  const auto tried = house.scheduler->in_flight().size();
  const queue_counts stood = house.scheduler->counts();
  INFO(of.name << ", allocation " << nth << (how == failing_allocation::how::once ? " alone" : " and all after it"));
  const bool failed = fails_at(house, nth, how, [&] { of.make(house); });
  if (!failed) return true;
  REQUIRE(inside(house.cluster).digest_with_derived() == before);
  REQUIRE(house.scheduler->in_flight().size() == tried);
  REQUIRE(house.scheduler->counts().waiting == stood.waiting);
  of.make(house);
  full_house::must(house.scheduler->catch_up(house.now));
  house.check_accounts();
  const std::size_t found = placed(house);
  house.check_accounts();
  if (of.same) REQUIRE(found == expected);
  return false;
}

void fails_everywhere(const call& of, const scheduler_options& options,
                      const profile_maker& profile = profiles::kube_default) {
  full_house twin{options, profile()};
  of.before(twin);
  of.make(twin);
  const std::size_t expected = placed(twin);
  for (const auto how : {failing_allocation::how::from_then_on, failing_allocation::how::once}) {
    long nth = 1;
    while (!succeeds(of, options, profile, nth, how, expected)) nth += how == failing_allocation::how::once ? 5 : 1;
  }
}

void nothing(full_house&) {}

const std::vector<call>& calls() {
  static const std::vector<call> all{
      {"making one", nothing,
       [](full_house& h) {
         gangsched::scheduler{h.cluster, profiles::kube_default()};
       }},
      {"schedule_cycle, a pod",
       [](full_house& h) { static_cast<void>(full_house::must(h.cluster.add_pod(full_house::clothed("new")))); },
       cycle_of},
      {"schedule_cycle, a pod that fits nowhere",
       [](full_house& h) {
         static_cast<void>(full_house::must(h.cluster.add_pod(a_pod{"new"}.cpu(77).label("a-label", "value"))));
       },
       cycle_of},
      {"schedule_cycle, preemption",
       [](full_house& h) {
         for (int i = 0; i < 4; ++i) {
           const node_id node = h.nodes[static_cast<std::size_t>(i)];
           const std::int64_t left = h.cluster.allocatable(node, "cpu") - h.cluster.requested(node, "cpu");
           static_cast<void>(
               full_house::must(h.cluster.add_pod(a_pod{"filler-" + std::to_string(i)}.cpu_milli(left).on(node))));
         }
         static_cast<void>(full_house::must(h.cluster.add_pod(a_pod{"new"}.cpu(2).priority_class("high"))));
       },
       cycle_of, false},
      {"schedule_cycle, a gang",
       [](full_house& h) {
         group_spec made = full_house::gang_of("new", 3);
         made.topology.within = {"rack"};
         const group_id group = full_house::must(h.cluster.add_group(made));
         static_cast<void>(full_house::must(h.cluster.add_pods(a_pod{"x"}.cpu(1).milli(500).in(group),
                                                               std::vector<std::string>{"new-0", "new-1", "new-2"})));
       },
       cycle_of},
      {"schedule_cycle, a gang that fits nowhere",
       [](full_house& h) {
         const group_id group = full_house::must(h.cluster.add_group(full_house::gang_of("new", 3)));
         static_cast<void>(full_house::must(
             h.cluster.add_pods(a_pod{"x"}.cpu(7).in(group), std::vector<std::string>{"new-0", "new-1", "new-2"})));
         static_cast<void>(full_house::must(h.cluster.add_pod(a_pod{"new-3"}.cpu(6).in(group))));
       },
       cycle_of},
      {"schedule_cycle, the last one of a gang in the permit room",
       [](full_house& h) { static_cast<void>(full_house::must(h.cluster.add_pod(a_pod{"wait-2"}.cpu(1).in(h.wait)))); },
       cycle_of},
      {"schedule_cycle, waits that end", [](full_house& h) { h.now += std::chrono::minutes{10}; }, cycle_of},
      {"schedule_cycle, a node that went",
       [](full_house& h) { static_cast<void>(full_house::must(h.cluster.remove_node(h.nodes[2]))); }, cycle_of},
      {"permit, a gang that is complete",
       [](full_house& h) {
         static_cast<void>(full_house::must(h.cluster.add_pod(a_pod{"wait-2"}.cpu(1).in(h.wait))));
         cycle_of(h);
       },
       [](full_house& h) { static_cast<void>(h.scheduler->permit(h.now)); }},
      {"permit, waits that end", [](full_house& h) { h.now += std::chrono::minutes{10}; },
       [](full_house& h) { static_cast<void>(h.scheduler->permit(h.now)); }},
      {"confirm", nothing, [](full_house& h) { static_cast<void>(h.scheduler->confirm(h.free[0])); }},
      {"fail", nothing,
       [](full_house& h) {
         static_cast<void>(h.scheduler->fail(h.free[0], "a reason that is long enough to be somewhere"));
       }},
      {"fail, in the permit room", nothing,
       [](full_house& h) {
         static_cast<void>(h.scheduler->fail(h.waiting[0], "a reason that is long enough to be somewhere"));
       }},
      {"fail, a gang that fails as one",
       [](full_house& h) {
         group_spec made = full_house::gang_of("new", 3);
         std::get<gang>(made.policy).atomic = true;
         const group_id group = full_house::must(h.cluster.add_group(made));
         const std::vector<std::string> names{"new-0", "new-1", "new-2"};
         const auto pods = full_house::must(h.cluster.add_pods(a_pod{"x"}.milli(500).in(group), names));
         h.run();
         for (const pod_id pod : pods) REQUIRE(h.cluster.state_of(pod) == pod_state::assumed);
         full_house::must(h.scheduler->confirm(pods[0]));
       },
       [](full_house& h) {
         const pod_id failed = h.cluster.find_pod("default", "new-1").value();
         const cycle said = h.scheduler->fail(failed, "a reason that is long enough to be somewhere");
         REQUIRE(said.error() == nullptr);
         REQUIRE(said.decisions().size() == 2);  // one is evicted, one is revoked
       }},
      {"reject", nothing,
       [](full_house& h) {
         static_cast<void>(h.scheduler->reject(h.waiting[0], "a reason that is long enough to be somewhere"));
       }},
      {"restore", nothing,
       [](full_house& h) {
         static_cast<void>(h.scheduler->restore(h.hopeless, {3, h.now}));
       }},
      {"catch_up",
       [](full_house& h) {
         static_cast<void>(full_house::must(
             h.cluster.add_pods(a_pod{"x"}.cpu(1), std::vector<std::string>{"new-0", "new-1", "new-2"})));
         full_house::must(h.cluster.remove_pod(h.single));
       },
       [](full_house& h) { static_cast<void>(h.scheduler->catch_up(h.now)); }},
      {"pop", [](full_house& h) { static_cast<void>(full_house::must(h.cluster.add_pod(a_pod{"new"}.cpu(1)))); },
       [](full_house& h) { static_cast<void>(h.scheduler->pop(h.now)); }},
      {"add_unschedulable", [](full_house& h) { static_cast<void>(full_house::must(h.scheduler->pop(h.now))); },
       [](full_house& h) {
         const pod_id pod = h.scheduler->in_flight().front().pod;
         static_cast<void>(h.scheduler->add_unschedulable(pod, {{"NodeResourcesFit"}, {}}, h.now));
       },
       false},
      {"done, placed by the host",
       [](full_house& h) {
         const auto tried = full_house::must(h.scheduler->pop(h.now));
         full_house::must(h.cluster.assume(tried.value().pod, h.nodes[1]));
       },
       [](full_house& h) { full_house::must(h.scheduler->done(h.scheduler->in_flight().front().pod)); }},
      {"done, a group that somebody joined",
       [](full_house& h) {
         const group_id group = full_house::must(h.cluster.add_group(full_house::gang_of("new", 2)));
         const a_pod member = a_pod{"x"}.cpu(1).priority(50).in(group);
         static_cast<void>(full_house::must(h.cluster.add_pods(member, std::vector<std::string>{"new-0", "new-1"})));
         REQUIRE(full_house::must(h.scheduler->pop(h.now)).value().group == group);
         static_cast<void>(full_house::must(h.cluster.add_pod(a_pod{"new-2"}.cpu(1).priority(50).in(group))));
         full_house::must(h.scheduler->catch_up(h.now));
       },
       [](full_house& h) { full_house::must(h.scheduler->done(h.scheduler->in_flight().front().group)); }},
      {"activate", nothing,
       [](full_house& h) { static_cast<void>(h.scheduler->activate(std::vector{h.hopeless}, h.now)); }},
      {"flush_backoff", [](full_house& h) { h.now += std::chrono::seconds{5}; },
       [](full_house& h) { static_cast<void>(h.scheduler->flush_backoff(h.now)); }},
      {"flush_unschedulable", [](full_house& h) { h.now += std::chrono::minutes{6}; },
       [](full_house& h) { static_cast<void>(h.scheduler->flush_unschedulable(h.now)); }},
      {"plan_moves",
       [](full_house& h) {
         const group_id group = full_house::must(h.cluster.add_group(full_house::gang_of("new", 2)));
         static_cast<void>(full_house::must(
             h.cluster.add_pods(a_pod{"x"}.cpu(7).in(group), std::vector<std::string>{"new-0", "new-1"})));
         h.run();
       },
       [](full_house& h) {
         static_cast<void>(h.scheduler->plan_moves(h.cluster.find_group("default", "new").value()));
       }},
      {"verify", nothing, [](full_house& h) { static_cast<void>(h.scheduler->verify()); }},
  };
  return all;
}

TEST_CASE(
    "a call of the scheduler for which there is no memory leaves the cluster as it was and everybody accounted for") {
  for (const call& one : calls()) {
    DYNAMIC_SECTION(one.name) { fails_everywhere(one, {}); }
  }
}

TEST_CASE("so it does with the queue of kube-scheduler") {
  for (const call& one : calls()) {
    DYNAMIC_SECTION(one.name) { fails_everywhere(one, with_kube_queue()); }
  }
}

TEST_CASE("so it does with what reserve hooks have noted in columns") {
  for (const call& one : calls()) {
    const std::string_view name = one.name;
    if (!name.starts_with("schedule_cycle") && !name.starts_with("permit") && !name.starts_with("fail") &&
        name != "catch_up")
      continue;
    DYNAMIC_SECTION(one.name) { fails_everywhere(one, {}, with_taker); }
  }
}

TEST_CASE("so it does with the first pod there is, and scores that are asked for node by node") {
  for (long nth = 1;; ++nth) {
    gangsched::cluster cluster;
    static_cast<void>(full_house::must(cluster.add_node(full_house::machine(0))));
    const pod_id pod = full_house::must(cluster.add_pod(a_pod{"first"}.cpu(1)));
    gangsched::scheduler scheduler{cluster, with_emptier()};
    failing_allocation fails{nth};
    try {
      static_cast<void>(scheduler.schedule_cycle(full_house::second));
    } catch (const std::bad_alloc&) {
    }
    if (!fails.stop()) break;
    static_cast<void>(scheduler.schedule_cycle(full_house::second));
    REQUIRE(cluster.state_of(pod) == pod_state::assumed);
  }
}

TEST_CASE("a scheduler that is not made for want of memory leaves no columns, and none with another's name goes") {
  for (long nth = 1;; ++nth) {
    gangsched::cluster cluster;
    full_house::must(cluster.add_scope_column("licences", "owned"));
    static_cast<void>(full_house::must(cluster.add_node(full_house::machine(0))));
    kernel_table profile = with_taker();
    const std::uint64_t before = inside(cluster).digest_with_derived();
    bool thrown = false;
    {
      failing_allocation fails{nth};
      try {
        gangsched::scheduler{cluster, std::move(profile)};
      } catch (const std::bad_alloc&) {
        thrown = true;
      }
    }
    REQUIRE(inside(cluster).columns.size() == (thrown ? 1 : 3));
    if (!thrown) break;
    REQUIRE(inside(cluster).digest_with_derived() == before);
  }
}

TEST_CASE("so it does with queues, and with who is refused at admission") {
  const scheduler_options options = GENERATE(scheduler_options{}, with_kube_queue());
  for (const call& one : calls()) {
    const std::string_view name = one.name;
    const bool about_queue = name.starts_with("schedule_cycle") || name == "restore" || name == "catch_up" ||
                             name == "pop" || name == "activate" || name.starts_with("flush");
    if (!about_queue) continue;
    DYNAMIC_SECTION(one.name) { fails_everywhere(one, options, with_gatekeeper); }
  }
}

TEST_CASE("a question of the scheduler for which there is no memory changes nothing") {
  const std::vector<std::pair<const char*, std::function<void(full_house&)>>> questions{
      {"explain", [](full_house& h) { static_cast<void>(h.scheduler->explain(h.hopeless)); }},
      {"explain, a group", [](full_house& h) { static_cast<void>(h.scheduler->explain(h.wait)); }},
      {"explain, a tree", [](full_house& h) { static_cast<void>(h.scheduler->explain(h.tree)); }},
      {"standing", [](full_house& h) { static_cast<void>(h.scheduler->standing(h.hopeless)); }},
      {"plan_moves", [](full_house& h) { static_cast<void>(h.scheduler->plan_moves(h.wait)); }},
      {"pending_plugins", [](full_house& h) { static_cast<void>(h.scheduler->pending_plugins(h.waiting[0])); }},
      {"in_flight", [](full_house& h) { static_cast<void>(h.scheduler->in_flight()); }},
  };
  for (const auto& [name, ask] : questions) {
    DYNAMIC_SECTION(name) {
      full_house house;
      ask(house);
      const std::uint64_t before = inside(house.cluster).digest_with_derived();
      const std::optional<instant> deadline = house.scheduler->next_deadline();
      bool failed = true;
      for (long nth = 1; failed; ++nth) {
        failing_allocation fails{nth};
        bool thrown = false;
        try {
          ask(house);
        } catch (const std::bad_alloc&) {
          thrown = true;
        }
        failed = fails.stop();
        REQUIRE(thrown == failed);
        REQUIRE(inside(house.cluster).digest_with_derived() == before);
        REQUIRE(house.scheduler->next_deadline() == deadline);  // nobody is to be tried anew
      }
      house.check_accounts();
      full_house other;
      ask(other);
      other.check_accounts();
      for (full_house* one : {&house, &other}) {
        full_house::must(one->cluster.add_pod(a_pod{"later"}.cpu(1)));
        one->run();
      }
      CHECK(house.scheduler->statistics().decisions == other.scheduler->statistics().decisions);
      CHECK(inside(house.cluster).digest_with_derived() == inside(other.cluster).digest_with_derived());
    }
  }
}

}  // namespace gangsched::testing::scheduler_calls_test
