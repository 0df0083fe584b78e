#pragma once
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "gangsched/model/spec.hpp"
#include "gangsched/scheduling/options.hpp"
#include "support/dice.hpp"

/// What happens in a differential test, by names: a step whose object is not there (any more) is passed over, so that steps can be
/// dropped from a failing sequence one by one.
namespace gangsched::testing {

struct put_node {  ///< add or update
  node_spec spec;
};
struct remove_node {
  std::string name;
};
struct put_pod {  ///< add or update
  pod_spec spec;
  std::string group, node, nominated;  ///< by name; empty: none
};
struct remove_pod {
  std::string ns, name;
};
struct end_pod {  ///< set_terminating
  std::string ns, name;
};
struct put_group {
  group_spec spec;
};
struct remove_group {
  std::string name;
};
struct pass_time {
  instant by{};
};
struct run_cycles {};   ///< while (schedule_cycle(now)) …
struct ask_permit {};   ///< permit(now)
struct tell_outcomes {  ///< what became of the binds handed out so far; the rest stays open
  std::uint64_t seed = 0;
  unsigned confirm = 100, fail = 0;  ///< percent
};
struct word_on_waiting {  ///< the host's own allow or reject of somebody in the permit room
  std::uint64_t seed = 0;
  bool allow = true;
};
using step = std::variant<put_node, remove_node, put_pod, remove_pod, end_pod, put_group, remove_group, pass_time,
                          run_cycles, ask_permit, tell_outcomes, word_on_waiting>;

struct scenario {
  std::uint64_t seed = 0;
  unsigned profile = 0;
  scheduler_options options;
  std::vector<step> steps;
};

/// What a random scenario is made of.
struct mix {
  std::size_t nodes = 6, pods = 14, groups = 2, rounds = 5;
  bool permit_gangs = true, group_cycles = true, nominations = true;
};

[[nodiscard]] scenario make_scenario(std::uint64_t seed, unsigned profile, const mix& of);
[[nodiscard]] std::string to_text(const step& what);
[[nodiscard]] std::string to_text(const scenario& all);

}  // namespace gangsched::testing
