#include "gangsched/src/kube/simulation/diff.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <deque>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "gangsched/src/kube/simulation/bad_input.hpp"

namespace gangsched::inline GANGSCHED_ABI::kube::simulation {
namespace {

/// Pods that ran before and still do are in the other result only if that lists all.
constexpr const char* not_listed = "";

std::string text_at(const value& of, std::string_view field) {
  const value* const found = of.find(field);
  return found != nullptr && found->kind == value_kind::text ? found->text : std::string{};
}

std::string key_of(const std::string& ns, const std::string& name) { return ns + "/" + name; }

std::string state_of(const value& pod) {
  const std::string status = text_at(pod, "status"), node = text_at(pod, "node");
  return node.empty() ? status : fmt::format("{} on {}", status, node);
}

std::string state_of(const pod_outcome& pod) {
  const std::string status{name_of(pod.is)};
  return pod.node.empty() ? status : fmt::format("{} on {}", status, pod.node);
}

std::string state_of(const group_outcome& group) { return group.scheduled_at ? "scheduled" : "unschedulable"; }

std::string state_of_group(const value& group) {
  const value* const condition = group.find("condition");
  const bool scheduled = condition != nullptr && text_at(*condition, "status") == "True";
  return scheduled ? "scheduled" : "unschedulable";
}

/// By name, what the other result says of each: of those that were called so one after another, in that order.
template <class State>
std::unordered_map<std::string, std::deque<std::string>> states_in(const std::vector<value>& list, const State& state) {
  std::unordered_map<std::string, std::deque<std::string>> all;
  for (const value& one : list) all[key_of(text_at(one, "namespace"), text_at(one, "name"))].push_back(state(one));
  return all;
}

/// Empty where there is no such field. Throws bad_input if it is no list of objects with names.
std::vector<value> list_in(const source& whole, const value& of, const std::string& field) {
  const value* const found = of.find(field);
  if (found == nullptr) return {};
  const auto has_name = [](const value& one) {
    return one.kind == value_kind::object && !text_at(one, "name").empty();
  };
  if (found->kind != value_kind::list || !std::ranges::all_of(found->items, has_name))
    throw bad_input{whole.name, field, "is no list of what gangsched-simulate --output json writes there"};
  return found->items;
}

/// Those that are otherwise, in the order of this run, then those that only the other one has, in its order.
template <class Now, class State>
std::vector<changed_object> changes(const std::vector<Now>& now, const std::vector<value>& before,
                                    const State& state_before) {
  auto known = states_in(before, state_before);
  std::vector<changed_object> all;
  for (const Now& one : now) {
    const std::string name = key_of(one.ns, one.name), is = state_of(one);
    std::deque<std::string>& left = known[name];
    std::string was = not_listed;
    if (!left.empty()) was = std::move(left.front()), left.pop_front();
    if (was != is) all.push_back({name, std::move(was), is});
  }
  for (const value& one : before) {
    const std::string name = key_of(text_at(one, "namespace"), text_at(one, "name"));
    for (std::string& was : std::exchange(known[name], {})) all.push_back({name, std::move(was), not_listed});
  }
  return all;
}

}  // namespace

difference compare(const outcome& now, const source& before) {
  const auto documents = parse_json(before);
  const value* const other = documents && documents->size() == 1 ? &documents->front().root : nullptr;
  const value* const summary = other == nullptr ? nullptr : other->find("summary");
  const value* const pods = other == nullptr ? nullptr : other->find("pods");
  if (summary == nullptr || summary->kind != value_kind::object || pods == nullptr || pods->kind != value_kind::list)
    throw bad_input{before.name, "", "is no result of gangsched-simulate --output json"};
  const auto number = [&](const char* field) {
    const value* const found = summary->find(field);
    double made = 0;
    if (found != nullptr && found->kind != value_kind::number)
      throw bad_input{before.name, fmt::format("summary.{}", field), "is no number"};
    if (found != nullptr) std::from_chars(found->text.data(), found->text.data() + found->text.size(), made);
    return made;
  };
  difference made;
  made.pods = changes(now.pods, list_in(before, *other, "pods"), [](const value& pod) { return state_of(pod); });
  // A pod that runs in both is in this result's list alone, unless the other one lists those that run.
  std::erase_if(made.pods, [](const changed_object& one) {
    return one.before == not_listed && one.now.starts_with(name_of(fate::running));
  });
  made.groups = changes(now.groups, list_in(before, *other, "groups"), state_of_group);
  const outcome::counts counts = now.count();
  const auto add = [&](const char* what, const char* field, double is) {
    if (const double was = number(field); was != is) made.numbers.push_back({what, was, is});
  };
  add("nodes", "nodes", static_cast<double>(now.nodes));
  add("pods to place", "pods", static_cast<double>(counts.to_place));
  add("placed", "placed", static_cast<double>(counts.placed));
  add("ended", "ended", static_cast<double>(counts.ended));
  add("evicted", "evicted", static_cast<double>(counts.evicted));
  add("unscheduled", "unscheduled", static_cast<double>(counts.unscheduled));
  add("seconds to the last change", "end_seconds", seconds(now.end));
  return made;
}

}  // namespace gangsched::inline GANGSCHED_ABI::kube::simulation
