// Package api is the kind Gang: so many pods that are of use only together.
package api

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Version is where the kind is.
var Version = schema.GroupVersion{Group: "gangs.example.com", Version: "v1"}

// Gang is pods that are made when all of them fit, and not before.
type Gang struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              GangSpec   `json:"spec"`
	Status            GangStatus `json:"status,omitempty"`
}

// GangSpec is how many pods, and what they are like.
type GangSpec struct {
	Size     int32                  `json:"size"`
	Template corev1.PodTemplateSpec `json:"template"`
}

// States of a gang.
const (
	Waits    = "Waits"    // it has no room as a whole
	Conflict = "Conflict" // a pod that is not its own has the name of one of its pods
	Created  = "Created"  // its pods are made
)

// GangStatus is how far it is.
type GangStatus struct {
	State   string `json:"state,omitempty"`
	Message string `json:"message,omitempty"` // why it waits, or what is in conflict
	// Nodes on which its pods fitted when they were made.
	Nodes []string `json:"nodes,omitempty"`
}

// GangList is several.
type GangList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Gang `json:"items"`
}

// AddToScheme makes the kind known.
func AddToScheme(to *runtime.Scheme) error {
	to.AddKnownTypes(Version, &Gang{}, &GangList{})
	metav1.AddToGroupVersion(to, Version)
	return nil
}

// DeepCopyObject is for caches.
func (g *Gang) DeepCopyObject() runtime.Object {
	made := &Gang{TypeMeta: g.TypeMeta, ObjectMeta: *g.ObjectMeta.DeepCopy(), Spec: GangSpec{Size: g.Spec.Size}, Status: g.Status}
	g.Spec.Template.DeepCopyInto(&made.Spec.Template)
	made.Status.Nodes = append([]string(nil), g.Status.Nodes...)
	return made
}

// DeepCopyObject is for caches.
func (l *GangList) DeepCopyObject() runtime.Object {
	made := &GangList{TypeMeta: l.TypeMeta, ListMeta: *l.ListMeta.DeepCopy()}
	for i := range l.Items {
		made.Items = append(made.Items, *l.Items[i].DeepCopyObject().(*Gang))
	}
	return made
}
