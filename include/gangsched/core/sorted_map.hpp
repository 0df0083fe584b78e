#pragma once
#include <compare>
#include <cstddef>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gangsched/core/config.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// Values by name, sorted by name and contiguous in memory: for lists in specifications, which are short and read often. As std::map, but
/// inserting or erasing invalidates iterators and references, and code that changes a name through an iterator must keep the order.
/// Lookup is O(log size); inserting and erasing are O(size), at the end O(1) amortised.
template <class T>
class sorted_map {
 public:
  using key_type = std::string;
  using mapped_type = T;
  using value_type = std::pair<std::string, T>;
  using size_type = std::size_t;
  using iterator = typename std::vector<value_type>::iterator;
  using const_iterator = typename std::vector<value_type>::const_iterator;

  sorted_map() = default;
  /// Of entries with equal names the first is kept. O(n²) for n entries in the worst order; the next constructor likewise.
  sorted_map(std::initializer_list<value_type> all) : sorted_map(all.begin(), all.end()) {}
  template <class Iterator>
  sorted_map(Iterator first, Iterator last) {
    insert(first, last);
  }

  [[nodiscard]] iterator begin() noexcept { return all_.begin(); }
  [[nodiscard]] iterator end() noexcept { return all_.end(); }
  [[nodiscard]] const_iterator begin() const noexcept { return all_.begin(); }
  [[nodiscard]] const_iterator end() const noexcept { return all_.end(); }
  [[nodiscard]] const_iterator cbegin() const noexcept { return all_.begin(); }
  [[nodiscard]] const_iterator cend() const noexcept { return all_.end(); }
  [[nodiscard]] bool empty() const noexcept { return all_.empty(); }
  [[nodiscard]] size_type size() const noexcept { return all_.size(); }
  [[nodiscard]] size_type capacity() const noexcept { return all_.capacity(); }
  void reserve(size_type names) { all_.reserve(names); }
  void shrink_to_fit() { all_.shrink_to_fit(); }
  void clear() noexcept { all_.clear(); }
  void swap(sorted_map& other) noexcept { all_.swap(other.all_); }
  /// The @p nth in order.
  [[nodiscard]] iterator nth(size_type nth) noexcept { return begin() + static_cast<std::ptrdiff_t>(nth); }
  [[nodiscard]] const_iterator nth(size_type nth) const noexcept { return begin() + static_cast<std::ptrdiff_t>(nth); }

  /// The first whose name is @p name or comes after it.
  [[nodiscard]] iterator lower_bound(std::string_view name) noexcept { return nth(place(name)); }
  [[nodiscard]] const_iterator lower_bound(std::string_view name) const noexcept { return nth(place(name)); }
  [[nodiscard]] iterator find(std::string_view name) noexcept { return nth(place_of(name)); }
  [[nodiscard]] const_iterator find(std::string_view name) const noexcept { return nth(place_of(name)); }
  [[nodiscard]] bool contains(std::string_view name) const noexcept { return place_of(name) != size(); }
  [[nodiscard]] size_type count(std::string_view name) const noexcept { return contains(name) ? 1 : 0; }
  /// The value of an existing name; throws std::out_of_range if there is none.
  [[nodiscard]] T& at(std::string_view name) { return all_[known(name)].second; }
  [[nodiscard]] const T& at(std::string_view name) const { return all_[known(name)].second; }
  /// The value of a name, T{} if it is new.
  T& operator[](std::string name) { return try_emplace(std::move(name)).first->second; }

  // Returns where the name is now, and whether it was new.
  std::pair<iterator, bool> insert(value_type one) {
    const size_type at = place(one.first);
    if (at != size() && all_[at].first == one.first) return {nth(at), false};
    return {all_.insert(nth(at), std::move(one)), true};
  }
  template <class Iterator>
  void insert(Iterator first, Iterator last) {
    for (; first != last; ++first) insert(value_type(*first));
  }
  template <class... Args>
  std::pair<iterator, bool> emplace(Args&&... args) {
    return insert(value_type(std::forward<Args>(args)...));
  }
  /// The same; O(1) amortised at the end if @p before is the right place: pass end() when names come in ascending order.
  template <class... Args>
  iterator emplace_hint(const_iterator before, Args&&... args) {
    value_type one(std::forward<Args>(args)...);
    const bool fits =
        (before == cbegin() || (before - 1)->first < one.first) && (before == cend() || one.first < before->first);
    return fits ? all_.insert(before, std::move(one)) : insert(std::move(one)).first;
  }
  /// If the name exists, @p args are not used.
  template <class... Args>
  std::pair<iterator, bool> try_emplace(std::string name, Args&&... args) {
    const size_type at = place(name);
    if (at != size() && all_[at].first == name) return {nth(at), false};
    return {all_.insert(nth(at), value_type(std::move(name), T(std::forward<Args>(args)...))), true};
  }
  template <class Value>
  std::pair<iterator, bool> insert_or_assign(std::string name, Value&& value) {
    const size_type at = place(name);
    if (at != size() && all_[at].first == name)
      return all_[at].second = std::forward<Value>(value), std::pair{nth(at), false};
    return {all_.insert(nth(at), value_type(std::move(name), std::forward<Value>(value))), true};
  }
  // Returns the position after the erased entries, or how many were erased.
  iterator erase(const_iterator where) { return all_.erase(where); }
  iterator erase(const_iterator first, const_iterator last) { return all_.erase(first, last); }
  size_type erase(std::string_view name) {
    const size_type at = place_of(name);
    if (at == size()) return 0;
    all_.erase(nth(at));
    return 1;
  }

  friend bool operator==(const sorted_map& a, const sorted_map& b) { return a.all_ == b.all_; }
  friend auto operator<=>(const sorted_map& a, const sorted_map& b) { return a.all_ <=> b.all_; }

 private:
  [[nodiscard]] size_type place(std::string_view name) const noexcept {
    size_type low = 0, high = all_.size();
    while (low < high) {
      const size_type middle = (low + high) / 2;
      if (name.compare(all_[middle].first) > 0)
        low = middle + 1;
      else
        high = middle;
    }
    return low;
  }
  [[nodiscard]] size_type place_of(std::string_view name) const noexcept {
    const size_type at = place(name);
    return at != size() && all_[at].first == name ? at : size();
  }
  [[nodiscard]] size_type known(std::string_view name) const {
    const size_type at = place_of(name);
    if (at == size()) throw std::out_of_range{"sorted_map::at"};
    return at;
  }
  std::vector<value_type> all_;
};

}  // namespace gangsched::inline GANGSCHED_ABI
