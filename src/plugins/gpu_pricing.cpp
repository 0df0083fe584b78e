#include "gangsched/plugins/gpu_pricing.hpp"

#include <algorithm>

namespace gangsched::inline GANGSCHED_ABI {

GANGSCHED_INLINE gpu_price_book gpu_price_book::of(std::span<const expected_pods> expected,
                                                   std::vector<gpu_supply> supply) {
  const std::vector<expected_pods> target = most_frequent({expected.begin(), expected.end()}, 95);
  gpu_price_book made{gpu_outlook{target, gpu_pricing::stranding}, std::move(supply), {}};
  price_by_scarcity(expected, made.models);
  std::int64_t gpus = 0;
  for (const gpu_supply& one : made.models) gpus += one.gpus;
  made.bids = bid_for_shares(expected, gpus);
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
  option found{0, -1};
  each_option(rest, ask, [&](std::int8_t gpu) {
    const auto index = static_cast<std::size_t>(gpu);
    std::int64_t worth =
        before - book_->outlook.fragment(model, rest.without(ask, cpu, static_cast<std::uint32_t>(gpu)));
    worth -= 500 * price * ask.total() * gpu_outlook::unit / 1'000'000;
    if (ask.share() && !book_->bids.empty()) {
      const auto left = static_cast<std::size_t>(rest.left[index]), size = static_cast<std::size_t>(ask.milli);
      const std::int64_t lost = std::int64_t{book_->bids[left]} - book_->bids[left - size] - book_->bids[size];
      worth -= 6 * std::max<std::int64_t>(0, lost) * gpu_outlook::unit;
    }
    worth = worth * fine / gpu_outlook::unit;
    if (found.gpu < 0 || worth > found.worth) found = {worth, gpu};
  });
  if (!ask.share()) found.gpu = -1;
  return found;
}

}  // namespace gangsched::inline GANGSCHED_ABI
