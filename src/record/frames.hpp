#pragma once
#include <string>
#include <utility>
#include <vector>

#include "gangsched/framework/plugin_entry.hpp"
#include "gangsched/src/record/archive.hpp"
#include "gangsched/version.hpp"

/// What a log is made of: eight letters, the version of the format, and records, each with its size and a check of that before it, and
/// behind it a checksum over all until then. A record is a kind (`told`; 0: a digest), and of a call which scheduler, arguments, answer and
/// words.
namespace gangsched::inline GANGSCHED_ABI::record {

#define GANGSCHED_TEXT_OF(x) #x
#define GANGSCHED_TEXT(x) GANGSCHED_TEXT_OF(x)
/// Of the library that writes.
inline constexpr const char* own_version = GANGSCHED_TEXT(GANGSCHED_VERSION_MAJOR) "." GANGSCHED_TEXT(
    GANGSCHED_VERSION_MINOR) "." GANGSCHED_TEXT(GANGSCHED_VERSION_PATCH);

inline constexpr std::string_view magic = "gangslog";
inline constexpr unsigned format_version = 2;
inline constexpr unsigned size_check_size = 2, checksum_size = 4;
inline constexpr std::uint64_t largest_record = std::uint64_t{1} << 32;
inline constexpr std::uint8_t digest_kind = 0, beginning_kind = 255;

/// The first record.
struct beginning {
  std::string version;  ///< of the library
  std::string about;
  std::uint64_t log_bound = 0;
  kube_semantics semantics = {};
  bool matches_devices = false;
  std::uint64_t attempts_after = 0;
  bool keeps_specs = false;
};
GANGSCHED_FIELDS(beginning, version, about, log_bound, semantics, matches_devices, attempts_after, keeps_specs);

/// A profile as far as a log knows it: a plugin's arguments are not among what it can be asked for.
struct profile_words {
  struct plugin {
    std::string name;
    std::uint32_t points = 0;
    std::int64_t weight = 0;
  };
  std::string scheduler_name;
  std::optional<std::int32_t> percentage_of_nodes_to_score = {};
  std::vector<plugin> plugins = {};
  std::vector<std::vector<std::uint16_t>> order = {};  ///< by point
};
GANGSCHED_FIELDS(profile_words::plugin, name, points, weight);
GANGSCHED_FIELDS(profile_words, scheduler_name, percentage_of_nodes_to_score, plugins, order);

[[nodiscard]] inline std::vector<profile_words> words_of(std::span<const kernel_table> profiles) {
  std::vector<profile_words> all;
  for (const kernel_table& one : profiles) {
    profile_words& made = all.emplace_back();
    made.scheduler_name = one.scheduler_name;
    made.percentage_of_nodes_to_score = one.percentage_of_nodes_to_score;
    for (const plugin_entry& plugin : one.plugins)
      made.plugins.push_back({plugin.name, plugin.points.bits, plugin.weight});
    made.order.assign(one.order.begin(), one.order.end());
  }
  return all;
}

/// Arguments of `make_scheduler`.
struct scheduler_words {
  std::vector<profile_words> profiles = {};
  scheduler_options options = {};
};
GANGSCHED_FIELDS(scheduler_words, profiles, options);

template <class T>
[[nodiscard]] bytes bytes_of(const T& value) {
  bytes made;
  writer out{made};
  put_archive{out}.put(value);
  return made;
}
/// False if @p from is not just that.
template <class T>
[[nodiscard]] bool read_all(std::span<const std::byte> from, T& value) {
  reader in{from};
  get_archive{in}.get(value);
  return in.good() && in.done();
}

}  // namespace gangsched::inline GANGSCHED_ABI::record
