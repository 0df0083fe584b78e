#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "gangsched/core/hash.hpp"

/// What somebody would do who knows the format and means harm.
namespace gangsched::testing {

/// A log whose records are those of @p log, as far as their sizes lead, each with the checksums that belong there.
inline std::vector<std::byte> repaired(std::span<const std::byte> log) {
  constexpr std::size_t beginning = 12, checksum_size = 4;
  std::vector<std::byte> made(log.begin(), log.end());
  const auto checksum = [&](std::uint64_t before, std::size_t at, std::size_t size) {
    digest sum;
    sum.add(before);
    sum.add(std::string_view{reinterpret_cast<const char*>(made.data() + at), size});
    return sum.value();
  };
  if (made.size() < beginning) return made;
  std::uint64_t sum = checksum(0, 0, beginning);
  for (std::size_t at = beginning; at < made.size();) {
    std::uint64_t size = 0;
    const std::size_t first = at;
    for (unsigned shift = 0; shift < 35 && at < made.size(); shift += 7) {
      const auto one = std::to_integer<std::uint64_t>(made[at++]);
      size |= (one & 0x7f) << shift;
      if ((one & 0x80) == 0) break;
    }
    if (made.size() - at < 2) return made;
    const std::uint64_t check = checksum(sum, first, at - first);
    for (unsigned byte = 0; byte < 2; ++byte) made[at++] = static_cast<std::byte>((check >> (8 * byte)) & 0xff);
    if (size > made.size() - at || made.size() - at - size < checksum_size) return made;
    sum = checksum(sum, at, static_cast<std::size_t>(size));
    at += static_cast<std::size_t>(size);
    for (unsigned byte = 0; byte < checksum_size; ++byte)
      made[at++] = static_cast<std::byte>((sum >> (8 * byte)) & 0xff);
  }
  return made;
}

}  // namespace gangsched::testing
