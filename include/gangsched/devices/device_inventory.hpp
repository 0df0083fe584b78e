#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gangsched/core/interner.hpp"
#include "gangsched/core/result.hpp"
#include "gangsched/devices/device_spec.hpp"

namespace gangsched::inline GANGSCHED_ABI {

inline constexpr std::size_t max_other_devices = 1024;
inline constexpr std::int32_t whole_gpu = 1000;  ///< milli
inline constexpr int memory_percent_bit = 48;    ///< of a GPU's second word: hundredths from there on

/// What is used of one GPU, packed: a claim adds to it and subtracts the same again, so fields must never overflow.
///   bits 0–15 milli · 16–23 memory slices of MIG instances · 24–31 media engines of MIG instances · 32–47 replicas · 48–62 pods
///   · 63 the GPU is unhealthy
struct gpu_word {
  std::uint64_t bits = 0;
  [[nodiscard]] constexpr std::int32_t milli() const noexcept { return static_cast<std::int32_t>(bits & 0xffff); }
  [[nodiscard]] constexpr std::uint8_t slices() const noexcept { return static_cast<std::uint8_t>(bits >> 16); }
  [[nodiscard]] constexpr std::uint8_t media() const noexcept { return static_cast<std::uint8_t>(bits >> 24); }
  [[nodiscard]] constexpr std::int32_t replicas() const noexcept {
    return static_cast<std::int32_t>((bits >> 32) & 0xffff);
  }
  [[nodiscard]] constexpr std::int32_t pods() const noexcept {
    return static_cast<std::int32_t>((bits >> 48) & 0x7fff);
  }
  [[nodiscard]] constexpr bool unhealthy() const noexcept { return (bits >> 63) != 0; }
  [[nodiscard]] constexpr mig_state instances() const noexcept { return {slices(), media()}; }
  /// Nothing of it is in use.
  [[nodiscard]] constexpr bool idle() const noexcept { return (bits << 1) == 0; }

  static constexpr std::uint64_t milli_of(std::int32_t milli) noexcept { return static_cast<std::uint64_t>(milli); }
  static constexpr std::uint64_t instance(mig_state one) noexcept {
    return std::uint64_t{one.mask} << 16 | std::uint64_t{one.media} << 24;
  }
  static constexpr std::uint64_t one_replica = std::uint64_t{1} << 32;
  static constexpr std::int32_t max_pods = 0x7fff;
  static constexpr std::uint64_t one_pod = std::uint64_t{1} << 48;
  static constexpr std::uint64_t unhealthy_bit = std::uint64_t{1} << 63;
  /// All of it, for one pod.
  static constexpr std::uint64_t whole = std::uint64_t{whole_gpu} | (std::uint64_t{0xff} << 16) | one_pod;
};

struct numa_layout;

/// The matcher's answers about the devices of an inventory. It grows while pods and nodes are added, and is no state of the cluster.
struct device_answers {
  enum class answer : std::uint8_t { not_asked, no, yes, error };
  struct of_device {
    answer said = answer::not_asked;
    symbol error;
  };
  std::vector<std::pair<symbol, std::vector<of_device>>> by_expression;

  /// O(expressions).
  [[nodiscard]] of_device find(symbol expression, std::size_t device) const noexcept {
    for (const auto& [known, devices] : by_expression)
      if (known == expression) return devices[device];
    return {};
  }
};

/// A counter that devices share, and its total.
struct shared_counter {
  symbol name;
  std::int64_t value = 0;
};

/// The layout of the words of nodes with equal devices. Nodes with equal hardware share one; ids and health are stored per node.
struct device_inventory {
  struct gpu {
    std::int16_t numa = -1, pcie = -1;
    mig_mode mig = mig_mode::off;
    std::vector<mig_placement> instances;  ///< of a fixed one
  };
  struct other {
    symbol device_class;
    std::int64_t units = 1;
    std::int16_t numa = -1, pcie = -1;
    std::vector<std::pair<symbol, device_attribute>> attributes;   ///< by name
    std::vector<std::pair<std::uint32_t, std::int64_t>> consumes;  ///< index of a counter, amount per unit
    struct capacity {
      symbol name;
      capacity_spec has;
      std::uint32_t counter = 0;  ///< of a shared device: its index among the counters
    };
    std::vector<capacity> capacities;  ///< by name
    bool shared = false;               ///< then its units never end
  };

  symbol model;
  symbol resource;  ///< that counts the GPUs
  std::int64_t gpu_memory_mib = 0;
  gpu_memory_rule memory_rule = gpu_memory_rule::mib;
  std::int32_t compute_capability = 0;
  std::int32_t replicas = 1;
  std::vector<gpu> gpus;
  std::vector<gpu_mask> numa_groups, pcie_groups;  ///< GPUs that are known to be at one
  std::optional<link_matrix> links;                ///< if there are GPUs
  std::optional<best_sets> sets;                   ///< the same; by complete_inventory
  std::optional<gpu_partition_table> partitions;
  gpu_partition_policy partition_policy = gpu_partition_policy::prefer;
  std::optional<mig_table> mig;                    ///< if some GPU is divided
  std::optional<mig_fragmentation> fragmentation;  ///< the same; by complete_inventory
  std::vector<symbol> mig_profiles;                ///< names of the table's profiles
  std::vector<other> others;
  std::vector<shared_counter> counters;     ///< those that the node names, then capacities of shared devices
  std::shared_ptr<device_answers> answers;  ///< null: the host evaluates nothing
  std::shared_ptr<const numa_layout> numa;  ///< null: not known (numa_layout.hpp)
  std::uint32_t numa_words = 0;
  std::shared_ptr<const node_devices> said;  ///< what makes it again; ids and health are of one of its nodes

  /// The index of a profile in the MIG table, if GPUs here have it. O(profiles).
  [[nodiscard]] std::optional<mig_profile_index> find_profile(symbol name) const noexcept {
    for (std::size_t i = 0; i < mig_profiles.size(); ++i)
      if (mig_profiles[i] == name) return static_cast<mig_profile_index>(i);
    return std::nullopt;
  }
  [[nodiscard]] std::uint32_t gpu_count() const noexcept { return static_cast<std::uint32_t>(gpus.size()); }
  [[nodiscard]] std::uint32_t first_other() const noexcept { return 2 * gpu_count(); }
  [[nodiscard]] std::uint32_t first_counter() const noexcept {
    return first_other() + static_cast<std::uint32_t>(others.size());
  }
  [[nodiscard]] std::uint32_t first_numa() const noexcept {
    return first_counter() + static_cast<std::uint32_t>(counters.size());
  }
  [[nodiscard]] std::uint32_t words() const noexcept { return first_numa() + numa_words; }
};

/// The devices of one node in their present state. Cheap to copy; valid until the node or its pods change.
struct device_state {
  const device_inventory* inventory = nullptr;  ///< null: the host reported none
  const std::int64_t* used = nullptr;

  explicit operator bool() const noexcept { return inventory != nullptr; }
  [[nodiscard]] std::uint32_t gpu_count() const noexcept { return inventory == nullptr ? 0 : inventory->gpu_count(); }
  [[nodiscard]] gpu_word gpu(std::size_t index) const noexcept { return {static_cast<std::uint64_t>(used[2 * index])}; }
  /// Free thousandths of a GPU; 0 if it is unhealthy.
  [[nodiscard]] std::int32_t free_milli(std::size_t index) const noexcept {
    const gpu_word word = gpu(index);
    return word.unhealthy() ? 0 : whole_gpu - word.milli();
  }
  [[nodiscard]] std::int64_t used_memory_mib(std::size_t index) const noexcept {
    return used[2 * index + 1] & ((std::int64_t{1} << memory_percent_bit) - 1);
  }
  /// In hundredths, of each share rounded down; only under `gpu_memory_rule::as_asked`.
  [[nodiscard]] std::int64_t used_memory_percent(std::size_t index) const noexcept {
    return used[2 * index + 1] >> memory_percent_bit;
  }
};

/// Makes the tables for choosing; they are derived from the rest. O(3^GPUs) up to 8 of them.
GANGSCHED_API void complete_inventory(device_inventory& inventory);

/// Checks one capacity; the error's field is one of `capacity_spec`, and names no object: a range without a least amount, values that are
/// not ascending, amounts below zero or above the total, … O(values).
[[nodiscard]] GANGSCHED_API std::optional<error> check(const capacity_spec& capacity);

/// Checks @p spec and lays it out, without the tables; new names are interned. @p object names the node in errors: a GPU or device named
/// twice, more than 16 GPUs or 1,024 others, a link or partition of a GPU that is not there, a counter that devices name and the node
/// lacks, amounts below zero, … O(size · log size).
[[nodiscard]] GANGSCHED_API result<device_inventory> make_inventory(const node_devices& spec, interner& names,
                                                                    const std::string& object);

}  // namespace gangsched::inline GANGSCHED_ABI

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/devices/device_inventory.cpp"
#endif
