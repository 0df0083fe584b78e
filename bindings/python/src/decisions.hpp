#pragma once
#include <gangsched/framework/decision.hpp>

#include <string>
#include <vector>

#include "common.hpp"

namespace bindings {

/// The library's word for a code.
[[nodiscard]] std::string code_name(gangsched::code of);

/// A decision as a row of an array: its layout is the dtype DECISION of _frames.py.
struct decision_row {
  std::uint8_t kind, code;
  std::uint16_t unused;
  std::int32_t rank;
  std::uint32_t pod, pod_generation, node, node_generation, group, group_generation;
  std::int64_t score;
  std::uint64_t attempt, annotation, pod_cookie, node_cookie;
};
static_assert(sizeof(decision_row) == 72);

/// What calls of a scheduler decided, copied: it is good for ever.
struct decision_batch {
  bool worked = false;  ///< there was something to do
  std::vector<decision_row> rows;
  std::vector<std::string> pods, nodes, groups;  ///< names, by row
  std::vector<std::string> reasons;              ///< empty: none
  std::vector<std::vector<std::string>> devices;

  void add(const cluster& in, const gangsched::decision& made);
};

/// One of them.
struct decision_seen {
  nb::object batch;  ///< keeps it
  std::size_t at;
};

}  // namespace bindings
