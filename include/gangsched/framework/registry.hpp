#pragma once
#include <concepts>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "gangsched/core/config.hpp"
#include "gangsched/core/result.hpp"
#include "gangsched/framework/argument.hpp"
#include "gangsched/framework/kernel_table.hpp"

namespace gangsched::inline GANGSCHED_ABI {
namespace detail {

/// A concept of its own: clang 16 misreads the requirement inside a lambda.
template <class P>
concept takes_argument = requires(const argument& args) {
  { P::from(args) } -> std::same_as<result<P>>;
};

}  // namespace detail

/// A configuration can make the plugin, from arguments or by its default constructor.
template <class P>
concept configurable = detail::takes_argument<P> || std::default_initializable<P>;

/// Plugins by name, for profiles that are put together at run time. The host adds its own beside the library's.
class GANGSCHED_API plugin_registry {
 public:
  /// Makes the plugin from its arguments: `lower(mine{…}, weight)`. All plugins that one factory makes share what it captures.
  using factory = std::function<result<plugin_entry>(const argument&)>;

  plugin_registry();
  plugin_registry(const plugin_registry& other);
  plugin_registry(plugin_registry&& other) noexcept;
  plugin_registry& operator=(const plugin_registry& other);
  plugin_registry& operator=(plugin_registry&& other) noexcept;
  ~plugin_registry();

  /// Registers a plugin under @p name, whatever its type is called: a host registers an `extender` with each of its callbacks. Error:
  /// duplicate.
  result<void> add(std::string name, factory how);
  /// Adds P under P::name. P is made by `static result<P> from(const argument&)`, or default-made if it takes no arguments.
  /// The body is in framework/profile.hpp: without it a program that calls this does not link.
  template <configurable P>
  result<void> add();
  /// The plugin, ready for a table. Error: unknown name, or the plugin's error about its arguments.
  [[nodiscard]] result<plugin_entry> make(std::string_view name, const argument& args) const;
  [[nodiscard]] std::vector<std::string> names() const;  ///< in the order in which they were added

 private:
  std::vector<std::pair<std::string, factory>> factories_;  // in order of add
};

/// A profile put together at run time. Calls are collected; `table` checks and lowers them, and has all errors.
/// @code
/// gangsched::runtime_profile p{registry};
/// p.enable("PrioritySort").enable("NodeResourcesFit", 1, args).disable("NodeResourcesFit", gangsched::point::score);
/// auto table = p.table();
/// @endcode
class GANGSCHED_API runtime_profile {
 public:
  /// @p registry must outlive it.
  explicit runtime_profile(const plugin_registry& registry, std::string scheduler_name = "default-scheduler");
  explicit runtime_profile(const plugin_registry&& registry, std::string scheduler_name = "default-scheduler") = delete;

  /// Appends the plugin to the running order, at every point it implements. Weight 0: the plugin's default.
  runtime_profile& enable(std::string_view name, std::int64_t weight = 0, argument args = {});
  /// Takes the plugin out, or from one point. One that was not enabled before is no error.
  runtime_profile& disable(std::string_view name);
  runtime_profile& disable(std::string_view name, point at);

  /// Error: unknown or duplicate plugin, bad arguments, negative weight, not exactly one queue sort, or what `scheduler::check` refuses.
  [[nodiscard]] result<kernel_table> table() const;

 private:
  struct choice {
    std::string name;
    std::int64_t weight;
    argument args;
    point_set without;
  };
  const plugin_registry* registry_;
  std::string scheduler_name_;
  std::vector<choice> choices_;
};

}  // namespace gangsched::inline GANGSCHED_ABI

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/framework/registry.cpp"
#endif
