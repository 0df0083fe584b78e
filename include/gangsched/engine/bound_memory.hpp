#pragma once
#include <vector>

#include "gangsched/engine/domain_index.hpp"
#include "gangsched/framework/plugin_entry.hpp"

namespace gangsched::inline GANGSCHED_ABI::engine {

/// The results of placement_bound hooks for the domains of a label, by the shape of the demand. The hooks read only the demand and the
/// domain's nodes: for another group of the same shape only domains whose nodes changed are evaluated again.
class bound_memory {
 public:
  /// Members of one class, and how many.
  struct class_count {
    class_id cls;
    std::uint32_t generation;
    std::uint32_t count;
    friend bool operator==(const class_count&, const class_count&) = default;
  };
  /// The bounds of one shape of demand, by domain.
  class shelf {
   public:
    /// The bounds of a domain, one for each scorer. @p fresh: they are valid; else to be written.
    [[nodiscard]] std::int64_t* bounds(domain_id domain, std::uint64_t room, bool& fresh) {
      entry& one = by_domain_[domain];
      const std::uint64_t stamp = domains_->stamp(domain);
      fresh = one.stamp == stamp && one.room == room;
      one = {stamp, room};
      return bounds_.data() + domain * scorers_;
    }

   private:
    friend class bound_memory;
    struct entry {
      std::uint64_t stamp = 0;
      std::uint64_t room = 0;
    };
    const kernel_table* profile_ = nullptr;
    const domain_index* domains_ = nullptr;
    std::uint64_t version_ = 0;
    std::size_t scorers_ = 0;
    std::uint32_t scheduled_ = 0;
    std::vector<class_count> classes_;
    std::uint64_t used_ = 0;
    std::vector<entry> by_domain_;
    std::vector<std::int64_t> bounds_;
  };

  /// The shelf of a shape; of eight the least recently used goes. O(classes), O(domains) the first time.
  [[nodiscard]] shelf& find(const kernel_table& profile, const domain_index& domains, std::size_t scorers,
                            std::uint32_t scheduled, const std::vector<class_count>& classes) {
    ++clock_;
    shelf* oldest = nullptr;
    for (shelf& one : shelves_) {
      if (one.profile_ == &profile && one.domains_ == &domains && one.version_ == domains.version() &&
          one.scheduled_ == scheduled && one.classes_ == classes) {
        one.used_ = clock_;
        return one;
      }
      if (oldest == nullptr || one.used_ < oldest->used_) oldest = &one;
    }
    if (shelves_.size() < most) oldest = &shelves_.emplace_back();
    oldest->profile_ = &profile;
    oldest->domains_ = &domains;
    oldest->version_ = domains.version();
    oldest->scorers_ = scorers;
    oldest->scheduled_ = scheduled;
    oldest->classes_ = classes;
    oldest->used_ = clock_;
    oldest->by_domain_.assign(domains.size(), {});
    oldest->bounds_.assign(domains.size() * scorers, 0);
    return *oldest;
  }

 private:
  static constexpr std::size_t most = 8;
  std::vector<shelf> shelves_;
  std::uint64_t clock_ = 0;
};

}  // namespace gangsched::inline GANGSCHED_ABI::engine
