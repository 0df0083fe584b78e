#pragma once
#include <array>
#include <charconv>
#include <map>
#include <string>
#include <utility>

#include "gangsched/src/record/answers.hpp"

/// Values in words.
namespace gangsched::inline GANGSCHED_ABI::record {

/// The members of a struct as bytes, one by one.
class member_bytes {
 public:
  template <class... Fields>
  void fields(const char*, const Fields&... all) {
    (made.push_back(bytes_of(all)), ...);
  }
  std::vector<bytes> made;
};

/// What the objects of a log are called.
class object_names {
 public:
  template <class Tag>
  void learn(const id<Tag>& of, std::string name) {
    names_[{which(of), {of.row, of.generation}}] = std::move(name);
  }
  template <class Tag>
  [[nodiscard]] std::string text(const id<Tag>& of) const {
    if (!of) return "none";
    std::string made{kind(of)};
    const auto found = names_.find({which(of), {of.row, of.generation}});
    if (found != names_.end()) return (made += ' ') += found->second;
    return ((made += " #") += std::to_string(of.row)) += "." + std::to_string(of.generation);
  }

 private:
  static const char* kind(const node_id&) noexcept { return "node"; }
  static const char* kind(const pod_id&) noexcept { return "pod"; }
  static const char* kind(const group_id&) noexcept { return "group"; }
  static const char* kind(const budget_id&) noexcept { return "budget"; }
  static const char* kind(const resource_claim_id&) noexcept { return "claim"; }
  static const char* kind(const queue_id&) noexcept { return "queue"; }
  static const char* kind(const scope_row_id&) noexcept { return "row"; }
  template <class Tag>
  static char which(const id<Tag>& of) noexcept {
    return kind(of)[0];
  }
  std::map<std::pair<char, std::pair<row_t, std::uint32_t>>, std::string> names_;
};

class text_archive {
 public:
  explicit text_archive(const object_names& names) noexcept : names_(&names) {}
  [[nodiscard]] std::string& text() noexcept { return text_; }

  /// Members with default values are left out.
  template <class... Fields>
  void fields(const char* names, const Fields&... all) {
    text_ += '{';
    const std::size_t begin = text_.size();
    std::size_t at = 0;
    (field(names, at++, all, begin), ...);
    text_ += '}';
  }

  void say(bool value) { text_ += value ? "true" : "false"; }
  template <class T>
    requires std::is_integral_v<T>
  void say(T value) {
    text_ += std::to_string(value);
  }
  template <class T>
    requires std::is_enum_v<T>
  void say(T value) {
    if constexpr (std::is_same_v<T, decision_kind> || std::is_same_v<T, errc>)
      text_ += to_string(value);
    else
      text_ += std::to_string(static_cast<std::uint64_t>(value));
  }
  void say(double value) {
    std::array<char, 32> digits;
    const auto [end, wrong] = std::to_chars(digits.data(), digits.data() + digits.size(), value);
    text_.append(digits.data(), end);
  }
  void say(instant value) {
    if (value == instant::max() || value == instant::min()) return static_cast<void>(text_ += "never");
    if (value.count() % 1'000'000'000 == 0)
      return static_cast<void>(text_ += std::to_string(value.count() / 1'000'000'000) + "s");
    if (value.count() % 1'000'000 == 0)
      return static_cast<void>(text_ += std::to_string(value.count() / 1'000'000) + "ms");
    text_ += std::to_string(value.count()) + "ns";
  }
  void say(std::string_view value) {
    constexpr std::string_view digits = "0123456789abcdef";
    text_ += '"';
    for (const char one : value) {
      const auto code = static_cast<unsigned char>(one);
      if (one == '"' || one == '\\') text_ += '\\';
      if (code >= 0x20 && code != 0x7f)
        text_ += one;
      else
        ((text_ += "\\x") += digits[code >> 4]) += digits[code & 15];
    }
    text_ += '"';
  }
  void say(const std::string& value) { say(std::string_view{value}); }
  void say(const quantity& value) { text_ += value.to_string(); }
  template <class Tag>
  void say(const id<Tag>& value) {
    text_ += names_->text(value);
  }
  template <class T>
  void say(const std::optional<T>& value) {
    if (value)
      say(*value);
    else
      text_ += "none";
  }
  template <class T>
  void say(const std::vector<T>& all) {
    text_ += '[';
    const char* before = "";
    for (const auto& one : all) {
      text_ += std::exchange(before, ", ");
      say(one);
    }
    text_ += ']';
  }
  template <class T>
  void say(const sorted_map<T>& all) {
    text_ += '{';
    const char* before = "";
    for (const auto& [name, value] : all) {
      (text_ += std::exchange(before, ", ")) += name;
      text_ += ": ";
      say(value);
    }
    text_ += '}';
  }
  template <class... T>
  void say(const std::variant<T...>& value) {
    std::visit([this](const auto& one) { this->say(one); }, value);
  }
  void say(const basic&) { text_ += "basic"; }
  void say(const nothing&) { text_ += "done"; }
  void say(const mig_table& value) { say(value.name()); }
  void say(const kube_semantics& value) { say(value.release()); }
  template <class T>
    requires requires(text_archive& self, const T& value) { visit_fields(self, value); }
  void say(const T& value) {
    const T plain{};
    member_bytes untouched;
    visit_fields(untouched, plain);
    const std::vector<bytes>* const before = std::exchange(plain_, &untouched.made);
    visit_fields(*this, value);
    plain_ = before;
  }

 private:
  template <class T>
  void field(std::string_view names, std::size_t nth, const T& value, std::size_t begin) {
    if (bytes_of(value) == (*plain_)[nth]) return;
    for (; nth > 0; --nth) names.remove_prefix(names.find(',') + 1);
    names = names.substr(0, names.find(','));
    if (text_.size() != begin) text_ += ", ";
    (text_ += names.substr(names.find_first_not_of(' '))) += ": ";
    say(value);
  }

  const object_names* names_;
  std::string text_;
  const std::vector<bytes>* plain_ = nullptr;
};

}  // namespace gangsched::inline GANGSCHED_ABI::record
