#pragma once
#include <deque>

#include "host.hpp"

namespace gangsched::soak {

/// What happens next, by what the model knows and the dice.
class generator {
 public:
  generator(const setting& on, const host& of)
      : on_(on),
        host_(of),
        dice_(on.seed),
        rooms_(mix64(on.seed)),
        columns_(mix64(~on.seed)),
        queues_(mix64(on.seed + 1)),
        reserves_(mix64(on.seed + 2)) {}

  /// The objects that a sequence begins with.
  [[nodiscard]] sequence beginning();
  [[nodiscard]] step next();

 private:
  void refill();
  void object_steps();
  void host_steps();
  void answers();
  step make(act what) { return {.what = what, .seed = dice_.next()}; }
  step new_node();
  step new_pod(number group);
  step new_group(number above);
  void tree();
  std::uint64_t draw(std::span<const chance> chances, std::uint64_t never);
  /// One trait more or less, or other dice altogether.
  step changed(const step& made, act what, std::uint64_t other_traits, std::size_t count);
  template <class Map>
  number some(const Map& all) {
    return some(all, dice_);
  }
  template <class Map>
  static number some(const Map& all, dice& by) {
    if (all.empty()) return nobody;
    return std::next(all.begin(), static_cast<std::ptrdiff_t>(by.below(all.size())))->first;
  }
  /// One that a pod or group names.
  number some_queue() { return on_.queues && queues_.percent(40) ? static_cast<number>(queues_.below(5)) : nobody; }
  number some_name(std::size_t below) { return static_cast<number>(dice_.below(below)); }

  const setting& on_;
  const host& host_;
  dice dice_;
  dice rooms_, columns_, queues_, reserves_;  ///< their own, so that other sequences stay what they were
  std::deque<step> coming_;
  number made_ = 0;
  std::size_t since_settled_ = 0, since_checked_ = 0;
};

}  // namespace gangsched::soak
