#include "gangsched/devices/numa_hints.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/dice.hpp"

namespace gangsched::testing::numa_hints_test {

namespace {

/// kubelet's merge written down as it is there: every combination, compared with the best so far, in order.
class reference_merge {
 public:
  reference_merge(numa_policy policy, cell_mask machine, std::vector<numa_hint_list> lists,
                  const numa_distances* closest)
      : policy_(policy), machine_(machine), closest_(policy == numa_policy::single_numa_node ? nullptr : closest) {
    for (numa_hint_list& list : lists) {
      if (list.empty()) list.push_back({0, false});
      if (policy == numa_policy::single_numa_node)
        std::erase_if(list, [](const numa_hint& h) { return !h.preferred || cell_count(h.cells) > 1; });
    }
    lists_ = std::move(lists);
    for (const numa_hint_list& list : lists_) {
      unsigned least = 0;
      for (const numa_hint& hint : list)
        if (hint.cells != 0 && (least == 0 || cell_count(hint.cells) < least)) least = cell_count(hint.cells);
      width_ = std::max(width_, least);
    }
  }

  numa_verdict run() {
    if (policy_ == numa_policy::none) return {{}, true};
    std::vector<numa_hint> combination;
    visit(combination);
    numa_hint best = best_.value_or(numa_hint{machine_, false});
    if (policy_ == numa_policy::single_numa_node && best.cells == machine_) best.cells = 0;
    return {best, policy_ == numa_policy::best_effort || best.preferred};
  }

 private:
  void visit(std::vector<numa_hint>& combination) {
    if (combination.size() == lists_.size()) return offer(merged(combination));
    for (const numa_hint& hint : lists_[combination.size()]) {
      combination.push_back(hint);
      visit(combination);
      combination.pop_back();
    }
  }
  numa_hint merged(const std::vector<numa_hint>& combination) const {
    numa_hint all{machine_, true};
    std::optional<cell_mask> first;
    for (const numa_hint& hint : combination) {
      if (hint.cells != 0) {
        if (!first) first = hint.cells;
        if (hint.cells != *first) all.preferred = false;
        all.cells &= hint.cells;
      }
      if (!hint.preferred) all.preferred = false;
    }
    return all;
  }
  double average(cell_mask cells) const {
    double sum = 0, pairs = 0;
    for (unsigned i = 0; i < closest_->cells; ++i)
      for (unsigned j = 0; j < closest_->cells; ++j)
        if ((cells >> i & 1) && (cells >> j & 1)) sum += closest_->at(i, j), ++pairs;
    return sum / pairs;
  }
  numa_hint fitter(numa_hint current, numa_hint candidate) const {
    if (current.cells == candidate.cells) return current;
    const unsigned a = cell_count(current.cells), b = cell_count(candidate.cells);
    if (a != b) return a < b ? current : candidate;
    if (closest_ != nullptr && average(current.cells) != average(candidate.cells))
      return average(current.cells) < average(candidate.cells) ? current : candidate;
    return current.cells < candidate.cells ? current : candidate;
  }
  void offer(numa_hint candidate) {
    if (candidate.cells == 0) return;
    best_ = best_ ? kept(*best_, candidate) : candidate;
  }
  numa_hint kept(numa_hint current, numa_hint candidate) const {
    if (current.preferred != candidate.preferred) return current.preferred ? current : candidate;
    if (current.preferred) return fitter(current, candidate);
    const unsigned a = cell_count(current.cells), b = cell_count(candidate.cells);
    if (a > width_) return fitter(current, candidate);
    if (a == width_) return b == width_ ? fitter(current, candidate) : current;
    if (b > width_) return current;
    if (b == width_ || b > a) return candidate;
    return b < a ? current : fitter(current, candidate);
  }

  numa_policy policy_;
  cell_mask machine_;
  const numa_distances* closest_;
  std::vector<numa_hint_list> lists_;
  unsigned width_ = 0;
  std::optional<numa_hint> best_;
};

cell_mask mask(std::initializer_list<unsigned> cells) {
  cell_mask all = 0;
  for (const unsigned cell : cells) all |= one_cell(cell);
  return all;
}

/// A row of kubelet's policy_test.go, under its name there.
struct merge_case {
  const char* name;
  std::vector<numa_hint_list> lists;
  numa_hint expected;
};

const cell_mask four = all_cells(4);
const cell_mask eight = all_cells(8);
constexpr bool yes = true, no = false;

/// commonPolicyMergeTestCases
std::vector<merge_case> common_cases() {
  const cell_mask c0 = mask({0}), c1 = mask({1}), c01 = mask({0, 1});
  return {
      {"Two providers, 1 hint each, same mask, both preferred 1/2", {{{c0, yes}}, {{c0, yes}}}, {c0, yes}},
      {"Two providers, 1 hint each, same mask, both preferred 2/2", {{{c1, yes}}, {{c1, yes}}}, {c1, yes}},
      {"Two providers, 1 no hints, 1 single hint preferred 1/2", {{{c0, yes}}}, {c0, yes}},
      {"Two providers, 1 no hints, 1 single hint preferred 2/2", {{{c1, yes}}}, {c1, yes}},
      {"Two providers, 1 with 2 hints, 1 with single hint matching 1/2",
       {{{c0, yes}, {c1, yes}}, {{c0, yes}}},
       {c0, yes}},
      {"Two providers, 1 with 2 hints, 1 with single hint matching 2/2",
       {{{c0, yes}, {c1, yes}}, {{c1, yes}}},
       {c1, yes}},
      {"Two providers, both with 2 hints, matching narrower preferred hint from both",
       {{{c0, yes}, {c1, yes}}, {{c0, yes}, {c01, no}}},
       {c0, yes}},
      {"Ensure less narrow preferred hints are chosen over narrower non-preferred hints",
       {{{c1, yes}, {c01, no}}, {{c0, yes}, {c1, yes}, {c01, no}}},
       {c1, yes}},
  };
}

/// bestEffortPolicy.mergeTestCases, which the restricted policy has too
std::vector<merge_case> wide_cases() {
  const cell_mask c0 = mask({0}), c1 = mask({1}), c01 = mask({0, 1}), c02 = mask({0, 2}), c0123 = mask({0, 1, 2, 3});
  return {
      {"Two providers, 2 hints each, same mask (some with different bits), same preferred",
       {{{c01, yes}, {c02, yes}}, {{c01, yes}, {c02, yes}}},
       {c01, yes}},
      {"TopologyHint not set", {}, {four, yes}},
      {"HintProvider returns empty non-nil map from provider", {{}}, {four, no}},
      {"Single TopologyHint with Preferred as true and NUMANodeAffinity as nil", {{{0, yes}}}, {four, yes}},
      {"Single TopologyHint with Preferred as false and NUMANodeAffinity as nil", {{{0, no}}}, {four, no}},
      {"Two providers, 1 hint each, no common mask", {{{c0, yes}}, {{c1, yes}}}, {four, no}},
      {"Two providers, 1 hint each, same mask, 1 preferred, 1 not 1/2", {{{c0, yes}}, {{c0, no}}}, {c0, no}},
      {"Two providers, 1 hint each, same mask, 1 preferred, 1 not 2/2", {{{c1, yes}}, {{c1, no}}}, {c1, no}},
      {"Two providers, 1 hint each, 1 wider mask, both preferred 1/2", {{{c0, yes}}, {{c01, yes}}}, {c0, no}},
      {"Two providers, 1 with 2 hints, 1 with single non-preferred hint matching",
       {{{c0, yes}, {c1, yes}}, {{c01, no}}},
       {c0, no}},
      {"Two providers, 1 hint each, 1 wider mask, both preferred 2/2", {{{c1, yes}}, {{c01, yes}}}, {c1, no}},
      {"bestNonPreferredAffinityCount (1)", {{{c0123, no}, {c01, no}}, {{c01, no}}}, {c01, no}},
      {"bestNonPreferredAffinityCount (2)", {{{c0123, no}, {c01, no}}, {{mask({0, 3}), no}}}, {mask({0, 3}), no}},
      {"bestNonPreferredAffinityCount (3)", {{{c0123, no}, {c01, no}}, {{mask({1, 2}), no}}}, {mask({1, 2}), no}},
      {"bestNonPreferredAffinityCount (4)", {{{c0123, no}, {c01, no}}, {{mask({2, 3}), no}}}, {mask({2, 3}), no}},
  };
}

/// bestEffortPolicy.mergeTestCasesNoPolicies
std::vector<merge_case> narrowest_cases() {
  const cell_mask c01 = mask({0, 1}), c12 = mask({1, 2}), c23 = mask({2, 3}), c0123 = mask({0, 1, 2, 3});
  return {
      {"bestNonPreferredAffinityCount (5)", {{{c0123, no}, {c01, no}}, {{c12, no}, {c23, no}}}, {c12, no}},
      {"bestNonPreferredAffinityCount (6)",
       {{{c0123, no}, {c01, no}}, {{mask({1, 2, 3}), no}, {c12, no}, {mask({1, 3}), no}, {c23, no}}},
       {c12, no}},
  };
}

/// bestEffortPolicy.mergeTestCasesClosestNUMA
std::vector<merge_case> closest_cases() {
  const cell_mask c01 = mask({0, 1}), c12 = mask({1, 2}), c23 = mask({2, 3}), c0123 = mask({0, 1, 2, 3});
  const cell_mask c02 = mask({0, 2}), c04 = mask({0, 4}), c4 = mask({4});
  return {
      {"Two providers, 2 hints each, same mask (some with different bits), same preferred",
       {{{c04, yes}, {c02, yes}}, {{c04, yes}, {c02, yes}}},
       {c02, yes}},
      {"Two providers, 2 hints each, different mask", {{{c4, yes}, {c02, yes}}, {{c4, yes}, {c02, yes}}}, {c4, yes}},
      {"bestNonPreferredAffinityCount (5)", {{{c0123, no}, {c01, no}}, {{c12, no}, {c23, no}}}, {c23, no}},
      {"bestNonPreferredAffinityCount (6)",
       {{{c0123, no}, {c01, no}}, {{mask({1, 2, 3}), no}, {c12, no}, {mask({1, 3}), no}, {c23, no}}},
       {c23, no}},
  };
}

/// singleNumaNodePolicy.mergeTestCases
std::vector<merge_case> single_cases() {
  const cell_mask c0 = mask({0}), c1 = mask({1}), c01 = mask({0, 1});
  return {
      {"TopologyHint not set", {}, {0, yes}},
      {"HintProvider returns empty non-nil map from provider", {{}}, {0, no}},
      {"Single TopologyHint with Preferred as true and NUMANodeAffinity as nil", {{{0, yes}}}, {0, yes}},
      {"Single TopologyHint with Preferred as false and NUMANodeAffinity as nil", {{{0, no}}}, {0, no}},
      {"Two providers, 1 hint each, no common mask", {{{c0, yes}}, {{c1, yes}}}, {0, no}},
      {"Two providers, 1 hint each, same mask, 1 preferred, 1 not 1/2", {{{c0, yes}}, {{c0, no}}}, {0, no}},
      {"Two providers, 1 hint each, same mask, 1 preferred, 1 not 2/2", {{{c1, yes}}, {{c1, no}}}, {0, no}},
      {"Two providers, 1 with 2 hints, 1 with single non-preferred hint matching",
       {{{c0, yes}, {c1, yes}}, {{c01, no}}},
       {0, no}},
      {"Single NUMA hint generation", {{{c01, yes}}, {{c0, yes}, {c1, yes}, {c01, no}}}, {0, no}},
      {"One no-preference provider", {{{c0, yes}, {c1, yes}, {c01, no}}}, {c0, yes}},
  };
}

/// The distances of kubelet's tests for eight cells: pairs within halves.
numa_distances halves() {
  numa_distances out{8, {}};
  for (unsigned i = 0; i < 8; ++i)
    for (unsigned j = 0; j < 8; ++j) out.values.push_back(i == j ? 10 : i / 2 == j / 2 ? 11 : i / 4 == j / 4 ? 12 : 30);
  return out;
}

void check(numa_policy policy, cell_mask machine, const std::vector<merge_case>& cases, const numa_distances* closest) {
  for (const merge_case& row : cases) {
    CAPTURE(row.name);
    const numa_verdict got = merge_numa_hints(policy, machine, row.lists, closest);
    CHECK(got.best.cells == row.expected.cells);
    CHECK(got.best.preferred == row.expected.preferred);
    CHECK(got.admitted == (policy == numa_policy::best_effort || row.expected.preferred));
    CHECK(got == reference_merge(policy, machine, row.lists, closest).run());
  }
}

numa_distances random_distances(dice& random, unsigned cells) {
  numa_distances out{cells, std::vector<std::uint32_t>(cells * cells, 10)};
  for (unsigned i = 0; i < cells; ++i)
    for (unsigned j = 0; j < i; ++j)
      out.values[i * cells + j] = out.values[j * cells + i] = static_cast<std::uint32_t>(random.between(11, 14));
  return out;
}

numa_hint_list random_list(dice& random, unsigned cells, std::size_t longest, unsigned preferred) {
  numa_hint_list list;
  for (std::size_t i = random.below(longest + 1); i > 0; --i)
    list.push_back({static_cast<cell_mask>(random.percent(10) ? 0 : random.below(std::size_t{1} << cells)),
                    random.percent(preferred)});
  return list;
}

}  // namespace

TEST_CASE("hints merge as in kubelet's tests of the policies best-effort and restricted", "[devices][numa]") {
  for (const numa_policy policy : {numa_policy::best_effort, numa_policy::restricted}) {
    check(policy, four, common_cases(), nullptr);
    check(policy, four, wide_cases(), nullptr);
    check(policy, four, narrowest_cases(), nullptr);
  }
}

TEST_CASE("hints merge as in kubelet's tests of single-numa-node", "[devices][numa]") {
  check(numa_policy::single_numa_node, four, common_cases(), nullptr);
  check(numa_policy::single_numa_node, four, single_cases(), nullptr);
}

TEST_CASE("with distances, hints merge as in kubelet's tests of prefer-closest-numa-nodes", "[devices][numa]") {
  const numa_distances distances = halves();
  check(numa_policy::best_effort, eight, common_cases(), &distances);
  check(numa_policy::best_effort, eight, closest_cases(), &distances);
  check(numa_policy::restricted, eight, closest_cases(), &distances);
}

TEST_CASE("single-numa-node does not look at distances", "[devices][numa]") {
  const numa_distances distances{2, {10, 20, 20, 5}};
  const std::vector<numa_hint_list> lists{{{mask({0}), yes}, {mask({1}), yes}}};
  CHECK(merge_numa_hints(numa_policy::best_effort, all_cells(2), lists, &distances).best.cells == mask({1}));
  CHECK(merge_numa_hints(numa_policy::single_numa_node, all_cells(2), lists, &distances).best.cells == mask({0}));
}

TEST_CASE("the policy none admits whatever the hints say, and names no cells", "[devices][numa]") {
  const std::vector<numa_hint_list> lists{{}};
  CHECK(merge_numa_hints(numa_policy::none, four, lists) == numa_verdict{{0, no}, true});
}

TEST_CASE("a single cell that is the whole machine reads as any under single-numa-node", "[devices][numa]") {
  const std::vector<numa_hint_list> lists{{{mask({0}), yes}}};
  CHECK(merge_numa_hints(numa_policy::single_numa_node, all_cells(1), lists) == numa_verdict{{0, yes}, true});
  CHECK(merge_numa_hints(numa_policy::restricted, all_cells(1), lists) == numa_verdict{{mask({0}), yes}, true});
}

TEST_CASE("merging without combinations finds what trying all of them finds", "[devices][numa]") {
  dice random(7);
  unsigned preferred = 0, refused = 0;
  for (int round = 0; round < 20000; ++round) {
    const auto cells = static_cast<unsigned>(random.between(1, 6));
    const numa_distances distances = random_distances(random, cells);
    std::vector<numa_hint_list> lists(random.below(5));
    const unsigned wanted = random.percent(50) ? 80 : 10;
    for (numa_hint_list& list : lists) list = random_list(random, cells, 7, wanted);
    const auto policy = static_cast<numa_policy>(random.below(4));
    const numa_distances* closest = random.percent(50) ? &distances : nullptr;
    const numa_verdict expected = reference_merge(policy, all_cells(cells), lists, closest).run();
    CAPTURE(round, cells, lists.size(), static_cast<int>(policy));
    const numa_verdict got = merge_numa_hints(policy, all_cells(cells), lists, closest);
    REQUIRE(got.best.cells == expected.best.cells);
    REQUIRE(got.best.preferred == expected.best.preferred);
    REQUIRE(got.admitted == expected.admitted);
    preferred += got.best.preferred;
    refused += !got.admitted;
  }
  CHECK(preferred > 2000);
  CHECK(refused > 2000);
}

TEST_CASE("long lists on many cells give the same through sums over supersets", "[devices][numa]") {
  dice random(11);
  for (int round = 0; round < 30; ++round) {
    const unsigned cells = 8;
    std::vector<numa_hint_list> lists(2);
    // Three lists of nearly all masks: more pairs than the transform costs. None is preferred.
    for (numa_hint_list& list : lists)
      for (unsigned m = 1; m < 256; ++m)
        if (cell_count(static_cast<cell_mask>(m)) >= 3 && random.percent(97))
          list.push_back({static_cast<cell_mask>(m), no});
    lists.push_back(random_list(random, cells, 3, 0));
    CAPTURE(round);
    CHECK(merge_numa_hints(numa_policy::best_effort, all_cells(cells), lists) ==
          reference_merge(numa_policy::best_effort, all_cells(cells), lists, nullptr).run());
  }
}

TEST_CASE("sixteen cells with every mask as a hint merge at once", "[devices][numa]") {
  std::vector<numa_hint_list> lists(4);
  for (std::size_t i = 0; i < lists.size(); ++i)
    for (unsigned m = 1; m < 65536; ++m)
      if (cell_count(static_cast<cell_mask>(m)) >= 2 + i) lists[i].push_back({static_cast<cell_mask>(m), no});
  const numa_verdict got = merge_numa_hints(numa_policy::restricted, all_cells(16), lists);
  CHECK(got.best.cells == all_cells(5));  // as wide as the most demanding list needs, lowest cells
  CHECK_FALSE(got.admitted);
}

}  // namespace gangsched::testing::numa_hints_test
