#include "run.hpp"

#include <algorithm>
#include <bit>
#include <exception>

#include "generator.hpp"
#include "host.hpp"
#include "shrink.hpp"

namespace gangsched::soak {

namespace {

/// Ends with everything removed, if nothing was wrong before.
template <class Body>
outcome guarded(host& on, Body&& body) {
  outcome made;
  try {
    body();
    on.finish();
  } catch (const fault& one) {
    made.found = one;
  } catch (const std::exception& one) {
    made.found = fault{"an exception", one.what()};
  }
  made.digest = on.digest();
  made.steps = on.done().steps;
  made.decisions = on.done().decisions;
  made.refused = on.done().refused;
  return made;
}

/// The same decisions have to come of it: questions, trials and what is only cached leave no trace.
sequence without_questions(const sequence& steps) {
  sequence made;
  for (step one : steps) {
    if (one.what == act::misuse) one.what = act::catch_up;
    const bool asks = one.what == act::ask || one.what == act::verify || one.what == act::forget_cached ||
                      one.what == act::reserve || one.what == act::roll_back;
    if (!asks) made.push_back(one);
  }
  return made;
}

/// Where what is decided begins to differ, as "this, not that".
std::string first_difference(const setting& on, const sequence& steps, const setting& other, const sequence& others) {
  const auto decided = [](const setting& by, const sequence& done) {
    std::vector<std::string> lines;
    static_cast<void>(run_steps(by, done, &lines));
    std::erase_if(lines, [](const std::string& line) { return !line.starts_with("    "); });
    return lines;
  };
  const std::vector<std::string> mine = decided(on, steps), theirs = decided(other, others);
  const auto [a, b] = std::mismatch(mine.begin(), mine.end(), theirs.begin(), theirs.end());
  const auto text = [](auto at, auto end) { return at == end ? std::string{"nothing"} : at->substr(4); };
  return text(a, mine.end()) + ", not " + text(b, theirs.end());
}

std::optional<fault> compare(const setting& on, const sequence& steps, std::uint64_t digest) {
  if (run_steps(on, steps).digest != digest) return fault{"the same steps lead to other decisions", ""};
  if (on.broken_hooks) return std::nullopt;  // which call of a hook throws depends on how often it is asked
  setting other = on;
  other.scheduler.indexed_classes = on.scheduler.indexed_classes == 64 ? 2 : 64;
  other.scheduler.indexed_at_once = on.scheduler.indexed_at_once == 1 ? scheduler_options{}.indexed_at_once : 1;
  other.scheduler.check_hooks = !on.scheduler.check_hooks;
  if (run_steps(other, without_questions(steps)).digest != digest)
    return fault{"questions or caches change decisions", first_difference(on, steps, other, without_questions(steps))};
  return std::nullopt;
}

std::optional<fault> compare_without_snapshots(const setting& on, const sequence& steps, std::uint64_t digest) {
  if (on.broken_hooks) return std::nullopt;
  setting other = on;
  other.snapshots = 0;
  if (run_steps(other, steps).digest == digest) return std::nullopt;
  return fault{"what was restored decides otherwise", first_difference(on, steps, other, steps)};
}

}  // namespace

outcome run_random(const setting& on, std::size_t length, sequence* steps) {
  sequence own;
  sequence& done = steps != nullptr ? *steps : own;
  host host{on};
  generator generator{on, host};
  outcome made = guarded(host, [&] {
    const auto next = [&](const step& one) {
      done.push_back(one);
      host.carry_out(one);
    };
    for (const step& one : generator.beginning()) next(one);
    while (done.size() < length) next(generator.next());
  });
  if (!made.found && on.seed % 8 == 0) made.found = compare(on, done, made.digest);
  if (!made.found) made.found = compare_without_snapshots(on, done, made.digest);
  return made;
}

outcome run_steps(const setting& on, const sequence& steps, std::vector<std::string>* lines) {
  host host{on};
  host.write_to(lines);
  return guarded(host, [&] {
    for (const step& one : steps) {
      if (lines != nullptr) lines->push_back(describe(one));
      host.carry_out(one);
    }
  });
}

outcome run_compared(const setting& on, const sequence& steps, std::vector<std::string>* lines) {
  outcome made = run_steps(on, steps, lines);
  if (!made.found) made.found = compare(on, steps, made.digest);
  if (!made.found) made.found = compare_without_snapshots(on, steps, made.digest);
  return made;
}

sequence shrink_steps(const setting& on, sequence steps) {
  const std::optional<fault> whole = run_compared(on, steps).found;
  if (!whole) return steps;
  const auto fails = [&](const sequence& some) {
    const outcome made = run_compared(on, some);
    return made.found && made.found->kind == whole->kind;
  };
  for (;;) {
    steps = shrink(std::move(steps), fails);
    bool less = false;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      for (std::uint64_t rest = steps[i].traits; rest != 0; rest &= rest - 1) {
        sequence simpler = steps;
        simpler[i].traits &= ~(std::uint64_t{1} << std::countr_zero(rest));
        if (!fails(simpler)) continue;
        steps = std::move(simpler);
        less = true;
      }
    }
    if (!less) return steps;
  }
}

}  // namespace gangsched::soak
