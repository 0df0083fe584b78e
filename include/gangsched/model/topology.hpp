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

/// Topology keys and which domain of each every node is in. A key is followed from the day something counts by it; a change of a
/// node costs O(keys followed).
class GANGSCHED_API topology_table {
 public:
  explicit topology_table(undo_log& undo);
  topology_table& operator=(const topology_table& from);
  ~topology_table();

  /// The number of @p key, made on first sight. @p absent_is_empty: nodes without the label are in the domain of the empty value.
  topology_id number(symbol key, bool absent_is_empty = false);
  /// The bound of every number.
  [[nodiscard]] std::size_t size() const noexcept { return all_.size(); }
  /// How many have a number; and how many got one since the last sweep.
  [[nodiscard]] std::size_t known() const noexcept { return all_.size() - 1 - free_.size(); }
  [[nodiscard]] std::size_t made() const noexcept { return made_; }
  /// Forgets those that @p used, by number, does not name, and marks the keys of the others. Returns whether any went. No transaction is
  /// open.
  bool sweep(const std::vector<bool>& used, interner& names);
  /// Starts following @p id if nobody does: O(nodes) once.
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
  /// Whether each domain is one node and there are many of them: then what a domain counts is a fact of its node, and hooks had
  /// better read it there than tell the nodes apart. Moves `plan_epoch` when it changes.
  [[nodiscard]] bool local(topology_id id) const noexcept {
    return id == node_itself || all_[id]->facts[is_local] != 0;
  }
  /// From how many domains on a key can be `local`; half of it is where it stops to be.
  std::uint32_t local_from = 16;

  /// Moves with everything, beside the class, that data which a hook made for a class depends on. No number is used again:
  /// equal epochs, equal facts, also across roll-backs.
  [[nodiscard]] std::uint64_t plan_epoch() const noexcept { return epoch_[0]; }
  void move_plan_epoch() { epoch_.set(0, ++last_epoch_); }

  // What happens to nodes. `settle` ends a series of these.
  void grow(row_t nodes);
  void join(row_t node, const node_record& record);
  void leave(row_t node);
  void settle();
  /// Whether a node whose record becomes @p after leaves a domain.
  [[nodiscard]] bool moves(row_t node, const node_record& after) const;

  /// Of those that @p counted_by, by number, names: the others say nothing that means anything.
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

/// Node choices and whom they take, kept like topologies.
class GANGSCHED_API choice_table {
 public:
  explicit choice_table(undo_log& undo);
  choice_table& operator=(const choice_table& from);
  ~choice_table();

  /// The number of @p choice, made on first sight; every_node if it leaves nobody out.
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
