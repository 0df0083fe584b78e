#pragma once
#include "gangsched/framework/extension_point.hpp"

/// Which of the feasible nodes is the best.
namespace gangsched::inline GANGSCHED_ABI {

// --- pre_score

namespace detail {
GANGSCHED_PROBE(pre_score)

template <class P>
consteval bool pre_score_ok() {
  if constexpr (requires { &P::pre_score; }) {
    using s = signature<decltype(&P::pre_score)>;
    if constexpr (!s::is_hook)
      return false;
    else
      return s::is_const && std::is_same_v<typename s::result, status> && pod_parameters<P, typename s::args>::ok;
  } else {
    return false;
  }
}
}  // namespace detail

/// `status pre_score(const pod_view&, [data&]) const`, once per class: skip turns the plugin's score off for the class (it is then
/// absent, not zero).
template <class P>
concept pre_score_plugin = lists<P, point::pre_score> && detail::pre_score_ok<P>();

namespace detail {
template <>
struct extension_point<point::pre_score> {
  struct kernels {
    status (*pre_score)(const void* self, const hook_context&) = nullptr;
  };
  template <class P>
  static constexpr bool well_formed = pre_score_plugin<P>;
  template <class P>
  static consteval bool keeps_contract() {
    GANGSCHED_HOOK(pre_score, "status pre_score(const pod_view&, [data&]) const");
    return true;
  }
  template <class P>
  static void lower(kernels& k) {
    k.pre_score = [](const void* p, const hook_context& c) -> status {
      return call<&P::pre_score>(self_of<P>(p), c, no_row);
    };
  }
};
}  // namespace detail

// --- score

// amount_block.hpp
class amount_block;
struct scored_block;

struct score_kernel {
  gangsched::shape shape = shape::none;
  reads facets = reads::nothing;
  pod_reads decided_by = pod_reads::everything;  ///< of the pod's class, beside the node's facets
  bool opaque = false;
  bool raw_is_key = false;  ///< `one` returns a key, which is not shown to users
  /// Adds weight × score to totals[row] for every row; false if a score is outside [0, 100].
  bool (*rows)(const void* self, const hook_context&, std::span<const row_t> rows, std::int64_t weight,
               std::int64_t* totals) = nullptr;
  /// The same scores for a block, without the weight; false: the hook cannot score these amounts.
  bool (*block)(const void* self, const hook_context&, scored_block& nodes) = nullptr;
  /// An upper bound of the scores of a block's nodes, by its ranges. Null: none is known.
  double (*bound)(const void* self, const hook_context&, const amount_block& nodes) = nullptr;
  /// The raw score, or the key.
  std::int64_t (*one)(const void* self, const hook_context&, row_t row) = nullptr;
  /// The labels of a node that the raw score depends on; false: on others, too, or on its name. Null: that is not known.
  bool (*label_keys)(const void* self, const hook_context&, std::vector<symbol>& out) = nullptr;
  /// What the key is computed from. Null: it is asked for each class.
  void (*key_reads)(const void* self, const hook_context&, gangsched::key_reads& out) = nullptr;
  /// Normalises the raw scores, or turns keys into scores. skip: there is no score this time.
  status (*finish)(const void* self, const hook_context&, std::span<scored_group> groups) = nullptr;
  /// What `finish` reads of any node, beside the groups and the pod's class. No value: it may read anything.
  std::optional<reads> finish_reads = {};
  bool reads_population = true;  ///< `finish` looks at how many candidates the groups have
};

namespace detail {
GANGSCHED_PROBE(score)
GANGSCHED_PROBE(score_block)
GANGSCHED_PROBE(score_bound)
GANGSCHED_PROBE(score_key)
GANGSCHED_PROBE(score_key_reads)
GANGSCHED_PROBE(score_label_keys)
GANGSCHED_PROBE(finish_score)
GANGSCHED_PROBE(normalize_score)

template <class P>
consteval bool score_ok() {
  if constexpr (requires { &P::score; })
    return node_hook<P, decltype(&P::score), std::int64_t>::ok;
  else
    return false;
}
template <class P>
consteval bool normalize_ok() {
  if constexpr (!calls_normalize_score<P>)
    return true;
  else if constexpr (requires { &P::normalize_score; }) {
    using s = signature<decltype(&P::normalize_score)>;
    if constexpr (!s::is_hook)
      return false;
    else
      return s::is_const && std::is_void_v<typename s::result> &&
             pod_parameters<P, typename s::args, std::span<scored_group>>::ok;
  } else {
    return false;
  }
}
template <class P>
consteval bool keyed_score_ok() {
  if constexpr (requires {
                  &P::score_key;
                  &P::finish_score;
                }) {
    using s = signature<decltype(&P::finish_score)>;
    if constexpr (!s::is_hook)
      return false;
    else
      return node_hook<P, decltype(&P::score_key), std::int64_t>::ok && s::is_const &&
             (std::is_void_v<typename s::result> || std::is_same_v<typename s::result, status>)&&(
                 pod_parameters<P, typename s::args, std::span<scored_group>>::ok ||
                 pod_parameters<P, typename s::args, const cluster_view&, std::span<scored_group>>::ok);
  } else {
    return false;
  }
}
}  // namespace detail

/// `std::int64_t score(pod, [const data&,] node) const`, in [0, 100], higher is better, times the plugin's weight. With `void
/// normalize_score(pod, [data,] span<scored_group>) const` raw scores may be any integer; it gets each raw value once, with the number of
/// candidates that have it. Or keyed: `score_key` and `finish_score`, as for filters; finish_score may return a status, where skip means
/// that the plugin has no score for the class this time (absent, as with pre_score). A score without `normalize_score` that reads only
/// allocatable and usage of a node can score 64 nodes at a time, as filters can: `bool score_block(pod, [const data&,] scored_block&)
/// const`. Optional beside it: `double score_bound(pod, [const data&,] const amount_block&) const`, an upper bound of their scores, from
/// the ranges. `score_label_keys` and `score_key_reads` are as those of filters.
template <class P>
concept score_plugin = lists<P, point::score> &&
                       (detail::score_ok<P>() ? detail::normalize_ok<P>()
                                              : !detail::calls_normalize_score<P> && detail::keyed_score_ok<P>()) &&
                       detail::calls_score<P> != (detail::calls_score_key<P> || detail::calls_finish_score<P>);

namespace detail {
template <class P>
consteval bool score_block_ok() {
  if constexpr (calls_score_block<P> && score_ok<P>()) {
    using s = signature<decltype(&P::score_block)>;
    if constexpr (!s::is_hook)
      return false;
    else
      return s::is_const && std::is_same_v<typename s::result, bool> &&
             pod_parameters<P, typename s::args, scored_block&>::ok && !calls_normalize_score<P> &&
             covers(reads::allocatable | reads::usage, node_hook<P, decltype(&P::score), std::int64_t>::facets);
  }
  return !calls_score_block<P>;
}

/// `score_kernel::finish_reads`: by the signature, or as the plugin says.
template <class P, class Hook>
consteval std::optional<reads> finish_reads(Hook) {
  using by_groups = pod_parameters<P, typename signature<Hook>::args, std::span<scored_group>>;
  constexpr bool of_class = !by_groups::info && !has_cycle_data<P>;
  if constexpr (requires { P::finish_reads; }) {
    static_assert(!by_groups::ok && !any(reads{P::finish_reads} & reads::queues),
                  "gangsched: finish_reads is of nodes, and goes with a finish_score that takes cluster_view");
    return of_class ? std::optional{P::finish_reads} : std::nullopt;
  }
  return of_class && by_groups::ok ? std::optional{reads::nothing} : std::nullopt;
}

template <class P>
consteval bool score_key_reads_ok() {
  if constexpr (calls_score_key_reads<P>)
    return keyed_score_ok<P>() && tells_key_reads<P, decltype(&P::score_key), decltype(&P::score_key_reads)>();
  return true;
}

template <class P>
consteval bool score_label_keys_ok() {
  if constexpr (calls_score_label_keys<P>)
    return score_ok<P>() && tells_label_keys<P, decltype(&P::score_label_keys)>();
  return true;
}

template <class P>
consteval bool score_bound_ok() {
  if constexpr (calls_score_bound<P>) {
    using s = signature<decltype(&P::score_bound)>;
    if constexpr (!s::is_hook || !calls_score_block<P>)
      return false;
    else
      return s::is_const && std::is_same_v<typename s::result, double> &&
             pod_parameters<P, typename s::args, const amount_block&>::ok;
  }
  return true;
}

/// Loops over rows are here, so the plugin's code is inlined into them.
template <class P>
struct score_kernels {
  static bool score_rows(const void* self, const hook_context& c, std::span<const row_t> rows, std::int64_t weight,
                         std::int64_t* totals) {
    bool fine = true;
    for (const row_t row : rows) {
      const std::int64_t score = call<&P::score>(self_of<P>(self), c, row);
      fine = fine && score >= 0 && score <= max_node_score;
      totals[row] += weight * score;
    }
    return fine;
  }
  static bool score_block(const void* self, const hook_context& c, scored_block& nodes) {
    return call_with<&P::score_block>(self_of<P>(self), c, nodes);
  }
  static double score_bound(const void* self, const hook_context& c, const amount_block& nodes) {
    return call_with<&P::score_bound>(self_of<P>(self), c, nodes);
  }
  static std::int64_t score_one(const void* self, const hook_context& c, row_t row) {
    if constexpr (keyed_score_ok<P>())
      return call<&P::score_key>(self_of<P>(self), c, row);
    else
      return call<&P::score>(self_of<P>(self), c, row);
  }
  static bool score_label_keys(const void* self, const hook_context& c, std::vector<symbol>& out) {
    return call_with<&P::score_label_keys>(self_of<P>(self), c, out);
  }
  static void score_key_reads(const void* self, const hook_context& c, key_reads& out) {
    call_with<&P::score_key_reads>(self_of<P>(self), c, out);
  }
  static status finish_score(const void* self, const hook_context& c, std::span<scored_group> groups) {
    if constexpr (!keyed_score_ok<P>())
      call_with<&P::normalize_score>(self_of<P>(self), c, groups);
    else if constexpr (std::is_void_v<typename signature<decltype(&P::finish_score)>::result>)
      call_with<&P::finish_score>(self_of<P>(self), c, groups);
    else
      return call_with<&P::finish_score>(self_of<P>(self), c, groups);
    return {};
  }
};

template <>
struct extension_point<point::score> {
  struct kernels {
    score_kernel score;
  };
  template <class P>
  static constexpr bool well_formed = score_plugin<P>;
  template <class P>
  static consteval bool keeps_contract() {
    GANGSCHED_CONTRACT(
        score, names_score<P> || names_score_key<P> || names_finish_score<P> || names_normalize_score<P>,
        calls_score<P> || calls_score_key<P> || calls_finish_score<P> || calls_normalize_score<P>, score_plugin<P>,
        "std::int64_t score(const pod_view&, [const data&,] node_view<reads::...>) const [and void "
        "normalize_score(const pod_view&, std::span<scored_group>) const], or score_key and finish_score");
    if constexpr (P::points::set.has(point::score)) {
      static_assert(
          score_block_ok<P>(),
          "gangsched: bool score_block(const pod_view&, [const data&,] scored_block&) const goes with a score that "
          "takes node_view<reads::allocatable | reads::usage>, or less, and is not normalised");
      static_assert(
          score_bound_ok<P>(),
          "gangsched: double score_bound(const pod_view&, [const data&,] const amount_block&) const goes with "
          "score_block");
    }
    if constexpr (P::points::set.has(point::score)) {
      static_assert(score_label_keys_ok<P>(),
                    "gangsched: bool score_label_keys(pod, std::vector<symbol>&) const goes with a score");
      static_assert(score_key_reads_ok<P>(),
                    "gangsched: void score_key_reads(const pod_view&, [const data&,] key_reads&) const goes with a "
                    "score_key that takes a pod_view, and reads of the node what pods do not change, and reads::pods");
    }
    if constexpr (P::points::set.has(point::score) && !calls_score_label_keys<P>)
      GANGSCHED_SLIP(score_label_keys, score_labels);
    if constexpr (P::points::set.has(point::score) && !calls_score_key_reads<P>)
      GANGSCHED_SLIP(score_key_reads, score_reads);
    if constexpr (P::points::set.has(point::score) && !calls_normalize_score<P>) {
      GANGSCHED_SLIP(normalize_score, normalise_score);
      GANGSCHED_SLIP(normalize_score, normalize_scores);
      GANGSCHED_SLIP(normalize_score, NormalizeScore);
      GANGSCHED_SLIP(normalize_score, normalizeScore);
      GANGSCHED_SLIP(normalize_score, normalise);
      GANGSCHED_SLIP(normalize_score, normalize);
      GANGSCHED_SLIP(normalize_score, score_extensions);
      GANGSCHED_SLIP(normalize_score, ScoreExtensions);
    }
    if constexpr (P::points::set.has(point::score) && !requires { P::default_weight; }) {
      GANGSCHED_ODD(default_weight, default_weights);
      GANGSCHED_ODD(default_weight, DefaultWeight);
      GANGSCHED_ODD(default_weight, defaultWeight);
      GANGSCHED_ODD(default_weight, defaultweight);
    }
    return true;
  }
  template <class P>
  static void lower(kernels& k) {
    score_kernel& to = k.score;
    using from = score_kernels<P>;
    to.one = from::score_one;
    if constexpr (requires { P::reads_population; }) to.reads_population = P::reads_population;
    if constexpr (keyed_score_ok<P>()) {
      using hook = node_hook<P, decltype(&P::score_key), std::int64_t>;
      to.shape = shape::keyed;
      to.raw_is_key = true;
      if constexpr (calls_score_key_reads<P>) to.key_reads = from::score_key_reads;
      to.facets = hook::facets;
      to.decided_by = decided_by<P, decltype(&P::score_key), std::int64_t>();
      to.opaque = hook::opaque;
      to.finish = from::finish_score;
      to.finish_reads = finish_reads<P>(&P::finish_score);
    } else {
      using hook = node_hook<P, decltype(&P::score), std::int64_t>;
      to.facets = hook::facets;
      to.decided_by = decided_by<P, decltype(&P::score), std::int64_t>();
      to.opaque = hook::opaque;
      if constexpr (calls_score_label_keys<P>) to.label_keys = from::score_label_keys;
      if constexpr (calls_normalize_score<P>) {
        to.shape = shape::keyed;
        to.finish = from::finish_score;
        to.finish_reads = finish_reads<P>(&P::normalize_score);
      } else {
        to.shape = hook::opaque ? shape::opaque : shape::local;
        to.rows = from::score_rows;
        if constexpr (calls_score_block<P>) to.block = from::score_block;
        if constexpr (calls_score_bound<P>) to.bound = from::score_bound;
      }
    }
  }
};
}  // namespace detail

}  // namespace gangsched::inline GANGSCHED_ABI
