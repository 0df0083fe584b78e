// The plugins' rules, one function each, as upstream has them.
#include <algorithm>
#include <cctype>
#include <cmath>
#include <set>

#include "reference.hpp"

namespace reference {
namespace {

using gangsched::taint_effect;
using exact_sums = std::map<std::string, quantity>;

// NodeInfo's Resource: once per sum, away from zero.
std::int64_t rounded_up(const std::string& resource, const quantity& amount) {
  const quantity::nanos_t unit = resource == "cpu" ? 1'000'000 : 1'000'000'000;
  return static_cast<std::int64_t>((amount.nanos() + unit - 1) / unit);
}

bool is_scalar(const std::string& name) {
  return name.find('/') != std::string::npos || name.starts_with("hugepages-") ||
         name.starts_with("attachable-volumes-");
}
bool is_extended(const std::string& name) {
  return name.find('/') != std::string::npos && name.find("kubernetes.io/") == std::string::npos &&
         !name.starts_with("requests.");
}
bool is_counted(const std::string& name) {
  return name == "cpu" || name == "memory" || name == "ephemeral-storage" || name == "pods" || is_scalar(name);
}

exact_sums requests_of(const gangsched::container& one, bool default_cpu, bool default_memory) {
  exact_sums sums{one.requests.begin(), one.requests.end()};
  if (default_cpu) sums.try_emplace("cpu", quantity::from_milli(100));
  if (default_memory) sums.try_emplace("memory", quantity{200 * 1024 * 1024});
  return sums;
}
void add(exact_sums& to, const exact_sums& more) {
  for (const auto& [name, amount] : more) to[name] += amount;
}
void raise(exact_sums& to, const exact_sums& other) {
  for (const auto& [name, amount] : other) to[name] = std::max(to[name], amount);
}

bool is_pod_level(const std::string& name) {
  return name == "cpu" || name == "memory" || name.starts_with("hugepages-");
}
bool has_pod_level(const pod_spec& spec) {
  return spec.resources && std::any_of(spec.resources->begin(), spec.resources->end(),
                                       [](const auto& r) { return is_pod_level(r.first); });
}

// PodRequests (k8s.io/component-helpers/resource).
exact_sums pod_requests(const pod_spec& spec, bool pod_level, bool default_cpu, bool default_memory) {
  exact_sums total, sidecars, peak;
  for (const auto& one : spec.containers) add(total, requests_of(one, default_cpu, default_memory));
  for (const auto& one : spec.init_containers) {
    const exact_sums own = requests_of(one, default_cpu, default_memory);
    exact_sums use = sidecars;
    add(use, own);
    raise(peak, use);
    if (one.sidecar) {
      add(total, own);
      sidecars = use;
    }
  }
  raise(total, peak);
  if (pod_level && spec.resources) {
    for (const auto& [name, amount] : *spec.resources) {
      if (is_pod_level(name)) total[name] = amount;
    }
  }
  for (const auto& [name, amount] : spec.overhead) total[name] += amount;
  return total;
}

amounts integers(const exact_sums& sums) {
  amounts made;
  for (const auto& [name, amount] : sums) {
    if (is_counted(name) && amount.nanos() != 0) made[name] = rounded_up(name, amount);
  }
  return made;
}

// Gt and Lt of node selectors: signed decimal 64-bit integers.
std::optional<std::int64_t> number(const std::string& text) {
  std::size_t at = 0;
  const bool minus = !text.empty() && text[0] == '-';
  if (minus || (!text.empty() && text[0] == '+')) at = 1;
  if (at == text.size()) return std::nullopt;
  __extension__ __int128 value = 0;
  for (; at < text.size(); ++at) {
    if (text[at] < '0' || text[at] > '9') return std::nullopt;
    value = value * 10 + (text[at] - '0');
    if (value > (static_cast<__int128>(1) << 63)) return std::nullopt;
  }
  if (minus) value = -value;
  if (value > INT64_MAX) return std::nullopt;
  return static_cast<std::int64_t>(value);
}

// A bound must be a label value as well, which "-5" is not: then the term does not parse (selectors.jsonl).
bool parses(const std::string& bound) {
  return number(bound) && std::isalnum(static_cast<unsigned char>(bound.front())) != 0;
}

bool holds(const gangsched::selector_requirement& want, const std::string* value) {
  using op = gangsched::selector_operator;
  const auto among = [&] { return std::find(want.values.begin(), want.values.end(), *value) != want.values.end(); };
  switch (want.op) {
    case op::in: return value != nullptr && among();
    case op::not_in: return value == nullptr || !among();
    case op::exists: return value != nullptr;
    case op::does_not_exist: return value == nullptr;
    case op::gt:
    case op::lt: {
      if (value == nullptr || want.values.size() != 1) return false;
      const auto bound = number(want.values[0]);
      const auto have = number(*value);
      return bound && have && (want.op == op::gt ? *have > *bound : *have < *bound);
    }
  }
  return false;
}

// Ports of containers and sidecars.
std::vector<gangsched::container_port> host_ports(const pod_spec& spec) {
  std::vector<gangsched::container_port> all;
  const auto take = [&](const gangsched::container& from) {
    for (const auto& port : from.ports) {
      if (port.host_port > 0) all.push_back(port);
    }
  };
  for (const auto& one : spec.containers) take(one);
  for (const auto& one : spec.init_containers) {
    if (one.sidecar) take(one);
  }
  for (auto& port : all) {
    if (port.host_ip.empty()) port.host_ip = "0.0.0.0";
  }
  return all;
}

std::optional<rejection> fit(const plugin& rule, const world& in, const pod& what, row_t where, const usage& used) {
  const amounts& allocatable = in.nodes.at(where).allocatable;
  std::vector<std::string> reasons;
  bool too_small = false;
  if (static_cast<std::int64_t>(used.pods.size()) + 1 > amount_of(allocatable, "pods"))
    reasons.push_back("Too many pods");
  for (const auto& [name, want] : what.wants.filter) {
    if (name == "pods") continue;
    const std::string group = name.substr(0, name.find('/'));
    if (is_extended(name) && (std::count(rule.ignored.begin(), rule.ignored.end(), name) != 0 ||
                              std::count(rule.ignored_groups.begin(), rule.ignored_groups.end(), group) != 0)) {
      continue;
    }
    const std::int64_t total = amount_of(allocatable, name);
    if (want > total - amount_of(used.requested, name)) {
      reasons.push_back("Insufficient " + name);
      too_small = too_small || want > total;
    }
  }
  if (reasons.empty()) return std::nullopt;
  std::sort(reasons.begin(), reasons.end());
  return rejection{too_small ? code::unresolvable : code::unschedulable, reasons};
}

std::int64_t shaped(const std::vector<shape_point>& shape, std::int64_t x) {
  for (std::size_t k = 0; k < shape.size(); ++k) {
    if (x > shape[k].utilization) continue;
    const std::int64_t here = shape[k].score * 10;
    if (k == 0) return here;
    const std::int64_t before = shape[k - 1].score * 10;
    return before +
           (here - before) * (x - shape[k - 1].utilization) / (shape[k].utilization - shape[k - 1].utilization);
  }
  return shape.back().score * 10;
}

std::int64_t share(strategy how, std::int64_t wanted, std::int64_t capacity) {
  if (capacity == 0) return 0;
  if (how == strategy::most) return std::min(wanted, capacity) * 100 / capacity;
  return wanted > capacity ? 0 : (capacity - wanted) * 100 / capacity;
}

// What a node would have in use of a resource with the pod there, as the Fit scorers count.
std::int64_t with_defaults(const std::string& name, const pod& what, const usage& used) {
  const std::int64_t there = name == "cpu"      ? used.placed_cpu
                             : name == "memory" ? used.placed_memory
                                                : amount_of(used.requested, name);
  return there + amount_of(what.wants.score, name);
}

// NodeResourcesFit's strategies
std::int64_t fit_score(const plugin& rule, const amounts& allocatable, const pod& what, const usage& used) {
  std::int64_t sum = 0, weights = 0;
  for (const weighted_resource& r : rule.resources) {
    const std::int64_t capacity = amount_of(allocatable, r.name);
    if (capacity == 0 || (is_scalar(r.name) && amount_of(what.wants.score, r.name) == 0)) continue;
    const std::int64_t wanted = with_defaults(r.name, what, used);
    std::int64_t score = 0;
    if (rule.strategy == strategy::ratio) {
      score = shaped(rule.shape, wanted > capacity ? 100 : wanted * 100 / capacity);
      if (score <= 0) continue;
    } else {
      score = share(rule.strategy, wanted, capacity);
    }
    sum += score * r.weight;
    weights += r.weight;
  }
  if (weights == 0) return 0;
  if (rule.strategy == strategy::ratio) return std::llround(static_cast<double>(sum) / static_cast<double>(weights));
  return sum / weights;
}

// NodeResourcesBalancedAllocation
std::int64_t balance(const plugin& rule, const amounts& allocatable, const pod& what, const usage& used,
                     bool with_pod) {
  std::vector<double> fractions;
  for (const weighted_resource& r : rule.resources) {
    const std::int64_t capacity = amount_of(allocatable, r.name);
    const std::int64_t wanted = amount_of(what.wants.filter, r.name);
    if (capacity == 0 || (is_scalar(r.name) && wanted == 0)) continue;
    const std::int64_t use = amount_of(used.requested, r.name) + (with_pod ? wanted : 0);
    fractions.push_back(std::min(1.0, static_cast<double>(use) / static_cast<double>(capacity)));
  }
  double deviation = 0;
  if (fractions.size() == 2) {
    deviation = std::abs((fractions[0] - fractions[1]) / 2);
  } else if (fractions.size() > 2) {
    double total = 0;
    for (const double f : fractions) total += f;
    const double mean = total / static_cast<double>(fractions.size());
    double squares = 0;
    for (const double f : fractions) squares += (f - mean) * (f - mean);
    deviation = std::sqrt(squares / static_cast<double>(fractions.size()));
  }
  return static_cast<std::int64_t>((1 - deviation) * 100);
}

// Koordinator's scores: NodeResourcesFitPlus, ScarceResourceAvoidance
std::int64_t fit_plus(const plugin& rule, const amounts& allocatable, const pod& what, const usage& used) {
  std::int64_t sum = 0, weights = 0;
  for (const weighted_resource& r : rule.resources) {
    if (amount_of(what.wants.filter, r.name) <= 0) continue;
    sum += r.weight * share(r.strategy, with_defaults(r.name, what, used), amount_of(allocatable, r.name));
    weights += r.weight;
  }
  return weights == 0 ? 100 : sum / weights;
}
std::int64_t scarce_avoidance(const plugin& rule, const amounts& allocatable, const pod& what) {
  std::int64_t unasked = 0, scarce = 0;
  for (const auto& [name, amount] : allocatable) {
    if (name == "pods" || amount <= 0 || amount_of(what.wants.filter, name) > 0) continue;
    ++unasked;
    scarce += std::count(rule.scarce.begin(), rule.scarce.end(), name);
  }
  return unasked == 0 || scarce == 0 ? 100 : (unasked - scarce) * 100 / unasked;
}

// ImageLocality
std::int64_t image_locality(const world& in, const node_spec& node, const pod_spec& pod) {
  constexpr std::int64_t mib = 1024 * 1024;
  const auto size_on = [](const node_spec& on, const std::string& image) -> std::int64_t {
    for (const auto& one : on.images) {
      if (std::find(one.names.begin(), one.names.end(), image) != one.names.end()) return one.size_bytes;
    }
    return -1;
  };
  const auto tagged = [](const std::string& image) {
    const std::size_t colon = image.rfind(':'), slash = image.rfind('/');
    return colon == std::string::npos || (slash != std::string::npos && colon < slash) ? image + ":latest" : image;
  };
  std::int64_t sum = 0;
  const auto add = [&](const std::string& image) {
    if (image.empty() || size_on(node, tagged(image)) < 0) return;
    const auto with = std::count_if(in.nodes.begin(), in.nodes.end(),
                                    [&](const auto& entry) { return size_on(entry.second.spec, tagged(image)) >= 0; });
    const double share = static_cast<double>(with) / static_cast<double>(in.nodes.size());
    sum += static_cast<std::int64_t>(static_cast<double>(size_on(node, tagged(image))) * share);
  };
  for (const auto& one : pod.init_containers) add(one.image);
  for (const auto& one : pod.containers) add(one.image);
  for (const auto& image : pod.image_volumes) add(image);
  const auto containers = static_cast<std::int64_t>(pod.init_containers.size() + pod.containers.size());
  const std::int64_t least = 23 * mib, most = 1000 * mib * containers;
  return containers == 0 ? 0 : 100 * (std::clamp(sum, least, most) - least) / (most - least);
}

// helper.DefaultNormalizeScore
void normalize(std::vector<std::int64_t>& scores, bool reverse) {
  std::int64_t most = 0;
  for (const std::int64_t s : scores) most = std::max(most, s);
  for (std::int64_t& s : scores) {
    if (most == 0)
      s = reverse ? 100 : s;
    else
      s = reverse ? 100 - 100 * s / most : 100 * s / most;
  }
}

bool required_matches(const std::optional<std::vector<gangsched::node_selector_term>>& terms, const node_spec& node) {
  return !terms || std::any_of(terms->begin(), terms->end(), [&](const auto& term) { return matches(term, node); });
}
std::int64_t preferred_weight(const gangsched::node_affinity& affinity, const node_spec& node) {
  std::int64_t sum = 0;
  for (const auto& each : affinity.preferred) sum += matches(each.term, node) ? each.weight : 0;
  return sum;
}

}  // namespace

std::int64_t amount_of(const amounts& all, const std::string& name) {
  const auto found = all.find(name);
  return found == all.end() ? 0 : found->second;
}

amounts integers_of(const gangsched::resource_list& list) { return integers({list.begin(), list.end()}); }

asks asks_of(const pod_spec& spec) {
  asks made;
  const exact_sums requests = pod_requests(spec, true, false, false);
  made.filter = integers(requests);
  made.score = integers(pod_requests(spec, false, true, true));
  // Conformance README, "fit": with pod-level requests a default is only for what nobody names.
  const bool pod_level = has_pod_level(spec);
  const amounts placed = integers(
      pod_requests(spec, true, !pod_level || !requests.contains("cpu"), !pod_level || !requests.contains("memory")));
  made.placed_cpu = amount_of(placed, "cpu");
  made.placed_memory = amount_of(placed, "memory");
  return made;
}

bool tolerates(const gangsched::toleration& one, const gangsched::taint& taint) {
  return (!one.effect || *one.effect == taint.effect) && (one.key.empty() || one.key == taint.key) &&
         (one.op == gangsched::toleration_operator::exists || one.value == taint.value);
}
static bool tolerated(const pod_spec& pod, const gangsched::taint& taint) {
  return std::any_of(pod.tolerations.begin(), pod.tolerations.end(),
                     [&](const auto& one) { return tolerates(one, taint); });
}

bool matches(const gangsched::node_selector_term& term, const node_spec& node) {
  if (term.match_expressions.empty() && term.match_fields.empty()) return false;
  using op = gangsched::selector_operator;
  for (const auto& want : term.match_expressions) {
    const bool compares = want.op == op::gt || want.op == op::lt;
    if (compares && !parses(want.values.at(0))) return false;
    const auto found = node.labels.find(want.key);
    if (!holds(want, found == node.labels.end() ? nullptr : &found->second)) return false;
  }
  return std::all_of(term.match_fields.begin(), term.match_fields.end(),
                     [&](const auto& want) { return holds(want, &node.name); });
}

bool matches_own_affinity(const pod_spec& pod, const node_spec& node) {
  for (const auto& [key, value] : pod.node_selector) {
    const auto found = node.labels.find(key);
    if (found == node.labels.end() || found->second != value) return false;
  }
  return required_matches(pod.affinity.required, node);
}

std::optional<std::vector<std::string>> narrowed_to(const pod_spec& pod) {
  if (!pod.affinity.required || pod.affinity.required->empty()) return std::nullopt;
  std::set<std::string> all;
  for (const auto& term : *pod.affinity.required) {
    std::optional<std::set<std::string>> names;
    for (const auto& field : term.match_fields) {
      if (field.key != "metadata.name" || field.op != gangsched::selector_operator::in) continue;
      const std::set<std::string> own{field.values.begin(), field.values.end()};
      if (!names)
        names = own;
      else
        std::erase_if(*names, [&](const std::string& name) { return !own.contains(name); });
    }
    if (!names) return std::nullopt;
    all.insert(names->begin(), names->end());
  }
  return std::vector<std::string>{all.begin(), all.end()};
}

std::optional<rejection> filtered(const plugin& rule, const world& in, const pod& what, row_t where,
                                  const usage& used) {
  const node_spec& node = in.nodes.at(where).spec;
  const auto unresolvable = [](const char* why) { return rejection{code::unresolvable, {why}}; };
  if (rule.filter) return rule.filter(in, what, where, used);
  if (rule.name == "NodeUnschedulable") {
    const gangsched::taint mark{"node.kubernetes.io/unschedulable", "", taint_effect::no_schedule};
    if (node.unschedulable && !tolerated(what.spec, mark)) return unresolvable("node(s) were unschedulable");
  } else if (rule.name == "NodeName") {
    if (!what.spec.required_node.empty() && what.spec.required_node != node.name) {
      return unresolvable("node(s) didn't match the requested node name");
    }
  } else if (rule.name == "NodeDeclaredFeatures") {
    for (const std::string& feature : what.spec.required_features) {
      if (std::find(node.declared_features.begin(), node.declared_features.end(), feature) ==
          node.declared_features.end())
        return unresolvable("node(s) didn't match Pod's required features");
    }
  } else if (rule.name == "TaintToleration") {
    for (const auto& taint : node.taints) {
      if (taint.effect != taint_effect::prefer_no_schedule && !tolerated(what.spec, taint)) {
        return unresolvable("node(s) had untolerated taint(s)");
      }
    }
  } else if (rule.name == "NodeAffinity") {
    if (!required_matches(rule.added.required, node)) {
      return unresolvable("node(s) didn't match scheduler-enforced node affinity");
    }
    if (!matches_own_affinity(what.spec, node)) {
      return unresolvable("node(s) didn't match Pod's node affinity/selector");
    }
  } else if (rule.name == "NodePorts") {
    for (const auto& mine : host_ports(what.spec)) {
      for (const pod* other : used.pods) {
        for (const auto& theirs : host_ports(other->spec)) {
          const bool same_address =
              mine.host_ip == theirs.host_ip || mine.host_ip == "0.0.0.0" || theirs.host_ip == "0.0.0.0";
          if (mine.host_port == theirs.host_port && mine.protocol == theirs.protocol && same_address) {
            return rejection{code::unschedulable, {"node(s) didn't have free ports for the requested pod ports"}};
          }
        }
      }
    }
  } else if (rule.name == "NodeResourcesFit") {
    return fit(rule, in, what, where, used);
  }
  return std::nullopt;
}

std::optional<raw_and_normal> scored(const plugin& rule, const world& in, const pod& what,
                                     const std::vector<row_t>& nodes, const std::vector<usage>& used) {
  raw_and_normal made;
  const auto each = [&](auto&& score) {
    for (std::size_t i = 0; i < nodes.size(); ++i) made.raw.push_back(score(in.nodes.at(nodes[i]), used[i]));
    made.normalized = made.raw;
  };
  if (rule.score) {
    for (std::size_t i = 0; i < nodes.size(); ++i) made.raw.push_back(rule.score(in, what, nodes[i], used[i]));
    made.normalized = made.raw;
  } else if (rule.score_all) {
    made.raw = made.normalized = rule.score_all(in, what, nodes);
  } else if (rule.name == "TaintToleration") {
    each([&](const node& n, const usage&) {
      return std::count_if(n.spec.taints.begin(), n.spec.taints.end(), [&](const auto& taint) {
        return taint.effect == taint_effect::prefer_no_schedule && !tolerated(what.spec, taint);
      });
    });
    normalize(made.normalized, true);
  } else if (rule.name == "NodeAffinity") {
    if (what.spec.affinity.preferred.empty() && rule.added.preferred.empty()) return std::nullopt;
    each([&](const node& n, const usage&) {
      return preferred_weight(what.spec.affinity, n.spec) + preferred_weight(rule.added, n.spec);
    });
    normalize(made.normalized, false);
  } else if (rule.name == "NodeResourcesFit") {
    each([&](const node& n, const usage& u) { return fit_score(rule, n.allocatable, what, u); });
  } else if (rule.name == "NodeResourcesBalancedAllocation") {
    const bool asks_any = std::any_of(rule.resources.begin(), rule.resources.end(),
                                      [&](const auto& r) { return amount_of(what.wants.filter, r.name) != 0; });
    if (!asks_any) return std::nullopt;
    each([&](const node& n, const usage& u) {
      return 50 + (50 + balance(rule, n.allocatable, what, u, true) - balance(rule, n.allocatable, what, u, false)) / 2;
    });
  } else if (rule.name == "ImageLocality") {
    each([&](const node& n, const usage&) { return image_locality(in, n.spec, what.spec); });
  } else if (rule.name == "NodeResourcesFitPlus") {
    each([&](const node& n, const usage& u) { return fit_plus(rule, n.allocatable, what, u); });
  } else if (rule.name == "ScarceResourceAvoidance") {
    each([&](const node& n, const usage&) { return scarce_avoidance(rule, n.allocatable, what); });
  } else {
    return std::nullopt;
  }
  return made;
}

}  // namespace reference
