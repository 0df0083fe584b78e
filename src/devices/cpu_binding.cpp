#include "gangsched/devices/cpu_binding.hpp"

#include <algorithm>
#include <limits>
#include <set>
#include <tuple>
#include <vector>

namespace gangsched::inline GANGSCHED_ABI {
namespace detail {

/// Binds CPUs step by step, as koord-scheduler's cpuAccumulator.
class cpu_binder {
 public:
  cpu_binder(const numa_topology& topology, const cpu_set& available, unsigned wanted, numa_allocate_strategy strategy,
             const exclusive_cpus& apart)
      : topology_(topology),
        free_(available & topology.cpus()),
        needed_(wanted),
        strategy_(strategy),
        policy_(apart.policy) {
    if (policy_ != cpu_exclusive_policy::none) keep_from(apart.others & topology.cpus());
  }

  std::optional<cpu_set> run(cpu_bind_policy policy) && {
    if (needed_ > free_.count()) return std::nullopt;
    const bool full = policy == cpu_bind_policy::full_pcpus;
    if (full || topology_.cpus_per_core() == 1) whole_cores();
    if (!full) inside_one();
    for (const bool apart : {true, false}) take(spread(by_core(apart)), needed_);
    return taken_;
  }

 private:
  using list = std::vector<unsigned>;

  void take(const list& cpus, std::size_t count) {
    cpu_set more;
    for (std::size_t i = 0; i < std::min(count, cpus.size()); ++i) {
      more.insert(cpus[i]);
      free_.erase(cpus[i]);
    }
    taken_ |= more;
    if (policy_ != cpu_exclusive_policy::none) keep_from(more);
    needed_ -= static_cast<unsigned>(std::min(count, cpus.size()));
  }
  /// @p cpus belong to a pod of its exclusive policy: what shares a core or a cell with them is for when nothing else is left.
  void keep_from(const cpu_set& cpus) {
    const auto places = policy_ == cpu_exclusive_policy::pcpu_level ? topology_.cores() : topology_.cells();
    for (const cpu_group& place : places)
      if (!(place.cpus & cpus).empty()) beside_ |= place.cpus;
  }
  /// The free CPUs; @p apart: without those that share a core or a cell with CPUs of an exclusive pod.
  [[nodiscard]] cpu_set free(bool apart) const { return apart ? free_ - beside_ : free_; }

  bool take_from_one(const std::vector<list>& places) {
    for (const list& cpus : places)
      if (cpus.size() >= needed_) return take(cpus, needed_), true;
    return false;
  }

  void whole_cores() {
    const unsigned core = topology_.cpus_per_core();
    for (const bool apart : {true, false})
      if (needed_ <= cpus_per_cell() && take_from_one(full_cores(topology_.cells(), apart))) return;
    if (needed_ <= topology_.cpus_per_socket() && take_from_one(full_cores(topology_.sockets()))) return;
    std::vector<list> sockets = full_cores(topology_.sockets()), larger;
    std::stable_sort(sockets.begin(), sockets.end(), [](const list& a, const list& b) { return a.size() > b.size(); });
    for (list& cpus : sockets) {
      if (needed_ < cpus.size())
        larger.push_back(std::move(cpus));
      else
        take(cpus, cpus.size());
    }
    std::stable_sort(larger.begin(), larger.end(), [](const list& a, const list& b) { return a.size() < b.size(); });
    for (const list& cpus : larger) {
      for (std::size_t i = 0; i < cpus.size() && needed_ >= core; i += core) {
        const auto from = cpus.begin() + static_cast<std::ptrdiff_t>(i);
        take({from, from + core}, core);
      }
    }
  }

  /// First with one CPU a core and apart from others, then with any.
  void inside_one() {
    for (const bool once : {true, false})
      if (needed_ > 0 && needed_ <= cpus_per_cell() && take_from_one(any_cpus(topology_.cells(), once))) return;
    for (const bool once : {true, false})
      if (needed_ > 0 && needed_ <= topology_.cpus_per_socket() && take_from_one(any_cpus(topology_.sockets(), once)))
        return;
  }

  [[nodiscard]] unsigned cpus_per_cell() const {
    return topology_.cpu_number() / cell_count(topology_.cells_with_cpus());
  }
  /// Which of two numbers of free CPUs comes first: less is better.
  [[nodiscard]] std::int64_t order(std::size_t free) const {
    const auto number = static_cast<std::int64_t>(free);
    return strategy_ == numa_allocate_strategy::most_allocated ? number : -number;
  }

  [[nodiscard]] bool are_cells(std::span<const cpu_group> places) const {
    return places.data() == topology_.cells().data();
  }

  /// The CPUs of whole free cores in each place that has some; by the strategy, of cells then by their sockets, then by id.
  /// @p apart: of a policy on cells without those; whole cores are apart as they are.
  [[nodiscard]] std::vector<list> full_cores(std::span<const cpu_group> places, bool apart = false) const {
    std::vector<list> all;
    const cpu_set free = this->free(apart && policy_ == cpu_exclusive_policy::numa_node_level);
    const auto in_socket = [&](unsigned cpu) {
      return are_cells(places) ? order((topology_.sockets()[topology_.of(cpu).socket].cpus & free).count()) : 0;
    };
    for (const cpu_group& place : places) {
      list here;
      for (const cpu_group& core : topology_.cores()) {
        if ((core.cpus & place.cpus).empty() || (core.cpus & free).count() != topology_.cpus_per_core()) continue;
        (core.cpus & free).for_each([&](unsigned cpu) { here.push_back(cpu); });
      }
      if (!here.empty()) all.push_back(std::move(here));
    }
    std::stable_sort(all.begin(), all.end(), [&](const list& a, const list& b) {
      return std::pair{order(a.size()), in_socket(a[0])} < std::pair{order(b.size()), in_socket(b[0])};
    });
    return all;
  }

  /// The free CPUs of each place, spread; @p once: one of each core only, and apart from others. Sockets go by as many as are listed.
  [[nodiscard]] std::vector<list> any_cpus(std::span<const cpu_group> places, bool once) const {
    struct found {
      std::int64_t here, socket;
      list cpus;
    };
    std::vector<found> all;
    const cpu_set free = this->free(once && (policy_ == cpu_exclusive_policy::pcpu_level || are_cells(places)));
    for (const cpu_group& place : places) {
      const cpu_set here = place.cpus & free;
      if (here.empty()) continue;
      const cpu_set& socket = topology_.sockets()[topology_.of(here.first()).socket].cpus;
      found& one = all.emplace_back(found{order(here.count()), order((socket & free).count()), {}});
      here.for_each([&](unsigned cpu) { one.cpus.push_back(cpu); });
      one.cpus = once ? firsts(one.cpus) : spread(one.cpus);
      if (!are_cells(places)) one.here = order(one.cpus.size()), one.socket = 0;
    }
    std::stable_sort(all.begin(), all.end(), [](const found& a, const found& b) {
      return std::pair{a.here, a.socket} < std::pair{b.here, b.socket};
    });
    std::vector<list> lists;
    for (found& one : all) lists.push_back(std::move(one.cpus));
    return lists;
  }

  /// The free CPUs, core by core: first in sockets of those that were taken.
  [[nodiscard]] list by_core(bool apart) const {
    const cpu_set free = this->free(apart);
    const auto left = [&](const cpu_group& place) { return order((place.cpus & free).count()); };
    struct key {
      std::int64_t taken, socket_free, cell_free, core_free, socket;
      std::size_t core;
      auto operator<=>(const key&) const = default;
    };
    std::vector<key> keys;
    const auto cores = topology_.cores();
    for (std::size_t i = 0; i < cores.size(); ++i) {
      const cpu_set here = cores[i].cpus & free;
      if (here.empty()) continue;
      const unsigned cpu = here.first(), socket = topology_.of(cpu).socket;
      keys.push_back({-std::int64_t{(topology_.sockets()[socket].cpus & taken_).count()},
                      left(topology_.sockets()[socket]), left(topology_.cells()[topology_.of(cpu).cell]),
                      std::int64_t{here.count()}, std::int64_t{socket}, i});
    }
    std::sort(keys.begin(), keys.end());
    list all;
    for (const key& one : keys) (cores[one.core].cpus & free).for_each([&](unsigned cpu) { all.push_back(cpu); });
    return all;
  }

  /// The first of each core.
  [[nodiscard]] list firsts(const list& cpus) const {
    list all;
    std::set<std::uint32_t> seen;
    for (const unsigned cpu : cpus)
      if (seen.insert(topology_.of(cpu).core).second) all.push_back(cpu);
    return all;
  }
  /// One of each core, then another of each, and so on.
  [[nodiscard]] list spread(list cpus) const {
    if (cpus.size() <= topology_.cpus_per_core()) return cpus;
    list all;
    while (!cpus.empty()) {
      const list round = firsts(cpus);
      all.insert(all.end(), round.begin(), round.end());
      std::erase_if(cpus, [&](unsigned cpu) { return std::find(round.begin(), round.end(), cpu) != round.end(); });
    }
    return all;
  }

  const numa_topology& topology_;
  cpu_set free_, taken_;
  unsigned needed_;
  numa_allocate_strategy strategy_;
  cpu_exclusive_policy policy_;
  cpu_set beside_;
};

}  // namespace detail

GANGSCHED_INLINE cpu_set cpus_for(const numa_topology& topology, const cpu_set& available, cpu_bind_policy policy) {
  cpu_set usable;
  for (const cpu_group& core : topology.cores()) {
    const cpu_set here = core.cpus & available;
    if (policy == cpu_bind_policy::spread_by_pcpus)
      usable |= here.lowest(1);
    else if (here.count() == topology.cpus_per_core())
      usable |= here;
  }
  return usable;
}

GANGSCHED_INLINE std::optional<cpu_set> bind_cpus(const numa_topology& topology, const cpu_set& available,
                                                  unsigned wanted, cpu_bind_policy policy,
                                                  numa_allocate_strategy strategy, const exclusive_cpus& apart) {
  return detail::cpu_binder{topology, available, wanted, strategy, apart}.run(policy);
}

GANGSCHED_INLINE std::optional<cpu_set> bind_cpus_in(const numa_topology& topology, const cpu_set& available,
                                                     cell_mask cells, unsigned wanted, const cpu_binding& how,
                                                     numa_allocate_strategy strategy, const cpu_set& others) {
  const exclusive_cpus apart{how.exclusive, others};
  const cpu_set usable = how.required ? cpus_for(topology, available, how.policy) : available;
  const bool whole = how.required && how.policy == cpu_bind_policy::full_pcpus;
  std::vector<cpu_set> shares;
  for (unsigned cell = 0; cell < topology.cell_number(); ++cell)
    if ((cells & one_cell(cell)) != 0) shares.push_back(usable & topology.cells()[cell].cpus);
  std::stable_sort(shares.begin(), shares.end(),
                   [](const cpu_set& a, const cpu_set& b) { return a.count() < b.count(); });
  cpu_set taken;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    unsigned share = (wanted - taken.count()) / static_cast<unsigned>(shares.size() - i);
    if (whole) share -= share % topology.cpus_per_core();
    const auto here = bind_cpus(topology, shares[i], std::min(share, shares[i].count()), how.policy, strategy, apart);
    if (here) taken |= *here;
  }
  const auto rest = bind_cpus(topology, usable - taken, wanted - taken.count(), how.policy, strategy, apart);
  if (!rest) return std::nullopt;
  taken |= *rest;
  if (whole && taken.count() != topology.whole_cores(taken).count()) return std::nullopt;
  return taken;
}

GANGSCHED_INLINE std::int64_t amplified(std::int64_t milli, std::int64_t percent) noexcept {
  if (percent <= 100) return milli;
  __extension__ using wide = __int128;
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  return static_cast<std::int64_t>(std::min<wide>((wide{milli} * percent + 99) / 100, most));
}

}  // namespace gangsched::inline GANGSCHED_ABI
