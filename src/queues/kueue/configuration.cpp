#include "gangsched/queues/kueue/configuration.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <utility>

namespace gangsched::inline GANGSCHED_ABI::queues::kueue {
namespace detail {

inline std::uint64_t fnv1a(std::string_view text) noexcept {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char one : text) hash = (hash ^ static_cast<unsigned char>(one)) * 0x100000001b3u;
  return hash;
}

inline std::string group_field(std::size_t group) { return "groups[" + std::to_string(group) + "]"; }
inline std::string flavor_field(std::size_t group, std::size_t at) {
  return group_field(group) + ".flavors[" + std::to_string(at) + "]";
}

inline constexpr std::string_view cohort_prefix = "cohort ";
inline constexpr std::string_view queue_prefix = "queue ";

}  // namespace detail

GANGSCHED_INLINE bool looked_at_before(std::string_view a, std::string_view b) noexcept {
  return std::pair{detail::fnv1a(a), a} < std::pair{detail::fnv1a(b), b};
}

GANGSCHED_INLINE result<configuration> configuration::make(const configuration_spec& from) {
  configuration made;
  if (auto numbered = made.number_names(from); !numbered) return std::move(numbered).error();
  if (auto grown = made.make_tree(from); !grown) return std::move(grown).error();
  for (const cohort_spec& one : from.cohorts) {
    if (auto added = made.add_node("cohort " + one.name, one.weight, one.groups, nullptr); !added)
      return std::move(added).error();
  }
  for (std::size_t node = from.cohorts.size(); node < made.first_queue_; ++node) {
    if (auto added = made.add_node({}, 1, {}, nullptr); !added) return std::move(added).error();
  }
  for (const queue_spec& one : from.queues) {
    queue_rules rules{one.strategy, one.preemption, one.fungibility, {}, {}, one.by_local_usage};
    if (auto added = made.add_node("queue " + one.name, one.weight, one.groups, &rules.groups); !added)
      return std::move(added).error();
    rules.group_of.assign(made.resources_.size(), none);
    for (std::uint32_t group = 0; group < rules.groups.size(); ++group)
      for (const resource_index resource : rules.groups[group].resources)
        if (rules.group_of[resource] == none) rules.group_of[resource] = group;
    made.rules_.push_back(std::move(rules));
  }
  made.first_quota_.push_back(static_cast<std::uint32_t>(made.quotas_.size()));
  return made;
}

GANGSCHED_INLINE result<void> configuration::number_names(const configuration_spec& from) {
  flavors_ = from.flavors;
  flavors_by_name_.resize(flavors_.size());
  std::iota(flavors_by_name_.begin(), flavors_by_name_.end(), flavor_index{0});
  const auto by_name = [&](flavor_index a, flavor_index b) { return flavors_[a].name < flavors_[b].name; };
  std::stable_sort(flavors_by_name_.begin(), flavors_by_name_.end(), by_name);
  for (std::size_t at = 0; at < flavors_.size(); ++at) {
    const std::string& name = flavors_[flavors_by_name_[at]].name;
    if (name.empty()) return error{errc::malformed, "flavor ", "name", "is empty"};
    if (at > 0 && flavors_[flavors_by_name_[at - 1]].name == name)
      return error{errc::duplicate, "flavor " + name, "name", "another flavor has it"};
  }
  const auto each_group = [&](const auto& visit) {
    for (const cohort_spec& one : from.cohorts)
      for (const resource_group& group : one.groups) visit(group);
    for (const queue_spec& one : from.queues)
      for (const resource_group& group : one.groups) visit(group);
  };
  each_group([&](const resource_group& group) {
    resources_.insert(resources_.end(), group.resources.begin(), group.resources.end());
  });
  std::sort(resources_.begin(), resources_.end(), looked_at_before);
  resources_.erase(std::unique(resources_.begin(), resources_.end()), resources_.end());
  for (const std::string& one : resources_) resource_hashes_.push_back(detail::fnv1a(one));

  fr_of_.assign(flavors_.size() * resources_.size(), none);
  each_group([&](const resource_group& group) {
    for (const flavor_quota& one : group.flavors) {
      const flavor_index flavor = find_flavor(one.flavor);
      if (flavor == none) continue;  // said where the group is added
      for (const std::string& resource : group.resources)
        fr_of_[std::size_t{flavor} * resources_.size() + find_resource(resource)] = 0;
    }
  });
  for (resource_index resource = 0; resource < resources_.size(); ++resource) {
    for (flavor_index flavor = 0; flavor < flavors_.size(); ++flavor) {
      fr_index& number = fr_of_[std::size_t{flavor} * resources_.size() + resource];
      if (number == none) continue;
      number = static_cast<fr_index>(fr_resource_.size());
      fr_resource_.push_back(resource);
      fr_flavor_.push_back(flavor);
    }
  }
  return {};
}

GANGSCHED_INLINE result<void> configuration::make_tree(const configuration_spec& from) {
  std::set<std::string_view> cohorts, queues;
  for (const cohort_spec& one : from.cohorts) {
    if (one.name.empty()) return error{errc::malformed, "cohort ", "name", "is empty"};
    if (!cohorts.insert(one.name).second)
      return error{errc::duplicate, "cohort " + one.name, "name", "another cohort has it"};
  }
  for (const queue_spec& one : from.queues) {
    if (one.name.empty()) return error{errc::malformed, "queue ", "name", "is empty"};
    if (!queues.insert(one.name).second)
      return error{errc::duplicate, "queue " + one.name, "name", "another queue has it"};
  }
  std::vector<std::string> names, parents;
  const auto add = [&](std::string_view prefix, std::string_view name, std::string_view cohort) {
    names.push_back(std::string{prefix}.append(name));
    parents.push_back(cohort.empty() ? std::string{} : std::string{detail::cohort_prefix}.append(cohort));
  };
  for (const cohort_spec& one : from.cohorts) add(detail::cohort_prefix, one.name, one.parent);
  const auto add_unsaid = [&](const std::string& cohort) {
    if (!cohort.empty() && cohorts.insert(cohort).second) add(detail::cohort_prefix, cohort, {});
  };
  for (const cohort_spec& one : from.cohorts) add_unsaid(one.parent);
  for (const queue_spec& one : from.queues) add_unsaid(one.cohort);
  first_queue_ = static_cast<queue_index>(names.size());
  for (const queue_spec& one : from.queues) add(detail::queue_prefix, one.name, one.cohort);

  std::vector<queue_link> links;
  for (std::size_t node = 0; node < names.size(); ++node) links.push_back({names[node], parents[node]});
  auto made = queue_tree::make(links);
  if (!made) {  // names are good: only a circle is left
    error why = std::move(made).error();
    why.object.erase(0, detail::queue_prefix.size());
    return error{why.code, std::move(why.object), "parent", "the cohorts above it lead back to it"};
  }
  tree_ = *std::move(made);
  for (queue_index node = 0; node < tree_.size(); ++node)
    if (tree_.depth(node) > max_depth)
      return error{errc::out_of_range, tree_.name(node), "parent",
                   "has more than " + std::to_string(max_depth) + " cohorts above it"};
  return {};
}

GANGSCHED_INLINE result<void> configuration::add_node(const std::string& object, double weight,
                                                      const std::vector<resource_group>& groups,
                                                      std::vector<flavor_choice>* numbered) {
  if (!(weight >= 0) || std::isinf(weight))
    return error{errc::out_of_range, object, "weight", "has to be a number from 0"};
  std::set<std::string_view> flavors;
  const std::size_t first = quotas_.size();
  for (std::size_t at = 0; at < groups.size(); ++at) {
    const resource_group& group = groups[at];
    flavor_choice choice;
    std::set<std::string_view> resources;
    for (const std::string& resource : group.resources) {
      if (resource.empty())
        return error{errc::malformed, object, detail::group_field(at) + ".resources", "has one without a name"};
      if (!resources.insert(resource).second)
        return error{errc::duplicate, object, detail::group_field(at) + ".resources", "names " + resource + " again"};
      choice.resources.push_back(find_resource(resource));
    }
    for (std::size_t f = 0; f < group.flavors.size(); ++f) {
      const flavor_quota& one = group.flavors[f];
      const auto wrong = [&](errc code, const std::string& below, std::string reason) {
        return error{code, object, detail::flavor_field(at, f) + below, std::move(reason)};
      };
      const flavor_index flavor = find_flavor(one.flavor);
      if (flavor == none) return wrong(errc::unknown, "", "there is no flavor " + one.flavor);
      if (!flavors.insert(one.flavor).second) return wrong(errc::duplicate, "", "names " + one.flavor + " again");
      if (one.quotas.size() != group.resources.size())
        return wrong(errc::malformed, ".quotas", "has to have one for each resource of the group");
      choice.flavors.push_back(flavor);
      for (std::size_t r = 0; r < one.quotas.size(); ++r) {
        const quota& amounts = one.quotas[r];
        if (amounts.nominal < 0 || amounts.borrowing_limit < 0 || amounts.lending_limit < 0)
          return wrong(errc::out_of_range, ".quotas[" + std::to_string(r) + "]", "has a negative amount");
        quotas_.push_back({find_fr(flavor, choice.resources[r]), amounts});
      }
    }
    if (numbered != nullptr) numbered->push_back(std::move(choice));
  }
  std::sort(quotas_.begin() + static_cast<std::ptrdiff_t>(first), quotas_.end(),
            [](const own_quota& a, const own_quota& b) { return a.of < b.of; });
  first_quota_.push_back(static_cast<std::uint32_t>(first));
  weight_.push_back(weight);
  return {};
}

GANGSCHED_INLINE std::optional<queue_index> configuration::find_queue(std::string_view name) const {
  return tree_.find(std::string{detail::queue_prefix}.append(name));
}

GANGSCHED_INLINE std::optional<queue_index> configuration::find_cohort(std::string_view name) const {
  return tree_.find(std::string{detail::cohort_prefix}.append(name));
}

GANGSCHED_INLINE std::string_view configuration::name(queue_index node) const {
  return std::string_view{tree_.name(node)}.substr(
      (is_queue(node) ? detail::queue_prefix : detail::cohort_prefix).size());
}

GANGSCHED_INLINE resource_index configuration::find_resource(std::string_view name) const noexcept {
  const std::uint64_t hash = detail::fnv1a(name);
  const auto first = std::lower_bound(resource_hashes_.begin(), resource_hashes_.end(), hash);
  for (auto at = first; at != resource_hashes_.end() && *at == hash; ++at) {
    const auto found = static_cast<resource_index>(at - resource_hashes_.begin());
    if (resources_[found] == name) return found;
  }
  return none;
}

GANGSCHED_INLINE flavor_index configuration::find_flavor(std::string_view name) const noexcept {
  const auto at =
      std::lower_bound(flavors_by_name_.begin(), flavors_by_name_.end(), name,
                       [&](flavor_index of, std::string_view wanted) { return flavors_[of].name < wanted; });
  return at != flavors_by_name_.end() && flavors_[*at].name == name ? *at : none;
}

}  // namespace gangsched::inline GANGSCHED_ABI::queues::kueue
