#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "gangsched/devices/device_inventory.hpp"
#include "gangsched/src/kube/devices/devices.hpp"

// Dynamic resource allocation (resource.k8s.io): slices that drivers publish, classes, claims and their templates. v1, v1beta1 and
// v1beta2 say the same in slightly different places, so they are read alike.
namespace gangsched::inline GANGSCHED_ABI::kube::detail {
namespace {

bool read_object_name(reader& read, const place& of, std::string& name, std::string* ns = nullptr) {
  object_meta meta;
  if (!read_meta(read, of, meta)) return false;
  name = std::move(meta.name);
  if (ns != nullptr) *ns = meta.ns.empty() ? "default" : std::move(meta.ns);
  return true;
}

bool read_whole_amount(reader& read, const place& of, std::int64_t& out) {
  quantity amount;
  if (!read.amount(of, amount)) return false;
  return (amount.value(out) && out >= 0) ||
         read.fail(errc::out_of_range, of, fmt::format("{} is too much, or negative", amount.to_string()));
}

/// {value: 40Gi}
bool read_valued(reader& read, const place& of, std::int64_t& out) {
  return read.fields(of, [&](std::string_view key, const place& v) {
    return key == "value" ? read_whole_amount(read, v, out) : read.ignore(key, v, {});
  });
}

bool read_policy(reader& read, const place& of, capacity_policy& out) {
  const auto amount = [&](const place& v, std::optional<std::int64_t>& to) {
    return read_whole_amount(read, v, to.emplace());
  };
  return read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "default") return amount(v, out.standard);
    if (key == "validValues")
      return read.list(v, out.values,
                       [&](const place& item, std::int64_t& one) { return read_whole_amount(read, item, one); });
    if (key != "validRange") return read.ignore(key, v, {});
    return read.fields(v, [&](std::string_view word, const place& w) {
      if (word == "min") return amount(w, out.least);
      if (word == "max") return amount(w, out.most);
      if (word == "step") return amount(w, out.step);
      return read.ignore(word, w, {});
    });
  });
}

/// {value: 40Gi}, beside which a request policy may stand; or 40Gi alone (v1beta1).
bool read_capacity(reader& read, const place& of, capacity_spec& out) {
  if (of.at->kind != value_kind::object) return read_whole_amount(read, of, out.amount);
  const bool fine = read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "value") return read_whole_amount(read, v, out.amount);
    if (key == "requestPolicy") return read_policy(read, v, out.policy.emplace());
    return read.ignore(key, v, {});
  });
  if (!fine) return false;
  auto wrong = check(out);
  if (!wrong) return true;
  for (const auto& [ours, theirs] : {std::pair{"policy.standard", "default"},
                                     {"policy.values", "validValues"},
                                     {"policy.least", "validRange.min"},
                                     {"policy.most", "validRange.max"},
                                     {"policy.step", "validRange.step"}})
    if (wrong->field == ours) wrong->field = fmt::format("requestPolicy.{}", theirs);
  return read.fail(wrong->code, of, fmt::format("{} {}", wrong->field, wrong->reason));
}

bool read_amounts(reader& read, const place& of, sorted_map<std::int64_t>& out) {
  return read.fields(
      of, [&](std::string_view name, const place& v) { return read_whole_amount(read, v, out[std::string{name}]); });
}

bool read_counters(reader& read, const place& of, const std::string& prefix, const auto& add) {
  return read.fields(of, [&](std::string_view name, const place& v) {
    std::int64_t amount = 0;
    return read_valued(read, v, amount) && (add(fmt::format("{}/{}", prefix, name), amount), true);
  });
}

bool read_slice_attribute(reader& read, const place& of, device_attribute& out) {
  return read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "string" || key == "version") return read.text(v, out.emplace<std::string>());
    if (key == "int") return read.integer(v, out.emplace<std::int64_t>());
    if (key == "bool") return read.boolean(v, out.emplace<bool>());
    return read.ignore(key, v, {});
  });
}

bool read_device(reader& read, const place& of, const resource_slice& in, other_device& out,
                 std::vector<device_taint>& taints) {
  return read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "name") return read.text(v, out.id);
    if (key == "basic") return read_device(read, v, in, out, taints);  // v1beta1
    if (key == "attributes") {
      return read.fields(v, [&](std::string_view name, const place& w) {
        return read_slice_attribute(read, w, out.attributes[qualified(in.driver, name)]);
      });
    }
    if (key == "capacity") {
      return read.fields(v, [&](std::string_view name, const place& w) {
        return read_capacity(read, w, out.capacities[qualified(in.driver, name)]);
      });
    }
    if (key == "consumesCounters") {
      return read.items(v, [&](const place& item) {
        std::string set;
        if (const value* found = item.at->find("counterSet")) set = found->text;
        return read.fields(item, [&](std::string_view field, const place& w) {
          if (field == "counterSet") return read.text(w, set);
          if (field != "counters") return read.ignore(field, w, {});
          return read_counters(read, w, fmt::format("{}/{}/{}", in.driver, in.pool, set),
                               [&](std::string name, std::int64_t amount) {
                                 out.consumes.push_back({std::move(name), amount});
                               });
        });
      });
    }
    if (key == "taints") {
      return read.items(v, [&](const place& item) {
        if (item.index == most_taints)
          return read.fail(errc::out_of_range, v, fmt::format("are more than {}", most_taints));
        return read_device_taint(read, item, taints);
      });
    }
    if (key == "nodeName" || key == "nodeSelector" || key == "allNodes")
      return read.warn(v, "the slice's node counts; it is left out");
    if (key == "allowMultipleAllocations") return read.boolean(v, out.shared);
    if (key == "bindingConditions" && !v.at->items.empty())
      return read.warn(v, "is not waited for: a pod is bound at once");
    return read.ignore(key, v, {"bindsToNode", "bindingConditions", "bindingFailureConditions"});
  });
}

bool read_cel_selectors(reader& read, const place& of, cel_terms& out) {
  return read.items(of, [&](const place& item) {
    const value* const cel = item.at->find("cel");
    if (cel == nullptr || cel->kind == value_kind::null) return read.fail(errc::malformed, item, "needs a cel");
    return read.fields(item, [&](std::string_view key, const place& v) {
      if (key != "cel") return read.ignore(key, v, {});
      return read.fields(v, [&](std::string_view field, const place& w) {
        std::string text;
        if (field != "expression") return read.ignore(field, w, {});
        if (!read.text(w, text)) return false;
        if (auto unknown = read_cel(text, out)) {
          read.warn(w, *unknown);
          if (out.unknown.empty()) out.unknown = *std::move(unknown), out.unknown_field = w.path();
        }
        return true;
      });
    });
  });
}

bool read_claimed_request(reader& read, const place& of, claimed_request& out) {
  return read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "name") return read.text(v, out.made.name);
    if (key == "exactly") return read_claimed_request(read, v, out);
    if (key == "deviceClassName") return read.text(v, out.device_class);
    if (key == "selectors") return read_cel_selectors(read, v, out.terms);
    if (key == "allocationMode") return read.word(v, out.made.all, {{"ExactCount", false}, {"All", true}});
    if (key == "count") return read.integer(v, out.made.count, 1, 1024);
    if (key == "adminAccess") return read.boolean(v, out.made.admin);
    if (key == "firstAvailable") {
      return read.list(v, out.first_available, [&](const place& item, claimed_request& one) {
        one.terms.ask_host = out.terms.ask_host;
        return read_claimed_request(read, item, one);
      });
    }
    if (key == "tolerations") return read_device_tolerations(read, v, out.tolerations);
    if (key == "capacity") {
      return read.fields(v, [&](std::string_view field, const place& w) {
        return field == "requests" ? read_amounts(read, w, out.made.capacities) : read.ignore(field, w, {});
      });
    }
    return read.ignore(key, v, {});
  });
}

bool read_constraint(reader& read, const place& of, claimed_constraint& out) {
  const bool fine = read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "matchAttribute") return read.text(v, out.made.attribute);
    if (key == "distinctAttribute") return out.made.distinct = true, read.text(v, out.made.attribute);
    if (key == "requests")
      return read.list(v, out.requests, [&](const place& item, std::string& name) { return read.text(item, name); });
    return read.ignore(key, v, {});
  });
  return fine && (!out.made.attribute.empty() ||
                  read.fail(errc::malformed, of, "has neither matchAttribute nor distinctAttribute"));
}

bool read_claim_spec(reader& read, const place& of, claim_object& out) {
  return read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "controller") return true;
    if (key != "devices") return read.ignore(key, v, {});
    return read.fields(v, [&](std::string_view field, const place& w) {
      if (field == "requests") {
        return read.list(w, out.requests, [&](const place& item, claimed_request& one) {
          one.terms.ask_host = out.ask_host;
          if (!read_claimed_request(read, item, one)) return false;
          return !one.device_class.empty() || !one.first_available.empty() ||
                 read.fail(errc::malformed, item, "names no device class");
        });
      }
      if (field == "constraints") {
        return read.list(w, out.constraints,
                         [&](const place& item, claimed_constraint& one) { return read_constraint(read, item, one); });
      }
      return read.ignore(field, w, {"config"});
    });
  });
}

bool read_claim_status(reader& read, const place& of, claim_object& out) {
  if (const value* users = of.at->find("reservedFor"); users != nullptr) {
    out.of_group = std::any_of(users->items.begin(), users->items.end(), [](const value& one) {
      const value* what = one.find("resource");
      return what != nullptr && what->text == "podgroups";
    });
  }
  const value* devices = of.at->find("allocation");
  devices = devices == nullptr ? nullptr : devices->find("devices");
  const value* results = devices == nullptr ? nullptr : devices->find("results");
  if (results == nullptr) return true;
  const place up{devices, &of, "allocation.devices"};
  return read.items(place{results, &up, "results"}, [&](const place& item) {
    std::string request, driver, pool, device;
    allocated_device& made = out.allocated.emplace_back();
    const bool fine = read.fields(item, [&](std::string_view key, const place& v) {
      if (key == "request") return read.text(v, request);
      if (key == "driver") return read.text(v, driver);
      if (key == "pool") return read.text(v, pool);
      if (key == "device") return read.text(v, device);
      if (key == "tolerations") return read_device_tolerations(read, v, made.tolerations);
      return key != "consumedCapacity" || read_amounts(read, v, made.capacities);
    });
    made.request = request.substr(0, request.find('/'));
    made.device = fmt::format("{}/{}/{}", driver, pool, device);
    sorted_map<std::int64_t> named;
    for (const auto& [name, amount] : made.capacities) named[qualified(driver, name)] = amount;
    made.capacities = std::move(named);
    return fine;
  });
}

}  // namespace

std::string qualified(std::string_view driver, std::string_view name) {
  return name.find('/') != std::string_view::npos ? std::string{name} : fmt::format("{}/{}", driver, name);
}

bool read_resource_slice(reader& read, const place& of, resource_slice& out) {
  const value* spec = of.at->find("spec");
  for (const auto& [key, into] : {std::pair{"driver", &out.driver}, std::pair{"nodeName", &out.node}}) {
    const value* found = spec == nullptr ? nullptr : spec->find(key);
    if (found != nullptr && found->kind == value_kind::text) *into = found->text;
  }
  if (const value* pool = spec == nullptr ? nullptr : spec->find("pool");
      pool != nullptr && pool->find("name") != nullptr)
    out.pool = pool->find("name")->text;
  return read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "metadata") return read_object_name(read, v, out.name);
    if (key != "spec") return read.ignore(key, v, {"apiVersion", "kind"});
    if (out.driver.empty()) return read.fail(errc::malformed, v, "names no driver");
    return read.fields(v, [&](std::string_view field, const place& w) {
      if (field == "driver") return read.text(w, out.driver);
      if (field == "nodeName") return read.text(w, out.node);
      if (field == "pool") {
        return read.fields(w, [&](std::string_view word, const place& x) {
          if (word == "name") return read.text(x, out.pool);
          if (word == "generation") return read.integer(x, out.generation);
          if (word == "resourceSliceCount")
            return read.integer(x, out.pool_slices, 1, std::numeric_limits<std::int64_t>::max());
          return read.ignore(word, x, {});
        });
      }
      if (field == "devices") {
        return read.list(w, out.devices, [&](const place& item, other_device& one) {
          one.device_class = out.driver;
          if (!read_device(read, item, out, one, out.taints.emplace_back())) return false;
          if (one.shared) one.attributes[shared_attribute] = true;
          if (one.shared && !one.consumes.empty()) {
            one.consumes.clear();
            one.healthy = false;
            read.warn(item, "counters of a device that is shared are not modelled; it is not used");
          }
          return !one.id.empty() || read.fail(errc::malformed, item, "has no name");
        });
      }
      if (field == "sharedCounters") {
        return read.items(w, [&](const place& item) {
          std::string set;
          if (const value* found = item.at->find("name")) set = found->text;
          return read.fields(item, [&](std::string_view word, const place& x) {
            if (word == "name") return read.text(x, set);
            if (word != "counters") return read.ignore(word, x, {});
            return read_counters(read, x, fmt::format("{}/{}/{}", out.driver, out.pool, set),
                                 [&](const std::string& name, std::int64_t amount) { out.counters[name] = amount; });
          });
        });
      }
      if (field == "nodeSelector" || field == "allNodes" || field == "perDeviceNodeSelection")
        return read.warn(w, "devices that several nodes reach are not modelled; the slice is left out");
      return read.ignore(field, w, {});
    });
  });
}

bool read_device_taint_rule(reader& read, const place& of, device_taint_rule& out) {
  return read.fields(of, [&](std::string_view key, const place& v) {
    if (key != "spec") return read.ignore(key, v, {"apiVersion", "kind", "metadata", "status"});
    bool understood = true;
    const bool fine = read.fields(v, [&](std::string_view field, const place& w) {
      if (field == "taint") return read_device_taint(read, w, out.taints);
      if (field != "deviceSelector") return read.ignore(field, w, {});
      device_taint_rule::selector& selects = out.selects.emplace();
      return read.fields(w, [&](std::string_view word, const place& x) {
        if (word == "driver") return read.text(x, selects.driver);
        if (word == "pool") return read.text(x, selects.pool);
        if (word == "device") return read.text(x, selects.device);
        understood = false;
        return read.warn(x, "no API selects devices so any more; the rule is left out");
      });
    });
    if (!understood) out.selects.reset();
    return fine;
  });
}

bool read_device_class(reader& read, const place& of, device_class& out) {
  return read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "metadata") {
      const value* const created = v.at->find("creationTimestamp");
      if (created != nullptr && created->kind != value_kind::null &&
          !read.time(place{created, &v, "creationTimestamp"}, out.created))
        return false;
      return read_object_name(read, v, out.name);
    }
    if (key != "spec") return read.ignore(key, v, {"apiVersion", "kind"});
    return read.fields(v, [&](std::string_view field, const place& w) {
      if (field == "selectors") return read_cel_selectors(read, w, out.terms);
      if (field == "extendedResourceName") return read.text(w, out.resource);
      return read.ignore(field, w, {"config", "suitableNodes"});
    });
  });
}

bool read_claim_object(reader& read, const place& of, claim_object& out) {
  return read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "metadata") return read_object_name(read, v, out.name, &out.ns);
    if (key == "status") return read_claim_status(read, v, out);
    if (key != "spec") return read.ignore(key, v, {"apiVersion", "kind"});
    if (!out.is_template) return read_claim_spec(read, v, out);
    return read.fields(v, [&](std::string_view field, const place& w) {
      return field == "spec" ? read_claim_spec(read, w, out) : read.ignore(field, w, {"metadata"});
    });
  });
}

bool read_compute_domain(reader& read, const place& of, claim_object& out) {
  out.is_template = true;
  const bool fine = read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "metadata") {
      std::string name;
      return read_object_name(read, v, name, &out.ns);
    }
    if (key != "spec") return read.ignore(key, v, {"apiVersion", "kind", "status"});
    return read.fields(v, [&](std::string_view field, const place& w) {
      if (field != "channel") return read.ignore(field, w, {"numNodes"});
      return read.fields(w, [&](std::string_view word, const place& x) {
        if (word != "resourceClaimTemplate") return read.ignore(word, x, {"allocationMode"});
        return read.fields(x, [&](std::string_view each, const place& y) {
          return each == "name" ? read.text(y, out.name) : read.ignore(each, y, {});
        });
      });
    });
  });
  claimed_request& channel = out.requests.emplace_back();
  channel.made.name = "channel";
  channel.device_class = "compute-domain-default-channel.nvidia.com";
  return fine && (!out.name.empty() || read.fail(errc::malformed, of, "needs spec.channel.resourceClaimTemplate.name"));
}

std::int64_t fewest_devices(const claim_object& claim) {
  const auto count = [](const claimed_request& one) { return std::int64_t{one.made.all ? 0 : one.made.count}; };
  std::int64_t sum = 0;
  for (const claimed_request& one : claim.requests) {
    std::int64_t least = count(one);
    for (std::size_t i = 0; i < one.first_available.size(); ++i)
      least = i == 0 ? count(one.first_available[i]) : std::min(least, count(one.first_available[i]));
    sum += least;
  }
  return sum;
}

std::string too_many_devices(std::int64_t fewest) {
  return fmt::format("{} devices are more than a claim can have, {}", fewest, most_claimed_devices);
}

}  // namespace gangsched::inline GANGSCHED_ABI::kube::detail
