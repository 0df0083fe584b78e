// Queues that are named before anybody adds them, as every policy of queues meets them.
#include "gangsched/model/cluster_queues.hpp"
#include "world.hpp"

namespace gangsched::testing::expected_queues_test {

TEST_CASE("a pod that is the first to name a queue waits for it, whatever the policy", "[engine][queues]") {
  const std::vector<kernel_table> policies{
      profile{priority_sort{}, node_resources_fit{}, fair_share_policy{}},
      profile{priority_sort{}, node_resources_fit{}, capacity_scheduling_policy{}},
      profile{priority_sort{}, node_resources_fit{}, elastic_quota_policy{}},
      profile{node_resources_fit{}, kai_policy{}},
  };
  for (std::size_t i = 0; i < 2 * policies.size(); ++i) {
    const std::size_t policy = i / 2;
    const bool in_group = i % 2 != 0;
    CAPTURE(policy, in_group);
    world w{policies[policy]};
    w.add(a_node{"n"}.cpu(2));
    queue_spec known{
        .name = "known", .quotas = {{.guaranteed = {{"cpu", 1}}, .limit = {{"cpu", 2}}}}, .namespaces = {"default"}};
    w.must(w.cluster.queues().add(known));
    const auto ask = [&](const char* name, const char* queue, group_id group = {}) {
      pod_spec spec = a_pod{name}.cpu(1);
      spec.group = group;
      spec.queue = queue;
      return w.add(spec);
    };
    ask("first", "known");
    CHECK(w.run(true) == words{"bind first n"});
    // One that comes and goes unseen, and another in its place.
    w.must(w.cluster.remove_pod(ask("gone", "never-there")));
    a_gang made{"g"};
    made.spec.policy = basic{};
    const group_id group = in_group ? w.add(made) : group_id{};
    const pod_id early = ask("early", "not-there-yet", group);
    CHECK(w.scheduler.explain(early).has_value());
    CHECK(std::ranges::count(w.run(), "reject early") > 0);
    known.name = "not-there-yet";
    known.namespaces.clear();
    w.must(w.cluster.queues().add(known));
    CHECK(w.run() == words{"bind early n"});
    CHECK(w.scheduler.verify());
  }
}

}  // namespace gangsched::testing::expected_queues_test
