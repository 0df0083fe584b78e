#include <cstddef>
#include <iterator>
#include <nlohmann/json.hpp>

#include "gangsched/src/kube/documents/tree_builder.hpp"

namespace gangsched::inline GANGSCHED_ABI::kube {
namespace detail {

/// Where the parser is in the text. Shared by the copies of the iterator, so that line numbers are known while it
/// reads.
struct text_position {
  std::string_view text;
  std::size_t next = 0;
  std::size_t newlines = 0;  ///< before `next`
  /// The line of the last character read: the parser reads one too many after a number.
  [[nodiscard]] std::uint32_t line() const noexcept {
    const bool just_ended = next > 0 && next <= text.size() && text[next - 1] == '\n';
    return static_cast<std::uint32_t>(newlines + 1 - (just_ended ? 1 : 0));
  }
};

class text_iterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = char;

  text_iterator() = default;
  explicit text_iterator(text_position& at) : at_(&at) {}
  char operator*() const { return at_->text[at_->next]; }
  text_iterator& operator++() {
    if (at_->text[at_->next++] == '\n') ++at_->newlines;
    return *this;
  }
  text_iterator operator++(int) {
    text_iterator before = *this;
    ++*this;
    return before;
  }
  /// Only a comparison with the end makes sense.
  friend bool operator==(const text_iterator& a, const text_iterator& b) { return a.ended() == b.ended(); }
  friend bool operator!=(const text_iterator& a, const text_iterator& b) { return !(a == b); }

 private:
  [[nodiscard]] bool ended() const { return at_ == nullptr || at_->next >= at_->text.size(); }
  text_position* at_ = nullptr;
};

/// The events of nlohmann's parser, which makes no tree and calls nothing recursively, as our tree.
class json_events {
 public:
  json_events(const text_position& at, std::string_view file, const limits& most)
      : at_(&at), file_(file), most_(&most) {}

  bool null() { return add({}); }
  bool boolean(bool is) { return scalar(value_kind::boolean, is ? "true" : "false"); }
  bool number_integer(std::int64_t number) { return scalar(value_kind::number, std::to_string(number)); }
  bool number_unsigned(std::uint64_t number) { return scalar(value_kind::number, std::to_string(number)); }
  bool number_float(double, const std::string& digits) { return scalar(value_kind::number, digits); }
  bool string(std::string& text) { return scalar(value_kind::text, std::move(text)); }
  bool binary(nlohmann::json::binary_t&) { return false; }
  bool start_object(std::size_t) { return open(value_kind::object); }
  bool key(std::string& name) {
    stack_.back().keys.push_back(std::move(name));
    return true;
  }
  bool end_object() {
    keep_last_keys(stack_.back(), repeated_);
    return close();
  }
  bool start_array(std::size_t) { return open(value_kind::list); }
  bool end_array() { return close(); }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception& why) {
    std::string_view text = why.what();
    // "[json.exception.parse_error.101] parse error at line 1, column 5: syntax error while …": the position is ours.
    if (const std::size_t at = text.find("column "); at != std::string_view::npos) {
      if (const std::size_t end = text.find(": ", at); end != std::string_view::npos) text.remove_prefix(end + 2);
    } else if (const std::size_t end = text.find("] "); end != std::string_view::npos) {
      text.remove_prefix(end + 2);
    }
    return fail(errc::malformed, at_->line(), std::string{text});
  }

  [[nodiscard]] document take_document() {
    return {std::string{file_}, std::exchange(root_, value{}), std::exchange(repeated_, {})};
  }
  [[nodiscard]] error failure() && { return std::move(*failure_); }
  [[nodiscard]] bool failed() const noexcept { return failure_.has_value(); }

 private:
  bool fail(errc code, std::size_t line, std::string why) {
    failure_ = syntax_error(code, file_, line, std::move(why));
    return false;
  }
  bool scalar(value_kind kind, std::string text) {
    value made;
    made.kind = kind;
    made.text = std::move(text);
    return add(std::move(made));
  }
  bool add(value made) {
    made.line = at_->line();
    if (++count_ > most_->values) return fail(errc::out_of_range, made.line, "too many values");
    return attach(std::move(made));
  }
  bool attach(value made) {
    (stack_.empty() ? root_ : stack_.back().items.emplace_back()) = std::move(made);
    return true;
  }
  bool open(value_kind kind) {
    if (stack_.size() >= most_->depth) return fail(errc::out_of_range, at_->line(), "is nested too deeply");
    if (++count_ > most_->values) return fail(errc::out_of_range, at_->line(), "too many values");
    value& made = stack_.emplace_back();
    made.kind = kind;
    made.line = at_->line();
    return true;
  }
  bool close() {
    value made = std::move(stack_.back());
    stack_.pop_back();
    return attach(std::move(made));
  }

  const text_position* at_;
  std::string_view file_;
  const limits* most_;
  std::vector<value> stack_;
  value root_;
  std::vector<repeated_key> repeated_;
  std::size_t count_ = 0;
  std::optional<error> failure_;
};

}  // namespace detail

result<std::vector<document>> parse_json(const source& from, const limits& most) {
  if (from.text.size() > most.bytes) return detail::too_long(from.name, most.bytes);
  detail::text_position at{from.text};
  if (at.text.starts_with("\xef\xbb\xbf")) at.text.remove_prefix(3);
  std::vector<document> made;
  detail::json_events events{at, from.name, most};
  for (;;) {
    detail::text_iterator here{at};
    while (here != detail::text_iterator{} && std::string_view{" \t\r\n"}.find(*here) != std::string_view::npos) ++here;
    if (here == detail::text_iterator{}) return made;
    const bool fine =
        nlohmann::json::sax_parse(here, detail::text_iterator{}, &events, nlohmann::json::input_format_t::json, false);
    if (!fine) return std::move(events).failure();
    made.push_back(events.take_document());
  }
}

}  // namespace gangsched::inline GANGSCHED_ABI::kube
