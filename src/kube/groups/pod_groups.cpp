#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "gangsched/src/kube/documents/annotations.hpp"
#include "gangsched/src/kube/groups/groups.hpp"

// PodGroups of others: scheduler-plugins' (scheduling.x-k8s.io/v1alpha1, which Koordinator reads too), Volcano's
// (scheduling.volcano.sh/v1beta1) and KAI's (scheduling.run.ai/v2alpha2).
namespace gangsched::inline GANGSCHED_ABI::kube::detail {
namespace {

/// Visits spec of an object whose metadata is a group's.
template <class Visit>
bool read_spec(reader& read, const place& of, group_draft& out, const Visit& visit, label_map* annotations = nullptr) {
  out.has_policy = true;
  out.made.spec.policy = gang{};
  return read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "metadata") return read_group_meta(read, v, out, annotations);
    if (key == "spec") return read.fields(v, visit);
    return read.ignore(key, v, {"apiVersion", "kind", "status"});
  });
}

bool read_minimum(reader& read, const place& of, group_draft& out) {
  return read.integer(of, std::get<gang>(out.made.spec.policy).min_count, 1);
}

/// {topology, requiredTopologyLevel, preferredTopologyLevel}
bool read_kai_topology(reader& read, const place& of, asked_topology& out) {
  out.field = of.path();
  return read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "topology") return read.text(v, out.topology);
    if (key == "requiredTopologyLevel") return read.text(v, out.required);
    if (key == "preferredTopologyLevel") return read.text(v, out.preferred);
    return read.ignore(key, v, {});
  });
}

struct kai_sub_group {
  std::string name, parent;
  std::optional<std::int32_t> least_pods, least_groups;
  asked_topology asks;
  std::uint32_t line = 0;
};

bool read_kai_sub_group(reader& read, const place& of, kai_sub_group& out) {
  out.line = of.at->line;
  const bool fine = read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "name") return read.text(v, out.name);
    if (key == "parent") return read.text(v, out.parent);
    if (key == "minMember") return read.integer(v, out.least_pods.emplace(), 0);
    if (key == "minSubGroup") return read.integer(v, out.least_groups.emplace(), 1);
    if (key == "topologyConstraint") return read_kai_topology(read, v, out.asks);
    return read.ignore(key, v, {});
  });
  return fine && (!out.name.empty() || read.fail(errc::malformed, of, "needs a name"));
}

}  // namespace

bool read_coscheduling_group(reader& read, const place& of, group_draft& out) {
  constexpr std::int64_t usual = 60;  // the plugin's default timeout
  std::int64_t timeout = usual;
  const bool fine = read_spec(
      read, of, out,
      [&](std::string_view field, const place& w) {
        if (field == "minMember") return read_minimum(read, w, out);
        if (field == "scheduleTimeoutSeconds")
          return read.integer(w, timeout, 0, std::numeric_limits<std::int32_t>::max());
        if (field == "minResources")
          return read.warn(w, "members are tried as a whole: what they need is not checked before; it is left out");
        return read.ignore(field, w, {});
      },
      &out.annotations);
  std::get<gang>(out.made.spec.policy).timeout = std::chrono::seconds{timeout == 0 ? usual : timeout};
  return fine;
}

bool read_volcano_network_topology(reader& read, const place& of, asked_topology& out) {
  bool hard = true;
  out.field = of.path();
  const bool fine = read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "mode") return read.word(v, hard, {{"hard", true}, {"soft", false}});
    if (key == "highestTierAllowed") return read.integer(v, out.highest_tier.emplace(), 1);
    if (key == "highestTierName") return read.text(v, out.highest_tier_name);
    return read.ignore(key, v, {});
  });
  if (!fine) return false;
  if (out.highest_tier && !out.highest_tier_name.empty())
    return read.fail(errc::malformed, of, "highestTierAllowed and highestTierName exclude each other");
  out.soft_tiers = !hard;
  return true;
}

bool read_volcano_group(reader& read, const place& of, group_draft& out) {
  gang policy;
  const bool fine = read_spec(read, of, out, [&](std::string_view field, const place& w) {
    if (field == "minMember") return read.integer(w, policy.min_count, 1);
    if (field == "minTaskMember") {
      return read.fields(w, [&](std::string_view task, const place& x) {
        return read.integer(x, policy.roles.emplace_back(role_minimum{std::string{task}, 0}).min_count, 0);
      });
    }
    if (field == "priorityClassName") return read.text(w, out.made.priority_class);
    if (field == "networkTopology") return read_volcano_network_topology(read, w, out.asks);
    if (field == "queue") {
      std::string name;
      if (!read.text(w, name)) return false;
      if (name != "default")
        out.made.spec.queue = std::move(name);  // that one Volcano's pods are in unless they say another
      return true;
    }
    if (field == "subGroupPolicy") {
      if (w.at->items.size() > most_sub_groups)
        return read.fail(errc::out_of_range, w, fmt::format("has more than {} sub-groups", most_sub_groups));
      return read.list(w, out.sub_groups, [&](const place& item, sub_group_policy& one) {
        if (!read_sub_group_policy(read, item, one)) return false;
        return std::ranges::count(out.sub_groups, one.name, &sub_group_policy::name) == 1 ||
               read.fail(errc::duplicate, item, fmt::format("there is another policy \"{}\"", one.name));
      });
    }
    if (field == "minResources")
      return read.warn(w, "members are tried as a whole: what they need is not checked before; it is left out");
    return read.ignore(field, w, {});
  });
  std::erase_if(out.sub_groups, [](const sub_group_policy& one) { return one.keys.empty(); });
  // Volcano counts the tasks only when the whole gang needs at least as many (plugins/gang/gang.go).
  std::int64_t tasks = 0;
  for (const role_minimum& one : policy.roles) tasks += one.min_count;
  if (policy.min_count < tasks) policy.roles.clear();
  std::ranges::sort(policy.roles, {}, &role_minimum::role);
  out.made.spec.policy = std::move(policy);
  return fine;
}

bool read_kai_group(reader& read, const place& of, group_objects& out) {
  group_draft top;
  top.made.from.line = of.at->line;
  std::vector<kai_sub_group> subs;
  std::optional<std::int32_t> least_groups;
  std::optional<instant> stale;
  label_map annotations;
  std::uint32_t least_line = of.at->line;
  const auto read_field = [&](std::string_view field, const place& w) {
    if (field == "minMember") return read.integer(w, std::get<gang>(top.made.spec.policy).min_count, 1);
    if (field == "minSubGroup") return least_line = w.at->line, read.integer(w, least_groups.emplace(), 1);
    if (field == "priorityClassName") return read.text(w, top.made.priority_class);
    if (field == "topologyConstraint") return read_kai_topology(read, w, top.asks);
    if (field == "stalenessGracePeriod") {
      std::string text;
      if (!read.text(w, text)) return false;
      stale = parse_duration(text);
      return stale.has_value() || read.fail(errc::malformed, w, fmt::format("\"{}\" is no duration like 60s", text));
    }
    if (field == "subGroups") {
      if (w.at->items.size() > most_sub_groups)
        return read.fail(errc::out_of_range, w, fmt::format("has more than {} sub-groups", most_sub_groups));
      return read.list(w, subs, [&](const place& item, kai_sub_group& one) {
        if (!read_kai_sub_group(read, item, one)) return false;
        const auto same = [&](const kai_sub_group& other) { return other.name == one.name; };
        return std::ranges::count_if(subs, same) == 1 ||
               read.fail(errc::duplicate, item, fmt::format("there is another sub-group \"{}\"", one.name));
      });
    }
    if (field == "queue") return read.text(w, top.made.spec.queue);
    for (const std::string_view other : {"preemptibility", "markUnschedulable", "schedulingBackoff"})
      if (field == other) return read.warn(w, "is not modelled; it is left out");
    return read.ignore(field, w, {});
  };
  if (!read_spec(read, of, top, read_field, &annotations)) return false;
  if (const auto said = annotations.find("kai.scheduler/staleness-grace-period"); said != annotations.end() && !stale) {
    stale = parse_duration(said->second);
    if (!stale) {  // as KAI has it
      const spot at = find_spot(of, {"metadata", "annotations", "kai.scheduler/staleness-grace-period"});
      read.warn(at.line, at.path, fmt::format("\"{}\" is no duration like 60s; it is left out", said->second));
    }
  }
  // Negative: they stay.
  if (stale && *stale >= instant::zero() && !top.stale_after) top.stale_after = stale;
  if (subs.empty()) return out.groups.push_back(std::move(top)), true;

  // A tree: the pod group is a group of its sub-groups, which have its name before their own.
  const std::string base = top.made.spec.name, ns = top.made.spec.ns;
  const auto children = [&](const std::string& parent) {
    return static_cast<std::int32_t>(std::ranges::count(subs, parent, &kai_sub_group::parent));
  };
  const auto minimum = [&](std::optional<std::int32_t> least, const std::string& parent, std::uint32_t line,
                           std::string path, gang& made) {
    made.min_count = least.value_or(children(parent));
    return made.min_count <= children(parent) ||
           read.fail(errc::out_of_range, line, std::move(path),
                     fmt::format("{} is above {}, the number of sub-groups", made.min_count, children(parent)));
  };
  gang whole;
  if (children({}) == 0)
    return read.fail(errc::malformed, of.at->line, "spec.subGroups", "every sub-group is below another one: a cycle");
  if (!minimum(least_groups, {}, least_line, "spec.minSubGroup", whole)) return false;
  top.made.spec.composite = true;
  top.made.spec.policy = whole;
  const auto priority_class = top.made.priority_class;
  out.groups.push_back(std::move(top));
  for (std::size_t i = 0; i < subs.size(); ++i) {
    kai_sub_group& one = subs[i];
    const std::string path = fmt::format("spec.subGroups[{}]", i);
    if (!one.parent.empty() && std::ranges::find(subs, one.parent, &kai_sub_group::name) == subs.end())
      return read.fail(errc::unknown, one.line, path + ".parent", fmt::format("no sub-group \"{}\"", one.parent));
    std::string above = one.parent;
    for (int levels = 2; !above.empty(); ++levels) {
      if (above == one.name) return read.fail(errc::malformed, one.line, path + ".parent", "a cycle");
      if (levels >= 4)
        return read.fail(errc::out_of_range, one.line, path + ".parent", "the tree has more than 4 levels");
      const auto next = std::ranges::find(subs, above, &kai_sub_group::name);
      if (next == subs.end()) break;
      above = next->parent;
    }
    group_draft made;
    made.has_policy = true;
    made.made.from.line = one.line;
    made.made.spec.name = base + "-" + one.name;
    made.made.spec.ns = ns;
    made.made.spec.composite = children(one.name) != 0;
    made.made.parent = one.parent.empty() ? base : base + "-" + one.parent;
    made.made.priority_class = priority_class;
    made.asks = std::move(one.asks);
    gang policy;
    if (made.made.spec.composite) {
      if (!minimum(one.least_groups, one.name, one.line, path + ".minSubGroup", policy)) return false;
      made.made.spec.policy = policy;
    } else if (one.least_pods.value_or(1) > 0) {
      policy.min_count = one.least_pods.value_or(1);
      made.made.spec.policy = policy;
    }
    out.sub_groups.emplace(std::tuple{ns, base, one.name}, made.made.spec.name);
    out.groups.push_back(std::move(made));
  }
  return true;
}

}  // namespace gangsched::inline GANGSCHED_ABI::kube::detail
