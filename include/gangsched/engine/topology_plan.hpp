#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "gangsched/core/config.hpp"
#include "gangsched/model/group_spec.hpp"

/// How many of a group's equal members go into each domain of a topology, so that few domains are used and constraints on domains hold:
/// Kueue's topology-aware scheduling (tas_flavor_snapshot.go) and Koordinator's offer slots (network_topology_solver.go).
namespace gangsched::inline GANGSCHED_ABI::engine {

/// A domain, or with no level below it a node.
struct plan_domain {
  std::size_t level = 0;           ///< 0: outermost
  std::vector<std::size_t> below;  ///< indices, in order of name
  std::int64_t room = 0;           ///< of a node: members that fit
};

struct plan_request {
  enum class kind : std::uint8_t {
    required,       ///< one domain of `level`
    preferred,      ///< one domain of `level`, else of a level around it, else several of the outermost
    unconstrained,  ///< any nodes
  };
  /// So many members share a domain of `level`; every domain of that level takes whole runs only.
  struct slice {
    std::size_t level = 0;
    std::int64_t size = 1;
  };
  std::int64_t count = 0;
  kind how = kind::unconstrained;
  std::size_t level = 0;
  std::vector<slice> slices = {};  ///< outer ones first
  domain_choice choice = domain_choice::best_fit;
};

struct plan_answer {
  std::vector<std::int64_t> taken;  ///< by index of `domains`: members on each node
  std::string missing;              ///< why not, if it is not empty: what fits of what is wanted, by level
};

/// @p roots: the domains of level 0, in order of name. O(domains · log domains), of balanced plans O(domains · slices) more.
[[nodiscard]] GANGSCHED_API plan_answer plan_topology(std::vector<plan_domain> domains,
                                                      const std::vector<std::size_t>& roots,
                                                      const plan_request& wanted);

}  // namespace gangsched::inline GANGSCHED_ABI::engine

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/engine/topology_plan.cpp"
#endif
