package mirror

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/component-helpers/nodedeclaredfeatures"
	"k8s.io/klog/v2"
)

// actsAs is the version of kube-scheduler whose rules count for which features a pod requires of its node.
var actsAs = version.MustParseSemantic("v1.36.3")

// requiredFeatures are what a pod requires of its node, as kube-scheduler's NodeDeclaredFeatures infers it.
func requiredFeatures(pod *corev1.Pod) []string {
	all := nodedeclaredfeatures.DefaultFramework
	required, err := all.InferForPodScheduling(&nodedeclaredfeatures.PodInfo{Spec: &pod.Spec}, actsAs)
	if err != nil {
		klog.ErrorS(err, "it is not known which features a pod requires", "pod", klog.KObj(pod))
		return nil
	}
	names, err := all.Unmap(required)
	if err != nil {
		klog.ErrorS(err, "features that a pod requires have no names", "pod", klog.KObj(pod))
	}
	return names
}
