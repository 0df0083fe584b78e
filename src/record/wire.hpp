#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "gangsched/core/hash.hpp"

/// Bytes of a decision log: numbers as varints, everything else in the order of its members. The same on every machine.
namespace gangsched::inline GANGSCHED_ABI::record {

__extension__ using wide = unsigned __int128;

using bytes = std::vector<std::byte>;

class writer {
 public:
  explicit writer(bytes& to) noexcept : to_(&to) {}

  void byte(unsigned value) { to_->push_back(static_cast<std::byte>(value & 0xff)); }
  void number(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) byte(static_cast<unsigned>(value & 0x7f) | 0x80u);
    byte(static_cast<unsigned>(value));
  }
  void wide_number(wide value) {
    number(static_cast<std::uint64_t>(value));
    number(static_cast<std::uint64_t>(value >> 64));
  }
  void fixed(std::uint64_t value, unsigned size) {
    for (unsigned at = 0; at < size; ++at) byte(static_cast<unsigned>(value >> (8 * at)));
  }
  void text(std::string_view value) {
    number(value.size());
    raw(std::as_bytes(std::span{value.data(), value.size()}));
  }
  void raw(std::span<const std::byte> all) { to_->insert(to_->end(), all.begin(), all.end()); }

 private:
  bytes* to_;
};

/// Reads what may be anything: what is not there is 0 or empty, and `good` is false from then on.
class reader {
 public:
  explicit reader(std::span<const std::byte> from) noexcept : from_(from) {}

  [[nodiscard]] bool good() const noexcept { return good_; }
  [[nodiscard]] bool done() const noexcept { return at_ == from_.size(); }
  [[nodiscard]] std::size_t at() const noexcept { return at_; }
  void fail() noexcept { good_ = false, at_ = from_.size(); }

  [[nodiscard]] unsigned byte() noexcept {
    if (at_ == from_.size()) return fail(), 0u;
    return std::to_integer<unsigned>(from_[at_++]);
  }
  [[nodiscard]] std::uint64_t number() noexcept {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const unsigned one = byte();
      if (shift == 63 && one > 1) return fail(), 0;
      value |= std::uint64_t{one & 0x7fu} << shift;
      if ((one & 0x80u) == 0) return value;
    }
    return fail(), 0;
  }
  [[nodiscard]] wide wide_number() noexcept {
    const std::uint64_t low = number();
    return wide{number()} << 64 | low;
  }
  [[nodiscard]] std::uint64_t fixed(unsigned size) noexcept {
    std::uint64_t value = 0;
    for (unsigned at = 0; at < size; ++at) value |= std::uint64_t{byte()} << (8 * at);
    return value;
  }
  /// How many of something follow: each takes a byte at least.
  [[nodiscard]] std::size_t count() noexcept {
    const std::uint64_t value = number();
    if (value > from_.size() - at_) return fail(), 0;
    return static_cast<std::size_t>(value);
  }
  [[nodiscard]] std::span<const std::byte> raw(std::size_t size) noexcept {
    if (size > from_.size() - at_) return fail(), std::span<const std::byte>{};
    at_ += size;
    return from_.subspan(at_ - size, size);
  }
  [[nodiscard]] std::string_view text() noexcept {
    const std::span<const std::byte> all = raw(count());
    return {reinterpret_cast<const char*>(all.data()), all.size()};
  }

 private:
  std::span<const std::byte> from_;
  std::size_t at_ = 0;
  bool good_ = true;
};

[[nodiscard]] inline std::uint64_t checksum(std::uint64_t before, std::span<const std::byte> all) noexcept {
  digest sum;
  sum.add(before);
  sum.add(std::string_view{reinterpret_cast<const char*>(all.data()), all.size()});
  return sum.value();
}

}  // namespace gangsched::inline GANGSCHED_ABI::record
