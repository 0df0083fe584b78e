#pragma once
#include <optional>
#include <string>

#include "world.hpp"

/// Pods that say how long they run and may wait, for tests of the orders and words that go by that.
namespace gangsched::testing::timed_jobs {

struct job {
  std::string name;
  instant runs{0};
  std::optional<instant> deadline = {};
  instant max_wait{0};
  std::int32_t priority = 0;
  std::int64_t cpus = 1;
  group_id group = {};
  operator pod_spec() const {
    pod_spec made = a_pod{name}.cpu(cpus);
    made.expected_run_time = runs, made.deadline = deadline, made.max_wait = max_wait, made.priority = priority;
    made.group = group;
    return made;
  }
};

/// Who was bound, in order.
inline words bound(const words& said) {
  words names;
  for (const std::string& one : said)
    if (one.starts_with("bind ")) names.push_back(one.substr(5, one.find(' ', 5) - 5));
  return names;
}

/// The scheduler hears of what happened.
inline void hear(world& w) { w.must(w.scheduler.catch_up(w.now)); }

}  // namespace gangsched::testing::timed_jobs
