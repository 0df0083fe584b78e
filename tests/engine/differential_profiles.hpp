#pragma once
#include <string>

#include "gangsched/plugins.hpp"
#include "gangsched/profiles.hpp"
#include "support/dice.hpp"
#include "support/reference.hpp"

/// Profiles said three ways: as types, as names with arguments, and as rules for the reference.
namespace gangsched::testing {

struct threefold_profile {
  std::string name;
  kernel_table compiled;   ///< profile<…>
  kernel_table assembled;  ///< runtime_profile over builtin_plugins() and the plugins of this test
  reference::profile rules;
};

inline constexpr unsigned profile_kinds = 5;
/// Kind 0 to profile_kinds - 1; the dice choose weights and arguments.
[[nodiscard]] threefold_profile make_profile(unsigned kind, dice& roll);

/// The label that the plugins of this test read: of nodes and of pods.
inline constexpr const char* color_label = "color";

}  // namespace gangsched::testing
