#include "gangsched/model/colocation.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "gangsched/core/saturating_add.hpp"
#include "gangsched/devices/device_inventory.hpp"
#include "gangsched/devices/numa_layout.hpp"
#include "gangsched/model/cluster_checks.hpp"
#include "gangsched/model/inside.hpp"
#include "gangsched/model/node_load.hpp"

namespace gangsched::inline GANGSCHED_ABI {

namespace detail {

GANGSCHED_INLINE std::int64_t share_of(std::int64_t amount, double ratio) noexcept {
  return saturating_cast(static_cast<double>(amount) * ratio);
}
GANGSCHED_INLINE double ratio_of(std::int64_t percent) noexcept { return static_cast<double>(percent) / 100.0; }

/// A count that the host said, else @p otherwise.
template <class Object>
std::int64_t count_of(const cluster_questions& on, Object of, std::string_view column, std::int64_t otherwise = 0) {
  return node_load::count(on.column_of(of, column).value_or(0)).value_or(otherwise);
}

/// Of CPU and of memory.
struct load_columns {
  const char* resource;
  std::string_view capacity, reserved, used, system, reclaimable, elsewhere;
};
inline constexpr std::array<load_columns, 2> all_load_columns{
    load_columns{"cpu", node_load::cpu_capacity, node_load::cpu_reserved, node_load::cpu_used, node_load::cpu_system,
                 node_load::cpu_reclaimable, node_load::cpu_batch_elsewhere},
    load_columns{"memory", node_load::memory_capacity, node_load::memory_reserved, node_load::memory_used,
                 node_load::memory_system, node_load::memory_reclaimable, node_load::memory_batch_elsewhere}};
using both_loads = std::array<colocation_load, all_load_columns.size()>;

/// Calls visit(pod) for those that run on the node, or will: what reservations hold is not in use.
template <class Visit>
void each_pod_on(const model::cluster_state& state, row_t node, const Visit& visit) {
  for (row_t pod = state.nodes.first_pod[node]; pod != no_row; pod = state.pods.next_on_node[pod])
    if (state.reserved.row_of(pod) == no_row) visit(pod_id{pod, state.pods.rows.generation(pod)});
}

GANGSCHED_INLINE bool is_measured(const cluster& on, pod_id pod) {
  return std::any_of(all_load_columns.begin(), all_load_columns.end(),
                     [&](const load_columns& one) { return on.column_of(pod, one.used).value_or(0) != 0; });
}

GANGSCHED_INLINE void count_pod(const cluster& on, pod_id pod, both_loads& sums) {
  const priority_band band = band_of(on, pod);
  if (band == priority_band::batch || band == priority_band::free) return;
  const model::cluster_state& state = inside(on);
  const pod_class& cls = state.classes[state.pods.cls[pod.row]];
  const bool measured = is_measured(on, pod);
  // (A pod with CPUs of its own lends none of them. What an unmeasured pod requests is not in `larger`, in Koordinator either.)
  const bool keeps_cpus = measured && qos_of(on, pod) == qos_class::lse;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const std::int64_t requested = cls.request(i == 0 ? kinds::cpu : kinds::memory);
    const std::int64_t used = count_of(on, pod, all_load_columns[i].used);
    const bool by_request = !measured || (keeps_cpus && i == 0);
    colocation_load& sum = sums[i];
    sum.requested = saturating_add(sum.requested, requested);
    sum.used = saturating_add(sum.used, by_request ? requested : used);
    if (measured) sum.larger = saturating_add(sum.larger, std::max(requested, used));
    if (band != priority_band::mid) sum.prod_requested = saturating_add(sum.prod_requested, requested);
  }
}

GANGSCHED_INLINE both_loads load_of(const cluster& on, node_id node) {
  both_loads made{};
  bool measured = true;  // unused is 0 where use was not measured
  for (std::size_t i = 0; i < made.size(); ++i) {
    const load_columns& columns = all_load_columns[i];
    const std::int64_t allocatable = on.allocatable(node, columns.resource);
    colocation_load& one = made[i];
    one.capacity = count_of(on, node, columns.capacity, allocatable);
    one.reserved = count_of(on, node, columns.reserved, std::max<std::int64_t>(0, one.capacity - allocatable));
    one.system_used = count_of(on, node, columns.system);
    one.reclaimable = count_of(on, node, columns.reclaimable);
    one.unused = one.capacity - count_of(on, node, columns.used);
    measured = measured && on.column_of(node, columns.used).value_or(0) != 0;
  }
  if (!measured) made[0].unused = made[1].unused = 0;
  each_pod_on(inside(on), node.row, [&](pod_id pod) { count_pod(on, pod, made); });
  return made;
}

/// A faster CPU does more of what batch requests.
GANGSCHED_INLINE std::int64_t batch_cpu(std::int64_t milli, std::int64_t normalization) noexcept {
  if (normalization <= 100) return milli;
  return saturating_cast(std::ceil(std::trunc(static_cast<double>(milli) * 1000.0 * ratio_of(normalization)) / 1000.0));
}
/// (Of CPU Koordinator knows no `request`.)
GANGSCHED_INLINE colocation_strategy::of_resource cpu_rule(const colocation_strategy& of) noexcept {
  colocation_strategy::of_resource cpu = of.cpu;
  if (cpu.by == colocation_strategy::policy::request) cpu.by = colocation_strategy::policy::usage;
  return cpu;
}

/// What is divided among cells is counted in thousandths, as Koordinator's quantities are: of bytes, too.
inline constexpr std::array<std::int64_t, all_load_columns.size()> parts_of{1, 1000};
GANGSCHED_INLINE std::int64_t in_parts(std::size_t i, std::int64_t amount, unsigned among = 1) noexcept {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  const std::int64_t parts = amount > most / parts_of[i] ? most : amount * parts_of[i];
  return among == 1 ? parts : saturating_cast(std::ceil(static_cast<double>(parts) / static_cast<double>(among)));
}

/// The cells that a pod has CPUs or memory in; all if it has none.
GANGSCHED_INLINE cell_mask cells_of(const cluster& on, pod_id pod, cell_mask all) {
  cell_mask mine = 0;
  for (const device_grant& one : on.devices_of(pod)) {
    if (one.kind == device_grant::form::cpus) mine |= one_cell(one.device);
    if (one.kind == device_grant::form::memory) mine |= static_cast<cell_mask>(one.device);
  }
  return (mine & all) != 0 ? mine & all : all;
}

GANGSCHED_INLINE void count_in_cells(const cluster& on, pod_id pod, cell_mask all, std::vector<both_loads>& cells) {
  const priority_band band = band_of(on, pod);
  if (band == priority_band::batch || band == priority_band::free) return;
  const model::cluster_state& state = inside(on);
  const pod_class& cls = state.classes[state.pods.cls[pod.row]];
  const bool measured = is_measured(on, pod), keeps_cpus = measured && qos_of(on, pod) == qos_class::lse;
  const cell_mask mine = cells_of(on, pod, all);
  const auto among = static_cast<unsigned>(std::popcount(mine));
  for (std::size_t i = 0; i < all_load_columns.size(); ++i) {
    const std::int64_t requested = in_parts(i, cls.request(i == 0 ? kinds::cpu : kinds::memory), among);
    const std::int64_t used = measured ? in_parts(i, count_of(on, pod, all_load_columns[i].used), among) : requested;
    for (cell_mask rest = mine; rest != 0; rest = static_cast<cell_mask>(rest & (rest - 1))) {
      colocation_load& sum = cells[static_cast<std::size_t>(std::countr_zero(rest))][i];
      sum.requested = saturating_add(sum.requested, requested);
      sum.used = saturating_add(sum.used, keeps_cpus && i == 0 ? requested : used);
      sum.larger = saturating_add(sum.larger, std::max(requested, used));
    }
  }
}

/// `batch_amount` without what follows from the capacity alone; @p most: nothing, or what batch has at most.
GANGSCHED_INLINE std::int64_t batch_left(colocation_strategy::policy by, const colocation_load& of, std::int64_t margin,
                                         std::optional<std::int64_t> most) noexcept {
  using policy = colocation_strategy::policy;
  const std::int64_t system = by == policy::request ? of.reserved : std::max(of.system_used, of.reserved);
  const std::int64_t pods = by == policy::request ? of.requested : by == policy::usage ? of.used : of.larger;
  const std::int64_t left =
      std::max<std::int64_t>(0, saturating_add(saturating_add(saturating_add(of.capacity, -margin), -system), -pods));
  return most ? std::min(left, *most) : left;
}
GANGSCHED_INLINE std::int64_t margin_of(const colocation_strategy::of_resource& by, std::int64_t capacity) noexcept {
  return share_of(capacity, (100.0 - static_cast<double>(by.reclaim_percent)) / 100.0);
}
/// The first percentage that nothing can be lent by.
GANGSCHED_INLINE std::optional<error> negative_percentage(const colocation_strategy& in) {
  const auto wrong = [](std::string field) {
    return error{errc::out_of_range, "colocation strategy", std::move(field), "is negative"};
  };
  for (const auto& [name, by] : {std::pair{"cpu.", &in.cpu}, std::pair{"memory.", &in.memory}}) {
    if (by->reclaim_percent < 0) return wrong(std::string{name} + "reclaim_percent");
    if (by->batch_percent.value_or(0) < 0) return wrong(std::string{name} + "batch_percent");
    if (by->mid_percent < 0) return wrong(std::string{name} + "mid_percent");
  }
  if (in.mid_unallocated_percent < 0) return wrong("mid_unallocated_percent");
  return std::nullopt;
}
GANGSCHED_INLINE std::optional<std::int64_t> most_of(const colocation_strategy::of_resource& by,
                                                     std::int64_t capacity) noexcept {
  if (!by.batch_percent) return std::nullopt;
  return share_of(capacity, ratio_of(*by.batch_percent));
}

}  // namespace detail

GANGSCHED_INLINE std::int64_t batch_amount(const colocation_strategy::of_resource& by,
                                           const colocation_load& of) noexcept {
  return detail::batch_left(by.by, of, detail::margin_of(by, of.capacity), detail::most_of(by, of.capacity));
}

GANGSCHED_INLINE std::int64_t mid_amount(const colocation_strategy::of_resource& by, std::int64_t unallocated_percent,
                                         const colocation_load& of) noexcept {
  const std::int64_t most = detail::share_of(of.capacity, detail::ratio_of(by.mid_percent));
  const std::int64_t reclaimed = std::max<std::int64_t>(0, std::min({of.reclaimable, most, of.unused}));
  const std::int64_t taken = saturating_add(std::max(of.system_used, of.reserved), of.prod_requested);
  const std::int64_t unallocated = std::max<std::int64_t>(0, saturating_add(of.capacity, -taken));
  return saturating_add(reclaimed, detail::share_of(unallocated, detail::ratio_of(unallocated_percent)));
}

GANGSCHED_INLINE result<void> colocation::make_columns(cluster& on) {
  for (const std::string_view name : {node_load::measured, node_load::cpu_normalization})
    if (auto made = on.add_node_column(name); !made) return made;
  for (const detail::load_columns& one : detail::all_load_columns) {
    for (const std::string_view name :
         {one.capacity, one.reserved, one.used, one.system, one.reclaimable, one.elsewhere})
      if (auto made = on.add_node_column(name); !made) return made;
    if (auto made = on.add_pod_column(one.used); !made) return made;
  }
  return {};
}

GANGSCHED_INLINE result<void> colocation::refresh(cluster& on, node_id node, instant now) {
  if (auto wrong = detail::negative_percentage(strategy_)) return std::move(*wrong);
  if (!on.contains(node)) return detail::unknown_id("node");
  if (told_.size() <= node.row) told_.resize(node.row + std::size_t{1});
  const bool known = measured(on, node, now);
  const detail::both_loads load = known ? detail::load_of(on, node) : detail::both_loads{};
  const std::int64_t faster = detail::count_of(on, node, node_load::cpu_normalization, 100);
  const std::int64_t batch_cpu = detail::batch_cpu(batch_amount(detail::cpu_rule(strategy_), load[0]), faster);
  const auto without_others = [&](std::size_t i, std::int64_t amount) {
    return std::max<std::int64_t>(0, amount - detail::count_of(on, node, detail::all_load_columns[i].elsewhere));
  };
  const band_resources batch = resources_of(priority_band::batch), mid = resources_of(priority_band::mid);
  const std::array<std::pair<std::string_view, std::int64_t>, 4> amounts{
      {{batch.cpu, without_others(0, batch_cpu)},
       {batch.memory, without_others(1, batch_amount(strategy_.memory, load[1]))},
       {mid.cpu, mid_amount(strategy_.cpu, strategy_.mid_unallocated_percent, load[0])},
       {mid.memory, mid_amount(strategy_.memory, strategy_.mid_unallocated_percent, load[1])}}};
  told& last = told_[node.row];
  const auto differs = [&](const std::pair<std::string_view, std::int64_t>& one) {
    const std::int64_t had = on.allocatable(node, one.first);
    return std::abs(static_cast<double>(one.second) - static_cast<double>(had)) >
           static_cast<double>(had) * strategy_.least_change;
  };
  if (last.node == node && now <= later_by(last.at, strategy_.update_after) &&
      std::none_of(amounts.begin(), amounts.end(), differs) && known)
    return {};
  resource_list said;
  for (const auto& [name, amount] : amounts) said.emplace(std::string{name}, quantity{amount});
  if (auto done = on.set_allocatable(node, said); !done) return done;
  last = {node, now};
  return {};
}

GANGSCHED_INLINE result<void> colocation::refresh(cluster& on, instant now) {
  for (const node_id node : on.nodes())
    if (auto done = refresh(on, node, now); !done) return done;
  return {};
}

GANGSCHED_INLINE bool colocation::measured(const cluster& on, node_id node, instant now) const {
  const auto at = node_load::when(on.column_of(node, node_load::measured).value_or(0));
  return at && now <= later_by(*at, strategy_.degrade_after);
}

GANGSCHED_INLINE std::vector<cell_share> colocation::in_cells(const cluster& on, node_id node, instant now) const {
  std::vector<cell_share> made;
  const device_state devices = on.contains(node) ? on.devices_of(node) : device_state{};
  const numa_layout* const numa = devices ? devices.inventory->numa.get() : nullptr;
  if (numa == nullptr) return made;
  const unsigned number = numa->topology.cell_number();
  for (const cpu_group& cell : numa->topology.cells()) made.push_back({.cell = cell.id});
  if (!measured(on, node, now)) return made;

  cpu_set usable = numa->topology.cpus();
  for (const std::uint32_t cpu : numa->spec.reserved_cpus) usable.erase(cpu);
  const detail::both_loads whole = detail::load_of(on, node);
  constexpr std::uint64_t most_bytes = std::numeric_limits<std::int64_t>::max();
  std::vector<detail::both_loads> cells(number);
  const std::array<colocation_strategy::of_resource, 2> rules{detail::cpu_rule(strategy_), strategy_.memory};
  for (unsigned cell = 0; cell < number; ++cell) {
    for (std::size_t i = 0; i < rules.size(); ++i) {
      cells[cell][i].system_used = detail::in_parts(i, whole[i].system_used, number);
      cells[cell][i].reserved = detail::in_parts(i, whole[i].reserved, number);
    }
  }
  detail::each_pod_on(detail::inside(on), node.row,
                      [&](pod_id pod) { detail::count_in_cells(on, pod, numa->topology.machine(), cells); });
  for (unsigned cell = 0; cell < number; ++cell) {
    const std::array<std::int64_t, 2> capacity{
        1000 * std::int64_t{(usable & numa->topology.cells()[cell].cpus).count()},
        static_cast<std::int64_t>(std::min<std::uint64_t>(numa->topology.memory(cell, 0), most_bytes))};
    std::array<std::int64_t, 2> left{};
    for (std::size_t i = 0; i < rules.size(); ++i) {
      std::optional<std::int64_t> most = detail::most_of(rules[i], capacity[i]);
      if (most) most = detail::in_parts(i, *most);
      cells[cell][i].capacity = detail::in_parts(i, capacity[i]);
      left[i] = detail::batch_left(rules[i].by, cells[cell][i],
                                   detail::in_parts(i, detail::margin_of(rules[i], capacity[i])), most);
    }
    made[cell].cpu = detail::batch_cpu(left[0], detail::count_of(on, node, node_load::cpu_normalization, 100));
    made[cell].memory = left[1] / detail::parts_of[1] + (left[1] % detail::parts_of[1] != 0 ? 1 : 0);
  }
  return made;
}

GANGSCHED_INLINE std::vector<pod_id> colocation::in_excess(const cluster& on, node_id node) {
  std::vector<pod_id> leave;
  if (!on.contains(node)) return leave;
  const model::cluster_state& state = detail::inside(on);
  for (const priority_band band : {priority_band::batch, priority_band::mid}) {
    const band_resources names = resources_of(band);
    std::array<std::int64_t, 2> over{};  // of CPU and memory
    std::array<std::optional<resource_kind>, 2> of{state.kinds.find(names.cpu), state.kinds.find(names.memory)};
    for (std::size_t i = 0; i < of.size(); ++i)
      if (of[i]) over[i] = state.nodes.used.at(node.row, *of[i]) - state.nodes.allocatable.at(node.row, *of[i]);
    if (std::max(over[0], over[1]) <= 0) continue;
    const std::size_t short_of = over[1] > 0 ? 1 : 0;
    struct candidate {
      pod_id pod;
      std::int64_t used;
    };
    std::vector<candidate> all;
    const auto requested = [&](row_t pod, std::size_t i) {
      return of[i] ? state.classes[state.pods.cls[pod]].request(*of[i]) : 0;
    };
    // What pods have drawn from reservations is held again when they leave.
    struct drawn_from {
      row_t holder;
      std::array<std::int64_t, 2> drawn;
      bool spent;
    };
    std::vector<drawn_from> drawn;
    const auto holder_of = [&](pod_id pod) {
      const row_t holder = state.reserved.drawn_by(pod.row);
      return std::find_if(drawn.begin(), drawn.end(), [&](const drawn_from& one) { return one.holder == holder; });
    };
    const auto released = [&](pod_id pod, std::size_t i) {
      const std::int64_t its = requested(pod.row, i);
      const auto from = holder_of(pod);
      if (from == drawn.end()) return its;
      const std::int64_t free = requested(from->holder, i) - from->drawn[i];
      const std::int64_t before = from->spent ? 0 : std::max<std::int64_t>(0, free);
      const std::int64_t after = state.reserved.used_up(from->holder) ? 0 : std::max<std::int64_t>(0, free + its);
      return its - (after - before);
    };
    const auto release = [&](pod_id pod) {
      for (std::size_t i = 0; i < over.size(); ++i) over[i] -= released(pod, i);
      const auto from = holder_of(pod);
      if (from == drawn.end()) return;
      for (std::size_t i = 0; i < over.size(); ++i) from->drawn[i] -= requested(pod.row, i);
      from->spent = state.reserved.used_up(from->holder);
    };
    if (!state.reserved.empty()) {
      for (row_t pod = state.nodes.first_pod[node.row]; pod != no_row; pod = state.pods.next_on_node[pod]) {
        if (state.reserved.row_of(pod) == no_row) continue;
        const bool leaves = state.pods.terminating[pod];
        drawn_from& one = drawn.emplace_back(drawn_from{pod, {}, state.reserved.spent(pod)});
        for (std::size_t i = 0; i < over.size(); ++i) {
          if (!of[i]) continue;
          one.drawn[i] = state.reserved.drawn(pod, *of[i]);
          if (leaves) over[i] -= state.reserved.left(pod, *of[i]);
        }
        if (leaves) drawn.pop_back();
      }
    }
    detail::each_pod_on(state, node.row, [&](pod_id pod) {
      const bool holds = requested(pod.row, 0) > 0 || requested(pod.row, 1) > 0;
      if (!holds) return;
      // Pods that terminate already release what they have.
      if (!state.pods.terminating[pod.row])
        return all.push_back({pod, detail::count_of(on, pod, detail::all_load_columns[short_of].used)});
      release(pod);
    });
    std::sort(all.begin(), all.end(), [&](const candidate& a, const candidate& b) {
      const auto order = [&](const candidate& one) {
        return std::pair{static_cast<std::int64_t>(on.priority_of(one.pod)), -one.used};
      };
      if (order(a) != order(b)) return order(a) < order(b);
      return state.pods.arrival[a.pod.row] > state.pods.arrival[b.pod.row];
    });
    for (const candidate& one : all) {
      const bool helps = (over[0] > 0 && released(one.pod, 0) > 0) || (over[1] > 0 && released(one.pod, 1) > 0);
      if (!helps) continue;
      leave.push_back(one.pod);
      release(one.pod);
    }
  }
  return leave;
}

}  // namespace gangsched::inline GANGSCHED_ABI
