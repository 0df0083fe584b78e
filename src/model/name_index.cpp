#include "gangsched/model/name_index.hpp"

#include <absl/container/flat_hash_set.h>
#include <absl/hash/hash.h>

#include <bit>
#include <string>

namespace gangsched {

// The set holds pointers to entries; an entry taken out while a transaction is open lives on in the undo log. The hash is beside the
// pointer: a set that grows would read every entry otherwise, far apart, in the middle of somebody's call.
struct name_index::impl {
  struct entry {
    symbol ns;
    row_t row;
    std::string name;
  };
  struct slot {
    std::size_t hash;
    entry* to;
  };
  static slot slot_of(entry* e) noexcept { return {key_of(e->ns, e->name).hash, e}; }
  struct hash {
    using is_transparent = void;
    std::size_t operator()(const slot& s) const noexcept { return s.hash; }
    std::size_t operator()(const key& k) const noexcept { return k.hash; }
  };
  struct equal {
    using is_transparent = void;
    bool operator()(const slot& a, const slot& b) const noexcept { return a.to == b.to; }
    bool operator()(const slot& a, const key& b) const noexcept { return a.hash == b.hash && a.to->ns == b.ns && a.to->name == b.name; }
    bool operator()(const key& a, const slot& b) const noexcept { return (*this)(b, a); }
  };
  absl::flat_hash_set<slot, hash, equal> entries;
};

GANGSCHED_INLINE name_index::name_index(undo_log& undo) : undo_(&undo), impl_(std::make_unique<impl>()) {}

GANGSCHED_INLINE name_index::~name_index() {
  for (const impl::slot& one : impl_->entries) delete one.to;
}

// Not absl::Hash of the text: Debian's absl::string_view is a type of its own.
GANGSCHED_INLINE name_index::key name_index::key_of(symbol ns, std::string_view name) noexcept {
  return {absl::HashOf(ns.value, std::hash<std::string_view>{}(name)), ns, name};
}

GANGSCHED_INLINE void name_index::prefetch(const key& of) const noexcept { impl_->entries.prefetch(of); }

GANGSCHED_INLINE row_t name_index::find(const key& of) const noexcept {
  const auto found = impl_->entries.find(of);
  return found == impl_->entries.end() ? no_row : found->to->row;
}

GANGSCHED_INLINE void name_index::reserve(std::size_t names) { impl_->entries.reserve(names); }

GANGSCHED_INLINE void name_index::insert(const key& of, row_t row) {
  auto made = std::make_unique<impl::entry>(impl::entry{of.ns, row, std::string{of.name}});
  impl::entry* e = made.get();
  impl_->entries.insert(impl::slot{of.hash, e});
  static_cast<void>(made.release());
  if (undo_->recording()) undo_->save(*this, row, 0, std::bit_cast<std::uint64_t>(e));
}

GANGSCHED_INLINE void name_index::erase(symbol ns, std::string_view name) {
  const auto found = impl_->entries.find(key_of(ns, name));
  impl::entry* e = found->to;
  impl_->entries.erase(found);
  if (undo_->recording()) {
    undo_->save_owned(*this, e->row, 1, std::bit_cast<std::uint64_t>(e));
  } else {
    delete e;
  }
}

GANGSCHED_INLINE std::size_t name_index::size() const noexcept { return impl_->entries.size(); }

GANGSCHED_INLINE void name_index::restore(row_t, std::uint32_t erased, std::uint64_t word) noexcept {
  impl::entry* e = std::bit_cast<impl::entry*>(word);
  if (erased != 0) {
    impl_->entries.insert(impl::slot_of(e));
  } else {
    impl_->entries.erase(impl_->entries.find(impl::slot_of(e)));
    delete e;
  }
}

GANGSCHED_INLINE void name_index::discard(std::uint32_t erased, std::uint64_t word) noexcept {
  if (erased != 0) delete std::bit_cast<impl::entry*>(word);
}

GANGSCHED_INLINE void name_index::digest_into(digest& out, row_t) const {
  std::uint64_t sum = 0;  // commutative: the set has no order
  for (const impl::slot& of : impl_->entries) {
    digest one;
    one.add(of.to->ns.value);
    one.add(of.to->name);
    one.add(of.to->row);
    sum += one.value();
  }
  out.add(sum);
}

}  // namespace gangsched
