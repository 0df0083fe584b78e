#pragma once
#include <string>

#include "gangsched/framework/extension_point.hpp"

namespace gangsched::inline GANGSCHED_ABI::detail {

GANGSCHED_PROBE(attach)
GANGSCHED_PROBE(fork)

template <class P>
std::shared_ptr<void> make_data() {
  if constexpr (has_class_data<P>)
    return heard<P>([] { return std::make_shared<typename P::data>(); });
  else if constexpr (has_cycle_data<P>)
    return heard<P>([] { return std::make_shared<typename P::cycle_data>(); });
  else
    return nullptr;
}

/// What a plugin is beside its extension points; with the same members as the trait of a point.
struct whole_plugin {
  struct kernels {
    std::string name;
    std::shared_ptr<void> self;
    std::shared_ptr<void> (*copy)(const void* self) = nullptr;  ///< null for a plugin that cannot be copied
    std::shared_ptr<void> (*fork)(const void* self, const cluster_view& to) = nullptr;  ///< null: a copy will do
    point_set points;  ///< the points that it takes part in: implemented and not disabled
    std::int64_t weight = 1;

    void (*attach)(void* self, column_maker&) = nullptr;
    reads columns = reads::nothing;  ///< facets of the columns that attach asked for, and of queues
    bool reads_queues = false;       ///< its results depend on queues: its hooks are called again when they change
    std::shared_ptr<void> (*make_data)() = nullptr;
    bool cycle_data = false;  ///< data belongs to one cycle, not to the class: reset before each
    void (*reset_data)(void* data) = nullptr;
    bool ignores_group_identity =
        false;  ///< its group hooks give equal results for groups that differ only in name, cookie and age
  };
  template <class P>
  static consteval bool keeps_contract() {
    static_assert(std::is_class_v<P> && !std::is_final_v<P>, "gangsched: a plugin is a class that is not final");
    static_assert(
        requires {
          { P::name } -> std::convertible_to<std::string_view>;
        }, "gangsched: a plugin needs `static constexpr std::string_view name`");
    static_assert(
        requires {
          { P::points::set } -> std::convertible_to<point_set>;
        },
        "gangsched: a plugin needs `using points = gangsched::implements<gangsched::point::...>`, the points it takes "
        "part in");
    static_assert(std::move_constructible<P>, "gangsched: a plugin must be movable");
    static_assert(!(has_class_data<P> && has_cycle_data<P>),
                  "gangsched: a plugin has `data` (per class) or `cycle_data`, not both");
    if constexpr (plugin<P>)
      static_assert(P::points::set.bits != 0, "gangsched: a plugin must list at least one point");
    static_assert(
        !calls_attach<P> || requires { static_cast<void (P::*)(column_maker&)>(&P::attach); },
        "gangsched: attach has the wrong type; expected: void attach(column_maker&)");
    if constexpr (!calls_attach<P>) {
      GANGSCHED_SLIP(attach, Attach);
      GANGSCHED_SLIP(attach, atach);
      GANGSCHED_SLIP(attach, attatch);
      GANGSCHED_SLIP(attach, attach_to);
      GANGSCHED_SLIP(attach, on_attach);
    }
    return true;
  }
  template <class P>
  static void lower(kernels& k, P self, std::int64_t weight) {
    k.name = std::string{std::string_view{P::name}};
    k.self = std::make_shared<P>(std::move(self));
    if constexpr (std::copy_constructible<P>)
      k.copy = [](const void* p) -> std::shared_ptr<void> { return std::make_shared<P>(*static_cast<const P*>(p)); };
    if constexpr (calls_fork<P>) {
      k.fork = [](const void* p, const cluster_view& to) -> std::shared_ptr<void> {
        return std::make_shared<P>(static_cast<const P*>(p)->fork(to));
      };
    }
    k.points = P::points::set;
    k.weight = weight;
    if constexpr (calls_attach<P>) k.attach = [](void* p, column_maker& m) { self_of<P>(p).attach(m); };
    if constexpr (has_class_data<P> || has_cycle_data<P>) k.make_data = make_data<P>;
    k.cycle_data = has_cycle_data<P>;
    if constexpr (has_cycle_data<P>) {
      k.reset_data = [](void* data) {
        heard<P>([&] { *static_cast<typename P::cycle_data*>(data) = typename P::cycle_data{}; });
      };
    }
    if constexpr (requires { requires bool{P::ignores_group_identity}; }) k.ignores_group_identity = true;
    if constexpr (requires { requires bool{P::reads_queues}; }) k.reads_queues = true;
  }
};

}  // namespace gangsched::inline GANGSCHED_ABI::detail
