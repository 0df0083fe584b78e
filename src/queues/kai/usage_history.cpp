#include "gangsched/queues/kai/usage_history.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace gangsched::inline GANGSCHED_ABI::queues::kai {

GANGSCHED_INLINE usage_history::usage_history(std::size_t queues, std::size_t resources, usage_window window)
    : queues_{queues}, resources_{resources}, window_{window}, sums_((queues + 1) * resources, 0.0) {}

GANGSCHED_INLINE double usage_history::decay(instant age) const {
  if (window_.half_life.count() <= 0) return 1;
  return std::exp2(-static_cast<double>(age.count()) / static_cast<double>(window_.half_life.count()));
}

GANGSCHED_INLINE void usage_history::add(const sample& one, instant now) {
  const double part = decay(elapsed(one.at, now));
  for (std::size_t i = 0; i < sums_.size(); ++i) sums_[i] += one.amounts[i] * part;
}

GANGSCHED_INLINE result<void> usage_history::record(instant now, std::span<const double> held,
                                                    std::span<const double> capacity) {
  const auto wrong = [](errc code, const char* field, const char* reason) {
    return error{code, "usage history", field, reason};
  };
  const auto is_amount = [](double number) { return std::isfinite(number) && number >= 0; };
  if (held.size() != queues_ * resources_)
    return wrong(errc::malformed, "held", "there has to be one for each queue and resource");
  if (capacity.size() != resources_) return wrong(errc::malformed, "capacity", "there has to be one for each resource");
  if (last_ && now < *last_) return wrong(errc::time_went_back, "now", "is before the last sample");
  if (!std::all_of(held.begin(), held.end(), is_amount))
    return wrong(errc::out_of_range, "held", "has to be finite and at least 0");
  if (!std::all_of(capacity.begin(), capacity.end(), is_amount))
    return wrong(errc::out_of_range, "capacity", "has to be finite and at least 0");

  sample made{now, {held.begin(), held.end()}};
  made.amounts.insert(made.amounts.end(), capacity.begin(), capacity.end());
  bool anew = false;
  if (!window_.tumbling_from) {
    samples_.push_back(made);
    while (elapsed(samples_.front().at, now) >= window_.length && samples_.size() > 1) {
      samples_.pop_front();
      anew = true;
    }
  } else if (window_.length.count() > 0) {
    const instant from = *window_.tumbling_from;
    const instant since = now >= from ? elapsed(from, now) : -elapsed(now, from);
    const std::int64_t round = since / window_.length - (since % window_.length < instant{} ? 1 : 0);
    anew = last_ && round != round_;
    round_ = round;
  }
  if (anew) {
    std::fill(sums_.begin(), sums_.end(), 0.0);
    for (const sample& one : samples_)
      if (&one != &samples_.back()) add(one, now);
  } else if (last_) {
    const double part = decay(elapsed(*last_, now));
    for (double& sum : sums_) sum *= part;
  }
  add(made, now);
  last_ = now;
  return {};
}

GANGSCHED_INLINE double usage_history::usage(queue_index queue, std::size_t resource) const {
  const double all = sums_[queues_ * resources_ + resource];
  return all > 0 ? sums_[queue * resources_ + resource] / all : 0;
}

}  // namespace gangsched::inline GANGSCHED_ABI::queues::kai
