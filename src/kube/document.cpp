#include "gangsched/kube/document.hpp"

#include <fstream>
#include <sstream>
#include <utility>

namespace gangsched::kube {

const value* value::find(std::string_view key) const noexcept {
  for (std::size_t i = 0; i < keys.size(); ++i)
    if (keys[i] == key) return &items[i];
  return nullptr;
}

result<std::vector<document>> parse(const source& from, const limits& most) {
  const std::string_view name = from.name;
  if (name.ends_with(".json") || name.ends_with(".jsonl")) return parse_json(from, most);
  if (name.ends_with(".yaml") || name.ends_with(".yml")) return parse_yaml(from, most);
  const std::size_t first = from.text.find_first_not_of(" \t\r\n");
  const bool json = first != std::string::npos && (from.text[first] == '{' || from.text[first] == '[');
  return json ? parse_json(from, most) : parse_yaml(from, most);
}

result<source> load(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return error{errc::unknown, path, "file", "cannot be opened"};
  // Not by iterators: they throw where reading fails, of a directory for one.
  std::ostringstream all;
  source made{path, {}};
  if (in.peek() != std::ifstream::traits_type::eof()) all << in.rdbuf(), made.text = std::move(all).str();
  if (in.bad() || !all) return error{errc::unknown, path, "file", "cannot be read"};
  return made;
}

}  // namespace gangsched::kube
