#include <gangsched/gangsched.hpp>
#include <gangsched/scheduling/queue_listing.hpp>

struct saved_pod {
  gangsched::pod_spec spec;  // .node and .held_devices if it runs, .nominated_node if victims are leaving for it
  gangsched::queue_position position = {};             // standing(pod)->position(), when it was rejected or failed
  gangsched::node_id binding = {};                     // the node of a bind or wait that was decided and not answered
  std::optional<gangsched::waiting_pod> waiting = {};  // of a wait: as waiting() listed it
};

/// The pods' ids are in the order of @p pods.
inline gangsched::result<gangsched::scheduler> resume(gangsched::cluster& cluster, const std::vector<saved_pod>& pods,
                                                      std::vector<gangsched::pod_id>& ids) {
  for (const saved_pod& pod : pods) {
    auto id = cluster.add_pod(pod.spec);
    if (!id) return std::move(id).error();
    ids.push_back(*id);
    if (!pod.binding) continue;
    if (auto done = cluster.assume(*id, pod.binding); !done) return std::move(done).error();
  }
  gangsched::scheduler scheduler{cluster, gangsched::profiles::kube_default()};
  for (std::size_t i = 0; i < pods.size(); ++i) {
    const gangsched::queue_position& stood = pods[i].position;
    gangsched::result<void> done;
    if (pods[i].waiting) {
      gangsched::waiting_pod waiting = *pods[i].waiting;
      waiting.pod = ids[i];
      done = scheduler.restore(waiting);
    } else if (cluster.state_of(ids[i]) == gangsched::pod_state::pending && stood.failures + stood.errors != 0) {
      done = scheduler.restore(ids[i], stood);
    }  // else it was to be bound: ask whether it runs, or start it again, under its new number: cluster.attempt_of(ids[i])
    if (!done) return std::move(done).error();
  }
  return scheduler;
}
