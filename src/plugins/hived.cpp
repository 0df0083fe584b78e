#include "gangsched/plugins/hived.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "gangsched/core/is_among.hpp"
#include "gangsched/policies/group_need.hpp"
#include "gangsched/policies/hived_arguments.hpp"
#include "gangsched/policies/hived_books.hpp"
#include "gangsched/policies/known_refusals.hpp"
#include "gangsched/policies/queue_list.hpp"

namespace gangsched::inline GANGSCHED_ABI {
namespace detail {
inline constexpr const char* hived_stranger = "its queue is no virtual cluster";
inline constexpr const char* hived_lacks_cells = "its virtual cluster has too few cells left";
inline constexpr const char* hived_lacks_devices = "there are too few devices that nobody uses";
inline constexpr const char* hived_leaving = "it waits for those who leave its cells";
inline constexpr const char* hived_in_use = "others have to leave its cells first";
inline constexpr const char* hived_elsewhere = "its cells are on other nodes";
inline constexpr const char* hived_evicts =
    "what it uses is due to another virtual cluster, or to a more important group of its own";
inline constexpr const char* hived_helpless = "there is nobody whose eviction would leave cells to it";
}  // namespace detail

/// What is remembered between questions, and what the present question is about.
struct hived_policy::memory {
  using plan = hived_books::plan;

  hived_books books;
  std::optional<plan> last = {};   ///< of the entity that admission was asked about last
  std::optional<plan> aside = {};  ///< of a pod that was asked about outside its attempt
  std::uint64_t aside_of = 0;      ///< the number of changes `aside` was made at
  const plan* trying = nullptr;    ///< the plan under test in a search for victims
  known_refusals refused = {};

  explicit memory(const options& with)
      : books{{with.cells, with.gpu, with.lazy_preemption, with.pin_label, with.type_label}} {}

  /// The pods that an entity needs placed, and those of it that wait beyond that.
  struct wish {
    hived_books::demand needs = {};
    std::vector<hived_books::member> more = {};
    const char* refusal = nullptr;
  };
  void describe(wish& out, const pod_info& first) const {
    const auto queue = first.queue();
    if (!queue || !books.cluster_of(*queue)) {
      out.refusal = detail::hived_stranger;
      return;
    }
    std::vector<hived_books::member> pods = std::move(out.needs.pods);
    out.needs = books.demand_of(first);
    out.needs.pods = std::move(pods);
  }
  [[nodiscard]] wish of_pod(const pod_info& pod) const {
    wish made;
    made.needs.pods.push_back({pod.id(), books.devices_of(pod)});
    describe(made, pod);
    return made;
  }
  [[nodiscard]] wish of_group(const group_view& group) const {
    wish made;
    const group_view root = group.root();
    std::vector<pod_id> needed;
    std::optional<pod_info> first;
    each_needed_pod(root, [&](const pod_info& pod) {
      needed.push_back(pod.id());
      if (books.devices_of(pod) == 0) return;
      made.needs.pods.push_back({pod.id(), books.devices_of(pod)});
      if (!first) first = pod;
    });
    root.each_pod_below([&](const pod_info& pod) {
      if (pod.state() != pod_state::pending || pod.terminating() || !pod.gates().empty()) return;
      if (books.devices_of(pod) == 0 || is_among(pod.id(), needed)) return;
      made.more.push_back({pod.id(), books.devices_of(pod)});
      if (!first) first = pod;
    });
    if (first) describe(made, *first);
    return made;
  }

  /// A plan for the needed pods, with as many more of them as find cells without victims.
  [[nodiscard]] plan decide(const wish& of) {
    if (of.refusal != nullptr) return {.whose = of.needs, .why = of.refusal};
    hived_books::demand all = of.needs;
    all.pods.insert(all.pods.end(), of.more.begin(), of.more.end());
    if (auto promised = books.promised_to(all)) return *std::move(promised);
    if (of.more.empty()) return books.decide(of.needs, std::nullopt);
    plan best = books.decide(all, std::nullopt);
    if (best.may_go()) return best;
    hived_books::demand grown = of.needs;
    std::size_t more = 0;
    if (grown.pods.empty()) grown.pods.push_back(of.more[more++]);
    best = books.decide(grown, std::nullopt);
    for (; best.may_go() && more < of.more.size(); ++more) {
      grown.pods.push_back(of.more[more]);
      plan next = books.decide(grown, std::nullopt);
      if (!next.may_go()) break;
      best = std::move(next);
    }
    return best;
  }

  [[nodiscard]] status word(const plan& on, const cluster_view& cluster) const {
    if (on.why != nullptr) return status::unschedulable(on.why);
    if (on.waits())
      return status::pending(on.whose.priority < 0 ? detail::hived_lacks_devices : detail::hived_lacks_cells);
    if (on.unit && !on.may_go() && victims_of(on, cluster).empty()) return status::pending(detail::hived_leaving);
    return status::success();
  }
  [[nodiscard]] status admit(const wish& of, const cluster_view& cluster,
                             const std::optional<known_refusals::request>& as) {
    last = decide(of);
    const status said = word(*last, cluster);
    if (as && !said.ok() && !last->unit) refused.add(*as, said);
    return said;
  }

  /// Labels may choose cells, so refusals are remembered only for pods without labels.
  [[nodiscard]] static std::optional<known_refusals::request> request_of(const pod_info& pod) {
    return pod.labels().empty() ? known_refusals::of(pod) : std::nullopt;
  }
  [[nodiscard]] static std::optional<known_refusals::request> request_of(const group_view& group) {
    bool labelled = false;
    group.each_member([&](const pod_info& pod) { labelled = labelled || !pod.labels().empty(); });
    return labelled ? std::nullopt : known_refusals::of(group);
  }

  /// The pods that have to go for the plan and are not leaving yet. A gang whose first part is in the way goes as a whole.
  [[nodiscard]] std::vector<pod_id> victims_of(const plan& by, const cluster_view& cluster) const {
    std::vector<pod_id> made;
    const auto add = [&](const pod_info& pod) {
      const bool there = pod.node() ? !pod.terminating() : pod.nominated_node().has_value();
      if (there && !is_among(pod.id(), made)) made.push_back(pod.id());
    };
    for (const hived_books::unit* const one : books.in_the_way(by)) {
      for (const hived_books::unit::part& part : one->parts)
        if (const auto pod = cluster.pod(part.pod)) add(*pod);
      if (!one->first || one->promised || !one->whose.tree) continue;
      if (const auto pod = cluster.pod(one->parts.front().pod); pod && pod->group())
        pod->group()->root().each_pod_below([&](const pod_info& other) {
          if (other.node()) add(other);
        });
    }
    return made;
  }

  /// The plan that the pod's attempt follows; null if no books have been read yet.
  [[nodiscard]] const plan* plan_of(const pod_info& pod, const cluster_view& cluster) {
    if (trying != nullptr && trying->is_of(pod.id())) return trying;
    if (last && last->is_of(pod.id())) return &*last;
    if (!books.known()) return nullptr;
    if (!aside || !aside->is_of(pod.id()) || aside_of != cluster.changes()) {
      aside = decide(of_pod(pod));
      aside_of = cluster.changes();
    }
    return &*aside;
  }

  /// If other filters reject nodes of the plan's cells, looks for other cells: on nodes that these filters let the pod on, and on nodes
  /// that may lack only GPUs.
  void look_past(plan& of, const pod_info& pod, const std::string& gpu, const cluster_view& cluster,
                 std::span<const filtered_group> groups) {
    const std::uint32_t devices = books.devices_of(pod);
    std::set<std::int64_t> open;
    for (const filtered_group& one : groups) open.insert(one.key);
    const auto is_open = [&](const plan& one) {
      return std::all_of(one.places.begin(), one.places.end(), [&](const hived_books::place& place) {
        return place.devices != devices || open.contains(std::int64_t{place.node.row});
      });
    };
    if (of.nodes) {  // what was looked past in another placement
      plan first = books.decide(of.whose, std::nullopt);
      if (first.may_go()) of = std::move(first);
    }
    if (is_open(of)) return;
    std::vector<std::string> nodes;
    cluster.each_node([&](const node_info& node) {
      if (open.contains(std::int64_t{node.id().row}) || node.free(gpu) < std::int64_t{devices})
        nodes.emplace_back(node.name());
    });
    plan other = books.decide(of.whose, std::move(nodes));
    if (other.may_go() && is_open(other)) of = std::move(other);
  }

  victim_plan make_room(trial& attempt, plan by, bool is_group);
  [[nodiscard]] std::optional<std::string> try_places(trial& attempt, const plan& by,
                                                      const std::vector<pod_id>& victims);
};

/// Whether the pods find room where the plan says once victims and leaving pods are gone. Nothing if so, else the node that fails.
inline std::optional<std::string> hived_policy::memory::try_places(trial& attempt, const plan& by,
                                                                   const std::vector<pod_id>& victims) {
  attempt.reset();
  const cluster_view cluster = attempt.cluster();
  for (const pod_id pod : victims) attempt.remove(pod);
  for (const hived_books::place& place : by.places) {
    std::vector<pod_id> leaving;
    const auto node = cluster.node(place.node);
    if (!node) return std::string{};
    node->each_pod([&](const pod_info& pod) {
      if (pod.terminating()) leaving.push_back(pod.id());
    });
    for (const pod_id pod : leaving) attempt.remove(pod);
  }
  trying = &by;
  std::optional<std::string> wrong;
  for (std::size_t i = 0; i < by.places.size() && !wrong; ++i) {
    const pod_id pod = by.whose.pods[i].pod;
    if (!attempt.filter(pod, by.places[i].node).ok() || !attempt.put(pod, by.places[i].node))
      wrong = std::string{cluster.node(by.places[i].node)->name()};
  }
  trying = nullptr;
  attempt.reset();
  return wrong;
}

inline victim_plan hived_policy::memory::make_room(trial& attempt, plan by, bool is_group) {
  victim_plan out;
  out.verdict = status::unresolvable(detail::hived_helpless);
  if (by.unit && !by.may_go() && victims_of(by, attempt.cluster()).empty()) {
    out.keep_nomination = true;
    return out;
  }
  if (by.unit && by.may_go()) {  // what it was promised will not do
    books.forget(*by.unit);
    by = books.decide(by.whose, std::nullopt);
  }
  std::set<std::string> unfit;
  std::vector<pod_id> victims;
  for (;;) {
    if (by.why != nullptr || by.waits()) return out;
    victims = victims_of(by, attempt.cluster());
    const auto wrong = try_places(attempt, by, victims);
    if (!wrong) break;
    if (by.unit || !unfit.insert(*wrong).second) return out;
    std::vector<std::string> others;
    for (const std::string& node : books.nodes())
      if (!unfit.contains(node) && (!by.nodes || is_among(node, *by.nodes))) others.push_back(node);
    by = books.decide(by.whose, std::move(others));
  }
  out.verdict = status::success();
  out.nominated = by.places.front().node;
  if (is_group)
    for (std::size_t i = 0; i < by.places.size(); ++i)
      out.nominations.push_back({by.whose.pods[i].pod, by.places[i].node});
  out.victims = std::move(victims);
  out.reason = detail::hived_evicts;
  last = std::move(by);
  return out;
}

GANGSCHED_INLINE std::optional<error> hived_policy::check(const options& chosen) {
  if (chosen.gpu.empty()) return error{errc::malformed, "HiveD", "gpu", "has to name a resource"};
  if (!chosen.cells) return std::nullopt;
  auto made = queues::hived::cell_scheduler::make(*chosen.cells);
  return made ? std::nullopt : std::optional{std::move(made).error()};
}

GANGSCHED_INLINE result<hived_policy> hived_policy::from(const argument& args) {
  options chosen;
  argument_reader read{name};
  const argument *physical = nullptr, *virtual_ones = nullptr;
  const bool fine = read.root(args, [&](std::string_view key, const argument& value, const std::string& path) {
    if (key == "gpu") return read.text(value, path, chosen.gpu);
    if (key == "lazyPreemption") return read.flag(value, path, chosen.lazy_preemption);
    if (key == "physicalCluster") return physical = &value, true;
    if (key == "virtualClusters") return virtual_ones = &value, true;
    return read.unknown(path);
  });
  if (!fine) return std::move(read).failure();
  if (physical != nullptr) {
    const argument nobody;
    if (!read_hived_cells(read, *physical, virtual_ones != nullptr ? *virtual_ones : nobody, chosen.cells.emplace()))
      return std::move(read).failure();
  } else if (virtual_ones != nullptr) {
    return error{errc::malformed, "plugin HiveD", "args.virtualClusters", "there is no physicalCluster"};
  }
  if (auto wrong = check(chosen)) return *std::move(wrong);
  return hived_policy{std::move(chosen)};
}

GANGSCHED_INLINE hived_policy hived_policy::fork(const cluster_view& to) const {
  hived_policy made{options_};
  if (memory_.get() != nullptr) made.memory_.made(*memory_.get()).books.go_on_with(to);
  return made;
}

GANGSCHED_INLINE status hived_policy::admit(const pod_info& pod, const cluster_view& cluster) const {
  memory& of = memory_.made(options_);
  const auto queue = pod.queue();
  if (queue && !queue->admits()) return status::pending(queue_admits_nobody);
  of.books.read(cluster, of.last);
  const auto as = memory::request_of(pod);
  if (const status* const said = of.refused.find(as, cluster)) return *said;
  if (!queue || of.books.devices_of(pod) == 0) return status::success();
  return of.admit(of.of_pod(pod), cluster, as);
}

GANGSCHED_INLINE status hived_policy::admit(const group_view& group, const cluster_view& cluster) const {
  memory& of = memory_.made(options_);
  bool open = true, any = false;  // members may name queues of their own
  group.root().each_pod_below([&](const pod_info& member) {
    const auto its = member.queue();
    open = open && (!its || its->admits());
    any = any || its;
  });
  if (!open) return status::pending(queue_admits_nobody);
  of.books.read(cluster, of.last);
  if (!any) return status::success();
  const auto as = memory::request_of(group);
  if (const status* const said = of.refused.find(as, cluster)) return *said;
  const memory::wish wanted = of.of_group(group);
  return wanted.needs.pods.empty() && wanted.more.empty() ? status::success() : of.admit(wanted, cluster, as);
}

GANGSCHED_INLINE std::string hived_policy::admission_words(const pod_info& pod, const cluster_view& cluster) const {
  memory& of = memory_.made(options_);
  if (!of.books.known() || !pod.queue() || of.books.devices_of(pod) == 0) return {};
  const memory::plan* const on = of.plan_of(pod, cluster);
  if (on == nullptr || !on->waits() || !on->made.missing) return {};
  const queues::hived::shortage& lacks = *on->made.missing;
  std::string said = (on->whose.cluster + " lacks ").append(std::to_string(lacks.count));
  said.append(lacks.count == 1 ? " cell \"" : " cells \"").append(lacks.cell_type).append("\" of \"");
  said.append(lacks.chain).append("\" (").append(to_string(lacks.why)).append(")");
  if (!lacks.node.empty()) said.append(", and would have to use ").append(lacks.node);
  return said;
}

GANGSCHED_INLINE void hived_policy::finish_filter(const pod_info& pod, const cluster_view& cluster,
                                                  std::span<filtered_group> groups) const {
  memory& of = memory_.made(options_);
  const std::uint32_t devices = of.books.devices_of(pod);
  if (devices == 0 || !pod.queue()) return;
  const memory::plan* on = of.plan_of(pod, cluster);
  if (on == nullptr || on->why != nullptr || on->waits())
    return refuse_all(groups, status::unschedulable(detail::hived_lacks_cells));
  if (!on->may_go() && on != of.trying) return refuse_all(groups, status::unschedulable(detail::hived_in_use));
  std::vector<row_t> taken;  // by others of its size
  bool begun = false, thought = false;
  for (const hived_books::member& one : on->whose.pods) {
    const auto other = cluster.pod(one.pod);
    if (!other || !other->node() || one.pod == pod.id()) continue;
    begun = true;
    if (one.devices == devices) taken.push_back(other->node()->id().row);
  }
  cluster.each_nominated([&](const pod_info& other) { thought = thought || other.node(); });
  if (of.last && on == &*of.last && !begun && !thought && !on->unit && !pod.nominated_node())
    of.look_past(*of.last, pod, options_.gpu, cluster, groups);
  std::vector<row_t> places;
  for (const hived_books::place& one : on->places)
    if (one.devices == devices) places.push_back(one.node.row);
  std::sort(places.begin(), places.end());
  std::sort(taken.begin(), taken.end());
  std::vector<row_t> left;
  std::set_difference(places.begin(), places.end(), taken.begin(), taken.end(), std::back_inserter(left));
  for (filtered_group& group : groups)
    if (!std::binary_search(left.begin(), left.end(), static_cast<row_t>(group.key)))
      group.verdict = status::unschedulable(detail::hived_elsewhere);
}

GANGSCHED_INLINE victim_plan hived_policy::post_filter(trial& attempt, const pod_info& pod) const {
  memory& of = memory_.made(options_);
  if (!pod.queue() || of.books.devices_of(pod) == 0) return {};
  victim_plan out;
  out.verdict = status::unresolvable(detail::hived_helpless);
  if (pod.spec().preemption == preemption_policy::never) {
    out.verdict = status::unresolvable("not eligible due to preemptionPolicy=Never.");
    out.keep_nomination = true;
    return out;
  }
  const memory::plan* const on = of.plan_of(pod, attempt.cluster());
  return on == nullptr || on->whose.pods.size() != 1 ? out : of.make_room(attempt, *on, false);
}

GANGSCHED_INLINE victim_plan hived_policy::group_preempt(trial& attempt, const group_view& group) const {
  memory& of = memory_.made(options_);
  victim_plan out;
  out.verdict = status::unresolvable(detail::hived_helpless);
  const memory::wish wanted = of.of_group(group);
  if (wanted.refusal != nullptr || (wanted.needs.pods.empty() && wanted.more.empty())) return {};
  bool may = true;
  group.root().each_pod_below([&](const pod_info& pod) {
    may = may && (pod.state() != pod_state::pending || pod.spec().preemption != preemption_policy::never);
  });
  if (const auto& own = group.root().spec().preemption) may = *own != preemption_policy::never;
  if (!may) return out;
  const pod_id first = wanted.needs.pods.empty() ? wanted.more.front().pod : wanted.needs.pods.front().pod;
  return of.make_room(attempt, of.last && of.last->is_of(first) ? *of.last : of.decide(wanted), true);
}

}  // namespace gangsched::inline GANGSCHED_ABI
