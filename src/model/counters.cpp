#include "gangsched/model/counters.hpp"

#include <algorithm>
#include <string>
#include <unordered_map>

#include "gangsched/core/is_among.hpp"
#include "gangsched/model/canonical_selectors.hpp"
#include "gangsched/model/free_places.hpp"
#include "gangsched/model/label_selector.hpp"
#include "gangsched/model/mark_names.hpp"

namespace gangsched::inline GANGSCHED_ABI::detail {

GANGSCHED_INLINE void put_query(std::string& out, const model::pod_query& query) {
  canonical::append(out, query.selector, query.namespaces, query.namespace_selector);
}

/// Counts as rows: 0, −1, 1, −2, 2, … A trial can take a spread counter below 0.
[[nodiscard]] GANGSCHED_INLINE std::uint32_t row_of_count(std::int32_t count) noexcept {
  return count >= 0 ? 2 * static_cast<std::uint32_t>(count) : 2 * static_cast<std::uint32_t>(-count) - 1;
}

}  // namespace gangsched::inline GANGSCHED_ABI::detail

namespace gangsched::inline GANGSCHED_ABI::model {

struct counter_table::index {
  struct entry {
    std::string key;
    pod_scope scope;
    std::vector<counter_id> counters;  // ascending
  };
  std::vector<std::unique_ptr<entry>> scopes;  // null: the number is free
  std::vector<scope_id> free;
  std::unordered_map<std::string, scope_id> scope_by_key;
  std::unordered_map<std::string, counter_id> by_key;
  // Scopes by label: a pod in a scope has one of the labels that this is listed by. Others are in `anywhere`.
  std::unordered_map<std::string, std::vector<scope_id>> by_label;
  std::vector<scope_id> anywhere;
};

}  // namespace gangsched::inline GANGSCHED_ABI::model

namespace gangsched::inline GANGSCHED_ABI::detail {

GANGSCHED_INLINE std::string joined_label(std::string_view key, std::string_view value) {
  std::string joined;
  joined.reserve(key.size() + 1 + value.size());
  joined += key;
  joined += '\0';  // in no label
  return joined += value;
}

/// Labels of which a pod in the scope has exactly one; none if nothing of the kind can be said. @p nobody: no pod is in the scope.
GANGSCHED_INLINE std::vector<std::string> scope_labels(const model::pod_scope& scope, bool& nobody) {
  std::vector<std::string> found;
  for (const model::pod_query& query : scope) {
    nobody = nobody || !query.selector;
    if (!found.empty() || !query.selector) continue;
    if (!query.selector->match_labels.empty()) {
      const auto& [key, value] = *query.selector->match_labels.begin();
      found.push_back(joined_label(key, value));
    }
    for (const selector_requirement& one : query.selector->match_expressions) {
      if (!found.empty() || one.op != selector_operator::in) continue;
      for (const std::string& value : one.values) found.push_back(joined_label(one.key, value));
    }
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

[[nodiscard]] GANGSCHED_INLINE std::string scope_key(const model::pod_scope& scope) {
  std::string key;
  for (const model::pod_query& query : scope) put_query(key, query);
  return key;
}

[[nodiscard]] GANGSCHED_INLINE std::string counter_key(const counter_spec& spec) {
  std::string key;
  canonical::append(key, spec.what, spec.weight, spec.topology, spec.nodes, spec.scope, spec.spread, spec.nobody);
  return key;
}

}  // namespace gangsched::inline GANGSCHED_ABI::detail

namespace gangsched::inline GANGSCHED_ABI::model {

GANGSCHED_INLINE counter_table::counter::counter(undo_log& undo, const counter_spec& given)
    : spec(given), pods(undo), nodes(undo), having(undo), facts(undo) {
  facts.grow(fact_count);
}

GANGSCHED_INLINE counter_table::counter_table(undo_log& undo) : undo_(&undo), index_(std::make_unique<index>()) {}
GANGSCHED_INLINE counter_table::~counter_table() = default;

GANGSCHED_INLINE counter_table& counter_table::operator=(const counter_table& from) {
  all_ = detail::copies_of(from.all_, [&](const counter& one) { return std::make_unique<counter>(*undo_, one.spec); });
  free_ = from.free_;
  made_ = from.made_;
  index& own = *index_;
  const index& other = *from.index_;
  own.scopes = detail::copies_of(other.scopes, [](const index::entry&) { return std::make_unique<index::entry>(); });
  own.free = other.free;
  own.scope_by_key = other.scope_by_key;
  own.by_key = other.by_key;
  own.by_label = other.by_label;
  own.anywhere = other.anywhere;
  return *this;
}

GANGSCHED_INLINE scope_id counter_table::scope_number(pod_scope&& scope) {
  index& all = *index_;
  std::string key = detail::scope_key(scope);
  if (const auto known = all.scope_by_key.find(key); known != all.scope_by_key.end()) return known->second;
  bool nobody = false;
  const std::vector<std::string> labels = detail::scope_labels(scope, nobody);
  const scope_id id = detail::put_in_free_place(
      all.scopes, all.free, std::make_unique<index::entry>(index::entry{key, std::move(scope), {}}));
  if (!nobody) {
    for (const std::string& label : labels) all.by_label[label].push_back(id);
    if (labels.empty()) all.anywhere.push_back(id);
  }
  all.scope_by_key.emplace(std::move(key), id);
  return id;
}

GANGSCHED_INLINE counter_id counter_table::number(const counter_spec& spec) {
  std::string key = detail::counter_key(spec);
  if (const auto known = index_->by_key.find(key); known != index_->by_key.end()) return known->second;
  const counter_id id = detail::put_in_free_place(all_, free_, std::make_unique<counter>(*undo_, spec));
  std::vector<counter_id>& beside = index_->scopes[spec.scope]->counters;
  beside.insert(std::lower_bound(beside.begin(), beside.end(), id), id);
  index_->by_key.emplace(std::move(key), id);
  ++made_;
  return id;
}

GANGSCHED_INLINE bool counter_table::sweep(const std::vector<bool>& used, interner& names) {
  made_ = 0;
  index& all = *index_;
  std::vector<bool> scope_used(all.scopes.size());
  all.free.reserve(all.scopes.size()), free_.reserve(all_.size());  // a scope goes only together with its counters
  for (counter_id id = 0; id < size(); ++id) {
    if (all_[id] != nullptr && used[id]) scope_used[all_[id]->spec.scope] = true;
  }
  const auto unused = [&](scope_id id) { return !scope_used[id]; };
  std::erase_if(all.by_key, [&](const auto& entry) { return !used[entry.second]; });
  std::erase_if(all.scope_by_key, [&](const auto& entry) { return unused(entry.second); });
  for (auto& [label, scopes] : all.by_label) std::erase_if(scopes, unused);
  std::erase_if(all.by_label, [](const auto& entry) { return entry.second.empty(); });
  std::erase_if(all.anywhere, unused);
  detail::free_unused(all.scopes, all.free, 0, scope_used, [&](index::entry& one) {
    std::erase_if(one.counters, [&](counter_id id) { return !used[id]; });
    for (const pod_query& query : one.scope) detail::mark(names, query.namespaces);
  });
  return detail::free_unused(all_, free_, 0, used, [](const counter&) {}) != 0;
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
  const auto live = [&](counter_id id) { return lives(id); };
  const auto look = [&](const std::vector<scope_id>& scopes) {
    for (const scope_id id : scopes) {
      const index::entry& scope = *index_->scopes[id];
      const auto first = std::find_if(scope.counters.begin(), scope.counters.end(), live);
      if (first == scope.counters.end() || !matches(scope.scope, ns, labels, ns_labels)) continue;
      std::copy_if(first, scope.counters.end(), std::back_inserter(found), live);
    }
  };
  look(index_->anywhere);
  for (const auto& [key, value] : labels) {
    if (index_->by_label.empty()) break;
    const auto named = index_->by_label.find(detail::joined_label(key, value));
    if (named != index_->by_label.end()) look(named->second);
  }
  std::sort(found.begin(), found.end());
  return found;
}

GANGSCHED_INLINE bool counter_table::minds(symbol ns, const label_map& before, const label_map& after) const {
  return std::any_of(index_->scopes.begin(), index_->scopes.end(), [&](const auto& scope) {
    if (scope == nullptr) return false;
    const bool live =
        std::any_of(scope->counters.begin(), scope->counters.end(), [&](counter_id id) { return lives(id); });
    return live && std::any_of(scope->scope.begin(), scope->scope.end(), [&](const pod_query& query) {
             return query.namespace_selector && !is_among(ns, query.namespaces) &&
                    matches(*query.namespace_selector, before) != matches(*query.namespace_selector, after);
           });
  });
}

GANGSCHED_INLINE bool counter_table::counts_nothing(counter_id id) const noexcept {
  const counter& one = *all_[id];
  std::int32_t some = 0;
  for (domain_id domain = 0; domain < one.size; ++domain) some |= one.pods[domain];
  return some == 0;
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

GANGSCHED_INLINE void counter_table::digest_into(digest& out, const topology_table& topologies,
                                                 const std::vector<std::uint64_t>& of) const {
  std::uint64_t sum_of_all = 0;
  for (counter_id id = 0; id < size(); ++id) {
    if (!lives(id)) continue;
    const counter& one = *all_[id];
    std::uint64_t sum_of_domains = 0;
    for (domain_id domain = 0; domain < one.size; ++domain) {
      if (one.pods[domain] == 0 && (!one.spec.spread || one.nodes[domain] == 0)) continue;
      digest here = out.another();
      if (one.spec.topology == node_itself)
        here.add(domain);
      else
        add_name(here, topologies.value(one.spec.topology, domain));
      here.add(static_cast<std::uint64_t>(static_cast<std::int64_t>(one.pods[domain])));
      if (one.spec.spread) here.add(one.nodes[domain]);
      sum_of_domains += here.value();
    }
    digest mine = out.another();
    mine.add(of[id]);
    mine.add(sum_of_domains);
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
  static constexpr std::uint32_t none = 0xffffffffu;
  std::vector<std::unique_ptr<const std::vector<std::int64_t>>> tuples;     // by word
  std::vector<std::uint32_t> words = std::vector<std::uint32_t>(64, none);  // open addressing, at most half full

  /// Where the tuple's word is, or belongs.
  [[nodiscard]] std::uint32_t& place(std::span<const std::int64_t> tuple) noexcept {
    std::uint64_t hash = tuple.size();
    for (const std::int64_t word : tuple) hash = mix64(hash ^ static_cast<std::uint64_t>(word));
    const auto is_it = [&](std::uint32_t word) {  // (tuples are short: no call for that)
      const std::vector<std::int64_t>& known = *tuples[word];
      std::size_t same = 0;
      while (same < tuple.size() && same < known.size() && known[same] == tuple[same]) ++same;
      return same == tuple.size() && same == known.size();
    };
    std::size_t at = static_cast<std::size_t>(hash) & (words.size() - 1);
    while (words[at] != none && !is_it(words[at])) at = (at + 1) & (words.size() - 1);
    return words[at];
  }
  void grow() {
    std::vector<std::uint32_t> larger(2 * words.size(), none);
    words.swap(larger);
    for (std::uint32_t word = 0; word < tuples.size(); ++word) place(*tuples[word]) = word;
  }
};

GANGSCHED_INLINE tuple_table::tuple_table() : impl_(std::make_unique<impl>()) {}
GANGSCHED_INLINE tuple_table::~tuple_table() = default;

GANGSCHED_INLINE std::int64_t tuple_table::pack(std::span<const std::int64_t> tuple) {
  if (tuple.size() == 1) return tuple.front();
  if (2 * (size_ + 1) > impl_->words.size()) impl_->grow();
  std::uint32_t& word = impl_->place(tuple);
  if (word != impl::none) return word;
  detail::make_room(impl_->tuples);
  impl_->tuples.push_back(std::make_unique<const std::vector<std::int64_t>>(tuple.begin(), tuple.end()));
  word = static_cast<std::uint32_t>(size_++);
  return word;
}

GANGSCHED_INLINE std::span<const std::int64_t> tuple_table::unpack(const std::int64_t& word, std::size_t size) const {
  if (size == 1) return {&word, 1};
  return *impl_->tuples[static_cast<std::size_t>(word)];
}

GANGSCHED_INLINE void tuple_table::clear() noexcept {
  std::fill(impl_->words.begin(), impl_->words.end(), impl::none);
  impl_->tuples.clear();
  size_ = 0;
}

}  // namespace gangsched::inline GANGSCHED_ABI::model
