#pragma once
#include "world.hpp"

namespace gangsched::testing {

inline label_selector app(const std::string& name) { return {.match_labels = {{"app", name}}}; }

/// Holds that many CPUs for pods with the label app=@p of.
inline pod_spec holder(std::string name, int cpu, const std::string& of = "a", bool once = false) {
  pod_spec made = a_pod{std::move(name)}.cpu(cpu);
  made.reservation = reservation_spec{.owners = {{.labels = app(of)}}, .once = once};
  return made;
}

inline pod_spec owner(std::string name, int cpu, const std::string& of = "a") {
  return a_pod{std::move(name)}.cpu(cpu).label("app", of);
}

}  // namespace gangsched::testing
