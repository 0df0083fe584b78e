#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "gangsched/devices/numa_layout.hpp"
#include "gangsched/src/kube/devices/devices.hpp"

// NodeResourceTopology (topology.node.k8s.io v1alpha1, v1alpha2): what an agent on the node was told by its kubelet, NUMA cell by NUMA
// cell.
namespace gangsched::inline GANGSCHED_ABI::kube::detail {
namespace {

constexpr const char* topology_annotation = "node.koordinator.sh/cpu-topology";
constexpr const char* kubelet_annotation = "kubelet.koordinator.sh/cpu-manager-policy";

/// The N of "node-N".
std::optional<std::uint32_t> cell_of(std::string_view name) {
  std::uint32_t id = 0;
  if (!name.starts_with("node-")) return std::nullopt;
  const auto [end, wrong] = std::from_chars(name.data() + 5, name.data() + name.size(), id);
  if (wrong != std::errc{} || end != name.data() + name.size() || id > 1023) return std::nullopt;
  return id;
}

/// A field of @p of for messages; where it is missing, @p of.
place field_of(const place& of, std::string_view name) {
  const value* found = of.at->find(name);
  return found == nullptr ? of : place{found, &of, name};
}

class topology_reader {
 public:
  topology_reader(reader& read, const place& of, node_topology_object& out) : read_(&read), of_(of), out_(&out) {}

  bool run() {
    object_meta meta;
    const bool fine = read_->fields(of_, [&](std::string_view key, const place& v) {
      if (key == "metadata") return read_meta(*read_, v, meta);
      if (key == "zones") return read_names(v) && read_zones(v);
      if (key == "topologyPolicies") return read_policies(v);
      return key == "attributes" || read_->ignore(key, v, {"apiVersion", "kind"});
    });
    if (!fine) return false;
    out_->node = meta.name;
    const value* attributes = of_.at->find("attributes");  // last: they are the newer words
    if (attributes != nullptr && attributes->kind != value_kind::null &&
        !read_attributes({attributes, &of_, "attributes"}))
      return false;
    if (!meta.annotations.contains(topology_annotation)) make_cpus();
    // Kubelet tells agents of CPUs and memory only where its managers give them out.
    out_->has.cpu.is_static = std::ranges::any_of(zones_, [](const auto& one) { return one.second.cpus > 0; });
    out_->has.static_memory = std::ranges::any_of(zones_, [](const auto& one) { return one.second.has_memory; });
    const bool read_all = read_annotation(meta, topology_annotation,
                                          [&](reader& in, const place& root) { return read_cpus(in, root); }) &&
                          read_annotation(meta, kubelet_annotation,
                                          [&](reader& in, const place& root) { return read_kubelet(in, root); });
    if (!read_all) return false;
    for (auto& [id, one] : zones_) out_->has.cells.push_back(std::move(one.cell));
    const auto laid_out = make_numa_layout(out_->has, "");
    return laid_out || read_->fail(laid_out.error().code, field_of(of_, "zones"),
                                   fmt::format("{}: {}", laid_out.error().field, laid_out.error().reason));
  }

 private:
  struct zone {
    numa_cell cell;
    std::uint32_t cpus = 0, reserved = 0;
    bool has_memory = false;
  };

  template <class Each>
  bool read_annotation(const object_meta& meta, const char* name, const Each& each) {
    const auto found = meta.annotations.find(name);
    return found == meta.annotations.end() ||
           read_inside(*read_, find_spot(of_, {"metadata", "annotations", name}), found->second, each);
  }

  /// All of them first: costs refer to zones further down.
  bool read_names(const place& zones) {
    cells_.clear();
    return read_->items(zones, [&](const place& item) {
      std::string name, type;
      const bool fine = read_->fields(item, [&](std::string_view key, const place& v) {
        if (key == "name") return read_->text(v, name);
        return key != "type" || read_->text(v, type);
      });
      if (!fine) return false;
      if (!names_.insert(name).second)
        return read_->fail(errc::duplicate, field_of(item, "name"), fmt::format("there is another zone \"{}\"", name));
      cells_.emplace_back();
      if (type != "Node") return true;  // sockets, dies
      const auto id = cell_of(name);
      if (!id)
        return read_->fail(errc::malformed, field_of(item, "name"),
                           fmt::format("\"{}\" is no NUMA cell's name like node-0", name));
      if (!zones_.emplace(*id, zone{}).second)
        return read_->fail(errc::duplicate, field_of(item, "name"), "there is another zone with this number");
      zones_.at(*id).cell.id = *id;
      cells_.back() = *id;
      return true;
    });
  }

  bool read_zones(const place& zones) {
    return read_->items(zones, [&](const place& item) {
      if (!cells_[item.index]) return true;
      zone& one = zones_.at(*cells_[item.index]);
      std::set<std::string> seen;
      return read_->fields(item, [&](std::string_view key, const place& v) {
        if (key == "costs") return read_costs(v, one.cell);
        if (key == "resources")
          return read_->items(v, [&](const place& resource) { return read_resource(resource, one, seen); });
        return read_->ignore(key, v, {"name", "type", "parent", "attributes"});
      });
    });
  }

  bool read_costs(const place& of, numa_cell& cell) {
    std::map<std::uint32_t, std::uint32_t> to;
    const bool fine = read_->items(of, [&](const place& item) {
      std::string name;
      std::uint32_t value = 0;
      const bool read_all = read_->fields(item, [&](std::string_view key, const place& v) {
        if (key == "name") return read_->text(v, name);
        if (key == "value") return read_->integer(v, value, 10, 254);
        return read_->ignore(key, v, {});
      });
      if (!read_all) return false;
      if (!names_.contains(name))
        return read_->fail(errc::unknown, field_of(item, "name"), fmt::format("there is no zone \"{}\"", name));
      const auto id = cell_of(name);
      if (!id || !zones_.contains(*id)) return true;
      return to.emplace(*id, value).second ||
             read_->fail(errc::duplicate, field_of(item, "name"), fmt::format("there is another cost to \"{}\"", name));
    });
    if (!fine || to.empty()) return fine;
    to.emplace(cell.id, 10);
    for (const auto& [id, one] : zones_) {
      const auto found = to.find(id);
      if (found == to.end()) return read_->fail(errc::malformed, of, fmt::format("there is none to \"node-{}\"", id));
      cell.distances.push_back(found->second);
    }
    return true;
  }

  bool read_resource(const place& of, zone& to, std::set<std::string>& seen) {
    std::string name;
    quantity capacity, allocatable, available;
    bool has_capacity = false, has_allocatable = false;
    const bool fine = read_->fields(of, [&](std::string_view key, const place& v) {
      const auto amount = [&](quantity& out) {
        return read_->amount(v, out) && (!out.negative() || read_->fail(errc::out_of_range, v, "is negative"));
      };
      if (key == "name") return read_->text(v, name);
      if (key == "capacity") return has_capacity = true, amount(capacity);
      if (key == "allocatable") return has_allocatable = true, amount(allocatable);
      if (key == "available") return amount(available);  // what pods leave is counted by the pods
      return read_->ignore(key, v, {});
    });
    if (!fine) return false;
    if (name.empty()) return read_->fail(errc::malformed, of, "needs a name");
    if (!seen.insert(name).second)
      return read_->fail(errc::duplicate, field_of(of, "name"), fmt::format("there is \"{}\" already", name));
    if (!has_capacity && !has_allocatable) return read_->fail(errc::malformed, of, "needs capacity or allocatable");
    if (!has_allocatable) allocatable = capacity;
    if (!has_capacity) capacity = allocatable;
    std::int64_t most = 0, usable = 0;
    if (!capacity.value(most) || !allocatable.value(usable)) return read_->fail(errc::overflow, of, "is too much");
    if (name == "cpu") {
      if (most > static_cast<std::int64_t>(cpu_set::capacity))
        return read_->fail(errc::out_of_range, field_of(of, "capacity"),
                           fmt::format("a node has at most {} CPUs", cpu_set::capacity));
      to.cpus = static_cast<std::uint32_t>(most);
      std::int64_t milli = 0;
      static_cast<void>(allocatable.milli_value(milli));
      to.reserved = to.cpus - static_cast<std::uint32_t>(std::clamp<std::int64_t>(milli / 1000, 0, most));
    } else if (name == "memory") {
      to.has_memory = true;
      to.cell.memory_bytes = static_cast<std::uint64_t>(usable);
    } else if (name.starts_with("hugepages-")) {
      const auto page = quantity::parse(name.substr(10));
      std::int64_t bytes = 0;
      if (!page || !page->value(bytes) || bytes <= 0)
        return read_->fail(errc::malformed, field_of(of, "name"), fmt::format("\"{}\" names no page size", name));
      to.cell.hugepages.push_back({static_cast<std::uint64_t>(bytes), static_cast<std::uint64_t>(usable)});
    } else if (usable > 0) {
      out_->counted[name][to.cell.id] = usable;
    }
    return true;
  }

  bool read_policies(const place& of) {
    std::vector<std::string> all;
    if (!read_->texts(of, all) || all.empty()) return all.empty();
    struct meaning {
      std::string_view word;
      numa_policy policy;
      numa_scope scope;
    };
    using enum numa_policy;
    static constexpr meaning words[] = {{"SingleNUMANodeContainerLevel", single_numa_node, numa_scope::container},
                                        {"SingleNUMANodePodLevel", single_numa_node, numa_scope::pod},
                                        {"Restricted", restricted, numa_scope::container},
                                        {"RestrictedContainerLevel", restricted, numa_scope::container},
                                        {"RestrictedPodLevel", restricted, numa_scope::pod},
                                        {"BestEffort", best_effort, numa_scope::container},
                                        {"BestEffortContainerLevel", best_effort, numa_scope::container},
                                        {"BestEffortPodLevel", best_effort, numa_scope::pod},
                                        {"None", none, numa_scope::container}};
    for (const meaning& one : words)
      if (one.word == all.front()) return out_->has.policy = one.policy, out_->has.scope = one.scope, true;
    return read_->fail(errc::unknown, {&of.at->items.front(), &of, {}, 0},
                       fmt::format("\"{}\" is no policy of the Topology Manager", all.front()));
  }

  bool read_attributes(const place& of) {
    return read_->items(of, [&](const place& item) {
      const value* name = item.at->find("name");
      const place v = field_of(item, "value");
      if (name != nullptr && name->text == "topologyManagerPolicy") {
        return read_->word(v, out_->has.policy,
                           {{"none", numa_policy::none},
                            {"best-effort", numa_policy::best_effort},
                            {"restricted", numa_policy::restricted},
                            {"single-numa-node", numa_policy::single_numa_node}});
      }
      if (name != nullptr && name->text == "topologyManagerScope")
        return read_->word(v, out_->has.scope, {{"container", numa_scope::container}, {"pod", numa_scope::pod}});
      return true;  // fingerprints and the like
    });
  }

  /// Zones do not list their CPUs: these are numbered through, each a core of its own and each cell a socket, of which the system has
  /// the first.
  void make_cpus() {
    std::uint32_t next = 0;
    for (auto& [id, one] : zones_) {
      for (std::uint32_t i = 0; i < one.cpus; ++i, ++next) {
        one.cell.cpus.push_back({.id = next, .core = next, .socket = id, .uncore_cache = id});
        if (i < one.reserved) out_->has.reserved_cpus.push_back(next);
      }
    }
  }

  /// {"detail": [{"id": 0, "core": 0, "socket": 0, "node": 0}]}: koordlet's.
  bool read_cpus(reader& in, const place& root) {
    return in.fields(root, [&](std::string_view key, const place& v) {
      if (key != "detail") return in.ignore(key, v, {});
      return in.items(v, [&](const place& item) {
        numa_cpu cpu;
        std::uint32_t cell = 0;
        const bool fine = in.fields(item, [&](std::string_view field, const place& w) {
          if (field == "id") return in.integer(w, cpu.id);
          if (field == "core") return in.integer(w, cpu.core);
          if (field == "socket") return in.integer(w, cpu.socket);
          if (field == "node") return in.integer(w, cell);
          return in.ignore(field, w, {});
        });
        if (!fine) return false;
        const auto found = zones_.find(cell);
        if (found == zones_.end())
          return in.fail(errc::unknown, field_of(item, "node"), fmt::format("there is no zone \"node-{}\"", cell));
        cpu.uncore_cache = cpu.socket;
        found->second.cell.cpus.push_back(cpu);
        if (found->second.reserved > 0) {
          --found->second.reserved;
          out_->has.reserved_cpus.push_back(cpu.id);
        }
        return true;
      });
    });
  }

  /// {"policy": "static", "options": {"full-pcpus-only": "true"}, "reservedCPUs": "0-1"}: what koordlet found of kubelet's configuration.
  bool read_kubelet(reader& in, const place& root) {
    cpu_policy& cpu = out_->has.cpu;
    return in.fields(root, [&](std::string_view key, const place& v) {
      if (key == "policy") return in.word(v, cpu.is_static, {{"", false}, {"none", false}, {"static", true}});
      if (key == "reservedCPUs") {
        std::string list;
        if (!in.text(v, list)) return false;
        const auto cpus = parse_cpu_list(list);
        if (!cpus) return in.fail(errc::malformed, v, fmt::format("\"{}\" is no list of CPUs like 0-3,8", list));
        if (!cpus->empty()) out_->has.reserved_cpus = *cpus;
        return true;
      }
      if (key != "options") return in.ignore(key, v, {});
      return in.fields(v, [&](std::string_view option, const place& w) {
        const std::pair<std::string_view, bool*> known[] = {
            {"full-pcpus-only", &cpu.full_pcpus_only},
            {"distribute-cpus-across-numa", &cpu.distribute_cpus_across_numa},
            {"align-by-socket", &cpu.align_by_socket},
            {"distribute-cpus-across-cores", &cpu.distribute_cpus_across_cores},
            {"strict-cpu-reservation", &cpu.strict_cpu_reservation},
            {"prefer-align-cpus-by-uncorecache", &cpu.prefer_align_cpus_by_uncorecache}};
        for (const auto& [name, into] : known)
          if (name == option) return in.word(w, *into, {{"true", true}, {"false", false}});
        return in.ignore(option, w, {});
      });
    });
  }

  reader* read_;
  place of_;
  node_topology_object* out_;
  std::set<std::string> names_;
  std::vector<std::optional<std::uint32_t>> cells_;  // the number of each zone that is a cell
  std::map<std::uint32_t, zone> zones_;              // by the number of the cell
};

/// Default is what koord-scheduler has by default.
bool read_bind_policy(reader& read, const place& of, cpu_bind_policy& out) {
  using enum cpu_bind_policy;
  return read.word(of, out,
                   {{"", none},
                    {"Default", full_pcpus},
                    {"FullPCPUs", full_pcpus},
                    {"SpreadByPCPUs", spread_by_pcpus},
                    {"ConstrainedBurst", none}});
}

}  // namespace

std::optional<error> read_cpu_rules(const node_manifest& node, std::string object, node_numa& to) {
  std::optional<error> wrong;
  for (const std::uint32_t cpu : node.reserved_cpus)
    if (std::ranges::find(to.reserved_cpus, cpu) == to.reserved_cpus.end()) to.reserved_cpus.push_back(cpu);
  const auto label = [&](const char* key, auto& into, auto words) {
    const auto found = node.spec.labels.find(key);
    if (found == node.spec.labels.end() || wrong) return false;
    std::string all;
    for (const auto& [word, meaning] : words) {
      if (word == found->second) return into = meaning, true;
      all += fmt::format("{}{}", all.empty() ? "" : ", ", word);
    }
    wrong = error{errc::unknown, object, fmt::format("metadata.labels[\"{}\"]", key),
                  fmt::format("\"{}\" is not one of {}", found->second, all)};
    return false;
  };
  label("node.koordinator.sh/cpu-bind-policy", to.cpu_bind,
        std::initializer_list<std::pair<std::string_view, cpu_bind_policy>>{
            {"None", cpu_bind_policy::none},
            {"FullPCPUsOnly", cpu_bind_policy::full_pcpus},
            {"SpreadByPCPUs", cpu_bind_policy::spread_by_pcpus}});
  label("node.koordinator.sh/numa-allocate-strategy", to.cpu_strategy,
        std::initializer_list<std::pair<std::string_view, numa_allocate_strategy>>{
            {"LeastAllocated", numa_allocate_strategy::least_allocated},
            {"MostAllocated", numa_allocate_strategy::most_allocated},
            {"DistributeEvenly", numa_allocate_strategy::least_allocated}});
  const bool aligned = label("node.koordinator.sh/numa-topology-policy", to.policy,
                             std::initializer_list<std::pair<std::string_view, numa_policy>>{
                                 {"BestEffort", numa_policy::best_effort},
                                 {"Restricted", numa_policy::restricted},
                                 {"SingleNUMANode", numa_policy::single_numa_node}});
  if (aligned) to.scope = numa_scope::pod;
  constexpr const char* ratio = "node.koordinator.sh/resource-amplification-ratio";
  const auto found = node.annotations.find(ratio);
  if (wrong || found == node.annotations.end()) return wrong;
  const auto told = [&](std::string reason) {
    return error{errc::malformed, object, fmt::format("metadata.annotations[\"{}\"]", ratio), std::move(reason)};
  };
  const auto parsed = parse(source{"annotation.json", found->second}, of_annotation);
  if (!parsed || parsed->size() != 1) return told("is neither JSON nor YAML");
  const value* cpu = parsed->front().root.find("cpu");
  if (cpu == nullptr) return std::nullopt;
  const auto amount = quantity::parse(cpu->text);
  std::int64_t milli = 0;
  if (!amount || !amount->milli_value(milli) || milli <= 0 || milli > 1'000'000)
    return told(fmt::format("\"{}\" is no ratio like 1.5", cpu->text));
  to.cpu_amplification_percent = static_cast<std::int32_t>((milli + 5) / 10);
  return std::nullopt;
}

bool read_cpu_binding(reader& read, const place& of, pod_manifest& out) {
  const auto label = [&](const char* key) {
    const auto found = out.spec.labels.find(key);
    return found == out.spec.labels.end() ? std::string_view{} : std::string_view{found->second};
  };
  const std::string_view qos = label("koordinator.sh/qosClass"), priority = label("koordinator.sh/priority-class");
  if ((qos != "LSE" && qos != "LSR") || (!priority.empty() && priority != "koord-prod")) return true;
  cpu_bind_policy preferred = cpu_bind_policy::full_pcpus, required = cpu_bind_policy::none;
  cpu_exclusive_policy exclusive = cpu_exclusive_policy::none;
  constexpr const char* spec = "scheduling.koordinator.sh/resource-spec";
  if (const auto text = out.annotations.find(spec); text != out.annotations.end()) {
    const bool fine = read_inside(
        read, find_spot(of, {"metadata", "annotations", spec}), text->second, [&](reader& in, const place& root) {
          return in.fields(root, [&](std::string_view key, const place& v) {
            if (key == "requiredCPUBindPolicy") return read_bind_policy(in, v, required);
            if (key == "preferredCPUBindPolicy") return read_bind_policy(in, v, preferred);
            if (key != "preferredCPUExclusivePolicy") return in.ignore(key, v, {});
            return v.at->text.empty() || in.word(v, exclusive,
                                                 {{"None", cpu_exclusive_policy::none},
                                                  {"PCPULevel", cpu_exclusive_policy::pcpu_level},
                                                  {"NUMANodeLevel", cpu_exclusive_policy::numa_node_level}});
          });
        });
    if (!fine) return false;
  }
  const bool has = required != cpu_bind_policy::none;
  out.spec.bind_cpus = {has ? required : preferred, has, exclusive};
  return true;
}

std::optional<std::vector<std::uint32_t>> parse_cpu_list(std::string_view list) {
  std::vector<std::uint32_t> all;
  const char* at = list.data();
  const char* const end = at + list.size();
  const auto number = [&](std::uint32_t& out) {
    const auto [next, wrong] = std::from_chars(at, end, out);
    at = next;
    return wrong == std::errc{} && out < cpu_set::capacity;
  };
  while (at != end) {
    std::uint32_t first = 0;
    if (!number(first)) return std::nullopt;
    std::uint32_t last = first;
    if (at != end && *at == '-' && (++at, !number(last) || last < first)) return std::nullopt;
    if (all.size() + (last - first) >= cpu_set::capacity) return std::nullopt;  // some CPU is there twice
    for (; first <= last; ++first) all.push_back(first);
    if (at != end && (*at++ != ',' || at == end)) return std::nullopt;
  }
  return all;
}

bool read_node_topology(reader& read, const place& of, node_topology_object& out) {
  return topology_reader{read, of, out}.run();
}

}  // namespace gangsched::inline GANGSCHED_ABI::kube::detail
