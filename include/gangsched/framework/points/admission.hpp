#pragma once
#include <string>

#include "gangsched/framework/extension_point.hpp"

/// Admission: whether an entity that was popped from the queue may have an attempt.
namespace gangsched::inline GANGSCHED_ABI {

// --- admission

namespace detail {
GANGSCHED_PROBE(admit)

template <class P, class Who>
concept calls_admit_with = requires(P& p, const Who& who, const cluster_view& cluster) {
  p.admit(who, cluster);
} || requires(P& p, const Who& who, const cluster_view& cluster, instant start) { p.admit(who, cluster, start); };
template <class P, class Who>
concept admits_at = requires(const P p, const Who& who, const cluster_view& cluster, instant start) {
  { p.admit(who, cluster, start) } -> std::same_as<status>;
};
template <class P, class Who>
concept admits = admits_at<P, Who> || requires(const P p, const Who& who, const cluster_view& cluster) {
  { p.admit(who, cluster) } -> std::same_as<status>;
};
template <class P, class Who>
status admit(const P& plugin, const Who& who, const cluster_view& cluster, [[maybe_unused]] instant start) {
  if constexpr (admits_at<P, Who>)
    return plugin.admit(who, cluster, start);
  else
    return plugin.admit(who, cluster);
}
}  // namespace detail

/// `status admit(const pod_info&, const cluster_view&) const` for pods that are queued by themselves, `status admit(const group_view&,
/// const cluster_view&) const` for groups that are queued as one (the root of a tree); one of them or both. Called after the pop and before
/// the attempt: anything but success ends the attempt there. Called again at events that concern the plugin (`requeue`; without that hook
/// all events): entities that would be admitted now are woken. A hook that takes `const pod_view&` is called for only one pod of a class. A
/// third parameter `instant` is the time when the entity would start: now, or when a node that backfill could reserve is expected to have
/// room. Optional: `std::string admission_words(const pod_info&, const cluster_view&) const` gives `explain` more text: about a rejection,
/// or about what delays an admitted pod; empty if there is nothing to add.
template <class P>
concept admission_plugin = lists<P, point::admission> &&
                           (detail::admits<P, pod_info> || detail::admits<P, group_view>)&&(
                               detail::admits<P, pod_info> ||
                               !detail::calls_admit_with<P, pod_info>)&&(detail::admits<P, group_view> ||
                                                                         !detail::calls_admit_with<P, group_view>);

namespace detail {
template <>
struct extension_point<point::admission> {
  struct kernels {
    status (*admit_pod)(const void* self, const pod_info&, const cluster_view&, instant start) = nullptr;
    status (*admit_group)(const void* self, const group_view&, const cluster_view&, instant start) = nullptr;
    bool admits_by_class = false;  ///< all pods of a class get the same answer
    bool admits_by_start = false;  ///< the answer depends on when the entity would start
    std::string (*admission_words)(const void* self, const pod_info&, const cluster_view&) = nullptr;
  };
  template <class P>
  static constexpr bool well_formed = admission_plugin<P>;
  template <class P>
  static consteval bool keeps_contract() {
    GANGSCHED_CONTRACT(admission, names_admit<P>, (calls_admit<P> || admits<P, pod_info> || admits<P, group_view>),
                       admission_plugin<P>,
                       "status admit(const pod_info&, const cluster_view&) const, or with const pod_view& or const "
                       "group_view&, or with an "
                       "instant beside");
    return true;
  }
  template <class P>
  static void lower(kernels& k) {
    k.admits_by_start = admits_at<P, pod_info> || admits_at<P, group_view>;
    if constexpr (admits<P, pod_info>) {
      k.admit_pod = [](const void* p, const pod_info& pod, const cluster_view& cluster, instant start) {
        return heard<P>([&] { return detail::admit(self_of<P>(p), pod, cluster, start); });
      };
      k.admits_by_class = admits<P, pod_view>;
    }
    if constexpr (requires(const P& of, const pod_info& pod, const cluster_view& cluster) {
                    { of.admission_words(pod, cluster) } -> std::same_as<std::string>;
                  }) {
      k.admission_words = [](const void* p, const pod_info& pod, const cluster_view& cluster) {
        return heard<P>([&] { return self_of<P>(p).admission_words(pod, cluster); });
      };
    }
    if constexpr (admits<P, group_view>) {
      k.admit_group = [](const void* p, const group_view& group, const cluster_view& cluster, instant start) {
        return heard<P>([&] { return detail::admit(self_of<P>(p), group, cluster, start); });
      };
    }
  }
};
}  // namespace detail

}  // namespace gangsched::inline GANGSCHED_ABI
