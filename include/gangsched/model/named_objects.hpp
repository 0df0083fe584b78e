#pragma once
#include <string>
#include <string_view>

#include "gangsched/core/interner.hpp"
#include "gangsched/core/peer.hpp"
#include "gangsched/model/column.hpp"
#include "gangsched/model/name_index.hpp"
#include "gangsched/model/slots.hpp"
#include "gangsched/model/spec.hpp"

/// Namespaces, priority classes, disruption budgets, services and controllers.
namespace gangsched::inline GANGSCHED_ABI::model {

struct namespace_record {
  namespace_spec spec;
  GANGSCHED_API void digest_into(digest& out) const;
};
struct service_record {
  service_spec spec;
  symbol ns;
  GANGSCHED_API void digest_into(digest& out) const;
};
struct controller_record {
  controller_spec spec;
  symbol ns;
  GANGSCHED_API void digest_into(digest& out) const;
};
/// What the table stores of a controller.
[[nodiscard]] inline std::string controller_key(controller_kind kind, std::string_view name) {
  return std::string(1, static_cast<char>('0' + static_cast<int>(kind))) += name;
}

struct priority_class_record {
  priority_class_spec spec;
  GANGSCHED_API void digest_into(digest& out) const;
};

struct budget_record {
  pod_disruption_budget_spec spec;
  symbol ns;
  GANGSCHED_API void digest_into(digest& out) const;
};

/// A table of names and records only.
template <class Record>
struct named_table {
  explicit named_table(undo_log& undo) : rows(undo), record(undo), by_name(undo) {}
  slots rows;
  object_column<Record> record;
  name_index by_name;
};

/// Objects beside nodes, pods and groups. They have no node and no amounts: only a name and the last spec.
struct GANGSCHED_API named_objects {
  named_objects(undo_log& undo, const interner& with_names)
      : namespaces(undo),
        priority_classes(undo),
        budgets(undo),
        services(undo),
        controllers(undo),
        names(&with_names) {}

  named_table<namespace_record> namespaces;
  named_table<priority_class_record> priority_classes;
  named_table<budget_record> budgets;
  named_table<service_record> services;
  named_table<controller_record> controllers;
  peer<const interner> names;
  label_map no_labels;

  /// The labels of a namespace: none if it was not added.
  [[nodiscard]] const label_map& labels_of(symbol ns) const;
};

}  // namespace gangsched::inline GANGSCHED_ABI::model

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/model/named_objects.cpp"
#endif
