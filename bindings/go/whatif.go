package gangsched

/*
#include "binding.h"
*/
import "C"

import "unsafe"

// Fork is a copy of a cluster and of a scheduler on it, with its queue and all that is under way. Ids and attempts are those of the original, and the
// same calls lead to the same decisions. The two share nothing that changes except the values of plugins, so each may be used by a goroutine of its own.
// A fork has no metrics. To go on with it, close the original.
type Fork struct {
	Cluster   *Cluster
	Scheduler *Scheduler
}

// Close closes the scheduler and the cluster. It may be called twice.
func (f *Fork) Close() {
	f.Scheduler.Close()
	f.Cluster.Close()
}

// Fork copies the scheduler with its cluster. Errors: ErrBusy; ErrWrongState, where a plugin cannot be copied.
func (s *Scheduler) Fork() (*Fork, error) {
	var cluster *C.gangsched_cluster
	var scheduler *C.gangsched_scheduler
	if err := s.done(C.gangsched_scheduler_fork(s.s, &cluster, &scheduler, s.call.failure)); err != nil {
		return nil, err
	}
	made := &Scheduler{s: scheduler, cluster: ownCluster(cluster, newCall()), plugins: s.plugins, call: newCall()}
	made.cluster.own.mu.Lock()
	defer made.cluster.own.mu.Unlock()
	made.owned()
	return &Fork{made.cluster, made}, nil
}

// Fork copies the cluster alone, for a scheduler with other options.
func (c *Cluster) Fork() (*Cluster, error) {
	var handle *C.gangsched_cluster
	if err := c.done(C.gangsched_cluster_fork(c.c, &handle, c.call.failure)); err != nil {
		return nil, err
	}
	return ownCluster(handle, newCall()), nil
}

// NodeShape is a kind of node that can be had.
type NodeShape struct {
	Like  NodeSpec // each gets a name and a hostname of its own
	Price int64    // of one, in the host's unit
	Most  uint32   // there may be that many more; 0: any number
}

// DemandOptions of Scheduler.Demand.
type DemandOptions struct {
	Now         int64   // not before what the scheduler was told last
	Pods        []PodID // which are meant; with no pods and no groups all that wait
	Groups      []GroupID
	MostNodes   uint32 // of each shape in a plan; 0: 256
	SearchSteps uint32 // of looking for a cheaper mixture, where that is a question of amounts; 0: 200,000
	MostTrials  uint32 // forks to make a plan smaller, where it is a question of more than amounts; 0: 64
}

// Assignment is a node for a pod.
type Assignment struct {
	Pod  PodID
	Node NodeID
}

// AddedNode is a node of a plan: its shape's place among the shapes, and the pods that would run there.
type AddedNode struct {
	Shape int
	Pods  []PodID
}

// DemandPlan is nodes that make room for all pods for which nodes can.
type DemandPlan struct {
	Price     int64
	Nodes     []AddedNode
	Elsewhere []Assignment // pods that would find room on nodes that there are, beside those
	// ByItself: the scheduler finds these places, or as good ones, by itself. If not, it does if the host nominates the pods (Cluster.Nominate) to
	// their nodes when these have come.
	ByItself bool
}

// Demand is which nodes, and how many of them, make the waiting pods fit.
type Demand struct {
	Plans []DemandPlan // cheapest first: the best that was found, and the best of each shape alone
	Left  []PodID      // that no nodes of these shapes help, as many as there may be
}

// Demand asks which nodes of these shapes make the waiting pods fit: gangs whole, topology and devices respected, no pod evicted. Every plan was
// tried in a fork, by the scheduler itself, which stays as it is.
func (s *Scheduler) Demand(shapes []NodeShape, options DemandOptions) (*Demand, error) {
	s.call.reset()
	a := &s.call.arena
	given := list[C.gangsched_node_shape](a, len(shapes))
	for i := range shapes {
		given[i] = C.gangsched_node_shape{like: a.node(&shapes[i].Like), has_price: true, price: C.int64_t(shapes[i].Price), most: C.uint32_t(shapes[i].Most)}
		given[i].struct_size = C.size_t(unsafe.Sizeof(given[i]))
	}
	how := one[C.gangsched_demand_options](a)
	how.struct_size = C.size_t(unsafe.Sizeof(*how))
	how.now = C.int64_t(options.Now)
	how.pods, how.pod_count = ids[C.gangsched_pod_id](a, options.Pods)
	how.groups, how.group_count = ids[C.gangsched_group_id](a, options.Groups)
	how.most_nodes, how.search_steps, how.most_trials = C.uint32_t(options.MostNodes), C.uint32_t(options.SearchSteps), C.uint32_t(options.MostTrials)
	if err := a.check(); err != nil {
		return nil, err
	}
	var answer *C.gangsched_demand
	code := C.gangsched_scheduler_demand(s.s, (*C.gangsched_node_shape)(first(given)), C.size_t(len(given)), how, &answer, s.call.failure)
	if err := s.done(code); err != nil {
		return nil, err
	}
	defer C.gangsched_demand_destroy(answer)
	var plans *C.gangsched_demand_plan
	made := &Demand{Plans: make([]DemandPlan, int(C.gangsched_demand_plans(answer, &plans)))}
	for i, plan := range unsafe.Slice(plans, len(made.Plans)) {
		to := &made.Plans[i]
		to.Price, to.ByItself = int64(plan.price), bool(plan.by_itself)
		to.Elsewhere = copied[Assignment](unsafe.Pointer(plan.elsewhere), plan.elsewhere_count)
		to.Nodes = make([]AddedNode, plan.node_count)
		for k, node := range unsafe.Slice(plan.nodes, plan.node_count) {
			to.Nodes[k] = AddedNode{int(node.shape), copied[PodID](unsafe.Pointer(node.pods), node.pod_count)}
		}
	}
	var left *C.gangsched_pod_id
	count := C.gangsched_demand_left(answer, &left)
	made.Left = copied[PodID](unsafe.Pointer(left), count)
	return made, nil
}

// RemovalOptions of Scheduler.Removable.
type RemovalOptions struct {
	Now  int64   // not before what the scheduler was told last
	Stay []PodID // pods that must not move: their nodes stay
}

// RemovableNode is a node that can be drained after those before it in the list, and where its pods would go.
type RemovableNode struct {
	Node  NodeID
	Moves []Assignment
}

// Removable asks which of the nodes, in that order, can be drained one after another with all pods placed elsewhere, disruption budgets honoured.
// Each was tried in a fork, by the scheduler itself, which stays as it is.
func (s *Scheduler) Removable(among []NodeID, options RemovalOptions) ([]RemovableNode, error) {
	s.call.reset()
	a := &s.call.arena
	nodes, count := ids[C.gangsched_node_id](a, among)
	how := one[C.gangsched_removal_options](a)
	how.struct_size = C.size_t(unsafe.Sizeof(*how))
	how.now = C.int64_t(options.Now)
	how.stay, how.stay_count = ids[C.gangsched_pod_id](a, options.Stay)
	var answer *C.gangsched_removable
	if err := s.done(C.gangsched_scheduler_removable(s.s, nodes, count, how, &answer, s.call.failure)); err != nil {
		return nil, err
	}
	defer C.gangsched_removable_destroy(answer)
	var found *C.gangsched_removable_node
	made := make([]RemovableNode, int(C.gangsched_removable_nodes(answer, &found)))
	for i, node := range unsafe.Slice(found, len(made)) {
		made[i] = RemovableNode{NodeID(node.node.value), copied[Assignment](unsafe.Pointer(node.moves), node.move_count)}
	}
	return made, nil
}

// ids is a copy of ids, which are one number in Go and in C.
func ids[To any, ID ~uint64](a *arena, from []ID) (*To, C.size_t) {
	made := list[ID](a, len(from))
	copy(made, from)
	return (*To)(first(made)), C.size_t(len(from))
}

// copied is a list of C's in Go's memory; the types have one layout.
func copied[T any](from unsafe.Pointer, count C.size_t) []T {
	if count == 0 {
		return nil
	}
	return append([]T(nil), unsafe.Slice((*T)(from), count)...)
}

var _ = [1]struct{}{}[unsafe.Sizeof(Assignment{})-unsafe.Sizeof(C.gangsched_assignment{})]
