#include "generator.hpp"

#include <algorithm>
#include <array>

namespace gangsched::soak {

using namespace std::chrono_literals;

std::uint64_t generator::draw(std::span<const chance> chances, std::uint64_t never) {
  std::uint64_t drawn = 0;
  for (std::size_t i = 0; i < chances.size(); ++i) {
    if (dice_.percent(chances[i].percent)) drawn |= std::uint64_t{1} << i;
  }
  return drawn & ~never;
}

step generator::new_node() {
  std::uint64_t never = 0;
  if (!on_.devices) {
    for (const node_trait one :
         {node_trait::gpus, node_trait::nics, node_trait::replicas, node_trait::dynamic_mig, node_trait::fixed_mig})
      never |= bit(one);
  }
  if (!on_.numa) never |= bit(node_trait::numa);
  step one = make(act::add_node);
  one.object = made_++;
  one.traits = draw(node_chances(), never);
  return one;
}

step generator::new_pod(number group) {
  std::uint64_t never = 0;
  if (!on_.devices) {
    for (const pod_trait one :
         {pod_trait::counted_devices, pod_trait::device, pod_trait::second_device, pod_trait::claim})
      never |= bit(one);
  }
  if (!on_.numa) never |= bit(pod_trait::guaranteed) | bit(pod_trait::bound_cpus);
  if (group != nobody && dice_.percent(80)) never |= bit(pod_trait::gate) | bit(pod_trait::other_scheduler);
  if (group != nobody && dice_.percent(60)) never |= bit(pod_trait::by_others);
  step one = make(act::add_pod);
  one.object = made_++;
  one.group = group;
  one.traits = draw(pod_chances(), never);
  if (one.trait(pod_trait::by_others) || one.trait(pod_trait::nominated)) one.node = some(host_.known().nodes);
  if (one.trait(pod_trait::claim)) one.other = some(host_.known().claims);
  if (on_.held_rooms && rooms_.percent(35)) one.room = static_cast<number>(rooms_.below(2));
  one.queue = some_queue();
  if (on_.reservations && reserves_.percent(50)) one.reserve = static_cast<number>(reserves_.below(1000));
  return one;
}

step generator::new_group(number above) {
  step one = make(act::add_group);
  one.object = made_++;
  one.group = above;
  one.other = some(host_.known().groups);
  one.traits = draw(group_chances(), 0);
  one.queue = some_queue();
  return one;
}

step generator::changed(const step& made, act what, std::uint64_t other_traits, std::size_t count) {
  step one = made;
  one.what = what;
  if (on_.queues && queues_.percent(40)) one.queue = some_queue();
  if (dice_.percent(50)) {
    one.seed = dice_.next();
    one.traits = other_traits;
  } else {
    one.traits ^= std::uint64_t{1} << dice_.below(count);
  }
  return one;
}

void generator::tree() {
  step top = new_group(nobody);
  top.traits |= bit(group_trait::composite);
  coming_.push_back(top);
  const std::size_t children = 1 + dice_.below(3);
  for (std::size_t i = 0; i < children; ++i) {
    step child = new_group(top.object);
    if (dice_.percent(10)) {
      child.traits |= bit(group_trait::composite);
      coming_.push_back(child);
      child = new_group(child.object);
    }
    coming_.push_back(child);
    for (std::size_t members = dice_.below(4); members > 0; --members) coming_.push_back(new_pod(child.object));
  }
}

sequence generator::beginning() {
  sequence made;
  for (std::size_t i = 3 + dice_.below(5); i > 0; --i) made.push_back(new_node());
  return made;
}

step generator::next() {
  if (++since_settled_ >= 120) {
    since_settled_ = 0;
    coming_.push_back(make(act::settle));
  }
  if (++since_checked_ >= 8) {
    since_checked_ = 0;
    return make(act::catch_up);
  }
  while (coming_.empty()) refill();
  const step one = coming_.front();
  coming_.pop_front();
  return one;
}

void generator::refill() {
  if (on_.columns && columns_.percent(12)) {
    step one{.what = act::set_column, .seed = columns_.next()};
    one.node = some(host_.known().nodes, columns_);
    one.group = some(host_.known().groups, columns_);
    one.object = some(host_.known().pods, columns_);
    coming_.push_back(one);
  }
  if (on_.held_rooms && rooms_.percent(12)) {
    coming_.push_back({.what = act::hold_room, .object = static_cast<number>(rooms_.below(2)), .seed = rooms_.next()});
  }
  if (on_.queues && queues_.percent(15))
    coming_.push_back(
        {.what = act::change_queue, .object = static_cast<number>(queues_.below(5)), .seed = queues_.next()});
  const std::size_t roll = dice_.below(100);
  if (roll < 62)
    object_steps();
  else if (roll < 80)
    answers();
  else
    host_steps();
  if (dice_.percent(40)) coming_.push_back(make(dice_.percent(85) ? act::turn : act::cycle));
}

void generator::object_steps() {
  const world& known = host_.known();
  step one = make(act::reserve);
  const auto about = [&](act what, number object) {
    one.what = what;
    one.object = object;
    if (object != nobody) coming_.push_back(one);
  };
  const std::size_t roll = dice_.below(100);
  if (roll < 26) {
    if (known.pods.size() < 60) coming_.push_back(new_pod(nobody));
  } else if (roll < 37) {
    if (dice_.percent(18)) return tree();
    const step group = new_group(nobody);
    coming_.push_back(group);
    if (dice_.percent(12)) coming_.back().what = act::expect_group;
    for (std::size_t members = dice_.below(6); members > 0; --members) coming_.push_back(new_pod(group.object));
  } else if (roll < 42) {
    if (const number group = some(known.groups); group != nobody && !known.groups.at(group).spec.composite)
      coming_.push_back(new_pod(group));
  } else if (roll < 44) {
    step alike = new_pod(dice_.percent(60) ? some(known.groups) : nobody);
    alike.what = act::add_pods;
    made_ += 5;
    coming_.push_back(alike);
  } else if (roll < 55) {
    about(act::remove_pod, some(known.pods));
  } else if (roll < 60) {
    if (known.nodes.size() < 14) coming_.push_back(new_node());
  } else if (roll < 62) {
    if (known.nodes.size() > 2) about(act::remove_node, some(known.nodes));
  } else if (roll < 67) {
    if (const number node = some(known.nodes); node != nobody) {
      step other = changed(known.nodes.at(node).made, act::update_node, new_node().traits,
                           static_cast<std::size_t>(node_trait::count));
      if (dice_.percent(40)) other.traits ^= bit(node_trait::unschedulable);
      coming_.push_back(other);
    }
  } else if (roll < 72) {
    if (const number pod = some(known.pods); pod != nobody) {
      step other = changed(known.pods.at(pod).made, act::update_pod, new_pod(nobody).traits,
                           static_cast<std::size_t>(pod_trait::count));
      other.object = pod;
      other.node = some(known.nodes);
      if (dice_.percent(30)) other.traits &= ~bit(pod_trait::gate);
      if (!dice_.percent(30)) other.traits &= ~bit(pod_trait::by_others);
      coming_.push_back(other);
    }
  } else if (roll < 74) {
    about(act::set_terminating, some(known.pods));
  } else if (roll < 78) {
    const number group = some(known.groups);
    if (group == nobody) return;
    step other = changed(known.groups.at(group).made, act::update_group, new_group(nobody).traits,
                         static_cast<std::size_t>(group_trait::done));
    if (known.groups.at(group).expected) other.what = act::add_group;
    if (dice_.percent(10)) other.traits |= bit(group_trait::done);
    coming_.push_back(other);
  } else if (roll < 80) {
    about(act::remove_group, some(known.groups));
  } else if (roll < 82) {
    about(dice_.percent(70) ? act::set_priority_class : act::remove_priority_class, some_name(3));
  } else if (roll < 84) {
    if (known.budgets.empty() || (known.budgets.size() < 4 && dice_.percent(50)))
      about(act::add_budget, made_++);
    else
      about(dice_.percent(50) ? act::update_budget : act::remove_budget, some(known.budgets));
  } else if (roll < 86) {
    constexpr std::array named{act::set_namespace,  act::remove_namespace, act::set_service,
                               act::remove_service, act::set_controller,   act::remove_controller};
    about(dice_.of(named), some_name(3));
  } else if (roll < 89) {
    if (!on_.devices) return;
    if (known.claims.empty() || (known.claims.size() < 4 && dice_.percent(50))) {
      if (dice_.percent(20)) one.node = some(known.nodes);
      about(act::add_claim, made_++);
    } else {
      about(dice_.percent(50) ? act::deallocate : act::remove_claim, some(known.claims));
    }
  } else if (roll < 92) {
    about(act::set_device_health, some(known.nodes));
  } else if (roll < 94) {
    about(act::resize_pods, some(known.pods));
  } else if (roll < 96) {
    about(act::commit, some(known.pods));
  } else if (roll < 99) {
    coming_.push_back(make(act::roll_back));
  } else {
    coming_.push_back(one);
  }
}

void generator::host_steps() {
  const world& known = host_.known();
  step one = make(act::ask);
  one.object = some(known.pods);
  one.node = some(known.nodes);
  one.group = some(known.groups);
  const std::size_t roll = dice_.below(100);
  const auto is = [&](act what) {
    one.what = what;
    coming_.push_back(one);
  };
  if (roll < 45) {
    const std::int64_t most = dice_.percent(70) ? 3000 : dice_.percent(80) ? 20'000 : 700'000;
    one.time = std::chrono::milliseconds{dice_.between(0, most)};
    is(act::pass_time);
    if (on_.scheduler.timers == timer_rule::by_host && dice_.percent(70)) is(act::flush);
    is(act::turn);
  } else if (roll < 53) {
    is(act::ask);
  } else if (roll < 59) {
    is(act::misuse);
  } else if (roll < 63) {
    is(act::verify);
  } else if (roll < 68) {
    std::vector<number> waiting;
    for (const auto& [at, pod] : known.pods) {
      if (pod.waiting) waiting.push_back(at);
    }
    if (!waiting.empty()) one.object = dice_.of(waiting);
    is(dice_.percent(40) ? act::allow : act::reject);
  } else if (roll < 72) {
    is(act::activate);
  } else if (roll < 75) {
    is(act::restore);
  } else if (roll < 78) {
    is(act::catch_up);
  } else if (roll < 81) {
    is(act::forget_cached);
  } else if (roll < 83) {
    is(dice_.percent(30) ? act::rebuild : act::restart);
  } else if (roll < 86) {
    is(act::confirm_again);
  } else if (roll < 88) {
    is(on_.broken_hooks ? act::sabotage : act::flush);
  } else if (on_.host_decides) {
    is(act::pop);
    if (dice_.percent(70)) coming_.push_back(make(act::decide));
  }
}

/// The host does what it was told, or cannot.
void generator::answers() {
  for (const auto& [at, pod] : host_.known().pods) {
    step one = make(act::confirm);
    one.object = at;
    if (pod.decided && !dice_.percent(10)) {
      if (dice_.percent(12)) one.what = act::fail;
      coming_.push_back(one);
      if (dice_.percent(5)) one.what = act::confirm_again, coming_.push_back(one);
    }
    if (pod.waiting && dice_.percent(2)) one.what = act::fail, coming_.push_back(one);
    if (pod.evicted && dice_.percent(60)) {
      one.what = !pod.terminating && dice_.percent(70) ? act::set_terminating : act::remove_pod;
      coming_.push_back(one);
    }
    if (dice_.percent(3)) coming_.push_back(make(act::cycle));
  }
}

}  // namespace gangsched::soak
