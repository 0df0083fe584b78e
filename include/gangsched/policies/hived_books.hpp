#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "gangsched/core/config.hpp"
#include "gangsched/framework/queue_view.hpp"
#include "gangsched/framework/views.hpp"
#include "gangsched/queues/hived/cell_scheduler.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// Cells for a cluster without a configuration of cells: each node is a top cell of its GPUs; nodes with equally many GPUs (and of one
/// flavor, if queues have quota by flavor) are a chain; a cell is divided by the smallest prime factor of its size, so that 8 GPUs are two
/// times 4. A queue is due its guarantee beyond those of the queues below it: in whole nodes, the largest first, then in parts; if there is
/// not enough, earlier queues have precedence. Only the first 1,024 GPUs of a node count. O(nodes + queues · kinds of nodes · levels).
[[nodiscard]] GANGSCHED_API queues::hived::configuration cells_of_nodes(const cluster_view& cluster,
                                                                        const std::string& gpu);

/// Which pods have which cells of a cluster, updated from the change log: the cells of pods that left are released, running pods without
/// cells get those where they run, and if nodes or queues changed every pod keeps its devices in the new cells.
class GANGSCHED_API hived_books {
 public:
  using configuration = queues::hived::configuration;

  struct member {
    pod_id pod;
    std::uint32_t devices = 0;
  };
  struct place {
    node_id node;
    std::uint32_t devices = 0;
    friend bool operator==(const place&, const place&) = default;
  };
  /// A request for cells: pods that are placed together.
  struct demand {
    std::vector<member> pods = {};  ///< by size
    group_id tree = {};             ///< the root of their groups, if they have one
    std::string cluster = {};       ///< the virtual cluster
    std::int32_t priority = 0;      ///< HiveD's
    std::string device_type = {};   ///< empty: any
    std::string pin = {};           ///< of the virtual cluster, or empty
  };
  struct options {
    std::optional<configuration> cells = {};  ///< none: those of `cells_of_nodes`
    std::string gpu = "nvidia.com/gpu";       ///< the resource that counts devices
    bool lazy_preemption = false;             ///< victims become opportunistic first
    // Labels of pods.
    std::string pin_label = "hivedscheduler.microsoft.com/pinned-cell";
    std::string type_label = "hivedscheduler.microsoft.com/leaf-cell-type";
  };
  /// The placement of a demand's pods, or why there is none.
  struct plan {
    demand whose = {};
    queues::hived::decision made = {};
    std::vector<place> places = {};                                ///< of the pods by size; empty if they wait
    std::optional<std::vector<std::string>> nodes = std::nullopt;  ///< the only nodes that were considered
    std::optional<std::uint32_t> unit = std::nullopt;              ///< their unit, which these places are reserved for
    const char* why = nullptr;  ///< why they are rejected without a search; static storage

    [[nodiscard]] bool waits() const noexcept { return made.state == queues::hived::group_state::waiting; }
    [[nodiscard]] bool may_go() const noexcept { return made.state == queues::hived::group_state::allocated; }
    [[nodiscard]] bool is_of(pod_id pod) const noexcept;
  };
  /// Pods that have cells, or a reservation of some.
  struct unit {
    struct part {
      pod_id pod;
      std::uint32_t devices = 0;
      node_id node = {};
      std::string node_name = {};
      std::vector<std::int32_t> numbers = {};
    };
    demand whose = {};
    std::vector<part> parts = {};
    std::string root_type = {};  ///< of the virtual cells that its devices are in; empty: none
    bool first = false;          ///< the essential one of its tree: the others cannot go on without it
    bool promised = false;       ///< its pods are nominated
  };

  explicit hived_books(options chosen) : options_(std::move(chosen)) {}

  /// Updates them to the last committed change; no effect if there was none. To be called outside trials. @p last: the decision since the
  /// last call, which is kept if its pods are where it placed them. O(1) without changes, O(pods of the nodes that changed), or O(pods) if
  /// nodes or queues did.
  void read(const cluster_view& cluster, std::optional<plan>& last);
  /// A copy's cluster is @p fork from here on, which was copied from its cluster.
  void go_on_with(const cluster_view& fork) {
    if (whose_) whose_ = fork;
  }

  /// How many devices the pod requests. O(requests).
  [[nodiscard]] std::uint32_t devices_of(const pod_info& pod) const;
  /// The virtual cluster of a queue: the nearest on its way up that has cells, else itself; nothing if that is none.
  [[nodiscard]] std::optional<std::string> cluster_of(const queue_view& queue) const;
  /// Computes a placement, without changes. @p nodes: the only ones that may be used, if set.
  [[nodiscard]] plan decide(demand whose, std::optional<std::vector<std::string>> nodes);
  /// The plan of a demand that has a reservation of cells, if it has one: allocated once no other pods are on them.
  [[nodiscard]] std::optional<plan> promised_to(const demand& whose) const;
  /// Releases the reservation of a unit.
  void forget(std::uint32_t unit);

  /// The units that a plan needs to be evicted, those with only a reservation included.
  [[nodiscard]] std::vector<const unit*> in_the_way(const plan& of) const;
  [[nodiscard]] bool known() const noexcept { return cells_.has_value(); }
  /// Without pods: the virtual cluster and priority. Without a virtual cluster: opportunistic, without a name. O(members of its tree).
  [[nodiscard]] demand demand_of(const pod_info& pod) const;
  /// The names of the nodes of its cells.
  [[nodiscard]] const std::vector<std::string>& nodes() const { return cells_->layout().nodes(); }

 private:
  using cell_index = queues::hived::cell_index;
  static constexpr cell_index none = queues::hived::none;

  [[nodiscard]] static queues::hived::group_request request_of(const demand& whose, std::string name, bool lazy);
  [[nodiscard]] std::vector<place> places_of(const queues::hived::decision& made,
                                             const queues::hived::group_request& request) const;
  void keep(const cluster_view& cluster, const plan& made);
  bool take_places(const cluster_view& cluster, const plan& made, std::vector<unit::part>& parts) const;
  bool lay_out(const cluster_view& cluster);
  void mark_bad(const cluster_view& cluster);
  void look_at(const node_info& node);
  void drop_gone(const cluster_view& cluster, std::uint32_t unit);
  void settle_promised(const cluster_view& cluster);
  void drop_changed(const cluster_view& cluster);
  void drop_short(std::uint32_t unit);
  void find_anew(std::uint32_t unit);
  void cancel_promises(const std::vector<unit>& found);
  [[nodiscard]] bool is_bad(const unit::part& of) const;
  void adopt_found(const cluster_view& cluster);
  void add(std::uint32_t number, unit one);
  void adopt(std::uint32_t unit);
  [[nodiscard]] bool restore(std::uint32_t unit, const std::string& root_type);
  [[nodiscard]] std::vector<std::int32_t> free_devices(const unit::part& of, const std::string& root_type,
                                                       std::uint32_t cluster,
                                                       const std::vector<cell_index>& taken) const;
  [[nodiscard]] cell_index device(const std::string& node, std::int32_t number) const;
  [[nodiscard]] std::string root_type_of(const unit& of) const;
  void erase(std::uint32_t unit);

  options options_;
  std::optional<cluster_view> whose_;
  std::uint64_t read_to_ = 0;  ///< changes
  configuration from_;
  std::optional<queues::hived::cell_scheduler> cells_;
  std::vector<char> bad_;  ///< by the layout's node
  std::map<std::string, node_id, std::less<>> node_ids_;
  std::map<std::uint32_t, unit> units_;  ///< named in the cells by their numbers
  std::uint32_t next_ = 0;
  std::map<pod_id, std::uint32_t> unit_of_;
  std::map<row_t, std::vector<std::uint32_t>> on_node_;  ///< units with pods there; some may have left
  std::vector<pod_id> found_;                            ///< on nodes, of no unit
  /// Demands rejected since the cells last changed: virtual cluster, priority, device type, pin and sizes.
  std::map<std::tuple<std::string, std::int32_t, std::string, std::string, std::vector<std::uint32_t>>,
           queues::hived::decision>
      refused_;
};

}  // namespace gangsched::inline GANGSCHED_ABI

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/policies/cells_of_nodes.cpp"
#include "gangsched/src/policies/hived_books.cpp"
#include "gangsched/src/policies/hived_found.cpp"
#endif
