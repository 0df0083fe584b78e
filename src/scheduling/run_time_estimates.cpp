#include "gangsched/scheduling/run_time_estimates.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace gangsched::inline GANGSCHED_ABI {

GANGSCHED_INLINE run_time_estimates::run_time_estimates(const run_time_options& options) : options_(options) {
  options_.percent = std::clamp(options_.percent, 1, 100);
  options_.remembered = std::max<std::size_t>(1, options_.remembered);
  options_.fewest = std::clamp<std::size_t>(options_.fewest, 1, options_.remembered);
  options_.most_keys = std::max<std::size_t>(1, options_.most_keys);
}

GANGSCHED_INLINE void run_time_estimates::ended(std::span<const std::string_view> keys, instant ran) {
  ran = std::max(ran, instant::zero());
  // First what needs memory: if there is none, all is as it was.
  struct guard {
    ~guard() {
      for (history* const one : grown) one->runs.pop_back();
    }
    std::vector<history*> grown = {};
  } undo;
  undo.grown.reserve(keys.size());
  std::map<std::string, history, std::less<>> fresh;
  std::map<std::uint64_t, std::string> last;
  for (const std::string_view key : keys) {
    last.emplace(ends_ + last.size() + 1, key);
    const auto known = by_key_.find(key);
    if (known == by_key_.end()) {
      fresh.try_emplace(std::string{key}).first->second.runs.push_back(ran);
    } else {
      known->second.runs.push_back(ran);
      undo.grown.push_back(&known->second);
    }
  }
  undo.grown.clear();
  ends_ += keys.size();
  by_key_.merge(fresh);
  while (!last.empty()) {
    auto one = last.extract(last.begin());
    history& its = by_key_.find(one.mapped())->second;
    while (its.runs.size() > options_.remembered) its.runs.pop_front();
    by_last_.erase(its.last);
    its.last = one.key();
    by_last_.insert(std::move(one));
  }
  for (; by_key_.size() > options_.most_keys; by_last_.erase(by_last_.begin()))
    by_key_.erase(by_key_.find(by_last_.begin()->second));
}

GANGSCHED_INLINE std::optional<instant> run_time_estimates::estimate(std::span<const std::string_view> keys) const {
  for (const std::string_view key : keys) {
    const auto found = by_key_.find(key);
    if (found == by_key_.end() || found->second.runs.size() < options_.fewest) continue;
    std::vector<instant> runs{found->second.runs.begin(), found->second.runs.end()};
    const auto rank = (static_cast<std::size_t>(options_.percent) * runs.size() + 99) / 100;
    const auto at = runs.begin() + static_cast<std::ptrdiff_t>(rank - 1);
    std::nth_element(runs.begin(), at, runs.end());
    return *at;
  }
  return std::nullopt;
}

GANGSCHED_INLINE std::vector<run_time_estimates::learnt> run_time_estimates::save() const {
  std::vector<learnt> all;
  for (auto one = by_last_.rbegin(); one != by_last_.rend(); ++one) {
    const history& its = by_key_.find(one->second)->second;
    all.push_back({one->second, {its.runs.begin(), its.runs.end()}});
  }
  return all;
}

GANGSCHED_INLINE result<void> run_time_estimates::restore(std::span<const learnt> from) {
  run_time_estimates made{options_};
  const auto wrong = [](const learnt& one, const char* field, const char* why) {
    return error{errc::malformed, "run times of \"" + one.key + "\"", field, why};
  };
  const std::size_t kept = std::min(from.size(), options_.most_keys);
  std::set<std::string_view> keys;
  for (std::size_t i = from.size(); i-- > 0;) {
    const learnt& one = from[i];
    if (std::ranges::any_of(one.runs, [](instant run) { return run < instant::zero(); }))
      return wrong(one, "runs", "are negative");
    if (!keys.insert(one.key).second) return wrong(one, "key", "is there twice");
    if (i >= kept) continue;
    history& its = made.by_key_[one.key];
    its.last = ++made.ends_;
    made.by_last_.emplace(its.last, one.key);
    const std::size_t runs = std::min(one.runs.size(), options_.remembered);
    its.runs.assign(one.runs.end() - static_cast<std::ptrdiff_t>(runs), one.runs.end());
  }
  *this = std::move(made);
  return {};
}

}  // namespace gangsched::inline GANGSCHED_ABI
