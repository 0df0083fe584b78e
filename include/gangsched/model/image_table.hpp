#pragma once
#include <cstdint>
#include <span>

#include "gangsched/core/config.hpp"
#include "gangsched/model/column.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// A name under which a node has an image, and the image's size.
struct image_symbols {
  symbol name;
  std::int64_t size_bytes;
  friend bool operator==(const image_symbols&, const image_symbols&) = default;
};

}  // namespace gangsched::inline GANGSCHED_ABI

namespace gangsched::inline GANGSCHED_ABI::model {

/// Per image name: its size, as the first node that listed it reported it (Kubernetes' quirk; nodes rarely differ), and how many nodes list
/// it. Updated by the cluster with its nodes; O(1) per name.
class GANGSCHED_API image_table {
 public:
  explicit image_table(undo_log& undo) : size_(undo), nodes_(undo) {}

  /// 0 if no node lists it.
  [[nodiscard]] std::int64_t size_bytes(symbol name) const noexcept { return nodes(name) != 0 ? size_[name.value] : 0; }
  [[nodiscard]] std::uint32_t nodes(symbol name) const noexcept { return name.value < rows_ ? nodes_[name.value] : 0; }

  /// A node that lists these names, each once, was added or removed.
  void add(std::span<const image_symbols> images);
  void remove(std::span<const image_symbols> images);
  /// Equivalent to removing @p before and adding @p after, both by name symbol; O(names), writes changes only.
  void replace(std::span<const image_symbols> before, std::span<const image_symbols> after);
  /// The size of an image that some node lists, as reported by a node that may be gone. O(1).
  void set_size(symbol name, std::int64_t size_bytes) { size_.set(name.value, size_bytes); }
  void digest_into(digest& out) const;

 private:
  column<std::int64_t> size_;
  column<std::uint32_t> nodes_;
  row_t rows_ = 0;  ///< symbols there is room for; never fewer
};

}  // namespace gangsched::inline GANGSCHED_ABI::model

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/model/image_table.cpp"
#endif
