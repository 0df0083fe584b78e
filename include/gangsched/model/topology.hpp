#pragma once
#include <memory>
#include <vector>

#include "gangsched/core/peer.hpp"
#include "gangsched/model/column.hpp"
#include "gangsched/model/counter_spec.hpp"
#include "gangsched/model/name_index.hpp"
#include "gangsched/model/pod_class.hpp"
#include "gangsched/model/slots.hpp"

namespace gangsched::inline GANGSCHED_ABI::model {

struct node_record;
struct node_table;

/// Topology keys, and the domain of every node for each key. A key is followed from the first counter by it on; a change of a node costs
/// O(keys followed).
class GANGSCHED_API topology_table {
 public:
  explicit topology_table(undo_log& undo);
  topology_table& operator=(const topology_table& from);
  ~topology_table();

  /// The number of @p key; created on first use. @p absent_is_empty: nodes without the label are in the domain of the empty value.
  topology_id number(symbol key, bool absent_is_empty = false);
  /// All numbers are below this.
  [[nodiscard]] std::size_t size() const noexcept { return all_.size(); }
  /// The number of keys; the second call: of those numbered since the last sweep.
  [[nodiscard]] std::size_t known() const noexcept { return all_.size() - 1 - free_.size(); }
  [[nodiscard]] std::size_t made() const noexcept { return made_; }
  /// Drops those that are not in @p used, by number, and marks the keys of the others. Returns whether any was dropped. @pre no transaction
  /// is open
  bool sweep(const std::vector<bool>& used, interner& names);
  /// Starts following @p id if it is not followed yet: O(nodes) once.
  void follow(topology_id id, const node_table& nodes);

  /// The domain of a node, or no_domain. O(1).
  [[nodiscard]] domain_id domain(topology_id id, row_t node) const noexcept {
    return id == node_itself ? node : all_[id]->domain_of[node];
  }
  /// The domain of a value, or no_domain if no node has it.
  [[nodiscard]] domain_id find(topology_id id, symbol value) const noexcept;
  [[nodiscard]] symbol value(topology_id id, domain_id domain) const noexcept {
    return symbol{all_[id]->value[domain]};
  }
  [[nodiscard]] symbol key(topology_id id) const noexcept { return all_[id]->key; }
  [[nodiscard]] bool absent_is_empty(topology_id id) const noexcept { return all_[id]->absent_is_empty; }
  /// Whether each domain is one node and there are many of them: then the count of a domain belongs to its node, and hooks should read it
  /// there instead of distinguishing the nodes. Moves `plan_epoch` when it changes.
  [[nodiscard]] bool local(topology_id id) const noexcept {
    return id == node_itself || all_[id]->facts[is_local] != 0;
  }
  /// From how many domains on a key can be `local`; it ceases to be below half of that.
  std::uint32_t local_from = 16;

  /// Moves with every input, beside the class, of the data that a hook made for a class. Numbers are not reused: equal epochs, equal
  /// inputs, also across roll-backs.
  [[nodiscard]] std::uint64_t plan_epoch() const noexcept { return epoch_[0]; }
  void move_plan_epoch() { epoch_.set(0, ++last_epoch_); }

  // Changes of nodes. `settle` ends a series of these.
  void grow(row_t nodes);
  void join(row_t node, const node_record& record);
  void leave(row_t node);
  void settle();
  /// Whether a node whose record becomes @p after leaves a domain.
  [[nodiscard]] bool moves(row_t node, const node_record& after) const;

  /// Of those that are in @p counted_by, by number: the values of others are meaningless.
  void digest_into(digest& out, row_t nodes, const std::vector<bool>& counted_by) const;

 private:
  enum fact : row_t { is_followed, shared_domains, domains, is_local, fact_count };
  struct topology {
    topology(undo_log& undo, symbol with_key, bool with_empty);
    symbol key;
    bool absent_is_empty;
    slots rows;                   // of domains
    column<std::uint32_t> nodes;  // by domain
    column<std::uint32_t> value;  // by domain: a symbol
    name_index by_value;
    column<domain_id> domain_of;  // by node
    column<std::uint32_t> facts;
  };
  [[nodiscard]] static std::optional<symbol> value_of(const topology& one, const node_record& record);
  [[nodiscard]] static bool follows(const std::unique_ptr<topology>& one) noexcept {
    return one != nullptr && one->facts[is_followed] != 0;
  }
  void enter(topology& one, row_t node, const node_record& record);

  peer<undo_log> undo_;
  std::vector<std::unique_ptr<topology>> all_;  // null: node_itself, and numbers that are free
  std::vector<topology_id> free_;
  std::size_t made_ = 0;
  row_t nodes_ = 0;
  column<std::uint64_t> epoch_;
  std::uint64_t last_epoch_ = 0;
};

/// Which nodes count for a spread constraint: those with these labels, that the pod's node affinity or tolerations allow.
struct node_choice {
  std::vector<symbol> keys = {};  ///< labels it must have, ascending
  std::vector<label_symbols> node_selector = {};
  std::optional<std::vector<node_term>> required = {};
  bool taints = false;  ///< no untolerated NoSchedule or NoExecute taint
  std::vector<toleration_symbols> tolerations = {};
};

/// Node choices and the nodes that they include, kept like topologies.
class GANGSCHED_API choice_table {
 public:
  explicit choice_table(undo_log& undo);
  choice_table& operator=(const choice_table& from);
  ~choice_table();

  /// The number of @p choice; created on first use; every_node if it excludes none.
  choice_id number(node_choice&& choice);
  /// As those of topologies.
  [[nodiscard]] std::size_t size() const noexcept { return all_.size(); }
  [[nodiscard]] std::size_t known() const noexcept { return all_.size() - 1 - free_.size(); }
  [[nodiscard]] std::size_t made() const noexcept { return made_; }
  bool sweep(const std::vector<bool>& used, interner& names);
  void follow(choice_id id, const node_table& nodes, const interner& names);
  /// Not of every_node.
  [[nodiscard]] const node_choice& choice(choice_id id) const noexcept { return all_[id]->choice; }
  [[nodiscard]] bool takes(choice_id id, row_t node) const noexcept {
    return id == every_node || all_[id]->taken[node];
  }

  void grow(row_t nodes);
  void join(row_t node, const node_record& record, const interner& names);
  [[nodiscard]] bool moves(row_t node, const node_record& after, const interner& names) const;

 private:
  struct entry {
    entry(undo_log& undo, node_choice&& given);
    node_choice choice;
    column<bool> taken;  // by node
    column<bool> followed;
  };
  struct index;
  peer<undo_log> undo_;
  std::vector<std::unique_ptr<entry>> all_;  // null: every_node, and numbers that are free
  std::vector<choice_id> free_;
  std::size_t made_ = 0;
  std::unique_ptr<index> index_;
  row_t nodes_ = 0;
};

/// Whether @p choice takes a node with this record.
[[nodiscard]] GANGSCHED_API bool takes(const node_choice& choice, const node_record& record, const interner& names);

}  // namespace gangsched::inline GANGSCHED_ABI::model

// Its bodies come with pod_counting.hpp.
