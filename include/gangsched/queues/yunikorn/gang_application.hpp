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

/// What becomes of a gang whose placeholders were not all placed in time: it goes on as single asks, or it fails.
enum class gang_style : unsigned char { soft, hard };

enum class gang_phase : unsigned char {
  accepted,  ///< placeholders are still to be placed
  running,   ///< all of them were, or it goes on as single asks
  resuming,  ///< it goes on so when the last of its placeholders is gone
  failing,   ///< it never will
};

struct task_group {
  std::string name;
  std::uint32_t members = 0;  ///< placeholders that it is to have
};

/// A real ask in the place of a placeholder, from when it was found until the host confirms that the placeholder is gone.
struct replacement {
  ask_index real = none;
  ask_index placeholder = none;
  node_number node = none;  ///< of the real ask
};

/// An application with task groups as YuniKorn's core runs it. Placeholders are asks like others, placed one by one; real asks of a task
/// group take their places. Placeholders stay charged to queues, users and nodes until the host confirms that they are gone.
///
/// A placeholder that is smaller than the real ask in any type is released and counts as timed out. Otherwise the ask goes to the
/// placeholder's node or, if that is not usable, to another node with room (then both are charged), and is what is charged once the host
/// confirms. An ask for which no placeholder is left is placed like any other; until then cycles skip it, and it reserves no node.
/// Placeholders that are released, preempted, withdrawn or lost with their node count as timed out.
///
/// While this object exists, asks of its application are added and waiting ones removed through it (`remove`, not that of the book or the
/// partition), and so are placeholders with a node (`confirm`). A call that finds no memory changes nothing.
class GANGSCHED_API gang_application {
 public:
  struct terms {
    std::vector<task_group> groups = {};
    gang_style style = gang_style::soft;
    instant timeout = std::chrono::minutes{15};  ///< from the first placeholder that has a node; 0: never
  };
  struct counts {
    std::uint32_t total = 0, replaced = 0,
                  timed_out = 0;  ///< placeholders that were asked for, and what became of them
  };

  /// @param nodes with the queues in which the application is; outlives it.
  gang_application(node_book& nodes, application_index which, terms with);

  /// Errors: those of `partition::add_ask`, `unknown` (such a task group), `wrong_state` (an ask of another application).
  result<ask_index> add_placeholder(const ask_spec& spec, std::string_view group);
  /// A real ask; a group that is not there has no placeholders. Errors: the same, but that one.
  result<ask_index> add(const ask_spec& spec, std::string_view group = {});
  /// Withdraws a waiting real ask or placeholder. A placeholder whose place the real ask was to take still goes. Errors: `unknown`;
  /// `wrong_state`, of another application.
  result<void> remove(ask_index which);
  /// A cycle has placed the ask, of this application or of another one.
  void placed(ask_index which, instant now);

  /// The next real ask that takes the place of a placeholder; nothing if there is none. Placeholders that are too small are released on the
  /// way. O(asks · placeholders).
  [[nodiscard]] std::optional<replacement> try_replace();
  /// Once the timeout is over, releases the placeholders that are not being replaced. If the application does not run yet, it also removes
  /// placeholders without a node, and then resumes (soft) or fails (hard); failing removes all waiting real asks, of whatever task group.
  void expire(instant now);
  /// Placeholders that the host is to remove, and then to confirm. Each is told once.
  [[nodiscard]] std::vector<ask_index> take_released();
  /// The host has removed a placeholder, because it was replaced or released, or preempted. Error: `unknown`.
  result<void> confirm(ask_index placeholder);
  /// A node is lost: real asks that replaced its placeholders from other nodes are confirmed; real asks that were to run on it wait again.
  /// @pre there is such a node.
  void node_lost(node_number node);

  [[nodiscard]] gang_phase phase() const noexcept { return phase_; }
  [[nodiscard]] std::optional<instant> deadline() const noexcept { return deadline_; }
  [[nodiscard]] counts of(std::string_view group) const;
  /// What placeholders on nodes are charged, and real asks.
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
  std::uint64_t placed_ = 0;                    ///< placeholders that had a node, neither preempted nor lost
  std::vector<counts> counts_ = {};             ///< by task group
  std::vector<placeholder> placeholders_ = {};  ///< in the order in which they were asked for
  std::vector<real> waiting_ = {};              ///< real asks of task groups that have no node
  std::vector<ask_index> released_ = {};
};

}  // namespace gangsched::inline GANGSCHED_ABI::queues::yunikorn

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/queues/yunikorn/gang_application.cpp"
#endif
