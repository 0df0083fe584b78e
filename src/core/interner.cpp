#include "gangsched/core/interner.hpp"

#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <string>

#include <absl/container/flat_hash_map.h>
#include <absl/hash/hash.h>
#include <absl/strings/string_view.h>

namespace gangsched {
namespace detail {

/// absl::string_view is std::string_view in some builds of Abseil and a class of its own in others: go through the bytes.
/// Seeded per process, so that hostile names cannot be made to collide; nothing walks the table, so its order never shows.
struct interner_hash {
  std::size_t operator()(std::string_view text) const noexcept {
    return absl::Hash<absl::string_view>{}(absl::string_view(text.data(), text.size()));
  }
};

}  // namespace detail

struct interner::impl {
  std::deque<std::string> texts;  // a deque, because the keys of `symbols` point into it
  absl::flat_hash_map<std::string_view, std::uint32_t, detail::interner_hash, std::equal_to<std::string_view>> symbols;
};

GANGSCHED_INLINE interner::interner() : impl_(std::make_unique<impl>()) { intern({}); }
GANGSCHED_INLINE interner::~interner() = default;
GANGSCHED_INLINE interner::interner(interner&&) noexcept = default;
GANGSCHED_INLINE interner& interner::operator=(interner&&) noexcept = default;

GANGSCHED_INLINE symbol interner::intern(std::string_view text) {
  if (const auto known = impl_->symbols.find(text); known != impl_->symbols.end()) return {known->second};
  GANGSCHED_ASSERT(size() < std::numeric_limits<std::uint32_t>::max());
  const auto next = static_cast<std::uint32_t>(impl_->texts.size());
  impl_->texts.emplace_back(text);
  impl_->symbols.emplace(impl_->texts.back(), next);  // if this throws, `next` stays a symbol that nothing finds
  return {next};
}

GANGSCHED_INLINE std::optional<symbol> interner::find(std::string_view text) const {
  const auto known = impl_->symbols.find(text);
  if (known == impl_->symbols.end()) return std::nullopt;
  return symbol{known->second};
}

GANGSCHED_INLINE std::string_view interner::text(symbol name) const {
  GANGSCHED_ASSERT(name.value < size());
  return impl_->texts[name.value];
}

GANGSCHED_INLINE std::size_t interner::size() const noexcept { return impl_->texts.size(); }

}  // namespace gangsched
