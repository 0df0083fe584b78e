#include "simulate/diff.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "simulate/bad_input.hpp"

namespace simulate {
namespace {

using json = nlohmann::json;

/// Pods that ran before and still do are in the other result only if it was made with --all.
constexpr const char* not_listed = "";

std::string text_at(const json& of, const char* field) {
  const auto found = of.find(field);
  return found != of.end() && found->is_string() ? found->get<std::string>() : std::string{};
}

std::string key_of(const std::string& ns, const std::string& name) { return ns + "/" + name; }

std::string state_of(const json& pod) {
  const std::string status = text_at(pod, "status"), node = text_at(pod, "node");
  return node.empty() ? status : fmt::format("{} on {}", status, node);
}

std::string state_of(const pod_outcome& pod) {
  const std::string status{name_of(pod.is)};
  return pod.node.empty() ? status : fmt::format("{} on {}", status, pod.node);
}

std::string state_of(const group_outcome& group) { return group.scheduled_at ? "scheduled" : "unschedulable"; }

std::string state_of_group(const json& group) {
  const auto condition = group.find("condition");
  const bool scheduled = condition != group.end() && condition->is_object() && text_at(*condition, "status") == "True";
  return scheduled ? "scheduled" : "unschedulable";
}

/// By name, what the other result says of each.
template <class State>
std::unordered_map<std::string, std::string> states_in(const json& list, const State& state) {
  std::unordered_map<std::string, std::string> all;
  for (const json& one : list) all.emplace(key_of(text_at(one, "namespace"), text_at(one, "name")), state(one));
  return all;
}

const json& list_in(const json& of, const char* field) {
  static const json none = json::array();
  const auto found = of.find(field);
  return found != of.end() && found->is_array() ? *found : none;
}

/// Those that are otherwise, in the order of this run, then those that only the other one has, in its order.
template <class Now, class State>
std::vector<changed_object> changes(const std::vector<Now>& now, const json& before, const State& state_before) {
  std::unordered_map<std::string, std::string> known = states_in(before, state_before);
  std::vector<changed_object> all;
  for (const Now& one : now) {
    const std::string name = key_of(one.ns, one.name), is = state_of(one);
    const auto found = known.find(name);
    std::string was = found == known.end() ? not_listed : found->second;
    if (found != known.end()) known.erase(found);
    if (was != is) all.push_back({name, std::move(was), is});
  }
  for (const json& one : before) {
    const std::string name = key_of(text_at(one, "namespace"), text_at(one, "name"));
    if (known.contains(name)) all.push_back({name, state_before(one), not_listed});
  }
  return all;
}

}  // namespace

difference compare(const outcome& now, const std::string& before, const std::string& file) {
  const json other = json::parse(before, nullptr, false);
  const auto summary = other.is_object() ? other.find("summary") : other.end();
  if (!other.is_object() || summary == other.end() || !summary->is_object() || !other.contains("pods") ||
      !other["pods"].is_array())
    throw bad_input{fmt::format("{}: is no result of gangsched-simulate --output json", file)};
  const auto number = [&](const char* field) {
    const auto found = summary->find(field);
    return found != summary->end() && found->is_number() ? found->get<double>() : 0.0;
  };
  difference made;
  made.pods = changes(now.pods, list_in(other, "pods"), [](const json& pod) { return state_of(pod); });
  // Whoever runs in both is in this result's list alone, unless the other one lists those that run.
  std::erase_if(made.pods, [](const changed_object& one) {
    return one.before == not_listed && one.now.starts_with(name_of(fate::running));
  });
  made.groups = changes(now.groups, list_in(other, "groups"), state_of_group);
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

}  // namespace simulate
