#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "gangsched/queues/koordinator/elastic_quota.hpp"
#include "support/catch.hpp"
#include "support/dice.hpp"

// The rules once more, counted anew from all pods and quotas, one resource after another, with nothing kept between two questions.
namespace gangsched::testing::koordinator_random_test {

using namespace gangsched::queues;
using namespace gangsched::queues::koordinator;
using amounts = std::vector<std::int64_t>;
__extension__ using wide = __int128;

struct pod {
  std::string quota;  // "": the default quota, "system": the system quota
  amounts request;
  bool preemptible = true, assigned = false;
};

struct quota {
  std::string parent;
  quota_spec spec;
};

struct world {
  quota_options options;
  amounts total;
  std::map<std::string, quota> quotas;
  std::map<std::string, quota_spec> built_in{{"", {}}, {"system", {}}};
  std::vector<pod> pods;
};

std::int64_t given(const amounts& of, std::size_t resource) { return of.empty() ? 0 : amount_or_zero(of[resource]); }
bool names(const amounts& of, std::size_t resource) { return !of.empty() && is_named(of[resource]); }

/// One resource of a world.
class anew {
 public:
  anew(const world& of, std::size_t resource) : world_(of), resource_(resource) {
    for (const auto& [name, one] : of.built_in) count_own(name, one);
    for (const auto& [name, one] : of.quotas)
      if (one.parent.empty()) upwards(name);
    shared = of.total[resource] - account[""].used - account["system"].used;
    downwards(".", shared);  // a name that no quota has
  }
  std::map<std::string, quota_account> account;
  std::int64_t shared = 0;

 private:
  [[nodiscard]] bool lends(const quota_spec& of) const { return of.lends && !world_.options.guarantee_usage; }
  [[nodiscard]] std::vector<std::string> children(const std::string& of) const {
    std::vector<std::string> made;
    for (const auto& [name, one] : world_.quotas)
      if (one.parent == (of == "." ? "" : of)) made.push_back(name);
    return made;
  }
  [[nodiscard]] std::int64_t weight(const quota_spec& of) const {
    const bool any = std::ranges::any_of(of.weight, [](std::int64_t one) { return is_named(one) && one > 0; });
    return given(any ? of.weight : of.max, resource_);
  }

  quota_account& count_own(const std::string& name, const quota_spec& spec) {
    quota_account& made = account[name];
    for (const pod& one : world_.pods) {
      if (one.quota != name || !names(spec.max, resource_)) continue;
      const std::int64_t amount = amount_or_zero(one.request[resource_]);
      made.wanted += amount;
      if (one.assigned) made.used += amount;
      if (one.assigned && !one.preemptible) made.non_preemptible_used += amount;
    }
    made.allocated = made.used;
    made.request = made.wanted;
    return made;
  }

  void upwards(const std::string& name) {
    const quota_spec& spec = world_.quotas.at(name).spec;
    quota_account made = count_own(name, spec);
    for (const std::string& child : children(name)) {
      upwards(child);
      made.wanted += account[child].limited;
      made.used += account[child].used;
      made.non_preemptible_used += account[child].non_preemptible_used;
      made.allocated += account[child].guaranteed;
    }
    const std::int64_t min = given(spec.min, resource_);
    made.request = lends(spec) ? made.wanted : std::max(made.wanted, min);
    made.limited = names(spec.max, resource_) ? std::min(made.request, spec.max[resource_]) : made.request;
    made.guaranteed = world_.options.guarantee_usage ? std::max(min, made.allocated) : 0;
    account[name] = made;
  }

  void downwards(const std::string& above, std::int64_t total) {
    const std::vector<std::string> all = children(above);
    std::int64_t scalable = 0, fixed = 0, left = total;
    for (const std::string& name : all) {
      const quota_spec& spec = world_.quotas.at(name).spec;
      (spec.scales_min ? scalable : fixed) += given(spec.min, resource_);
    }
    std::vector<std::string> sharing;
    for (const std::string& name : all) {
      const quota_spec& spec = world_.quotas.at(name).spec;
      quota_account& one = account[name];
      one.scaled_min = given(spec.min, resource_);
      if (world_.options.scale_min && spec.scales_min && total < scalable + fixed)
        one.scaled_min =
            total - fixed <= 0 || scalable == 0
                ? 0
                : static_cast<std::int64_t>(static_cast<double>(total - fixed) * static_cast<double>(one.scaled_min) /
                                            static_cast<double>(scalable));
      const std::int64_t floor = std::max(one.scaled_min, one.guaranteed);
      one.runtime = one.limited > floor || !lends(spec) ? floor : one.limited;
      left -= one.runtime;
      if (one.limited > floor) sharing.push_back(name);
    }
    while (left > 0 && !sharing.empty()) {
      wide weights = 0;
      for (const std::string& name : sharing) weights += weight(world_.quotas.at(name).spec);
      if (weights == 0) break;
      hand_out(left, weights, sharing);
      left = 0;
      std::vector<std::string> unsatisfied;
      for (const std::string& name : sharing) {
        quota_account& one = account[name];
        if (one.runtime < one.limited) unsatisfied.push_back(name);
        left += std::max<std::int64_t>(0, one.runtime - one.limited);
        one.runtime = std::min(one.runtime, one.limited);
      }
      sharing = unsatisfied;
    }
    for (const std::string& name : all) downwards(name, account[name].runtime);
  }

  void hand_out(std::int64_t left, wide weights, const std::vector<std::string>& sharing) {
    std::int64_t handed = 0;
    std::vector<std::pair<wide, std::string>> remainders;
    for (const std::string& name : sharing) {
      const std::int64_t mine = weight(world_.quotas.at(name).spec);
      if (world_.options.rounding == share_rounding::nearest) {
        account[name].runtime += static_cast<std::int64_t>(
            static_cast<double>(mine) * static_cast<double>(left) / static_cast<double>(weights) + 0.5);
        continue;
      }
      const auto whole = static_cast<std::int64_t>(wide{mine} * left / weights);
      account[name].runtime += whole;
      handed += whole;
      if (mine > 0) remainders.emplace_back(-(wide{mine} * left % weights), name);
    }
    if (world_.options.rounding == share_rounding::nearest) return;
    std::ranges::sort(remainders);
    for (std::size_t i = 0; handed < left; ++i, ++handed) ++account[remainders.at(i).second].runtime;
  }

  const world& world_;
  std::size_t resource_;
};

std::vector<anew> count_anew(const world& of) {
  std::vector<anew> made;
  for (std::size_t resource = 0; resource < of.total.size(); ++resource) made.emplace_back(of, resource);
  return made;
}

std::uint64_t over(const world& of, std::vector<anew>& now, const std::string& name, const quota_spec& spec,
                   const pod& asks, const quota_spec& counts_by, bool asked_for) {
  std::uint64_t bits = 0;
  for (std::size_t resource = 0; resource < of.total.size(); ++resource) {
    if (!names(spec.max, resource)) continue;
    const bool counts = is_named(asks.request[resource]) && names(counts_by.max, resource);
    if (asked_for && !counts) continue;
    quota_account& one = now[resource].account[name];
    const std::int64_t limit = of.options.runtime ? one.runtime : spec.max[resource];
    if (one.used + (counts ? asks.request[resource] : 0) > limit) bits |= std::uint64_t{1} << resource;
  }
  return bits;
}

std::string verdict_anew(const world& of, const pod& asks) {
  std::vector<anew> now = count_anew(of);
  const auto built_in = of.built_in.find(asks.quota);
  const bool in_tree = built_in == of.built_in.end();
  const quota_spec& spec = in_tree ? of.quotas.at(asks.quota).spec : built_in->second;
  if (in_tree || !of.options.runtime)
    if (const auto bits = over(of, now, asks.quota, spec, asks, spec, false); bits != 0)
      return "quota " + asks.quota + " " + std::to_string(bits);
  std::uint64_t bits = 0;
  for (std::size_t resource = 0; resource < of.total.size() && !asks.preemptible; ++resource)
    if (names(spec.min, resource) && now[resource].account[asks.quota].non_preemptible_used +
                                             (names(spec.max, resource) ? amount_or_zero(asks.request[resource]) : 0) >
                                         spec.min[resource])
      bits |= std::uint64_t{1} << resource;
  if (bits != 0) return "min " + asks.quota + " " + std::to_string(bits);
  if (!of.options.check_parents || !in_tree) return "fits";
  for (std::string above = of.quotas.at(asks.quota).parent; !above.empty(); above = of.quotas.at(above).parent)
    if (const auto there = over(of, now, above, of.quotas.at(above).spec, asks, spec, true); there != 0)
      return "above " + above + " " + std::to_string(there);
  return "fits";
}

amounts random_amounts(dice& roll, std::size_t resources, unsigned unnamed_percent, std::int64_t most) {
  amounts made(resources);
  for (std::int64_t& one : made) {
    one = roll.percent(20) ? roll.between(0, 3) : roll.between(0, most);
    if (roll.percent(unnamed_percent)) one = unnamed;
  }
  return made;
}

quota_spec random_spec(dice& roll, std::size_t resources, std::int64_t most) {
  quota_spec made{.min = random_amounts(roll, resources, 10, most / 4),
                  .max = random_amounts(roll, resources, 10, most),
                  .lends = roll.percent(70),
                  .scales_min = roll.percent(85)};
  if (roll.percent(40)) made.weight = random_amounts(roll, resources, 20, most);
  return made;
}

/// A world, and the library's of the same, through random events.
class run {
 public:
  explicit run(std::uint64_t seed) : roll_(seed), most_(roll_.percent(50) ? 60 : std::int64_t{1} << 50) {
    const auto resources = static_cast<std::size_t>(roll_.between(1, 3));
    world_.options = {.runtime = roll_.percent(80),
                      .check_parents = roll_.percent(50),
                      .scale_min = roll_.percent(70),
                      .guarantee_usage = roll_.percent(25),
                      .rounding = roll_.percent(60) ? share_rounding::nearest : share_rounding::largest_remainder};
    world_.total = random_amounts(roll_, resources, 0, most_);
    for (std::int64_t i = roll_.between(1, 9); i > 0; --i) add_quota();
    rebuild();
  }

  std::size_t compared = 0, refused = 0;

  void step() {
    switch (roll_.below(8)) {
      case 0:
      case 1: add_pod(); break;
      case 2:
      case 3: toggle_pod(); break;
      case 4: remove_pod(); break;
      case 5: change_quota(); break;
      case 6:
        world_.total = random_amounts(roll_, world_.total.size(), 0, most_);
        quotas_.set_total(world_.total).value();
        break;
      default:
        if (roll_.percent(80)) break;
        add_quota();
        quotas_ = quotas_.with_tree(tree(), specs()).value();
    }
    if (roll_.percent(40)) compare_all();
    if (!world_.quotas.empty() && roll_.percent(30)) compare_path(any_quota());
    ask();
  }

 private:
  [[nodiscard]] queue_tree tree() const {
    std::vector<queue_link> links;
    for (const std::string& name : order_) links.push_back({name, world_.quotas.at(name).parent});
    return queue_tree::make(links).value();
  }
  [[nodiscard]] std::vector<quota_spec> specs() const {
    std::vector<quota_spec> made;
    for (const std::string& name : order_) made.push_back(world_.quotas.at(name).spec);
    return made;
  }
  void rebuild() {
    quotas_ = elastic_quotas::make(tree(), specs(), world_.total, world_.options).value();
    for (auto& [name, spec] : world_.built_in) {
      spec = random_spec(roll_, world_.total.size(), most_);
      quotas_.set_quota(at(name), spec).value();
    }
  }
  std::string any_quota() { return roll_.of(order_); }
  [[nodiscard]] queue_index at(const std::string& name) const {
    if (name.empty()) return quotas_.default_quota();
    return name == "system" ? quotas_.system_quota() : quotas_.tree().find(name).value();
  }
  static quota_pod view(const pod& of) { return {of.request, of.preemptible}; }

  void add_quota() {
    const std::string name = "q" + std::to_string((order_.size() * 7) % 30) + "-" + std::to_string(order_.size());
    const std::string parent = order_.empty() || roll_.percent(35) ? std::string{} : any_quota();
    world_.quotas[name] = {parent, random_spec(roll_, world_.total.size(), most_)};
    order_.push_back(name);
    if (roll_.percent(30)) std::rotate(order_.begin(), order_.begin() + 1, order_.end());
  }
  void change_quota() {
    const std::string name = roll_.percent(10) ? (roll_.percent(50) ? "" : "system") : any_quota();
    quota_spec& spec = world_.built_in.contains(name) ? world_.built_in[name] : world_.quotas[name].spec;
    spec = random_spec(roll_, world_.total.size(), most_);
    quotas_.set_quota(at(name), spec).value();
  }
  pod random_pod() {
    const std::string name = roll_.percent(15) ? (roll_.percent(60) ? "" : "system") : any_quota();
    return {name, random_amounts(roll_, world_.total.size(), 25, most_ / 5), roll_.percent(75)};
  }
  void add_pod() {
    world_.pods.push_back(random_pod());
    quotas_.add_pod(at(world_.pods.back().quota), view(world_.pods.back())).value();
  }
  void toggle_pod() {
    if (world_.pods.empty()) return;
    pod& one = roll_.of(world_.pods);
    (one.assigned ? quotas_.unassign_pod(at(one.quota), view(one)) : quotas_.assign_pod(at(one.quota), view(one)))
        .value();
    one.assigned = !one.assigned;
  }
  void remove_pod() {
    if (world_.pods.empty()) return;
    const std::size_t which = roll_.below(world_.pods.size());
    const pod one = world_.pods[which];
    world_.pods.erase(world_.pods.begin() + static_cast<std::ptrdiff_t>(which));
    if (one.assigned) quotas_.unassign_pod(at(one.quota), view(one)).value();
    quotas_.remove_pod(at(one.quota), view(one)).value();
  }

  void ask() {
    const pod asks = !world_.pods.empty() && roll_.percent(50) ? roll_.of(world_.pods) : random_pod();
    const quota_verdict got = quotas_.admit(at(asks.quota), view(asks)).value();
    constexpr std::array<std::string_view, 4> words{"fits", "quota ", "min ", "above "};
    std::string said{words[static_cast<std::size_t>(got.why)]};
    if (!got) {
      const std::string name = got.quota == quotas_.default_quota()  ? std::string{}
                               : got.quota == quotas_.system_quota() ? std::string{"system"}
                                                                     : quotas_.tree().name(got.quota);
      said += name + " " + std::to_string(got.resources);
      ++refused;
    }
    REQUIRE(said == verdict_anew(world_, asks));
    ++compared;
  }

  void compare(const std::string& name, std::vector<anew>& now, bool fresh) {
    for (std::size_t resource = 0; resource < now.size(); ++resource) {
      const quota_account& got = quotas_.accounts(at(name))[resource];
      const quota_account& expected = now[resource].account[name];
      CAPTURE(name, resource);
      REQUIRE(got.wanted == expected.wanted);
      REQUIRE(got.used == expected.used);
      REQUIRE(got.non_preemptible_used == expected.non_preemptible_used);
      if (world_.built_in.contains(name)) continue;
      REQUIRE(got.request == expected.request);
      REQUIRE(got.limited == expected.limited);
      REQUIRE(got.guaranteed == expected.guaranteed);
      if (!fresh) continue;
      REQUIRE(got.scaled_min == expected.scaled_min);
      REQUIRE(got.runtime == expected.runtime);
      ++compared;
    }
  }
  void compare_all() {
    quotas_.refresh();
    std::vector<anew> now = count_anew(world_);
    for (const auto& [name, one] : world_.quotas) compare(name, now, true);
    for (const auto& [name, one] : world_.built_in) compare(name, now, false);
    for (std::size_t resource = 0; resource < now.size(); ++resource)
      REQUIRE(quotas_.shared(resource) == now[resource].shared);
  }
  void compare_path(std::string name) {
    quotas_.refresh(at(name));
    std::vector<anew> now = count_anew(world_);
    for (; !name.empty(); name = world_.quotas[name].parent) compare(name, now, true);
  }

  dice roll_;
  std::int64_t most_;
  world world_;
  std::vector<std::string> order_;
  elastic_quotas quotas_;
};

TEST_CASE("quotas that are counted step by step have the numbers and verdicts of a count anew") {
  std::size_t compared = 0, refused = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    CAPTURE(seed);
    run one{seed};
    for (int i = 0; i < 60; ++i) one.step();
    compared += one.compared;
    refused += one.refused;
  }
  CHECK(compared > 100000);
  CHECK(refused > 5000);
}

TEST_CASE(
    "with largest remainders the siblings get all there is, or all they request, and never more than there is above "
    "their floors") {
  dice roll{41};
  std::size_t short_of_something = 0;
  for (int i = 0; i < 20000; ++i) {
    std::vector<quota_claim> claims(static_cast<std::size_t>(roll.between(1, 12)));
    const std::int64_t most = roll.percent(50) ? 30 : largest_amount / 32;
    std::int64_t floors = 0, requests = 0;
    for (std::size_t k = 0; k < claims.size(); ++k) {
      claims[k] = {.floor = roll.between(0, most / 3),
                   .request = roll.between(0, most),
                   .weight = roll.between(1, most),
                   .order = static_cast<std::uint32_t>(k)};
      floors += std::min(claims[k].floor, claims[k].request);
      requests += claims[k].request;
    }
    const std::int64_t total = roll.between(0, most * static_cast<std::int64_t>(claims.size()));
    share_runtime(total, claims, share_rounding::largest_remainder);
    std::int64_t given = 0;
    for (const quota_claim& one : claims) {
      given += one.runtime;
      REQUIRE(one.runtime <= one.request);
      REQUIRE(one.runtime >= std::min(one.floor, one.request));
    }
    REQUIRE(given == std::min(requests, std::max(total, floors)));
    short_of_something += given < requests ? 1 : 0;
  }
  CHECK(short_of_something > 5000);
}

}  // namespace gangsched::testing::koordinator_random_test
