#pragma once
#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace gangsched::soak {

/// What is left of @p all when nothing more can be left out without @p fails becoming false: runs of half of it, of a quarter and so on are
/// tried first, in the end each one. @pre fails(all)
template <class T, class Fails>
std::vector<T> shrink(std::vector<T> all, Fails&& fails) {
  for (std::size_t run = std::max<std::size_t>(1, all.size() / 2);;) {
    bool less = false;
    for (std::size_t end = all.size(); end > 0;) {  // from behind: what comes late is needed least
      const std::size_t begin = end - std::min(run, end);
      std::vector<T> rest(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(begin));
      rest.insert(rest.end(), all.begin() + static_cast<std::ptrdiff_t>(end), all.end());
      if (fails(rest)) {
        all = std::move(rest);
        less = true;
      }
      end = std::min(begin, all.size());
    }
    if (run > 1)
      run /= 2;
    else if (!less)
      return all;
  }
}

}  // namespace gangsched::soak
