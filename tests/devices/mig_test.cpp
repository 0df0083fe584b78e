#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gangsched/devices/mig.hpp"
#include "support/catch.hpp"
#include "support/dice.hpp"

namespace gangsched::testing::mig_test {

namespace {

using placements = std::set<mig_placement>;

constexpr mig_product product(std::size_t i) { return static_cast<mig_product>(i); }

mig_profile_index named(const mig_table& table, std::string_view name) {
  const auto found = table.find_profile(name);
  INFO(table.name() << " " << name);
  REQUIRE(found);
  return *found;
}

/// The slices of an instance, one by one.
std::set<unsigned> plain_slices(const mig_table& table, mig_placement instance) {
  std::set<unsigned> all;
  for (unsigned i = 0; i < table[instance.profile].memory_slices; ++i) all.insert(instance.start + i);
  return all;
}

/// Where an instance fits beside a mask, without the tables.
std::uint8_t plain_fits(const mig_table& table, unsigned mask, mig_profile_index profile) {
  unsigned starts = 0;
  for (std::uint8_t start = 0; start < 8; ++start) {
    if ((table[profile].starts >> start & 1) == 0) continue;
    const auto slices = plain_slices(table, {profile, start});
    const bool free = std::none_of(slices.begin(), slices.end(), [&](unsigned s) { return (mask >> s & 1) != 0; });
    if (free) starts |= 1u << start;
  }
  return static_cast<std::uint8_t>(starts);
}

/// The most starts with free, disjoint slices: every subset is tried.
unsigned plain_disjoint(const mig_table& table, unsigned mask, mig_profile_index profile) {
  unsigned most = 0;
  for (unsigned subset = 0; subset < 256; ++subset) {
    if ((subset & ~unsigned{plain_fits(table, mask, profile)}) != 0) continue;
    std::set<unsigned> taken;
    for (std::uint8_t start = 0; start < 8; ++start) {
      if ((subset >> start & 1) != 0) taken.merge(plain_slices(table, {profile, start}));
    }
    const auto count = static_cast<unsigned>(std::popcount(subset));
    if (taken.size() == std::size_t{count} * table[profile].memory_slices) most = std::max(most, count);
  }
  return most;
}

/// Every legal set of instances of some profiles.
std::set<placements> legal_sets(const mig_table& table, const std::vector<mig_profile_index>& profiles) {
  std::set<placements> all;
  const std::function<void(const placements&, mig_state)> grow = [&](const placements& now, mig_state state) {
    if (!all.insert(now).second) return;
    for (const mig_profile_index profile : profiles) {
      for (std::uint8_t start = 0; start < 8; ++start) {
        if ((table.fits(state, profile) >> start & 1) == 0) continue;
        placements next = now;
        next.insert({profile, start});
        grow(next, table.place(state, {profile, start}));
      }
    }
  };
  grow({}, {});
  return all;
}

mig_state state_of(const mig_table& table, const placements& instances) {
  mig_state state;
  for (const mig_placement& one : instances) state = table.place(state, one);
  return state;
}

struct enumeration {
  std::size_t sets = 0, maximal_sets = 0, multisets = 0, maximal_multisets = 0;
  unsigned most_compute = 0;
  std::set<std::string> zero_waste;  ///< "1g+2g+3g": all compute and memory slices in use
  bool operator==(const enumeration&) const = default;
};

/// Counts A100's placements: a set is maximal if nothing more fits, a multiset if some maximal set has it.
enumeration enumerate(const mig_table& table, const std::vector<mig_profile_index>& profiles) {
  enumeration out;
  std::set<std::vector<mig_profile_index>> multisets, maximal;
  for (const placements& set : legal_sets(table, profiles)) {
    ++out.sets;
    const mig_state state = state_of(table, set);
    const bool full = std::none_of(profiles.begin(), profiles.end(), [&](auto p) { return table.fits(state, p) != 0; });
    out.maximal_sets += full;
    std::vector<mig_profile_index> kinds;
    unsigned compute = 0;
    for (const mig_placement& one : set) {
      kinds.push_back(one.profile);
      compute += table[one.profile].compute_slices;
    }
    std::sort(kinds.begin(), kinds.end());
    multisets.insert(kinds);
    if (full) maximal.insert(kinds);
    out.most_compute = std::max(out.most_compute, compute);
    if (compute == 7 && table.free_slices(state) == 0) {
      std::string text;
      for (const mig_profile_index kind : kinds) {
        text += (text.empty() ? "" : "+") + table[kind].name.substr(0, 2);
        if (table[kind].compute_slices == 1 && table[kind].memory_slices == 2) text += "2m";
      }
      out.zero_waste.insert(text);
    }
  }
  out.multisets = multisets.size();
  out.maximal_multisets = maximal.size();
  return out;
}

std::vector<mig_profile_index> family(const mig_table& table, bool double_memory) {
  std::vector<mig_profile_index> all;
  for (const char* name : {"1g.5gb", "1g.10gb", "2g.10gb", "3g.20gb", "4g.20gb", "7g.40gb"}) {
    if (double_memory || std::string_view(name) != "1g.10gb") all.push_back(named(table, name));
  }
  return all;
}

}  // namespace

TEST_CASE("an A100 can be divided in the ways that are known", "[devices][mig]") {
  const mig_table table = mig_table::of(mig_product::a100_40gb);
  const std::set<std::string> without = {"7g", "3g+4g", "2g+2g+3g", "1g+1g+2g+3g", "1g+1g+1g+1g+3g"};
  std::set<std::string> with = without;
  with.insert({"1g2m+2g+4g", "1g+1g+1g2m+4g", "1g2m+2g+2g+2g", "1g+1g+1g2m+2g+2g", "1g+1g+1g+1g+1g2m+2g",
               "1g+1g+1g+1g+1g+1g+1g2m"});
  CHECK(enumerate(table, family(table, false)) == enumeration{298, 19, 38, 14, 7, without});
  CHECK(enumerate(table, family(table, true)) == enumeration{723, 78, 78, 38, 7, with});
}

TEST_CASE("a 3g instance takes four memory slices, and 1g does not fit into the fourth", "[devices][mig]") {
  const mig_table table = mig_table::of(mig_product::h100_80gb);
  const auto one = named(table, "1g.10gb"), three = named(table, "3g.40gb"), seven = named(table, "7g.80gb");
  const mig_state state = table.place({}, {three, 0});
  CHECK(state.mask == 0b0000'1111);
  CHECK(table.fits(state, one) == 0b0111'0000);
  CHECK(table.slices({seven, 0}) == 0xff);
  CHECK(table.fits(table.place({}, {one, 6}), seven) == 0);
  CHECK(table.fits({}, one) == 0b0111'1111);  // the last slice has no compute slice of its own
}

TEST_CASE("the tables say for every mask what a search finds", "[devices][mig]") {
  for (std::size_t i = 0; i < mig_products; ++i) {
    const mig_table table = mig_table::of(product(i));
    for (unsigned mask = 0; mask < 256; ++mask) {
      const mig_state state{static_cast<std::uint8_t>(mask), 0};
      for (mig_profile_index profile = 0; profile < table.profiles().size(); ++profile) {
        if (table.fits(state, profile) != plain_fits(table, mask, profile)) FAIL(table.name() << " mask " << mask);
        if (table.max_disjoint(state.mask, profile) != plain_disjoint(table, mask, profile)) {
          FAIL(table.name() << " mask " << mask << " profile " << int{profile});
        }
      }
    }
  }
}

TEST_CASE("one instance has the media engines, or all, or many share them", "[devices][mig]") {
  const mig_table a100 = mig_table::of(mig_product::a100_40gb);
  const auto me = named(a100, "1g.5gb+me"), plain = named(a100, "1g.5gb");
  const mig_state used = a100.place({}, {me, 6});
  CHECK(a100.fits(used, me) == 0);
  CHECK(a100.room(used, me) == 0);
  CHECK(a100.fits(used, plain) == 0b0011'1111);
  CHECK(a100.remove(used, {me, 6}) == mig_state{});
  CHECK(a100.place({}, {plain, 6}).media == 0);

  const mig_table a30 = mig_table::of(mig_product::a30);
  CHECK(a30.fits(a30.place({}, {named(a30, "1g.6gb+me"), 0}), named(a30, "2g.12gb+me")) == 0);

  const mig_table rtx = mig_table::of(mig_product::rtx_pro_6000);
  const auto share = named(rtx, "1g.24gb"), gfx = named(rtx, "1g.24gb+gfx"), one = named(rtx, "1g.24gb+me"),
             all = named(rtx, "1g.24gb+me.all"), none = named(rtx, "1g.24gb-me");
  const mig_state whole = rtx.place({}, {all, 3});
  for (const auto profile : {share, gfx, one, all}) CHECK(rtx.fits(whole, profile) == 0);
  CHECK(rtx.fits(whole, none) == 0b0111);
  CHECK(rtx.room(whole, none) == 3);
  mig_state shared = rtx.place(rtx.place(rtx.place({}, {share, 0}), {gfx, 1}), {one, 2});
  CHECK(rtx.fits(shared, share) == 0b1000);
  CHECK(rtx.fits(shared, one) == 0);
  CHECK(rtx.fits(shared, all) == 0);
  shared = rtx.remove(rtx.remove(shared, {share, 0}), {one, 2});
  CHECK(rtx.fits(shared, all) == 0);  // one user is still there
  CHECK(rtx.fits(shared, one) == 0b1101);
  CHECK(rtx.fits(rtx.remove(shared, {gfx, 1}), all) == 0b1111);
}

TEST_CASE("placing and removing in any order ends with an empty GPU", "[devices][mig]") {
  testing::dice dice(1);
  for (std::size_t i = 0; i < mig_products; ++i) {
    const mig_table table = mig_table::of(product(i));
    mig_state state;
    std::vector<mig_placement> there;
    for (int step = 0; step < 500; ++step) {
      const auto profile = static_cast<mig_profile_index>(dice.below(table.profiles().size()));
      if (const auto start = table.choose_start(state, profile); start && dice.percent(60)) {
        there.push_back({profile, *start});
        state = table.place(state, there.back());
      } else if (!there.empty()) {
        const std::size_t which = dice.below(there.size());
        state = table.remove(state, there[which]);
        there.erase(there.begin() + static_cast<std::ptrdiff_t>(which));
      }
      if (state != state_of(table, {there.begin(), there.end()})) FAIL(table.name());
    }
    while (!there.empty()) {
      state = table.remove(state, there.back());
      there.pop_back();
    }
    CHECK(state == mig_state{});
  }
}

TEST_CASE("1g and 3g go to the highest start, others to the lowest", "[devices][mig]") {
  const mig_table table = mig_table::of(mig_product::a100_40gb);
  const auto start = [&](std::string_view name, mig_start rule) {
    return int{*table.choose_start({}, named(table, name), rule)};
  };
  CHECK(start("1g.5gb", mig_start::hami) == 6);
  CHECK(start("1g.10gb", mig_start::hami) == 6);
  CHECK(start("2g.10gb", mig_start::hami) == 0);
  CHECK(start("3g.20gb", mig_start::hami) == 4);
  CHECK(start("4g.20gb", mig_start::hami) == 0);
  CHECK(start("2g.10gb", mig_start::high) == 4);
  CHECK(start("3g.20gb", mig_start::low) == 0);
  CHECK(!table.choose_start({0xff, 0}, named(table, "1g.5gb")));
}

TEST_CASE("fragmentation is the sum that defines it, and its best start has the least growth", "[devices][mig]") {
  testing::dice dice(2);
  for (std::size_t i = 0; i < mig_products; ++i) {
    const mig_table table = mig_table::of(product(i));
    const unsigned whole = (1u << table.memory_slices()) - 1u;
    std::vector<std::array<unsigned, 256>> disjoint(table.profiles().size());
    for (mig_profile_index p = 0; p < disjoint.size(); ++p) {
      for (unsigned mask = 0; mask < 256; ++mask) disjoint[p][mask] = plain_disjoint(table, mask, p);
    }
    for (int round = 0; round < 4; ++round) {
      std::vector<std::int64_t> weights = mig_fragmentation::default_weights(table);
      if (round > 0) {
        for (std::int64_t& weight : weights) weight = dice.between(0, round == 3 ? 1'000'000 : 3);
        weights[0] += weights[0] == 0;
      }
      const auto frag = round == 0 ? mig_fragmentation(table) : mig_fragmentation::make(table, weights).value();
      std::int64_t sum = 0;
      for (const std::int64_t weight : weights) sum += weight;
      CHECK(frag.weight_sum() == sum);
      for (unsigned mask = 0; mask < 256; ++mask) {
        const auto plain = [&](unsigned m) {
          std::int64_t value = 0;
          for (mig_profile_index p = 0; p < weights.size(); ++p) {
            const auto used = table[p].memory_slices * disjoint[p][m];
            value += weights[p] * (std::popcount(whole & ~m) - static_cast<std::int64_t>(used));
          }
          return value;
        };
        if (frag(static_cast<std::uint8_t>(mask)) != plain(mask)) FAIL(table.name() << " mask " << mask);
        if (round != 1) continue;
        const mig_state state{static_cast<std::uint8_t>(mask), 0};
        for (mig_profile_index p = 0; p < weights.size(); ++p) {
          // The least growth; of equal ones the highest start for 1g and 3g, else the lowest.
          std::optional<mig_fragmentation::choice> expected;
          const bool high = table[p].compute_slices == 1 || table[p].compute_slices == 3;
          for (std::uint8_t start = 0; start < 8; ++start) {
            if ((plain_fits(table, mask, p) >> start & 1) == 0) continue;
            const std::int64_t growth = plain(mask | table.slices({p, start})) - plain(mask);
            if (!expected || growth < expected->delta || (growth == expected->delta && high))
              expected = {start, growth};
          }
          if (frag.best(table, state, p) != expected) FAIL(table.name() << " mask " << mask);
          if (expected) CHECK(frag.delta(table, state, {p, expected->start}) == expected->delta);
        }
      }
    }
  }
}

TEST_CASE("without weights each size counts once, as the plain profile", "[devices][mig]") {
  const mig_table table = mig_table::of(mig_product::a100_40gb);
  CHECK(mig_fragmentation::default_weights(table) == std::vector<std::int64_t>{1, 0, 0, 1, 1, 1, 1});
  const mig_fragmentation frag(table);
  // Of 8 free slices 1g uses 7, 2g 6, 3g and 7g all, 4g 4.
  CHECK(frag(0) == 1 + 2 + 0 + 4 + 0);
  CHECK(frag(0xff) == 0);
  CHECK(mig_fragmentation::default_weights(mig_table::of(mig_product::rtx_pro_6000)) ==
        std::vector<std::int64_t>{1, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0});
}

TEST_CASE("the least fragmentation fills the GPU that is begun before an empty one", "[devices][mig]") {
  const mig_table table = mig_table::of(mig_product::a100_40gb);
  const mig_fragmentation frag(table);
  const auto three = named(table, "3g.20gb"), four = named(table, "4g.20gb");
  CHECK(frag.best(table, {}, three)->start == 4);  // so that 4g still fits
  const mig_state begun = table.place({}, {three, 4});
  CHECK(frag.best(table, begun, four)->delta < frag.best(table, {}, four)->delta);
  CHECK(!frag.best(table, table.place({}, {three, 0}), four));
}

TEST_CASE("weights that mean nothing are refused", "[devices][mig]") {
  const mig_table table = mig_table::of(mig_product::a30);
  const auto refused = [&](std::vector<std::int64_t> weights) {
    return mig_fragmentation::make(table, weights).error().message();
  };
  CHECK(refused({1, 2}) == "MIG fragmentation of A30: weights: 2 for 5 profiles");
  CHECK(refused({1, 2, -1, 0, 0}) == "MIG fragmentation of A30: weights[2]: not in 0 ... 1000000");
  CHECK(refused({1, 2, 1'000'001, 0, 0}) == "MIG fragmentation of A30: weights[2]: not in 0 ... 1000000");
  CHECK(refused({0, 0, 0, 0, 0}) == "MIG fragmentation of A30: weights: all are 0");
}

TEST_CASE("a plan exists exactly for what can be placed together", "[devices][mig]") {
  for (const mig_product id :
       {mig_product::a100_40gb, mig_product::a30, mig_product::rtx_pro_6000, mig_product::gb300}) {
    const mig_table table = mig_table::of(id);
    std::vector<mig_profile_index> profiles;
    for (mig_profile_index p = 0; p < table.profiles().size(); ++p) profiles.push_back(p);
    const std::set<placements> legal = legal_sets(table, profiles);

    testing::dice dice(3);
    std::set<std::vector<mig_profile_index>> possible;
    for (const placements& set : legal) {
      std::vector<mig_profile_index> kinds;
      for (const mig_placement& one : set) kinds.push_back(one.profile);
      std::sort(kinds.begin(), kinds.end());
      possible.insert(kinds);
    }
    std::size_t planned = 0, refused = 0;
    std::vector<mig_profile_index> wanted;
    // Every multiset of at most 4, all that are possible, and larger ones by chance.
    const auto check = [&](std::vector<mig_profile_index> kinds) {
      const std::vector<mig_profile_index> sorted = kinds;
      for (std::size_t i = kinds.size(); i > 1; --i) std::swap(kinds[i - 1], kinds[dice.below(i)]);
      const auto plan = table.plan({}, kinds);
      if (plan.has_value() != possible.contains(sorted)) FAIL(table.name());
      (plan ? planned : refused)++;
      if (!plan) return;
      if (plan->size() != kinds.size()) FAIL("a plan for others");
      mig_state state;
      for (std::size_t i = 0; i < kinds.size(); ++i) {
        if ((*plan)[i].profile != kinds[i] || (table.fits(state, kinds[i]) >> (*plan)[i].start & 1) == 0)
          FAIL("not a plan");
        state = table.place(state, (*plan)[i]);
      }
    };
    const std::function<void(std::size_t)> every = [&](std::size_t from) {
      check(wanted);
      if (wanted.size() == 4) return;
      for (std::size_t p = from; p < profiles.size(); ++p) {
        wanted.push_back(profiles[p]);
        every(p);
        wanted.pop_back();
      }
    };
    every(0);
    for (const auto& kinds : possible) check(kinds);
    for (int round = 0; round < 2000; ++round) {
      std::vector<mig_profile_index> kinds;
      for (std::size_t n = 5 + dice.below(4); kinds.size() < n;)
        kinds.push_back(static_cast<mig_profile_index>(dice.below(3)));
      std::sort(kinds.begin(), kinds.end());
      check(kinds);
    }
    CHECK(planned > 30);
    CHECK(refused > 30);
  }
}

TEST_CASE("a plan works around the instances that are there", "[devices][mig]") {
  const mig_table table = mig_table::of(mig_product::a100_40gb);
  testing::dice dice(4);
  int none = 0;
  for (int round = 0; round < 3000; ++round) {
    mig_state state;
    for (std::size_t n = dice.below(3); n > 0; --n) {
      const auto profile = static_cast<mig_profile_index>(dice.below(6));
      const std::uint8_t starts = table.fits(state, profile);
      if (starts != 0)
        state = table.place(
            state, {profile, table.pick(starts, profile, dice.percent(50) ? mig_start::low : mig_start::high)});
    }
    std::vector<mig_profile_index> wanted;
    for (std::size_t n = dice.below(5); n > 0; --n) wanted.push_back(static_cast<mig_profile_index>(dice.below(6)));
    const std::function<bool(std::size_t, mig_state)> possible = [&](std::size_t i, mig_state now) {
      if (i == wanted.size()) return true;
      for (std::uint8_t start = 0; start < 8; ++start) {
        if ((table.fits(now, wanted[i]) >> start & 1) != 0 && possible(i + 1, table.place(now, {wanted[i], start})))
          return true;
      }
      return false;
    };
    const auto plan = table.plan(state, wanted);
    if (plan.has_value() != possible(0, state)) FAIL("round " << round);
    none += !plan;
    if (plan) {
      for (const mig_placement& one : *plan) state = table.place(state, one);  // asserts that it fits
    }
  }
  CHECK(none > 300);
}

TEST_CASE("a GPU for 4g and 3g is planned with 3g behind", "[devices][mig]") {
  const mig_table table = mig_table::of(mig_product::a100_80gb);
  const std::vector<mig_profile_index> wanted = {named(table, "3g.40gb"), named(table, "4g.40gb")};
  CHECK(table.plan({}, wanted) == std::vector<mig_placement>{{wanted[0], 4}, {wanted[1], 0}});
  CHECK(table.plan({}, {}) == std::vector<mig_placement>{});
  CHECK(!table.plan({}, std::vector<mig_profile_index>(9, named(table, "1g.10gb"))));
}

TEST_CASE("the least fragmentation admits more than the fullest GPU, and that more than the first", "[devices][mig]") {
  // 100 GPUs at full load: each arrival, of the uniform mix, stays for up to 420 more (a separate simulation had .848, .876, .890).
  const mig_table table = mig_table::of(mig_product::a100_40gb);
  const mig_fragmentation frag(table);
  const std::array<mig_profile_index, 5> mix = {named(table, "1g.5gb"), named(table, "2g.10gb"),
                                                named(table, "3g.20gb"), named(table, "4g.20gb"),
                                                named(table, "7g.40gb")};
  const auto admitted = [&](int policy) {
    testing::dice dice(5);
    std::vector<mig_state> gpus(100);
    std::multimap<int, std::pair<std::size_t, mig_placement>> leaving;
    int slices = 0;
    for (int now = 0; now < 20'000; ++now) {
      for (; !leaving.empty() && leaving.begin()->first <= now; leaving.erase(leaving.begin())) {
        const auto& [gpu, instance] = leaving.begin()->second;
        gpus[gpu] = table.remove(gpus[gpu], instance);
      }
      const mig_profile_index profile = dice.of(mix);
      const int stays = static_cast<int>(1 + dice.below(420));
      std::optional<std::pair<std::int64_t, std::pair<std::size_t, mig_placement>>> best;
      for (std::size_t gpu = 0; gpu < gpus.size(); ++gpu) {
        const auto choice = frag.best(table, gpus[gpu], profile);
        if (!choice) continue;
        const std::uint8_t usual = *table.choose_start(gpus[gpu], profile);
        const std::int64_t cost = policy == 2 ? choice->delta : policy == 1 ? table.free_slices(gpus[gpu]) : 0;
        if (!best || cost < best->first) best = {cost, {gpu, {profile, policy == 2 ? choice->start : usual}}};
      }
      if (!best) continue;
      const auto& [gpu, instance] = best->second;
      gpus[gpu] = table.place(gpus[gpu], instance);
      leaving.insert({now + stays, best->second});
      slices += table[profile].memory_slices;
    }
    return slices;
  };
  const int first = admitted(0), fullest = admitted(1), least = admitted(2);
  CHECK(least > fullest + fullest / 100);
  CHECK(fullest > first + first / 100);
}

}  // namespace gangsched::testing::mig_test
