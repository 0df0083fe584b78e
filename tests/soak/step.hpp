#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gangsched/core/hash.hpp"
#include "gangsched/core/instant.hpp"
#include "support/dice.hpp"

/// A sequence of what a host does is data, not a course of random numbers: any of its steps can be left out, and the others still mean
/// what they meant.
namespace gangsched::soak {

using testing::dice;

/// Objects are known by a number, which their name is made of. Steps about an object that is not there do nothing.
using number = std::uint32_t;
inline constexpr number nobody = 0xffffffffu;

enum class act : std::uint8_t {
  add_node,
  update_node,
  remove_node,
  set_device_health,
  add_pod,
  add_pods,
  update_pod,
  resize_pods,
  remove_pod,
  set_terminating,
  add_group,
  expect_group,
  update_group,
  remove_group,
  set_namespace,
  remove_namespace,
  set_service,
  remove_service,
  set_controller,
  remove_controller,
  set_priority_class,
  remove_priority_class,
  add_claim,
  remove_claim,
  deallocate,
  add_budget,
  update_budget,
  remove_budget,
  hold_room,  ///< or not any more
  set_column,
  change_queue,  ///< or a flavor
  reserve,
  roll_back,  ///< changes in a transaction that is discarded
  commit,     ///< a pod is assumed in one that is kept
  pass_time,
  cycle,
  turn,  ///< the documented loop
  settle,
  catch_up,
  flush,
  pop,     ///< an entity is the host's to try
  decide,  ///< what became of the first of those
  confirm,
  confirm_again,
  fail,
  allow,
  reject,
  activate,
  restore,
  forget_cached,
  restart,
  rebuild,   ///< a new cluster too, which is told what the host knows
  sabotage,  ///< a hook will throw
  ask,
  misuse,
  verify,
  last = verify,
};
[[nodiscard]] std::string_view to_string(act what) noexcept;

struct step {
  act what;
  number object = nobody;  ///< whom it is about; what it makes
  number group = nobody;   ///< of a pod its group; of a group the one above
  number node = nobody;
  number other = nobody;    ///< of a pod its claim; of a group the one that it refers to
  number room = nobody;     ///< that is held for the pod
  number queue = nobody;    ///< that a pod or group names
  number reserve = nobody;  ///< of a pod: how it has to do with reservations
  std::uint64_t seed = 0;   ///< decides the details
  std::uint64_t traits = 0;
  instant time{};

  [[nodiscard]] dice details() const noexcept { return dice{seed}; }
  /// Dice for one trait, if the step has it: those of another trait or of the rest do not change with it.
  template <class Trait>
  [[nodiscard]] std::optional<dice> trait(Trait one) const noexcept {
    if ((traits >> static_cast<unsigned>(one) & 1) == 0) return std::nullopt;
    return dice{seed ^ mix64(static_cast<std::uint64_t>(one) + 1)};
  }
};

template <class Trait>
[[nodiscard]] constexpr std::uint64_t bit(Trait one) noexcept {
  return std::uint64_t{1} << static_cast<unsigned>(one);
}

using sequence = std::vector<step>;

/// What was found: `kind` is the same for the same mistake, `details` say where.
struct fault {
  std::string kind, details;
};

}  // namespace gangsched::soak
