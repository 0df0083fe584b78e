#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "gangsched/src/kube/core/objects.hpp"
#include "gangsched/src/kube/documents/annotations.hpp"

// HorizontalPodAutoscaler (autoscaling/v1, v2), and how many pods its load takes when: gangsched.dev/replicas: {0s: 2, 1h: 10}.
namespace gangsched::inline GANGSCHED_ABI::kube::detail {
namespace {

constexpr std::int64_t most_replicas = std::numeric_limits<std::int32_t>::max();

bool read_load(reader& read, const place& of, std::vector<autoscaler_manifest::load>& to) {
  return read.fields(of, [&](std::string_view key, const place& v) {
    const auto at = parse_duration(key);
    if (!at || *at < instant::zero())
      return read.fail(errc::malformed, v, fmt::format("\"{}\" is no duration like 90s", key));
    autoscaler_manifest::load& one = to.emplace_back();
    one.at = *at;
    return read.integer(v, one.count, 0, most_replicas);
  });
}

bool read_target(reader& read, const place& of, autoscaler_manifest& out) {
  return read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "kind") return read.text(v, out.kind);
    if (key == "name") return read.text(v, out.target);
    return read.ignore(key, v, {"apiVersion"});
  });
}

}  // namespace

bool read_autoscaler(reader& read, const place& of, autoscaler_manifest& out) {
  object_meta meta;
  std::optional<std::int64_t> most;
  const bool fine = read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "metadata") return read_meta(read, v, meta);
    if (key == "status") {
      const value* found = v.at->find("desiredReplicas");
      return found == nullptr ||
             read.integer(place{found, &v, "desiredReplicas"}, out.desired_replicas.emplace(), 0, most_replicas);
    }
    if (key != "spec") return read.ignore(key, v, {"apiVersion", "kind"});
    return read.fields(v, [&](std::string_view field, const place& w) {
      if (field == "scaleTargetRef") return read_target(read, w, out);
      if (field == "minReplicas") return read.integer(w, out.min_replicas, 0, most_replicas);
      if (field == "maxReplicas") return read.integer(w, most.emplace(), 1, most_replicas);
      return read.ignore(field, w, {"metrics", "behavior", "targetCPUUtilizationPercentage"});
    });
  });
  if (!fine) return false;
  out.ns = meta.ns.empty() ? "default" : meta.ns;
  out.name = meta.name;
  if (out.kind.empty() || out.target.empty()) return read.fail(errc::malformed, of, "needs spec.scaleTargetRef");
  if (!most) return read.fail(errc::malformed, of, "needs spec.maxReplicas");
  out.max_replicas = *most;
  if (out.max_replicas < out.min_replicas)
    return read.fail(errc::malformed, of, "has a spec.maxReplicas below its spec.minReplicas");
  constexpr const char* load = "gangsched.dev/replicas";
  if (const auto said = meta.annotations.find(load); said != meta.annotations.end()) {
    const place meta_at{of.at->find("metadata"), &of, "metadata"};
    if (!read_inside(read, find_spot(meta_at, {"annotations", load}), said->second,
                     [&](reader& in, const place& root) { return read_load(in, root, out.replicas); }))
      return false;
  }
  std::ranges::stable_sort(out.replicas, {}, &autoscaler_manifest::load::at);
  const auto within = [&](std::int64_t count) { return std::clamp(count, out.min_replicas, out.max_replicas); };
  for (autoscaler_manifest::load& one : out.replicas) one.count = within(one.count);
  if (out.desired_replicas) out.desired_replicas = within(*out.desired_replicas);
  if (!out.replicas.empty() && out.replicas.front().at == instant::zero())
    out.desired_replicas = out.replicas.front().count;
  static constexpr std::array known{"Deployment", "ReplicaSet", "StatefulSet", "ReplicationController"};
  if (std::ranges::find(known, out.kind) != known.end()) return true;
  out.replicas.clear();
  out.desired_replicas.reset();
  return read.warn(of, fmt::format("how many pods a {} has is not followed; it is left out", out.kind));
}

}  // namespace gangsched::inline GANGSCHED_ABI::kube::detail
