#include "openb/experiment.hpp"

#include <fmt/format.h>

#include <gangsched/framework/profile.hpp>
#include <gangsched/gangsched.hpp>
#include <gangsched/plugins/device_fit.hpp>
#include <gangsched/plugins/gpu_best_fit.hpp>
#include <gangsched/plugins/gpu_clustering.hpp>
#include <gangsched/plugins/gpu_dot_product.hpp>
#include <gangsched/plugins/gpu_fragmentation.hpp>
#include <gangsched/plugins/gpu_packing.hpp>
#include <gangsched/plugins/gpu_pricing.hpp>
#include <gangsched/plugins/gpu_random.hpp>
#include <gangsched/plugins/node_resources_fit.hpp>
#include <gangsched/plugins/priority_sort.hpp>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <stdexcept>

#include "replay/csv.hpp"

namespace openb {
namespace {

using namespace gangsched;

constexpr std::int64_t mebibyte = std::int64_t{1} << 20;

expected_pods to_expected(const replay::openb::pod& from) {
  return {.cpu_milli = from.cpu_milli,
          .gpus = static_cast<std::int32_t>(from.gpus),
          .milli = from.gpus == 0 ? 0 : static_cast<std::int32_t>(from.gpu_milli),
          .models = from.gpus == 0 ? std::vector<std::string>{} : from.models};
}

std::vector<expected_pods> lines_of(const std::vector<replay::openb::pod>& pods) {
  std::vector<expected_pods> all;
  for (const replay::openb::pod& one : pods) all.push_back(to_expected(one));
  return most_frequent(std::move(all), 100);
}

node_spec to_node(const replay::openb::node& from) {
  node_spec spec{.name = from.name};
  spec.allocatable = {{"cpu", quantity::from_milli(from.cpu_milli)},
                      {"memory", quantity{from.memory_mib * mebibyte}},
                      {"pods", quantity{1001}}};  // as in the paper's simulator
  spec.devices.gpu = {.model = from.model, .resource = ""};
  spec.devices.gpus.resize(static_cast<std::size_t>(from.gpus));
  return spec;
}

pod_spec to_pod(const replay::openb::pod& from) {
  pod_spec spec;
  spec.containers.push_back(
      {.requests = {{"cpu", quantity::from_milli(from.cpu_milli)}, {"memory", quantity{from.memory_mib * mebibyte}}}});
  if (from.gpus > 0) {
    spec.devices.push_back({.count = static_cast<std::int32_t>(from.gpus),
                            .milli = static_cast<std::int32_t>(from.gpu_milli),
                            .models = from.models});
  }
  return spec;
}

std::vector<gpu_supply> supply_of(const std::vector<replay::openb::node>& nodes) {
  std::vector<gpu_supply> all;
  std::map<std::string_view, std::size_t> known;
  for (const replay::openb::node& one : nodes) {
    const auto [at, added] = known.try_emplace(one.model, all.size());
    if (added) all.push_back({.model = one.model});
    all[at->second].gpus += one.gpus;
    all[at->second].cpu_milli += one.cpu_milli;
  }
  return all;
}

/// The policy alone decides between nodes that have room.
kernel_table profile_of(std::string_view policy, std::span<const expected_pods> target,
                        std::shared_ptr<const gpu_price_book> book, std::uint64_t seed, const plugin_entry* own) {
  kernel_table made;
  add_plugin(made, lower(priority_sort{}, 1));
  plugin_entry fit = lower(node_resources_fit{}, 1);
  fit.points.remove(point::score);
  fit.points.remove(point::pre_score);
  add_plugin(made, std::move(fit));
  if (own != nullptr)
    add_plugin(made, *own);
  else if (policy == "random")
    add_plugin(made, lower(gpu_random{seed}, 1));
  else if (policy == "dotprod")
    add_plugin(made, lower(gpu_dot_product{}, 1));
  else if (policy == "clustering")
    add_plugin(made, lower(gpu_clustering{}, 1));
  else if (policy == "packing")
    add_plugin(made, lower(gpu_packing{}, 1));
  else if (policy == "bestfit")
    add_plugin(made, lower(gpu_best_fit{}, 1));
  else if (policy == "fgd")
    add_plugin(made, lower(gpu_fragmentation{target}, 1));
  else if (policy == "pricing")
    add_plugin(made, lower(gpu_pricing{std::move(book)}, 1));
  else
    throw std::invalid_argument{"no policy \"" + std::string{policy} + '"'};
  add_plugin(made, lower(device_fit{}, 1));
  return made;
}

/// Places of a list from which some are taken out, wherever they stand among those that are left. O(log places) each.
class kept_places {
 public:
  explicit kept_places(std::size_t count)
      : size_(count), width_(std::bit_ceil(count + 1)), counts_(width_ + 1), taken_(count) {
    for (std::size_t i = 1; i <= width_; ++i) {
      counts_[i] += i <= count ? 1 : 0;
      if (const std::size_t up = i + (i & (~i + 1)); up <= width_) counts_[up] += counts_[i];
    }
  }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool has(std::size_t place) const { return !taken_[place]; }
  /// Takes out the one that has @p before others before it; which it was.
  std::size_t take(std::size_t before) {
    std::size_t at = 0;
    for (std::size_t step = width_; step != 0; step /= 2)
      if (at + step <= width_ && counts_[at + step] <= before) before -= counts_[at += step];
    for (std::size_t i = at + 1; i <= width_; i += i & (~i + 1)) --counts_[i];
    taken_[at] = true;
    --size_;
    return at;
  }

 private:
  std::size_t size_, width_;
  std::vector<std::size_t> counts_;  // a Fenwick tree
  std::vector<bool> taken_;
};

/// What expected pods could not use of each node's GPUs, kept as nodes change.
class fragmentation_meter {
 public:
  fragmentation_meter(std::span<const expected_pods> target, std::size_t nodes) : outlook_(target), of_node_(nodes) {}

  void look(const cluster& cluster, node_id node, std::string_view model) {
    const gpu_rest rest{cluster.devices_of(node), cluster.allocatable(node, "cpu") - cluster.requested(node, "cpu")};
    const std::int64_t now = outlook_.fragment(outlook_.model(model), rest);
    sum_ += now - of_node_[node.row];
    of_node_[node.row] = now;
  }
  /// In thousandths of a GPU.
  [[nodiscard]] double sum() const { return static_cast<double>(sum_) / static_cast<double>(gpu_outlook::unit); }

 private:
  gpu_outlook outlook_;
  std::vector<std::int64_t> of_node_;
  std::int64_t sum_ = 0;
};

/// By more than the grid that bids are made on: less is not worth what is kept for each class of pods.
bool differ(const bid_values& a, const bid_values& b) {
  return !std::equal(a.begin(), a.end(), b.begin(), b.end(),
                     [](std::int32_t x, std::int32_t y) { return std::abs(x - y) <= 10; });
}

}  // namespace

std::string list_name(const std::string& path) {
  std::string name = std::filesystem::path{path}.stem().string();
  if (constexpr std::string_view prefix = "openb_pod_list_"; name.starts_with(prefix)) name.erase(0, prefix.size());
  return name;
}

setting make_setting(replay::openb::trace from, bool split, const std::string& source) {
  setting made{.nodes = std::move(from.nodes),
               .list = {.name = list_name(source), .learn = {}, .play = std::move(from.pods)}};
  made.list.learn = made.list.play;
  if (split) {
    auto& later = made.list.play;
    std::ranges::stable_sort(later, {}, &replay::openb::pod::creation);
    const auto half = later.begin() + static_cast<std::ptrdiff_t>(later.size() / 2);
    made.list.learn.assign(later.begin(), half);
    later.erase(later.begin(), half);
  }
  std::erase_if(made.nodes, [](const replay::openb::node& one) { return one.gpus == 0; });
  for (const replay::openb::node& one : made.nodes) made.gpus += one.gpus;
  std::int64_t demand = 0;
  for (const replay::openb::pod& one : made.list.play) demand += one.gpus * one.gpu_milli;
  if (made.gpus == 0 || demand == 0) throw replay::bad_input{source + ":1:1: nobody has, or asks for, a GPU"};
  constexpr double most_arrivals = 5'000'000;
  const double arrivals = 1300.0 * static_cast<double>(made.gpus) * static_cast<double>(made.list.play.size()) /
                          static_cast<double>(demand);
  if (arrivals > most_arrivals)
    throw replay::bad_input{
        fmt::format("{}:1:1: {:.0f} pods like these would arrive for 130 % of the GPUs, more than {:.0f}", source,
                    arrivals, most_arrivals)};
  return made;
}

arrivals draw(const pod_list& list, std::size_t nodes, std::int64_t gpus, std::uint64_t seed) {
  std::mt19937_64 random{seed};
  const auto& pods = list.play;
  const auto asks = [&](std::size_t pod) { return pods[pod].gpus * pods[pod].gpu_milli; };
  arrivals made;
  made.pods.resize(pods.size());
  std::iota(made.pods.begin(), made.pods.end(), std::size_t{0});
  for (std::size_t i = made.pods.size() - 1; i > 0; --i) std::swap(made.pods[i], made.pods[random() % (i + 1)]);
  const std::int64_t target = gpus * 1300;
  std::int64_t total = 0;
  for (const std::size_t pod : made.pods) total += asks(pod);
  if (total <= target) {
    for (;;) {
      const std::size_t next = random() % pods.size();
      if (total + (asks(next) == 0 ? 0 : pods[next].gpu_milli) > target) break;
      total += asks(next);
      made.pods.push_back(next);
    }
  } else {
    kept_places kept{made.pods.size()};
    while (total > target) total -= asks(made.pods[kept.take(random() % kept.size())]);
    std::size_t next = 0;
    for (std::size_t i = 0; i < made.pods.size(); ++i)
      if (kept.has(i)) made.pods[next++] = made.pods[i];
    made.pods.resize(next);
  }
  made.nodes.resize(nodes);
  std::iota(made.nodes.begin(), made.nodes.end(), std::size_t{0});
  for (std::size_t i = nodes - 1; i > 0; --i) std::swap(made.nodes[i], made.nodes[random() % (i + 1)]);
  return made;
}

outcome run(const std::vector<replay::openb::node>& nodes, const pod_list& list, const arrivals& order,
            std::string_view policy, std::uint64_t seed, const plugin_entry* own) {
  const std::vector<expected_pods> prior = lines_of(list.learn), target = most_frequent(prior, 95);
  std::vector<gpu_supply> supply = supply_of(nodes);
  std::int64_t gpus = 0;
  for (const gpu_supply& one : supply) gpus += one.gpus;
  const bool learns = own == nullptr && policy == "pricing";
  const auto book = std::make_shared<gpu_price_book>(learns ? gpu_price_book::of(prior, supply) : gpu_price_book{});
  demand_learner learner{prior};

  gangsched::cluster cluster;
  std::vector<node_id> ids;
  std::vector<std::string_view> models;
  for (const std::size_t which : order.nodes) {
    ids.push_back(cluster.add_node(to_node(nodes[which])).value());
    models.push_back(nodes[which].model);
  }
  std::vector<pod_spec> specs;
  for (const replay::openb::pod& one : list.play) specs.push_back(to_pod(one));
  scheduler scheduler{
      cluster,
      profile_of(policy, target, book, seed, own),
      {.seed = seed, .ties = policy == "random" ? tie_rule::uniform : tie_rule::lowest_row, .indexed_classes = 4096}};
  fragmentation_meter meter{target, ids.size()};
  for (std::size_t i = 0; i < ids.size(); ++i) meter.look(cluster, ids[i], models[i]);

  outcome result;
  std::array<std::int64_t, 131> events{};
  std::int64_t arrived = 0, used = 0, samples = 0, big = 0, big_failed = 0;
  std::size_t measured = 0;  // the last percent up to 100 that somebody arrived at
  std::chrono::nanoseconds spent{};
  std::uint64_t number = 0;
  for (const std::size_t which : order.pods) {
    const replay::openb::pod& pod = list.play[which];
    const std::int64_t asks = pod.gpus * pod.gpu_milli;
    arrived += asks;
    pod_spec& spec = specs[which];
    spec.name = "p" + std::to_string(number++);
    node_id placed;
    const auto begin = std::chrono::steady_clock::now();
    if (learns && learner.see(to_expected(pod))) {
      if (bid_values bids = bid_for_shares(learner.expected(), gpus); differ(bids, book->bids)) {
        book->bids = std::move(bids);
        scheduler.forget_cached().value();
      }
    }
    const pod_id id = cluster.add_pod(spec).value();
    while (const cycle done = scheduler.schedule_cycle(instant{})) {
      if (done.error() != nullptr) throw std::runtime_error{done.error()->message()};
      for (const decision& one : done) placed = one.kind == decision_kind::bind ? one.node : node_id{};
    }
    if (placed)
      scheduler.confirm(id).value();
    else
      cluster.remove_pod(id).value();  // nobody tries again
    spent += std::chrono::steady_clock::now() - begin;
    if (placed) {
      used += asks;
      meter.look(cluster, placed, models[placed.row]);
    }
    if (pod.gpus >= 4 && arrived <= gpus * 1000) ++big, big_failed += !placed;
    const auto percent =
        static_cast<std::size_t>(std::lround(static_cast<double>(arrived) / (10.0 * static_cast<double>(gpus))));
    if (percent >= events.size()) continue;
    result.allocated[percent] += static_cast<double>(used) / (10.0 * static_cast<double>(gpus));
    ++events[percent];
    if (percent > 100 || used >= gpus * 1000) continue;
    if (percent != measured) result.fragmented = 0, samples = 0, measured = percent;
    result.fragmented += 100 * meter.sum() / static_cast<double>(gpus * 1000 - used);
    ++samples;
  }
  for (std::size_t i = 0; i < events.size(); ++i) {
    // In a small list one arrival may leap over a percent: then nothing has changed since the one before.
    if (events[i] != 0)
      result.allocated[i] /= static_cast<double>(events[i]);
    else if (i != 0)
      result.allocated[i] = result.allocated[i - 1];
  }
  result.fragmented /= std::max<double>(1, static_cast<double>(samples));
  result.micros = std::chrono::duration<double, std::micro>(spent).count() / static_cast<double>(order.pods.size());
  result.big_failed = 100.0 * static_cast<double>(big_failed) / std::max<double>(1, static_cast<double>(big));
  return result;
}

}  // namespace openb
