#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <deque>
#include <limits>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "gangsched/core/is_among.hpp"
#include "gangsched/kube/volume_binder.hpp"
#include "gangsched/model/label_selector.hpp"
#include "gangsched/src/kube/core/storage_classes.hpp"
#include "gangsched/src/kube/volumes/reach.hpp"
#include "gangsched/src/kube/volumes/volumes.hpp"

namespace gangsched::inline GANGSCHED_ABI::kube {
namespace detail {
namespace {

constexpr std::size_t no_volume = static_cast<std::size_t>(-1);
using optional_names = std::optional<std::vector<std::string>>;

/// What claims that are alike have in common, as text.
std::string shape_of(const volume_claim_spec& spec, std::string_view storage_class) {
  std::string made =
      fmt::format("{}\n{}\n{}\n{}\n", storage_class, spec.size.to_string(), spec.block, spec.attributes_class);
  std::vector<std::string> modes = spec.access_modes;
  std::ranges::sort(modes);
  for (const std::string& mode : modes) made += mode + "\n";
  if (!spec.selector) return made;
  for (const auto& [key, value] : spec.selector->match_labels) made += fmt::format("{}={}\n", key, value);
  for (const selector_requirement& one : spec.selector->match_expressions) {
    made += fmt::format("{} {}\n", one.key, static_cast<int>(one.op));
    for (const std::string& value : one.values) made += value + "\n";
  }
  return made;
}

bool has_modes(const volume_manifest& volume, const volume_claim_spec& claim) {
  return std::ranges::all_of(claim.access_modes,
                             [&](const std::string& mode) { return is_among(mode, volume.access_modes); });
}

}  // namespace
}  // namespace detail

class volume_binder::impl {
 public:
  explicit impl(const manifests& of) : of_(&of), finder_(of.nodes), volumes_(of.volumes), taken_(of.volumes.size()) {
    for (std::uint32_t i = 0; i < of.nodes.size(); ++i) {
      nodes_.emplace(of.nodes[i].spec.name, i);
      migrated_.insert(of.nodes[i].migrated_plugins.begin(), of.nodes[i].migrated_plugins.end());
    }
    for (std::size_t i = 0; i < volumes_.size(); ++i) by_name_.emplace(volumes_[i].name, i);
    for (const storage_class_manifest& one : of.storage_classes) classes_.emplace(one.name, &one);
    default_ = detail::default_class(of);
    for (const storage_capacity_manifest& one : of.storage_capacities)
      if (one.node_topology) rooms_.push_back({&one});
    bounded_.insert(of.capacity_drivers.begin(), of.capacity_drivers.end());
    reach_.resize(volumes_.size());
    for (std::size_t i = 0; i < volumes_.size(); ++i)
      if (const auto& by = volumes_[i].claim) reserving_.emplace(std::pair{by->ns, by->name}, i);
    for (const volume_claim_manifest& one : of.volume_claims) note(one);
    for (const pod_manifest& pod : of.pods)
      for (const pod_volume& volume : pod.volumes)
        if (claim* const used = find(pod, volume)) ++used->users;
    // Those that say which volume they have go first: no other claim gets it.
    for (claim& one : claims_) settle_named(one);
    for (claim& one : claims_) settle_reserved(one);
    for (claim& one : claims_) settle_immediate(one);
    // Pods that run have their volumes.
    for (const pod_manifest& pod : of.pods)
      if (!pod.node.empty() && !pod.volumes.empty()) static_cast<void>(reserve(pod, pod.node));
  }

  void add(const pod_manifest& pod) {
    for (const pod_volume& volume : pod.volumes) {
      // That of an earlier pod of its name went with that pod.
      if (volume.ephemeral || find(pod, volume) == nullptr) make_claim(pod, volume);
      if (claim* const used = find(pod, volume)) ++used->users;
    }
  }

  [[nodiscard]] pod_volumes needs(const pod_manifest& pod) const {
    pod_volumes made;
    made.disks = pod.spec.volumes.disks;
    detail::node_set where;
    std::vector<const claim*> unbound;
    const bool runs = !pod.node.empty();
    for (const pod_volume& volume : pod.volumes) {
      const std::string name = claim_name(pod, volume);
      if (name.empty()) {
        attach(volume.in_tree, volume.driver, volume.id, made);
        continue;
      }
      const claim* const used = find(pod, volume);
      if (made.claim_problem.empty() && !runs) made.claim_problem = problem(pod, volume, name, used);
      if (used == nullptr) continue;
      if (is_among("ReadWriteOncePod", used->of->spec.access_modes)) made.exclusive_claims.push_back(name);
      if (used->is == fate::bound) where = detail::both(where, add_bound(*used, made));
      if (used->is == fate::waits) {
        if (const storage_class_manifest* const its = find_class(*used); its != nullptr && its->provisions())
          attach_of_class(*its, *used, made);
        unbound.push_back(used);
      }
      if (used->is == fate::made && used->by != nullptr) {
        attach_of_class(*used->by, *used, made);
        where = detail::both(where, used->where);
      }
      made.unbound_claims = made.unbound_claims || (used->is == fate::immediate && !runs);
    }
    if (runs) {
      made.zones.clear();
      return made;
    }
    if (where != nullptr) made.nodes = names_of(where);
    if (!unbound.empty() && made.claim_problem.empty() && !made.unbound_claims) made.bindable_nodes = bindable(unbound);
    return made;
  }

  bool reserve(const pod_manifest& pod, std::string_view node) {
    reserved_.erase({pod.spec.ns, pod.spec.name});
    const auto found = nodes_.find(node);
    if (found == nodes_.end()) return true;
    const std::vector<claim*> unbound = unbound_of(pod);
    if (unbound.empty()) return true;
    const std::vector<const claim*> asked{unbound.begin(), unbound.end()};
    std::vector<std::size_t> chosen;
    if (!choose(asked, found->second, chosen)) return false;
    // A claim fits by itself: its room counts as it was before the pod's other claims took theirs, if there is no other.
    std::vector<room*> alone(unbound.size());
    for (std::size_t i = 0; i < unbound.size(); ++i)
      if (chosen[i] == detail::no_volume) alone[i] = room_for(*unbound[i], found->second);
    std::vector<std::size_t>& noted = reserved_[{pod.spec.ns, pod.spec.name}];
    for (std::size_t i = 0; i < unbound.size(); ++i) {
      claim& one = *unbound[i];
      noted.push_back(static_cast<std::size_t>(&one - claims_.data()));
      if (chosen[i] != detail::no_volume)
        bind(one, chosen[i]), ++version_;
      else
        provision(one, found->second, alone[i]);
      if (one.users > 1) ++version_;
    }
    return true;
  }

  void unreserve(const pod_manifest& pod) {
    const auto noted = reserved_.find({pod.spec.ns, pod.spec.name});
    if (noted == reserved_.end()) return;
    for (const std::size_t index : noted->second) {
      claim& one = claims_[index];
      if (one.volume != detail::no_volume) taken_[one.volume] = false;
      if (one.made_from != nullptr && one.made_from->of->capacity) one.made_from->used -= size_of(one);
      one.is = fate::waits, one.volume = detail::no_volume, one.by = nullptr, one.where = nullptr,
      one.made_from = nullptr;
    }
    reserved_.erase(noted);
    ++version_;
  }

  [[nodiscard]] std::vector<std::string> presumed_classes() const {
    std::set<std::string> made;
    for (const claim& one : claims_)
      if (one.is == fate::made && one.by == nullptr) made.insert(one.storage_class);
    return {made.begin(), made.end()};
  }
  [[nodiscard]] std::uint64_t version() const noexcept { return version_; }
  [[nodiscard]] bool may_change(const pod_manifest& pod) const {
    return std::ranges::any_of(pod.volumes, [&](const pod_volume& volume) {
      const claim* const used = find(pod, volume);
      return used != nullptr && used->is == fate::waits;
    });
  }

 private:
  __extension__ using wide = __int128;  // sums of sizes
  enum class fate : std::uint8_t {
    immediate,  ///< it has no volume, and does not wait for a pod to get one
    waits,      ///< for its first consumer
    bound,      ///< to one of the files
    made        ///< its volume was provisioned
  };
  /// What a driver says of the room that it has, and how much of it volumes have taken that were made since.
  struct room {
    const storage_capacity_manifest* of;
    wide used = 0;                     // more than there was, if the claims of one pod fit by themselves only
    detail::node_set where = nullptr;  // once it is asked for
  };
  struct claim {
    const volume_claim_manifest* of;
    std::string storage_class;
    fate is = fate::immediate;
    std::size_t volume = detail::no_volume;
    const storage_class_manifest* by = nullptr;  ///< of what was provisioned; null: the class is presumed
    detail::node_set where = nullptr;            ///< of what was provisioned
    room* made_from = nullptr;                   ///< of what was provisioned where a driver says how much there is
    std::size_t users = 0;
  };

  [[nodiscard]] claim* find(const pod_manifest& pod, const pod_volume& volume) {
    const auto found = by_claim_.find({pod.spec.ns, claim_name(pod, volume)});
    return found == by_claim_.end() ? nullptr : &claims_[found->second];
  }
  [[nodiscard]] const claim* find(const pod_manifest& pod, const pod_volume& volume) const {
    return const_cast<impl*>(this)->find(pod, volume);
  }

  [[nodiscard]] std::string class_of(const volume_claim_manifest& one) const { return detail::class_of(one, default_); }
  [[nodiscard]] const storage_class_manifest* find_class(const claim& of) const {
    const auto found = classes_.find(of.storage_class);
    return found == classes_.end() ? nullptr : found->second;
  }

  void note(const volume_claim_manifest& one) {
    by_claim_.insert_or_assign(std::pair<std::string_view, std::string_view>{one.ns, one.name}, claims_.size());
    claims_.push_back({.of = &one, .storage_class = class_of(one)});
  }
  void make_claim(const pod_manifest& pod, const pod_volume& volume) {
    auto made = detail::claim_made_of(pod, volume);
    if (!made) return;
    if (volume.ephemeral) made->uid = renewed_claim;  // no volume is bound to it yet
    note(made_.emplace_back(*std::move(made)));
    claim& one = claims_.back();
    settle_named(one);
    settle_reserved(one);
    settle_immediate(one);
    if (one.is == fate::bound) ++version_;  // it took a volume that others may have wanted
  }

  // --- what the controllers of volumes do before any pod is placed

  void bind(claim& one, std::size_t volume) {
    one.is = fate::bound, one.volume = volume;
    taken_[volume] = true;
  }

  [[nodiscard]] static bool is_for(const volume_manifest& volume, const volume_claim_manifest& claim) {
    return volume.claim && volume.claim->ns == claim.ns && volume.claim->name == claim.name &&
           (volume.claim->uid.empty() || claim.uid.empty() || volume.claim->uid == claim.uid);
  }
  /// Size, mode and class of attributes, which count for a volume that is reserved for the claim, too.
  [[nodiscard]] static bool is_large_enough(const volume_manifest& volume, const volume_claim_manifest& claim) {
    return volume.capacity >= claim.spec.size && volume.block == claim.spec.block &&
           volume.attributes_class == claim.spec.attributes_class && !volume.terminating;
  }
  /// FindMatchingVolume, wherever the pod is.
  [[nodiscard]] bool serves(std::size_t index, const claim& one) const {
    const volume_manifest& volume = volumes_[index];
    return !taken_[index] && !volume.claim && volume.available && volume.storage_class == one.storage_class &&
           is_large_enough(volume, *one.of) && detail::has_modes(volume, one.of->spec) &&
           (!one.of->spec.selector || matches(*one.of->spec.selector, volume.labels));
  }

  void settle_named(claim& one) {
    const std::string& wanted = one.of->spec.volume;
    const storage_class_manifest* const its = find_class(one);
    one.is = its != nullptr && its->waits_for_consumer && wanted.empty() ? fate::waits : fate::immediate;
    if (wanted.empty()) return;
    const auto found = by_name_.find(wanted);
    if (one.of->phase == claim_phase::bound) {
      one.is = fate::bound;
      if (found != by_name_.end()) bind(one, found->second);
    } else if (found != by_name_.end()) {
      const volume_manifest& volume = volumes_[found->second];
      const bool free = volume.claim ? is_for(volume, *one.of) : volume.available && !taken_[found->second];
      if (free && is_large_enough(volume, *one.of) && volume.storage_class == one.storage_class &&
          detail::has_modes(volume, one.of->spec))
        bind(one, found->second);
    }
  }

  /// A volume whose claimRef names the claim.
  void settle_reserved(claim& one) {
    if (one.is == fate::bound || !one.of->spec.volume.empty()) return;
    const auto [first, last] = reserving_.equal_range({one.of->ns, one.of->name});
    for (auto found = first; found != last; ++found) {
      if (!is_for(volumes_[found->second], *one.of) || !is_large_enough(volumes_[found->second], *one.of)) continue;
      return bind(one, found->second);
    }
  }

  void settle_immediate(claim& one) {
    if (one.is != fate::immediate || !one.of->spec.volume.empty() || one.of->phase == claim_phase::lost) return;
    std::size_t best = detail::no_volume;
    const auto rank = [&](std::size_t i) { return std::tuple{volumes_[i].access_modes.size(), volumes_[i].capacity}; };
    bool known_class = false;
    for (const std::size_t i : of_class(one.storage_class)) {
      known_class = true;
      if (serves(i, one) && (best == detail::no_volume || rank(i) < rank(best))) best = i;
    }
    if (best != detail::no_volume) return bind(one, best);
    const storage_class_manifest* const its = find_class(one);
    // A claim that its provisioner has not served yet, whatever the reason, stays as it is.
    if (its != nullptr && its->provisions() && one.of->phase == claim_phase::none) {
      one.is = fate::made, one.by = its;
      if (!its->allowed_topologies.empty()) one.where = allowed(*its);
    }
    const std::optional<std::string>& said = one.of->spec.storage_class;
    if (classes_.empty() && (!said || (!said->empty() && !known_class))) one.is = fate::made;  // presumed
  }

  // --- which volumes a claim can have where

  [[nodiscard]] std::span<const std::size_t> of_class(const std::string& name) const {
    if (by_class_.empty())
      for (std::size_t i = 0; i < volumes_.size(); ++i) by_class_[volumes_[i].storage_class].push_back(i);
    const auto found = by_class_.find(name);
    return found == by_class_.end() ? std::span<const std::size_t>{} : std::span{found->second};
  }
  [[nodiscard]] const detail::node_set& allowed(const storage_class_manifest& of) const {
    const auto [found, fresh] = allowed_.try_emplace(&of);
    if (fresh) found->second = of.allowed_topologies.empty() ? nullptr : finder_.matching(of.allowed_topologies);
    return found->second;
  }
  [[nodiscard]] const detail::node_set& reach_of(std::size_t volume) const {
    std::optional<detail::node_set>& known = reach_[volume];
    if (!known) known = volumes_[volume].nodes ? finder_.matching(*volumes_[volume].nodes) : nullptr;
    return *known;
  }
  [[nodiscard]] std::optional<std::uint32_t> find_node(std::string_view name) const {
    const auto found = nodes_.find(name);
    return found == nodes_.end() ? std::nullopt : std::optional{found->second};
  }
  [[nodiscard]] bool can_provision(const claim& one, std::uint32_t node) const {
    const storage_class_manifest* const its = find_class(one);
    if (its == nullptr || !its->provisions()) return false;
    if (!one.of->selected_node.empty() && find_node(one.of->selected_node) != node) return false;
    return detail::is_in(allowed(*its), node) && (!is_bounded(one, *its) || room_for(one, node) != nullptr);
  }

  // --- hasEnoughCapacity of VolumeBinding

  [[nodiscard]] static std::int64_t size_of(const claim& one) {
    std::int64_t made = 0;
    return one.of->spec.size.value(made) ? made : std::numeric_limits<std::int64_t>::max();
  }
  /// Whether the driver makes a volume for the claim only where a capacity has room for it.
  [[nodiscard]] bool is_bounded(const claim& one, const storage_class_manifest& its) const {
    return bounded_.contains(its.provisioner) && size_of(one) > 0;
  }
  /// What was made since is no room any more, as its driver would say next.
  [[nodiscard]] static bool has_room(const room& in, const claim& one) {
    const auto value = [](const std::optional<quantity>& of) {
      std::int64_t made = 0;
      return !of ? std::nullopt : std::optional{of->value(made) ? made : std::numeric_limits<std::int64_t>::max()};
    };
    const auto capacity = value(in.of->capacity), most = value(in.of->maximum_volume_size);
    const auto limit = most ? most : capacity;
    if (!limit || in.of->storage_class != one.storage_class) return false;
    return size_of(one) <= (in.used > 0 && capacity ? std::min<wide>(*limit, *capacity - in.used) : *limit);
  }
  [[nodiscard]] const detail::node_set& nodes_of(room& one) const {
    if (one.where == nullptr) one.where = finder_.matching(*one.of->node_topology);
    return one.where;
  }
  /// The rooms of a class, in order: all of them, and those that are about a node.
  struct rooms_of_class {
    std::vector<std::uint32_t> all;
    std::vector<std::vector<std::uint32_t>> by_node;
  };
  [[nodiscard]] const rooms_of_class& rooms_for(const claim& one) const {
    const auto [made, fresh] = rooms_by_class_.try_emplace(one.storage_class);
    if (!fresh) return made->second;
    made->second.by_node.resize(of_->nodes.size());
    for (std::uint32_t i = 0; i < rooms_.size(); ++i) {
      if (rooms_[i].of->storage_class != one.storage_class) continue;
      made->second.all.push_back(i);
      for (const std::uint32_t node : *nodes_of(rooms_[i])) made->second.by_node[node].push_back(i);
    }
    return made->second;
  }
  [[nodiscard]] room* room_for(const claim& one, std::uint32_t node) const {
    for (const std::uint32_t i : rooms_for(one).by_node[node])
      if (has_room(rooms_[i], one)) return &rooms_[i];
    return nullptr;
  }
  [[nodiscard]] detail::node_set roomy(const claim& one) const {
    std::vector<std::uint32_t> found;
    for (const std::uint32_t i : rooms_for(one).all)
      if (room& in = rooms_[i]; has_room(in, one))
        found.insert(found.end(), nodes_of(in)->begin(), nodes_of(in)->end());
    std::ranges::sort(found);
    found.erase(std::ranges::unique(found).begin(), found.end());
    return std::make_shared<const std::vector<std::uint32_t>>(std::move(found));
  }

  /// Claims that wait for their first consumer, in the order in which they choose: the smallest first.
  [[nodiscard]] std::vector<claim*> unbound_of(const pod_manifest& pod) {
    std::vector<claim*> made;
    for (const pod_volume& volume : pod.volumes) {
      claim* const used = find(pod, volume);
      if (used != nullptr && used->is == fate::waits && !is_among(used, made)) made.push_back(used);
    }
    return made;
  }
  static void by_size(std::vector<const claim*>& all) {
    std::ranges::stable_sort(all, {}, [](const claim* one) { return one->of->spec.size; });
  }

  /// The volume that each claim gets on the node, or none where one is provisioned. False if a claim gets neither.
  [[nodiscard]] bool choose(const std::vector<const claim*>& all, std::uint32_t node,
                            std::vector<std::size_t>& chosen) const {
    std::vector<const claim*> in_turn = all;
    by_size(in_turn);
    chosen.assign(all.size(), detail::no_volume);
    for (const claim* const one : in_turn) {
      std::size_t best = detail::no_volume;
      if (one->of->selected_node.empty()) {
        for (const std::size_t i : of_class(one->storage_class)) {
          if (is_among(i, chosen) || !serves(i, *one) || !detail::is_in(reach_of(i), node)) continue;
          if (best == detail::no_volume || volumes_[i].capacity < volumes_[best].capacity) best = i;
        }
      }
      if (best == detail::no_volume && !can_provision(*one, node)) return false;
      chosen[static_cast<std::size_t>(std::ranges::find(all, one) - all.begin())] = best;
    }
    return true;
  }

  /// Nodes where a claim by itself gets a volume.
  [[nodiscard]] detail::node_set bindable_alone(const claim& one) const {
    const storage_class_manifest* const its = find_class(one);
    const bool makes = its != nullptr && its->provisions();
    std::vector<std::uint32_t> found;
    if (const std::string& node = one.of->selected_node; !node.empty()) {
      const auto known = find_node(node);
      if (known && can_provision(one, *known)) found.push_back(*known);
      return std::make_shared<const std::vector<std::uint32_t>>(std::move(found));
    }
    const detail::node_set there = !makes                  ? nullptr
                                   : is_bounded(one, *its) ? detail::both(allowed(*its), roomy(one))
                                                           : allowed(*its);
    if (makes && there == nullptr) return nullptr;
    if (makes) found = *there;
    for (const std::size_t i : of_class(one.storage_class)) {
      if (!serves(i, one)) continue;
      if (reach_of(i) == nullptr) return nullptr;
      found.insert(found.end(), reach_of(i)->begin(), reach_of(i)->end());
    }
    std::ranges::sort(found);
    found.erase(std::ranges::unique(found).begin(), found.end());
    return std::make_shared<const std::vector<std::uint32_t>>(std::move(found));
  }

  /// Where all of them get a volume; claims that are alike hear the same until a volume is taken.
  [[nodiscard]] detail::optional_names bindable(const std::vector<const claim*>& all) const {
    std::string key;
    for (const claim* const one : all)
      key += detail::shape_of(one->of->spec, one->storage_class) + one->of->selected_node + "\n\n";
    if (known_at_ != version_) known_.clear(), known_at_ = version_;
    const auto [known, fresh] = known_.try_emplace(std::move(key));
    if (!fresh) return known->second;
    detail::node_set where;
    for (const claim* const one : all) where = detail::both(where, bindable_alone(*one));
    if (all.size() > 1) {  // they must not want the same volume
      std::vector<std::uint32_t> found;
      std::vector<std::size_t> chosen;
      for (std::uint32_t node = 0; node < of_->nodes.size(); ++node)
        if (detail::is_in(where, node) && choose(all, node, chosen)) found.push_back(node);
      if (found.size() != of_->nodes.size())
        where = std::make_shared<const std::vector<std::uint32_t>>(std::move(found));
    }
    if (where != nullptr) known->second = names_of(where);
    return known->second;
  }

  [[nodiscard]] std::vector<std::string> names_of(const detail::node_set& where) const {
    std::vector<std::string> made;
    made.reserve(where->size());
    for (const std::uint32_t node : *where) made.push_back(of_->nodes[node].spec.name);
    return made;
  }

  // --- what they mean for a pod

  /// In kube-scheduler's words (podHasPVCs of VolumeBinding, and VolumeZone's).
  [[nodiscard]] std::string problem(const pod_manifest& pod, const pod_volume& volume, const std::string& name,
                                    const claim* used) const {
    if (used == nullptr) {
      return volume.ephemeral
                 ? fmt::format("waiting for ephemeral volume controller to create the persistentvolumeclaim \"{}\"",
                               name)
                 : fmt::format("persistentvolumeclaim \"{}\" not found", name);
    }
    const volume_claim_manifest& of = *used->of;
    if (of.phase == claim_phase::lost)
      return fmt::format("persistentvolumeclaim \"{}\" bound to non-existent persistentvolume \"{}\"", name,
                         of.spec.volume);
    if (of.terminating) return fmt::format("persistentvolumeclaim \"{}\" is being deleted", name);
    if (volume.ephemeral && of.owner_pod != pod.spec.name) {
      return fmt::format("PVC {}/{} was not created for pod {}/{} (pod is not owner)", of.ns, name, pod.spec.ns,
                         pod.spec.name);
    }
    if (used->is == fate::bound && used->volume == detail::no_volume)
      return fmt::format("persistentvolume \"{}\" not found", of.spec.volume);
    return {};
  }

  /// @p in_tree: the plugin, if its work has to have been migrated.
  void attach(std::string_view in_tree, std::string_view driver, std::string_view id, pod_volumes& to) const {
    if (driver.empty() || (!in_tree.empty() && !migrated_.contains(in_tree))) return;
    to.attachments.push_back({std::string{driver}, std::string{id}});
  }
  [[nodiscard]] static std::string id_of(const claim& of) { return of.of->ns + "/" + of.of->name; }
  void attach_of_class(const storage_class_manifest& by, const claim& of, pod_volumes& to) const {
    const std::string_view migrated = detail::csi_driver_of(by.provisioner);
    if (migrated.empty())
      attach({}, by.provisioner, id_of(of), to);
    else
      attach(by.provisioner, migrated, id_of(of), to);
  }

  /// Nodes that reach the claim's volume.
  detail::node_set add_bound(const claim& used, pod_volumes& to) const {
    if (used.volume == detail::no_volume) return nullptr;
    const volume_manifest& volume = volumes_[used.volume];
    for (const char* const key : {"failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region",
                                  "topology.kubernetes.io/zone", "topology.kubernetes.io/region"}) {
      const auto label = volume.labels.find(key);
      if (label != volume.labels.end()) to.zones.push_back({key, detail::zones_of(label->second)});
    }
    attach(volume.in_tree, volume.driver, id_of(used), to);
    return reach_of(used.volume);
  }

  /// A volume is made for a pod on the node: by the labels that its driver goes by there, or else by those of the allowed topology.
  /// @p alone: where the claim would fit by itself.
  void provision(claim& one, std::uint32_t node, room* alone) {
    one.is = fate::made, one.by = find_class(one);
    if (is_bounded(one, *one.by)) {
      room* const left = room_for(one, node);
      one.made_from = left != nullptr ? left : alone;
      if (one.made_from->of->capacity) one.made_from->used += size_of(one);
      ++version_;
    }
    const node_manifest& on = of_->nodes[node];
    const std::string_view migrated = detail::csi_driver_of(one.by->provisioner);
    const auto keys = on.topology_keys.find(migrated.empty() ? std::string_view{one.by->provisioner} : migrated);
    node_selector_term where;
    const detail::node_facts facts{&on.spec};
    const auto add = [&](const std::string& key) {
      if (const auto value = facts.label(key))
        where.match_expressions.push_back({key, selector_operator::in, {std::string{*value}}});
    };
    if (keys != on.topology_keys.end()) {
      for (const std::string& key : keys->second) add(key);
    } else {
      const auto holds = [&](const node_selector_term& term) { return matches(term, facts); };
      const auto term = std::ranges::find_if(one.by->allowed_topologies, holds);
      if (term != one.by->allowed_topologies.end())
        for (const selector_requirement& by : term->match_expressions) add(by.key);
    }
    if (!where.match_expressions.empty()) one.where = finder_.matching(std::span{&where, 1});
  }

  const manifests* of_;
  detail::node_finder finder_;
  std::vector<volume_manifest> volumes_;
  std::vector<char> taken_;
  std::map<std::string_view, std::uint32_t> nodes_;
  std::set<std::string, std::less<>> migrated_;
  std::map<std::string_view, std::size_t> by_name_;
  std::map<std::string_view, const storage_class_manifest*> classes_;
  const storage_class_manifest* default_ = nullptr;
  mutable std::vector<room> rooms_;
  mutable std::map<std::string, rooms_of_class> rooms_by_class_;
  std::set<std::string, std::less<>> bounded_;  // drivers
  std::vector<claim> claims_;
  std::deque<volume_claim_manifest> made_;  // claims of pods that came later
  std::map<std::pair<std::string_view, std::string_view>, std::size_t, std::less<>> by_claim_;
  std::multimap<std::pair<std::string, std::string>, std::size_t> reserving_;
  std::map<std::pair<std::string, std::string>, std::vector<std::size_t>>
      reserved_;  // by pod: claims that got a volume with it
  std::uint64_t version_ = 0;
  mutable std::map<std::string, std::vector<std::size_t>> by_class_;
  mutable std::map<const storage_class_manifest*, detail::node_set> allowed_;
  mutable std::vector<std::optional<detail::node_set>> reach_;
  mutable std::map<std::string, detail::optional_names> known_;
  mutable std::uint64_t known_at_ = 0;
};

volume_binder::volume_binder(const manifests& of) : impl_(std::make_unique<impl>(of)) {}
volume_binder::volume_binder(volume_binder&&) noexcept = default;
volume_binder& volume_binder::operator=(volume_binder&&) noexcept = default;
volume_binder::~volume_binder() = default;

void volume_binder::add(const pod_manifest& pod) { impl_->add(pod); }
pod_volumes volume_binder::needs(const pod_manifest& pod) const { return impl_->needs(pod); }
bool volume_binder::reserve(const pod_manifest& pod, std::string_view node) { return impl_->reserve(pod, node); }
void volume_binder::unreserve(const pod_manifest& pod) { impl_->unreserve(pod); }
std::vector<std::string> volume_binder::presumed_classes() const { return impl_->presumed_classes(); }
std::uint64_t volume_binder::version() const noexcept { return impl_->version(); }
bool volume_binder::may_change(const pod_manifest& pod) const { return impl_->may_change(pod); }

}  // namespace gangsched::inline GANGSCHED_ABI::kube
