#pragma once
#include <string>

#include "gangsched/framework/points.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// Places all members of a group in one domain of a node label (KEP-5732, TopologyPlacementGenerator).
///
/// One placement per value of the first key of `group_spec::topology.within`, in order of the value; nodes without the label are in none.
/// Further keys are fallbacks: the placements of each are considered when those of the keys before are not feasible; after the last one,
/// `or_anywhere`, all nodes. If members of the group, or of groups below it, already have a node, only their domain is a placement, of the
/// first key of which they share a domain. If they share none, that is an error, unless the group may be anywhere. A group without a key is
/// skipped.
class topology_placement {
 public:
  static constexpr std::string_view name = "TopologyPlacementGenerator";
  using points = implements<point::generate_placements>;
  static constexpr bool ignores_group_identity = true;

  /// O(keys · members).
  [[nodiscard]] status generate_placements(const group_view& group, const cluster_view&,
                                           const placement_sink& sink) const {
    const group_topology& wanted = group.spec().topology;
    if (wanted.within.empty()) return status::skip();
    status wrong;
    bool some = false;
    for (std::uint32_t tier = 0; tier < wanted.within.size(); ++tier) {
      std::string only;
      const status said = shared_domain(group, wanted.within[tier], only);
      if (said.ok())
        some = true, sink({.each_of = wanted.within[tier], .only = std::move(only), .tier = tier});
      else if (wrong.ok())
        wrong = said;
    }
    if (wanted.or_anywhere) some = true, sink({.all = true, .tier = static_cast<std::uint32_t>(wanted.within.size())});
    return some ? status::success() : wrong;
  }

 private:
  /// The one value shared by all members that have a node; "" if no member has one.
  static status shared_domain(const group_view& group, const std::string& key, std::string& value) {
    status said;
    bool any = false;
    group.each_pod_below([&](const pod_info& member) {
      const std::optional<node_info> node = member.node();
      if (!node || !said.ok()) return;
      const std::optional<std::string_view> its = node->label(std::string_view{key});
      if (!its)
        said = status::error("no topology domain found for a pod of the group");
      else if (any && *its != value)
        said = status::error("more than 1 domain found for the pod group");
      else
        value = *its, any = true;
    });
    return said;
  }
};

static_assert(generate_placements_plugin<topology_placement>);

}  // namespace gangsched::inline GANGSCHED_ABI
