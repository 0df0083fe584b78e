package kube

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"gangsched"
)

// Storage leads from a pod's claims of volumes to what they are bound to.
type Storage interface {
	Claim(namespace, name string) *corev1.PersistentVolumeClaim // nil: there is none
	Volume(name string) *corev1.PersistentVolume
}

var volumeZones = []string{corev1.LabelTopologyZone, corev1.LabelTopologyRegion, corev1.LabelFailureDomainBetaZone, corev1.LabelFailureDomainBetaRegion}

// Volumes is what a pod's claims of volumes mean for where it can be: bound ones by the zones, nodes and driver of their volumes; with one that is not
// bound no node will do. Nil: nothing. Error: a claim or volume that is not there; a volume with a node affinity by other labels than
// kubernetes.io/hostname.
func Volumes(of *corev1.Pod, in Storage) (*gangsched.PodVolumes, error) {
	var made *gangsched.PodVolumes
	for i := range of.Spec.Volumes {
		source := of.Spec.Volumes[i].PersistentVolumeClaim
		if source == nil {
			continue
		}
		if made == nil {
			made = &gangsched.PodVolumes{}
		}
		claim := in.Claim(of.Namespace, source.ClaimName)
		if claim == nil {
			return nil, fmt.Errorf("pod %s/%s: there is no claim of a volume %q", of.Namespace, of.Name, source.ClaimName)
		}
		for _, mode := range claim.Spec.AccessModes {
			if mode == corev1.ReadWriteOncePod {
				made.ExclusiveClaims = append(made.ExclusiveClaims, source.ClaimName)
			}
		}
		if claim.Spec.VolumeName == "" {
			made.UnboundClaims = true
			continue
		}
		volume := in.Volume(claim.Spec.VolumeName)
		if volume == nil {
			return nil, fmt.Errorf("pod %s/%s: there is no volume %q", of.Namespace, of.Name, claim.Spec.VolumeName)
		}
		for _, key := range volumeZones {
			if zones, ok := volume.Labels[key]; ok {
				made.Zones = append(made.Zones, gangsched.VolumeZone{Key: key, Values: strings.Split(zones, "__")})
			}
		}
		if csi := volume.Spec.CSI; csi != nil {
			made.Attachments = append(made.Attachments, gangsched.AttachedVolume{Driver: csi.Driver, ID: csi.VolumeHandle})
		}
		if err := reachable(volume, made); err != nil {
			return nil, err
		}
	}
	return made, nil
}

// reachable keeps the nodes from which the volume can be reached, by their hostnames.
func reachable(volume *corev1.PersistentVolume, made *gangsched.PodVolumes) error {
	if volume.Spec.NodeAffinity == nil || volume.Spec.NodeAffinity.Required == nil {
		return nil
	}
	from := map[string]bool{}
	for _, term := range volume.Spec.NodeAffinity.Required.NodeSelectorTerms {
		if len(term.MatchExpressions) != 1 || len(term.MatchFields) != 0 || term.MatchExpressions[0].Key != corev1.LabelHostname ||
			term.MatchExpressions[0].Operator != corev1.NodeSelectorOpIn {
			return fmt.Errorf("volume %s: its node affinity is not by %s alone: the pod is handed over as JSON", volume.Name, corev1.LabelHostname)
		}
		for _, name := range term.MatchExpressions[0].Values {
			from[name] = true
		}
	}
	nodes := []string{}
	if made.Nodes == nil {
		for _, term := range volume.Spec.NodeAffinity.Required.NodeSelectorTerms {
			nodes = append(nodes, term.MatchExpressions[0].Values...)
		}
	}
	for _, name := range made.Nodes {
		if from[name] {
			nodes = append(nodes, name)
		}
	}
	made.Nodes = nodes
	return nil
}
