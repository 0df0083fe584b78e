#include "conformance/cases.hpp"

#include <fmt/format.h>

#include <sstream>
#include <string>

namespace gangsched::conformance {

std::string difference::message() const {
  return fmt::format("  {}: {}{}{}: expected {}, got {}", where, what, node.empty() ? "" : " on ", node, expected, got);
}

void refuse(const std::string& file, const kube::value& at, const std::string& why) {
  throw unreadable(fmt::format("{}:{}: {}", file, at.line, why));
}

const kube::value& field(const kube::value& of, std::string_view key, const std::string& file) {
  const kube::value* found = of.find(key);
  if (found == nullptr) refuse(file, of, fmt::format("\"{}\" is missing", key));
  return *found;
}

const std::string& text_field(const kube::value& of, std::string_view key, const std::string& file) {
  const kube::value& found = field(of, key, file);
  if (found.kind != kube::value_kind::text) refuse(file, found, fmt::format("\"{}\" has to be text", key));
  return found.text;
}

void add_budget(cluster& to, const kube::value& budget, const std::string& file) {
  const auto made = must(kube::read_disruption_budget(budget, file));
  must(to.add_disruption_budget({.name = made.name,
                                 .ns = made.ns,
                                 .selector = made.selector,
                                 .disruptions_allowed = made.disruptions_allowed.value_or(0),
                                 .disrupted_pods = made.disrupted_pods}));
}

node_id find_node(const cluster& on, const std::string& name, const kube::value& at, const std::string& file) {
  const auto found = on.find_node(name);
  if (!found) refuse(file, at, "there is no node " + name);
  return *found;
}

std::vector<std::string> texts(const kube::value* list) {
  std::vector<std::string> all;
  if (list != nullptr)
    for (const kube::value& one : list->items) all.push_back(one.text);
  return all;
}

std::string to_json(const kube::value& of) {
  std::string made;
  switch (of.kind) {
    case kube::value_kind::null: return "null";
    case kube::value_kind::boolean:
    case kube::value_kind::number: return of.text;
    case kube::value_kind::text: return "\"" + of.text + "\"";
    case kube::value_kind::list:
      for (const kube::value& one : of.items) made += (made.empty() ? "" : ",") + to_json(one);
      return "[" + made + "]";
    case kube::value_kind::object:
      for (std::size_t i = 0; i < of.keys.size(); ++i)
        made += fmt::format("{}\"{}\":{}", i == 0 ? "" : ",", of.keys[i], to_json(of.items[i]));
      return "{" + made + "}";
  }
  return made;
}

std::map<std::string, std::string> read_reasons(const std::string& path) {
  std::map<std::string, std::string> made;
  std::istringstream lines{must(kube::load(path)).text};
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line.front() == '#') continue;
    const std::size_t colon = line.find(": ");
    if (colon == std::string::npos) throw unreadable(path + ": a line without a reason: " + line);
    made[line.substr(0, colon)] = line.substr(colon + 2);
  }
  return made;
}

void run_file(const std::string& path, tally& into) {
  const auto documents = must(kube::parse_json(must(kube::load(path))));
  if (documents.empty()) throw unreadable(path + ": is empty");
  for (const kube::document& one : documents) {
    const kube::value& root = one.root;
    ++into.cases;
    if (root.find("kueue") != nullptr) {
      run_kueue_case(root, path, into);
    } else if (root.find("resolved") != nullptr && root.find("steps") != nullptr) {
      run_scheduling_case(root, path, into);
    } else if (root.find("pod") != nullptr && root.find("expect") != nullptr) {
      run_preemption_case(root, path, into);
    } else if (root.find("ops") != nullptr) {
      run_queue_case(root, path, into);
    } else if (root.find("gates") != nullptr && root.find("steps") != nullptr) {
      run_group_case(root, path, into);
    } else if (root.find("kai") != nullptr && root.find("want") != nullptr) {
      run_kai_scheduling_case(root, path, into);
    } else if (root.find("kai") != nullptr) {
      run_kai_queue_case(root, path, into);
    } else if (root.find("tiers") != nullptr && root.find("steps") != nullptr) {
      run_volcano_case(root, path, into);
    } else if (root.find("quotas") != nullptr && root.find("steps") != nullptr) {
      run_elastic_quota_case(root, path, into);
    } else if (root.find("quotas") != nullptr && root.find("prefilter") != nullptr) {
      run_capacity_case(root, path, into);
      if (into.on_cluster) run_capacity_case_on_cluster(root, path, into);
    } else if (root.find("fairMax") != nullptr) {
      run_yunikorn_case(root, path, into);
    } else if (root.find("probes") != nullptr) {
      run_toleration_case(root, path, into);
    } else if (root.find("nodes") != nullptr && root.find("steps") != nullptr && root.find("config") != nullptr) {
      run_device_case(root, path, into);
    } else if (is_load_case(root)) {
      run_load_case(root, path, into);
    } else if (root.find("in") != nullptr && root.find("ok") != nullptr) {
      run_quantity_row(root, path, into);
    } else if (root.find("kind") != nullptr && root.find("result") != nullptr) {
      run_selector_row(root, path, into);
    } else {
      refuse(path, root, "is no case of a kind that can be run");
    }
  }
}

}  // namespace gangsched::conformance
