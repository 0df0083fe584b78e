#pragma once
#include <cstdint>
#include <span>

#include "gangsched/core/percent.hpp"
#include "gangsched/framework/hooks.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// Which end of the raw scores is the better one.
enum class better : std::uint8_t { higher, lower };

/// Scales raw scores ≥ 0 to [0, 100] by their maximum, as kube's helper.DefaultNormalizeScore:
/// 100·s/max, or 100 − 100·s/max; all 0, or all 100, if the maximum is 0.
inline void normalize(std::span<scored_group> groups, better end) noexcept {
  std::int64_t most = 0;
  for (const scored_group& group : groups) most = group.score > most ? group.score : most;
  for (scored_group& group : groups) {
    const std::int64_t share = most == 0 ? 0 : percent(group.score, most);
    group.score = end == better::higher ? share : max_node_score - share;
  }
}

}  // namespace gangsched::inline GANGSCHED_ABI
