#include "gangsched/queues/volcano/resources.hpp"

#include <algorithm>
#include <bit>

namespace gangsched::inline GANGSCHED_ABI::queues::volcano {

GANGSCHED_INLINE resources& resources::add(const resources& more) {
  for (kind k = 0; k < most_kinds; ++k) amount_[k] += more.amount_[k];
  named_ = static_cast<std::uint16_t>(named_ | more.named_);
  return *this;
}

GANGSCHED_INLINE resources& resources::subtract(const resources& less) {
  const bool others = named_ != always_named;
  for (kind k = 0; k < (others ? most_kinds : pods); ++k) amount_[k] -= less.amount_[k];
  if (others) named_ = static_cast<std::uint16_t>(named_ | less.named_);
  return *this;
}

GANGSCHED_INLINE resources& resources::scale(double by) {
  for (double& one : amount_) one *= by;
  return *this;
}

GANGSCHED_INLINE resources& resources::limit_to(const resources& bound) {
  for (kind k = 0; k < most_kinds; ++k)
    if (names(k) && bound.names(k)) amount_[k] = std::min(amount_[k], bound.amount_[k]);
  return *this;
}

GANGSCHED_INLINE resources& resources::limit_to_named(const resources& bound) {
  for (kind k = 0; k < most_kinds; ++k)
    if (names(k)) amount_[k] = bound.names(k) ? std::min(amount_[k], bound.amount_[k]) : 0;
  return *this;
}

GANGSCHED_INLINE bool resources::is_empty() const {
  for (kind k = 0; k < most_kinds; ++k)
    if (k != pods && amount_[k] >= least) return false;
  return true;
}

GANGSCHED_INLINE bool resources::within(const resources& bound) const {
  for (kind k = 0; k < most_kinds; ++k)
    if (names(k) && !not_above(amount_[k], bound.amount_[k])) return false;
  return true;
}

GANGSCHED_INLINE bool resources::within_if_named(const resources& bound) const {
  for (kind k = 0; k < most_kinds; ++k) {
    if (!bound.names(k)) continue;
    if (!names(k) || !not_above(amount_[k], bound.amount_[k])) return false;
  }
  return true;
}

GANGSCHED_INLINE bool resources::within_for(const resources& bound, const resources& asked) const {
  for (kind k = 0; k < most_kinds; ++k)
    if (k != pods && asked.amount_[k] > 0 && amount_[k] > bound.amount_[k]) return false;
  return true;
}

GANGSCHED_INLINE bool resources::less_somewhere(const resources& than) const {
  for (kind k = 0; k < most_kinds; ++k)
    if (names(k) ? amount_[k] < than.amount_[k] : than.names(k)) return true;
  return false;
}

GANGSCHED_INLINE bool resources::within_somewhere(const resources& bound) const {
  for (kind k = 0; k < most_kinds; ++k)
    if (names(k) ? not_above(amount_[k], bound.amount_[k]) : bound.names(k)) return true;
  return false;
}

GANGSCHED_INLINE resources larger_of(const resources& a, const resources& b) {
  resources made{std::max(a.get(cpu), b.get(cpu)), std::max(a.get(memory), b.get(memory))};
  for (kind k = pods; k < most_kinds; ++k)
    if (const double larger = std::max(a.get(k), b.get(k)); larger > 0) made.set(k, larger);
  return made;
}

GANGSCHED_INLINE double dominant_share(const resources& has, const resources& of) {
  double largest = 0;
  for (std::uint32_t left = of.named(); left != 0; left &= left - 1) {
    const auto k = static_cast<kind>(std::countr_zero(left));
    if (of.get(k) >= resources::least) largest = std::max(largest, has.get(k) / of.get(k));
  }
  return largest;
}

}  // namespace gangsched::inline GANGSCHED_ABI::queues::volcano
