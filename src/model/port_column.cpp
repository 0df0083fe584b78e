#include "gangsched/model/port_column.hpp"

#include <algorithm>

namespace gangsched::inline GANGSCHED_ABI::model {

GANGSCHED_INLINE void port_column::insert(row_t row, host_port port) {
  if (row >= data_.size()) data_.resize(row + 1);
  ports& all = data_[row];
  all.insert(std::lower_bound(all.begin(), all.end(), port), port);
}

GANGSCHED_INLINE bool port_column::is_used(row_t row, host_port port) const noexcept {
  const std::span<const host_port> all = (*this)[row];
  return std::binary_search(all.begin(), all.end(), port);
}

GANGSCHED_INLINE void port_column::erase(row_t row, host_port port) noexcept {
  ports& all = data_[row];
  all.erase(std::lower_bound(all.begin(), all.end(), port));
}

GANGSCHED_INLINE void port_column::digest_into(digest& out, row_t rows) const {
  for (row_t row = 0; row < rows; ++row) {
    std::uint64_t sum = 0;  // (their order is that of symbols)
    for (const host_port& port : (*this)[row]) {
      digest one = out.another();
      one.add((std::uint64_t{port.port} << 8) | static_cast<std::uint64_t>(port.protocol));
      add_name(one, port.address);
      sum += one.value();
    }
    out.add((*this)[row].size());
    out.add(sum);
  }
}

}  // namespace gangsched::inline GANGSCHED_ABI::model
