#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "gangsched/devices/device_demand.hpp"
#include "gangsched/model/validate.hpp"
#include "gangsched/src/kube/devices/device_requests.hpp"
#include "gangsched/src/kube/devices/extended_resources.hpp"

// Devices and claims once everything was read: they may stand in any order and in any file.
namespace gangsched::inline GANGSCHED_ABI::kube::detail {

std::optional<bool> read_device_family(reader& read, const place& of, std::string_view api_group, std::string_view kind,
                                       origin from, device_objects& out) {
  const auto one = [&](auto& into, const auto& read_it) {  // they are in no namespace
    const value* meta = of.at->find("metadata");
    const value* name = meta == nullptr ? nullptr : meta->find("name");
    read.set_object(object_name(kind, "", name == nullptr ? "" : name->text));
    auto& made = into.emplace_back();
    made.from = from;
    if constexpr (std::is_same_v<decltype(made), device_class&>) made.terms.ask_host = out.ask_host;
    return read_it(read, of, made);
  };
  if (api_group == "scheduling.koordinator.sh" && kind == "Device") return one(out.devices, read_device_object);
  if (api_group == "topology.node.k8s.io" && kind == "NodeResourceTopology")
    return one(out.topologies, read_node_topology);
  if (api_group == "resource.nvidia.com" && kind == "ComputeDomain") {
    claim_object& made = out.made_templates.emplace_back();
    made.from = from;
    return read_compute_domain(read, of, made);
  }
  if (api_group != "resource.k8s.io") return std::nullopt;
  if (kind == "ResourceSlice") return one(out.slices, read_resource_slice);
  if (kind == "DeviceTaintRule") return one(out.taint_rules, read_device_taint_rule);
  if (kind == "DeviceClass") return one(out.classes, read_device_class);
  if (kind == "ResourceClaim" || kind == "ResourceClaimTemplate") {
    claim_object& made = out.claims.emplace_back();
    made.is_template = kind == "ResourceClaimTemplate";
    made.from = from;
    made.ask_host = out.ask_host;
    return read_claim_object(read, of, made);
  }
  return std::nullopt;
}

namespace {

constexpr std::size_t most_by_device = 10'000'000;     // rules and lists of tolerations, over all devices
constexpr std::size_t most_by_taint = 20'000'000;      // comparisons with tolerations, over all taints of all devices
constexpr std::size_t most_taints_of_all = 1'000'000;  // they are kept

class device_linker {
 public:
  device_linker(manifests& into, device_objects& objects, instant now) : into_(&into), objects_(&objects), now_(now) {
    for (node_manifest& one : into.nodes) nodes_.emplace(one.spec.name, &one);
    for (const device_class& one : objects.classes) classes_.emplace(one.name, &one);
    for (const auto* const all : {&objects.claims, &objects.made_templates})
      for (const claim_object& one : *all) claims_.emplace(std::tuple{one.is_template, one.ns, one.name}, &one);
    for (const resource_slice& one : objects.slices) drivers_.insert(one.driver);
    for (const group_manifest& one : into.groups)
      if (!one.spec.composite) groups_.emplace(std::pair{one.spec.ns, one.spec.name}, &one);
  }

  std::optional<error> run() {
    for (const claim_object& claim : objects_->claims) {
      for (const allocated_device& one : claim.allocated) held_.insert(one.device);
      for (const claimed_request& one : claim.requests) {
        tolerated_.add(one.tolerations);
        for (const claimed_request& other : one.first_available) tolerated_.add(other.tolerations);
      }
    }
    for (device_object& one : objects_->devices) add(one);
    for (node_topology_object& one : objects_->topologies)
      if (auto wrong = add(one)) return wrong;
    if (auto wrong = check_taints()) return wrong;
    if (auto wrong = add_slices()) return wrong;
    const extended_resources extended{*into_, *objects_};
    std::set<std::string> models;
    for (const node_manifest& one : into_->nodes)
      if (!one.spec.devices.gpu.model.empty()) models.insert(one.spec.devices.gpu.model);
    for (pod_manifest& one : into_->pods) {
      choose_gpu_types(one, models);
      if (one.node.empty())
        for (device_request& request : one.spec.devices) keep_to_tolerated(request, {});
      if (auto wrong = add_claims_or_wait(one, extended)) return wrong;
      add_held(one);
    }
    for (const claim_object& one : objects_->claims) keep(one);
    return std::nullopt;
  }

 private:
  void warn(origin from, std::string_view kind, std::string_view ns, std::string_view name, std::string reason) {
    into_->warnings.push_back({where(*into_, from, kind, ns, name), "", std::move(reason)});
  }

  /// What the agent found counts before labels; what it does not say is taken from the labels.
  void add(device_object& one) {
    const auto found = nodes_.find(one.node);
    if (found == nodes_.end())
      return warn(one.from, "Device", "", one.node, "there is no node of its name; it is left out");
    node_devices& to = found->second->spec.devices;
    device_ids_.emplace(one.node, &one.ids);
    if (!one.has.gpus.empty()) {
      const bool same = to.gpus.size() == one.has.gpus.size();
      if (!same) to.gpu.links.clear();
      for (std::size_t i = 0; same && i < to.gpus.size(); ++i) {
        gpu_spec& gpu = one.has.gpus[i];
        gpu.mig = to.gpus[i].mig;
        gpu.instances = std::move(to.gpus[i].instances);
        if (gpu.numa < 0) gpu.numa = to.gpus[i].numa;
        if (gpu.pcie < 0) gpu.pcie = to.gpus[i].pcie;
      }
      to.gpus = std::move(one.has.gpus);
      if (!one.has.gpu.model.empty()) to.gpu.model = std::move(one.has.gpu.model);
      if (one.has.gpu.memory_mib != 0) to.gpu.memory_mib = one.has.gpu.memory_mib;
      to.gpu.partitions = std::move(one.has.gpu.partitions);
      to.gpu.partition_policy = one.has.gpu.partition_policy, to.gpu.memory_rule = one.has.gpu.memory_rule;
      if (to.gpu.partitions.empty()) add_known_partitions(found->second->spec);
    }
    for (other_device& device : one.has.others) to.others.push_back(std::move(device));
  }

  std::optional<error> add(node_topology_object& one) {
    constexpr std::string_view kind = "NodeResourceTopology";
    const auto found = nodes_.find(one.node);
    if (found == nodes_.end()) {
      warn(one.from, kind, "", one.node, "there is no node of its name; it is left out");
      return std::nullopt;
    }
    node_devices& to = found->second->spec.devices;
    if (to.numa)
      return error{errc::duplicate, where(*into_, one.from, kind, "", one.node), "metadata.name",
                   "there is another one of that name"};
    to.numa = std::move(one.has);
    const node_manifest& node = *found->second;
    if (auto wrong = read_cpu_rules(node, where(*into_, node.from, "Node", "", one.node), *to.numa)) return wrong;
    for (const auto& [resource, cells] : one.counted) {
      if (auto told = place_gpus(resource, cells, to))
        warn(one.from, kind, "", one.node, fmt::format("which zone has how many {} is left out: {}", resource, *told));
    }
    return std::nullopt;
  }

  /// Gives GPUs their NUMA cells, in the order of the cells; a known cell stays. @return why that fails, if so.
  static std::optional<std::string> place_gpus(const std::string& resource,
                                               const std::map<std::uint32_t, std::int64_t>& cells, node_devices& to) {
    std::int64_t all = 0;
    for (const auto& [cell, count] : cells) all += std::min<std::int64_t>(count, 1 << 20);
    if (to.gpus.empty() && (resource == "nvidia.com/gpu" || resource == "amd.com/gpu")) {
      if (all > static_cast<std::int64_t>(max_node_gpus))
        return fmt::format("more than {} GPUs are counted only", max_node_gpus);
      to.gpu.resource = resource;
      for (std::int64_t i = 0; i < all; ++i) to.gpus.push_back({.id = fmt::format("GPU-{}", i)});
    }
    if (to.gpus.empty() || resource != to.gpu.resource) return "the node has no inventory of them";
    const std::int64_t replicas = std::max(to.gpu.replicas, 1);
    if (all != static_cast<std::int64_t>(to.gpus.size()) * replicas)
      return fmt::format("the node has {}", to.gpus.size());
    std::int64_t next = 0;
    for (const auto& [cell, count] : cells) {
      for (const std::int64_t end = next + count; next < end; ++next) {
        gpu_spec& gpu = to.gpus[static_cast<std::size_t>(next / replicas)];
        if (gpu.numa < 0) gpu.numa = static_cast<std::int32_t>(cell);
      }
    }
    return std::nullopt;
  }

  /// Bounds the work: each device is compared with each rule, and may get an attribute for each toleration list.
  [[nodiscard]] std::optional<error> check_taints() const {
    std::size_t devices = 0;
    for (const resource_slice& one : objects_->slices) devices += one.devices.size();
    const std::size_t each = objects_->taint_rules.size() + tolerated_.lists();
    if (devices == 0 || each == 1 || each <= most_by_device / devices) return std::nullopt;
    return too_much(objects_->slices.front(),
                    fmt::format("of all slices, times DeviceTaintRules and lists of tolerations, are more than {}",
                                most_by_device));
  }
  [[nodiscard]] error too_much(const resource_slice& in, std::string reason) const {
    return {errc::out_of_range, where(*into_, in.from, "ResourceSlice", "", in.name), "spec.devices",
            std::move(reason)};
  }

  /// Adds the slices of each pool's newest generation. A device has its short name if that is unique on the node.
  [[nodiscard]] std::optional<error> add_slices() {
    const pool_generations newest = newest_generations(*objects_);
    keep_back_pools(*into_, *objects_, newest, held_);
    std::map<std::pair<std::string, std::string>, int> named;  // node, device
    std::size_t taints = 0;
    const std::size_t most_here =
        std::min(most_taints_of_all, most_by_taint / (tolerated_.lists() + tolerated_.tolerations()));
    for (resource_slice& one : objects_->slices) {
      if (one.generation != newest.at({one.driver, one.pool})) continue;
      for (std::size_t i = 0; i < one.devices.size(); ++i) {
        ++named[{one.node, one.devices[i].id}];
        for (const device_taint_rule& rule : objects_->taint_rules)
          if (rule.is_about(one, one.devices[i]))
            one.taints[i].insert(one.taints[i].end(), rule.taints.begin(), rule.taints.end());
        taints += one.taints[i].size();
        if (taints > most_here) {
          return too_much(
              one, fmt::format("of all slices have more than {} taints, for so many DeviceTaintRules and tolerations",
                               most_here));
        }
        tolerated_.look_at(one.driver, one.taints[i], is_held(one, one.devices[i]));
      }
    }
    for (resource_slice& one : objects_->slices) {
      if (one.generation != newest.at({one.driver, one.pool}) || one.node.empty()) continue;
      const auto found = nodes_.find(one.node);
      if (found == nodes_.end()) {
        warn(one.from, "ResourceSlice", "", one.name, fmt::format("there is no node \"{}\"; it is left out", one.node));
        continue;
      }
      node_devices& to = found->second->spec.devices;
      for (const auto& [name, amount] : one.counters) to.counters[name] = amount;
      for (std::size_t i = 0; i < one.devices.size(); ++i) {
        other_device& device = one.devices[i];
        tolerated_.mark(one.driver, one.taints[i], is_held(one, device), device);
        const std::string full = full_name(one, device);
        if (named[{one.node, device.id}] > 1) device.id = full;
        ids_.emplace(full, device_place{device.id, one.node, std::move(one.taints[i])});
        to.others.push_back(std::move(device));
      }
    }
    return std::nullopt;
  }
  /// Whether a claim has the device.
  [[nodiscard]] bool is_held(const resource_slice& in, const other_device& device) const {
    return !held_.empty() && held_.contains(full_name(in, device));
  }

  /// A request for a number of devices skips devices whose taints it does not tolerate.
  void keep_to_tolerated(device_request& request, const device_tolerations& these) const {
    if (!request.all && tolerated_.divides(request.device_class))
      request.selectors.push_back({tolerated_devices::attribute_of(these)});
  }
  /// A request for all devices cannot be met if it does not tolerate one of them: that device fails a constraint.
  void keep_to_tolerated(const claim_object& claim, std::size_t first, const std::vector<device_request>& requests,
                         std::vector<device_constraint>& constraints) const {
    const auto is_held_up = [&](const device_request& one) { return one.all && tolerated_.divides(one.device_class); };
    for (std::size_t r = 0; r < claim.requests.size(); ++r) {
      const auto request = static_cast<std::int32_t>(first + r);
      const device_request& made = requests[first + r];
      if (is_held_up(made))
        constraints.push_back({tolerated_devices::attribute_of(claim.requests[r].tolerations), {request}});
      for (std::size_t i = 0; i < made.first_of.size(); ++i) {
        if (!is_held_up(made.first_of[i])) continue;
        device_constraint& one = constraints.emplace_back();
        one.attribute = tolerated_devices::attribute_of(claim.requests[r].first_available[i].tolerations);
        one.alternatives.push_back({request, static_cast<std::int32_t>(i)});
      }
    }
  }

  // --- claims

  /// A pod without a node waits if its claim is missing or not understood; a pod that runs keeps what it has.
  std::optional<error> add_claims_or_wait(pod_manifest& pod, const extended_resources& extended) {
    const std::size_t requests = pod.spec.devices.size(), constraints = pod.spec.device_constraints.size();
    auto wrong = add_claims(pod, extended);
    if (!wrong || wrong->code != errc::unknown) return wrong;
    pod.spec.devices.resize(requests);
    pod.spec.device_constraints.resize(constraints);
    pod.shared_claims.clear();
    wait_for(*into_, pod, *wrong);
    return std::nullopt;
  }

  /// Claims made from templates are the pod's own. Claims that it names are shared, and so are those of its pod group.
  std::optional<error> add_claims(pod_manifest& pod, const extended_resources& extended) {
    const std::size_t before = pod.spec.devices.size();
    std::vector<held_device> held;
    bool all_held = before == 0;
    for (std::size_t i = 0; i < pod.claims.size(); ++i) {
      const pod_claim& one = pod.claims[i];
      const claim_object* made = one.claim.empty() ? nullptr : find(false, pod.spec.ns, one.claim);
      const claim_object* claim = made != nullptr              ? made
                                  : one.claim_template.empty() ? nullptr
                                                               : find(true, pod.spec.ns, one.claim_template);
      if (claim == nullptr) {
        const bool by_name = one.claim_template.empty();
        error wrong{
            errc::unknown, where(*into_, pod.from, "Pod", pod.spec.ns, pod.spec.name),
            fmt::format("spec.resourceClaims[{}]", i),
            fmt::format("there is no {} \"{}\" in its namespace", by_name ? "ResourceClaim" : "ResourceClaimTemplate",
                        by_name ? one.claim : one.claim_template)};
        if (pod.node.empty()) return wrong;
        all_held = false;  // the pod runs: it is only not known what it uses
        into_->warnings.push_back({wrong.object, wrong.field, wrong.reason + "; it is left out"});
        continue;
      }
      const bool of_group = group_has(pod, one);
      if (!pod.node.empty() && made != nullptr) {
        in_use_.emplace(made->ns, made->name);
        note_eviction(pod, *made);
      }
      const bool waits =
          pod.node.empty() && made != nullptr && !made->allocated.empty();  // for the node where its claim is allocated
      if (one.claim_template.empty() || of_group || waits) {
        if (auto wrong = share(pod, *claim, one.name, of_group)) return wrong;
        continue;
      }
      all_held = all_held && !claim->allocated.empty();
      if (auto wrong = resolve(*claim, pod.spec.devices, pod.spec.device_constraints, held, one.name + "/"))
        return wrong;
    }
    const bool has_them =
        std::ranges::any_of(pod.claims, [](const pod_claim& one) { return one.name == extended_claim_name; });
    if (const auto claim = has_them ? std::nullopt : extended.claim_for(pod)) {
      all_held = false;
      if (auto wrong = resolve(*claim, pod.spec.devices, pod.spec.device_constraints, held)) return wrong;
    }
    if (!pod.node.empty() && all_held && !held.empty() && pod.held_devices.empty()) pod.held_devices = std::move(held);
    if (auto wrong = check(pod.spec.devices, where(*into_, pod.from, "Pod", pod.spec.ns, pod.spec.name));
        wrong && pod.spec.devices.size() != before)
      return wrong;
    return std::nullopt;
  }

  /// If taints of the claim's devices evict the pod: notes the earliest eviction.
  void note_eviction(pod_manifest& pod, const claim_object& claim) const {
    for (const allocated_device& one : claim.allocated) {
      const auto place = ids_.find(one.device);
      if (place == ids_.end()) continue;
      auto eviction = eviction_for(one.tolerations, place->second.taints, now_);
      if (eviction && (!pod.evicted_for_taint || eviction->after_seconds < pod.evicted_for_taint->after_seconds))
        pod.evicted_for_taint = std::move(eviction);
    }
  }

  /// Whether the pod's group claims the same, by the same name.
  [[nodiscard]] bool group_has(const pod_manifest& pod, const pod_claim& claim) const {
    const auto group = groups_.find({pod.spec.ns, pod.group});
    if (pod.group.empty() || group == groups_.end()) return false;
    return std::any_of(group->second->claims.begin(), group->second->claims.end(), [&](const pod_claim& one) {
      if (one.name != claim.name || one.claim_template != claim.claim_template) return false;
      return !one.claim_template.empty() || one.claim == claim.claim;
    });
  }

  /// What a group's claim made of a template is called: no other claim of the namespace is.
  [[nodiscard]] std::string name_for(const pod_manifest& pod, const std::string& its) {
    const std::string wanted = fmt::format("{}-{}", pod.group, its);
    std::string name = wanted;
    for (int number = 2; find(false, pod.spec.ns, name) != nullptr || !made_names_.emplace(pod.spec.ns, name).second;
         ++number)
      name = fmt::format("{}-{}", wanted, number);
    return name;
  }

  /// @p its: what the pod calls the claim. One that is made of a template is its group's.
  std::optional<error> share(pod_manifest& pod, const claim_object& from, const std::string& its, bool of_group) {
    const bool made_of = from.is_template;
    const auto [known, first] = shared_.try_emplace(
        {&from, made_of ? pod.group : std::string{}, made_of ? its : std::string{}}, into_->claims.size());
    if (first) {
      resource_claim_manifest made;
      if (auto wrong = make_shared(from, made_of ? name_for(pod, its) : from.name, made)) {
        shared_.erase(known);
        return wrong;
      }
      into_->claims.push_back(std::move(made));
    }
    const std::string& name = into_->claims[known->second].spec.name;
    // A pod group reserves a claim once, however many members it has.
    if (of_group || from.of_group) into_->claims[known->second].spec.most_pods = 0;
    if (std::find(pod.shared_claims.begin(), pod.shared_claims.end(), name) == pod.shared_claims.end())
      pod.shared_claims.push_back(name);
    return std::nullopt;
  }

  std::optional<error> make_shared(const claim_object& from, const std::string& name, resource_claim_manifest& made) {
    made.from = from.from;
    made.spec.name = name;
    made.spec.ns = from.ns;
    if (auto wrong = resolve(from, made.spec.devices, made.spec.constraints, made.spec.held_devices)) return wrong;
    auto wrong = check(made.spec);
    if (wrong) wrong->object = where(*into_, from.from, kind_of(from), from.ns, from.name);
    return wrong;
  }

  /// A claim keeps its allocation even if no running pod uses it.
  void keep(const claim_object& claim) {
    if (claim.is_template || claim.allocated.empty() || in_use_.contains({claim.ns, claim.name})) return;
    const auto left_out = [&](std::string reason) {
      warn(claim.from, "ResourceClaim", claim.ns, claim.name, fmt::format("its allocation is left out: {}", reason));
    };
    std::string node;
    for (const allocated_device& one : claim.allocated) {
      const auto place = ids_.find(one.device);
      if (place == ids_.end()) return left_out(fmt::format("no node has the device \"{}\"", one.device));
      if (!node.empty() && node != place->second.node) return left_out("its devices are on several nodes");
      node = place->second.node;
    }
    const auto known = shared_.find({&claim, {}, {}});
    if (known != shared_.end()) {
      into_->claims[known->second].node = node;
      return;
    }
    resource_claim_manifest made;
    if (const auto wrong = make_shared(claim, claim.name, made))
      return left_out(fmt::format("{}: {}", wrong->field, wrong->reason));
    made.node = node;
    into_->claims.push_back(std::move(made));
  }

  /// What Koordinator's scheduler wrote onto a pod that runs.
  void add_held(pod_manifest& pod) const {
    if (pod.node.empty() || !pod.held_devices.empty()) return;
    add_devices(pod);
    const bool counts = std::ranges::any_of(pod.spec.containers, [](const container& one) {
      return std::ranges::any_of(one.requests,
                                 [](const auto& each) { return each.first.find('/') != std::string::npos; });
    });
    // CPUs are added only if the devices are known or the pod has none: with some held devices, all must be said.
    if (!pod.held_devices.empty() || (pod.spec.devices.empty() && !counts)) add_cpus(pod);
  }

  /// {"gpu": [{"minor": 0, …}]}
  void add_devices(pod_manifest& pod) const {
    const auto text = pod.annotations.find("scheduling.koordinator.sh/device-allocated");
    const auto ids = device_ids_.find(pod.node);
    if (text == pod.annotations.end() || ids == device_ids_.end()) return;
    const auto parsed = parse(source{"annotation.json", text->second}, of_annotation);
    if (!parsed || parsed->size() != 1) return;
    const value& all = parsed->front().root;
    for (std::size_t i = 0; i < all.keys.size(); ++i) {
      for (const value& item : all.items[i].items) {
        const value* minor = item.find("minor");
        std::int64_t number = -1;
        if (minor != nullptr) std::from_chars(minor->text.data(), minor->text.data() + minor->text.size(), number);
        const auto id = ids->second->find({all.keys[i], number});
        if (id != ids->second->end()) pod.held_devices.push_back({.id = id->second});
      }
    }
  }

  /// {"cpuset": "0-3", …}
  static void add_cpus(pod_manifest& pod) {
    const auto text = pod.annotations.find("scheduling.koordinator.sh/resource-status");
    if (text == pod.annotations.end()) return;
    const auto parsed = parse(source{"annotation.json", text->second}, of_annotation);
    const value* cpus = !parsed || parsed->size() != 1 ? nullptr : parsed->front().root.find("cpuset");
    auto places = cpus == nullptr ? std::nullopt : parse_cpu_list(cpus->text);
    if (!places || places->empty()) return;
    const auto app = static_cast<std::int32_t>(pod.spec.init_containers.size());
    pod.held_devices.push_back({.id = "cpu", .request = app, .places = *std::move(places)});
  }

  [[nodiscard]] const claim_object* find(bool is_template, const std::string& ns, const std::string& name) const {
    const auto found = claims_.find({is_template, ns, name});
    return found == claims_.end() ? nullptr : found->second;
  }

  static const char* kind_of(const claim_object& claim) {
    return claim.is_template ? "ResourceClaimTemplate" : "ResourceClaim";
  }
  [[nodiscard]] error wrong_in(const claim_object& claim, errc code, const std::string& field,
                               std::string reason) const {
    return {code, where(*into_, claim.from, kind_of(claim), claim.ns, claim.name),
            fmt::format("{}.devices.{}", claim.is_template ? "spec.spec" : "spec", field), std::move(reason)};
  }

  /// Adds what the claim asks for, and what it has, to what is there already. @p prefix: of the requests' names.
  std::optional<error> resolve(const claim_object& claim, std::vector<device_request>& requests,
                               std::vector<device_constraint>& constraints, std::vector<held_device>& held,
                               const std::string& prefix = {}) {
    if (const auto fewest = fewest_devices(claim); claim.allocated.empty() && fewest > most_claimed_devices)
      return wrong_in(claim, errc::unknown, "requests", too_many_devices(fewest));
    const std::size_t first = requests.size();
    for (std::size_t r = 0; r < claim.requests.size(); ++r) {
      const std::string& name = claim.requests[r].made.name;
      device_request& request = requests.emplace_back();
      if (auto wrong = resolve(claim, claim.requests[r], fmt::format("requests[{}]", r), request)) return wrong;
      for (const allocated_device& one : claim.allocated) {
        const auto place = ids_.find(one.device);
        if (one.request == name && place != ids_.end())
          held.push_back(
              {.id = place->second.id, .request = static_cast<std::int32_t>(first + r), .capacities = one.capacities});
      }
      request.name = prefix + name;
    }
    if (claim.allocated.empty()) keep_to_tolerated(claim, first, requests, constraints);
    for (std::size_t c = 0; c < claim.constraints.size(); ++c) {
      if (auto wrong = resolve(claim, c, first, constraints.emplace_back(claim.constraints[c].made))) return wrong;
    }
    return std::nullopt;
  }

  /// @p first: number of the claim's first request.
  std::optional<error> resolve(const claim_object& claim, std::size_t constraint, std::size_t first,
                               device_constraint& out) {
    const std::vector<std::string>& names = claim.constraints[constraint].requests;
    for (std::size_t r = 0; names.empty() && r < claim.requests.size(); ++r)
      out.requests.push_back(static_cast<std::int32_t>(first + r));
    for (std::size_t i = 0; i < names.size(); ++i) {
      const std::string field = fmt::format("constraints[{}].requests[{}]", constraint, i);
      const std::string main = names[i].substr(0, names[i].find('/'));
      const auto found = std::find_if(claim.requests.begin(), claim.requests.end(),
                                      [&](const claimed_request& one) { return one.made.name == main; });
      if (found == claim.requests.end())
        return wrong_in(claim, errc::malformed, field, fmt::format("there is no request \"{}\"", names[i]));
      const auto request = static_cast<std::int32_t>(first) + static_cast<std::int32_t>(found - claim.requests.begin());
      if (main == names[i]) {
        out.requests.push_back(request);
        continue;
      }
      const std::vector<claimed_request>& all = found->first_available;
      const auto one = std::find_if(all.begin(), all.end(), [&](const claimed_request& each) {
        return std::string_view{names[i]}.substr(main.size() + 1) == each.made.name;
      });
      if (one == all.end())
        return wrong_in(claim, errc::malformed, field, fmt::format("there is no alternative \"{}\"", names[i]));
      out.alternatives.push_back({request, static_cast<std::int32_t>(one - all.begin())});
    }
    return std::nullopt;
  }

  std::optional<error> resolve(const claim_object& claim, const claimed_request& from, const std::string& step,
                               device_request& out) {
    const auto told = [&](errc code, const char* field, std::string reason) {
      return wrong_in(claim, code, step + field, std::move(reason));
    };
    out = from.made;
    if (!from.first_available.empty()) {
      for (std::size_t i = 0; i < from.first_available.size(); ++i) {
        const auto wrong = resolve(claim, from.first_available[i], fmt::format("{}.firstAvailable[{}]", step, i),
                                   out.first_of.emplace_back());
        if (wrong) return wrong;
      }
      return std::nullopt;
    }
    const auto found = classes_.find(from.device_class);
    if (found == classes_.end())
      return told(errc::unknown, ".deviceClassName", fmt::format("there is no DeviceClass \"{}\"", from.device_class));
    const device_class& of = *found->second;
    if (!of.terms.unknown.empty())
      return error{errc::unknown, where(*into_, of.from, "DeviceClass", "", of.name), of.terms.unknown_field,
                   of.terms.unknown};
    if (!from.terms.unknown.empty()) {
      error wrong = told(errc::unknown, "", from.terms.unknown);
      wrong.field = from.terms.unknown_field;
      return wrong;
    }
    out.device_class = !of.terms.driver.empty() ? of.terms.driver : from.terms.driver;
    if (out.device_class.empty() && drivers_.size() == 1) out.device_class = *drivers_.begin();
    if (out.device_class.empty())
      return told(errc::unknown, ".deviceClassName",
                  fmt::format("\"{}\" names no driver, and there are several", from.device_class));
    if (!from.terms.driver.empty() && from.terms.driver != out.device_class)
      return told(
          errc::unknown, ".selectors",
          fmt::format("the class is about devices of {}, the selector of {}", out.device_class, from.terms.driver));
    out.capacities.clear();
    for (const auto& [name, amount] : from.made.capacities) {
      if (!out.capacities.emplace(qualified(out.device_class, name), amount).second)
        return told(errc::duplicate, ".capacity.requests",
                    fmt::format("\"{}\" is there with and without its domain", name));
    }
    out.expressions = of.terms.expressions;
    out.expressions.insert(out.expressions.end(), from.terms.expressions.begin(), from.terms.expressions.end());
    out.selectors = of.terms.selectors;
    out.selectors.insert(out.selectors.end(), from.terms.selectors.begin(), from.terms.selectors.end());
    if (claim.allocated.empty()) keep_to_tolerated(out, from.tolerations);  // what is allocated is there already
    return std::nullopt;
  }

  manifests* into_;
  device_objects* objects_;
  instant now_;
  std::map<std::string, node_manifest*> nodes_;
  std::map<std::string, const device_class*> classes_;
  std::map<std::tuple<bool, std::string, std::string>, const claim_object*> claims_;  // template, namespace, name
  std::map<std::pair<std::string, std::string>, const group_manifest*> groups_;       // namespace, name
  /// Places among the claims: of a claim, or by a template, the group (it is in the template's namespace) and what that calls it.
  std::map<std::tuple<const claim_object*, std::string, std::string>, std::size_t> shared_;
  std::set<std::pair<std::string, std::string>> made_names_;  // namespace, name: of claims made of templates
  std::set<std::string> drivers_;
  tolerated_devices tolerated_;
  std::map<std::string, const std::map<std::pair<std::string, std::int64_t>, std::string>*> device_ids_;  // by node
  struct device_place {
    std::string id, node;  // what the node's inventory calls it
    std::vector<device_taint> taints;
  };
  std::map<std::string, device_place> ids_;               // by driver/pool/device
  std::set<std::string> held_;                            // those that claims have
  std::set<std::pair<std::string, std::string>> in_use_;  // namespace, name: claims of pods that run
};

}  // namespace

std::optional<error> link_devices(manifests& into, device_objects& objects, instant now) {
  return device_linker{into, objects, now}.run();
}

}  // namespace gangsched::inline GANGSCHED_ABI::kube::detail
