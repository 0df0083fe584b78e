#pragma once
#include <memory>
#include <string_view>
#include <vector>

#include "gangsched/engine/domain_index.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

/// The domains of the node labels that groups have used lately.
class GANGSCHED_API domain_cache {
 public:
  explicit domain_cache(const model::cluster_state& state) noexcept : state_(&state) {}

  /// The label's domains as they are now; valid until the next `drop_unused` or `clear`. O(nodes · log domains) the first time, else
  /// O(nodes changed since).
  [[nodiscard]] domain_index& of(std::string_view key);
  /// Between attempts: only the labels used last stay, and none whose names may have been collected since. Whether any went.
  bool drop_unused() noexcept { return (collections_ != state_->collection.freed || all_.size() > most) && drop(); }
  void clear() noexcept { all_.clear(); }

 private:
  bool drop() noexcept;

  static constexpr std::uint8_t most = 64;

  const model::cluster_state* state_;
  std::vector<std::unique_ptr<domain_index>> all_;  ///< those used last at the end
  std::uint64_t collections_ = 0;                   ///< of the cluster's, those that are accounted for
};

}  // namespace gangsched::inline GANGSCHED_ABI::engine

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/engine/domain_cache.cpp"
#endif
