#pragma once
#include <optional>
#include <string>
#include <vector>

#include "gangsched/core/peer.hpp"
#include "gangsched/engine/entity_view.hpp"
#include "gangsched/engine/sorted_entities.hpp"
#include "gangsched/scheduling/saved_scheduler.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

/// Victims of preemption that have notice: they may stay for a while (`scheduler_options::eviction_notice`), and are evicted afterwards
/// unless they have ended, or their beneficiaries no longer need the room. Until then the beneficiaries do not preempt again.
class GANGSCHED_API eviction_notices {
 public:
  /// @p span: how long victims may stay; 0: they are evicted at once, and there are no notices.
  eviction_notices(const model::cluster_state& state, instant span) noexcept : state_(&state), span_(span) {}

  [[nodiscard]] bool in_use() const noexcept { return span_ > instant{0}; }
  /// Nobody has notice.
  [[nodiscard]] bool empty() const noexcept { return all_.empty(); }
  /// A running victim has notice from @p now on, on behalf of a pod or a group. @return whether it had none before. O(notices).
  bool give(pod_id victim, const char* reason, entity for_whom, instant now);
  /// Whether a pod or a group waits for victims that still run. O(notices).
  [[nodiscard]] bool awaits(entity who) const;

  /// A change of a pod or a group may end notices. O(1).
  void on_change(const change& record) noexcept { look_ = look_ || record.about_pod() || record.about_group(); }
  /// Changes were lost: everything is checked.
  void start_over() noexcept { look_ = true; }
  /// Calls evict(pod, reason) for victims whose time is over (the text is valid meanwhile), and
  /// withdraw(pod) for those that may stay. If the host does not act, evict is called again, but no
  /// sooner than a second later. O(notices · beneficiaries) if something changed or a notice is due.
  template <class Evict, class Withdraw>
  void recheck(instant now, const Evict& evict, const Withdraw& withdraw) {
    if (all_.empty() || (!look_ && now < *next_due())) return;
    for (const row_t pod : drop_ended()) withdraw(pod);
    for (notice& one : all_) {
      if (now < one.due || one.due == instant::max()) continue;  // instant::max() means never
      evict(one.victim, text_of(one));
      one.due = later_by(now, patience);
    }
  }
  [[nodiscard]] std::optional<instant> next_due() const noexcept;

  // For a call that may be abandoned: `recall` puts back what was there when `remember` was called, and looks again.
  void remember() {
    if (!all_.empty() || !before_.empty()) before_ = all_;
  }
  void recall() noexcept {
    all_.swap(before_);
    look_ = true;
  }

  /// What it holds, as plain data; and of a new one, that. Error: malformed, and nothing is changed. O(what it holds).
  [[nodiscard]] std::vector<saved_notice> save() const;
  [[nodiscard]] std::optional<error> restore(const std::vector<saved_notice>& from);

 private:
  static constexpr instant patience = std::chrono::seconds{1};
  struct beneficiary {
    entity who;
    std::uint32_t generation = 0;
    bool nominated = false;  ///< it is nominated to a node: without that, it needs none any more
    friend bool operator==(const beneficiary&, const beneficiary&) = default;
  };
  struct notice {
    pod_id victim;
    instant due{};
    bool has_reason = false;
    std::string reason;
    std::vector<beneficiary> for_whom;
  };
  [[nodiscard]] static const char* text_of(const notice& one) noexcept {
    return one.has_reason ? one.reason.c_str() : nullptr;
  }
  [[nodiscard]] std::uint32_t generation_of(entity who) const;
  /// Whether a pod, or a pod of a group, waits, nominated to a node if @p nominated. O(pods below the group).
  [[nodiscard]] bool somebody_waits(entity who, bool nominated) const;
  [[nodiscard]] bool needs(const beneficiary& one) const;
  [[nodiscard]] bool runs(pod_id victim) const;
  std::vector<row_t> drop_ended();

  peer<const model::cluster_state> state_;
  instant span_;
  std::vector<notice> all_, before_;  ///< in the order in which they were given
  bool look_ = true;
};

}  // namespace gangsched::inline GANGSCHED_ABI::engine

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/engine/eviction_notices.cpp"
#endif
