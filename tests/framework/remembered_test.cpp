#include "gangsched/framework/remembered.hpp"

#include <memory>
#include <utility>

#include "support/catch.hpp"

namespace gangsched::testing::remembered_test {

struct notes;
struct plugin {
  remembered<notes> notes_ = {};
};
struct notes {
  int read = 0;
  std::shared_ptr<int> alive = std::make_shared<int>(0);
};

TEST_CASE("what a plugin remembers is made when it is asked for, moves with it, and is not copied", "[framework]") {
  plugin one;
  one.notes_->read = 7;
  CHECK((*one.notes_).read == 7);

  const plugin copy = one;
  CHECK(copy.notes_->read == 0);
  CHECK(one.notes_->read == 7);

  plugin moved = std::move(one);
  CHECK(moved.notes_->read == 7);

  moved = copy;
  CHECK(moved.notes_->read == 0);
}

TEST_CASE("what a plugin remembers ends with it", "[framework]") {
  std::weak_ptr<int> alive;
  {
    const plugin one;
    alive = one.notes_->alive;
    CHECK(!alive.expired());
  }
  CHECK(alive.expired());
}

}  // namespace gangsched::testing::remembered_test
