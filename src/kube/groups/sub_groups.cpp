#include <fmt/format.h>

#include <algorithm>

#include "gangsched/core/hash.hpp"
#include "gangsched/model/label_selector.hpp"
#include "gangsched/model/validate.hpp"
#include "gangsched/src/kube/groups/groups.hpp"

// Volcano's subGroupPolicy: which sub-groups there are follows from the labels of pods, so that a PodGroup becomes a tree
// once all pods are known. A sub-group starts with `subGroupSize` members; the whole needs `minSubGroups` of each policy,
// and `minMember` members in all (plugins/gang/gang.go). A tree counts groups at each level: what that cannot say is a
// warning.
namespace gangsched::inline GANGSCHED_ABI::kube::detail {
namespace {

/// Pods of one policy that have the same values.
struct sub_group {
  std::size_t policy = 0;
  std::string values;
  std::vector<std::size_t> pods = {};
};

std::int32_t count_of(std::int64_t number) { return static_cast<std::int32_t>(std::min(number, most_count)); }

class sub_group_maker {
 public:
  sub_group_maker(manifests& into, group_objects& groups) : into_(&into), groups_(&groups) {
    for (const group_draft& one : groups.groups)
      if (!one.sub_groups.empty()) members_.try_emplace({one.made.spec.ns, one.made.spec.name});
    if (members_.empty()) return;
    for (std::size_t i = 0; i < into.pods.size(); ++i) {
      const auto found = members_.find({into.pods[i].spec.ns, into.pods[i].group});
      if (found != members_.end()) found->second.push_back(i);
    }
    for (const group_draft& one : groups.groups)
      names_.emplace(one.made.spec.composite, one.made.spec.ns, one.made.spec.name);
  }

  std::optional<error> run() {
    const std::size_t described = members_.empty() ? 0 : groups_->groups.size();
    for (std::size_t i = 0; i < described; ++i) {
      if (groups_->groups[i].sub_groups.empty()) continue;
      top_ = std::move(groups_->groups[i]);
      policies_ = std::move(top_.sub_groups);
      auto wrong = split();
      groups_->groups[i] = std::move(top_);
      if (wrong) return wrong;
    }
    return std::nullopt;
  }

 private:
  [[nodiscard]] std::string told() const {
    const group_manifest& made = top_.made;
    return where(*into_, made.from, made.kind, made.spec.ns, made.spec.name);
  }
  /// The fields of a PodGroup, or of the Job that Volcano makes one of.
  [[nodiscard]] std::string minimum_field() const {
    return top_.made.kind == "Job" ? "spec.minAvailable" : "spec.minMember";
  }
  [[nodiscard]] std::string roles_field() const {
    return top_.made.kind == "Job" ? "spec.tasks.minAvailable" : "spec.minTaskMember";
  }
  [[nodiscard]] std::string policy_field() const {
    return top_.made.kind == "Job" ? "spec.tasks.partitionPolicy" : "spec.subGroupPolicy";
  }
  void warn(std::string field, std::string reason) {
    into_->warnings.push_back({told(), std::move(field), std::move(reason)});
  }

  /// The values of a policy's keys, joined as Volcano joins them; nothing if the pod is none of the policy's.
  static std::optional<std::string> values_of(const sub_group_policy& policy, const label_map& labels) {
    if (policy.selector && !matches(*policy.selector, labels)) return std::nullopt;
    std::string all;
    for (const std::string& key : policy.keys) {
      const auto found = labels.find(key);
      if (found == labels.end() || found->second.empty()) return std::nullopt;
      all += (all.empty() ? "" : "-") + found->second;
    }
    return all;
  }

  std::optional<error> split() {
    found_.clear();
    by_values_.clear();
    rest_.clear();
    const std::vector<std::size_t>& members = members_.at({top_.made.spec.ns, top_.made.spec.name});
    for (const std::size_t pod : members) sort_in(pod);
    if (found_.size() > most_sub_groups)
      return error{errc::out_of_range, told(), policy_field(),
                   fmt::format("makes more than {} sub-groups", most_sub_groups)};
    if (found_.empty()) {
      warn(policy_field(), "no pod in the files is in one of its sub-groups; it is left out");
      return std::nullopt;
    }
    if (!top_.made.ratios.empty()) {
      warn("ratios", "a group of sub-groups has none; they are left out");
      top_.made.ratios.clear();
    }
    std::ranges::stable_sort(found_, {}, &sub_group::policy);
    const gang policy = std::get<gang>(top_.made.spec.policy);
    const auto total = static_cast<std::int64_t>(members.size());
    const std::int64_t needed = policy.min_count;
    // That all members are needed, or with one policy so many sub-groups, is what a tree can say.
    bool all = needed >= total;
    std::int64_t by_groups = 0, used = 0;
    bool even = true;
    for (std::size_t i = 0; i < policies_.size(); ++i) {
      by_groups = std::min(by_groups + policies_[i].least * policies_[i].size, most_count);
      used += policies_[i].least > 0 || std::ranges::count(found_, i, &sub_group::policy) > 0 ? 1 : 0;
    }
    for (const sub_group& one : found_)
      even = even && static_cast<std::int64_t>(one.pods.size()) == policies_[one.policy].size;
    const bool flat = used == 1 && rest_.empty();
    if (!all && flat && !even && needed > by_groups) {
      all = true;
      warn(minimum_field(),
           fmt::format("{} members of sub-groups that are not of one size: all {} are needed here", needed, total));
    }
    if (!policy.roles.empty() && !all) warn(roles_field(), "is not counted beside sub-groups; it is left out");
    if (!names_.emplace(true, top_.made.spec.ns, top_.made.spec.name).second)
      return error{errc::duplicate, told(), policy_field(), "there is a group of groups of that name"};
    top_.made.spec.composite = true;
    if (all) return whole(needed);
    return flat ? of_one_policy(needed) : of_policies(needed - by_groups);
  }

  void sort_in(std::size_t pod) {
    for (std::size_t i = 0; i < policies_.size(); ++i) {
      auto values = values_of(policies_[i], into_->pods[pod].spec.labels);
      if (!values) continue;
      const auto [at, added] = by_values_.try_emplace({i, *values}, found_.size());
      if (added) found_.push_back({i, *std::move(values)});
      found_[at->second].pods.push_back(pod);
      return;
    }
    rest_.push_back(pod);
  }

  /// Every member is needed.
  std::optional<error> whole(std::int64_t needed) {
    std::int64_t children = 0, given = 0;
    for (std::size_t i = 0; i < policies_.size(); ++i) {
      std::int64_t there = 0;
      for (const sub_group& one : found_) {
        if (one.policy != i) continue;
        const std::int64_t least = std::max(policies_[i].size, static_cast<std::int64_t>(one.pods.size()));
        if (auto wrong = add_leaf(one, top_.made.spec.name, least)) return wrong;
        given += least;
        ++there;
      }
      children += std::max(there, policies_[i].least);
    }
    const std::int64_t others = std::max(static_cast<std::int64_t>(rest_.size()), needed - given);
    if (others > 0) {
      if (auto wrong = add_rest(others)) return wrong;
      ++children;
    }
    top_.made.spec.policy = gang{.min_count = count_of(children)};
    return std::nullopt;
  }

  /// So many sub-groups that their members suffice.
  std::optional<error> of_one_policy(std::int64_t needed) {
    const sub_group_policy& policy = policies_[found_.front().policy];
    for (const sub_group& one : found_)
      if (auto wrong = add_leaf(one, top_.made.spec.name, policy.size)) return wrong;
    const std::int64_t least = std::max(policy.least, (needed + policy.size - 1) / policy.size);
    top_.made.spec.policy = gang{.min_count = count_of(least)};
    return std::nullopt;
  }

  /// Each policy is a group of its sub-groups; @p missing members are to come from those outside.
  std::optional<error> of_policies(std::int64_t missing) {
    std::int32_t children = 0;
    for (std::size_t i = 0; i < policies_.size(); ++i) {
      const sub_group_policy& policy = policies_[i];
      if (policy.least == 0 && std::ranges::count(found_, i, &sub_group::policy) == 0) continue;
      if (policy.least == 0)
        warn(policy.field, "has no minSubGroups: one of its sub-groups is needed here, none in Volcano");
      group_draft made = child(base_name(policy, i), top_.made.spec.name);
      made.made.spec.composite = true;
      made.made.spec.policy = gang{.min_count = count_of(std::max<std::int64_t>(policy.least, 1))};
      const std::string name = made.made.spec.name;
      if (auto wrong = add(std::move(made), policy.field)) return wrong;
      for (const sub_group& one : found_)
        if (one.policy == i)
          if (auto wrong = add_leaf(one, name, policy.size)) return wrong;
      ++children;
    }
    const auto outside = static_cast<std::int64_t>(rest_.size());
    if (missing > outside) {
      warn(minimum_field(), fmt::format("{} of them are not counted: they would be in sub-groups that need not start",
                                        missing - outside));
    } else if (outside > 0) {
      warn(minimum_field(), fmt::format("of the members outside of sub-groups {} have to start here; in Volcano any "
                                        "other members will do",
                                        std::max<std::int64_t>(missing, 1)));
    }
    if (outside > 0) {
      if (auto wrong = add_rest(std::clamp<std::int64_t>(missing, 1, outside))) return wrong;
      ++children;
    }
    top_.made.spec.policy = gang{.min_count = children};
    return std::nullopt;
  }

  [[nodiscard]] std::string base_name(const sub_group_policy& policy, std::size_t index) const {
    return fmt::format("{}-{}", top_.made.spec.name, policy.name.empty() ? fmt::format("{}", index) : policy.name);
  }

  [[nodiscard]] group_draft child(std::string name, const std::string& parent) const {
    group_draft made;
    made.has_policy = true;
    made.made.kind = top_.made.kind;
    made.made.from = top_.made.from;
    made.made.spec.ns = top_.made.spec.ns;
    made.made.spec.name = std::move(name);
    made.made.parent = parent;
    made.made.priority_class = top_.made.priority_class;
    return made;
  }

  std::optional<error> add_leaf(const sub_group& one, const std::string& parent, std::int64_t least) {
    const sub_group_policy& policy = policies_[one.policy];
    const std::string base = base_name(policy, one.policy);
    std::string name = base + "-" + one.values;
    if (check(group_spec{.name = name})) {  // labels may have letters that names may not
      std::uint64_t hash = 0;
      for (const char c : one.values) hash = mix64(hash ^ static_cast<unsigned char>(c));
      name = base + "-" + safe_letters(hash, 10);
    }
    group_draft made = child(std::move(name), parent);
    made.made.spec.policy = gang{.min_count = count_of(least)};
    made.asks = policy.asks;
    for (const std::size_t pod : one.pods) into_->pods[pod].group = made.made.spec.name;
    return add(std::move(made), policy.field);
  }

  /// Members of no sub-group keep the group's name, as a pod group below the composite one.
  std::optional<error> add_rest(std::int64_t least) {
    group_draft made = child(top_.made.spec.name, top_.made.spec.name);
    made.made.spec.policy = gang{.min_count = count_of(least)};
    groups_->groups.push_back(std::move(made));
    return std::nullopt;
  }

  std::optional<error> add(group_draft made, const std::string& field) {
    const group_spec& spec = made.made.spec;
    if (!names_.emplace(spec.composite, spec.ns, spec.name).second)
      return error{errc::duplicate, told(), field, fmt::format("another group is called \"{}\" too", spec.name)};
    groups_->groups.push_back(std::move(made));
    return std::nullopt;
  }

  manifests* into_;
  group_objects* groups_;
  std::map<std::pair<std::string, std::string>, std::vector<std::size_t>> members_;  // by namespace and group
  std::set<std::tuple<bool, std::string, std::string>> names_;
  group_draft top_;
  std::vector<sub_group_policy> policies_;
  std::vector<sub_group> found_;
  std::map<std::pair<std::size_t, std::string>, std::size_t> by_values_;  // in found_, while pods are sorted in
  std::vector<std::size_t> rest_;
};

}  // namespace

bool read_sub_group_policy(reader& read, const place& of, sub_group_policy& out) {
  out.field = of.path();
  const bool fine = read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "name") return read.text(v, out.name);
    if (key == "subGroupSize") return read.integer(v, out.size, 1, most_count);
    if (key == "minSubGroups") return read.integer(v, out.least, 0, most_count);
    if (key == "labelSelector") return read_label_selector(read, v, out.selector.emplace());
    if (key == "matchLabelKeys") return read.texts(v, out.keys);
    if (key == "networkTopology") return read_volcano_network_topology(read, v, out.asks);
    return read.ignore(key, v, {});
  });
  if (!fine || !out.keys.empty()) return fine;
  return read.warn(of, "has no matchLabelKeys, without which Volcano makes no sub-groups; it is left out");
}

std::optional<error> make_sub_groups(manifests& into, group_objects& groups) {
  return sub_group_maker{into, groups}.run();
}

}  // namespace gangsched::inline GANGSCHED_ABI::kube::detail
