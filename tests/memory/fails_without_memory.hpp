#pragma once
#include <cstddef>
#include <new>
#include <string>

#include "memory/failing_new.hpp"
#include "support/catch.hpp"

namespace gangsched::testing {

/// Makes the call on a World of its own with ever more memory until there is enough. Each time there was too little, all is as before
/// (World::state() says it), and the call can be made again with the same outcome as on another World. @p more(one, other, before) checks
/// what else is to hold of these two then.
/// @return how often there was too little.
template <class World, class Call, class More>
std::size_t fails_without_memory(const Call& call, const More& more) {
  for (std::size_t failures = 0;; ++failures) {
    World one;
    const std::string before = one.state();
    failing_allocation no_memory{static_cast<long>(failures) + 1};
    try {
      call(one);
    } catch (const std::bad_alloc&) {
    }
    if (!no_memory.stop()) return failures;
    REQUIRE(one.state() == before);
    call(one);
    World other;
    call(other);
    REQUIRE(one.state() == other.state());
    more(one, other, before);
    REQUIRE(failures < 10'000);
  }
}
template <class World, class Call>
std::size_t fails_without_memory(const Call& call) {
  return fails_without_memory<World>(call, [](World&, World&, const std::string&) {});
}

}  // namespace gangsched::testing
