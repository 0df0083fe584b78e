#include "gangsched/plugins/gpu_pricing.hpp"

#include <algorithm>
#include <limits>

namespace gangsched::inline GANGSCHED_ABI {

namespace detail {

/// Adds the lines of @p expected with the most GPUs to @p target once more, with @p parts / 1024 of its total weight. They are too rare to
/// be among the most frequent, and without them small pods would be on every node before they come.
GANGSCHED_INLINE void weigh_largest(std::span<const expected_pods> expected, std::int64_t parts,
                                    std::vector<expected_pods>& target) {
  std::int32_t most = 0;
  std::int64_t all = 0, large = 0;
  for (const expected_pods& one : expected) most = std::max(most, one.gpus);
  for (const expected_pods& one : expected) large += one.gpus == most ? one.count : 0;
  for (const expected_pods& one : target) all += one.count;
  if (most < 2 || all == 0 || large == 0) return;
  constexpr std::int64_t whole = 1 << 20;  // what all of @p target adds up to then
  for (expected_pods& one : target) one.count = one.count * whole / all;
  for (const expected_pods& one : expected) {
    if (one.gpus != most) continue;
    target.push_back(one);
    target.back().count = one.count * (whole / 1024 * parts) / large;
  }
}

/// What shares pay for CPU: nothing where the pods that fill the GPUs need all of it, or where the models with much of it are scarce.
GANGSCHED_INLINE void price_cpu(std::span<const expected_pods> expected, std::int64_t spread, gpu_price_book& book) {
  double cpu = 0, gpus = 0, asks = 0, needs = 0, large = 0, large_cpu = 0;
  for (const gpu_supply& one : book.models) {
    cpu += static_cast<double>(one.cpu_milli);
    gpus += 1000.0 * static_cast<double>(one.gpus);
  }
  for (const expected_pods& one : expected) book.large_gpus = std::max(book.large_gpus, one.count > 0 ? one.gpus : 0);
  for (const expected_pods& one : expected) {
    const auto count = static_cast<double>(one.count);
    asks += count * one.gpus * one.milli;
    needs += count * static_cast<double>(one.cpu_milli);
    if (one.gpus != book.large_gpus) continue;
    large += count * one.gpus;
    large_cpu += count * static_cast<double>(one.cpu_milli);
  }
  if (large > 0) book.large_cpu = static_cast<std::int64_t>(large_cpu / large);
  if (book.large_gpus < 2 || book.large_cpu == 0) book.large_gpus = 0;
  if (cpu <= 0 || asks <= 0) return;
  const double spare = 1 - needs * gpus / asks / cpu;
  const double even = 1 - static_cast<double>(spread) / 1000;
  const double weight = std::clamp(10 * spare, 0.0, 1.0) * std::clamp(1.25 * even, 0.0, 1.0);
  book.cpu_weight = static_cast<std::int32_t>(256 * weight);
}

/// In thousandths of a GPU: how much more of the node's GPUs goes with the CPU of a share than it asks for itself.
[[nodiscard]] GANGSCHED_INLINE std::int64_t cpu_beyond(const gpu_price_book& book, std::int64_t node_cpu,
                                                       std::uint32_t gpus, std::int64_t cpu, std::int32_t milli) {
  std::int64_t per_gpu = node_cpu / std::max<std::int64_t>(1, gpus);
  if (book.large_gpus > 0 && gpus >= static_cast<std::uint32_t>(book.large_gpus))
    per_gpu = std::min(per_gpu, book.large_cpu);
  constexpr std::int64_t most = 1'000'000, most_cpu = std::int64_t{1} << 50;
  const std::int64_t worth = 1000 * std::min(cpu, most_cpu) / std::max<std::int64_t>(1, per_gpu);
  return std::max<std::int64_t>(0, std::min(worth, most) - milli);
}

}  // namespace detail

GANGSCHED_INLINE gpu_price_book gpu_price_book::of(std::span<const expected_pods> expected,
                                                   std::vector<gpu_supply> supply) {
  gpu_price_book made;
  made.models = std::move(supply);
  price_by_scarcity(expected, made.models);
  std::int64_t gpus = 0, dearest = 0, cheapest = std::numeric_limits<std::int64_t>::max();
  for (const gpu_supply& one : made.models) {
    gpus += one.gpus;
    if (one.gpus > 0) dearest = std::max(dearest, one.price), cheapest = std::min(cheapest, one.price);
  }
  made.bids = bid_for_shares(expected, gpus);
  std::vector<expected_pods> target = most_frequent({expected.begin(), expected.end()}, 95);
  const std::int64_t spread = std::max<std::int64_t>(0, dearest - cheapest);
  detail::weigh_largest(expected, std::min<std::int64_t>(20, 8 + 64 * spread / 1000), target);
  made.outlook = gpu_outlook{target, gpu_pricing::stranding};
  detail::price_cpu(expected, spread, made);
  return made;
}

GANGSCHED_INLINE gpu_pricing::option gpu_pricing::best(const pod_view& pod, room node) const {
  const device_state devices = node.devices();
  const gpu_rest rest{devices, node.free(kinds::cpu)};
  const gpu_ask ask = gpu_ask_of(pod.spec(), node);
  const std::string_view text = devices ? node.text(devices.inventory->model) : std::string_view{};
  const std::size_t model = book_->outlook.model(text);
  const auto known = std::find_if(book_->models.begin(), book_->models.end(),
                                  [&](const gpu_supply& one) { return one.model == text; });
  const std::int64_t price = known == book_->models.end() ? 0 : known->price;
  const std::int64_t cpu = pod.request(kinds::cpu), before = book_->outlook.fragment(model, rest);
  const std::int64_t beyond = ask.share() && book_->cpu_weight > 0
                                  ? detail::cpu_beyond(*book_, node.allocatable(kinds::cpu), rest.gpus, cpu, ask.milli)
                                  : 0;
  // A price is what the host says, or as large as a model is rare: 64 bits do not hold each of them times this.
  __extension__ using wide = __int128;
  constexpr std::int64_t dearest = std::int64_t{1} << 58;
  const wide at_price = price == 0 ? 0 : wide{500} * price * ask.total() * gpu_outlook::unit / 1'000'000;
  const std::int64_t paid = static_cast<std::int64_t>(std::clamp<wide>(at_price, -dearest, dearest)) +
                            beyond * book_->cpu_weight * (gpu_outlook::unit / 256);
  option found{0, -1};
  each_option(rest, ask, [&](std::int8_t gpu) {
    const auto index = static_cast<std::size_t>(gpu);
    std::int64_t worth =
        before - book_->outlook.fragment(model, rest.without(ask, cpu, static_cast<std::uint32_t>(gpu)));
    if (ask.share() && !book_->bids.empty()) {
      const auto left = static_cast<std::size_t>(rest.left[index]), size = static_cast<std::size_t>(ask.milli);
      const std::int64_t lost = std::int64_t{book_->bids[left]} - book_->bids[left - size] - book_->bids[size];
      worth -= 6 * std::max<std::int64_t>(0, lost) * gpu_outlook::unit;
    }
    worth = (worth - paid) * fine / gpu_outlook::unit;
    if (found.gpu < 0 || worth > found.worth) found = {worth, gpu};
  });
  if (!ask.share()) found.gpu = -1;
  return found;
}

}  // namespace gangsched::inline GANGSCHED_ABI
