#include <algorithm>

#include "gangsched/model/call_mark.hpp"
#include "gangsched/model/cluster.hpp"
#include "gangsched/model/cluster_checks.hpp"
#include "gangsched/model/make_class.hpp"
#include "gangsched/model/requests.hpp"
#include "gangsched/model/tell.hpp"
#include "gangsched/model/validate.hpp"

namespace gangsched::inline GANGSCHED_ABI {
namespace detail {

/// To readers of the log: what is free on these nodes has changed.
GANGSCHED_INLINE void log_held(model::cluster_state& state, const std::vector<row_t>& nodes) {
  for (const row_t node : nodes)
    state.changed({.kind = change_kind::node_updated, .facets = reads::usage, .row = node});
}

GANGSCHED_INLINE std::vector<row_t> nodes_of(const model::held_room_record* room) {
  std::vector<row_t> nodes;
  if (room == nullptr) return nodes;
  for (const model::held_room_record::part& one : room->parts) nodes.push_back(one.node);
  return nodes;
}

}  // namespace detail

GANGSCHED_INLINE result<void> cluster::set_held_room(const held_room_spec& spec) {
  GANGSCHED_TELL(set_held_room, set_held_room(spec), spec);
  model::cluster_state& state = *state_;
  const std::string object = detail::object_name("held room", "", spec.name);
  GANGSCHED_REFUSE_IN_HOOK(state, object);
  state.collection.run_if_due();
  call_mark whole{state};
  if (auto wrong = check(spec)) return std::move(*wrong);
  std::vector<model::held_room_record::part> parts;
  for (std::size_t i = 0; i < spec.parts.size(); ++i) {
    const std::string field = "parts[" + std::to_string(i) + "]";
    const node_id node = spec.parts[i].node;
    if (!contains(node)) return error{errc::unknown, object, field + ".node", "no such node"};
    const bool twice =
        std::any_of(parts.begin(), parts.end(), [&](const auto& other) { return other.node == node.row; });
    if (twice) return error{errc::malformed, object, field + ".node", "the node is there twice"};
    auto amounts = to_integers(spec.parts[i].amounts, object, field + ".amounts");
    if (!amounts) return std::move(amounts).error();
    parts.push_back({node.row, no_row, to_amounts(state, *amounts)});
    for (const amount& one : parts.back().amounts) {
      if (!state.assigned.fits_in_words(node.row, one)) {
        return error{errc::overflow, object, field + ".amounts", "the node's usage would not fit into 64 bits"};
      }
    }
  }
  const symbol owner = state.names.intern(spec.name);
  std::vector<row_t> touched = detail::nodes_of(state.rooms.find(owner));
  state.rooms.set(spec.name, owner, std::move(parts), [&](row_t node, const auto& visit) {
    for (row_t pod = state.nodes.first_pod[node]; pod != no_row; pod = state.pods.next_on_node[pod]) {
      const pod_class& cls = state.classes[state.pods.cls[pod]];
      if (cls.held_room == owner) visit(cls);
    }
  });
  const std::vector<row_t> now = detail::nodes_of(state.rooms.find(owner));
  touched.insert(touched.end(), now.begin(), now.end());
  std::sort(touched.begin(), touched.end());
  touched.erase(std::unique(touched.begin(), touched.end()), touched.end());
  detail::log_held(state, touched);
  whole.keep();
  return {};
}

GANGSCHED_INLINE result<void> cluster::remove_held_room(std::string_view name) {
  GANGSCHED_TELL(remove_held_room, remove_held_room(name), name);
  model::cluster_state& state = *state_;
  const std::string object = detail::object_name("held room", "", name);
  GANGSCHED_REFUSE_IN_HOOK(state, object);
  state.collection.run_if_due();
  call_mark whole{state};
  const std::optional<symbol> owner = state.names.find(name);
  const std::vector<row_t> touched = detail::nodes_of(owner ? state.rooms.find(*owner) : nullptr);
  if (!owner || !state.rooms.remove(*owner)) return error{errc::unknown, object, "name", "no such room"};
  detail::log_held(state, touched);
  whole.keep();
  return {};
}

}  // namespace gangsched::inline GANGSCHED_ABI
