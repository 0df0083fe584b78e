#pragma once
#include <algorithm>
#include <optional>

#include "gangsched/framework/hooks.hpp"
#include "gangsched/framework/views.hpp"
#include "gangsched/model/node_load.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// The columns of measured use of nodes that Trimaran's plugins share, and their values for a node.
struct utilisation_columns {
  by_host<node_column> measured, cpu_mean, cpu_deviation, memory_mean, memory_deviation, cpu_capacity;

  void attach(column_maker& columns) {
    measured = columns.node_column_by_host(node_load::measured);
    cpu_mean = columns.node_column_by_host(node_load::cpu_mean);
    cpu_deviation = columns.node_column_by_host(node_load::cpu_deviation);
    memory_mean = columns.node_column_by_host(node_load::memory_mean);
    memory_deviation = columns.node_column_by_host(node_load::memory_deviation);
    cpu_capacity = columns.node_column_by_host(node_load::cpu_capacity);
  }

  using room = node_view<reads::own | reads::allocatable>;

  /// When the node was measured; nothing if it was not.
  [[nodiscard]] std::optional<instant> measured_at(room node) const { return node_load::when(node.own(measured)); }
  /// The CPU that the share refers to, in thousandths.
  [[nodiscard]] std::int64_t capacity_of(room node) const {
    return node_load::count(node.own(cpu_capacity)).value_or(node.allocatable(kinds::cpu));
  }
  /// The share of its CPU that is used, in percent; nothing if only its deviation is known.
  [[nodiscard]] std::optional<double> cpu_of(room node) const { return node_load::real(node.own(cpu_mean)); }

  /// The use of a resource, relative to what is allocatable.
  struct use {
    double mean = 0, deviation = 0;  ///< at least 0, at most the capacity
    double capacity = 0;
  };
  /// Nothing if neither was measured. @p unit: units of the resource per unit of the result.
  [[nodiscard]] std::optional<use> use_of(room node, resource_kind of, double unit = 1) const {
    const bool is_cpu = of == kinds::cpu;
    const auto mean = node_load::real(node.own(is_cpu ? cpu_mean : memory_mean));
    const auto deviation = node_load::real(node.own(is_cpu ? cpu_deviation : memory_deviation));
    if (!mean && !deviation) return std::nullopt;
    const double capacity = static_cast<double>(node.allocatable(of)) / unit;
    const auto within = [&](double share) { return std::max(std::min(share * capacity / 100, capacity), 0.0); };
    return use{within(mean.value_or(0)), within(deviation.value_or(0)), capacity};
  }
};

}  // namespace gangsched::inline GANGSCHED_ABI
