package kube

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gangsched"
)

// Storage leads from a pod's claims of volumes to what they are bound to, or can be.
type Storage interface {
	Claim(namespace, name string) *corev1.PersistentVolumeClaim // nil: there is none
	Volume(name string) *corev1.PersistentVolume
	// Matching are the names of the nodes that a selector is for.
	Matching(*corev1.NodeSelector) []string
	// Bindable are the nodes on which a claim that has no volume can get one for a pod that is placed there; nil: all. False: it has to have one
	// before a pod is placed.
	Bindable(*corev1.PersistentVolumeClaim) (nodes []string, possible bool)
	// Provisioner is the driver that makes a claim's volume, by its class; "": not known.
	Provisioner(*corev1.PersistentVolumeClaim) string
}

var volumeZones = []string{corev1.LabelTopologyZone, corev1.LabelTopologyRegion, corev1.LabelFailureDomainBetaZone, corev1.LabelFailureDomainBetaRegion}

// bindCompleted is the annotation of claims that have the volume which they name; before, it may still become another's.
const bindCompleted = "pv.kubernetes.io/bind-completed"

// ClaimOf is the name of the claim that a volume of a pod is; "": it is none.
func ClaimOf(pod *corev1.Pod, volume *corev1.Volume) string {
	switch {
	case volume.PersistentVolumeClaim != nil:
		return volume.PersistentVolumeClaim.ClaimName
	case volume.Ephemeral != nil:
		return pod.Name + "-" + volume.Name
	}
	return ""
}

// Volumes is what a pod's volumes mean for where it can run: disks that pods cannot share; bound claims, by the nodes, zones and drivers of their
// volumes; claims that are bound when the pod has a node. If a claim has to be bound before that, is lost, is being deleted or is another pod's, no
// node will do; a pod that runs has its volumes all the same. Nil: no restrictions. Error: a claim or volume does not exist.
func Volumes(of *corev1.Pod, in Storage) (*gangsched.PodVolumes, error) {
	made := &gangsched.PodVolumes{}
	said, runs := false, of.Spec.NodeName != ""
	for i := range of.Spec.Volumes {
		if disk := disk(&of.Spec.Volumes[i]); disk != nil {
			made.Disks, said = append(made.Disks, *disk), true
		}
		name := ClaimOf(of, &of.Spec.Volumes[i])
		if name == "" {
			continue
		}
		said = true
		claim := in.Claim(of.Namespace, name)
		if claim == nil {
			if of.Spec.Volumes[i].Ephemeral != nil {
				return nil, fmt.Errorf("waiting for ephemeral volume controller to create the persistentvolumeclaim %q", name)
			}
			return nil, fmt.Errorf("persistentvolumeclaim %q not found", name)
		}
		if slices.Contains(claim.Spec.AccessModes, corev1.ReadWriteOncePod) {
			made.ExclusiveClaims = append(made.ExclusiveClaims, name)
		}
		if wrong := claimProblem(of, &of.Spec.Volumes[i], claim); wrong != "" && !runs {
			if made.ClaimProblem == "" {
				made.ClaimProblem = wrong
			}
			continue
		}
		if _, completed := claim.Annotations[bindCompleted]; claim.Spec.VolumeName != "" && !completed && !runs {
			made.UnboundClaims = true // whatever its class says
			continue
		}
		if claim.Spec.VolumeName == "" {
			nodes, possible := in.Bindable(claim)
			made.UnboundClaims = made.UnboundClaims || !possible
			if nodes != nil {
				within(&made.BindableNodes, nodes)
			}
			if driver := in.Provisioner(claim); driver != "" { // what it will make counts, as in kube-scheduler
				made.Attachments = append(made.Attachments, gangsched.AttachedVolume{Driver: driver, ID: "claim/" + claim.Namespace + "/" + claim.Name})
			}
			continue
		}
		volume := in.Volume(claim.Spec.VolumeName)
		if volume == nil {
			return nil, fmt.Errorf("persistentvolume %q not found", claim.Spec.VolumeName)
		}
		bound(made, volume, in)
	}
	if !said {
		return nil, nil
	}
	return made, nil
}

// claimProblem is why no node will do for a pod with the claim, in kube-scheduler's words; "": nothing.
func claimProblem(of *corev1.Pod, volume *corev1.Volume, claim *corev1.PersistentVolumeClaim) string {
	switch {
	case claim.Status.Phase == corev1.ClaimLost:
		return fmt.Sprintf("persistentvolumeclaim %q bound to non-existent persistentvolume %q", claim.Name, claim.Spec.VolumeName)
	case claim.DeletionTimestamp != nil:
		return fmt.Sprintf("persistentvolumeclaim %q is being deleted", claim.Name)
	case volume.Ephemeral != nil && !metav1.IsControlledBy(claim, of):
		return fmt.Sprintf("PVC %s/%s was not created for pod %s/%s (pod is not owner)", claim.Namespace, claim.Name, of.Namespace, of.Name)
	}
	return ""
}

// bound says what a volume that is there asks of the node.
func bound(made *gangsched.PodVolumes, volume *corev1.PersistentVolume, in Storage) {
	for _, key := range volumeZones {
		if zones, ok := volume.Labels[key]; ok {
			made.Zones = append(made.Zones, gangsched.VolumeZone{Key: key, Values: strings.Split(zones, "__")})
		}
	}
	if csi := volume.Spec.CSI; csi != nil {
		made.Attachments = append(made.Attachments, gangsched.AttachedVolume{Driver: csi.Driver, ID: csi.VolumeHandle})
	}
	if affinity := volume.Spec.NodeAffinity; affinity != nil && affinity.Required != nil {
		within(&made.Nodes, in.Matching(affinity.Required))
	}
}

// within keeps the nodes that are among these, too.
func within(all *[]string, nodes []string) {
	if *all == nil {
		*all = append([]string{}, nodes...)
		return
	}
	these := make(map[string]bool, len(nodes))
	for _, name := range nodes {
		these[name] = true
	}
	*all = slices.DeleteFunc(*all, func(name string) bool { return !these[name] })
}

// disk is a volume that two pods of a node cannot share, unless both only read.
func disk(of *corev1.Volume) *gangsched.UsedDisk {
	switch {
	case of.GCEPersistentDisk != nil:
		return &gangsched.UsedDisk{ID: "gce/" + of.GCEPersistentDisk.PDName, ReadOnly: of.GCEPersistentDisk.ReadOnly}
	case of.AWSElasticBlockStore != nil:
		return &gangsched.UsedDisk{ID: "ebs/" + of.AWSElasticBlockStore.VolumeID} // not even to read
	case of.ISCSI != nil:
		return &gangsched.UsedDisk{ID: "iscsi/" + of.ISCSI.IQN, ReadOnly: of.ISCSI.ReadOnly}
	case of.RBD != nil:
		return &gangsched.UsedDisk{ID: "rbd/" + of.RBD.RBDPool + "/" + of.RBD.RBDImage, ReadOnly: of.RBD.ReadOnly}
	}
	return nil
}
