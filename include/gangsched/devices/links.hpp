#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "gangsched/core/config.hpp"
#include "gangsched/core/result.hpp"

// How the GPUs of one node are connected, and which of the free ones to hand out together (`nvidia-smi topo -m`, go-gpuallocator).

namespace gangsched::inline GANGSCHED_ABI {

/// GPUs of one node: bit i for the GPU with index i.
using gpu_mask = std::uint16_t;
inline constexpr std::size_t max_node_gpus = 16;

/// How close two GPUs are, from farthest to closest: the codes of `nvidia-smi topo -m`.
enum class link_level : unsigned char {
  sys,     ///< across sockets; as a requirement: any
  node,    ///< across host bridges of one NUMA node
  phb,     ///< through a CPU's host bridge
  pxb,     ///< several PCIe switches, no host bridge
  pix,     ///< one PCIe switch
  board,   ///< two GPUs of one board
  nvlink,  ///< NVLink, whatever the path over PCIe
};
inline constexpr std::size_t link_levels = static_cast<std::size_t>(link_level::nvlink) + 1;

/// What connects two GPUs: NVLinks, and the path over PCIe, which exists as well.
struct gpu_link {
  std::uint8_t nvlinks = 0;
  link_level path = link_level::sys;  ///< not nvlink

  [[nodiscard]] constexpr link_level level() const noexcept { return nvlinks > 0 ? link_level::nvlink : path; }
  /// go-gpuallocator's value of a pair: 100 an NVLink plus 10 … 60 for the path. Both count: two NVLinks across sockets are 210.
  [[nodiscard]] constexpr int points() const noexcept { return 100 * nvlinks + 10 * (static_cast<int>(path) + 1); }
  friend constexpr bool operator==(const gpu_link&, const gpu_link&) noexcept = default;
};

/// The links between all GPUs of a node. Immutable.
class GANGSCHED_API link_matrix {
 public:
  static constexpr std::uint8_t max_nvlinks = 18;

  /// @p links row by row, gpus × gpus; the diagonal's path is ignored.
  /// Errors, object "link matrix": not 1 … 16 GPUs; another number of links; and for "links[2][5]" more than 18 NVLinks, NVLink as the
  /// path, a GPU linked to itself, or a link that differs from its reverse.
  static result<link_matrix> make(std::size_t gpus, std::span<const gpu_link> links);

  [[nodiscard]] std::size_t gpus() const noexcept { return gpus_; }
  [[nodiscard]] gpu_mask all() const noexcept { return static_cast<gpu_mask>((1u << gpus_) - 1u); }
  /// The link between two different GPUs.
  [[nodiscard]] gpu_link operator()(std::size_t a, std::size_t b) const noexcept {
    GANGSCHED_ASSERT(a < gpus_ && b < gpus_ && a != b);
    return links_[a][b];
  }
  /// Sum of the pairs' points within a set. O(GPUs²).
  [[nodiscard]] int points(gpu_mask set) const noexcept;
  /// Of all pairs within a set. O(GPUs²).
  [[nodiscard]] int nvlinks(gpu_mask set) const noexcept;
  /// The level that every pair of a set has at least; nvlink if there is no pair. O(GPUs²).
  [[nodiscard]] link_level level(gpu_mask set) const noexcept;
  /// The GPUs that are at least that close to @p gpu, without itself. O(GPUs).
  [[nodiscard]] gpu_mask peers(std::size_t gpu, link_level at_least) const noexcept;

 private:
  link_matrix() = default;

  std::size_t gpus_ = 0;
  std::array<std::array<gpu_link, max_node_gpus>, max_node_gpus> links_{};
};

/// Requirements on a set of GPUs.
struct gpu_set_requirement {
  link_level at_least = link_level::sys;  ///< between every two of them. NVLink is closer than one PCIe switch
  std::span<const gpu_mask> groups = {};  ///< unless empty: all in one of these (NUMA cells, PCIe switches, baseboards)
};

/// Which of the free GPUs to take: the set with the most NVLinks; of several the one that leaves the most NVLinks among those that stay
/// free, which keeps quads whole; of several the one whose paths over PCIe are the closest, then the one that leaves the closest; of
/// several the lowest mask. So a single GPU is the worst connected one. (By points alone, as go-gpuallocator sums them, two GPUs of a quad
/// of four that share a switch would come before two of a quad that is broken already.)
/// Up to 8 GPUs the answers are a table of at most 16 KiB, made once for all nodes of a kind: 3^GPUs steps a level.
class GANGSCHED_API best_sets {
 public:
  explicit best_sets(const link_matrix& links);

  [[nodiscard]] const link_matrix& links() const noexcept { return links_; }

  /// The @p count GPUs to take of @p free; 0 if there are none, or @p count is 0. O(1) up to 8 GPUs without groups. Else all sets are
  /// tried: at most C(f, count) with f GPUs free, 12870 for 8 of 16; those that a required level or group excludes are not begun.
  [[nodiscard]] gpu_mask best(gpu_mask free, unsigned count, const gpu_set_requirement& required = {}) const noexcept;

  /// Whether a set meets the requirement. O(groups + GPUs²).
  [[nodiscard]] bool meets(gpu_mask set, const gpu_set_requirement& required) const noexcept;

  /// Sum of the pairs' points within a set. O(1) up to 8 GPUs, else O(GPUs²).
  [[nodiscard]] int points(gpu_mask set) const noexcept {
    GANGSCHED_ASSERT((set & ~links_.all()) == 0);
    return points_.empty() ? links_.points(set) : points_[set];
  }
  /// Of all pairs within a set. O(1) up to 8 GPUs, else O(GPUs²).
  [[nodiscard]] int nvlinks(gpu_mask set) const noexcept {
    GANGSCHED_ASSERT((set & ~links_.all()) == 0);
    return nvlinks_.empty() ? links_.nvlinks(set) : nvlinks_[set];
  }
  /// The most that @p count of the GPUs, which are as many at least, can have between them. O(1).
  [[nodiscard]] int most_nvlinks(std::size_t count) const noexcept { return most_nvlinks_[count]; }

 private:
  void fill_table();
  [[nodiscard]] std::size_t at(std::size_t slot, gpu_mask free, unsigned count) const noexcept {
    return ((slot << links_.gpus()) + free) * (links_.gpus() + 1) + count;
  }

  link_matrix links_;
  std::vector<int> points_;             // by set, up to 8 GPUs
  std::vector<std::uint16_t> nvlinks_;  // the same
  std::array<std::uint16_t, max_node_gpus + 1> most_nvlinks_{};
  std::vector<std::uint8_t> table_;               // by at(), up to 8 GPUs
  std::array<std::uint8_t, link_levels> slot_{};  // levels that allow the same pairs share a table
  /// NVLinks and path, in bits (links.cpp); 0 for a GPU with itself.
  std::array<std::array<std::uint16_t, max_node_gpus>, max_node_gpus> pairs_{};
  std::array<std::array<gpu_mask, max_node_gpus>, link_levels> peers_{};
};

}  // namespace gangsched::inline GANGSCHED_ABI

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/devices/links.cpp"
#endif
