#pragma once
#include <cstdint>
#include <span>

#include "gangsched/framework/points.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// One plugin of a profile: the plugin as a whole, and what each of its points has for it (points/).
struct plugin_entry : detail::whole_plugin::kernels, detail::every_point::kernels {};

/// The plugins that take part in an extension point, in order.
class hook_range {
 public:
  class iterator {
   public:
    iterator(const plugin_entry* plugins, const std::uint16_t* at) noexcept : plugins_(plugins), at_(at) {}
    [[nodiscard]] const plugin_entry& operator*() const noexcept { return plugins_[*at_]; }
    iterator& operator++() noexcept { return ++at_, *this; }
    friend bool operator==(const iterator& a, const iterator& b) noexcept { return a.at_ == b.at_; }

   private:
    const plugin_entry* plugins_;
    const std::uint16_t* at_;
  };
  hook_range(const plugin_entry* plugins, std::span<const std::uint16_t> order) noexcept
      : plugins_(plugins), order_(order) {}

  [[nodiscard]] iterator begin() const noexcept { return {plugins_, order_.data()}; }
  [[nodiscard]] iterator end() const noexcept { return {plugins_, order_.data() + order_.size()}; }
  [[nodiscard]] bool empty() const noexcept { return order_.empty(); }
  [[nodiscard]] std::size_t size() const noexcept { return order_.size(); }
  [[nodiscard]] const plugin_entry& operator[](std::size_t i) const noexcept { return plugins_[order_[i]]; }

 private:
  const plugin_entry* plugins_;
  std::span<const std::uint16_t> order_;
};

}  // namespace gangsched::inline GANGSCHED_ABI

// Here, because in header-only builds it brings bodies that need all of the above.
#include "gangsched/framework/kernel_table.hpp"

namespace gangsched::inline GANGSCHED_ABI {

inline hook_range kernel_table::hooks(point p) const noexcept { return {plugins.data(), at(p)}; }

}  // namespace gangsched::inline GANGSCHED_ABI
