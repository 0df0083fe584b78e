// expect: gangsched: the plugin lists point::queue_sort but has no hook for it \(misspelt\?\); expected: sort_key key\b
#include "gangsched/framework/profile.hpp"

using namespace gangsched;

struct mine {
  static constexpr std::string_view name = "Mine";
  using points = implements<point::queue_sort>;
  sort_key kye(const queued&) const noexcept { return {}; }
};

profile made{mine{}};
