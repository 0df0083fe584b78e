#pragma once
#include <charconv>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gangsched/core/result.hpp"
#include "gangsched/kube/document.hpp"

namespace gangsched::inline GANGSCHED_ABI::kube::detail {

/// Errors tell files apart by name: of those that are called the same the second is called "(2) NAME". Nothing if no two are.
[[nodiscard]] inline std::vector<source> told_apart(std::span<const source> files) {
  std::set<std::string> names;
  for (const source& one : files) names.insert(one.name);
  if (names.size() == files.size()) return {};
  std::set<std::string_view> seen;
  std::vector<source> made{files.begin(), files.end()};
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (seen.insert(files[i].name).second) continue;
    for (int number = 2; !names.insert(made[i].name).second; ++number)
      made[i].name = "(" + std::to_string(number) + ") " + files[i].name;
  }
  return made;
}

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
