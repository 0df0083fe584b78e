#pragma once
#include <tuple>

#include "gangsched/framework/lower.hpp"
#include "gangsched/framework/registry.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// A plugin with the weight of its scores in a profile.
template <class P>
struct weighted {
  P plugin;
  std::int64_t weight = 1;
};
template <class P>
weighted(P, std::int64_t) -> weighted<P>;
template <class P>
weighted(P) -> weighted<P>;

namespace detail {

template <class P>
struct plugin_of {
  using type = P;
};
template <class P>
struct plugin_of<weighted<P>> {
  using type = P;
};
template <class P, point At>
inline constexpr bool takes_part = [] {
  if constexpr (plugin<P>)
    return P::points::set.has(At);
  else
    return false;
}();

/// kube's default weights are the plugins' own. (A concept of its own: clang 16 crashes on the requirement inside a lambda.)
template <class P>
concept names_default_weight = requires {
  { P::default_weight } -> std::convertible_to<std::int64_t>;
};
template <class P>
inline constexpr std::int64_t default_weight = 1;
template <names_default_weight P>
inline constexpr std::int64_t default_weight<P> = P::default_weight;

}  // namespace detail

/// A profile put together at compile time: plugins in running order, each plain or `weighted`.
/// @code
/// gangsched::profile mine{gangsched::priority_sort{}, gangsched::node_resources_fit{}, gangsched::weighted{free_gpus{}, 5}};
/// gangsched::scheduler scheduler{cluster, mine};
/// @endcode
template <class... Plugins>
class profile {
 public:
  static_assert((detail::keeps_contract<typename detail::plugin_of<Plugins>::type>() && ...));
  static_assert((0 + ... + int{detail::takes_part<typename detail::plugin_of<Plugins>::type, point::queue_sort>}) == 1,
                "gangsched: a profile has exactly one plugin with point::queue_sort");
  static_assert((0 + ... + int{detail::takes_part<typename detail::plugin_of<Plugins>::type, point::queue_order>}) <= 1,
                "gangsched: a profile has at most one plugin with point::queue_order");

  constexpr profile() = default;
  explicit constexpr profile(Plugins... plugins) : plugins_(std::move(plugins)...) {}

  /// The table the engine runs. O(plugins).
  [[nodiscard]] kernel_table table() const {
    kernel_table made;
    std::apply([&](const auto&... one) { (add(made, one), ...); }, plugins_);
    return made;
  }
  operator kernel_table() const { return table(); }

 private:
  template <class P>
  static void add(kernel_table& table, const P& one) {
    add_plugin(table, lower(one, detail::default_weight<P>));
  }
  template <class P>
  static void add(kernel_table& table, const weighted<P>& one) {
    add_plugin(table, lower(one.plugin, one.weight));
  }
  std::tuple<Plugins...> plugins_;
};

template <configurable P>
result<void> plugin_registry::add() {
  return add(std::string{std::string_view{P::name}}, [](const argument& args) -> result<plugin_entry> {
    if constexpr (detail::takes_argument<P>) {
      result<P> made = P::from(args);
      if (!made) return std::move(made).error();
      return lower(std::move(*made), detail::default_weight<P>);
    } else {
      if (!args.empty()) {
        return error{errc::malformed, "plugin " + std::string{std::string_view{P::name}}, "args", "takes no arguments"};
      }
      return lower(P{}, detail::default_weight<P>);
    }
  });
}

}  // namespace gangsched::inline GANGSCHED_ABI
