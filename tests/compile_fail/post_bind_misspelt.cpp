// expect: gangsched: the plugin lists point::post_bind but has no hook for it \(misspelt\?\); expected: void post_bind\b
#include "gangsched/framework/profile.hpp"
#include "gangsched/plugins/priority_sort.hpp"

using namespace gangsched;

struct mine {
  static constexpr std::string_view name = "Mine";
  using points = implements<point::post_bind>;
  void postbind(const reservation&) noexcept {}
};

profile made{priority_sort{}, mine{}};
