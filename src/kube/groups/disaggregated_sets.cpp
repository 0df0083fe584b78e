#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "gangsched/model/name_rules.hpp"
#include "gangsched/src/kube/documents/trees.hpp"
#include "gangsched/src/kube/groups/groups.hpp"

// DisaggregatedSet (disaggregatedset.x-k8s.io, of LWS): a LeaderWorkerSet for each role, say prefill and decode, in each slice.
namespace gangsched::inline GANGSCHED_ABI::kube::detail {
namespace {

constexpr std::int64_t most_slices = 1'000;

bool read_role(reader& read, const place& of, std::pair<std::string, value>& out) {
  out.second = object_of({}, of.at->line);
  const bool fine = read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "name") return read.text(v, out.first);
    if (key != "metadata" && key != "spec") return read.ignore(key, v, {"scaling"});
    set_field(out.second, key, *v.at);
    return true;
  });
  if (!fine) return false;
  if (out.first.empty()) return read.fail(errc::malformed, of, "has no name");
  return out.second.find("spec") != nullptr || read.fail(errc::malformed, of, "needs a spec");
}

/// What the controller writes onto pods, over what their templates say.
void add_labels(const disaggregated_set& set, std::int64_t slice, const std::string& role, const std::string& revision,
                workload_plan& to) {
  for (planned_pod& one : to.pods) {
    one.labels["app"] = fmt::format("{}-{}-{}", set.name, slice, role);
    one.labels["disaggregatedset.x-k8s.io/name"] = set.name;
    one.labels["disaggregatedset.x-k8s.io/revision"] = revision;
    one.labels["disaggregatedset.x-k8s.io/role"] = role;
    one.labels["disaggregatedset.x-k8s.io/slice"] = fmt::format("{}", slice);
  }
}

/// What the controller adds to templates (SetPlacementAffinities): a slice keeps together, away from other slices, and if it is to be
/// alone from other sets' slices.
void add_affinities(const disaggregated_set& set, std::int64_t slice, workload_plan& to) {
  if (set.topology.empty()) return;
  constexpr const char* name = "disaggregatedset.x-k8s.io/name";
  constexpr const char* number = "disaggregatedset.x-k8s.io/slice";
  using op = selector_operator;
  const std::string own = fmt::format("{}", slice);
  const auto term = [&](std::vector<selector_requirement> those) {
    pod_affinity_term made{set.topology};
    made.selector.emplace().match_expressions = std::move(those);
    return made;
  };
  std::vector<selector_requirement> others{{name, op::in, {set.name}}};
  if (slice == 0) others.push_back({number, op::exists, {}});  // pods of a time without slices are of this one
  others.push_back({number, op::not_in, {own}});
  for (pod_set& one : to.sets) {
    pod_spec& pod = one.pod.spec;
    pod.affinity_to_pods.required.push_back(term({{name, op::in, {set.name}}, {number, op::in, {own}}}));
    pod.anti_affinity_to_pods.required.push_back(term(others));
    if (!set.alone) continue;
    pod.anti_affinity_to_pods.required.push_back(
        term({{name, op::exists, {}}, {name, op::not_in, {set.name}}, {number, op::exists, {}}}));
  }
}

enum class placement : std::uint8_t { none, exclusive_slice, exclusive_topology };

bool read_placement(reader& read, const place& of, disaggregated_set& out) {
  placement type = placement::none;
  std::string topology;
  const bool fine = read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "type")
      return read.word(v, type,
                       {{"None", placement::none},
                        {"ExclusiveSlice", placement::exclusive_slice},
                        {"ExclusiveTopology", placement::exclusive_topology}});
    if (key == "topology") return read.text(v, topology);
    return read.ignore(key, v, {});
  });
  if (!fine || type == placement::none) return fine;
  if (topology.empty()) return read.fail(errc::malformed, of, "needs a topology");
  if (!gangsched::detail::is_qualified_name(topology))
    return read.fail(errc::malformed, of, "has a topology that is no label's key");
  out.topology = std::move(topology);
  out.alone = type == placement::exclusive_topology;
  return true;
}

}  // namespace

bool read_disaggregated_set(reader& read, const place& of, origin from, group_objects& out) {
  disaggregated_set& made = out.disaggregated_sets.emplace_back();
  made.from = from;
  made.ended = has_ended(*of.at);
  std::set<std::string> names;
  const bool fine = read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "metadata") {
      const value* deleted = v.at->find("deletionTimestamp");
      made.ended = made.ended || (deleted != nullptr && deleted->kind != value_kind::null);
      return read_names(read, v, made.name, made.ns);
    }
    if (key != "spec") return read.ignore(key, v, {"apiVersion", "kind", "status"});
    return read.fields(v, [&](std::string_view field, const place& w) {
      if (field == "slices") return read.integer(w, made.slices, 0, most_slices);
      if (field == "placementPolicy") return read_placement(read, w, made);
      if (field != "roles") return read.ignore(field, w, {});
      return read.list(w, made.roles, [&](const place& item, std::pair<std::string, value>& one) {
        if (!read_role(read, item, one)) return false;
        return names.insert(one.first).second ||
               read.fail(errc::duplicate, item, fmt::format("there is another role \"{}\"", one.first));
      });
    });
  });
  return fine && (!made.name.empty() || read.fail(errc::malformed, of, "needs metadata.name"));
}

std::optional<error> plan_disaggregated_sets(manifests& into, group_objects& groups, const read_options& how,
                                             pod_budget& budget) {
  std::set<std::pair<std::string, std::string>> running;  // its LeaderWorkerSets are there
  for (const workload_plan& one : groups.plans)
    if (one.owner_kind == "DisaggregatedSet") running.emplace(one.ns, one.owner_name);
  for (const disaggregated_set& set : groups.disaggregated_sets) {
    if (set.ended || running.contains({set.ns, set.name})) continue;
    const std::string object = object_name("DisaggregatedSet", set.ns, set.name);
    std::uint64_t hash = 0xcbf29ce484222325u;
    for (const auto& [role, made_of] : set.roles) add_to_hash(hash, made_of);
    const std::string revision = safe_letters(hash, 8);
    for (std::int64_t slice = 0; slice < set.slices; ++slice) {
      for (std::size_t i = 0; i < set.roles.size(); ++i) {
        const auto& [role, made_of] = set.roles[i];
        if (!budget.take(1, weight_of(made_of))) {
          return error{errc::out_of_range, where(into, set.from, "DisaggregatedSet", set.ns, set.name), "spec",
                       fmt::format("there would be more than {} pods", budget.most())};
        }
        value lws = made_of;
        value& meta = make_field(lws, "metadata", value_kind::object);
        const std::string name = fmt::format("{}-{}-{}-{}", set.name, slice, revision, role);
        set_field(meta, "name", leaf(value_kind::text, name, meta.line));
        set_field(meta, "namespace", leaf(value_kind::text, set.ns, meta.line));
        reader read{into.files[set.from.file], object, slice == 0 ? &into.warnings : nullptr};  // each is told once
        const place root{&lws}, spec{&lws, &root, "spec"}, roles{&lws, &spec, "roles"}, its{&lws, &roles, {}, i};
        if (!add_leader_worker_set(read, its, set.from, groups, how)) return std::move(read).failure();
        add_labels(set, slice, role, revision, groups.plans.back());
        add_affinities(set, slice, groups.plans.back());
      }
    }
  }
  return std::nullopt;
}

}  // namespace gangsched::inline GANGSCHED_ABI::kube::detail
