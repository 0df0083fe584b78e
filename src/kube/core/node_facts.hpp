#pragma once
#include <optional>
#include <string_view>

#include "gangsched/model/spec.hpp"

namespace gangsched::inline GANGSCHED_ABI::kube::detail {

/// What a node selector (`matches`) asks of a node.
struct node_facts {
  const node_spec* of;
  [[nodiscard]] std::optional<std::string_view> label(std::string_view key) const {
    const auto found = of->labels.find(key);
    return found == of->labels.end() ? std::nullopt : std::optional<std::string_view>{found->second};
  }
  [[nodiscard]] std::string_view name() const { return of->name; }
};

}  // namespace gangsched::inline GANGSCHED_ABI::kube::detail
