#pragma once
#include "gangsched/framework/extension_point.hpp"

/// Hooks for groups that are placed as one, and for preemption on their behalf.
namespace gangsched::inline GANGSCHED_ABI {

// --- group_pre_filter

namespace detail {
GANGSCHED_PROBE(group_pre_filter)
}  // namespace detail

/// `status group_pre_filter(const group_view&) const`, once per group cycle: may reject the whole group.
template <class P>
concept group_pre_filter_plugin = lists<P, point::group_pre_filter> && requires(const P p, const group_view& g) {
  { p.group_pre_filter(g) } -> std::same_as<status>;
};

namespace detail {
template <>
struct extension_point<point::group_pre_filter> {
  struct kernels {
    status (*group_pre_filter)(const void* self, const group_view&) = nullptr;
  };
  template <class P>
  static constexpr bool well_formed = group_pre_filter_plugin<P>;
  template <class P>
  static consteval bool keeps_contract() {
    GANGSCHED_HOOK(group_pre_filter, "status group_pre_filter(const group_view&) const");
    return true;
  }
  template <class P>
  static void lower(kernels& k) {
    k.group_pre_filter = [](const void* p, const group_view& g) {
      return heard<P>([&] { return self_of<P>(p).group_pre_filter(g); });
    };
  }
};
}  // namespace detail

// --- generate_placements

namespace detail {
GANGSCHED_PROBE(generate_placements)
}  // namespace detail

/// `status generate_placements(const group_view&, const cluster_view&, const placement_sink&) const`: the sets of nodes that the group may
/// be placed in; skip if the plugin does not restrict it. Placements of several plugins are intersected pairwise, their tiers added.
/// Without any such plugin: all nodes. Called for every group of a tree; placements of a group lie within those of the group above it.
template <class P>
concept generate_placements_plugin =
    lists<P, point::generate_placements> &&
    requires(const P p, const group_view& g, const cluster_view& c, const placement_sink& sink) {
      { p.generate_placements(g, c, sink) } -> std::same_as<status>;
    };

namespace detail {
template <>
struct extension_point<point::generate_placements> {
  struct kernels {
    status (*generate_placements)(const void* self, const group_view&, const cluster_view&,
                                  const placement_sink&) = nullptr;
  };
  template <class P>
  static constexpr bool well_formed = generate_placements_plugin<P>;
  template <class P>
  static consteval bool keeps_contract() {
    GANGSCHED_HOOK(generate_placements,
                   "status generate_placements(const group_view&, const cluster_view&, const placement_sink&) const");
    return true;
  }
  template <class P>
  static void lower(kernels& k) {
    k.generate_placements = [](const void* p, const group_view& g, const cluster_view& c, const placement_sink& sink) {
      return heard<P>([&] { return self_of<P>(p).generate_placements(g, c, sink); });
    };
  }
};
}  // namespace detail

// --- placement_feasible

namespace detail {
GANGSCHED_PROBE(placement_feasible)
}  // namespace detail

/// `status placement_feasible(const group_view&, const group_progress&) const`, before the first member and after each: success (enough
/// members), wait (go on), unschedulable (give up this placement), unresolvable (give up the group).
template <class P>
concept placement_feasible_plugin =
    lists<P, point::placement_feasible> && requires(const P p, const group_view& g, const group_progress& progress) {
      { p.placement_feasible(g, progress) } -> std::same_as<status>;
    };

namespace detail {
template <>
struct extension_point<point::placement_feasible> {
  struct kernels {
    status (*placement_feasible)(const void* self, const group_view&, const group_progress&) = nullptr;
  };
  template <class P>
  static constexpr bool well_formed = placement_feasible_plugin<P>;
  template <class P>
  static consteval bool keeps_contract() {
    GANGSCHED_HOOK(placement_feasible, "status placement_feasible(const group_view&, const group_progress&) const");
    return true;
  }
  template <class P>
  static void lower(kernels& k) {
    k.placement_feasible = [](const void* p, const group_view& g, const group_progress& progress) {
      return heard<P>([&] { return self_of<P>(p).placement_feasible(g, progress); });
    };
  }
};
}  // namespace detail

// --- score_placement

namespace detail {
GANGSCHED_PROBE(score_placement)
GANGSCHED_PROBE(placement_bound)
}  // namespace detail

/// `std::int64_t score_placement(const group_view&, const placement_view&, std::span<const assignment>) const` in [0, 100] for each
/// feasible placement, called while its members are placed. With `static constexpr bool relative_to_best = true` any number from 0 on, as
/// a percentage of the highest. Optional: `std::int64_t placement_bound(const placement_view&, const placement_demand&) const`, which no
/// assignment scores above; placements that cannot win are not tried. It is cached, so it may depend on its arguments only.
template <class P>
concept score_placement_plugin =
    lists<P, point::score_placement> &&
    requires(const P p, const group_view& g, const placement_view& where, std::span<const assignment> a) {
      { p.score_placement(g, where, a) } -> std::same_as<std::int64_t>;
    };

namespace detail {
template <>
struct extension_point<point::score_placement> {
  struct kernels {
    std::int64_t (*score_placement)(const void* self, const group_view&, const placement_view&,
                                    std::span<const assignment>) = nullptr;
    std::int64_t (*placement_bound)(const void* self, const placement_view&, const placement_demand&) = nullptr;
    bool relative_placement_score = false;
  };
  template <class P>
  static constexpr bool well_formed = score_placement_plugin<P>;
  template <class P>
  static consteval bool keeps_contract() {
    GANGSCHED_HOOK(
        score_placement,
        "std::int64_t score_placement(const group_view&, const placement_view&, std::span<const assignment>) const");
    static_assert(!calls_placement_bound<P> || names_score_placement<P>,
                  "gangsched: placement_bound goes with score_placement");
    if constexpr (P::points::set.has(point::score_placement) && !calls_placement_bound<P>) {
      GANGSCHED_SLIP(placement_bound, placement_bounds);
      GANGSCHED_SLIP(placement_bound, PlacementBound);
      GANGSCHED_SLIP(placement_bound, placementBound);
      GANGSCHED_SLIP(placement_bound, placementbound);
      GANGSCHED_SLIP(placement_bound, score_bound);
      GANGSCHED_SLIP(placement_bound, bound_score);
      GANGSCHED_SLIP(placement_bound, score_placement_bound);
      GANGSCHED_SLIP(placement_bound, bound_of_placement);
    }
    if constexpr (P::points::set.has(point::score_placement) && !requires { P::relative_to_best; }) {
      GANGSCHED_ODD(relative_to_best, RelativeToBest);
      GANGSCHED_ODD(relative_to_best, relativeToBest);
      GANGSCHED_ODD(relative_to_best, relativetobest);
      GANGSCHED_ODD(relative_to_best, relative_to_the_best);
      GANGSCHED_ODD(relative_to_best, relative_to_bests);
    }
    return true;
  }
  template <class P>
  static void lower(kernels& k) {
    k.score_placement = [](const void* p, const group_view& g, const placement_view& where,
                           std::span<const assignment> a) {
      return heard<P>([&] { return self_of<P>(p).score_placement(g, where, a); });
    };
    if constexpr (requires { requires bool{P::relative_to_best}; }) k.relative_placement_score = true;
    if constexpr (calls_placement_bound<P>) {
      k.placement_bound = [](const void* p, const placement_view& where, const placement_demand& d) {
        return heard<P>([&] { return self_of<P>(p).placement_bound(where, d); });
      };
    }
  }
};
}  // namespace detail

// --- group_preempt

namespace detail {
GANGSCHED_PROBE(group_preempt)
}  // namespace detail

/// `victim_plan group_preempt(trial&, const group_view&) const` when no placement is feasible.
template <class P>
concept group_preempt_plugin = lists<P, point::group_preempt> && requires(const P p, trial& t, const group_view& g) {
  { p.group_preempt(t, g) } -> std::same_as<victim_plan>;
};

namespace detail {
template <>
struct extension_point<point::group_preempt> {
  struct kernels {
    victim_plan (*group_preempt)(const void* self, trial&, const group_view&) = nullptr;
  };
  template <class P>
  static constexpr bool well_formed = group_preempt_plugin<P>;
  template <class P>
  static consteval bool keeps_contract() {
    GANGSCHED_HOOK(group_preempt, "victim_plan group_preempt(trial&, const group_view&) const");
    return true;
  }
  template <class P>
  static void lower(kernels& k) {
    k.group_preempt = [](const void* p, trial& t, const group_view& g) {
      return heard<P>([&] { return self_of<P>(p).group_preempt(t, g); });
    };
  }
};
}  // namespace detail

}  // namespace gangsched::inline GANGSCHED_ABI
