#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include "gangsched/model/label_selector.hpp"
#include "gangsched/model/name_rules.hpp"
#include "gangsched/src/kube/core/objects.hpp"

// What an API server refuses of new objects beyond types and what the model's `check` knows (pkg/apis/core/validation and
// pkg/apis/apps/validation of Kubernetes 1.36).
namespace gangsched::inline GANGSCHED_ABI::kube::detail {

namespace {

const value* list_of(const value& object, std::string_view key) {
  const value* found = object.find(key);
  return found != nullptr && found->kind == value_kind::list ? found : nullptr;
}

std::string_view word_of(const value& object, std::string_view key) {
  const value* found = object.find(key);
  return found != nullptr && found->kind == value_kind::text ? std::string_view{found->text} : std::string_view{};
}

/// Whether each of the container's mounts is a volume of the pod.
bool check_mounts(reader& read, const place& container, const std::set<std::string_view>& volumes) {
  for (const std::string_view key : {"volumeMounts", "volumeDevices"}) {
    const value* const mounts = list_of(*container.at, key);
    if (mounts == nullptr) continue;
    const place all{mounts, &container, key};
    for (std::size_t i = 0; i < mounts->items.size(); ++i) {
      const place mount{&mounts->items[i], &all, {}, i};
      const std::string_view name = word_of(*mount.at, "name");
      if (!volumes.contains(name)) return read.fail(errc::malformed, mount, fmt::format("no volume \"{}\"", name));
    }
  }
  return true;
}

}  // namespace

bool check_containers(reader& read, const place& of, bool is_template) {
  const value* const app = list_of(*of.at, "containers");
  if (app == nullptr || app->items.empty()) return read.fail(errc::malformed, of, "needs containers");
  std::set<std::string_view> volumes, names;
  if (const value* const all = list_of(*of.at, "volumes"))
    for (const value& one : all->items) volumes.insert(word_of(one, "name"));
  for (const std::string_view key : {"initContainers", "containers"}) {
    const value* const containers = list_of(*of.at, key);
    if (containers == nullptr) continue;
    const place all{containers, &of, key};
    for (std::size_t i = 0; i < containers->items.size(); ++i) {
      const place one{&containers->items[i], &all, {}, i};
      const std::string_view name = word_of(*one.at, "name");
      if (name.empty()) return read.fail(errc::malformed, one, "needs a name");
      if (!gangsched::detail::is_dns_label(name))
        return read.fail(errc::malformed, one, fmt::format("\"{}\" is no name of a container (a DNS label)", name));
      if (!names.insert(name).second)
        return read.fail(errc::duplicate, one, fmt::format("another container is called \"{}\"", name));
      if (is_template && word_of(*one.at, "image").empty()) return read.fail(errc::malformed, one, "needs an image");
      if (!check_mounts(read, one, volumes)) return false;
    }
  }
  return true;
}

bool check_selector(reader& read, const place& of, std::string_view kind, controller_of_pods& made) {
  static constexpr std::array selecting{std::string_view{"Deployment"}, std::string_view{"ReplicaSet"},
                                        std::string_view{"StatefulSet"}, std::string_view{"DaemonSet"}};
  const bool core = kind == "ReplicationController";
  if (!core && std::ranges::find(selecting, kind) == selecting.end()) return true;
  const label_map& labels = made.pod.spec.labels;
  const auto empty = [&] {
    return !made.selector || (made.selector->match_labels.empty() && made.selector->match_expressions.empty());
  };
  if (core && empty()) made.selector.emplace().match_labels = labels;  // what the API server puts there
  const value* const spec = of.at->find("spec");
  const place at{spec == nullptr ? of.at : spec, &of, "spec"};
  if (empty()) return read.fail(errc::malformed, at, "needs a selector");
  return matches(*made.selector, labels) ||
         read.fail(errc::malformed, at, "the selector does not match the labels of the template");
}

bool check_cron_job_name(reader& read, const place& of, std::string_view kind, const controller_of_pods& made) {
  constexpr std::size_t most = 63 - 11;  // ValidateCronJobCreate: "-" and ten digits
  if (kind != "CronJob" || made.meta.name.size() <= most) return true;
  const place meta{of.at->find("metadata"), &of, "metadata"};
  return read.fail(errc::out_of_range, place{meta.at->find("name"), &meta, "name"},
                   fmt::format("has {} characters; of a CronJob it has {} at most, so that names of its Jobs are none "
                               "too long",
                               made.meta.name.size(), most));
}

bool check_object_name(reader& read, const place& of, std::string_view api_group) {
  if (api_group == "rbac.authorization.k8s.io") return true;  // any path segment
  const value* const meta = of.at->find("metadata");
  if (meta == nullptr || meta->kind != value_kind::object) return true;
  const value* const name = meta->find("name");
  if (name == nullptr || name->kind != value_kind::text || name->text.empty() ||
      gangsched::detail::is_dns_subdomain(name->text))
    return true;
  const place up{meta, &of, "metadata"};
  return read.fail(errc::malformed, place{name, &up, "name"}, fmt::format("\"{}\" is not a DNS subdomain", name->text));
}

}  // namespace gangsched::inline GANGSCHED_ABI::kube::detail
