#include <algorithm>
#include <cctype>

#include "gangsched/src/kube/devices/device_requests.hpp"

// HAMi's words on which GPUs a pod may have: parts of the names of their products, whatever the case.
namespace gangsched::inline GANGSCHED_ABI::kube::detail {
namespace {

std::string upper(std::string_view text) {
  std::string made{text};
  std::transform(made.begin(), made.end(), made.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return made;
}

/// Whether one of the words of @p list, between commas, is part of @p model.
bool names_one(std::string_view list, const std::string& model) {
  for (;;) {
    const std::size_t comma = list.find(',');
    if (upper(model).find(upper(list.substr(0, comma))) != std::string::npos) return true;
    if (comma == std::string_view::npos) return false;
    list.remove_prefix(comma + 1);
  }
}

void narrow(std::vector<device_request>& requests, const std::vector<std::string>& models) {
  for (device_request& one : requests) {
    narrow(one.first_of, models);
    if (one.device_class != "gpu") continue;
    std::vector<std::string> both = models;
    const auto other = [&](const std::string& model) {
      return !one.models.empty() && std::find(one.models.begin(), one.models.end(), model) == one.models.end();
    };
    std::erase_if(both, other);
    if (both.empty()) both.emplace_back("none");  // an empty list is any
    one.models = std::move(both);
  }
}

}  // namespace

void choose_gpu_types(pod_manifest& pod, const std::set<std::string>& models) {
  const auto list = [&](const char* key) -> const std::string* {
    const auto found = pod.annotations.find(key);
    return found == pod.annotations.end() ? nullptr : &found->second;
  };
  const std::string* const use = list("nvidia.com/use-gputype");
  const std::string* const avoid = list("nvidia.com/nouse-gputype");
  if (!pod.node.empty() || (use == nullptr && avoid == nullptr)) return;
  std::vector<std::string> allowed;
  for (const std::string& model : models) {
    const bool fine = (use == nullptr || names_one(*use, model)) && (avoid == nullptr || !names_one(*avoid, model));
    if (fine) allowed.push_back(model);
  }
  const bool asks = std::ranges::any_of(pod.spec.devices, [](const device_request& one) {
    return (one.first_of.empty() ? one : one.first_of.front()).device_class == "gpu";
  });
  const std::int32_t counted = asks ? 0 : counted_gpus(pod.spec);
  if (counted > 0) pod.spec.devices.push_back({.count = counted});
  narrow(pod.spec.devices, allowed);
}

}  // namespace gangsched::inline GANGSCHED_ABI::kube::detail
