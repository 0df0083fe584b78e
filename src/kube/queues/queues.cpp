#include "gangsched/src/kube/queues/queues.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "gangsched/model/label_selector.hpp"
#include "gangsched/model/requests.hpp"
#include "gangsched/src/kube/documents/annotations.hpp"
#include "gangsched/src/kube/documents/trees.hpp"

// Which object is of which system, and what is known of queues only when everything was read.
namespace gangsched::inline GANGSCHED_ABI::kube::detail {
namespace {

constexpr std::string_view kueue_api = "kueue.x-k8s.io";
constexpr std::string_view volcano_api = "scheduling.volcano.sh";
/// Amounts that cohorts get of what is below them, and flavors of one (Kueue has 256 of what a cohort has itself).
constexpr std::size_t most_cohort_sums = 1'000'000;
constexpr std::size_t most_cohort_flavors = 1'000;

class queue_linker {
 public:
  queue_linker(manifests& into, queue_objects& queues) : into_(&into), queues_(&queues) {}

  std::optional<error> run() {
    if (auto wrong = known_names()) return wrong;
    if (auto wrong = volcano_paths()) return wrong;
    volcano_roots();
    implied_cohorts();
    if (auto wrong = local_queues()) return wrong;
    if (auto wrong = add_up()) return wrong;
    uncounted();
    flavors();
    missing_parents();
    into_->flavors = std::move(queues_->flavors);
    into_->queues = std::move(queues_->queues);
    return std::nullopt;
  }

 private:
  [[nodiscard]] std::string told(const queue_manifest& of) const {
    return where(*into_, of.from, of.kind, of.ns, of.name);
  }
  [[nodiscard]] error wrong_with(const queue_manifest& of, errc code, std::string field, std::string reason) const {
    return {code, told(of), std::move(field), std::move(reason)};
  }
  [[nodiscard]] error taken(const queue_manifest& of, const queue_manifest& other) const {
    return wrong_with(of, errc::duplicate, "metadata.name",
                      fmt::format("there is a queue \"{}\" already: {}", of.spec.name, told(other)));
  }
  [[nodiscard]] std::vector<queue_manifest>& all() { return queues_->queues; }
  [[nodiscard]] queue_manifest* find(const std::string& name) {
    const auto found = by_name_.find(name);
    return found == by_name_.end() ? nullptr : &all()[found->second];
  }
  void add(queue_manifest made) {
    by_name_.emplace(made.spec.name, all().size());
    all().push_back(std::move(made));
  }
  /// One that @p by implies.
  [[nodiscard]] static queue_manifest implied(const queue_manifest& by, std::string name) {
    queue_manifest made;
    made.spec.name = std::move(name);
    made.api = by.api, made.kind = by.kind, made.ns = by.ns, made.name = by.name, made.from = by.from;
    return made;
  }

  std::optional<error> known_names() {
    for (std::size_t i = 0; i < all().size(); ++i) {
      const auto [other, added] = by_name_.emplace(all()[i].spec.name, i);
      if (!added) return taken(all()[i], all()[other->second]);
    }
    return std::nullopt;
  }

  /// Queues with a path are below queues that are called like the way to them.
  std::optional<error> volcano_paths() {
    struct part {
      double weight = 1;
      bool inner = true;
      std::size_t said_by = 0;
    };
    std::map<std::string, part> parts;
    for (const queue_path& path : queues_->paths) {
      const queue_manifest one = all()[path.queue];
      const std::string field = "metadata.annotations[\"volcano.sh/hierarchy\"]";
      std::string name, above;
      for (std::size_t i = 0; i < path.parts.size(); ++i) {
        above = name;
        name += (i == 0 ? "" : "/") + path.parts[i];
        const bool inner = i + 1 < path.parts.size();
        const auto [known, added] = parts.try_emplace(name, part{path.weights[i], inner, path.queue});
        const auto& [weight, was_inner, said_by] = known->second;
        if (!added && !(inner && was_inner))
          return wrong_with(one, errc::duplicate, field,
                            fmt::format("\"{}\" is on the way of {} already", name, told(all()[said_by])));
        if (weight != path.weights[i])
          return wrong_with(
              one, errc::malformed, field,
              fmt::format("\"{}\" weighs {}, and {} by {}", name, path.weights[i], weight, told(all()[said_by])));
        if (!inner) {
          all()[path.queue].spec.parent = above;
          all()[path.queue].spec.weight = weight;
        } else if (added) {
          if (find(name) == nullptr) add(implied(one, name));
          find(name)->spec.parent = above;
          find(name)->spec.weight = weight;
        }
      }
    }
    return std::nullopt;
  }

  /// Volcano has a queue `root` above all others, which bounds nothing unless an object says so.
  void volcano_roots() {
    const queue_manifest* root = find("root");
    const bool there = root != nullptr && root->api == volcano_api;
    for (queue_manifest& one : all()) {
      if (one.api != volcano_api || one.spec.name == "root") continue;
      if (there && one.spec.parent.empty()) one.spec.parent = "root";
      if (root == nullptr && one.spec.parent == "root") one.spec.parent.clear();
    }
  }

  /// Kueue has a cohort as soon as a queue or cohort names it.
  void implied_cohorts() {
    for (std::size_t i = 0; i < all().size(); ++i) {
      if (all()[i].api != kueue_api || all()[i].spec.parent.empty() || by_name_.contains(all()[i].spec.parent))
        continue;
      add(implied(all()[i], all()[i].spec.parent));
    }
  }

  /// A LocalQueue is a name for its ClusterQueue, unless it says something of its own.
  std::optional<error> local_queues() {
    std::map<std::string_view, const label_map*> namespaces;
    for (const namespace_spec& one : into_->namespaces) namespaces[one.name] = &one.labels;
    const auto takes = [&](const cluster_queue_rules& rules, const std::string& ns) {
      const auto found = namespaces.find(ns);
      return rules.namespaces &&
             matches(*rules.namespaces,
                     found != namespaces.end() ? *found->second : label_map{{"kubernetes.io/metadata.name", ns}});
    };
    // Where one says something of its own, all are queues: pods are in queues that have none below them.
    std::set<std::string_view> divided;
    for (const local_queue& one : queues_->local_queues) {
      const auto rules = queues_->cluster_queues.find(one.cluster_queue);
      if (rules == queues_->cluster_queues.end()) continue;
      if (one.state != queue_state::open || rules->second.weighs_local_queues || !takes(rules->second, one.ns))
        divided.insert(one.cluster_queue);
    }
    for (const local_queue& one : queues_->local_queues) {
      queue_manifest made;
      made.api = kueue_api, made.kind = "LocalQueue", made.ns = one.ns, made.name = one.name, made.from = one.from;
      made.spec.name = one.ns + "/" + one.name;
      made.spec.state = one.state;
      made.spec.parent = one.cluster_queue;
      bool own = divided.contains(one.cluster_queue);
      const auto rules = queues_->cluster_queues.find(one.cluster_queue);
      if (rules == queues_->cluster_queues.end()) {
        into_->warnings.push_back({told(made), "spec.clusterQueue",
                                   fmt::format("no ClusterQueue \"{}\": its pods wait for it", one.cluster_queue)});
        own = true;
      } else if (!takes(rules->second, one.ns)) {
        into_->warnings.push_back(
            {told(made), "metadata.namespace",
             fmt::format("is none that the ClusterQueue \"{}\" takes: its pods wait", one.cluster_queue)});
        made.spec.state = queue_state::hold;
      } else if (rules->second.weighs_local_queues) {
        made.spec.weight = one.weight.value_or(1);
      }
      queues_->local_names.emplace(std::pair{one.ns, one.name}, own ? made.spec.name : one.cluster_queue);
      // Kueue takes workloads that say nothing into the LocalQueue `default` of their namespace.
      if (one.name == "default") (own ? made : *find(one.cluster_queue)).spec.namespaces.push_back(one.ns);
      if (!own) continue;
      if (const queue_manifest* other = find(made.spec.name); other != nullptr) return taken(made, *other);
      if (const queue_manifest* above = find(one.cluster_queue); above != nullptr) {
        made.spec.heads = above->spec.heads;
        made.spec.within_queue = above->spec.within_queue;
        made.spec.reclaim = above->spec.reclaim;
        made.spec.reclaims_to_borrow = above->spec.reclaims_to_borrow;
        made.spec.reclaims_to_borrow_up_to = above->spec.reclaims_to_borrow_up_to;
        made.spec.flavors = above->spec.flavors;
      }
      add(std::move(made));
    }
    return std::nullopt;
  }

  /// A cohort is guaranteed what it has itself and what all below it have, as queues of other systems are. From the leaves up, which finds
  /// queues that are below themselves.
  std::optional<error> add_up() {
    std::vector<std::size_t> children(all().size()), ready;
    for (const queue_manifest& one : all())
      if (const auto above = by_name_.find(one.spec.parent); above != by_name_.end()) ++children[above->second];
    for (std::size_t i = 0; i < children.size(); ++i)
      if (children[i] == 0) ready.push_back(i);
    std::map<std::pair<std::size_t, std::string>, std::size_t> places;  // of a cohort's flavors in its quotas
    for (std::size_t i = 0; i < all().size(); ++i) {
      if (!all()[i].spec.name.starts_with(cohort_queue(""))) continue;
      for (std::size_t k = 0; k < all()[i].spec.quotas.size(); ++k)
        places.emplace(std::pair{i, all()[i].spec.quotas[k].flavor}, k);
    }
    std::size_t done = 0, sums = 0;
    for (; done < ready.size(); ++done) {
      queue_spec& one = all()[ready[done]].spec;
      for (queue_quota& quota : one.quotas) {  // a cohort may lend more than it has itself, not more than it has in all
        for (auto& [name, amount] : quota.lending_limit) amount = std::min(amount, quota.guaranteed[name]);
      }
      const auto found = by_name_.find(one.parent);
      if (found == by_name_.end()) continue;
      if (--children[found->second] == 0) ready.push_back(found->second);
      queue_manifest& above = all()[found->second];
      if (above.api != kueue_api || !above.spec.name.starts_with(cohort_queue(""))) continue;
      for (const queue_quota& quota : one.quotas) {
        if ((sums += quota.guaranteed.size()) > most_cohort_sums)
          return wrong_with(above, errc::out_of_range, "spec",
                            fmt::format("cohorts add up more than {} amounts", most_cohort_sums));
        std::vector<queue_quota>& into = above.spec.quotas;
        const auto [place, added] = places.try_emplace({found->second, quota.flavor}, into.size());
        if (added) {
          if (into.size() == most_cohort_flavors)
            return wrong_with(above, errc::out_of_range, "spec",
                              fmt::format("there is quota of more than {} flavors below it", most_cohort_flavors));
          into.push_back(queue_quota{.flavor = quota.flavor});
        }
        queue_quota* const to = &into[place->second];
        for (const auto& [name, amount] : quota.guaranteed) to->guaranteed[name] += amount;
      }
    }
    if (done == all().size()) return std::nullopt;
    const auto left = std::ranges::find_if(children, [](std::size_t count) { return count != 0; });
    const queue_manifest& one = all()[static_cast<std::size_t>(left - children.begin())];
    return wrong_with(one, errc::malformed, "spec", fmt::format("\"{}\" is below itself", one.spec.name));
  }

  /// Kueue's queues have quota of what devices or controllers make of requests, too (`deviceClassMappings`, transformations): no pod asks
  /// for that here.
  void uncounted() {
    for (queue_manifest& one : all()) {
      std::set<std::string> names;
      const auto drop = [&](auto& list) {
        for (auto each = list.begin(); each != list.end();) {
          if (is_counted_resource(each->first)) {
            ++each;
            continue;
          }
          names.insert(each->first);
          each = list.erase(each);
        }
      };
      for (queue_quota& quota : one.spec.quotas) {
        for (resource_list queue_quota::*const list : {&queue_quota::guaranteed, &queue_quota::limit,
                                                       &queue_quota::borrowing_limit, &queue_quota::lending_limit})
          drop(quota.*list);
        drop(quota.weights);
      }
      for (const std::string& name : names)
        into_->warnings.push_back(
            {told(one), "spec", fmt::format("no pod can request \"{}\": its quota is left out", name)});
    }
  }

  /// A ClusterQueue with quota of a flavor that is not there is not active (Kueue's FlavorNotFound): it admits no workload.
  void flavors() {
    std::set<std::string, std::less<>> known, added;
    for (const flavor_manifest& one : queues_->flavors) known.insert(one.spec.name);
    std::vector<flavor_manifest> missing;
    for (queue_manifest& one : all()) {
      for (const queue_quota& quota : one.spec.quotas) {
        if (quota.flavor.empty() || known.contains(quota.flavor)) continue;
        into_->warnings.push_back({told(one), "spec.resourceGroups",
                                   fmt::format("no ResourceFlavor \"{}\": nobody is admitted", quota.flavor)});
        if (one.spec.state == queue_state::open) one.spec.state = queue_state::hold;
        if (added.insert(quota.flavor).second) missing.push_back({.spec = {.name = quota.flavor}, .from = one.from});
      }
    }
    std::ranges::move(missing, std::back_inserter(queues_->flavors));
  }

  void missing_parents() {
    std::set<std::string_view> told_of;
    for (const queue_manifest& one : all()) {
      const std::string& parent = one.spec.parent;
      if (parent.empty() || one.kind == "LocalQueue" || by_name_.contains(parent) || !told_of.insert(parent).second)
        continue;
      into_->warnings.push_back({told(one), "", fmt::format("no queue \"{}\" above it: its pods wait for it", parent)});
    }
  }

  manifests* into_;
  queue_objects* queues_;
  std::map<std::string, std::size_t> by_name_;
};

}  // namespace

std::optional<bool> read_queue_configuration(reader& read, const place& of, origin from, queue_objects& out) {
  const bool yunikorn = of.at->find("partitions") != nullptr;
  if (!yunikorn && of.at->find("physicalCluster") == nullptr && of.at->find("virtualClusters") == nullptr)
    return std::nullopt;
  if (yunikorn) {
    read.set_object("YuniKorn");
    if (out.yunikorn) return read.fail(errc::duplicate, of, "there is a configuration of YuniKorn already");
    out.yunikorn.emplace().from = from;
    return read_yunikorn(read, of, *out.yunikorn);
  }
  read.set_object("HiveD");
  if (out.hived) return read.fail(errc::duplicate, of, "there is a configuration of HiveD already");
  out.hived.emplace().from = from;
  return read_hived(read, of, *out.hived);
}

static bool is_queue_configuration(const value& of) {
  return of.find("partitions") != nullptr || of.find("physicalCluster") != nullptr ||
         of.find("virtualClusters") != nullptr;
}

/// A configuration in the ConfigMap that its scheduler reads; nothing if it is another one. Others may have a key of that name, too: what
/// is no configuration is theirs.
static std::optional<bool> read_config_map(reader& read, const place& of, origin from, queue_objects& out) {
  // Kubernetes has 1 MiB for all of an object.
  static constexpr limits of_config_map{
      .bytes = std::size_t{1} << 20, .depth = 100, .values = 200'000, .copied = 10'000};
  const value* data = of.at->find("data");
  const value* const meta = of.at->find("metadata");
  if (data == nullptr) return std::nullopt;
  // YuniKorn merges its two key by key, and what the first says counts.
  static constexpr std::string_view configs = "yunikorn-configs", defaults = "yunikorn-defaults";
  const std::string_view map = meta == nullptr ? std::string_view{} : text_at(*meta, "name");
  for (const char* const name : {"queues.yaml", "hivedscheduler.yaml"}) {
    const value* text = data->find(name);
    if (text == nullptr || text->kind != value_kind::text) continue;
    const bool yunikorn = name[0] == 'q';
    const spot at = find_spot(of, {"data", name});
    if (yunikorn ? map != configs && map != defaults : map != "hivedscheduler-config") {
      reader trial{read.file(), read.object(), nullptr};
      const auto look = [](reader& inner, const place& v) {
        return is_queue_configuration(*v.at) || inner.fail(errc::malformed, v, "is no configuration");
      };
      const bool fits = read_inside(trial, at, text->text, look, of_config_map);
      if (!fits) return read.warn(at.line, at.path, "is no configuration of queues; it is left out");
    }
    if (yunikorn && out.yunikorn && map == defaults && out.yunikorn_map == configs) return true;
    if (yunikorn && map == configs && out.yunikorn_map == defaults) out.yunikorn.reset();
    const bool fine = read_inside(
        read, at, text->text,
        [&](reader& inner, const place& v) {
          const auto known = read_queue_configuration(inner, v, from, out);
          return known ? *known : inner.fail(errc::malformed, v, "is no configuration of queues");
        },
        of_config_map);
    if (fine && out.yunikorn && yunikorn) {
      for (yunikorn_queue& one : out.yunikorn->queues) one.line = from.line;
      out.yunikorn_map = map;
    }
    return fine;
  }
  return std::nullopt;
}

std::optional<bool> read_queue_object(reader& read, const place& of, std::string_view api_group, std::string_view kind,
                                      origin from, queue_objects& out) {
  const auto is = [&](std::string_view group, std::string_view name) { return api_group == group && kind == name; };
  if (is(kueue_api, "ResourceFlavor")) {
    flavor_manifest& made = out.flavors.emplace_back();
    made.from = from;
    if (!read_resource_flavor(read, of, made.spec)) return false;
    return !made.spec.name.empty() || read.fail(errc::malformed, of, "needs metadata.name");
  }
  if (is(kueue_api, "LocalQueue")) {
    local_queue& made = out.local_queues.emplace_back();
    made.from = from;
    if (!read_local_queue(read, of, made)) return false;
    if (made.name.empty()) return read.fail(errc::malformed, of, "needs metadata.name");
    return !made.cluster_queue.empty() || read.fail(errc::malformed, of, "needs spec.clusterQueue");
  }
  if (is("", "ConfigMap")) return read_config_map(read, of, from, out);
  if (is("", "LimitRange")) {
    limit_range& range = out.limit_ranges.emplace_back();
    range.from = from;
    return read_limit_range(read, of, range);
  }
  if (is("", "ResourceQuota")) {
    resource_quota& quota = out.resource_quotas.emplace_back();
    quota.from = from;
    return read_resource_quota(read, of, quota);
  }
  if (is(kueue_api, "WorkloadPriorityClass")) return read_workload_priority(read, of, out.workload_priorities);

  queue_manifest made;
  made.api = api_group, made.kind = kind, made.from = from;
  cluster_queue_rules rules;
  queue_path path;
  const bool of_koordinator = api_group == "scheduling.sigs.k8s.io";
  bool fine = false;
  if (is(kueue_api, "ClusterQueue"))
    fine = read_cluster_queue(read, of, made.spec, rules);
  else if (is(kueue_api, "Cohort"))
    fine = read_cohort(read, of, made.spec);
  else if (is(volcano_api, "Queue"))
    fine = read_volcano_queue(read, of, made.spec, path);
  else if (is("scheduling.run.ai", "Queue"))
    fine = read_kai_queue(read, of, made.spec);
  else if (kind == "ElasticQuota" && (of_koordinator || api_group == "scheduling.x-k8s.io"))
    fine = read_elastic_quota(read, of, of_koordinator, made);
  else
    return std::nullopt;
  if (!fine) return false;
  if (made.spec.name.empty()) return read.fail(errc::malformed, of, "needs metadata.name");
  if (made.name.empty()) made.name = kind == "Cohort" ? made.spec.name.substr(cohort_queue("").size()) : made.spec.name;
  if (made.spec.parent == made.spec.name) return read.fail(errc::malformed, of, "is below itself");
  if (kind == "ClusterQueue") out.cluster_queues.emplace(made.spec.name, std::move(rules));
  if (!path.parts.empty()) {
    path.queue = out.queues.size();
    out.paths.push_back(std::move(path));
  }
  out.queues.push_back(std::move(made));
  return true;
}

std::optional<error> link_queues(manifests& into, queue_objects& queues) { return queue_linker{into, queues}.run(); }

}  // namespace gangsched::inline GANGSCHED_ABI::kube::detail
