#include <cstdint>
#include <string>
#include <vector>

#include "gangsched/queues/koordinator/elastic_quota.hpp"
#include "gangsched/queues/koordinator/overuse.hpp"
#include "support/catch.hpp"

namespace gangsched::testing::koordinator_quota_test {

using namespace gangsched::queues;
using namespace gangsched::queues::koordinator;
using amounts = std::vector<std::int64_t>;
using why = quota_verdict::reason;

amounts shares(std::int64_t total, std::vector<quota_claim> claims, share_rounding rounding = share_rounding::nearest) {
  share_runtime(total, claims, rounding);
  amounts made;
  for (const quota_claim& claim : claims) made.push_back(claim.runtime);
  return made;
}

struct named_quota {
  std::string name, parent;
  quota_spec spec;
};

/// Quotas by name, of one resource unless a test says otherwise.
struct world {
  std::vector<named_quota> named;
  elastic_quotas quotas;

  world(amounts total, std::vector<named_quota> of, quota_options options = {}) : named(std::move(of)) {
    quotas = elastic_quotas::make(tree(), specs(), total, options).value();
  }
  [[nodiscard]] queue_tree tree() const {
    std::vector<queue_link> links;
    for (const named_quota& one : named) links.push_back({one.name, one.parent});
    return queue_tree::make(links).value();
  }
  [[nodiscard]] std::vector<quota_spec> specs() const {
    std::vector<quota_spec> made;
    for (const named_quota& one : named) made.push_back(one.spec);
    return made;
  }
  queue_index at(std::string_view name) const { return quotas.tree().find(name).value(); }
  void request(std::string_view quota, const amounts& of) { quotas.add_pod(at(quota), {of}).value(); }
  void run(std::string_view quota, const amounts& of, bool preemptible = true) {
    quotas.add_pod(at(quota), {of, preemptible}).value();
    quotas.assign_pod(at(quota), {of, preemptible}).value();
  }
  const quota_account& account(std::string_view quota, std::size_t resource = 0) {
    quotas.refresh(at(quota));
    return quotas.accounts(at(quota))[resource];
  }
  std::int64_t runtime(std::string_view quota, std::size_t resource = 0) { return account(quota, resource).runtime; }
  quota_verdict admit(std::string_view quota, const amounts& of, bool preemptible = true) {
    return quotas.admit(at(quota), {of, preemptible}).value();
  }
};

TEST_CASE(
    "O15: what is left goes by weight to those that request more than their min, and comes back from the satisfied") {
  for (const share_rounding rounding : {share_rounding::nearest, share_rounding::largest_remainder}) {
    const std::vector<quota_claim> claims{{.floor = 10, .request = 5, .weight = 40},
                                          {.floor = 15, .request = 20, .weight = 60},
                                          {.floor = 20, .request = 40, .weight = 50},
                                          {.floor = 15, .request = 70, .weight = 80}};
    CHECK(shares(100, claims, rounding) == amounts{5, 20, 35, 40});
    auto weightless = claims;
    weightless[3].weight = 0;
    CHECK(shares(100, weightless, rounding) == amounts{5, 20, 40, 15});
    weightless[3].floor = 45;  // guaranteed
    CHECK(shares(100, weightless, rounding) == amounts{5, 20, 30, 45});
  }
}

TEST_CASE(
    "O16: with largest remainders no unit of 81 GPUs is lost; each rounded by itself, ten borrowers get none of "
    "three") {
  std::vector<quota_claim> claims{{.floor = 3, .request = 0, .weight = 1}};
  for (std::uint32_t i = 0; i < 10; ++i)
    claims.push_back({.floor = i < 8 ? 8 : 7, .request = 100, .weight = 1, .order = 10 - i});
  CHECK(shares(81, claims, share_rounding::largest_remainder) == amounts{0, 8, 8, 8, 8, 8, 8, 8, 9, 8, 8});
  CHECK(shares(81, claims) == amounts{0, 8, 8, 8, 8, 8, 8, 8, 8, 7, 7});  // 0.3 of a unit each
}

TEST_CASE("each share is rounded by itself in 1.7.0, so that together they can exceed what there is") {
  CHECK(shares(3, {{.request = 9, .weight = 1}, {.request = 9, .weight = 1}}) == amounts{2, 2});
  CHECK(shares(3, {{.request = 9, .weight = 1, .order = 1}, {.request = 9, .weight = 1}},
               share_rounding::largest_remainder) == amounts{1, 2});
}

TEST_CASE("mins are given even if they are more than there is, and nothing is shared then") {
  CHECK(shares(10, {{.floor = 8, .request = 20, .weight = 1}, {.floor = 8, .request = 20, .weight = 1}}) ==
        amounts{8, 8});
  CHECK(shares(-5, {{.floor = 8, .request = 20, .weight = 1}}) == amounts{8});
}

TEST_CASE("O17: who does not lend keeps its min without a request, and a tree of those passes it up") {
  world flat{{100}, {{"t1", "", {.min = {60}, .max = {96}}}, {"t2", "", {.min = {40}, .max = {96}, .lends = false}}}};
  flat.request("t1", {120});
  CHECK(flat.runtime("t1") == 60);
  CHECK(flat.runtime("t2") == 40);

  for (const bool root_lends : {false, true}) {
    world tree{{100},
               {{"root", "", {.min = {60}, .max = {96}, .lends = root_lends}},
                {"child1", "root", {.min = {20}, .max = {96}, .lends = false}},
                {"child2", "root", {.min = {20}, .max = {96}, .lends = false}}}};
    const auto runtimes = [&] { return amounts{tree.runtime("root"), tree.runtime("child1"), tree.runtime("child2")}; };
    CHECK(runtimes() == amounts{root_lends ? 40 : 60, 20, 20});
    tree.request("child1", {40});
    CHECK(runtimes() == amounts{60, 40, 20});
    tree.request("child1", {20});
    CHECK(runtimes() == amounts{80, 60, 20});
  }
}

TEST_CASE("O18: mins that their parent cannot cover shrink together, and come back with the total") {
  const auto three = [](bool scale) {
    world made{{200000},
               {{"p", "", {.min = {300000}, .max = {1000000}}},
                {"a", "p", {.min = {100000}, .max = {1000000}}},
                {"b", "p", {.min = {100000}, .max = {1000000}}},
                {"c", "p", {.min = {100000}, .max = {1000000}}}},
               {.scale_min = scale}};
    for (const char* quota : {"a", "b", "c"}) made.request(quota, {200000});
    return made;
  };
  world all = three(true);
  CHECK(all.runtime("p") == 200000);
  CHECK(all.account("p").scaled_min == 200000);
  for (const char* quota : {"a", "b", "c"}) {
    CHECK(all.account(quota).scaled_min == 66666);
    CHECK(all.runtime(quota) == 66667);
  }
  all.quotas.set_total(amounts{600000}).value();
  CHECK(all.runtime("p") == 600000);
  CHECK(all.runtime("c") == 200000);
  CHECK(all.account("c").scaled_min == 100000);

  world unscaled = three(false);
  CHECK(unscaled.runtime("p") == 300000);
  CHECK(unscaled.runtime("a") == 100000);
}

TEST_CASE("O18: of mins 50, 50 and 50 one that does not scale is covered first") {
  for (const auto& [total, scaled] : {std::pair<std::int64_t, std::int64_t>{200, 50}, {100, 25}, {50, 0}, {0, 0}})
    CHECK(scaled_min(50, total, 100, 50) == scaled);
  world quotas{{100},
               {{"fixed", "", {.min = {50}, .max = {200}, .scales_min = false}},
                {"b", "", {.min = {50}, .max = {200}}},
                {"c", "", {.min = {50}, .max = {200}}}}};
  for (const char* quota : {"fixed", "b", "c"}) quotas.request(quota, {200});
  CHECK(quotas.runtime("fixed") == 50);
  CHECK(quotas.runtime("b") == 25);
  CHECK(quotas.account("c").scaled_min == 25);
}

TEST_CASE("O19: pods are revoked from the least important on, and given back from the most important on") {
  const std::vector<amounts> requests{{20, 0}, {10, 1}, {20, 0}, {40, 0}, {10, 0}};
  std::vector<assigned_pod> pods{
      {requests[0], 10}, {requests[1], 9}, {requests[2], 8}, {requests[3], 7}, {requests[4], 1, {}, false}};
  const std::vector<std::uint32_t> second_and_fourth{1, 3};
  CHECK(pods_to_revoke(amounts{100, 1}, amounts{60, 0}, pods) == second_and_fourth);
  CHECK(pods_to_revoke(amounts{90, 1}, amounts{50, 0}, std::span{pods}.first(4)) == second_and_fourth);
  CHECK(pods_to_revoke(amounts{90, 1}, amounts{-1, 0}, pods) == std::vector<std::uint32_t>{3, 2, 1, 0});
  pods.erase(pods.begin() + 3);  // no longer assigned
  CHECK(pods_to_revoke(amounts{50, 1}, amounts{-1, 0}, pods) == std::vector<std::uint32_t>{2, 1, 0});
  CHECK(pods_to_revoke(amounts{50, 1}, amounts{50, 1}, pods).empty());
}

TEST_CASE("pods of one priority are revoked from the one that started last on") {
  const amounts request{10};
  const std::vector<assigned_pod> pods{{request, 5, std::chrono::seconds{2}},
                                       {request, 5, std::chrono::seconds{3}},
                                       {request, 5, std::chrono::seconds{1}}};
  CHECK(pods_to_revoke(amounts{30}, amounts{20}, pods) == std::vector<std::uint32_t>{1});
}

TEST_CASE("a resource that the pod looked at last does not name is not compared any more, as upstream") {
  const amounts cpu{10, unnamed}, both{10, 5};
  const std::vector<assigned_pod> pods{{both, 2}, {cpu, 1}};
  CHECK(pods_to_revoke(amounts{20, 5}, amounts{10, 0}, pods) == std::vector<std::uint32_t>{1});
}

TEST_CASE(
    "pods are revoked when a quota is over at each look for longer than the delay, and then again only after as long") {
  using std::chrono::seconds;
  overuse_monitor monitor{seconds{1000}};
  CHECK_FALSE(monitor.look(seconds{1100}, true));
  CHECK_FALSE(monitor.look(seconds{1120}, true));
  CHECK(monitor.look(seconds{1121}, true));
  CHECK_FALSE(monitor.look(seconds{1200}, true));
  CHECK_FALSE(monitor.look(seconds{1240}, false));
  CHECK_FALSE(monitor.look(seconds{1300}, true));
  CHECK(monitor.look(seconds{1361}, true));
}

TEST_CASE("a pod is admitted within the runtime quota, and refused also for a resource that it does not ask for") {
  world quotas{{100, 100}, {{"a", "", {.min = {10, 10}, .max = {60, 60}}}, {"b", "", {.max = {60, 60}}}}};
  quotas.run("a", {50, 50});
  CHECK(quotas.admit("a", {10, unnamed}).why ==
        why::over_quota);  // its runtime follows requests, and this pod has none yet
  quotas.request("a", {10, unnamed});
  CHECK(quotas.admit("a", {10, unnamed}));
  quotas.quotas.set_total(amounts{100, 40}).value();
  const quota_verdict refused = quotas.admit("a", {10, unnamed});
  CHECK(refused.why == why::over_quota);
  CHECK(refused.quota == quotas.at("a"));
  CHECK(refused.resources == 2);
  CHECK(quotas.quotas.is_over_runtime(quotas.at("a")));
  CHECK_FALSE(quotas.quotas.is_over_runtime(quotas.at("b")));
}

TEST_CASE(
    "non-preemptible pods may use no more than min, also where it is scaled, and as much as they like of what min does "
    "not name") {
  world quotas{{10, 100},
               {{"a", "", {.min = {20, unnamed}, .max = {60, 60}}}, {"b", "", {.min = {20, 0}, .max = {60, 60}}}}};
  quotas.run("a", {4, 30}, false);
  quotas.request("a", {5, 30});
  CHECK(quotas.account("a").scaled_min == 5);
  CHECK(quotas.admit("a", {1, 30}, false));
  const quota_verdict over = quotas.admit("a", {17, 0}, false);
  CHECK(over.why == why::over_quota);  // comes before it
  world wide{{100, 100}, {{"a", "", {.min = {20, unnamed}, .max = {60, 60}}}}};
  wide.run("a", {16, 0}, false);
  wide.request("a", {10, 0});
  CHECK(wide.admit("a", {4, 0}, false));
  CHECK(wide.admit("a", {5, 0}, false).why == why::non_preemptible);
  CHECK(wide.admit("a", {5, 0}, false).resources == 1);
  CHECK(wide.admit("a", {5, 0}));
}

TEST_CASE("with check_parents the quotas above have to have room, in what the pod asks for") {
  for (const bool check : {false, true}) {
    world quotas{{100, 100},
                 {{"p", "", {.max = {30, 30}}},
                  {"a", "p", {.min = {20, 0}, .max = {60, 60}}},
                  {"b", "p", {.min = {20, 0}, .max = {60, 60}}}},
                 {.check_parents = check}};
    quotas.run("b", {20, 40});
    quotas.request("a", {20, unnamed});
    CHECK(quotas.admit("a", {10, unnamed}));  // p uses 40 of 30 in the second, which is not asked for
    const quota_verdict verdict = quotas.admit("a", {11, unnamed});
    CHECK(static_cast<bool>(verdict) != check);
    if (!check) continue;
    CHECK(verdict.why == why::over_ancestor);
    CHECK(verdict.quota == quotas.at("p"));
    CHECK(verdict.resources == 1);
  }
}

TEST_CASE("without runtime quotas max is the limit, of the default quota too") {
  world quotas{{100}, {{"a", "", {.max = {60}}}}, {.runtime = false}};
  elastic_quotas& all = quotas.quotas;
  all.set_quota(all.default_quota(), {.max = {5}}).value();
  CHECK(quotas.admit("a", {60}));
  CHECK_FALSE(quotas.admit("a", {61}));
  CHECK(all.admit(all.default_quota(), {amounts{5}}).value());
  CHECK(all.admit(all.default_quota(), {amounts{6}}).value().resources == 1);
}

TEST_CASE(
    "what the default and the system quota use is not shared, and with runtime quotas nobody refuses their pods") {
  world quotas{{100}, {{"a", "", {.max = {200}}}}};
  elastic_quotas& all = quotas.quotas;
  for (const queue_index built_in : {all.default_quota(), all.system_quota()}) {
    all.set_quota(built_in, {.max = {5}}).value();
    CHECK(all.admit(built_in, {amounts{70}}).value());
    all.add_pod(built_in, {amounts{70}}).value();
    all.assign_pod(built_in, {amounts{70}}).value();
  }
  quotas.request("a", {200});
  CHECK(all.shared(0) == -40);
  CHECK(quotas.runtime("a") == 0);
  all.unassign_pod(all.system_quota(), {amounts{70}}).value();
  CHECK(quotas.runtime("a") == 30);
}

TEST_CASE("with guaranteed usage nobody lends its min, and what runs above min stays") {
  world quotas{{100},
               {{"a", "", {.min = {40}, .max = {100}}}, {"b", "", {.min = {10}, .max = {100}}}},
               {.guarantee_usage = true}};
  quotas.run("b", {55});
  CHECK(quotas.runtime("a") == 40);
  CHECK(quotas.account("b").guaranteed == 55);
  quotas.request("a", {100});
  CHECK(quotas.runtime("a") == 45);
  CHECK(quotas.runtime("b") == 55);
}

TEST_CASE("a weight that is not given, or is nothing but 0, is the max") {
  world quotas{{90},
               {{"a", "", {.max = {100}, .weight = {0}}},
                {"b", "", {.max = {200}}},
                {"c", "", {.max = {1000}, .weight = {150}}}}};
  for (const char* quota : {"a", "b", "c"}) quotas.request(quota, {100});
  CHECK(quotas.runtime("a") == 20);
  CHECK(quotas.runtime("b") == 40);
  CHECK(quotas.runtime("c") == 30);
}

TEST_CASE("pods do not count in resources that max does not name, until it does") {
  world quotas{{100, 100}, {{"a", "", {.max = {60, unnamed}}}}};
  quotas.run("a", {10, 10});
  CHECK(quotas.account("a", 1).used == 0);
  CHECK(quotas.account("a", 1).wanted == 0);
  CHECK(quotas.admit("a", {0, 1000}));
  quotas.quotas.set_quota(quotas.at("a"), {.max = {60, 60}}).value();
  CHECK(quotas.account("a", 1).used == 10);
  CHECK(quotas.account("a", 1).runtime == 10);
  quotas.quotas.unassign_pod(quotas.at("a"), {amounts{10, 10}}).value();
  CHECK(quotas.account("a", 1).used == 0);
  CHECK(quotas.account("a", 1).request == 10);
}

TEST_CASE("another tree takes the pods along by the names of quotas, and refuses to lose any") {
  world quotas{{100}, {{"a", "", {.min = {10}, .max = {60}}}, {"b", "", {.max = {60}}}}};
  quotas.run("b", {30});
  quotas.quotas.set_quota(quotas.quotas.system_quota(), {.max = {50}}).value();
  quotas.quotas.add_pod(quotas.quotas.system_quota(), {amounts{7}}).value();
  quotas.quotas.assign_pod(quotas.quotas.system_quota(), {amounts{7}}).value();
  world other{{100}, {{"new", "", {.max = {40}}}, {"b", "new", {.max = {60}}}}};
  elastic_quotas moved = quotas.quotas.with_tree(other.tree(), other.specs()).value();
  moved.refresh();
  CHECK(moved.accounts(moved.tree().find("new").value())[0].used == 30);
  CHECK(moved.accounts(moved.tree().find("b").value())[0].runtime == 30);
  CHECK(moved.shared(0) == 93);
  world without{{100}, {{"new", "", {.max = {40}}}}};
  const auto refused = quotas.quotas.with_tree(without.tree(), without.specs());
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message() == "quota b: name: is gone from the tree and has pods");
}

TEST_CASE("quotas are refused by name, field and reason") {
  const queue_tree tree = queue_tree::make(std::vector<queue_link>{{"a"}, {"b"}}).value();
  const auto failure = [&](std::vector<quota_spec> specs, amounts total) {
    const auto made = elastic_quotas::make(tree, specs, total);
    return made ? std::string{} : made.error().message();
  };
  CHECK(failure({{}, {}}, {1, 1}).empty());
  CHECK(failure({{}}, {1}) == "elastic quotas: quotas: 1 for a tree of 2");
  CHECK(failure({{}, {}}, amounts(65, 1)) == "elastic quotas: total: has 65 resources, at most 64 can be");
  CHECK(failure({{}, {}}, {1, unnamed}) == "cluster: total[1]: is not given");
  CHECK(failure({{}, {}}, {-1}) == "cluster: total[0]: -1 is not in 0 … 2305843009213693952");
  CHECK(failure({{}, {.min = {1, 2}}}, {1}) == "quota b: min: has 2 amounts for 1 resources");
  CHECK(failure({{}, {.max = {-3}}}, {1}) == "quota b: max[0]: -3 is not in 0 … 9223372036854775807");
  CHECK(failure({{.weight = {-1}}, {}}, {1}) == "quota a: weight[0]: -1 is not in 0 … 9223372036854775807");
  CHECK(failure({{.min = {largest_amount}}, {.min = {1}}}, {1}) == "quota b: min[0]: the sum is too large");
}

TEST_CASE("a call for a pod that is refused changes nothing, and says why") {
  world quotas{{100, 100}, {{"a", "", {.min = {10, 10}, .max = {60, 60}}}}};
  elastic_quotas& all = quotas.quotas;
  quotas.run("a", {5, 5});
  const auto message = [](const result<void>& of) { return of ? std::string{} : of.error().message(); };
  CHECK(message(all.add_pod(9, {amounts{1, 1}})) == "quota 9: there is none");
  CHECK(message(all.add_pod(0, {amounts{1}})) == "quota a: request: has 1 amounts for 2 resources");
  CHECK(message(all.add_pod(0, {})) == "quota a: request: has no amounts");
  CHECK(message(all.add_pod(0, {amounts{1, -1}})) == "quota a: request[1]: -1 is not in 0 … 2305843009213693952");
  CHECK(message(all.add_pod(0, {amounts{1, largest_amount - 5}})) == "quota a: request[1]: the sum is too large");
  CHECK(message(all.remove_pod(0, {amounts{1, 6}})) == "quota a: request[1]: the quota has only 5 of that kind");
  CHECK(message(all.unassign_pod(0, {amounts{1, 1}, false})) ==
        "quota a: request[0]: the quota has only 0 of that kind");
  CHECK(message(all.set_quota(7, {})) == "quota 7: there is none");
  CHECK(message(all.set_total(amounts{1})) == "cluster: total: has 1 amounts for 2 resources");
  CHECK_FALSE(all.admit(0, {amounts{1}}));
  CHECK(quotas.account("a", 0).own_request == 5);
  CHECK(quotas.account("a", 1).used == 5);
}

}  // namespace gangsched::testing::koordinator_quota_test
