package mirror

import (
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"gangsched"
)

// objectKey is what an object is known by: one that is deleted and made anew has another uid, and the watch may say of it that it changed.
type objectKey struct {
	group, kind string
	name        types.NamespacedName
}

func keyOf(object runtime.Object) objectKey {
	kind := object.GetObjectKind().GroupVersionKind()
	made := objectKey{group: kind.Group, kind: kind.Kind}
	if of, err := meta.Accessor(object); err == nil {
		made.name = nameOf(of)
	}
	return made
}

func (k objectKey) compare(other objectKey) int {
	return cmp.Or(cmp.Compare(k.group, other.group), cmp.Compare(k.kind, other.kind), cmp.Compare(k.name.String(), other.name.String()))
}

// refusal is an object that the library does not take as it is, and why.
type refusal struct {
	object runtime.Object
	why    string
}

// SetObject hands over an object that the library reads as Kubernetes writes it: budgets, groups, Services, controllers. One that it refuses, since it
// names an object that is not there, as a PodGroup its class, is not there either, and is handed over again when something has changed.
func (m *Mirror) SetObject(object runtime.Object) {
	key, err := keyOf(object), m.handObject(object)
	if err == nil {
		delete(m.refused, key)
		m.changed = m.changed || len(m.refused) != 0 // others may have waited for it
		return
	}
	if errors.Is(err, gangsched.ErrMalformed) { // nothing that comes makes it another one
		delete(m.refused, key)
		report(err, "an object is not as the library takes it", object)
		return
	}
	if m.refused[key].why != err.Error() {
		report(err, "an object is not as the library takes it", object)
	}
	m.refused[key] = refusal{object, err.Error()}
}

// handObject tells the library of an object. If what cannot change of it did, it takes the place of the one before; if it is refused, that is gone, too.
func (m *Mirror) handObject(object runtime.Object) error {
	text, err := json.Marshal(object)
	if err != nil {
		return err
	}
	_, err = m.cluster.SetObject(text, 0)
	changed := errors.Is(err, gangsched.ErrWrongState)
	if err != nil && (changed || !m.describesItself(object)) && m.cluster.RemoveObject(text) == nil {
		m.describedBy(object, true) // and by nobody now
		if changed {
			_, err = m.cluster.SetObject(text, 0)
		}
	}
	m.describedBy(object, err == nil)
	return err
}

// settleObjects hands those over again that were refused.
func (m *Mirror) settleObjects() {
	for _, key := range slices.SortedFunc(maps.Keys(m.refused), objectKey.compare) {
		m.SetObject(m.refused[key].object)
	}
}

// RemoveObject says that such an object is gone.
func (m *Mirror) RemoveObject(object runtime.Object) {
	delete(m.refused, keyOf(object))
	text, err := json.Marshal(object)
	if err == nil {
		err = m.cluster.RemoveObject(text)
	}
	if !errors.Is(err, gangsched.ErrUnknown) { // it was refused when it came
		report(err, "an object cannot be removed", object)
	}
}

func report(err error, what string, object runtime.Object) {
	if err == nil {
		return
	}
	key := keyOf(object)
	klog.ErrorS(err, what, "kind", key.kind, "object", klog.KRef(key.name.Namespace, key.name.Name))
}
