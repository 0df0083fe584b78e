#include "gangsched/scheduling/explanation.hpp"

#include "gangsched/core/nodes_line.hpp"

namespace gangsched::inline GANGSCHED_ABI {

GANGSCHED_INLINE std::string why_rejected::text() const {
  std::vector<std::string> parts;
  for (const counted_reason& one : reasons)
    parts.push_back(one.nodes == 0 ? one.text : std::to_string(one.nodes) + " " + one.text);
  std::string line;
  if (nodes != 0) {
    line = detail::nodes_line(0, nodes, std::move(parts));
  } else {
    for (const std::string& part : parts) (line += line.empty() ? "" : ", ") += part;
  }
  if (member) line = std::to_string(placed) + " found a node, then " + member_name + ": " + line;
  if (!post_filter.empty()) (line += line.empty() ? "" : " ") += post_filter;
  if (!group.empty()) line = line.empty() ? group : group + ": " + line;
  return line;
}

}  // namespace gangsched::inline GANGSCHED_ABI
