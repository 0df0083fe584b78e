#include <algorithm>
#include <type_traits>
#include <utility>
#include <vector>

#include "gangsched/core/id.hpp"
#include "support/catch.hpp"

namespace gangsched::testing::id_test {

namespace {

/// Stands in for Abseil's hash state: it keeps what it is fed.
struct recording_hash {
  std::vector<std::uint64_t> words;
  template <class... Words>
  static recording_hash combine(recording_hash state, Words... more) {
    (state.words.push_back(more), ...);
    return state;
  }
};

}  // namespace

TEST_CASE("a default-made id names nothing, row 0 names something", "[core][id]") {
  STATIC_REQUIRE_FALSE(node_id{});
  STATIC_REQUIRE(node_id{}.row == no_row);
  STATIC_REQUIRE(node_id{0, 0});
}

TEST_CASE("an id of a reused row differs from the id of the row's earlier owner", "[core][id]") {
  STATIC_REQUIRE(pod_id{3, 1} == pod_id{3, 1});
  STATIC_REQUIRE(pod_id{3, 1} != pod_id{3, 2});
  STATIC_REQUIRE(pod_id{3, 1} != pod_id{4, 1});
}

TEST_CASE("ids are ordered by row, then by generation", "[core][id]") {
  std::vector<pod_id> ids{{2, 0}, {1, 5}, {}, {1, 4}};
  std::sort(ids.begin(), ids.end());
  CHECK(ids == std::vector<pod_id>{{1, 4}, {1, 5}, {2, 0}, {}});
}

TEST_CASE("ids of different kinds do not mix", "[core][id]") {
  STATIC_REQUIRE_FALSE(std::is_same_v<node_id, pod_id>);
  STATIC_REQUIRE_FALSE(std::is_convertible_v<node_id, pod_id>);
  STATIC_REQUIRE_FALSE(std::is_constructible_v<group_id, pod_id>);
  STATIC_REQUIRE_FALSE(std::is_convertible_v<pod_id, bool>);
}

TEST_CASE("ids and symbols are small values", "[core][id]") {
  STATIC_REQUIRE(std::is_trivially_copyable_v<node_id>);
  STATIC_REQUIRE(sizeof(node_id) == 8);
  STATIC_REQUIRE(sizeof(symbol) == 4);
}

TEST_CASE("the hash of an id covers its row and its generation", "[core][id]") {
  CHECK(AbslHashValue(recording_hash{}, group_id{7, 9}).words == std::vector<std::uint64_t>{7, 9});
  CHECK(AbslHashValue(recording_hash{}, symbol{11}).words == std::vector<std::uint64_t>{11});
}

TEST_CASE("symbol 0, the empty string, is the only false symbol", "[core][id]") {
  STATIC_REQUIRE_FALSE(symbol{});
  STATIC_REQUIRE_FALSE(symbol{0});
  STATIC_REQUIRE(symbol{1});
  STATIC_REQUIRE(symbol{1} < symbol{2});
}

}  // namespace gangsched::testing::id_test
