#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "gangsched/kube/configuration.hpp"
#include "gangsched/profiles.hpp"

// What any text may do to the readers of gangsched::kube: nothing but make objects, warnings or one error. Linked with
// libFuzzer by the preset `fuzz`, and with a test that replays the corpus.

namespace {

using namespace gangsched;

/// As usual but for what makes a single input slow though nothing is wrong.
constexpr kube::limits most{.copied = 100'000};

/// Ends the process: libFuzzer and the test see that something is wrong.
void demand(bool holds) {
  if (!holds) std::abort();
}

void read_as_manifests(const kube::source& text) {
  const auto made = kube::read(text, {.max_pods = 500, .most = most});
  if (!made) {
    demand(!made.error().reason.empty() && made.error().object.starts_with(text.name + ":"));
    return;
  }
  cluster on;
  const std::uint64_t before = on.digest();
  if (kube::apply(on, *made)) {
    demand(on.pods().size() == made->pods.size() && on.nodes().size() == made->nodes.size());
  } else {
    demand(on.digest() == before);
  }
}

void read_as_configuration(const kube::source& text) {
  static const plugin_registry registry = builtin_plugins();
  const auto made = kube::read_configuration(text, registry, {.most = most});
  if (!made) return;
  demand(!made->profiles.empty());
  for (const kube::scheduler_profile& one : made->profiles) static_cast<void>(kube::make_table(one, registry));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const kube::source text{"input", {reinterpret_cast<const char*>(data), size}};
  read_as_manifests(text);
  read_as_configuration(text);
  return 0;
}
