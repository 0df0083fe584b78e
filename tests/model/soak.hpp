#pragma once
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "gangsched/model/cluster.hpp"
#include "gangsched/model/transaction.hpp"
#include "log_follower.hpp"
#include "mini_cluster.hpp"
#include "support/dice.hpp"

namespace gangsched::testing {

struct soak_options {
  std::uint64_t seed = 1;
  std::size_t nodes = 8, pods = 40, groups = 4;  ///< about as many as there are at a time
  std::size_t log_bound = 256;
  std::size_t depth = 4;           ///< of nested transactions
  std::size_t compare_every = 50;  ///< operations between two comparisons with the plain model
  bool collect = false;            ///< what nobody names any more goes at every change
};

/// Random calls to a cluster, right and wrong ones, in randomly nested transactions, beside a mini_cluster that gets the
/// same.
/// Throws std::logic_error with the operation's number at the first difference.
class soak {
 public:
  explicit soak(const soak_options& options);
  ~soak();
  soak(const soak&) = delete;
  soak& operator=(const soak&) = delete;

  /// Does @p operations calls; beginnings and ends of transactions are not counted.
  void run(std::size_t operations);

  /// What happened, so that a test sees that everything did.
  struct counts {
    std::size_t calls = 0, refused = 0, committed = 0, rolled_back = 0, compared = 0, deepest = 0;
  };
  [[nodiscard]] const counts& done() const noexcept { return counts_; }
  [[nodiscard]] const log_follower& follower() const noexcept { return follower_; }
  [[nodiscard]] const gangsched::cluster& under_test() const noexcept { return cluster_; }

 private:
  struct checkpoint {
    std::unique_ptr<transaction> trial;
    mini_cluster model;
    std::uint64_t digest, log_begin, log_end;
  };

  void one_operation();
  void node_operation();
  void pod_operation();
  void placement_operation();
  void group_operation();
  void name_operation();
  void budget_operation();
  void column_operation();
  void note_operation();
  template <class Id>
  void set_column(Id id);
  void begin();
  void end();

  node_spec some_node(const std::string& name);
  pod_spec some_pod(const std::string& ns, const std::string& name);
  group_spec some_group(const std::string& ns, const std::string& name);
  void add_container(pod_spec& spec);
  std::string some_namespace() { return dice_.percent(50) ? "blue" : "green"; }
  std::string numbered(const char* prefix, std::size_t below) { return prefix + std::to_string(dice_.below(below)); }
  /// An id of an object that exists, or now and then one of none.
  node_id a_node_id();
  pod_id a_pod_id();
  group_id a_group_id();
  scope_row_id a_row_id();

  void compare();
  void compare_node(const mini_node& node);
  void compare_pod(const mini_pod& pod);
  void compare_group(const mini_group& group);
  void compare_classes();
  template <class Id>
  void compare_columns(scope_number of, Id id, std::int64_t by_host, const std::string& name);
  void check(bool holds, const std::string& what) const {
    if (!holds) fail(what);
  }
  [[noreturn]] void fail(const std::string& what) const;
  /// Checks that a call failed as the model says, and left digest and log alone; @return whether it succeeded.
  template <class Call>
  bool agree(const char* what, mini_cluster::failure why_not, Call&& call);

  soak_options options_;
  dice dice_;
  cluster cluster_;
  mini_cluster model_;
  log_follower follower_;
  std::vector<checkpoint> open_;
  std::vector<node_id> old_nodes_;
  std::vector<pod_id> old_pods_;
  std::vector<group_id> old_groups_;
  std::vector<scope_row_id> old_rows_;
  counts counts_;
};

}  // namespace gangsched::testing
