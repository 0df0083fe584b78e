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

using object = earlier_result::object;

/// Empty where there is no such field. Throws bad_input if it is no list of objects with names.
template <class State>
std::vector<object> list_in(const source& whole, const value& of, const char* field, const State& state) {
  const value* const found = of.find(field);
  if (found == nullptr) return {};
  const auto has_name = [](const value& one) {
    return one.kind == value_kind::object && !text_at(one, "name").empty();
  };
  if (found->kind != value_kind::list || !std::ranges::all_of(found->items, has_name))
    throw bad_input{whole.name, field, "is no list of what gangsched-simulate --output json writes there"};
  std::vector<object> all;
  for (const value& one : found->items)
    all.push_back({key_of(text_at(one, "namespace"), text_at(one, "name")), state(one)});
  return all;
}

/// Those that are otherwise, in the order of this run, then those that only the other one has, in its order. Of objects that were called
/// the same one after another each is compared with the one in its place.
template <class Now>
std::vector<changed_object> changes(const std::vector<Now>& now, const std::vector<object>& before) {
  std::unordered_map<std::string_view, std::deque<std::string_view>> known;
  for (const object& one : before) known[one.name].push_back(one.state);
  std::vector<changed_object> all;
  for (const Now& one : now) {
    const std::string name = key_of(one.ns, one.name), is = state_of(one);
    std::string was = not_listed;
    if (const auto found = known.find(name); found != known.end() && !found->second.empty())
      was = found->second.front(), found->second.pop_front();
    if (was != is) all.push_back({name, std::move(was), is});
  }
  for (const object& one : before)
    for (const std::string_view was : std::exchange(known[one.name], {}))
      all.push_back({one.name, std::string{was}, not_listed});
  return all;
}

}  // namespace

earlier_result read_result(const source& from) {
  const auto documents = parse_json(from);
  const value* const root = documents && documents->size() == 1 ? &documents->front().root : nullptr;
  const value* const summary = root == nullptr ? nullptr : root->find("summary");
  const value* const pods = root == nullptr ? nullptr : root->find("pods");
  if (summary == nullptr || summary->kind != value_kind::object || pods == nullptr || pods->kind != value_kind::list)
    throw bad_input{from.name, "", "is no result of gangsched-simulate --output json"};
  earlier_result made;
  made.pods = list_in(from, *root, "pods", [](const value& pod) { return state_of(pod); });
  made.groups = list_in(from, *root, "groups", state_of_group);
  for (std::size_t i = 0; i < compared_numbers.size(); ++i) {
    const char* const field = compared_numbers[i].second;
    const value* const found = summary->find(field);
    if (found == nullptr) continue;
    if (found->kind != value_kind::number) throw bad_input{from.name, fmt::format("summary.{}", field), "is no number"};
    std::from_chars(found->text.data(), found->text.data() + found->text.size(), made.numbers[i]);
  }
  return made;
}

difference compare(const outcome& now, const earlier_result& before) {
  difference made;
  made.pods = changes(now.pods, before.pods);
  // A pod that runs in both is in this result's list alone, unless the other one lists those that run.
  std::erase_if(made.pods, [](const changed_object& one) {
    return one.before == not_listed && one.now.starts_with(name_of(fate::running));
  });
  made.groups = changes(now.groups, before.groups);
  const outcome::counts counts = now.count();
  const std::array<double, compared_numbers.size()> numbers{static_cast<double>(now.nodes),
                                                            static_cast<double>(counts.to_place),
                                                            static_cast<double>(counts.placed),
                                                            static_cast<double>(counts.ended),
                                                            static_cast<double>(counts.evicted),
                                                            static_cast<double>(counts.unscheduled),
                                                            seconds(now.end)};
  for (std::size_t i = 0; i < numbers.size(); ++i)
    if (before.numbers[i] != numbers[i])
      made.numbers.push_back({compared_numbers[i].first, before.numbers[i], numbers[i]});
  return made;
}

}  // namespace gangsched::inline GANGSCHED_ABI::kube::simulation
