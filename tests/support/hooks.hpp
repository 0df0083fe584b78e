#pragma once
#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gangsched/engine/amount_columns.hpp"
#include "gangsched/framework/lower.hpp"
#include "gangsched/model/cluster.hpp"
#include "support/inside.hpp"

/// One plugin's kernels on a cluster, called directly: what an engine would make of them does not come in.
namespace gangsched::testing {

/// The value of a result that has to have one.
template <class T>
T must(result<T> made) {
  if (!made) throw std::runtime_error(made.error().message());
  return std::move(*made);
}
inline void must(const result<void>& made) {
  if (!made) throw std::runtime_error(made.error().message());
}

inline bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

/// What a hook said, with the texts that a user would read, sorted.
struct verdict {
  gangsched::code code = gangsched::code::success;
  std::vector<std::string> reasons = {};
  friend bool operator==(const verdict&, const verdict&) = default;
};

class hooks {
 public:
  explicit hooks(plugin_entry entry) : entry_(std::move(entry)) {}
  template <plugin P>
  explicit hooks(P self) : hooks(lower(std::move(self))) {}

  gangsched::cluster cluster;

  node_id add(const node_spec& spec) { return must(cluster.add_node(spec)); }
  pod_id add(const pod_spec& spec) { return must(cluster.add_pod(spec)); }

  /// The pre_filter's word; @p narrowed gets the names it leaves, if it narrows.
  verdict pre_filter(pod_id pod, std::optional<std::vector<std::string>>* narrowed = nullptr) {
    return pre_filter(entry_, cluster, pod, narrowed);
  }
  /// The filter's word, after the pre_filter; success if that skips. Checks that the kernels agree with each other.
  verdict filter(pod_id pod, node_id node) { return filter(entry_, cluster, pod, node); }
  /// The final scores of all nodes by row, without the weight; nothing if the pre_score skips.
  std::optional<std::vector<std::int64_t>> scores(pod_id pod) { return scores(entry_, cluster, pod, cluster.nodes()); }
  std::int64_t raw_score(pod_id pod, node_id node) {
    cycle on{entry_, cluster, pod};
    static_cast<void>(on.pre_score(entry_));
    return entry_.score.one(entry_.self.get(), on.context, node.row);
  }
  verdict pre_score(pod_id pod) {
    cycle on{entry_, cluster, pod};
    return on.to_verdict(on.pre_score(entry_));
  }

  [[nodiscard]] const plugin_entry& entry() const noexcept { return entry_; }

  // The same for any plugin of a table on any cluster.

  static verdict pre_filter(const plugin_entry& entry, gangsched::cluster& cluster, pod_id pod,
                            std::optional<std::vector<std::string>>* narrowed = nullptr) {
    cycle on{entry, cluster, pod};
    const status said = on.pre_filter(entry);
    if (narrowed != nullptr && on.names.narrowed()) {
      narrowed->emplace();
      for (const symbol name : on.names.names()) (*narrowed)->emplace_back(inside(cluster).names.text(name));
    }
    return on.to_verdict(said);
  }
  static verdict filter(const plugin_entry& entry, gangsched::cluster& cluster, pod_id pod, node_id node) {
    cycle on{entry, cluster, pod};
    if (on.pre_filter(entry).code == code::skip) return {};
    const void* self = entry.self.get();
    const status said = entry.filter.one(self, on.context, node.row);
    std::vector<std::uint8_t> marks(node.row + 1);
    const std::vector<row_t> rows{node.row};
    if (!entry.filter.rows(self, on.context, rows, marks.data(), 7)) throw std::runtime_error("a filter failed");
    if ((marks[node.row] == 7) != said.rejected()) throw std::runtime_error("rows and one differ");
    const block_of<filtered_block> block{cluster, node};
    const block_verdict all =
        entry.filter.bound != nullptr ? entry.filter.bound(self, on.context, *block) : block_verdict::unknown;
    if (all != block_verdict::unknown && (all == block_verdict::all_rejected) != said.rejected())
      throw std::runtime_error("bound and one differ");
    if (entry.filter.block != nullptr && entry.filter.block(self, on.context, *block) &&
        ((block->rejected >> block.at & 1u) != 0) != said.rejected())
      throw std::runtime_error("block and one differ");
    verdict whole{said.code};
    if (said.ok()) return whole;
    std::vector<status> reasons;
    if (entry.filter.reasons != nullptr)
      entry.filter.reasons(self, on.context, node.row, reasons);
    else
      reasons.push_back(said);
    for (const status& one : reasons) {
      if (one.code != said.code) throw std::runtime_error("reasons and one differ");
      whole.reasons.push_back(on.to_verdict(one).reasons.front());
    }
    std::sort(whole.reasons.begin(), whole.reasons.end());
    return whole;
  }
  static std::optional<std::vector<std::int64_t>> scores(const plugin_entry& entry, gangsched::cluster& cluster,
                                                         pod_id pod, const std::vector<node_id>& candidates) {
    cycle on{entry, cluster, pod};
    const status said = on.pre_score(entry);
    if (said.code == code::skip) return std::nullopt;
    if (!said.ok()) throw std::runtime_error("pre_score failed");
    const void* self = entry.self.get();
    std::vector<std::int64_t> made;
    for (const node_id node : candidates) made.push_back(entry.score.one(self, on.context, node.row));
    if (entry.score.finish == nullptr) {
      check_rows(entry, on.context, candidates, made);
      for (std::size_t i = 0; i < candidates.size() && entry.score.block != nullptr; ++i) {
        const block_of<scored_block> block{cluster, candidates[i]};
        if (entry.score.block(self, on.context, *block) && block->score[block.at] != static_cast<double>(made[i]))
          throw std::runtime_error("block and one differ");
        if (entry.score.bound != nullptr &&
            entry.score.bound(self, on.context, *block) < static_cast<double>(made[i]) - 1e-6)
          throw std::runtime_error("a node is rated above the bound of its block");
      }
      return made;
    }
    std::map<std::int64_t, std::uint32_t> values;
    for (const std::int64_t raw : made) ++values[raw];
    std::vector<scored_group> groups;
    for (const auto& [raw, population] : values) groups.push_back({raw, population});
    entry.score.finish(self, on.context, groups);
    for (std::int64_t& score : made)
      score = groups[static_cast<std::size_t>(std::distance(values.begin(), values.find(score)))].score;
    return made;
  }

 private:
  /// The block that a node is in, and where.
  template <class Block>
  struct block_of {
    block_of(gangsched::cluster& on, node_id node) : at(node.row % amount_block::rows) {
      engine::row_order by_number;
      by_number.reset(inside(on).nodes.rows.count());
      amounts.start(inside(on), by_number);
      nodes = std::make_unique<Block>(amounts.by_kind(), node.row - at);
    }
    Block& operator*() const { return *nodes; }
    Block* operator->() const { return nodes.get(); }
    engine::amount_columns amounts;
    std::unique_ptr<Block> nodes;
    std::size_t at;
  };
  /// A class's hooks with data of their own.
  struct cycle {
    cycle(const plugin_entry& entry, gangsched::cluster& on, pod_id pod)
        : data(entry.make_data ? entry.make_data() : nullptr) {
      model::cluster_state& state = inside(on);
      context = {&state, &state.classes[state.class_of(pod.row)], no_row, data.get()};
    }
    status pre_filter(const plugin_entry& entry) {
      return entry.pre_filter ? entry.pre_filter(entry.self.get(), context, names) : status::success();
    }
    status pre_score(const plugin_entry& entry) {
      static_cast<void>(pre_filter(entry));
      return entry.pre_score ? entry.pre_score(entry.self.get(), context) : status::success();
    }
    [[nodiscard]] verdict to_verdict(const status& said) const {
      if (said.reason == nullptr) return {said.code};
      return {said.code, {said.reason + std::string{context.state->names.text(said.detail)}}};
    }
    node_names names;
    std::shared_ptr<void> data;
    hook_context context{};
  };
  static void check_rows(const plugin_entry& entry, const hook_context& context, const std::vector<node_id>& candidates,
                         const std::vector<std::int64_t>& scores) {
    std::vector<row_t> rows;
    for (const node_id node : candidates) rows.push_back(node.row);
    std::vector<std::int64_t> totals(context.state->nodes.rows.count());
    if (!entry.score.rows(entry.self.get(), context, rows, 3, totals.data()))
      throw std::runtime_error("a score is out of range");
    for (std::size_t i = 0; i < rows.size(); ++i)
      if (totals[rows[i]] != 3 * scores[i]) throw std::runtime_error("rows and one differ");
  }

  plugin_entry entry_;
};

}  // namespace gangsched::testing
