#include "gangsched/model/name_index.hpp"

#include <absl/container/flat_hash_set.h>
#include <absl/hash/hash.h>

#include <bit>
#include <string>

namespace gangsched {

// The set holds pointers to entries; an entry taken out while a transaction is open lives on in the undo log.
struct name_index::impl {
  struct entry {
    symbol ns;
    row_t row;
    std::string name;
  };
  struct key {
    symbol ns;
    std::string_view name;
  };
  static key key_of(const entry* e) noexcept { return {e->ns, e->name}; }
  static key key_of(const key& k) noexcept { return k; }
  struct hash {
    using is_transparent = void;
    template <class T>
    std::size_t operator()(const T& value) const noexcept {
      const key k = key_of(value);
      // Not absl::Hash of the text: Debian's absl::string_view is a type of its own.
      return absl::HashOf(k.ns.value, std::hash<std::string_view>{}(k.name));
    }
  };
  struct equal {
    using is_transparent = void;
    template <class A, class B>
    bool operator()(const A& a, const B& b) const noexcept {
      return key_of(a).ns == key_of(b).ns && key_of(a).name == key_of(b).name;
    }
  };
  absl::flat_hash_set<entry*, hash, equal> entries;
};

GANGSCHED_INLINE name_index::name_index(undo_log& undo) : undo_(&undo), impl_(std::make_unique<impl>()) {}

GANGSCHED_INLINE name_index::~name_index() {
  for (impl::entry* e : impl_->entries) delete e;
}

GANGSCHED_INLINE row_t name_index::find(symbol ns, std::string_view name) const noexcept {
  const auto found = impl_->entries.find(impl::key{ns, name});
  return found == impl_->entries.end() ? no_row : (*found)->row;
}

GANGSCHED_INLINE void name_index::insert(symbol ns, std::string_view name, row_t row) {
  auto made = std::make_unique<impl::entry>(impl::entry{ns, row, std::string{name}});
  impl::entry* e = made.get();
  impl_->entries.insert(e);
  static_cast<void>(made.release());
  if (undo_->recording()) undo_->save(*this, row, 0, std::bit_cast<std::uint64_t>(e));
}

GANGSCHED_INLINE void name_index::erase(symbol ns, std::string_view name) {
  const auto found = impl_->entries.find(impl::key{ns, name});
  impl::entry* e = *found;
  impl_->entries.erase(found);
  if (undo_->recording()) {
    undo_->save(*this, e->row, 1, std::bit_cast<std::uint64_t>(e));
  } else {
    delete e;
  }
}

GANGSCHED_INLINE std::size_t name_index::size() const noexcept { return impl_->entries.size(); }

GANGSCHED_INLINE void name_index::restore(row_t, std::uint32_t erased, std::uint64_t word) noexcept {
  impl::entry* e = std::bit_cast<impl::entry*>(word);
  if (erased != 0) {
    impl_->entries.insert(e);
  } else {
    impl_->entries.erase(impl_->entries.find(impl::key_of(e)));
    delete e;
  }
}

GANGSCHED_INLINE void name_index::discard(std::uint32_t erased, std::uint64_t word) noexcept {
  if (erased != 0) delete std::bit_cast<impl::entry*>(word);
}

GANGSCHED_INLINE void name_index::digest_into(digest& out, row_t) const {
  std::uint64_t sum = 0;  // commutative: the set has no order
  for (const impl::entry* e : impl_->entries) {
    digest one;
    one.add(e->ns.value);
    one.add(e->name);
    one.add(e->row);
    sum += one.value();
  }
  out.add(sum);
}

}  // namespace gangsched
