#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "conformance/cases.hpp"
#include "gangsched/queues/kueue/configuration.hpp"
#include "gangsched/queues/kueue/preemptor.hpp"
#include "gangsched/queues/kueue/quota_ledger.hpp"

/// What the recorded cases of Kueue have in common.
namespace gangsched::conformance {

/// A number without a fraction, or the file is unreadable.
std::int64_t whole(const kube::value& of, const std::string& file);
std::int64_t whole_field(const kube::value& of, std::string_view key, const std::string& file);
/// The text of a field, or @p otherwise.
std::string text_or(const kube::value& of, std::string_view key, std::string otherwise);
bool is_true(const kube::value& of, std::string_view key);

queues::kueue::configuration_spec read_kueue_setup(const kube::value& recorded, const std::string& file);
std::vector<queues::kueue::tolerated_taint> read_kueue_tolerations(const kube::value& of, const std::string& file);
queues::queue_index kueue_queue(const queues::kueue::configuration& of, const kube::value& name,
                                const std::string& file);
/// A feature gate of the recording's configuration, if it says so.
bool kueue_gate(const kube::value& recorded, std::string_view name, bool otherwise);
queues::kueue::fair_sharing_options read_kueue_sharing(const kube::value& recorded, const std::string& file);
/// Seconds with a fraction.
instant read_seconds(const kube::value& of, const std::string& file);
/// @param recorded the case, for its gates
queues::kueue::workload_spec read_kueue_workload(const kube::value& of, const kube::value& recorded,
                                                 const std::string& file);
/// Puts the running ones of a case's workloads where they run; by name.
std::map<std::string, row_t> add_running_workloads(const queues::kueue::configuration& of, const kube::value& recorded,
                                                   const std::string& file, queues::kueue::workload_table& table,
                                                   queues::kueue::quota_ledger& ledger);
std::string to_text(queues::kueue::fit_mode mode);
/// Modes as they are recorded.
queues::kueue::fit_mode read_fit_mode(const kube::value& of, const std::string& file);
std::string to_text(queues::kueue::preemption_reason reason);
/// {resource: [flavor, mode]} of a pod set as one line, resources sorted.
std::string flavors_text(const queues::kueue::configuration& of, std::span<const queues::kueue::chosen_flavor> all);
std::string flavors_text(const kube::value& recorded);
/// {flavor/resource: amount} as one line, sorted.
std::string usage_text(const queues::kueue::configuration& of, std::span<const queues::kueue::fr_amount> all);
std::string usage_text(const kube::value& recorded);

/// "flavor/resource": amount, as far as anybody has quota of it.
std::vector<queues::kueue::fr_amount> read_kueue_usage(const queues::kueue::configuration& of, const kube::value& usage,
                                                       const std::string& file);
/// What an admitted workload uses, likewise.
std::vector<queues::kueue::fr_amount> admitted_kueue_usage(const queues::kueue::configuration& of,
                                                           const kube::value& admission, const std::string& file);

/// Compares a recorded share with the one computed, at level @p level.
void compare_kueue_share(const queues::kueue::configuration& of, const kube::value& recorded,
                         const queues::kueue::dominant_share& got, const std::string& level, const std::string& where,
                         const std::string& file, tally& into);
/// "queueShares" and "cohortShares" of @p recorded.
void compare_kueue_shares(const queues::kueue::quota_ledger& ledger, const kube::value& recorded,
                          const std::string& level, const std::string& where, const std::string& file, tally& into);
/// Whether a recorded share, "+Inf" or a decimal number, is @p got to a relative 1e-9.
bool same_share(const std::string& recorded, double got);

}  // namespace gangsched::conformance
