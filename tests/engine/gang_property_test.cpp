// Gangs that together want more than there is: nobody holds half for ever, nothing is given back twice, the older one goes first.
#include <algorithm>

#include "gang_host.hpp"
#include "support/catch.hpp"
#include "support/dice.hpp"

namespace gangsched::testing::gang_property_test {

using namespace std::chrono_literals;

namespace {

struct crowd {
  std::vector<gang_host::machine> machines;
  std::vector<gang_host::job> jobs;
};

enum class modes : std::uint8_t { group_cycle, permit, mixed };

/// Jobs of which each fits alone, and any two of which together exceed the room.
crowd make_crowd(dice& roll, modes which, bool same_size) {
  crowd made;
  std::int64_t room = 0;
  for (std::size_t i = 1 + roll.below(4); i-- > 0;) {
    made.machines.push_back({roll.between(1, 4)});
    room += made.machines.back().slots;
  }
  if (room < 2) made.machines.push_back({2}), room += 2;
  for (std::size_t i = 2 + roll.below(3); i-- > 0;) {
    gang_host::job job;
    job.members = static_cast<int>(room / 2 + 1 +
                                   static_cast<std::int64_t>(roll.below(static_cast<std::size_t>(room - room / 2))));
    if (!same_size && roll.percent(30)) {  // fewer, bigger members; as many as fit
      job.slots = 2;
      job.members = 0;
      for (const auto& machine : made.machines) job.members += static_cast<int>(machine.slots / 2);
      if (2 * job.members <= room / 2) job.slots = 1, job.members = static_cast<int>(room);
    }
    job.policy.min_count = job.members;
    const bool permit = which == modes::permit || (which == modes::mixed && roll.percent(50));
    job.policy.mode = permit ? gang_mode::permit : gang_mode::group_cycle;
    job.policy.atomic = roll.percent(20);
    made.jobs.push_back(job);
  }
  return made;
}

/// Confirms what is open; here and there a machine says no.
void tell_outcomes(gang_host& host, dice& roll, unsigned failures) {
  while (host.open() != 0) {
    if (roll.percent(failures))
      host.fail(roll.below(host.open()));
    else
      host.confirm(roll.below(host.open()));
  }
}

void serve(gang_host& host, dice& roll, unsigned failures) {
  for (int i = 0; i < 4; ++i) {
    host.run();
    host.permit();
    tell_outcomes(host, roll, failures);
  }
}

/// Incomplete gangs that hold something.
int half_holders(const gang_host& host) {
  int count = 0;
  for (std::size_t j = 0; j < host.jobs(); ++j)
    count += !host.finished(j) && !host.stands(j) && host.holding(j) > 0 ? 1 : 0;
  return count;
}

std::string describe(std::uint64_t seed, const gang_host& host) {
  return "seed " + std::to_string(seed) + ": " + host.complaint().value_or("") + "; " + host.to_text();
}

void arrive_in_random_order(gang_host& host, dice& roll, unsigned failures) {
  for (bool more = true; more;) {
    more = false;
    for (std::size_t tries = 2 * host.jobs(); tries-- > 0;) more = host.arrive(roll.below(host.jobs())) || more;
    for (std::size_t j = 0; j < host.jobs(); ++j) more = more || !host.all_there(j);
    if (roll.percent(60)) host.run();
    if (roll.percent(30)) host.permit();
    if (roll.percent(40)) tell_outcomes(host, roll, failures);
    if (roll.percent(30)) host.wait_for_deadline(host.now() + 5s);
  }
}

void nobody_starves(modes which, std::uint64_t seeds, unsigned failures, instant patience = 2min) {
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    dice roll{seed};
    const crowd people = make_crowd(roll, which, false);
    scheduler_options options;
    options.seed = seed;
    options.ties = static_cast<tie_rule>(roll.below(3));
    options.wake = roll.percent(50) ? wake_rule::all : wake_rule::one_per_class;
    gang_host host{people.machines, people.jobs, options};
    arrive_in_random_order(host, roll, failures);

    // Whoever runs ends after a while; then everybody gets their turn.
    const instant end = host.now() + patience;
    for (int round = 0; round < 200; ++round) {
      for (std::size_t j = 0; j < host.jobs(); ++j) {
        while (host.arrive(j)) {  // in place of evicted members
        }
      }
      serve(host, roll, 0);
      bool someone_ended = false;
      for (std::size_t j = 0; j < host.jobs() && !someone_ended; ++j) {
        if (host.finished(j) || !host.runs(j)) continue;
        host.finish(j);
        someone_ended = true;
      }
      if (!someone_ended && !host.wait_for_deadline(end)) break;
    }
    INFO(describe(seed, host));
    REQUIRE(!host.complaint());
    for (std::size_t j = 0; j < host.jobs(); ++j) REQUIRE(host.finished(j));
  }
}

}  // namespace

TEST_CASE("gangs tried in one cycle all get their turn, whatever the order of arrival", "[engine][gang][property]") {
  nobody_starves(modes::group_cycle, 400, 0);
}

TEST_CASE("gangs placed member by member all get their turn without any timeout", "[engine][gang][property]") {
  nobody_starves(modes::permit, 400, 0);
}

TEST_CASE("gangs of both modes beside each other all get their turn", "[engine][gang][property]") {
  nobody_starves(modes::mixed, 400, 0);
}

TEST_CASE("gangs all get their turn although machines sometimes refuse a member", "[engine][gang][property]") {
  // A gang that has lost one of its running members cannot give the others' room back: it goes first.
  nobody_starves(modes::mixed, 300, 15);
}

TEST_CASE("when nobody is active any more, only one incomplete gang holds anything", "[engine][gang][property]") {
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    dice roll{seed};
    const crowd people = make_crowd(roll, modes::permit, true);
    scheduler_options options;
    options.seed = seed;
    gang_host host{people.machines, people.jobs, options};
    arrive_in_random_order(host, roll, 0);
    const instant patience = host.now() + 30s;
    do serve(host, roll, 0);
    while (host.wait_for_deadline(patience));
    INFO(describe(seed, host));
    REQUIRE(!host.complaint());
    REQUIRE(half_holders(host) <= 1);
    REQUIRE(std::any_of(people.jobs.begin(), people.jobs.end(),
                        [&, j = std::size_t{0}](const auto&) mutable { return host.runs(j++); }));
  }
}

TEST_CASE("a gang tried in one cycle never holds less than its minimum", "[engine][gang][property]") {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    dice roll{seed};
    crowd people = make_crowd(roll, modes::group_cycle, false);
    for (auto& job : people.jobs)
      job.policy.min_count = 1 + static_cast<int>(roll.below(static_cast<std::size_t>(job.members)));
    gang_host host{people.machines, people.jobs, {}};
    for (int i = 0; i < 40; ++i) {
      for (std::size_t a = roll.below(3); a-- > 0;) host.arrive(roll.below(host.jobs()));
      host.cycle();
      if (roll.percent(50)) host.confirm_all();
      INFO(describe(seed, host));
      REQUIRE(!host.complaint());
      REQUIRE(half_holders(host) == 0);
    }
  }
}

TEST_CASE("with timers only, two gangs hold half each until a timer ends", "[engine][gang][property]") {
  // What the rule above protects from: kube-scheduler's way, as a named mode.
  gang_host::job job;
  job.members = job.policy.min_count = 2;
  job.policy.mode = gang_mode::permit;
  job.policy.timeout = 30s;
  scheduler_options options;
  const auto after = [&](hold_rule rule, instant time) {
    options.holds = rule;
    gang_host host{{{1}, {1}}, {job, job}, options};
    for (const std::size_t who : {std::size_t{0}, std::size_t{1}}) {
      host.arrive(who);
      host.arrive(1 - who);
      host.cycle();
      host.cycle();
    }
    do {
      host.run();
      host.permit();
      host.confirm_all();
    } while (host.wait_for_deadline(time));
    INFO(host.to_text());
    REQUIRE(!host.complaint());
    return std::pair{half_holders(host), host.runs(0) || host.runs(1)};
  };
  CHECK(after(hold_rule::timers_only, 25s) == std::pair{2, false});
  CHECK(after(hold_rule::older_first, 25s) == std::pair{0, true});
}

}  // namespace gangsched::testing::gang_property_test
