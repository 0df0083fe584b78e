#pragma once
#include <memory>
#include <optional>
#include <string>

#include "gangsched/record/log_reader.hpp"
#include "gangsched/src/record/words.hpp"

namespace gangsched::inline GANGSCHED_ABI::record {

/// Behind `log_reader`.
class log_reader::reading {
 public:
  explicit reading(std::span<const std::byte> log) noexcept : log_(log) {}

  [[nodiscard]] result<void> begin();
  [[nodiscard]] result<std::optional<logged_call>> next();
  [[nodiscard]] std::string text_of(const logged_call& call) const;
  [[nodiscard]] std::string answer_of(const logged_call& call) const;
  [[nodiscard]] bool cut_off() const noexcept { return cut_off_; }
  [[nodiscard]] const beginning& first() const noexcept { return first_; }
  /// Names are learned as records are read; a reader that only replays them needs none.
  void learns(bool names) noexcept { learns_ = names; }

 private:
  /// A record's bytes without size and checksum; nothing at the end.
  [[nodiscard]] result<std::optional<std::span<const std::byte>>> next_record();
  void learn(const logged_call& call);

  std::span<const std::byte> log_;
  std::size_t at_ = 0;
  std::uint64_t sum_ = 0, calls_ = 0;
  bool cut_off_ = false, learns_ = true;
  beginning first_;
  object_names names_;
};

[[nodiscard]] inline error damaged(std::uint64_t call, const char* why) {
  return {errc::malformed, "decision log", "call " + std::to_string(call), why};
}

/// Arguments of a function as they are kept.
template <class Function>
struct arguments_of_function;
template <class Object, class Answer, class... Arguments>
struct arguments_of_function<Answer (Object::*)(Arguments...)> {
  using object = Object;
  using type = std::tuple<kept<Arguments>...>;
};
template <auto Function>
using argument_tuple = typename arguments_of_function<decltype(Function)>::type;
/// False if the bytes are not just those.
template <class... T>
[[nodiscard]] bool read_arguments(std::span<const std::byte> from, std::tuple<T...>& to) {
  reader in{from};
  get_archive archive{in};
  std::apply([&](auto&... one) { (archive.get(one), ...); }, to);
  return in.good() && in.done();
}

}  // namespace gangsched::inline GANGSCHED_ABI::record
