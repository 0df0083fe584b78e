#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "gangsched/core/config.hpp"
#include "gangsched/queues/queue_tree.hpp"
#include "gangsched/queues/yunikorn/resources.hpp"

namespace gangsched::inline GANGSCHED_ABI::queues::yunikorn {

/// What users or groups may have of a queue; "*" is every user or group without a limit of its own there.
struct user_limit {
  std::vector<std::string> users = {};
  std::vector<std::string> groups = {};
  resources max = {};                  ///< none, or all 0: no bound
  std::uint32_t max_applications = 0;  ///< 0: no bound
};

/// The user and the group, if any, that an application is charged to.
struct application_owner {
  std::uint32_t user = 0;
  std::optional<std::uint32_t> group = {};
};

/// What users and groups use of every queue on the way up, and their limits.
class GANGSCHED_API user_limits {
 public:
  user_limits() = default;
  /// @p limits by queue, in the order of the configuration: of two for the same name the last one counts.
  user_limits(const queue_tree& tree, std::span<const std::vector<user_limit>> limits);

  /// The user and group to charge an application of that leaf to. The group is the first one configured at the leaf that the user is in, or
  /// "*" there, or the same at the next queue up; it counts on all levels. Counters for them are kept, so that charging takes no memory.
  /// To be given back by leave(). O(depth · (groups + log n)).
  application_owner owner(const queue_tree& tree, queue_index leaf, const std::string& user,
                          std::span<const std::string> groups);
  /// The application has gone, with all that it had: a user without other applications and limits is forgotten. O(depth · log n).
  void leave(const queue_tree& tree, queue_index leaf, const application_owner& of, const std::string& user) noexcept;
  /// Users that have applications, or limits.
  [[nodiscard]] std::size_t users() const noexcept { return users_.all.size(); }

  /// What the owner may still use, over the way up: of the user's limit, or that of "*", and of the group's. O(depth · log n).
  [[nodiscard]] resources room(const queue_tree& tree, queue_index leaf, const application_owner& of) const;
  /// Whether the owner may run one more application on every level. O(depth · log n).
  [[nodiscard]] bool can_run(const queue_tree& tree, queue_index leaf, const application_owner& of) const;

  // Changes of the owner's use, on every level.

  void charge(const queue_tree& tree, queue_index leaf, const application_owner& of, const resources& amount);
  void discharge(const queue_tree& tree, queue_index leaf, const application_owner& of, const resources& amount);
  void add_application(const queue_tree& tree, queue_index leaf, const application_owner& of);
  void remove_application(const queue_tree& tree, queue_index leaf, const application_owner& of);

 private:
  struct bound {
    resources max;
    std::uint32_t max_applications = 0;
  };
  struct tracker {
    resources used;
    std::uint32_t applications = 0;
    std::size_t owners = 0;  ///< applications that have not left
  };
  struct known_name {
    std::uint32_t number = 0;
    std::size_t users = 0;  ///< applications that have not left, and limits
  };
  struct known_names {
    std::map<std::string, known_name> all = {};
    std::vector<std::uint32_t> free = {};  ///< numbers that no name has
  };
  using key = std::pair<std::uint32_t, queue_index>;  ///< the user or group, and the queue
  static constexpr std::uint32_t everybody = 0;

  /// Its number, had by one more.
  static std::uint32_t number_of(const std::string& name, known_names& names);
  /// The user has one application less; counters that no application is charged to are removed.
  void forget(const queue_tree& tree, queue_index leaf, const application_owner& of, const std::string& user) noexcept;
  /// Calls visit(key, limit or null, trackers) for user and group on every level.
  template <class Self, class Visit>
  static void each_level(Self& self, const queue_tree& tree, queue_index leaf, const application_owner& of,
                         Visit visit);

  known_names users_, groups_;  ///< from 1; "*" is 0
  std::map<key, bound> user_bounds_, group_bounds_;
  std::map<key, tracker> of_users_, of_groups_;
  std::vector<std::vector<std::uint32_t>> configured_;  ///< by queue: its groups in order
};

}  // namespace gangsched::inline GANGSCHED_ABI::queues::yunikorn

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/queues/yunikorn/user_limits.cpp"
#endif
