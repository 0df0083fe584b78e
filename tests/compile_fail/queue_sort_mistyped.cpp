// expect: gangsched: the hook for point::queue_sort has the wrong type; expected: sort_key key\b
#include "gangsched/framework/profile.hpp"

using namespace gangsched;

struct mine {
  static constexpr std::string_view name = "Mine";
  using points = implements<point::queue_sort>;
  std::int64_t key(const queued&) const noexcept { return 0; }
};

profile made{mine{}};
