#include "gangsched/devices/gpu_bids.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "gangsched/core/saturating_add.hpp"

namespace gangsched::inline GANGSCHED_ABI {
namespace detail {

/// max Σ packed thousandths over patterns, subject to: each size no more often than demanded, no more patterns than GPUs. A revised simplex
/// with an explicit inverse; columns come from a knapsack over what the sizes still earn.
class cutting_stock {
 public:
  static constexpr std::size_t grid = 100;  ///< parts of a GPU

  cutting_stock(std::vector<std::int32_t> sizes, const std::vector<double>& demand, double gpus)
      : sizes_(std::move(sizes)),
        rows_(sizes_.size() + 1),
        inverse_(rows_ * rows_),
        amounts_(demand),
        earns_(rows_),
        duals_(rows_) {
    amounts_.push_back(gpus);
    for (std::size_t i = 0; i < rows_; ++i) at(i, i) = 1;
  }

  /// The dual of each size's demand.
  const std::vector<double>& solve() {
    for (int step = 0; step < 400 && improve(); ++step) {
    }
    return duals_;
  }

 private:
  double& at(std::size_t row, std::size_t column) { return inverse_[row * rows_ + column]; }

  bool improve() {
    for (std::size_t j = 0; j < rows_; ++j) {
      duals_[j] = 0;
      for (std::size_t i = 0; i < rows_; ++i) duals_[j] += earns_[i] * at(i, j);
    }
    std::vector<double> column(rows_);
    double earns = 0;
    if (!slack(column) && !pattern(column, earns)) return false;
    return pivot(column, earns);
  }
  /// A demand or the capacity that is better not used up.
  bool slack(std::vector<double>& column) const {
    double best = 1e-7;
    std::size_t found = rows_;
    for (std::size_t j = 0; j < rows_; ++j) {
      if (-duals_[j] > best) best = -duals_[j], found = j;
    }
    if (found == rows_) return false;
    column[found] = 1;
    return true;
  }
  [[nodiscard]] std::size_t parts(std::size_t size) const {
    return std::max<std::size_t>(1, (static_cast<std::size_t>(sizes_[size]) + 9) / 10);
  }
  /// The pattern that earns the most beyond what its sizes are worth already.
  bool pattern(std::vector<double>& column, double& earns) const {
    const std::size_t sizes = sizes_.size();
    std::vector<double> worth(grid + 1);
    std::vector<std::size_t> last(grid + 1, sizes);
    for (std::size_t room = 1; room <= grid; ++room) {
      worth[room] = worth[room - 1];
      for (std::size_t i = 0; i < sizes; ++i) {
        if (parts(i) > room) continue;
        const double with = worth[room - parts(i)] + sizes_[i] - duals_[i];
        if (with > worth[room] + 1e-12) worth[room] = with, last[room] = i;
      }
    }
    if (worth[grid] - duals_[sizes] < 1e-6) return false;
    for (std::size_t room = grid; room > 0;) {
      const std::size_t size = last[room];
      if (size == sizes) {
        --room;
        continue;
      }
      column[size] += 1;
      earns += sizes_[size];
      room -= parts(size);
    }
    column[sizes] = 1;
    return true;
  }
  bool pivot(const std::vector<double>& column, double earns) {
    std::vector<double> moved(rows_);
    for (std::size_t i = 0; i < rows_; ++i) {
      for (std::size_t j = 0; j < rows_; ++j) {
        if (column[j] != 0) moved[i] += at(i, j) * column[j];
      }
    }
    std::size_t leaves = rows_;
    double least = 1e18;
    for (std::size_t i = 0; i < rows_; ++i) {
      if (moved[i] > 1e-9 && amounts_[i] / moved[i] < least - 1e-12) least = amounts_[i] / moved[i], leaves = i;
    }
    if (leaves == rows_) return false;
    const double by = moved[leaves];
    for (std::size_t j = 0; j < rows_; ++j) at(leaves, j) /= by;
    amounts_[leaves] /= by;
    for (std::size_t i = 0; i < rows_; ++i) {
      if (i == leaves || moved[i] == 0) continue;
      for (std::size_t j = 0; j < rows_; ++j) at(i, j) -= moved[i] * at(leaves, j);
      amounts_[i] -= moved[i] * amounts_[leaves];
    }
    earns_[leaves] = earns;
    return true;
  }

  std::vector<std::int32_t> sizes_;
  std::size_t rows_;
  std::vector<double> inverse_, amounts_, earns_, duals_;
};

}  // namespace detail

GANGSCHED_INLINE bid_values bid_for_shares(std::span<const expected_pods> expected, std::int64_t gpus) {
  bid_values values(whole_gpu + 1);
  std::map<std::int32_t, double> shares;
  double total = 0, whole = 0;
  for (const expected_pods& one : expected) {
    const auto count = static_cast<double>(one.count);
    total += count * one.gpus * one.milli;
    if (one.gpus == 1 && one.milli < whole_gpu)
      shares[one.milli] += count;
    else
      whole += count * one.gpus;
  }
  if (shares.empty() || total <= 0) return values;
  const double scale = 1000.0 * static_cast<double>(gpus) / total;
  std::vector<std::int32_t> sizes;
  std::vector<double> demand;
  for (const auto& [milli, count] : shares) sizes.push_back(milli), demand.push_back(count * scale);
  sizes.push_back(whole_gpu), demand.push_back(whole * scale);
  const std::vector<double> duals = detail::cutting_stock{sizes, demand, static_cast<double>(gpus)}.solve();

  std::vector<double> worth(whole_gpu + 1);
  for (std::size_t room = 1; room < worth.size(); ++room) {
    worth[room] = worth[room - 1];
    for (std::size_t i = 0; i + 1 < sizes.size(); ++i) {
      const auto size = static_cast<std::size_t>(sizes[i]);
      if (size <= room) worth[room] = std::max(worth[room], worth[room - size] + std::max(0.0, sizes[i] - duals[i]));
    }
  }
  worth[whole_gpu] = std::max(worth[whole_gpu], whole_gpu - duals[sizes.size() - 1]);
  for (std::size_t room = 0; room < worth.size(); ++room)
    values[room] = static_cast<std::int32_t>(std::lround(worth[room]));
  return values;
}

GANGSCHED_INLINE demand_learner::demand_learner(std::span<const expected_pods> prior, std::int64_t prior_pods)
    : prior_pods_(prior_pods) {
  for (expected_pods one : prior) {
    const std::int64_t count = std::exchange(one.count, 0);
    prior_[one] += count;
  }
}

GANGSCHED_INLINE bool demand_learner::see(const expected_pods& arrival) {
  expected_pods line = arrival;
  line.count = 0;
  std::int64_t& seen = seen_[line];
  seen = saturating_add(seen, arrival.count);
  arrived_ = saturating_add(arrived_, arrival.count);
  if (arrived_ < next_) return false;
  while (next_ <= arrived_ && next_ != std::numeric_limits<std::int64_t>::max()) next_ = saturating_add(next_, next_);
  return true;
}

GANGSCHED_INLINE std::vector<expected_pods> demand_learner::expected() const {
  // In thousandths of a pod, so that a prior of few pods keeps its proportions.
  constexpr std::int64_t fine = 1000;
  __extension__ using wide = __int128;
  const auto whole = [](wide amount) {
    return static_cast<std::int64_t>(std::min<wide>(amount, std::numeric_limits<std::int64_t>::max()));
  };
  wide priors = 0;
  for (const auto& [line, count] : prior_) priors += count;
  std::map<expected_pods, std::int64_t> counts;
  for (const auto& [line, count] : prior_)
    counts[line] = priors == 0 ? 0 : whole((wide{count} * prior_pods_ * fine + priors / 2) / priors);
  for (const auto& [line, count] : seen_) {
    std::int64_t& known = counts[line];
    known = saturating_add(known, whole(wide{count} * fine));
  }
  std::vector<expected_pods> all;
  for (const auto& [line, count] : counts) {
    all.push_back(line);
    all.back().count = count;
  }
  return all;
}

}  // namespace gangsched::inline GANGSCHED_ABI
