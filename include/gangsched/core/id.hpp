#pragma once
#include <compare>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "gangsched/core/config.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// A dense row of a table. Rows are never renumbered; a freed row is reused with a new generation.
using row_t = std::uint32_t;
inline constexpr row_t no_row = 0xffffffffu;

/// A strong id: a row and the generation it had when the id was made, so that the id of a removed object is recognised. A
/// default-constructed id names nothing. Ids made inside a discarded transaction are void.
template <class Tag>
struct id {
  row_t row = no_row;
  std::uint32_t generation = 0;

  constexpr explicit operator bool() const noexcept { return row != no_row; }
  friend constexpr auto operator<=>(const id&, const id&) noexcept = default;

  template <class Hash>
  friend Hash AbslHashValue(Hash hash, const id& value) {
    return Hash::combine(std::move(hash), value.row, value.generation);
  }
};

using node_id = id<struct node_tag>;
using pod_id = id<struct pod_tag>;
using group_id = id<struct group_tag>;
using budget_id = id<struct budget_tag>;
using resource_claim_id = id<struct resource_claim_tag>;
using queue_id = id<struct queue_tag>;
using flavor_id = id<struct flavor_tag>;        ///< a kind of node with quota of its own
using scope_row_id = id<struct scope_row_tag>;  ///< a row of a named scope, like a licence among "licences"

/// One reservation of a node for a pod, from the decision to the answer. Numbers are unique within a cluster; later ones are larger.
enum class bind_attempt : std::uint64_t { none = 0 };

/// An interned string of one cluster's `interner`; 0 is the empty string.
struct symbol {
  std::uint32_t value = 0;
  constexpr explicit operator bool() const noexcept { return value != 0; }
  friend constexpr auto operator<=>(const symbol&, const symbol&) noexcept = default;

  template <class Hash>
  friend Hash AbslHashValue(Hash hash, const symbol& name) {
    return Hash::combine(std::move(hash), name.value);
  }
};

}  // namespace gangsched::inline GANGSCHED_ABI

/// Lets a host use ids as keys of hash tables. (No decision of the library depends on the order of such a table.)
template <class Tag>
struct std::hash<gangsched::id<Tag>> {
  [[nodiscard]] std::size_t operator()(const gangsched::id<Tag>& value) const noexcept {
    return std::hash<std::uint64_t>{}((std::uint64_t{value.generation} << 32 | value.row) * 0x9e3779b97f4a7c15);
  }
};
template <>
struct std::hash<gangsched::symbol> {
  [[nodiscard]] std::size_t operator()(const gangsched::symbol& name) const noexcept {
    return std::hash<std::uint32_t>{}(name.value);
  }
};
