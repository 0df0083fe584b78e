#pragma once
#include <cstddef>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "gangsched/kube/configuration.hpp"

/// Runs recorded decisions of kube-scheduler through the engine and counts where it decides differently.
namespace gangsched::conformance {

/// A file that cannot be run: not JSON, of no known kind, or with an object that cannot be read.
struct unreadable : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct difference {
  std::string where;  ///< case and step
  std::string what;   ///< the plugin, or what else was compared
  std::string node;
  std::string expected, got;
  [[nodiscard]] std::string message() const;
};

struct tally {
  std::size_t cases = 0;
  std::size_t steps = 0;
  std::size_t differences = 0;
  std::vector<difference> first = {};  ///< as many as there is room for
  std::size_t keep = 10;
  /// Groups as in 1.37 instead of 1.36, which recorded them: names of the cases that come out differently then, and why.
  std::optional<std::map<std::string, std::string>> newer = {};

  /// Cases that are known to come out otherwise, and why: names or ids.
  std::map<std::string, std::string> exceptions = {};
  bool on_cluster = false;  ///< what a policy of queues decides on a cluster is compared, too

  struct level {
    std::size_t compared = 0;
    std::size_t differences = 0;
    std::size_t exceptions = 0;  ///< differences that are listed
  };
  std::map<std::string, level> levels = {};  ///< where a recording's README asks for several kinds of comparison apart

  void add(difference one) {
    ++differences;
    if (first.size() < keep) first.push_back(std::move(one));
  }
  /// One comparison of the kind @p what; @p different() makes the difference if it failed.
  template <class Make>
  void compare(const std::string& what, bool same, const Make& different) {
    level& here = levels[what];
    ++here.compared;
    ++steps;
    if (same) return;
    ++here.differences;
    add(different());
  }
};

/// Lines of "name: reason"; empty ones and those that begin with # are passed over.
std::map<std::string, std::string> read_reasons(const std::string& path);

/// Runs every case of a file.
void run_file(const std::string& path, tally& into);

// What run_file chooses among, one document each.

void run_scheduling_case(const kube::value& recorded, const std::string& file, tally& into);
void run_preemption_case(const kube::value& recorded, const std::string& file, tally& into);
void run_queue_case(const kube::value& recorded, const std::string& file, tally& into);
void run_group_case(const kube::value& recorded, const std::string& file, tally& into);
void run_quantity_row(const kube::value& recorded, const std::string& file, tally& into);
void run_selector_row(const kube::value& recorded, const std::string& file, tally& into);
/// Kueue's: chooses by what the document has.
void run_kueue_case(const kube::value& recorded, const std::string& file, tally& into);
void run_kueue_quota_case(const kube::value& recorded, const std::string& file, tally& into);
void run_kueue_assign_case(const kube::value& recorded, const std::string& file, tally& into);
void run_kueue_preempt_case(const kube::value& recorded, const std::string& file, tally& into);
void run_kueue_schedule_case(const kube::value& recorded, const std::string& file, tally& into);
void run_kueue_cycles_on_cluster(const kube::value& recorded, const std::string& file, tally& into);
/// KAI's own scheduling cases.
void run_kai_scheduling_case(const kube::value& recorded, const std::string& file, tally& into);
void run_kai_queue_case(const kube::value& recorded, const std::string& file, tally& into);
/// Volcano's sessions.
void run_volcano_case(const kube::value& recorded, const std::string& file, tally& into);
void run_elastic_quota_case(const kube::value& recorded, const std::string& file, tally& into);
void run_capacity_case(const kube::value& recorded, const std::string& file, tally& into);
void run_capacity_case_on_cluster(const kube::value& recorded, const std::string& file, tally& into);
/// Of scheduler-plugins and Koordinator: scores by nodes' load and size, known by what their names begin with.
bool is_load_case(const kube::value& recorded);
void run_load_case(const kube::value& recorded, const std::string& file, tally& into);
/// Of Koordinator's DeviceShare.
void run_device_case(const kube::value& recorded, const std::string& file, tally& into);
void run_toleration_case(const kube::value& recorded, const std::string& file, tally& into);
void run_yunikorn_case(const kube::value& recorded, const std::string& file, tally& into);

// Reading of recorded documents: what is missing or of another type makes the file unreadable.

[[noreturn]] void refuse(const std::string& file, const kube::value& at, const std::string& why);
const kube::value& field(const kube::value& of, std::string_view key, const std::string& file);
const std::string& text_field(const kube::value& of, std::string_view key, const std::string& file);
/// Adds the PodDisruptionBudget with what its status allows.
void add_budget(cluster& to, const kube::value& budget, const std::string& file);
/// The node of that name in the case's cluster.
node_id find_node(const cluster& on, const std::string& name, const kube::value& at, const std::string& file);
std::vector<std::string> texts(const kube::value* list);
/// The value of a result, or the file is unreadable.
template <class T>
T must(result<T> made) {
  if (!made) throw unreadable(made.error().message());
  if constexpr (!std::is_void_v<T>) return *std::move(made);
}
/// One line of JSON, for messages.
std::string to_json(const kube::value& of);

}  // namespace gangsched::conformance
