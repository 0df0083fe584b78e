#pragma once
#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>

#include "gangsched/core/config.hpp"
#include "gangsched/core/id.hpp"

namespace gangsched {

/// Strings to dense symbols and back, for names that recur: label keys and values, resource names, namespaces, taints.
/// It only grows; names that are unique to a pod are never interned. Not copyable; a cluster owns one.
class GANGSCHED_API interner {
 public:
  interner();
  ~interner();
  interner(interner&&) noexcept;
  interner& operator=(interner&&) noexcept;

  /// The symbol of @p text, made on first sight. O(length).
  symbol intern(std::string_view text);
  /// The symbol of @p text if it has one. O(length).
  [[nodiscard]] std::optional<symbol> find(std::string_view text) const;
  /// The text of @p name; valid as long as the interner. O(1).
  [[nodiscard]] std::string_view text(symbol name) const;
  /// How many symbols there are, the empty one included.
  [[nodiscard]] std::size_t size() const noexcept;

 private:
  struct impl;
  std::unique_ptr<impl> impl_;
};

}  // namespace gangsched

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/core/interner.cpp"
#endif
