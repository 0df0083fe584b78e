#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gangsched/core/config.hpp"
#include "gangsched/core/result.hpp"
#include "gangsched/queues/hived/cell_binding.hpp"
#include "gangsched/queues/hived/journal.hpp"
#include "gangsched/queues/hived/node_search.hpp"

namespace gangsched::inline GANGSCHED_ABI::queues::hived {

/// Pods of a group that need equally many devices, each on one node.
struct member {
  std::uint32_t pods = 1;
  std::uint32_t devices = 1;
};

/// Pods that are placed together or not at all.
struct group_request {
  std::string name = {};
  std::string cluster = {};
  std::int32_t priority = opportunistic;  ///< or 0 to 1000: guaranteed
  std::vector<member> members = {};
  std::string device_type = {};  ///< empty: any, in the order of the configuration
  std::string pin = {};          ///< of the virtual cluster, or empty
  bool lazy_preemption = true;   ///< a preemptor makes it opportunistic first, before it is evicted
  std::optional<std::vector<std::string>> nodes = std::nullopt;  ///< the only ones that may be used, if set
};

struct pod_place {
  std::uint32_t member = 0;
  std::string node = {};
  std::vector<std::int32_t> devices = {};  ///< their numbers in the node

  friend bool operator==(const pod_place&, const pod_place&) = default;
};

/// What a group waits for.
struct shortage {
  obstacle why = obstacle::quota;
  std::string chain = {};      ///< the type of the top cells
  std::string cell_type = {};  ///< of the cells that are missing
  std::uint32_t level = 0;     ///< theirs; 0: devices
  std::uint32_t count = 0;     ///< how many
  std::string node = {};       ///< one that it would have to use, if it is that
};

enum class group_state : unsigned char {
  allocated,   ///< it has its devices
  preempting,  ///< its devices are held for it until the groups on them are removed
  waiting      ///< it has none, and is not stored
};

struct decision {
  group_state state = group_state::waiting;
  std::vector<pod_place> pods = {};                ///< unless it waits: by member
  std::vector<std::string> victims = {};           ///< groups to evict, all of them
  std::vector<std::string> cancelled = {};         ///< groups whose preemption is cancelled, and that wait again
  std::vector<std::string> downgraded = {};        ///< groups that become opportunistic where they are
  std::optional<shortage> missing = std::nullopt;  ///< if it waits: in the last chain that was searched
};

/// Where a pod's device was before a restart.
struct known_device {
  std::string node = {};
  std::int32_t number = 0;
  std::string root_type = {};  ///< of the virtual cluster's cell that it was in; empty: none
};

struct group_status {
  group_state state = group_state::waiting;
  std::int32_t priority = opportunistic;
  bool guaranteed = false;  ///< it is in its virtual cluster; otherwise opportunistic, or downgraded
  std::vector<pod_place> pods = {};
};

enum class start_outcome : unsigned char { started, must_wait, cancelled };

/// Virtual clusters on physical cells, for a host that reports which groups come and go and which nodes are bad. A group of one virtual
/// cluster is placed exactly when it would be in a cluster of that virtual cluster's cells alone, as long as no node is bad; opportunistic
/// groups use what is free until a guaranteed group needs it. A call that fails changes nothing, also if memory runs out.
class GANGSCHED_API cell_scheduler {
 public:
  /// All nodes are healthy at first. Errors: those of `cell_layout::make` and `cell_binding::make`.
  static result<cell_scheduler> make(const configuration& from);
  /// With the same groups on the same devices. Not during a call. O(cells + devices of groups).
  cell_scheduler(const cell_scheduler& other);
  cell_scheduler(cell_scheduler&&) noexcept = default;
  cell_scheduler& operator=(const cell_scheduler&) = delete;
  cell_scheduler& operator=(cell_scheduler&&) noexcept = default;
  ~cell_scheduler() = default;

  /// Places a group, or returns what is missing. Errors name the group: `duplicate` (it is there), `unknown` (virtual cluster, pin, device
  /// type, also one that the virtual cluster has no cells of), `malformed` (no name or members, an opportunistic group with a pin),
  /// `out_of_range` (priority, a member without pods or devices, a pod larger than any cell of one node that it may be in).
  result<decision> place(const group_request& group);
  /// What `place` would return. Nothing changes.
  result<decision> look(const group_request& group);
  /// A group that has had its devices since before a restart; pods by member. A device that no longer exists is left out. If the group
  /// cannot be in its virtual cluster any more, it becomes opportunistic where it is; groups of lower priority in the cell that it needs
  /// become so instead. Errors: as `place`, and `malformed` (other numbers of pods or devices than its members have), `wrong_state` (a
  /// device that another group has). @return groups that became opportunistic, this one included.
  result<std::vector<std::string>> restore(const group_request& group, std::span<const std::vector<known_device>> pods);

  /// Gives a preempting group its devices, if the victims are gone; if one of its nodes is bad, or not among @p nodes, its preemption is
  /// cancelled. Errors: `unknown`, `wrong_state` (it is allocated).
  result<start_outcome> start(std::string_view group,
                              const std::optional<std::vector<std::string>>& nodes = std::nullopt);
  /// The group is gone, or does not want to preempt any more. Errors: `unknown`.
  result<void> remove(std::string_view group);
  /// The group continues without some of its devices on @p node. Errors: `unknown`, `wrong_state` (it is preempting), `malformed` (one of
  /// them is not its own).
  result<void> shrink(std::string_view group, std::string_view node, std::span<const std::int32_t> devices);
  /// Errors: `unknown`. O(devices of the node · levels + what changes).
  result<void> set_bad(std::string_view node, bool to);

  [[nodiscard]] std::optional<group_status> group(std::string_view name) const;
  [[nodiscard]] std::size_t groups() const noexcept { return names_.size(); }
  /// The group that is on a device or that it is held for; empty: none.
  [[nodiscard]] std::string_view user(cell_index device) const { return name_of(cells_.physical().user(device)); }
  [[nodiscard]] std::string_view heir(cell_index device) const { return name_of(cells_.physical().heir(device)); }
  [[nodiscard]] const cell_binding& cells() const noexcept { return cells_; }
  [[nodiscard]] const cell_layout& layout() const noexcept { return cells_.layout(); }

 private:
  struct pod_part {
    std::uint32_t member = 0;
    std::size_t first = 0, count = 0;  ///< of the group's devices
  };
  struct group_record {
    std::string name;
    std::uint32_t cluster = 0;
    std::int32_t priority = opportunistic;
    bool lazy = true;
    std::vector<pod_part> pods;  ///< by size
    std::vector<cell_index> devices, as;
    std::int32_t guaranteed = 0;  ///< changed through the journal; so is
    std::int32_t preempting = 0;
  };
  /// A request after it was checked.
  struct order {
    group_record group;
    std::vector<std::uint32_t> sizes;
    std::vector<std::uint32_t> chains;
    std::vector<const virtual_view*> views;  ///< of a guaranteed group; otherwise it has chains
    std::optional<std::vector<bool>> nodes;
    [[nodiscard]] node_choice choice() const { return nodes ? &*nodes : nullptr; }
  };

  explicit cell_scheduler(cell_binding cells) : cells_{std::move(cells)} {}
  [[nodiscard]] result<void> check_shape(const group_request& group) const;
  [[nodiscard]] result<order> check(const group_request& group) const;
  [[nodiscard]] static order make_order(const group_request& group);
  [[nodiscard]] std::vector<bool> choice(const std::vector<std::string>& nodes) const;
  result<decision> decide(const group_request& group, bool commit);
  bool find_guaranteed(order& by, decision& out, std::vector<std::int32_t>& downgraded);
  bool find_opportunistic(order& by, decision& out);
  void take(group_record& group, std::int32_t as, bool preempting);
  void downgrade(std::int32_t group);
  void cancel(std::int32_t group);
  void settle(const group_record& group);
  bool restore_guaranteed(const std::string& pin, group_record& group, std::span<const std::string* const> root_types,
                          std::vector<std::int32_t>& downgraded);
  [[nodiscard]] cell_index virtual_for(const virtual_view& view, cell_index device, const std::string& root_type,
                                       std::int32_t priority, std::vector<std::int32_t>& downgraded);
  [[nodiscard]] cell_index root_for(const virtual_view& view, std::uint32_t level, std::int32_t priority,
                                    std::vector<std::int32_t>& downgraded);
  [[nodiscard]] bool is_safe(std::uint32_t chain) const;
  [[nodiscard]] std::int32_t new_slot();
  void forget(std::int32_t group) noexcept;
  [[nodiscard]] std::vector<pod_place> places(const group_record& group) const;
  [[nodiscard]] group_record& at(std::int32_t group) { return *groups_[static_cast<std::size_t>(group)]; }
  [[nodiscard]] std::string_view name_of(std::int32_t group) const {
    return group == none ? std::string_view{} : groups_[static_cast<std::size_t>(group)]->name;
  }

  cell_binding cells_;
  journal log_;
  node_search search_;
  std::vector<std::unique_ptr<group_record>> groups_;  ///< by slot
  std::vector<std::int32_t> free_slots_;               ///< with room for all of them
  std::map<std::string, std::int32_t, std::less<>> names_;
};

}  // namespace gangsched::inline GANGSCHED_ABI::queues::hived

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/queues/hived/cell_restore.cpp"
#include "gangsched/src/queues/hived/cell_scheduler.cpp"
#endif
