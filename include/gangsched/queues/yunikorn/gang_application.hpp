#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gangsched/core/config.hpp"
#include "gangsched/core/instant.hpp"
#include "gangsched/core/result.hpp"
#include "gangsched/queues/yunikorn/node_book.hpp"

namespace gangsched::inline GANGSCHED_ABI::queues::yunikorn {

/// What happens to a gang whose placeholders were not all placed in time: it continues with single asks (soft), or fails (hard).
enum class gang_style : unsigned char { soft, hard };

enum class gang_phase : unsigned char {
  accepted,  ///< placeholders are still to be placed
  running,   ///< all were placed, or it continues with single asks
  resuming,  ///< it continues with single asks when its last placeholder is gone
  failing,   ///< it fails
};

struct task_group {
  std::string name;
  std::uint32_t members = 0;  ///< the number of placeholders
};

/// A real ask that replaces a placeholder, from the choice until the host confirms that the placeholder is gone.
struct replacement {
  ask_index real = none;
  ask_index placeholder = none;
  node_number node = none;  ///< of the real ask
};

/// An application with task groups as in YuniKorn's core. Placeholders are asks like others, placed one by one; real asks of a task group
/// replace them. Placeholders stay charged to queues, users and nodes until the host confirms that they are gone.
class GANGSCHED_API gang_application {
 public:
  struct terms {
    std::vector<task_group> groups = {};
    gang_style style = gang_style::soft;
    instant timeout = std::chrono::minutes{15};  ///< from the first placeholder that has a node; 0: never
  };
  struct counts {
    std::uint32_t total = 0, replaced = 0,
                  timed_out = 0;  ///< the number of placeholders requested, and their outcomes
  };

  /// @param nodes with the queues of the application; outlives it.
  gang_application(node_book& nodes, application_index which, terms with);

  /// Errors: those of `partition::add_ask`, `unknown` (such a task group), `wrong_state` (an ask of another application).
  result<ask_index> add_placeholder(const ask_spec& spec, std::string_view group);
  /// Adds a real ask; a group that does not exist has no placeholders. Errors: the same, except for that one.
  result<ask_index> add(const ask_spec& spec, std::string_view group = {});
  /// Withdraws a waiting real ask or placeholder. A placeholder that the real ask was to replace is still removed. Errors: `unknown`;
  /// `wrong_state`, of another application.
  result<void> remove(ask_index which);
  /// A cycle has placed the ask, of this application or of another one.
  void placed(ask_index which, instant now);

  /// The next real ask that replaces a placeholder; nothing if there is none. Placeholders that are too small are released. O(asks ·
  /// placeholders).
  [[nodiscard]] std::optional<replacement> try_replace();
  /// Once the timeout is over, releases the placeholders that are not being replaced. If the application does not run yet, it also removes
  /// placeholders without a node, and then resumes (soft) or fails (hard); failing removes all waiting real asks, of whatever task group.
  void expire(instant now);
  /// Placeholders that the host is to remove, and then to confirm. Each is returned once.
  [[nodiscard]] std::vector<ask_index> take_released();
  /// The host has removed a placeholder, because it was replaced or released, or preempted. Error: `unknown`.
  result<void> confirm(ask_index placeholder);
  /// A node is lost: real asks that replaced its placeholders from other nodes are confirmed; real asks that were to run on it wait again.
  /// @pre there is such a node.
  void node_lost(node_number node);

  [[nodiscard]] gang_phase phase() const noexcept { return phase_; }
  [[nodiscard]] std::optional<instant> deadline() const noexcept { return deadline_; }
  [[nodiscard]] counts of(std::string_view group) const;
  /// What is charged for placeholders on nodes, and for real asks.
  [[nodiscard]] resources held_by_placeholders() const;
  [[nodiscard]] resources held() const;

 private:
  struct placeholder {
    ask_index which = none;
    std::size_t group = 0;
    bool has_node = false;
    bool released = false;
    std::optional<replacement> by = {};
  };
  struct real {
    ask_index which = none;
    std::size_t group = 0;
  };
  static constexpr std::size_t no_group = ~std::size_t{0};

  [[nodiscard]] std::size_t find_group(std::string_view name) const;
  [[nodiscard]] bool may_replace(std::size_t group) const;
  [[nodiscard]] bool is_replacing(ask_index real) const;
  [[nodiscard]] bool can_take(const placeholder& one) const;
  void release(placeholder& one);
  void gone(std::size_t at, bool replaced);
  void give_up_place(placeholder& one);
  void hold_real();
  [[nodiscard]] result<void> check_application(application_index of) const;
  void swap(const placeholder& one);

  node_book* nodes_;
  application_index which_;
  terms terms_;
  gang_phase phase_ = gang_phase::accepted;
  std::optional<instant> deadline_ = {};
  std::uint64_t placed_ = 0;                    ///< placeholders that got a node and were neither preempted nor lost
  std::vector<counts> counts_ = {};             ///< by task group
  std::vector<placeholder> placeholders_ = {};  ///< in the order in which they were asked for
  std::vector<real> waiting_ = {};              ///< real asks of task groups without a node
  std::vector<ask_index> released_ = {};
};

}  // namespace gangsched::inline GANGSCHED_ABI::queues::yunikorn

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/queues/yunikorn/gang_application.cpp"
#endif
