#pragma once
#include "gangsched/framework/contract.hpp"
#include "gangsched/framework/hook_error.hpp"
#include "gangsched/framework/kernel_table.hpp"

/// From a plugin type to its row of kernels. Loops over rows are here, so the plugin's code is inlined into them.
namespace gangsched {
namespace detail {

template <class P, class Arg>
decltype(auto) supply(const hook_context& c, [[maybe_unused]] row_t row) {
  using T = std::remove_cvref_t<Arg>;
  if constexpr (std::is_same_v<T, pod_view>) return pod_view{*c.state, *c.cls};
  else if constexpr (std::is_same_v<T, pod_info>) return pod_info{*c.state, c.pod};
  else if constexpr (std::is_same_v<T, cluster_view>) return cluster_view{*c.state};
  else if constexpr (node_argument<T>::is_node) return T{*c.state, row};
  else return *static_cast<T*>(c.data);
}

/// Calls a hook whose parameters all come from the context.
template <class P, class Hook, class... A>
decltype(auto) call(const P& self, Hook hook, const hook_context& c, row_t row, std::tuple<A...>*) {
  return heard<P>([&]() -> decltype(auto) { return (self.*hook)(supply<P, A>(c, row)...); });
}
template <class P, class Hook>
decltype(auto) call(const P& self, Hook hook, const hook_context& c, row_t row) {
  return call(self, hook, c, row, static_cast<typename signature<Hook>::args*>(nullptr));
}

/// The same for hooks whose last parameter is given by the caller.
template <class P, class Hook, class Last, std::size_t... I>
decltype(auto) call_with(const P& self, Hook hook, const hook_context& c, Last&& last, std::index_sequence<I...>) {
  using args = typename signature<Hook>::args;
  return heard<P>([&]() -> decltype(auto) {
    return (self.*hook)(supply<P, std::tuple_element_t<I, args>>(c, no_row)..., std::forward<Last>(last));
  });
}
template <class P, class Hook, class Last>
decltype(auto) call_with(const P& self, Hook hook, const hook_context& c, Last&& last) {
  return call_with(self, hook, c, std::forward<Last>(last),
                   std::make_index_sequence<std::tuple_size_v<typename signature<Hook>::args> - 1>{});
}

template <class P>
struct lowering {
  static const P& of(const void* self) { return *static_cast<const P*>(self); }
  static P& of(void* self) { return *static_cast<P*>(self); }

  static std::shared_ptr<void> make_data() {
    if constexpr (has_class_data<P>)
      return heard<P>([] { return std::make_shared<typename P::data>(); });
    else if constexpr (has_cycle_data<P>)
      return heard<P>([] { return std::make_shared<typename P::cycle_data>(); });
    else return nullptr;
  }

  static status pre_filter(const void* self, const hook_context& c, [[maybe_unused]] node_names& names) {
    using args = typename signature<decltype(&P::pre_filter)>::args;
    if constexpr (pod_parameters<P, args, node_names&>::ok) return call_with(of(self), &P::pre_filter, c, names);
    else return call(of(self), &P::pre_filter, c, no_row);
  }
  static status pre_score(const void* self, const hook_context& c) { return call(of(self), &P::pre_score, c, no_row); }

  static bool filter_rows(const void* self, const hook_context& c, std::span<const row_t> rows, std::uint8_t* verdicts,
                          std::uint8_t mark) {
    bool fine = true;
    for (const row_t row : rows) {
      if (verdicts[row] != 0) continue;
      const status said = call(of(self), &P::filter, c, row);
      if (said.ok()) continue;
      verdicts[row] = mark;
      fine = fine && said.rejected();
    }
    return fine;
  }
  static status filter_one(const void* self, const hook_context& c, row_t row) { return call(of(self), &P::filter, c, row); }
  static void filter_reasons(const void* self, const hook_context& c, row_t row, std::vector<status>& out) {
    if constexpr (calls_filter_reasons<P>) {
      using args = typename signature<decltype(&P::filter)>::args;
      reasons(of(self), c, row, out, static_cast<args*>(nullptr));
    } else {
      out.push_back(call(of(self), &P::filter, c, row));
    }
  }
  template <class... A>
  static void reasons(const P& self, const hook_context& c, row_t row, std::vector<status>& out, std::tuple<A...>*) {
    heard<P>([&] { self.filter_reasons(supply<P, A>(c, row)..., out); });
  }
  static std::int64_t filter_key(const void* self, const hook_context& c, row_t row) {
    return call(of(self), &P::filter_key, c, row);
  }
  static void finish_filter(const void* self, const hook_context& c, std::span<filtered_group> groups) {
    call_with(of(self), &P::finish_filter, c, groups);
  }

  static bool score_rows(const void* self, const hook_context& c, std::span<const row_t> rows, std::int64_t weight,
                         std::int64_t* totals) {
    bool fine = true;
    for (const row_t row : rows) {
      const std::int64_t score = call(of(self), &P::score, c, row);
      fine = fine && score >= 0 && score <= max_node_score;
      totals[row] += weight * score;
    }
    return fine;
  }
  static std::int64_t score_one(const void* self, const hook_context& c, row_t row) {
    if constexpr (keyed_score_ok<P>()) return call(of(self), &P::score_key, c, row);
    else return call(of(self), &P::score, c, row);
  }
  static status finish_score(const void* self, const hook_context& c, std::span<scored_group> groups) {
    if constexpr (!keyed_score_ok<P>()) call_with(of(self), &P::normalize_score, c, groups);
    else if constexpr (std::is_void_v<typename signature<decltype(&P::finish_score)>::result>)
      call_with(of(self), &P::finish_score, c, groups);
    else return call_with(of(self), &P::finish_score, c, groups);
    return {};
  }

  static std::int64_t capacity(const void* self, const hook_context& c, row_t row) { return call(of(self), &P::capacity, c, row); }
  static bool filter_idle(const void* self, const hook_context& c) { return call(of(self), &P::filter_idle, c, no_row); }

  static void lower_filter(filter_kernel& k) {
    if constexpr (calls_filter_idle<P>) k.idle = filter_idle;
    if constexpr (calls_capacity<P>) k.capacity = capacity;
    if constexpr (filter_ok<P>()) {
      using hook = node_hook<P, decltype(&P::filter), status>;
      k.shape = hook::opaque ? shape::opaque : shape::local;
      k.facets = hook::facets;
      k.opaque = hook::opaque;
      k.rows = filter_rows;
      k.one = filter_one;
      k.reasons = filter_reasons;
    } else {
      using hook = node_hook<P, decltype(&P::filter_key), std::int64_t>;
      k.shape = shape::keyed;
      k.facets = hook::facets;
      k.opaque = hook::opaque;
      k.key = filter_key;
      k.finish = finish_filter;
    }
  }
  static void lower_score(score_kernel& k) {
    k.one = score_one;
    if constexpr (keyed_score_ok<P>()) {
      using hook = node_hook<P, decltype(&P::score_key), std::int64_t>;
      k.shape = shape::keyed;
      k.raw_is_key = true;
      k.facets = hook::facets;
      k.opaque = hook::opaque;
      k.finish = finish_score;
    } else {
      using hook = node_hook<P, decltype(&P::score), std::int64_t>;
      k.facets = hook::facets;
      k.opaque = hook::opaque;
      if constexpr (calls_normalize_score<P>) {
        k.shape = shape::keyed;
        k.finish = finish_score;
      } else {
        k.shape = hook::opaque ? shape::opaque : shape::local;
        k.rows = score_rows;
      }
    }
  }
};

}  // namespace detail

/// The kernels of @p self with @p weight for its scores.
template <class P>
plugin_entry lower(P self, std::int64_t weight = 1) {
  static_assert(detail::keeps_contract<P>());
  plugin_entry e;
  if constexpr (detail::well_formed<P>) {
    using k = detail::lowering<P>;
    constexpr point_set points = P::points::set;
    e.name = std::string{std::string_view{P::name}};
    e.self = std::make_shared<P>(std::move(self));
    e.points = points;
    e.weight = weight;
    if constexpr (detail::calls_attach<P>) e.attach = [](void* p, column_maker& m) { k::of(p).attach(m); };
    if constexpr (detail::has_class_data<P> || detail::has_cycle_data<P>) e.make_data = k::make_data;
    e.cycle_data = detail::has_cycle_data<P>;
    if constexpr (detail::has_cycle_data<P>) {
      e.reset_data = [](void* data) {
        detail::heard<P>([&] { *static_cast<typename P::cycle_data*>(data) = typename P::cycle_data{}; });
      };
    }
    if constexpr (points.has(point::queue_sort)) {
      if constexpr (requires(const P& p, const queued& q) { { p.key(q) } noexcept -> std::same_as<sort_key>; }) {
        e.sort_by_key = [](const void* p, const queued& q) noexcept { return k::of(p).key(q); };
      } else {
        e.sort_less = [](const void* p, const queued& a, const queued& b) noexcept { return k::of(p).less(a, b); };
      }
    }
    if constexpr (points.has(point::pre_enqueue)) {
      e.pre_enqueue = [](const void* p, const pod_info& pod) {
        return detail::heard<P>([&] { return k::of(p).pre_enqueue(pod); });
      };
    }
    if constexpr (points.has(point::requeue)) {
      e.requeue_pod = [](const void* p, const event& v, const pod_info& pod) {
        return detail::heard<P>([&] { return k::of(p).requeue(v, pod); });
      };
      if constexpr (requires(const P& p, const event& v, const pod_view& pod) { p.requeue(v, pod); }) {
        e.requeue = [](const void* p, const event& v, const pod_view& pod) {
          return detail::heard<P>([&] { return k::of(p).requeue(v, pod); });
        };
      }
      if constexpr (requires { { P::wakes_on } -> std::convertible_to<events>; }) e.wakes_on = P::wakes_on;
    }
    if constexpr (points.has(point::pre_filter)) {
      e.pre_filter = k::pre_filter;
      if constexpr (detail::calls_add_pod<P>) {
        using D = typename P::cycle_data;
        e.add_pod = [](const void* p, const pod_info& pod, void* d, const pod_info& other, const node_info& node) {
          return detail::heard<P>([&] { return k::of(p).add_pod(pod, *static_cast<D*>(d), other, node); });
        };
        e.remove_pod = [](const void* p, const pod_info& pod, void* d, const pod_info& other, const node_info& node) {
          return detail::heard<P>([&] { return k::of(p).remove_pod(pod, *static_cast<D*>(d), other, node); });
        };
      }
    }
    if constexpr (points.has(point::filter)) k::lower_filter(e.filter);
    if constexpr (points.has(point::post_filter)) {
      e.post_filter = [](const void* p, trial& t, const pod_info& pod) {
        return detail::heard<P>([&] { return k::of(p).post_filter(t, pod); });
      };
    }
    if constexpr (points.has(point::pre_score)) e.pre_score = k::pre_score;
    if constexpr (points.has(point::score)) k::lower_score(e.score);
    if constexpr (points.has(point::choose_devices)) {
      e.choose_devices = [](const void* p, const hook_context& c, row_t row) { return detail::call(k::of(p), &P::choose_devices, c, row); };
    }
    if constexpr (points.has(point::reserve)) {
      e.reserve = [](void* p, const new_reservation& r) {
        return detail::heard<P>([&] { return k::of(p).reserve(r); });
      };
      e.unreserve = [](void* p, const reservation& r) noexcept { k::of(p).unreserve(r); };
    }
    if constexpr (points.has(point::permit)) {
      e.permit = [](void* p, const reservation& r, permit_room& room) {
        return detail::heard<P>([&] { return k::of(p).permit(r, room); });
      };
    }
    if constexpr (points.has(point::pre_bind)) {
      e.pre_bind = [](void* p, const reservation& r, decision& d) {
        return detail::heard<P>([&] { return k::of(p).pre_bind(r, d); });
      };
    }
    if constexpr (points.has(point::bind)) {
      e.bind = [](void* p, const reservation& r, decision& d) {
        return detail::heard<P>([&] { return k::of(p).bind(r, d); });
      };
    }
    if constexpr (points.has(point::post_bind)) {
      e.post_bind = [](void* p, const reservation& r) noexcept { k::of(p).post_bind(r); };
    }
    if constexpr (points.has(point::group_pre_filter)) {
      e.group_pre_filter = [](const void* p, const group_view& g) {
        return detail::heard<P>([&] { return k::of(p).group_pre_filter(g); });
      };
    }
    if constexpr (points.has(point::generate_placements)) {
      e.generate_placements = [](const void* p, const group_view& g, const cluster_view& c,
                                 const placement_sink& sink) {
        return detail::heard<P>([&] { return k::of(p).generate_placements(g, c, sink); });
      };
    }
    if constexpr (points.has(point::placement_feasible)) {
      e.placement_feasible = [](const void* p, const group_view& g, const group_progress& progress) {
        return detail::heard<P>([&] { return k::of(p).placement_feasible(g, progress); });
      };
    }
    if constexpr (points.has(point::score_placement)) {
      e.score_placement = [](const void* p, const group_view& g, const placement_view& where,
                             std::span<const assignment> a) {
        return detail::heard<P>([&] { return k::of(p).score_placement(g, where, a); });
      };
      if constexpr (requires { requires bool{P::relative_to_best}; }) e.relative_placement_score = true;
      if constexpr (detail::calls_placement_bound<P>) {
        e.placement_bound = [](const void* p, const placement_view& where, const placement_demand& d) {
          return detail::heard<P>([&] { return k::of(p).placement_bound(where, d); });
        };
      }
    }
    if constexpr (points.has(point::group_preempt)) {
      e.group_preempt = [](const void* p, trial& t, const group_view& g) {
        return detail::heard<P>([&] { return k::of(p).group_preempt(t, g); });
      };
    }
    if constexpr (requires { requires bool{P::ignores_group_identity}; }) e.ignores_group_identity = true;
  }
  return e;
}

}  // namespace gangsched
