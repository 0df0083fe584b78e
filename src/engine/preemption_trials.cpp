#include "gangsched/engine/preemption_trials.hpp"

#include <algorithm>
#include <optional>

#include "gangsched/engine/known_misfits.hpp"
#include "gangsched/engine/supposed_moves.hpp"
#include "gangsched/model/transaction.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

/// What post-filter hooks try things with: a transaction around the whole search, and one around what stands now.
class preemption_trials::open_trial final : public trial {
 public:
  open_trial(preemption_trials& with, std::uint16_t plugin, bool for_group, std::optional<instant>& spared)
      : state_(with.state_),
        with_(&with),
        plugin_(plugin),
        nested_(state_->undo.trying()),
        group_(for_group),
        spared_(&spared),
        budget_(searches * with.search_->budget()),
        whole_(*state_),
        given_up_(with.search_->supposed_releases()),
        put_(with.search_->nobody()) {
    now_.emplace(*state_);
  }

  [[nodiscard]] cluster_view cluster() const override { return cluster_view{*state_}; }
  [[nodiscard]] instant now() const override { return with_->search_->now(); }

  /// Twice if pods of its priority or a higher one are nominated to the node (kube: framework/runtime): with them there, then without.
  [[nodiscard]] status filter(pod_id pod, node_id node) override {
    if (const status said = begin(pod.row); !said.ok()) return said;
    if (const status said = with_->picks_->filter_with_nominated(pod.row, node.row); !said.ok()) return said;
    return with_->picks_->filter(pod.row, node.row);
  }
  [[nodiscard]] bool counts_reasons() const override { return !nested_ && with_->picks_->counts_reasons(); }
  [[nodiscard]] std::vector<std::string> reasons(pod_id pod, node_id node) override {
    if (const status said = begin(pod.row); !said.ok()) return {reason_text(state_->names, said)};
    return with_->picks_->reasons(pod.row, node.row);
  }
  void spared_until(instant when) override {
    if (when > now() && when != instant::max()) *spared_ = std::min(spared_->value_or(when), when);
  }
  void remove(pod_id victim) override {
    const row_t node = state_->pods.node[victim.row];
    if (node == no_row) return;
    if (begun_ != no_row) with_->picks_->follow(begun_, victim.row, node, false);
    homes_.push_back({victim, node});
    if (group_) slot_of(victim.row) = static_cast<std::uint32_t>(homes_.size());
    take_off(victim.row, node);
    misfits_.went(victim.row, node);
  }
  void restore(pod_id victim) override {
    const auto home = find(victim);
    if (home == homes_.end()) return;
    const row_t node = home->second;
    if (group_) {  // many are away: the last one takes its place
      slot_of(homes_.back().first.row) = slot_of(victim.row);
      slot_of(victim.row) = 0;
      *home = homes_.back();
      homes_.pop_back();
    } else {
      homes_.erase(home);
    }
    suppose_back(*state_, victim.row, node, kind_of_removal());
    misfits_.came_back(victim.row, node);
    if (begun_ != no_row) with_->picks_->follow(begun_, victim.row, node, true);
  }
  void take_node(pod_id member) override {
    if (state_->pods.node[member.row] == no_row) return;
    begun_ = no_row;
    if (put_.has(member.row))
      state_->assigned.release(member.row);
    else
      given_up_.release(member.row);
    taken_ = true;
    members_moved();
  }
  [[nodiscard]] bool put(pod_id pod, node_id node) override {
    begun_ = no_row;
    members_moved();
    picked where;
    where.node = node.row;
    status said;
    return put_.place(pod.row, where, said);
  }
  [[nodiscard]] std::size_t put_so_far() const override { return put_.size(); }
  void take_back(std::size_t left) override {
    begun_ = no_row;
    members_moved();
    put_.undo(left);
  }
  void reset() override {
    wanted_ = 0;
    if (homes_.empty() && !taken_ && put_.empty()) return;
    if (!put_.empty()) begun_ = no_row;
    put_.discard();
    given_up_.clear();
    if (begun_ != no_row && !with_->picks_->plan_of(state_->pods.cls[begun_]).incremental.empty()) {
      while (!homes_.empty()) restore(homes_.back().first);
    }
    for (const auto& home : homes_) {
      if (group_) slot_of(home.first.row) = 0;
    }
    homes_.clear();
    taken_ = false;
    members_moved();
    now_->roll_back();
    now_.emplace(*state_);
  }
  [[nodiscard]] std::vector<placement> placements(const group_view& group) override {
    std::vector<placement> expanded;
    if (group.spec().composite) return expanded;
    status said;
    placement_candidates& candidates = with_->search_->candidates();
    for (const placement& one : candidates.placements(with_->parts_->of(group.row(), true), said))
      candidates.expand(one, expanded);
    return expanded;
  }
  [[nodiscard]] status place(const group_view& group, std::vector<assignment>& placed,
                             const placement* within) override {
    begun_ = no_row;
    if (!need_ || needs_ != group.row()) {
      members_moved();
      need_ = with_->parts_->room_for(group.row()), needs_ = group.row();
    }
    if (group_) misfits_.follow(state_->nodes.rows.count());
    if (within == nullptr && holds(found_)) return placed = found_.placed, status{};
    constexpr auto in_cluster = known_misfits::scope::cluster;
    const row_t back = misfits_.last();
    const bool like_others = back != no_row && is_like_others(back);
    const bool known = like_others && misfits_.knows_last(state_->class_of(back), in_cluster);
    if (known || !with_->parts_->may_fit(*need_)) {
      if (like_others && !known && need_tells_no_pods_apart()) misfits_.note_last(state_->class_of(back), in_cluster);
      return placed.clear(), status::unschedulable("there is not enough room for the group");
    }
    const std::uint64_t before = budget_;
    const status said = try_group(group.row(), placed, within);
    if (group_ && said.ok() && within == nullptr && budget_ == before)
      found_ = {placed, misfits_.version(), wanted_, true};
    return said;
  }
  void suppose(std::span<const assignment> placed) override {
    const auto same = [](const assignment& a, const assignment& b) { return a.pod == b.pod && a.node == b.node; };
    if (!std::equal(placed.begin(), placed.end(), placed_.begin(), placed_.end(), same)) misfits_.forget();
    placed_.assign(placed.begin(), placed.end());
    wanted_ = placed.size();
    note_affinities();
    by_node_alone_ = beside_.empty() && fit_by_node(placed);
    by_node_.clear();
    for (std::size_t i = 0; i < placed.size(); ++i) by_node_.emplace_back(placed[i].node.row, i);
    std::sort(by_node_.begin(), by_node_.end());
  }
  [[nodiscard]] bool still_fits(std::span<const pod_id> moved) override {
    begun_ = no_row;
    if (!by_node_alone_) return still_fit(placed_);
    const bool like_others = moved.size() == 1 && misfits_.last() == moved[0].row && is_like_others(moved[0].row);
    constexpr auto on_node = known_misfits::scope::node;
    if (like_others && misfits_.knows_last(state_->class_of(moved[0].row), on_node)) return false;
    std::vector<row_t> nodes;
    for (const pod_id pod : moved) nodes.push_back(state_->pods.node[pod.row]);
    std::sort(nodes.begin(), nodes.end());
    nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
    std::vector<assignment> there;
    for (const row_t node : nodes) {
      auto one = std::lower_bound(by_node_.begin(), by_node_.end(), std::pair{node, std::size_t{0}});
      for (; one != by_node_.end() && one->first == node; ++one) there.push_back(placed_[one->second]);
    }
    const bool fits = still_fit(there);
    if (like_others && !fits && std::all_of(there.begin(), there.end(), [&](const assignment& one) {
          return tells_no_pods_apart(state_->class_of(one.pod.row));
        }))
      misfits_.note_last(state_->class_of(moved[0].row), on_node);
    return fits;
  }
  [[nodiscard]] bool known_to_be_in_the_way(std::span<const pod_id> away, bool anywhere) override {
    if (!group_ || away.size() != 1) return false;
    const auto home = find(away[0]);
    if (home == homes_.end() || !is_like_others(away[0].row)) return false;
    const auto scope = anywhere ? known_misfits::scope::cluster : known_misfits::scope::node;
    return misfits_.knows(home->second, state_->class_of(away[0].row), scope);
  }

 private:
  [[nodiscard]] std::shared_ptr<void>* kept(pod_id pod, std::vector<row_t>& changed) override {
    const class_plan& plan = with_->picks_->plan_of(state_->class_of(pod.row));
    if (nested_ || !trial_memory::possible(plan)) return nullptr;  // what a trial shows is not to be remembered
    return &with_->memory_.recall(*state_, plan, plugin_, changed);
  }
  [[nodiscard]] std::vector<std::pair<pod_id, row_t>>::iterator find(pod_id victim) {
    if (!group_)
      return std::find_if(homes_.begin(), homes_.end(), [&](const auto& home) { return home.first == victim; });
    const std::uint32_t slot = slot_of(victim.row);
    return slot == 0 ? homes_.end() : homes_.begin() + (slot - 1);
  }
  [[nodiscard]] std::uint32_t& slot_of(row_t pod) {
    if (slots_.empty()) slots_.resize(state_->pods.rows.count());
    return slots_[pod];
  }
  /// Whether pods of its class cannot be told from it where they come back, by filters that do not look at pods one by one.
  [[nodiscard]] bool is_like_others(row_t pod) {
    const pod_class& cls = state_->classes[state_->class_of(pod)];
    return state_->pods.claim[pod] == nullptr && !state_->columns.has_notes(pod) && !state_->reserved.involves(pod) &&
           cls.claims.empty() && !cls.volumes.disks && !cls.volumes.attachments;
  }
  /// Whether the filters of members of class @p cls that look at one node do not look at the pods there.
  [[nodiscard]] bool tells_no_pods_apart(class_id cls) {
    return !any(with_->picks_->plan_of(cls).cached.filters & reads::pods);
  }
  [[nodiscard]] bool need_tells_no_pods_apart() {
    return std::all_of(need_->classes.begin(), need_->classes.end(),
                       [&](const auto& one) { return tells_no_pods_apart(one.first); });
  }
  void members_moved() {
    need_.reset();
    misfits_.forget();
    found_.known = false;
  }
  /// Where the group's cycle put the members, without a complete search.
  struct found_places {
    std::vector<assignment> placed;
    std::uint64_t version = 0;  ///< of `misfits_`
    std::size_t wanted = 0;
    bool known = false;
  };
  /// Whether it would put them there again: the same pods are away, and as many members suffice.
  [[nodiscard]] bool holds(const found_places& one) const noexcept {
    return one.known && one.version == misfits_.version() && one.wanted <= wanted_ && wanted_ <= one.placed.size();
  }
  /// Cycle-level plugins begin anew when another pod is asked about; for one and the same they follow.
  status begin(row_t pod) {
    if (pod != begun_ || !said_.ok()) {
      begun_ = pod;
      const class_plan& plan = with_->picks_->plan_of(state_->class_of(pod));
      said_ = with_->picks_->begin_cycle(plan, pod);
      with_->picks_->skip_idle(plan, pod);
    }
    return said_;
  }
  void take_off(row_t pod, row_t node) {
    model::cluster_state& state = *state_;
    std::span<const host_port> ports;
    if (state.semantics.has(quirk::trials_know_ports_once)) ports = state.classes[state.pods.cls[pod]].ports;
    suppose_gone(state, pod, kind_of_removal());
    for (const host_port& port : ports)
      while (state.nodes.ports.is_used(node, port)) state.nodes.ports.remove(node, port);
  }
  [[nodiscard]] model::removal kind_of_removal() const {
    // A group's cycle counts anew, so that it cannot be misled.
    const bool misled = !group_ && state_->semantics.has(quirk::trials_count_terminating_pods);
    return misled ? model::removal::trial : model::removal::real;
  }
  /// The group's cycle, undone. The next decision is numbered as if it had not been.
  [[nodiscard]] status try_group(row_t group, std::vector<assignment>& placed, const placement* within) {
    placed.clear();
    const picker::position stood = with_->picks_->where();
    // No pod is evicted for members above an elastic gang's desired count.
    const group_part whole = with_->parts_->of(group, true);
    const std::vector<row_t> members = whole.all_members();
    transaction attempt{*state_};
    group_placement found{{}, with_->search_->nobody()};
    std::uint64_t budget = std::min(budget_, with_->search_->budget());
    const std::uint64_t before = budget;
    const search_effort how{&budget, whole.parts.empty() ? wanted_ : 0};
    if (members.empty()) {
      found.verdict = status::unschedulable("the group has as many members as it desires");
    } else if (within == nullptr || within->all) {
      found = with_->search_->place(whole, how);
    } else {
      std::vector<row_t> rows;
      for (const node_id node : within->nodes) rows.push_back(node.row);
      found = with_->search_->place_within(whole, rows, how);
    }
    budget_ -= before - budget;
    if (found.verdict.ok()) placed = found.members.assignments();
    found.members.discard();
    attempt.roll_back();
    with_->picks_->go_back(stood);
    // That a group cannot be placed as it stands is an answer, not a hook that failed; no eviction changes it.
    return found.verdict.code == code::error && found.of_group ? status::unresolvable(found.verdict.reason)
                                                               : found.verdict;
  }
  /// Which groups with affinity to others have members among those that are supposed to be somewhere: pods that come back may be of these
  /// others.
  void note_affinities() {
    beside_.clear();
    for (std::size_t i = 0; i < placed_.size(); ++i) {
      for (row_t up = state_->pods.group[placed_[i].pod.row]; up != no_row; up = state_->groups.parent[up]) {
        if (state_->groups.record[up]->spec.affinity.empty()) continue;
        auto known =
            std::find_if(beside_.begin(), beside_.end(), [&](const beside_others& one) { return one.group == up; });
        if (known == beside_.end()) known = beside_.insert(known, {up, i});
        known->nodes.push_back(placed_[i].node.row);
      }
    }
  }
  /// Whether the affinity of groups whose first member is the one at @p at allows all their nodes. The group's cycle, too, asks before it
  /// places any of them, but after those that come before.
  [[nodiscard]] bool affinity_allows(std::size_t at) {
    return std::all_of(beside_.begin(), beside_.end(), [&](const beside_others& one) {
      std::vector<row_t> left;
      return one.first != at ||
             with_->search_->candidates().beside_others(one.group, &one.nodes, left)->size() == one.nodes.size();
    });
  }
  /// Whether all filters of all members look at nothing but the member's own node.
  [[nodiscard]] bool fit_by_node(std::span<const assignment> placed) {
    class_id asked = no_class;  // members are mostly of one class
    return std::all_of(placed.begin(), placed.end(), [&](const assignment& one) {
      const class_id cls = state_->class_of(one.pod.row);
      if (cls == asked) return true;
      asked = cls;
      const class_plan& plan = with_->picks_->plan_of(cls);
      return plan.keyed_filters.empty() && plan.opaque_filters.empty() && plan.cycle_hooks.empty() &&
             with_->entities_->profile_of(one.pod.row).at(point::reserve).empty();
    });
  }
  [[nodiscard]] bool still_fit(std::span<const assignment> placed) {
    transaction attempt{*state_};
    placed_members there = with_->search_->nobody();
    bool fits = true;
    for (std::size_t i = 0; i < placed.size() && fits; ++i) {
      const row_t pod = placed[i].pod.row, node = placed[i].node.row;
      const class_plan& plan = with_->picks_->plan_of(state_->class_of(pod));
      fits = affinity_allows(i) && with_->picks_->begin_cycle(plan, pod).ok();
      if (fits) with_->picks_->skip_idle(plan, pod);
      picked where;
      where.node = node;
      status said;
      fits = fits && with_->picks_->filter_with_nominated(pod, node).ok() && with_->picks_->filter(pod, node).ok() &&
             there.place(pod, where, said);
    }
    return fits;
  }

  model::cluster_state* state_;
  preemption_trials* with_;
  std::uint16_t plugin_;
  static constexpr std::uint64_t searches = 8;  ///< complete ones that may use up their budget

  bool nested_;  ///< in a group's cycle
  bool group_;   ///< for a group
  std::optional<instant>* spared_;
  std::uint64_t budget_;    ///< of all complete searches of the trial
  std::size_t wanted_ = 0;  ///< members that were supposed to be somewhere last
  bool taken_ = false;      ///< a member's node, by take_node
  row_t begun_ = no_row;
  status said_;
  transaction whole_;
  std::optional<transaction> now_;
  reservations::supposed_releases given_up_;
  placed_members put_;
  std::vector<std::pair<pod_id, row_t>> homes_;
  std::vector<std::uint32_t> slots_;  ///< of a group: 1 + the place in `homes_`, by pod row
  std::optional<group_room> need_;
  row_t needs_ = no_row;                                ///< whose that is
  std::vector<assignment> placed_;                      ///< as supposed
  std::vector<std::pair<row_t, std::size_t>> by_node_;  ///< their nodes, and places in `placed_`
  bool by_node_alone_ = false;                          ///< nothing elsewhere matters to them
  struct beside_others {
    row_t group;
    std::size_t first;  ///< of its members in `placed_`
    std::vector<row_t> nodes = {};
  };
  std::vector<beside_others> beside_;  ///< groups with affinity
  known_misfits misfits_;
  found_places found_;
};

GANGSCHED_INLINE std::unique_ptr<trial> preemption_trials::start(std::uint16_t plugin, bool for_group,
                                                                 std::optional<instant>& spared) {
  return std::make_unique<open_trial>(*this, plugin, for_group, spared);
}

}  // namespace gangsched::inline GANGSCHED_ABI::engine
