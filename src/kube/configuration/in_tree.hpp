#pragma once
#include <span>
#include <string_view>

#include "gangsched/framework/points.hpp"

namespace gangsched::inline GANGSCHED_ABI::kube::detail {

/// A plugin that is compiled into kube-scheduler 1.36.
struct in_tree_plugin {
  std::string_view name;
  point_set points;         ///< of those that the configuration names
  std::int64_t weight = 0;  ///< in the default profile; 0: none given
  bool by_default = true;   ///< without feature gates
};

/// In the order of the default profile's multiPoint list (apis/config/v1/default_plugins.go).
std::span<const in_tree_plugin> in_tree();
const in_tree_plugin* find_in_tree(std::string_view name);

/// The names of the extension points in a configuration.
struct named_point {
  std::string_view name;
  point at;
};
std::span<const named_point> named_points();

}  // namespace gangsched::inline GANGSCHED_ABI::kube::detail
