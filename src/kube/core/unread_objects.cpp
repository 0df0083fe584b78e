#include "gangsched/src/kube/core/unread_objects.hpp"

#include "gangsched/src/kube/core/objects.hpp"
#include "gangsched/src/kube/documents/trees.hpp"

namespace gangsched::inline GANGSCHED_ABI::kube::detail {

std::string name_of_object(const value& object, std::string_view kind, bool namespaced) {
  const value* meta = object.find("metadata");
  if (meta == nullptr || meta->kind != value_kind::object) return std::string{kind};
  const std::string_view ns = text_at(*meta, "namespace");
  return object_name(kind, !namespaced ? "" : ns.empty() ? "default" : ns, text_at(*meta, "name"));
}

void generate_name(value& object, std::size_t& number) {
  for (std::size_t i = 0; i < object.keys.size(); ++i) {
    value& meta = object.items[i];
    if (object.keys[i] != "metadata" || meta.kind != value_kind::object || !text_at(meta, "name").empty()) continue;
    const std::string base{text_at(meta, "generateName")};
    if (base.empty() || meta.find("name") != nullptr) return;
    meta.keys.emplace_back("name");
    value& name = meta.items.emplace_back();
    name.kind = value_kind::text;
    name.line = meta.line;
    name.text = base + safe_letters(number++, 5);
    return;
  }
}

}  // namespace gangsched::inline GANGSCHED_ABI::kube::detail
