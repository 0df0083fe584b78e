#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "support/reference.hpp"

namespace reference {

/// What a scheduler under test said, in plain words.
struct verdict {
  std::string kind;  ///< "bind", "wait", "revoke", "reject", "evict"
  pod_id pod;
  row_t node = no_row;
  std::int64_t score = 0;
  friend bool operator==(const verdict&, const verdict&) = default;
};

struct timing {
  instant initial_backoff, max_backoff, unschedulable_timeout;
  bool older_first = true;  ///< an older incomplete gang may take a younger one's holdings
  bool wake_all = true;     ///< whoever would fit is woken, not only the first of its kind
};

/// Follows a scheduler through a sequence of events and says the first thing it does that the rules do not allow.
///
/// What comes of an attempt is settled: kind, node and score of every decision, and how many picks were numbered. Who is attempted
/// when is settled too, but for one freedom: when a rejected entity is woken. So the referee demands
/// - the queue's order: nobody is attempted while another that must be active comes before (priority, time, arrival); somebody in
///   backoff is only attempted early when nobody must be active. Active must be whoever entered anew, what is left of a group of which
///   somebody was placed, whose backoff is over, who waited more than five minutes, and, unless one of a kind is woken after the
///   other, who was rejected but would fit now;
/// - at rest, when a loop over cycles has ended: nobody is left that would fit, but for those that wait out a backoff after an error or
///   after their room was taken back.
class referee {
 public:
  referee(options rules, const timing& times) : rules_(std::move(rules)), times_(times) {}

  // What the host did, once the library has accepted it.
  void put_node(node_id id, const node_spec& spec) { world_.put_node(id, spec); }
  void drop_node(node_id id);
  void put_pod(pod_id id, const pod_spec& spec);
  void remove_pod(pod_id id);
  void end_pod(pod_id id);
  void put_group(group_id id, const group_spec& spec);
  void remove_group(group_id id);
  void confirm(pod_id id);
  void allow(pod_id id);
  void reject(pod_id id);

  // What the scheduler did. The complaint, if there is one. `numbered` is how many picks it had numbered before.
  std::optional<std::string> cycle(instant now, const std::vector<verdict>& said, std::uint64_t numbered);
  std::optional<std::string> permit(instant now, const std::vector<verdict>& said);
  std::optional<std::string> fail(pod_id id, const std::vector<verdict>& said);
  /// The loop over cycles has ended.
  std::optional<std::string> at_rest(instant now);

  [[nodiscard]] const reference::world& world() const noexcept { return world_; }
  [[nodiscard]] const options& rules() const noexcept { return rules_; }
  /// Picks the last cycle had to number.
  [[nodiscard]] std::uint64_t picks() const noexcept { return picks_; }
  [[nodiscard]] std::vector<pod_id> in_stage(stage which) const;
  /// Pods in the permit room on which nobody has said anything yet.
  [[nodiscard]] std::vector<pod_id> undecided() const;
  /// The earliest time at which a wait or a backoff that nothing can shorten ends.
  [[nodiscard]] std::optional<instant> next_deadline() const;

 private:
  /// A pod, or a group tried as one.
  struct entity {
    pod_id pod;
    group_id group;
    friend auto operator<=>(const entity&, const entity&) = default;
  };
  enum class standing : std::uint8_t {
    fresh,   ///< not rejected since it entered
    parked,  ///< rejected: waits for a change
    timed,   ///< waits for its backoff: after an error, after its room was taken back
  };
  struct item {
    bool in = false;  ///< stands in the queue; what it remembers outlasts a placement that may still fail
    referee::standing standing = standing::fresh;
    instant since{}, entered{}, ready{};
    std::uint64_t arrival = 0;
    unsigned failures = 0, errors = 0;
    bool error = false;               ///< the last attempt ended in an error, or its room was taken back
    bool touched = false;             ///< the host changed it since
    std::uint64_t placed_before = 0;  ///< placements before its last failure
  };
  struct waiter {
    pod_id pod;
    std::int64_t score = 0;
    instant deadline{};
    bool allowed = false;  ///< by the host, whatever becomes of the others
    bool rejected = false;
  };
  struct rank {
    std::int64_t priority;
    instant since;
    std::uint64_t arrival;
    friend auto operator<=>(const rank&, const rank&) = default;
  };

  [[nodiscard]] entity entity_of(const pod& of) const;
  [[nodiscard]] bool waits_for_room(const pod& of) const { return of.stage == stage::pending && !of.terminating; }
  [[nodiscard]] std::vector<const pod*> pending_of(const entity& who) const;
  [[nodiscard]] std::int64_t priority_of(const group& of) const;
  [[nodiscard]] rank rank_of(const entity& who) const;
  [[nodiscard]] bool gated(const entity& who) const;
  [[nodiscard]] bool fits(const entity& who) const;
  [[nodiscard]] int staying(group_id group) const;
  [[nodiscard]] bool must_be_active(const entity& who, const item& its, instant now) const;
  [[nodiscard]] std::string name(const entity& who) const;
  [[nodiscard]] std::string name(pod_id id) const;
  [[nodiscard]] std::string text(const std::vector<verdict>& all) const;
  void look_around(instant now);
  void take_out_the_idle();
  [[nodiscard]] std::optional<std::string> check_turn(const entity& who, instant now);
  [[nodiscard]] std::vector<verdict> attempt(const entity& who, instant now, std::uint64_t numbered);
  [[nodiscard]] std::vector<verdict> attempt_pod(pod_id id, instant now, std::uint64_t numbered);
  [[nodiscard]] std::vector<verdict> attempt_group(group_id id, instant now, std::uint64_t numbered);
  /// What an incomplete gang may have for itself or its member: whose rooms, the last first. Counts the picks of trying.
  [[nodiscard]] std::vector<group_id> rooms_to_take(const entity& who, std::uint64_t numbered);
  /// Takes them; whether there were any.
  bool take_rooms(const entity& who, instant now, std::uint64_t numbered, std::vector<verdict>& said);
  verdict settle(pod_id id, const choice& where, instant now);
  void come_back(const entity& who, instant now, bool error);
  void send_back(pod_id id, instant now, std::vector<verdict>& said);
  [[nodiscard]] bool may_go(const waiter& w) const;
  void expire(instant now);
  std::optional<std::string> compare(const std::string& what, const std::vector<verdict>& wanted,
                                     const std::vector<verdict>& said) const;

  options rules_;
  timing times_;
  reference::world world_;
  std::map<entity, item> queue_;
  std::map<pod_id, bool> seen_;  ///< pods that have stood in the queue before
  std::vector<waiter> room_;     ///< in order of reservation
  std::vector<verdict> owed_;    ///< revocations the host has not heard of yet
  std::uint64_t picks_ = 0;
  std::uint64_t placements_ = 0;
  instant now_{};
};

}  // namespace reference
