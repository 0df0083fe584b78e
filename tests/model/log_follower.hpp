#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "gangsched/model/state.hpp"

namespace gangsched::testing {

/// A tentative reader of the change log, as an index is one: it keeps a fingerprint of every facet of every node and
/// takes a new one only of what the log says was touched. If one is out of date then, somebody changed the cluster
/// behind the log's back.
class log_follower {
 public:
  /// Reads on. @return whether every fingerprint is up to date.
  bool follow(const model::cluster_state& state) {
    const change_log& log = state.log;
    std::vector<std::pair<row_t, reads>> touched;
    std::uint64_t good = log.committed_end();  // a rebuild reads all, but may have to take back what is not committed
    nodes_.resize(std::max<std::size_t>(nodes_.size(), state.nodes.rows.count()));
    if (log.lost(cursor_)) {
      ++rebuilds_;
      seen_.clear();
      for (row_t row = 0; row < nodes_.size(); ++row) touched.emplace_back(row, reads::everything);
    } else {
      good = std::min(cursor_.position, log.truncated_since(cursor_.truncations));
      for (; !seen_.empty() && seen_.back().position >= good; seen_.pop_back()) {  // taken back: as stale as if changed
        ++taken_back_;
        touched.emplace_back(seen_.back().row, seen_.back().facets);
      }
    }
    for (std::uint64_t at = good; at < log.end(); ++at) {
      const change& one = log[at];
      if (one.node() == no_row) continue;
      touched.emplace_back(one.node(), one.facets);
      seen_.push_back({at, one.node(), one.facets});
    }
    cursor_ = log.tip();
    if (seen_.size() > 100'000)
      std::erase_if(seen_, [&](const read_record& one) { return one.position < log.begin(); });
    for (const auto& [row, facets] : touched) {
      for (std::size_t i = 0; i < facets_.size(); ++i) {
        if (covers(facets, facets_[i])) nodes_[row][i] = fingerprint(state, row, facets_[i]);
      }
    }
    for (row_t row = 0; row < nodes_.size(); ++row) {
      for (std::size_t i = 0; i < facets_.size(); ++i) {
        if (nodes_[row][i] != fingerprint(state, row, facets_[i])) return false;
      }
    }
    return true;
  }
  [[nodiscard]] std::size_t rebuilds() const noexcept { return rebuilds_; }
  [[nodiscard]] std::size_t taken_back() const noexcept { return taken_back_; }

 private:
  static constexpr std::array facets_{reads::labels, reads::taints,   reads::schedulable, reads::allocatable,
                                      reads::images, reads::features, reads::usage,       reads::ports,
                                      reads::pods,   own_facet(0),    own_facet(1)};
  struct read_record {
    std::uint64_t position;
    row_t row;
    reads facets;
  };

  static std::uint64_t fingerprint(const model::cluster_state& state, row_t row, reads facet) {
    if (!state.nodes.alive(row)) return 0;
    const model::node_record& record = *state.nodes.record[row];
    digest out;
    switch (facet) {
      case reads::labels:
        for (const label_symbols& one : record.labels) out.add(one.key.value), out.add(one.value.value);
        break;
      case reads::taints:
        for (const taint_symbols& one : record.taints) out.add(one.key.value), out.add(one.value.value);
        break;
      case reads::schedulable: out.add(record.unschedulable ? 1 : 0); break;
      case reads::allocatable: amounts(out, state, state.nodes.allocatable, row); break;
      case reads::images:
        for (const image_symbols& one : record.images) out.add(one.name.value);
        break;
      case reads::features:
        for (const symbol one : record.features) out.add(one.value);
        break;
      case reads::usage: amounts(out, state, state.nodes.used, row); break;
      case reads::ports:
        for (const host_port& one : state.nodes.ports[row]) out.add(one.port), out.add(one.address.value);
        break;
      case reads::pods:
        for (row_t pod = state.nodes.first_pod[row]; pod != no_row; pod = state.pods.next_on_node[pod]) {
          out.add(pod);
          out.add(state.pods.rows.generation(pod));
          out.add(static_cast<std::uint64_t>(state.pods.state[pod]));
          out.add(state.pods.terminating[pod] ? 1 : 0);
          out.add(state.pods.record[pod]->cookie);
          for (const auto& [key, value] : state.pods.record[pod]->details->labels) out.add(key), out.add(value);
        }
        break;
      default:
        for (std::uint32_t i = 0; i < state.columns.size(); ++i) {
          const bool its = state.columns.scope_of(i) == scope_number::nodes && state.columns.facet_of(i) == facet;
          if (its) out.add(static_cast<std::uint64_t>(state.columns.at(i, row)));
        }
        break;
    }
    return out.value();
  }
  static void amounts(digest& out, const model::cluster_state& state, const matrix_column& column, row_t row) {
    for (resource_kind kind = 0; kind < state.kinds.count(); ++kind) {
      if (column.at(row, kind) != 0) out.add(kind), out.add(static_cast<std::uint64_t>(column.at(row, kind)));
    }
  }

  std::vector<std::array<std::uint64_t, facets_.size()>> nodes_;
  std::vector<read_record> seen_;  ///< of what it has read and may have to take back
  log_cursor cursor_;
  std::size_t rebuilds_ = 0, taken_back_ = 0;
};

}  // namespace gangsched::testing
