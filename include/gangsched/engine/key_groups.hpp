#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "gangsched/core/hash.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

/// The different values of one cached key among the groups of a class.
struct key_values {
  std::vector<std::int64_t> value;      ///< ascending
  std::vector<std::uint32_t> of_group;  ///< by group: where its value is
  void clear() noexcept {
    value.clear();
    of_group.clear();
  }
  /// The value of the next group. O(log values); O(groups) if none had it.
  void add_group(std::int64_t its) {
    const auto at = std::lower_bound(value.begin(), value.end(), its);
    const auto place = static_cast<std::uint32_t>(at - value.begin());
    of_group.push_back(place);
    if (at != value.end() && *at == its) return;
    value.insert(at, its);
    for (std::size_t group = 0; group + 1 < of_group.size(); ++group) of_group[group] += of_group[group] >= place;
  }
  /// The values of all groups, from nothing; @p its(group). O(groups · log values).
  template <class Value>
  void set_groups(std::uint32_t groups, const Value& its) {
    value.clear();
    for (std::uint32_t group = 0; group < groups; ++group) value.push_back(its(group));
    std::sort(value.begin(), value.end());
    value.erase(std::unique(value.begin(), value.end()), value.end());
    of_group.clear();
    for (std::uint32_t group = 0; group < groups; ++group)
      of_group.push_back(
          static_cast<std::uint32_t>(std::lower_bound(value.begin(), value.end(), its(group)) - value.begin()));
  }
};

/// One of @p out for each distinct key, with the number of its slots; @p slot: for each holder of a key, its index in @p distinct. O(slot).
template <class Entry>
void count_by_key(std::span<const std::int64_t> distinct, std::span<const std::uint32_t> slot,
                  std::vector<Entry>& out) {
  out.clear();
  for (const std::int64_t key : distinct) out.push_back({key, 0});
  for (const std::uint32_t one : slot) ++out[one].population;
}

/// Adds up how many nodes groups have, by value of a key.
class value_sums {
 public:
  /// For each value that some of @p groups has an {value, population} in @p out, ascending. Each group is named once.
  /// O(groups + values / 64).
  template <class Entry>
  void gather(const key_values& key, std::span<const std::uint32_t> groups, std::span<const std::uint32_t> population,
              std::vector<Entry>& out) {
    constexpr std::size_t bits = 64;
    const std::size_t values = key.value.size();
    if (sum_.size() < values) {
      place_.resize(values);
      seen_.resize((values + bits - 1) / bits);
      sum_.resize(values);  // last: memory may run out before
    }
    out.clear();
    if (const std::size_t most = std::min(values, groups.size()); out.capacity() < most)
      out.reserve(std::max(most, 2 * out.capacity()));
    // From here on nothing throws.
    for (const std::uint32_t group : groups) {
      const std::uint32_t value = key.of_group[group];
      sum_[value] += population[group];
      seen_[value / bits] |= std::uint64_t{1} << (value % bits);
    }
    for (std::size_t word = 0; word * bits < values; ++word) {
      for (std::uint64_t left = std::exchange(seen_[word], 0); left != 0; left &= left - 1) {
        const std::size_t value = word * bits + static_cast<std::size_t>(std::countr_zero(left));
        place_[value] = static_cast<std::uint32_t>(out.size());
        out.push_back({key.value[value], std::exchange(sum_[value], 0)});
      }
    }
  }
  /// Where the sum of a value (`key_values::of_group`) was put by the last `gather`.
  [[nodiscard]] std::size_t place(std::uint32_t value) const noexcept { return place_[value]; }

 private:
  std::vector<std::uint32_t> sum_;   // by value; 0 between two calls
  std::vector<std::uint64_t> seen_;  // a bit a value, likewise
  std::vector<std::uint32_t> place_;
};

/// Numbers for tuples of cached keys: the groups of a class. Usually few; as many as there are nodes if a raw score differs on each.
class key_groups {
 public:
  static constexpr std::uint32_t none = 0xffffffffu;
  static constexpr std::uint32_t usual = 512;  ///< as many do no harm, in any cluster

  void reset(std::size_t keys) {
    keys_ = keys;
    values_.resize(keys);
    for (key_values& one : values_) one.clear();
    tuples_.clear();
    table_.assign(16, none);
    count_ = numbered_ = 0;
  }
  [[nodiscard]] std::uint32_t size() const noexcept { return count_; }
  /// Groups whose nodes are gone stay: whether there are so many that it pays to begin anew. @p live: groups at the beginning.
  [[nodiscard]] bool outgrown(std::uint32_t live) const noexcept { return count_ > std::max(usual, 2 * live); }
  [[nodiscard]] std::int64_t key(std::uint32_t group, std::size_t which) const noexcept {
    return tuples_[group * keys_ + which];
  }
  /// Sees to it that the values of all groups are known. O(keys), and what those cost that are new.
  void number_values() {
    if (numbered_ != count_) number_new();
  }
  /// The different values of a key among the groups when they were numbered last.
  [[nodiscard]] const key_values& values(std::size_t which) const noexcept { return values_[which]; }
  /// The group of a tuple, made on first sight. O(keys).
  std::uint32_t find_or_add(std::span<const std::int64_t> tuple) {
    if (last_ < count_ && is_of(tuple, last_)) return last_;  // neighbouring nodes are mostly equal
    if (2 * (count_ + 1) > table_.size()) grow();
    std::size_t at = place(tuple);
    for (; table_[at] != none; at = (at + 1) & (table_.size() - 1)) {
      if (is_of(tuple, table_[at])) return last_ = table_[at];
    }
    table_[at] = last_ = count_;
    tuples_.insert(tuples_.end(), tuple.begin(), tuple.end());
    return count_++;
  }

 private:
  void number_new() {
    constexpr std::uint32_t some = 128;  // more than that are cheaper all at once
    for (std::size_t which = 0; which < keys_; ++which) {
      key_values& values = values_[which];
      auto known = static_cast<std::uint32_t>(values.of_group.size());
      if (count_ - known > some) values.set_groups(count_, [&](std::uint32_t group) { return key(group, which); });
      for (known = static_cast<std::uint32_t>(values.of_group.size()); known < count_; ++known)
        values.add_group(key(known, which));
    }
    numbered_ = count_;
  }
  [[nodiscard]] bool is_of(std::span<const std::int64_t> tuple, std::uint32_t group) const noexcept {
    return std::equal(tuple.begin(), tuple.end(), tuples_.begin() + static_cast<std::ptrdiff_t>(group * keys_));
  }
  [[nodiscard]] std::size_t place(std::span<const std::int64_t> tuple) const noexcept {
    std::uint64_t hash = 0;
    for (const std::int64_t key : tuple) hash = mix64(hash ^ static_cast<std::uint64_t>(key));
    return static_cast<std::size_t>(hash) & (table_.size() - 1);
  }
  void grow() {
    table_.assign(2 * table_.size(), none);
    for (std::uint32_t group = 0; group < count_; ++group) {
      std::size_t at = place({tuples_.data() + group * keys_, keys_});
      while (table_[at] != none) at = (at + 1) & (table_.size() - 1);
      table_[at] = group;
    }
  }
  std::size_t keys_ = 0;
  std::vector<key_values> values_;
  std::vector<std::int64_t> tuples_;
  std::vector<std::uint32_t> table_ = std::vector<std::uint32_t>(16, none);  // open addressing, at most half full
  std::uint32_t count_ = 0, last_ = 0;                                       // last_: the one found last
  std::uint32_t numbered_ = 0;                                               // groups whose values are known
};

}  // namespace gangsched::inline GANGSCHED_ABI::engine
