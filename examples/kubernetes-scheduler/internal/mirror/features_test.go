package mirror

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// A pod that requires a feature of its node goes where that is declared, as soon as it is.
func TestAPodGoesWhereTheFeaturesAreThatItRequires(t *testing.T) {
	no, restart := false, corev1.ContainerRestartRuleActionRestartAllContainers
	for name, now := range map[string]struct {
		change   func(*corev1.PodSpec)
		declares []string
		fits     bool
	}{
		"requires nothing": {func(*corev1.PodSpec) {}, nil, true},
		"requires restarts": {func(spec *corev1.PodSpec) {
			spec.Containers[0].RestartPolicyRules = []corev1.ContainerRestartRule{{Action: restart}}
		}, nil, false},
		"which are declared": {func(spec *corev1.PodSpec) {
			spec.Containers[0].RestartPolicyRules = []corev1.ContainerRestartRule{{Action: restart}}
		}, []string{"Other", "RestartAllContainersOnContainerExits"}, true},
		"requires users":      {func(spec *corev1.PodSpec) { spec.HostNetwork, spec.HostUsers = true, &no }, []string{"RestartAllContainersOnContainerExits"}, false},
		"which are declared,": {func(spec *corev1.PodSpec) { spec.HostNetwork, spec.HostUsers = true, &no }, []string{"UserNamespacesHostNetworkSupport"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			node := nodeOf("n", "4")
			w.SetNode(node)
			declaring := node.DeepCopy()
			declaring.Status.DeclaredFeatures = now.declares
			w.SetNode(declaring)
			pod := podOf("p", "1")
			now.change(&pod.Spec)
			w.SetPod(pod)
			if now.fits {
				w.want(w.turn(), "[p bind]")
				return
			}
			w.want(w.turn(), "[p reject]")
			declaring = node.DeepCopy()
			declaring.Status.DeclaredFeatures = []string{"RestartAllContainersOnContainerExits", "UserNamespacesHostNetworkSupport"}
			w.SetNode(declaring)
			w.want(w.turn(), "[p bind]")
		})
	}
}
