#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <charconv>
#include <limits>
#include <map>
#include <set>
#include <sstream>

#include "gangsched/src/kube/documents/tree_builder.hpp"

namespace gangsched::inline GANGSCHED_ABI::kube {
namespace detail {

struct yaml_limit {
  error why;
};

/// A plain number as JSON spells it, or nothing if the word is none. Integers in all of YAML 1.1's bases but sixty.
std::optional<std::string> plain_number(std::string_view word) {
  std::string digits;
  for (const char c : word)
    if (c != '_') digits += c;
  std::string_view rest = digits;
  std::string sign;
  if (!rest.empty() && (rest[0] == '-' || rest[0] == '+')) {
    if (rest[0] == '-') sign = "-";
    rest.remove_prefix(1);
  }
  if (rest.empty() || word.starts_with('_')) return std::nullopt;
  int base = 10;
  std::string_view body = rest;
  if (rest.size() > 1 && rest[0] == '0') {
    const char mark = rest[1];
    base = mark == 'x' || mark == 'X' ? 16 : mark == 'b' || mark == 'B' ? 2 : 8;
    body.remove_prefix(base != 8 || mark == 'o' || mark == 'O' ? 2 : 1);
  }
  if (base != 10) {
    std::uint64_t number = 0;
    const auto [end, wrong] = std::from_chars(body.data(), body.data() + body.size(), number, base);
    if (wrong == std::errc{} && end == body.data() + body.size() && !body.empty()) return sign + std::to_string(number);
  }
  // digits [. digits] [e sign digits], with a digit before the exponent
  const auto digits_at = [&](std::size_t from) {
    const std::size_t end = rest.find_first_not_of("0123456789", from);
    return (end == std::string_view::npos ? rest.size() : end) - from;
  };
  std::size_t at = digits_at(0), count = at;
  if (at < rest.size() && rest[at] == '.') {
    const std::size_t more = digits_at(at + 1);
    count += more;
    at += 1 + more;
  }
  if (count == 0) return std::nullopt;
  if (at < rest.size() && (rest[at] == 'e' || rest[at] == 'E')) {
    ++at;
    if (at < rest.size() && (rest[at] == '-' || rest[at] == '+')) ++at;
    const std::size_t more = digits_at(at);
    if (more == 0) return std::nullopt;
    at += more;
  }
  if (at != rest.size()) return std::nullopt;
  return sign + std::string{rest};
}

/// What a plain word means.
value plain_scalar(const std::string& word) {
  value made;
  made.text = word;
  for (const char* yes : {"y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"})
    if (word == yes) made.kind = value_kind::boolean, made.text = "true";
  for (const char* no : {"n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"})
    if (word == no) made.kind = value_kind::boolean, made.text = "false";
  if (made.kind == value_kind::boolean) return made;
  made.kind = value_kind::text;
  if (word.empty() || word == "~" || word == "null" || word == "Null" || word == "NULL") {
    made.kind = value_kind::null;
    made.text.clear();
  } else if (auto number = plain_number(word)) {
    made.kind = value_kind::number;
    made.text = std::move(*number);
  }
  return made;
}

/// The events of yaml-cpp's parser as our tree.
class yaml_events : public YAML::EventHandler {
 public:
  yaml_events(std::string_view file, const limits& most) : file_(file), most_(&most) {}

  void OnDocumentStart(const YAML::Mark& mark) override {
    // A comma after the end of a document starts another one, which yaml-cpp ends without having read anything; and so on for ever.
    if (begin_ == mark.pos) fail(errc::malformed, mark, "no document can begin like that");
    begin_ = mark.pos;
    anchors_.clear();
    root_ = {};
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override { leaf({}, mark, anchor); }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end()) fail(errc::unknown, mark, "an alias of something that contains it");
    const std::size_t depth = charge(found->second, mark, "aliases make too much of the file");
    if (stack_.size() + depth > most_->depth) fail(errc::out_of_range, mark, "is nested too deeply");
    attach(value{found->second}, mark);
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& text) override {
    value made;
    if (tag == "?" || tag.empty()) {
      made = plain_scalar(text);
    } else {
      made.kind = value_kind::text;
      made.text = text;
      constexpr std::string_view standard = "tag:yaml.org,2002:";
      if (std::string_view{tag}.starts_with(standard)) {
        const std::string_view type = std::string_view{tag}.substr(standard.size());
        if (type != "str") made = plain_scalar(text);
        const bool fits = type == "str" || (type == "int" && made.kind == value_kind::number) ||
                          (type == "float" && made.kind == value_kind::number) ||
                          (type == "bool" && made.kind == value_kind::boolean) ||
                          (type == "null" && made.kind == value_kind::null);
        if (!fits) fail(errc::malformed, mark, "\"" + text + "\" is no " + std::string{type});
      } else if (tag != "!") {
        fail(errc::malformed, mark, "the tag " + tag + " means nothing here");
      }
    }
    plain_ = tag == "?";
    leaf(std::move(made), mark, anchor);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(value_kind::list, mark, anchor);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(value_kind::object, mark, anchor);
  }
  void OnMapEnd() override {
    frame& top = stack_.back();
    keep_last_keys(top.made, repeated_);
    if (!top.merges.empty()) merge(top.made, std::move(top.merges));
    close();
  }

  [[nodiscard]] document take_document() {
    return {std::string{file_}, std::exchange(root_, value{}), std::exchange(repeated_, {})};
  }
  [[noreturn]] void fail(errc code, std::size_t line, std::string why) const {
    throw yaml_limit{syntax_error(code, file_, line, std::move(why))};
  }

 private:
  struct frame {
    value made;
    YAML::anchor_t anchor = 0;
    bool has_key = false;
    std::string key = {};
    bool merging = false;
    std::vector<value> merges = {};
  };

  [[noreturn]] void fail(errc code, const YAML::Mark& mark, std::string why) const {
    fail(code, static_cast<std::size_t>(mark.line + 1), std::move(why));
  }
  /// How deep a value is, with the values and the text in it added up.
  static std::size_t measure(const value& of, std::size_t& values, std::size_t& bytes) {
    ++values;
    bytes += of.text.size();
    for (const std::string& key : of.keys) bytes += key.size();
    std::size_t deepest = 0;
    for (const value& item : of.items) deepest = std::max(deepest, measure(item, values, bytes));
    return deepest + (of.kind >= value_kind::list ? 1 : 0);
  }
  /// Before a value is copied.
  std::size_t charge(const value& of, const YAML::Mark& mark, const char* too_much) {
    const std::size_t depth = measure(of, copied_, copied_bytes_);
    if (copied_ > most_->copied || copied_bytes_ > most_->bytes) fail(errc::out_of_range, mark, too_much);
    return depth;
  }
  /// What the object has itself wins over what is merged in, and earlier merges over later ones.
  static void merge(value& into, std::vector<value> merges) {
    std::set<std::string> known(into.keys.begin(), into.keys.end());
    for (value& from : merges) {
      for (std::size_t i = 0; i < from.keys.size(); ++i) {
        if (!known.insert(from.keys[i]).second) continue;
        into.keys.push_back(std::move(from.keys[i]));
        into.items.push_back(std::move(from.items[i]));
      }
    }
  }

  void count(const YAML::Mark& mark) {
    if (++count_ > most_->values) fail(errc::out_of_range, mark, "too many values");
  }
  void leaf(value made, const YAML::Mark& mark, YAML::anchor_t anchor) {
    count(mark);
    made.line = static_cast<std::uint32_t>(mark.line + 1);
    finish(std::move(made), anchor, mark);
  }
  void open(value_kind kind, const YAML::Mark& mark, YAML::anchor_t anchor) {
    count(mark);
    if (stack_.size() >= most_->depth) fail(errc::out_of_range, mark, "is nested too deeply");
    if (!stack_.empty() && stack_.back().made.kind == value_kind::object && !stack_.back().has_key)
      fail(errc::malformed, mark, "a key has to be a word");
    frame& made = stack_.emplace_back();
    made.made.kind = kind;
    made.made.line = static_cast<std::uint32_t>(mark.line + 1);
    made.anchor = anchor;
    mark_ = mark;
  }
  void close() {
    frame done = std::move(stack_.back());
    stack_.pop_back();
    finish(std::move(done.made), done.anchor, mark_);
  }
  void finish(value made, YAML::anchor_t anchor, const YAML::Mark& mark) {
    if (anchor != 0) {
      charge(made, mark, "anchors make too much of the file");
      anchors_[anchor] = made;
    }
    attach(std::move(made), mark);
  }
  void attach(value made, const YAML::Mark& mark) {
    if (stack_.empty()) {
      root_ = std::move(made);
      return;
    }
    frame& top = stack_.back();
    if (top.made.kind == value_kind::list) {
      top.made.items.push_back(std::move(made));
      return;
    }
    if (!top.has_key) {
      if (made.kind == value_kind::null || made.kind >= value_kind::list)
        fail(errc::malformed, mark, "a key has to be a word");
      top.merging = plain_ && made.text == "<<";
      top.key = std::move(made.text);
      top.has_key = true;
      return;
    }
    top.has_key = false;
    if (!top.merging) {
      top.made.keys.push_back(std::move(top.key));
      top.made.items.push_back(std::move(made));
      return;
    }
    const bool several = made.kind == value_kind::list;
    if (!several) {
      value list;
      list.items.push_back(std::move(made));
      made = std::move(list);
    }
    for (value& one : made.items) {
      if (one.kind != value_kind::object) fail(errc::malformed, mark, "<< takes an object or a list of objects");
      top.merges.push_back(std::move(one));
    }
  }

  std::string_view file_;
  const limits* most_;
  std::vector<frame> stack_;
  std::map<YAML::anchor_t, value> anchors_;
  value root_;
  std::vector<repeated_key> repeated_;
  YAML::Mark mark_;
  bool plain_ = false;  ///< the last scalar was written without quotes
  std::size_t count_ = 0;
  std::size_t copied_ = 0;
  std::size_t copied_bytes_ = 0;
  int begin_ = -1;  ///< where the document begins
};

}  // namespace detail

result<std::vector<document>> parse_yaml(const source& from, const limits& most) {
  // yaml-cpp counts characters in an int.
  const std::size_t longest = std::min<std::size_t>(most.bytes, std::numeric_limits<int>::max());
  if (from.text.size() > longest) return detail::too_long(from.name, longest);
  std::vector<document> made;
  try {
    std::istringstream in(from.text);
    YAML::Parser parser(in);
    detail::yaml_events events{from.name, most};
    while (parser.HandleNextDocument(events)) made.push_back(events.take_document());
  } catch (const detail::yaml_limit& limit) {
    return limit.why;
  } catch (const YAML::Exception& wrong) {
    return detail::syntax_error(errc::malformed, from.name, static_cast<std::size_t>(wrong.mark.line + 1), wrong.msg);
  }
  return made;
}

}  // namespace gangsched::inline GANGSCHED_ABI::kube
