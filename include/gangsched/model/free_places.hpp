#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "gangsched/core/config.hpp"

/// Tables of numbered objects whose numbers are reused.
namespace gangsched::inline GANGSCHED_ABI::detail {

/// Puts @p object into an unused place, those of @p free first; returns its number.
template <class T>
std::uint32_t put_in_free_place(std::vector<std::unique_ptr<T>>& all, std::vector<std::uint32_t>& free,
                                std::unique_ptr<T> object) {
  if (free.empty()) {
    all.push_back(std::move(object));
    return static_cast<std::uint32_t>(all.size() - 1);
  }
  const std::uint32_t place = free.back();
  free.pop_back();
  all[place] = std::move(object);
  return place;
}

/// Frees the places from @p first on that are not in @p used; visit(object) is called for those that stay. Returns how many were freed.
template <class T, class Visit>
std::size_t free_unused(std::vector<std::unique_ptr<T>>& all, std::vector<std::uint32_t>& free, std::size_t first,
                        const std::vector<bool>& used, const Visit& visit) {
  free.reserve(all.size());
  std::size_t gone = 0;
  for (std::size_t place = all.size(); place-- > first;) {  // low places are reused first
    if (all[place] == nullptr) continue;
    if (used[place]) {
      visit(*all[place]);
      continue;
    }
    all[place].reset();
    free.push_back(static_cast<std::uint32_t>(place));
    ++gone;
  }
  return gone;
}

/// The objects of @p from in the same places, each made by make(object) and then assigned from it.
template <class T, class Make>
[[nodiscard]] std::vector<std::unique_ptr<T>> copies_of(const std::vector<std::unique_ptr<T>>& from, const Make& make) {
  std::vector<std::unique_ptr<T>> made(from.size());
  for (std::size_t place = 0; place < from.size(); ++place) {
    if (from[place] == nullptr) continue;
    made[place] = make(*from[place]);
    *made[place] = *from[place];
  }
  return made;
}

}  // namespace gangsched::inline GANGSCHED_ABI::detail
