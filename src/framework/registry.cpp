#include "gangsched/framework/registry.hpp"

#include <algorithm>

#include "gangsched/framework/plugin_entry.hpp"
#include "gangsched/framework/profile_limits.hpp"

namespace gangsched::inline GANGSCHED_ABI {

GANGSCHED_INLINE plugin_registry::plugin_registry() = default;
GANGSCHED_INLINE plugin_registry::plugin_registry(const plugin_registry& other) = default;
GANGSCHED_INLINE plugin_registry::plugin_registry(plugin_registry&& other) noexcept = default;
GANGSCHED_INLINE plugin_registry& plugin_registry::operator=(const plugin_registry& other) = default;
GANGSCHED_INLINE plugin_registry& plugin_registry::operator=(plugin_registry&& other) noexcept = default;
GANGSCHED_INLINE plugin_registry::~plugin_registry() = default;

GANGSCHED_INLINE result<void> plugin_registry::add(std::string name, factory how) {
  for (const auto& [known, unused] : factories_) {
    if (known == name) return error{errc::duplicate, "plugin " + name, "name", "is registered already"};
  }
  factories_.emplace_back(std::move(name), std::move(how));
  return {};
}

GANGSCHED_INLINE result<plugin_entry> plugin_registry::make(std::string_view name, const argument& args) const {
  for (const auto& [known, make_it] : factories_) {
    if (known != name) continue;
    result<plugin_entry> made = make_it(args);
    if (made) made->name = name;
    return made;
  }
  return error{errc::unknown, "plugin " + std::string{name}, "name", "nobody registered it"};
}

GANGSCHED_INLINE std::vector<std::string> plugin_registry::names() const {
  std::vector<std::string> all;
  for (const auto& [name, unused] : factories_) all.push_back(name);
  return all;
}

GANGSCHED_INLINE runtime_profile::runtime_profile(const plugin_registry& registry, std::string scheduler_name)
    : registry_(&registry), scheduler_name_(std::move(scheduler_name)) {}

GANGSCHED_INLINE runtime_profile& runtime_profile::enable(std::string_view name, std::int64_t weight, argument args) {
  choices_.push_back({std::string{name}, weight, std::move(args), {}});
  return *this;
}

GANGSCHED_INLINE runtime_profile& runtime_profile::disable(std::string_view name) {
  std::erase_if(choices_, [&](const choice& c) { return c.name == name; });
  return *this;
}

GANGSCHED_INLINE runtime_profile& runtime_profile::disable(std::string_view name, point at) {
  for (choice& c : choices_) {
    if (c.name == name) c.without.add(at);
  }
  return *this;
}

GANGSCHED_INLINE result<kernel_table> runtime_profile::table() const {
  kernel_table made;
  made.scheduler_name = scheduler_name_;
  const std::string object = "profile " + scheduler_name_;
  for (const choice& c : choices_) {
    const auto same = [&](const plugin_entry& e) { return e.name == c.name; };
    if (std::any_of(made.plugins.begin(), made.plugins.end(), same)) {
      return error{errc::duplicate, object, "plugins", c.name + " is enabled twice"};
    }
    if (c.weight < 0) return error{errc::out_of_range, object, c.name + ".weight", "is negative"};
    auto entry = registry_->make(c.name, c.args);
    if (!entry) return std::move(entry).error();
    if (c.weight != 0) entry->weight = c.weight;
    entry->points.bits &= ~c.without.bits;
    add_plugin(made, std::move(*entry));
  }
  if (made.at(point::queue_sort).size() != 1) {
    return error{errc::malformed, object, "plugins", "needs exactly one plugin that sorts the queue"};
  }
  if (made.at(point::queue_order).size() > 1) {
    return error{errc::malformed, object, "plugins", "may have one plugin that orders several queues, not more"};
  }
  if (std::optional<error> wrong = detail::beyond_limits(made)) return *std::move(wrong);
  return made;
}

}  // namespace gangsched::inline GANGSCHED_ABI
