#include "conformance/kueue_setup.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <map>

namespace gangsched::conformance {

using namespace queues::kueue;

std::int64_t whole(const kube::value& of, const std::string& file) {
  std::int64_t made = 0;
  const char* end = of.text.data() + of.text.size();
  if (of.kind != kube::value_kind::number || std::from_chars(of.text.data(), end, made).ptr != end)
    refuse(file, of, "has to be a whole number");
  return made;
}

std::int64_t whole_field(const kube::value& of, std::string_view key, const std::string& file) {
  return whole(field(of, key, file), file);
}

std::string text_or(const kube::value& of, std::string_view key, std::string otherwise) {
  const kube::value* found = of.find(key);
  return found == nullptr ? std::move(otherwise) : found->text;
}

bool is_true(const kube::value& of, std::string_view key) { return text_or(of, key, "false") == "true"; }

namespace {

template <class T>
T one_of(const std::map<std::string, T>& names, const kube::value& at, const std::string& text,
         const std::string& file) {
  const auto found = names.find(text);
  if (found == names.end()) refuse(file, at, "\"" + text + "\" is none of those known");
  return found->second;
}

const std::map<std::string, victim_policy> policies{
    {"Never", victim_policy::never},
    {"LowerPriority", victim_policy::lower_priority},
    {"LowerOrNewerEqualPriority", victim_policy::lower_or_newer_equal_priority},
    {"Any", victim_policy::any}};
const std::map<std::string, flavor_search> searches{{"MayStopSearch", flavor_search::may_stop},
                                                    {"TryNextFlavor", flavor_search::try_next}};
const std::map<std::string, flavor_preference> preferences{
    {"BorrowingOverPreemption", flavor_preference::borrowing_over_preemption},
    {"PreemptionOverBorrowing", flavor_preference::preemption_over_borrowing}};
const std::map<std::string, queueing_strategy> strategies{{"StrictFIFO", queueing_strategy::strict_fifo},
                                                          {"BestEffortFIFO", queueing_strategy::best_effort_fifo}};

double read_weight(const kube::value& of) {
  const kube::value* weight = of.find("weight");
  return weight == nullptr ? 1 : std::strtod(weight->text.c_str(), nullptr);
}

quota read_quota(const kube::value& of, const std::string& file) {
  quota made{.nominal = whole_field(of, "nominal", file)};
  if (const kube::value* borrow = of.find("borrow")) made.borrowing_limit = whole(*borrow, file);
  if (const kube::value* lend = of.find("lend")) made.lending_limit = whole(*lend, file);
  return made;
}

std::vector<resource_group> read_groups(const kube::value& of, const std::string& file) {
  std::vector<resource_group> made;
  const kube::value* groups = of.find("groups");
  if (groups == nullptr) return made;
  for (const kube::value& one : groups->items) {
    resource_group& group = made.emplace_back();
    group.resources = texts(one.find("resources"));
    for (const kube::value& flavor : field(one, "flavors", file).items) {
      flavor_quota& quotas = group.flavors.emplace_back();
      quotas.flavor = text_field(flavor, "name", file);
      for (const std::string& resource : group.resources)
        quotas.quotas.push_back(read_quota(field(field(flavor, "quota", file), resource, file), file));
    }
  }
  return made;
}

queues::kueue::flavor_spec read_flavor(const kube::value& of, const std::string& file) {
  queues::kueue::flavor_spec made{.name = text_field(of, "name", file)};
  if (const kube::value* labels = of.find("labels"))
    for (std::size_t i = 0; i < labels->keys.size(); ++i) made.labels[labels->keys[i]] = labels->items[i].text;
  const auto effect_of = [&](const kube::value& at, const std::string& text) {
    static const std::map<std::string, effect> effects{{"NoSchedule", effect::no_schedule},
                                                       {"PreferNoSchedule", effect::prefer_no_schedule},
                                                       {"NoExecute", effect::no_execute}};
    return one_of(effects, at, text, file);
  };
  if (const kube::value* taints = of.find("taints"))
    for (const kube::value& one : taints->items)
      made.taints.push_back(
          {text_field(one, "key", file), text_or(one, "value", ""), effect_of(one, text_field(one, "effect", file))});
  made.tolerations = read_kueue_tolerations(of, file);
  return made;
}

}  // namespace

std::vector<tolerated_taint> read_kueue_tolerations(const kube::value& of, const std::string& file) {
  static const std::map<std::string, effect> effects{{"NoSchedule", effect::no_schedule},
                                                     {"PreferNoSchedule", effect::prefer_no_schedule},
                                                     {"NoExecute", effect::no_execute}};
  std::vector<tolerated_taint> made;
  const kube::value* all = of.find("tolerations");
  if (all == nullptr) return made;
  for (const kube::value& one : all->items) {
    tolerated_taint& added = made.emplace_back();
    added.key = text_or(one, "key", "");
    if (text_or(one, "operator", "Equal") == "Equal") added.value = text_or(one, "value", "");
    if (const std::string what = text_or(one, "effect", ""); !what.empty())
      added.what = one_of(effects, one, what, file);
  }
  return made;
}

configuration_spec read_kueue_setup(const kube::value& recorded, const std::string& file) {
  configuration_spec made;
  for (const kube::value& one : field(recorded, "flavors", file).items) made.flavors.push_back(read_flavor(one, file));
  for (const kube::value& one : field(recorded, "cohorts", file).items)
    made.cohorts.push_back(
        {text_field(one, "name", file), text_or(one, "parent", ""), read_weight(one), read_groups(one, file)});
  for (const kube::value& one : field(recorded, "queues", file).items) {
    queues::kueue::queue_spec& queue = made.queues.emplace_back();
    queue.name = text_field(one, "name", file);
    queue.cohort = text_or(one, "cohort", "");
    queue.strategy = one_of(strategies, one, text_field(one, "strategy", file), file);
    queue.weight = read_weight(one);
    queue.groups = read_groups(one, file);
    const kube::value& preemption = field(one, "preemption", file);
    queue.preemption.within_queue = one_of(policies, preemption, text_field(preemption, "within", file), file);
    queue.preemption.within_cohort = one_of(policies, preemption, text_field(preemption, "reclaim", file), file);
    if (const kube::value* borrow = preemption.find("borrow")) {
      queue.preemption.while_borrowing = text_field(*borrow, "policy", file) != "Never";
      if (const kube::value* most = borrow->find("maxPriority"))
        queue.preemption.max_priority = static_cast<std::int32_t>(whole(*most, file));
    }
    const kube::value& search = field(one, "fungibility", file);
    queue.fungibility.when_can_borrow = one_of(searches, search, text_field(search, "whenCanBorrow", file), file);
    queue.fungibility.when_can_preempt = one_of(searches, search, text_field(search, "whenCanPreempt", file), file);
    queue.fungibility.preference =
        one_of(preferences, search, text_or(search, "preference", "BorrowingOverPreemption"), file);
  }
  return made;
}

queues::queue_index kueue_queue(const configuration& of, const kube::value& name, const std::string& file) {
  const auto found = of.find_queue(name.text);
  if (!found) refuse(file, name, "there is no queue " + name.text);
  return *found;
}

namespace {

void count_in(const configuration& of, const std::string& flavor, const std::string& resource, std::int64_t amount,
              std::vector<fr_amount>& all) {
  const flavor_index in = of.find_flavor(flavor);
  const resource_index what = of.find_resource(resource);
  if (in == none || what == none || of.find_fr(in, what) == none) return;
  const fr_index number = of.find_fr(in, what);
  const auto known = std::find_if(all.begin(), all.end(), [&](const fr_amount& one) { return one.of == number; });
  if (known == all.end())
    all.push_back({number, amount});
  else
    known->amount = sum(known->amount, amount);
}

}  // namespace

std::vector<fr_amount> read_kueue_usage(const configuration& of, const kube::value& usage, const std::string& file) {
  std::vector<fr_amount> made;
  for (std::size_t i = 0; i < usage.keys.size(); ++i) {
    const std::size_t slash = usage.keys[i].find('/');  // names of resources may have one, too
    if (slash == std::string::npos) refuse(file, usage, "\"" + usage.keys[i] + "\" has to be flavor/resource");
    count_in(of, usage.keys[i].substr(0, slash), usage.keys[i].substr(slash + 1), whole(usage.items[i], file), made);
  }
  return made;
}

std::vector<fr_amount> admitted_kueue_usage(const configuration& of, const kube::value& admission,
                                            const std::string& file) {
  std::vector<fr_amount> made;
  for (const kube::value& one : field(admission, "podSets", file).items) {
    const kube::value& flavors = field(one, "flavors", file);
    for (std::size_t i = 0; i < flavors.keys.size(); ++i)
      if (const kube::value* amount = field(one, "usage", file).find(flavors.keys[i]))
        count_in(of, flavors.items[i].text, flavors.keys[i], whole(*amount, file), made);
  }
  return made;
}

bool same_share(const std::string& recorded, double got) {
  if (recorded == "+Inf") return std::isinf(got) && got > 0;
  const double wanted = std::strtod(recorded.c_str(), nullptr);
  return std::abs(wanted - got) <= 1e-9 * std::max(std::abs(wanted), std::abs(got));
}

bool kueue_gate(const kube::value& recorded, std::string_view name, bool otherwise) {
  const kube::value* gates = recorded.find("config") == nullptr ? nullptr : recorded.find("config")->find("gates");
  const kube::value* gate = gates == nullptr ? nullptr : gates->find(name);
  return gate == nullptr ? otherwise : gate->text == "true";
}

fair_sharing_options read_kueue_sharing(const kube::value& recorded, const std::string& file) {
  const kube::value& config = field(recorded, "config", file);
  fair_sharing_options made{.enabled = is_true(config, "fairSharing")};
  if (const kube::value* strategies = config.find("strategies")) {
    static const std::map<std::string, fair_strategy> names{
        {"LessThanOrEqualToFinalShare", fair_strategy::less_or_equal_final},
        {"LessThanInitialShare", fair_strategy::less_than_initial}};
    const std::vector<std::string> all = texts(strategies);
    made.first = one_of(names, *strategies, all.at(0), file);
    made.then_less_than_initial = all.size() > 1;
  }
  return made;
}

instant read_seconds(const kube::value& of, const std::string& file) {
  if (of.kind != kube::value_kind::number) refuse(file, of, "has to be a number of seconds");
  return instant{std::llround(std::strtod(of.text.c_str(), nullptr) * 1e9)};
}

workload_spec read_kueue_workload(const kube::value& of, const kube::value& recorded, const std::string& file) {
  static const std::map<std::string, label_operator> operators{
      {"In", label_operator::in},         {"NotIn", label_operator::not_in},
      {"Exists", label_operator::exists}, {"DoesNotExist", label_operator::does_not_exist},
      {"Gt", label_operator::greater},    {"Lt", label_operator::less}};
  workload_spec made{.name = text_field(of, "name", file),
                     .uid = text_or(of, "uid", ""),
                     .queue = text_field(of, "queue", file),
                     .priority = static_cast<std::int32_t>(whole_field(of, "priority", file)),
                     .created = read_seconds(field(of, "created", file), file),
                     .pod_sets = {}};
  for (const kube::value& one : field(of, "podSets", file).items) {
    pod_set_spec& pods = made.pod_sets.emplace_back();
    pods.name = text_field(one, "name", file);
    pods.count = static_cast<std::int32_t>(whole_field(one, "count", file));
    if (const kube::value* least = one.find("min")) pods.min_count = static_cast<std::int32_t>(whole(*least, file));
    if (const kube::value* done = one.find("reclaimable");
        done != nullptr && kueue_gate(recorded, "ReclaimablePods", true))
      pods.reclaimable = static_cast<std::int32_t>(whole(*done, file));
    const kube::value& requests = field(one, "requests", file);
    for (std::size_t i = 0; i < requests.keys.size(); ++i)
      pods.requests[requests.keys[i]] = whole(requests.items[i], file);
    if (const kube::value* labels = one.find("nodeSelector"))
      for (std::size_t i = 0; i < labels->keys.size(); ++i) pods.node_selector[labels->keys[i]] = labels->items[i].text;
    if (const kube::value* affinity = one.find("affinity")) {
      std::vector<label_requirement>& term = pods.affinity.emplace_back();
      for (const kube::value& each : affinity->items)
        term.push_back({text_field(each, "key", file),
                        one_of(operators, each, text_field(each, "operator", file), file), texts(each.find("values"))});
    }
    pods.tolerations = read_kueue_tolerations(one, file);
  }
  return made;
}

std::map<std::string, row_t> add_running_workloads(const configuration& of, const kube::value& recorded,
                                                   const std::string& file, workload_table& table,
                                                   quota_ledger& ledger) {
  std::map<std::string, row_t> rows;
  for (const kube::value& one : field(recorded, "workloads", file).items) {
    const kube::value* admission = one.find("admission");
    if (admission == nullptr) continue;
    const workload_spec spec = read_kueue_workload(one, recorded, file);
    const auto queue = kueue_queue(of, field(*admission, "queue", file), file);
    const auto usage = admitted_kueue_usage(of, *admission, file);
    const workload_id id = table.add(
        {.name = spec.name, .uid = spec.uid, .queue = queue, .priority = spec.priority, .created = spec.created});
    table.admit(id.row, read_seconds(field(*admission, "at", file), file), usage);
    if (one.find("evicted") != nullptr) table.set_evicted(id.row, true);
    ledger.add(queue, usage);
    rows[spec.name] = id.row;
  }
  return rows;
}

namespace {
const std::map<std::string, fit_mode> fit_modes{{"NoFit", fit_mode::no_fit},
                                                {"Preempt", fit_mode::preempt},
                                                {"DeferredFit", fit_mode::deferred_fit},
                                                {"Fit", fit_mode::fit}};
}  // namespace

std::string to_text(fit_mode mode) {
  return std::find_if(fit_modes.begin(), fit_modes.end(), [&](const auto& one) { return one.second == mode; })->first;
}

fit_mode read_fit_mode(const kube::value& of, const std::string& file) { return one_of(fit_modes, of, of.text, file); }

std::string to_text(preemption_reason reason) {
  switch (reason) {
    case preemption_reason::in_queue: return "InClusterQueue";
    case preemption_reason::reclamation: return "InCohortReclamation";
    case preemption_reason::fair_sharing: return "InCohortFairSharing";
    case preemption_reason::reclaim_while_borrowing: break;
  }
  return "InCohortReclaimWhileBorrowing";
}

namespace {
template <class Map>
std::string map_text(const Map& all) {
  std::string made;
  for (const auto& [key, value] : all) made += fmt::format("{}{}={}", made.empty() ? "" : " ", key, value);
  return made;
}
}  // namespace

std::string flavors_text(const configuration& of, std::span<const chosen_flavor> all) {
  std::map<std::string, std::string> sorted;
  for (const chosen_flavor& one : all)
    sorted[of.resource(one.resource)] = of.flavor(one.flavor).name + " " + to_text(one.mode);
  return map_text(sorted);
}

std::string flavors_text(const kube::value& recorded) {
  std::map<std::string, std::string> sorted;
  for (std::size_t i = 0; i < recorded.keys.size(); ++i)
    sorted[recorded.keys[i]] = recorded.items[i].items.at(0).text + " " + recorded.items[i].items.at(1).text;
  return map_text(sorted);
}

std::string usage_text(const configuration& of, std::span<const fr_amount> all) {
  std::map<std::string, std::string> sorted;
  for (const fr_amount& one : all)
    sorted[of.flavor(of.flavor_of(one.of)).name + "/" + of.resource(of.resource_of(one.of))] =
        std::to_string(one.amount);
  return map_text(sorted);
}

std::string usage_text(const kube::value& recorded) {
  std::map<std::string, std::string> sorted;
  for (std::size_t i = 0; i < recorded.keys.size(); ++i) sorted[recorded.keys[i]] = recorded.items[i].text;
  return map_text(sorted);
}

void compare_kueue_share(const configuration& of, const kube::value& recorded, const dominant_share& got,
                         const std::string& level, const std::string& where, const std::string& file, tally& into) {
  const std::string& share = text_field(recorded, "share", file);
  const std::string resource = got.resource == none ? "" : of.resource(got.resource);
  const bool same = same_share(share, got.weighted()) && whole_field(recorded, "rounded", file) == got.rounded() &&
                    text_or(recorded, "resource", "") == resource && is_true(recorded, "borrows") == got.borrows;
  into.compare(level, same, [&] {
    return difference{where, level, "", to_json(recorded),
                      fmt::format("{} {} {} {}", got.weighted(), got.rounded(), resource, got.borrows)};
  });
}

void compare_kueue_shares(const quota_ledger& ledger, const kube::value& recorded, const std::string& level,
                          const std::string& where, const std::string& file, tally& into) {
  const auto all = [&](const char* key, const auto& find) {
    const kube::value* shares = recorded.find(key);
    if (shares == nullptr) return;
    for (std::size_t i = 0; i < shares->keys.size(); ++i) {
      const std::optional<queues::queue_index> node = find(shares->keys[i]);
      if (!node) refuse(file, *shares, "there is no " + shares->keys[i]);
      compare_kueue_share(ledger.of(), shares->items[i], ledger.share(*node), level, where + " " + shares->keys[i],
                          file, into);
    }
  };
  all("queueShares", [&](const std::string& name) { return ledger.of().find_queue(name); });
  all("cohortShares", [&](const std::string& name) { return ledger.of().find_cohort(name); });
}

void run_kueue_case(const kube::value& recorded, const std::string& file, tally& into) {
  if (recorded.find("queueShares") != nullptr)
    run_kueue_quota_case(recorded, file, into);
  else if (recorded.find("plan") != nullptr)
    run_kueue_preempt_case(recorded, file, into);
  else if (recorded.find("workload") != nullptr)
    run_kueue_assign_case(recorded, file, into);
  else if (recorded.find("runs") != nullptr)
    run_kueue_schedule_case(recorded, file, into);
  else
    refuse(file, recorded, "is no case of Kueue's that can be run");
  if (into.on_cluster && recorded.find("runs") != nullptr) run_kueue_cycles_on_cluster(recorded, file, into);
}

}  // namespace gangsched::conformance
