#pragma once
#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "gangsched/engine/decision_list.hpp"
#include "gangsched/engine/pre_enqueue_gates.hpp"
#include "gangsched/engine/preemption_trials.hpp"
#include "gangsched/scheduling/saved_scheduler.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

/// The result of preemption for a pod or a group. Nominations are written; the caller carries out the rest, in this order.
struct preemption_result {
  /// A pod that is nominated to a node, or, without one, a member that is rejected because others have a place and it has none.
  struct word {
    row_t pod;
    std::optional<node_id> node;
  };
  /// A pod that waits until the victims are gone, and what rejected it before.
  struct waiting {
    row_t pod;
    std::uint64_t rejectors;
  };
  struct eviction {
    pod_id pod;
    const char* reason = nullptr;
  };
  bool helped = false;
  status broken;          ///< a hook's error
  std::string unhelpful;  ///< the messages to users of hooks that do not help
  /// Without help: when the first of the pods that were spared because they have not run for long enough may be evicted.
  std::optional<instant> retry_at;
  std::vector<word> words;
  std::vector<waiting> waits;  ///< they have to wait before the victims leave, so that they get those events
  std::vector<eviction> victims;
  std::vector<assignment> moves;  ///< those of them that find room elsewhere
  /// Waiting members (permit) that release their nodes, and are nominated to others, if there is one for them.
  std::vector<assignment> back;
  /// Whether nobody has to leave a node for it: its victims, if there are any, only were nominated, and have lost that.
  [[nodiscard]] bool frees_at_once(const model::pod_table& pods) const {
    return std::none_of(victims.begin(), victims.end(),
                        [&](const eviction& one) { return pods.state[one.pod.row] != pod_state::pending; });
  }
  std::vector<row_t> again;  ///< pods that have a place, and are tried again when their time comes

  /// The result, as decisions.
  void add_to(decision_list& decisions) const;
  /// The nodes of victims that only move, decided after their evictions.
  void add_moves_to(decision_list& decisions) const;
};

/// Makes room for pods and groups that find no node (PostFilter, KEP-5710): calls post_filter and group_preempt hooks, and turns their
/// results into nominations and victims.
class GANGSCHED_API preemption final : public member_preemption {
 public:
  preemption(model::cluster_state& state, const entity_view& entities, pre_enqueue_gates& gates, group_parts& parts,
             picker& picks, group_search& search) noexcept
      : state_(&state),
        entities_(&entities),
        gates_(&gates),
        parts_(&parts),
        picks_(&picks),
        search_(&search),
        trials_(state, entities, parts, picks, search) {}

  /// For a pod that these plugins rejected. A member of an incomplete gang in permit mode gets room together with all members that the
  /// minimum lacks, or none. @p held: members of its gang that wait in permit.
  [[nodiscard]] preemption_result for_pod(row_t pod, std::uint64_t rejectors, std::span<const row_t> held = {}) {
    spared_until_.reset();
    return counted(room_for_pod(pod, rejectors, held));
  }
  /// For a group whose attempt has just failed.
  [[nodiscard]] preemption_result for_group(row_t group) {
    if (!preempts(group)) spared_until_.reset();  // else its members have asked already
    return counted(room_for_group(group));
  }
  /// How often hooks were called so far, and how many victims they chose.
  [[nodiscard]] std::uint64_t asked() const noexcept { return asked_; }
  [[nodiscard]] std::uint64_t victims() const noexcept { return victims_; }

  void begin() override {
    own_ = {};
    spared_until_.reset();
  }
  [[nodiscard]] bool preempts(row_t group) const override;
  [[nodiscard]] row_t make_room(row_t pod) override;
  void settle(status& verdict, const placed_members& placed) override;

  /// Drops what may be out of date: it changes no answer.
  void forget_cached();

  /// Copies which gang preemption cannot help until the log goes on. Plans and bounds are made anew.
  preemption& operator=(const preemption& from) noexcept {
    unhelped_gang_ = from.unhelped_gang_, unhelped_until_ = from.unhelped_until_;
    return *this;
  }

  /// The gangs that preemption cannot help, as plain data; and sets those of a new one on a restored cluster. @p classes: what saves the
  /// cluster; its classes, by number. Error: malformed, and nothing is changed.
  [[nodiscard]] saved_unhelped_gang save(model::cluster_saver& classes) const;
  [[nodiscard]] std::optional<error> restore(const saved_unhelped_gang& from, std::span<const class_id> classes);

 private:
  /// What members found for themselves, each by its own preemption, since `begin`.
  struct members_room {
    std::vector<preemption_result::eviction> victims;
    std::vector<assignment> made;    ///< by preemption
    std::vector<assignment> placed;  ///< all members, if the group waits
    std::vector<row_t> helpless;     ///< members that nothing helps
    bool waits = false;
  };

  preemption_result room_for_pod(row_t pod, std::uint64_t rejectors, std::span<const row_t> held);
  preemption_result room_for_group(row_t group);
  preemption_result counted(preemption_result found) noexcept {
    victims_ += found.victims.size();
    if (!found.helped) found.retry_at = spared_until_;
    return found;
  }
  [[nodiscard]] const char* wrong_plan(const victim_plan& plan, row_t group) const;
  template <class Ask>
  victim_plan ask_hooks(const kernel_table& table, point at, row_t group, bool& keep, Ask&& ask);
  victim_plan ask_post_filters(row_t pod, bool& keep);
  victim_plan ask_group_hooks(row_t group, bool& keep);
  preemption_result for_minimum(row_t pod, std::span<const row_t> held);
  void remember_unhelped(row_t pod);
  [[nodiscard]] bool together(row_t group, std::span<const row_t> members, std::span<const row_t> held);
  std::optional<preemption_result> for_mixed_minimum(row_t pod, std::span<const row_t> held);
  preemption_result for_members(row_t group);
  [[nodiscard]] std::vector<assignment> fitting_members(row_t group);
  void take_victims(victim_plan& plan, preemption_result& out);
  void nominate(row_t pod, const node_id& node, preemption_result& out);
  void nominate_members(row_t group, std::span<const assignment> places, preemption_result& out);
  void clear_nomination(row_t pod);
  void clear_nominations(row_t pod, row_t node);

  model::cluster_state* state_;
  const entity_view* entities_;
  pre_enqueue_gates* gates_;
  group_parts* parts_;
  picker* picks_;
  group_search* search_;
  preemption_trials trials_;
  members_room own_;
  std::optional<instant> spared_until_;  ///< the earliest of the times that hooks gave for this pod or group
  std::uint64_t asked_ = 0, victims_ = 0;
  /// A permit-mode gang whose minimum preemption cannot provide, the class of the member that began it, and the log's end then.
  std::tuple<row_t, class_id, std::uint64_t> unhelped_gang_{no_row, no_class, 0};
  instant unhelped_until_ = instant::max();  ///< it is worth another look from here on
};

}  // namespace gangsched::inline GANGSCHED_ABI::engine

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/engine/preemption.cpp"
#include "gangsched/src/engine/preemption_members.cpp"
#endif
