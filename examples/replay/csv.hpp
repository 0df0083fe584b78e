#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace replay {

/// A file that cannot be used; what() is "file:line:column: reason".
struct bad_input : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// What a table may be: checked before more of it is read.
inline constexpr std::size_t most_csv_bytes = std::size_t{1} << 30;
inline constexpr std::size_t most_csv_lines = 5'000'000;
inline constexpr std::size_t most_csv_columns = 1000;

/// Reads a table of comma-separated values line by line: a header with the columns' names, then as many fields in each line.
/// A field may be in double quotes (a quote inside is written twice), but must end in its line. Everything that is wrong throws
/// `bad_input`, with the place where an editor shows it: line and column count from 1.
class csv_file {
 public:
  /// Names a column in the calls below.
  struct column {
    std::size_t index;
  };

  explicit csv_file(std::string path);

  [[nodiscard]] column find(std::string_view name) const;
  [[nodiscard]] std::optional<column> find_if_there(std::string_view name) const;

  /// Goes to the next line; false after the last one.
  [[nodiscard]] bool next();

  [[nodiscard]] const std::string& text(column at) const { return fields_[at.index].text; }
  /// A whole number from @p least to @p most.
  [[nodiscard]] std::int64_t number(column at, std::int64_t least, std::int64_t most) const;
  /// A text that no other line has in this column.
  [[nodiscard]] const std::string& unique(column at);

  /// "file:line:column" of a field of the current line.
  [[nodiscard]] std::string place_of(column at) const;
  /// The current line cannot be used, because of the field @p at.
  [[noreturn]] void fail(column at, std::string_view reason) const;

 private:
  struct field {
    std::string text;
    std::size_t position = 0;  // in the line
  };

  [[nodiscard]] bool read_line();
  void split();
  [[nodiscard]] std::string place_at(std::size_t position) const;
  [[noreturn]] void fail_at(std::size_t position, std::string_view reason) const;

  std::string path_;
  std::string content_;
  std::size_t next_line_ = 0;  // where it begins in content_
  std::string_view line_;
  std::size_t line_number_ = 0;
  std::vector<std::string> names_;
  std::vector<field> fields_;
  std::size_t field_count_ = 0;
  std::unordered_map<std::string, std::size_t> seen_;  // line by text, of the unique column
};

}  // namespace replay
