#include "gangsched/plugins/inter_pod_affinity.hpp"

#include <algorithm>
#include <limits>

#include "gangsched/framework/argument_reader.hpp"
#include "gangsched/framework/key_words.hpp"
#include "gangsched/framework/past.hpp"
#include "gangsched/model/label_selector.hpp"

namespace gangsched::inline GANGSCHED_ABI {
namespace detail {

/// As upstream's hints ask: no labels of the namespace are known, so a namespace selector matches if none would do.
GANGSCHED_INLINE bool meets_all(const std::vector<pod_affinity_term>& terms, std::string_view of_ns,
                                std::string_view ns, const label_map& labels) {
  const auto meets = [&](const pod_affinity_term& term) {
    const bool here = term.namespaces.empty() && !term.namespace_selector
                          ? ns == of_ns
                          : std::find(term.namespaces.begin(), term.namespaces.end(), ns) != term.namespaces.end() ||
                                (term.namespace_selector && matches(*term.namespace_selector, {}));
    return here && term.selector && matches(*term.selector, labels);
  };
  return !terms.empty() && std::all_of(terms.begin(), terms.end(), meets);
}

}  // namespace detail

GANGSCHED_INLINE hint inter_pod_affinity::requeue(const event& e, const pod_info& pod) const {
  const auto say = [](bool helps) { return helps ? hint::queue : hint::skip; };
  const std::vector<pod_affinity_term>& wanted = pod.spec().affinity_to_pods.required;
  const std::vector<pod_affinity_term>& unwanted = pod.spec().anti_affinity_to_pods.required;
  if (e.own) return hint::queue;  // its labels: pods that minded the old ones may not mind these
  const auto meets = [&](const std::vector<pod_affinity_term>& terms, const past_pod& other) {
    return detail::meets_all(terms, pod.ns(), pod.text(other.spec().ns), other.labels());
  };
  if (e.old_pod != nullptr && e.new_pod != nullptr) {
    return say((!meets(wanted, *e.old_pod) && meets(wanted, *e.new_pod)) ||
               (meets(unwanted, *e.old_pod) && !meets(unwanted, *e.new_pod)));
  }
  if (e.new_pod != nullptr) return say(meets(wanted, *e.new_pod));
  if (e.old_pod != nullptr) {
    return say(meets(unwanted, *e.old_pod) ||
               detail::meets_all(e.old_pod->spec().anti_affinity_to_pods.required, pod.text(e.old_pod->spec().ns),
                                 pod.ns(), pod.labels()));
  }
  if (e.old_node == nullptr && !unwanted.empty()) return hint::queue;  // no pod is there yet
  const auto helps = [&](const pod_affinity_term& term, bool to_have) {
    const auto now = e.new_node->label(std::string_view{term.topology_key});
    if (e.old_node == nullptr) return to_have && now.has_value();
    const auto before = e.old_node->label(std::string_view{term.topology_key});
    return before && now ? *before != *now : to_have ? now.has_value() : before.has_value();
  };
  return say(std::any_of(wanted.begin(), wanted.end(), [&](const auto& term) { return helps(term, true); }) ||
             std::any_of(unwanted.begin(), unwanted.end(), [&](const auto& term) { return helps(term, false); }));
}

GANGSCHED_INLINE inter_pod_affinity::part inter_pod_affinity::part_of(const pod_view& pod, counter_id counter,
                                                                      std::int64_t weight,
                                                                      std::vector<topology_id>& domains) {
  const topology_id topology = pod.counter(counter).topology;
  if (pod.local(topology)) return {counter, topology, weight, is_local};
  const auto found = std::find(domains.begin(), domains.end(), topology);
  const auto place = static_cast<std::size_t>(found - domains.begin()) + 1;
  if (found == domains.end()) domains.push_back(topology);
  return {counter, topology, weight, place};
}

GANGSCHED_INLINE std::int64_t inter_pod_affinity::key_of(const pod_view& pod, std::int64_t local,
                                                         const std::vector<topology_id>& domains, const words& node) {
  key_words made;
  made.push_back(local);
  for (const topology_id topology : domains) made.push_back(node.domain(topology));
  return pod.pack(made.all());
}

GANGSCHED_INLINE std::int64_t inter_pod_affinity::filter_key(const pod_view& pod, const data& d, words node) const {
  std::int64_t found = 0;
  for (const part& one : d.affinity) {
    if (one.place != is_local) continue;
    if (node.domain(one.topology) == no_domain)
      found |= lacks_key;
    else if (node.count(one.counter) <= 0)
      found |= alone;
  }
  for (const part& one : d.anti_affinity) found |= one.place == is_local && node.count(one.counter) > 0 ? minds : 0;
  for (const part& one : d.minded) found |= one.place == is_local && node.count(one.counter) > 0 ? minded : 0;
  return key_of(pod, found, d.filter_domains, node);
}

GANGSCHED_INLINE std::int64_t inter_pod_affinity::score_key(const pod_view& pod, const data& d, words node) const {
  std::int64_t sum = 0;
  for (const part& one : d.scored) sum += one.place == is_local ? one.weight * node.count(one.counter) : 0;
  return key_of(pod, sum, d.score_domains, node);
}

/// The counts of local keys. (Others are read by `finish`.)
GANGSCHED_INLINE void inter_pod_affinity::add_key_reads(const std::vector<part>& parts, key_reads& out) {
  for (const part& one : parts) {
    if (one.place == is_local) out.counters.push_back(one.counter);
  }
}

GANGSCHED_INLINE void inter_pod_affinity::filter_key_reads(const pod_view&, const data& d, key_reads& out) const {
  for (const part& one : d.affinity) {
    if (one.place == is_local) out.words.push_back(one.topology);
  }
  out.words.push_back(-1);  // no topology: here the others begin
  out.words.insert(out.words.end(), d.filter_domains.begin(), d.filter_domains.end());
  for (const auto* parts : {&d.affinity, &d.anti_affinity, &d.minded}) add_key_reads(*parts, out);
}

GANGSCHED_INLINE void inter_pod_affinity::score_key_reads(const pod_view&, const data& d, key_reads& out) const {
  out.words.assign(d.score_domains.begin(), d.score_domains.end());
  add_key_reads(d.scored, out);
}

GANGSCHED_INLINE status inter_pod_affinity::pre_filter(const pod_view& pod, data& d) const {
  const pod_counters& of = pod.spec().counters;
  d.filter_domains.clear(), d.affinity.clear(), d.anti_affinity.clear(), d.minded.clear();
  const auto take = [&](counter_id counter) { return part_of(pod, counter, 0, d.filter_domains); };
  for (const counter_id counter : of.affinity) d.affinity.push_back(take(counter));
  for (const counter_id counter : of.anti_affinity) d.anti_affinity.push_back(take(counter));
  for (const counter_id counter : of.minded) {
    if (pod.counter(counter).what == counts::carrying_anti) d.minded.push_back(take(counter));
  }
  d.self = !of.affinity.empty() && std::binary_search(of.matched.begin(), of.matched.end(), of.affinity.front());
  return d.affinity.empty() && d.anti_affinity.empty() && d.minded.empty() ? status::skip() : status::success();
}

GANGSCHED_INLINE bool inter_pod_affinity::filter_idle(const pod_view&, const data& d,
                                                      const cluster_view& cluster) const {
  return d.affinity.empty() && d.anti_affinity.empty() &&
         std::all_of(d.minded.begin(), d.minded.end(),
                     [&](const part& one) { return cluster.total(one.counter) == 0; });
}

GANGSCHED_INLINE void inter_pod_affinity::finish_filter(const pod_view& pod, const data& d, const cluster_view& cluster,
                                                        std::span<filtered_group> groups) const {
  // No other pod matches yet, and the pod does: the first of its kind.
  const bool first = d.self && std::all_of(d.affinity.begin(), d.affinity.end(),
                                           [&](const part& one) { return cluster.total(one.counter) == 0; });
  for (filtered_group& group : groups) {
    const std::span<const std::int64_t> key = pod.unpack(group.key, 1 + d.filter_domains.size());
    const auto domain = [&](const part& one) { return static_cast<domain_id>(key[one.place]); };
    const auto some = [&](const std::vector<part>& all) {
      return std::any_of(all.begin(), all.end(), [&](const part& one) {
        return one.place != is_local && domain(one) != no_domain && cluster.count(one.counter, domain(one)) > 0;
      });
    };
    bool lacking = (key[0] & lacks_key) != 0, lonely = (key[0] & alone) != 0;
    for (const part& one : d.affinity) {
      if (one.place == is_local) continue;
      if (domain(one) == no_domain)
        lacking = true;
      else
        lonely |= cluster.count(one.counter, domain(one)) <= 0;
    }
    if (lacking || (lonely && !first)) {
      group.verdict = status::unresolvable("node(s) didn't match pod affinity rules");
    } else if ((key[0] & minds) != 0 || some(d.anti_affinity)) {
      group.verdict = status::unschedulable("node(s) didn't match pod anti-affinity rules");
    } else if ((key[0] & minded) != 0 || some(d.minded)) {
      group.verdict = status::unschedulable("node(s) didn't satisfy existing pods anti-affinity rules");
    }
  }
}

GANGSCHED_INLINE status inter_pod_affinity::pre_score(const pod_view& pod, data& d) const {
  const pod_counters& of = pod.spec().counters;
  d.score_domains.clear(), d.scored.clear();
  if (of.preferred.empty() && options_.ignore_preferred_terms_of_existing_pods) return status::skip();
  const auto take = [&](counter_id counter, std::int64_t weight) {
    d.scored.push_back(part_of(pod, counter, weight, d.score_domains));
  };
  for (const weighted_counter& one : of.preferred) take(one.counter, one.weight);
  for (const counter_id counter : of.minded) {
    const counter_spec& spec = pod.counter(counter);
    if (spec.what == counts::carrying_preference) take(counter, spec.weight);
    if (spec.what == counts::carrying_affinity && options_.hard_pod_affinity_weight > 0) {
      take(counter, options_.hard_pod_affinity_weight);
    }
  }
  return d.scored.empty() ? status::skip() : status::success();
}

GANGSCHED_INLINE status inter_pod_affinity::finish_score(const pod_view& pod, const data& d,
                                                         const cluster_view& cluster,
                                                         std::span<scored_group> groups) const {
  if (std::all_of(d.scored.begin(), d.scored.end(), [&](const part& one) { return cluster.total(one.counter) == 0; })) {
    return status::skip();
  }
  std::int64_t least = std::numeric_limits<std::int64_t>::max(), most = std::numeric_limits<std::int64_t>::min();
  for (scored_group& group : groups) {
    const std::span<const std::int64_t> key = pod.unpack(group.score, 1 + d.score_domains.size());
    std::int64_t sum = key[0];
    for (const part& one : d.scored) {
      if (one.place == is_local) continue;
      const auto domain = static_cast<domain_id>(key[one.place]);
      if (domain != no_domain) sum += one.weight * cluster.count(one.counter, domain);
    }
    group.score = sum;
    least = std::min(least, sum);
    most = std::max(most, sum);
  }
  for (scored_group& group : groups) {
    const double share =
        most == least ? 0 : static_cast<double>(group.score - least) / static_cast<double>(most - least);
    group.score = static_cast<std::int64_t>(static_cast<double>(max_node_score) * share);
  }
  return status::success();
}

GANGSCHED_INLINE result<inter_pod_affinity> inter_pod_affinity::from(const argument& args) {
  options given;
  argument_reader read{name};
  const bool fine = read.root(args, [&](std::string_view key, const argument& value, const std::string& path) {
    if (key == "hardPodAffinityWeight") return read.number(value, path, 0, 100, given.hard_pod_affinity_weight);
    if (key != "ignorePreferredTermsOfExistingPods") return read.unknown(path);
    return read.flag(value, path, given.ignore_preferred_terms_of_existing_pods);
  });
  if (!fine) return std::move(read).failure();
  return inter_pod_affinity{given};
}

}  // namespace gangsched::inline GANGSCHED_ABI
