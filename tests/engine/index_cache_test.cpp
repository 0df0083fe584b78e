// Which indexes of classes are kept: those used last, while what they were made for holds.
#include "gangsched/engine/index_cache.hpp"

#include "engine_parts.hpp"

namespace gangsched::testing::index_cache_test {

namespace {

struct fixture {
  engine_parts at;
  engine::index_cache cache{at.state};

  class_id add_class(int number) {
    return at.state.class_of(at.add(a_pod{"p" + std::to_string(number)}.cpu(1 + number)).row);
  }
  /// As for a pick.
  void use(class_id cls, std::size_t most) {
    if (cache.use(cls) != nullptr) return;
    auto plan = engine::make_plan(at.profiles.front(), at.state, cls);
    const engine::class_index& made =
        cache.add(cls, std::make_unique<engine::class_index>(at.state, std::move(plan), at.statistics), most);
    CHECK(cache.find(cls) == &made);
  }
};

}  // namespace

TEST_CASE("the index that was used least goes when there are as many as there may be", "[parts]") {
  fixture f;
  const class_id a = f.add_class(0), b = f.add_class(1), c = f.add_class(2);
  for (const class_id cls : {a, b, a, c}) f.use(cls, 2);
  CHECK(f.cache.find(a) != nullptr);
  CHECK(f.cache.find(b) == nullptr);
  CHECK(f.cache.find(c) != nullptr);
  f.cache.erase(a);
  CHECK(f.cache.find(a) == nullptr);
  CHECK(f.cache.all().size() == 1);
}

TEST_CASE("indexes that do not hold any more are not found, and go a few at a time", "[parts]") {
  fixture f;
  std::vector<class_id> all;
  for (int i = 0; i < 20; ++i) all.push_back(f.add_class(i));
  for (const class_id cls : all) f.use(cls, 64);
  CHECK_FALSE(f.cache.drop_outdated());
  f.at.state.topologies.move_plan_epoch();
  for (const class_id cls : all) CHECK(f.cache.find(cls) == nullptr);
  f.use(all.front(), 64);
  CHECK(f.cache.all().size() == 21);
  CHECK(f.cache.drop_outdated());
  CHECK(f.cache.all().size() == 5);
  CHECK(f.cache.drop_outdated());
  CHECK(f.cache.all().size() == 1);
  CHECK_FALSE(f.cache.drop_outdated());
  CHECK(f.cache.find(all.front()) != nullptr);
}

}  // namespace gangsched::testing::index_cache_test
