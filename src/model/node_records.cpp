#include "gangsched/model/node_records.hpp"

#include <algorithm>
#include <bitset>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "gangsched/core/is_among.hpp"
#include "gangsched/devices/numa_layout.hpp"
#include "gangsched/model/make_class.hpp"

namespace gangsched::inline GANGSCHED_ABI::detail {

GANGSCHED_INLINE bool has_none(const node_devices& of) noexcept {
  return of.gpus.empty() && of.others.empty() && of.counters.empty() && !of.numa;
}

GANGSCHED_INLINE result<std::optional<device_inventory>> read_devices(model::cluster_state& state,
                                                                      const node_spec& spec,
                                                                      const std::string& object) {
  if (has_none(spec.devices)) return std::optional<device_inventory>{};
  auto made = make_inventory(spec.devices, state.names, object);
  if (!made) return std::move(made).error();
  return std::optional{std::move(*made)};
}

GANGSCHED_INLINE device_record make_device_record(model::cluster_state& state, const node_devices& spec,
                                                  device_inventory&& inventory) {
  device_record made;
  made.inventory = state.devices.share(std::move(inventory), spec);
  for (std::size_t i = 0; i < spec.gpus.size(); ++i) {
    made.ids.push_back(spec.gpus[i].id.empty() ? std::to_string(i) : spec.gpus[i].id);
    made.unhealthy.push_back(!spec.gpus[i].healthy);
  }
  for (const other_device& one : spec.others) made.ids.push_back(one.id), made.unhealthy.push_back(!one.healthy);
  if (!spec.gpus.empty() && !spec.gpu.resource.empty()) {
    device_demand counted;
    if (spec.gpu.replicas > 1) counted.kind = device_demand::form::replica;
    made.counted.emplace_back(state.kinds.number(spec.gpu.resource), counted);
  }
  std::vector<symbol> profiles;  // those that a GPU here can have
  for (const device_inventory::gpu& gpu : made.inventory->gpus) {
    if (gpu.mig == mig_mode::dynamic) profiles = made.inventory->mig_profiles;
  }
  for (const device_inventory::gpu& gpu : made.inventory->gpus) {
    for (const mig_placement& one : gpu.instances) profiles.push_back(made.inventory->mig_profiles[one.profile]);
  }
  // By name: how devices are chosen depends on the order, and must not depend on which was seen first.
  std::sort(profiles.begin(), profiles.end(),
            [&](symbol a, symbol b) { return state.names.text(a) < state.names.text(b); });
  profiles.erase(std::unique(profiles.begin(), profiles.end()), profiles.end());
  for (const symbol profile : profiles) {
    device_demand counted;
    counted.kind = device_demand::form::mig;
    counted.mig_profile = profile;
    made.counted.emplace_back(state.kinds.number(mig_resource_name(state.names.text(profile))), counted);
  }
  if (made.inventory->numa) {
    for (const std::uint64_t page_bytes : made.inventory->numa->topology.memory_kinds()) {
      made.memory_kinds.push_back(state.kinds.number(memory_resource(page_bytes)));
    }
  }
  return made;
}

GANGSCHED_INLINE bool same_devices(const std::shared_ptr<const device_record>& a,
                                   const std::shared_ptr<const device_record>& b) {
  if ((a == nullptr) != (b == nullptr)) return false;
  return !a || (a->inventory == b->inventory && a->ids == b->ids && a->unhealthy == b->unhealthy);
}

/// Those that @p known has are not interned again.
GANGSCHED_INLINE std::vector<label_symbols> labels_of(interner& names, const label_map& said, const known_node& known) {
  std::vector<label_symbols> made;
  made.reserve(said.size());
  std::uint64_t has = known.right.labels;
  std::size_t i = 0;
  for (const auto& [key, value] : said) {
    made.push_back((has & 1) != 0 ? known.labels[i] : label_symbols{names.intern(key), names.intern(value)});
    has >>= 1, ++i;
  }
  std::sort(made.begin(), made.end(), [](const label_symbols& a, const label_symbols& b) { return a.key < b.key; });
  return made;
}

GANGSCHED_INLINE std::vector<taint_symbols> taints_of(interner& names, const std::vector<taint>& said) {
  std::vector<taint_symbols> made;
  made.reserve(said.size());
  for (const taint& one : said) made.push_back({names.intern(one.key), names.intern(one.value), one.effect});
  return made;
}

GANGSCHED_INLINE std::vector<volume_limit> limits_of(interner& names, const sorted_map<std::int32_t>& said) {
  std::vector<volume_limit> made;
  made.reserve(said.size());
  for (const auto& [driver, most] : said) made.push_back({names.intern(driver), most});
  return made;
}

/// What @p of has at @p at, if the symbol there is of that text; else where it has it, if it does. @return its place, the size if none.
template <class List, class Symbol>
std::size_t place_of(const interner& names, const List& of, std::size_t at, std::string_view text, Symbol symbol_of) {
  if (at < of.size() && names.text(symbol_of(of[at])) == text) return at;
  const std::optional<symbol> known = names.find(text);
  if (!known) return of.size();
  const auto found = std::lower_bound(of.begin(), of.end(), *known,
                                      [&](const auto& one, symbol wanted) { return symbol_of(one) < wanted; });
  if (found == of.end() || symbol_of(*found) != *known) return of.size();
  return static_cast<std::size_t>(found - of.begin());
}

/// @p had: what its record has had; what of that stays is not looked up again.
GANGSCHED_INLINE std::vector<image_symbols> images_of(interner& names, const std::vector<node_image>& said,
                                                      std::span<const image_symbols> had) {
  std::vector<image_symbols> made;
  made.reserve(had.size() + 1);
  std::size_t next = 0;
  for (const node_image& image : said) {
    for (const std::string& name : image.names) {
      const std::size_t at = place_of(names, had, next, name, [](const image_symbols& one) { return one.name; });
      made.push_back({at != had.size() ? had[at].name : names.intern(name), image.size_bytes});
      next = (at != had.size() ? at : next) + 1;  // another one mostly stands where the one before it did
      if (next >= had.size()) next = 0;
    }
  }
  // A name that is listed twice has the size of its first place.
  std::stable_sort(made.begin(), made.end(),
                   [](const image_symbols& a, const image_symbols& b) { return a.name < b.name; });
  const auto same = [](const image_symbols& a, const image_symbols& b) { return a.name == b.name; };
  made.erase(std::unique(made.begin(), made.end(), same), made.end());
  return made;
}

/// @p had: as above.
GANGSCHED_INLINE std::vector<symbol> features_of(interner& names, const std::vector<std::string>& said,
                                                 std::span<const symbol> had) {
  std::vector<symbol> made;
  made.reserve(said.size());
  for (const std::string& name : said) {
    const std::size_t at = place_of(names, had, made.size(), name, [](symbol one) { return one; });
    made.push_back(at != had.size() ? had[at] : names.intern(name));
  }
  std::sort(made.begin(), made.end());
  made.erase(std::unique(made.begin(), made.end()), made.end());
  return made;
}

/// Specs are in the order of names, records in that of symbols: where the last was found the next one mostly follows.
GANGSCHED_INLINE bool know_labels(const interner& names, std::span<const label_symbols> of, const label_map& said,
                                  known_node& to) {
  std::size_t i = 0, next = 0, found = 0;
  for (const auto& [key, value] : said) {
    if (i == to.labels.size()) return false;
    const std::size_t at = place_of(names, of, next, key, [](const label_symbols& one) { return one.key; });
    if (at != of.size()) {
      next = at + 1 == of.size() ? 0 : at + 1;
      if (names.text(of[at].value) == value) {
        to.labels[i] = of[at];
        to.right.labels |= std::uint64_t{1} << i;
        ++found;
      }
    }
    ++i;
  }
  return found == said.size() && found == of.size();
}

GANGSCHED_INLINE bool same_taints(const interner& names, std::span<const taint_symbols> of,
                                  const std::vector<taint>& said) {
  return std::equal(of.begin(), of.end(), said.begin(), said.end(), [&](const taint_symbols& one, const taint& other) {
    return one.effect == other.effect && names.text(one.key) == other.key && names.text(one.value) == other.value;
  });
}

/// (To the last digit: what is rounded may be wrong where the rounded one is not.) What there is 0 of, no record has.
GANGSCHED_INLINE bool same_amounts(const model::resource_kinds& kinds, const model::node_record& of,
                                   const resource_list& said) {
  const auto zeros = std::count_if(said.begin(), said.end(), [](const auto& one) { return one.second == quantity{}; });
  const std::size_t by_spec = of.allocatable.size() - of.beside_spec.size();
  if (by_spec + static_cast<std::size_t>(zeros) != said.size()) return false;
  return std::all_of(of.allocatable.begin(), of.allocatable.end(), [&](const amount& one) {
    if (is_among(one.kind, of.beside_spec)) return true;
    const std::string_view name = kinds.name(one.kind);
    const auto found = said.find(name);
    return found != said.end() &&
           found->second == (name == "cpu" ? quantity::from_milli(one.value) : quantity{one.value});
  });
}

GANGSCHED_INLINE bool same_limits(const interner& names, std::span<const volume_limit> of,
                                  const sorted_map<std::int32_t>& said) {
  return std::equal(of.begin(), of.end(), said.begin(), said.end(), [&](const volume_limit& one, const auto& other) {
    return one.most == other.second && names.text(one.driver) == other.first;
  });
}

/// (Of more than that it does not say so.)
GANGSCHED_INLINE bool same_images(const interner& names, std::span<const image_symbols> of,
                                  const std::vector<node_image>& said) {
  std::bitset<512> seen;  // a name may be listed twice
  if (of.size() > seen.size()) return false;
  std::size_t count = 0, next = 0;
  for (const node_image& image : said) {
    if (image.size_bytes < 0) return false;  // wrong, also of one that has no name
    for (const std::string& name : image.names) {
      const std::size_t at = place_of(names, of, next, name, [](const image_symbols& one) { return one.name; });
      if (at == of.size() || of[at].size_bytes != image.size_bytes || seen[at]) return false;
      seen[at] = true;
      ++count;
      next = at + 1 == of.size() ? 0 : at + 1;
    }
  }
  return count == of.size();
}

/// (Nor of features.)
GANGSCHED_INLINE bool same_features(const interner& names, std::span<const symbol> of,
                                    const std::vector<std::string>& said) {
  if (of.empty() || said.empty()) return of.empty() == said.empty();
  std::bitset<512> seen;
  if (of.size() > seen.size()) return false;
  std::size_t next = 0;
  for (const std::string& name : said) {
    const std::size_t at = place_of(names, of, next, name, [](symbol one) { return one; });
    if (at == of.size()) return false;
    seen[at] = true;
    next = at + 1 == of.size() ? 0 : at + 1;
  }
  return seen.count() == of.size();
}

GANGSCHED_INLINE known_node known_of(const model::cluster_state& state, const model::node_record& of,
                                     const node_spec& spec) {
  known_node made;
  const auto note = [&](bool same, reads part) { made.same |= same ? part : reads::nothing; };
  note(know_labels(state.names, of.labels, spec.labels, made), reads::labels);
  note(same_taints(state.names, of.taints, spec.taints), reads::taints);
  note(of.unschedulable == spec.unschedulable, reads::schedulable);
  note(
      same_amounts(state.kinds, of, spec.allocatable) && same_limits(state.names, of.volume_limits, spec.volume_limits),
      reads::allocatable);
  note(same_images(state.names, of.images, spec.images), reads::images);
  note(same_features(state.names, of.features, spec.declared_features), reads::features);
  note(of.devices == nullptr && has_none(spec.devices), reads::devices);
  made.right.parts = made.same;
  return made;
}

GANGSCHED_INLINE std::int64_t amount_of(const model::node_record& record, resource_kind kind) noexcept {
  for (const amount& one : record.allocatable)
    if (one.kind == kind) return one.value;
  return 0;
}

GANGSCHED_INLINE void set_beside_spec(const model::resource_kinds& kinds, model::node_record& record, amount has) {
  std::vector<amount> all{record.allocatable.begin(), record.allocatable.end()};
  std::vector<resource_kind> beside{record.beside_spec.begin(), record.beside_spec.end()};
  std::erase_if(all, [&](const amount& one) { return one.kind == has.kind; });
  std::erase(beside, has.kind);
  if (has.value != 0) {
    // Kept as if the spec named it too, so that nothing tells in which order that was said.
    const auto order = [&](resource_kind kind) {
      return std::pair{std::min(kind, gangsched::kinds::first_other), kinds.name(kind)};
    };
    const auto by_name = [&](resource_kind a, resource_kind b) { return order(a) < order(b); };
    all.insert(std::lower_bound(all.begin(), all.end(), has,
                                [&](const amount& a, const amount& b) { return by_name(a.kind, b.kind); }),
               has);
    beside.insert(std::lower_bound(beside.begin(), beside.end(), has.kind, by_name), has.kind);
  }
  record.allocatable = all, record.beside_spec = beside;
}

GANGSCHED_INLINE std::unique_ptr<const model::node_record> changed_node_record(
    model::cluster_state& state, const model::node_record& before, const node_spec& spec, const known_node& known,
    const integer_resources& allocatable, std::optional<device_inventory> devices) {
  auto made = std::make_unique<model::node_record>(before);
  const auto changes = [&](reads part) { return !any(known.same & part); };
  if (changes(reads::labels)) made->labels = labels_of(state.names, spec.labels, known);
  if (changes(reads::taints)) made->taints = taints_of(state.names, spec.taints);
  if (changes(reads::images)) made->images = images_of(state.names, spec.images, before.images);
  if (changes(reads::features)) made->features = features_of(state.names, spec.declared_features, before.features);
  if (changes(reads::allocatable)) {
    made->allocatable = to_amounts(state, allocatable);
    made->beside_spec = {};
    for (const resource_kind kind : before.beside_spec)
      if (amount_of(*made, kind) == 0) set_beside_spec(state.kinds, *made, {kind, amount_of(before, kind)});
    made->volume_limits = limits_of(state.names, spec.volume_limits);
  }
  if (changes(reads::devices)) {
    made->devices =
        devices ? std::make_shared<const device_record>(make_device_record(state, spec.devices, std::move(*devices)))
                : nullptr;
  }
  made->unschedulable = spec.unschedulable;
  made->cookie = spec.cookie;
  if (state.keeps_specs) made->spec = std::make_shared<const node_spec>(spec);
  return made;
}

GANGSCHED_INLINE std::unique_ptr<const model::node_record> make_node_record(model::cluster_state& state,
                                                                            const node_spec& spec,
                                                                            const integer_resources& allocatable,
                                                                            std::optional<device_inventory> devices) {
  model::node_record empty;
  empty.name = state.names.intern(spec.name);
  return changed_node_record(state, empty, spec, {}, allocatable, std::move(devices));
}

GANGSCHED_INLINE reads difference(const model::node_record& before, const model::node_record& after, reads same) {
  reads changed = reads::nothing;
  const auto note = [&](reads part, auto differs) {
    if (!any(same & part) && differs()) changed |= part;
  };
  note(reads::labels, [&] { return before.labels != after.labels; });
  note(reads::taints, [&] { return before.taints != after.taints; });
  note(reads::schedulable, [&] { return before.unschedulable != after.unschedulable; });
  note(reads::allocatable,
       [&] { return before.allocatable != after.allocatable || before.volume_limits != after.volume_limits; });
  note(reads::images, [&] { return before.images != after.images; });
  note(reads::features, [&] { return before.features != after.features; });
  note(reads::devices, [&] { return !same_devices(before.devices, after.devices); });
  note(reads::name, [&] { return before.cookie != after.cookie; });
  return changed;
}

}  // namespace gangsched::inline GANGSCHED_ABI::detail
