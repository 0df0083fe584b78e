#include "gangsched/plugins/node_resources_balanced_allocation.hpp"

#include <algorithm>

#include "gangsched/core/lanes.hpp"
#include "gangsched/framework/amount_block.hpp"
#include "gangsched/framework/argument_reader.hpp"

namespace gangsched::inline GANGSCHED_ABI {
namespace detail {

/// A node of a block.
struct node_of_block {
  const amount_block& nodes;
  std::size_t at;
  [[nodiscard]] std::int64_t allocatable(resource_kind kind) const {
    return static_cast<std::int64_t>(nodes.allocatable(kind)[at]);
  }
  [[nodiscard]] std::int64_t used(resource_kind kind) const { return static_cast<std::int64_t>(nodes.used(kind)[at]); }
};

/// One of two resources in a block.
struct side_of_block {
  side_of_block(const amount_block& nodes, const amount& one)
      : has(nodes.allocatable(one.kind)),
        uses(nodes.used(one.kind)),
        free(nodes.free(one.kind)),
        now(nodes.share(one.kind)),
        request(static_cast<double>(one.value)) {}
  const double *has, *uses, *free, *now;
  double request;
};

/// ⌊100 · (1 − |a − b| / 2)⌋, as of two fractions.
template <std::size_t N>
GANGSCHED_LANES lanes<N> evenness_of(const lanes<N>& a, const lanes<N>& b) noexcept {
  const lanes<N> apart = if_above(a, b, a - b, b - a);
  return whole_part((lanes<N>::of(1.0) - apart / lanes<N>::of(2.0)) * lanes<N>::of(100.0));
}

template <bool Gains>
struct rate_evenness {
  template <std::size_t N>
  GANGSCHED_LANES static lanes<N> share_with_pod(const side_of_block& of, std::size_t i) {
    const lanes<N> has = lanes<N>::load(of.has + i);
    const lanes<N> uses = lanes<N>::load(of.uses + i);
    const lanes<N> request = lanes<N>::of(of.request);
    return if_above(request, lanes<N>::load(of.free + i), lanes<N>::of(1.0), (uses + request) / has);
  }
  template <std::size_t N>
  GANGSCHED_LANES static void run(double* score, const side_of_block& a, const side_of_block& b) {
    const lanes<N> half = lanes<N>::of(50.0);
    for (std::size_t i = 0; i < amount_block::rows; i += N) {
      lanes<N> rating = evenness_of(share_with_pod<N>(a, i), share_with_pod<N>(b, i));
      if (Gains) {
        const lanes<N> now = evenness_of(lanes<N>::load(a.now + i), lanes<N>::load(b.now + i));
        rating = half + whole_part((half + rating - now) / lanes<N>::of(2.0));
      }
      rating.store(score + i);
    }
  }
};

}  // namespace detail

GANGSCHED_INLINE bool node_resources_balanced_allocation::score_block(const pod_view& pod, const data& d,
                                                                      scored_block& nodes) const {
  bool at_once = d.requests.size() == 2;
  for (const amount& one : d.requests) {
    if (!nodes.exact(one.kind, one.value)) return false;
    at_once = at_once && nodes.all_have(one.kind);
  }
  if (!at_once) {
    for (std::size_t i = 0; i < amount_block::rows; ++i)
      nodes.score[i] = static_cast<double>(score_of(d, gains(pod), detail::node_of_block{nodes, i}));
    return true;
  }
  const detail::side_of_block a{nodes, d.requests[0]}, b{nodes, d.requests[1]};
  if (gains(pod))
    run_lanes<detail::rate_evenness<true>>(&nodes.score[0], a, b);
  else
    run_lanes<detail::rate_evenness<false>>(&nodes.score[0], a, b);
  return true;
}

/// By how far apart the two shares are with the pod at least, and without it at most.
GANGSCHED_INLINE double node_resources_balanced_allocation::score_bound(const pod_view& pod, const data& d,
                                                                        const amount_block& nodes) const {
  constexpr auto most = static_cast<double>(max_node_score);
  if (d.requests.size() != 2) return most;
  double least[2], largest[2];  // share with the pod
  for (std::size_t i = 0; i < 2; ++i) {
    const amount& one = d.requests[i];
    if (!nodes.exact(one.kind, one.value) || !nodes.all_have(one.kind)) return most;
    const amount_range& its = nodes.range(one.kind);
    const auto request = static_cast<double>(one.value);
    least[i] = std::min(1.0, (its.least_used + request) / its.most_allocatable);
    largest[i] = std::min(1.0, (its.most_used + request) / its.least_allocatable);
  }
  const double apart = std::max({0.0, least[0] - largest[1], least[1] - largest[0]});
  const double even = (1.0 - apart / 2) * most;
  if (!gains(pod)) return even;
  const amount_range& a = nodes.range(d.requests[0].kind);
  const amount_range& b = nodes.range(d.requests[1].kind);
  const double apart_now = std::max(a.most_share - b.least_share, b.most_share - a.least_share);
  const double even_now = __builtin_floor((1.0 - apart_now / 2) * most - 1e-9);  // scores have no fractions
  return most / 2 + (most / 2 + even - even_now) / 2;
}

GANGSCHED_INLINE result<node_resources_balanced_allocation> node_resources_balanced_allocation::from(
    const argument& args) {
  std::vector<std::string> names;
  argument_reader read{name};
  const bool fine = read.root(args, [&](std::string_view key, const argument& value, const std::string& path) {
    if (key != "resources") return read.unknown(path);
    return read.items(value, path, [&](const argument& item, const std::string& at) {
      std::string& one = names.emplace_back();
      std::int64_t weight = 1;
      return read.fields(item, at, [&](std::string_view field, const argument& v, const std::string& where) {
        if (field == "name") return read.text(v, where, one);
        if (field == "weight") return read.number(v, where, 1, 1, weight);
        return read.unknown(where);
      });
    });
  });
  if (!fine) return std::move(read).failure();
  if (names.empty()) return node_resources_balanced_allocation{};
  return node_resources_balanced_allocation{std::move(names)};
}

}  // namespace gangsched::inline GANGSCHED_ABI
