#include "gangsched/record/snapshot.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "gangsched/src/record/other_profiles.hpp"
#include "gangsched/src/record/saved_fields.hpp"

// Eight letters, the version of the format, the size of what follows, that, and a checksum over all before it.
namespace gangsched::inline GANGSCHED_ABI::record {

namespace {

constexpr std::string_view snapshot_magic = "gangsnap";
constexpr unsigned snapshot_version = 3, sum_size = 8, beginning_size = 8 + 4 + 8;

[[nodiscard]] result<bytes> write(const cluster& of, const scheduler* by) {
  auto state = saved_state::of(of, by);
  if (!state) return std::move(state).error();
  snapshot_words words{own_version, {}, std::move(state->cluster), std::move(state->scheduler)};
  if (by != nullptr) words.profiles = words_of(saved_state::profiles_of(*by));
  bytes made;
  writer out{made};
  out.raw(std::as_bytes(std::span{snapshot_magic.data(), snapshot_magic.size()}));
  out.fixed(snapshot_version, 4);
  out.fixed(0, 8);
  put_archive{out}.put(words);
  const std::uint64_t size = made.size() - beginning_size;
  for (unsigned at = 0; at < 8; ++at) made[12 + at] = static_cast<std::byte>((size >> (8 * at)) & 0xff);
  out.fixed(checksum(0, made), sum_size);
  return made;
}

[[nodiscard]] error refused(const char* field, std::string why) {
  return {errc::malformed, "snapshot", field, std::move(why)};
}

[[nodiscard]] result<snapshot_words> read(std::span<const std::byte> snapshot) {
  reader in{snapshot};
  const std::span<const std::byte> letters = in.raw(snapshot_magic.size());
  const auto expected = std::as_bytes(std::span{snapshot_magic.data(), snapshot_magic.size()});
  if (!std::equal(letters.begin(), letters.end(), expected.begin(), expected.end()))
    return refused("bytes", "are not those of a snapshot");
  const std::uint64_t version = in.fixed(4);
  if (!in.good()) return refused("bytes", "are cut off");
  if (version != snapshot_version)
    return refused("version",
                   "is " + std::to_string(version) + ", this library reads " + std::to_string(snapshot_version));
  const std::uint64_t size = in.fixed(8);
  if (!in.good() || snapshot.size() < beginning_size + sum_size || size != snapshot.size() - beginning_size - sum_size)
    return refused("bytes", "are cut off, or more than there were");
  const std::span<const std::byte> body = in.raw(static_cast<std::size_t>(size));
  if (in.fixed(sum_size) != checksum(0, snapshot.first(beginning_size + body.size())))
    return refused("checksum", "does not match: the bytes are damaged");
  snapshot_words words;
  if (!read_all(body, words)) return refused("bytes", "are damaged");
  if (words.cluster.log_bound > cluster_options::most_log_bound) return refused("log_bound", "is more than 2^40");
  return words;
}

/// A table of amounts has so many words at most for each byte that there is.
[[nodiscard]] std::uint64_t most_words(std::span<const std::byte> snapshot) noexcept {
  return 256 * std::uint64_t{snapshot.size()} + (std::uint64_t{1} << 16);
}

}  // namespace

result<std::vector<std::byte>> take_snapshot(const cluster& of, const scheduler& by) { return write(of, &by); }
result<std::vector<std::byte>> take_snapshot(const cluster& of) { return write(of, nullptr); }

result<forked> restore_snapshot(std::span<const std::byte> snapshot, restore_setup setup) {
  auto words = read(snapshot);
  if (!words) return std::move(words).error();
  if (!words->scheduler) return error{errc::wrong_state, "snapshot", "scheduler", "the cluster was saved alone"};
  if (auto other = other_profiles(words->profiles, words_of(setup.profiles), "saved")) return *std::move(other);
  const saved_state state{std::move(words->cluster), std::move(words->scheduler)};
  auto made = state.restore(std::move(setup.profiles), setup.matcher, most_words(snapshot));
  if (!made) return std::move(made).error();
  return forked{std::move(made->cluster), *std::move(made->scheduler)};
}

result<cluster> restore_cluster(std::span<const std::byte> snapshot, const device_matcher& matcher) {
  auto words = read(snapshot);
  if (!words) return std::move(words).error();
  const saved_state state{std::move(words->cluster), std::nullopt};
  auto made = state.restore({}, matcher, most_words(snapshot));
  if (!made) return std::move(made).error();
  return std::move(made->cluster);
}

}  // namespace gangsched::inline GANGSCHED_ABI::record
