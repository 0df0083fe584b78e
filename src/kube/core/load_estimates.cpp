#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <string_view>

#include "gangsched/src/kube/core/objects.hpp"
#include "gangsched/src/kube/documents/annotations.hpp"

// Koordinator's annotations scheduling.koordinator.sh/load-estimated-… (apis/extension/load_aware.go, 1.7.0).
namespace gangsched::inline GANGSCHED_ABI::kube::detail {
namespace {

/// Whole seconds as Go's ParseInt takes them; below 0 it is as if nothing was said.
void read_seconds(reader& read, const place& of, const pod_manifest& pod, const char* name,
                  std::optional<instant>& out) {
  const auto found = pod.annotations.find(name);
  if (found == pod.annotations.end() || found->second.empty()) return;
  constexpr std::int64_t longest = 1'000'000'000;
  std::string_view text = found->second;
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  std::int64_t count = 0;
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (wrong == std::errc{} && end == text.data() + text.size() && count <= longest) {
    if (count >= 0) out = std::chrono::seconds{count};
    return;
  }
  const spot at = find_spot(of, {"metadata", "annotations", name});
  read.warn(at.line, at.path,
            fmt::format("\"{}\" is no number of seconds up to {}; the annotation is left out", found->second, longest));
}

}  // namespace

bool read_load_estimate(reader& read, const place& of, pod_manifest& out) {
  load_estimate& to = out.spec.load;
  const auto factors = [&](reader& in, const place& root) {
    return in.fields(root, [&](std::string_view key, const place& v) {
      if (key != "cpu" && key != "memory") return in.ignore(key, v, {});
      return in.integer(v, (key == "cpu" ? to.cpu_percent : to.memory_percent).emplace(), 0, std::int64_t{1'000'000});
    });
  };
  if (!read_if_sound(read, of, "scheduling.koordinator.sh/load-estimated-scaling-factors", factors))
    to.cpu_percent.reset(), to.memory_percent.reset();
  read_seconds(read, of, out, "scheduling.koordinator.sh/load-estimated-seconds-after-pod-scheduled",
               to.after_scheduled);
  read_seconds(read, of, out, "scheduling.koordinator.sh/load-estimated-seconds-after-initialized",
               to.after_initialized);
  return true;
}

}  // namespace gangsched::inline GANGSCHED_ABI::kube::detail
