#pragma once
#include <memory>
#include <span>
#include <vector>

#include "gangsched/core/peer.hpp"
#include "gangsched/model/column.hpp"
#include "gangsched/model/counter_spec.hpp"
#include "gangsched/model/topology.hpp"

namespace gangsched::inline GANGSCHED_ABI::model {

/// Selects pods by label, in some namespaces.
struct pod_query {
  std::optional<label_selector> selector;  ///< absent: nothing
  std::vector<symbol> namespaces = {};     ///< ascending
  std::optional<label_selector> namespace_selector = {};
};
/// All of them must match.
using pod_scope = std::vector<pod_query>;

/// Why a pod leaves its node, or returns.
enum class removal : std::uint8_t {
  real,
  /// A victim of a preemption trial. Spread counts it down even if it was not counted (terminating, or an empty selector), as
  /// kube-scheduler's RemovePod does; and up again when it is put back.
  trial,
};

/// Numbers of pods by term and domain, kept with the state under the undo log: placing or removing a pod costs O(counters it is in). A
/// counter is live while a class with pods names it; the values of a dead one are meaningless.
class GANGSCHED_API counter_table {
 public:
  explicit counter_table(undo_log& undo);
  counter_table& operator=(const counter_table& from);
  ~counter_table();

  /// The number of a scope, and of a counter; created on first use.
  scope_id scope_number(pod_scope&& scope);
  counter_id number(const counter_spec& spec);
  [[nodiscard]] const counter_spec& spec(counter_id id) const noexcept { return all_[id]->spec; }
  [[nodiscard]] const pod_scope& scope(scope_id id) const noexcept;
  [[nodiscard]] bool exists(counter_id id) const noexcept { return all_[id] != nullptr; }
  /// All numbers are below this.
  [[nodiscard]] counter_id size() const noexcept { return static_cast<counter_id>(all_.size()); }
  [[nodiscard]] bool lives(counter_id id) const noexcept { return all_[id] != nullptr && all_[id]->facts[users] != 0; }
  /// The number of counters; the second call: of those made since the last sweep.
  [[nodiscard]] std::size_t known() const noexcept { return all_.size() - free_.size(); }
  [[nodiscard]] std::size_t made() const noexcept { return made_; }
  /// Drops counters that are not in @p used, by number, and scopes without counters; marks the names of the other scopes. Returns whether
  /// any counter was dropped. @pre no transaction is open
  bool sweep(const std::vector<bool>& used, interner& names);

  /// One more (or one less) class with pods names it. True if the counter became live (or dead).
  bool add_user(counter_id id);
  bool remove_user(counter_id id);

  /// The live counters whose scope contains a pod with these labels, ascending. O(labels + scopes that name one of them, or none).
  [[nodiscard]] std::vector<counter_id> matching(symbol ns, const label_map& labels, const label_map& ns_labels) const;
  /// Whether the namespace selectors of some live counter match differently once the namespace has the labels @p after.
  [[nodiscard]] bool minds(symbol ns, const label_map& before, const label_map& after) const;

  /// Pods in a domain. O(1).
  [[nodiscard]] std::int32_t count(counter_id id, domain_id domain) const noexcept {
    const counter& one = *all_[id];
    return domain < one.size ? one.pods[domain] : 0;
  }
  /// Whether the count of every domain is 0. O(domains).
  [[nodiscard]] bool counts_nothing(counter_id id) const noexcept;
  /// Pods in all domains.
  [[nodiscard]] std::int64_t total(counter_id id) const noexcept { return all_[id]->facts[sum]; }
  /// Of a spread counter: how many domains have a node that counts, and the least count of these (0 if there is none). O(1).
  [[nodiscard]] std::uint32_t domains(counter_id id) const noexcept {
    return static_cast<std::uint32_t>(all_[id]->facts[open]);
  }
  [[nodiscard]] std::int32_t least(counter_id id) const noexcept {
    return static_cast<std::int32_t>(all_[id]->facts[lowest]);
  }

  // For pod_counting, which knows pods and nodes.
  void clear(counter_id id);
  void add(counter_id id, domain_id domain, std::int32_t by);
  /// A node that counts was added to a domain, or removed.
  void add_node(counter_id id, domain_id domain, bool came);

  /// By value, and independent of the order of numbers, which depends on first use. @p of: a digest of what each counter counts, by number.
  void digest_into(digest& out, const topology_table& topologies, const std::vector<std::uint64_t>& of) const;

 private:
  enum fact : row_t { users, sum, open, lowest, fact_count };
  struct counter {
    counter(undo_log& undo, const counter_spec& given);
    counter_spec spec;
    domain_id size = 0;           // of `pods` and `nodes`
    column<std::int32_t> pods;    // by domain
    column<std::uint32_t> nodes;  // by domain: nodes that count; of spread counters
    std::uint32_t having_size = 0;
    column<std::uint32_t> having;  // open domains by their count (`slot`); of spread counters
    column<std::int64_t> facts;
  };
  struct index;
  static void tally(counter& one, std::int32_t count, int by);
  static void raise(counter& one);

  peer<undo_log> undo_;
  std::vector<std::unique_ptr<counter>> all_;  // null: the number is free
  std::vector<counter_id> free_;
  std::size_t made_ = 0;
  std::unique_ptr<index> index_;
};

/// Whether a pod with these labels in this namespace is in the scope.
[[nodiscard]] GANGSCHED_API bool matches(const pod_scope& scope, symbol ns, const label_map& labels,
                                         const label_map& ns_labels);

/// Encodes tuples of words as one word, for keyed hooks that return several: equal words, equal tuples, until `clear`. Never iterated.
class GANGSCHED_API tuple_table {
 public:
  tuple_table();
  ~tuple_table();
  /// A tuple of one word is encoded as itself.
  [[nodiscard]] std::int64_t pack(std::span<const std::int64_t> tuple);
  [[nodiscard]] std::span<const std::int64_t> unpack(const std::int64_t& word, std::size_t size) const;
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  /// Drops all tuples. @pre no encoded word is in use
  void clear() noexcept;

 private:
  struct impl;
  std::unique_ptr<impl> impl_;
  std::size_t size_ = 0;
};

}  // namespace gangsched::inline GANGSCHED_ABI::model

// Its bodies come with pod_counting.hpp.
