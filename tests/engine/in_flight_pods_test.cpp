// Attempts of the host's that are under way, and the events that each has not seen.
#include "gangsched/engine/in_flight_pods.hpp"

#include "support/inside.hpp"
#include "world.hpp"

namespace gangsched::testing::in_flight_pods_test {

namespace {

struct fixture {
  gangsched::cluster cluster;
  engine::in_flight_pods attempts{inside(cluster)};

  pod_id add(const std::string& name) { return cluster.add_pod(a_pod{name}).value(); }
  void begin(pod_id pod) { attempts.begin_attempt({.who = {pod.row, false}, .pod = pod, .group = {}}); }
  void event(row_t row) { attempts.add_event({.record = {.kind = change_kind::node_added, .row = row}}); }
  /// The rows of the events that the attempt has not seen.
  [[nodiscard]] std::vector<row_t> unseen(pod_id pod) {
    std::vector<row_t> rows;
    attempts.each_event_since(*attempts.find(pod), [&](const engine::object_event& one) {
      rows.push_back(one.record.row);
      return true;
    });
    return rows;
  }
};

}  // namespace

TEST_CASE("an attempt has not seen what happened since it began", "[parts]") {
  fixture f;
  const pod_id a = f.add("a"), b = f.add("b");
  f.event(1);  // nobody is in flight
  f.begin(a);
  f.event(2);
  f.begin(b);
  f.event(3);
  CHECK(f.unseen(a) == std::vector<row_t>{2, 3});
  CHECK(f.unseen(b) == std::vector<row_t>{3});

  f.attempts.end_attempt(*f.attempts.find(a));
  CHECK(f.attempts.find(a) == nullptr);
  CHECK(f.unseen(b) == std::vector<row_t>{3});
  f.attempts.end_attempt(*f.attempts.find(b));
  f.begin(a);
  CHECK(f.unseen(a).empty());
}

TEST_CASE("who has the row of a pod that was in flight is not in flight", "[parts]") {
  fixture f;
  const pod_id gone = f.add("gone");
  f.begin(gone);
  REQUIRE(f.cluster.remove_pod(gone));
  const pod_id next = f.add("next");
  REQUIRE(next.row == gone.row);
  CHECK(f.attempts.find(engine::entity{next.row, false}) == nullptr);
  CHECK(f.attempts.find(next) == nullptr);
  CHECK(f.attempts.find(gone) != nullptr);  // its attempt has not ended
}

TEST_CASE("an attempt that outlasts what is kept of events is tried again", "[parts]") {
  fixture f;
  const pod_id a = f.add("a");
  f.begin(a);
  for (row_t i = 0; i < (row_t{1} << 16); ++i) f.event(i);
  CHECK_FALSE(f.attempts.find(a)->requeue);
  f.event(7);
  CHECK(f.attempts.find(a)->requeue);
  CHECK(f.unseen(a) == std::vector<row_t>{7});
}

TEST_CASE("a call that is abandoned leaves in flight who was", "[parts]") {
  fixture f;
  const pod_id a = f.add("a"), b = f.add("b");
  f.begin(a);
  f.event(1);
  f.attempts.remember();
  f.attempts.end_attempt(*f.attempts.find(a));
  f.begin(b);
  f.attempts.recall();
  REQUIRE(f.attempts.size() == 1);
  CHECK(f.attempts.find(a) != nullptr);
  CHECK(f.unseen(a).empty());  // forgotten, hence:
  f.attempts.requeue_all();
  CHECK(f.attempts.find(a)->requeue);
}

}  // namespace gangsched::testing::in_flight_pods_test
