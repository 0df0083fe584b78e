// Package fit asks the library whether, and where, pods fit as a whole.
package fit

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"gangsched"
	"gangsched/kube"
)

// Answer says where each pod of a group would run, in their order, or why the group does not fit.
type Answer struct {
	Nodes []string
	Why   string
}

// Fits says whether it does.
func (a *Answer) Fits() bool { return a.Why == "" }

// withoutEvictions decides as kube-scheduler does, but for taking room from others: a gang that is not made yet preempts no pod.
var withoutEvictions = []gangsched.Profile{{Without: []string{"DefaultPreemption", "GroupPreemption"}}}

// Ask plays what the scheduler would do with the group on the cluster as it is. The pods of the group are alike, and need not be there.
func Ask(nodes []corev1.Node, pods []corev1.Pod, group []*corev1.Pod) (*Answer, error) {
	cluster := gangsched.NewCluster()
	defer cluster.Close()
	if err := fill(cluster, nodes, pods); err != nil {
		return nil, err
	}
	gang, err := cluster.AddGroup(&gangsched.GroupSpec{Name: group[0].Name, Namespace: group[0].Namespace, MinCount: int32(len(group))})
	if err != nil {
		return nil, err
	}
	places := map[gangsched.PodID]int{}
	var first gangsched.PodID
	for i, pod := range group {
		spec, err := kube.Pod(pod, cluster, kube.Options{})
		if err != nil {
			return nil, err
		}
		spec.Group, spec.SchedulerName = gang, ""
		id, err := cluster.AddPod(spec)
		if err != nil {
			return nil, err
		}
		places[id] = i
		if i == 0 {
			first = id
		}
	}
	scheduler, err := gangsched.NewScheduler(cluster, gangsched.Options{Profiles: withoutEvictions})
	if err != nil {
		return nil, err
	}
	defer scheduler.Close()
	decisions, err := scheduler.Run(0)
	if err != nil {
		return nil, err
	}
	answer := &Answer{Nodes: make([]string, len(group))}
	bound := 0
	for i := range decisions {
		if place, ours := places[decisions[i].Pod]; ours && decisions[i].Kind == gangsched.Bind {
			answer.Nodes[place] = cluster.NodeName(decisions[i].Node)
			bound++
		}
	}
	if bound == len(group) {
		return answer, nil
	}
	why, err := scheduler.Explain(first)
	return &Answer{Why: why}, err
}

// fill has the nodes and what runs on them.
func fill(cluster *gangsched.Cluster, nodes []corev1.Node, pods []corev1.Pod) error {
	for i := range nodes {
		if _, err := cluster.AddNode(kube.Node(&nodes[i])); err != nil {
			return err
		}
	}
	for i := range pods {
		pod := &pods[i]
		if pod.Spec.NodeName == "" || kube.Ended(pod) || cluster.FindNode(pod.Spec.NodeName) == 0 {
			continue
		}
		// What runs has its volumes and devices: its room counts, and which pods may be beside it.
		pod = pod.DeepCopy()
		pod.Spec.Volumes, pod.Spec.ResourceClaims = nil, nil
		spec, err := kube.Pod(pod, cluster, kube.Options{})
		if err == nil {
			_, err = cluster.AddPod(spec)
		}
		if err != nil {
			return fmt.Errorf("pod %s/%s: %w", pod.Namespace, pod.Name, err)
		}
	}
	return nil
}
