#pragma once
#include <memory>
#include <string>
#include <vector>

#include "gangsched/c/plugins.h"
#include "gangsched/framework/plugin_entry.hpp"
#include "gangsched/src/c/handles.hpp"

struct gangsched_pod_view {
  const gangsched::pod_view* alike;
  const gangsched::pod_info* own;  ///< null where what is said is remembered for pods alike
};

struct gangsched_nodes_view {
  const gangsched::model::viewed_tables* tables;
  const gangsched::row_t* rows;
  const gangsched::node_info* only;  ///< if there is one that is known already: `tables` and `rows` are null
  const gangsched_node_id* ids;
  const std::uint64_t* cookies;
  gangsched::reads read;
  const std::vector<gangsched::by_host<gangsched::node_column>>* columns;
};

struct gangsched_permit_room {
  gangsched::permit_room* room;
  std::vector<gangsched_pod_id> waiting;
};

namespace gangsched::inline GANGSCHED_ABI::c {

/// A table of callbacks as it was registered; the host's pointer goes with it once it is accepted.
struct callback_table {
  explicit callback_table(const gangsched_plugin& from);
  callback_table(const callback_table&) = delete;
  callback_table& operator=(const callback_table&) = delete;
  ~callback_table();

  gangsched_plugin hooks;  ///< its texts are those below
  std::string name;
  std::vector<std::string> columns;
  reads read;  ///< of filter and score
  bool accepted = false;
};

/// What is wrong with it, as far as can be said before it is made.
[[nodiscard]] std::optional<error> check(const callback_table& table);

/// The plugin, ready for a profile. Error: what its `create` says.
[[nodiscard]] result<plugin_entry> make_plugin(const std::shared_ptr<const callback_table>& table,
                                               const argument& arguments);

}  // namespace gangsched::inline GANGSCHED_ABI::c
