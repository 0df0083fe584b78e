#include <algorithm>
#include <map>
#include <set>

#include "gangsched/model/cluster_listing.hpp"
#include "gangsched/scheduling/queue_listing.hpp"
#include "host.hpp"

/// What holds between two calls.
namespace gangsched::soak {

void host::check_states(const char* after) const {
  called<"cluster::state_of">();
  called<"cluster::node_of(pod_id)">();
  for (const auto& [at, pod] : known_.pods) {
    const node_id node = pod.node == nobody ? node_id{} : known_.nodes.at(pod.node).id;
    if (cluster_.state_of(pod.id) != pod.state || cluster_.node_of(pod.id) != node) {
      wrong("a pod is not where the decisions and the host put it", text_of(at) + " after " + after);
    }
  }
}

/// What a reservation, which has a node, has left for its owners.
amounts host::left_of(const known_pod& reservation) const {
  amounts made = reservation.needs;
  bool drawn = reservation.used_up;
  called<"cluster::reservation_of">();
  for (const auto& [at, pod] : known_.pods) {
    if (pod.node != reservation.node || cluster_.reservation_of(pod.id) != reservation.id) continue;
    drawn = drawn || !inside(cluster_).reserved.was_there(pod.id.row);
    for (std::size_t i = 0; i < made.size(); ++i) made[i] = std::max<std::int64_t>(0, made[i]) - pod.needs[i];
  }
  for (std::int64_t& one : made) one = drawn && reservation.spec.reservation->once ? 0 : std::max<std::int64_t>(0, one);
  return made;
}

void host::check_usage() const {
  std::map<number, amounts> used;
  called<"cluster::left_of">();
  for (const auto& [at, pod] : known_.pods) {
    if (pod.node == nobody) continue;
    const amounts uses = pod.spec.reservation ? left_of(pod) : pod.needs;
    for (std::size_t i = 0; i < resources.size(); ++i) {
      used[pod.node][i] += uses[i];
      if (pod.spec.reservation && cluster_.left_of(pod.id, resources[i]) != uses[i])
        wrong("what is left of a reservation is not what its owners left", pod.spec.name);
    }
  }
  called<"cluster::left_of_room">();
  for (const auto& [room, parts] : known_.rooms) {
    for (const auto& [at, held] : parts) {
      const amounts left = known_.left(room, at);
      for (std::size_t i = 0; i < resources.size(); ++i) {
        if (cluster_.left_of_room(room_name(room), known_.nodes.at(at).id, resources[i]) != left[i])
          wrong("what is left of held room is not what its owners left", known_.nodes.at(at).spec.name);
        used[at][i] += left[i];
      }
    }
  }
  called<"cluster::requested">();
  called<"cluster::allocatable">();
  for (const auto& [at, node] : known_.nodes) {
    for (std::size_t i = 0; i < resources.size(); ++i) {
      if (cluster_.requested(node.id, resources[i]) != used[at][i]) {
        wrong("usage is not what the node's pods ask for", std::string{resources[i]} + " of " + node.spec.name);
      }
      if (cluster_.allocatable(node.id, resources[i]) != node.allocatable[i])
        wrong("allocatable is not what was said", node.spec.name);
    }
    if (on_.devices || on_.numa) check_devices(at);
  }
  check_columns();
  check_queues();
}

void host::check_columns() const {
  if (!known_.has_columns) return;
  called<"cluster::column_of(node_id)">();
  for (const auto& [at, node] : known_.nodes) {
    const auto set = known_.heat.find(at);
    if (cluster_.column_of(node.id, "heat") != (set == known_.heat.end() ? 0 : set->second))
      wrong("a column is not what the host set", node.spec.name);
    if (cluster_.allocatable(node.id, "example.com/lent") != node.lent)
      wrong("an amount beside the spec is not what the host set", node.spec.name);
  }
  called<"cluster::find_scope_row">();
  called<"cluster::column_of(scope_row_id)">();
  for (int i = 0; i < 3; ++i) {
    const std::string name = "l" + std::to_string(i);
    const auto set = known_.licences.find(name);
    const std::optional<scope_row_id> row = cluster_.find_scope_row("licences", name);
    if (row.has_value() != (set != known_.licences.end())) wrong("a scope has other rows than the host made", name);
    if (row && cluster_.column_of(*row, "owned") != set->second) wrong("a column is not what the host set", name);
  }
}

namespace {

/// What all grants of one node come to.
struct held_gpu {
  int whole = 0, replicas = 0;
  std::int32_t milli = 0;
  std::int64_t memory = 0;
  std::uint32_t slices = 0;
};
struct held_devices {
  std::vector<held_gpu> gpus;
  std::map<std::string, std::int64_t> units;
  std::map<std::pair<std::string, std::string>, std::int64_t> capacities;
  std::set<std::int32_t> cpus;
};

std::int32_t slices_of(std::string_view profile) {  // of memory, on an A100
  return profile.front() == '1' ? 1 : profile.front() == '2' ? 2 : profile.front() == '7' ? 8 : 4;
}

}  // namespace

void host::check_devices(number at) const {
  const known_node& node = known_.nodes.at(at);
  held_devices held;
  held.gpus.resize(node.spec.devices.gpus.size());
  const auto add = [&](const device_grant& grant, const std::vector<device_request>& requests) {
    if (grant.kind == device_grant::form::cpus) {
      for (std::int32_t i = 0; i < 64; ++i) {
        if ((grant.cpu_mask() >> i & 1) != 0 && !held.cpus.insert(grant.milli + i).second)
          wrong("a CPU has two owners", node.spec.name);
      }
      return;
    }
    if (grant.kind == device_grant::form::memory) return;
    const std::string name{cluster_.name_of(node.id, grant)};
    if (!grant.is_gpu()) {
      const bool looks = grant.request < requests.size() && requests[grant.request].admin;
      called<"cluster::capacity_of">();
      if (grant.kind == device_grant::form::capacity)
        held.capacities[{name, std::string{cluster_.capacity_of(node.id, grant)}}] += grant.amount;
      else if (!looks)
        held.units[name] += grant.amount;
      return;
    }
    if (grant.device >= held.gpus.size()) wrong("a grant is about no device", node.spec.name);
    held_gpu& gpu = held.gpus[grant.device];
    if (grant.kind == device_grant::form::gpu) ++gpu.whole;
    if (grant.kind == device_grant::form::replica) ++gpu.replicas;
    if (grant.kind == device_grant::form::share) gpu.milli += grant.milli, gpu.memory += grant.amount;
    if (grant.kind != device_grant::form::mig) return;
    const std::uint32_t mask = ((1u << slices_of(cluster_.profile_of(grant))) - 1) << grant.mig_start;
    if ((gpu.slices & mask) != 0 || mask > 0xff) wrong("two MIG instances overlap", node.spec.name + " GPU " + name);
    gpu.slices |= mask;
  };
  called<"cluster::devices_of(pod_id)">();
  for (const auto& [other, pod] : known_.pods) {
    if (pod.node != at) continue;
    for (const device_grant& grant : cluster_.devices_of(pod.id)) add(grant, pod.spec.devices);
  }
  called<"cluster::devices_of(resource_claim_id)">();
  called<"cluster::node_of(resource_claim_id)">();
  for (const auto& [other, claim] : known_.claims) {
    if (cluster_.node_of(claim.id) != node.id) continue;
    for (const device_grant& grant : cluster_.devices_of(claim.id)) add(grant, claim.spec.devices);
  }
  const gpu_class& all = node.spec.devices.gpu;
  for (const held_gpu& gpu : held.gpus) {
    const bool parts = gpu.milli != 0 || gpu.memory != 0 || gpu.slices != 0 || gpu.replicas != 0;
    const bool kinds = gpu.slices != 0 && (gpu.milli != 0 || gpu.replicas != 0);
    if (gpu.whole > 1 || (gpu.whole == 1 && parts) || kinds) wrong("a GPU has two owners", node.spec.name);
    if (gpu.milli > 1000 || gpu.memory > all.memory_mib || gpu.replicas > all.replicas)
      wrong("more of a GPU is given than there is", node.spec.name);
  }
  for (const other_device& device : node.spec.devices.others) {
    if (!device.shared && held.units[device.id] > device.units)
      wrong("more units of a device are given than there are", node.spec.name + " " + device.id);
    for (const auto& [name, capacity] : device.capacities) {
      if (device.shared && held.capacities[{device.id, name}] > capacity.amount)
        wrong("more of a capacity is given than there is", node.spec.name);
    }
  }
}

/// Lists agree with what is told of each pod.
void host::check_listings() const {
  called<"scheduler::queue">();
  called<"scheduler::waiting">();
  called<"cluster::list">();
  const auto queue = scheduler_->queue();
  if (!queue) wrong("queue is refused", queue.error().message());
  for (const queued_entity& one : *queue) {
    if (!cluster_.contains(one.pod)) wrong("the queue lists a pod that is gone");
  }
  const auto waiting = scheduler_->waiting();
  if (!waiting) wrong("waiting is refused", waiting.error().message());
  for (const waiting_pod& one : *waiting) {
    if (cluster_.node_of(one.pod) != one.node || cluster_.attempt_of(one.pod) != one.attempt)
      wrong("the permit room lists a pod with another node or attempt than it has");
  }
  if (cluster_.list().amounts().nodes.size() != known_.nodes.size()) wrong("not every node's amounts are listed");
}

/// Every pod that waits for a node is somewhere in the queue.
void host::check_queue() const {
  check_listings();
  called<"scheduler::standing">();
  for (const auto& [at, pod] : known_.pods) {
    const result<queue_standing> stands = scheduler_->standing(pod.id);
    if (!stands) wrong("standing is refused", stands.error().message());
    if (pod.state != pod_state::pending) {
      if (stands->place != queue_place::none && !pod.in_flight && pod.group == nobody)
        wrong("a pod with a node is in the queue", text_of(at));
      continue;
    }
    const bool ours = pod.spec.scheduler_name == "default-scheduler" || on_.two_profiles;
    if (stands->place != queue_place::none || pod.terminating || pod.given_up || !ours) continue;
    const gang* policy = pod.group == nobody ? nullptr : known_.groups.at(pod.group).policy();
    if (policy != nullptr && policy->max_count &&
        known_.placed(pod.group) >= static_cast<std::uint32_t>(*policy->max_count))
      continue;
    wrong("a pod that waits for a node is nowhere in the queue", text_of(at));
  }
  called<"scheduler::pending">();
  const pending_pods pending = scheduler_->pending();
  const std::size_t in_queue = pending.active + pending.backoff + pending.unschedulable + pending.gated;
  for (const pending_pods::rejected& one : pending.by_plugin)
    if (one.pods > in_queue) wrong("a plugin rejected more pods than wait", one.plugin);
  called<"scheduler::counts">();
  const auto waiting =
      std::count_if(known_.pods.begin(), known_.pods.end(), [](const auto& one) { return one.second.waiting; });
  if (scheduler_->counts().waiting != static_cast<std::size_t>(waiting))
    wrong("another number of pods waits in the permit room");
}

/// What the host's plugin noted is taken back with each pod, exactly once. @pre there are no pods.
void host::check_own_column() {
  if (!on_.host_plugin || known_.nodes.empty()) return;
  rules_->calls_left = 0;
  const pod_id probe = must(cluster_.add_pod({.name = "probe"}), "add_pod");
  must(scheduler_->forget_cached(), "forget_cached");
  rules_->counts = true;
  static_cast<void>(must(scheduler_->explain(probe), "explain"));
  rules_->counts = false;
  must(cluster_.remove_pod(probe), "remove_pod");
  must(scheduler_->catch_up(now_), "catch_up");
  if (rules_->noted != 0) wrong("a plugin's column is not empty in the end", std::to_string(rules_->noted));
}

/// After a turn nothing is due: a host that sleeps until the deadline makes progress when it wakes.
void host::check_deadline() {
  called<"scheduler::next_deadline">();
  const std::optional<instant> due = scheduler_->next_deadline();
  if (!due || *due > now_ || on_.scheduler.timers == timer_rule::by_host) return;
  const bool more = cycle_once();
  say_permit();
  const std::optional<instant> again = scheduler_->next_deadline();
  if (again && *again <= now_ && !more)
    wrong("the next deadline is in the past", std::to_string(again->count()) + " at " + std::to_string(now_.count()));
}

}  // namespace gangsched::soak
