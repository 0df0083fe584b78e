#include "gangsched/devices/numa_admit.hpp"

#include <algorithm>
#include <utility>

namespace gangsched::inline GANGSCHED_ABI {

namespace detail {

/// What is asked for at once, by a container or by a pod as a whole.
struct numa_ask {
  unsigned cpus = 0;  ///< exclusive ones
  memory_amounts memory;
  std::vector<unsigned> devices;
};

/// @p amounts with zeros up to @p size; more than that has no meaning on this node.
template <class Amount>
inline std::vector<Amount> padded(std::vector<Amount> amounts, std::size_t size) {
  GANGSCHED_ASSERT(amounts.size() <= size);
  amounts.resize(size, 0);
  return amounts;
}

/// Admits one pod, container by container.
class numa_admitter {
 public:
  numa_admitter(const numa_node& node, const numa_state& state, const numa_pod& pod, const numa_device_choice& choice,
                const numa_cpu_choice& cpus)
      : node_(node),
        pod_(pod),
        choice_(choice),
        cpu_choice_(cpus),
        topology_(*node.topology),
        reusable_devices_(node.devices.size()) {
    out_.after = state;
  }

  numa_admission run() && {
    numa_verdict verdict{{}, true};
    const bool whole_pod = node_.policy != numa_policy::none && node_.scope == numa_scope::pod;
    if (whole_pod) verdict = judge(pod_ask());
    for (std::size_t i = 0; i < pod_.containers.size(); ++i) {
      out_.container = i;
      const numa_ask ask = container_ask(pod_.containers[i]);
      if (!whole_pod && node_.policy != numa_policy::none) verdict = judge(ask);
      if (!verdict.admitted)
        out_.reason = numa_refusal::topology_affinity;
      else
        out_.reason = give(pod_.containers[i], ask, verdict.best);
      if (out_.reason != numa_refusal::none) return std::move(out_);
    }
    out_.admitted = true;
    out_.container = 0;
    return std::move(out_);
  }

 private:
  static constexpr std::int64_t more_than_all = cpu_set::capacity + 1;
  [[nodiscard]] numa_ask container_ask(const numa_container& container) const {
    numa_ask ask;
    if (pod_.guaranteed && node_.cpu.is_static && container.cpu_milli % 1000 == 0)
      ask.cpus = static_cast<unsigned>(std::clamp<std::int64_t>(container.cpu_milli / 1000, 0, more_than_all));
    const bool memory = pod_.guaranteed && node_.static_memory;
    ask.memory = padded(memory ? container.memory : memory_amounts{}, topology_.memory_kinds().size());
    ask.devices = padded(container.devices, node_.devices.size());
    return ask;
  }

  /// The most that containers have at the same time: init containers on top of the sidecars before them, or all that stays.
  /// @param value what one container asks for
  template <class Value>
  [[nodiscard]] auto most_at_once(Value&& value) const {
    decltype(value(pod_.containers[0])) sidecars = 0, apps = 0, start = 0;
    for (const numa_container& container : pod_.containers) {
      const auto asked = value(container);
      if (container.kind == container_kind::app)
        apps += asked;
      else if (container.kind == container_kind::sidecar)
        sidecars += asked, start = std::max(start, sidecars);
      else
        start = std::max(start, sidecars + asked);
    }
    return std::pair{std::max(start, sidecars + apps), apps};
  }
  [[nodiscard]] numa_ask pod_ask() const {
    numa_ask ask;
    ask.cpus = most_at_once([this](const numa_container& c) { return container_ask(c).cpus; }).first;
    for (std::size_t kind = 0; kind < topology_.memory_kinds().size(); ++kind) {
      const auto [most, apps] = most_at_once([&](const numa_container& c) { return container_ask(c).memory[kind]; });
      // kubelet counts the kinds of memory that an app container asks for.
      ask.memory.push_back(apps == 0 ? 0 : most);
    }
    for (std::size_t kind = 0; kind < node_.devices.size(); ++kind)
      ask.devices.push_back(
          most_at_once([&](const numa_container& c) { return container_ask(c).devices[kind]; }).first);
    return ask;
  }

  /// Collects the managers' hints and merges them.
  [[nodiscard]] numa_verdict judge(const numa_ask& ask) const {
    std::vector<numa_hint_list> lists;
    for (std::size_t kind = 0; kind < node_.devices.size(); ++kind) {
      if (ask.devices[kind] == 0) continue;
      auto hints = device_hints(topology_, node_.devices[kind], out_.after.free_devices[kind], reusable_devices_[kind],
                                ask.devices[kind]);
      if (hints) lists.push_back(*std::move(hints));
    }
    if (ask.cpus != 0)
      lists.push_back(cpu_hints(topology_, node_.cpu, out_.after.cpus.available(), reusable_cpus_, ask.cpus));
    const auto kinds =
        std::count_if(ask.memory.begin(), ask.memory.end(), [](std::uint64_t bytes) { return bytes != 0; });
    if (kinds != 0) {
      const numa_hint_list hints = memory_hints(topology_, out_.after.memory, reusable_memory_, ask.memory);
      // One list for each kind. Without hints kubelet's list is missing rather than empty, which reads as "any".
      if (!hints.empty()) lists.insert(lists.end(), static_cast<std::size_t>(kinds), hints);
    }
    return merge_numa_hints(node_.policy, topology_.machine(), lists,
                            node_.prefer_closest ? &topology_.distances() : nullptr);
  }

  numa_refusal give(const numa_container& container, const numa_ask& ask, numa_hint hint) {
    numa_grant grant;
    grant.hint = hint;
    const bool ends = container.kind == container_kind::init;
    if (!give_devices(ask, hint, ends, grant)) return numa_refusal::devices;
    if (ask.cpus != 0) {
      if (check_smt_alignment(topology_, node_.cpu, out_.after.cpus, ask.cpus) != smt_alignment::fits)
        return numa_refusal::smt_alignment;
      const cpu_set available = out_.after.cpus.available() | reusable_cpus_;
      const auto cpus = cpu_choice_ ? cpu_choice_(available, hint.cells, ask.cpus)
                                    : allocate_cpus(topology_, node_.cpu, available, hint.cells, ask.cpus);
      if (!cpus) return numa_refusal::cpus;
      grant.cpus = *cpus;
      out_.after.cpus.shared -= *cpus;
      if (ends)
        reusable_cpus_ |= *cpus;
      else
        reusable_cpus_ -= *cpus;
    }
    auto memory = allocate_memory(topology_, out_.after.memory, reusable_memory_, ask.memory, hint, node_.whole_groups);
    if (!memory) return numa_refusal::memory;
    grant.memory = *std::move(memory);
    if (grant.memory.cells != 0) {
      if (ends)
        reusable_memory_.leave(grant.memory.cells, ask.memory);
      else
        reusable_memory_.use(grant.memory.cells, ask.memory);
      rebook(grant.memory);
    }
    out_.grants.push_back(std::move(grant));
    return numa_refusal::none;
  }

  bool give_devices(const numa_ask& ask, numa_hint hint, bool ends, numa_grant& grant) {
    grant.devices.resize(node_.devices.size());
    for (std::size_t kind = 0; kind < node_.devices.size(); ++kind) {
      if (ask.devices[kind] == 0) continue;
      const device_set &free = out_.after.free_devices[kind], &reusable = reusable_devices_[kind];
      const auto devices = choice_
                               ? choice_(kind, free, reusable, hint.cells, ask.devices[kind])
                               : allocate_devices(node_.devices[kind], free, reusable, hint.cells, ask.devices[kind]);
      if (!devices) return false;
      grant.devices[kind] = *devices;
      out_.after.free_devices[kind] -= *devices;
      if (ends)
        reusable_devices_[kind] |= *devices;
      else
        reusable_devices_[kind] -= *devices;
    }
    return true;
  }

  /// Takes what a container uses again off the init containers before it, so that all bookings add up to what is taken.
  void rebook(const memory_grant& later) {
    for (std::size_t kind = 0; kind < later.bytes.size(); ++kind) {
      std::uint64_t bytes = later.bytes[kind];
      for (std::size_t i = 0; i < out_.grants.size(); ++i) {
        memory_grant& earlier = out_.grants[i].memory;
        if (pod_.containers[i].kind != container_kind::init || earlier.cells != later.cells) continue;
        const std::uint64_t part = std::min(bytes, earlier.bytes[kind]);
        earlier.bytes[kind] -= part;
        bytes -= part;
      }
    }
  }

  const numa_node& node_;
  const numa_pod& pod_;
  const numa_device_choice& choice_;
  const numa_cpu_choice& cpu_choice_;
  const numa_topology& topology_;
  cpu_set reusable_cpus_;
  reusable_memory reusable_memory_;
  std::vector<device_set> reusable_devices_;
  numa_admission out_;
};

}  // namespace detail

GANGSCHED_INLINE std::string_view to_string(numa_refusal reason) noexcept {
  switch (reason) {
    case numa_refusal::none: return "";
    case numa_refusal::topology_affinity: return "TopologyAffinityError";
    case numa_refusal::smt_alignment: return "SMTAlignmentError";
    case numa_refusal::devices:
    case numa_refusal::cpus:
    case numa_refusal::memory: return "UnexpectedAdmissionError";
  }
  return "?";
}

GANGSCHED_INLINE numa_admission numa_admit(const numa_node& node, const numa_state& state, const numa_pod& pod,
                                           const numa_device_choice& choice, const numa_cpu_choice& cpus) {
  numa_admission out = detail::numa_admitter(node, state, pod, choice, cpus).run();
  if (!out.admitted) {
    out.grants.clear();
    out.after = state;
  }
  return out;
}

GANGSCHED_INLINE result<numa_state> make_numa_state(const numa_node& node, const cpu_set& reserved) {
  result<cpu_pool> pool = make_cpu_pool(*node.topology, node.cpu, reserved);
  if (!pool) return std::move(pool).error();
  numa_state state{*pool, make_memory_state(*node.topology), {}};
  for (const device_kind& kind : node.devices)
    state.free_devices.push_back(device_set::range(0, static_cast<unsigned>(kind.cells.size())));
  return state;
}

GANGSCHED_INLINE void numa_release(const numa_node& node, numa_state& state, std::span<const numa_grant> grants) {
  for (const numa_grant& grant : grants) {
    state.cpus.shared |= grant.cpus;
    release_memory(*node.topology, state.memory, grant.memory);
    for (std::size_t kind = 0; kind < grant.devices.size(); ++kind) state.free_devices[kind] |= grant.devices[kind];
  }
}

}  // namespace gangsched::inline GANGSCHED_ABI
