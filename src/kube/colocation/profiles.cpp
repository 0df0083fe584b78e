#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "gangsched/model/label_selector.hpp"
#include "gangsched/model/service_class.hpp"
#include "gangsched/src/kube/colocation/colocation.hpp"
#include "gangsched/src/kube/core/references.hpp"

// ClusterColocationProfile (config.koordinator.sh/v1alpha1), and what its webhook does to pods (pkg/webhook/pod/mutating, 1.7.0).
namespace gangsched::inline GANGSCHED_ABI::kube::detail {
namespace {

constexpr std::string_view keep_resources = "config.koordinator.sh/skip-update-resources";
constexpr const char* sub_priority_label = "koordinator.sh/priority";

/// A number of a hundred, or a percentage.
bool read_probability(reader& read, const place& of, colocation_profile& out) {
  std::string text;
  std::int64_t percent = 0;
  if (of.at->kind == value_kind::text && of.at->text.ends_with('%')) {
    if (!read.text(of, text)) return false;
    text.pop_back();
    if (text != "0" && text != "100") return read.warn(of, "is taken for 100%");
    return out.of_nobody = text == "0", true;
  }
  if (!read.integer(of, percent, 0, 100)) return false;
  out.of_nobody = percent == 0;
  return percent == 0 || percent == 100 || read.warn(of, "is taken for 100");
}

/// Copies the values of some keys to others; one that is not there gives "".
void copy_keys(const label_map& keys, label_map& in) {
  for (const auto& [from, to] : keys) {
    const auto found = in.find(from);
    std::string copied = found == in.end() ? std::string{} : found->second;
    in.insert_or_assign(to, std::move(copied));
  }
}

/// What of a profile is labels and annotations; the latter also in @p written.
void write(const colocation_profile& from, pod_manifest& pod, label_map& written) {
  label_map& labels = pod.spec.labels;
  for (const auto& [key, text] : from.labels) labels.insert_or_assign(key, text);
  for (const auto& [key, text] : from.annotations) pod.annotations.insert_or_assign(key, text);
  copy_keys(from.label_keys, labels);
  copy_keys(from.annotation_keys, pod.annotations);
  for (const auto& [key, suffix] : from.label_suffixes)
    if (const auto found = labels.find(key); found != labels.end()) found->second += suffix;
  if (!from.scheduler_name.empty()) pod.spec.scheduler_name = from.scheduler_name;
  if (!from.qos.empty()) labels.insert_or_assign(std::string{qos_label}, from.qos);
  if (from.sub_priority) labels.insert_or_assign(sub_priority_label, std::to_string(*from.sub_priority));
  for (const auto& [key, text] : from.annotations) written.insert_or_assign(key, text);
  for (const auto& [from_key, key] : from.annotation_keys) written.insert_or_assign(key, "");
}

}  // namespace

bool read_profile(reader& read, const place& of, colocation_profile& out) {
  const bool fine = read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "metadata") {
      const value* const all = v.at->find("annotations");
      out.keeps_resources = all != nullptr && all->find(keep_resources) != nullptr;
      return read_name(read, v, out.name);
    }
    if (key != "spec") return read.ignore(key, v, {"apiVersion", "kind", "status"});
    return read.fields(v, [&](std::string_view field, const place& w) {
      if (field == "namespaceSelector") return read_label_selector(read, w, out.namespaces.emplace());
      if (field == "selector") return read_label_selector(read, w, out.pods.emplace());
      if (field == "labels") return read.texts_by_name(w, out.labels);
      if (field == "annotations") return read.texts_by_name(w, out.annotations);
      if (field == "labelKeysMapping") return read.texts_by_name(w, out.label_keys);
      if (field == "annotationKeysMapping") return read.texts_by_name(w, out.annotation_keys);
      if (field == "labelSuffixes") return read.texts_by_name(w, out.label_suffixes);
      if (field == "schedulerName") return read.text(w, out.scheduler_name);
      if (field == "priorityClassName") return read.text(w, out.priority_class);
      if (field == "koordinatorPriority") return read.integer(w, out.sub_priority.emplace());
      if (field == "probability") return read_probability(read, w, out);
      if (field == "patch") return read.warn(w, "is not applied to pods");
      if (field == "qosClass") {
        return read.word(w, out.qos,
                         {{"LSE", std::string{"LSE"}},
                          {"LSR", std::string{"LSR"}},
                          {"LS", std::string{"LS"}},
                          {"BE", std::string{"BE"}},
                          {"SYSTEM", std::string{"SYSTEM"}}});
      }
      return read.ignore(field, w, {});
    });
  });
  return fine && (!out.name.empty() || read.fail(errc::malformed, of, "needs metadata.name"));
}

profile_admission::profile_admission(manifests& into, const colocation_objects& all) : into_(&into) {
  for (const colocation_profile& one : all.profiles) profiles_.push_back(&one);
  if (profiles_.empty()) return;
  std::ranges::sort(profiles_, {}, &colocation_profile::name);
  std::erase_if(profiles_, [&](const colocation_profile* one) {
    if (one->priority_class.empty() || class_of(one->priority_class) != nullptr) return false;
    into_->warnings.push_back(
        {where(*into_, one->from, "ClusterColocationProfile", {}, one->name), "spec.priorityClassName",
         fmt::format("there is no priority class \"{}\": the profile is left out", one->priority_class)});
    return true;
  });
  if (const priority_class_spec* const usual = default_priority_class(into)) default_priority_ = usual->value;
  for (const namespace_spec& one : into.namespaces) namespaces_.try_emplace(one.name, &one.labels);
}

void profile_admission::admit(pod_manifest& pod, const admission_words& words) {
  profiles matching;
  for (const colocation_profile* const one : profiles_)
    if (applies(*one, pod)) matching.push_back(one);
  if (!matching.empty()) {
    const label_map labels = pod.spec.labels, annotations = pod.annotations;
    label_map written;
    for (const colocation_profile* const one : matching)
      if (!one->of_nobody) write(*one, pod, written);
    if (pod.spec.labels != labels || pod.annotations != annotations) read_again(pod, written);
    chosen_.emplace(static_cast<std::size_t>(&pod - into_->pods.data()), std::move(matching));
  }
  merge_label_keys(pod.spec, words.label_keys);
}

void profile_admission::settle() {
  for (const auto& [index, matching] : chosen_) {
    pod_manifest& pod = into_->pods[index];
    bool keeps = false;
    for (const colocation_profile* const one : matching) {
      keeps = keeps || one->keeps_resources;
      if (one->of_nobody || one->priority_class.empty()) continue;
      const priority_class_spec& its = *class_of(one->priority_class);
      pod.spec.priority_class = its.name;
      pod.spec.priority = its.value;
      pod.spec.preemption = its.preemption;
    }
    if (!keeps) borrow(pod);
  }
}

const priority_class_spec* profile_admission::class_of(std::string_view name) const {
  const auto found = std::ranges::find(into_->priority_classes, name, &priority_class_spec::name);
  return found == into_->priority_classes.end() ? nullptr : &*found;
}

bool profile_admission::applies(const colocation_profile& one, const pod_manifest& pod) const {
  if (one.pods && !matches(*one.pods, pod.spec.labels)) return false;
  if (!one.namespaces) return true;
  if (const auto found = namespaces_.find(pod.spec.ns); found != namespaces_.end())
    return matches(*one.namespaces, *found->second);
  return matches(*one.namespaces, label_map{{"kubernetes.io/metadata.name", pod.spec.ns}});  // every namespace has it
}

/// Of the warnings those about what profiles wrote, once for all pods of a template: the others were given before.
void profile_admission::read_again(pod_manifest& pod, const label_map& written) {
  std::vector<warning> warnings;
  reader read{into_->files[pod.from.file], object_name("Pod", pod.spec.ns, pod.spec.name), &warnings};
  if (!read_words_again(read, pod.from.line, pod))
    return mistakes.emplace_back(pod.from, std::move(read).failure()), void();
  for (warning& one : warnings) {
    const auto is_about = [&](const auto& entry) { return one.field.find(entry.first) != std::string::npos; };
    if (std::ranges::any_of(written, is_about) &&
        warned_.emplace(pod.from.file, pod.from.line, one.field, one.reason).second)
      into_->warnings.push_back(std::move(one));
  }
}

/// A pod of batch or mid requests what nodes lend. (Its class of service is that of its containers before.)
void profile_admission::borrow(pod_manifest& pod) const {
  pod_spec& spec = pod.spec;
  const auto each_limit = [&](const auto& visit) {
    for (std::size_t i = 0; i < pod.limits.size(); ++i) {
      const std::size_t apps = spec.containers.size();
      visit(i < apps ? spec.containers[i] : spec.init_containers[i - apps], pod.limits[i]);
    }
  };
  each_limit([](container& in, resource_list& limits) { in.limits = std::move(limits); });
  const priority_class_spec* const named = class_of(spec.priority_class);
  const std::int32_t priority = spec.priority.value_or(named != nullptr ? named->value : default_priority_);
  request_resources_of(band_of(spec, priority), spec);
  each_limit([](container& in, resource_list& limits) { limits = std::exchange(in.limits, {}); });
}

}  // namespace gangsched::inline GANGSCHED_ABI::kube::detail
