#pragma once
#include <algorithm>
#include <utility>
#include <vector>

#include "gangsched/engine/domain_index.hpp"
#include "gangsched/engine/hook_errors.hpp"
#include "gangsched/framework/plugin_entry.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

/// The combined result of placement_feasible hooks for a group so far: success, wait for more members, or neither.
[[nodiscard]] inline status feasible(const model::cluster_state& state, const kernel_table& profile, row_t group,
                                     const group_progress& progress, hook_errors& errors) {
  // Without a plugin for this point one member is enough.
  status said = progress.scheduled > 0 ? status::success() : status::wait();
  for (const plugin_entry& plugin : profile.hooks(point::placement_feasible)) {
    said = plugin.placement_feasible(plugin.self.get(), group_view{state, group}, progress);
    if (said.code == code::skip || said.code == code::pending)
      said = status::error("a placement_feasible hook neither accepts, waits nor rejects");
    if (!said.ok()) return errors.note(plugin.name, said);
  }
  return said;
}

/// How far the members of a group of pods have come, in all and by role.
class member_progress {
 public:
  /// O(members) if the gang has minimums by role.
  member_progress(const model::cluster_state& state, row_t group, std::span<const row_t> members) : state_(&state) {
    const model::group_table& groups = state.groups;
    all_ = {groups.assumed[group] + groups.bound[group], static_cast<std::uint32_t>(members.size()), {}};
    const gang* policy = std::get_if<gang>(&groups.record[group]->spec.policy);
    if (policy == nullptr || policy->roles.empty()) return;
    for (const role_minimum& one : policy->roles)
      roles_.push_back({one.role, static_cast<std::uint32_t>(one.min_count), 0, 0});
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
    if (placed)
      ++all_.scheduled;
    else
      failed_ = true;
    if (roles_.empty()) return;
    role_progress* const role = role_of(pod);
    if (role == nullptr) return;
    --role->remaining;
    if (placed) ++role->scheduled;
  }

 private:
  role_progress* role_of(row_t pod) {
    for (role_progress& one : roles_)
      if (one.role == state_->pods.record[pod]->details->role) return &one;
    return nullptr;
  }
  const model::cluster_state* state_;
  group_progress all_;
  std::vector<role_progress> roles_;
  bool failed_ = false;
};

/// At most so many members of a group in each domain of a label.
class spread_limit {
 public:
  spread_limit(const model::cluster_state& state, const domain_index& domains, row_t group, std::int32_t most)
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

}  // namespace gangsched::inline GANGSCHED_ABI::engine
