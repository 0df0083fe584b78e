#include "gangsched/record/snapshot.hpp"

#include "gangsched/c/snapshot.h"
#include "gangsched/scheduling/measure_hooks.hpp"
#include "gangsched/src/c/scheduler.hpp"

namespace gangsched::inline GANGSCHED_ABI::c {
namespace {

/// Writes what take() makes where the caller wants it.
template <class Take>
gangsched_code hand_out(char** bytes, size_t* size, gangsched_error* error, Take&& take) noexcept {
  if (bytes == nullptr) return missing(error, "bytes");
  if (size == nullptr) return missing(error, "size");
  return guarded(error, [&] {
    const result<std::vector<std::byte>> taken = take();
    if (!taken) return refuse(error, taken.error());
    *bytes = copied({reinterpret_cast<const char*>(taken->data()), taken->size()});
    *size = taken->size();
    return ok;
  });
}

std::span<const std::byte> span_of(const void* bytes, size_t size) noexcept {
  return {static_cast<const std::byte*>(bytes), bytes == nullptr ? 0 : size};
}

}  // namespace
}  // namespace gangsched::inline GANGSCHED_ABI::c

using namespace gangsched;

gangsched_code gangsched_scheduler_snapshot(const gangsched_scheduler* on, char** bytes, size_t* size,
                                            gangsched_error* error) noexcept {
  if (on == nullptr) return c::missing(error, "scheduler");
  return c::hand_out(bytes, size, error, [&]() -> result<std::vector<std::byte>> {
    if (on->has_decisions())
      return gangsched::error{errc::wrong_state, "snapshot", "scheduler", "has decisions that wait to be taken"};
    return record::take_snapshot(*on->model, on->engine);
  });
}
gangsched_code gangsched_cluster_snapshot(const gangsched_cluster* on, char** bytes, size_t* size,
                                          gangsched_error* error) noexcept {
  if (on == nullptr) return c::missing(error, "cluster");
  return c::hand_out(bytes, size, error, [&] { return record::take_snapshot(on->model); });
}

gangsched_code gangsched_scheduler_from_snapshot(const void* bytes, size_t size,
                                                 const gangsched_configuration* configuration,
                                                 const gangsched_restore_options* given, gangsched_cluster** cluster,
                                                 gangsched_scheduler** made, gangsched_error* error) noexcept {
  if (bytes == nullptr) return c::missing(error, "bytes");
  if (cluster == nullptr) return c::missing(error, "cluster");
  if (made == nullptr) return c::missing(error, "scheduler");
  return c::guarded(error, [&] {
    const auto read = given == nullptr ? std::optional{gangsched_restore_options{}} : c::sized(given);
    if (!read) return c::wrong_size(error, "restore options");
    gangsched_scheduler_options watch{};
    watch.metrics = read->metrics;
    watch.trace = read->trace;
    watch.trace_records = read->trace_records;
    watch.events_kept = read->events_kept;
    auto tables = c::profiles_of(configuration, read->profile);
    if (!tables) return c::refuse(error, tables.error());
    // Watchers are made before the scheduler, on the object that the restored cluster is moved into.
    auto on = std::make_unique<gangsched_cluster>();
    auto watching = c::watchers::make(on->model, watch);
    if (!watching) return c::refuse(error, watching.error());
    c::measure(*tables, **watching);
    auto again = record::restore_snapshot(c::span_of(bytes, size), {.profiles = *std::move(tables)});
    if (!again) return c::refuse(error, again.error());
    on->model = std::move(again->cluster);
    auto whole = std::make_unique<gangsched_scheduler>(*on, std::move(again->scheduler), *std::move(watching));
    if (const auto watched = c::watch(*whole); !watched) return c::refuse(error, watched.error());
    *cluster = on.release();
    *made = whole.release();
    return c::ok;
  });
}
gangsched_code gangsched_cluster_from_snapshot(const void* bytes, size_t size, gangsched_cluster** made,
                                               gangsched_error* error) noexcept {
  if (bytes == nullptr) return c::missing(error, "bytes");
  if (made == nullptr) return c::missing(error, "made");
  return c::guarded(error, [&] {
    auto again = record::restore_cluster(c::span_of(bytes, size));
    if (!again) return c::refuse(error, again.error());
    *made = new gangsched_cluster{*std::move(again)};
    return c::ok;
  });
}
