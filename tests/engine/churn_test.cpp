// What a cluster keeps, and what a pod costs, follows what there is, not what there ever was.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include "churn_kinds.hpp"
#include "support/catch.hpp"
#include "support/dice.hpp"
#include "support/inside.hpp"

namespace gangsched::testing::churn_test {

namespace {

/// Bytes in memory.
double resident() {
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  long all = 0, pages = 0;
  const int got = file != nullptr ? std::fscanf(file, "%ld %ld", &all, &pages) : 0;
  if (file != nullptr) std::fclose(file);
  return got == 2 ? static_cast<double>(pages) * static_cast<double>(sysconf(_SC_PAGESIZE)) : 0;
}

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

/// What is decided until nothing is, in words.
std::vector<std::string> decided(churned& world) {
  std::vector<std::string> all;
  const auto note = [&](const cycle& of) {
    if (of.error() != nullptr) all.push_back(of.error()->message());
    for (const decision& one : of) {
      std::string text{to_string(one.kind)};
      for (const std::string_view part : {world.cluster.name_of(one.pod), world.cluster.name_of(one.node)})
        (text += ' ') += part;
      ((text += ' ') += std::to_string(one.score) + ' ') += one.reason != nullptr ? one.reason : "";
      for (const device_grant& grant : one.devices)
        ((text += ' ') += world.cluster.name_of(one.node, grant)) += world.cluster.capacity_of(one.node, grant);
      if (one.kind == decision_kind::reject) text += world.scheduler.explain(one.pod).value().summary;
      all.push_back(std::move(text));
    }
  };
  for (;;) {
    const cycle done = world.scheduler.schedule_cycle(world.now);
    note(done);
    if (!done) break;
  }
  note(world.scheduler.permit(world.now));
  return all;
}

}  // namespace

TEST_CASE("a cluster that collects at every change decides as one that never does", "[engine][churn]") {
  std::size_t decisions = 0;
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    INFO("seed " << seed);
    dice roll{seed};
    churned keeps, collects;
    inside(collects.cluster).collection.always = true;
    std::vector<std::pair<const churn_kind*, std::string>> alive;
    for (std::uint64_t i = 0; i < 400; ++i) {
      const churn_kind& kind = churn_kinds()[roll.below(churn_kinds().size())];
      INFO("step " << i << ", " << kind.name);
      alive.emplace_back(&kind, std::to_string(i));
      for (churned* world : {&keeps, &collects}) kind.come(*world, alive.back().second);
      while (alive.size() > 25 || (!alive.empty() && roll.percent(40))) {
        std::swap(alive[roll.below(alive.size())], alive.back());
        for (churned* world : {&keeps, &collects}) alive.back().first->go(*world, alive.back().second);
        alive.pop_back();
      }
      const instant by = std::chrono::seconds{roll.below(4)};
      for (churned* world : {&keeps, &collects}) world->now += by;
      const std::vector<std::string> expected = decided(keeps);
      REQUIRE(decided(collects) == expected);
      decisions += expected.size();
    }
    CHECK(inside(keeps.cluster).digest_with_derived() == inside(collects.cluster).digest_with_derived());
    CHECK(inside(collects.cluster).collection.freed > 100);
    CHECK(inside(keeps.cluster).collection.freed < 10);
    for (churned* world : {&keeps, &collects}) CHECK(world->scheduler.verify().has_value());
  }
  CHECK(decisions > 3'000);
}

TEST_CASE("no table grows with the objects that there ever were", "[engine][churn]") {
  for (const churn_kind& kind : churn_kinds()) {
    INFO(kind.name);
    churned world;
    constexpr std::uint64_t half = 4'000;  // more than it takes for names to go and come again
    table_sizes first{inside(world.cluster)}, second = first;
    for (std::uint64_t i = 0; i < 2 * half; ++i) {
      world.step(kind, i);
      (i < half ? first : second).raise(table_sizes{inside(world.cluster)});
    }
    INFO("first: " << first.text() << "then: " << second.text());
    CHECK(second.within(first));
    // Two rounds of garbage and what is alive, of the kind that brings most names.
    CHECK(second.symbols < 4 * 1024);
    CHECK(second.kinds < 130);
    CHECK(second.counters < 1200);
  }
}

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__)
/// Bytes allocated and not freed.
std::size_t allocated() {
  const auto now = mallinfo2();
  return now.uordblks + now.hblkhd;
}

TEST_CASE("who was rejected and is gone leaves nothing behind with those who wait", "[engine][churn]") {
  constexpr std::string_view rejected[] = {"resource names", "node selectors that no node has", "node names",
                                           "groups within ever-new keys"};
  for (const std::string_view name : rejected) {
    INFO(name);
    const auto kind = std::find_if(churn_kinds().begin(), churn_kinds().end(),
                                   [&](const churn_kind& one) { return one.name == name; });
    REQUIRE(kind != churn_kinds().end());
    churned world;
    constexpr std::uint64_t half = 12'000;  // by then the memory of specs is as large as it gets
    std::size_t first = 0, second = 0;
    for (std::uint64_t i = 0; i < 2 * half; ++i) {
      world.step(*kind, i);
      std::size_t& most = i < half ? first : second;
      most = std::max(most, allocated());
    }
    CHECK(first > 0);
    CHECK(second < first + 2 * half);  // less than a pointer or a number each
  }
}

TEST_CASE("indexes that do not hold any more after a collection go", "[engine][churn]") {
  const auto kind = std::find_if(churn_kinds().begin(), churn_kinds().end(),
                                 [](const churn_kind& one) { return one.name == "pod names"; });
  REQUIRE(kind != churn_kinds().end());
  churned world;
  constexpr std::size_t nodes = 4000, collections = 100;
  for (std::size_t i = 0; i < nodes; ++i) {
    node_spec made{.name = "more" + std::to_string(i)};
    made.labels = {{"zone", "z"}};
    made.allocatable = {{"cpu", quantity{1000}}, {"pods", quantity{1000}}};
    REQUIRE(world.cluster.add_node(made).has_value());
  }
  std::uint64_t i = 0;
  for (; i < 100; ++i) world.step(*kind, i);
  const std::size_t before = allocated();
  const std::uint64_t freed = inside(world.cluster).collection.freed;
  inside(world.cluster).collection.always = true;
  for (; i < 100 + collections; ++i) {
    // A name that nobody has any more, so that each collection frees something.
    REQUIRE(world.cluster.set_namespace({.name = "n" + std::to_string(i)}).has_value());
    REQUIRE(world.cluster.remove_namespace("n" + std::to_string(i)).has_value());
    world.step(*kind, i);
  }
  CHECK(inside(world.cluster).collection.freed >= freed + collections / 2);
  CHECK(allocated() < before + collections * nodes * 5);  // an index is larger
  CHECK(world.scheduler.verify().has_value());
}
#endif

TEST_CASE("memory and time a pod stay where they are over millions of objects of each kind", "[.long][churn]") {
  const char* const text = std::getenv("GANGSCHED_CHURN");  // objects of each kind
  const char* const only = std::getenv("GANGSCHED_CHURN_KIND");
  const std::uint64_t objects = text != nullptr ? std::strtoull(text, nullptr, 10) : 1'000'000;
  for (const churn_kind& kind : churn_kinds()) {
    if (only != nullptr && kind.name != only) continue;
    churned world;
    // The first tenth fills tables and caches; then memory and time in tenths.
    double memory[10], seconds[10];
    for (int tenth = 0; tenth < 10; ++tenth) {
      const double before = cpu_seconds();
      for (std::uint64_t i = objects / 10 * static_cast<std::uint64_t>(tenth);
           i < objects / 10 * static_cast<std::uint64_t>(tenth + 1); ++i) {
        world.step(kind, i);
      }
      seconds[tenth] = cpu_seconds() - before;
      memory[tenth] = resident();
    }
    const double early = seconds[1] + seconds[2] + seconds[3], late = seconds[7] + seconds[8] + seconds[9];
    std::printf(
        "%-42s %9llu objects, %7.2f us each early, %7.2f late (%+.1f %%), %6.1f MB early, %6.1f late (%+.1f %%)\n",
        std::string{kind.name}.c_str(), static_cast<unsigned long long>(objects),
        early / 0.3 / static_cast<double>(objects) * 1e6, late / 0.3 / static_cast<double>(objects) * 1e6,
        100 * (late / early - 1), memory[1] / 1e6, memory[9] / 1e6, 100 * (memory[9] / memory[1] - 1));
    std::fflush(stdout);
    CHECK(memory[9] < 1.05 * memory[1]);
  }
}

}  // namespace gangsched::testing::churn_test
