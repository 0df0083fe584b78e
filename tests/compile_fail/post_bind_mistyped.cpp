// expect: gangsched: the hook for point::post_bind has the wrong type; expected: void post_bind\b
#include "gangsched/framework/profile.hpp"
#include "gangsched/plugins/priority_sort.hpp"

using namespace gangsched;

struct mine {
  static constexpr std::string_view name = "Mine";
  using points = implements<point::post_bind>;
  status post_bind(const reservation&) noexcept { return {}; }
};

profile made{priority_sort{}, mine{}};
