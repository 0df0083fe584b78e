#include <fmt/format.h>

#include <map>
#include <string>

#include "conformance/kai_world.hpp"

// kai-tests.jsonl: KAI's own table cases. A case becomes a cluster; its actions are run one after another, each by a scheduler with a
// profile that does no more than this; integration cases do so round after round. Then every task has to be as KAI's test wants it.
namespace gangsched::conformance {
namespace {

std::string family_of(const kube::value& recorded, bool fractions) {
  if (recorded.find("dra") != nullptr) return "DRA";
  const auto any_task = [&](std::string_view key) {
    return std::ranges::any_of(items(recorded.find("jobs")), [&](const kube::value& job) {
      return std::ranges::any_of(items(job.find("tasks")),
                                 [&](const kube::value& task) { return task.find(key) != nullptr; });
    });
  };
  if (any_task("migInstances") || any_task("legacyMig")) return "MIG";
  if (recorded.find("topologies") != nullptr) return "topology";
  return fractions ? "fractions" : "whole GPUs";
}

/// The first thing that is not as the test wants it; "" if all is.
std::string first_difference(const kai_world& world, const kube::value& want) {
  std::map<std::string, std::string> same_gpu;  // by the test's name
  const auto judge = [&](const kai_task& task, const kube::value& wanted) -> std::string {
    const auto differs = [&](std::string_view what, const std::string& expected, const std::string& got) {
      return fmt::format("{} of {}: expected {}, got {}", what, task.name, expected, got.empty() ? "none" : got);
    };
    const std::string status = text_of(wanted.find("status")), node = text_of(wanted.find("node"));
    if (status != task.status)
      return differs("status", status + (node.empty() ? "" : " on " + node), task.status + " " + task.node);
    if (!node.empty() && node != task.node) return differs("node", node, task.node);
    const std::vector<std::string> gpus = texts(wanted.find("gpuGroups"));
    if (gpus.empty() || task.gpus.empty() || !task.gpus_known) return {};
    if (gpus.size() != task.gpus.size())
      return differs("number of GPUs", std::to_string(gpus.size()), std::to_string(task.gpus.size()));
    for (std::size_t i = 0; i < gpus.size(); ++i) {
      const std::string its = task.node + "/" + task.gpus[i];
      if (same_gpu.try_emplace(task.node + "/" + gpus[i], its).first->second != its)
        return differs("GPU", same_gpu[task.node + "/" + gpus[i]], its);
    }
    return {};
  };
  for (const kai_job& job : world.jobs()) {
    const kube::value* of_job = want.find("jobs") == nullptr ? nullptr : want.find("jobs")->find(job.name);
    for (const kai_task& task : job.tasks) {
      const kube::value* of_task = want.find("tasks") == nullptr ? nullptr : want.find("tasks")->find(task.name);
      for (const kube::value* wanted : {of_job, of_task}) {
        if (wanted == nullptr) continue;
        if (std::string wrong = judge(task, *wanted); !wrong.empty()) return wrong;
      }
    }
  }
  return {};
}

}  // namespace

void run_kai_scheduling_case(const kube::value& recorded, const std::string& file, tally& into) {
  kai_world world{recorded, file};
  const std::string& id = text_field(recorded, "id", file);
  const kube::value& want = field(recorded, "want", file);
  const std::vector<std::string> actions = texts(recorded.find("actions"));
  const kube::value* rounds = recorded.find("rounds");
  std::string wrong;
  try {
    if (rounds == nullptr) {
      world.session();
      wrong = first_difference(world, want);
    } else {
      const auto count = [&](std::string_view key) { return static_cast<int>(number(rounds->find(key))); };
      for (int i = 0; i < count("before"); ++i) world.session(), world.next_round();
      wrong = first_difference(world, want);
      for (int i = 0; i < count("after") && wrong.empty(); ++i) {
        world.session(), world.next_round();
        wrong = first_difference(world, want);
        if (!wrong.empty()) wrong = fmt::format("after {} more rounds: {}", i + 1, wrong);
      }
    }
  } catch (const unreadable& not_made) {
    wrong = not_made.what();
  }
  const std::string level = fmt::format("{}, {}", actions.size() == 1 ? actions.front() : "integration",
                                        family_of(recorded, world.has_fractions()));
  const bool listed = into.exceptions.contains(id);
  into.levels[level].exceptions += listed && !wrong.empty() ? 1 : 0;
  into.compare(level, wrong.empty() != listed, [&] {
    return difference{id, text_of(recorded.find("name")), "", listed ? "another outcome, as listed" : "as wanted",
                      listed ? "as wanted" : wrong};
  });
}

}  // namespace gangsched::conformance
