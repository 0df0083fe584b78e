#include "gangsched/queues/yunikorn/user_limits.hpp"

#include <algorithm>

namespace gangsched::inline GANGSCHED_ABI::queues::yunikorn {

GANGSCHED_INLINE std::uint32_t user_limits::number_of(const std::string& name, known_names& names) {
  if (name == "*") return everybody;
  const std::size_t numbers = names.all.size() + names.free.size();
  if (names.free.capacity() <= numbers) names.free.reserve(2 * numbers + 8);  // so that forget() needs no memory
  const auto [found, made] = names.all.try_emplace(name);
  known_name& one = found->second;
  if (made && names.free.empty()) {
    one.number = static_cast<std::uint32_t>(names.all.size());
  } else if (made) {
    one.number = names.free.back();
    names.free.pop_back();
  }
  ++one.users;
  return one.number;
}

GANGSCHED_INLINE user_limits::user_limits(const queue_tree& tree, std::span<const std::vector<user_limit>> limits)
    : configured_(tree.size()) {
  for (queue_index queue = 0; queue < tree.size() && queue < limits.size(); ++queue)
    for (const user_limit& limit : limits[queue]) {
      const bound made{limit.max, limit.max_applications};
      for (const std::string& user : limit.users) user_bounds_[{number_of(user, users_), queue}] = made;
      for (const std::string& group : limit.groups) {
        const std::uint32_t number = number_of(group, groups_);
        group_bounds_[{number, queue}] = made;
        if (number != everybody) configured_[queue].push_back(number);
      }
    }
}

template <class Self, class Visit>
GANGSCHED_INLINE void user_limits::each_level(Self& self, const queue_tree& tree, queue_index leaf,
                                              const application_owner& of, Visit visit) {
  const auto find = [](const auto& bounds, key at) {
    const auto found = bounds.find(at);
    return found == bounds.end() ? nullptr : &found->second;
  };
  for (queue_index queue = leaf; queue != no_queue; queue = tree.parent(queue)) {
    const bound* own = find(self.user_bounds_, {of.user, queue});
    visit(key{of.user, queue}, own != nullptr ? own : find(self.user_bounds_, {everybody, queue}), self.of_users_);
    if (of.group) visit(key{*of.group, queue}, find(self.group_bounds_, {*of.group, queue}), self.of_groups_);
  }
}

GANGSCHED_INLINE application_owner user_limits::owner(const queue_tree& tree, queue_index leaf, const std::string& user,
                                                      std::span<const std::string> groups) {
  struct guard {
    ~guard() {
      if (!is_done) on->forget(tree, leaf, made, user);
    }
    user_limits* on;
    const queue_tree& tree;
    queue_index leaf;
    const std::string& user;
    application_owner made;
    bool is_done = false;
  } undo{this, tree, leaf, user, {number_of(user, users_)}};
  application_owner& made = undo.made;
  std::vector<std::uint32_t> in;
  for (const std::string& group : groups)
    if (const auto known = groups_.all.find(group); known != groups_.all.end()) in.push_back(known->second.number);
  for (queue_index queue = leaf; queue != no_queue && !groups.empty(); queue = tree.parent(queue)) {
    const auto first = std::find_first_of(configured_[queue].begin(), configured_[queue].end(), in.begin(), in.end());
    if (first != configured_[queue].end()) {
      made.group = *first;
    } else if (group_bounds_.contains({everybody, queue})) {
      made.group = everybody;
    } else {
      continue;
    }
    break;
  }
  each_level(*this, tree, leaf, made, [](key at, const bound*, std::map<key, tracker>& trackers) { trackers[at]; });
  each_level(*this, tree, leaf, made,
             [](key at, const bound*, std::map<key, tracker>& trackers) { ++trackers.find(at)->second.owners; });
  undo.is_done = true;
  return made;
}

GANGSCHED_INLINE void user_limits::forget(const queue_tree& tree, queue_index leaf, const application_owner& of,
                                          const std::string& user) noexcept {
  each_level(*this, tree, leaf, of, [](key at, const bound*, std::map<key, tracker>& trackers) {
    const auto found = trackers.find(at);
    if (found != trackers.end() && found->second.owners == 0) trackers.erase(found);
  });
  const auto known = users_.all.find(user);
  if (known == users_.all.end() || --known->second.users != 0) return;
  users_.free.push_back(known->second.number);
  users_.all.erase(known);
}

GANGSCHED_INLINE void user_limits::leave(const queue_tree& tree, queue_index leaf, const application_owner& of,
                                         const std::string& user) noexcept {
  each_level(*this, tree, leaf, of, [](key at, const bound*, std::map<key, tracker>& trackers) {
    if (const auto found = trackers.find(at); found != trackers.end()) --found->second.owners;
  });
  forget(tree, leaf, of, user);
}

GANGSCHED_INLINE resources user_limits::room(const queue_tree& tree, queue_index leaf,
                                             const application_owner& of) const {
  resources made;
  each_level(*this, tree, leaf, of, [&](key at, const bound* limit, const std::map<key, tracker>& trackers) {
    if (limit == nullptr || is_zero(limit->max)) return;
    const auto found = trackers.find(at);
    made = least(made, found == trackers.end() ? limit->max : minus_where_set(limit->max, found->second.used));
  });
  return made;
}

GANGSCHED_INLINE bool user_limits::can_run(const queue_tree& tree, queue_index leaf,
                                           const application_owner& of) const {
  bool may = true;
  each_level(*this, tree, leaf, of, [&](key at, const bound* limit, const std::map<key, tracker>& trackers) {
    if (limit == nullptr || limit->max_applications == 0) return;
    const auto found = trackers.find(at);
    may = may && (found == trackers.end() ? 0 : found->second.applications) < limit->max_applications;
  });
  return may;
}

GANGSCHED_INLINE void user_limits::charge(const queue_tree& tree, queue_index leaf, const application_owner& of,
                                          const resources& amount) {
  each_level(*this, tree, leaf, of,
             [&](key at, const bound*, std::map<key, tracker>& trackers) { trackers[at].used += amount; });
}
GANGSCHED_INLINE void user_limits::discharge(const queue_tree& tree, queue_index leaf, const application_owner& of,
                                             const resources& amount) {
  each_level(*this, tree, leaf, of,
             [&](key at, const bound*, std::map<key, tracker>& trackers) { trackers[at].used -= amount; });
}
GANGSCHED_INLINE void user_limits::add_application(const queue_tree& tree, queue_index leaf,
                                                   const application_owner& of) {
  each_level(*this, tree, leaf, of,
             [&](key at, const bound*, std::map<key, tracker>& trackers) { ++trackers[at].applications; });
}
GANGSCHED_INLINE void user_limits::remove_application(const queue_tree& tree, queue_index leaf,
                                                      const application_owner& of) {
  each_level(*this, tree, leaf, of,
             [&](key at, const bound*, std::map<key, tracker>& trackers) { --trackers[at].applications; });
}

}  // namespace gangsched::inline GANGSCHED_ABI::queues::yunikorn
