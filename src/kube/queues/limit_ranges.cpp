#include <fmt/format.h>

#include <algorithm>

#include "gangsched/src/kube/documents/annotations.hpp"
#include "gangsched/src/kube/queues/queues.hpp"

// LimitRange: what containers without requests and limits get, and what containers and pods may have, as the API server has it.
namespace gangsched::inline GANGSCHED_ABI::kube::detail {
namespace {

constexpr std::size_t most_limit_ranges = 100;  // of a namespace: each pod is held against all of them

bool read_limit_item(reader& read, const place& of, limit_range_item& out) {
  enum class kind : std::uint8_t { none, container, pod, volume_claim } of_what = kind::none;
  const bool fine = read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "type") {
      return read.word(
          v, of_what,
          {{"Container", kind::container}, {"Pod", kind::pod}, {"PersistentVolumeClaim", kind::volume_claim}});
    }
    if (key == "default") return read_quota_amounts(read, v, out.limits);
    if (key == "defaultRequest") return read_quota_amounts(read, v, out.requests);
    if (key == "min") return read_quota_amounts(read, v, out.least);
    if (key == "max") return read_quota_amounts(read, v, out.most);
    if (key == "maxLimitRequestRatio") return read_quota_amounts(read, v, out.ratio);
    return read.ignore(key, v, {});
  });
  if (!fine) return false;
  if (of_what == kind::none) return read.fail(errc::malformed, of, "needs a type");
  out.counts = of_what != kind::volume_claim;
  out.of_pod = of_what == kind::pod;
  if (out.of_pod && (!out.limits.empty() || !out.requests.empty()))
    return read.fail(errc::malformed, of, "a pod as a whole has no default and no defaultRequest");
  // What the API server adds.
  if (of_what == kind::container) {
    out.limits.insert(out.most.begin(), out.most.end());
    out.requests.insert(out.limits.begin(), out.limits.end());
    out.requests.insert(out.least.begin(), out.least.end());
  }
  const std::pair<const char*, const resource_list*> in_order[] = {
      {"min", &out.least}, {"defaultRequest", &out.requests}, {"default", &out.limits}, {"max", &out.most}};
  for (std::size_t i = 0; i < std::size(in_order); ++i) {
    for (std::size_t k = i + 1; k < std::size(in_order); ++k) {
      for (const auto& [name, amount] : *in_order[i].second) {
        const auto other = in_order[k].second->find(name);
        if (other == in_order[k].second->end() || amount <= other->second) continue;
        const spot at = find_spot(of, {in_order[i].first, name});
        return read.fail(
            errc::out_of_range, at.line, at.path,
            fmt::format("{} is above {}, its {}", amount.to_string(), other->second.to_string(), in_order[k].first));
      }
    }
  }
  for (const auto& [name, amount] : out.ratio) {
    if (amount >= quantity{1}) continue;
    const spot at = find_spot(of, {"maxLimitRequestRatio", name});
    return read.fail(errc::out_of_range, at.line, at.path, fmt::format("{} is below 1", amount.to_string()));
  }
  return true;
}

const quantity* find_amount(const resource_list& in, const std::string& name) {
  const auto found = in.find(name);
  return found == in.end() ? nullptr : &found->second;
}

/// What all containers have together, or the init containers where they take more: those that go on are there beside all others.
resource_list sum_of(const pod_spec& pod, const std::vector<resource_list>& containers,
                     const std::vector<resource_list>& init) {
  resource_list sum, beside, peak;
  for (const resource_list& one : containers)
    for (const auto& [name, amount] : one) sum[name] += amount;
  for (std::size_t i = 0; i < init.size(); ++i) {
    const bool stays = pod.init_containers[i].sidecar;
    for (const auto& [name, amount] : init[i]) {
      quantity& top = peak[name];
      const quantity* const others = find_amount(beside, name);
      top = std::max(top, others == nullptr ? amount : amount + *others);
      if (stays) beside[name] += amount;
    }
  }
  for (const auto& [name, amount] : beside) sum[name] += amount;
  for (const auto& [name, amount] : peak) sum[name] = std::max(sum[name], amount);
  return sum;
}

/// Holds pods against the LimitRanges of their namespace.
class limit_ranger {
 public:
  limit_ranger(manifests& into, const std::vector<limit_range>& ranges) : into_(&into) {
    for (const limit_range& one : ranges) by_namespace_[one.ns].push_back(&one);
  }

  std::optional<error> apply(pod_manifest& pod) {
    const auto found = by_namespace_.find(pod.spec.ns);
    if (found == by_namespace_.end()) return std::nullopt;
    pod_ = &pod;
    spread_limits();
    bool changed = false;
    for (const limit_range* const range : found->second)
      for (const limit_range_item& item : range->items)
        if (item.counts && !item.of_pod) changed = fill(item) || changed;
    if (changed && !pod.spec.resources) settle_class();
    for (const limit_range* const range : found->second) {
      for (const limit_range_item& item : range->items) {
        if (!item.counts) continue;
        if (auto wrong = item.of_pod ? check_pod(*range, item) : check_containers(*range, item)) return wrong;
      }
    }
    if (std::ranges::all_of(pod.limits, [](const resource_list& one) { return one.empty(); })) pod.limits.clear();
    return std::nullopt;
  }

 private:
  [[nodiscard]] std::size_t count() const { return pod_->spec.containers.size() + pod_->spec.init_containers.size(); }
  [[nodiscard]] container& at(std::size_t i) const {
    const std::size_t first = pod_->spec.containers.size();
    return i < first ? pod_->spec.containers[i] : pod_->spec.init_containers[i - first];
  }
  [[nodiscard]] std::string path_of(std::size_t i, std::string_view list, const std::string& resource) const {
    const std::size_t first = pod_->spec.containers.size();
    const bool plain = resource.find_first_of("./[\" ") == std::string::npos;
    return fmt::format("spec.{}[{}].resources.{}{}", i < first ? "containers" : "initContainers",
                       i < first ? i : i - first, list, plain ? "." + resource : "[\"" + resource + "\"]");
  }
  void spread_limits() {
    if (pod_->limits.empty()) pod_->limits.resize(count());
  }

  bool fill(const limit_range_item& item) {
    bool changed = false;
    for (std::size_t i = 0; i < count(); ++i) {
      const auto add = [&](resource_list& to, const resource_list& from) {
        for (const auto& [name, amount] : from) changed = to.emplace(name, amount).second || changed;
      };
      add(at(i).requests, item.requests);
      add(pod_->limits[i], item.limits);
    }
    return changed;
  }

  /// The QoS class follows from what the containers have now.
  void settle_class() {
    bool guaranteed = count() != 0;
    for (std::size_t i = 0; i < count(); ++i) guaranteed = guaranteed && is_guaranteed(at(i).requests, pod_->limits[i]);
    pod_->spec.guaranteed = guaranteed;
  }

  std::optional<error> check_containers(const limit_range& range, const limit_range_item& item) {
    for (std::size_t i = 0; i < count(); ++i) {
      const auto path = [&](std::string_view list, const std::string& name) { return path_of(i, list, name); };
      if (auto wrong = check(range, item, at(i).requests, pod_->limits[i], path)) return wrong;
    }
    return std::nullopt;
  }

  std::optional<error> check_pod(const limit_range& range, const limit_range_item& item) {
    std::vector<resource_list> requests(count());
    for (std::size_t i = 0; i < count(); ++i) requests[i] = at(i).requests;
    const auto total = [&](const std::vector<resource_list>& of) {
      const auto first = of.begin() + static_cast<std::ptrdiff_t>(pod_->spec.containers.size());
      return sum_of(pod_->spec, {of.begin(), first}, {first, of.end()});
    };
    resource_list asked = total(requests), limited = total(pod_->limits);
    if (pod_->spec.resources)
      for (const auto& [name, amount] : *pod_->spec.resources) asked[name] = amount;
    for (const auto& [name, amount] : pod_->pod_limits) limited[name] = amount;
    const auto path = [&](std::string_view, const std::string&) { return std::string{"spec.containers"}; };
    return check(range, item, asked, limited, path);
  }

  /// @p path(list, resource) of what is too much or too little.
  template <class Path>
  std::optional<error> check(const limit_range& range, const limit_range_item& item, const resource_list& requests,
                             const resource_list& limits, const Path& path) {
    const char* const each = item.of_pod ? "a pod" : "a container";
    const auto wrong = [&](std::string_view list, const std::string& name, std::string what, const quantity& bound,
                           std::string_view which) {
      return error{errc::out_of_range, where(*into_, pod_->from, "Pod", pod_->spec.ns, pod_->spec.name),
                   path(list, name),
                   fmt::format("{}: the LimitRange \"{}\" has {}, the {} of {} for {}", what, range.name,
                               bound.to_string(), which, name, each)};
    };
    for (const auto& [name, least] : item.least) {
      const quantity *asked = find_amount(requests, name), *most = find_amount(limits, name);
      if (asked == nullptr) return wrong("requests", name, "is not there", least, "min");
      if (*asked < least) return wrong("requests", name, asked->to_string() + " is too little", least, "min");
      if (most != nullptr && *most < least)
        return wrong("limits", name, most->to_string() + " is too little", least, "min");
    }
    for (const auto& [name, most] : item.most) {
      const quantity *asked = find_amount(requests, name), *limit = find_amount(limits, name);
      if (limit == nullptr) return wrong("limits", name, "is not there", most, "max");
      if (*limit > most) return wrong("limits", name, limit->to_string() + " is too much", most, "max");
      if (asked != nullptr && *asked > most)
        return wrong("requests", name, asked->to_string() + " is too much", most, "max");
    }
    for (const auto& [name, ratio] : item.ratio) {
      const quantity *asked = find_amount(requests, name), *limit = find_amount(limits, name);
      if (asked == nullptr || *asked == quantity{})
        return wrong("requests", name, "is not there", ratio, "maxLimitRequestRatio");
      if (limit == nullptr || *limit == quantity{})
        return wrong("limits", name, "is not there", ratio, "maxLimitRequestRatio");
      const auto parts = [](const quantity& of) { return static_cast<double>(of.nanos()); };
      if (parts(*limit) / parts(*asked) > parts(ratio) / 1e9)
        return wrong("limits", name,
                     fmt::format("{} is too much for a request of {}", limit->to_string(), asked->to_string()), ratio,
                     "maxLimitRequestRatio");
    }
    return std::nullopt;
  }

  manifests* into_;
  pod_manifest* pod_ = nullptr;
  std::map<std::string, std::vector<const limit_range*>, std::less<>> by_namespace_;
};

}  // namespace

bool read_limit_range(reader& read, const place& of, limit_range& out) {
  return read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "metadata") return read_names(read, v, out.name, out.ns);
    if (key != "spec") return read.ignore(key, v, {"apiVersion", "kind"});
    return read.fields(v, [&](std::string_view field, const place& w) {
      if (field != "limits") return read.ignore(field, w, {});
      if (w.at->items.size() > most_limit_ranges)
        return read.fail(errc::out_of_range, w, fmt::format("has more than {} entries", most_limit_ranges));
      return read.list(w, out.items,
                       [&](const place& item, limit_range_item& one) { return read_limit_item(read, item, one); });
    });
  });
}

std::optional<error> apply_limit_ranges(manifests& into, const queue_objects& queues, std::size_t new_from,
                                        bool read_ones, mistakes_by_object note) {
  if (queues.limit_ranges.empty()) return std::nullopt;
  std::map<std::string_view, std::size_t> counts;
  for (const limit_range& one : queues.limit_ranges) {
    if ((counts[one.ns] += one.items.size()) > most_limit_ranges)
      return error{errc::out_of_range, where(into, one.from, "LimitRange", one.ns, one.name), "spec.limits",
                   fmt::format("the namespace has more than {} entries in LimitRanges", most_limit_ranges)};
  }
  limit_ranger ranger{into, queues.limit_ranges};
  for (std::size_t i = read_ones ? 0 : new_from; i < into.pods.size(); ++i) {
    pod_manifest& pod = into.pods[i];
    if (i < new_from && !pod.node.empty()) continue;  // it was admitted long ago
    if (pod.spec.reservation) continue;               // to an API server it is no pod
    if (auto wrong = ranger.apply(pod); wrong && !note.told(pod.from, *wrong)) return wrong;
  }
  return std::nullopt;
}

std::optional<error> check_claims(const manifests& all, const queue_objects& queues, mistakes_by_object note) {
  std::map<std::string_view, std::vector<std::pair<const limit_range*, const limit_range_item*>>> by_namespace;
  for (const limit_range& range : queues.limit_ranges)
    for (const limit_range_item& item : range.items)
      if (!item.counts) by_namespace[range.ns].emplace_back(&range, &item);
  if (by_namespace.empty()) return std::nullopt;
  for (const volume_claim_manifest& claim : all.volume_claims) {
    const auto found = by_namespace.find(claim.ns);
    if (claim.phase != claim_phase::none || found == by_namespace.end()) continue;
    for (const auto& [range, item] : found->second) {
      const quantity &size = claim.spec.size, *const least = find_amount(item->least, "storage"),
                     *const most = find_amount(item->most, "storage");
      const bool small = least != nullptr && size < *least;
      if (!small && (most == nullptr || size <= *most)) continue;
      error wrong{errc::out_of_range, where(all, claim.from, "PersistentVolumeClaim", claim.ns, claim.name),
                  "spec.resources.requests.storage",
                  fmt::format("{} is too {}: the LimitRange \"{}\" has {}, the {} of storage for a claim",
                              size.to_string(), small ? "little" : "much", range->name,
                              (small ? *least : *most).to_string(), small ? "min" : "max")};
      if (!note.told(claim.from, wrong)) return wrong;
      break;
    }
  }
  return std::nullopt;
}

}  // namespace gangsched::inline GANGSCHED_ABI::kube::detail
