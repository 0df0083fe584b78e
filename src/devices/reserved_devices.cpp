#include "gangsched/devices/reserved_devices.hpp"

#include <algorithm>
#include <utility>

#include "gangsched/devices/device_grants.hpp"
#include "gangsched/devices/numa_layout.hpp"

namespace gangsched::inline GANGSCHED_ABI {

GANGSCHED_INLINE std::vector<std::int64_t> only_what_is_held(const device_state& words, const device_claim& held) {
  const device_inventory& inventory = *words.inventory;
  std::vector<std::int64_t> made(words.used, words.used + inventory.words());
  std::vector<std::uint64_t> kept(inventory.words());
  for (const device_claim::change& one : held.changes) kept[one.word] |= one.more;
  const auto unless_held = [&](std::uint32_t word, bool has) {
    if (!has) made[word] = static_cast<std::int64_t>(static_cast<std::uint64_t>(made[word]) | gpu_word::unhealthy_bit);
  };
  for (std::uint32_t gpu = 0; gpu < inventory.gpu_count(); ++gpu)
    unless_held(2 * gpu, kept[2 * gpu] != 0 || kept[2 * gpu + 1] != 0);
  for (std::uint32_t i = 0; i < inventory.others.size(); ++i) {
    const bool has = std::any_of(held.grants.begin(), held.grants.end(), [&](const device_grant& one) {
      return (one.kind == device_grant::form::other || one.kind == device_grant::form::capacity) && one.device == i;
    });
    unless_held(inventory.first_other() + i, has);
  }
  const bool cpus = inventory.numa && std::any_of(held.grants.begin(), held.grants.end(), [](const device_grant& one) {
                      return one.kind == device_grant::form::cpus;
                    });
  for (std::uint32_t i = 0; cpus && i < inventory.numa->cpu_words; ++i) {
    std::int64_t& word = made[inventory.first_numa() + i];
    word = static_cast<std::int64_t>(static_cast<std::uint64_t>(word) | ~kept[inventory.first_numa() + i]);
  }
  return made;
}

namespace detail {

/// Whether both are about the same device, CPUs, memory or capacity of a node.
[[nodiscard]] GANGSCHED_INLINE bool same_device(const device_grant& a, const device_grant& b) noexcept {
  using form = device_grant::form;
  if (a.is_gpu() || b.is_gpu()) return a.is_gpu() && b.is_gpu() && a.device == b.device;
  if (a.kind != b.kind || a.device != b.device) return false;
  return a.kind == form::other || a.milli == b.milli;
}

/// Reduces a grant by another pod's part of the same device. False if nothing is left.
[[nodiscard]] GANGSCHED_INLINE bool take_from(device_grant& of, const device_grant& part) noexcept {
  using form = device_grant::form;
  switch (of.kind) {
    case form::gpu:
      if (part.kind != form::share) return false;
      of.kind = form::share;
      [[fallthrough]];
    case form::share:
      if (part.kind != form::share) return false;
      of.milli = std::max(0, of.milli - part.milli);
      of.amount = std::max<std::int64_t>(0, of.amount - part.amount);
      if (of.mig_start > 0)
        of.mig_start = part.mig_start > 0 ? std::max(0, of.mig_start - part.mig_start) : of.mig_start;
      return of.milli != 0 || of.amount != 0;
    case form::cpus: of.amount = static_cast<std::int64_t>(of.cpu_mask() & ~part.cpu_mask()); return of.amount != 0;
    case form::other:
    case form::memory:
    case form::capacity:
      of.amount = std::max<std::int64_t>(0, of.amount - part.amount);
      return of.amount != 0 || of.kind == form::capacity;
    case form::replica:
    case form::mig: return false;
  }
  return false;
}

}  // namespace detail

GANGSCHED_INLINE device_claim what_is_left(const device_state& words, const device_claim& held,
                                           std::span<const device_claim* const> taken) {
  using form = device_grant::form;
  const device_inventory& inventory = *words.inventory;
  std::vector<std::int64_t> now = words_of_any_health(words);
  std::vector<device_grant> parts;
  for (const device_claim* const one : taken) parts.insert(parts.end(), one->grants.begin(), one->grants.end());
  device_claim made;
  for (device_grant grant : held.grants) {
    bool left = true;
    const bool pieces = grant.kind == form::replica || grant.kind == form::mig;  // each is one of several on its GPU
    for (std::size_t i = 0; left && i < parts.size(); ++i) {
      if (!detail::same_device(grant, parts[i])) continue;
      const bool same_piece =
          grant.kind == parts[i].kind && (grant.kind != form::mig || grant.mig_start == parts[i].mig_start);
      if (pieces && !same_piece) continue;
      left = detail::take_from(grant, parts[i]);
      if (pieces) parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(i--));
    }
    if (!left || !is_free({&inventory, now.data()}, grant)) continue;
    std::size_t next = made.changes.size();
    for (add_grant(inventory, grant, made); next < made.changes.size(); ++next) {
      std::int64_t& word = now[made.changes[next].word];
      word = static_cast<std::int64_t>(static_cast<std::uint64_t>(word) + made.changes[next].more);
    }
  }
  return made;
}

}  // namespace gangsched::inline GANGSCHED_ABI
