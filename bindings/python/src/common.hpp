#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <gangsched/core/result.hpp>
#include <gangsched/model/cluster.hpp>
#include <gangsched/model/cluster_queues.hpp>
#include <gangsched/model/transaction.hpp>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

/// What all parts of the module share: errors, ids that may be names, and the cluster that one thread at a time may touch.
namespace bindings {

namespace nb = nanobind;
using namespace nb::literals;
using gangsched::cluster;

/// Throws gangsched.Error; @p cause, if it is one, becomes its __cause__, and @p decisions its attribute.
[[noreturn]] void raise(const gangsched::error& failure, nb::handle cause = {}, nb::handle decisions = {});

template <class T>
T must(gangsched::result<T> got) {
  if (!got) raise(got.error());
  if constexpr (!std::is_void_v<T>) return *std::move(got);
}

/// A cluster with the thread that is in a call on it. Everything here happens with the GIL held but for what `away` runs.
class py_cluster {
 public:
  py_cluster() = default;
  explicit py_cluster(const gangsched::cluster_options& options) : state_(options) {}

  /// The cluster, for the thread that is in a call on it, or if none is. Throws busy.
  [[nodiscard]] cluster& open() {
    if (runs_in_ != 0 && runs_in_ != PyThread_get_thread_ident()) raise_busy();
    return state_;
  }
  /// Runs @p work on the cluster without the GIL. Other threads that want the cluster meanwhile are told that it is busy.
  template <class Work>
  auto away(Work&& work) {
    cluster& mine = open();
    const caller remembered{*this, std::exchange(runs_in_, PyThread_get_thread_ident())};
    const nb::gil_scoped_release released;
    return work(mine);
  }
  /// Of what must not happen in the middle of a call. Throws busy, within a hook, too.
  void check_idle(const char* object);

  // Transactions that Python has open, each within those before it; the number of one is how many they are with it. Errors: busy (within a
  // call), wrong_state (another one was opened within it and is still open).
  [[nodiscard]] std::size_t open_trial();
  void end_trial(std::size_t number, bool keep);
  /// Nobody has it any more: it is undone as soon as no call runs, and none that was opened within it is open.
  void drop_trial(std::size_t number) noexcept;

 private:
  /// Made before the GIL is released, so that it ends after it is taken back.
  struct caller {
    py_cluster& of;
    unsigned long before;
    caller(py_cluster& its, unsigned long was) : of(its), before(was) {}
    caller(const caller&) = delete;
    caller& operator=(const caller&) = delete;
    ~caller() {
      of.runs_in_ = before;
      of.undo_dropped();
    }
  };
  struct opened {
    std::unique_ptr<gangsched::transaction> what;
    bool dropped = false;
  };
  [[noreturn]] static void raise_busy();
  void undo_dropped() noexcept;

  cluster state_;
  std::vector<opened> trials_;
  unsigned long runs_in_ = 0;
};
using shared_cluster = std::shared_ptr<py_cluster>;

// What a caller names an object by.
using node_ref = std::variant<gangsched::node_id, std::string>;
using pod_ref = std::variant<gangsched::pod_id, std::string>;
using group_ref = std::variant<gangsched::group_id, std::string>;
using queue_ref = std::variant<gangsched::queue_id, std::string>;
using claim_ref = std::variant<gangsched::resource_claim_id, std::string>;

// The id that is meant; of a pod or a group "name" is that in the namespace "default". Error: unknown.
[[nodiscard]] gangsched::result<gangsched::node_id> look_up(const cluster& in, const node_ref& node);
[[nodiscard]] gangsched::result<gangsched::pod_id> look_up(const cluster& in, const pod_ref& pod);
[[nodiscard]] gangsched::result<gangsched::group_id> look_up(const cluster& in, const group_ref& group);
[[nodiscard]] gangsched::result<gangsched::queue_id> look_up(const cluster& in, const queue_ref& queue);
/// A name alone is that of a claim in @p ns.
[[nodiscard]] gangsched::result<gangsched::resource_claim_id> look_up(const cluster& in, const std::string& ns,
                                                                      const claim_ref& claim);
/// The same, which throws.
template <class... Whom>
[[nodiscard]] auto find(const cluster& in, const Whom&... whom) {
  return must(look_up(in, whom...));
}

/// "namespace/name", or a name in the namespace "default".
[[nodiscard]] std::pair<std::string, std::string> split_name(const std::string& name);

/// Seconds as a host in Python has them: whole ones are exact.
[[nodiscard]] gangsched::instant to_instant(nb::handle seconds);
[[nodiscard]] double to_seconds(gangsched::instant time);

/// A spec that names others, which it looks up when it is asked for its value, once. While an object is read its own code runs, which may
/// call the cluster, or let another thread do so: nothing of the cluster is held meanwhile, and no transaction is open.
template <class Spec>
using made_in = std::function<gangsched::result<Spec>(cluster&)>;

// Dataclasses of _specs.py, of nodes and pods also dicts of Kubernetes' shape.
[[nodiscard]] gangsched::node_spec to_node_spec(nb::handle from);
/// A mapping of amounts of the node of that name.
[[nodiscard]] gangsched::resource_list to_allocatable(nb::handle from, std::string_view node);
/// Groups that are named and not there are expected from when it is asked.
[[nodiscard]] made_in<gangsched::pod_spec> to_pod_spec(nb::handle from);
[[nodiscard]] made_in<gangsched::group_spec> to_group_spec(nb::handle from);
[[nodiscard]] gangsched::queue_spec to_queue_spec(nb::handle from);
[[nodiscard]] made_in<gangsched::resource_claim_spec> to_resource_claim(nb::handle from);

// What each file adds to the module.
void add_ids(nb::module_& to);
void add_cluster(nb::module_& to);
void add_plugins(nb::module_& to);
void add_profile(nb::module_& to);
void add_decisions(nb::module_& to);
void add_scheduler(nb::module_& to);
void add_tools(nb::module_& to);

}  // namespace bindings
