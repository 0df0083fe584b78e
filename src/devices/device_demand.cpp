#include "gangsched/devices/device_demand.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace gangsched::inline GANGSCHED_ABI {
namespace detail {

/// One request; the error's field is one of its own, and says nothing yet of where the request stands.
GANGSCHED_INLINE std::optional<error> check_request(const device_request& one, bool nested) {
  const auto fail = [&](errc code, std::string field, std::string reason) {
    return error{code, {}, std::move(field), std::move(reason)};
  };
  const auto outside = [](auto value, auto least, auto most) { return value < least || value > most; };
  if (!one.first_of.empty()) {
    if (nested) return fail(errc::malformed, "first_of", "cannot be inside another one");
    for (std::size_t i = 0; i < one.first_of.size(); ++i) {
      if (auto wrong = check_request(one.first_of[i], true)) {
        wrong->field = fmt::format("first_of[{}].{}", i, wrong->field);
        return wrong;
      }
      if ((one.first_of[i].device_class == "gpu") != (one.first_of[0].device_class == "gpu")) {
        return fail(errc::malformed, "first_of", "GPUs and other devices cannot stand for each other");
      }
    }
    return std::nullopt;
  }
  if (one.device_class.empty()) return fail(errc::malformed, "device_class", "is empty");
  if (outside(one.count, 1, 1024)) return fail(errc::out_of_range, "count", "is not in 1 to 1024");
  const bool gpu = one.device_class == "gpu";
  if (outside(one.milli, 0, whole_gpu)) {
    return fail(errc::out_of_range, "milli",
                fmt::format("{} is not in 0 to 1000: several GPUs are asked for by count", one.milli));
  }
  if (one.memory_mib < 0) return fail(errc::out_of_range, "memory_mib", "is negative");
  if (outside(one.memory_percent, 0, 100)) return fail(errc::out_of_range, "memory_percent", "is not in 0 to 100");
  if (one.memory_mib != 0 && one.memory_percent != 0) {
    return fail(errc::malformed, "memory_percent", "is there beside memory_mib");
  }
  if (one.least_memory_mib < 0) return fail(errc::out_of_range, "least_memory_mib", "is negative");
  const bool memory = one.memory_mib != 0 || one.memory_percent != 0;
  if (one.milli == 0 && !memory) return fail(errc::malformed, "milli", "is 0, and no memory is asked for");
  if (!one.mig_profile.empty() && (one.milli != whole_gpu || memory)) {
    return fail(errc::malformed, "mig_profile", "a MIG instance has its share already: no milli, no memory");
  }
  if (outside(one.units, std::int64_t{1}, std::int64_t{1} << 32))
    return fail(errc::out_of_range, "units", "is not in 1 to 2^32");
  if (!gpu && (one.milli != whole_gpu || memory || !one.mig_profile.empty() || !one.models.empty() ||
               one.least_memory_mib != 0 || one.least_compute_capability != 0)) {
    return fail(errc::malformed, "device_class",
                fmt::format("\"{}\" has no milli, memory, MIG profile or model", one.device_class));
  }
  const bool chooses = !one.selectors.empty() || !one.expressions.empty() || !one.capacities.empty();
  if (gpu && (one.all || one.admin || chooses || one.units != 1 || one.beside_gpus != device_scope::node)) {
    return fail(errc::malformed, "device_class",
                "GPUs have no units, selectors, capacities, admin access, and are not beside GPUs");
  }
  for (std::size_t i = 0; i < one.expressions.size(); ++i) {
    if (one.expressions[i].empty()) return fail(errc::malformed, fmt::format("expressions[{}]", i), "is empty");
  }
  for (const auto& [name, amount] : one.capacities) {
    if (amount < 0) return fail(errc::out_of_range, fmt::format("capacities[\"{}\"]", name), "is negative");
  }
  for (std::size_t i = 0; i < one.selectors.size(); ++i) {
    const attribute_selector& selector = one.selectors[i];
    const bool none = selector.op == attribute_operator::exists || selector.op == attribute_operator::absent;
    if (none != selector.values.empty() || (selector.op != attribute_operator::in && selector.values.size() > 1)) {
      return fail(errc::malformed, fmt::format("selectors[{}].values", i),
                  none ? "the operator takes none" : "the operator takes one, `in` any number");
    }
  }
  return std::nullopt;
}

GANGSCHED_INLINE device_demand make_demand(const device_request& from, interner& names) {
  device_demand made;
  for (const device_request& one : from.first_of) made.first_of.push_back(make_demand(one, names));
  made.device_class = names.intern(from.device_class);
  using form = device_demand::form;
  if (from.device_class != "gpu")
    made.kind = form::other;
  else if (!from.mig_profile.empty())
    made.kind = form::mig;
  else if (from.milli != whole_gpu || from.memory_mib != 0 || from.memory_percent != 0)
    made.kind = form::share;
  made.count = from.count;
  made.container = from.container;
  made.milli = from.milli;
  made.memory_mib = from.memory_mib;
  made.memory_percent = from.memory_percent;
  made.least_memory_mib = from.least_memory_mib;
  made.least_compute_capability = from.least_compute_capability;
  made.mig_profile = names.intern(mig_profile_name(from.mig_profile));
  for (const std::string& model : from.models) made.models.push_back(names.intern(model));
  std::sort(made.models.begin(), made.models.end());
  made.within = from.within;
  made.within_preferred = from.within_preferred;
  made.units = from.units;
  made.all = from.all;
  made.admin = from.admin;
  for (const attribute_selector& one : from.selectors)
    made.selectors.push_back({names.intern(one.attribute), one.op, one.values});
  for (const std::string& one : from.expressions) made.expressions.push_back(names.intern(one));
  for (const auto& [name, amount] : from.capacities) made.capacities.emplace_back(names.intern(name), amount);
  made.beside_gpus = from.beside_gpus;
  made.beside_preferred = from.beside_preferred;
  if (!made.first_of.empty()) made.kind = made.first_of.front().kind;
  return made;
}

/// (A comparison of variants calls through tables.)
inline bool is_same(const device_attribute& a, const device_attribute& b) noexcept {
  if (a.index() != b.index()) return false;
  if (const auto* const text = std::get_if<std::string>(&a)) return *text == *std::get_if<std::string>(&b);
  if (const auto* const number = std::get_if<std::int64_t>(&a)) return *number == *std::get_if<std::int64_t>(&b);
  return *std::get_if<bool>(&a) == *std::get_if<bool>(&b);
}

/// Whether a device's value, null if it has none, is what the selector wants.
inline bool holds(const device_demand::selector& selector, const device_attribute* value) {
  using op = attribute_operator;
  if (selector.op == op::exists || selector.op == op::absent) return (value != nullptr) == (selector.op == op::exists);
  if (value == nullptr) return false;
  return std::any_of(selector.values.begin(), selector.values.end(), [&](const device_attribute& wanted) {
    if (wanted.index() != value->index()) return false;
    switch (selector.op) {
      case op::equal:
      case op::in: return is_same(*value, wanted);
      case op::not_equal: return !is_same(*value, wanted);
      case op::less: return *value < wanted;
      case op::less_equal: return *value <= wanted;
      case op::greater: return *value > wanted;
      case op::greater_equal: return *value >= wanted;
      case op::exists:
      case op::absent: break;
    }
    return false;
  });
}

inline bool has_attributes(const device_inventory::other& device, const device_demand& demand) {
  if (device.device_class != demand.device_class) return false;
  for (const device_demand::selector& selector : demand.selectors)
    if (!holds(selector, find_attribute(device, selector.attribute))) return false;
  return true;
}

}  // namespace detail

GANGSCHED_INLINE const device_attribute* find_attribute(const device_inventory::other& device, symbol name) {
  const auto found = std::lower_bound(device.attributes.begin(), device.attributes.end(), name,
                                      [](const auto& attribute, symbol wanted) { return attribute.first < wanted; });
  return found != device.attributes.end() && found->first == name ? &found->second : nullptr;
}

GANGSCHED_INLINE bool is_kind(const device_inventory& inventory, const device_demand& demand, std::size_t device) {
  if (!detail::has_attributes(inventory.others[device], demand)) return false;
  return std::all_of(demand.expressions.begin(), demand.expressions.end(), [&](symbol expression) {
    return inventory.answers != nullptr &&
           inventory.answers->find(expression, device).said == device_answers::answer::yes;
  });
}

GANGSCHED_INLINE symbol host_error(const device_inventory& inventory, const device_demand& demand, std::size_t device) {
  if (demand.expressions.empty() || inventory.answers == nullptr ||
      !detail::has_attributes(inventory.others[device], demand))
    return {};
  for (const symbol expression : demand.expressions) {
    const device_answers::of_device one = inventory.answers->find(expression, device);
    if (one.said != device_answers::answer::yes) return one.error;
  }
  return {};
}

GANGSCHED_INLINE std::optional<error> check(std::span<const device_request> requests, std::string_view object) {
  if (requests.size() >= counted_request)
    return error{errc::out_of_range, std::string{object}, "devices", "are more than 254 requests"};
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (auto wrong = detail::check_request(requests[i], false)) {
      wrong->object = object;
      wrong->field = fmt::format("devices[{}].{}", i, wrong->field);
      return wrong;
    }
  }
  return std::nullopt;
}

GANGSCHED_INLINE std::optional<error> check(std::span<const device_constraint> constraints,
                                            std::span<const device_request> requests, std::string_view object,
                                            std::string_view field) {
  const auto about_gpus = [](const device_request& one) {
    return one.first_of.empty() ? one.device_class == "gpu" : one.first_of.front().device_class == "gpu";
  };
  for (std::size_t i = 0; i < constraints.size(); ++i) {
    const device_constraint& one = constraints[i];
    const auto fail = [&](errc code, const char* part, std::string reason) {
      return error{code, std::string{object}, fmt::format("{}[{}].{}", field, i, part), std::move(reason)};
    };
    if (one.attribute.empty()) return fail(errc::malformed, "attribute", "is empty");
    for (const std::int32_t request : one.requests) {
      if (request < 0 || static_cast<std::size_t>(request) >= requests.size()) {
        return fail(errc::unknown, "requests", fmt::format("there is no request {}", request));
      }
      if (about_gpus(requests[static_cast<std::size_t>(request)]))
        return fail(errc::malformed, "requests", "GPUs have no attributes");
    }
    for (std::size_t k = 0; k < one.alternatives.size(); ++k) {
      const auto& [request, place] = one.alternatives[k];
      if (request < 0 || static_cast<std::size_t>(request) >= requests.size()) {
        return fail(errc::unknown, "alternatives", fmt::format("there is no request {}", request));
      }
      const device_request& of = requests[static_cast<std::size_t>(request)];
      if (place < 0 || place > 255 || static_cast<std::size_t>(place) >= of.first_of.size()) {
        return fail(errc::unknown, "alternatives", fmt::format("request {} has no alternative {}", request, place));
      }
      if (about_gpus(of)) return fail(errc::malformed, "alternatives", "GPUs have no attributes");
    }
    if (one.requests.empty() && one.alternatives.empty() && std::any_of(requests.begin(), requests.end(), about_gpus)) {
      return fail(errc::malformed, "requests", "are all, and GPUs have no attributes");
    }
  }
  return std::nullopt;
}

GANGSCHED_INLINE std::vector<device_match> make_matches(std::span<const device_constraint> constraints,
                                                        std::span<const device_request> requests, interner& names) {
  std::vector<device_match> made;
  for (const device_constraint& from : constraints) {
    device_match& one = made.emplace_back(device_match{names.intern(from.attribute), from.distinct, {}, {}});
    for (const std::int32_t request : from.requests) one.requests.insert(static_cast<unsigned>(request));
    for (const auto& [request, place] : from.alternatives) {
      one.alternatives.emplace_back(static_cast<std::uint8_t>(request), static_cast<std::uint8_t>(place));
    }
    if (from.requests.empty() && from.alternatives.empty())
      one.requests = device_set::range(0, static_cast<unsigned>(requests.size()));
  }
  return made;
}

GANGSCHED_INLINE std::vector<device_demand> make_demands(std::span<const device_request> requests, interner& names) {
  std::vector<device_demand> made;
  made.reserve(requests.size());
  for (const device_request& one : requests) made.push_back(detail::make_demand(one, names));
  return made;
}

GANGSCHED_INLINE std::string mig_profile_name(std::string_view text) {
  for (const std::string_view prefix : {std::string_view{"nvidia.com/"}, std::string_view{"mig-"}}) {
    if (text.starts_with(prefix)) text.remove_prefix(prefix.size());
  }
  std::string made{text};
  // What follows "gb" begins with a '+', which names of resources cannot have.
  if (const std::size_t gb = made.find("gb."); gb != std::string::npos) made[gb + 2] = '+';
  return made;
}

GANGSCHED_INLINE std::string mig_resource_name(std::string_view profile) {
  std::string made = "nvidia.com/mig-" + std::string{profile};
  std::replace(made.begin(), made.end(), '+', '.');
  return made;
}

GANGSCHED_INLINE void device_claim::digest_into(digest& out) const {
  for (const device_grant& one : grants) {
    out.add(static_cast<std::uint64_t>(one.kind) | std::uint64_t{one.request} << 8 | std::uint64_t{one.device} << 16 |
            static_cast<std::uint64_t>(static_cast<std::uint32_t>(one.milli)) << 32);
    out.add(static_cast<std::uint64_t>(static_cast<std::uint32_t>(one.mig_start)));
    add_name(out, one.mig_profile);
    out.add(static_cast<std::uint64_t>(one.amount));
  }
  for (const change& one : changes) out.add(one.word), out.add(one.more);
  out.add(static_cast<std::uint64_t>(static_cast<std::uint32_t>(link_points)));
  for (const held_device& one : absent) {
    out.add(one.id), out.add(static_cast<std::uint32_t>(one.request)), out.add(one.bytes);
    out.add(static_cast<std::uint32_t>(one.mig_start)), out.add(one.places.size()), out.add(one.capacities.size());
    for (const std::uint32_t place : one.places) out.add(place);
    for (const auto& [name, amount] : one.capacities) out.add(name), out.add(static_cast<std::uint64_t>(amount));
  }
}

}  // namespace gangsched::inline GANGSCHED_ABI
