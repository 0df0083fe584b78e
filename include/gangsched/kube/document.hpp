#pragma once
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "gangsched/core/config.hpp"
#include "gangsched/core/result.hpp"

/// JSON and YAML as one small tree: what the readers of this component read, whichever format it was written in.
namespace gangsched::inline GANGSCHED_ABI::kube {

enum class value_kind : std::uint8_t { null, boolean, number, text, list, object };

/// One value of a document. Numbers keep their digits: nothing is lost to a double.
struct value {
  value_kind kind = value_kind::null;
  std::uint32_t line = 0;              ///< where it begins, from 1
  std::string text = {};               ///< a text; a number as JSON spells it; "true" or "false"
  std::vector<std::string> keys = {};  ///< of an object, in the order of the file; no two are equal
  std::vector<value> items = {};       ///< of a list, or what `keys` lead to

  /// The field of that name, or null; null too if this is no object. O(fields).
  [[nodiscard]] GANGSCHED_API const value* find(std::string_view key) const noexcept;
};

/// A file as the host read it; `name` is what errors call it.
struct source {
  std::string name;
  std::string text;
};

/// A key that an object has more than once. As with an API server the last one counts.
struct repeated_key {
  std::uint32_t line = 0;  ///< of the object
  std::string key;
};

/// One document of a file.
struct document {
  std::string file;
  value root;
  std::vector<repeated_key> repeated = {};  ///< in the order in which their objects end
};

/// Bounds of what reading a file may cost, even a small one. Each limit is checked before the work that it bounds. A value takes about 150
/// bytes while it is read. JSON is read ten times as fast as YAML; 5 MB of YAML take about a second.
struct limits {
  std::size_t bytes =
      std::size_t{256} << 20;       ///< of one file, and of the text that anchors and aliases of one YAML file multiply
  std::size_t depth = 100;          ///< lists and objects inside each other
  std::size_t values = 20'000'000;  ///< in one file, with those that its documents are
  std::size_t copied = 1'000'000;   ///< values that anchors and aliases of one YAML file multiply
};

/// All documents of a JSON text: one value, or several after each other (JSON lines too).
/// Error: malformed (with the line), out_of_range (a limit). O(length).
[[nodiscard]] GANGSCHED_API result<std::vector<document>> parse_json(const source& from, const limits& most = {});

/// All documents of a YAML text: anchors, aliases and merge keys are followed. Plain words mean what they mean to
/// kubectl (YAML 1.1: `yes` is true, 010 is 8). Errors as above, and `unknown` for an alias of nothing. O(length + what
/// aliases copy).
[[nodiscard]] GANGSCHED_API result<std::vector<document>> parse_yaml(const source& from, const limits& most = {});

/// The one or the other: JSON if the name ends in .json or .jsonl, YAML if it ends in .yaml or .yml, else by the first
/// character.
[[nodiscard]] GANGSCHED_API result<std::vector<document>> parse(const source& from, const limits& most = {});

/// Reads a file. Error: unknown, if it cannot be read; out_of_range, if it has more bytes than @p most allows, of which no more are read.
[[nodiscard]] GANGSCHED_API result<source> load(const std::string& path, const limits& most = {});
/// The rest of a stream, which errors call @p name.
[[nodiscard]] GANGSCHED_API result<source> load(std::istream& from, std::string name, const limits& most = {});

}  // namespace gangsched::inline GANGSCHED_ABI::kube
