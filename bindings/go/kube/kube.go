// Package kube converts client-go's typed objects into what a gangsched.Cluster takes, field by field.
package kube

import (
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gangsched"
)

// Names leads from names to ids: a *gangsched.Cluster does.
type Names interface {
	FindNode(name string) gangsched.NodeID
	FindResourceClaim(namespace, name string) gangsched.ResourceClaimID
	ExpectGroup(namespace, name string) (gangsched.GroupID, error)
}

// Options of Pod.
type Options struct {
	Group string // the pod group that it is in, in its namespace; "" for none
	Queue string // "" for that of its group or namespace
	// Volumes of the pod: what Volumes says. Without it a pod with claims of volumes, or disks that pods cannot share, is an error.
	Volumes *gangsched.PodVolumes
}

// Node is a node as the cluster takes it; the caller sets the Cookie.
func Node(from *corev1.Node) *gangsched.NodeSpec {
	made := &gangsched.NodeSpec{
		Name:          from.Name,
		Labels:        from.Labels,
		Allocatable:   amounts(from.Status.Allocatable),
		Unschedulable: from.Spec.Unschedulable,
	}
	for _, taint := range from.Spec.Taints {
		made.Taints = append(made.Taints, gangsched.Taint{Key: taint.Key, Value: taint.Value, Effect: effect(taint.Effect)})
	}
	for _, image := range from.Status.Images {
		made.Images = append(made.Images, gangsched.Image{Names: image.Names, SizeBytes: image.SizeBytes})
	}
	return made
}

// Ended reports whether a pod will not run again: then it is removed from the cluster.
func Ended(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// Pod is a pod as the cluster takes it. Error: it has volumes that restrict where it can run, and there are no Options.Volumes; its node, or a claim of
// devices, does not exist.
func Pod(from *corev1.Pod, in Names, options Options) (*gangsched.PodSpec, error) {
	spec := &from.Spec
	for i := range spec.Volumes {
		v := &spec.Volumes[i]
		if options.Volumes == nil && (ClaimOf(from, v) != "" || disk(v) != nil) {
			return nil, fmt.Errorf("pod %s/%s: volume %s says where the pod can be: it needs Options.Volumes", from.Namespace, from.Name, v.Name)
		}
	}
	shared, err := claims(from, in)
	if err != nil {
		return nil, err
	}
	requests, initRequests := ContainerRequests(from)
	made := &gangsched.PodSpec{
		Name:           from.Name,
		Namespace:      from.Namespace,
		Labels:         from.Labels,
		Containers:     containers(spec.Containers, requests),
		InitContainers: containers(spec.InitContainers, initRequests),
		Overhead:       amounts(spec.Overhead),
		NodeSelector:   spec.NodeSelector,
		Priority:       spec.Priority,
		PriorityClass:  spec.PriorityClassName,
		NeverPreempts:  spec.PreemptionPolicy != nil && *spec.PreemptionPolicy == corev1.PreemptNever,
		SchedulerName:  spec.SchedulerName,
		Queue:          options.Queue,
		Terminating:    from.DeletionTimestamp != nil,
		ResourceClaims: shared,
		Volumes:        options.Volumes,
		Guaranteed:     from.Status.QOSClass == corev1.PodQOSGuaranteed,
	}
	if owner := metav1.GetControllerOf(from); owner != nil {
		if kind, known := controllers[owner.Kind]; known {
			made.Controller = gangsched.Controller{Kind: kind, Name: owner.Name}
		}
	}
	if spec.Resources != nil {
		if made.Resources = amounts(spec.Resources.Requests); made.Resources == nil {
			made.Resources = []gangsched.Amount{}
		}
	}
	for i := range spec.Volumes {
		if image := spec.Volumes[i].Image; image != nil {
			made.ImageVolumes = append(made.ImageVolumes, image.Reference)
		}
	}
	for _, gate := range spec.SchedulingGates {
		made.SchedulingGates = append(made.SchedulingGates, gate.Name)
	}
	for _, t := range spec.Tolerations {
		made.Tolerations = append(made.Tolerations, gangsched.Toleration{Key: t.Key, Value: t.Value, Effect: effect(t.Effect), Exists: t.Operator == corev1.TolerationOpExists})
	}
	for i := range spec.TopologySpreadConstraints {
		made.Spread = append(made.Spread, spread(&spec.TopologySpreadConstraints[i]))
	}
	if spec.Affinity != nil {
		affinity(spec.Affinity, made)
	}
	if deadline := from.Spec.ActiveDeadlineSeconds; deadline != nil {
		made.ExpectedRunTime = *deadline * int64(time.Second)
	}
	if from.Status.StartTime != nil {
		started := from.Status.StartTime.UnixNano()
		made.StartTime = &started
	}
	for _, condition := range from.Status.Conditions {
		if condition.Type == corev1.DisruptionTarget && condition.Status == corev1.ConditionTrue && condition.Reason == corev1.PodReasonPreemptionByScheduler {
			made.Preempted = true
		}
	}
	if spec.NodeName != "" {
		if made.Node = in.FindNode(spec.NodeName); made.Node == 0 {
			return nil, fmt.Errorf("pod %s/%s: there is no node %q", from.Namespace, from.Name, spec.NodeName)
		}
	}
	if from.Status.NominatedNodeName != "" {
		made.NominatedNode = in.FindNode(from.Status.NominatedNodeName) // it may be gone
	}
	if options.Group != "" {
		group, err := in.ExpectGroup(from.Namespace, options.Group)
		if err != nil {
			return nil, err
		}
		made.Group = group
	}
	return made, nil
}

var controllers = map[string]gangsched.ControllerKind{
	"ReplicationController": gangsched.ReplicationController,
	"ReplicaSet":            gangsched.ReplicaSet,
	"StatefulSet":           gangsched.StatefulSet,
	"DaemonSet":             gangsched.DaemonSet,
}

func effect(of corev1.TaintEffect) gangsched.Effect {
	switch of {
	case corev1.TaintEffectNoSchedule:
		return gangsched.NoSchedule
	case corev1.TaintEffectPreferNoSchedule:
		return gangsched.PreferNoSchedule
	case corev1.TaintEffectNoExecute:
		return gangsched.NoExecute
	}
	return gangsched.AnyEffect
}

// amount is exact, without a text where the quantity is a number of 64 bits with a scale.
func amount(name corev1.ResourceName, of resource.Quantity) gangsched.Amount {
	if whole, exact := of.AsInt64(); exact {
		return gangsched.Amount{Resource: string(name), Value: whole}
	}
	if milli := of.MilliValue(); resource.NewMilliQuantity(milli, resource.DecimalSI).Cmp(of) == 0 {
		return gangsched.Amount{Resource: string(name), Value: milli, Scale: -3}
	}
	return gangsched.Amount{Resource: string(name), Quantity: of.String()}
}

// amounts are in order of names, so that what is the same is equal.
func amounts(all corev1.ResourceList) []gangsched.Amount {
	if len(all) == 0 {
		return nil
	}
	made := make([]gangsched.Amount, 0, len(all))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		made = append(made, amount(name, all[name]))
	}
	return made
}

func containers(all []corev1.Container, requests []corev1.ResourceList) []gangsched.Container {
	if len(all) == 0 {
		return nil
	}
	made := make([]gangsched.Container, len(all))
	for i := range all {
		from, to := &all[i], &made[i]
		to.Requests, to.Limits = amounts(requests[i]), amounts(from.Resources.Limits)
		to.Image = from.Image
		to.Sidecar = isSidecar(from)
		for _, port := range from.Ports {
			if port.HostPort == 0 {
				continue
			}
			protocol := gangsched.TCP
			switch port.Protocol {
			case corev1.ProtocolUDP:
				protocol = gangsched.UDP
			case corev1.ProtocolSCTP:
				protocol = gangsched.SCTP
			}
			to.Ports = append(to.Ports, gangsched.Port{HostPort: port.HostPort, Protocol: protocol, HostIP: port.HostIP})
		}
	}
	return made
}

var nodeOperators = map[corev1.NodeSelectorOperator]gangsched.Operator{
	corev1.NodeSelectorOpIn:           gangsched.In,
	corev1.NodeSelectorOpNotIn:        gangsched.NotIn,
	corev1.NodeSelectorOpExists:       gangsched.Exists,
	corev1.NodeSelectorOpDoesNotExist: gangsched.DoesNotExist,
	corev1.NodeSelectorOpGt:           gangsched.Gt,
	corev1.NodeSelectorOpLt:           gangsched.Lt,
}

var labelOperators = map[metav1.LabelSelectorOperator]gangsched.Operator{
	metav1.LabelSelectorOpIn:           gangsched.In,
	metav1.LabelSelectorOpNotIn:        gangsched.NotIn,
	metav1.LabelSelectorOpExists:       gangsched.Exists,
	metav1.LabelSelectorOpDoesNotExist: gangsched.DoesNotExist,
}

// unknownOperator is none, which the cluster refuses.
const unknownOperator gangsched.Operator = -1

func nodeRequirements(all []corev1.NodeSelectorRequirement) []gangsched.Requirement {
	var made []gangsched.Requirement
	for _, one := range all {
		op, known := nodeOperators[one.Operator]
		if !known {
			op = unknownOperator
		}
		made = append(made, gangsched.Requirement{Key: one.Key, Op: op, Values: one.Values})
	}
	return made
}

func nodeTerm(from *corev1.NodeSelectorTerm, weight int32) gangsched.NodeTerm {
	return gangsched.NodeTerm{MatchExpressions: nodeRequirements(from.MatchExpressions), MatchFields: nodeRequirements(from.MatchFields), Weight: weight}
}

func selector(from *metav1.LabelSelector) *gangsched.Selector {
	if from == nil {
		return nil
	}
	made := &gangsched.Selector{MatchLabels: from.MatchLabels}
	for _, one := range from.MatchExpressions {
		op, known := labelOperators[one.Operator]
		if !known {
			op = unknownOperator
		}
		made.MatchExpressions = append(made.MatchExpressions, gangsched.Requirement{Key: one.Key, Op: op, Values: one.Values})
	}
	return made
}

func podTerm(from *corev1.PodAffinityTerm, weight int32) gangsched.PodTerm {
	return gangsched.PodTerm{
		TopologyKey:       from.TopologyKey,
		Selector:          selector(from.LabelSelector),
		Namespaces:        from.Namespaces,
		NamespaceSelector: selector(from.NamespaceSelector),
		Weight:            weight,
	}
}

func podTerms(required []corev1.PodAffinityTerm, preferred []corev1.WeightedPodAffinityTerm) (must, prefer []gangsched.PodTerm) {
	for i := range required {
		must = append(must, podTerm(&required[i], 0))
	}
	for i := range preferred {
		prefer = append(prefer, podTerm(&preferred[i].PodAffinityTerm, preferred[i].Weight))
	}
	return must, prefer
}

func affinity(from *corev1.Affinity, into *gangsched.PodSpec) {
	if nodes := from.NodeAffinity; nodes != nil {
		if nodes.RequiredDuringSchedulingIgnoredDuringExecution != nil {
			into.NodeTerms = []gangsched.NodeTerm{}
			for i := range nodes.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
				into.NodeTerms = append(into.NodeTerms, nodeTerm(&nodes.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms[i], 0))
			}
		}
		for i := range nodes.PreferredDuringSchedulingIgnoredDuringExecution {
			one := &nodes.PreferredDuringSchedulingIgnoredDuringExecution[i]
			into.PreferredNodes = append(into.PreferredNodes, nodeTerm(&one.Preference, one.Weight))
		}
	}
	if pods := from.PodAffinity; pods != nil {
		into.Near, into.PreferNear = podTerms(pods.RequiredDuringSchedulingIgnoredDuringExecution, pods.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	if pods := from.PodAntiAffinity; pods != nil {
		into.Apart, into.PreferApart = podTerms(pods.RequiredDuringSchedulingIgnoredDuringExecution, pods.PreferredDuringSchedulingIgnoredDuringExecution)
	}
}

func spread(from *corev1.TopologySpreadConstraint) gangsched.Spread {
	made := gangsched.Spread{
		TopologyKey:        from.TopologyKey,
		MaxSkew:            from.MaxSkew,
		ScheduleAnyway:     from.WhenUnsatisfiable == corev1.ScheduleAnyway,
		Selector:           selector(from.LabelSelector),
		IgnoreNodeAffinity: from.NodeAffinityPolicy != nil && *from.NodeAffinityPolicy == corev1.NodeInclusionPolicyIgnore,
		HonorNodeTaints:    from.NodeTaintsPolicy != nil && *from.NodeTaintsPolicy == corev1.NodeInclusionPolicyHonor,
		MatchLabelKeys:     from.MatchLabelKeys,
	}
	if from.MinDomains != nil {
		made.MinDomains = *from.MinDomains
	}
	return made
}
