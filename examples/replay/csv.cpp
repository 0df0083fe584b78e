#include "replay/csv.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <utility>

namespace replay {
namespace {

std::string read_whole(const std::string& path) {
  if (std::filesystem::is_directory(path)) throw bad_input{path + ": is a directory"};
  errno = 0;
  std::ifstream in{path, std::ios::binary};
  if (!in) throw bad_input{path + ": " + (errno != 0 ? std::strerror(errno) : "cannot be read")};
  std::string all;
  for (constexpr std::size_t piece = std::size_t{1} << 20; in;) {  // not everything says how long it is
    const std::size_t before = all.size();
    all.resize(before + piece);
    in.read(all.data() + before, static_cast<std::streamsize>(piece));
    all.resize(before + static_cast<std::size_t>(in.gcount()));
    if (all.size() > most_csv_bytes) throw bad_input{fmt::format("{}: has more than {} bytes", path, most_csv_bytes)};
  }
  return all;
}

}  // namespace

csv_file::csv_file(std::string path) : path_(std::move(path)), content_(read_whole(path_)) {
  constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
  if (content_.starts_with(byte_order_mark)) next_line_ = byte_order_mark.size();
  if (!read_line() || line_.empty()) {
    line_number_ = 1;
    fail_at(0, "the file is empty; a header with the names of the columns should be here");
  }
  split();
  if (field_count_ > most_csv_columns)
    fail_at(fields_[most_csv_columns].position, fmt::format("more than {} columns", most_csv_columns));
  for (std::size_t i = 0; i < field_count_; ++i) {
    if (std::ranges::find(names_, fields_[i].text) != names_.end()) {
      fail_at(fields_[i].position, fmt::format("column \"{}\" is there twice", fields_[i].text));
    }
    names_.push_back(fields_[i].text);
  }
}

std::optional<csv_file::column> csv_file::find_if_there(std::string_view name) const {
  const auto found = std::ranges::find(names_, name);
  if (found == names_.end()) return std::nullopt;
  return column{static_cast<std::size_t>(found - names_.begin())};
}

csv_file::column csv_file::find(std::string_view name) const {
  if (const auto found = find_if_there(name)) return *found;
  fail_at(line_.size(), fmt::format("column \"{}\" is missing; there are: {}", name, fmt::join(names_, ", ")));
}

bool csv_file::next() {
  if (line_number_ > most_csv_lines) fail_at(0, fmt::format("more than {} lines", most_csv_lines));
  do {
    if (!read_line()) {
      if (line_number_ == 1) fail_at(line_.size(), "nothing comes after the header");
      return false;
    }
  } while (line_.empty() && next_line_ == content_.size());  // an empty last line
  split();
  if (field_count_ < names_.size()) {
    fail_at(line_.size(), fmt::format("the line ends after {} of {} fields; {} is missing", field_count_, names_.size(),
                                      names_[field_count_]));
  }
  if (field_count_ > names_.size()) {
    fail_at(fields_[names_.size()].position,
            fmt::format("one field too many: the header has {} columns", names_.size()));
  }
  return true;
}

std::int64_t csv_file::number(column at, std::int64_t least, std::int64_t most) const {
  const std::string& digits = text(at);
  std::int64_t value = 0;
  const auto [end, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  const bool complete = end == digits.data() + digits.size() && !digits.empty();
  if (complete && failure == std::errc::result_out_of_range) fail(at, fmt::format("{} is too large", digits));
  if (!complete || failure != std::errc{}) {
    fail(at, digits.empty() ? "is empty; a whole number should be here"
                            : fmt::format("\"{}\" is not a whole number", digits));
  }
  if (value < 0 && least >= 0) fail(at, fmt::format("{} is negative", value));
  if (value < least) fail(at, fmt::format("{} is less than {}", value, least));
  if (value > most) fail(at, fmt::format("{} is more than {}", value, most));
  return value;
}

const std::string& csv_file::unique(column at) {
  const auto [entry, is_new] = seen_.emplace(text(at), line_number_);
  if (!is_new) fail(at, fmt::format("\"{}\" is in line {} already", text(at), entry->second));
  return text(at);
}

void csv_file::fail(column at, std::string_view reason) const {
  fail_at(fields_[at.index].position, fmt::format("{}: {}", names_[at.index], reason));
}

std::string csv_file::place_of(column at) const { return place_at(fields_[at.index].position); }

std::string csv_file::place_at(std::size_t position) const {
  return fmt::format("{}:{}:{}", path_, line_number_, position + 1);
}

void csv_file::fail_at(std::size_t position, std::string_view reason) const {
  throw bad_input{fmt::format("{}: {}", place_at(position), reason)};
}

bool csv_file::read_line() {
  if (next_line_ >= content_.size()) return false;
  const std::size_t end = std::min(content_.find('\n', next_line_), content_.size());
  line_ = std::string_view{content_}.substr(next_line_, end - next_line_);
  if (line_.ends_with('\r')) line_.remove_suffix(1);
  next_line_ = std::min(end + 1, content_.size());
  ++line_number_;
  return true;
}

void csv_file::split() {
  field_count_ = 0;
  std::size_t at = 0;
  while (true) {
    if (field_count_ == fields_.size()) fields_.emplace_back();
    field& into = fields_[field_count_++];
    into.position = at;
    if (at < line_.size() && line_[at] == '"') {
      into.text.clear();
      const std::size_t opening = at++;
      while (true) {
        if (at == line_.size()) fail_at(opening, "the quote is not closed in this line");
        if (line_[at] == '"') {
          if (at + 1 == line_.size() || line_[at + 1] != '"') break;
          ++at;
        }
        into.text += line_[at++];
      }
      ++at;
      if (at < line_.size() && line_[at] != ',') fail_at(at, "text after the closing quote");
    } else {
      const std::size_t end = std::min(line_.find(',', at), line_.size());
      into.text.assign(line_.substr(at, end - at));
      at = end;
    }
    if (at >= line_.size()) return;
    ++at;  // the comma
  }
}

}  // namespace replay
