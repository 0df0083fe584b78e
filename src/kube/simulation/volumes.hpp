#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>
#include "gangsched/kube/volume_binder.hpp"

namespace gangsched::inline GANGSCHED_ABI::kube::simulation {

/// Which volumes pods get, and which pods are to be told of it.
class volume_news {
 public:
  /// @p of: kept up to date; nothing else of it changes what volumes there are.
  explicit volume_news(manifests& of);

  /// A pod that is there now, the last one.
  void add(std::size_t pod);
  /// The pod goes to the node. False if no volume is left there for one of its claims.
  bool reserve(std::size_t pod, std::string_view node);
  /// It does not after all.
  void release(std::size_t pod);
  /// Whether pods may have to be told of something since all of them were.
  [[nodiscard]] bool is_news() const;
  /// Looks whether the volumes of a pod ask for something else than before, which its manifest says then.
  bool refresh(std::size_t pod);
  /// The same of all that claim a volume and wait.
  std::vector<std::size_t> refresh_all(const std::function<bool(std::size_t)>& waits);
  /// How many pods claim volumes.
  [[nodiscard]] std::size_t claimants() const { return claimants_.size(); }

 private:
  manifests* of_;
  std::optional<volume_binder> binder_;  // absent: no pod claims a volume, and none that comes will
  std::vector<std::size_t> claimants_;
  std::uint64_t told_ = 0;
};

}  // namespace gangsched::inline GANGSCHED_ABI::kube::simulation
