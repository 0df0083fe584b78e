package watch

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"gangsched/examples/kubernetes-scheduler/internal/inbox"
)

func TestPodsComeInTheOrderOfTheirVersions(t *testing.T) {
	box := inbox.New()
	var said []string
	tell := func(what string) func(*corev1.Pod) {
		return func(pod *corev1.Pod) { said = append(said, fmt.Sprintf("%s %s %s", what, pod.Name, pod.UID)) }
	}
	s := newStream(box, tell("set"), tell("remove"), func(version string) { said = append(said, "saw "+version) })
	heard := func(want ...string) {
		t.Helper()
		for _, what := range box.Take() {
			what()
		}
		if !slices.Equal(said, want) {
			t.Errorf("said %q, not %q", said, want)
		}
		said = nil
	}
	pod := func(name, uid string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(uid), ManagedFields: make([]metav1.ManagedFieldsEntry, 1)}}
	}
	if s.HasSynced() {
		t.Error("it says that all is there before the list")
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	// A list counts as seen when all of it was handed over.
	must(s.Replace([]any{pod("a", "1"), pod("b", "2")}, "10"))
	if !s.HasSynced() {
		t.Error("it does not say that all is there")
	}
	heard("set a 1", "set b 2", "saw 10")
	must(s.Add(pod("c", "3")))
	s.UpdateResourceVersion("11")
	must(s.Update(pod("a", "1")))
	s.UpdateResourceVersion("12")
	must(s.Delete(pod("b", "2")))
	s.UpdateResourceVersion("13")
	s.UpdateResourceVersion("20") // a bookmark
	heard("set c 3", "saw 11", "set a 1", "saw 12", "remove b 2", "saw 13", "saw 20")
	// The watch was lost: c is gone, and a is another one.
	must(s.Replace([]any{pod("a", "4")}, "30"))
	said = nil
	for _, what := range box.Take() {
		what()
	}
	slices.Sort(said[:2])
	want := []string{"remove a 1", "remove c 3", "set a 4", "saw 30"}
	if !slices.Equal(said, want) {
		t.Errorf("said %q, not %q", said, want)
	}
	if all := s.List(); len(all) != 1 || len(all[0].(*corev1.Pod).ManagedFields) != 0 {
		t.Errorf("%v are kept", all)
	}
}
