#pragma once
#include <array>
#include <bit>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gangsched/core/config.hpp"
#include "gangsched/core/result.hpp"

// NVIDIA's Multi-Instance GPU: which instances fit into a GPU, where, and what they leave for others (NVIDIA's MIG user guide). A GPU is a
// mask of its memory slices. An instance takes `memory_slices` of them from a start that its profile allows; the budget of compute slices
// needs no check, because the starts allow no more.

namespace gangsched::inline GANGSCHED_ABI {

/// What an instance takes of the GPU's media engines (video decoders, JPEG, optical flow).
enum class mig_media : unsigned char {
  none,  ///< none that another instance could lack: "-me", and plain profiles where no profile takes all
  any,   ///< its share of the engines; conflicts with `all` only
  one,   ///< the single set that each GPU has: "+me"
  all,   ///< every engine: "+me.all"
};

/// A kind of GPU instance: `nvidia-smi mig -lgip` and `-lgipp`.
struct mig_profile {
  std::string name;                 ///< "1g.5gb", "1g.5gb+me", "1g.24gb-me", "1g.24gb+me.all", "1g.24gb+gfx"
  std::uint8_t compute_slices = 0;  ///< the g of the name
  std::uint8_t memory_slices = 0;   ///< adjacent ones: the size of its placements
  std::uint8_t starts = 0;          ///< bit s: an instance may begin at memory slice s
  mig_media media = mig_media::none;
  std::uint8_t max_instances = 0;  ///< on an empty GPU; follows from the rest
  std::uint16_t sm = 0;          ///< streaming multiprocessors, 0 if not known: not proportional to the compute slices
  std::uint32_t memory_mib = 0;  ///< usable memory, 0 if unknown: less than the gigabytes in the name

  friend bool operator==(const mig_profile&, const mig_profile&) = default;
};

/// The products with known tables. H800, A800 and the like count as the product that they replace.
enum class mig_product : unsigned char {
  a30,
  a100_40gb,
  a100_80gb,   ///< and A800
  h100_80gb,   ///< and H800
  h100_94gb,   ///< H100 NVL, H800 NVL
  h100_96gb,   ///< GH200 96 GB, H20
  h200_141gb,  ///< and H20 141 GB
  gh200_144gb,
  b200_180gb,
  gb200_186gb,
  b300,
  gb300,         ///< only the known profiles
  rtx_pro_6000,  ///< 96 GB; starts follow from the counts, as on A30
};
inline constexpr std::size_t mig_products = static_cast<std::size_t>(mig_product::rtx_pro_6000) + 1;

/// "A100-40GB": short, and accepted by find_mig_product().
[[nodiscard]] GANGSCHED_API std::string_view to_string(mig_product product) noexcept;

/// The product that the label nvidia.com/gpu.product names ("NVIDIA-A100-SXM4-80GB-MIG-1g.10gb", "NVIDIA-H100-NVL"), that NVML names
/// ("NVIDIA H200"), or that to_string() named. None if there is no table, or if the text is ambiguous ("A100").
[[nodiscard]] GANGSCHED_API std::optional<mig_product> find_mig_product(std::string_view gpu_name) noexcept;

/// A profile's index in its table.
using mig_profile_index = std::uint8_t;

/// What the instances on one GPU take. Made by mig_table::place() from an empty one; equal sets of instances make equal states.
struct mig_state {
  std::uint8_t mask = 0;   ///< bit s: memory slice s is taken
  std::uint8_t media = 0;  ///< users of media engines: `any` count 1 each, `one` 16, `all` 32; `none` nothing

  friend constexpr bool operator==(const mig_state&, const mig_state&) noexcept = default;
};

/// An instance of a GPU: its profile, and its first memory slice.
struct mig_placement {
  mig_profile_index profile = 0;
  std::uint8_t start = 0;

  friend constexpr auto operator<=>(const mig_placement&, const mig_placement&) noexcept = default;
};

/// Which of several legal starts. `hami` is HAMi's rule: profiles of 1 and 3 compute slices the highest, because 3g at 0 keeps
/// 4g out and 1g at 0 several; others the lowest.
enum class mig_start : unsigned char { low, high, hami };

/// The profiles of one product, with look-up tables over the 256 masks. Immutable; a copy costs 512 bytes a profile.
class GANGSCHED_API mig_table {
 public:
  /// The table of a known product.
  [[nodiscard]] static mig_table of(mig_product product);

  /// The table of another product. max_instances may be 0: it is computed. Errors, object "MIG table @p name": no profile or more than 64;
  /// slices not in 1 … 8; a profile without name, slices or starts, with a duplicate name (also in its resource form), beyond the GPU's
  /// slices, with a max_instances that contradicts the starts; or profiles that fit together and need more compute slices than there are.
  static result<mig_table> make(std::string name, std::uint8_t compute_slices, std::uint8_t memory_slices,
                                std::vector<mig_profile> profiles);

  [[nodiscard]] std::string_view name() const noexcept { return name_; }
  [[nodiscard]] std::uint8_t compute_slices() const noexcept { return compute_slices_; }
  [[nodiscard]] std::uint8_t memory_slices() const noexcept { return memory_slices_; }
  [[nodiscard]] std::span<const mig_profile> profiles() const noexcept { return {profiles_.data(), profiles_.size()}; }
  [[nodiscard]] const mig_profile& operator[](mig_profile_index profile) const noexcept {
    GANGSCHED_ASSERT(profile < profiles_.size());
    return profiles_[profile];
  }

  /// The profile of that name, or of that resource: "1g.5gb+me", "mig-1g.5gb.me", "nvidia.com/mig-1g.5gb.me".
  [[nodiscard]] std::optional<mig_profile_index> find_profile(std::string_view name) const noexcept;

  /// Where one more instance can begin: bit s for start s. 0: it does not fit. O(1).
  [[nodiscard]] std::uint8_t fits(mig_state state, mig_profile_index profile) const noexcept {
    return media_free(state.media, (*this)[profile].media) ? fits_[at(profile, state.mask)] : std::uint8_t{0};
  }
  /// The same of each of the 256 masks, as far as media engines do not matter.
  [[nodiscard]] const std::uint8_t* fits_by_mask(mig_profile_index profile) const noexcept {
    GANGSCHED_ASSERT(profile < profiles_.size());
    return &fits_[at(profile, 0)];
  }
  /// How many more instances of this one profile fit. O(1).
  [[nodiscard]] std::uint8_t room(mig_state state, mig_profile_index profile) const noexcept {
    const mig_media media = (*this)[profile].media;
    if (!media_free(state.media, media)) return 0;
    const std::uint8_t disjoint = max_disjoint(state.mask, profile);
    return media == mig_media::one || media == mig_media::all ? std::uint8_t{disjoint != 0} : disjoint;
  }
  /// As room(), ignoring media engines: how many starts' slices are free and disjoint. O(1).
  [[nodiscard]] std::uint8_t max_disjoint(std::uint8_t mask, mig_profile_index profile) const noexcept {
    GANGSCHED_ASSERT(profile < profiles_.size());
    return disjoint_[at(profile, mask)];
  }
  /// The memory slices of an instance.
  [[nodiscard]] std::uint8_t slices(mig_placement instance) const noexcept {
    return static_cast<std::uint8_t>(((1u << (*this)[instance.profile].memory_slices) - 1u) << instance.start);
  }
  /// Free memory slices, whether or not a profile can use them.
  [[nodiscard]] std::uint8_t free_slices(mig_state state) const noexcept {
    return static_cast<std::uint8_t>(std::popcount(((1u << memory_slices_) - 1u) & ~unsigned{state.mask}));
  }

  /// The state with one instance more. Precondition: fits(@p state, profile) has the start.
  [[nodiscard]] mig_state place(mig_state state, mig_placement instance) const noexcept {
    GANGSCHED_ASSERT((fits(state, instance.profile) >> instance.start & 1u) != 0);
    return {static_cast<std::uint8_t>(state.mask | slices(instance)),
            static_cast<std::uint8_t>(state.media + media_units((*this)[instance.profile].media))};
  }
  /// The opposite of place(). Precondition: the instance is there.
  [[nodiscard]] mig_state remove(mig_state state, mig_placement instance) const noexcept {
    GANGSCHED_ASSERT((state.mask & slices(instance)) == slices(instance));
    GANGSCHED_ASSERT(state.media >= media_units((*this)[instance.profile].media));
    return {static_cast<std::uint8_t>(state.mask & ~slices(instance)),
            static_cast<std::uint8_t>(state.media - media_units((*this)[instance.profile].media))};
  }

  /// Where to put one more instance; none if it does not fit. O(1).
  [[nodiscard]] std::optional<std::uint8_t> choose_start(mig_state state, mig_profile_index profile,
                                                         mig_start rule = mig_start::hami) const noexcept {
    const std::uint8_t starts = fits(state, profile);
    if (starts == 0) return std::nullopt;
    return pick(starts, profile, rule);
  }
  /// The start that @p rule chooses of @p starts, which are not 0.
  [[nodiscard]] std::uint8_t pick(std::uint8_t starts, mig_profile_index profile, mig_start rule) const noexcept {
    GANGSCHED_ASSERT(starts != 0);
    const std::uint8_t compute = (*this)[profile].compute_slices;
    const bool high = rule == mig_start::high || (rule == mig_start::hami && (compute == 1 || compute == 3));
    return static_cast<std::uint8_t>(high ? std::bit_width(starts) - 1 : std::countr_zero(starts));
  }

  /// Starts for all of @p wanted (profiles, repeated as often as wanted) beside what is there, in the order of @p wanted; none
  /// if there are none: the search is exhaustive. It tries starts in HAMi's order, the profiles with the fewest starts first, of
  /// these the largest, and at most 8 deep: microseconds.
  [[nodiscard]] std::optional<std::vector<mig_placement>> plan(mig_state state,
                                                               std::span<const mig_profile_index> wanted) const;

 private:
  mig_table(std::string name, std::uint8_t compute_slices, std::uint8_t memory_slices,
            std::vector<mig_profile> profiles);

  static constexpr std::uint8_t media_units(mig_media media) noexcept {
    return media == mig_media::none ? 0 : media == mig_media::any ? 1 : media == mig_media::one ? 16 : 32;
  }
  static constexpr bool media_free(std::uint8_t users, mig_media media) noexcept {
    return media == mig_media::none || (media == mig_media::any   ? users < 32
                                        : media == mig_media::one ? users < 16
                                                                  : users == 0);
  }
  static constexpr std::size_t at(mig_profile_index profile, std::uint8_t mask) noexcept {
    return std::size_t{profile} * 256 + mask;
  }
  [[nodiscard]] unsigned max_compute() const;

  std::string name_;
  std::uint8_t compute_slices_, memory_slices_;
  std::vector<mig_profile> profiles_;
  std::vector<std::uint8_t> fits_, disjoint_;  // by at(profile, mask)
};

/// How much of a GPU's free memory future requests cannot use (FGD's measure on slices): F(mask) = Σ_p weight_p · (free slices − size_p ·
/// max_disjoint(mask, p)), in slices × the sum of weights. Integers, 2 KiB. Between GPUs and starts, the least growth of F is the best:
/// compare delta()s of GPUs with the same weights.
class GANGSCHED_API mig_fragmentation {
 public:
  /// With default_weights().
  explicit mig_fragmentation(const mig_table& table);
  /// @p weights: how often each profile of the table is asked for, 0 … 1'000'000 each, not all of them 0; their scale does not
  /// matter. Errors, object "MIG fragmentation of <table>": their number is not that of the profiles; a weight out of range.
  static result<mig_fragmentation> make(const mig_table& table, std::span<const std::int64_t> weights);
  /// 1 for the smallest profile of each number of compute slices, 0 for others: a uniform mix.
  [[nodiscard]] static std::vector<std::int64_t> default_weights(const mig_table& table);

  [[nodiscard]] std::int64_t operator()(std::uint8_t mask) const noexcept { return values_[mask]; }
  [[nodiscard]] std::int64_t weight_sum() const noexcept { return weight_sum_; }

  /// The change by an instance; negative if it takes slices that are of little use anyway.
  [[nodiscard]] std::int64_t delta(const mig_table& table, mig_state state, mig_placement instance) const noexcept {
    return values_[state.mask | table.slices(instance)] - values_[state.mask];
  }

  struct choice {
    std::uint8_t start;
    std::int64_t delta;
    friend constexpr bool operator==(const choice&, const choice&) noexcept = default;
  };
  /// The start with the least delta(), of several the one that HAMi's rule takes; none if the instance does not fit.
  /// @p table is the one this was made from. O(starts).
  [[nodiscard]] std::optional<choice> best(const mig_table& table, mig_state state,
                                           mig_profile_index profile) const noexcept;

 private:
  mig_fragmentation() = default;
  void fill(const mig_table& table, std::span<const std::int64_t> weights) noexcept;

  std::array<std::int64_t, 256> values_{};
  std::int64_t weight_sum_ = 0;
};

}  // namespace gangsched::inline GANGSCHED_ABI

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/devices/mig.cpp"
#endif
