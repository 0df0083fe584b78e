package watch

import (
	"cmp"
	"encoding/json"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"
)

// Snapshot is what the API server has said by now, as kubectl writes a list of it: gangsched-simulate reads it.
func (w *Watcher) Snapshot() ([]byte, error) {
	w.mu.Lock()
	stores := slices.Clone(w.stores)
	w.mu.Unlock()
	return listed(stores)
}

func listed(stores []cache.Store) ([]byte, error) {
	type item struct {
		kind, namespace, name string
		object                runtime.Object
	}
	var all []item
	for _, store := range stores {
		for _, object := range store.List() {
			one, ok := object.(runtime.Object)
			if !ok {
				continue
			}
			one = named(one)
			of, err := meta.Accessor(one)
			if err != nil {
				return nil, err
			}
			all = append(all, item{one.GetObjectKind().GroupVersionKind().Kind, of.GetNamespace(), of.GetName(), one})
		}
	}
	slices.SortFunc(all, func(a, b item) int {
		return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.name, b.name))
	})
	list := struct {
		Version string           `json:"apiVersion"`
		Kind    string           `json:"kind"`
		Items   []runtime.Object `json:"items"`
	}{"v1", "List", make([]runtime.Object, 0, len(all))}
	for _, one := range all {
		list.Items = append(list.Items, one.object)
	}
	return json.MarshalIndent(list, "", " ")
}
