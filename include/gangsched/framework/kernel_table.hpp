#pragma once
#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gangsched/framework/points.hpp"

/// What a profile is lowered to: per plugin a row of function pointers. One engine runs any table, so a profile put together at
/// compile time and one put together at run time cannot differ.
namespace gangsched {

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

/// A profile ready to run: its plugins, and per extension point their order (indices into `plugins`).
struct kernel_table {
  std::string scheduler_name = "default-scheduler";  ///< of the pods that it is for
  std::vector<plugin_entry> plugins;
  std::array<std::vector<std::uint16_t>, point_count> order;
  /// Kubernetes' percentageOfNodesToScore: how many feasible nodes are enough. 0: by cluster size; 100 or nothing: all, which is exact.
  std::optional<std::int32_t> percentage_of_nodes_to_score = {};

  [[nodiscard]] std::span<const std::uint16_t> at(point p) const noexcept { return order[static_cast<std::size_t>(p)]; }
  [[nodiscard]] hook_range hooks(point p) const noexcept { return {plugins.data(), at(p)}; }
};

}  // namespace gangsched
