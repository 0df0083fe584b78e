#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "gangsched/src/kube/documents/annotations.hpp"
#include "gangsched/src/kube/groups/groups.hpp"

// What a PodGroup says in our own words, because no other API has any: gangsched.dev/queue, when-full, ratios, stale-after,
// deadline, max-wait.
namespace gangsched::inline GANGSCHED_ABI::kube::detail {

namespace {

bool read_ratio(reader& read, const place& of, group_ratio_manifest& out) {
  const bool fine = read.fields(of, [&](std::string_view key, const place& v) {
    if (key == "to") return read.text(v, out.to);
    if (key == "mine") return read.integer(v, out.mine);
    if (key == "theirs") return read.integer(v, out.theirs);
    return read.fail(errc::unknown, v, "there is no such field");
  });
  return fine && (!out.to.empty() || read.fail(errc::malformed, of, "names no group"));
}

}  // namespace

bool read_own_words(reader& read, const place& meta, const label_map& annotations, group_draft& out) {
  const auto said = [&](const char* key) -> const std::string* {
    const auto found = annotations.find(key);
    return found == annotations.end() ? nullptr : &found->second;
  };
  const auto wrong = [&](const char* key, errc code, std::string reason) {
    spot at = find_spot(meta, {"annotations", key});
    return read.fail(code, at.line, std::move(at.path), std::move(reason));
  };
  if (!read_time_limits(read, meta, out.made.spec.deadline, out.made.spec.max_wait)) return false;
  if (const std::string* queue = said("gangsched.dev/queue")) out.made.spec.queue = *queue;
  if (const std::string* full = said("gangsched.dev/when-full")) {
    if (*full != "wait" && *full != "move")
      return wrong("gangsched.dev/when-full", errc::unknown, fmt::format("\"{}\" is not one of wait, move", *full));
    out.when_full = *full == "move" ? full_domain::move : full_domain::wait;
  }
  if (const std::string* after = said("gangsched.dev/stale-after")) {
    const auto time = parse_duration(*after);
    if (!time || *time < instant::zero())
      return wrong("gangsched.dev/stale-after", errc::malformed, fmt::format("\"{}\" is no duration like 60s", *after));
    out.stale_after = time;
  }
  const std::string* ratios = said("gangsched.dev/ratios");
  if (ratios == nullptr) return true;
  return read_inside(
      read, find_spot(meta, {"annotations", "gangsched.dev/ratios"}), *ratios, [&](reader& in, const place& root) {
        if (root.at->kind == value_kind::object) return read_ratio(in, root, out.made.ratios.emplace_back());
        return in.list(root, out.made.ratios,
                       [&](const place& item, group_ratio_manifest& one) { return read_ratio(in, item, one); });
      });
}

std::optional<error> settle_own_words(group_draft& draft) {
  group_spec& spec = draft.made.spec;
  if (draft.when_full) spec.topology.when_full = *draft.when_full;
  if (!draft.stale_after) return std::nullopt;
  gang* policy = std::get_if<gang>(&spec.policy);
  if (policy == nullptr)
    return error{errc::malformed, {}, "policy.stale_after", "the group is no gang, so that one member is enough"};
  policy->stale_after = draft.stale_after;
  return std::nullopt;
}

}  // namespace gangsched::inline GANGSCHED_ABI::kube::detail
