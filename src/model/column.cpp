#include "gangsched/model/column.hpp"

namespace gangsched::inline GANGSCHED_ABI {

GANGSCHED_INLINE void matrix_column::grow(row_t rows, std::uint32_t kinds) {
  if (kinds > stride_) {
    const std::uint32_t stride = std::bit_ceil(kinds);
    const std::size_t old_rows = data_.size() / stride_;  // more than `rows` after a roll-back
    decltype(data_) wider((rows > old_rows ? rows : old_rows) * stride);
    for (std::size_t row = 0; row < old_rows; ++row) {
      std::memcpy(&wider[row * stride], &data_[row * stride_], stride_ * sizeof(std::int64_t));
    }
    data_ = std::move(wider);
    stride_ = stride;
  }
  if (data_.size() < std::size_t{rows} * stride_) data_.resize(std::size_t{rows} * stride_);
}

GANGSCHED_INLINE void matrix_column::digest_into(digest& out, row_t rows) const {
  for (row_t row = 0; row < rows && (std::size_t{row} + 1) * stride_ <= data_.size(); ++row) {
    for (std::uint32_t kind = 0; kind < stride_; ++kind) {
      if (const std::int64_t word = at(row, kind); word != 0) {
        out.add((std::uint64_t{row} << 32) | kind);
        out.add(static_cast<std::uint64_t>(word));
      }
    }
  }
}

GANGSCHED_INLINE void matrix_column::digest_by_kind(digest& out, row_t rows, std::uint32_t kinds) const {
  for (row_t row = 0; row < rows; ++row) {
    std::uint64_t sum = 0;
    for (std::uint32_t kind = 0; kind < kinds; ++kind) {
      const std::int64_t value = at(row, kind);
      if (value == 0) continue;
      digest one = out.another();
      if (out.kinds() != nullptr)
        add_name(one, out.kinds()[kind]);
      else
        one.add(std::uint64_t{kind});
      one.add(static_cast<std::uint64_t>(value));
      sum += one.value();
    }
    out.add(sum);
  }
}

}  // namespace gangsched::inline GANGSCHED_ABI
