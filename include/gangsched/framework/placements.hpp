#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "gangsched/framework/hooks.hpp"

/// What group hooks take and return: the progress of a group's cycle, and the sets of nodes that it may be placed in.
namespace gangsched::inline GANGSCHED_ABI {

/// The progress of one role that the gang has a minimum for.
struct role_progress {
  std::string_view role;
  std::uint32_t min_count = 0;
  std::uint32_t scheduled = 0;
  std::uint32_t remaining = 0;
};

/// The progress of a group's cycle. Of a composite group: of the groups right below it.
struct group_progress {
  std::uint32_t scheduled = 0;  ///< members placed: bound, assumed, or placed in this cycle
  std::uint32_t remaining = 0;  ///< members still to be tried in this cycle
  std::span<const role_progress> roles = {};
};

/// A subset of the nodes that a group may be placed in, or, by `each_of`, one subset for every value of a label.
struct placement {
  std::string name = {};            ///< "rack-3"; empty for all nodes
  std::vector<node_id> nodes = {};  ///< ignored if `all` or `each_of`
  bool all = false;
  std::string each_of =
      {};  ///< node label: the nodes of each value are a placement, named by the value; in order of value
  std::string only = {};   ///< … but only this value's, if it is not empty
  std::uint32_t tier = 0;  ///< placements of a higher tier are considered when no lower one is feasible
};

/// The receiver of generate_placements' results: a reference to a callable, valid during the call.
class placement_sink {
 public:
  template <class F>
    requires(!std::is_same_v<std::remove_cvref_t<F>, placement_sink>)
  placement_sink(F&& take) noexcept
      : target_(const_cast<void*>(static_cast<const void*>(std::addressof(take)))),
        call_([](void* target, placement made) {
          (*static_cast<std::remove_reference_t<F>*>(target))(std::move(made));
        }) {}
  void operator()(placement made) const { call_(target_, std::move(made)); }

 private:
  void* target_;
  void (*call_)(void*, placement);
};

/// Sums over a placement's nodes, which the engine maintains for the values of a label. For the engine.
class placement_sums {
 public:
  virtual ~placement_sums() = default;
  [[nodiscard]] virtual std::int64_t allocatable(resource_kind kind) const = 0;
  [[nodiscard]] virtual std::int64_t used(resource_kind kind) const = 0;
};

/// A placement for score_placement hooks, valid during the call; the engine makes it.
class placement_view {
 public:
  /// All nodes, or @p rows.
  placement_view(const model::viewed_tables& state, std::string_view name) noexcept
      : state_(&state), name_(name), all_(true) {}
  placement_view(const model::viewed_tables& state, std::string_view name, std::span<const row_t> rows,
                 const placement_sums* sums = nullptr) noexcept
      : state_(&state), name_(name), rows_(rows), sums_(sums) {}

  [[nodiscard]] std::string_view name() const noexcept { return name_; }
  [[nodiscard]] std::optional<resource_kind> find_kind(std::string_view resource) const {
    return state_->kinds.find(resource);
  }
  template <class Visit>
  void each_node(Visit&& visit) const {
    if (all_) return cluster_view{*state_}.each_node(visit);
    for (const row_t row : rows_) visit(node_info{*state_, row});
  }
  /// Sums over the placement's nodes, the members placed so far included. O(1) for a label's value, else O(nodes).
  [[nodiscard]] std::int64_t allocatable(resource_kind kind) const {
    return sums_ != nullptr ? sums_->allocatable(kind)
                            : sum([&](const node_info& node) { return node.allocatable(kind); });
  }
  [[nodiscard]] std::int64_t used(resource_kind kind) const {
    return sums_ != nullptr ? sums_->used(kind) : sum([&](const node_info& node) { return node.used(kind); });
  }

 private:
  template <class Value>
  [[nodiscard]] std::int64_t sum(const Value& value) const {
    std::int64_t all = 0;
    each_node([&](const node_info& node) { all += value(node); });
    return all;
  }
  const model::viewed_tables* state_;
  std::string_view name_;
  bool all_ = false;
  std::span<const row_t> rows_;
  const placement_sums* sums_ = nullptr;
};

/// An upper bound of what a group would add to a placement.
struct placement_demand {
  std::uint32_t scheduled = 0;  ///< members that have a node already
  std::uint32_t members = 0;    ///< more that could get one there
  /// The waiting ones, by class.
  struct part {
    const pod_class* cls;
    std::uint32_t count;
  };
  std::span<const part> parts;
};

}  // namespace gangsched::inline GANGSCHED_ABI
