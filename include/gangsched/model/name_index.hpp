#pragma once
#include <memory>
#include <string_view>

#include "gangsched/core/config.hpp"
#include "gangsched/model/undo_log.hpp"

namespace gangsched {

/// (namespace, name) to row, under the undo log. Each table has one. Never iterated.
class GANGSCHED_API name_index final : public column_base {
 public:
  explicit name_index(undo_log& undo);
  ~name_index() override;

  /// The row of the name, or no_row. O(length).
  [[nodiscard]] row_t find(symbol ns, std::string_view name) const noexcept;
  void reserve(std::size_t names);
  /// The name must be new.
  void insert(symbol ns, std::string_view name, row_t row);
  /// The name must be there.
  void erase(symbol ns, std::string_view name);
  [[nodiscard]] std::size_t size() const noexcept;

  void restore(row_t row, std::uint32_t erased, std::uint64_t entry) noexcept override;
  void discard(std::uint32_t erased, std::uint64_t entry) noexcept override;
  void digest_into(digest& out, row_t rows) const override;

 private:
  struct impl;
  undo_log* undo_;
  std::unique_ptr<impl> impl_;
};

}  // namespace gangsched

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/model/name_index.cpp"
#endif
