#include "gangsched/plugins/pod_topology_spread.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/container/small_vector.hpp>
#include <cmath>
#include <limits>
#include <utility>

#include "gangsched/framework/argument_reader.hpp"
#include "gangsched/framework/key_words.hpp"
#include "gangsched/framework/past.hpp"
#include "gangsched/model/label_selector.hpp"
#include "gangsched/model/validate.hpp"

namespace gangsched::inline GANGSCHED_ABI {
namespace detail {

/// ln of a whole number >= 2, as Go computes it on amd64 (math.Log, from FreeBSD's e_log.c): the last bit of a libm may differ.
[[nodiscard]] GANGSCHED_INLINE double go_log(double x) noexcept {
  constexpr double ln2_high = 6.93147180369123816490e-01, ln2_low = 1.90821492927058770002e-10;
  constexpr double l1 = 6.666666666666735130e-01, l2 = 3.999999999940941908e-01, l3 = 2.857142874366239149e-01,
                   l4 = 2.222219843214978396e-01, l5 = 1.818357216161805012e-01, l6 = 1.531383769920937332e-01,
                   l7 = 1.479819860511658591e-01, half_sqrt2 = 7.07106781186547524401e-01;
  int exponent = 0;
  double fraction = std::frexp(x, &exponent);
  if (fraction < half_sqrt2) fraction *= 2, --exponent;
  const double f = fraction - 1, k = exponent;
  const double s = f / (2 + f), s2 = s * s, s4 = s2 * s2;
  const double r = s2 * (l1 + s4 * (l3 + s4 * (l5 + s4 * l7))) + s4 * (l2 + s4 * (l4 + s4 * l6));
  const double half_square = 0.5 * f * f;
  return k * ln2_high - ((half_square - (s * (half_square + r) + k * ln2_low)) - f);
}

using some_values = boost::container::small_vector<std::int64_t, 64>;  // that many need no memory
[[nodiscard]] GANGSCHED_INLINE std::size_t count_distinct(some_values& values) {
  std::sort(values.begin(), values.end());
  return static_cast<std::size_t>(std::unique(values.begin(), values.end()) - values.begin());
}

}  // namespace detail

GANGSCHED_INLINE pod_topology_spread::pod_topology_spread() {
  defaults_.system = true;
  for (const auto& [key, skew] :
       {std::pair{"kubernetes.io/hostname", 3}, std::pair{"topology.kubernetes.io/zone", 5}}) {
    topology_spread one;
    one.topology_key = key;
    one.max_skew = skew;
    one.action = when_unsatisfiable::schedule_anyway;
    defaults_.constraints.push_back(std::move(one));
  }
}

GANGSCHED_INLINE std::vector<pod_topology_spread::part> pod_topology_spread::parts(const pod_view& pod,
                                                                                   when_unsatisfiable action) const {
  const pod_counters& of = pod.spec().counters;
  const bool own = !of.spread.empty();
  std::vector<part> made;
  if (!own && set_ >= of.default_spread.size()) return made;
  for (const spread_rule& rule : own ? of.spread : of.default_spread[set_]) {
    if (rule.action != action) continue;
    const topology_id topology = pod.counter(rule.counter).topology;
    const bool self = std::binary_search(of.matched.begin(), of.matched.end(), rule.counter);
    look how = pod.local(topology) ? look::count : look::domain;
    if (!own && defaults_.system && topology != node_itself) how = look::lenient;
    made.push_back({rule, topology, how, self ? 1 : 0});
  }
  return made;
}

GANGSCHED_INLINE std::int64_t pod_topology_spread::key_of(const pod_view& pod, const std::vector<part>& parts,
                                                          const words& node) {
  key_words made;
  for (const part& one : parts) {
    const domain_id domain = node.domain(one.topology);
    const bool labelled = one.topology != node_itself && one.how != look::lenient
                              ? domain != no_domain
                              : node.label(one.rule.key).has_value();
    if (one.how == look::lenient)
      made.push_back(2 * std::int64_t{domain} + (labelled ? 0 : 1));
    else if (!labelled)
      made.push_back(absent);
    else
      made.push_back(one.how == look::count ? node.count(one.rule.counter) : std::int64_t{domain});
  }
  return pod.pack(made.all());
}

GANGSCHED_INLINE void pod_topology_spread::add_key_reads(const std::vector<part>& parts, key_reads& out) {
  for (const part& one : parts) {
    for (const std::uint32_t word :
         {one.topology, one.rule.key.value, std::uint32_t{static_cast<std::uint8_t>(one.how)}})
      out.words.push_back(word);
    if (one.how == look::count) out.counters.push_back(one.rule.counter);
  }
}

GANGSCHED_INLINE hint pod_topology_spread::requeue(const event& e, const pod_info& pod) const {
  const auto say = [](bool helps) { return helps ? hint::queue : hint::skip; };
  const bool own_rules = !pod.spec().spread.empty();
  const std::vector<topology_spread>& all = own_rules ? pod.spec().spread : defaults_.constraints;
  std::vector<std::pair<const topology_spread*, const std::optional<label_selector>*>> rules;
  for (const topology_spread& one : all) {
    if (one.action != when_unsatisfiable::do_not_schedule || (!own_rules && !pod.spec().default_selector)) continue;
    rules.emplace_back(&one, own_rules ? &one.selector : &pod.spec().default_selector);
  }
  const auto some = [&](auto&& holds) { return std::any_of(rules.begin(), rules.end(), holds); };
  const auto selects = [](const auto& rule, const past_pod& one) {
    return *rule.second && matches(**rule.second, one.labels());
  };
  if (const past_pod* changed = e.new_pod != nullptr ? e.new_pod : e.old_pod) {
    if (!e.own && changed->spec().ns != pod.spec().ns) return hint::skip;
    if (e.old_pod == nullptr || e.new_pod == nullptr)
      return say(some([&](const auto& rule) { return selects(rule, *changed); }));
    const bool honours = some([](const auto& rule) { return rule.first->node_taints_policy == node_inclusion::honor; });
    if (e.own && honours && e.old_pod->spec().tolerations.size() != e.new_pod->spec().tolerations.size())
      return hint::queue;
    return say(some([&](const auto& rule) { return selects(rule, *e.old_pod) != selects(rule, *e.new_pod); }));
  }
  const auto eligible = [&](const past_node* node) {
    return node != nullptr && !some([&](const auto& rule) { return !node->label(rule.first->topology_key); });
  };
  const bool was = eligible(e.old_node), is = eligible(e.new_node);
  if (e.old_node == nullptr || e.new_node == nullptr || was != is) return say(was || is);
  const bool moved = some([&](const auto& rule) {
    return e.old_node->label(rule.first->topology_key) != e.new_node->label(rule.first->topology_key);
  });
  return say(is && (moved || e.old_node->record().taints != e.new_node->record().taints));
}

GANGSCHED_INLINE status pod_topology_spread::pre_filter(const pod_view& pod, data& d) const {
  d.hard = parts(pod, when_unsatisfiable::do_not_schedule);
  return d.hard.empty() ? status::skip() : status::success();
}

GANGSCHED_INLINE std::int64_t pod_topology_spread::filter_key(const pod_view& pod, const data& d, words node) const {
  return key_of(pod, d.hard, node);
}

GANGSCHED_INLINE void pod_topology_spread::filter_key_reads(const pod_view&, const data& d, key_reads& out) const {
  add_key_reads(d.hard, out);
}

GANGSCHED_INLINE status pod_topology_spread::pre_score(const pod_view& pod, data& d) const {
  d.soft = parts(pod, when_unsatisfiable::schedule_anyway);
  d.require_all = !pod.spec().counters.spread.empty() || !defaults_.system;
  return d.soft.empty() ? status::skip() : status::success();
}

GANGSCHED_INLINE std::int64_t pod_topology_spread::score_key(const pod_view& pod, const data& d, words node) const {
  return key_of(pod, d.soft, node);
}

GANGSCHED_INLINE void pod_topology_spread::score_key_reads(const pod_view&, const data& d, key_reads& out) const {
  add_key_reads(d.soft, out);
}

GANGSCHED_INLINE void pod_topology_spread::finish_filter(const pod_view& pod, const data& d,
                                                         const cluster_view& cluster,
                                                         std::span<filtered_group> groups) const {
  for (std::size_t i = d.hard.size(); i-- > 0;) {  // the first constraint that says no has the last word
    const part& one = d.hard[i];
    const counter_id counter = one.rule.counter;
    const bool enough = std::int64_t{cluster.domains(counter)} >= one.rule.min_domains;
    const std::int64_t room = one.rule.max_skew + std::int64_t{enough ? cluster.least(counter) : 0} - one.self;
    for (filtered_group& group : groups) {
      const std::int64_t word = pod.unpack(group.key, d.hard.size())[i];
      if (word == absent) {
        group.verdict =
            status::unresolvable("node(s) didn't match pod topology spread constraints (missing required label)");
      } else if ((one.how == look::count ? word : cluster.count(counter, static_cast<domain_id>(word))) > room) {
        group.verdict = status::unschedulable("node(s) didn't match pod topology spread constraints");
      }
    }
  }
}

GANGSCHED_INLINE void pod_topology_spread::finish_score(const pod_view& pod, const data& d, const cluster_view& cluster,
                                                        std::span<scored_group> groups) const {
  const std::size_t size = d.soft.size();
  const auto lacks = [](const part& one, std::int64_t word) {
    return one.how == look::lenient ? (word & 1) != 0 : word == absent;
  };
  const auto ignored = [&](const scored_group& group) {
    const std::span<const std::int64_t> key = pod.unpack(group.score, size);
    for (std::size_t i = 0; d.require_all && i < size; ++i) {
      if (lacks(d.soft[i], key[i])) return true;
    }
    return false;
  };
  boost::container::small_vector<double, 8> weights;
  detail::some_values values;
  for (std::size_t i = 0; i < size; ++i) {
    const part& one = d.soft[i];
    values.clear();
    std::size_t nodes = 0, domains = 0;
    std::int64_t last = std::numeric_limits<std::int64_t>::min();
    for (const scored_group& group : groups) {
      if (ignored(group)) continue;
      const std::int64_t word = pod.unpack(group.score, size)[i];
      // A node without the label is of the empty value; hostnames are counted by nodes, with or without.
      const std::int64_t value = one.how == look::lenient ? word >> 1 : word;
      if (one.how == look::count && (one.topology == node_itself || word != absent))
        nodes += group.population;
      else if (size > 1)
        values.push_back(value);
      else if (std::exchange(last, value) != value)
        ++domains;  // the words of a single constraint are the keys, which are ascending
    }
    domains += detail::count_distinct(values);
    weights.push_back(detail::go_log(static_cast<double>(nodes + domains + 2)));
  }
  constexpr std::int64_t out = -1;
  std::int64_t least = std::numeric_limits<std::int64_t>::max(), most = 0;
  for (scored_group& group : groups) {
    if (ignored(group)) {
      group.score = out;
      continue;
    }
    const std::span<const std::int64_t> key = pod.unpack(group.score, size);
    double sum = 0;
    for (std::size_t i = 0; i < size; ++i) {
      const part& one = d.soft[i];
      if (lacks(one, key[i])) continue;
      const std::int64_t word = one.how == look::lenient ? key[i] >> 1 : key[i];
      const std::int64_t count =
          one.how == look::count ? word : cluster.count(one.rule.counter, static_cast<domain_id>(word));
      sum += static_cast<double>(count) * weights[i] + static_cast<double>(one.rule.max_skew - 1);
    }
    group.score = static_cast<std::int64_t>(std::round(sum));
    least = std::min(least, group.score);
    most = std::max(most, group.score);
  }
  for (scored_group& group : groups) {
    if (group.score == out)
      group.score = 0;
    else
      group.score = most == 0 ? max_node_score : max_node_score * (most + least - group.score) / most;
  }
}

GANGSCHED_INLINE result<pod_topology_spread> pod_topology_spread::from(const argument& args) {
  pod_topology_spread made;
  spread_defaults given;
  bool system = true;
  argument_reader read{name};
  const auto constraint = [&](std::string_view field, const argument& v, const std::string& at, topology_spread& one) {
    std::string word;
    std::int64_t number = 0;
    const auto policy = [&](node_inclusion& out) {
      if (!read.text(v, at, word)) return false;
      out = word == "Honor" ? node_inclusion::honor : node_inclusion::ignore;
      return word == "Honor" || word == "Ignore" ||
             read.fail(errc::unknown, at, fmt::format("\"{}\" is no policy", word));
    };
    if (field == "topologyKey") return read.text(v, at, one.topology_key);
    if (field == "maxSkew" || field == "minDomains") {
      const bool fine = read.number(v, at, 1, std::numeric_limits<std::int32_t>::max(), number);
      (field == "maxSkew" ? one.max_skew : one.min_domains) = static_cast<std::int32_t>(number);
      return fine;
    }
    if (field == "nodeAffinityPolicy") return policy(one.node_affinity_policy);
    if (field == "nodeTaintsPolicy") return policy(one.node_taints_policy);
    if (field != "whenUnsatisfiable") return read.unknown(at);
    if (!read.text(v, at, word)) return false;
    one.action = word == "ScheduleAnyway" ? when_unsatisfiable::schedule_anyway : when_unsatisfiable::do_not_schedule;
    return word == "ScheduleAnyway" || word == "DoNotSchedule" ||
           read.fail(errc::unknown, at, fmt::format("\"{}\" is no action", word));
  };
  const bool fine = read.root(args, [&](std::string_view key, const argument& value, const std::string& path) {
    if (key == "defaultConstraints") {
      return read.items(value, path, [&](const argument& item, const std::string& at) {
        topology_spread& one = given.constraints.emplace_back();
        return read.fields(item, at, [&](std::string_view field, const argument& v, const std::string& where) {
          return constraint(field, v, where, one);
        });
      });
    }
    if (key != "defaultingType") return read.unknown(path);
    std::string word;
    if (!read.text(value, path, word)) return false;
    system = word == "System";
    return system || word == "List" ||
           read.fail(errc::unknown, path, fmt::format("\"{}\" is no defaulting type", word));
  });
  if (!fine) return std::move(read).failure();
  if (system && !given.constraints.empty()) {
    return error{errc::malformed, "plugin PodTopologySpread", "args.defaultConstraints",
                 "are for defaultingType List only"};
  }
  if (system) return made;
  // The rules for them are those for a pod's.
  pod_spec carrier;
  carrier.name = "defaults";
  carrier.topology_spread_constraints = given.constraints;
  if (auto wrong = check(carrier))
    return error{wrong->code, "plugin PodTopologySpread", "args.defaultConstraints: " + wrong->field, wrong->reason};
  return pod_topology_spread{std::move(given.constraints)};
}

}  // namespace gangsched::inline GANGSCHED_ABI
