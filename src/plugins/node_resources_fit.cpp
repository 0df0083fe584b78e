#include "gangsched/plugins/node_resources_fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>

#include "gangsched/core/lanes.hpp"
#include "gangsched/framework/amount_block.hpp"
#include "gangsched/framework/argument_reader.hpp"
#include "gangsched/framework/past.hpp"

namespace gangsched::inline GANGSCHED_ABI {

GANGSCHED_INLINE hint node_resources_fit::requeue(const event& e, const pod_info& pod) const {
  const auto say = [](bool helps) { return helps ? hint::queue : hint::skip; };
  if (e.what == events::pod_removed) return hint::queue;
  if (e.what == events::pod_scaled_down) {
    const pod_class& before = e.old_pod->spec();
    const pod_class& after = e.new_pod->spec();
    return say(e.own || std::any_of(pod.requests().begin(), pod.requests().end(), [&](const amount& wanted) {
                 return before.request(wanted.kind) > after.request(wanted.kind);
               }));
  }
  const past_node& node = *e.new_node;
  // Upstream leaves the resources that the profile ignores in.
  if (node.allocatable(kinds::pods) < 1) return hint::skip;
  for (const amount& wanted : pod.requests())
    if (wanted.value > node.allocatable(wanted.kind)) return hint::skip;
  if (e.old_node == nullptr) return hint::queue;
  const auto more = [&](resource_kind kind) { return node.allocatable(kind) > e.old_node->allocatable(kind); };
  return say(more(kinds::pods) || std::any_of(pod.requests().begin(), pod.requests().end(),
                                              [&](const amount& wanted) { return more(wanted.kind); }));
}

GANGSCHED_INLINE bool node_resources_fit::is_ignored(std::string_view resource) const {
  const std::size_t slash = resource.find('/');
  const bool extended = slash != std::string_view::npos && resource.find("kubernetes.io/") == std::string_view::npos;
  return extended && (is_among(resource, options_.ignored_resources) ||
                      is_among(resource.substr(0, slash), options_.ignored_groups));
}

GANGSCHED_INLINE std::int64_t node_resources_fit::shape_at(std::int64_t utilization) const noexcept {
  const std::vector<shape_point>& shape = options_.shape;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (utilization > shape[i].utilization) continue;
    if (i == 0) return shape[0].score;
    const shape_point& from = shape[i - 1];
    return from.score +
           (shape[i].score - from.score) * (utilization - from.utilization) / (shape[i].utilization - from.utilization);
  }
  return shape.empty() ? 0 : shape.back().score;
}

GANGSCHED_INLINE std::vector<amount> node_resources_fit::least_free(const pod_view& pod, const data& d) const {
  std::vector<amount> least{{kinds::pods, 1}};
  for (const amount& wanted : pod.requests())
    if (!is_among(wanted.kind, d.ignored)) least.push_back(wanted);
  return least;
}

namespace detail {

/// So many resources are looked at in one pass over a block: few pods have more.
inline constexpr std::size_t resources_at_once = 8;

/// What a block has of one resource, and how much is wanted.
struct wanted_amount {
  const double* free;
  double wanted;
};

struct find_shortages {
  template <std::size_t N>
  GANGSCHED_LANES static void run(std::uint64_t* rejected, std::size_t size, const wanted_amount* first,
                                  std::size_t count) {
    lane_bits<N> short_of_some;
    for (std::size_t i = 0; i < size; i += N) {
      lane_truth<N> lacks = {};
      for (const wanted_amount* one = first; one != first + count; ++one)
        lacks = lacks | where_above(lanes<N>::of(one->wanted), lanes<N>::load(one->free + i));
      short_of_some.add(lacks);
    }
    *rejected |= short_of_some.all();
  }
};

/// A resource of a block that is rated.
struct rated_amount {
  const double *has, *uses, *inverse;
  double request, weight;
};

/// The weighted mean of how many percent of each of @p Count resources (0: @p count) are left, or with @p Most used, with the pod.
template <bool Most, std::size_t Count>
struct mean_percentage {
  template <std::size_t N>
  GANGSCHED_LANES static void run(double* score, std::size_t size, const rated_amount* all, std::size_t count,
                                  double inverse_weights) {
    using some = lanes<N>;
    rated_amount first[Count + 1];  // (of copies it is seen that scores are written elsewhere)
    std::copy_n(all, Count, &first[0]);
    const rated_amount* const last = Count != 0 ? &first[Count] : all + count;
    for (std::size_t i = 0; i < size; i += N) {
      some sum = some::of(0.0);
      for (const rated_amount* one = Count != 0 ? &first[0] : all; one != last; ++one) {
        const some whole = some::load(one->has + i);
        const some left = larger(whole - some::load(one->uses + i) - some::of(one->request), some::of(0.0));
        const some part = Most ? whole - left : left;
        const some percentage = quotient_of(some::of(100.0) * part, some::load(one->inverse + i));
        sum = sum + some::of(one->weight) * percentage;
      }
      quotient_of(sum, some::of(inverse_weights)).store(score + i);
    }
  }
};

}  // namespace detail

GANGSCHED_INLINE bool node_resources_fit::filter_block(const pod_view& pod, const data& d,
                                                       filtered_block& nodes) const {
  detail::wanted_amount wants[detail::resources_at_once];
  std::size_t count = 0;
  const auto look = [&] {
    run_lanes<detail::find_shortages>(&nodes.rejected, nodes.size(), &wants[0], count), count = 0;
  };
  const auto need = [&](resource_kind kind, std::int64_t wanted) {
    if (!nodes.exact(kind, wanted)) return false;
    if (count == detail::resources_at_once) look();
    wants[count++] = {nodes.free(kind), static_cast<double>(wanted)};
    return true;
  };
  if (!need(kinds::pods, 1)) return false;
  for (const auto& [kind, wanted] : pod.requests())
    if (!is_among(kind, d.ignored) && !need(kind, wanted)) return false;
  look();
  return true;
}

GANGSCHED_INLINE block_verdict node_resources_fit::filter_bound(const pod_view& pod, const data& d,
                                                                const amount_block& nodes) const {
  bool none = true, all = false;
  const auto look = [&](resource_kind kind, std::int64_t value) {
    const bool exact = nodes.exact(kind, value);
    const auto wanted = static_cast<double>(value);
    none = none && exact && nodes.range(kind).least_free >= wanted;
    all = all || (exact && nodes.range(kind).most_free < wanted);
  };
  look(kinds::pods, 1);
  for (const auto& [kind, wanted] : pod.requests())
    if (!is_among(kind, d.ignored)) look(kind, wanted);
  return none ? block_verdict::none_rejected : all ? block_verdict::all_rejected : block_verdict::unknown;
}

GANGSCHED_INLINE bool node_resources_fit::score_block(const pod_view&, const data& d, scored_block& nodes) const {
  bool at_once = options_.strategy != strategy::requested_to_capacity_ratio && !d.scored.empty() &&
                 d.scored.size() <= detail::resources_at_once;
  std::int64_t weights = 0;
  for (const scored_resource& one : d.scored) {
    if (!nodes.exact(one.kind) || !nodes.exact(one.used, one.request)) return false;
    at_once = at_once && nodes.all_have(one.kind);
    weights += one.weight;
  }
  if (!at_once) {
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      nodes.score[i] = static_cast<double>(score_of(
          d, [&](resource_kind kind) { return static_cast<std::int64_t>(nodes.allocatable(kind)[i]); },
          [&](resource_kind kind) { return static_cast<std::int64_t>(nodes.used(kind)[i]); }));
    }
    return true;
  }
  detail::rated_amount rated[detail::resources_at_once];
  std::size_t count = 0;
  for (const scored_resource& one : d.scored) {
    rated[count++] = {nodes.allocatable(one.kind), nodes.used(one.used), nodes.inverse(one.kind),
                      static_cast<double>(one.request), static_cast<double>(one.weight)};
  }
  const double inverse = 1.0 / static_cast<double>(weights);
  const bool most = options_.strategy == strategy::most_allocated;
  const auto rate = [&]<std::size_t Count>(std::integral_constant<std::size_t, Count>) {
    if (most)
      run_lanes<detail::mean_percentage<true, Count>>(&nodes.score[0], nodes.size(), &rated[0], count, inverse);
    else
      run_lanes<detail::mean_percentage<false, Count>>(&nodes.score[0], nodes.size(), &rated[0], count, inverse);
  };
  if (count == 2)  // as by default
    rate(std::integral_constant<std::size_t, 2>{});
  else
    rate(std::integral_constant<std::size_t, 0>{});
  return true;
}

/// What is left is at most what the node that uses least would have left if it were the largest, and what is used with the pod at most what
/// the fullest would if it were the smallest.
GANGSCHED_INLINE double node_resources_fit::score_bound(const pod_view&, const data& d,
                                                        const amount_block& nodes) const {
  constexpr auto most = static_cast<double>(max_node_score);
  if (options_.strategy == strategy::requested_to_capacity_ratio || d.scored.empty()) return most;
  const auto whole_part_of = [](double value) { return __builtin_floor(value + 1e-9); };  // (some for rounding)
  double sum = 0, weights = 0;
  for (const scored_resource& one : d.scored) {
    if (!nodes.exact(one.kind) || !nodes.exact(one.used, one.request) || !nodes.all_have(one.kind)) return most;
    const amount_range& has = nodes.range(one.kind);
    const amount_range& uses = nodes.range(one.used);
    const auto request = static_cast<double>(one.request), weight = static_cast<double>(one.weight);
    const double part = options_.strategy == strategy::most_allocated
                            ? (uses.most_used + request) / has.least_allocatable
                            : 1.0 - (uses.least_used + request) / has.most_allocatable;
    sum += weight * whole_part_of(most * std::clamp(part, 0.0, 1.0));
    weights += weight;
  }
  return whole_part_of(sum / weights);
}

GANGSCHED_INLINE std::optional<error> node_resources_fit::check(const options& chosen) {
  const auto wrong = [](errc code, std::string field, std::string reason) {
    return error{code, "plugin NodeResourcesFit", std::move(field), std::move(reason)};
  };
  const auto outside = [](std::int64_t value, std::int64_t least, std::int64_t most) {
    return value < least || value > most;
  };
  for (std::size_t i = 0; i < chosen.resources.size(); ++i) {
    if (outside(chosen.resources[i].weight, 1, 100))
      return wrong(errc::out_of_range, fmt::format("resources[{}].weight", i), "is not in 1 to 100");
  }
  if (chosen.strategy == strategy::requested_to_capacity_ratio && chosen.shape.empty())
    return wrong(errc::malformed, "shape", "needs at least one point");
  for (std::size_t i = 0; i < chosen.shape.size(); ++i) {
    const shape_point& corner = chosen.shape[i];
    if (outside(corner.utilization, 0, 100))
      return wrong(errc::out_of_range, fmt::format("shape[{}].utilization", i), "is not in 0 to 100");
    if (outside(corner.score, 0, 10))
      return wrong(errc::out_of_range, fmt::format("shape[{}].score", i), "is not in 0 to 10");
    if (i > 0 && corner.utilization <= chosen.shape[i - 1].utilization)
      return wrong(errc::malformed, fmt::format("shape[{}].utilization", i),
                   "has to be more than that of the point before");
  }
  for (std::size_t i = 0; i < chosen.ignored_groups.size(); ++i) {
    if (chosen.ignored_groups[i].find('/') != std::string::npos)
      return wrong(errc::malformed, fmt::format("ignored_groups[{}]", i),
                   "is what stands before the '/' of a resource name");
  }
  return std::nullopt;
}

namespace detail {

GANGSCHED_INLINE bool read_fit_strategy(argument_reader& read, const argument& value, const std::string& path,
                                        node_resources_fit::strategy& out) {
  using strategy = node_resources_fit::strategy;
  return read.word(value, path,
                   {{"LeastAllocated", strategy::least_allocated},
                    {"MostAllocated", strategy::most_allocated},
                    {"RequestedToCapacityRatio", strategy::requested_to_capacity_ratio}},
                   out);
}

/// Absent weights are 1, as upstream defaults them; an empty list is the default one.
GANGSCHED_INLINE bool read_fit_resources(argument_reader& read, const argument& value, const std::string& path,
                                         std::vector<node_resources_fit::weighted_resource>& out) {
  std::vector<node_resources_fit::weighted_resource> made;
  const bool fine = read.items(value, path, [&](const argument& item, const std::string& at) {
    auto& one = made.emplace_back();
    return read.fields(item, at, [&](std::string_view field, const argument& v, const std::string& where) {
      if (field == "name") return read.text(v, where, one.name);
      if (field == "weight") return read.number(v, where, 1, 100, one.weight);
      return read.unknown(where);
    });
  });
  if (!made.empty()) out = std::move(made);
  return fine;
}

GANGSCHED_INLINE bool read_fit_shape(argument_reader& read, const argument& value, const std::string& path,
                                     std::vector<node_resources_fit::shape_point>& out) {
  return read.fields(value, path, [&](std::string_view name, const argument& points, const std::string& at) {
    if (name != "shape") return read.unknown(at);
    return read.items(points, at, [&](const argument& item, const std::string& where) {
      auto& one = out.emplace_back();
      return read.fields(item, where, [&](std::string_view field, const argument& v, const std::string& here) {
        if (field == "utilization") return read.number(v, here, 0, 100, one.utilization);
        if (field == "score") return read.number(v, here, 0, 10, one.score);
        return read.unknown(here);
      });
    });
  });
}

/// Calls visit(resource, its kind, the kind that its usage is scored by) for each configured resource that placements are scored by.
template <class Visit>
void each_scored(const node_resources_fit::options& options, const placement_view& where, const Visit& visit) {
  for (const auto& one : options.resources) {
    const std::optional<resource_kind> kind = where.find_kind(one.name);
    if (!kind || (*kind > kinds::ephemeral_storage && *kind < kinds::first_other)) continue;
    visit(one, *kind, *kind == kinds::cpu ? kinds::scored_cpu : *kind == kinds::memory ? kinds::scored_memory : *kind);
  }
}

/// MostAllocated over the whole placement: extra(kind) is what comes on top, or nothing if the group does not ask for the resource.
template <class Extra>
std::int64_t most_allocated(const node_resources_fit::options& options, const placement_view& where,
                            const Extra& extra) {
  std::int64_t sum = 0, weights = 0;
  each_scored(options, where, [&](const auto& one, resource_kind kind, resource_kind counted) {
    const std::optional<std::int64_t> more = extra(kind);
    if (!more && kind >= kinds::first_other) return;
    const std::int64_t capacity = where.allocatable(kind);
    if (capacity <= 0) return;
    std::int64_t used = 0;
    if (__builtin_add_overflow(where.used(counted), more.value_or(0), &used) || used > capacity) used = capacity;
    sum += percent(std::max<std::int64_t>(used, 0), capacity) * one.weight;
    weights += one.weight;
  });
  return weights == 0 ? 0 : sum / weights;
}

}  // namespace detail

GANGSCHED_INLINE result<node_resources_fit> node_resources_fit::from(const argument& args) {
  options made;
  argument_reader read{name};
  const bool fine = read.root(args, [&](std::string_view key, const argument& value, const std::string& path) {
    if (key == "ignoredResources") return read.texts(value, path, made.ignored_resources);
    if (key == "ignoredResourceGroups") return read.texts(value, path, made.ignored_groups);
    if (key != "scoringStrategy") return read.unknown(path);
    return read.fields(value, path, [&](std::string_view field, const argument& v, const std::string& at) {
      if (field == "type") return detail::read_fit_strategy(read, v, at, made.strategy);
      if (field == "resources") return detail::read_fit_resources(read, v, at, made.resources);
      if (field == "requestedToCapacityRatio") return detail::read_fit_shape(read, v, at, made.shape);
      return read.unknown(at);
    });
  });
  if (!fine) return std::move(read).failure();
  if (auto wrong = check(made)) return std::move(*wrong);
  return node_resources_fit{std::move(made)};
}

/// The members are on their nodes when this is asked, so what is used there is what kube-scheduler adds up: used before, and proposed.
GANGSCHED_INLINE std::int64_t node_resources_fit::score_placement(const group_view& group, const placement_view& where,
                                                                  std::span<const assignment> members) const {
  const cluster_view cluster = group.cluster();
  return detail::most_allocated(options_, where, [&](resource_kind kind) -> std::optional<std::int64_t> {
    const auto wants = [&](const assignment& member) {
      return cluster.pod(member.pod)->spec().score_request(kind) != 0;
    };
    if (kind >= kinds::first_other && std::none_of(members.begin(), members.end(), wants)) return std::nullopt;
    return 0;
  });
}

GANGSCHED_INLINE std::int64_t node_resources_fit::placement_bound(const placement_view& where,
                                                                  const placement_demand& demand) const {
  // Which scalars count depends on the pods that are placed: only if all that may be placed agree is the mean over the same resources.
  bool agree = true;
  const std::int64_t most =
      detail::most_allocated(options_, where, [&](resource_kind kind) -> std::optional<std::int64_t> {
        std::int64_t sum = 0;
        bool all = true, none = true;
        for (const placement_demand::part& one : demand.parts) {
          const std::int64_t each = one.cls->score_request(kind);
          (each == 0 ? all : none) = false;
          std::int64_t more = 0;
          if (__builtin_mul_overflow(each, std::int64_t{one.count}, &more) || __builtin_add_overflow(sum, more, &sum)) {
            sum = std::numeric_limits<std::int64_t>::max();
          }
        }
        agree = agree && (kind < kinds::first_other || all || none);
        return none ? std::nullopt : std::optional{sum};
      });
  return agree ? most : max_node_score;
}

}  // namespace gangsched::inline GANGSCHED_ABI
