#pragma once
#include <bit>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

#include "gangsched/core/config.hpp"
#include "gangsched/core/instant.hpp"

/// The load of nodes, as a host measures it: names and words of the columns (docs/columns.md) that load-aware plugins read. A host sets
/// those of its plugins; a plugin makes the columns that it reads. A word of 0, which every new object has, means that nothing was
/// measured, so that a measured number is encoded as a word beside it (docs/load.md).
namespace gangsched::inline GANGSCHED_ABI::node_load {

/// The word of a share (percent), and its inverse; no share for a number that is not finite.
[[nodiscard]] constexpr std::int64_t word(double value) noexcept {
  return static_cast<std::int64_t>(std::bit_cast<std::uint64_t>(value) + 1);
}
[[nodiscard]] constexpr std::optional<double> real(std::int64_t word) noexcept {
  if (word == 0) return std::nullopt;
  const auto value = std::bit_cast<double>(static_cast<std::uint64_t>(word) - 1);
  constexpr double most = std::numeric_limits<double>::max();
  return value >= -most && value <= most ? std::optional{value} : std::nullopt;
}
/// The word of an amount (cpu in thousandths, memory in bytes), a price, a number of seconds or a whole percentage; and its inverse.
/// 0 ≤ @p value < 2^63 − 1. A word below 0 means nothing was measured.
[[nodiscard]] constexpr std::int64_t count_word(std::int64_t value) noexcept { return value + 1; }
[[nodiscard]] constexpr std::optional<std::int64_t> count(std::int64_t word) noexcept {
  return word <= 0 ? std::nullopt : std::optional{word - 1};
}
/// The word of an instant, on the host's clock; and back. Not of one nanosecond before the epoch.
[[nodiscard]] constexpr std::int64_t word(instant when) noexcept {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(when.count()) + 1);
}
[[nodiscard]] constexpr std::optional<instant> when(std::int64_t word) noexcept {
  if (word == 0) return std::nullopt;
  return instant{static_cast<std::int64_t>(static_cast<std::uint64_t>(word) - 1)};
}

/// Of nodes: the end of the measured window (an instant). Without it the load of the node is unknown, whatever else is set.
inline constexpr std::string_view measured = "load.measured";
/// Of nodes, shares of what the node has, in percent: the mean over the window (the last value, where no mean is known), and the standard
/// deviation.
inline constexpr std::string_view cpu_mean = "load.cpu.mean";
inline constexpr std::string_view cpu_deviation = "load.cpu.deviation";
inline constexpr std::string_view memory_mean = "load.memory.mean";
inline constexpr std::string_view memory_deviation = "load.memory.deviation";
/// Of nodes: the CPU that the shares are percentages of, if that is not what is allocatable, as where kubelet reserves some (a count:
/// thousandths).
inline constexpr std::string_view cpu_capacity = "load.cpu.capacity";
/// Of nodes: memory including what kubelet reserves; and what is reserved of CPU and of memory, if that is not capacity less what is
/// allocatable (counts).
inline constexpr std::string_view memory_capacity = "load.memory.capacity";
inline constexpr std::string_view cpu_reserved = "load.cpu.reserved";
inline constexpr std::string_view memory_reserved = "load.memory.reserved";

/// Of nodes: how long ago that was, in seconds (a count). A host that no longer gets measurements of a node goes on setting it.
inline constexpr std::string_view age = "load.age";
/// Of nodes: how often they are measured, in seconds (a count).
inline constexpr std::string_view interval = "load.interval";
/// Of nodes and of pods: what is used (counts: thousandths, bytes). Of nodes also the mean or a percentile over the last so many seconds,
/// or over the longest period there is: "load.cpu.p95.300", "load.memory.avg"; avg, p50, p90, p95, p99.
inline constexpr std::string_view cpu_used = "load.cpu.used";
inline constexpr std::string_view memory_used = "load.memory.used";
/// Of nodes: the part of it not used by pods (counts).
inline constexpr std::string_view cpu_system = "load.cpu.system";
inline constexpr std::string_view memory_system = "load.memory.system";
/// Of nodes: the part of production pods' requests that they are not expected to use (counts).
inline constexpr std::string_view cpu_reclaimable = "load.cpu.reclaimable";
inline constexpr std::string_view memory_reclaimable = "load.memory.reclaimable";
/// Of nodes: what other systems, such as YARN, have given away of what is lent to batch (counts).
inline constexpr std::string_view cpu_batch_elsewhere = "load.cpu.batch.elsewhere";
inline constexpr std::string_view memory_batch_elsewhere = "load.memory.batch.elsewhere";
/// Of nodes: how much faster a CPU is than the one that requests are meant for (a count: percent).
inline constexpr std::string_view cpu_normalization = "load.cpu.normalization";
/// Of nodes: the real amounts, where allocatable is larger (counts).
inline constexpr std::string_view cpu_raw = "load.cpu.raw";
inline constexpr std::string_view memory_raw = "load.memory.raw";
/// Of nodes: thresholds of their own (counts: whole percentages), for all that is used and for what pods of production use.
inline constexpr std::string_view cpu_threshold = "load.cpu.threshold";
inline constexpr std::string_view memory_threshold = "load.memory.threshold";
inline constexpr std::string_view cpu_prod_threshold = "load.cpu.threshold.prod";
inline constexpr std::string_view memory_prod_threshold = "load.memory.threshold.prod";
/// Of nodes: their price (a count, in any unit that is the same for all).
inline constexpr std::string_view price = "load.price";
/// Of nodes: thresholds of their own for a mean or a percentile, instead of those for all that is used; and what is used by that, nothing
/// where it was not measured (counts).
inline constexpr std::string_view cpu_percentile_threshold = "load.cpu.threshold.percentile";
inline constexpr std::string_view memory_percentile_threshold = "load.memory.threshold.percentile";
inline constexpr std::string_view cpu_percentile = "load.cpu.percentile";
inline constexpr std::string_view memory_percentile = "load.memory.percentile";
/// Of pods: when they were assigned to their node, if that is not when they started (an instant).
inline constexpr std::string_view scheduled = "load.scheduled";
/// Of pods: when their init containers had ended (an instant).
inline constexpr std::string_view initialized = "load.initialized";
/// Of pods: 1 if their use was measured under another priority class.
inline constexpr std::string_view other_class = "load.other_class";

}  // namespace gangsched::inline GANGSCHED_ABI::node_load
