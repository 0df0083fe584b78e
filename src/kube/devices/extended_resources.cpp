#include "gangsched/src/kube/devices/extended_resources.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

namespace gangsched::inline GANGSCHED_ABI::kube::detail {
namespace {

constexpr std::string_view implicit = "deviceclass.resource.kubernetes.io/";
constexpr std::int64_t any_number = 1'000'000;  // of pods that share a device, which its capacities bound

std::int64_t number_of(const container& in, const std::string& resource) {
  const auto found = in.requests.find(resource);
  std::int64_t number = 0;
  return found != in.requests.end() && found->second.value(number) ? std::max<std::int64_t>(number, 0) : 0;
}

/// As upstream calls it: the resource's number is that among the container's, by name.
std::string name_of_request(std::size_t container_index, const container& in, const std::string& resource) {
  const auto number = std::distance(in.requests.begin(), in.requests.find(resource));
  return fmt::format("container-{}-request-{}", container_index, number);
}

/// The requests of one resource (createRequestsAndMappings): each container's own; an init container that ends uses those of the containers
/// after it, and of what such containers lack the most is requested once.
void add_requests(const pod_spec& pod, const std::string& resource, const device_class& of, claim_object& out) {
  std::vector<const container*> all;
  for (const container& one : pod.init_containers) all.push_back(&one);
  for (const container& one : pod.containers) all.push_back(&one);
  const auto ends = [&](std::size_t i) { return i < pod.init_containers.size() && !all[i]->sidecar; };
  const auto add = [&](std::size_t i, std::int64_t count) {
    claimed_request& made = out.requests.emplace_back();
    made.made.name = name_of_request(i, *all[i], resource);
    made.made.count =
        static_cast<std::int32_t>(std::min<std::int64_t>(count, std::numeric_limits<std::int32_t>::max()));
    made.device_class = of.name;
  };
  std::int64_t later = 0, most = 0;
  std::size_t most_at = 0;
  for (std::size_t i = all.size(); i-- > 0;) {
    const std::int64_t number = number_of(*all[i], resource);
    if (!ends(i)) {
      later += number;
    } else if (number - later >= most && number > later) {
      most = number - later;
      most_at = i;  // of several the first
    }
  }
  if (most > 0) add(most_at, most);
  for (std::size_t i = 0; i < all.size(); ++i)
    if (const std::int64_t number = ends(i) ? 0 : number_of(*all[i], resource); number > 0) add(i, number);
}

}  // namespace

extended_resources::extended_resources(manifests& into, const device_objects& objects) : ask_host_(objects.ask_host) {
  if (objects.classes.empty()) return;
  std::set<std::string> drivers;
  for (const resource_slice& one : objects.slices) drivers.insert(one.driver);
  for (const device_class& one : objects.classes) {
    by_name_.emplace(one.name, &one);
    if (one.resource.empty()) continue;
    const device_class*& known = by_resource_[one.resource];
    if (known == nullptr || one.created > known->created || (one.created == known->created && one.name < known->name))
      known = &one;
  }
  std::map<std::string, const device_class*, std::less<>> asked;
  for (const pod_manifest& pod : into.pods) {
    for (const auto* const list : {&pod.spec.containers, &pod.spec.init_containers})
      for (const container& one : *list)
        for (const auto& [name, amount] : one.requests)
          if (const device_class* const of = class_of(name)) asked.emplace(name, of);
  }
  for (const auto& [resource, of] : asked) {
    std::string driver = of->terms.driver;
    if (driver.empty() && drivers.size() == 1) driver = *drivers.begin();
    put_on_nodes(into, resource, *of, std::move(driver));
  }
}

const device_class* extended_resources::class_of(std::string_view resource) const {
  const auto known = by_resource_.find(resource);
  if (known != by_resource_.end()) return known->second;
  if (!resource.starts_with(implicit)) return nullptr;
  const auto named = by_name_.find(resource.substr(implicit.size()));
  return named == by_name_.end() ? nullptr : named->second;
}

void extended_resources::put_on_nodes(manifests& into, const std::string& resource, const device_class& of,
                                      std::string driver) {
  const auto counts = [&](const node_manifest& one) {
    const auto found = one.spec.allocatable.find(resource);
    return found != one.spec.allocatable.end() && found->second > quantity{};
  };
  if (std::ranges::any_of(into.nodes, counts)) {
    const auto has_devices = [&](const node_manifest& one) {
      return !counts(one) && std::ranges::any_of(one.spec.devices.others, [&](const other_device& device) {
        return device.device_class == driver;
      });
    };
    if (std::ranges::any_of(into.nodes, has_devices)) {
      into.warnings.push_back(
          {where(into, of.from, "DeviceClass", {}, of.name), "spec.extendedResourceName",
           fmt::format("some nodes count \"{}\": those that have devices for it instead are not used for it",
                       resource)});
    }
    return;
  }
  used_.emplace(resource, &of);
  for (node_manifest& one : into.nodes) {
    std::int64_t count = 0;
    for (const other_device& device : one.spec.devices.others)
      if (device.device_class == driver) count += device.shared ? any_number : 1;
    if (count > 0) one.spec.allocatable.insert_or_assign(resource, quantity{count});
  }
}

std::optional<claim_object> extended_resources::claim_for(const pod_manifest& pod) const {
  if (used_.empty()) return std::nullopt;
  claim_object made;
  for (const auto& [resource, of] : used_) add_requests(pod.spec, resource, *of, made);
  if (made.requests.empty()) return std::nullopt;
  made.ask_host = ask_host_;
  made.name = pod.spec.name + "-extended-resources";
  made.ns = pod.spec.ns;
  made.from = pod.from;
  std::ranges::sort(made.requests, {}, [](const claimed_request& one) { return std::string_view{one.made.name}; });
  return made;
}

}  // namespace gangsched::inline GANGSCHED_ABI::kube::detail
