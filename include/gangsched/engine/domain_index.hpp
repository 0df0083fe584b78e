#pragma once
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gangsched/engine/stale_rows.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

/// The domains of one node label: their nodes, and the sums of allocatable and used amounts. Updated from the change log, trials included.
class GANGSCHED_API domain_index {
 public:
  domain_index(const model::cluster_state& state, std::string key) : state_(&state), key_(std::move(key)) {}

  [[nodiscard]] std::string_view key() const noexcept { return key_; }
  /// O(nodes changed since), or O(nodes · log domains) when nodes or labels changed.
  void sync();
  /// Moves when the domains themselves, or their nodes, change.
  [[nodiscard]] std::uint64_t version() const noexcept { return version_; }
  /// Expires when this index is destroyed: for code that keeps its address. Another index may be at the same address later.
  [[nodiscard]] std::weak_ptr<const void> lifetime() const noexcept { return lifetime_; }

  /// Moves when a node of the domain changes in any way; never 0.
  [[nodiscard]] std::uint64_t stamp(domain_id domain) const noexcept { return stamps_[domain]; }
  /// Domains are numbered in order of value.
  [[nodiscard]] std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(values_.size()); }
  [[nodiscard]] std::string_view name(domain_id domain) const { return state_->names.text(values_[domain]); }
  /// Its nodes, ascending.
  [[nodiscard]] std::span<const row_t> rows(domain_id domain) const noexcept {
    return {rows_.data() + first_[domain], first_[domain + 1] - first_[domain]};
  }
  /// The domain of a node, or no_domain.
  [[nodiscard]] domain_id of(row_t row) const noexcept { return row < domain_of_.size() ? domain_of_[row] : no_domain; }
  [[nodiscard]] std::int64_t allocatable(domain_id domain, resource_kind kind) const noexcept {
    return kind < kinds_ ? sums_[(std::size_t{domain} * kinds_ + kind) * 2] : 0;
  }
  [[nodiscard]] std::int64_t used(domain_id domain, resource_kind kind) const noexcept {
    return kind < kinds_ ? sums_[(std::size_t{domain} * kinds_ + kind) * 2 + 1] : 0;
  }

 private:
  void build();
  void recount(row_t row);

  const model::cluster_state* state_;
  std::shared_ptr<const void> lifetime_ = std::make_shared<char>();
  std::string key_;
  std::uint64_t version_ = 0;
  std::uint64_t clock_ = 0;
  std::vector<std::uint64_t> stamps_;  // by domain
  std::vector<symbol> values_;
  std::vector<std::size_t> first_;
  std::vector<row_t> rows_;
  std::vector<domain_id> domain_of_;  // by row
  resource_kind kinds_ = 0;
  std::vector<std::int64_t> sums_;     // by domain and kind: allocatable, used
  std::vector<std::int64_t> counted_;  // by row and kind: what is in the sums
  stale_rows stale_;
};

}  // namespace gangsched::inline GANGSCHED_ABI::engine

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/engine/domain_index.cpp"
#endif
