// gangsched-soak: random sequences of all that a host does, against a model of what the docs promise.
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

#include "gangsched/core/hash.hpp"

#include "covers.hpp"
#include "run.hpp"

namespace {

using namespace gangsched::soak;

constexpr const char* usage =
    "usage: gangsched-soak FROM TO STEPS [--seconds S] [--every] [--calls] [--steps] [--digest]\n"
    "  seeds FROM to TO - 1, sequences of STEPS steps; ends early after S seconds\n"
    "  --every  says where each fault is, not only the first of its kind\n"
    "  --calls  prints how often each public call was made\n"
    "  --steps  prints every step and decision\n"
    "  --digest prints a digest of all decisions, in order: equal where two versions of the library decide the same\n";

volatile std::sig_atomic_t current = 0;

/// A sequence that ends the process has to be found again: says which it was.
extern "C" void died(int signal) {
  std::fprintf(stderr, "sequence %ld ended the process with signal %d\n", static_cast<long>(current), signal);
  std::_Exit(2);
}

struct wishes {
  double seconds = 1e9;
  bool calls = false, show = false, every = false, digest = false;
};
struct report {
  std::map<std::string, std::uint64_t> faults;
  std::uint64_t passed = 0, failed = 0, steps = 0, decisions = 0, refused = 0, digest = 0;
};

void print(const char* what, const setting& on, const sequence& steps) {
  std::vector<std::string> lines;
  const outcome made = run_compared(on, steps, &lines);
  std::printf("  %s, %zu steps on: %s\n", what, steps.size(), describe(on).c_str());
  std::size_t alike = 0;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    alike = i > 0 && lines[i] == lines[i - 1] ? alike + 1 : 0;
    if (alike < 3)
      std::printf("    %s\n", lines[i].c_str());
    else if (alike == 3)
      std::puts("        …");
  }
  if (made.found) std::printf("    => %s: %s\n", made.found->kind.c_str(), made.found->details.c_str());
}

void soak_one(std::uint64_t seed, std::size_t length, const wishes& want, report& all) {
  const setting on = make_setting(seed);
  sequence steps;
  const outcome made = run_random(on, length, &steps);
  all.digest = gangsched::mix64(all.digest ^ made.digest);
  all.steps += made.steps;
  all.decisions += made.decisions;
  all.refused += made.refused;
  if (want.show) print("the sequence", on, steps);
  if (!made.found) {
    ++all.passed;
    return;
  }
  ++all.failed;
  const bool first = ++all.faults[made.found->kind] == 1;
  if (!first && !want.every) return;
  std::printf("FAULT seed %llu, step %zu: %s: %s\n", static_cast<unsigned long long>(seed), steps.size(),
              made.found->kind.c_str(), made.found->details.c_str());
  std::fflush(stdout);
  if (first) print("shrunk", on, shrink_steps(on, steps));
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fputs(usage, stderr);
    return 2;
  }
  const std::uint64_t first = std::strtoull(argv[1], nullptr, 10), last = std::strtoull(argv[2], nullptr, 10);
  const std::size_t length = std::strtoull(argv[3], nullptr, 10);
  wishes want;
  for (int i = 4; i < argc; ++i) {
    if (std::strcmp(argv[i], "--calls") == 0)
      want.calls = true;
    else if (std::strcmp(argv[i], "--steps") == 0)
      want.show = true;
    else if (std::strcmp(argv[i], "--digest") == 0)
      want.digest = true;
    else if (std::strcmp(argv[i], "--every") == 0)
      want.every = true;
    else if (std::strcmp(argv[i], "--seconds") == 0 && i + 1 < argc)
      want.seconds = std::strtod(argv[++i], nullptr);
    else
      return std::fputs(usage, stderr), 2;
  }
  for (const int one : {SIGABRT, SIGSEGV, SIGFPE}) std::signal(one, died);

  const auto begin = std::chrono::steady_clock::now();
  const auto elapsed = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(); };
  report all;
  for (std::uint64_t seed = first; seed < last && elapsed() < want.seconds; ++seed) {
    current = static_cast<std::sig_atomic_t>(seed);
    soak_one(seed, length, want, all);
  }
  const double took = elapsed();
  if (want.calls) {
    for (const auto& [name, count] : call_counts())
      std::printf("call %s: %llu\n", std::string{name}.c_str(), static_cast<unsigned long long>(count));
  }
  if (want.digest) std::printf("digest %016llx\n", static_cast<unsigned long long>(all.digest));
  for (const auto& [kind, count] : all.faults)
    std::printf("%llu x %s\n", static_cast<unsigned long long>(count), kind.c_str());
  std::printf("%llu steps, %llu decisions, %llu refused calls; %.0f sequences/s\n",
              static_cast<unsigned long long>(all.steps), static_cast<unsigned long long>(all.decisions),
              static_cast<unsigned long long>(all.refused), static_cast<double>(all.passed + all.failed) / took);
  std::printf("%llu passed, %llu failed\n", static_cast<unsigned long long>(all.passed),
              static_cast<unsigned long long>(all.failed));
  return all.failed == 0 ? 0 : 1;
}
