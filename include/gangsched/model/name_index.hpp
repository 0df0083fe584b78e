#pragma once
#include <memory>
#include <string_view>

#include "gangsched/core/peer.hpp"
#include "gangsched/model/undo_log.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// (namespace, name) to row, under the undo log. Each table has one. Never iterated.
class GANGSCHED_API name_index final : public column_base {
 public:
  explicit name_index(undo_log& undo);
  name_index& operator=(const name_index& from);
  ~name_index() override;

  /// A name and its hash, for repeated look-ups. O(length).
  struct key {
    std::size_t hash;
    symbol ns;
    std::string_view name;
  };
  [[nodiscard]] static key key_of(symbol ns, std::string_view name) noexcept;
  /// Prefetches for a later find.
  void prefetch(const key& of) const noexcept;
  /// The row of the name, or no_row. O(length).
  [[nodiscard]] row_t find(const key& of) const noexcept;
  [[nodiscard]] row_t find(symbol ns, std::string_view name) const noexcept { return find(key_of(ns, name)); }
  void reserve(std::size_t names);
  /// @pre the name is new
  void insert(const key& of, row_t row);
  void insert(symbol ns, std::string_view name, row_t row) { insert(key_of(ns, name), row); }
  /// @pre the name is in the index
  void erase(symbol ns, std::string_view name);
  [[nodiscard]] std::size_t size() const noexcept;

  void restore(row_t row, std::uint32_t erased, std::uint64_t entry) noexcept override;
  void discard(std::uint32_t erased, std::uint64_t entry) noexcept override;
  void digest_into(digest& out, row_t rows) const override;

 private:
  struct impl;
  void drop(std::uint64_t entry) noexcept;
  peer<undo_log> undo_;
  std::unique_ptr<impl> impl_;
};

}  // namespace gangsched::inline GANGSCHED_ABI

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/model/name_index.cpp"
#endif
