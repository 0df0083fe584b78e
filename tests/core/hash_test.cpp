#include <bit>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "gangsched/core/hash.hpp"
#include "support/catch.hpp"

namespace gangsched::testing::hash_test {

using namespace std::string_view_literals;

namespace {

template <class... Parts>
constexpr std::uint64_t digest_of(Parts... parts) {
  digest d;
  (d.add(parts), ...);
  return d.value();
}

}  // namespace

TEST_CASE("mix64 gives the published sequence of splitmix64 seeded with 0", "[core][hash]") {
  constexpr std::uint64_t step = 0x9e3779b97f4a7c15u;
  STATIC_REQUIRE(mix64(0) == 0xe220a8397b1dcdafu);
  STATIC_REQUIRE(mix64(step) == 0x6e789e6aa1b965f4u);
  STATIC_REQUIRE(mix64(2 * step) == 0x06c45d188009454fu);
}

TEST_CASE("mix64 flips about half of the output for every input bit", "[core][hash]") {
  for (unsigned bit = 0; bit < 64; ++bit) {
    int flipped = 0;
    for (std::uint64_t x = 0; x < 1000; ++x) flipped += std::popcount(mix64(x) ^ mix64(x ^ (std::uint64_t{1} << bit)));
    CAPTURE(bit);
    CHECK(flipped > 31'000);
    CHECK(flipped < 33'000);
  }
}

TEST_CASE("a digest has the same value on every machine", "[core][hash]") {
  // Computed apart, in Python.
  STATIC_REQUIRE(digest{}.value() == 0x6a09e667f3bcc908u);
  STATIC_REQUIRE(digest_of(std::uint64_t{1}) == 0x962fec45485bb046u);
  STATIC_REQUIRE(digest_of(""sv) == 0x6dc9f14b373a6867u);
  STATIC_REQUIRE(digest_of("gpu.example.com"sv) == 0x66b7adb35dd8ec92u);
  STATIC_REQUIRE(digest_of("\0"sv) == 0xba4e6d01e5c67215u);
  STATIC_REQUIRE(digest_of("\xff\x80"sv) == 0x07a418d995b92f7fu);
  STATIC_REQUIRE(digest_of("node-1"sv, std::uint64_t{7}) == 0x3b9469d9c1e4dafdu);
}

TEST_CASE("a digest depends on the order of its parts and on where they end", "[core][hash]") {
  CHECK(digest_of(std::uint64_t{1}, std::uint64_t{2}) != digest_of(std::uint64_t{2}, std::uint64_t{1}));
  CHECK(digest_of("ab"sv, "c"sv) != digest_of("a"sv, "bc"sv));
  CHECK(digest_of("abc"sv) != digest_of("abc"sv, ""sv));
  CHECK(digest_of(std::uint64_t{0}) != digest_of(std::uint64_t{0}, std::uint64_t{0}));
}

TEST_CASE("texts that differ only in trailing zero bytes have different digests", "[core][hash]") {
  const std::string zeros(32, '\0');
  std::set<std::uint64_t> seen;
  for (std::size_t length = 0; length <= 32; ++length)
    seen.insert(digest_of(std::string_view(zeros).substr(0, length)));
  CHECK(seen.size() == 33);
}

TEST_CASE("changing any one byte of a text changes its digest", "[core][hash]") {
  const std::string text = "topology.kubernetes.io/zone";
  std::set<std::uint64_t> seen{digest_of(std::string_view(text))};
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string other = text;
    other[i] = static_cast<char>(other[i] ^ 0x80);
    seen.insert(digest_of(std::string_view(other)));
  }
  CHECK(seen.size() == text.size() + 1);
}

}  // namespace gangsched::testing::hash_test
