#include "gangsched/devices/cpu_assignment.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace gangsched::inline GANGSCHED_ABI {

namespace detail {

/// Takes CPUs step by step, as kubelet's cpuAccumulator. Groups are named by index.
class cpu_accumulator {
 public:
  using indexes = std::vector<std::uint32_t>;

  cpu_accumulator(const numa_topology& topology, const cpu_set& available, unsigned wanted)
      : topology_(topology),
        free_(available & topology.cpus()),
        needed_(static_cast<std::int64_t>(wanted)),
        cells_first_(topology.sockets().size() >= static_cast<std::size_t>(cell_count(topology.cells_with_cpus()))) {}

  [[nodiscard]] bool satisfied() const noexcept { return needed_ < 1; }
  [[nodiscard]] bool failed() const noexcept { return needed_ > static_cast<std::int64_t>(free_.count()); }
  [[nodiscard]] const cpu_set& taken() const noexcept { return taken_; }
  [[nodiscard]] const cpu_set& free() const noexcept { return free_; }
  [[nodiscard]] std::int64_t needed() const noexcept { return needed_; }

  /// Cells with a free CPU: the emptier their socket first, where sockets hold cells, and then the emptier cell.
  [[nodiscard]] indexes cells_by_free() const {
    if (cells_first_) return by_free(topology_.cells(), free_);
    return nested(sockets_by_free(), topology_.sockets(), topology_.cells());
  }
  void take(const cpu_set& cpus) {
    taken_ |= cpus;
    free_ -= cpus;
    needed_ -= static_cast<std::int64_t>(cpus.count());
  }
  void take_whole_cells_and_sockets() {
    for (const bool cells : {cells_first_, !cells_first_}) {
      if (satisfied()) return;
      if (cells)
        take_whole(topology_.cells(), cells_by_free());
      else
        take_whole(topology_.sockets(), sockets_by_free(), topology_.cpus_per_socket());
    }
  }
  void take_uncore_caches() {
    for (const std::uint32_t cache : caches_by_free()) {
      if (needs(topology_.cpus_per_uncore_cache())) take_whole(topology_.uncore_caches(), caches_by_free());
      if (satisfied()) return;
      take_part_of_cache(topology_.uncore_caches()[cache].cpus);
      if (satisfied()) return;
    }
  }
  void take_whole_cores() { take_whole(topology_.cores(), cores_by_free(), topology_.cpus_per_core()); }
  void take_threads(bool spread) {
    const auto [order, groups] =
        spread ? std::pair{sockets_by_free(), topology_.sockets()} : std::pair{cores_by_free(), topology_.cores()};
    const cpu_set at_start = free_;
    for (const std::uint32_t index : order) {
      const cpu_set candidates = at_start & groups[index].cpus;
      for (unsigned cpu = candidates.first(); cpu < cpu_set::capacity && !satisfied();) {
        take(cpu_set::range(cpu, cpu + 1));
        cpu = (candidates - cpu_set::range(0, cpu + 1)).first();
      }
    }
  }

 private:
  [[nodiscard]] bool needs(std::size_t cpus) const noexcept { return needed_ >= static_cast<std::int64_t>(cpus); }

  /// The groups that have one of @p inside free, by ascending number of all their free CPUs, then id.
  [[nodiscard]] indexes by_free(std::span<const cpu_group> groups, const cpu_set& inside) const {
    std::vector<std::pair<unsigned, std::uint32_t>> order;
    for (std::uint32_t i = 0; i < groups.size(); ++i)
      if (!(groups[i].cpus & inside & free_).empty()) order.emplace_back((groups[i].cpus & free_).count(), i);
    std::sort(order.begin(), order.end());
    indexes out;
    for (const auto& [count, index] : order) out.push_back(index);
    return out;
  }
  /// For each of @p outer in order, the inner groups that have a free CPU in it.
  [[nodiscard]] indexes nested(const indexes& outer, std::span<const cpu_group> outer_groups,
                               std::span<const cpu_group> inner_groups) const {
    indexes out;
    for (const std::uint32_t index : outer) {
      const indexes inner = by_free(inner_groups, outer_groups[index].cpus);
      out.insert(out.end(), inner.begin(), inner.end());
    }
    return out;
  }
  [[nodiscard]] indexes sockets_by_free() const {
    if (!cells_first_) return by_free(topology_.sockets(), free_);
    return nested(cells_by_free(), topology_.cells(), topology_.sockets());
  }
  [[nodiscard]] indexes cores_by_free() const {
    if (cells_first_) return nested(sockets_by_free(), topology_.sockets(), topology_.cores());
    return nested(cells_by_free(), topology_.cells(), topology_.cores());
  }
  [[nodiscard]] indexes caches_by_free() const {
    return nested(cells_by_free(), topology_.cells(), topology_.uncore_caches());
  }

  /// Takes those groups that are all free and not more than is needed.
  /// @param whole how many CPUs make a group whole; 0: all that it has
  void take_whole(std::span<const cpu_group> groups, const indexes& order, unsigned whole = 0) {
    indexes complete;
    for (const std::uint32_t index : order) {
      const unsigned all = whole == 0 ? groups[index].cpus.count() : whole;
      if ((groups[index].cpus & free_).count() == all) complete.push_back(index);
    }
    for (const std::uint32_t index : complete)
      if (needs(groups[index].cpus.count())) take(groups[index].cpus);
  }

  /// Takes all that is needed from the lowest cores of one cache, if that makes exactly the number needed.
  void take_part_of_cache(const cpu_set& cache) {
    const unsigned threads = topology_.cpus_per_core();
    std::int64_t cores = (needed_ + threads - 1) / threads;
    cpu_set cpus;
    for (const cpu_group& core : topology_.cores()) {
      if (cores == 0) break;
      if ((core.cpus & cache & free_).empty()) continue;
      cpus |= core.cpus & free_;
      --cores;
    }
    // An odd rest of whole cores leaves out the highest CPU.
    if (needed_ % 2 != 0 && threads > 1 && static_cast<std::int64_t>(cpus.count()) > needed_)
      cpus = cpus.lowest(cpus.count() - 1);
    if (static_cast<std::int64_t>(cpus.count()) == needed_) take(cpus);
  }

  const numa_topology& topology_;
  cpu_set free_, taken_;
  std::int64_t needed_;  // below 0 where a socket spans cells and counts twice
  bool cells_first_;
};

/// A list of cells that shares its storage with the list it was appended to while that has room, like a slice in Go. kubelet keeps
/// the best combination found as such a slice, and later ones of four and more cells write into it: mirrored, because the CPUs that
/// a node hands out depend on it.
class shared_cells {
 public:
  [[nodiscard]] shared_cells appended(std::uint32_t cell) const {
    shared_cells out = *this;
    if (size_ == (storage_ ? storage_->size() : 0)) {
      out.storage_ = std::make_shared<std::vector<std::uint32_t>>(std::max<std::size_t>(1, 2 * size_));
      if (storage_) std::copy(storage_->begin(), storage_->end(), out.storage_->begin());
    }
    (*out.storage_)[out.size_++] = cell;
    return out;
  }
  [[nodiscard]] std::span<const std::uint32_t> cells() const noexcept {
    return storage_ ? std::span<const std::uint32_t>(storage_->data(), size_) : std::span<const std::uint32_t>();
  }

 private:
  std::shared_ptr<std::vector<std::uint32_t>> storage_;
  std::size_t size_ = 0;
};

/// Calls visit(combination) for each choice of @p k out of @p from, in lexicographic order, until it returns false.
template <class Visit>
bool each_combination(std::span<const std::uint32_t> from, std::size_t k, std::size_t start, const shared_cells& chosen,
                      Visit&& visit) {
  if (k == 0) return visit(chosen);
  for (std::size_t i = start; i + k <= from.size(); ++i)
    if (!each_combination(from, k - 1, i + 1, chosen.appended(from[i]), visit)) return false;
  return true;
}

/// take_cpus_distributed for one request.
class cpu_distributor {
 public:
  cpu_distributor(const numa_topology& topology, const cpu_accumulator& all, unsigned wanted, unsigned group)
      : order_(all.cells_by_free()),
        distinct_(order_),
        wanted_(wanted),
        group_(group),
        free_(topology.cell_number(), 0) {
    std::sort(distinct_.begin(), distinct_.end());
    distinct_.erase(std::unique(distinct_.begin(), distinct_.end()), distinct_.end());
    for (const std::uint32_t cell : distinct_)
      free_[cell] = static_cast<std::int64_t>((topology.cells()[cell].cpus & all.free()).count());
  }

  /// Whether some @p k cells can share the request; the best of them are then in combination() and remainder().
  bool find(std::size_t k) {
    best_ = never;
    found_ = false;
    each_combination(order_, k, 0, {}, [this](const shared_cells& cells) {
      if (best_ == 0) return false;
      consider(cells);
      return true;
    });
    return found_;
  }
  /// How many cells have a free CPU.
  [[nodiscard]] unsigned cells() const noexcept { return static_cast<unsigned>(distinct_.size()); }
  [[nodiscard]] std::span<const std::uint32_t> combination() const noexcept { return combination_.cells(); }
  /// The cells that take turns giving a group of what does not divide.
  [[nodiscard]] std::span<const std::uint32_t> remainder() const noexcept { return remainder_.cells(); }
  /// What each of @p number cells gives, in whole groups.
  [[nodiscard]] std::int64_t share(std::size_t number) const noexcept {
    return wanted_ / static_cast<std::int64_t>(number) / group_ * group_;
  }

 private:
  static constexpr double never = std::numeric_limits<double>::max();
  using counts = std::vector<std::int64_t>;

  void consider(const shared_cells& list) {
    const auto cells = list.cells();
    std::int64_t cpus = 0, groups = 0;
    const std::int64_t each = share(cells.size());
    cell_mask counted = 0;
    for (const std::uint32_t cell : cells) {
      if ((counted & one_cell(cell)) == 0) cpus += free_[cell];
      counted |= one_cell(cell);
      groups += free_[cell] / group_;
      if (free_[cell] < each) return;
    }
    if (cpus < wanted_ || groups * group_ < wanted_) return;
    counts left = free_;
    for (const std::uint32_t cell : cells) left[cell] -= each;
    const std::int64_t rest = wanted_ - each * static_cast<std::int64_t>(cells.size());

    double balance = never;
    shared_cells givers;
    if (rest == 0) balance = deviation(left);
    std::vector<std::uint32_t> can_give;
    for (const std::uint32_t cell : cells)
      if (left[cell] >= group_) can_give.push_back(cell);
    for (std::size_t k = can_give.size(); rest > 0 && k >= 1; --k) {
      each_combination(can_give, k, 0, {}, [&](const shared_cells& subset) {
        const double now = balance_after(left, subset.cells(), rest);
        if (now < balance) balance = now, givers = subset;
        return true;
      });
    }
    if (balance < best_) best_ = balance, found_ = true, combination_ = list, remainder_ = givers;
  }

  /// The deviation once @p subset gave @p rest in turns, or never.
  [[nodiscard]] double balance_after(counts left, std::span<const std::uint32_t> subset, std::int64_t rest) const {
    std::int64_t can = 0;
    for (const std::uint32_t cell : subset) can += left[cell];
    if (can < rest) return never;
    while (rest > 0) {
      const std::int64_t before = rest;
      for (const std::uint32_t cell : subset) {
        if (rest == 0) break;
        if (left[cell] < group_) continue;
        left[cell] -= group_;
        rest -= group_;
      }
      if (rest == before) return never;  // kubelet does not come back from here
    }
    return deviation(left);
  }
  /// The standard deviation of the free CPUs of all cells that had some, to three digits like its mean.
  [[nodiscard]] double deviation(const counts& left) const {
    double sum = 0, squares = 0;
    const auto n = static_cast<double>(distinct_.size());
    for (const std::uint32_t cell : distinct_) sum += static_cast<double>(left[cell]);
    const double mean = std::round(sum / n * 1000) / 1000;
    for (const std::uint32_t cell : distinct_) {
      const double off = static_cast<double>(left[cell]) - mean;
      squares += off * off;
    }
    return std::round(std::sqrt(squares / n) * 1000) / 1000;
  }

  std::vector<std::uint32_t> order_;     // a cell that sockets share is there for each of them, as in kubelet
  std::vector<std::uint32_t> distinct_;  // without repetition
  std::int64_t wanted_, group_;
  counts free_;
  double best_ = never;
  bool found_ = false;
  shared_cells combination_, remainder_;
};

}  // namespace detail

GANGSCHED_INLINE std::optional<cpu_set> take_cpus_packed(const numa_topology& topology, const cpu_set& available,
                                                         unsigned wanted, bool spread, bool by_uncore_cache) {
  detail::cpu_accumulator all(topology, available, wanted);
  if (all.satisfied()) return all.taken();
  if (all.failed()) return std::nullopt;
  all.take_whole_cells_and_sockets();
  if (!all.satisfied() && by_uncore_cache) all.take_uncore_caches();
  if (!all.satisfied() && !spread) all.take_whole_cores();
  if (!all.satisfied()) all.take_threads(spread);
  if (!all.satisfied()) return std::nullopt;
  return all.taken();
}

GANGSCHED_INLINE std::optional<cpu_set> take_cpus_distributed(const numa_topology& topology, const cpu_set& available,
                                                              unsigned wanted, unsigned group, bool spread) {
  if (wanted % group != 0) return take_cpus_packed(topology, available, wanted, spread, false);
  detail::cpu_accumulator all(topology, available, wanted);
  if (all.satisfied()) return all.taken();
  if (all.failed()) return std::nullopt;

  const auto up = [](unsigned a, unsigned b) { return (a - 1) / b + 1; };
  const unsigned per_cell = up(up(topology.cpu_number(), group), cell_count(topology.cells_with_cpus()));
  const unsigned groups = up(wanted, group);
  detail::cpu_distributor distributor(topology, all, wanted, group);
  const unsigned most = std::min(groups, distributor.cells());
  for (unsigned k = up(groups, per_cell); k <= most; ++k) {
    if (!distributor.find(k)) continue;
    const auto take_from = [&](std::uint32_t cell, std::int64_t cpus) {
      const cpu_set in_cell = all.free() & topology.cells()[cell].cpus;
      all.take(take_cpus_packed(topology, in_cell, static_cast<unsigned>(cpus), spread, false).value_or(cpu_set{}));
    };
    const std::int64_t each = distributor.share(k);
    for (const std::uint32_t cell : distributor.combination()) take_from(cell, each);
    std::int64_t rest = static_cast<std::int64_t>(wanted) - each * k;
    while (rest > 0) {
      const std::int64_t before = rest;
      for (const std::uint32_t cell : distributor.remainder()) {
        if (rest == 0) break;
        if ((all.free() & topology.cells()[cell].cpus).count() < group) continue;
        take_from(cell, group);
        rest -= group;
      }
      if (rest == before) return std::nullopt;  // kubelet does not come back from here
    }
    if (all.needed() != 0) return std::nullopt;
    return all.taken();
  }
  return take_cpus_packed(topology, available, wanted, spread, false);
}

}  // namespace gangsched::inline GANGSCHED_ABI
