#pragma once
#include <algorithm>
#include <utility>
#include <vector>

#include "gangsched/engine/core.hpp"

namespace gangsched::engine {

/// The sums of a domain, as placement scores see them.
class domain_sums final : public placement_sums {
 public:
  template <class Candidate>
  explicit domain_sums(const Candidate& one) noexcept : domains_(one.domains), domain_(one.domain), name_(one.from->name) {
    if (domains_ != nullptr) name_ = domains_->name(domain_);
  }
  [[nodiscard]] std::string_view name() const noexcept { return name_; }
  [[nodiscard]] std::int64_t allocatable(resource_kind kind) const override { return domains_->allocatable(domain_, kind); }
  [[nodiscard]] std::int64_t used(resource_kind kind) const override { return domains_->used(domain_, kind); }

 private:
  const domain_index* domains_;
  domain_id domain_;
  std::string_view name_;
};

/// How far the members of a group of pods have come, in all and by role.
class member_progress {
 public:
  /// O(members) if the gang has minimums by role.
  member_progress(const cluster_state& state, row_t group, std::span<const row_t> members) : state_(&state) {
    const group_table& groups = state.groups;
    all_ = {groups.assumed[group] + groups.bound[group], static_cast<std::uint32_t>(members.size()), {}};
    const gang* policy = std::get_if<gang>(&groups.record[group]->spec.policy);
    if (policy == nullptr || policy->roles.empty()) return;
    for (const role_minimum& one : policy->roles) roles_.push_back({one.role, static_cast<std::uint32_t>(one.min_count), 0, 0});
    for (row_t pod = groups.first[group]; pod != no_row; pod = state.pods.next_in_group[pod]) {
      role_progress* const role = state.pods.node[pod] == no_row ? nullptr : role_of(pod);
      if (role != nullptr) ++role->scheduled;
    }
    for (const row_t pod : members) {
      if (role_progress* const role = role_of(pod)) ++role->remaining;
    }
  }
  [[nodiscard]] group_progress now() const noexcept { return {all_.scheduled, all_.remaining, roles_}; }
  [[nodiscard]] bool failed() const noexcept { return failed_; }
  void count(row_t pod, bool placed) {
    --all_.remaining;
    if (placed) ++all_.scheduled;
    else failed_ = true;
    if (roles_.empty()) return;
    role_progress* const role = role_of(pod);
    if (role == nullptr) return;
    --role->remaining;
    if (placed) ++role->scheduled;
  }

 private:
  role_progress* role_of(row_t pod) {
    for (role_progress& one : roles_)
      if (one.role == state_->pods.record[pod]->role) return &one;
    return nullptr;
  }
  const cluster_state* state_;
  group_progress all_;
  std::vector<role_progress> roles_;
  bool failed_ = false;
};

/// At most so many members of a group in each domain of a label.
class spread_limit {
 public:
  spread_limit(const cluster_state& state, const domain_index& domains, row_t group, std::int32_t most)
      : domains_(&domains), most_(most), count_(domains.size(), 0) {
    for (row_t pod = state.groups.first[group]; pod != no_row; pod = state.pods.next_in_group[pod]) {
      if (state.pods.node[pod] != no_row) add(state.pods.node[pod]);
    }
  }
  void add(row_t node) {
    const domain_id domain = domains_->of(node);
    if (domain != no_domain && ++count_[domain] == most_) stale_ = true;
  }
  /// Those of the nodes @p within (all, if null) whose domains have room left. O(nodes) when a domain has become full.
  const std::vector<row_t>& open(const std::vector<row_t>* within) {
    if (!std::exchange(stale_, false)) return open_;
    open_.clear();
    const auto look = [&](row_t row) {
      const domain_id domain = domains_->of(row);
      if (domain != no_domain && count_[domain] < most_) open_.push_back(row);
    };
    if (within != nullptr) {
      for (const row_t row : *within) look(row);
    } else {
      for (domain_id domain = 0; domain < domains_->size(); ++domain) {
        for (const row_t row : domains_->rows(domain)) look(row);
      }
      std::sort(open_.begin(), open_.end());
    }
    return open_;
  }

 private:
  const domain_index* domains_;
  std::int32_t most_;
  std::vector<std::int32_t> count_;
  std::vector<row_t> open_;
  bool stale_ = true;
};

/// The placements of one part, and the scores of those that were tried.
///
/// A scorer's word is either a score in [0, 100] or relative to the best. `bound` and `raw` hold one number per candidate and scorer.
/// The search tries the candidate with the highest bound until no other can win: bounds never lie below scores, and a relative score
/// is bounded only while nobody untried may have more than the most seen.
struct core::candidate_list {
  std::vector<candidate> all;
  class_counts classes;  ///< of the members
  std::uint64_t members = 0;
  hook_range scorers{nullptr, {}};
  std::vector<std::int64_t> bound, raw;
  std::vector<std::int64_t> most;  ///< by relative scorer: the highest raw score seen
  struct rule {
    std::int64_t weight;
    bool relative;
  };
  std::vector<rule> rules;  ///< of each scorer, side by side

  void set_scorers(hook_range hooks) {
    scorers = hooks;
    for (const plugin_entry& one : hooks) rules.push_back({one.weight, one.relative_placement_score});
    bound.assign(all.size() * hooks.size(), 0);
    raw.assign(all.size() * hooks.size(), 0);
    most.assign(hooks.size(), 0);
  }
  void note(std::size_t which, const std::vector<std::int64_t>& scores) {
    for (std::size_t s = 0; s < scorers.size(); ++s) {
      raw[which * scorers.size() + s] = scores[s];
      most[s] = std::max(most[s], scores[s]);
    }
  }
  /// The weighted sum of one candidate's numbers. False in @p known if it may still turn out higher than anything that was seen.
  [[nodiscard]] std::int64_t total(const std::vector<std::int64_t>& of, std::size_t which, bool& known) const {
    std::int64_t sum = 0;
    const std::int64_t* number = of.data() + which * rules.size();
    const std::int64_t* highest = most.data();
    for (const rule& one : rules) {
      const std::int64_t mine = *number++;
      const std::int64_t top = *highest++;
      if (!one.relative) {
        sum += one.weight * mine;
      } else if (mine > top) {
        known = false;
        sum += one.weight * max_node_score;
      } else if (top != 0) {
        sum += one.weight * (mine == top ? max_node_score : max_node_score * mine / top);
      }
    }
    return sum;
  }
};

}  // namespace gangsched::engine
