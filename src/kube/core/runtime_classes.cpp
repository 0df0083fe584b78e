#include "gangsched/src/kube/core/runtime_classes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace gangsched::inline GANGSCHED_ABI::kube::detail {

bool read_runtime_class(reader& read, const place& of, runtime_class& out) {
  const bool fine = read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "metadata") return read_name(read, v, out.name);
    if (key == "overhead") {
      return read.fields(v, [&](std::string_view field, const place& w) {
        return field == "podFixed" ? read.amounts(w, out.overhead) : read.ignore(field, w, {});
      });
    }
    if (key != "scheduling") return read.ignore(key, v, {"apiVersion", "kind", "handler"});
    return read.fields(v, [&](std::string_view field, const place& w) {
      if (field == "nodeSelector") return read.texts_by_name(w, out.node_selector);
      if (field != "tolerations") return read.ignore(field, w, {});
      return read.list(w, out.tolerations, [&](const place& item, toleration& one) {
        return read_toleration(read, item, one, &out.toleration_seconds.emplace_back());
      });
    });
  });
  return fine && (!out.name.empty() || read.fail(errc::malformed, of, "needs metadata.name"));
}

std::optional<error> runtime_classes::admit(pod_manifest& pod, const std::string& name) {
  if (name.empty()) return std::nullopt;
  const auto told = [&](const char* field, std::string reason) {
    return error{errc::malformed, where(*into_, pod.from, "Pod", pod.spec.ns, pod.spec.name), field, std::move(reason)};
  };
  const auto found = by_name_.find(name);
  if (found == by_name_.end()) {
    if (missing_.insert(name).second) {
      error said = told("spec.runtimeClassName",
                        fmt::format("no RuntimeClass \"{}\": its overhead and its nodes do not count", name));
      into_->warnings.push_back({std::move(said.object), std::move(said.field), std::move(said.reason)});
    }
    return std::nullopt;
  }
  const runtime_class& its = *found->second;
  if (!pod.spec.overhead.empty() && pod.spec.overhead != its.overhead)
    return told("spec.overhead", fmt::format("is not that of the RuntimeClass \"{}\"", its.name));
  pod.spec.overhead = its.overhead;
  for (const auto& [key, text] : its.node_selector) {
    const auto [own, added] = pod.spec.node_selector.try_emplace(key, text);
    if (!added && own->second != text)
      return told("spec.nodeSelector", fmt::format("\"{}\" is \"{}\", and \"{}\" in the RuntimeClass \"{}\"", key,
                                                   own->second, text, its.name));
  }
  pod.toleration_seconds.resize(pod.spec.tolerations.size());
  for (std::size_t i = 0; i < its.tolerations.size(); ++i) {
    const toleration& one = its.tolerations[i];
    const auto same = [&](const toleration& other) {
      return other.key == one.key && other.op == one.op && other.value == one.value && other.effect == one.effect;
    };
    if (std::ranges::any_of(pod.spec.tolerations, same)) continue;
    pod.spec.tolerations.push_back(one);
    pod.toleration_seconds.push_back(its.toleration_seconds[i]);
  }
  return std::nullopt;
}

}  // namespace gangsched::inline GANGSCHED_ABI::kube::detail
