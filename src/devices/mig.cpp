#include "gangsched/devices/mig.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace gangsched::inline GANGSCHED_ABI {

namespace detail {

/// The products with 7 compute and 8 memory slices differ in names only. An empty name: the product has no such profile.
struct mig_seven {
  std::string_view one, one_double, two, three, four, seven;
  bool has_me = true;
  std::array<std::uint32_t, 4> mib{};  ///< of 1, 2, 4 and 8 memory slices
  std::array<std::uint16_t, 6> sm{};   ///< in the order of the names
};

// Sizes and SMs as drivers report them where a report is at hand: A100 and H100 80 GB, H100 NVL. SMs of the H100 80 GB are left out
// because its SXM and PCIe boards differ.
inline constexpr mig_seven mig_a100_40gb{"1g.5gb",
                                         "1g.10gb",
                                         "2g.10gb",
                                         "3g.20gb",
                                         "4g.20gb",
                                         "7g.40gb",
                                         true,
                                         {4864, 9856, 19968, 40192},
                                         {14, 14, 28, 42, 56, 98}};
inline constexpr mig_seven mig_a100_80gb{"1g.10gb",
                                         "1g.20gb",
                                         "2g.20gb",
                                         "3g.40gb",
                                         "4g.40gb",
                                         "7g.80gb",
                                         true,
                                         {9856, 19968, 40192, 80384},
                                         {14, 14, 28, 42, 56, 98}};
inline constexpr mig_seven mig_h100_80gb{
    "1g.10gb", "1g.20gb", "2g.20gb", "3g.40gb", "4g.40gb", "7g.80gb", true, {9984, 20096, 40448, 81152}, {}};
inline constexpr mig_seven mig_h100_94gb{"1g.12gb",
                                         "1g.24gb",
                                         "2g.24gb",
                                         "3g.47gb",
                                         "4g.47gb",
                                         "7g.94gb",
                                         true,
                                         {11008, 22144, 47488, 95360},
                                         {16, 26, 32, 60, 64, 132}};
inline constexpr mig_seven mig_h100_96gb{"1g.12gb", "1g.24gb", "2g.24gb", "3g.48gb", "4g.48gb", "7g.96gb"};
inline constexpr mig_seven mig_h200_141gb{"1g.18gb", "1g.35gb", "2g.35gb", "3g.71gb", "4g.71gb", "7g.141gb"};
inline constexpr mig_seven mig_gh200_144gb{"1g.18gb", "1g.36gb", "2g.36gb", "3g.72gb", "4g.72gb", "7g.144gb"};
inline constexpr mig_seven mig_b200_180gb{"1g.23gb", "1g.45gb", "2g.45gb", "3g.90gb", "4g.90gb", "7g.180gb"};
inline constexpr mig_seven mig_gb200_186gb{"1g.24gb", "1g.47gb", "2g.47gb", "3g.95gb", "4g.95gb", "7g.189gb"};
inline constexpr mig_seven mig_b300{"1g.34gb", "1g.67gb", "2g.67gb", "3g.135gb", "4g.135gb", "7g.269gb", false};
inline constexpr mig_seven mig_gb300{"1g.35gb", "", "2g.70gb", "3g.139gb", "", "7g.278gb", false};

inline std::vector<mig_profile> mig_profiles_of(const mig_seven& names) {
  std::vector<mig_profile> all;
  const auto add = [&](std::string name, std::uint8_t compute, std::uint8_t memory, std::uint8_t starts,
                       std::uint8_t max, std::size_t which, mig_media media = mig_media::none) {
    if (!name.empty()) {
      all.push_back({std::move(name), compute, memory, starts, media, max, names.sm[which],
                     names.mib[static_cast<std::size_t>(std::countr_zero(memory))]});
    }
  };
  add(std::string(names.one), 1, 1, 0b0111'1111, 7, 0);
  if (names.has_me) add(std::string(names.one) + "+me", 1, 1, 0b0111'1111, 1, 0, mig_media::one);
  add(std::string(names.one_double), 1, 2, 0b0101'0101, 4, 1);
  add(std::string(names.two), 2, 2, 0b0001'0101, 3, 2);
  add(std::string(names.three), 3, 4, 0b0001'0001, 2, 3);
  add(std::string(names.four), 4, 4, 0b0000'0001, 1, 4);
  add(std::string(names.seven), 7, 8, 0b0000'0001, 1, 5);
  return all;
}

inline std::vector<mig_profile> mig_profiles_of_a30() {
  return {{"1g.6gb", 1, 1, 0b1111, mig_media::none, 4},
          {"1g.6gb+me", 1, 1, 0b1111, mig_media::one, 1},
          {"2g.12gb", 2, 2, 0b0101, mig_media::none, 2},
          {"2g.12gb+me", 2, 2, 0b0101, mig_media::one, 1},
          {"4g.24gb", 4, 4, 0b0001, mig_media::none, 1}};
}

// "+me.all" exists, so plain profiles count as users of the engines.
inline std::vector<mig_profile> mig_profiles_of_rtx_pro_6000() {
  return {{"1g.24gb", 1, 1, 0b1111, mig_media::any, 4},     {"1g.24gb+me", 1, 1, 0b1111, mig_media::one, 1},
          {"1g.24gb+gfx", 1, 1, 0b1111, mig_media::any, 4}, {"1g.24gb+me.all", 1, 1, 0b1111, mig_media::all, 1},
          {"1g.24gb-me", 1, 1, 0b1111, mig_media::none, 4}, {"2g.48gb", 2, 2, 0b0101, mig_media::any, 2},
          {"2g.48gb+gfx", 2, 2, 0b0101, mig_media::any, 2}, {"2g.48gb+me.all", 2, 2, 0b0101, mig_media::all, 1},
          {"2g.48gb-me", 2, 2, 0b0101, mig_media::none, 2}, {"4g.96gb", 4, 4, 0b0001, mig_media::any, 1},
          {"4g.96gb+gfx", 4, 4, 0b0001, mig_media::any, 1}};
}

inline constexpr char mig_upper(char c) noexcept { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }

/// Whether a word of a GPU's name is @p word, which is in capitals.
inline constexpr bool mig_is_word(std::string_view text, std::string_view word) noexcept {
  return std::equal(text.begin(), text.end(), word.begin(), word.end(),
                    [](char a, char b) { return mig_upper(a) == b; });
}

/// The number of "80GB" or "144G"; 0 if the word is nothing like that.
inline constexpr unsigned mig_gigabytes(std::string_view word) noexcept {
  unsigned number = 0;
  std::size_t digits = 0;
  while (digits < word.size() && digits < 4 && word[digits] >= '0' && word[digits] <= '9') {
    number = number * 10 + static_cast<unsigned>(word[digits++] - '0');
  }
  const std::string_view unit = word.substr(digits);
  return digits > 0 && (mig_is_word(unit, "GB") || mig_is_word(unit, "G")) ? number : 0;
}

/// Whether @p text is the profile's name, or has '.' for its '+' as resources and labels must.
inline bool mig_is_name(std::string_view text, std::string_view name) noexcept {
  return std::equal(text.begin(), text.end(), name.begin(), name.end(),
                    [](char a, char b) { return a == b || (a == '.' && b == '+'); });
}

/// A search for starts, the profiles in the order in which they are tried.
struct mig_planner {
  const mig_table& table;
  std::vector<mig_placement>& chosen;  ///< by position; before the search, only the profiles

  bool place(std::size_t position, mig_state state) noexcept {
    if (position == chosen.size()) return true;
    mig_placement& instance = chosen[position];
    unsigned starts = table.fits(state, instance.profile);
    while (starts != 0) {
      instance.start = table.pick(static_cast<std::uint8_t>(starts), instance.profile, mig_start::hami);
      starts &= ~(1u << instance.start);
      // Instances of one profile are interchangeable: the next one gets a start that is tried later.
      const bool same = position > 0 && chosen[position - 1].profile == instance.profile;
      if (same && !later(chosen[position - 1].start, instance)) continue;
      if (place(position + 1, table.place(state, instance))) return true;
    }
    return false;
  }
  bool later(std::uint8_t earlier, mig_placement instance) const noexcept {
    const auto both = static_cast<std::uint8_t>(1u << earlier | 1u << instance.start);
    return table.pick(both, instance.profile, mig_start::hami) == earlier;
  }
};

}  // namespace detail

GANGSCHED_INLINE std::string_view to_string(mig_product product) noexcept {
  switch (product) {
    case mig_product::a30: return "A30";
    case mig_product::a100_40gb: return "A100-40GB";
    case mig_product::a100_80gb: return "A100-80GB";
    case mig_product::h100_80gb: return "H100-80GB";
    case mig_product::h100_94gb: return "H100-94GB";
    case mig_product::h100_96gb: return "H100-96GB";
    case mig_product::h200_141gb: return "H200-141GB";
    case mig_product::gh200_144gb: return "GH200-144GB";
    case mig_product::b200_180gb: return "B200-180GB";
    case mig_product::gb200_186gb: return "GB200-186GB";
    case mig_product::b300: return "B300";
    case mig_product::gb300: return "GB300";
    case mig_product::rtx_pro_6000: return "RTX-PRO-6000";
  }
  return "?";
}

GANGSCHED_INLINE std::optional<mig_product> find_mig_product(std::string_view gpu_name) noexcept {
  std::array<std::string_view, 3> last{};  // the three words before, for "RTX PRO 6000"
  std::string_view model;
  unsigned gigabytes = 0;
  bool nvl = false, rtx_pro_6000 = false, hbm3e = false;
  while (!gpu_name.empty()) {
    const std::size_t end = std::min(gpu_name.find_first_of("- _"), gpu_name.size());
    const std::string_view word = gpu_name.substr(0, end);
    gpu_name.remove_prefix(std::min(end + 1, gpu_name.size()));
    if (detail::mig_is_word(word, "MIG")) break;  // what follows is a profile
    last = {last[1], last[2], word};
    rtx_pro_6000 |=
        detail::mig_is_word(last[0], "RTX") && detail::mig_is_word(last[1], "PRO") && detail::mig_is_word(word, "6000");
    nvl |= detail::mig_is_word(word, "NVL");
    hbm3e |= detail::mig_is_word(word, "3E");
    if (const unsigned number = detail::mig_gigabytes(word); number != 0) gigabytes = number;
    for (const std::string_view known :
         {"A30", "A100", "A100X", "A800", "H100", "H800", "H20", "H200", "GH200", "B200", "GB200", "B300", "GB300"}) {
      if (detail::mig_is_word(word, known)) model = known;
    }
  }
  const auto sized = [&](unsigned usual) { return gigabytes == 0 ? usual : gigabytes; };
  if (rtx_pro_6000) return mig_product::rtx_pro_6000;
  if (model == "A30") return mig_product::a30;
  if (model == "A100X") return mig_product::a100_80gb;
  if (model == "A100" || model == "A800") {
    if (gigabytes == 40) return mig_product::a100_40gb;
    if (gigabytes == 80) return mig_product::a100_80gb;
  }
  if (model == "H100" || model == "H800") {
    if (nvl || gigabytes == 94) return mig_product::h100_94gb;
    if (gigabytes == 96) return mig_product::h100_96gb;
    if (sized(80) == 80) return mig_product::h100_80gb;
  }
  if (model == "H20") {
    if (hbm3e || gigabytes == 141) return mig_product::h200_141gb;
    if (sized(96) == 96) return mig_product::h100_96gb;
  }
  if (model == "H200" && sized(141) == 141) return mig_product::h200_141gb;
  // "GH200 480GB": the number is the CPU's memory.
  if (model == "GH200") return gigabytes == 144 ? mig_product::gh200_144gb : mig_product::h100_96gb;
  if (model == "B200") return mig_product::b200_180gb;
  if (model == "GB200") return mig_product::gb200_186gb;
  if (model == "B300") return mig_product::b300;
  if (model == "GB300") return mig_product::gb300;
  return std::nullopt;
}

GANGSCHED_INLINE mig_table mig_table::of(mig_product product) {
  const auto seven = [&](const detail::mig_seven& names) {
    return mig_table(std::string(to_string(product)), 7, 8, detail::mig_profiles_of(names));
  };
  switch (product) {
    case mig_product::a30: return {std::string(to_string(product)), 4, 4, detail::mig_profiles_of_a30()};
    case mig_product::a100_40gb: return seven(detail::mig_a100_40gb);
    case mig_product::a100_80gb: return seven(detail::mig_a100_80gb);
    case mig_product::h100_80gb: return seven(detail::mig_h100_80gb);
    case mig_product::h100_94gb: return seven(detail::mig_h100_94gb);
    case mig_product::h100_96gb: return seven(detail::mig_h100_96gb);
    case mig_product::h200_141gb: return seven(detail::mig_h200_141gb);
    case mig_product::gh200_144gb: return seven(detail::mig_gh200_144gb);
    case mig_product::b200_180gb: return seven(detail::mig_b200_180gb);
    case mig_product::gb200_186gb: return seven(detail::mig_gb200_186gb);
    case mig_product::b300: return seven(detail::mig_b300);
    case mig_product::gb300: return seven(detail::mig_gb300);
    case mig_product::rtx_pro_6000: break;
  }
  return {std::string(to_string(product)), 4, 4, detail::mig_profiles_of_rtx_pro_6000()};
}

GANGSCHED_INLINE mig_table::mig_table(std::string name, std::uint8_t compute_slices, std::uint8_t memory_slices,
                                      std::vector<mig_profile> profiles)
    : name_(std::move(name)),
      compute_slices_(compute_slices),
      memory_slices_(memory_slices),
      profiles_(std::move(profiles)),
      fits_(profiles_.size() * 256),
      disjoint_(profiles_.size() * 256) {
  for (std::size_t i = 0; i < profiles_.size(); ++i) {
    const auto profile = static_cast<mig_profile_index>(i);
    // Downwards: a mask with more slices taken is a larger number.
    for (unsigned mask = 256; mask-- > 0;) {
      for (unsigned starts = profiles_[i].starts; starts != 0; starts &= starts - 1) {
        const auto start = static_cast<std::uint8_t>(std::countr_zero(starts));
        const std::uint8_t taken = slices({profile, start});
        if ((mask & taken) != 0) continue;
        const std::size_t here = at(profile, static_cast<std::uint8_t>(mask));
        const std::size_t next = at(profile, static_cast<std::uint8_t>(mask | taken));
        fits_[here] = static_cast<std::uint8_t>(fits_[here] | 1u << start);
        disjoint_[here] = std::max(disjoint_[here], static_cast<std::uint8_t>(disjoint_[next] + 1));
      }
    }
  }
}

GANGSCHED_INLINE unsigned mig_table::max_compute() const {
  std::array<unsigned, 256> most{};
  for (unsigned mask = 256; mask-- > 0;) {
    for (std::size_t i = 0; i < profiles_.size(); ++i) {
      const auto profile = static_cast<mig_profile_index>(i);
      for (unsigned starts = fits_[at(profile, static_cast<std::uint8_t>(mask))]; starts != 0; starts &= starts - 1) {
        const auto start = static_cast<std::uint8_t>(std::countr_zero(starts));
        most[mask] = std::max(most[mask], profiles_[i].compute_slices + most[mask | slices({profile, start})]);
      }
    }
  }
  return most[0];
}

GANGSCHED_INLINE result<mig_table> mig_table::make(std::string name, std::uint8_t compute_slices,
                                                   std::uint8_t memory_slices, std::vector<mig_profile> profiles) {
  const auto refused = [&](errc code, std::string field, std::string reason) {
    return error{code, "MIG table " + name, std::move(field), std::move(reason)};
  };
  if (compute_slices < 1 || compute_slices > 8) return refused(errc::out_of_range, "compute_slices", "not in 1 ... 8");
  if (memory_slices < 1 || memory_slices > 8) return refused(errc::out_of_range, "memory_slices", "not in 1 ... 8");
  if (profiles.empty()) return refused(errc::malformed, "profiles", "there are none");
  if (profiles.size() > 64) return refused(errc::out_of_range, "profiles", "more than 64");
  for (std::size_t i = 0; i < profiles.size(); ++i) {
    const mig_profile& one = profiles[i];
    const auto wrong = [&](errc code, std::string_view field, std::string reason) {
      return refused(code, "profiles[" + std::to_string(i) + "]." + std::string(field), std::move(reason));
    };
    if (one.name.empty()) return wrong(errc::malformed, "name", "it is empty");
    for (std::size_t k = 0; k < i; ++k) {
      if (detail::mig_is_name(one.name, profiles[k].name) || detail::mig_is_name(profiles[k].name, one.name)) {
        return wrong(errc::duplicate, "name", "\"" + one.name + "\" is there already");
      }
    }
    if (one.compute_slices < 1 || one.compute_slices > compute_slices) {
      return wrong(errc::out_of_range, "compute_slices", "not in 1 ... " + std::to_string(compute_slices));
    }
    if (one.memory_slices < 1 || one.memory_slices > memory_slices) {
      return wrong(errc::out_of_range, "memory_slices", "not in 1 ... " + std::to_string(memory_slices));
    }
    if (one.starts == 0) return wrong(errc::malformed, "starts", "there are none");
    if (const int last = std::bit_width(one.starts) - 1; last + one.memory_slices > memory_slices) {
      return wrong(errc::out_of_range, "starts",
                   "an instance at " + std::to_string(last) + " ends beyond the " + std::to_string(memory_slices) +
                       " memory slices");
    }
    if (one.media > mig_media::all) return wrong(errc::malformed, "media", "no such value");
  }
  mig_table table(std::move(name), compute_slices, memory_slices, std::move(profiles));
  const std::string object = "MIG table " + table.name_;
  for (std::size_t i = 0; i < table.profiles_.size(); ++i) {
    mig_profile& one = table.profiles_[i];
    const std::uint8_t most = table.room({}, static_cast<mig_profile_index>(i));
    if (one.max_instances == 0) one.max_instances = most;
    if (one.max_instances != most) {
      return error{errc::malformed, object, "profiles[" + std::to_string(i) + "].max_instances",
                   "the starts and media engines give " + std::to_string(most)};
    }
  }
  if (const unsigned most = table.max_compute(); most > compute_slices) {
    return error{errc::malformed, object, "compute_slices",
                 "profiles that fit together need " + std::to_string(most) + ", and there are " +
                     std::to_string(compute_slices)};
  }
  return table;
}

GANGSCHED_INLINE std::optional<mig_profile_index> mig_table::find_profile(std::string_view name) const noexcept {
  constexpr std::string_view domain = "nvidia.com/", prefix = "mig-";
  const bool has_domain = name.starts_with(domain);
  if (has_domain) name.remove_prefix(domain.size());
  if (name.starts_with(prefix))
    name.remove_prefix(prefix.size());
  else if (has_domain)
    return std::nullopt;
  for (std::size_t i = 0; i < profiles_.size(); ++i) {
    if (detail::mig_is_name(name, profiles_[i].name)) return static_cast<mig_profile_index>(i);
  }
  return std::nullopt;
}

GANGSCHED_INLINE std::optional<std::vector<mig_placement>> mig_table::plan(
    mig_state state, std::span<const mig_profile_index> wanted) const {
  std::size_t slices_wanted = 0;
  for (const mig_profile_index profile : wanted) slices_wanted += (*this)[profile].memory_slices;
  if (slices_wanted > free_slices(state)) return std::nullopt;  // so that there are at most 8

  std::vector<mig_profile_index> order(wanted.begin(), wanted.end());
  std::sort(order.begin(), order.end(), [&](mig_profile_index a, mig_profile_index b) {
    const int starts_a = std::popcount((*this)[a].starts), starts_b = std::popcount((*this)[b].starts);
    if (starts_a != starts_b) return starts_a < starts_b;
    const std::uint8_t size_a = (*this)[a].memory_slices, size_b = (*this)[b].memory_slices;
    return size_a != size_b ? size_a > size_b : a < b;
  });
  std::vector<mig_placement> chosen(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) chosen[i].profile = order[i];
  if (!detail::mig_planner{*this, chosen}.place(0, state)) return std::nullopt;

  std::vector<mig_placement> in_order;
  for (const mig_profile_index profile : wanted) {
    const auto one =
        std::find_if(chosen.begin(), chosen.end(), [&](const mig_placement& c) { return c.profile == profile; });
    in_order.push_back(*one);
    chosen.erase(one);
  }
  return in_order;
}

GANGSCHED_INLINE mig_fragmentation::mig_fragmentation(const mig_table& table) { fill(table, default_weights(table)); }

GANGSCHED_INLINE void mig_fragmentation::fill(const mig_table& table, std::span<const std::int64_t> weights) noexcept {
  const unsigned whole = (1u << table.memory_slices()) - 1u;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const auto profile = static_cast<mig_profile_index>(i);
    weight_sum_ += weights[i];
    for (unsigned mask = 0; mask < 256; ++mask) {
      const int free = std::popcount(whole & ~mask);
      const int usable = table[profile].memory_slices * table.max_disjoint(static_cast<std::uint8_t>(mask), profile);
      values_[mask] += weights[i] * (free - usable);
    }
  }
}

GANGSCHED_INLINE result<mig_fragmentation> mig_fragmentation::make(const mig_table& table,
                                                                   std::span<const std::int64_t> weights) {
  const auto refused = [&](errc code, std::string field, std::string reason) {
    return error{code, "MIG fragmentation of " + std::string(table.name()), std::move(field), std::move(reason)};
  };
  if (weights.size() != table.profiles().size()) {
    return refused(errc::malformed, "weights",
                   std::to_string(weights.size()) + " for " + std::to_string(table.profiles().size()) + " profiles");
  }
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] < 0 || weights[i] > 1'000'000) {
      return refused(errc::out_of_range, "weights[" + std::to_string(i) + "]", "not in 0 ... 1000000");
    }
  }
  if (std::all_of(weights.begin(), weights.end(), [](std::int64_t weight) { return weight == 0; })) {
    return refused(errc::malformed, "weights", "all are 0");
  }
  mig_fragmentation fragmentation;
  fragmentation.fill(table, weights);
  return fragmentation;
}

GANGSCHED_INLINE std::vector<std::int64_t> mig_fragmentation::default_weights(const mig_table& table) {
  const auto profiles = table.profiles();
  std::vector<std::int64_t> weights(profiles.size(), 0);
  for (std::size_t i = 0; i < profiles.size(); ++i) {
    weights[i] = std::none_of(profiles.begin(), profiles.end(), [&](const mig_profile& other) {
      if (other.compute_slices != profiles[i].compute_slices) return false;
      if (other.memory_slices != profiles[i].memory_slices) return other.memory_slices < profiles[i].memory_slices;
      return &other < &profiles[i];  // the plain one of several comes first
    });
  }
  return weights;
}

GANGSCHED_INLINE std::optional<mig_fragmentation::choice> mig_fragmentation::best(
    const mig_table& table, mig_state state, mig_profile_index profile) const noexcept {
  std::uint8_t ties = 0;
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (unsigned starts = table.fits(state, profile); starts != 0; starts &= starts - 1) {
    const auto start = static_cast<std::uint8_t>(std::countr_zero(starts));
    const std::int64_t growth = delta(table, state, {profile, start});
    if (growth < least) ties = 0;
    least = std::min(least, growth);
    if (growth == least) ties = static_cast<std::uint8_t>(ties | 1u << start);
  }
  if (ties == 0) return std::nullopt;
  return choice{table.pick(ties, profile, mig_start::hami), least};
}

}  // namespace gangsched::inline GANGSCHED_ABI
