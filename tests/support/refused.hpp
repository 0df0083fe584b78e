#pragma once
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "gangsched/model/cluster.hpp"
#include "support/catch.hpp"
#include "support/inside.hpp"

namespace gangsched::testing {

/// The error of a call that has to fail and to leave the cluster as it was, to the bit.
template <class Call>
error refused(cluster& cluster, Call&& call) {
  const std::uint64_t digest = inside(cluster).digest_with_derived();
  const std::uint64_t log_begin = inside(cluster).log.begin();
  const std::uint64_t log_end = inside(cluster).log.end();
  auto outcome = std::forward<Call>(call)();
  REQUIRE_FALSE(outcome.has_value());
  CHECK(inside(cluster).digest_with_derived() == digest);
  CHECK(inside(cluster).log.begin() == log_begin);
  CHECK(inside(cluster).log.end() == log_end);
  CHECK_FALSE(outcome.error().reason.empty());
  return outcome.error();
}

/// Checks that the call fails with this code and names this object and field, and changes nothing.
template <class Call>
void check_refused(cluster& cluster, errc code, std::string_view object, std::string_view field, Call&& call) {
  const error why = refused(cluster, std::forward<Call>(call));
  INFO(why.message());
  CHECK(to_string(why.code) == to_string(code));
  CHECK(why.object == object);
  CHECK(why.field == field);
}

/// The log's records from @p position on.
inline std::vector<change> changes_since(const cluster& cluster, std::uint64_t position) {
  std::vector<change> all;
  for (; position < inside(cluster).log.end(); ++position) all.push_back(inside(cluster).log[position]);
  return all;
}

/// A record without the fields that do not matter to a test: what happened to which row, from where to where.
struct happened {
  change_kind kind;
  row_t row;
  row_t before = no_row;
  row_t after = no_row;
  friend bool operator==(const happened&, const happened&) = default;
};
inline std::vector<happened> events_since(const cluster& cluster, std::uint64_t position) {
  std::vector<happened> all;
  for (const change& one : changes_since(cluster, position)) all.push_back({one.kind, one.row, one.before, one.after});
  return all;
}

}  // namespace gangsched::testing
