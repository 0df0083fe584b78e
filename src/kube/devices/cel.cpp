#include <fmt/format.h>

#include <charconv>
#include <optional>

#include "gangsched/kube/device_selectors.hpp"
#include "gangsched/src/kube/devices/devices.hpp"

// The part of CEL that selectors of devices are mostly written in: comparisons of the driver, of attributes and of capacities with
// literals, joined by && (and by || where that is "in"). Whatever else there is, is said.
namespace gangsched::inline GANGSCHED_ABI::kube::detail {

namespace {

class cel_parser {
 public:
  cel_parser(std::string_view text, cel_terms& out) : text_(text), out_(&out) {}

  std::optional<std::string> run() {
    if (all_of() && (skip(), at_ == text_.size())) return std::nullopt;
    if (!reason_.empty()) return reason_;
    const std::string_view rest = text_.substr(at_, 48);
    return rest.empty() ? std::string{"ends too early"}
                        : fmt::format("\"{}{}\" is not understood", rest, at_ + 48 < text_.size() ? "…" : "");
  }

 private:
  enum class kind : std::uint8_t { driver, attribute, capacity };
  struct term {
    kind of = kind::attribute;
    attribute_selector made;
  };
  using op = attribute_operator;

  bool fail(std::size_t from, std::string_view why) {
    at_ = from;
    reason_ = fmt::format("\"{}\": {}", text_.substr(from, 48), why);
    return false;
  }

  // --- words

  void skip() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r'))
      ++at_;
  }
  bool eat(std::string_view word) {
    skip();
    if (!text_.substr(at_).starts_with(word)) return false;
    const bool letters = is_letter(word.back());
    if (letters && at_ + word.size() < text_.size() && is_letter(text_[at_ + word.size()])) return false;
    at_ += word.size();
    return true;
  }
  static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  }
  bool name(std::string& out) {
    skip();
    const std::size_t from = at_;
    while (at_ < text_.size() && is_letter(text_[at_])) ++at_;
    out = text_.substr(from, at_ - from);
    return at_ != from;
  }
  bool quoted(std::string& out) {
    skip();
    if (at_ == text_.size() || (text_[at_] != '"' && text_[at_] != '\'')) return false;
    const std::size_t end = text_.find(text_[at_], at_ + 1);
    if (end == std::string_view::npos || text_.substr(at_, end - at_).find('\\') != std::string_view::npos)
      return false;
    out = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return true;
  }
  bool literal(device_attribute& out) {
    skip();
    std::string text;
    if (quoted(text)) return out = std::move(text), true;
    if (eat("true")) return out = true, true;
    if (eat("false")) return out = false, true;
    std::int64_t number = 0;
    const auto [end, wrong] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), number);
    if (wrong != std::errc{} || (end != text_.data() + text_.size() && (*end == '.' || is_letter(*end)))) return false;
    at_ = static_cast<std::size_t>(end - text_.data());
    return out = number, true;
  }
  std::optional<op> relation() {
    if (eat("==")) return op::equal;
    if (eat("!=")) return op::not_equal;
    if (eat("<=")) return op::less_equal;
    if (eat(">=")) return op::greater_equal;
    if (eat("<")) return op::less;
    if (eat(">")) return op::greater;
    return std::nullopt;
  }
  /// As if the sides were exchanged.
  static op mirrored(op of) {
    switch (of) {
      case op::less: return op::greater;
      case op::less_equal: return op::greater_equal;
      case op::greater: return op::less;
      case op::greater_equal: return op::less_equal;
      default: return of;
    }
  }

  // --- terms

  bool all_of() {
    skip();
    const std::size_t from = at_;
    int terms = 0;
    bool any = false;
    do {
      if (++depth_ > 64) return fail(at_, "is too deep");
      either_ = false;
      if (!any_of()) return false;
      any = any || either_;
      ++terms;
      --depth_;
    } while (eat("&&"));
    either_ = false;
    return terms == 1 || !any || fail(from, "|| beside && is not understood");  // && binds tighter
  }

  /// Alternatives are fine where they all ask one attribute to be equal to something.
  bool any_of() {
    skip();
    const std::size_t from = at_;
    if (eat("(")) {
      if (!all_of() || !eat(")")) return false;
      return !eat("||") || fail(from, "|| of this is not understood");
    }
    term first;
    if (!one(first)) return false;
    while (eat("||")) {
      either_ = true;
      term next;
      if (!one(next)) return false;
      const auto equal = [](const term& t) {
        return t.of == kind::attribute && (t.made.op == op::equal || t.made.op == op::in);
      };
      if (!equal(first) || !equal(next) || first.made.attribute != next.made.attribute)
        return fail(from, "|| of this is not understood");
      first.made.op = op::in;
      first.made.values.insert(first.made.values.end(), next.made.values.begin(), next.made.values.end());
    }
    return keep(from, std::move(first));
  }

  bool keep(std::size_t from, term&& made) {
    if (made.of == kind::attribute && made.made.attribute == shared_attribute && !asks_shared(made.made))
      return fail(from, "is not understood");
    if (made.of != kind::driver) return out_->selectors.push_back(std::move(made.made)), true;
    if (made.made.op != op::equal || !std::holds_alternative<std::string>(made.made.values.front()))
      return fail(from, "a driver can only be equal to a text");
    const std::string& driver = std::get<std::string>(made.made.values.front());
    if (!out_->driver.empty() && out_->driver != driver) return fail(from, "there is another driver already");
    out_->driver = driver;
    return true;
  }

  /// Devices that only one claim may have lack the attribute.
  static bool asks_shared(attribute_selector& made) {
    if ((made.op != op::equal && made.op != op::not_equal) || !std::holds_alternative<bool>(made.values.front()))
      return made.op == op::exists;
    made.op = std::get<bool>(made.values.front()) == (made.op == op::equal) ? op::exists : op::absent;
    made.values.clear();
    return true;
  }

  bool one(term& out) {
    skip();
    const std::size_t from = at_;
    if (eat("!")) {  // of a boolean attribute
      if (!access(out) || out.of != kind::attribute) return fail(from, "! of this is not understood");
      out.made.op = op::equal;
      out.made.values = {false};
      return true;
    }
    if (eat("has")) {
      if (!eat("(") || !access(out) || !eat(")") || out.of != kind::attribute)
        return fail(from, "has() of this is not understood");
      out.made.op = op::exists;
      return true;
    }
    device_attribute left;
    if (literal(left)) {
      const auto how = relation();
      if (!how || !access(out) || out.of == kind::capacity) return false;
      out.made.op = mirrored(*how);
      out.made.values = {std::move(left)};
      return true;
    }
    if (!access(out)) return false;
    if (out.of == kind::capacity) return compared_capacity(out);
    if (eat("in")) {
      out.made.op = op::in;
      if (!eat("[")) return false;
      do {
        if (!literal(out.made.values.emplace_back())) return false;
      } while (eat(","));
      return eat("]");
    }
    if (const auto how = relation()) {
      out.made.op = *how;
      return literal(out.made.values.emplace_back());
    }
    skip();
    if (at_ < text_.size() && (text_[at_] == '.' || text_[at_] == '[')) return false;  // some function
    out.made.op = op::equal;                                                           // a boolean alone
    out.made.values = {true};
    return out.of == kind::attribute;
  }

  /// device.driver, device.allowMultipleAllocations, device.attributes["domain"].name, device.capacity["domain"].name
  bool access(term& out) {
    skip();
    const std::size_t from = at_;
    if (!eat("device") || !eat(".")) return at_ = from, false;
    if (eat("driver")) return out.of = kind::driver, true;
    if (eat("allowMultipleAllocations")) {
      out.of = kind::attribute;
      out.made.attribute = shared_attribute;
      return true;
    }
    const bool capacity = !eat("attributes");
    if (capacity && !eat("capacity")) return at_ = from, false;
    std::string domain, word;
    if (!eat("[") || !quoted(domain) || !eat("]")) return at_ = from, false;
    const bool fine = eat(".") ? name(word) : eat("[") && quoted(word) && eat("]");
    if (!fine) return at_ = from, false;
    const std::string full = domain + "/" + word;
    out.of = capacity ? kind::capacity : kind::attribute;
    out.made.attribute = capacity ? capacity_attribute(full) : full;
    return true;
  }

  /// .compareTo(quantity("40Gi")) >= 0, .isGreaterThan(quantity("40Gi")), .isLessThan(quantity("40Gi"))
  bool compared_capacity(term& out) {
    skip();
    const std::size_t from = at_;
    std::string function, text;
    if (!eat(".") || !name(function) || !eat("(") || !eat("quantity") || !eat("(") || !quoted(text) || !eat(")") ||
        !eat(")"))
      return at_ = from, false;
    const auto amount = quantity::parse(text);
    std::int64_t units = 0;
    if (!amount || !amount->value(units)) return fail(from, "that is no quantity");
    out.made.values = {units};
    if (function == "isGreaterThan") return out.made.op = op::greater, true;
    if (function == "isLessThan") return out.made.op = op::less, true;
    if (function != "compareTo") return at_ = from, false;
    const auto how = relation();
    device_attribute zero;
    if (!how || !literal(zero) || zero != device_attribute{std::int64_t{0}}) return at_ = from, false;
    out.made.op = *how;
    return true;
  }

  std::string_view text_;
  cel_terms* out_;
  std::size_t at_ = 0;
  std::size_t depth_ = 0;
  bool either_ = false;  ///< the last any_of() had alternatives
  std::string reason_;
};

/// What && joins in it, outside of parentheses; all of it if something that binds less tightly is there too.
std::vector<std::string_view> conjuncts(std::string_view text) {
  std::vector<std::string_view> all;
  std::size_t from = 0;
  int depth = 0;
  char quote = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote != 0) {
      if (c == '\\') ++i;
      if (c == quote) quote = 0;
    } else if (text.substr(i).starts_with("//")) {
      return {text};  // a comment, which ends with its line
    } else if (c == '"' || c == '\'') {
      const bool raw = i != 0 && (text[i - 1] == 'r' || text[i - 1] == 'R');
      if (raw || (text.substr(i, 3) == std::string(3, c))) return {text};  // they end otherwise
      quote = c;
    } else if (c == '(' || c == '[' || c == '{') {
      ++depth;
    } else if (c == ')' || c == ']' || c == '}') {
      --depth;
    } else if (depth == 0 && (c == '?' || text.substr(i).starts_with("||"))) {
      return {text};
    } else if (depth == 0 && text.substr(i).starts_with("&&")) {
      all.push_back(text.substr(from, i - from));
      from = i++ + 2;
    }
  }
  all.push_back(text.substr(from));
  return all;
}

/// What is understood becomes terms of @p out, the rest, together, an expression of the host.
void split_cel(std::string_view expression, cel_terms& out) {
  std::string rest;
  for (std::string_view part : conjuncts(expression)) {
    while (!part.empty() && std::string_view{" \n\t\r"}.find(part.front()) != std::string_view::npos)
      part.remove_prefix(1);
    while (!part.empty() && std::string_view{" \n\t\r"}.find(part.back()) != std::string_view::npos)
      part.remove_suffix(1);
    cel_terms made;
    const bool known = !cel_parser{part, made}.run();
    if (!known || (!made.driver.empty() && !out.driver.empty() && made.driver != out.driver)) {
      rest += (rest.empty() ? "" : " && ") + std::string{part};
      continue;
    }
    if (!made.driver.empty()) out.driver = std::move(made.driver);
    for (attribute_selector& one : made.selectors) out.selectors.push_back(std::move(one));
  }
  if (!rest.empty()) out.expressions.push_back(std::move(rest));
}

}  // namespace

std::optional<std::string> read_cel(std::string_view expression, cel_terms& out) {
  if (!out.ask_host) return cel_parser{expression, out}.run();
  split_cel(expression, out);
  return std::nullopt;
}

}  // namespace gangsched::inline GANGSCHED_ABI::kube::detail

namespace gangsched::inline GANGSCHED_ABI::kube {

result<void> add_device_selector(std::string_view expression, device_request& to) {
  detail::cel_terms terms;
  if (auto unknown = detail::read_cel(expression, terms)) return error{errc::malformed, {}, "cel", *std::move(unknown)};
  if (!terms.driver.empty() && !to.device_class.empty() && terms.driver != to.device_class)
    return error{
        errc::malformed, {}, "cel", fmt::format("is about devices of {}, not of {}", terms.driver, to.device_class)};
  to.selectors.reserve(to.selectors.size() + terms.selectors.size());
  if (to.device_class.empty()) to.device_class = std::move(terms.driver);
  for (attribute_selector& one : terms.selectors) to.selectors.push_back(std::move(one));
  return {};
}

}  // namespace gangsched::inline GANGSCHED_ABI::kube
