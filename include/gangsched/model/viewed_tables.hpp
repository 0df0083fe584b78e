#pragma once
#include "gangsched/core/config.hpp"
#include "gangsched/core/interner.hpp"
#include "gangsched/core/text_pool.hpp"
#include "gangsched/model/class_table.hpp"
#include "gangsched/model/fwd.hpp"
#include "gangsched/model/group_table.hpp"
#include "gangsched/model/kube_semantics.hpp"
#include "gangsched/model/node_table.hpp"
#include "gangsched/model/pod_table.hpp"
#include "gangsched/model/resource_kinds.hpp"

namespace gangsched::inline GANGSCHED_ABI::model {

/// The tables of a cluster that views read inline, because hooks read them node by node and pod by pod. Each is a part of a
/// `cluster_state`. Other accesses of views are compiled once (framework/views.cpp), so a plugin's header includes none of those tables.
struct viewed_tables {
  viewed_tables(const kube_semantics& whose, queue_table& queues);
  ~viewed_tables();
  viewed_tables(const viewed_tables&) = delete;
  viewed_tables& operator=(const viewed_tables&) = delete;

  const kube_semantics semantics;
  undo_log undo;
  interner names;
  node_table nodes;
  resource_kinds kinds;
  pod_table pods;
  group_table groups;
  class_table classes;
  text_pool* said = nullptr;  ///< of the scheduler whose hooks run: the texts that they make
};

}  // namespace gangsched::inline GANGSCHED_ABI::model
