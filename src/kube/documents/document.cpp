#include "gangsched/kube/document.hpp"

#include <algorithm>
#include <fstream>
#include <utility>

#include "gangsched/src/kube/documents/tree_builder.hpp"

namespace gangsched::inline GANGSCHED_ABI::kube {

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

result<source> load(const std::string& path, const limits& most) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return error{errc::unknown, path, "file", "cannot be opened"};
  return load(in, path, most);
}

result<source> load(std::istream& from, std::string name, const limits& most) {
  source made{std::move(name), {}};
  // Piece by piece, because not everything says how long it is; and not by iterators, which throw where reading fails, of a directory for
  // one.
  constexpr std::size_t piece = std::size_t{1} << 20;
  while (from) {
    const std::size_t before = made.text.size();
    if (before > most.bytes) return detail::too_long(made.name, most.bytes);
    made.text.resize(before + std::min(piece, most.bytes - before + 1));
    from.read(made.text.data() + before, static_cast<std::streamsize>(made.text.size() - before));
    made.text.resize(before + static_cast<std::size_t>(from.gcount()));
  }
  if (from.bad() || !from.eof()) return error{errc::unknown, made.name, "file", "cannot be read"};
  if (made.text.size() > most.bytes) return detail::too_long(made.name, most.bytes);
  return made;
}

}  // namespace gangsched::inline GANGSCHED_ABI::kube
