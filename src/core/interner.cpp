#include "gangsched/core/interner.hpp"

#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <string>
#include <vector>

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
  enum class use : std::uint8_t { none, unmarked, idle, marked, kept };  ///< none: no name; idle: the last sweep found it unmarked
  std::deque<std::string> texts;  // a deque, because the keys of `symbols` point into it
  std::vector<use> uses;          // by symbol
  std::vector<std::uint32_t> free;
  absl::flat_hash_map<std::string_view, std::uint32_t, detail::interner_hash, std::equal_to<std::string_view>> symbols;
};

GANGSCHED_INLINE interner::interner() : impl_(std::make_unique<impl>()) { keep({}); }
GANGSCHED_INLINE interner::~interner() = default;
GANGSCHED_INLINE interner::interner(interner&&) noexcept = default;
GANGSCHED_INLINE interner& interner::operator=(interner&&) noexcept = default;

GANGSCHED_INLINE symbol interner::intern(std::string_view text) {
  impl& all = *impl_;
  if (const auto known = all.symbols.find(text); known != all.symbols.end()) return {known->second};
  if (all.free.empty()) {  // first a place that is free, then the name: what throws in between leaves the place free
    GANGSCHED_ASSERT(all.texts.size() < std::numeric_limits<std::uint32_t>::max());
    const auto next = static_cast<std::uint32_t>(all.texts.size());
    if (all.free.capacity() == next) all.free.reserve(2 * std::size_t{next} + 16);  // for all of them: a sweep allocates nothing
    all.uses.resize(std::size_t{next} + 1, impl::use::none);
    all.texts.emplace_back();
    all.free.push_back(next);
  }
  const std::uint32_t name = all.free.back();
  all.texts[name] = text;
  all.symbols.emplace(all.texts[name], name);
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

GANGSCHED_INLINE bool interner::marked(symbol name) const noexcept { return impl_->uses[name.value] >= impl::use::marked; }

GANGSCHED_INLINE interner::swept interner::sweep() {
  impl& all = *impl_;
  swept done{0, 0};
  for (std::uint32_t name = static_cast<std::uint32_t>(all.texts.size()); name-- > 0;) {  // low symbols are used again first
    impl::use& of = all.uses[name];
    switch (of) {
      case impl::use::none: break;
      case impl::use::unmarked: of = impl::use::idle; break;
      case impl::use::marked: of = impl::use::unmarked; [[fallthrough]];
      case impl::use::kept: ++done.live; break;
      case impl::use::idle:
        all.symbols.erase(all.texts[name]);
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
  const auto known = impl_->symbols.find(text);
  if (known == impl_->symbols.end()) return std::nullopt;
  return symbol{known->second};
}

GANGSCHED_INLINE std::string_view interner::text(symbol name) const {
  GANGSCHED_ASSERT(name.value < impl_->texts.size());
  return impl_->texts[name.value];
}

GANGSCHED_INLINE std::size_t interner::size() const noexcept { return impl_->symbols.size(); }
GANGSCHED_INLINE std::size_t interner::bound() const noexcept { return impl_->texts.size(); }

}  // namespace gangsched
