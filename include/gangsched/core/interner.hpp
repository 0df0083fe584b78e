#pragma once
#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>

#include "gangsched/core/config.hpp"
#include "gangsched/core/hash.hpp"
#include "gangsched/core/id.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// Strings to dense symbols and back, for names that recur: label keys and values, resource names, namespaces, taints.
/// Names that are unique to a pod are never interned. Not copyable; a cluster owns one.
///
/// Names that nobody uses any more go by marking and sweeping: whoever owns the interner marks the symbols that he still has, then sweeps.
/// A name that two sweeps running have found unmarked is gone and its symbol may be another's; until then `find`, `intern` and `text` know
/// it, so that who looked it up since the sweep before last may still compare by it.
class GANGSCHED_API interner {
 public:
  interner();
  ~interner();
  interner(interner&&) noexcept;
  interner& operator=(interner&&) noexcept;
  /// The same symbols as there, instead of those here. O(symbols).
  void assign(const interner& from);

  /// The symbol of @p text, made on first sight. O(length).
  symbol intern(std::string_view text);
  /// The same, of a name that stays for good. O(length).
  symbol keep(std::string_view text);
  /// The symbol of @p text if it has one. O(length).
  [[nodiscard]] std::optional<symbol> find(std::string_view text) const;
  /// The text of @p name; valid until a sweep frees it. O(1).
  [[nodiscard]] std::string_view text(symbol name) const;
  /// How many symbols there are, the empty one included.
  [[nodiscard]] std::size_t size() const noexcept;
  /// The bound of every symbol's value.
  [[nodiscard]] std::size_t bound() const noexcept;
  /// How many were made since the last sweep.
  [[nodiscard]] std::size_t made() const noexcept { return made_; }

  /// Until the next sweep @p name is in use. O(1).
  void mark(symbol name) noexcept;
  [[nodiscard]] bool marked(symbol name) const noexcept;
  struct swept {
    std::size_t live;   ///< names that were marked, or stay for good
    std::size_t freed;  ///< names that went
  };
  /// Frees what neither this sweep nor the one before found marked, and forgets the marks. O(symbols).
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
