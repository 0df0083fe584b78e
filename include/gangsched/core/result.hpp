#pragma once
#include <memory>
#include <optional>
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
  busy,            ///< a hook called the scheduler that is running it
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

/// A value, or the error that says why there is none. A call that returns an error changed nothing.
template <class T>
class [[nodiscard]] result {
 public:
  result(T value) : value_(std::move(value)) {}
  result(gangsched::error failure) : error_(std::make_unique<gangsched::error>(std::move(failure))) {}

  [[nodiscard]] bool has_value() const noexcept { return value_.has_value(); }
  explicit operator bool() const noexcept { return has_value(); }

  /// The value; asserts that there is one.
  [[nodiscard]] T& value() & { return check(), *value_; }
  [[nodiscard]] const T& value() const& { return check(), *value_; }
  T value() && { return check(), std::move(*value_); }
  [[nodiscard]] T& operator*() & { return value(); }
  [[nodiscard]] const T& operator*() const& { return value(); }
  [[nodiscard]] T operator*() && { return std::move(*this).value(); }
  T* operator->() { return check(), &*value_; }
  const T* operator->() const { return check(), &*value_; }

  /// The error; asserts that there is one.
  [[nodiscard]] const gangsched::error& error() const& { return GANGSCHED_ASSERT(error_ != nullptr), *error_; }
  [[nodiscard]] gangsched::error error() && { return GANGSCHED_ASSERT(error_ != nullptr), std::move(*error_); }

 private:
  void check() const { GANGSCHED_ASSERT(has_value()); }
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
  /// Asserts that the call succeeded.
  void value() const { GANGSCHED_ASSERT(has_value()); }
  [[nodiscard]] const gangsched::error& error() const& { return GANGSCHED_ASSERT(error_ != nullptr), *error_; }
  [[nodiscard]] gangsched::error error() && { return GANGSCHED_ASSERT(error_ != nullptr), std::move(*error_); }

 private:
  std::unique_ptr<gangsched::error> error_;
};

}  // namespace gangsched::inline GANGSCHED_ABI

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/core/result.cpp"
#endif
