#include <gangsched/record/snapshot.hpp>

#include <cstddef>
#include <span>
#include <vector>

#include "scheduler.hpp"

// Clusters and schedulers as bytes, and back.
namespace bindings {
namespace {

using namespace gangsched;
using taken = result<std::vector<std::byte>>;

nb::bytes to_bytes(const std::vector<std::byte>& from) {
  return nb::bytes(static_cast<const void*>(from.data()), from.size());
}

std::span<const std::byte> view(const nb::bytes& from) {
  return {static_cast<const std::byte*>(from.data()), from.size()};
}

nb::object restore(nb::bytes snapshot, nb::handle profile, const std::optional<std::string>& metrics,
                   const std::optional<std::string>& trace, std::size_t trace_records, std::size_t events) {
  const nb::object cluster = nb::module_::import_("gangsched._cluster").attr("Cluster")();
  auto on = nb::cast<shared_cluster>(cluster);
  // Who watches is made before the scheduler, on the place in which the cluster will be.
  auto watched = watchers::make(on->open(), {metrics, trace, trace_records, events});
  ready_profiles by = ready(profile, watched.get());
  const auto bytes = view(snapshot);
  forked made = must([&] {
    const nb::gil_scoped_release away;
    return record::restore_snapshot(bytes, {.profiles = std::move(by.tables)});
  }());
  on->open() = std::move(made.cluster);
  py_scheduler whole{std::move(on), std::move(by.plugins), std::move(by.states), std::move(watched),
                     std::optional{std::move(made.scheduler)}};
  if (whole.watched != nullptr) whole.must(whole.core->observe(&whole.watched->all()));
  return nb::module_::import_("gangsched._fork").attr("Fork")(cluster, nb::cast(std::move(whole)));
}

}  // namespace

void add_snapshots(nb::module_& to, class_of_scheduler& by) {
  by.def(
      "snapshot",
      [](py_scheduler& of) {
        return to_bytes(
            of.must(of.on->away([&](cluster& in) -> taken { return record::take_snapshot(in, *of.core); })));
      },
      "The cluster and the scheduler as bytes, with the queue and all that is under way; other schedulers on the "
      "cluster, and what plugins keep beside columns, are not in them. `gangsched.restore` makes both again. Changes "
      "nothing. Raises busy within a trial, or from a hook.");
  to.def("_cluster_snapshot", [](shared_cluster of) {
    return to_bytes(must(of->away([](const cluster& in) -> taken { return record::take_snapshot(in); })));
  });
  to.def("_restore_cluster", [](nb::bytes snapshot, shared_cluster into) {
    const auto bytes = view(snapshot);
    cluster made = must([&] {
      const nb::gil_scoped_release away;
      return record::restore_cluster(bytes);
    }());
    into->open() = std::move(made);
  });
  to.def(
      "restore", &restore, "snapshot"_a, "profile"_a = nb::none(), nb::kw_only(), "metrics"_a = nb::none(),
      "trace"_a = nb::none(), "trace_records"_a = 1u << 15, "events"_a = 0,
      nb::sig("def restore(snapshot: bytes, profile: Profile | collections.abc.Sequence[Profile] | None = None, *, "
              "metrics: str | None = None, trace: str | None = None, trace_records: int = 32768, events: int = 0) "
              "-> object"),
      "The cluster and the scheduler of `Scheduler.snapshot`, for `with` or to go on with: from the same calls follow "
      "the same decisions. The profiles are those that the scheduler had, and plugins in Python are brought with "
      "them; its other options are in the bytes. Who watches is said anew, and counts from zero. Raises malformed "
      "for what is no snapshot, or damaged, and wrong_state for other profiles.");
}

}  // namespace bindings
