#include "gangsched/plugins/taint_toleration.hpp"

#include "support/builders.hpp"
#include "support/catch.hpp"
#include "support/hooks.hpp"

namespace gangsched::testing::taint_toleration_test {

using scores = std::vector<std::int64_t>;

namespace {

constexpr auto prefer = taint_effect::prefer_no_schedule;
const verdict untolerated{code::unresolvable, {"node(s) had untolerated taint(s)"}};

}  // namespace

TEST_CASE("TaintToleration filter: NoSchedule and NoExecute have to be tolerated, PreferNoSchedule not") {
  hooks on{taint_toleration{}};
  const node_id clean = on.add(a_node{"clean"});
  const node_id strict = on.add(a_node{"strict"}.taint("dedicated", "ml"));
  const node_id leaving = on.add(a_node{"leaving"}.taint("dedicated", "ml", taint_effect::no_execute));
  const node_id soft = on.add(a_node{"soft"}.taint("dedicated", "ml", prefer));
  const node_id two = on.add(a_node{"two"}.taint("dedicated", "ml").taint("gpu", ""));

  const pod_id plain = on.add(a_pod{"plain"});
  CHECK(on.filter(plain, clean) == verdict{});
  CHECK(on.filter(plain, strict) == untolerated);
  CHECK(on.filter(plain, leaving) == untolerated);
  CHECK(on.filter(plain, soft) == verdict{});

  const pod_id equal = on.add(a_pod{"equal"}.tolerate("dedicated", "ml"));
  CHECK(on.filter(equal, strict) == verdict{});
  CHECK(on.filter(equal, leaving) == verdict{});
  CHECK(on.filter(equal, two) == untolerated);
  CHECK(on.filter(on.add(a_pod{"other-value"}.tolerate("dedicated", "web")), strict) == untolerated);
  CHECK(on.filter(on.add(a_pod{"other-effect"}.tolerate("dedicated", "ml", prefer)), strict) == untolerated);
  const pod_id exists = on.add(a_pod{"exists"}.tolerate("dedicated", "", taint_effect::no_schedule).tolerate("gpu"));
  CHECK(on.filter(exists, two) == verdict{});
  CHECK(on.filter(exists, leaving) == untolerated);
  CHECK(on.filter(on.add(a_pod{"everything"}.tolerate_everything()), two) == verdict{});
}

TEST_CASE("TaintToleration score: untolerated PreferNoSchedule taints, reversed") {
  hooks on{taint_toleration{}};
  on.add(a_node{"none"});
  on.add(a_node{"one"}.taint("a", "", prefer));
  on.add(a_node{"three"}.taint("a", "", prefer).taint("b", "", prefer).taint("c", "", prefer));
  on.add(a_node{"strict"}.taint("a").taint("b", "", taint_effect::no_execute));

  CHECK(on.scores(on.add(a_pod{"plain"})) == scores{100, 67, 0, 100});  // 0, 1, 3, 0 of 3; 100·1/3 = 33
  CHECK(on.scores(on.add(a_pod{"a"}.tolerate("a", "", prefer))) == scores{100, 100, 0, 100});
  CHECK(on.scores(on.add(a_pod{"a-any"}.tolerate("a"))) == scores{100, 100, 0, 100});
  // Tolerations of other effects do not count.
  CHECK(on.scores(on.add(a_pod{"a-strict"}.tolerate("a", "", taint_effect::no_schedule))) == scores{100, 67, 0, 100});
  // Nothing to hold against anybody: all get 100, nobody is skipped.
  CHECK(on.scores(on.add(a_pod{"all"}.tolerate_everything())) == scores{100, 100, 100, 100});
}

}  // namespace gangsched::testing::taint_toleration_test
