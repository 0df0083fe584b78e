// What decisions point at: kept as long as they are, and no longer.
#include "gangsched/engine/decision_list.hpp"

#include <set>

#include "support/inside.hpp"
#include "world.hpp"

namespace gangsched::testing::decision_list_test {

TEST_CASE("devices that answers name take no more memory when the answers are dropped", "[parts]") {
  world w;
  w.add(a_node{"n"}.cpu(8).cards(2));
  const pod_id pod = w.add(a_pod{"p"}.cards(1));
  CHECK(w.run() == words{"bind p n"});
  engine::decision_list decisions{inside(w.cluster)};
  decisions.add(decision_kind::bind, pod.row);
  std::set<const device_grant*> places;
  for (int i = 0; i < 100; ++i) {
    for (int answer = 0; answer < 2; ++answer) {
      decisions.begin_answer();
      decisions.add(decision_kind::revoke, pod.row);
      decisions.add(decision_kind::revoke, pod.row);
      const std::span<const decision> said = decisions.end_answer();
      for (const decision& one : said) {
        REQUIRE(one.devices.size() == 1);
        places.insert(one.devices.data());
      }
      CHECK(said[0].devices.data() != said[1].devices.data());
    }
    decisions.drop_answers();
  }
  CHECK(places.size() <= 5);
  CHECK(decisions.of_cycle().size() == 1);
  CHECK(decisions.of_cycle()[0].devices.size() == 1);
}

}  // namespace gangsched::testing::decision_list_test
