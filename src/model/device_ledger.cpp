#include <algorithm>
#include <bit>
#include <limits>
#include <map>

#include "gangsched/devices/numa_fit.hpp"
#include "gangsched/devices/reserved_devices.hpp"
#include "gangsched/model/canonical_devices.hpp"
#include "gangsched/model/device_ledger.hpp"
#include "gangsched/model/node_claims.hpp"

namespace gangsched::inline GANGSCHED_ABI::detail {

/// What each container wants. @p counted: the resources that the last wants are about.
GANGSCHED_INLINE void want_containers(const pod_class& cls, const device_record& devices,
                                      std::span<const resource_kind> counted, device_wants& wants) {
  const node_numa& node = devices.inventory->numa->spec;
  wants.cpu_milli = cls.request(kinds::cpu);
  if (wants.cpu_milli != 0) {
    const std::optional<cpu_binding> bound = binding_on(node, cls.bind_cpus, cls.guaranteed);
    wants.binding = bound.value_or(cls.bind_cpus);
    wants.binding_conflict = !bound;
  }
  const bool own = cls.guaranteed && (node.cpu.is_static || node.static_memory);
  if (wants.empty() && !own && wants.binding.policy == cpu_bind_policy::none) return;
  wants.guaranteed = cls.guaranteed;
  std::size_t app = 0;
  for (const container_needs& from : cls.containers) {
    const auto request = [&](resource_kind kind) -> std::int64_t {
      const auto found =
          std::find_if(from.requests.begin(), from.requests.end(), [&](const amount& one) { return one.kind == kind; });
      return found == from.requests.end() ? 0 : found->value;
    };
    numa_container& one = wants.containers.emplace_back();
    one.kind = from.kind;
    one.cpu_milli = request(kinds::cpu);
    for (const resource_kind kind : devices.memory_kinds)
      one.memory.push_back(static_cast<std::uint64_t>(request(kind)));
    one.devices.assign(wants.size(), 0);
    const std::size_t first = wants.size() - counted.size();
    for (std::size_t i = 0; i < wants.size(); ++i) {
      if (i >= first)
        one.devices[i] = static_cast<unsigned>(std::min<std::int64_t>(request(counted[i - first]), 1 << 20));
      else if (from.kind == container_kind::app && wants[i].what->container == app)
        one.devices[i] = static_cast<unsigned>(wants[i].count);
    }
    if (from.kind == container_kind::app) ++app;
  }
}

/// The CPUs and memory that the host says a pod holds, as grants; CPUs are bound by @p how. Returns what the node does not have of them.
GANGSCHED_INLINE std::optional<held_device> grants_of(const model::resource_kinds& kinds, const device_record& devices,
                                                      const held_device& held, const cpu_binding& how,
                                                      std::vector<device_grant>& out) {
  if (!devices.inventory->numa) return held;
  const numa_layout& layout = *devices.inventory->numa;
  const auto container = static_cast<std::uint8_t>(std::clamp(held.request, 0, 255));
  if (held.id == "cpu") {
    held_device absent = held;
    for (unsigned cell = 0; cell < layout.topology.cell_number(); ++cell) {
      cpu_set here;
      for (const std::uint32_t cpu : held.places)
        if (layout.topology.cells()[cell].cpus.contains(cpu)) here.insert(cpu);
      std::erase_if(absent.places, [&](std::uint32_t cpu) { return here.contains(cpu); });
      for (std::uint32_t word = 0; word < layout.cpu_words; ++word) {
        if (here.bits(word) == 0) continue;
        out.push_back({.kind = device_grant::form::cpus,
                       .request = container,
                       .device = static_cast<std::uint16_t>(cell),
                       .milli = static_cast<std::int32_t>(64 * word),
                       .mig_start = exclusive_start(how),
                       .amount = static_cast<std::int64_t>(here.bits(word))});
      }
    }
    return absent.places.empty() ? std::nullopt : std::optional{std::move(absent)};
  }
  unsigned cells = 0;
  for (const std::uint32_t id : held.places) cells |= layout.cell(static_cast<std::int32_t>(id));
  for (std::size_t kind = 0; kind < devices.memory_kinds.size(); ++kind) {
    if (kinds.name(devices.memory_kinds[kind]) != held.id || cells == 0) continue;
    out.push_back({.kind = device_grant::form::memory,
                   .request = container,
                   .device = static_cast<std::uint16_t>(cells),
                   .milli = static_cast<std::int32_t>(kind),
                   .amount = static_cast<std::int64_t>(held.bytes)});
    return std::nullopt;
  }
  return held;
}

/// What is used of the capacities of a shared device: as the host says it, else as the request does.
GANGSCHED_INLINE boost::container::small_vector<device_grant, 4> held_capacities(const interner& names,
                                                                                 const device_inventory& inventory,
                                                                                 const device_demand& demand,
                                                                                 const device_grant& of,
                                                                                 const held_device& held) {
  auto made = capacity_grants(inventory, demand, of);
  if (held.capacities.empty()) return made;
  for (device_grant& one : made) {
    const symbol name = inventory.others[of.device].capacities[static_cast<std::size_t>(one.milli)].name;
    const auto told = held.capacities.find(std::string{names.text(name)});
    one.amount = told == held.capacities.end() ? 0 : std::max<std::int64_t>(0, told->second);
  }
  return made;
}

/// Changes @p wants so that they ask for what is @p held. Of alternatives for other devices that is the first one that the devices named
/// for the request can be, or, if there is none, as many devices as are named. A request for all devices may hold any number.
GANGSCHED_INLINE void want_what_is_held(const device_record& devices, std::span<const held_device> held,
                                        device_wants& wants) {
  const device_inventory& inventory = *devices.inventory;
  for (device_want& want : wants) {
    if (!want.what->first_of.empty() && !want.what->wants_gpu()) {
      std::vector<std::uint32_t> named;
      for (const held_device& one : held) {
        const std::optional<std::uint32_t> index = devices.find(one.id);
        const bool its = one.request == want.request || (one.request < 0 && wants.size() == 1);
        if (its && index && *index >= inventory.gpu_count()) named.push_back(*index - inventory.gpu_count());
      }
      const auto agrees = [&](const device_demand& demand) {
        return (demand.all || named.size() == static_cast<std::size_t>(demand.count)) &&
               std::all_of(named.begin(), named.end(),
                           [&](std::uint32_t device) { return is_kind(inventory, demand, device); });
      };
      const std::vector<device_demand>& all = want.what->first_of;
      if (const auto is = std::find_if(all.begin(), all.end(), agrees); is != all.end())
        want.what = &*is, want.count = is->count;
      else
        want.count = std::max(want.count, static_cast<std::int32_t>(named.size()));
    }
    for (const device_demand& one : want.what->first_of) want.count = std::max(want.count, one.count);
    if (want.what->all) want.count = std::numeric_limits<std::int32_t>::max();
  }
}

/// The reverse: a grant as the host would tell of it.
GANGSCHED_INLINE held_device held_of(const model::resource_kinds& kinds, const device_record& devices,
                                     const device_grant& grant) {
  held_device made{.id = {}, .request = grant.request};
  const auto each = [&](std::uint64_t bits, const auto& what) {
    for (; bits != 0; bits &= bits - 1) made.places.push_back(what(static_cast<unsigned>(std::countr_zero(bits))));
  };
  if (grant.kind == device_grant::form::cpus) {
    made.id = "cpu";
    each(grant.cpu_mask(), [&](unsigned bit) { return static_cast<std::uint32_t>(grant.milli) + bit; });
  } else {
    made.id = kinds.name(devices.memory_kinds[static_cast<std::size_t>(grant.milli)]);
    each(grant.device, [&](unsigned bit) { return devices.inventory->numa->topology.cells()[bit].id; });
    made.bytes = static_cast<std::uint64_t>(grant.amount);
  }
  return made;
}

GANGSCHED_INLINE device_want counted_want(const device_demand& demand, std::int64_t count) {
  return {&demand, static_cast<std::int32_t>(std::min<std::int64_t>(count, 1 << 20)), counted_request};
}

}  // namespace gangsched::inline GANGSCHED_ABI::detail

namespace gangsched::inline GANGSCHED_ABI::model {

GANGSCHED_INLINE device_ledger::device_ledger(undo_log& undo, change_log& log, interner& names, node_table& nodes,
                                              pod_table& pods, class_table& classes, const resource_kinds& kinds,
                                              bool& in_hook)
    : resource_claims(undo),
      log_(log),
      names_(names),
      nodes_(nodes),
      pods_(pods),
      classes_(classes),
      kinds_(kinds),
      in_hook_(in_hook) {}

GANGSCHED_INLINE device_ledger& device_ledger::operator=(const device_ledger& from) {
  resource_claims = from.resource_claims;
  matcher_ = from.matcher_;
  expressions_ = from.expressions_;
  expressions_made_ = from.expressions_made_;
  inventories_ = from.inventories_;
  std::map<const device_inventory*, std::shared_ptr<const device_inventory>> own;
  for (auto& [bytes, kept] : inventories_) {
    const std::shared_ptr<const device_inventory> shared = kept.lock();
    if (shared == nullptr || shared->answers == nullptr) continue;
    device_inventory copy{*shared};
    copy.answers = std::make_shared<device_answers>(*shared->answers);
    kept = own[shared.get()] = std::make_shared<const device_inventory>(std::move(copy));
  }
  if (own.empty()) return *this;
  for (row_t node = 0; node < nodes_.rows.count(); ++node) {
    if (!nodes_.alive(node) || nodes_.record[node]->devices == nullptr) continue;
    const auto found = own.find(nodes_.record[node]->devices->inventory.get());
    if (found == own.end()) continue;
    auto record = std::make_unique<model::node_record>(*nodes_.record[node]);
    auto devices = std::make_shared<device_record>(*record->devices);
    devices->inventory = found->second;
    record->devices = std::move(devices);
    nodes_.record.set(node, std::move(record));
    nodes_.inventory.set(node, found->second.get());
  }
  return *this;
}

GANGSCHED_INLINE std::shared_ptr<const device_inventory> device_ledger::share(device_inventory&& inventory,
                                                                              const node_devices& said) {
  std::string key = canonical::bytes(inventory);
  for (const auto& [known, kept] : inventories_) {
    if (known != key) continue;
    if (auto there = kept.lock()) return there;
  }
  complete_inventory(inventory);
  inventory.said = std::make_shared<const node_devices>(said);
  if (matcher_.ask != nullptr) inventory.answers = std::make_shared<device_answers>();
  ask_host(inventory);
  auto made = std::make_shared<const device_inventory>(std::move(inventory));
  std::erase_if(inventories_, [](const auto& one) { return one.second.expired(); });
  inventories_.emplace_back(std::move(key), made);
  return made;
}

GANGSCHED_INLINE device_wants device_ledger::own_wants_of(const pod_class& cls, row_t node) const {
  device_wants wants;
  bool gpus = false;
  for (std::size_t i = 0; i < cls.devices.size(); ++i) {
    const device_demand& one = cls.devices[i];
    wants.push_back({&one, one.count, static_cast<std::uint8_t>(i)});
    gpus = gpus || one.wants_gpu();
  }
  wants.matches = cls.device_matches;
  const device_inventory* const inventory = nodes_.inventory[node];
  // requests for GPUs say how the counted ones are to be chosen
  const bool counts = inventory != nullptr && !gpus && !inventory->gpus.empty();
  const bool aligns = inventory != nullptr && inventory->numa && !cls.containers.empty();
  if (!counts && !aligns) return wants;
  const device_record& devices = *nodes_.record[node]->devices;
  boost::container::small_vector<resource_kind, 4> counted;
  for (const auto& [kind, demand] : devices.counted) {
    const std::int64_t count = counts ? cls.request(kind) : 0;
    if (count <= 0) continue;
    wants.push_back(detail::counted_want(demand, count));
    counted.push_back(kind);
  }
  if (aligns) detail::want_containers(cls, devices, {counted.data(), counted.size()}, wants);
  return wants;
}

/// @pre the node has GPUs, and the pod at most one request, not for GPUs
GANGSCHED_INLINE std::optional<device_want> device_ledger::only_counted_want(const pod_class& cls, row_t node) const {
  std::optional<device_want> only;
  if (!cls.devices.empty()) only = device_want{&cls.devices.front(), cls.devices.front().count, 0};
  for (const auto& [kind, demand] : nodes_.record[node]->devices->counted) {
    const std::int64_t count = cls.request(kind);
    if (count <= 0) continue;
    if (only) return std::nullopt;
    only = detail::counted_want(demand, count);
  }
  return only;
}

GANGSCHED_INLINE bool device_ledger::claim_devices(row_t pod, row_t node, const device_rules& rules) {
  const pod_class& cls = classes_[pods_.cls[pod]];
  if (!cls.claims.empty()) return claim_shared(pod, node, rules);
  const auto choose = [&](const auto& wants) {
    auto made = pods_.claim.make();
    const bool found = choose_devices(devices_of(node), wants, rules, *made).ok();
    if (found)
      pods_.claim.set(pod, std::move(made));
    else
      pods_.claim.give_back(std::move(made));
    return found;
  };
  if (const std::optional<device_want> only = only_want(cls, node)) return choose(*only);
  const device_wants wants = wants_of(cls, node);
  return wants.nothing() || choose(wants);
}

GANGSCHED_INLINE bool device_ledger::claim_within(row_t pod, row_t node, const device_claim& held) {
  const pod_class& cls = classes_[pods_.cls[pod]];
  const device_wants wants = wants_of(cls, node);
  if (!cls.claims.empty() || wants.nothing()) return false;
  const std::vector<std::int64_t> words = only_what_is_held(devices_of(node), held);
  auto made = std::make_unique<device_claim>();
  if (!choose_devices({nodes_.inventory[node], words.data()}, wants, {}, *made).ok()) return false;
  pods_.claim.set(pod, std::move(made));
  return true;
}

GANGSCHED_INLINE void device_ledger::close_reservation(row_t pod, row_t node, const device_claim* held,
                                                       std::span<const device_claim* const> taken) {
  auto made = std::make_unique<device_claim>();
  if (held != nullptr) {
    *made = what_is_left(devices_of(node), *held, taken);
    made->absent = held->absent;  // what is not there cannot be drawn
  }
  pods_.claim.set(pod, std::move(made));
  count_devices(pod, node, +1);
}

GANGSCHED_INLINE bool device_ledger::claim_anew(row_t pod, row_t node, const device_rules& rules) {
  drop_unused(classes_[pods_.cls[pod]].claims);
  return claim_devices(pod, node, rules);
}

GANGSCHED_INLINE void device_ledger::count_changes(const device_claim& claim, row_t node, std::int64_t sign) {
  for (const device_claim::change& one : claim.changes) {
    const auto used = static_cast<std::uint64_t>(nodes_.devices.at(node, one.word));
    nodes_.devices.set(node, one.word, static_cast<std::int64_t>(sign > 0 ? used + one.more : used - one.more));
  }
}

GANGSCHED_INLINE void device_ledger::count_devices(row_t pod, row_t node, std::int64_t sign) {
  if (const device_claim* claim = pods_.claim[pod]; claim != nullptr) count_changes(*claim, node, sign);
}

GANGSCHED_INLINE void device_ledger::clear_devices(row_t node) {
  const device_record* const devices = nodes_.record[node]->devices.get();
  for (std::uint32_t word = 0; devices != nullptr && word < devices->inventory->words(); ++word) {
    if (nodes_.devices.at(node, word) != 0) nodes_.devices.set(node, word, 0);
  }
}

GANGSCHED_INLINE void device_ledger::mark_devices(row_t node) {
  const device_record* const devices = nodes_.record[node]->devices.get();
  if (devices == nullptr) return;
  const device_inventory& inventory = *devices->inventory;
  nodes_.devices.grow(nodes_.rows.count(), inventory.words());
  for (std::uint32_t i = 0; i < devices->unhealthy.size(); ++i) {
    const std::uint32_t word = i < inventory.gpu_count() ? 2 * i : inventory.first_other() + i - inventory.gpu_count();
    if (devices->unhealthy[i]) nodes_.devices.set(node, word, static_cast<std::int64_t>(gpu_word::unhealthy_bit));
  }
}

/// @p wants as they ask for what is @p held
GANGSCHED_INLINE device_wants device_ledger::held_wants(row_t node, device_wants wants,
                                                        std::span<const held_device> held) const {
  if (const device_record* const devices = nodes_.record[node]->devices.get())
    detail::want_what_is_held(*devices, held, wants);
  return wants;
}

/// Adds to @p made what of @p held can be had for @p wants, with what is in use of the node then, whatever its health (@p words). What the
/// node does not have is held as absent. Returns what it has and cannot give: another pod has it, or there is too little.
GANGSCHED_INLINE std::vector<held_device> device_ledger::hold(row_t node, device_wants& wants,
                                                              std::span<const held_device> held,
                                                              std::vector<std::int64_t>& words,
                                                              device_claim& made) const {
  std::vector<held_device> refused;
  if (!nodes_.record[node]->devices) {
    made.absent.insert(made.absent.end(), held.begin(), held.end());
    return refused;
  }
  const device_record& devices = *nodes_.record[node]->devices;
  const device_state now{devices.inventory.get(), words.data()};
  const auto take = [&](const device_grant& grant) {
    if (!is_free(now, grant)) return false;
    std::size_t next = made.changes.size();
    for (add_grant(*now.inventory, grant, made); next < made.changes.size(); ++next) {
      words[made.changes[next].word] += static_cast<std::int64_t>(made.changes[next].more);
    }
    return true;
  };
  std::vector<device_grant> own;
  for (const held_device& one : held) {
    if (!one.places.empty()) {
      if (auto absent = detail::grants_of(kinds_, devices, one, wants.binding, own))
        made.absent.push_back(std::move(*absent));
      continue;
    }
    const std::optional<std::uint32_t> index = devices.find(one.id);
    if (!index) {
      made.absent.push_back(one);
      continue;
    }
    const bool gpu = *index < now.gpu_count();
    const std::uint32_t device = gpu ? *index : *index - now.gpu_count();
    const auto is_such = [&](const device_demand& demand) {
      return gpu ? (demand.kind == device_demand::form::mig) == (one.mig_start >= 0)
                 : demand.device_class == now.inventory->others[device].device_class;
    };
    const auto hold_for = [&](device_want& want, bool such) {
      if (want.what->wants_gpu() != gpu || want.count <= 0 || (one.request >= 0 && want.request != one.request))
        return false;
      const auto hold_as = [&](const device_demand& demand) {
        const device_grant grant = grant_of(*now.inventory, demand, want.request, device, one.mig_start);
        boost::container::small_vector<device_grant, 4> parts;
        if (!gpu) parts = detail::held_capacities(names_, *now.inventory, demand, grant, one);
        if (!std::all_of(parts.begin(), parts.end(), [&](const device_grant& part) { return is_free(now, part); }) ||
            !take(grant))
          return false;
        for (const device_grant& part : parts) static_cast<void>(take(part));
        return true;
      };
      // Of several forms of a GPU it is not said which one: the first that there is room for, so that no other pod is given it.
      const auto hold_as_alternative = [&](const device_demand& demand) { return is_such(demand) && hold_as(demand); };
      const std::vector<device_demand>& alternatives = want.what->first_of;
      const bool is_held = alternatives.empty()
                               ? (!such || is_such(*want.what)) && hold_as(*want.what)
                               : std::any_of(alternatives.begin(), alternatives.end(), hold_as_alternative);
      if (is_held) --want.count;
      return is_held;
    };
    // Where it is not said for which request: one for such devices, though those before it lack theirs, and else any.
    const auto is_held = [&](bool such) {
      return std::any_of(wants.begin(), wants.end(), [&](device_want& want) { return hold_for(want, such); });
    };
    if (!is_held(true) && !is_held(false)) refused.push_back(one);
  }
  for (const device_grant& one : own)
    if (!take(one)) refused.push_back(detail::held_of(kinds_, devices, one));
  return refused;
}

GANGSCHED_INLINE std::unique_ptr<device_claim> device_ledger::held_alone(row_t pod, row_t node,
                                                                         std::span<const held_device> held) const {
  const device_inventory* const inventory = nodes_.inventory[node];
  std::vector<std::int64_t> words(inventory == nullptr ? 0 : inventory->words());
  device_wants wants = held_wants(node, own_wants_of(classes_[pods_.cls[pod]], node), held);
  auto made = std::make_unique<device_claim>();
  for (held_device& one : hold(node, wants, held, words, *made)) made->absent.push_back(std::move(one));
  return made;
}

/// What another pod has is left out: the pod runs there as the host says, and no other pod may lose devices.
GANGSCHED_INLINE void device_ledger::claim_held(row_t pod, row_t node, std::span<const held_device> held) {
  const pod_class& cls = classes_[pods_.cls[pod]];
  if (held.empty() && cls.claims.empty()) return;
  std::vector<std::int64_t> words = words_of_any_health(devices_of(node));
  const auto said = [&](const device_wants& all, std::span<const held_device> is_held) {
    device_wants wants = held_wants(node, all, is_held);
    auto made = std::make_unique<device_claim>();
    static_cast<void>(hold(node, wants, is_held, words, *made));
    return made;
  };
  if (!held.empty()) {
    pods_.claim.set(pod, said(own_wants_of(cls, node), held));
  } else if (const device_claim* const own = pods_.claim[pod]; own != nullptr && !words.empty()) {  // which it keeps
    for (const device_claim::change& one : own->changes) words[one.word] += static_cast<std::int64_t>(one.more);
  }
  for (const resource_claim_id claim : cls.claims) {
    const resource_claim_record& record = *resource_claims.record[claim.row];
    if (resource_claims.held[claim.row] != nullptr || record.spec.held_devices.empty()) continue;
    auto made = said(record.wants(), record.spec.held_devices);
    if (!made->grants.empty() || !made->absent.empty()) allocate(claim.row, node, std::move(made));
  }
}

GANGSCHED_INLINE std::vector<held_device> device_ledger::told(const device_claim& claim, row_t node) const {
  std::vector<held_device> held;
  const device_record* const devices = nodes_.record[node]->devices.get();  // or null: nothing is granted then
  for (const device_grant& grant : claim.grants) {
    if (grant.kind == device_grant::form::capacity) {
      const symbol name =
          devices->inventory->others[grant.device].capacities[static_cast<std::size_t>(grant.milli)].name;
      held.back().capacities.emplace(names_.text(name), grant.amount);  // of the device before it
      continue;
    }
    if (grant.of_container()) {
      held.push_back(detail::held_of(kinds_, *devices, grant));
      continue;
    }
    const bool other = grant.kind == device_grant::form::other;
    held.push_back({.id = devices->ids[other ? devices->inventory->gpu_count() + grant.device : grant.device],
                    .request = grant.request == counted_request ? -1 : grant.request,
                    .mig_start = grant.kind == device_grant::form::mig ? grant.mig_start : -1});
  }
  held.insert(held.end(), claim.absent.begin(), claim.absent.end());
  return held;
}

GANGSCHED_INLINE node_claims device_ledger::take_claims(row_t node) {
  node_claims all;
  for (row_t pod = nodes_.first_pod[node]; pod != no_row; pod = pods_.next_on_node[pod]) {
    pod_devices& one = all.pods.emplace_back(pod_devices{pod, std::nullopt});
    if (pods_.claim[pod] == nullptr) continue;
    one.held = told(*pods_.claim[pod], node);
    one.granted = one.held->size() - pods_.claim[pod]->absent.size();
    pods_.claim.set(pod, nullptr);
  }
  std::sort(all.pods.begin(), all.pods.end(), [](const pod_devices& a, const pod_devices& b) { return a.pod < b.pod; });
  for (row_t claim = 0; claim < resource_claims.rows.count(); ++claim) {
    if (resource_claims.node[claim] != node) continue;
    const device_claim& its = *resource_claims.held[claim];
    std::vector<held_device> held = told(its, node);
    const std::size_t granted = held.size() - its.absent.size();
    all.shared.push_back({claim, std::move(held), resource_claims.kept[claim], granted});
    resource_claims.forget(claim);
  }
  clear_devices(node);
  return all;
}

/// Pods and claims that say what they had come first, so that the others choose among the rest; and of these first what they had before,
/// so that what was absent, and is there again, is taken from nobody who got it in between.
GANGSCHED_INLINE void device_ledger::give_claims(row_t node, const node_claims& all) {
  mark_devices(node);
  const bool some = nodes_.record[node]->devices != nullptr;
  struct holding {
    device_wants wants;
    std::span<const held_device> held;
    std::size_t granted;
    bool counts;  // else nobody uses the claim now: it has no right to what is not free
    std::unique_ptr<device_claim> made = std::make_unique<device_claim>();
  };
  std::vector<holding> pods, shared;
  for (const pod_devices& one : all.pods) {
    if (!one.held || (!some && one.held->empty())) continue;
    pods.push_back(
        {held_wants(node, own_wants_of(classes_[pods_.cls[one.pod]], node), *one.held), *one.held, one.granted, true});
  }
  for (const node_claims::claim& one : all.shared) {
    resource_claims.kept.set(one.row, one.kept);
    shared.push_back({held_wants(node, resource_claims.record[one.row]->wants(), one.held), one.held, one.granted,
                      resource_claims.counts(one.row)});
  }
  std::vector<std::int64_t> used = words_of_any_health(devices_of(node));
  for (const bool granted : {true, false}) {
    for (std::vector<holding>* const holders : {&pods, &shared}) {
      for (holding& one : *holders) {
        if (!one.counts) continue;
        const auto part = granted ? one.held.first(one.granted) : one.held.subspan(one.granted);
        for (held_device& refused : hold(node, one.wants, part, used, *one.made))
          one.made->absent.push_back(std::move(refused));
      }
    }
  }
  for (holding& one : shared) {
    if (one.counts) continue;
    std::vector<std::int64_t> free = used;
    static_cast<void>(hold(node, one.wants, one.held, free, *one.made));
  }
  std::size_t next = 0;
  for (const pod_devices& one : all.pods) {
    if (!one.held || (!some && one.held->empty())) continue;
    pods_.claim.set(one.pod, std::move(pods[next++].made));
    count_devices(one.pod, node, +1);
  }
  for (std::size_t i = 0; i < shared.size(); ++i) {
    if (all.shared[i].kept || !shared[i].made->grants.empty() || !shared[i].made->absent.empty())
      allocate(all.shared[i].row, node, std::move(shared[i].made));
  }
}

GANGSCHED_INLINE void device_ledger::claim_rest(row_t node, const node_claims& all) {
  if (nodes_.record[node]->devices == nullptr) return;
  for (const pod_devices& one : all.pods) {
    if (one.held) continue;
    static_cast<void>(claim_devices(one.pod, node));
    count_devices(one.pod, node, +1);
  }
}

}  // namespace gangsched::inline GANGSCHED_ABI::model
