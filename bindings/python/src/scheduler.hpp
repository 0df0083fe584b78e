#pragma once
#include <gangsched/scheduler.hpp>

#include <memory>
#include <optional>
#include <vector>

#include "plugins.hpp"
#include "watchers.hpp"

namespace bindings {

/// A scheduler with what it must not outlive, and the plugins in Python that it calls. Whatever may ask a hook goes by `away`: while the
/// hook runs, other threads do not get into the cluster.
struct py_scheduler {
  shared_cluster on;
  std::vector<nb::object> plugins;
  std::vector<std::shared_ptr<plugin_state>> states;
  std::unique_ptr<watchers> watched;  ///< null: nobody watches
  std::optional<gangsched::scheduler> core;

  /// Runs @p work on the scheduler without the GIL.
  template <class Work>
  auto away(Work&& work) {
    return on->away([&](cluster&) { return work(*core); });
  }
  /// The value, or the error that a hook in Python may be the cause of.
  template <class T>
  T must(gangsched::result<T> got) {
    const nb::object cause = take_raised(states);
    if (!got) raise(got.error(), cause);
    if constexpr (!std::is_void_v<T>) return *std::move(got);
  }
  [[nodiscard]] gangsched::scheduler& open() {
    static_cast<void>(on->open());
    return *core;
  }
};
using class_of_scheduler = nb::class_<py_scheduler>;

/// Profiles as a scheduler gets them: with plugins of its own, which in Python are the same objects.
struct ready_profiles {
  std::vector<gangsched::kernel_table> tables;
  std::vector<nb::object> plugins;
  std::vector<std::shared_ptr<plugin_state>> states;
};
/// @p profile is one, or several, or None for the default one; their hooks tell @p by if it times them. Throws what is wrong with them.
[[nodiscard]] ready_profiles ready(nb::handle profile, watchers* by);

// What other files add to it.
void add_snapshots(nb::module_& to, class_of_scheduler& by);
void add_what_if(nb::module_& to, class_of_scheduler& by);
void add_reports(nb::module_& to, class_of_scheduler& by);

}  // namespace bindings
