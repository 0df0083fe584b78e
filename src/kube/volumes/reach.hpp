#pragma once
#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gangsched/kube/manifests.hpp"
#include "gangsched/model/label_selector.hpp"
#include "gangsched/model/name_rules.hpp"
#include "gangsched/model/node_selector.hpp"
#include "gangsched/src/kube/core/node_facts.hpp"

namespace gangsched::inline GANGSCHED_ABI::kube::detail {

/// Nodes as they count in the files, ascending; null: all of them.
using node_set = std::shared_ptr<const std::vector<std::uint32_t>>;

inline bool is_in(const node_set& all, std::uint32_t node) {
  return all == nullptr || std::binary_search(all->begin(), all->end(), node);
}

/// Which nodes match terms. A term that names values of a label looks only at the nodes that have one of them.
class node_finder {
 public:
  explicit node_finder(const std::vector<node_manifest>& nodes) : nodes_(&nodes) {}

  /// One of the terms holds. O(nodes that are looked at · terms).
  [[nodiscard]] node_set matching(std::span<const node_selector_term> terms) const {
    std::vector<std::uint32_t> found;
    for (const node_selector_term& term : terms) {
      const auto look = [&](std::uint32_t node) {
        if (matches(term, node_facts{&(*nodes_)[node].spec})) found.push_back(node);
      };
      const auto named = std::ranges::find_if(
          term.match_expressions, [](const selector_requirement& one) { return one.op == selector_operator::in; });
      if (named == term.match_expressions.end()) {
        for (std::uint32_t node = 0; node < nodes_->size(); ++node) look(node);
        continue;
      }
      for (const std::string& value : named->values)
        for (const std::uint32_t node : with_label(named->key, value)) look(node);
    }
    std::ranges::sort(found);
    found.erase(std::ranges::unique(found).begin(), found.end());
    return std::make_shared<const std::vector<std::uint32_t>>(std::move(found));
  }

  /// The nodes with such labels. O(nodes that have the rarest of the labels that it names).
  [[nodiscard]] node_set matching(const label_selector& by) const {
    std::vector<std::uint32_t> found;
    const auto look = [&](std::uint32_t node) {
      if (matches(by, (*nodes_)[node].spec.labels)) found.push_back(node);
    };
    const auto named = std::ranges::find_if(
        by.match_expressions, [](const selector_requirement& one) { return one.op == selector_operator::in; });
    if (!by.match_labels.empty()) {
      std::span<const std::uint32_t> fewest;
      bool first = true;
      for (const auto& [key, value] : by.match_labels) {
        const std::span<const std::uint32_t> some = with_label(key, value);
        if (std::exchange(first, false) || some.size() < fewest.size()) fewest = some;
      }
      for (const std::uint32_t node : fewest) look(node);
    } else if (named != by.match_expressions.end()) {
      for (const std::string& value : named->values)
        for (const std::uint32_t node : with_label(named->key, value)) look(node);
    } else {
      for (std::uint32_t node = 0; node < nodes_->size(); ++node) look(node);
    }
    std::ranges::sort(found);
    found.erase(std::ranges::unique(found).begin(), found.end());
    return std::make_shared<const std::vector<std::uint32_t>>(std::move(found));
  }

 private:
  [[nodiscard]] std::span<const std::uint32_t> with_label(const std::string& key, const std::string& value) const {
    const auto [index, fresh] = by_label_.try_emplace(key);
    for (std::uint32_t node = 0; fresh && node < nodes_->size(); ++node)
      if (const auto its = node_facts{&(*nodes_)[node].spec}.label(key))
        index->second[std::string{*its}].push_back(node);
    const auto found = index->second.find(value);
    return found == index->second.end() ? std::span<const std::uint32_t>{} : std::span{found->second};
  }

  const std::vector<node_manifest>* nodes_;
  mutable std::map<std::string, std::map<std::string, std::vector<std::uint32_t>>> by_label_;
};

/// What is in both.
inline node_set both(const node_set& a, const node_set& b) {
  if (a == nullptr || b == nullptr) return a == nullptr ? b : a;
  std::vector<std::uint32_t> made;
  std::ranges::set_intersection(*a, *b, std::back_inserter(made));
  return std::make_shared<const std::vector<std::uint32_t>>(std::move(made));
}

/// The values of a volume's zone label that a node can have ("a__b" is two).
inline std::vector<std::string> zones_of(std::string_view label) {
  std::vector<std::string> made;
  for (;;) {
    const std::size_t end = label.find("__");
    const std::string_view one = label.substr(0, end);
    if (gangsched::detail::is_label_value(one)) made.emplace_back(one);
    if (end == std::string_view::npos) return made;
    label.remove_prefix(end + 2);
  }
}

}  // namespace gangsched::inline GANGSCHED_ABI::kube::detail
