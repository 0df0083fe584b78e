#include "gangsched/model/transaction.hpp"

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "gangsched/model/cluster.hpp"
#include "support/builders.hpp"
#include "support/catch.hpp"
#include "support/inside.hpp"
#include "support/refused.hpp"

namespace gangsched::testing::transaction_test {

namespace {

/// Two nodes, a gang of two, and where everything stands.
struct stage {
  cluster c;
  node_id n1 = c.add_node(a_node("n1").cpu(4)).value();
  node_id n2 = c.add_node(a_node("n2").cpu(4)).value();
  group_id g = c.add_group(a_gang("g", 2)).value();
  pod_id p = c.add_pod(a_pod("p").cpu(2).port(80).in(g)).value();
  pod_id q = c.add_pod(a_pod("q").cpu(2).in(g)).value();
  pod_id running = c.add_pod(a_pod("running").cpu(1).on(n2)).value();

  struct snapshot {
    std::uint64_t digest;
    std::uint64_t log_begin;
    std::uint64_t log_end;
    std::size_t undo_size;
    friend bool operator==(const snapshot&, const snapshot&) = default;
  };
  [[nodiscard]] snapshot now() const {
    const model::cluster_state& state = inside(c);
    return {inside(c).digest_with_derived(), state.log.begin(), state.log.end(), state.undo.size()};
  }
};

TEST_CASE("a transaction that nobody commits never happened", "[model][transaction]") {
  stage s;
  const auto before = s.now();
  {
    transaction trial{s.c};
    REQUIRE(s.c.assume(s.p, s.n1));
    REQUIRE(s.c.assume(s.q, s.n1));
    CHECK(s.c.requested(s.n1, "cpu") == 4000);
    CHECK_FALSE(s.now() == before);
  }
  CHECK(s.now() == before);
  CHECK(s.c.state_of(s.p) == pod_state::pending);
  CHECK(s.c.requested(s.n1, "cpu") == 0);
  CHECK_FALSE(inside(s.c).undo.recording());
}

TEST_CASE("a committed transaction is as if there had been none", "[model][transaction]") {
  stage s, plain;
  {
    transaction trial{s.c};
    REQUIRE(s.c.assume(s.p, s.n1));
    REQUIRE(s.c.bind(s.p));
    trial.commit();
    trial.commit();  // once is enough, twice is nothing
    trial.roll_back();
  }
  REQUIRE(plain.c.assume(plain.p, plain.n1));
  REQUIRE(plain.c.bind(plain.p));
  CHECK(s.now() == plain.now());
}

TEST_CASE("a transaction may be rolled back before its end, once", "[model][transaction]") {
  stage s;
  const auto before = s.now();
  transaction trial{s.c};
  REQUIRE(s.c.remove_pod(s.p));
  trial.roll_back();
  CHECK(s.now() == before);
  REQUIRE(s.c.assume(s.p, s.n1));  // outside, for good
  const auto after = s.now();
  trial.roll_back();
  trial.commit();
  CHECK(s.now() == after);
}

TEST_CASE("every call is undone by a roll-back", "[model][transaction]") {
  stage s;
  const auto before = s.now();
  const auto undone = [&](const char* what, auto call) {
    INFO(what);
    {
      transaction trial{s.c};
      REQUIRE(call().has_value());
      CHECK(inside(s.c).digest_with_derived() != before.digest);
    }
    CHECK(s.now() == before);
  };
  cluster& c = s.c;
  undone("add_node", [&] { return c.add_node(a_node("n3").cpu(1).label("new", "symbol").gpus(3)); });
  undone("update_node", [&] { return c.update_node(s.n1, a_node("n1").memory("1Gi").taint("k")); });
  undone("remove_node", [&] { return c.remove_node(s.n2); });
  undone("add_pod", [&] { return c.add_pod(a_pod("r").in(s.g).on(s.n1).port(443)); });
  undone("update_pod", [&] { return c.update_pod(s.running, a_pod("running").gpus(3).port(1).on(s.n2)); });
  undone("update_pod to bound", [&] { return c.update_pod(s.p, a_pod("p").in(s.g).on(s.n1)); });
  undone("remove_pod", [&] { return c.remove_pod(s.q); });
  undone("remove a bound pod", [&] { return c.remove_pod(s.running); });
  undone("set_terminating", [&] { return c.set_terminating(s.running); });
  undone("assume", [&] { return c.assume(s.p, s.n2); });
  undone("nominate", [&] { return c.nominate(s.p, s.n2); });
  undone("add_group", [&] { return c.add_group(a_gang("h", 3)); });
  undone("update_group", [&] { return c.update_group(s.g, a_gang("g", 3)); });
  undone("set_namespace", [&] { return c.set_namespace({.name = "blue", .labels = {{"a", "b"}}}); });
  undone("set_priority_class", [&] { return c.set_priority_class({.name = "high", .value = 9}); });
  undone("release", [&] {
    REQUIRE(c.assume(s.p, s.n1));
    return c.release(s.p);
  });
  undone("bind", [&] {
    REQUIRE(c.assume(s.p, s.n1));
    return c.bind(s.p);
  });
  undone("remove_group", [&] {
    REQUIRE(c.remove_pod(s.p));
    REQUIRE(c.remove_pod(s.q));
    return c.remove_group(s.g);
  });
  undone("remove_namespace", [&] {
    REQUIRE(c.set_namespace({.name = "blue"}));
    return c.remove_namespace("blue");
  });
  undone("remove_priority_class", [&] {
    REQUIRE(c.set_priority_class({.name = "high"}));
    return c.remove_priority_class("high");
  });
}

TEST_CASE("a nested transaction is undone alone, or kept for the outer one to decide", "[model][transaction]") {
  stage s;
  const auto before = s.now();
  {
    transaction outer{s.c};
    REQUIRE(s.c.assume(s.p, s.n1));
    const auto inside = s.now();
    {
      transaction inner{s.c};
      REQUIRE(s.c.assume(s.q, s.n1));
    }
    CHECK(s.now() == inside);
    {
      transaction inner{s.c};
      REQUIRE(s.c.assume(s.q, s.n2));
      inner.commit();
    }
    CHECK(s.c.state_of(s.q) == pod_state::assumed);
    CHECK(s.c.node_of(s.q) == s.n2);
  }
  CHECK(s.now() == before);
}

TEST_CASE("kept inside and out, changes stay, and the log is that of a straight run", "[model][transaction]") {
  stage s, plain;
  {
    transaction outer{s.c};
    REQUIRE(s.c.assume(s.p, s.n1));
    {
      transaction discarded{s.c};
      REQUIRE(s.c.remove_node(s.n1));
    }
    {
      transaction kept{s.c};
      REQUIRE(s.c.assume(s.q, s.n2));
      kept.commit();
    }
    outer.commit();
  }
  REQUIRE(plain.c.assume(plain.p, plain.n1));
  REQUIRE(plain.c.assume(plain.q, plain.n2));
  CHECK(s.now() == plain.now());
  for (std::uint64_t at = 0; at < inside(s.c).log.end(); ++at) {
    CHECK(inside(s.c).log[at].kind == inside(plain.c).log[at].kind);
    CHECK(inside(s.c).log[at].row == inside(plain.c).log[at].row);
  }
}

TEST_CASE("transactions end in reverse order of opening by themselves", "[model][transaction]") {
  stage s;
  const auto before = s.now();
  {
    transaction first{s.c};
    REQUIRE(s.c.assume(s.p, s.n1));
    transaction second{s.c};
    REQUIRE(s.c.bind(s.p));
    transaction third{s.c};
    REQUIRE(s.c.remove_pod(s.p));
    third.commit();
  }
  CHECK(s.now() == before);
}

TEST_CASE("committed readers stop at the beginning of the outermost transaction", "[model][transaction]") {
  stage s;
  const change_log& log = inside(s.c).log;
  const std::uint64_t begin = log.end();
  {
    transaction outer{s.c};
    REQUIRE(s.c.assume(s.p, s.n1));
    transaction inner{s.c};
    REQUIRE(s.c.assume(s.q, s.n1));
    CHECK(log.committed_end() == begin);
    inner.commit();
    CHECK(log.committed_end() == begin);
    outer.commit();
  }
  CHECK(log.committed_end() == begin + 2);
}

TEST_CASE("a reader that looked inside a discarded transaction learns how far to go back", "[model][transaction]") {
  stage s;
  const change_log& log = inside(s.c).log;
  const std::uint64_t begin = log.end();
  log_cursor reader = log.tip();
  {
    transaction trial{s.c};
    REQUIRE(s.c.assume(s.p, s.n1));
    reader = log.tip();
  }
  CHECK(log.truncated_since(reader.truncations) == begin);
  reader = log.tip();
  {
    transaction trial{s.c};  // touches nothing
  }
  CHECK(log.truncated_since(reader.truncations) == log.end());
  CHECK(log.truncations() == reader.truncations);
}

TEST_CASE("a log may be asked to keep everything", "[model][transaction]") {
  cluster c{{.log_bound = std::numeric_limits<std::size_t>::max() / 2 + 1}};
  const node_id n = c.add_node(a_node("n")).value();
  const pod_id p = c.add_pod(a_pod("p")).value();
  for (int i = 0; i < 10; ++i) {
    REQUIRE(c.assume(p, n));
    REQUIRE(c.release(p));
  }
  CHECK(inside(c).log.begin() == 0);
  CHECK(inside(c).log.end() == 22);
  CHECK(inside(c).log.bound() == std::size_t{1} << 40);
}

TEST_CASE("a long transaction does not lose the log that it must give back", "[model][transaction]") {
  cluster c{{.log_bound = 4}};
  const node_id n = c.add_node(a_node("n")).value();
  const pod_id p = c.add_pod(a_pod("p")).value();
  const std::uint64_t digest = inside(c).digest_with_derived(), begin = inside(c).log.begin(),
                      end = inside(c).log.end();
  {
    transaction trial{c};
    for (int i = 0; i < 100; ++i) {
      REQUIRE(c.assume(p, n));
      REQUIRE(c.release(p));
    }
  }
  CHECK(inside(c).digest_with_derived() == digest);
  CHECK(inside(c).log.begin() == begin);
  CHECK(inside(c).log.end() == end);
  {
    transaction trial{c};
    for (int i = 0; i < 100; ++i) {
      REQUIRE(c.assume(p, n));
      REQUIRE(c.release(p));
    }
    trial.commit();
  }
  CHECK(inside(c).log.end() == end + 200);
  const std::uint64_t kept = inside(c).log.end() - inside(c).log.begin();
  CHECK((kept >= 4 && kept < 8));  // as many as if each record had been a call
}

TEST_CASE("a dry run may take running pods off their nodes and put some back", "[model][transaction]") {
  stage s;
  const pod_id other = s.c.add_pod(a_pod("other").cpu(3).port(80).on(s.n2)).value();
  const auto before = s.now();
  {
    transaction trial{s.c};
    inside(s.c).assigned.take_off_node(s.running.row);
    inside(s.c).assigned.take_off_node(other.row);
    CHECK(s.c.requested(s.n2, "cpu") == 0);
    CHECK(s.c.requested(s.n2, "pods") == 0);
    {
      transaction reprieve{s.c};
      inside(s.c).assigned.put_on_node(other.row, s.n2.row);
      CHECK(s.c.requested(s.n2, "cpu") == 3000);
    }
    inside(s.c).assigned.put_on_node(s.running.row, s.n2.row);
    REQUIRE(s.c.assume(s.p, s.n2));
    CHECK(s.c.requested(s.n2, "cpu") == 3000);
  }
  CHECK(s.now() == before);
  CHECK(s.c.node_of(other) == s.n2);
}

TEST_CASE("a pod that comes on a node is one entry of the undo log, whatever it asks for", "[model][transaction]") {
  stage s;
  a_pod wide = a_pod("wide").cpu(1).memory("1Gi").priority(7);
  for (const char* const name : {"example.com/a", "example.com/b", "example.com/c"}) wide.resource(name, 1);
  const pod_id pod = s.c.add_pod(wide).value();
  const auto before = s.now();
  {
    transaction trial{s.c};
    inside(s.c).assigned.put_on_node(pod.row, s.n2.row);
    CHECK(inside(s.c).undo.size() == 1);
    REQUIRE(s.c.assume(s.q, s.n2));
    inside(s.c).assigned.take_off_node(pod.row);  // not the last one any more
    inside(s.c).assigned.put_on_node(pod.row, s.n1.row);
    {
      transaction inner{s.c};
      REQUIRE(s.c.remove_pod(s.running));
      REQUIRE(s.c.bind(s.q));
    }
    CHECK(s.c.node_of(s.running) == s.n2);
    CHECK(s.c.requested(s.n2, "cpu") == 3000);
    CHECK(inside(s.c).assigned.priorities.lowest() == 0);
  }
  CHECK(s.now() == before);
  CHECK(s.c.node_of(pod) == node_id{});
  CHECK(s.c.requested(s.n2, "cpu") == 1000);
}

TEST_CASE("ids made in a discarded transaction are void and may be given again", "[model][transaction]") {
  stage s;
  std::optional<pod_id> seen;
  {
    transaction trial{s.c};
    seen = s.c.add_pod(a_pod("r")).value();
    CHECK(s.c.contains(*seen));
  }
  CHECK_FALSE(s.c.contains(*seen));
  CHECK(s.c.find_pod("default", "r") == std::nullopt);
  CHECK(s.c.add_pod(a_pod("other")).value() == *seen);
}

TEST_CASE("a row freed in a discarded transaction is not free", "[model][transaction]") {
  stage s;
  {
    transaction trial{s.c};
    REQUIRE(s.c.remove_pod(s.p));
    CHECK(s.c.add_pod(a_pod("r")).value().row == s.p.row);
  }
  CHECK(s.c.contains(s.p));
  CHECK(s.c.name_of(s.p) == "p");
  CHECK(s.c.find_pod("default", "p") == s.p);
  CHECK(s.c.add_pod(a_pod("r")).value().row != s.p.row);
}

TEST_CASE("a call that is refused inside a transaction changes nothing there either", "[model][transaction]") {
  stage s;
  transaction trial{s.c};
  REQUIRE(s.c.assume(s.p, s.n1));
  const auto inside = s.now();
  check_refused(s.c, errc::wrong_state, "pod default/p", "state", [&] { return s.c.assume(s.p, s.n2); });
  check_refused(s.c, errc::duplicate, "node n1", "name", [&] { return s.c.add_node(a_node("n1")); });
  check_refused(s.c, errc::unknown, "pod default/x", "priority_class",
                [&] { return s.c.add_pod(a_pod("x").priority_class("none").label("brand", "new")); });
  CHECK(s.now() == inside);
}

}  // namespace

}  // namespace gangsched::testing::transaction_test
