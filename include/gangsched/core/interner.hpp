#pragma once
#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>

#include "gangsched/core/config.hpp"
#include "gangsched/core/hash.hpp"
#include "gangsched/core/id.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// Strings to dense symbols and back, for recurring names: label keys and values, resource names, namespaces, taints. Names that are unique
/// to a pod are not interned. Not copyable; a cluster owns one.
///
/// Unused names are freed by mark and sweep: the owner of the interner marks every symbol that it still uses, then calls `sweep`. A name
/// that two successive sweeps found unmarked is freed, and its symbol may be reused. Until then `find`, `intern` and `text` know it, so
/// that code which looked a name up since the sweep before last may still compare by its symbol.
class GANGSCHED_API interner {
 public:
  interner();
  ~interner();
  interner(interner&&) noexcept;
  interner& operator=(interner&&) noexcept;
  /// Replaces all symbols by those of @p from. O(symbols).
  void assign(const interner& from);

  /// The symbol of @p text, created on first use. O(length).
  symbol intern(std::string_view text);
  /// As `intern`, for a name that is never swept. O(length).
  symbol keep(std::string_view text);
  /// The symbol of @p text if it has one. O(length).
  [[nodiscard]] std::optional<symbol> find(std::string_view text) const;
  /// The text of @p name; valid until a sweep frees it. O(1).
  [[nodiscard]] std::string_view text(symbol name) const;
  /// The number of symbols, the empty one included.
  [[nodiscard]] std::size_t size() const noexcept;
  /// Every symbol's value is below this.
  [[nodiscard]] std::size_t bound() const noexcept;
  /// The number of symbols made since the last sweep.
  [[nodiscard]] std::size_t made() const noexcept { return made_; }

  /// Marks @p name as in use until the next sweep. O(1).
  void mark(symbol name) noexcept;
  [[nodiscard]] bool marked(symbol name) const noexcept;
  struct swept {
    std::size_t live;   ///< names that were marked, or are kept for good
    std::size_t freed;  ///< names that were freed
  };
  /// Frees the names that neither this sweep nor the previous one found marked, then clears the marks. O(symbols).
  swept sweep();

 private:
  struct impl;
  std::unique_ptr<impl> impl_;
  std::size_t made_ = 0;
};

/// Adds a name to a digest, by its text if the digest knows the texts.
inline void add_name(digest& out, symbol name) {
  if (out.names() != nullptr)
    out.add(out.names()->text(name));
  else
    out.add(std::uint64_t{name.value});
}

}  // namespace gangsched::inline GANGSCHED_ABI

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/core/interner.cpp"
#endif
