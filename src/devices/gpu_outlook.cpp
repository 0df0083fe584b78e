#include "gangsched/devices/gpu_outlook.hpp"

#include <algorithm>
#include <bit>
#include <map>

namespace gangsched::inline GANGSCHED_ABI {

GANGSCHED_INLINE std::vector<expected_pods> most_frequent(std::vector<expected_pods> all, std::int32_t percent) {
  std::map<expected_pods, std::int64_t> counts;
  std::int64_t total = 0;
  for (expected_pods& one : all) {
    const std::int64_t count = std::exchange(one.count, 0);
    std::sort(one.models.begin(), one.models.end());
    counts[one] += count;
    total += count;
  }
  std::vector<expected_pods> kept;
  for (const auto& [line, count] : counts) kept.push_back(line), kept.back().count = count;
  std::stable_sort(kept.begin(), kept.end(), [](const expected_pods& a, const expected_pods& b) {
    return a.count != b.count ? a.count > b.count : b < a;
  });
  std::int64_t sum = 0;
  std::size_t enough = 0;
  while (enough < kept.size() && sum * 100 < total * percent) sum += kept[enough++].count;
  kept.resize(enough);
  return kept;
}

GANGSCHED_INLINE gpu_ask gpu_ask_of(std::span<const device_want> wants, const device_state& there) noexcept {
  for (const device_want& one : wants) {
    if (one.what->kind == device_demand::form::whole) return {one.count, whole_gpu};
    if (one.what->kind != device_demand::form::share) continue;
    return {one.count, one.what->milli, there ? gpus_for(there, *one.what) & one.gpus : 0};
  }
  return {};
}

GANGSCHED_INLINE gpu_rest::gpu_rest(const device_state& state, std::int64_t cpu) noexcept
    : cpu_milli(cpu), gpus(state.gpu_count()) {
  for (std::uint32_t gpu = 0; gpu < gpus; ++gpu) {
    left[gpu] = state.free_milli(gpu);
    sum += left[gpu];
  }
}

GANGSCHED_INLINE gpu_rest gpu_rest::without(const gpu_ask& ask, std::int64_t cpu, std::uint32_t gpu) const noexcept {
  gpu_rest after = *this;
  after.cpu_milli -= cpu;
  after.sum -= ask.total();
  if (ask.share()) {
    after.left[gpu] -= ask.milli;
    return after;
  }
  std::int32_t wanted = ask.gpus;
  for (std::uint32_t i = 0; i < gpus && wanted != 0; ++i) {
    if (after.left[i] < ask.milli) continue;
    after.left[i] -= ask.milli;
    --wanted;
  }
  return after;
}

GANGSCHED_INLINE gpu_outlook::gpu_outlook(std::span<const expected_pods> target, std::int32_t stranding)
    : stranding_(stranding) {
  std::int64_t total = 0;
  for (const expected_pods& one : target) {
    total += one.count;
    if (one.gpus != 0) sizes_.push_back(one.milli);
    models_.insert(models_.end(), one.models.begin(), one.models.end());
  }
  const auto unique = [](auto& all) {
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
  };
  unique(sizes_), unique(models_);
  of_.resize(models_.size() + 1);
  for (const expected_pods& one : target) {
    const auto weight = static_cast<std::int32_t>(total == 0 ? 0 : (one.count * unit + total / 2) / total);
    for (std::size_t model = 0; model < of_.size(); ++model) {
      of_[model].weight += weight;
      const bool named =
          model < models_.size() && std::find(one.models.begin(), one.models.end(), models_[model]) != one.models.end();
      if (one.gpus == 0 || (!one.models.empty() && !named)) continue;
      const auto size = std::lower_bound(sizes_.begin(), sizes_.end(), one.milli) - sizes_.begin();
      const std::int64_t asks = std::int64_t{one.gpus} * one.milli;
      of_[model].lines.push_back({one.cpu_milli, (asks << 16) / std::max<std::int64_t>(1, one.cpu_milli), one.gpus,
                                  static_cast<std::uint32_t>(size), weight});
    }
  }
  for (prospects& one : of_) {
    bundle_up(one);
    if (stranding_ != 0) choose_stranding(one);
  }
}

GANGSCHED_INLINE void gpu_outlook::choose_stranding(prospects& one) {
  for (const line& each : one.lines) {
    if (each.gpus == 1) one.stranding.push_back(each);
  }
  std::stable_sort(one.stranding.begin(), one.stranding.end(),
                   [](const line& a, const line& b) { return a.weight > b.weight; });
  const auto weight = [&] {
    std::int64_t sum = 0;
    for (const line& each : one.stranding) sum += each.weight;
    return sum;
  };
  const std::int64_t all = weight();
  one.stranding.resize(std::min(one.stranding.size(), stranding_lines));
  const std::int64_t kept = weight();
  for (line& each : one.stranding)
    each.weight = static_cast<std::int32_t>(each.weight * all / std::max<std::int64_t>(1, kept));
  // fragment() ends at the first that is fed.
  std::stable_sort(one.stranding.begin(), one.stranding.end(),
                   [](const line& a, const line& b) { return a.feeds < b.feeds; });
}

GANGSCHED_INLINE void gpu_outlook::bundle_up(prospects& one) const {
  for (const line& each : one.lines) {
    one.cpus.push_back(each.cpu_milli);
    const auto same = [&](const bundle& other) { return other.size == each.size && other.gpus == each.gpus; };
    if (std::none_of(one.bundles.begin(), one.bundles.end(), same)) one.bundles.push_back({each.size, each.gpus});
  }
  std::sort(one.cpus.begin(), one.cpus.end());
  one.cpus.erase(std::unique(one.cpus.begin(), one.cpus.end()), one.cpus.end());
  one.runs.assign((one.cpus.size() + 1) * one.bundles.size(), 0);
  for (const line& each : one.lines) {
    std::size_t at = 0;
    while (one.bundles[at].size != each.size || one.bundles[at].gpus != each.gpus) ++at;
    for (std::size_t row = 1; row <= one.cpus.size(); ++row) {
      if (one.cpus[row - 1] >= each.cpu_milli) one.runs[row * one.bundles.size() + at] += each.weight;
    }
  }
}

GANGSCHED_INLINE std::size_t gpu_outlook::model(std::string_view name) const noexcept {
  std::size_t found = 0;
  while (found < models_.size() && models_[found] != name) ++found;
  return found;
}

namespace detail {

/// Of each size: GPUs with room for it, and what is left on the others. GPUs that are free or full, as most are, are alike for all sizes;
/// those in between are compared with each.
inline void measure_sizes(std::span<const std::int32_t> sizes, const gpu_rest& rest, std::int32_t* fitting,
                          std::int32_t* slivers) noexcept {
  std::array<std::int32_t, max_node_gpus> between;
  std::size_t parts = 0;
  std::int32_t whole = 0;
  for (std::uint32_t gpu = 0; gpu < rest.gpus; ++gpu) {
    const std::int32_t left = rest.left[gpu];
    between[parts] = left;
    parts += left > 0 && left < whole_gpu ? 1 : 0;
    whole += left >= whole_gpu ? 1 : 0;
  }
  for (std::size_t i = 0; i < sizes.size(); ++i) fitting[i] = whole, slivers[i] = 0;
  for (std::size_t part = 0; part < parts; ++part) {
    const std::int32_t left = between[part];
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const std::int32_t room = left >= sizes[i] ? -1 : 0;
      fitting[i] -= room;
      slivers[i] += left & ~room;
    }
  }
}

}  // namespace detail

GANGSCHED_INLINE std::int64_t gpu_outlook::fragment(std::size_t model, const gpu_rest& rest) const noexcept {
  std::array<std::int32_t, whole_gpu> fitting, slivers;  // a share is 1 to 1000 thousandths
  detail::measure_sizes(sizes_, rest, fitting.data(), slivers.data());
  // All that is left is lost to those that do not run, to the others only the slivers.
  const prospects& of = of_[model];
  const auto fed_by =
      static_cast<std::size_t>(std::upper_bound(of.cpus.begin(), of.cpus.end(), rest.cpu_milli) - of.cpus.begin());
  const std::int32_t* const runs = of.runs.data() + fed_by * of.bundles.size();
  std::int64_t sum = of.weight * rest.sum;
  for (std::size_t i = 0; i < of.bundles.size(); ++i) {
    const bundle& one = of.bundles[i];
    const std::int32_t weight = fitting[one.size] >= one.gpus ? runs[i] : 0;
    sum -= std::int64_t{weight} * (rest.sum - slivers[one.size]);
  }
  if (stranding_ == 0) return sum;
  for (const line& one : of.stranding) {
    // What the CPU that is left could still feed with pods of this line, and no less with those of the lines after it.
    constexpr std::int64_t plenty = 1'000'000;
    std::int64_t fed = 0;
    fed = __builtin_mul_overflow(rest.cpu_milli, one.feeds, &fed) ? plenty : std::min(fed >> 16, plenty);
    if (fed >= rest.sum) break;
    if (one.cpu_milli > rest.cpu_milli || fitting[one.size] < 1) continue;
    const std::int64_t lost = slivers[one.size];
    const std::int64_t stranded = std::max(lost, rest.sum - fed);
    sum += std::int64_t{one.weight} * ((stranding_ * (stranded - lost)) >> 8);
  }
  return sum;
}

GANGSCHED_INLINE void price_by_scarcity(std::span<const expected_pods> expected, std::vector<gpu_supply>& supply) {
  // Thousandths of GPUs by the set of models allowed.
  std::map<std::vector<std::size_t>, double> demand;
  double total = 0, capacity = 0;
  for (const gpu_supply& one : supply) capacity += 1000.0 * static_cast<double>(one.gpus);
  for (const expected_pods& one : expected) {
    const double asks = static_cast<double>(one.count) * one.gpus * one.milli;
    total += asks;
    if (one.gpus == 0 || one.models.empty()) continue;
    std::vector<std::size_t> allowed;
    for (std::size_t i = 0; i < supply.size(); ++i) {
      if (supply[i].gpus > 0 && std::find(one.models.begin(), one.models.end(), supply[i].model) != one.models.end())
        allowed.push_back(i);
    }
    if (!allowed.empty()) demand[allowed] += asks;
  }
  const double scale = total > 0 ? capacity / total : 0;
  std::vector<double> filled(supply.size());
  std::map<std::vector<std::size_t>, std::vector<double>> given;
  const auto all_of = [&](std::size_t i) { return 1000.0 * static_cast<double>(supply[i].gpus); };
  for (int round = 0; round < 60; ++round) {
    for (const auto& [allowed, asks] : demand) {
      std::vector<double>& mine = given[allowed];
      mine.resize(allowed.size());
      for (std::size_t k = 0; k < allowed.size(); ++k) filled[allowed[k]] -= mine[k];
      // Water-filling: up to one level, from the emptiest on.
      std::vector<std::size_t> order(allowed.size());
      for (std::size_t k = 0; k < order.size(); ++k) order[k] = k;
      const auto level_of = [&](std::size_t k) { return filled[allowed[k]] / all_of(allowed[k]); };
      std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return level_of(a) != level_of(b) ? level_of(a) < level_of(b) : a < b;
      });
      double rest = asks * scale, width = 0, level = level_of(order.front());
      for (std::size_t i = 0; i < order.size(); ++i) {
        width += all_of(allowed[order[i]]);
        const double next = i + 1 < order.size() ? level_of(order[i + 1]) : 1e18;
        if ((next - level) * width >= rest) {
          level += rest / width;
          break;
        }
        rest -= (next - level) * width;
        level = next;
      }
      for (std::size_t k = 0; k < allowed.size(); ++k) {
        mine[k] = std::max(0.0, level - level_of(k)) * all_of(allowed[k]);
        filled[allowed[k]] += mine[k];
      }
    }
  }
  for (std::size_t i = 0; i < supply.size(); ++i) {
    supply[i].price = supply[i].gpus > 0 ? static_cast<std::int64_t>(1000 * filled[i] / all_of(i) + 0.5) : 0;
  }
}

}  // namespace gangsched::inline GANGSCHED_ABI
