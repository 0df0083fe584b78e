#include <algorithm>

#include "gangsched/model/canonical_devices.hpp"
#include "gangsched/model/device_ledger.hpp"

// Claims of devices that pods share: the first pod on a node allocates them there, the last one that leaves it gives them back.
namespace gangsched::inline GANGSCHED_ABI::model {

GANGSCHED_INLINE device_wants resource_claim_record::wants() const {
  device_wants made;
  for (std::size_t i = 0; i < devices.size(); ++i)
    made.push_back({&devices[i], devices[i].count, static_cast<std::uint8_t>(i)});
  made.matches = matches;
  return made;
}

GANGSCHED_INLINE void resource_claim_record::digest_into(digest& out) const {
  canonical::text_bytes text{out};
  canonical::append(text, spec.name, ns, devices, matches, spec.most_pods);
  for (const held_device& one : spec.held_devices) {
    canonical::append(text, one.id, one.request, one.mig_start, one.places, one.bytes, one.capacities.size());
    for (const auto& [name, amount] : one.capacities) canonical::append(text, name, amount);
  }
  out.add(text.bytes);
}

/// The requests of its claims are numbered on from its own, whether they are wanted here or not.
GANGSCHED_INLINE device_wants device_ledger::wants_of(const pod_class& cls, row_t node) const {
  device_wants wants = own_wants_of(cls, node);
  std::size_t first = cls.devices.size();
  for (const resource_claim_id claim : cls.claims) {
    const resource_claim_record& record = *resource_claims.record[claim.row];
    if (resource_claims.allocated_on(claim.row) != node) {
      for (device_want one : record.wants()) {
        one.request = static_cast<std::uint8_t>(one.request + first);
        wants.push_back(one);
      }
      for (const device_match& from : record.matches) {
        device_match& one = wants.matches.emplace_back(device_match{from.attribute, from.distinct, {}, {}});
        for (const auto& [request, place] : from.alternatives)
          one.alternatives.emplace_back(static_cast<std::uint8_t>(first + request), place);
        from.requests.for_each([&](unsigned request) { one.requests.insert(static_cast<unsigned>(first) + request); });
      }
    }
    first += record.devices.size();
  }
  // Devices of claims give a kubelet no hints.
  for (numa_container& one : wants.containers) one.devices.resize(wants.size(), 0);
  return wants;
}

GANGSCHED_INLINE status device_ledger::claims_allow(const pod_class& cls, row_t node) const noexcept {
  for (const resource_claim_id claim : cls.claims) {
    const std::int32_t most = resource_claims.record[claim.row]->spec.most_pods;
    if (most != 0 && resource_claims.users[claim.row] >= static_cast<std::uint32_t>(most)) {
      return status::unschedulable("resourceclaim in use");
    }
    const row_t there = resource_claims.allocated_on(claim.row);
    if (there != no_row && there != node) return status::unschedulable("resourceclaim not available on the node");
  }
  return status::success();
}

GANGSCHED_INLINE void device_ledger::keep_claim(row_t claim, row_t node) {
  const resource_claim_record& record = *resource_claims.record[claim];
  auto made = std::make_unique<device_claim>();
  device_wants wants = record.wants();
  if (!record.spec.held_devices.empty()) {
    std::vector<std::int64_t> words = words_of_any_health(devices_of(node));
    wants = held_wants(node, std::move(wants), record.spec.held_devices);
    static_cast<void>(hold(node, wants, record.spec.held_devices, words, *made));  // but what another has
  } else if (const device_state now = devices_of(node)) {
    static_cast<void>(choose_devices(now, wants, {}, *made));
  }
  resource_claims.kept.set(claim, true);
  allocate(claim, node, std::move(made));
  log_.write({.kind = change_kind::node_updated, .facets = reads::devices | reads::claims, .row = node});
}

GANGSCHED_INLINE void device_ledger::deallocate(row_t claim) {
  const row_t node = resource_claims.node[claim];
  count_changes(*resource_claims.held[claim], node, -1);
  resource_claims.forget(claim);
  log_.write({.kind = change_kind::node_updated, .facets = reads::devices | reads::claims, .row = node});
}

/// @pre it is allocated nowhere
GANGSCHED_INLINE void device_ledger::allocate(row_t claim, row_t node, std::unique_ptr<const device_claim> devices) {
  if (resource_claims.counts(claim)) count_changes(*devices, node, +1);
  resource_claims.held.set(claim, std::move(devices));
  resource_claims.node.set(claim, node);
}

GANGSCHED_INLINE void device_ledger::count_users(const pod_class& cls, row_t node, std::int64_t sign) {
  for (const resource_claim_id claim : cls.claims) {
    const std::uint32_t users = resource_claims.users[claim.row];
    const row_t there = resource_claims.node[claim.row];
    const bool kept = resource_claims.kept[claim.row];
    if (sign > 0) {
      const bool first = users == 0 && !kept;
      if (first && there == node)
        count_changes(*resource_claims.held[claim.row], node, +1);
      else if (first && there != no_row)
        resource_claims.forget(claim.row);
      resource_claims.users.set(claim.row, users + 1);
      continue;
    }
    resource_claims.users.set(claim.row, users - 1);
    if (users != 1 || kept || there == no_row) continue;
    count_changes(*resource_claims.held[claim.row], there, -1);
    // The host said that the last pod ran elsewhere.
    if (there != node)
      log_.write({.kind = change_kind::node_updated, .facets = reads::devices | reads::claims, .row = there});
  }
}

GANGSCHED_INLINE void device_ledger::class_came(const pod_class& cls) {
  for (const resource_claim_id claim : cls.claims)
    resource_claims.classes.set(claim.row, resource_claims.classes[claim.row] + 1);
}

GANGSCHED_INLINE void device_ledger::class_left(const pod_class& cls) {
  for (const resource_claim_id claim : cls.claims)
    resource_claims.classes.set(claim.row, resource_claims.classes[claim.row] - 1);
}

GANGSCHED_INLINE void device_ledger::drop_unused(std::span<const resource_claim_id> shared) {
  for (const resource_claim_id claim : shared) {
    if (!resource_claims.counts(claim.row) && resource_claims.held[claim.row] != nullptr)
      resource_claims.forget(claim.row);
  }
}

GANGSCHED_INLINE bool device_ledger::claims_still_free(row_t pod, row_t node) const {
  device_claim had;
  const auto add = [&](const device_claim* one) {
    if (one != nullptr) had.grants.insert(had.grants.end(), one->grants.begin(), one->grants.end());
  };
  add(pods_.claim[pod]);
  for (const resource_claim_id claim : classes_[pods_.cls[pod]].claims) {
    if (!resource_claims.counts(claim.row) && resource_claims.node[claim.row] == node)
      add(resource_claims.held[claim.row]);
  }
  return had.grants.empty() || still_free(devices_of(node), had);
}

/// Its own devices, if it has none yet, and those of claims that are allocated nowhere, together; of a pod that the host says runs here
/// at least some of that. What a claim had here, before a trial took its last pod away, it has again.
GANGSCHED_INLINE bool device_ledger::claim_shared(row_t pod, row_t node, const device_rules& rules) {
  const pod_class& cls = classes_[pods_.cls[pod]];
  device_state now = devices_of(node);
  if (!now) return false;
  std::vector<std::int64_t> words(now.used, now.used + now.inventory->words());
  now.used = words.data();
  const auto take = [&](const device_claim& one) {
    for (const device_claim::change& change : one.changes) words[change.word] += static_cast<std::int64_t>(change.more);
  };
  // Part 0 is the pod's own; its claims follow.
  std::vector<bool> open(1 + cls.claims.size());
  std::vector<std::size_t> first{0, cls.devices.size()};  // requests of each part
  open[0] = pods_.claim[pod] == nullptr;
  if (!open[0]) take(*pods_.claim[pod]);
  for (std::size_t i = 0; i < cls.claims.size(); ++i) {
    const row_t row = cls.claims[i].row;
    first.push_back(first.back() + resource_claims.record[row]->devices.size());
    open[1 + i] = resource_claims.allocated_on(row) == no_row;
    const device_claim* had = resource_claims.counts(row) ? nullptr : resource_claims.held[row];
    if (had == nullptr) continue;
    if (resource_claims.node[row] == node && still_free({now.inventory, words_of_any_health(now).data()}, *had))
      open[1 + i] = false, take(*had);
    else
      resource_claims.forget(row);
  }
  const auto part_of = [&](std::uint8_t request) -> std::size_t {
    if (request == counted_request) return 0;
    return static_cast<std::size_t>(std::upper_bound(first.begin() + 1, first.end(), request) - first.begin()) - 1;
  };
  const device_wants all = wants_of(cls, node);
  const auto choose = [&](const std::vector<bool>& parts) {
    device_wants some = all;
    some.erase(
        std::remove_if(some.begin(), some.end(), [&](const device_want& one) { return !parts[part_of(one.request)]; }),
        some.end());
    if (!parts[0]) some.containers.clear();
    for (numa_container& one : some.containers) one.devices.resize(some.size());
    if (some.nothing()) return true;
    device_claim chosen;
    if (!choose_devices(now, some, rules, chosen).ok()) return false;
    std::vector<std::unique_ptr<device_claim>> made(parts.size());
    for (device_grant grant : chosen.grants) {
      const std::size_t part = grant.of_container() ? 0 : part_of(grant.request);
      if (part != 0) grant.request = static_cast<std::uint8_t>(grant.request - first[part]);
      if (made[part] == nullptr) made[part] = std::make_unique<device_claim>();
      add_grant(*now.inventory, grant, *made[part]);
    }
    for (std::size_t part = 0; part < made.size(); ++part) {
      if (made[part] == nullptr) continue;
      take(*made[part]);
      if (part != 0) {
        allocate(cls.claims[part - 1].row, node, std::move(made[part]));
        continue;
      }
      made[0]->link_points = chosen.link_points;
      pods_.claim.set(pod, std::move(made[0]));
    }
    return true;
  };
  if (choose(open)) return true;
  for (std::size_t part = 0; part < open.size(); ++part) {
    if (!open[part]) continue;
    std::vector<bool> only(open.size());
    only[part] = true;
    static_cast<void>(choose(only));
  }
  return false;
}

}  // namespace gangsched::inline GANGSCHED_ABI::model
