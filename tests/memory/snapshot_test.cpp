#include "gangsched/record/snapshot.hpp"

#include "memory/fails_without_memory.hpp"
#include "memory/full_house.hpp"
#include "support/inside.hpp"

namespace gangsched::testing::memory_snapshot_test {

namespace {

record::restore_setup setup_of(const full_house& house) {
  return {.profiles = {profiles::kube_default()}, .matcher = inside(house.cluster).devices.matcher()};
}

}  // namespace

TEST_CASE("a snapshot for which there is no memory, or none to restore it, leaves everything as it was", "[memory]") {
  full_house house;
  const std::uint64_t before = inside(house.cluster).digest_with_derived();
  const std::vector<std::byte> expected = record::take_snapshot(house.cluster, *house.scheduler).value();
  bool taken = false, restored = false;
  for (long nth = 1; !taken || !restored; nth += nth < 200 ? 1 : 13) {
    std::optional<std::vector<std::byte>> bytes;
    std::optional<forked> again;
    {
      failing_allocation no_memory{nth};
      try {
        bytes.emplace(record::take_snapshot(house.cluster, *house.scheduler).value());
      } catch (const std::bad_alloc&) {
      }
      taken = !no_memory.stop();
    }
    if (bytes) REQUIRE(*bytes == expected);
    record::restore_setup with = setup_of(house);
    {
      failing_allocation no_memory{nth};
      try {
        again.emplace(record::restore_snapshot(expected, std::move(with)).value());
      } catch (const std::bad_alloc&) {
      }
      restored = !no_memory.stop();
    }
    if (again) REQUIRE(again->cluster.digest() == house.cluster.digest());
    REQUIRE(inside(house.cluster).digest_with_derived() == before);
  }
}

TEST_CASE("a house with something of everything goes on from its snapshot", "[memory]") {
  full_house house;
  const std::vector<std::byte> bytes = record::take_snapshot(house.cluster, *house.scheduler).value();
  result<forked> made = record::restore_snapshot(bytes, setup_of(house));
  INFO((made ? std::string{} : made.error().message()));
  REQUIRE(made);
  house.run();
  full_house other;
  *other.scheduler = std::move(made->scheduler);
  other.cluster = std::move(made->cluster);
  other.run();
  CHECK(house.cluster.digest() == other.cluster.digest());
}

}  // namespace gangsched::testing::memory_snapshot_test
