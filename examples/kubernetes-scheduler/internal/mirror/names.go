package mirror

import (
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"gangsched"
)

func nameOf(object metav1.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetName()}
}

// keep notes an object that came or changed, or with gone that it is no more.
func keep[K comparable, T any](all map[K]T, name K, object T, gone bool) {
	if gone {
		delete(all, name)
	} else {
		all[name] = object
	}
}

// firstOf is what the first of the keys says that is there; "": none is.
func firstOf(said map[string]string, keys []string) string {
	for _, key := range keys {
		if value := said[key]; value != "" {
			return value
		}
	}
	return ""
}

// SetNamespace says that a namespace came or changed, or with gone that it is no more.
func (m *Mirror) SetNamespace(object *corev1.Namespace, gone bool) {
	news := m.queues.setNamespace(object.Name, object.Labels, gone)
	if gone {
		report(m.cluster.RemoveNamespace(object.Name), "a namespace cannot be removed", object)
		return
	}
	if news {
		report(m.cluster.SetNamespace(object.Name, object.Labels), "a namespace is not as the library takes it", object)
	}
}

// SetPriorityClass says the same of a class. Pods that the API server has taken have their priority already; PodGroups name classes, and so may pods that
// it has not given one.
func (m *Mirror) SetPriorityClass(object *schedulingv1.PriorityClass, gone bool) {
	if gone {
		m.changed = true
		delete(m.classes, object.Name)
		report(m.cluster.RemovePriorityClass(object.Name), "a priority class cannot be removed", object)
		return
	}
	class := gangsched.PriorityClass{Name: object.Name, Value: object.Value, GlobalDefault: object.GlobalDefault}
	class.NeverPreempts = object.PreemptionPolicy != nil && *object.PreemptionPolicy == corev1.PreemptNever
	if before, known := m.classes[object.Name]; known && before == class {
		return
	}
	m.changed = true
	err := m.cluster.SetPriorityClass(class)
	report(err, "a priority class is not as the library takes it", object)
	if err == nil {
		m.classes[object.Name] = class
	}
}

// named says whether a pod's class is there, and says what the pod says itself, if that does. What the API server has written into the pod counts,
// whatever has become of the class since.
func (m *Mirror) named(spec *gangsched.PodSpec) bool {
	class, known := m.classes[spec.PriorityClass]
	return known && (spec.Priority == nil || *spec.Priority == class.Value && spec.NeverPreempts == class.NeverPreempts)
}
