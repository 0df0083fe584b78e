#include "gangsched/plugins/device_share.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <optional>
#include <tuple>

#include "gangsched/core/percent.hpp"

namespace gangsched::inline GANGSCHED_ABI {
namespace detail {

/// What resources of a GPU are called, in the order of `device_share`'s amounts.
inline constexpr std::string_view shared_gpu_resources[] = {
    "koordinator.sh/gpu-core", "koordinator.sh/gpu-memory-ratio", "koordinator.sh/gpu-memory"};

/// The hundredths of memory that @p grant was asked for with; 0 if by amount, or if that is not known any more.
GANGSCHED_INLINE std::int64_t asked_percent(const pod_class& cls, const device_grant& grant) noexcept {
  if (grant.kind == device_grant::form::gpu) return 100;
  if (grant.request >= cls.devices.size() || !cls.devices[grant.request].first_of.empty()) return 0;
  return cls.devices[grant.request].memory_percent;
}

/// The lowest @p count bits of @p set.
GANGSCHED_INLINE std::uint32_t lowest_of(std::uint32_t set, std::int32_t count) noexcept {
  std::uint32_t taken = 0;
  for (; count != 0 && set != 0; --count, set &= set - 1) taken |= set & (~set + 1);
  return taken;
}

}  // namespace detail

GANGSCHED_INLINE device_share::device_share(strategy how, std::vector<weighted_resource> resources)
    : strategy_(how), resources_(std::move(resources)) {
  for (const weighted_resource& one : resources_)
    for (std::size_t i = 0; i < weights_.size(); ++i)
      if (one.name == detail::shared_gpu_resources[i]) weights_[i] = one.weight;
}

/// What is used of each GPU. The node's words count MiB, pods say in which unit they asked. What no pod explains is of shared claims.
GANGSCHED_INLINE device_share::gpu_books device_share::books_of(room node) {
  // Sixteen of them stay below 2^63.
  constexpr std::int64_t most_mib = std::int64_t{1} << 38;
  const device_state there = node.devices();
  const std::int64_t all_mib = std::min(there.inventory->gpu_memory_mib, most_mib), all = all_mib << 20;
  gpu_books made;
  made.each = {whole_gpu, 100, all};
  std::array<std::int64_t, max_node_gpus> unknown_mib{};
  for (std::uint32_t gpu = 0; gpu < there.gpu_count(); ++gpu) {
    const gpu_word word = there.gpu(gpu);
    if (word.unhealthy() || there.inventory->gpus[gpu].mig != mig_mode::off) continue;
    made.healthy |= std::uint32_t{1} << gpu;
    if (!word.idle()) made.in_use |= std::uint32_t{1} << gpu;
    made.used[gpu][0] = word.milli();
    unknown_mib[gpu] = there.used_memory_mib(gpu);
  }
  const auto add = [&](std::size_t gpu, std::int64_t mib, std::int64_t percent_asked) {
    const std::int64_t bytes =
        percent_asked != 0 ? all / 100 * percent_asked + all % 100 * percent_asked / 100 : std::min(mib, all_mib) << 20;
    made.used[gpu][1] += percent_asked != 0 ? percent_asked : memory_percent_of(bytes, all);
    made.used[gpu][2] += bytes;
  };
  node.each_pod([&](const pod_info& other) {
    if (other.devices() == nullptr) return;
    for (const device_grant& one : other.devices()->grants) {
      if (one.kind != device_grant::form::gpu && one.kind != device_grant::form::share) continue;
      add(one.device, one.amount, detail::asked_percent(other.spec(), one));
      unknown_mib[one.device] -= one.amount;
    }
  });
  for (std::uint32_t gpu = 0; gpu < there.gpu_count(); ++gpu) {
    if (unknown_mib[gpu] > 0) add(gpu, unknown_mib[gpu], 0);
    for (std::size_t i = 0; i < made.each.size(); ++i) made.used[gpu][i] = std::min(made.used[gpu][i], made.each[i]);
  }
  return made;
}

GANGSCHED_INLINE device_share::amounts device_share::named_by(const device_demand& demand) noexcept {
  if (demand.kind == device_demand::form::whole) return {whole_gpu, 100, 0};
  return {demand.milli, demand.memory_percent, std::min(demand.memory_mib, std::int64_t{1} << 38) << 20};
}

GANGSCHED_INLINE std::int64_t device_share::rate(std::int64_t with, std::int64_t total) const noexcept {
  const std::int64_t used = std::min(with, total);
  return percent(strategy_ == strategy::most_allocated ? used : total - used, total);
}

GANGSCHED_INLINE std::int64_t device_share::rate(const amounts& with, const amounts& total) const noexcept {
  std::int64_t sum = 0, weights = 0;
  for (std::size_t i = 0; i < total.size(); ++i) {
    if (total[i] == 0) continue;
    sum += weights_[i] * rate(with[i], total[i]);
    weights += weights_[i];
  }
  return weights == 0 ? 0 : sum / weights;
}

GANGSCHED_INLINE std::int64_t device_share::rate_others(const device_demand& demand,
                                                        const device_state& there) const noexcept {
  std::int64_t used = 0, total = 0;
  const device_inventory& inventory = *there.inventory;
  for (std::size_t i = 0; i < inventory.others.size(); ++i) {
    const std::int64_t word = there.used[inventory.first_other() + i];
    if (inventory.others[i].device_class != demand.device_class || word < 0) continue;
    used += word;
    total += inventory.others[i].units;
  }
  return total == 0 ? 0 : rate(used + (demand.admin ? 0 : demand.units), total);
}

GANGSCHED_INLINE std::int64_t device_share::score(const pod_view& pod, room node) const {
  const device_state there = node.devices();
  if (!there) return 0;
  std::int64_t sum = 0;
  boost::container::small_vector<symbol, 4> rated;  // each kind of device once
  for (const device_want& want : node.wants_of(pod.spec())) {
    const device_demand& one = want.what->first_of.empty() ? *want.what : want.what->first_of.front();
    const symbol kind = one.wants_gpu() ? symbol{} : one.device_class;
    if (std::find(rated.begin(), rated.end(), kind) != rated.end()) continue;
    rated.push_back(kind);
    if (!one.wants_gpu()) {
      constexpr std::string_view prefix = "koordinator.sh/";
      const auto is_it = [&](const weighted_resource& other) {
        const std::string_view resource = other.name;
        return resource.starts_with(prefix) && resource.substr(prefix.size()) == pod.text(kind);
      };
      if (std::any_of(resources_.begin(), resources_.end(), is_it)) sum += rate_others(one, there);
    } else if (one.kind == device_demand::form::whole || one.kind == device_demand::form::share) {
      const gpu_books books = books_of(node);
      amounts with = named_by(one), total{};
      for (std::uint32_t rest = books.healthy; rest != 0; rest &= rest - 1) {
        const auto gpu = static_cast<std::size_t>(std::countr_zero(rest));
        for (std::size_t i = 0; i < total.size(); ++i) total[i] += books.each[i], with[i] += books.used[gpu][i];
      }
      sum += rate(with, total);
    }
  }
  return sum;
}

GANGSCHED_INLINE device_rules device_share::choose_devices(const pod_view& pod, room node) const {
  const device_state there = node.devices();
  if (!there || !pod.spec().claims.empty()) return {};
  const device_wants wants = node.wants_of(pod.spec());
  const device_want* only = nullptr;
  for (const device_want& one : wants) {
    if (!one.what->wants_gpu()) continue;
    if (only != nullptr) return {};
    only = &one;
  }
  if (only == nullptr || !only->what->first_of.empty()) return {};
  if (only->what->kind != device_demand::form::whole && only->what->kind != device_demand::form::share) return {};
  return {.gpus = choose(*only, there, books_of(node))};
}

GANGSCHED_INLINE std::uint32_t device_share::choose(const device_want& want, const device_state& there,
                                                    const gpu_books& books) const {
  const device_demand& demand = *want.what;
  const device_inventory& inventory = *there.inventory;
  const std::uint32_t fits = gpus_for(there, demand) & want.gpus;
  if (std::popcount(fits) < want.count || demand.within == device_scope::nvlink) return 0;
  const bool shared = demand.kind == device_demand::form::share && demand.memory_percent != 100;
  if (!shared && inventory.partitions &&
      (inventory.partition_policy == gpu_partition_policy::honor ||
       inventory.partitions->best(static_cast<gpu_mask>(fits), static_cast<unsigned>(want.count)) != 0)) {
    return 0;
  }
  const bool scoped = std::all_of(inventory.gpus.begin(), inventory.gpus.end(),
                                  [](const device_inventory::gpu& one) { return one.numa >= 0 || one.pcie >= 0; });
  if (scoped && !(shared && want.count > 1)) return from_scopes(want, shared, fits, there, books);
  return best_scores(named_by(demand), fits, want.count, books);
}

GANGSCHED_INLINE std::uint32_t device_share::from_scopes(const device_want& want, bool shared, std::uint32_t fits,
                                                         const device_state& there, const gpu_books& books) const {
  using scope_key = std::pair<std::int16_t, std::int16_t>;
  const auto key_of = [&](std::uint32_t gpu, device_scope at) {
    const device_inventory::gpu& one = there.inventory->gpus[gpu];
    return scope_key{at == device_scope::node ? std::int16_t{0} : one.numa,
                     at == device_scope::pcie ? one.pcie : std::int16_t{0}};
  };
  const auto in_scope = [&](std::uint32_t of, device_scope at) {
    std::uint32_t gpus = 0;
    for (std::uint32_t gpu = 0; gpu < there.gpu_count(); ++gpu)
      gpus |= std::uint32_t{key_of(gpu, at) == key_of(of, at)} << gpu;
    return gpus;
  };
  const amounts asked = named_by(*want.what);
  const device_scope least = want.what->within_preferred ? device_scope::node : want.what->within;
  for (const device_scope depth : {device_scope::pcie, device_scope::numa, device_scope::node}) {
    if (depth < least) break;
    std::map<scope_key, std::uint32_t> first;  // of each scope, in their order
    for (std::uint32_t gpu = 0; gpu < there.gpu_count(); ++gpu) first.emplace(key_of(gpu, depth), gpu);
    std::optional<std::pair<int, std::int64_t>> best;
    std::uint32_t chosen = 0;
    for (const auto& [key, of] : first) {
      const std::uint32_t free = fits & in_scope(of, depth);
      if (std::popcount(free) < want.count) continue;
      std::pair<int, std::int64_t> rank{0, 0};  // scopes in use; of a share its score
      for (const device_scope at : {device_scope::node, device_scope::numa, device_scope::pcie})
        if (at <= depth && (in_scope(of, at) & books.in_use) != 0) ++rank.first;
      std::uint32_t taken = 0;
      if (shared)
        std::tie(rank.second, taken) = best_share(asked, free, books);
      else
        taken = detail::lowest_of(free, want.count);
      if (!best || *best < rank) best = rank, chosen = taken;
    }
    if (best) return chosen;
  }
  return 0;
}

GANGSCHED_INLINE std::pair<std::int64_t, std::uint32_t> device_share::best_share(const amounts& asked,
                                                                                 std::uint32_t among,
                                                                                 const gpu_books& books) const {
  std::pair<std::int64_t, std::uint32_t> best{-1, 0};
  for (; among != 0; among &= among - 1) {
    const auto gpu = static_cast<std::size_t>(std::countr_zero(among));
    // Rated by what is free: of an unused resource the request counts, of a used one all that is left counts as used.
    amounts with{}, total{};
    for (std::size_t i = 0; i < total.size(); ++i) {
      total[i] = books.each[i] - books.used[gpu][i];
      with[i] = books.used[gpu][i] == 0 ? asked[i] : total[i];
    }
    if (const std::int64_t score = rate(with, total); score > best.first) best = {score, std::uint32_t{1} << gpu};
  }
  return best;
}

GANGSCHED_INLINE std::uint32_t device_share::best_scores(const amounts& asked, std::uint32_t among, std::int32_t count,
                                                         const gpu_books& books) const {
  std::array<std::int64_t, max_node_gpus> scores{};
  boost::container::small_vector<std::size_t, max_node_gpus> order;
  for (; among != 0; among &= among - 1) {
    const auto gpu = static_cast<std::size_t>(std::countr_zero(among));
    amounts with = asked;
    for (std::size_t i = 0; i < with.size(); ++i) with[i] += books.used[gpu][i];
    scores[gpu] = rate(with, books.each);
    order.push_back(gpu);
  }
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return scores[a] > scores[b]; });
  std::uint32_t chosen = 0;
  for (std::int32_t i = 0; i < count; ++i) chosen |= std::uint32_t{1} << order[static_cast<std::size_t>(i)];
  return chosen;
}

}  // namespace gangsched::inline GANGSCHED_ABI
