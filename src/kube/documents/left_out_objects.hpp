#pragma once
#include <charconv>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
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

/// An object of a file: its number there, from 0, and what messages call it.
struct numbered_object {
  std::uint32_t number = 0;
  std::string name = {};
};

/// The objects of a file, by the line where they begin. Several begin on one line where a machine has written them.
struct file_objects {
  std::uint32_t count = 0;
  std::map<std::uint32_t, std::vector<numbered_object>> by_line = {};  ///< only if mistakes are collected
};
using objects_of_files = std::map<std::string, file_objects, std::less<>>;

/// Which of several objects a message means that calls its object @p name: the last one that is called so, which is the one that counts, or
/// else the one that has made it, whose name its own begins with. Nothing if it could be two.
[[nodiscard]] inline std::optional<std::uint32_t> object_called(std::string_view name,
                                                                std::span<const numbered_object> among) {
  if (among.size() == 1) return among.front().number;
  std::optional<std::uint32_t> found;
  for (const numbered_object& one : among)
    if (one.name == name) found = one.number;
  if (found) return found;
  const auto without_kind = [](std::string_view all) {
    const std::size_t space = all.find(' ');
    return space == std::string_view::npos ? std::string_view{} : all.substr(space + 1);
  };
  const std::string_view wanted = without_kind(name);
  std::size_t longest = 0;
  for (const numbered_object& one : among) {
    const std::string_view maker = without_kind(one.name);
    if (maker.empty() || maker.size() < longest || !wanted.starts_with(maker)) continue;
    if (wanted.size() > maker.size() && wanted[maker.size()] != '-') continue;
    found = maker.size() == longest ? std::nullopt : std::optional{one.number};
    longest = maker.size();
  }
  return found;
}

/// Objects with mistakes, by file and by their number there; and files that cannot be parsed.
class left_out_objects {
 public:
  [[nodiscard]] bool has(std::string_view file, std::uint32_t object) const {
    return !objects_.empty() && objects_.contains({std::string{file}, object});
  }
  [[nodiscard]] bool has_file(const std::string& file) const { return files_.contains(file); }
  /// False if it was left out before.
  bool add(std::string_view file, std::uint32_t object) { return objects_.emplace(file, object).second; }
  bool add_file(const std::string& file) { return files_.insert(file).second; }
  /// The object that the error names a line of: of the last line of objects that is not behind it. False if that could be several, if there
  /// is none, or if it was left out before.
  bool add(const error& wrong, const objects_of_files& all) {
    for (const auto& [file, objects] : all) {
      if (!wrong.object.starts_with(file + ":")) continue;
      std::uint32_t line = 0;
      const char* const digits = wrong.object.data() + file.size() + 1;
      const char* const end = wrong.object.data() + wrong.object.size();
      const char* const behind_line = std::from_chars(digits, end, line).ptr;
      if (behind_line == digits) continue;
      const auto behind = objects.by_line.upper_bound(line);
      if (behind == objects.by_line.begin()) return add_file(file);
      std::string_view name{behind_line, end};
      if (name.starts_with(": ")) name.remove_prefix(2);
      const auto meant = object_called(name, std::prev(behind)->second);
      return meant && add(file, *meant);
    }
    return false;
  }

 private:
  std::set<std::pair<std::string, std::uint32_t>> objects_;
  std::set<std::string> files_;
};

}  // namespace gangsched::inline GANGSCHED_ABI::kube::detail
