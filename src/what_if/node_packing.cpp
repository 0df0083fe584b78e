#include "gangsched/what_if/node_packing.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace gangsched::inline GANGSCHED_ABI::what_if {
namespace detail {

using amounts = std::vector<std::int64_t>;
__extension__ using wide_price = __int128;  // products, and sums over many bins or items
using wide_amounts = std::vector<wide_price>;
inline constexpr std::int64_t most_price = std::numeric_limits<std::int64_t>::max();

[[nodiscard]] inline bool fits_into(const amounts& needs, const amounts& room) noexcept {
  for (std::size_t i = 0; i < needs.size(); ++i) {
    if (needs[i] > 0 && needs[i] > room[i]) return false;
  }
  return true;
}
template <class Room>
void take_from(Room& room, const amounts& needs, std::int64_t sign) noexcept {
  for (std::size_t i = 0; i < needs.size(); ++i) room[i] -= sign * needs[i];
}

/// Parts of a million of @p of, and no more than can be added up; what a bin has none of counts as all of it.
[[nodiscard]] inline std::int64_t share_of(std::int64_t needs, std::int64_t of) noexcept {
  if (needs <= 0) return 0;
  if (of <= 0) return 1'000'000;
  constexpr wide_price most = std::int64_t{1} << 60;
  return static_cast<std::int64_t>(std::min(static_cast<wide_price>(needs) * 1'000'000 / of, most));
}

enum class size_rule : std::uint8_t { first_two, largest };

/// One at a time, in an order, into bins that are opened as they are needed; the branch and bound over that.
class packer {
 public:
  packer(const packing_problem& what, const std::vector<bool>& allowed) : what_(what), allowed_(allowed) {
    for (std::size_t kind = 0; kind < what.items.size(); ++kind) {
      if (what.items[kind].count != 0) order_.push_back(kind);
    }
  }

  /// Sorted by size beside a bin of @p kind, the large ones first.
  void sort_by(std::size_t kind, size_rule rule) {
    const amounts& room = what_.bins[kind].room;
    std::vector<std::int64_t> sizes(what_.items.size());
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const amounts& needs = what_.items[i].needs;
      for (std::size_t r = 0; r < needs.size(); ++r) {
        const std::int64_t share = share_of(needs[r], room[r]);
        if (rule == size_rule::largest)
          sizes[i] = std::max(sizes[i], share);
        else if (r < 2)
          sizes[i] += share;
      }
    }
    std::sort(order_.begin(), order_.end());
    std::stable_sort(order_.begin(), order_.end(), [&](std::size_t a, std::size_t b) { return sizes[a] > sizes[b]; });
  }

  /// First fit with bins of @p kind; for items that may not be in one, with those that cost least.
  void first_fit(std::size_t kind) {
    start();
    for (const std::size_t item : order_) {
      const packed_kind& its = what_.items[item];
      std::size_t at = 0;
      for (std::uint32_t i = 0; i < its.count; ++i) {
        while (at < rooms_.size() && !takes(at, item)) ++at;
        if (at == rooms_.size()) {
          std::size_t with = kind;
          if (!can_buy(with, its)) with = cheapest_for(its);
          if (with == what_.bins.size()) return;
          buy(with);
        }
        put(item, at);
      }
    }
    make_smaller();
    keep_best();
  }

  /// Every way, cheapest looking ones first, until the steps are used up.
  void search(std::uint32_t steps) {
    std::size_t items = 0;
    for (const packed_kind& one : what_.items) items += one.count;
    if (items > deepest) return;
    start();
    steps_ = steps;
    left_.assign(dimensions(), 0);
    free_.assign(dimensions(), 0);
    for (const packed_kind& one : what_.items) {
      for (std::size_t r = 0; r < left_.size(); ++r) left_[r] += static_cast<wide_price>(one.count) * one.needs[r];
    }
    for (const amounts& one : rooms_) add_free(one, +1);
    descend(0, 0, 0);
  }

  [[nodiscard]] std::optional<packing>& best() noexcept { return best_; }

 private:
  static constexpr std::size_t deepest = 256;  // items: the search goes down by one call each

  [[nodiscard]] std::size_t dimensions() const noexcept {
    return what_.items.empty() ? 0 : what_.items.front().needs.size();
  }
  void start() {
    rooms_ = what_.open;
    bought_.clear();
    counts_.assign(what_.bins.size(), 0);
    price_ = 0;
    where_.assign(what_.items.size(), {});
  }
  [[nodiscard]] bool takes(std::size_t at, std::size_t item) const noexcept {
    const packed_kind& its = what_.items[item];
    const bool may = at < what_.open.size() ? its.on_open[at] : its.on_bin[bought_[at - what_.open.size()]];
    return may && fits_into(its.needs, rooms_[at]);
  }
  void put(std::size_t item, std::size_t at) {
    take_from(rooms_[at], what_.items[item].needs, +1);
    where_[item].push_back(at);
  }
  void take_back(std::size_t item) {
    take_from(rooms_[where_[item].back()], what_.items[item].needs, -1);
    where_[item].pop_back();
  }
  void buy(std::size_t kind) {
    bought_.push_back(kind);
    rooms_.push_back(what_.bins[kind].room);
    ++counts_[kind];
    price_ += what_.bins[kind].price;
  }
  [[nodiscard]] bool can_buy(std::size_t kind, const packed_kind& what) const noexcept {
    const bin_kind& bin = what_.bins[kind];
    return allowed_[kind] && counts_[kind] < bin.most && what.on_bin[kind] && fits_into(what.needs, bin.room);
  }
  [[nodiscard]] std::size_t cheapest_for(const packed_kind& what) const noexcept {
    std::size_t best = what_.bins.size();
    for (std::size_t kind = 0; kind < what_.bins.size(); ++kind) {
      if (can_buy(kind, what) && (best == what_.bins.size() || what_.bins[kind].price < what_.bins[best].price))
        best = kind;
    }
    return best;
  }
  void give_back() {
    const std::size_t kind = bought_.back();
    bought_.pop_back(), rooms_.pop_back();
    --counts_[kind];
    price_ -= what_.bins[kind].price;
  }
  void add_free(const amounts& room, std::int64_t sign) noexcept {
    for (std::size_t r = 0; r < free_.size(); ++r) free_[r] += sign * std::max<std::int64_t>(0, room[r]);
  }

  /// Each bin becomes of the cheapest kind that holds what is in it.
  void make_smaller() {
    for (std::size_t b = 0; b < bought_.size(); ++b) {
      const std::size_t at = what_.open.size() + b, was = bought_[b];
      amounts used = what_.bins[was].room;
      take_from(used, rooms_[at], +1);
      for (std::size_t kind = 0; kind < what_.bins.size(); ++kind) {
        const bin_kind& other = what_.bins[kind];
        if (!allowed_[kind] || other.price >= what_.bins[bought_[b]].price || counts_[kind] >= other.most) continue;
        if (!fits_into(used, other.room) || !all_may(at, kind)) continue;
        price_ += other.price - what_.bins[bought_[b]].price;
        --counts_[bought_[b]], ++counts_[kind];
        bought_[b] = kind;
        rooms_[at] = other.room;
        take_from(rooms_[at], used, +1);
      }
    }
  }
  [[nodiscard]] bool all_may(std::size_t at, std::size_t kind) const {
    for (std::size_t item = 0; item < where_.size(); ++item) {
      const bool there = std::find(where_[item].begin(), where_[item].end(), at) != where_[item].end();
      if (there && !what_.items[item].on_bin[kind]) return false;
    }
    return true;
  }
  void keep_best() {
    if (best_ && price_ >= best_price_) return;
    best_ = packing{static_cast<std::int64_t>(std::min<wide_price>(price_, most_price)), bought_, where_};
    best_price_ = price_;
  }

  /// What the items that are left cost at least beyond the bins that are there: the dearest of the resources, each at its best price.
  [[nodiscard]] std::int64_t at_least() const noexcept {
    std::int64_t most = 0;
    for (std::size_t r = 0; r < left_.size(); ++r) {
      const wide_price lacks = std::min<wide_price>(left_[r] - free_[r], most_price);  // a product of two has room
      if (lacks <= 0) continue;
      std::int64_t least = most_price;
      for (std::size_t kind = 0; kind < what_.bins.size(); ++kind) {
        const bin_kind& bin = what_.bins[kind];
        if (!allowed_[kind] || bin.room[r] <= 0) continue;
        const wide_price price = (lacks * bin.price + bin.room[r] - 1) / bin.room[r];
        least = std::min(least, static_cast<std::int64_t>(std::min<wide_price>(price, least)));
      }
      most = std::max(most, least);
    }
    return most;
  }
  [[nodiscard]] bool hopeless() const noexcept {
    if (!best_) return at_least() == most_price;
    return at_least() >= best_price_ - price_;
  }

  /// Item @p i of the kind at @p place in the order; those alike stand in bins that ascend from @p first.
  void descend(std::size_t place, std::uint32_t i, std::size_t first) {
    if (place == order_.size()) return keep_best();
    if (steps_ == 0 || hopeless()) return;
    steps_ -= std::min<std::uint32_t>(steps_, 1 + static_cast<std::uint32_t>(rooms_.size() / 16));
    const std::size_t item = order_[place];
    const packed_kind& its = what_.items[item];
    const bool last = i + 1 == its.count;
    const auto go_on = [&](std::size_t at) {
      add_free(rooms_[at], -1);
      put(item, at);
      add_free(rooms_[at], +1);
      take_from(left_, its.needs, +1);
      descend(last ? place + 1 : place, last ? 0 : i + 1, last ? 0 : at);
      take_from(left_, its.needs, -1);
      add_free(rooms_[at], -1);
      take_back(item);
      add_free(rooms_[at], +1);
    };
    std::vector<std::size_t> among;
    for (std::size_t at = first; at < rooms_.size(); ++at) {
      if (takes(at, item) && !like_one_before(at, first)) among.push_back(at);
    }
    for (const std::size_t at : among) go_on(at);
    for (std::size_t kind = 0; kind < what_.bins.size(); ++kind) {
      const bin_kind& bin = what_.bins[kind];
      if (!can_buy(kind, its)) continue;
      if (best_ && price_ + bin.price >= best_price_) continue;
      buy(kind);
      add_free(bin.room, +1);
      go_on(rooms_.size() - 1);
      add_free(rooms_.back(), -1);
      give_back();
    }
  }
  /// Whether a bin of the same kind with the same room left comes before it from @p first on.
  [[nodiscard]] bool like_one_before(std::size_t at, std::size_t first) const {
    const std::size_t open = what_.open.size();
    for (std::size_t other = std::max(first, open); at >= open && other < at; ++other) {
      if (bought_[other - open] == bought_[at - open] && rooms_[other] == rooms_[at]) return true;
    }
    return false;
  }

  const packing_problem& what_;
  const std::vector<bool>& allowed_;
  std::vector<std::size_t> order_;  // item kinds
  std::vector<amounts> rooms_;      // what is left of open bins, then of bought ones
  std::vector<std::size_t> bought_;
  std::vector<std::uint32_t> counts_;  // by bin kind
  wide_price price_ = 0, best_price_ = 0;
  std::vector<std::vector<std::size_t>> where_;
  std::optional<packing> best_;
  wide_amounts left_, free_;  // needs of the items that are left, and room in all bins
  std::uint32_t steps_ = 0;
};

}  // namespace detail

GANGSCHED_INLINE std::optional<packing> pack_cheaply(const packing_problem& what, const std::vector<bool>& allowed,
                                                     std::uint32_t steps) {
  detail::packer by{what, allowed};
  std::size_t largest = what.bins.size();
  for (std::size_t kind = 0; kind < what.bins.size(); ++kind) {
    if (!allowed[kind]) continue;
    if (largest == what.bins.size() || what.bins[kind].price > what.bins[largest].price) largest = kind;
    for (const detail::size_rule rule : {detail::size_rule::first_two, detail::size_rule::largest}) {
      by.sort_by(kind, rule);
      by.first_fit(kind);
    }
  }
  if (largest != what.bins.size()) {
    by.sort_by(largest, detail::size_rule::largest);
    by.search(steps);
  } else if (what.items.empty()) {
    return packing{};
  }
  return std::move(by.best());
}

}  // namespace gangsched::inline GANGSCHED_ABI::what_if
