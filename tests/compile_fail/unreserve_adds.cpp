// expect: gangsched: the hook for point::reserve has the wrong type; expected: .* and void unreserve\(const reservation&\) noexcept
#include "gangsched/framework/profile.hpp"
#include "gangsched/plugins/priority_sort.hpp"

using namespace gangsched;

struct mine {
  static constexpr std::string_view name = "Mine";
  using points = implements<point::reserve>;
  status reserve(const new_reservation&) { return {}; }
  void unreserve(const new_reservation&) noexcept {}
};

profile made{priority_sort{}, mine{}};
