#include <bit>
#include <string>
#include <vector>

#include "gangsched/model/cluster.hpp"
#include "gangsched/model/cluster_queues.hpp"
#include "gangsched/policies/kueue_local_usage.hpp"
#include "gangsched/scheduling/run_time_estimates.hpp"
#include "memory/fails_without_memory.hpp"
#include "support/builders.hpp"
#include "support/catch.hpp"

// What stands beside a scheduler and remembers what happened.
namespace gangsched::testing::estimates_and_local_usage_test {

using namespace std::chrono_literals;
using keys = std::vector<std::string_view>;

namespace {

struct few_keys {
  run_time_estimates learns;

  explicit few_keys(std::size_t most = 2) : learns{{.remembered = 2, .fewest = 1, .most_keys = most}} {
    for (const char* const key : {"a key of more than some length", "another key of more than some length"})
      for (const instant ran : {instant{1s}, instant{2s}}) learns.ended(keys{key}, ran);
  }
  [[nodiscard]] std::string state() const {
    std::string text;
    for (const run_time_estimates::learnt& one : learns.save()) {
      text += one.key + ":";
      for (const instant run : one.runs) text += " " + std::to_string(run.count());
      text += "\n";
    }
    return text;
  }
};
struct one_key : few_keys {
  one_key() : few_keys{1} {}
};

/// A queue that goes by what its namespaces used, with a pod in each of two of them.
struct two_spaces {
  gangsched::cluster cluster;
  kueue_local_usage usage{{.queues = {"team"}, .decay = {.half_life = 1h, .sampling_interval = 1min}}};
  std::vector<pod_id> pods;

  two_spaces() {
    cluster.queues().add({.name = "team", .quotas = {{.guaranteed = {{"nvidia.com/gpu", 4}}}}}).value();
    const node_id node = cluster.add_node(a_node{"n"}.cpu(64).gpus(8)).value();
    usage.advance(cluster, 0s).value();
    for (const char* const ns :
         {"a-namespace-of-more-than-some-length", "another-namespace-of-more-than-some-length"}) {
      a_pod one{ns};
      one.gpus(2).on(node).spec.queue = "team";
      one.spec.ns = ns;
      pods.push_back(cluster.add_pod(one).value());
    }
  }
  [[nodiscard]] std::string words() const {
    std::string text;
    for (const queues::kueue::local_queue_spec& one : usage.local_queues()) {
      text += one.queue + "/" + one.name + " " + std::to_string(one.weight);
      for (const auto& [name, amount] : one.consumed) text += " " + name + " " + std::to_string(amount);
      text += "\n";
    }
    return text;
  }
  /// What is counted of them once the call succeeds, and what is left of it when they have gone.
  [[nodiscard]] std::vector<std::string> outcome(long nth) {
    failing_allocation no_memory{nth};
    try {
      usage.advance(cluster, 10s).value();
    } catch (const std::bad_alloc&) {
    }
    failed = no_memory.stop();
    usage.advance(cluster, 10s).value();
    usage.advance(cluster, 1h).value();
    std::vector<std::string> all{words()};
    for (const pod_id pod : pods) cluster.remove_pod(pod).value();
    usage.advance(cluster, 2h).value();
    usage.advance(cluster, 12h).value();
    all.push_back(words());
    return all;
  }
  bool failed = false;
};

}  // namespace

TEST_CASE("run times that there is no memory to learn are not learnt, and nothing is forgotten for them") {
  CHECK(fails_without_memory<few_keys>(
            [](few_keys& on) { on.learns.ended(keys{"a new key of more than some length"}, 5s); }) > 0);
  CHECK(fails_without_memory<few_keys>([](few_keys& on) {
          on.learns.ended(keys{"another key of more than some length", "a new key of more than some length",
                               "a key of more than some length"},
                          5s);
        }) > 0);
  CHECK(fails_without_memory<one_key>(
            [](one_key& on) { on.learns.ended(keys{"a new key of more than some length"}, 5s); }) > 0);
}

TEST_CASE("what namespaces use is counted once, however often there was no memory to count it") {
  const std::vector<std::string> expected = two_spaces{}.outcome(1'000'000);
  for (long nth = 1;; ++nth) {
    CAPTURE(nth);
    two_spaces w;
    const std::vector<std::string> is = w.outcome(nth);
    CHECK(is == expected);
    if (!w.failed) break;
    REQUIRE(nth < 10'000);
  }
}

}  // namespace gangsched::testing::estimates_and_local_usage_test
