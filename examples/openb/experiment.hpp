#pragma once
#include <gangsched/devices/gpu_bids.hpp>
#include <gangsched/framework/plugin_entry.hpp>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "replay/openb.hpp"

/// The experiment of "Beware of Fragmentation" (USENIX ATC 2023): pods of a real cluster arrive in random order, up to 130 % of its GPUs;
/// each is placed at once and for good, or not at all; what counts is how much of the GPUs is allocated then.
namespace openb {

inline constexpr std::array<std::string_view, 7> policies = {"random",  "dotprod", "clustering", "packing",
                                                             "bestfit", "fgd",     "pricing"};

/// Pods to learn from and pods to place: all of a list, or its earlier half and its later half by creation time.
struct pod_list {
  std::string name;
  std::vector<replay::openb::pod> learn, play;
};

/// The nodes that have GPUs, and a list to place on them.
struct setting {
  std::vector<replay::openb::node> nodes;
  pod_list list;
  std::int64_t gpus = 0;
};
/// "openb_pod_list_default.csv" → "default"
[[nodiscard]] std::string list_name(const std::string& path);
/// @p split: the earlier half of the pods by creation time is to learn from, and the later one to place; else all of them are both. Errors
/// call the list @p source. Throws replay::bad_input: nobody has, or asks for, a GPU, or more than five million pods would arrive.
[[nodiscard]] setting make_setting(replay::openb::trace from, bool split, const std::string& source);

struct arrivals {
  std::vector<std::size_t> pods;   ///< places in pod_list::play, in order of arrival
  std::vector<std::size_t> nodes;  ///< the order of the nodes, which decides between equals
};
/// The list shuffled, then filled up with random pods of it, or thinned out, to 130 % of @p gpus; a function of the seed.
[[nodiscard]] arrivals draw(const pod_list& list, std::size_t nodes, std::int64_t gpus, std::uint64_t seed);

struct outcome {
  std::array<double, 131> allocated{};  ///< percent of all GPUs, by percent that have arrived
  double fragmented = 0;                ///< percent of the idle GPUs that expected pods could not use, at 100
  double micros = 0;                    ///< per pod, with its record and its decision
  double big_failed = 0;                ///< percent of the pods with four GPUs or more that found no node, up to 100
};
/// One run of one policy, or of a plugin of the caller's in its place. Throws std::runtime_error, with the library's words, if a plugin
/// breaks its contract.
[[nodiscard]] outcome run(const std::vector<replay::openb::node>& nodes, const pod_list& list, const arrivals& order,
                          std::string_view policy, std::uint64_t seed, const gangsched::plugin_entry* own = nullptr);

}  // namespace openb
