#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "gangsched/scheduler.hpp"

/// Objects that come and go while each brings a name, or a number, that nobody had before.
namespace gangsched::testing {

/// A cluster of a few nodes and a scheduler, where a fixed number of objects is alive at any time.
struct churned {
  gangsched::cluster cluster;
  gangsched::scheduler scheduler;
  instant now{0};

  churned();
  /// The i-th object comes, the one 50 before it goes, and the scheduler does what there is to do.
  void step(const struct churn_kind& kind, std::uint64_t i);

  void add_pod(pod_spec spec);
  void remove_pod(const std::string& ns, const std::string& name);
};

struct churn_kind {
  std::string_view name;
  /// Makes the object; `i` is in its name.
  std::function<void(churned&, const std::string& i)> come;
  /// Takes it away.
  std::function<void(churned&, const std::string& i)> go;
};

[[nodiscard]] const std::vector<churn_kind>& churn_kinds();

/// How long the tables are that hold what was named.
struct table_sizes {
  std::size_t names, symbols, counters, topologies, choices, kinds, classes, expressions, inventories, tuples,
      priorities, pods, nodes, groups;

  explicit table_sizes(const model::cluster_state& state);
  /// The larger of each.
  void raise(const table_sizes& other);
  [[nodiscard]] std::string text() const;
  [[nodiscard]] bool within(const table_sizes& bound) const;
};

}  // namespace gangsched::testing
