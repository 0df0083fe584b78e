#include "gangsched/model/port_column.hpp"

#include <algorithm>

namespace gangsched::inline GANGSCHED_ABI::model {

GANGSCHED_INLINE void port_column::insert(row_t row, host_port port) {
  ports& all = data_[row];
  all.insert(std::lower_bound(all.begin(), all.end(), port), port);
}

GANGSCHED_INLINE void port_column::erase(row_t row, host_port port) noexcept {
  ports& all = data_[row];
  all.erase(std::lower_bound(all.begin(), all.end(), port));
}

}  // namespace gangsched::inline GANGSCHED_ABI::model
