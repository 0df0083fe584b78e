#include "gangsched/model/counters.hpp"

#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <string>

#include "gangsched/core/is_among.hpp"
#include "gangsched/model/canonical.hpp"
#include "gangsched/model/class_table.hpp"

namespace gangsched {
namespace detail {

GANGSCHED_INLINE void put_query(std::string& out, const pod_query& query) {
  canonical::put(out, query.selector);
  canonical::put(out, query.namespaces);
  canonical::put(out, query.namespace_selector);
}

/// Counts as rows: 0, −1, 1, −2, 2, … A trial can take a spread counter below 0.
[[nodiscard]] GANGSCHED_INLINE std::uint32_t row_of_count(std::int32_t count) noexcept {
  return count >= 0 ? 2 * static_cast<std::uint32_t>(count) : 2 * static_cast<std::uint32_t>(-count) - 1;
}

}  // namespace detail

struct counter_table::index {
  struct entry {
    std::string key;
    pod_scope scope;
    std::vector<counter_id> counters;  // ascending
  };
  std::vector<std::unique_ptr<entry>> scopes;
  absl::flat_hash_map<std::string, scope_id> scope_by_key;
  absl::flat_hash_map<std::string, counter_id> by_key;
};

GANGSCHED_INLINE counter_table::counter::counter(undo_log& undo, const counter_spec& given)
    : spec(given), pods(undo), nodes(undo), having(undo), facts(undo) {
  facts.grow(fact_count);
}

GANGSCHED_INLINE counter_table::counter_table(undo_log& undo) : undo_(&undo), index_(std::make_unique<index>()) {}
GANGSCHED_INLINE counter_table::~counter_table() = default;

GANGSCHED_INLINE scope_id counter_table::scope_number(pod_scope&& scope) {
  std::string key;
  for (const pod_query& query : scope) detail::put_query(key, query);
  const auto [found, made] = index_->scope_by_key.try_emplace(key, static_cast<scope_id>(index_->scopes.size()));
  if (made)
    index_->scopes.push_back(std::make_unique<index::entry>(index::entry{std::move(key), std::move(scope), {}}));
  return found->second;
}

GANGSCHED_INLINE counter_id counter_table::number(const counter_spec& spec) {
  std::string key;
  canonical::put(key, spec.what);
  canonical::put(key, spec.weight);
  canonical::put(key, spec.topology);
  canonical::put(key, spec.nodes);
  canonical::put(key, spec.scope);
  canonical::put(key, spec.spread);
  canonical::put(key, spec.nobody);
  const auto [found, made] = index_->by_key.try_emplace(std::move(key), size());
  if (made) {
    index_->scopes[spec.scope]->counters.push_back(size());
    all_.push_back(std::make_unique<counter>(*undo_, spec));
  }
  return found->second;
}

GANGSCHED_INLINE const pod_scope& counter_table::scope(scope_id id) const noexcept { return index_->scopes[id]->scope; }

GANGSCHED_INLINE bool counter_table::add_user(counter_id id) {
  counter& one = *all_[id];
  one.facts.set(users, one.facts[users] + 1);
  return one.facts[users] == 1;
}

GANGSCHED_INLINE bool counter_table::remove_user(counter_id id) {
  counter& one = *all_[id];
  one.facts.set(users, one.facts[users] - 1);
  return one.facts[users] == 0;
}

GANGSCHED_INLINE std::vector<counter_id> counter_table::matching(symbol ns, const label_map& labels,
                                                                 const label_map& ns_labels) const {
  std::vector<counter_id> found;
  for (const auto& scope : index_->scopes) {
    const auto live = [&](counter_id id) { return lives(id); };
    auto first = std::find_if(scope->counters.begin(), scope->counters.end(), live);
    if (first == scope->counters.end() || !matches(scope->scope, ns, labels, ns_labels)) continue;
    std::copy_if(first, scope->counters.end(), std::back_inserter(found), live);
  }
  std::sort(found.begin(), found.end());
  return found;
}

GANGSCHED_INLINE bool counter_table::minds(symbol ns, const label_map& before, const label_map& after) const {
  return std::any_of(index_->scopes.begin(), index_->scopes.end(), [&](const auto& scope) {
    const bool live =
        std::any_of(scope->counters.begin(), scope->counters.end(), [&](counter_id id) { return lives(id); });
    return live && std::any_of(scope->scope.begin(), scope->scope.end(), [&](const pod_query& query) {
             return query.namespace_selector && !is_among(ns, query.namespaces) &&
                    matches(*query.namespace_selector, before) != matches(*query.namespace_selector, after);
           });
  });
}

GANGSCHED_INLINE void counter_table::clear(counter_id id) {
  counter& one = *all_[id];
  const auto zero = [](auto& column, std::uint32_t size) {
    for (row_t row = 0; row < size; ++row) {
      if (column[row] != 0) column.set(row, 0);
    }
  };
  zero(one.pods, one.size);
  if (one.spec.spread) zero(one.nodes, one.size), zero(one.having, one.having_size);
  for (const row_t row : {sum, open, lowest}) one.facts.set(row, 0);
}

/// One open domain more, or less, has this count.
GANGSCHED_INLINE void counter_table::tally(counter& one, std::int32_t count, int by) {
  const std::uint32_t row = detail::row_of_count(count);
  if (row >= one.having_size) {
    const std::uint32_t size = std::max<std::uint32_t>(16, 2 * (row + 1));
    one.having.grow(size);
    one.having_size = size;
  }
  one.having.set(row, one.having[row] + static_cast<std::uint32_t>(by));
}

/// The least count went up: to the next that a domain has.
GANGSCHED_INLINE void counter_table::raise(counter& one) {
  if (one.facts[open] == 0) {
    if (one.facts[lowest] != 0) one.facts.set(lowest, 0);
    return;
  }
  const auto before = static_cast<std::int32_t>(one.facts[lowest]);
  std::int32_t count = before;
  while (detail::row_of_count(count) >= one.having_size || one.having[detail::row_of_count(count)] == 0) ++count;
  if (count != before) one.facts.set(lowest, count);
}

GANGSCHED_INLINE void counter_table::add(counter_id id, domain_id domain, std::int32_t by) {
  counter& one = *all_[id];
  if (domain >= one.size) {
    const domain_id size = std::max<domain_id>(domain + 1, one.size + one.size / 2);
    one.pods.grow(size);
    if (one.spec.spread) one.nodes.grow(size);
    one.size = size;
  }
  const std::int32_t before = one.pods[domain], after = before + by;
  one.pods.set(domain, after);
  one.facts.set(sum, one.facts[sum] + by);
  if (!one.spec.spread || one.nodes[domain] == 0) return;
  tally(one, before, -1);
  tally(one, after, +1);
  if (after < one.facts[lowest])
    one.facts.set(lowest, after);
  else if (before == one.facts[lowest])
    raise(one);
}

GANGSCHED_INLINE void counter_table::add_node(counter_id id, domain_id domain, bool came) {
  counter& one = *all_[id];
  if (domain >= one.size) add(id, domain, 0);
  const std::uint32_t before = one.nodes[domain];
  one.nodes.set(domain, came ? before + 1 : before - 1);
  if (before != (came ? 0u : 1u)) return;
  const std::int32_t count = one.pods[domain];
  tally(one, count, came ? +1 : -1);
  one.facts.set(open, one.facts[open] + (came ? 1 : -1));
  if (came && (one.facts[open] == 1 || count < one.facts[lowest]))
    one.facts.set(lowest, count);
  else if (!came && count == one.facts[lowest])
    raise(one);
}

GANGSCHED_INLINE void counter_table::digest_into(digest& out, const topology_table& topologies) const {
  std::uint64_t sum_of_all = 0;
  for (counter_id id = 0; id < size(); ++id) {
    const counter& one = *all_[id];
    if (!lives(id)) continue;
    digest mine;
    mine.add(index_->scopes[one.spec.scope]->key);
    mine.add(static_cast<std::uint64_t>(one.spec.what));
    mine.add(static_cast<std::uint64_t>(static_cast<std::int64_t>(one.spec.weight)));
    mine.add(one.spec.topology == node_itself ? 0 : topologies.key(one.spec.topology).value);
    for (domain_id domain = 0; domain < one.size; ++domain) {
      if (one.pods[domain] == 0 && (!one.spec.spread || one.nodes[domain] == 0)) continue;
      mine.add(one.spec.topology == node_itself ? domain : topologies.value(one.spec.topology, domain).value);
      mine.add(static_cast<std::uint64_t>(static_cast<std::int64_t>(one.pods[domain])));
      if (one.spec.spread) mine.add(one.nodes[domain]);
    }
    one.facts.digest_into(mine, fact_count);
    sum_of_all += mine.value();
  }
  out.add(sum_of_all);
}

GANGSCHED_INLINE bool matches(const pod_scope& scope, symbol ns, const label_map& labels, const label_map& ns_labels) {
  return std::all_of(scope.begin(), scope.end(), [&](const pod_query& query) {
    const bool here =
        is_among(ns, query.namespaces) || (query.namespace_selector && matches(*query.namespace_selector, ns_labels));
    return here && query.selector && matches(*query.selector, labels);
  });
}

struct tuple_table::impl {
  struct hash {
    std::size_t operator()(const std::vector<std::int64_t>& tuple) const noexcept {
      std::uint64_t state = tuple.size();
      for (const std::int64_t word : tuple) state = mix64(state ^ static_cast<std::uint64_t>(word));
      return static_cast<std::size_t>(state);
    }
  };
  absl::flat_hash_map<std::vector<std::int64_t>, std::int64_t, hash> words;
  std::vector<std::unique_ptr<const std::vector<std::int64_t>>> tuples;
  std::vector<std::int64_t> wanted;
};

GANGSCHED_INLINE tuple_table::tuple_table() : impl_(std::make_unique<impl>()) {}
GANGSCHED_INLINE tuple_table::~tuple_table() = default;

GANGSCHED_INLINE std::int64_t tuple_table::pack(std::span<const std::int64_t> tuple) {
  if (tuple.size() == 1) return tuple.front();
  impl_->wanted.assign(tuple.begin(), tuple.end());
  const auto [found, made] = impl_->words.try_emplace(impl_->wanted, static_cast<std::int64_t>(impl_->tuples.size()));
  if (made) impl_->tuples.push_back(std::make_unique<const std::vector<std::int64_t>>(impl_->wanted));
  return found->second;
}

GANGSCHED_INLINE std::span<const std::int64_t> tuple_table::unpack(const std::int64_t& word, std::size_t size) const {
  if (size == 1) return {&word, 1};
  return *impl_->tuples[static_cast<std::size_t>(word)];
}

}  // namespace gangsched
