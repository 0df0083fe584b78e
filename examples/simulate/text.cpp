#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "simulate/devices.hpp"
#include "simulate/queues.hpp"
#include "simulate/report.hpp"
#include "simulate/table.hpp"

namespace simulate {
namespace {

std::string time_text(const std::optional<instant>& when) { return when ? fmt::format("{} s", seconds(*when)) : ""; }

/// A pod as it is called in this report: without its namespace if there is only one.
class naming {
 public:
  naming(const outcome& of, const report_options& how) {
    for (const pod_outcome& pod : of.pods) {
      if (!is_shown(pod, how)) continue;
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

std::string pods_table(const outcome& of, const report_options& how) {
  const naming named{of, how};
  const bool prioritised =
      std::ranges::any_of(of.pods, [&](const pod_outcome& pod) { return is_shown(pod, how) && pod.priority != 0; });
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
    if (!is_shown(pod, how)) continue;
    made.add({named.several() ? pod.ns : "", pod.name, pod.group, prioritised ? fmt::format("{}", pod.priority) : "",
              std::string{name_of(pod.is)}, pod.node.empty() ? "-" : pod.node, devices_text(pod),
              pod.score ? fmt::format("{}", *pod.score) : "", time_text(pod.placed_at), note_of(pod, named)});
  }
  return made.text();
}

/// Nothing if there are no groups.
std::string groups_table(const outcome& of, const report_options& how) {
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

std::string explanation_text(const outcome& of) {
  const asked& answer = *of.explained;
  const pod_outcome& pod = of.pods[answer.pod];
  const report_options shown{.all = true};
  const std::string note = note_of(pod, naming{of, shown});
  std::string all = fmt::format("{} {}{}\n", full_name(pod), placed_text(pod), note.empty() ? "" : "; " + note);
  if (answer.why.summary != pod.reason && !answer.why.summary.empty())
    all += fmt::format("As things stood then: {}\n", answer.why.summary);
  if (answer.why.nodes.empty()) return all;

  std::vector<const gangsched::node_verdict*> nodes;
  for (const gangsched::node_verdict& node : answer.why.nodes) nodes.push_back(&node);
  const auto rank = [](const gangsched::node_verdict* node) {
    return std::pair{node->code != gangsched::code::success, -node->total};
  };
  std::ranges::stable_sort(nodes, {}, rank);
  table scores{{{"NODE"}, {"PLUGIN"}, {"RAW", true}, {"NORMALIZED", true}, {"WEIGHT", true}, {"SCORE", true}, {""}}};
  table rejections{{{"NODE"}, {"REJECTED BY"}, {"REASON"}}};
  bool any_scores = false, any_rejections = false;
  for (const gangsched::node_verdict* node : nodes) {
    if (node->code != gangsched::code::success) {
      any_rejections = true;
      rejections.add({node->name, node->plugin, fmt::format("{}", fmt::join(node->reasons, ", "))});
      continue;
    }
    any_scores = true;
    for (const gangsched::plugin_score& one : node->scores) {
      scores.add({node->name, one.plugin, fmt::format("{}", one.raw), fmt::format("{}", one.normalized),
                  fmt::format("{}", one.weight), fmt::format("{}", one.weighted()), ""});
    }
    scores.add(
        {node->name, "total", "", "", "", fmt::format("{}", node->total), node->name == pod.node ? "chosen" : ""});
  }
  if (any_scores) all += '\n' + scores.text();
  if (any_rejections) all += '\n' + rejections.text();
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

std::string text_report(const outcome& of, const report_options& how) {
  if (of.explained_group) return explanation_text(*of.explained_group) + '\n' + summary_line(of);
  if (of.explained) return explanation_text(of) + '\n' + summary_line(of);
  const bool any = std::ranges::any_of(of.pods, [&](const pod_outcome& pod) { return is_shown(pod, how); });
  const std::string gpus = how.gpus ? gpu_map(of, how.ascii) : "";
  const std::string queues = how.queues ? queue_table(of) : "";
  return (any ? pods_table(of, how) + '\n' : "") + groups_table(of, how) + gpus + (gpus.empty() ? "" : "\n") + queues +
         (queues.empty() ? "" : "\n") + summary_line(of);
}

}  // namespace simulate
