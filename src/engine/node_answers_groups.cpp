#include "gangsched/engine/node_answers.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "gangsched/model/canonical_selectors.hpp"

// Which nodes are alike for `node_answers`: in what does not change by pods, so that a hook is asked about one of them, and in the keys of
// a class.
namespace gangsched::inline GANGSCHED_ABI::engine {
namespace detail {

/// Of so many groups it is kept which rows are in each.
inline constexpr std::uint32_t few_groups = 32;

}  // namespace detail

/// Puts a place into the group of its values.
template <class Tuple>
void node_answers::number(grouping& of, row_t place, const Tuple& list) {
  const std::uint32_t before = of.group[place];
  std::uint32_t now = key_groups::none;
  if (nodes_.has(place)) {
    buffers_.tuple.clear();
    list(place);
    now = of.groups.find_or_add(buffers_.tuple);
  }
  of.group[place] = now;
  of.numbered.set(place, true);
  if (of.groups.size() > detail::few_groups) of.places.clear();
  if (before < of.places.size()) of.places[before].set(place, false);
  if (of.groups.size() > detail::few_groups || now == key_groups::none) return;
  if (of.places.size() < of.groups.size()) of.places.resize(of.groups.size());
  of.places[now].grow(places());
  of.places[now].set(place, true);
}

/// The groups that these values make together, in which all nodes that are @p wanted are numbered. @p facets: what the values depend on; @p
/// list puts those of a place into `buffers::tuple`.
template <class Tuple>
node_answers::grouping& node_answers::kept_groups(std::vector<std::unique_ptr<grouping>>& among,
                                                  std::span<answer* const> keys, reads facets, const row_bits& wanted,
                                                  const Tuple& list) {
  const auto same = [&](const auto& one) {
    return std::equal(one->of.begin(), one->of.end(), keys.begin(), keys.end(),
                      [](std::uint64_t serial, const answer* key) { return serial == key->serial; });
  };
  const auto found = std::find_if(among.begin(), among.end(), same);
  const bool known = found != among.end();
  grouping& one = known ? **found : detail::add_one(among, most_, now_);
  one.used = now_;
  const bool listed = known && changed_since(one.position, facets) && !one.groups.outgrown(one.live);
  one.group.resize(places(), key_groups::none);
  if (!listed) {
    one.of.clear();
    for (const answer* key : keys) one.of.push_back(key->serial);
    one.position = first_change_ + changes_.size();
    one.groups.reset(keys.size());
    one.places.clear();
    std::fill(one.group.begin(), one.group.end(), key_groups::none);
    one.numbered.clear(0);
    buffers_.rows.clear();
  }
  one.numbered.grow(places());
  for (const row_t row : buffers_.rows) one.numbered.set(order_.place(row), false);
  for (std::size_t block = 0; block < one.numbered.words(); ++block) {
    row_bits::each_place(wanted.word(block) & ~one.numbered.word(block), [&](std::size_t at) {
      number(one, static_cast<row_t>(block * row_bits::rows_in_word + at), list);
    });
  }
  if (!listed) one.live = one.groups.size();
  for (row_bits& each : one.places) each.grow(places());
  return one;
}

GANGSCHED_INLINE node_answers::answer& node_answers::find_trait(trait what, symbol label) {
  constexpr reads facets[] = {reads::taints, reads::schedulable, reads::labels};  // by trait
  std::string& key = buffers_.key;
  key.clear();
  canonical::append(key, std::uintptr_t{0});  // no hook
  key += static_cast<char>(what);
  canonical::append(key, label);
  bool listed = false;
  answer& one = take_answer(listed, facets[static_cast<std::size_t>(what)]);
  one.values.resize(places(), 0);
  // (Groups that were made of the old numbers are as old, and are made anew.)
  if (what == trait::taints && !listed) taint_lists_.clear();
  const auto read = [&](row_t row) -> std::int64_t {
    const model::node_record& record = *state_->nodes.record[row];
    if (what == trait::schedulable) return record.unschedulable ? 1 : 0;
    if (what == trait::label) {
      const std::optional<symbol> value = record.label(label);
      return value ? std::int64_t{value->value} : -1;
    }
    if (record.taints.empty()) return -1;
    key.clear();
    for (const taint_symbols& taint : record.taints) canonical::append(key, taint.key, taint.value, taint.effect);
    return taint_lists_.try_emplace(key, static_cast<std::int64_t>(taint_lists_.size())).first->second;
  };
  const auto renew = [&](row_t row) {
    if (const row_t place = order_.place(row); nodes_.has(place)) one.values[place] = read(row);
  };
  if (listed)
    std::for_each(buffers_.rows.begin(), buffers_.rows.end(), renew);
  else
    for (row_t row = 0; row < order_.size(); ++row) renew(row);
  return one;
}

/// The nodes in groups that are alike in these facets, of which labels are those of `buffers::labels` only.
GANGSCHED_INLINE const node_answers::grouping& node_answers::alike_nodes(reads facets) {
  std::vector<answer*>& traits = buffers_.traits;
  traits.clear();
  if (any(facets & reads::taints)) traits.push_back(&find_trait(trait::taints));
  if (any(facets & reads::schedulable)) traits.push_back(&find_trait(trait::schedulable));
  for (const symbol label : buffers_.labels) traits.push_back(&find_trait(trait::label, label));
  return kept_groups(alike_, traits, facets, nodes_, [&](row_t place) {
    for (const answer* one : traits) buffers_.tuple.push_back(one->values[place]);
  });
}

/// Asks a hook about one node of all that are alike in what it reads. False if it reads too much, or hardly any are alike; @p fine: false
/// if the hook failed.
GANGSCHED_INLINE bool node_answers::ask_alike(const class_plan& plan, const planned& hook, part what, answer& into,
                                              bool& fine) {
  const bool judges = what == part::verdict || what == part::filter_key;
  const plugin_entry& plugin = *hook.plugin;
  const reads facets = judges ? plugin.filter.facets : plugin.score.facets;
  constexpr reads by_label = reads::labels | reads::name;
  if (!covers(reads::taints | reads::schedulable | by_label, facets)) return false;
  buffers_.labels.clear();
  if (any(facets & by_label)) {
    const auto tell = judges ? plugin.filter.label_keys : plugin.score.label_keys;
    if (tell == nullptr || !tell(plugin.self.get(), plan.context(*state_, hook, no_row), buffers_.labels)) return false;
    std::sort(buffers_.labels.begin(), buffers_.labels.end());
    buffers_.labels.erase(std::unique(buffers_.labels.begin(), buffers_.labels.end()), buffers_.labels.end());
  }
  const grouping& alike = alike_nodes(facets);
  if (8 * std::size_t{alike.groups.size()} > order_.size()) return false;
  std::vector<row_t>& first = buffers_.first;  // by group: the first place
  first.assign(alike.groups.size(), no_row);
  if (alike.places.empty()) {
    nodes_.each([&](row_t place) {
      if (row_t& its = first[alike.group[place]]; its == no_row) its = place;
    });
  }
  for (std::size_t group = 0; group < alike.places.size(); ++group)
    first[group] = alike.places[group].first_common(nodes_);
  buffers_.rows.clear();
  for (const row_t place : first)
    if (place != no_row) buffers_.rows.push_back(order_.row(place));
  fine = ask(plan, hook, what, into, buffers_.rows);
  if (what == part::verdict && !alike.places.empty()) {
    into.rejects.clear(places());
    for (std::size_t group = 0; group < first.size(); ++group) {
      if (first[group] != no_row && buffers_.marks[order_.row(first[group])] == 1)
        into.rejects.add(alike.places[group]);
    }
    return true;
  }
  // (Places without a node have a number that no group has: what is said of them does not matter.)
  const auto spread = [&](auto& all, auto& by_group) {
    by_group.assign(first.size() + 1, {});
    for (std::size_t group = 0; group < first.size(); ++group)
      if (first[group] != no_row) by_group[group] = all[first[group]];
    const auto none = static_cast<std::uint32_t>(first.size());
    for (std::size_t place = 0; place < all.size(); ++place) all[place] = by_group[std::min(alike.group[place], none)];
  };
  if (what == part::score)
    spread(into.ratings, buffers_.ratings);
  else if (what != part::verdict)
    spread(into.values, buffers_.tuple);
  else
    nodes_.each([&](row_t place) { into.rejects.set(place, into.rejects.has(first[alike.group[place]])); });
  return true;
}

/// What is kept of a key of which it is known what it is computed from; else null. Its counters are added to `buffers::counters`.
GANGSCHED_INLINE node_answers::answer* node_answers::find_lazy_key(const class_plan& plan, const planned& hook,
                                                                   part what) {
  const bool filters = what == part::filter_key;
  const auto tell = filters ? hook.plugin->filter.key_reads : hook.plugin->score.key_reads;
  if (tell == nullptr) return nullptr;
  key_reads& its = buffers_.reads;
  its.words.clear(), its.counters.clear();
  tell(hook.plugin->self.get(), plan.context(*state_, hook, no_row), its);
  buffers_.counters.insert(buffers_.counters.end(), its.counters.begin(), its.counters.end());
  std::string& key = buffers_.key;
  key.clear();
  canonical::append(key, std::bit_cast<std::uintptr_t>(hook.plugin));
  key += static_cast<char>(what);
  for (const std::int64_t word : its.words) canonical::append(key, word);

  bool listed = false;
  answer& one = take_answer(listed, filters ? hook.plugin->filter.facets : hook.plugin->score.facets);
  one.values.resize(places(), 0);
  if (!listed) one.asked.clear(0), buffers_.rows.clear();
  one.asked.grow(places());
  for (const row_t row : buffers_.rows) one.asked.set(order_.place(row), false);
  return &one;
}

GANGSCHED_INLINE void node_answers::list_keys(const class_plan& plan, row_scores& out) {
  buffers_.keys.clear();
  buffers_.counters.clear();
  const auto take = [&](const planned& hook, part what) {
    answer* kept = find(plan, hook, what, out);
    const bool lazily = kept == nullptr && (kept = find_lazy_key(plan, hook, what)) != nullptr;
    buffers_.keys.push_back({&hook, what == part::filter_key, kept, lazily});
  };
  for (const planned& hook : plan.cached.filter_keys) take(hook, part::filter_key);
  for (const planned& hook : plan.cached.score_keys) take(hook, part::score_key);
}

/// Where pods are counted that keys read, so that other pods' values do not hold there. O(domains), O(nodes) if there are any.
GANGSCHED_INLINE void node_answers::find_counted_nodes() {
  row_bits& counted = buffers_.counted;
  counted.clear(places());
  const model::counter_table& counters = state_->counters;
  for (const counter_id id : buffers_.counters) {
    if (counters.counts_nothing(id)) continue;
    const topology_id topology = counters.spec(id).topology;
    nodes_.each([&](row_t place) {
      const domain_id domain = state_->topologies.domain(topology, order_.row(place));
      if (domain != no_domain && counters.count(id, domain) != 0) counted.set(place, true);
    });
  }
}

/// Adds the keys of a node to `buffers::tuple`. @p counted: values of other pods may not hold there.
GANGSCHED_INLINE void node_answers::list_tuple(const class_plan& plan, row_t place, bool counted) {
  for (const keyed_by& key : buffers_.keys) {
    const auto ask = [&] {
      const auto key_of = key.filters ? row_scores::filter_key : row_scores::score_key;
      return key_of(*state_, plan, *key.hook, order_.row(place));
    };
    answer* const kept = key.lazily && counted ? nullptr : key.kept;
    if (kept == nullptr) {
      buffers_.tuple.push_back(ask());
      continue;
    }
    if (key.lazily && !kept->asked.has(place)) {
      kept->values[place] = ask();
      kept->asked.set(place, true);
    }
    buffers_.tuple.push_back(kept->values[place]);
  }
}

GANGSCHED_INLINE const key_groups& node_answers::group(const class_plan& plan, row_scores& out, key_groups& fresh) {
  list_keys(plan, out);
  std::vector<std::uint32_t>& groups = buffers_.group;
  const auto group_anew = [&](row_t place) {
    buffers_.tuple.clear();
    list_tuple(plan, place, true);
    groups[place] = fresh.find_or_add(buffers_.tuple);
  };
  grouping_ = nullptr;
  const auto is_kept = [](const keyed_by& key) { return key.kept != nullptr; };
  if (!std::all_of(buffers_.keys.begin(), buffers_.keys.end(), is_kept)) {
    fresh.reset(plan.key_count());
    groups.resize(places(), key_groups::none);
    passing_.each(group_anew);
    group_ = groups.data();
    return fresh;
  }
  find_counted_nodes();
  row_bits& counted = buffers_.counted;
  reads facets = reads::nothing;
  buffers_.kept.clear();
  for (const keyed_by& key : buffers_.keys) {
    facets |= key.filters ? key.hook->plugin->filter.facets : key.hook->plugin->score.facets;
    buffers_.kept.push_back(key.kept);
  }
  buffers_.others = nodes_;  // all at first, and not only those that pass: so it is known how many groups there are
  buffers_.others.remove(counted);
  grouping& kept = kept_groups(groupings_, buffers_.kept, facets, buffers_.others,
                               [&](row_t place) { list_tuple(plan, place, false); });
  if (passing_.count_common(counted) == 0) {
    kept.groups.number_values();
    grouping_ = &kept;
    group_ = kept.group.data();
    return kept.groups;
  }
  fresh = kept.groups;
  groups = kept.group;
  for (std::size_t block = 0; block < passing_.words(); ++block) {
    row_bits::each_place(passing_.word(block) & counted.word(block),
                         [&](std::size_t at) { group_anew(static_cast<row_t>(block * row_bits::rows_in_word + at)); });
  }
  group_ = groups.data();
  return fresh;
}

}  // namespace gangsched::inline GANGSCHED_ABI::engine
