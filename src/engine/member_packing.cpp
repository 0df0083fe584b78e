#include "gangsched/engine/member_packing.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "gangsched/core/hash.hpp"
#include "gangsched/core/saturating_add.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {
namespace detail {

inline constexpr std::int64_t most_amount = std::numeric_limits<std::int64_t>::max();

/// Of amounts that are not negative.
[[nodiscard]] constexpr std::int64_t saturating_times(std::int64_t amount, std::uint32_t times) noexcept {
  std::int64_t made = 0;
  return __builtin_mul_overflow(amount, times, &made) ? most_amount : made;
}

/// What nodes have beyond the needs of all members is cut off where it would not fit into a sum: it makes no difference.
GANGSCHED_INLINE void cut_to_needs(std::vector<member_packing::amounts>& free,
                                   const std::vector<member_packing::kind>& kinds, std::size_t dim) {
  std::int64_t sum = 0, needed = 0;
  for (const member_packing::amounts& one : free) sum = saturating_add(sum, one[dim]);
  if (sum != most_amount) return;
  for (const member_packing::kind& one : kinds)
    needed = saturating_add(needed, saturating_times(one.needs[dim], one.count));
  for (member_packing::amounts& one : free) one[dim] = std::min(one[dim], needed);
}

}  // namespace detail

GANGSCHED_INLINE member_packing::member_packing(std::vector<amounts> free, std::vector<kind> kinds, std::uint32_t least,
                                                std::uint64_t steps)
    : kinds_(std::move(kinds)), least_(least), steps_(steps) {
  const std::size_t dims = free.empty() ? 0 : free.front().size();
  total_.assign(dims, 0);
  for (std::size_t d = 0; d < dims; ++d) {
    detail::cut_to_needs(free, kinds_, d);
    for (const amounts& one : free) total_[d] = saturating_add(total_[d], one[d]);
  }
  for (const kind& one : kinds_) members_ += one.count;
  order_.resize(kinds_.size());
  std::iota(order_.begin(), order_.end(), std::size_t{0});
  std::stable_sort(order_.begin(), order_.end(),
                   [&](std::size_t a, std::size_t b) { return weigh(kinds_[a].needs) > weigh(kinds_[b].needs); });
  for (std::size_t node = 0; node < free.size(); ++node) {
    std::vector<std::uint8_t> may;
    for (const std::size_t k : order_) {
      bool fits = kinds_[k].may[node] != 0;
      for (std::size_t d = 0; d < dims; ++d) fits = fits && kinds_[k].needs[d] <= free[node][d];
      may.push_back(fits ? 1 : 0);
    }
    if (std::find(may.begin(), may.end(), 1) == may.end()) continue;
    const auto alike = [&](const node_class& one) { return one.free == free[node] && one.may == may; };
    const auto known = std::find_if(classes_.begin(), classes_.end(), alike);
    if (known != classes_.end())
      known->nodes.push_back(node);
    else
      classes_.push_back({free[node], std::move(may), {node}});
  }
  std::stable_sort(classes_.begin(), classes_.end(),
                   [&](const node_class& a, const node_class& b) { return weigh(a.free) < weigh(b.free); });
  for (std::size_t c = 0; c < classes_.size(); ++c) sequence_.insert(sequence_.end(), classes_[c].nodes.size(), c);
  free_after_.assign(sequence_.size() + 1, amounts(dims, 0));
  last_.assign(order_.size(), 0);
  for (std::size_t at = sequence_.size(); at-- > 0;) {
    const node_class& here = classes_[sequence_[at]];
    for (std::size_t d = 0; d < dims; ++d) free_after_[at][d] = saturating_add(free_after_[at + 1][d], here.free[d]);
    for (std::size_t k = 0; k < order_.size(); ++k) {
      if (here.may[k] != 0 && last_[k] == 0) last_[k] = at + 1;
    }
  }
  result_.assign(kinds_.size(), counts(free.size(), 0));
}

GANGSCHED_INLINE std::uint64_t member_packing::weigh(const amounts& some) const noexcept {
  double sum = 0;
  for (std::size_t d = 0; d < some.size(); ++d) {
    if (total_[d] > 0) sum += static_cast<double>(some[d]) / static_cast<double>(total_[d]);
  }
  return static_cast<std::uint64_t>(saturating_cast(sum * (1 << 20)));
}

/// What so many of those that are left need at least: of each amount for itself, by those that need least of it.
GANGSCHED_INLINE member_packing::amounts member_packing::least_needs(const counts& left, std::uint32_t members) const {
  amounts sum(total_.size(), 0);
  std::vector<std::pair<std::int64_t, std::uint32_t>> each;
  for (std::size_t d = 0; d < sum.size(); ++d) {
    each.clear();
    std::uint32_t all = 0;
    for (std::size_t k = 0; k < order_.size(); ++k) {
      if (left[k] != 0) each.emplace_back(kinds_[order_[k]].needs[d], left[k]), all += left[k];
    }
    if (all > members) std::sort(each.begin(), each.end());
    std::uint32_t needed = members;
    for (const auto& [need, count] : each) {
      sum[d] = saturating_add(sum[d], detail::saturating_times(need, std::min(needed, count)));
      needed -= std::min(needed, count);
    }
  }
  return sum;
}

/// Whether the nodes from that one on have too little, or too many members have none of them. (A sum that does not fit is the largest, and
/// nothing is more than that.)
GANGSCHED_INLINE bool member_packing::hopeless(const counts& left, std::uint32_t members, std::size_t from) const {
  std::uint32_t placeable = 0;
  for (std::size_t k = 0; k < order_.size(); ++k) placeable += last_[k] > from ? left[k] : 0;
  if (placeable < members) return true;
  const amounts needs = least_needs(left, members);
  for (std::size_t d = 0; d < needs.size(); ++d) {
    if (needs[d] > free_after_[from][d]) return true;
  }
  return false;
}

/// Calls take(filling) for sets of those that are left which the node takes, large members first, until that says false. @p at_least: what
/// they use. @p all: also those to which another member could be added. False if it was ended.
template <class Take>
bool member_packing::each_filling(const node_class& of, const counts& left, const amounts& at_least, bool all,
                                  std::size_t at, filling& so_far, const Take& take) {
  if (!step()) return false;
  const std::size_t dims = total_.size();
  while (at < order_.size() && (left[at] == 0 || of.may[at] == 0)) ++at;
  if (at == order_.size()) {
    for (std::size_t d = 0; d < dims; ++d) {
      if (of.free[d] - so_far.waste[d] < at_least[d]) return true;
    }
    for (std::size_t k = 0; !all && k < order_.size(); ++k) {
      if (so_far.of[k] == left[k] || of.may[k] == 0) continue;
      bool fits = true;
      for (std::size_t d = 0; d < dims; ++d) fits = fits && kinds_[order_[k]].needs[d] <= so_far.waste[d];
      if (fits) return true;
    }
    so_far.weight = weigh(so_far.waste);
    return take(so_far);
  }
  // What all that come yet would use is too little.
  for (std::size_t d = 0; d < dims; ++d) {
    std::int64_t most = of.free[d] - so_far.waste[d];
    for (std::size_t k = at; k < order_.size() && most < at_least[d]; ++k) {
      if (of.may[k] != 0) most = saturating_add(most, detail::saturating_times(kinds_[order_[k]].needs[d], left[k]));
    }
    if (most < at_least[d]) return true;
  }
  const amounts& needs = kinds_[order_[at]].needs;
  std::uint32_t most = left[at];
  for (std::size_t d = 0; d < dims; ++d) {
    if (needs[d] > 0) most = static_cast<std::uint32_t>(std::min<std::int64_t>(most, so_far.waste[d] / needs[d]));
  }
  for (std::size_t d = 0; d < dims; ++d) so_far.waste[d] -= needs[d] * most;
  for (std::uint32_t count = most;; --count) {
    so_far.of[at] = count;
    const bool on = each_filling(of, left, at_least, all, at + 1, so_far, take);
    if (!on || count == 0) {
      for (std::size_t d = 0; d < dims; ++d) so_far.waste[d] += needs[d] * count;
      so_far.of[at] = 0;
      return on;
    }
    for (std::size_t d = 0; d < dims; ++d) so_far.waste[d] += needs[d];
  }
}

GANGSCHED_INLINE void member_packing::put(const counts& some, std::size_t node) {
  for (std::size_t k = 0; k < some.size(); ++k) result_[order_[k]][node] += some[k];
}
GANGSCHED_INLINE void member_packing::take_back(const counts& some, std::size_t node) {
  for (std::size_t k = 0; k < some.size(); ++k) result_[order_[k]][node] -= some[k];
}

/// Bin completion of the nodes from that one on, for so many of those that are left.
GANGSCHED_INLINE member_packing::answer member_packing::complete(std::size_t from, counts& left, std::uint32_t needed) {
  if (needed == 0) return answer::found;
  if (from == sequence_.size() || hopeless(left, needed, from)) return answer::none;
  std::uint64_t hash = mix64(from), other = mix64(~hash);
  for (const std::uint32_t count : left) hash = mix64(hash ^ count), other = mix64(other + count);
  if (failed_.contains({hash, other})) return answer::none;
  const node_class& here = classes_[sequence_[from]];
  const std::size_t first =
      static_cast<std::size_t>(std::find(sequence_.begin(), sequence_.end(), sequence_[from]) - sequence_.begin());
  const std::size_t node = here.nodes[from - first];
  // With all of them needed what is not used here has to be had from the nodes after it.
  amounts at_least(total_.size(), 0);
  if (all_needed()) {
    at_least = least_needs(left, needed);
    for (std::size_t d = 0; d < at_least.size(); ++d) at_least[d] -= free_after_[from + 1][d];
  }
  constexpr std::size_t most = 1024;
  std::vector<filling> all;
  filling empty{counts(left.size(), 0), here.free};
  each_filling(here, left, at_least, false, 0, empty, [&](const filling& one) {
    if (all.size() == most) return !(cut_ = true);
    all.push_back(one);
    return true;
  });
  if (steps_ == 0) return answer::unknown;
  std::stable_sort(all.begin(), all.end(), [](const filling& a, const filling& b) { return a.weight < b.weight; });
  for (const filling& one : all) {
    const std::uint32_t here_now = std::accumulate(one.of.begin(), one.of.end(), std::uint32_t{0});
    for (std::size_t k = 0; k < left.size(); ++k) left[k] -= one.of[k];
    put(one.of, node);
    const answer said = complete(from + 1, left, needed - std::min(needed, here_now));
    if (said == answer::found) return said;
    for (std::size_t k = 0; k < left.size(); ++k) left[k] += one.of[k];
    take_back(one.of, node);
    if (steps_ == 0) return answer::unknown;
  }
  failed_.insert({hash, other});
  return answer::none;
}

/// All fillings of all nodes, and what is open.
struct member_packing::cover {
  static constexpr std::uint64_t guards = 0x8080808080808080u;
  /// Eight counts a word, each below its guard bit, so that one subtraction compares eight.
  struct packed {
    std::size_t node_class;
    std::vector<std::uint64_t> words;
    amounts waste;
    std::vector<std::size_t> kinds;  ///< of which there are some
    std::uint32_t members = 0;
  };
  std::vector<packed> all;
  std::vector<std::uint32_t> open;                ///< by class: nodes
  std::vector<std::uint64_t> left;                ///< of the members
  amounts slack;                                  ///< that may be wasted yet
  std::vector<std::vector<std::uint32_t>> alive;  ///< by depth: fillings that are possible yet
  std::vector<std::uint32_t> chosen;

  [[nodiscard]] bool possible(const packed& one) const noexcept {
    if (open[one.node_class] == 0) return false;
    for (std::size_t w = 0; w < left.size(); ++w) {
      if ((((left[w] | guards) - one.words[w]) & guards) != guards) return false;
    }
    for (std::size_t d = 0; d < slack.size(); ++d) {
      if (one.waste[d] > slack[d]) return false;
    }
    return true;
  }
  [[nodiscard]] static std::uint32_t count_in(const std::vector<std::uint64_t>& words, std::size_t k) noexcept {
    return static_cast<std::uint32_t>(words[k / 8] >> (k % 8 * 8)) & 0x7f;
  }
};

/// As an exact cover, if the fillings are few enough. @pre all members are needed
GANGSCHED_INLINE member_packing::answer member_packing::cover_exactly() {
  constexpr std::size_t most = 20'000;
  cover with;
  counts left;
  for (const std::size_t k : order_) left.push_back(kinds_[k].count);
  if (std::any_of(left.begin(), left.end(), [](std::uint32_t count) { return count > 0x7f; })) return answer::unknown;
  with.left.assign((left.size() + 7) / 8, 0);
  const auto pack = [](const counts& some, std::vector<std::uint64_t>& words) {
    for (std::size_t k = 0; k < some.size(); ++k) words[k / 8] |= std::uint64_t{some[k]} << (k % 8 * 8);
  };
  pack(left, with.left);
  with.slack = free_after_[0];
  const amounts needs = least_needs(left, members_);
  for (std::size_t d = 0; d < needs.size(); ++d) {
    if (with.slack[d] == detail::most_amount) return answer::unknown;  // how much may be wasted is not known
    with.slack[d] -= needs[d];
  }
  for (std::size_t c = 0; c < classes_.size(); ++c) {
    with.open.push_back(static_cast<std::uint32_t>(classes_[c].nodes.size()));
    amounts at_least = classes_[c].free;
    for (std::size_t d = 0; d < at_least.size(); ++d) at_least[d] -= with.slack[d];
    filling empty{counts(left.size(), 0), classes_[c].free};
    const bool whole = each_filling(classes_[c], left, at_least, true, 0, empty, [&](const filling& one) {
      if (with.all.size() == most) return false;
      cover::packed& made =
          with.all.emplace_back(cover::packed{c, std::vector<std::uint64_t>(with.left.size(), 0), one.waste, {}});
      pack(one.of, made.words);
      for (std::size_t k = 0; k < one.of.size(); ++k) {
        if (one.of[k] != 0) made.kinds.push_back(k), made.members += one.of[k];
      }
      return true;
    });
    if (!whole) return answer::unknown;
  }
  with.alive.resize(sequence_.size() + 2);
  with.alive[0].resize(with.all.size());
  std::iota(with.alive[0].begin(), with.alive[0].end(), std::uint32_t{0});
  const answer said = cover_from(with, members_);
  if (said != answer::found) return said;
  std::vector<std::size_t> next(classes_.size(), 0);
  for (const std::uint32_t which : with.chosen) {
    const cover::packed& one = with.all[which];
    const std::size_t node = classes_[one.node_class].nodes[next[one.node_class]++];
    for (std::size_t k = 0; k < order_.size(); ++k) result_[order_[k]][node] += cover::count_in(one.words, k);
  }
  return said;
}

/// Whatever member or node has the fewest fillings left is next. One that was tried in vain is out of the question for those after it.
GANGSCHED_INLINE member_packing::answer member_packing::cover_from(cover& with, std::uint32_t left) {
  if (left == 0) return answer::found;
  const std::size_t depth = with.chosen.size();
  std::vector<std::uint32_t>& alive = with.alive[depth];
  const std::uint64_t cost = 1 + alive.size() / 4;
  if (steps_ <= cost) return steps_ = 0, answer::unknown;
  steps_ -= cost;
  std::vector<std::uint32_t> of_class(classes_.size(), 0), of_kind(order_.size(), 0);
  for (const std::uint32_t which : alive) {
    const cover::packed& one = with.all[which];
    ++of_class[one.node_class];
    for (const std::size_t k : one.kinds) ++of_kind[k];
  }
  std::uint32_t fewest = ~std::uint32_t{0};
  std::size_t which_class = 0, which_kind = order_.size();
  for (std::size_t c = 0; c < of_class.size(); ++c) {
    if (with.open[c] != 0 && of_class[c] < fewest) fewest = of_class[c], which_class = c;
  }
  for (std::size_t k = 0; k < of_kind.size(); ++k) {
    if (cover::count_in(with.left, k) != 0 && of_kind[k] < fewest) fewest = of_kind[k], which_kind = k;
  }
  if (fewest == 0 || fewest == ~std::uint32_t{0}) return answer::none;
  std::vector<std::uint32_t> branches;
  for (const std::uint32_t which : alive) {
    const cover::packed& one = with.all[which];
    if (which_kind != order_.size() ? cover::count_in(one.words, which_kind) != 0 : one.node_class == which_class)
      branches.push_back(which);
  }
  for (const std::uint32_t which : branches) {
    const cover::packed& one = with.all[which];
    for (std::size_t w = 0; w < with.left.size(); ++w) with.left[w] -= one.words[w];
    for (std::size_t d = 0; d < with.slack.size(); ++d) with.slack[d] -= one.waste[d];
    --with.open[one.node_class];
    with.chosen.push_back(which);
    std::vector<std::uint32_t>& then = with.alive[depth + 1];
    then.clear();
    for (const std::uint32_t other : alive) {
      if (with.possible(with.all[other])) then.push_back(other);
    }
    const answer said = cover_from(with, left - one.members);
    if (said != answer::none) return said;
    with.chosen.pop_back();
    ++with.open[one.node_class];
    for (std::size_t d = 0; d < with.slack.size(); ++d) with.slack[d] += one.waste[d];
    for (std::size_t w = 0; w < with.left.size(); ++w) with.left[w] += one.words[w];
    alive.erase(std::find(alive.begin(), alive.end(), which));
  }
  return answer::none;
}

GANGSCHED_INLINE member_packing::answer member_packing::solve() {
  if (least_ > members_) return answer::none;
  counts left;
  for (const std::size_t k : order_) left.push_back(kinds_[k].count);
  // What is easy is soon found by completing nodes; then the cover, where it is exact; then whatever steps are left.
  const auto among = [&](std::uint64_t share, const auto& search) {
    const std::uint64_t kept = steps_ - share;
    steps_ = share;
    const answer said = search();
    steps_ += kept;
    return said;
  };
  const auto completing = [&] {
    const answer said = complete(0, left, least_);
    return said == answer::none && cut_ ? answer::unknown : said;
  };
  if (const answer said = among(steps_ / 8, completing); said != answer::unknown) return said;
  if (all_needed()) {
    if (const answer said = among(steps_ / 2, [&] { return cover_exactly(); }); said != answer::unknown) return said;
  }
  return completing();
}

}  // namespace gangsched::inline GANGSCHED_ABI::engine
