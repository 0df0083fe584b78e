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
  side_of_block(const amount_block& nodes, const amount& one, bool gains)
      : has(nodes.allocatable(one.kind)),
        uses(nodes.used(one.kind)),
        free(nodes.free(one.kind)),
        now(gains ? nodes.share(one.kind) : nullptr),
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
  GANGSCHED_LANES static void run(double* score, std::size_t size, const side_of_block& first,
                                  const side_of_block& second) {
    const side_of_block a = first, b = second;  // (of copies it is seen that scores are written elsewhere)
    const lanes<N> half = lanes<N>::of(50.0);
    for (std::size_t i = 0; i < size; i += N) {
      lanes<N> rating = evenness_of(share_with_pod<N>(a, i), share_with_pod<N>(b, i));
      if (Gains) {
        const lanes<N> now = evenness_of(lanes<N>::load(a.now + i), lanes<N>::load(b.now + i));
        rating = half + whole_part((half + rating - now) / lanes<N>::of(2.0));
      }
      rating.store(score + i);
    }
  }
};

/// The first of two shares is @p apart above the second: how much nearer they come at most, if that changes by no less and no more.
inline double most_nearer(double apart, double least_change, double most_change) noexcept {
  const double after = apart + std::clamp(-apart, least_change, most_change);
  return (apart < 0 ? -apart : apart) - (after < 0 ? -after : after);
}

}  // namespace detail

GANGSCHED_INLINE bool node_resources_balanced_allocation::score_block(const pod_view& pod, const data& d,
                                                                      scored_block& nodes) const {
  bool at_once = d.requests.size() == 2;
  for (const amount& one : d.requests) {
    if (!nodes.exact(one.kind, one.value)) return false;
    at_once = at_once && nodes.all_have(one.kind);
  }
  if (!at_once) {
    for (std::size_t i = 0; i < nodes.size(); ++i)
      nodes.score[i] = static_cast<double>(score_of(d, gains(pod), detail::node_of_block{nodes, i}));
    return true;
  }
  const bool by_gain = gains(pod);
  const detail::side_of_block a{nodes, d.requests[0], by_gain}, b{nodes, d.requests[1], by_gain};
  if (by_gain)
    run_lanes<detail::rate_evenness<true>>(&nodes.score[0], nodes.size(), a, b);
  else
    run_lanes<detail::rate_evenness<false>>(&nodes.score[0], nodes.size(), a, b);
  return true;
}

/// By how far apart the two shares may be, and by how much the pod changes that: if the first share gains more, they come nearer most where
/// it is lowest beside the second; if it gains less, where it is highest.
GANGSCHED_INLINE double node_resources_balanced_allocation::score_bound(const pod_view& pod, const data& d,
                                                                        const amount_block& nodes) const {
  constexpr auto most = static_cast<double>(max_node_score);
  constexpr double slack = 1e-9;  // rounding
  if (d.requests.size() != 2) return most;
  const amount_range* shares[2];
  double least[2], largest[2];  // what the pod adds to a share
  for (std::size_t i = 0; i < 2; ++i) {
    const amount& one = d.requests[i];
    if (!nodes.exact(one.kind, one.value) || !nodes.all_have(one.kind)) return most;
    shares[i] = &nodes.range(one.kind);
    const auto request = static_cast<double>(one.value);
    least[i] = std::min(request / shares[i]->most_allocatable, 1.0 - shares[i]->most_share);  // (none is above 1)
    largest[i] = request / shares[i]->least_allocatable;
  }
  const double least_apart = shares[0]->least_share - shares[1]->most_share;
  const double most_apart = shares[0]->most_share - shares[1]->least_share;
  const double least_change = least[0] - largest[1], most_change = largest[0] - least[1];
  if (!gains(pod)) {
    const double apart = std::max({0.0, least_apart + least_change, -most_apart - most_change});
    return (1.0 - apart / 2) * most;
  }
  double nearer = -2.0;
  if (most_change >= 0)
    nearer = std::max(nearer, detail::most_nearer(least_apart, std::max(least_change, 0.0), most_change));
  if (least_change <= 0)
    nearer = std::max(nearer, detail::most_nearer(most_apart, least_change, std::min(most_change, 0.0)));
  // (The difference of two whole parts is less than 1 above that of the numbers.)
  const double gain = __builtin_ceil(nearer / 2 * most + slack);
  return most / 2 + __builtin_floor((most / 2 + gain) / 2);
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
