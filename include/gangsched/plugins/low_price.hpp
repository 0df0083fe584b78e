#pragma once
#include <algorithm>
#include <limits>

#include "gangsched/core/percent.hpp"
#include "gangsched/core/result.hpp"
#include "gangsched/framework/argument_reader.hpp"
#include "gangsched/framework/points.hpp"
#include "gangsched/model/node_load.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// Cheap nodes first. The cost of a node is its price, or the part of it that the pod takes: the larger of request/allocatable of CPU and
/// of memory, times the price, rounded down. Score: 100·(most − cost)/(most − least) over the feasible nodes that have a price, rounded
/// down; 100 if all cost the same, 0 for nodes without a price. Column: docs/load.md. If prices change by the hour, such as those of power,
/// the host writes the new one when the hour comes.
class low_price {
 public:
  static constexpr std::string_view name = "LowPrice";
  static constexpr std::int64_t default_weight = 1;
  using points = implements<point::score>;
  static constexpr bool reads_population = false;

  enum class basis : std::uint8_t { node, share };  ///< the whole price, or the part that the pod takes

  explicit low_price(low_price::basis of = basis::node) : basis_(of) {}
  /// Argument: `basis: Node | Share`.
  [[nodiscard]] static result<low_price> from(const argument& args) {
    basis of = basis::node;
    argument_reader read{name};
    const bool fine = read.root(args, [&](std::string_view key, const argument& value, const std::string& path) {
      if (key != "basis") return read.unknown(path);
      return read.word(value, path, {{"Node", basis::node}, {"Share", basis::share}}, of);
    });
    if (!fine) return std::move(read).failure();
    return low_price{of};
  }

  void attach(column_maker& columns) { price_ = columns.node_column_by_host(node_load::price); }
  [[nodiscard]] std::int64_t score(const pod_view& pod, node_view<reads::own | reads::allocatable> node) const {
    const auto price = node_load::count(node.own(price_));
    if (!price || basis_ == basis::node) return price.value_or(unknown);
    std::int64_t cost = 0;
    for (const resource_kind of : {kinds::cpu, kinds::memory}) {
      const std::int64_t all = node.allocatable(of);
      const wide part = all <= 0 ? wide{0} : wide{*price} * pod.request(of) / all;
      cost = std::max(cost, static_cast<std::int64_t>(std::min(part, wide{std::numeric_limits<std::int64_t>::max()})));
    }
    return cost;
  }
  void normalize_score(const pod_view&, std::span<scored_group> groups) const {
    std::int64_t least = std::numeric_limits<std::int64_t>::max(), most = 0;
    for (const scored_group& one : groups) {
      if (one.score != unknown) least = std::min(least, one.score), most = std::max(most, one.score);
    }
    for (scored_group& one : groups) {
      const bool priced = one.score != unknown;
      one.score = !priced ? 0 : most == least ? max_node_score : percent(most - one.score, most - least);
    }
  }

 private:
  __extension__ using wide = __int128;  // products
  static constexpr std::int64_t unknown = -1;
  low_price::basis basis_;
  by_host<node_column> price_;
};

static_assert(score_plugin<low_price>);

}  // namespace gangsched::inline GANGSCHED_ABI
