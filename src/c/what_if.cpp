#include "gangsched/c/what_if.h"

#include "gangsched/fork.hpp"
#include "gangsched/src/c/copier.hpp"
#include "gangsched/src/c/scheduler.hpp"
#include "gangsched/src/c/specs.hpp"
#include "gangsched/what_if/autoscaling.hpp"

/// Answers as C reads them: what the structs point to stands in the lists beside them, which do not grow any more.
struct gangsched_demand {
  std::vector<gangsched_pod_id> pods = {};  ///< of all nodes of all plans
  std::vector<gangsched_assignment> elsewhere = {};
  std::vector<gangsched_added_node> nodes = {};
  std::vector<gangsched_demand_plan> plans = {};
  std::vector<gangsched_pod_id> left = {};
};

struct gangsched_removable {
  std::vector<gangsched_assignment> moves = {};
  std::vector<gangsched_removable_node> nodes = {};
};

namespace gangsched::inline GANGSCHED_ABI::c {
namespace {

gangsched_assignment as_handed(const assignment& from) noexcept { return {handed(from.pod), handed(from.node)}; }

std::unique_ptr<gangsched_demand> as_handed(const demand_answer& from) {
  auto made = std::make_unique<gangsched_demand>();
  std::size_t pods = 0, nodes = 0, elsewhere = 0;
  for (const demand_plan& plan : from.plans) {
    nodes += plan.nodes.size();
    elsewhere += plan.elsewhere.size();
    for (const demand_plan::added_node& node : plan.nodes) pods += node.pods.size();
  }
  made->pods.reserve(pods);
  made->nodes.reserve(nodes);
  made->elsewhere.reserve(elsewhere);
  for (const demand_plan& plan : from.plans) {
    const std::size_t first_node = made->nodes.size(), first_elsewhere = made->elsewhere.size();
    for (const demand_plan::added_node& node : plan.nodes) {
      const std::size_t first = made->pods.size();
      for (const pod_id pod : node.pods) made->pods.push_back(handed(pod));
      made->nodes.push_back({node.shape, made->pods.data() + first, node.pods.size()});
    }
    for (const assignment& one : plan.elsewhere) made->elsewhere.push_back(as_handed(one));
    made->plans.push_back({plan.price, made->nodes.data() + first_node, plan.nodes.size(),
                           made->elsewhere.data() + first_elsewhere, plan.elsewhere.size(), plan.by_itself});
  }
  for (const pod_id pod : from.left) made->left.push_back(handed(pod));
  return made;
}

std::unique_ptr<gangsched_removable> as_handed(const std::vector<removable_node>& from) {
  auto made = std::make_unique<gangsched_removable>();
  std::size_t moves = 0;
  for (const removable_node& one : from) moves += one.moves.size();
  made->moves.reserve(moves);
  for (const removable_node& one : from) {
    const std::size_t first = made->moves.size();
    for (const assignment& move : one.moves) made->moves.push_back(as_handed(move));
    made->nodes.push_back({handed(one.node), made->moves.data() + first, one.moves.size()});
  }
  return made;
}

/// What a call may point to.
error null_list(const char* object, const char* field) {
  return {errc::malformed, object, field, "is null, and not empty"};
}

result<std::vector<node_shape>> read_shapes(const gangsched_node_shape* from, std::size_t count) {
  copier copy{"shapes", nullptr, nullptr};
  std::optional<error> wrong;
  std::vector<node_shape> made;
  copy.each_sized(from, count, "shapes", [&](const gangsched_node_shape& one) {
    if (wrong) return;
    if (one.like == nullptr) {
      wrong = error{errc::malformed, "shape " + std::to_string(made.size()), "like", "is null"};
      return;
    }
    auto like = read_spec(*one.like);
    if (!like) {
      wrong = std::move(like).error();
      return;
    }
    node_shape& to = made.emplace_back(node_shape{.like = *std::move(like)});
    if (one.has_price) to.price = one.price;
    if (one.most != 0) to.most = one.most;
  });
  if (wrong) return *std::move(wrong);
  return copy.done(std::move(made));
}

template <class Id, class Given>
std::vector<Id> ids_of(const Given* from, std::size_t count) {
  std::vector<Id> made;
  made.reserve(count);
  for (std::size_t i = 0; i < count; ++i) made.push_back(of(from[i]));
  return made;
}

}  // namespace
}  // namespace gangsched::inline GANGSCHED_ABI::c

using namespace gangsched;

gangsched_code gangsched_scheduler_fork(const gangsched_scheduler* on, gangsched_cluster** cluster,
                                        gangsched_scheduler** fork, gangsched_error* error) noexcept {
  if (on == nullptr) return c::missing(error, "scheduler");
  if (cluster == nullptr) return c::missing(error, "cluster");
  if (fork == nullptr) return c::missing(error, "fork");
  return c::guarded(error, [&] {
    auto made = on->engine.fork();
    if (!made) return c::refuse(error, made.error());
    auto copy = std::make_unique<gangsched_cluster>(std::move(made->cluster));
    auto whole = std::make_unique<gangsched_scheduler>(*copy, std::move(made->scheduler), *on);
    *cluster = copy.release();
    *fork = whole.release();
    return c::ok;
  });
}
gangsched_code gangsched_cluster_fork(const gangsched_cluster* on, gangsched_cluster** made,
                                      gangsched_error* error) noexcept {
  if (on == nullptr) return c::missing(error, "cluster");
  if (made == nullptr) return c::missing(error, "made");
  return c::guarded(error, [&] {
    auto copy = on->model.fork();
    if (!copy) return c::refuse(error, copy.error());
    *made = new gangsched_cluster{*std::move(copy)};
    return c::ok;
  });
}

gangsched_code gangsched_scheduler_demand(const gangsched_scheduler* on, const gangsched_node_shape* shapes,
                                          size_t count, const gangsched_demand_options* given, gangsched_demand** made,
                                          gangsched_error* error) noexcept {
  if (on == nullptr) return c::missing(error, "scheduler");
  if (shapes == nullptr && count != 0) return c::missing(error, "shapes");
  if (made == nullptr) return c::missing(error, "made");
  return c::guarded(error, [&] {
    const auto read = given == nullptr ? std::optional{gangsched_demand_options{}} : c::sized(given);
    if (!read) return c::wrong_size(error, "demand options");
    if (read->pods == nullptr && read->pod_count != 0) return c::refuse(error, c::null_list("demand options", "pods"));
    if (read->groups == nullptr && read->group_count != 0)
      return c::refuse(error, c::null_list("demand options", "groups"));
    const auto all = c::read_shapes(shapes, count);
    if (!all) return c::refuse(error, all.error());
    const auto pods = c::ids_of<pod_id>(read->pods, read->pod_count);
    const auto groups = c::ids_of<group_id>(read->groups, read->group_count);
    demand_options options{.now = instant{read->now}, .pods = pods, .groups = groups};
    if (read->most_nodes != 0) options.most_nodes = read->most_nodes;
    if (read->search_steps != 0) options.search_steps = read->search_steps;
    if (read->most_trials != 0) options.most_trials = read->most_trials;
    const auto answer = demand(on->engine, *all, options);
    if (!answer) return c::refuse(error, answer.error());
    *made = c::as_handed(*answer).release();
    return c::ok;
  });
}
void gangsched_demand_destroy(gangsched_demand* on) noexcept { delete on; }
size_t gangsched_demand_plans(const gangsched_demand* on, const gangsched_demand_plan** plans) noexcept {
  if (plans != nullptr) *plans = on == nullptr ? nullptr : on->plans.data();
  return on == nullptr ? 0 : on->plans.size();
}
size_t gangsched_demand_left(const gangsched_demand* on, const gangsched_pod_id** pods) noexcept {
  if (pods != nullptr) *pods = on == nullptr ? nullptr : on->left.data();
  return on == nullptr ? 0 : on->left.size();
}

gangsched_code gangsched_scheduler_removable(const gangsched_scheduler* on, const gangsched_node_id* among,
                                             size_t count, const gangsched_removal_options* given,
                                             gangsched_removable** made, gangsched_error* error) noexcept {
  if (on == nullptr) return c::missing(error, "scheduler");
  if (among == nullptr && count != 0) return c::missing(error, "among");
  if (made == nullptr) return c::missing(error, "made");
  return c::guarded(error, [&] {
    const auto read = given == nullptr ? std::optional{gangsched_removal_options{}} : c::sized(given);
    if (!read) return c::wrong_size(error, "removal options");
    if (read->stay == nullptr && read->stay_count != 0)
      return c::refuse(error, c::null_list("removal options", "stay"));
    const auto stay = c::ids_of<pod_id>(read->stay, read->stay_count);
    const auto nodes = c::ids_of<node_id>(among, count);
    const auto answer = removable(on->engine, nodes, {.now = instant{read->now}, .stay = stay});
    if (!answer) return c::refuse(error, answer.error());
    *made = c::as_handed(*answer).release();
    return c::ok;
  });
}
void gangsched_removable_destroy(gangsched_removable* on) noexcept { delete on; }
size_t gangsched_removable_nodes(const gangsched_removable* on, const gangsched_removable_node** nodes) noexcept {
  if (nodes != nullptr) *nodes = on == nullptr ? nullptr : on->nodes.data();
  return on == nullptr ? 0 : on->nodes.size();
}
