#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "conformance/cases.hpp"
#include "gangsched/queues/capacity_scheduling/victims.hpp"
#include "gangsched/queues/koordinator/elastic_quota.hpp"

// koordinator/quota.jsonl and scheduler-plugins/capacity.jsonl: quotas with a minimum and a maximum, of two systems.
namespace gangsched::conformance {
namespace {

using namespace gangsched::queues;
using amounts = std::vector<std::int64_t>;

std::int64_t whole(const kube::value& of) { return std::stoll(of.text); }

bool is_true(const kube::value& of, std::string_view key) {
  const kube::value* found = of.find(key);
  return found != nullptr && found->text == "true";
}

/// Entries that are missing are unnamed; so are all of a map that is missing.
amounts amounts_of(const kube::value* map, const std::vector<std::string>& resources) {
  amounts made(resources.size(), unnamed);
  if (map == nullptr) return made;
  for (std::size_t i = 0; i < map->keys.size(); ++i) {
    const auto at = std::ranges::find(resources, map->keys[i]);
    if (at != resources.end()) made[static_cast<std::size_t>(at - resources.begin())] = whole(map->items[i]);
  }
  return made;
}

std::string in_words(const std::vector<std::string>& resources, std::uint64_t bits) {
  std::vector<std::string> made;
  for (std::size_t i = 0; i < resources.size(); ++i)
    if ((bits >> i & 1) != 0) made.push_back(resources[i]);
  std::ranges::sort(made);
  return fmt::format("{}", made);
}

/// A tree of Koordinator's through its steps. Every number of every quota is compared after each step.
class quota_runner {
 public:
  quota_runner(const kube::value& recorded, const std::string& file, tally& into)
      : recorded_(&recorded), file_(&file), into_(&into), resources_(texts(&field(recorded, "resources", file))) {
    const kube::value& config = field(recorded, "config", file);
    options_ = {.runtime = is_true(config, "runtime"),
                .check_parents = is_true(config, "checkParents"),
                .scale_min = is_true(config, "scaleMin"),
                .guarantee_usage = is_true(config, "guaranteeUsage")};
    for (const kube::value& one : field(recorded, "quotas", file).items) add_spec(one);
    total_ = total_of(field(recorded, "total", file));
    quotas_ = must(koordinator::elastic_quotas::make(tree(), specs_, total_, options_));
    must(quotas_.set_quota(quotas_.default_quota(), {.max = amounts_of(config.find("defaultMax"), resources_)}));
  }

  void run() {
    std::size_t number = 0;
    for (const kube::value& one : field(*recorded_, "steps", *file_).items) {
      where_ = fmt::format("{} step {} ({})", text_field(*recorded_, "name", *file_), number++,
                           text_field(one, "op", *file_));
      step(one);
      const kube::value& changed = field(one, "state", *file_);
      for (std::size_t i = 0; i < changed.keys.size(); ++i) state_[changed.keys[i]] = &changed.items[i];
      quotas_.refresh();
      for (const auto& [quota, numbers] : state_) compare_state(quota, *numbers);
    }
  }

 private:
  struct pod {
    queue_index quota = no_queue;
    amounts request = {};
    bool preemptible = true, assigned = false;
    [[nodiscard]] koordinator::quota_pod view() const { return {request, preemptible}; }
  };

  void add_spec(const kube::value& one) {
    const kube::value* parent = one.find("parent");
    names_.push_back(text_field(one, "name", *file_));
    parents_.push_back(parent == nullptr ? "" : parent->text);
    specs_.push_back(spec_of(one));
  }
  koordinator::quota_spec spec_of(const kube::value& one) const {
    koordinator::quota_spec made{.min = amounts_of(one.find("min"), resources_),
                                 .max = amounts_of(one.find("max"), resources_),
                                 .lends = !is_true(one, "noLend")};
    if (const kube::value* weight = one.find("weight")) made.weight = amounts_of(weight, resources_);
    return made;
  }
  amounts total_of(const kube::value& map) const {
    amounts made = amounts_of(&map, resources_);
    std::ranges::replace(made, unnamed, 0);
    return made;
  }
  [[nodiscard]] queue_tree tree() const {
    std::vector<queue_link> links;
    for (std::size_t i = 0; i < names_.size(); ++i) links.push_back({names_[i], parents_[i]});
    return must(queue_tree::make(links));
  }
  pod& pod_of(const std::string& name, const kube::value& at) {
    const auto found = pods_.find(name);
    if (found == pods_.end()) refuse(*file_, at, "there is no pod " + name);
    return found->second;
  }
  void compare(const std::string& level, const std::string& quota, const std::string& expected,
               const std::string& got) {
    into_->compare(level, expected == got, [&] { return difference{where_, level, quota, expected, got}; });
  }

  void step(const kube::value& one) {
    const std::string& op = text_field(one, "op", *file_);
    if (op == "pod") {
      const kube::value& came = field(one, "pod", *file_);
      const kube::value* quota = came.find("quota");
      pod made{quota == nullptr ? quotas_.default_quota() : find(quota->text, came),
               amounts_of(came.find("requests"), resources_), !is_true(came, "nonPreemptible")};
      must(quotas_.add_pod(made.quota, made.view()));
      try_pod(pods_[text_field(came, "name", *file_)] = std::move(made), one);
    } else if (op == "try") {
      try_pod(pod_of(text_field(one, "pod", *file_), one), one);
    } else if (op == "unassign") {
      unassign(pod_of(text_field(one, "pod", *file_), one));
    } else if (op == "removePod") {
      pod& gone = pod_of(text_field(one, "pod", *file_), one);
      unassign(gone);
      must(quotas_.remove_pod(gone.quota, gone.view()));
      pods_.erase(text_field(one, "pod", *file_));
    } else if (op == "total") {
      total_ = total_of(field(one, "total", *file_));
      must(quotas_.set_total(total_));
    } else if (op == "quota") {
      change_quota(field(one, "quota", *file_));
    } else if (op != "start") {
      refuse(*file_, one, "unknown op \"" + op + "\"");
    }
  }

  void change_quota(const kube::value& came) {
    if (const auto found = quotas_.tree().find(text_field(came, "name", *file_)))
      return must(quotas_.set_quota(*found, spec_of(came)));
    for (queue_index quota = 0; quota < quotas_.tree().size(); ++quota) specs_[quota] = quotas_.spec(quota);
    add_spec(came);
    const queue_index default_quota = quotas_.default_quota();
    quotas_ = must(quotas_.with_tree(tree(), specs_));
    for (auto& [name, one] : pods_)
      if (one.quota == default_quota) one.quota = quotas_.default_quota();
  }

  void unassign(pod& of) {
    if (of.assigned) must(quotas_.unassign_pod(of.quota, of.view()));
    of.assigned = false;
  }

  void try_pod(pod& of, const kube::value& one) {
    const koordinator::quota_verdict got = must(quotas_.admit(of.quota, of.view()));
    const kube::value& verdict = field(one, "verdict", *file_);
    std::string expected = "fits";
    if (!is_true(verdict, "fits")) {
      std::vector<std::string> at_fault = texts(verdict.find("resources"));
      std::ranges::sort(at_fault);
      expected = fmt::format("{} {} {}", text_field(verdict, "reason", *file_), text_field(verdict, "quota", *file_),
                             at_fault);
    }
    compare("verdict", "", expected, words(got));
    if (!is_true(one, "assigned")) return;
    of.assigned = true;
    must(quotas_.assign_pod(of.quota, of.view()));
  }

  [[nodiscard]] std::string words(const koordinator::quota_verdict& verdict) const {
    using why = koordinator::quota_verdict::reason;
    if (verdict) return "fits";
    const std::string_view reason = verdict.why == why::over_quota        ? "quota"
                                    : verdict.why == why::non_preemptible ? "nonPreemptible"
                                                                          : "ancestor";
    const std::string quota = verdict.quota == quotas_.default_quota() ? std::string{"koordinator-default-quota"}
                                                                       : quotas_.tree().name(verdict.quota);
    return fmt::format("{} {} {}", reason, quota, in_words(resources_, verdict.resources));
  }

  [[nodiscard]] queue_index find(const std::string& quota, const kube::value& at) const {
    const auto found = quotas_.tree().find(quota);
    if (!found) refuse(*file_, at, "there is no quota " + quota);
    return *found;
  }

  void compare_state(const std::string& quota, const kube::value& numbers) {
    const bool root = quota == "koordinator-root-quota", named = quota != "koordinator-default-quota";
    const auto recorded = [&](std::string_view key) {
      amounts made;
      if (const kube::value* found = numbers.find(key))
        for (const kube::value& one : found->items) made.push_back(whole(one));
      return made;
    };
    const auto row = [&](const auto& amount_of) {
      amounts made;
      for (std::size_t resource = 0; resource < resources_.size(); ++resource) made.push_back(amount_of(resource));
      return fmt::format("{}", made);
    };
    const auto compare_row = [&](const std::string& level, const amounts& expected, const std::string& got) {
      compare(level, quota, fmt::format("{}", expected), got);
    };
    if (root) {
      compare_row("runtime", recorded("runtime"), row([&](std::size_t resource) { return quotas_.shared(resource); }));
      compare_row("used", recorded("used"), row([&](std::size_t resource) { return used_by_all(resource); }));
      return;
    }
    const queue_index at = named ? find(quota, numbers) : quotas_.default_quota();
    const auto of = [&](std::int64_t koordinator::quota_account::*member) {
      return row([&](std::size_t resource) { return quotas_.accounts(at)[resource].*member; });
    };
    using account = koordinator::quota_account;
    const auto or_else = [&](std::string_view key, amounts other) {
      return numbers.find(key) == nullptr ? other : recorded(key);
    };
    compare_row("used", recorded("used"), of(&account::used));
    compare_row("request", recorded("request"), of(&account::request));
    compare_row("limited", or_else("limited", recorded("request")), of(&account::limited));
    if (!named) return;
    amounts min;
    for (const account& one : quotas_.accounts(at)) min.push_back(amount_or_zero(one.min));
    compare_row("runtime", recorded("runtime"), of(&account::runtime));
    compare_row("scaledMin", or_else("scaledMin", min), of(&account::scaled_min));
    compare_row("wanted", or_else("wanted", recorded("request")), of(&account::wanted));
    compare_row("nonPreemptibleUsed", or_else("nonPreemptibleUsed", amounts(resources_.size(), 0)),
                of(&account::non_preemptible_used));
    if (options_.guarantee_usage) compare_row("guaranteed", recorded("guaranteed"), of(&account::guaranteed));
  }

  [[nodiscard]] std::int64_t used_by_all(std::size_t resource) const {
    std::int64_t sum = total_[resource] - quotas_.shared(resource);
    for (const queue_index root : quotas_.tree().roots()) sum += quotas_.accounts(root)[resource].used;
    return sum;
  }

  const kube::value* recorded_;
  const std::string* file_;
  tally* into_;
  std::vector<std::string> resources_, names_, parents_;
  koordinator::quota_options options_;
  std::vector<koordinator::quota_spec> specs_;
  amounts total_;
  koordinator::elastic_quotas quotas_;
  std::map<std::string, pod> pods_;
  std::map<std::string, const kube::value*> state_;  ///< of each quota, as of the last step that changed it
  std::string where_;
};

/// One pod that wants to run, quotas and nodes of CapacityScheduling's.
class capacity_runner {
 public:
  capacity_runner(const kube::value& recorded, const std::string& file, tally& into)
      : recorded_(&recorded), file_(&file), into_(&into), name_(text_field(recorded, "name", file)) {
    for (const kube::value& node : field(recorded, "nodes", file).items)
      for (const std::string& resource : field(node, "allocatable", file).keys) add_resource(resource);
    for (const kube::value& quota : field(recorded, "quotas", file).items)
      for (const char* limit : {"min", "max"})
        if (const kube::value* found = quota.find(limit))
          for (const std::string& resource : found->keys) add_resource(resource);
    std::vector<capacity_scheduling::resource_kind> kinds;
    for (const std::string& resource : resources_)
      kinds.push_back(resource == "cpu" || resource == "memory" ? capacity_scheduling::resource_kind::field
                                                                : capacity_scheduling::resource_kind::extended);
    std::vector<capacity_scheduling::quota_spec> specs;
    for (const kube::value& quota : field(recorded, "quotas", file).items) {
      auto& made = specs.emplace_back();
      made.name = text_field(quota, "namespace", file);
      if (const kube::value* min = quota.find("min")) made.min = amounts_of(min, resources_);
      if (const kube::value* max = quota.find("max")) made.max = amounts_of(max, resources_);
    }
    quotas_ = must(capacity_scheduling::elastic_quotas::make(kinds, specs));
    pending_ = read_pod(field(recorded, "pod", file));
    for (const kube::value& one : field(recorded, "pods", file).items) {
      running_.push_back(read_pod(one));
      must(quotas_.use(running_.back().view()));
    }
    for (const kube::value& one : field(recorded, "nominated", file).items) nominated_.push_back(read_pod(one));
  }

  void run() {
    std::vector<capacity_scheduling::quota_pod> nominated;
    for (const pod& one : nominated_) nominated.push_back(one.view());
    const auto demand = must(quotas_.demand(pending_.view(), nominated));
    const auto verdict = quotas_.admit(pending_.view(), demand);
    const kube::value& prefilter = field(*recorded_, "prefilter", *file_);
    const std::string_view reasons[]{"fits", "max", "min"};
    compare("verdict", "", is_true(prefilter, "ok") ? "fits" : text_field(prefilter, "reason", *file_),
            std::string{reasons[static_cast<std::size_t>(verdict.why)]});
    const kube::value* victims = recorded_->find("victims");
    if (victims == nullptr) return;
    for (std::size_t i = 0; i < victims->keys.size(); ++i) compare_victims(victims->keys[i], victims->items[i], demand);
  }

 private:
  struct pod {
    std::string name, node = {};
    queue_index quota = no_queue;
    amounts request = {};
    std::int32_t priority = 0;
    instant start{};
    [[nodiscard]] capacity_scheduling::quota_pod view() const { return {quota, request, priority, start}; }
  };

  /// What NodeResourcesFit alone says, with pods that are nominated to the node and not less important, and without them.
  class node_fit : public trial_node {
   public:
    node_fit(amounts free, amounts nominated, const amounts& request, std::vector<const pod*> running)
        : free_(std::move(free)), nominated_(std::move(nominated)), request_(&request), running_(std::move(running)) {}
    void remove(std::uint32_t at) override { add(running_[at]->request, 1); }
    void put_back(std::uint32_t at) override { add(running_[at]->request, -1); }
    bool fits() override {
      for (std::size_t resource = 0; resource < free_.size(); ++resource) {
        const std::int64_t asks = amount_or_zero((*request_)[resource]);
        if (asks > 0 && (asks > free_[resource] || asks > free_[resource] - nominated_[resource])) return false;
      }
      return true;
    }

   private:
    void add(const amounts& request, std::int64_t sign) {
      for (std::size_t resource = 0; resource < free_.size(); ++resource)
        free_[resource] += sign * amount_or_zero(request[resource]);
    }
    amounts free_, nominated_;
    const amounts* request_;
    std::vector<const pod*> running_;
  };

  void add_resource(const std::string& resource) {
    if (resource != "pods" && std::ranges::find(resources_, resource) == resources_.end())
      resources_.push_back(resource);
  }
  pod read_pod(const kube::value& one) const {
    pod made{.name = text_field(one, "name", *file_), .request = amounts_of(one.find("requests"), resources_)};
    if (const kube::value* node = one.find("node")) made.node = node->text;
    made.quota = quotas_.find(text_field(one, "namespace", *file_)).value_or(no_queue);
    if (const kube::value* priority = one.find("priority")) made.priority = static_cast<std::int32_t>(whole(*priority));
    if (const kube::value* start = one.find("start")) made.start = std::chrono::seconds{whole(*start)};
    return made;
  }
  void compare(const std::string& level, const std::string& node, const std::string& expected, const std::string& got) {
    into_->compare(level, expected == got, [&] { return difference{name_, level, node, expected, got}; });
  }

  void compare_victims(const std::string& node, const kube::value& recorded,
                       const capacity_scheduling::quota_demand& demand) {
    amounts free, nominated(resources_.size(), 0);
    for (const kube::value& one : field(*recorded_, "nodes", *file_).items)
      if (text_field(one, "name", *file_) == node) free = amounts_of(one.find("allocatable"), resources_);
    std::ranges::replace(free, unnamed, 0);
    const auto add = [&](amounts& to, const amounts& request, std::int64_t sign) {
      for (std::size_t resource = 0; resource < to.size(); ++resource)
        to[resource] += sign * amount_or_zero(request[resource]);
    };
    std::vector<const pod*> here;
    std::vector<capacity_scheduling::quota_pod> views;
    for (const pod& one : running_) {
      if (one.node != node) continue;
      add(free, one.request, -1);
      here.push_back(&one);
      views.push_back(one.view());
    }
    for (const pod& one : nominated_)
      if (one.node == node && one.priority >= pending_.priority) add(nominated, one.request, 1);
    node_fit trial{std::move(free), std::move(nominated), pending_.request, here};
    const auto got = must(select_victims(quotas_, pending_.view(), demand, views, trial));

    std::vector<std::string> names;
    for (const std::uint32_t victim : got.pods) names.push_back(here[victim]->name);
    std::ranges::sort(names);
    using outcome = capacity_scheduling::victims_outcome;
    const auto as_text = [](const std::vector<std::string>& of) { return fmt::format("{}", of); };
    std::string expected = as_text(texts(&recorded));
    if (recorded.kind == kube::value_kind::null) expected = "none";
    if (recorded.kind == kube::value_kind::object) expected = "an error";
    compare("victims", node, expected,
            got.outcome == outcome::found  ? as_text(names)
            : got.outcome == outcome::none ? "none"
                                           : "an error");
  }

  const kube::value* recorded_;
  const std::string* file_;
  tally* into_;
  std::string name_;
  std::vector<std::string> resources_;
  capacity_scheduling::elastic_quotas quotas_;
  pod pending_;
  std::vector<pod> running_, nominated_;
};

}  // namespace

void run_elastic_quota_case(const kube::value& recorded, const std::string& file, tally& into) {
  quota_runner{recorded, file, into}.run();
}

void run_capacity_case(const kube::value& recorded, const std::string& file, tally& into) {
  capacity_runner{recorded, file, into}.run();
}

}  // namespace gangsched::conformance
