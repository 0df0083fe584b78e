package mirror

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/component-helpers/nodedeclaredfeatures"
	"k8s.io/klog/v2"
)

// declaredFeature is before the name of a feature in labels by which the library knows nodes that declare it. Only the library sees these labels.
const declaredFeature = "declared-feature.gangsched.dev/"

// actsAs is the version of kube-scheduler whose rules count for which features a pod requires of its node.
var actsAs = version.MustParseSemantic("v1.36.3")

// withFeatures are labels of a node, and one for each feature that it declares and a pod may require.
func withFeatures(labels map[string]string, node *corev1.Node) map[string]string {
	all := nodedeclaredfeatures.DefaultFramework
	return withLabels(labels, all, all.TryMap(node.Status.DeclaredFeatures))
}

// requiringFeatures is a pod's node selector, with the features that the pod requires of its node, as kube-scheduler's NodeDeclaredFeatures has them.
func requiringFeatures(selector map[string]string, pod *corev1.Pod) map[string]string {
	all := nodedeclaredfeatures.DefaultFramework
	required, err := all.InferForPodScheduling(&nodedeclaredfeatures.PodInfo{Spec: &pod.Spec}, actsAs)
	if err != nil {
		klog.ErrorS(err, "it is not known which features a pod requires", "pod", klog.KObj(pod))
		return selector
	}
	return withLabels(selector, all, required)
}

// withLabels are labels with one for each of these features: a copy, if there is one.
func withLabels(labels map[string]string, all *nodedeclaredfeatures.Framework, features nodedeclaredfeatures.FeatureSet) map[string]string {
	names, err := all.Unmap(features)
	if err != nil || len(names) == 0 {
		return labels
	}
	made := maps.Clone(labels)
	if made == nil {
		made = map[string]string{}
	}
	for _, name := range names {
		made[declaredFeature+name] = ""
	}
	return made
}
