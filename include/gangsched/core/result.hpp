#pragma once
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "gangsched/core/config.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// What kind of bad input or misuse an `error` reports.
enum class errc : unsigned char {
  malformed,       ///< text or a structure that does not parse or is not allowed here
  out_of_range,    ///< a number outside what the field may hold (negative, too large)
  overflow,        ///< a sum or product that does not fit into 64 bits
  duplicate,       ///< the name exists already
  unknown,         ///< an id or a name that nothing has
  wrong_state,     ///< the object exists, but the call does not apply to its state
  outdated,        ///< a late answer: the attempt that it names is over, or another has taken its place
  busy,            ///< called from a hook or an observer; of a scheduler also: a transaction is open on its cluster
  time_went_back,  ///< `now` was smaller than in an earlier call
  contract,        ///< a plugin broke its contract (score out of range, read more than it declared)
};

/// @return the name of @p code, as written above.
[[nodiscard]] GANGSCHED_API std::string_view to_string(errc code) noexcept;

/// Why a call was refused. It names the object ("pod default/web-1"), the field ("tolerations[2].effect") and the reason.
struct GANGSCHED_API error {
  errc code;
  std::string object;
  std::string field;
  std::string reason;

  /// "pod default/web-1: tolerations[2].effect: unknown effect \"NoRun\""
  [[nodiscard]] std::string message() const;
};

/// Thrown by `value()` of a result that has an error; `what()` is its message.
class GANGSCHED_API bad_result_access : public std::logic_error {
  using std::logic_error::logic_error;
};

namespace detail {
[[noreturn]] GANGSCHED_API void throw_bad_access(const error* why);  // null: the result was moved from
}

/// A value, or the error that says why there is none. A call that returns an error changed nothing.
template <class T>
class [[nodiscard]] result {
 public:
  result(T value) : value_(std::move(value)) {}
  result(gangsched::error failure) : error_(std::make_unique<gangsched::error>(std::move(failure))) {}

  [[nodiscard]] bool has_value() const noexcept { return value_.has_value(); }
  explicit operator bool() const noexcept { return has_value(); }

  /// The value. Throws `bad_result_access` if there is none.
  [[nodiscard]] T& value() & { return require(), *value_; }
  [[nodiscard]] const T& value() const& { return require(), *value_; }
  T value() && { return require(), std::move(*value_); }
  /// The value; asserts that there is one.
  [[nodiscard]] T& operator*() & { return check(), *value_; }
  [[nodiscard]] const T& operator*() const& { return check(), *value_; }
  [[nodiscard]] T operator*() && { return check(), std::move(*value_); }
  T* operator->() { return check(), &*value_; }
  const T* operator->() const { return check(), &*value_; }

  /// The error; asserts that there is one.
  [[nodiscard]] const gangsched::error& error() const& { return GANGSCHED_ASSERT(error_ != nullptr), *error_; }
  [[nodiscard]] gangsched::error error() && { return GANGSCHED_ASSERT(error_ != nullptr), std::move(*error_); }

 private:
  void check() const { GANGSCHED_ASSERT(has_value()); }
  void require() const {
    if (!has_value()) detail::throw_bad_access(error_.get());
  }
  std::optional<T> value_;
  std::unique_ptr<gangsched::error> error_;
};

template <>
class [[nodiscard]] result<void> {
 public:
  result() = default;
  result(gangsched::error failure) : error_(std::make_unique<gangsched::error>(std::move(failure))) {}

  [[nodiscard]] bool has_value() const noexcept { return error_ == nullptr; }
  explicit operator bool() const noexcept { return has_value(); }
  /// Throws `bad_result_access` if the call failed.
  void value() const {
    if (!has_value()) detail::throw_bad_access(error_.get());
  }
  [[nodiscard]] const gangsched::error& error() const& { return GANGSCHED_ASSERT(error_ != nullptr), *error_; }
  [[nodiscard]] gangsched::error error() && { return GANGSCHED_ASSERT(error_ != nullptr), std::move(*error_); }

 private:
  std::unique_ptr<gangsched::error> error_;
};

}  // namespace gangsched::inline GANGSCHED_ABI

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/core/result.cpp"
#endif
