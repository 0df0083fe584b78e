#include "gangsched/engine/sorted_entities.hpp"

#include <algorithm>

namespace gangsched::inline GANGSCHED_ABI::engine {

GANGSCHED_INLINE bool sort_order::before(const queued& a, const queued& b) const noexcept {
  if (!has_key()) {
    const auto less = [&](const queued& one, const queued& other) {
      return plugin_->sort_less(plugin_->self.get(), one, other);
    };
    return less(a, b) || (!less(b, a) && a.arrival < b.arrival);
  }
  const sort_key one = key_of(a), other = key_of(b);
  if (one.band != other.band) return one.band < other.band;
  return one.order != other.order ? one.order < other.order : a.arrival < b.arrival;
}

GANGSCHED_INLINE sorted_entities::band& sorted_entities::band_of(std::int64_t key) {
  if (added_to_ != nullptr && added_key_ == key) return *added_to_;  // entities of one priority come in a row
  added_to_ = &bands_[key];
  added_key_ = key;
  return *added_to_;
}

GANGSCHED_INLINE void sorted_entities::add(const sort_order& order, const queued& what, entity who,
                                           std::uint32_t ticket) {
  if (!order.has_key()) {
    compared_.push_back({what, {0, what.arrival, who, ticket}});
    std::push_heap(compared_.begin(), compared_.end(),
                   [&](const compared& a, const compared& b) { return order.before(b.what, a.what); });
    return;
  }
  const sort_key key = order.key_of(what);
  band& in = band_of(key.band);
  const queue_entry made{key.order, what.arrival, who, ticket};
  if (in.in_order.empty() || !made.before(in.in_order.entries.back())) {
    in.in_order.entries.push_back(made);
  } else {
    in.returned.push_back(made);
    std::push_heap(in.returned.begin(), in.returned.end(), after);
  }
}

GANGSCHED_INLINE void sorted_entities::pop_returned(band& from) {
  std::pop_heap(from.returned.begin(), from.returned.end(), after);
  from.returned.pop_back();
}

GANGSCHED_INLINE void sorted_entities::pop_compared(const sort_order& order) {
  std::pop_heap(compared_.begin(), compared_.end(),
                [&](const compared& a, const compared& b) { return order.before(b.what, a.what); });
  compared_.pop_back();
}

GANGSCHED_INLINE void sorted_entities::pop_from_heap(const sort_order& order) {
  if (order.has_key())
    pop_returned(*first_in_);
  else
    pop_compared(order);
}

GANGSCHED_INLINE void sorted_entities::clear() {
  bands_.clear();
  compared_.clear();
  first_in_ = added_to_ = nullptr;
}

}  // namespace gangsched::inline GANGSCHED_ABI::engine
