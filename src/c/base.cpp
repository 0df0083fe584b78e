#include "gangsched/c/base.h"

#include <cstdlib>

#include "gangsched/src/c/handles.hpp"
#include "gangsched/version.hpp"

#define GANGSCHED_DIGITS_OF(number) #number
#define GANGSCHED_DIGITS(number) GANGSCHED_DIGITS_OF(number)

namespace gangsched::inline GANGSCHED_ABI::c {

static_assert(static_cast<int>(errc::malformed) + 1 == GANGSCHED_MALFORMED);
static_assert(static_cast<int>(errc::contract) + 1 == GANGSCHED_CONTRACT);

gangsched_code refuse(gangsched_error* into, const error& why) {
  const auto code = static_cast<gangsched_code>(static_cast<int>(why.code) + 1);
  if (into == nullptr) return code;
  gangsched_error told{code, why.message(), why.object, why.field, why.reason};
  *into = std::move(told);
  return code;
}

namespace {

/// Without memory there is no text but one that fits into the string as it is.
gangsched_code tell_shortly(gangsched_error* into, gangsched_code code, const char* what) noexcept {
  if (into == nullptr) return code;
  into->code = code;
  for (std::string* one : {&into->message, &into->object, &into->field, &into->reason}) one->clear();
  try {
    into->message = what;
    into->reason = what;
  } catch (...) {
    into->message.clear();
  }
  return code;
}

}  // namespace

gangsched_code out_of_memory(gangsched_error* into) noexcept {
  return tell_shortly(into, GANGSCHED_NO_MEMORY, "no memory");
}
gangsched_code internal_error(gangsched_error* into, const char* what) noexcept {
  return tell_shortly(into, GANGSCHED_INTERNAL, what);
}
gangsched_code missing(gangsched_error* into, const char* what) noexcept {
  return guarded(into, [&] { return refuse(into, {errc::malformed, what, {}, "is null"}); });
}
gangsched_code wrong_size(gangsched_error* into, const char* what) noexcept {
  return guarded(into, [&] {
    return refuse(into, {errc::malformed, what, "struct_size", "is not what this version of the library can read"});
  });
}

char* copied(std::string_view from) {
  char* const made = static_cast<char*>(std::malloc(from.size() + 1));
  if (made == nullptr) throw std::bad_alloc{};
  if (!from.empty()) std::memcpy(made, from.data(), from.size());
  made[from.size()] = '\0';
  return made;
}

}  // namespace gangsched::inline GANGSCHED_ABI::c

const char* gangsched_code_name(gangsched_code code) noexcept {
  using gangsched::errc;
  if (code == GANGSCHED_OK) return "ok";
  if (code == GANGSCHED_NO_MEMORY) return "no_memory";
  if (code == GANGSCHED_INTERNAL) return "internal";
  if (code < GANGSCHED_OK || code > GANGSCHED_INTERNAL) return "";
  return gangsched::to_string(static_cast<errc>(code - 1)).data();  // of a literal
}

gangsched_error* gangsched_error_create() noexcept { return new (std::nothrow) gangsched_error; }
void gangsched_error_destroy(gangsched_error* error) noexcept { delete error; }
gangsched_code gangsched_error_code(const gangsched_error* error) noexcept {
  return error == nullptr ? GANGSCHED_OK : error->code;
}
const char* gangsched_error_message(const gangsched_error* error) noexcept {
  return error == nullptr ? "" : error->message.c_str();
}
const char* gangsched_error_object(const gangsched_error* error) noexcept {
  return error == nullptr ? "" : error->object.c_str();
}
const char* gangsched_error_field(const gangsched_error* error) noexcept {
  return error == nullptr ? "" : error->field.c_str();
}
const char* gangsched_error_reason(const gangsched_error* error) noexcept {
  return error == nullptr ? "" : error->reason.c_str();
}

void gangsched_free(char* made) noexcept { std::free(made); }

const char* gangsched_version() noexcept {
  return GANGSCHED_DIGITS(GANGSCHED_VERSION_MAJOR) "." GANGSCHED_DIGITS(GANGSCHED_VERSION_MINOR) "." GANGSCHED_DIGITS(
      GANGSCHED_VERSION_PATCH);
}
