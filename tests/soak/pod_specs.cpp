#include <array>

#include "specs.hpp"

namespace gangsched::soak {

namespace {

constexpr std::array<chance, static_cast<std::size_t>(pod_trait::count)> all_pod_chances{{
    {"in another namespace", 8},
    {"a label of its own", 20},
    {"no cpu", 5},
    {"memory", 70},
    {"licences", 8},
    {"counted devices", 20},
    {"a port", 8},
    {"img1", 15},
    {"two containers", 10},
    {"an init container", 8},
    {"a sidecar", 4},
    {"overhead", 5},
    {"pod resources", 3},
    {"a zone", 8},
    {"node affinity", 5},
    {"preferred nodes", 5},
    {"a toleration", 10},
    {"anti-affinity", 5},
    {"affinity", 4},
    {"preferred pods", 4},
    {"hard spread", 4},
    {"soft spread", 4},
    {"a priority", 60},
    {"a priority class", 10},
    {"never preempts", 10},
    {"a gate", 4},
    {"another scheduler", 3},
    {"guaranteed", 15},
    {"CPUs of its own", 4},
    {"a device", 15},
    {"a second device", 3},
    {"a device constraint", 4},
    {"a claim", 5},
    {"a disk", 3},
    {"an exclusive claim", 2},
    {"a volume's zone", 2},
    {"an attached volume", 3},
    {"an unbound claim", 1},
    {"a rank", 60},
    {"a role", 60},
    {"a controller", 10},
    {"a start time", 10},
    {"a node by name", 1},
    {"nominated", 3},
    {"bound by others", 6},
    {"terminating", 1},
    {"preempted", 30},
    {"a run time", 40},
    {"a deadline", 10},
    {"a longest wait", 15},
    {"volumes on nodes", 3},
    {"claims for nodes", 3},
    {"a claim that is missing", 1},
    {"a load of its own", 4},
    {"required features", 6},
}};

label_selector of_app(dice& any) { return {.match_labels = {{"app", "a" + std::to_string(any.below(4))}}}; }

void add_containers(pod_spec& made, const step& from) {
  dice details = from.details();
  container first;
  const std::int64_t cpu = details.percent(50) ? 1000 * details.between(1, 4) : 250 * details.between(1, 12);
  if (!from.trait(pod_trait::no_cpu)) first.requests["cpu"] = quantity::from_milli(cpu);
  if (auto of = from.trait(pod_trait::memory)) first.requests["memory"] = of->between(1, 6) << 29;
  if (auto of = from.trait(pod_trait::licences)) first.requests["example.com/licence"] = of->between(1, 2);
  if (auto of = from.trait(pod_trait::counted_devices)) {
    constexpr const char* kinds[] = {"nvidia.com/gpu", "nvidia.com/mig-1g.5gb", "nvidia.com/mig-3g.20gb",
                                     "nvidia.com/mig-2g.10gb"};
    const std::size_t kind = of->below(4);
    first.requests[kinds[kind]] = kind == 0 ? of->between(1, 3) : of->between(1, 2);
  }
  if (auto of = from.trait(pod_trait::port)) first.ports.push_back({static_cast<std::int32_t>(8000 + of->below(3))});
  if (from.trait(pod_trait::image)) first.image = "img1";
  made.containers.push_back(first);
  if (auto of = from.trait(pod_trait::second_container))
    made.containers.push_back({.requests = {{"cpu", of->between(1, 2)}}});
  if (auto of = from.trait(pod_trait::sidecar)) {
    made.init_containers.push_back(
        {.requests = {{"cpu", quantity::from_milli(100 * of->between(1, 5))}}, .sidecar = true});
  }
  if (auto of = from.trait(pod_trait::init_container))
    made.init_containers.push_back({.requests = {{"cpu", of->between(1, 4)}}});
  if (from.trait(pod_trait::overhead)) made.overhead["cpu"] = quantity::from_milli(100);
}

void add_nodes(pod_spec& made, const step& from) {
  if (auto of = from.trait(pod_trait::zone_selector)) made.node_selector["zone"] = "z" + std::to_string(of->below(3));
  if (auto of = from.trait(pod_trait::node_affinity)) {
    const auto op = of->percent(50) ? selector_operator::in : selector_operator::not_in;
    made.affinity.required = {{.match_expressions = {{"zone", op, {"z" + std::to_string(of->below(3))}}}}};
  }
  if (auto of = from.trait(pod_trait::preferred_nodes)) {
    made.affinity.preferred.push_back(
        {static_cast<std::int32_t>(1 + of->below(100)), {{{"disk", selector_operator::exists}}, {}}});
  }
  if (from.trait(pod_trait::toleration)) made.tolerations.push_back({"dedicated", toleration_operator::exists});
}

void add_others(pod_spec& made, const step& from) {
  const auto term = [](dice& of) {
    return pod_affinity_term{.topology_key = of.percent(50) ? "kubernetes.io/hostname" : "zone",
                             .selector = of_app(of)};
  };
  if (auto of = from.trait(pod_trait::anti_affinity)) made.anti_affinity_to_pods.required.push_back(term(*of));
  if (auto of = from.trait(pod_trait::affinity)) made.affinity_to_pods.required.push_back(term(*of));
  if (auto of = from.trait(pod_trait::preferred_pods)) {
    auto& list = of->percent(50) ? made.anti_affinity_to_pods.preferred : made.affinity_to_pods.preferred;
    list.push_back({static_cast<std::int32_t>(1 + of->below(100)), term(*of)});
  }
  const auto spread = [&](pod_trait trait, when_unsatisfiable action) {
    auto of = from.trait(trait);
    if (!of) return;
    topology_spread one{.topology_key = of->percent(50) ? "zone" : "rack",
                        .max_skew = static_cast<std::int32_t>(1 + of->below(2))};
    one.action = action;
    one.selector = label_selector{.match_labels = {{"app", made.labels["app"]}}};
    made.topology_spread_constraints.push_back(one);
  };
  spread(pod_trait::hard_spread, when_unsatisfiable::do_not_schedule);
  spread(pod_trait::soft_spread, when_unsatisfiable::schedule_anyway);
}

device_request some_devices(dice& of) {
  device_request made;
  switch (of.below(9)) {
    case 0: made.milli = static_cast<std::int32_t>(100 * of.between(1, 9)); break;
    case 1:
      made.milli = 0;
      made.memory_mib = 4096 * of.between(1, 5);
      break;
    case 2: made.mig_profile = of.percent(50) ? "1g.5gb" : "3g.20gb"; break;
    case 3:
      made.count = static_cast<std::int32_t>(of.between(1, 3));
      made.within = static_cast<device_scope>(of.below(4));
      made.within_preferred = of.percent(50);
      break;
    case 4:
      made.device_class = "rdma";
      made.units = of.between(1, 2);
      break;
    case 5:
      made.device_class = "rdma";
      made.capacities["nic/bw"] = of.between(1, 6);
      break;
    case 6:
      made.device_class = "rdma";
      made.selectors.push_back({"speed", attribute_operator::greater, {device_attribute{std::int64_t{0}}}});
      made.count = static_cast<std::int32_t>(of.between(1, 2));
      break;
    case 7:
      made.device_class = "rdma";
      made.expressions = {of.percent(90) ? "speed " + std::to_string(of.below(3)) : "?"};
      break;
    default: {
      device_request first, second;
      first.device_class = second.device_class = "rdma";
      first.count = 2;
      made.first_of = {first, second};
    }
  }
  if (made.device_class == "rdma" && made.first_of.empty()) {
    made.admin = of.percent(10);
    made.all = of.percent(10);
    if (made.all) made.count = 1;
  }
  return made;
}

void add_devices(pod_spec& made, const step& from, const references& to) {
  made.guaranteed = from.trait(pod_trait::guaranteed).has_value();
  if (auto of = from.trait(pod_trait::bound_cpus)) {
    made.bind_cpus = {static_cast<cpu_bind_policy>(1 + of->below(2)), of->percent(50),
                      static_cast<cpu_exclusive_policy>(of->below(3))};
    made.containers[0].requests["cpu"] = of->between(1, 4);
  }
  if (auto of = from.trait(pod_trait::device)) made.devices.push_back(some_devices(*of));
  if (auto of = from.trait(pod_trait::second_device)) made.devices.push_back(some_devices(*of));
  if (auto of = from.trait(pod_trait::constraint);
      of && !made.devices.empty() && made.devices[0].device_class == "rdma") {
    device_constraint same{.attribute = of->percent(50) ? "root" : "speed"};
    same.distinct = of->percent(30);
    same.requests = {0};
    made.device_constraints.push_back(same);
  }
  if (to.claim.row != no_row && made.ns == "default") made.resource_claims.push_back(to.claim);
}

void add_volumes(pod_spec& made, const step& from) {
  pod_volumes& all = made.volumes;
  if (auto of = from.trait(pod_trait::disk))
    all.disks.push_back({"disk" + std::to_string(of->below(2)), of->percent(50)});
  if (auto of = from.trait(pod_trait::exclusive_claim))
    all.exclusive_claims.push_back("once" + std::to_string(of->below(2)));
  if (auto of = from.trait(pod_trait::volume_zone)) all.zones.push_back({"zone", {"z" + std::to_string(of->below(3))}});
  if (auto of = from.trait(pod_trait::attachment))
    all.attachments.push_back({"csi", "volume" + std::to_string(of->below(3))});
  all.unbound_claims = from.trait(pod_trait::unbound_claim).has_value();
  const auto some_nodes = [](dice& of) {
    std::vector<std::string> names;
    for (number node = 0; node < 8; ++node)
      if (of.percent(50)) names.push_back(node_name(node));
    return names;
  };
  if (auto of = from.trait(pod_trait::volume_nodes)) all.nodes = some_nodes(*of);
  if (auto of = from.trait(pod_trait::bindable_nodes)) all.bindable_nodes = some_nodes(*of);
  if (from.trait(pod_trait::claim_problem)) all.claim_problem = "persistentvolumeclaim \"c\" not found";
}

void add_importance(pod_spec& made, const step& from, const references& to) {
  if (auto of = from.trait(pod_trait::priority)) {
    made.priority = to.group && of->percent(60) ? to.above_priority : static_cast<std::int32_t>(10 * of->below(5));
  } else if (auto named = from.trait(pod_trait::priority_class); named && !to.group) {
    made.priority_class = "pc" + std::to_string(named->below(3));
  }
  if (from.trait(pod_trait::never_preempts) && made.priority_class.empty()) made.preemption = preemption_policy::never;
}

/// A reservation, a pod that has to be in one, or one that minds none.
void add_reservation(pod_spec& made, dice any) {
  const std::size_t what = any.below(10);
  if (what < 5) {
    reservation_spec& one = made.reservation.emplace();
    for (std::size_t i = 1 + any.below(2); i > 0; --i) {
      reservation_owner& owner = one.owners.emplace_back();
      if (any.percent(60)) owner.labels = of_app(any);
      if (any.percent(15))
        owner.controller = {static_cast<controller_kind>(1 + any.below(3)), any.percent(50) ? "c0" : ""};
      if (any.percent(15)) owner.pod = pod_name(static_cast<number>(any.below(60)));
      if (any.percent(10)) owner.ns = "default";
    }
    one.once = any.percent(50);
    if (any.percent(40)) one.policy = allocate_policy::restricted;
    if (any.percent(40) && one.policy == allocate_policy::restricted) one.restricted = {"cpu"};
    one.order = static_cast<std::int64_t>(any.below(3));
    if (any.percent(20)) one.expires = std::chrono::seconds{any.between(20, 400)};
    if (any.percent(10)) one.starts = std::chrono::seconds{any.between(1, 300)};
    if (one.starts && one.expires) one.expires = std::max(*one.expires, *one.starts + std::chrono::seconds{20});
    if (any.percent(30)) one.pre_allocation = static_cast<pre_allocation>(1 + any.below(2));
    one.unschedulable = any.percent(10);
    if (any.percent(15)) one.taints = {{.key = "paid"}};
    made.resource_claims.clear();
  } else if (what < 8) {
    reservation_affinity& one = made.reservation_affinity.emplace();
    if (any.percent(20)) one.name = pod_name(static_cast<number>(any.below(60)));
    if (any.percent(30)) one.selector = {{"app", "a" + std::to_string(any.below(4))}};
    if (any.percent(20)) one.required = {{.match_expressions = {{"zone", selector_operator::exists}}}};
    if (any.percent(50)) one.tolerations = {{"paid", toleration_operator::exists}};
    if (any.percent(40)) made.exact_reservation = {"cpu"};
    if (any.percent(20)) made.exact_reservation.insert(made.exact_reservation.begin(), "memory");
    if (!made.exact_reservation.empty() && any.percent(40)) made.reservation_affinity.reset();
  } else {
    made.ignores_reservations = true;
  }
}

}  // namespace

std::span<const chance> pod_chances() noexcept { return all_pod_chances; }

std::string pod_name(number pod) { return "p" + std::to_string(pod); }

pod_spec make_pod(const step& from, const references& to) {
  pod_spec made{.name = pod_name(from.object)};
  dice app{mix64(from.seed)};
  if (auto of = from.trait(pod_trait::other_namespace); of && !to.group) made.ns = "ns" + std::to_string(of->below(3));
  made.labels = {{"app", "a" + std::to_string(app.below(4))}};
  if (from.trait(pod_trait::own_label)) made.labels["own"] = made.name;
  add_containers(made, from);
  add_nodes(made, from);
  add_others(made, from);
  add_importance(made, from, to);
  add_devices(made, from, to);
  add_volumes(made, from);
  if (from.trait(pod_trait::pod_resources))
    made.resources = resource_list{{"cpu", 4}, {"memory", std::int64_t{4} << 30}};
  if (from.trait(pod_trait::gate)) made.scheduling_gates = {"wait"};
  if (from.trait(pod_trait::other_scheduler)) made.scheduler_name = "other";
  if (auto of = from.trait(pod_trait::controller)) {
    made.controller = {static_cast<controller_kind>(1 + of->below(3)), "c" + std::to_string(of->below(2))};
  }
  if (auto of = from.trait(pod_trait::start_time))
    made.start_time = instant{static_cast<std::int64_t>(of->below(1000)) * 1'000'000'000};
  if (auto of = from.trait(pod_trait::run_time)) made.expected_run_time = std::chrono::seconds{of->between(1, 300)};
  if (auto of = from.trait(pod_trait::deadline)) made.deadline = std::chrono::seconds{of->between(0, 400)};
  if (auto of = from.trait(pod_trait::max_wait)) made.max_wait = std::chrono::seconds{of->between(1, 100)};
  if (auto of = from.trait(pod_trait::load)) {
    made.load = {.cpu_percent = of->between(1, 100)};
    if (of->percent(50)) made.load.memory_percent = of->between(1, 100);
    if (of->percent(50)) made.load.after_scheduled = std::chrono::seconds{of->between(0, 100)};
    if (of->percent(50)) made.load.after_initialized = std::chrono::seconds{of->between(0, 100)};
  }
  if (auto of = from.trait(pod_trait::required_node)) made.required_node = node_name(static_cast<number>(of->below(8)));
  if (auto of = from.trait(pod_trait::features)) {
    for (std::size_t i = 1 + of->below(2); i-- > 0;)
      made.required_features.push_back("Feature" + std::to_string(of->below(3)));
  }
  made.group = to.group;
  if (to.group) {
    if (auto of = from.trait(pod_trait::rank)) made.rank = static_cast<std::int32_t>(of->below(6));
    if (auto of = from.trait(pod_trait::role)) made.role = of->percent(50) ? "head" : "worker";
  }
  if (to.node && from.trait(pod_trait::by_others)) {
    made.node = to.node;
    made.scheduling_gates.clear();
    made.terminating = from.trait(pod_trait::terminating).has_value();
    made.preempted = made.terminating && from.trait(pod_trait::preempted).has_value();
  } else if (to.node && from.trait(pod_trait::nominated)) {
    made.nominated_node = to.node;
  }
  made.cookie = from.object + 1u;
  if (from.room != nobody) made.held_room = room_name(from.room);
  if (from.queue != nobody) made.queue = queue_name(from.queue);
  if (from.reserve != nobody) add_reservation(made, dice{mix64(from.seed + from.reserve)});
  return made;
}

}  // namespace gangsched::soak
