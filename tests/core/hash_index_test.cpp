#include "gangsched/core/hash_index.hpp"

#include <cstdint>
#include <map>

#include "support/catch.hpp"
#include "support/dice.hpp"

namespace gangsched::testing::hash_index_test {

TEST_CASE("a hash index finds what was inserted and not erased, however the hashes collide", "[core][hash_index]") {
  dice random{7};
  for (const std::uint64_t hashes : {std::uint64_t{3}, std::uint64_t{40}, std::uint64_t{1} << 40}) {
    hash_index<std::uint32_t> index;
    std::map<std::uint32_t, std::size_t> there;  // with their hashes
    for (std::uint32_t step = 0; step < 3000; ++step) {
      if (there.empty() || random.below(3) != 0) {
        const std::size_t hash = static_cast<std::size_t>(random.below(hashes));
        index.insert(hash, step);
        there[step] = hash;
      } else {
        auto gone = there.begin();
        std::advance(gone, random.between(0, static_cast<std::int64_t>(there.size()) - 1));
        index.erase(gone->second, [&](std::uint32_t value) { return value == gone->first; });
        CHECK(index.find(gone->second, [&](std::uint32_t value) { return value == gone->first; }) == nullptr);
        there.erase(gone);
      }
      if (step % 100 != 0) continue;
      REQUIRE(index.size() == there.size());
      for (const auto& [value, hash] : there) {
        const std::uint32_t* found = index.find(hash, [&, wanted = value](std::uint32_t one) { return one == wanted; });
        REQUIRE(found != nullptr);
      }
    }
  }
}

}  // namespace gangsched::testing::hash_index_test
