#include "gangsched/model/name_index.hpp"

#include <absl/hash/hash.h>

#include <bit>
#include <string>

#include "gangsched/core/hash_index.hpp"
#include "gangsched/core/interner.hpp"

namespace gangsched::inline GANGSCHED_ABI {

// The set holds pointers to entries. What is erased while old values are recorded stays in it, unseen, until it cannot be rolled back: to
// put it back then takes no memory. The hash is beside the pointer: a set that grows would read every entry otherwise, far apart, in the
// middle of a call.
struct name_index::impl {
  struct entry {
    symbol ns;
    std::uint32_t row : 31;
    std::uint32_t erased : 1;
    std::string name;
  };
  hash_index<entry*> entries;
  std::size_t size = 0;  // that are not erased
  /// Which of those with a hash is meant.
  static auto named(symbol ns, std::string_view name) noexcept {
    return [ns, name](const entry* e) { return e->erased == 0 && e->ns == ns && e->name == name; };
  }
};

GANGSCHED_INLINE name_index::name_index(undo_log& undo) : undo_(&undo), impl_(std::make_unique<impl>()) {}

/// (No transaction is open, so that there are no erased ones.)
GANGSCHED_INLINE name_index& name_index::operator=(const name_index& from) {
  name_index made{*undo_};
  made.impl_->entries.reserve(from.impl_->entries.size());
  from.impl_->entries.for_each([&](const impl::entry* one) {
    made.impl_->entries.insert(key_of(one->ns, one->name).hash, new impl::entry(*one));
  });
  made.impl_->size = from.impl_->size;
  impl_.swap(made.impl_);
  return *this;
}

GANGSCHED_INLINE name_index::~name_index() {
  impl_->entries.for_each([](const impl::entry* one) { delete one; });
}

// Not absl::Hash of the text: Debian's absl::string_view is a type of its own.
GANGSCHED_INLINE name_index::key name_index::key_of(symbol ns, std::string_view name) noexcept {
  return {absl::HashOf(ns.value, std::hash<std::string_view>{}(name)), ns, name};
}

GANGSCHED_INLINE void name_index::prefetch(const key& of) const noexcept { impl_->entries.prefetch(of.hash); }

GANGSCHED_INLINE row_t name_index::find(const key& of) const noexcept {
  impl::entry* const* found = impl_->entries.find(of.hash, impl::named(of.ns, of.name));
  return found == nullptr ? no_row : row_t{(*found)->row};
}

GANGSCHED_INLINE void name_index::reserve(std::size_t names) { impl_->entries.reserve(names); }

GANGSCHED_INLINE void name_index::insert(const key& of, row_t row) {
  GANGSCHED_ASSERT(row < (row_t{1} << 31));
  auto made = std::make_unique<impl::entry>(impl::entry{of.ns, row & 0x7fffffffu, 0, std::string{of.name}});
  if (undo_->recording()) undo_->make_room();
  impl_->entries.make_room();
  impl::entry* e = made.release();
  impl_->entries.insert(of.hash, e);
  ++impl_->size;
  if (undo_->recording()) undo_->save(*this, row, 0, std::bit_cast<std::uint64_t>(e));
}

GANGSCHED_INLINE void name_index::erase(symbol ns, std::string_view name) {
  const std::size_t hash = key_of(ns, name).hash;
  impl::entry* const e = *impl_->entries.find(hash, impl::named(ns, name));
  if (undo_->recording()) {
    undo_->save_owned(*this, e->row, 1, std::bit_cast<std::uint64_t>(e));
    e->erased = 1;
  } else {
    impl_->entries.erase(hash, [e](const impl::entry* one) { return one == e; });
    delete e;
  }
  --impl_->size;
}

GANGSCHED_INLINE std::size_t name_index::size() const noexcept { return impl_->size; }

GANGSCHED_INLINE void name_index::restore(row_t, std::uint32_t erased, std::uint64_t word) noexcept {
  impl::entry* e = std::bit_cast<impl::entry*>(word);
  if (erased != 0)
    ++impl_->size, e->erased = 0;
  else
    --impl_->size, drop(word);
}

GANGSCHED_INLINE void name_index::discard(std::uint32_t erased, std::uint64_t word) noexcept {
  if (erased != 0) drop(word);
}

GANGSCHED_INLINE void name_index::drop(std::uint64_t word) noexcept {
  impl::entry* e = std::bit_cast<impl::entry*>(word);
  impl_->entries.erase(key_of(e->ns, e->name).hash, [e](const impl::entry* one) { return one == e; });
  delete e;
}

GANGSCHED_INLINE void name_index::digest_into(digest& out, row_t) const {
  std::uint64_t sum = 0;  // commutative: the set has no order
  impl_->entries.for_each([&](const impl::entry* e) {
    if (e->erased != 0) return;
    digest one = out.another();
    add_name(one, e->ns);
    one.add(e->name);
    one.add(e->row);
    sum += one.value();
  });
  out.add(sum);
}

}  // namespace gangsched::inline GANGSCHED_ABI
