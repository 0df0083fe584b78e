#include "gangsched/kube/json_tree.hpp"
#include "gangsched/report/words.hpp"
#include "gangsched/src/c/json.hpp"
#include "gangsched/src/c/scheduler.hpp"

namespace gangsched::inline GANGSCHED_ABI::c {
namespace {

using kube::json_tree;

json_tree tree_of(const argument& from) {
  if (const bool* truth = from.if_bool()) return *truth;
  if (const std::int64_t* whole = from.if_int()) return *whole;
  if (const double* real = std::get_if<double>(&from.value)) return *real;
  if (const std::string* words = from.if_text()) return *words;
  if (const argument::list* list = from.if_list()) {
    json_tree made = json_tree::list();
    for (const argument& one : *list) made.add(tree_of(one));
    return made;
  }
  if (const argument::fields* fields = from.if_fields()) {
    json_tree made = json_tree::object();
    for (const auto& [key, one] : *fields) made[key] = tree_of(one);
    return made;
  }
  return {};
}

json_tree tree_of(const node_verdict& from) {
  json_tree made{{"name", from.name}, {"code", report::word_of(from.code)}};
  if (from.code != code::success) {
    made["plugin"] = from.plugin;
    made["reasons"] = from.reasons;
    return made;
  }
  made["score"] = from.total;
  json_tree& scores = made["scores"] = json_tree::list();
  for (const plugin_score& one : from.scores)
    scores.add({{"plugin", one.plugin}, {"raw", one.raw}, {"normalized", one.normalized}, {"weight", one.weight}});
  return made;
}

std::string joined(const std::vector<std::string>& all) {
  std::string made;
  for (const std::string& one : all) made += (made.empty() ? "" : ", ") + one;
  return made;
}

/// The text that `format` asks for.
template <class Explained, class Summary>
gangsched_code tell(const Explained& from, std::int32_t format, char** text, gangsched_error* error,
                    Summary&& summary) {
  switch (format) {
    case GANGSCHED_SUMMARY: *text = copied(summary()); return ok;
    case GANGSCHED_TEXT: *text = copied(to_text(from)); return ok;
    case GANGSCHED_JSON: *text = copied(to_json(from)); return ok;
    default:
      return refuse(error, {errc::out_of_range, "explanation", "format", std::to_string(format) + " is none of them"});
  }
}

std::string summary_of(const std::vector<group_explanation>& from) {
  std::string made;
  for (const group_explanation& one : from) {
    if (!made.empty()) made += "; ";
    if (from.size() > 1) made += one.name + ": ";
    made += one.summary;
  }
  return made;
}

}  // namespace

std::string to_json(const argument& from) { return tree_of(from).json(-1); }

std::string to_json(const explanation& from) {
  json_tree made{{"summary", from.summary}};
  if (!from.rejected_by.empty()) made["rejectedBy"] = from.rejected_by;
  if (from.code != code::success) made["code"] = report::word_of(from.code);
  json_tree& nodes = made["nodes"] = json_tree::list();
  for (const node_verdict& one : from.nodes) nodes.add(tree_of(one));
  return made.json(-1);
}

std::string to_json(const std::vector<group_explanation>& from) {
  json_tree made = json_tree::list();
  for (const group_explanation& one : from) {
    json_tree placements = json_tree::list();
    for (const placement_verdict& place : one.placements)
      placements.add({{"name", place.name},
                      {"fit", place.fit},
                      {"wanted", place.wanted},
                      {"feasible", place.feasible},
                      {"missing", place.missing}});
    made.add(
        {{"name", one.name}, {"summary", one.summary}, {"placements", std::move(placements)}, {"change", one.change}});
  }
  return made.json(-1);
}

std::string to_text(const explanation& from) {
  std::string made = from.summary;
  for (const node_verdict& one : from.nodes) {
    made += "\n" + one.name + ": ";
    if (one.code != code::success) {
      made += one.plugin + (one.plugin.empty() ? "" : ": ") + joined(one.reasons);
      continue;
    }
    made += std::to_string(one.total);
    for (const plugin_score& score : one.scores)
      made += " " + score.plugin + "=" + std::to_string(score.normalized) + "*" + std::to_string(score.weight);
  }
  return made;
}

std::string to_text(const std::vector<group_explanation>& from) {
  std::string made;
  for (const group_explanation& one : from) {
    made += (made.empty() ? "" : "\n") + one.name + ": " + one.summary;
    for (const placement_verdict& place : one.placements) {
      made += "\n" + (place.name.empty() ? "all nodes" : place.name) + ": " + std::to_string(place.fit) + " of " +
              std::to_string(place.wanted) + (place.missing.empty() ? "" : ", ") + place.missing;
    }
  }
  return made;
}

}  // namespace gangsched::inline GANGSCHED_ABI::c

using namespace gangsched;

gangsched_code gangsched_scheduler_explain(gangsched_scheduler* on, gangsched_pod_id pod, int32_t format, char** text,
                                           gangsched_error* error) noexcept {
  if (on == nullptr) return c::missing(error, "scheduler");
  if (text == nullptr) return c::missing(error, "text");
  return c::guarded(error, [&] {
    const auto told = on->engine.explain(c::of(pod));
    if (!told) return c::refuse(error, told.error());
    return c::tell(*told, format, text, error, [&] { return std::string_view{told->summary}; });
  });
}
gangsched_code gangsched_scheduler_explain_group(gangsched_scheduler* on, gangsched_group_id group, int32_t format,
                                                 char** text, gangsched_error* error) noexcept {
  if (on == nullptr) return c::missing(error, "scheduler");
  if (text == nullptr) return c::missing(error, "text");
  return c::guarded(error, [&] {
    const auto told = on->engine.explain(c::of(group));
    if (!told) return c::refuse(error, told.error());
    return c::tell(*told, format, text, error, [&] { return c::summary_of(*told); });
  });
}
