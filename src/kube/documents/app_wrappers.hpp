#pragma once
#include <string_view>

#include "gangsched/src/kube/documents/trees.hpp"

/// AppWrappers (workload.codeflare.dev), which hold objects of other kinds.
namespace gangsched::inline GANGSCHED_ABI::kube::detail {

/// What an AppWrapper wraps is in its namespace, and in its queue unless it names one.
inline void complete_wrapped(value& object, const value& wrapper) {
  const value* from = wrapper.find("metadata");
  if (object.kind != value_kind::object || from == nullptr) return;
  value& meta = make_field(object, "metadata", value_kind::object);
  if (meta.kind != value_kind::object) return;
  const auto take_over = [](value& into, const value& of, std::string_view key) {
    const std::string_view text = text_at(of, key);
    if (value& made = make_field(into, key, value_kind::text); !text.empty() && made.text.empty()) made.text = text;
  };
  take_over(meta, *from, "namespace");
  const value* labels = from->find("labels");
  if (labels == nullptr || labels->kind != value_kind::object) return;
  if (constexpr std::string_view queue = "kueue.x-k8s.io/queue-name"; !text_at(*labels, queue).empty()) {
    value& own = make_field(meta, "labels", value_kind::object);
    if (own.kind == value_kind::object) take_over(own, *labels, queue);
  }
}

inline bool is_app_wrapper(std::string_view kind, std::string_view group) {
  return kind == "AppWrapper" && group == "workload.codeflare.dev";
}

}  // namespace gangsched::inline GANGSCHED_ABI::kube::detail
