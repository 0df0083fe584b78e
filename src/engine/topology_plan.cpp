#include "gangsched/engine/topology_plan.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <tuple>

namespace gangsched::inline GANGSCHED_ABI::engine {
namespace detail {

using indices = std::vector<std::size_t>;

class topology_planner {
 public:
  topology_planner(std::vector<plan_domain> domains, const indices& roots, const plan_request& wanted)
      : domains_(std::move(domains)),
        roots_(roots),
        wanted_(wanted),
        pods_(domains_.size(), 0),
        place_(domains_.size()) {
    for (const plan_domain& one : domains_) levels_ = std::max(levels_, one.level + 1);
    together_to_ = wanted_.slices.empty() ? levels_ - 1 : wanted_.slices.front().level;
    if (wanted_.choice == domain_choice::most_free) together_to_ = 0;
    fitting_.assign(wanted_.slices.size(), 0);
    for (const std::size_t root : roots_) fill(root);
    answer_.taken.assign(domains_.size(), 0);
  }

  plan_answer run() {
    if (auto chosen = choose())
      descend(*std::move(chosen));
    else
      explain();
    return std::move(answer_);
  }

 private:
  using share = std::pair<std::size_t, std::int64_t>;  // a domain and its members
  using shares = std::vector<share>;

  /// Room bottom up: each slice level rounds down to whole slices. What an outermost slice leaves over counts in `pods_` above it, too.
  std::int64_t fill(std::size_t at) {
    place_[at] = next_place_++;
    plan_domain& one = domains_[at];
    if (one.below.empty()) {
      pods_[at] = one.room;
    } else {
      one.room = 0;
      for (const std::size_t child : one.below) {
        one.room += fill(child);
        pods_[at] += is_inner(domains_[child].level) ? domains_[child].room : pods_[child];
      }
    }
    for (std::size_t i = 0; i < wanted_.slices.size(); ++i) {
      if (wanted_.slices[i].level != one.level) continue;
      const std::int64_t slices = pods_[at] / wanted_.slices[i].size;
      fitting_[i] += slices;
      one.room = slices * wanted_.slices[i].size;
    }
    return one.room;
  }
  [[nodiscard]] bool is_inner(std::size_t level) const {
    const auto is = [&](const plan_request::slice& one) { return one.level == level; };
    return !wanted_.slices.empty() && std::any_of(wanted_.slices.begin() + 1, wanted_.slices.end(), is);
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
  [[nodiscard]] indices below(const shares& all) const {
    indices found;
    for (const auto& [at, count] : all) found.insert(found.end(), domains_[at].below.begin(), domains_[at].below.end());
    std::sort(found.begin(), found.end(), [&](std::size_t a, std::size_t b) { return place_[a] < place_[b]; });
    return found;
  }
  [[nodiscard]] std::int64_t room_of(const indices& all) const {
    return std::accumulate(all.begin(), all.end(), std::int64_t{0},
                           [&](std::int64_t sum, std::size_t one) { return sum + domains_[one].room; });
  }

  std::optional<shares> choose() {
    using kind = plan_request::kind;
    const bool balanced = wanted_.choice == domain_choice::balanced;
    if (wanted_.how == kind::unconstrained) {
      const indices all = of_level(wanted_.slices.empty() ? levels_ - 1 : 0);
      auto evenly = balanced ? balance({of_level(wanted_.slices.empty() ? levels_ - 1 : wanted_.slices.front().level)})
                             : std::nullopt;
      return evenly ? std::move(evenly) : among(all);
    }
    if (wanted_.how == kind::preferred && balanced) {
      std::vector<indices> families;
      if (wanted_.level == 0) families.push_back(roots_);
      for (const std::size_t around : wanted_.level == 0 ? indices{} : of_level(wanted_.level - 1))
        families.push_back(domains_[around].below);
      if (auto evenly = balance(families)) return evenly;
    }
    for (std::size_t level = wanted_.level + 1; level-- > 0;) {
      if (const auto one = tightest(of_level(level), wanted_.count)) {
        auto evenly = balanced && wanted_.how == kind::required ? balance({{*one}}) : std::nullopt;
        return evenly ? std::move(*evenly) : shares{{*one, wanted_.count}};
      }
      if (wanted_.how == kind::required) return std::nullopt;
    }
    return among(roots_);
  }
  /// One that suffices, or as many as are needed.
  std::optional<shares> among(const indices& all) {
    if (room_of(all) < wanted_.count) return std::nullopt;
    const auto one = wanted_.choice == domain_choice::least_free ? tightest(all, wanted_.count) : std::nullopt;
    return one ? shares{{*one, wanted_.count}} : divide(all, wanted_.count);
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
  [[nodiscard]] shares divide(indices all, std::int64_t count) const {
    shares made;
    const bool small_first = wanted_.choice == domain_choice::least_free;
    std::stable_sort(all.begin(), all.end(), [&](std::size_t a, std::size_t b) {
      if (domains_[a].room != domains_[b].room) return small_first == (domains_[a].room < domains_[b].room);
      return pods_[a] < pods_[b];
    });
    const bool tight = wanted_.choice == domain_choice::best_fit || wanted_.choice == domain_choice::balanced;
    for (std::size_t i = 0; count > 0 && i < all.size(); ++i) {
      if (tight && domains_[all[i]].room >= count) {
        const indices left{all.begin() + static_cast<std::ptrdiff_t>(i), all.end()};
        made.push_back({tightest(left, count).value_or(all[i]), count});
        return made;
      }
      const std::int64_t taken = std::min(count, domains_[all[i]].room);
      if (taken > 0) made.push_back({all[i], taken});
      count -= taken;
    }
    return made;
  }

  // Balanced plans (Kueue's tas_balanced_placement.go): every domain that is used gets at least t units, and t is as large as can be.

  /// A domain that is considered, with what is left of it if those below it with less room than t are left out.
  struct candidate {
    std::size_t at = 0;
    std::int64_t units = 0, pods = 0;
    indices kept = {};  ///< below it
    double evenness = 0;
  };
  using candidates = std::vector<candidate>;
  struct greedy {
    std::size_t domains = 0;    ///< how few suffice; 0: all do not
    std::int64_t smallest = 0;  ///< room of the smallest of these
  };

  [[nodiscard]] candidates plainly(const indices& all) const {
    candidates made;
    for (const std::size_t at : all) made.push_back({at, domains_[at].room / unit(domains_[at].level), pods_[at]});
    return made;
  }
  static greedy fewest(const candidates& all, std::int64_t units) {
    std::vector<std::int64_t> rooms;
    for (const candidate& one : all) rooms.push_back(one.units);
    std::sort(rooms.rbegin(), rooms.rend());
    greedy found;
    for (std::size_t i = 0; i < rooms.size() && rooms[i] > 0 && units > 0; ++i) {
      found = {i + 1, rooms[i]};
      units -= rooms[i];
    }
    return units > 0 ? greedy{} : found;
  }
  /// Large if the rooms of the domains that are kept are equal: their entropy. (In one order, so that equal rooms are equal numbers.)
  [[nodiscard]] double entropy(const indices& kept) const {
    std::vector<std::int64_t> rooms;
    for (const std::size_t at : kept) rooms.push_back(pods_[at]);
    std::sort(rooms.begin(), rooms.end());
    const auto all = static_cast<double>(std::accumulate(rooms.begin(), rooms.end(), std::int64_t{0}));
    double sum = 0;
    for (const std::int64_t room : rooms) {
      const double part = static_cast<double>(room) / all;
      if (room > 0) sum -= part * std::log2(part);
    }
    return sum;
  }

  /// The fewest that suffice, and of these sets the one with the least room; the first in the order of @p all of equals. Empty if there is
  /// none, or too many would have to be looked at.
  [[nodiscard]] candidates least(const candidates& all, std::int64_t units, std::int64_t one_unit) const {
    const std::size_t few = fewest(all, units).domains;
    constexpr std::size_t most_looks = std::size_t{1} << 20;
    struct chain {
      std::size_t last, before;
      std::int64_t units;
    };
    std::vector<chain> chains{{0, 0, 0}};
    std::vector<std::map<std::int64_t, std::size_t>> sets(few + 1);  // by number of domains and room: chains
    sets[0].emplace(0, 0);
    std::size_t looks = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
      for (std::size_t k = few; k-- > 0 && all[i].units > 0;) {
        for (const auto& [pods, before] : sets[k]) {
          if (++looks > most_looks) return {};
          if (pods >= units * one_unit) break;
          if (sets[k + 1].emplace(pods + all[i].pods, chains.size()).second)
            chains.push_back({i, before, chains[before].units + all[i].units});
        }
      }
    }
    candidates found;
    for (auto set = sets[few].lower_bound(units * one_unit); set != sets[few].end() && found.empty(); ++set) {
      if (chains[set->second].units < units) continue;  // pods that fill no slice
      for (std::size_t at = set->second; at != 0; at = chains[at].before) found.push_back(all[chains[at].last]);
    }
    std::reverse(found.begin(), found.end());
    return found;
  }

  /// Within one of these sets of domains: evenly over the domains below them, or where they take whole slices over themselves.
  std::optional<shares> balance(const std::vector<indices>& families) {
    std::int64_t most = 0;  // t
    std::size_t domains = 0;
    candidates best;
    bool finer = false;
    std::int64_t one_unit = 1, units = 0;
    for (const indices& family : families) {
      if (family.empty()) continue;
      const std::size_t level = domains_[family.front()].level;
      finer = level < together_to_, one_unit = unit(level), units = wanted_.count / one_unit;
      indices lower = family;
      if (finer) lower = below(plain_shares(family));
      const greedy all = fewest(plainly(lower), units);
      if (all.domains == 0) continue;
      const std::int64_t t = std::min(units / static_cast<std::int64_t>(all.domains), all.smallest);
      candidates left = plainly(family);
      for (candidate& one : left) {
        if (!finer) continue;
        one.units = one.pods = 0;
        for (const std::size_t child : domains_[one.at].below) {
          if (domains_[child].room / one_unit < t) continue;
          one.kept.push_back(child);
          one.units += domains_[child].room / one_unit, one.pods += pods_[child];
        }
        one.evenness = entropy(one.kept);
      }
      std::erase_if(left, [&](const candidate& one) { return one.units < t; });
      const std::size_t used = fewest(left, units).domains;
      if (t < most || used == 0 || (t == most && used >= domains)) continue;
      most = t, domains = used, best = std::move(left);
    }
    if (most <= 0) return std::nullopt;
    if (finer) {
      std::stable_sort(best.begin(), best.end(), [](const candidate& a, const candidate& b) {
        return std::tie(b.units, b.evenness) < std::tie(a.units, a.evenness);
      });
      indices kept;
      for (const candidate& one : least(best, units, one_unit))
        kept.insert(kept.end(), one.kept.begin(), one.kept.end());
      std::sort(kept.begin(), kept.end(), [&](std::size_t a, std::size_t b) { return place_[a] < place_[b]; });
      best = plainly(kept);
    }
    candidates chosen = least(best, units, one_unit);
    std::int64_t left = units - most * static_cast<std::int64_t>(chosen.size());
    if (chosen.empty() || left < 0) return std::nullopt;
    std::stable_sort(chosen.begin(), chosen.end(), [](const candidate& a, const candidate& b) {
      return a.units != b.units ? a.units > b.units : a.pods < b.pods;
    });
    shares made;
    for (const candidate& one : chosen) {
      const std::int64_t more = std::min(one.units - most, left);
      made.push_back({one.at, (most + more) * one_unit});
      left -= more;
    }
    evenly_ = true;
    return made;
  }
  static shares plain_shares(const indices& all) {
    shares made;
    for (const std::size_t at : all) made.push_back({at, 0});
    return made;
  }

  /// Down to the level of the outermost slices all domains that were chosen are divided together, so that few domains are used on each
  /// level; below it, and where a plan is balanced, each by itself.
  void descend(shares chosen) {
    if (chosen.empty()) return;
    std::size_t level = domains_[chosen.front().first].level;
    for (; level < levels_ - 1; ++level) {
      shares next;
      if (level < together_to_ && !evenly_) {
        next = divide(below(chosen), wanted_.count);
      } else {
        for (const auto& [at, count] : chosen) {
          const shares part = divide(domains_[at].below, count);
          next.insert(next.end(), part.begin(), part.end());
        }
      }
      chosen = std::move(next);
    }
    for (const auto& [at, count] : chosen) answer_.taken[at] += count;
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
  std::vector<std::int64_t> pods_;     // room, of which slices take a part
  std::vector<std::size_t> place_;     // in the order of the forest
  std::vector<std::int64_t> fitting_;  // by slice layer: how many fit in all
  std::size_t levels_ = 0;
  std::size_t together_to_ = 0;  // the level to which domains are divided together
  std::size_t next_place_ = 0;
  bool evenly_ = false;  // the members were divided evenly
  plan_answer answer_;
};

}  // namespace detail

GANGSCHED_INLINE plan_answer plan_topology(std::vector<plan_domain> domains, const std::vector<std::size_t>& roots,
                                           const plan_request& wanted) {
  return detail::topology_planner{std::move(domains), roots, wanted}.run();
}

}  // namespace gangsched::inline GANGSCHED_ABI::engine
