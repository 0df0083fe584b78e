#include "gangsched/engine/placement_candidates.hpp"

#include <algorithm>
#include <iterator>
#include <limits>

#include "gangsched/model/cluster_checks.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

namespace detail {

/// The sums of a domain, as placement scores see them.
class domain_sums final : public placement_sums {
 public:
  domain_sums(const domain_index* domains, domain_id domain) noexcept : domains_(domains), domain_(domain) {}
  [[nodiscard]] std::int64_t allocatable(resource_kind kind) const override {
    return domains_->allocatable(domain_, kind);
  }
  [[nodiscard]] std::int64_t used(resource_kind kind) const override { return domains_->used(domain_, kind); }

 private:
  const domain_index* domains_;
  domain_id domain_;
};

}  // namespace detail

GANGSCHED_INLINE void placement_candidates::expand(const placement& one, std::vector<placement>& out) {
  if (one.each_of.empty()) return out.push_back(one);
  const domain_index& domains = domains_.of(one.each_of);
  for (domain_id domain = 0; domain < domains.size(); ++domain) {
    if (!one.only.empty() && one.only != domains.name(domain)) continue;
    placement& made = out.emplace_back(placement{.name = std::string{domains.name(domain)}, .tier = one.tier});
    for (const row_t row : domains.rows(domain)) made.nodes.push_back({row, state_->nodes.rows.generation(row)});
  }
}

GANGSCHED_INLINE std::vector<placement> placement_candidates::placements(const group_part& what, status& said) {
  const group_view group{*state_, what.group};
  std::vector<placement> all;
  if (what.is_slice()) {
    all.push_back({.each_of = group.spec().topology.slices[what.layer - 1].key, .only = what.only_in});
    return all;
  }
  all.push_back({.all = true});
  for (const plugin_entry& plugin : entities_->profile_of_group(what.group).hooks(point::generate_placements)) {
    std::vector<placement> mine;
    said = plugin.generate_placements(plugin.self.get(), group, cluster_view{*state_}, [&](placement made) {
      std::sort(made.nodes.begin(), made.nodes.end());
      mine.push_back(std::move(made));
    });
    if (said.code == code::skip) {
      said = {};
      continue;
    }
    // (What the hook says of the group is the group's error, and this is the hook's.)
    if (said.code == code::wait)
      said = picks_->errors.note(plugin.name, status::error("a generate_placements hook neither accepts nor rejects"));
    if (!said.ok()) return {};
    if (all.size() == 1 && all[0].all) {
      all = std::move(mine);
      continue;
    }
    std::vector<placement> before, now, both;
    for (const placement& one : all) expand(one, before);
    for (const placement& one : mine) expand(one, now);
    for (const placement& a : before) {
      for (const placement& b : now) {
        placement cut{.name = a.all || b.all ? a.name + b.name : a.name + "/" + b.name,
                      .all = a.all && b.all,
                      .tier = a.tier + b.tier};
        if (a.all)
          cut.nodes = b.nodes;
        else if (b.all)
          cut.nodes = a.nodes;
        else
          std::set_intersection(a.nodes.begin(), a.nodes.end(), b.nodes.begin(), b.nodes.end(),
                                std::back_inserter(cut.nodes));
        if (cut.all || !cut.nodes.empty()) both.push_back(std::move(cut));
      }
    }
    all = std::move(both);
  }
  return all;
}

GANGSCHED_INLINE const std::vector<row_t>* placement_candidates::beside_others(row_t group,
                                                                               const std::vector<row_t>* within,
                                                                               std::vector<row_t>& out) {
  for (const group_affinity& one : state_->groups.record[group]->spec.affinity) {
    if (!gangsched::detail::names_group(*state_, one.to)) continue;
    const domain_index& domains = domains_.of(one.key);
    std::vector<std::uint8_t> theirs(domains.size(), 0);
    bool anywhere = false;
    entities_->each_member(one.to.row, [&](row_t pod) {
      const row_t node = state_->pods.node[pod];
      const domain_id domain = node == no_row ? no_domain : domains.of(node);
      if (domain != no_domain) theirs[domain] = 1, anywhere = true;
    });
    if (!anywhere) continue;
    std::vector<row_t> left;
    const auto look = [&](row_t row) {
      const domain_id domain = domains.of(row);
      const bool same = domain != no_domain && theirs[domain] != 0;
      if (same != one.apart) left.push_back(row);
    };
    if (within != nullptr) {
      for (const row_t row : *within) look(row);
    } else {
      for (row_t row = 0; row < state_->nodes.rows.count(); ++row) {
        if (state_->nodes.alive(row)) look(row);
      }
    }
    out = std::move(left);
    within = &out;
  }
  return within;
}

GANGSCHED_INLINE std::vector<row_t> placement_candidates::rows_of(const placement_candidate& one,
                                                                  const std::vector<row_t>* within) {
  std::vector<row_t> rows;
  if (one.from->all) {
    rows = *within;
  } else if (one.domains != nullptr) {
    const std::span<const row_t> all = one.domains->rows(one.domain);
    rows.assign(all.begin(), all.end());
  } else {
    for (const node_id node : one.from->nodes) rows.push_back(node.row);
  }
  if (one.whole || within == nullptr || one.from->all) return rows;
  std::vector<row_t> both;
  std::set_intersection(rows.begin(), rows.end(), within->begin(), within->end(), std::back_inserter(both));
  return both;
}

GANGSCHED_INLINE candidate_list placement_candidates::of(const group_part& what, const std::vector<placement>& where,
                                                         const std::vector<row_t>* within) {
  candidate_list made;
  const std::vector<row_t> members = what.all_members();
  made.classes = parts_->count_classes(members);
  made.members = members.size();
  const domain_index* counted = nullptr;
  std::vector<std::uint32_t> inside;  // of the domains of one label: nodes within
  for (const placement& one : where) {
    if (one.each_of.empty()) {
      made.all.push_back({.from = &one, .whole = within == nullptr, .tier = one.tier});
      continue;
    }
    domain_index& domains = domains_.of(one.each_of);
    if (within != nullptr && counted != &domains) {
      counted = &domains;
      inside.assign(domains.size(), 0);
      for (const row_t row : *within) {
        if (const domain_id domain = domains.of(row); domain != no_domain) ++inside[domain];
      }
    }
    made.all.reserve(made.all.size() + domains.size());
    for (domain_id domain = 0; domain < domains.size(); ++domain) {
      if (!one.only.empty() && one.only != domains.name(domain)) continue;
      if (within != nullptr && inside[domain] == 0) continue;
      const bool whole = within == nullptr || inside[domain] == domains.rows(domain).size();
      made.all.push_back({.from = &one, .domains = &domains, .domain = domain, .whole = whole, .tier = one.tier});
    }
  }
  if (made.all.size() == 1 && made.all[0].from->all) {
    made.all[0].room = made.members;  // there is nothing to choose from
    return made;
  }
  for (const auto& [cls, count] : made.classes) {
    class_index* const index = picks_->capacity_index(cls);
    std::span<const std::int64_t> sums;
    const domain_index* summed = nullptr;
    for (placement_candidate& one : made.all) {
      std::int64_t room = 0;
      if (index == nullptr || (one.from->all && one.whole)) {
        room = count;  // not to be told from nodes alone
      } else if (one.domains != nullptr && one.whole) {
        if (summed != one.domains) summed = one.domains, sums = index->capacities(*summed);
        room = sums[one.domain];
      } else {
        const std::vector<row_t> rows = rows_of(one, within);
        for (std::size_t i = 0; i < rows.size() && room < count; ++i) room += index->capacity(rows[i]);
      }
      one.room += static_cast<std::uint64_t>(std::min<std::int64_t>(room, count));
    }
  }
  return made;
}

GANGSCHED_INLINE void placement_candidates::bound_scores(const group_part& what, candidate_list& list,
                                                         const std::vector<row_t>* within, std::uint64_t least) {
  const group_view group{*state_, what.group};
  std::vector<placement_demand::part> parts;
  std::vector<bound_memory::class_count> classes;
  for (const auto& [cls, count] : list.classes) {
    parts.push_back({&state_->classes[cls], static_cast<std::uint32_t>(count)});
    classes.push_back({cls, state_->classes.generation(cls), parts.back().count});
  }
  // (Domains are summed up without held room: for pods that may use it the sums are too small.)
  const bool owners = std::any_of(parts.begin(), parts.end(), [&](const auto& one) {
    return one.cls->held_room || state_->reserved.concerns(*one.cls);
  });
  const kernel_table& profile = entities_->profile_of_group(what.group);
  list.set_scorers(profile.hooks(point::score_placement));
  const std::size_t scorers = list.scorers.size();
  const std::uint32_t scheduled = group.assumed() + group.bound();
  const auto ask = [&](const placement_candidate& one, const placement_view& where, std::int64_t* bounds) {
    const placement_demand demand{scheduled, static_cast<std::uint32_t>(one.room), parts};
    for (std::size_t s = 0; s < scorers; ++s) {
      const plugin_entry& plugin = list.scorers[s];
      if (plugin.placement_bound != nullptr && !owners)
        bounds[s] = plugin.placement_bound(plugin.self.get(), where, demand);
      else
        bounds[s] = plugin.relative_placement_score ? std::numeric_limits<std::int64_t>::max() : max_node_score;
    }
  };
  const domain_index* kept = nullptr;
  bound_memory::shelf* shelf = nullptr;
  for (std::size_t i = 0; i < list.all.size(); ++i) {
    const placement_candidate& one = list.all[i];
    if (one.room < least) continue;
    std::int64_t* const bounds = list.bound.data() + i * scorers;
    if (one.domains == nullptr || !one.whole) {
      const bool everywhere = one.from->all && one.whole;
      const std::vector<row_t> rows = everywhere ? std::vector<row_t>{} : rows_of(one, within);
      ask(one, everywhere ? placement_view{*state_, one.name()} : placement_view{*state_, one.name(), rows}, bounds);
      continue;
    }
    if (kept != one.domains) kept = one.domains, shelf = &bounds_.find(profile, *kept, scorers, scheduled, classes);
    bool fresh = false;
    std::int64_t* const known = shelf->bounds(one.domain, one.room, fresh);
    if (!fresh) {
      const detail::domain_sums sums{one.domains, one.domain};
      ask(one, placement_view{*state_, one.name(), kept->rows(one.domain), &sums}, known);
    }
    for (std::size_t s = 0; s < scorers; ++s) bounds[s] = known[s];
  }
}

GANGSCHED_INLINE void placement_candidates::score(const group_part& what, candidate_list& list, std::size_t which,
                                                  const std::vector<row_t>* rows, const placed_members& placed,
                                                  std::size_t from) {
  placement_candidate& one = list.all[which];
  const std::vector<assignment> assigned = placed.assignments(from);
  if (one.domains != nullptr) one.domains->sync();
  const detail::domain_sums sums{one.domains, one.domain};
  const bool summed = one.domains != nullptr && one.whole;
  const placement_view where = rows == nullptr ? placement_view{*state_, one.name()}
                                               : placement_view{*state_, one.name(), *rows, summed ? &sums : nullptr};
  std::vector<std::int64_t> raw;
  for (std::size_t s = 0; s < list.scorers.size(); ++s) {
    const plugin_entry& plugin = list.scorers[s];
    raw.push_back(plugin.score_placement(plugin.self.get(), group_view{*state_, what.group}, where, assigned));
  }
  list.note(which, raw);
}

}  // namespace gangsched::inline GANGSCHED_ABI::engine
