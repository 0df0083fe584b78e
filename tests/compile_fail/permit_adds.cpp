// expect: no member named .add.|has no member named .add.
#include "gangsched/framework/profile.hpp"

using namespace gangsched;

// What is noted after reserve would never be taken back.
struct mine {
  static constexpr std::string_view name = "Mine";
  using points = implements<point::permit>;
  node_column held;
  void attach(column_maker& columns) { held = columns.make_node_column(); }
  permit_verdict permit(const reservation& r, permit_room&) {
    r.add(held, 1);
    return {};
  }
};
