#pragma once
#include <charconv>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "gangsched/core/result.hpp"

namespace gangsched::inline GANGSCHED_ABI::kube::detail {

/// Where objects begin, by file.
using object_lines = std::map<std::string, std::set<std::uint32_t>, std::less<>>;

/// Objects with mistakes, by file and by the line where they begin; and files that cannot be parsed.
class left_out_objects {
 public:
  [[nodiscard]] bool has(std::string_view file, std::uint32_t line) const {
    return !objects_.empty() && objects_.contains({std::string{file}, line});
  }
  [[nodiscard]] bool has_file(const std::string& file) const { return files_.contains(file); }
  /// The object that the error names a line of: the last of @p lines that is not behind it. False if there is none, or it was left out
  /// before.
  bool add(const error& wrong, const object_lines& lines) {
    for (const auto& [file, starts] : lines) {
      if (!wrong.object.starts_with(file + ":")) continue;
      std::uint32_t line = 0;
      const char* const digits = wrong.object.data() + file.size() + 1;
      if (std::from_chars(digits, wrong.object.data() + wrong.object.size(), line).ptr == digits) continue;
      const auto behind = starts.upper_bound(line);
      return behind == starts.begin() ? files_.insert(file).second : objects_.emplace(file, *std::prev(behind)).second;
    }
    return false;
  }

 private:
  std::set<std::pair<std::string, std::uint32_t>> objects_;
  std::set<std::string> files_;
};

}  // namespace gangsched::inline GANGSCHED_ABI::kube::detail
