#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <span>
#include <tuple>

#include "simulate/gpus.hpp"
#include "simulate/queue_table.hpp"
#include "simulate/report.hpp"
#include "simulate/table.hpp"

namespace simulate {
namespace {

std::string time_text(const std::optional<instant>& when) { return when ? fmt::format("{} s", seconds(*when)) : ""; }

/// A pod as it is called in this report: without its namespace if there is only one.
class naming {
 public:
  naming(const outcome& of, const text_options& how) {
    for (const pod_outcome& pod : of.pods) {
      if (!how.what.shows(pod)) continue;
      if (only_.empty()) only_ = pod.ns;
      several_ = several_ || pod.ns != only_;
    }
  }
  [[nodiscard]] bool several() const { return several_; }
  [[nodiscard]] std::string operator()(const std::string& full) const {
    const bool cut = !several_ && full.starts_with(only_ + "/");
    return cut ? full.substr(only_.size() + 1) : full;
  }

 private:
  std::string only_;
  bool several_ = false;
};

std::string note_of(const pod_outcome& pod, const naming& named) {
  std::vector<std::string> parts;
  if (pod.arrived_at) parts.push_back("arrived at " + time_text(pod.arrived_at));
  if (!pod.evicts.empty()) {
    std::vector<std::string> victims;
    for (const std::string& one : pod.evicts) victims.push_back(named(one));
    parts.push_back(fmt::format("evicts {}", fmt::join(victims, ", ")));
  }
  if (pod.evicted_at) {
    std::string by = fmt::format("evicted by {} at {}", named(pod.evicted_by), time_text(pod.evicted_at));
    if (pod.gone_at && pod.gone_at != pod.evicted_at) by += ", gone at " + time_text(pod.gone_at);
    parts.push_back(std::move(by));
  }
  if (pod.ended_at) parts.push_back("ended at " + time_text(pod.ended_at));
  if (!pod.reason.empty()) parts.push_back(pod.reason);
  return fmt::format("{}", fmt::join(parts, "; "));
}

std::string devices_text(const pod_outcome& pod) {
  std::vector<std::string> parts;
  for (const device_outcome& one : pod.devices) parts.push_back(text_of(one));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string pods_table(const outcome& of, const text_options& how) {
  const naming named{of, how};
  const bool prioritised =
      std::ranges::any_of(of.pods, [&](const pod_outcome& pod) { return how.what.shows(pod) && pod.priority != 0; });
  table made{{{"NAMESPACE"},
              {"POD"},
              {"GROUP"},
              {"PRIORITY", true},
              {"STATUS"},
              {"NODE"},
              {"DEVICES"},
              {"SCORE", true},
              {"AT", true},
              {"NOTE"}}};
  for (const pod_outcome& pod : of.pods) {
    if (!how.what.shows(pod)) continue;
    made.add({named.several() ? pod.ns : "", pod.name, pod.group, prioritised ? fmt::format("{}", pod.priority) : "",
              std::string{name_of(pod.is)}, pod.node.empty() ? "-" : pod.node, devices_text(pod),
              pod.score ? fmt::format("{}", *pod.score) : "", time_text(pod.placed_at), note_of(pod, named)});
  }
  return made.text();
}

/// Nothing if there are no groups.
std::string groups_table(const outcome& of, const text_options& how) {
  if (of.groups.empty()) return {};
  const bool several = naming{of, how}.several() || std::ranges::any_of(of.groups, [&](const group_outcome& one) {
                         return one.ns != of.groups.front().ns;
                       });
  table made{{{"NAMESPACE"},
              {"GROUP"},
              {"IN"},
              {"MINIMUM", true},
              {"BOUND", true},
              {"PENDING", true},
              {"SCHEDULED"},
              {"AT", true},
              {"DOMAIN"},
              {"NOTE"}}};
  for (const group_outcome& one : of.groups) {
    const std::string minimum = fmt::format("{}{}", one.minimum, one.composite ? " groups" : "");
    const bool told = one.known && !one.composite && one.bound + one.pending > 0;  // by its pods
    made.add({several ? one.ns : "", one.name, one.parent, one.known ? minimum : "-", fmt::format("{}", one.bound),
              fmt::format("{}", one.pending),
              !one.known         ? "-"
              : one.scheduled_at ? "True"
                                 : "False",
              time_text(one.scheduled_at), one.domain_key.empty() ? "" : one.domain_key + "=" + one.domain,
              !one.known || one.scheduled_at ? one.message
              : told                         ? one.reason
                                             : fmt::format("{}: {}", one.reason, one.message)});
  }
  return made.text() + '\n';
}

std::string count_text(std::size_t count, const char* one, const char* many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

/// "2 gpu, 1 cpu" in the order of the plan.
std::string nodes_text(const scale_up_plan& plan) {
  std::vector<std::pair<std::string, std::size_t>> counts;
  for (const added_node& node : plan.nodes) {
    const auto known = std::ranges::find(counts, node.shape, &std::pair<std::string, std::size_t>::first);
    if (known == counts.end())
      counts.emplace_back(node.shape, 1);
    else
      ++known->second;
  }
  std::vector<std::string> parts;
  for (const auto& [shape, count] : counts) parts.push_back(fmt::format("{} {}", count, shape));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string scale_text(const outcome& of, const text_options& how) {
  const naming named{of, how};
  std::string all;
  if (of.scale_up && of.scale_up->plans.empty() && of.scale_up->left.empty()) all += "No node is missing.\n\n";
  if (of.scale_up && !of.scale_up->plans.empty()) {
    table plans{{{"PRICE", true}, {"NODES TO ADD"}, {"FOR"}}};
    for (const scale_up_plan& plan : of.scale_up->plans) {
      std::size_t pods = 0;
      for (const added_node& node : plan.nodes) pods += node.pods.size();
      plans.add({fmt::format("{}", plan.price), nodes_text(plan), count_text(pods, "pod", "pods")});
    }
    all += plans.text() + '\n';
  }
  if (of.scale_up && !of.scale_up->left.empty()) {
    std::vector<std::string> left;
    for (const std::string& pod : of.scale_up->left) left.push_back(named(pod));
    all += fmt::format("No such node helps: {}\n\n", fmt::join(left, ", "));
  }
  if (of.scale_down && of.scale_down->empty()) all += "No node can be drained.\n\n";
  if (of.scale_down && !of.scale_down->empty()) {
    table nodes{{{"NODES TO DRAIN"}, {"MOVES"}}};
    for (const removable_outcome& one : *of.scale_down) {
      std::vector<std::string> moves;
      for (const auto& [pod, node] : one.moves) moves.push_back(fmt::format("{} to {}", named(pod), node));
      nodes.add({one.node, moves.empty() ? "-" : fmt::format("{}", fmt::join(moves, ", "))});
    }
    all += nodes.text() + '\n';
  }
  return all;
}

std::string diff_text(const outcome& of) {
  if (!of.diff) return {};
  const auto state = [](const std::string& text) { return text.empty() ? std::string{"-"} : text; };
  std::string all;
  const auto add = [&](const char* title, const std::vector<changed_object>& changes) {
    table made{{{title}, {"BEFORE"}, {"NOW"}}};
    for (const changed_object& one : changes) made.add({one.name, state(one.before), state(one.now)});
    if (!changes.empty()) all += made.text() + '\n';
  };
  add("CHANGED POD", of.diff->pods);
  add("CHANGED GROUP", of.diff->groups);
  std::vector<std::string> numbers;
  for (const changed_number& one : of.diff->numbers)
    numbers.push_back(fmt::format("{} {} → {}", one.what, one.before, one.now));
  return all + (all.empty() && numbers.empty() ? "Nothing is otherwise than before.\n\n"
                : numbers.empty()              ? ""
                                               : fmt::format("{}\n\n", fmt::join(numbers, "; ")));
}

std::string placed_text(const pod_outcome& pod) {
  if (pod.is == fate::unscheduled) return "has no node";
  if (pod.was_running) return fmt::format("runs on {} from the start", pod.node);
  const char* how = pod.node == pod.nominated_node ? ", the first to be tried: it was nominated for it" : "";
  return fmt::format("went to {} at {}{}", pod.node, time_text(pod.placed_at), how);
}

std::string explanation_text(const asked_group& answer) {
  std::string all;
  for (const gangsched::group_explanation& one : answer.why) {
    all += fmt::format("{}/{}: {}\n", answer.ns, one.name, one.summary);
    if (!one.change.empty()) all += fmt::format("The smallest change that helps: {}\n", one.change);
    table placements{{{"PLACEMENT"}, {"FIT", true}, {"NEEDED", true}, {"MISSING"}}};
    for (const gangsched::placement_verdict& where : one.placements) {
      placements.add({where.name.empty() ? "all nodes" : where.name, fmt::format("{}", where.fit),
                      fmt::format("{}", where.wanted), where.missing});
    }
    if (!one.placements.empty()) all += '\n' + placements.text();
  }
  return all;
}

/// Nodes that reject the pod for the same reasons.
struct alike_nodes {
  std::string plugin, reasons;
  std::vector<std::string> names;
};

std::string rejections_text(std::span<const gangsched::node_verdict* const> nodes, std::size_t top) {
  std::vector<alike_nodes> groups;
  for (const gangsched::node_verdict* node : nodes) {
    std::string reasons = fmt::format("{}", fmt::join(node->reasons, ", "));
    const auto known = std::ranges::find_if(
        groups, [&](const alike_nodes& one) { return one.plugin == node->plugin && one.reasons == reasons; });
    if (known != groups.end())
      known->names.push_back(node->name);
    else
      groups.push_back({node->plugin, std::move(reasons), {node->name}});
  }
  if (nodes.size() <= top) {
    table each{{{"NODE"}, {"REJECTED BY"}, {"REASON"}}};
    for (const gangsched::node_verdict* node : nodes)
      each.add({node->name, node->plugin, fmt::format("{}", fmt::join(node->reasons, ", "))});
    return each.text();
  }
  std::ranges::stable_sort(groups, std::greater{}, [](const alike_nodes& one) { return one.names.size(); });
  table alike{{{"NODES", true}, {"REJECTED BY"}, {"REASON"}, {"AMONG THEM"}}};
  for (const alike_nodes& one : groups) {
    constexpr std::size_t examples = 3;
    const std::span<const std::string> some{one.names.data(), std::min(examples, one.names.size())};
    alike.add({fmt::format("{}", one.names.size()), one.plugin, one.reasons,
               fmt::format("{}{}", fmt::join(some, ", "), one.names.size() > examples ? ", …" : "")});
  }
  return alike.text();
}

std::string explanation_text(const outcome& of, std::size_t top) {
  const asked& answer = *of.explained;
  const pod_outcome& pod = of.pods[answer.pod];
  const text_options shown{.what = {.all = true}};
  const std::string note = note_of(pod, naming{of, shown});
  std::string all = fmt::format("{} {}{}\n", full_name(pod), placed_text(pod), note.empty() ? "" : "; " + note);
  if (answer.why.summary != pod.reason && !answer.why.summary.empty())
    all += fmt::format("As things stood then: {}\n", answer.why.summary);
  if (!answer.changes.empty()) all += "It would fit:\n";
  for (const helpful_change& one : answer.changes)
    all += fmt::format("  {} ({})\n", one.text, count_text(one.nodes, "node", "nodes"));
  if (!answer.change_for_group.empty())
    all += fmt::format("The smallest change that helps its group: {}\n", answer.change_for_group);
  if (answer.why.nodes.empty()) return all;

  std::vector<const gangsched::node_verdict*> nodes;
  for (const gangsched::node_verdict& node : answer.why.nodes) nodes.push_back(&node);
  const auto rank = [&](const gangsched::node_verdict* node) {
    return std::tuple{node->code != gangsched::code::success, -node->total, node->name != pod.node};
  };
  std::ranges::stable_sort(nodes, {}, rank);
  table scores{{{"NODE"}, {"PLUGIN"}, {"RAW", true}, {"NORMALIZED", true}, {"WEIGHT", true}, {"SCORE", true}, {""}}};
  const auto rejects = [](const gangsched::node_verdict* node) { return node->code != gangsched::code::success; };
  const auto fitting = static_cast<std::size_t>(std::ranges::find_if(nodes, rejects) - nodes.begin());
  const std::span<const gangsched::node_verdict* const> all_nodes{nodes};
  for (const gangsched::node_verdict* node : all_nodes.first(std::min(fitting, top))) {
    for (const gangsched::plugin_score& one : node->scores) {
      scores.add({node->name, one.plugin, fmt::format("{}", one.raw), fmt::format("{}", one.normalized),
                  fmt::format("{}", one.weight), fmt::format("{}", one.weighted()), ""});
    }
    scores.add(
        {node->name, "total", "", "", "", fmt::format("{}", node->total), node->name == pod.node ? "chosen" : ""});
  }
  if (fitting != 0 && top != 0) all += '\n' + scores.text();
  if (fitting > top)
    all += fmt::format("… and {} that fit, with {} to {}\n", count_text(fitting - top, "more node", "more nodes"),
                       nodes[fitting - 1]->total, nodes[top]->total);
  if (fitting != nodes.size()) all += '\n' + rejections_text(all_nodes.subspan(fitting), top);
  return all;
}

std::string summary_line(const outcome& of) {
  const outcome::counts counts = of.count();
  std::string line = fmt::format("{} to place on {}: {} placed",
                                 counts.to_place == 1 ? "1 pod" : fmt::format("{} pods", counts.to_place),
                                 of.nodes == 1 ? "1 node" : fmt::format("{} nodes", of.nodes), counts.placed);
  if (counts.ended != 0) line += fmt::format(", {} ended", counts.ended);
  line += fmt::format(", {} unscheduled", counts.unscheduled);
  if (counts.evicted != 0) line += fmt::format(", {} evicted", counts.evicted);
  return line + fmt::format("; last change at {}\n", time_text(of.end));
}

}  // namespace

std::string text_report(const outcome& of, const text_options& how) {
  if (of.explained_group) return explanation_text(*of.explained_group) + '\n' + summary_line(of);
  if (of.explained) return explanation_text(of, how.top) + '\n' + summary_line(of);
  const bool any = std::ranges::any_of(of.pods, [&](const pod_outcome& pod) { return how.what.shows(pod); });
  const std::string gpus = how.what.gpus ? gpu_map(of, how.ascii) : "";
  const std::string queues = how.what.queues ? queue_table(of) : "";
  return (any ? pods_table(of, how) + '\n' : "") + groups_table(of, how) + gpus + (gpus.empty() ? "" : "\n") + queues +
         (queues.empty() ? "" : "\n") + scale_text(of, how) + diff_text(of) + summary_line(of);
}

}  // namespace simulate
