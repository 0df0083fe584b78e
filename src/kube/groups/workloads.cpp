#include <fmt/format.h>

#include <algorithm>

#include "gangsched/src/kube/groups/groups.hpp"

// Kubernetes' own groups (scheduling.k8s.io v1alpha1 to v1beta1): PodGroup, CompositePodGroup, and Workload, whose templates
// they are copied from (KEP-4671, KEP-6012).
namespace gangsched::inline GANGSCHED_ABI::kube::detail {
namespace {

constexpr std::size_t most_templates = 8;
constexpr int most_levels = 4;

/// One of basic and gang. Error: none, or both.
bool read_policy(reader& read, const place& of, group_draft& out) {
  int policies = 0;
  const std::string_view minimum = out.made.spec.composite ? "minGroupCount" : "minCount";
  out.has_policy = true;
  const bool fine = read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "basic") {
      ++policies;
      out.made.spec.policy = basic{};
      return read.fields(v, [&](std::string_view field, const place& w) { return read.ignore(field, w, {}); });
    }
    if (key != "gang") return read.ignore(key, v, {});
    ++policies;
    gang made{.min_count = 0};
    const bool good = read.fields(v, [&](std::string_view field, const place& w) {
      return field == minimum ? read.integer(w, made.min_count, 1) : read.ignore(field, w, {});
    });
    if (good && made.min_count == 0) return read.fail(errc::malformed, v, fmt::format("needs a {}", minimum));
    out.made.spec.policy = made;
    return good;
  });
  if (fine && policies != 1) return read.fail(errc::malformed, of, "needs either basic or gang");
  return fine;
}

/// "single" and "all"; 1.36 called them Pod and PodGroup; 1.37 has an object with one field.
bool read_disruption_mode(reader& read, const place& of, disruption_mode& out) {
  if (of.at->kind == value_kind::object) {
    int modes = 0;
    const bool fine = read.fields(of, [&](std::string_view key, const place& v) {
      if (key != "single" && key != "all") return read.ignore(key, v, {});
      ++modes;
      out = key == "all" ? disruption_mode::all : disruption_mode::single;
      return true;
    });
    return fine && (modes == 1 || read.fail(errc::malformed, of, "needs either single or all"));
  }
  return read.word(of, out,
                   {{"single", disruption_mode::single},
                    {"all", disruption_mode::all},
                    {"Pod", disruption_mode::single},
                    {"PodGroup", disruption_mode::all}});
}

bool read_constraints(reader& read, const place& of, group_topology& out) {
  return read.fields(of, [&](std::string_view name, const place& v) {
    if (name != "topology") return read.ignore(name, v, {});
    if (v.at->items.size() > 1) return read.fail(errc::malformed, v, "has at most one entry");
    return read.items(v, [&](const place& item) {
      return read.fields(item, [&](std::string_view word, const place& w) {
        return word == "key" ? read.text(w, out.within.emplace_back()) : read.ignore(word, w, {});
      });
    });
  });
}

/// {workloadName, templateName}; of 1.36 {workload: {workloadName, podGroupTemplateName}}.
bool read_template_ref(reader& read, const place& of, group_draft& out) {
  return read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "workload") return read_template_ref(read, v, out);
    if (key == "workloadName") return read.text(v, out.made.spec.workload);
    if (key == "templateName" || key == "podGroupTemplateName") return read.text(v, out.template_name);
    return read.ignore(key, v, {});
  });
}

/// What templates and groups have in common; nothing if it is another field.
std::optional<bool> read_common(reader& read, std::string_view field, const place& w, group_draft& out) {
  group_spec& spec = out.made.spec;
  if (field == "schedulingPolicy") return read_policy(read, w, out);
  if (field == "priority") return read.integer(w, spec.priority.emplace());
  if (field == "priorityClassName") return read.text(w, out.made.priority_class);
  if (field == "schedulingConstraints") return read_constraints(read, w, spec.topology);
  if (field == "disruptionMode") return read_disruption_mode(read, w, spec.disruption);
  if (field == "preemptionPolicy") {
    return read.word(
        w, spec.preemption.emplace(),
        {{"PreemptLowerPriority", preemption_policy::preempt_lower_priority}, {"Never", preemption_policy::never}});
  }
  if (field == "resourceClaims") return read_pod_claims(read, w, out.made.claims);
  return std::nullopt;
}

class template_reader {
 public:
  template_reader(reader& read, workload_templates& out) : read_(&read), out_(&out) {}

  bool list(const place& of, bool composite, const std::string& parent, int level) {
    if (of.at->items.size() > most_templates) {
      return read_->fail(errc::out_of_range, of,
                         fmt::format("{} templates are more than {}", of.at->items.size(), most_templates));
    }
    return read_->items(of, [&](const place& item) {
      // Nothing is below a leaf, so that a group of groups needs room for one more level.
      if (level + (composite ? 1 : 0) > most_levels)
        return read_->fail(errc::out_of_range, item, "the tree has more than 4 levels");
      return one(item, composite, parent, level);
    });
  }

 private:
  bool one(const place& of, bool composite, const std::string& parent, int level) {
    group_draft made;
    made.made.spec.composite = composite;
    made.made.kind = "Workload";
    made.made.parent = parent;
    made.made.from.line = of.at->line;
    std::optional<place> below[2];
    const bool fine = read_->fields(of, [&](std::string_view key, const place& v) {
      if (key == "name") return read_->text(v, made.template_name);
      if (const auto known = read_common(*read_, key, v, made)) return *known;
      if (composite && key == "podGroupTemplates") return below[0] = v, true;
      if (composite && key == "compositePodGroupTemplates") return below[1] = v, true;
      return read_->ignore(key, v, {});
    });
    if (!fine) return false;
    if (made.template_name.empty()) return read_->fail(errc::malformed, of, "needs a name");
    if (!made.has_policy) return read_->fail(errc::malformed, of, "needs a schedulingPolicy");
    const bool known = std::ranges::any_of(
        out_->templates, [&](const group_draft& other) { return other.template_name == made.template_name; });
    if (known)
      return read_->fail(errc::duplicate, of, fmt::format("there is another template \"{}\"", made.template_name));
    if (composite && !below[0] && !below[1]) return read_->fail(errc::malformed, of, "has no templates in it");
    const std::string name = made.template_name;
    out_->templates.push_back(std::move(made));
    for (const int i : {0, 1}) {
      if (!below[i]) continue;
      const place again{below[i]->at, &of, below[i]->key};
      if (!list(again, i == 1, name, level + 1)) return false;
    }
    return true;
  }

  reader* read_;
  workload_templates* out_;
};

/// The groups inside a Workload of 1.35.
bool read_embedded(reader& read, const place& of, workload_templates& out) {
  out.embedded = true;
  if (of.at->items.size() > most_templates)
    return read.fail(errc::out_of_range, of, fmt::format("{} groups are more than 8", of.at->items.size()));
  return read.items(of, [&](const place& item) {
    group_draft& one = out.templates.emplace_back();
    one.made.kind = "Workload";
    one.made.from.line = item.at->line;
    const bool fine = read.fields(item, [&](std::string_view word, const place& x) {
      if (word == "name") return read.text(x, one.template_name);
      if (word == "policy") return read_policy(read, x, one);
      return read.ignore(word, x, {});
    });
    if (!fine) return false;
    const auto same = [&](const group_draft& other) { return other.template_name == one.template_name; };
    if (std::ranges::count_if(out.templates, same) > 1)
      return read.fail(errc::duplicate, item, fmt::format("there is another group \"{}\"", one.template_name));
    return one.has_policy || read.fail(errc::malformed, item, "needs a policy");
  });
}

}  // namespace

bool read_group_meta(reader& read, const place& of, group_draft& out, label_map* annotations) {
  object_meta meta;
  if (!read_meta(read, of, meta)) return false;
  out.made.spec.name = std::move(meta.name);
  if (!meta.ns.empty()) out.made.spec.ns = std::move(meta.ns);
  if (!read_own_words(read, of, meta.annotations, out)) return false;
  if (annotations != nullptr) *annotations = std::move(meta.annotations);
  return true;
}

bool read_kube_group(reader& read, const place& of, bool composite, group_draft& out) {
  out.made.kind = composite ? "CompositePodGroup" : "PodGroup";
  out.made.spec.composite = composite;
  bool has_spec = false;
  const bool fine = read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "metadata") return read_group_meta(read, v, out);
    if (key != "spec") return read.ignore(key, v, {"apiVersion", "kind", "status"});
    has_spec = true;
    const bool good = read.fields(v, [&](std::string_view field, const place& w) {
      if (const auto known = read_common(read, field, w, out)) return *known;
      if (field == "parentCompositePodGroupName") return read.text(w, out.made.parent);
      if (field == "workloadRef" || field == "podGroupTemplateRef") return read_template_ref(read, w, out);
      return read.ignore(field, w, {});
    });
    if (!good) return false;
    // What the template has is copied later, if the Workload is in the files.
    if (!out.has_policy && out.template_name.empty()) return read.fail(errc::malformed, v, "needs a schedulingPolicy");
    if (composite && out.made.spec.workload.empty()) return read.fail(errc::malformed, v, "needs a workloadRef");
    if (!out.made.parent.empty() && out.made.spec.workload.empty())
      return read.fail(errc::malformed, v, "parentCompositePodGroupName needs a workloadRef");
    return true;
  });
  return fine && (has_spec || read.fail(errc::malformed, of, "needs a spec"));
}

bool read_workload(reader& read, const place& of, workload_templates& out) {
  object_meta meta;
  bool flat = false, tree = false;
  const bool fine = read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "metadata") return read_meta(read, v, meta);
    if (key != "spec") return read.ignore(key, v, {"apiVersion", "kind", "status"});
    return read.fields(v, [&](std::string_view field, const place& w) {
      if (field == "podGroups") return read_embedded(read, w, out);
      const bool composite = field == "compositePodGroupTemplates";
      if (!composite && field != "podGroupTemplates") return read.ignore(field, w, {"controllerRef"});
      (composite ? tree : flat) = true;
      if (flat && tree)
        return read.fail(errc::malformed, w, "podGroupTemplates and compositePodGroupTemplates exclude each other");
      return template_reader{read, out}.list(w, composite, {}, 1);
    });
  });
  out.name = std::move(meta.name);
  out.ns = meta.ns.empty() ? "default" : std::move(meta.ns);
  return fine;
}

}  // namespace gangsched::inline GANGSCHED_ABI::kube::detail
