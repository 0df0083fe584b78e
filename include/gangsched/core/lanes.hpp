#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "gangsched/core/config.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// Code on lanes is always inlined: a calling convention of its own would depend on the machine's vector registers.
#define GANGSCHED_LANES [[gnu::always_inline]] inline

namespace detail {
template <std::size_t N>
struct registers {
  // (gcc 12 does not take the attribute in an alias that depends on a template's parameter.)
  typedef double doubles __attribute__((vector_size(8 * N)));
  typedef std::uint64_t words __attribute__((vector_size(8 * N)));
  typedef std::int32_t integers __attribute__((vector_size(4 * N)));
};
}  // namespace detail

/// The result of a comparison: in each lane all bits where it holds, else none.
template <std::size_t N>
struct lane_truth {
  using words = typename detail::registers<N>::words;
  words all;
  template <class Compared>
  GANGSCHED_LANES static lane_truth of(const Compared& holds) noexcept {
    lane_truth made;
    std::memcpy(&made.all, &holds, sizeof made.all);
    return made;
  }
  GANGSCHED_LANES friend lane_truth operator&(const lane_truth& a, const lane_truth& b) noexcept {
    return {a.all & b.all};
  }
  GANGSCHED_LANES friend lane_truth operator|(const lane_truth& a, const lane_truth& b) noexcept {
    return {a.all | b.all};
  }
  GANGSCHED_LANES friend lane_truth operator~(const lane_truth& a) noexcept { return {~a.all}; }
};

/// @p N doubles at once (2, 4 or 8). Results do not depend on @p N.
template <std::size_t N>
struct lanes {
  using doubles = typename detail::registers<N>::doubles;
  using words = typename detail::registers<N>::words;
  using integers = typename detail::registers<N>::integers;
  doubles all;

  GANGSCHED_LANES static lanes load(const double* from) noexcept {
    lanes made;
    std::memcpy(&made.all, from, sizeof made.all);
    return made;
  }
  GANGSCHED_LANES static lanes of(double each) noexcept { return {doubles{} + each}; }
  GANGSCHED_LANES void store(double* to) const noexcept { std::memcpy(to, &all, sizeof all); }
  GANGSCHED_LANES friend lanes operator+(const lanes& a, const lanes& b) noexcept { return {a.all + b.all}; }
  GANGSCHED_LANES friend lanes operator-(const lanes& a, const lanes& b) noexcept { return {a.all - b.all}; }
  GANGSCHED_LANES friend lanes operator*(const lanes& a, const lanes& b) noexcept { return {a.all * b.all}; }
  GANGSCHED_LANES friend lanes operator/(const lanes& a, const lanes& b) noexcept { return {a.all / b.all}; }
  GANGSCHED_LANES friend lanes larger(const lanes& a, const lanes& b) noexcept {
    return {a.all > b.all ? a.all : b.all};
  }
  /// By lane: @p yes where a > b, else @p no.
  GANGSCHED_LANES friend lanes if_above(const lanes& a, const lanes& b, const lanes& yes, const lanes& no) noexcept {
    return {a.all > b.all ? yes.all : no.all};
  }
  GANGSCHED_LANES friend lane_truth<N> where_above(const lanes& a, const lanes& b) noexcept {
    return lane_truth<N>::of(a.all > b.all);
  }
  GANGSCHED_LANES friend lane_truth<N> where_equal(const lanes& a, const lanes& b) noexcept {
    return lane_truth<N>::of(a.all == b.all);
  }
  /// By lane: whether least ≤ x ≤ most; false for NaN.
  GANGSCHED_LANES friend lane_truth<N> where_within(const lanes& x, double least, double most) noexcept {
    return lane_truth<N>::of(x.all >= doubles{} + least) & lane_truth<N>::of(x.all <= doubles{} + most);
  }
  /// By lane: @p yes where @p holds is true, else @p no.
  GANGSCHED_LANES friend lanes select(const lane_truth<N>& holds, const lanes& yes, const lanes& no) noexcept {
    words a, b;
    std::memcpy(&a, &yes.all, sizeof a);
    std::memcpy(&b, &no.all, sizeof b);
    a = (a & holds.all) | (b & ~holds.all);
    lanes made;
    std::memcpy(&made.all, &a, sizeof made.all);
    return made;
  }
  GANGSCHED_LANES friend double largest_of(const lanes& x) noexcept {
    double found = x.all[0];
    for (std::size_t lane = 1; lane < N; ++lane) found = x.all[lane] > found ? x.all[lane] : found;
    return found;
  }
  /// Truncates toward zero. @pre |x| < 2^31 in every lane
  GANGSCHED_LANES friend lanes whole_part(const lanes& x) noexcept {
    const doubles from = x.all;
    const integers whole = __builtin_convertvector(from, integers);
    return {__builtin_convertvector(whole, doubles)};
  }
};

/// A set of 64 rows, bit i for row i, that is written or read @p N rows at a time, in order.
template <std::size_t N>
class lane_bits {
 public:
  GANGSCHED_LANES lane_bits() noexcept = default;
  GANGSCHED_LANES explicit lane_bits(std::uint64_t rows) noexcept : rows_(words{} + rows) {}
  /// Writes the next N rows: which of them are in the set.
  GANGSCHED_LANES void add(const lane_truth<N>& holds) noexcept {
    rows_ |= holds.all & next_;
    next_ <<= N;
  }
  /// Reads the next N rows: which of them are in the set.
  [[nodiscard]] GANGSCHED_LANES lane_truth<N> take() noexcept {
    const auto in = lane_truth<N>::of((rows_ & next_) == next_);
    next_ <<= N;
    return in;
  }
  [[nodiscard]] GANGSCHED_LANES std::uint64_t all() const noexcept {
    std::uint64_t made = 0;
    for (std::size_t lane = 0; lane < N; ++lane) made |= rows_[lane];
    return made;
  }

 private:
  using words = typename lane_truth<N>::words;
  GANGSCHED_LANES static lane_truth<N> first() noexcept {
    std::uint64_t bits[N];
    for (std::size_t lane = 0; lane < N; ++lane) bits[lane] = std::uint64_t{1} << lane;
    lane_truth<N> made;
    std::memcpy(&made.all, bits, sizeof made.all);
    return made;
  }
  words rows_ = {}, next_ = first().all;
};

/// ⌊part / whole⌋ of integers, where @p inverse is 1 / whole, rounded. @pre 0 ≤ part ≤ 100 · whole and whole ≤ 2^43. (part + ½) / whole
/// is at least ½ / whole ≥ 2^-44 away from every integer; the computed value differs from it by at most 100 · 3 · 2^-53.
template <std::size_t N>
GANGSCHED_LANES lanes<N> quotient_of(const lanes<N>& part, const lanes<N>& inverse) noexcept {
  return whole_part((part + lanes<N>::of(0.5)) * inverse);
}

#if defined(__x86_64__)
namespace detail {
template <class Body, class... A>
[[gnu::target("avx512f,avx512dq,avx512bw,avx512vl")]] inline void run_widest(const A&... arguments) {
  Body::template run<8>(arguments...);
}
template <class Body, class... A>
[[gnu::target("avx2")]] inline void run_wide(const A&... arguments) {
  Body::template run<4>(arguments...);
}
}  // namespace detail
#endif

/// Calls `Body::run<N>(arguments...)`, which is `GANGSCHED_LANES static`, with N = 8, 4 or 2: what the machine's registers hold.
template <class Body, class... A>
void run_lanes(const A&... arguments) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
    return detail::run_widest<Body>(arguments...);
  if (__builtin_cpu_supports("avx2")) return detail::run_wide<Body>(arguments...);
#endif
  Body::template run<2>(arguments...);
}

}  // namespace gangsched::inline GANGSCHED_ABI
