#include "gangsched/src/kube/simulation/volumes.hpp"

#include <algorithm>

namespace gangsched::inline GANGSCHED_ABI::kube::simulation {
namespace {

bool ask_the_same(const pod_volumes& a, const pod_volumes& b) {
  const auto same_zone = [](const volume_zone& one, const volume_zone& other) {
    return one.key == other.key && one.values == other.values;
  };
  return a.nodes == b.nodes && a.bindable_nodes == b.bindable_nodes && std::ranges::equal(a.zones, b.zones, same_zone);
}

}  // namespace

volume_news::volume_news(manifests& of) : of_(&of) {
  for (std::size_t i = 0; i < of.pods.size(); ++i)
    if (!of.pods[i].volumes.empty()) claimants_.push_back(i);
  if (!claimants_.empty() || !of.cron_jobs.empty() || !of.autoscalers.empty()) binder_.emplace(of);
}

void volume_news::add(std::size_t pod) {
  if (of_->pods[pod].volumes.empty()) return;
  claimants_.push_back(pod);
  binder_->add(of_->pods[pod]);
}

bool volume_news::reserve(std::size_t pod, std::string_view node) {
  return !binder_ || binder_->reserve(of_->pods[pod], node);
}

void volume_news::release(std::size_t pod) {
  if (binder_) binder_->unreserve(of_->pods[pod]);
}

bool volume_news::is_news() const { return binder_ && told_ != binder_->version(); }

bool volume_news::refresh(std::size_t index) {
  pod_manifest& pod = of_->pods[index];
  if (!binder_ || pod.volumes.empty()) return false;
  pod_volumes now = binder_->needs(pod);
  if (ask_the_same(now, pod.spec.volumes)) return false;
  pod.spec.volumes = std::move(now);
  return true;
}

std::vector<std::size_t> volume_news::refresh_all(const std::function<bool(std::size_t)>& waits) {
  std::vector<std::size_t> made;
  if (!is_news()) return made;
  told_ = binder_->version();
  for (const std::size_t i : claimants_)
    if (waits(i) && refresh(i)) made.push_back(i);
  return made;
}

}  // namespace gangsched::inline GANGSCHED_ABI::kube::simulation
