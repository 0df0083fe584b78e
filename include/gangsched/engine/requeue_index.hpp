#pragma once
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "gangsched/engine/room_index.hpp"
#include "gangsched/framework/plugin_entry.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

/// The conditions under which a node can help an entity.
struct needed_node {
  std::vector<amount> least = {};    ///< free at least, each kind once
  symbol owner = {};                 ///< what is left of the held room of that name is free, too
  std::vector<symbol> named = {};    ///< one of these, if there are any
  reads facets = reads::everything;  ///< the event touches one of these of the node
};

/// The conditions under which an event can help an entity: without any of them it need not be judged.
struct help_condition {
  bool anything = false;                ///< every event is to be judged
  events what = events::nothing;        ///< one of these
  bool labels = false;                  ///< one that touches a node's labels
  bool victims = false;                 ///< one that lets other pods be evicted
  reads columns = reads::nothing;       ///< one of a column with one of these facets
  std::vector<needed_node> nodes = {};  ///< one about such a node
  std::uint64_t hears = 0;              ///< by hints: one that these plugins get; all bits: every event

  /// The conditions of both: an event that meets either.
  void add(help_condition other) {
    anything = anything || other.anything, labels = labels || other.labels, victims = victims || other.victims;
    what |= other.what, columns |= other.columns, hears |= other.hears;
    for (needed_node& one : other.nodes) nodes.push_back(std::move(one));
  }
};

/// Finds the entities that an event may help by their conditions; none that it helps is left out.
class GANGSCHED_API requeue_index {
 public:
  /// Replaces the known condition. O(log n) for each node condition.
  void set(std::uint32_t who, help_condition needs);
  void erase(std::uint32_t who);
  void clear();
  [[nodiscard]] bool empty() const noexcept { return known_.empty(); }
  /// Whether an event of this kind may help any of them, whatever it is about: else there are no candidates. O(1).
  [[nodiscard]] bool may_find(events what, const change& record) const noexcept {
    return !anything_.empty() || any(what & all_.what) || any(record.facets & all_.facets) ||
           (record.about_numbers() && any(record.facets & all_.columns)) ||
           (record.about_victims() && !victims_.empty());
  }
  /// Ascending, each once. O((log n + 1) · those found), and one look-up for each set of kinds that an entity needs, each waiting owner of
  /// a held room, and each set of events that an entity waits for.
  [[nodiscard]] std::vector<std::uint32_t> candidates(const model::cluster_state& state, const event& what,
                                                      bool about_victims = false) const;
  /// The same by hints, for an event that the plugins @p told get.
  [[nodiscard]] std::vector<std::uint32_t> candidates(std::uint64_t told) const;

 private:
  using members = std::set<std::uint32_t>;
  struct standing {
    bool anything, labels, victims;
    events what;
    reads columns;
    std::uint64_t hears;
    std::vector<std::pair<symbol, room_index::place>> rooms;  ///< by owner
    std::vector<symbol> named;
    reads facets;  ///< of nodes
  };
  template <class Sets, class Key>
  static bool leave(Sets& sets, const Key& key, std::uint32_t who);
  void add_up() noexcept;

  std::map<std::uint32_t, standing> known_;
  members anything_, labels_, victims_;
  std::map<events, members> by_events_;
  std::map<reads, members> by_columns_;
  std::map<symbol, members> by_name_;  // of nodes
  std::map<std::uint64_t, members> by_hearing_;
  std::map<symbol, room_index> rooms_;  // by owner; no owner: those that own none
  std::map<reads, members> by_facets_;  // of nodes
  struct {
    events what = events::nothing;
    reads columns = reads::nothing, facets = reads::nothing;
  } all_;  // what any of them waits for
};

}  // namespace gangsched::inline GANGSCHED_ABI::engine

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/engine/requeue_index.cpp"
#endif
