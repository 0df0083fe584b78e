#include "gangsched/core/interner.hpp"

#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include <absl/hash/hash.h>
#include <absl/strings/string_view.h>

#include "gangsched/core/hash_index.hpp"

namespace gangsched::inline GANGSCHED_ABI {
namespace detail {

/// absl::string_view is std::string_view in some builds of Abseil and a class of its own in others: go through the bytes.
/// Seeded per process, so that hostile names cannot be made to collide; nothing walks the table, so its order never shows.
[[nodiscard]] GANGSCHED_INLINE std::size_t hash_of_name(std::string_view text) noexcept {
  return absl::Hash<absl::string_view>{}(absl::string_view(text.data(), text.size()));
}

}  // namespace detail

struct interner::impl {
  enum class use : std::uint8_t {
    none,
    unmarked,
    idle,
    marked,
    kept
  };                              ///< none: no name; idle: the last sweep found it unmarked
  std::deque<std::string> texts;  // a deque, because the keys of `symbols` point into it
  std::vector<use> uses;          // by symbol
  std::vector<std::uint32_t> free;
  hash_index<std::uint32_t, std::uint32_t> symbols;

  [[nodiscard]] const std::uint32_t* find(std::size_t hash, std::string_view text) const noexcept {
    return symbols.find(hash, [&](std::uint32_t name) { return texts[name] == text; });
  }
};

GANGSCHED_INLINE interner::interner() : impl_(std::make_unique<impl>()) { keep({}); }
GANGSCHED_INLINE interner::~interner() = default;
GANGSCHED_INLINE interner::interner(interner&&) noexcept = default;
GANGSCHED_INLINE interner& interner::operator=(interner&&) noexcept = default;
GANGSCHED_INLINE void interner::assign(const interner& from) {
  auto made = std::make_unique<impl>(*from.impl_);
  made->free.reserve(from.impl_->free.capacity());
  impl_ = std::move(made);
  made_ = from.made_;
}

GANGSCHED_INLINE symbol interner::intern(std::string_view text) {
  impl& all = *impl_;
  const std::size_t hash = detail::hash_of_name(text);
  if (const std::uint32_t* known = all.find(hash, text)) return {*known};
  if (all.free.empty()) {  // make a free place first: if a later step throws, the place just stays free
    GANGSCHED_ASSERT(all.texts.size() < std::numeric_limits<std::uint32_t>::max());
    const auto next = static_cast<std::uint32_t>(all.texts.size());
    if (all.free.capacity() == next)
      all.free.reserve(2 * std::size_t{next} + 16);  // room to free all names, so that a sweep does not allocate
    all.uses.resize(std::size_t{next} + 1, impl::use::none);
    all.texts.emplace_back();
    all.free.push_back(next);
  }
  const std::uint32_t name = all.free.back();
  all.texts[name] = text;
  all.symbols.insert(hash, name);
  all.free.pop_back();
  all.uses[name] = impl::use::unmarked;
  ++made_;
  return {name};
}

GANGSCHED_INLINE symbol interner::keep(std::string_view text) {
  const symbol name = intern(text);
  impl_->uses[name.value] = impl::use::kept;
  return name;
}

GANGSCHED_INLINE void interner::mark(symbol name) noexcept {
  impl::use& of = impl_->uses[name.value];
  if (of != impl::use::kept) of = impl::use::marked;
}

GANGSCHED_INLINE bool interner::marked(symbol name) const noexcept {
  return impl_->uses[name.value] >= impl::use::marked;
}

GANGSCHED_INLINE interner::swept interner::sweep() {
  impl& all = *impl_;
  swept done{0, 0};
  for (std::uint32_t name = static_cast<std::uint32_t>(all.texts.size());
       name-- > 0;) {  // low symbols are used again first
    impl::use& of = all.uses[name];
    switch (of) {
      case impl::use::none: break;
      case impl::use::unmarked: of = impl::use::idle; break;
      case impl::use::marked: of = impl::use::unmarked; [[fallthrough]];
      case impl::use::kept: ++done.live; break;
      case impl::use::idle:
        all.symbols.erase(detail::hash_of_name(all.texts[name]), [name](std::uint32_t one) { return one == name; });
        std::string{}.swap(all.texts[name]);
        all.free.push_back(name);
        of = impl::use::none;
        ++done.freed;
        break;
    }
  }
  made_ = 0;
  return done;
}

GANGSCHED_INLINE std::optional<symbol> interner::find(std::string_view text) const {
  const std::uint32_t* known = impl_->find(detail::hash_of_name(text), text);
  if (known == nullptr) return std::nullopt;
  return symbol{*known};
}

GANGSCHED_INLINE std::string_view interner::text(symbol name) const {
  GANGSCHED_ASSERT(name.value < impl_->texts.size());
  return impl_->texts[name.value];
}

GANGSCHED_INLINE std::size_t interner::size() const noexcept { return impl_->symbols.size(); }
GANGSCHED_INLINE std::size_t interner::bound() const noexcept { return impl_->texts.size(); }

}  // namespace gangsched::inline GANGSCHED_ABI
