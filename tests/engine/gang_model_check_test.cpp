// Two or three small gangs and a few slots: every order of arrivals, cycles, permits, confirmations, failures and deadlines up to a
// depth, each followed to the end. gang_host checks the books after every step.
#include <algorithm>
#include <cstdlib>
#include <set>

#include "gang_host.hpp"
#include "support/catch.hpp"

namespace gangsched::testing::gang_model_check_test {

using namespace std::chrono_literals;

namespace {

enum class act : std::uint8_t { first_arrives, second_arrives, third_arrives, cycle, permit, confirm, fail, deadline };
constexpr act all_acts[] = {act::first_arrives, act::second_arrives, act::third_arrives, act::cycle,
                            act::permit,        act::confirm,        act::fail,          act::deadline};
const char* to_text(act what) {
  static const char* const names[] = {"0 arrives", "1 arrives", "2 arrives", "cycle",
                                      "permit",    "confirm",   "fail",      "deadline"};
  return names[static_cast<int>(what)];
}

struct small_world {
  std::string name;
  std::vector<gang_host::machine> machines;
  std::vector<gang_host::job> jobs;
  std::size_t depth = 24;    ///< longer than any path that leads to something new
  std::size_t failures = 0;  ///< at most so many on a path
};

gang_host::job gang_of(int members, gang_mode mode, int minimum = 0, bool atomic = false) {
  gang_host::job made;
  made.members = members;
  made.policy = {.min_count = minimum == 0 ? members : minimum, .mode = mode, .atomic = atomic};
  return made;
}

bool perform(gang_host& host, act what) {
  switch (what) {
    case act::first_arrives: return host.arrive(0);
    case act::second_arrives: return host.arrive(1);
    case act::third_arrives: return host.jobs() > 2 && host.arrive(2);
    case act::cycle: return host.cycle();
    case act::permit: return host.permit();
    case act::confirm: return host.confirm(0);
    case act::fail: return host.fail(0);
    case act::deadline: return host.wait_for_deadline(host.now() + 20s);
  }
  return false;
}

/// From wherever the host stands: everybody comes, everything is confirmed, whoever runs ends. What is wrong with the end, if anything.
std::optional<std::string> follow_to_the_end(gang_host& host, bool with_timers) {
  for (std::size_t j = 0; j < host.jobs(); ++j) {
    while (host.arrive(j)) {
    }
  }
  const instant patience = host.now() + (with_timers ? instant{1h} : instant{1min});
  for (int round = 0; round < 300; ++round) {
    host.run();
    host.permit();
    host.confirm_all();
    if (host.complaint()) return host.complaint();
    if (host.wait_for_deadline(std::min(patience, host.now() + 20s))) continue;
    // Nothing moves: with equal slots a younger incomplete gang holds nothing that an older one could have.
    bool older_waits = false;
    bool ended = false;
    for (std::size_t j = 0; j < host.jobs(); ++j) {
      if (host.finished(j) || host.stands(j)) continue;
      if (older_waits && host.holding(j) > host.running(j) && !with_timers)
        return "a younger gang holds while an older one waits";
      older_waits = true;
    }
    for (std::size_t j = 0; j < host.jobs() && !ended; ++j) {
      if (host.finished(j) || !host.runs(j)) continue;
      host.finish(j);
      ended = true;
    }
    if (!ended && !host.wait_for_deadline(patience)) break;
  }
  for (std::size_t j = 0; j < host.jobs(); ++j) {
    if (!host.finished(j)) return "job " + std::to_string(j) + " never had its turn";
  }
  return host.complaint();
}

class explorer {
 public:
  explorer(const small_world& of, const scheduler_options& options) : world_(of), options_(options) {}

  void explore() {
    std::vector<place> level;
    level.push_back({{}, gang_host{world_.machines, world_.jobs, options_}});
    for (std::size_t depth = 0; depth <= world_.depth; ++depth) {
      std::vector<place> next;
      for (const place& from : level) {
        for (const act what : all_acts) {
          if (what == act::fail &&
              static_cast<std::size_t>(std::count(from.path.begin(), from.path.end(), act::fail)) >= world_.failures)
            continue;
          place to{from.path, from.host.fork()};
          to.path.push_back(what);
          if (perform(to.host, what) && visit(to)) next.push_back(std::move(to));
        }
      }
      level = std::move(next);
    }
  }
  [[nodiscard]] std::size_t states() const { return seen_.size(); }

 private:
  struct place {
    std::vector<act> path;
    gang_host host;  ///< at its end
  };
  /// Whether it is a new one.
  bool visit(const place& to) {
    check(to.path, to.host, to.host.complaint());
    if (!seen_.insert(to.host.fingerprint()).second) return false;
    gang_host host = to.host.fork();
    check(to.path, host, follow_to_the_end(host, std::count(to.path.begin(), to.path.end(), act::fail) != 0));
    return true;
  }
  void check(const std::vector<act>& path, const gang_host& host, const std::optional<std::string>& wrong) const {
    if (wrong) FAIL(world_.name << ": " << *wrong << "\n  after " << in_words(path) << "\n  " << host.to_text());
  }
  static std::string in_words(const std::vector<act>& path) {
    std::string steps;
    for (const act what : path) steps += std::string{steps.empty() ? "" : ", "} + to_text(what);
    return steps;
  }

  const small_world& world_;
  scheduler_options options_;
  std::set<std::uint64_t> seen_;
};

void explore_all(const std::vector<small_world>& worlds) {
  for (const small_world& one : worlds) {
    for (const wake_rule wake : {wake_rule::one_per_class, wake_rule::all}) {
      scheduler_options options;
      options.wake = wake;
      explorer of{one, options};
      of.explore();
      INFO(one.name << ": " << of.states() << " states");
      CHECK(of.states() > 40);
    }
  }
}

constexpr gang_mode together = gang_mode::group_cycle;
constexpr gang_mode apart = gang_mode::permit;

}  // namespace

TEST_CASE("in every order of events two gangs placed member by member both get their turn, the older first",
          "[engine][gang][model]") {
  explore_all({{"2+2 on two machines", {{1}, {1}}, {gang_of(2, apart), gang_of(2, apart)}, 24},
               {"2+2 on one machine of three", {{3}}, {gang_of(2, apart), gang_of(2, apart)}, 24},
               {"3+2 on three machines", {{1}, {1}, {1}}, {gang_of(3, apart), gang_of(2, apart)}, 24},
               {"3+3 on a machine of three", {{3}}, {gang_of(3, apart), gang_of(3, apart)}, 24}});
}

TEST_CASE("in every order of events two gangs tried in one cycle both get their turn", "[engine][gang][model]") {
  explore_all({{"2+2 on two machines", {{1}, {1}}, {gang_of(2, together), gang_of(2, together)}, 24},
               {"3+3 on machines of two", {{2}, {2}}, {gang_of(3, together, 2), gang_of(3, together)}, 24}});
}

TEST_CASE("in every order of events gangs of both modes get their turn", "[engine][gang][model]") {
  explore_all({{"2 apart + 2 together", {{2}}, {gang_of(2, apart), gang_of(2, together)}, 24},
               {"2 together + 3 apart", {{1}, {2}}, {gang_of(2, together), gang_of(3, apart)}, 24}});
}

/// How many events, one after the other, three gangs are followed for: to the end of all orders where GANGSCHED_MODEL_CHECK is set, which
/// takes minutes.
std::size_t of_three() { return std::getenv("GANGSCHED_MODEL_CHECK") != nullptr ? 24 : 8; }

// Three apart from each other, so that they can be run at the same time.
TEST_CASE("in every order of events three gangs on three machines get their turn", "[engine][gang][model]") {
  explore_all({{"2+2+2 apart on three machines",
                {{1}, {1}, {1}},
                {gang_of(2, apart), gang_of(2, apart), gang_of(2, apart)},
                of_three()}});
}

TEST_CASE("in every order of events three gangs on four slots get their turn", "[engine][gang][model]") {
  explore_all({{"2+2+2 apart on four slots",
                {{2}, {2}},
                {gang_of(2, apart), gang_of(2, apart), gang_of(2, apart)},
                of_three()}});
}

TEST_CASE("in every order of events three gangs of both modes on two slots get their turn", "[engine][gang][model]") {
  explore_all(
      {{"2+2+2 mixed on two slots", {{2}}, {gang_of(2, apart), gang_of(2, together), gang_of(2, apart)}, of_three()}});
}

TEST_CASE("in every order of events with a machine that refuses a member, gangs get their turn",
          "[engine][gang][model]") {
  explore_all({{"2+2 apart", {{1}, {1}}, {gang_of(2, apart), gang_of(2, apart)}, 24, 1},
               {"2+2 together", {{1}, {1}}, {gang_of(2, together), gang_of(2, together)}, 24, 1},
               {"2+2 atomic", {{2}}, {gang_of(2, apart, 0, true), gang_of(2, together, 0, true)}, 24, 1}});
}

}  // namespace gangsched::testing::gang_model_check_test
