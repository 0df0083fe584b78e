#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "common.hpp"

namespace bindings {

/// Nodes as they were when the table was made: vectors of amounts by resource.
struct node_table {
  std::vector<gangsched::node_id> ids;
  std::vector<std::string> names, resources;
  std::vector<std::int64_t> allocatable, requested, free;  // nodes × resources

  node_table(const cluster& in, std::vector<std::string> of);
};

/// Pods as they were when the table was made.
struct pod_table {
  std::vector<gangsched::pod_id> ids;
  std::vector<std::string> names;
  std::vector<std::uint8_t> state;
  std::vector<std::int32_t> priority;
  std::vector<std::uint32_t> node;
  std::vector<std::uint64_t> attempt, cookie;
  std::vector<std::string> node_names, queues;

  explicit pod_table(const cluster& in);
};

void add_tables(nb::module_& to);

}  // namespace bindings
