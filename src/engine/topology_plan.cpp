#include "gangsched/engine/topology_plan.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <tuple>

namespace gangsched::inline GANGSCHED_ABI::engine {
namespace detail {

using indices = std::vector<std::size_t>;

class topology_planner {
 public:
  topology_planner(std::vector<plan_domain> domains, const indices& roots, const plan_request& wanted)
      : domains_(std::move(domains)), roots_(roots), wanted_(wanted), pods_(domains_.size(), 0) {
    for (const plan_domain& one : domains_) levels_ = std::max(levels_, one.level + 1);
    fitting_.assign(wanted_.slices.size(), 0);
    for (const std::size_t root : roots_) fill(root);
    answer_.taken.assign(domains_.size(), 0);
  }

  plan_answer run() {
    if (const auto chosen = choose()) {
      for (const auto& [domain, count] : *chosen) descend(domain, count);
    } else {
      explain();
    }
    return std::move(answer_);
  }

 private:
  using shares = std::vector<std::pair<std::size_t, std::int64_t>>;  // members by domain

  /// Room bottom up: each slice level rounds down to whole slices.
  std::int64_t fill(std::size_t at) {
    plan_domain& one = domains_[at];
    if (!one.below.empty()) {
      one.room = 0;
      for (const std::size_t child : one.below) one.room += fill(child);
    }
    pods_[at] = one.room;
    for (std::size_t i = 0; i < wanted_.slices.size(); ++i) {
      if (wanted_.slices[i].level != one.level) continue;
      const std::int64_t slices = one.room / wanted_.slices[i].size;
      fitting_[i] += slices;
      one.room = slices * wanted_.slices[i].size;
    }
    return one.room;
  }
  /// What a domain of a level takes multiples of.
  [[nodiscard]] std::int64_t unit(std::size_t level) const {
    for (const plan_request::slice& one : wanted_.slices)
      if (one.level >= level) return one.size;
    return 1;
  }
  [[nodiscard]] indices of_level(std::size_t level) const {
    indices found;
    const auto walk = [&](const auto& self, std::size_t at) -> void {
      if (domains_[at].level == level) return found.push_back(at);
      for (const std::size_t child : domains_[at].below) self(self, child);
    };
    for (const std::size_t root : roots_) walk(walk, root);
    return found;
  }
  [[nodiscard]] std::int64_t room_of(const indices& all) const {
    return std::accumulate(all.begin(), all.end(), std::int64_t{0},
                           [&](std::int64_t sum, std::size_t one) { return sum + domains_[one].room; });
  }

  std::optional<shares> choose() {
    using kind = plan_request::kind;
    if (wanted_.how == kind::unconstrained)
      return among(of_level(wanted_.slices.empty() ? levels_ - 1 : wanted_.slices.front().level));
    if (wanted_.how == kind::preferred && wanted_.choice == domain_choice::balanced) {
      if (auto evenly = balanced_siblings()) return evenly;
    }
    for (std::size_t level = wanted_.level + 1; level-- > 0;) {
      if (const auto one = tightest(of_level(level), wanted_.count)) return shares{{*one, wanted_.count}};
      if (wanted_.how == kind::required) return std::nullopt;
    }
    return among(roots_);
  }
  std::optional<shares> among(const indices& all) {
    return room_of(all) < wanted_.count ? std::nullopt : std::optional{share(all, wanted_.count)};
  }

  /// The smallest domain that suffices; the first of equals.
  [[nodiscard]] std::optional<std::size_t> tightest(const indices& all, std::int64_t count) const {
    std::optional<std::size_t> best;
    const auto size = [&](std::size_t one) { return std::tuple{domains_[one].room, pods_[one]}; };
    for (const std::size_t one : all) {
      if (domains_[one].room >= count && (!best || size(one) < size(*best))) best = one;
    }
    return best;
  }

  /// @pre the domains have room for them
  shares share(indices all, std::int64_t count) {
    shares made;
    if (wanted_.choice == domain_choice::balanced) {
      if (auto evenly = balance(all, count)) return evenly->second;
    }
    const bool small_first = wanted_.choice == domain_choice::least_free;
    std::stable_sort(all.begin(), all.end(), [&](std::size_t a, std::size_t b) {
      if (domains_[a].room != domains_[b].room) return small_first == (domains_[a].room < domains_[b].room);
      return pods_[a] < pods_[b];
    });
    const bool tight = wanted_.choice == domain_choice::best_fit || wanted_.choice == domain_choice::balanced;
    for (std::size_t i = 0; count > 0 && i < all.size(); ++i) {
      if (tight) {
        const indices left{all.begin() + static_cast<std::ptrdiff_t>(i), all.end()};
        if (const auto last = tightest(left, count)) {
          made.push_back({*last, count});
          return made;
        }
      }
      const std::int64_t taken = std::min(count, domains_[all[i]].room);
      if (taken > 0) made.push_back({all[i], taken});
      count -= taken;
    }
    return made;
  }

  /// As even as can be over as few as possible: every chosen domain gets at least t = min(units / domains, smallest capacity); of the
  /// sets of that size the one that leaves least over. With t.
  [[nodiscard]] std::optional<std::pair<std::int64_t, shares>> balance(const indices& all, std::int64_t count) const {
    if (all.empty()) return std::nullopt;
    const std::int64_t one = unit(domains_[all.front()].level);
    const std::int64_t units = count / one;
    std::vector<std::int64_t> largest;
    const auto room_for = [&](std::size_t at) { return std::min(domains_[at].room / one, units); };
    for (const std::size_t at : all) largest.push_back(room_for(at));
    std::sort(largest.rbegin(), largest.rend());
    std::size_t few = 0;
    for (std::int64_t sum = 0; few < largest.size() && sum < units; ++few) sum += largest[few];
    const auto chosen = largest.begin() + static_cast<std::ptrdiff_t>(few);
    if (few == 0 || std::accumulate(largest.begin(), chosen, std::int64_t{0}) < units) return std::nullopt;
    const std::int64_t least = std::min(units / static_cast<std::int64_t>(few), largest[few - 1]);
    if (least <= 0) return std::nullopt;
    // sets[k] by sum: of k domains with at least t each. Too large a table is not worth it: then large domains first.
    indices kept;
    for (const std::size_t at : all)
      if (room_for(at) >= least) kept.push_back(at);
    const std::int64_t most = std::accumulate(largest.begin(), chosen, std::int64_t{0});
    constexpr std::int64_t largest_table = 1 << 16;
    if (static_cast<std::int64_t>(few) * most * static_cast<std::int64_t>(kept.size()) > 64 * largest_table)
      return std::nullopt;
    std::vector<std::vector<std::optional<indices>>> sets(
        few + 1, std::vector<std::optional<indices>>(static_cast<std::size_t>(most) + 1));
    sets[0][0] = indices{};
    for (const std::size_t at : kept) {
      const std::int64_t room = room_for(at);
      for (std::size_t k = few; k-- > 0;) {
        for (std::int64_t sum = 0; sum + room <= most; ++sum) {
          const auto& smaller = sets[k][static_cast<std::size_t>(sum)];
          auto& larger = sets[k + 1][static_cast<std::size_t>(sum + room)];
          if (!smaller || larger) continue;
          larger = *smaller;
          larger->push_back(at);
        }
      }
    }
    for (std::int64_t sum = units; sum <= most; ++sum) {
      const auto& found = sets[few][static_cast<std::size_t>(sum)];
      if (!found) continue;
      std::pair<std::int64_t, shares> made{least, {}};
      std::int64_t left = units - least * static_cast<std::int64_t>(few);
      for (const std::size_t at : *found) made.second.push_back({at, least});
      while (left > 0) {
        for (auto& [at, units_here] : made.second) {
          if (left > 0 && units_here < room_for(at)) ++units_here, --left;
        }
      }
      for (auto& entry : made.second) entry.second *= one;
      return made;
    }
    return std::nullopt;
  }
  /// Among the domains of the level that lie in one domain around them: the set with the largest minimum, then the fewest domains.
  [[nodiscard]] std::optional<shares> balanced_siblings() const {
    std::vector<indices> families;
    if (wanted_.level == 0)
      families.push_back(roots_);
    else
      for (const std::size_t around : of_level(wanted_.level - 1)) families.push_back(domains_[around].below);
    std::optional<std::pair<std::int64_t, shares>> best;
    for (const indices& one : families) {
      auto made = room_of(one) < wanted_.count ? std::nullopt : balance(one, wanted_.count);
      if (!made) continue;
      const bool fewer = best && made->first == best->first && made->second.size() < best->second.size();
      if (!best || made->first > best->first || fewer) best = std::move(made);
    }
    return best ? std::optional{std::move(best->second)} : std::nullopt;
  }

  void descend(std::size_t at, std::int64_t count) {
    if (domains_[at].below.empty()) {
      answer_.taken[at] += count;
      return;
    }
    for (const auto& [child, part] : share(domains_[at].below, count)) descend(child, part);
  }

  void explain() {
    const auto add = [&](std::int64_t have, std::int64_t want, const char* what, std::size_t level) {
      if (!answer_.missing.empty()) answer_.missing += "; ";
      answer_.missing += std::to_string(have) + "/" + std::to_string(want) + what + std::to_string(level);
    };
    for (std::size_t i = 0; i < wanted_.slices.size(); ++i) {
      add(fitting_[i], wanted_.count / wanted_.slices[i].size, " slices on level ", wanted_.slices[i].level);
    }
    if (!wanted_.slices.empty()) return;
    std::int64_t most = 0;
    const bool one = wanted_.how == plan_request::kind::required;
    for (const std::size_t at : one ? of_level(wanted_.level) : roots_) {
      most = one ? std::max(most, domains_[at].room) : most + domains_[at].room;
    }
    add(most, wanted_.count, " members on level ", wanted_.level);
  }

  std::vector<plan_domain> domains_;
  indices roots_;
  plan_request wanted_;
  std::vector<std::int64_t> pods_;     // room before rounding to the domain's own slices
  std::vector<std::int64_t> fitting_;  // by slice layer: how many fit in all
  std::size_t levels_ = 0;
  plan_answer answer_;
};

}  // namespace detail

GANGSCHED_INLINE plan_answer plan_topology(std::vector<plan_domain> domains, const std::vector<std::size_t>& roots,
                                           const plan_request& wanted) {
  return detail::topology_planner{std::move(domains), roots, wanted}.run();
}

}  // namespace gangsched::inline GANGSCHED_ABI::engine
