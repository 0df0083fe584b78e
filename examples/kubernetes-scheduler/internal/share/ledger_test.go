package share

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// seenPods is a view that has seen all of the pods that it has.
type seenPods map[types.UID]*seenPod

type seenPod struct {
	state State
	on    string // where it counts
}

func (v seenPods) Seen() uint64 { return 1 << 40 }

func (v seenPods) HasNode(name string) bool { return !strings.HasPrefix(name, "gone") }

func (v seenPods) State(one *Entry) (State, uint64) {
	if p := v[one.UID]; p != nil {
		return p.state, 1
	}
	return Unknown, 0
}

func (v seenPods) Count(one *Entry) bool {
	v[one.UID].on = one.Node
	return true
}

func (v seenPods) Release(one *Entry) { v[one.UID].on = "" }

// written has a ledger write what it wants, at a version.
func written(t *testing.T, l *Ledger, version uint64, now time.Duration) *Write {
	t.Helper()
	w := l.Next(now)
	if w == nil {
		t.Fatal("it has nothing to write")
	}
	l.Answered(w, version, now)
	return w
}

// newLedger is one that knows of a document without entries.
func newLedger(pods seenPods) *Ledger {
	l := New("me", pods, 2*time.Second, 8*time.Second)
	l.HasRead(1, &Document{}, 0)
	l.Settle()
	return l
}

func unitOf(pod types.UID, node string) *Unit {
	return &Unit{Entries: []Entry{{UID: pod, Name: string(pod), Node: node, Attempt: 1}}}
}

func TestWhatIsOverIsNotCountedAndNotWrittenWithWhatComesAfter(t *testing.T) {
	pods := seenPods{"victim": {state: Waiting}, "urgent": {state: Waiting}}
	l := newLedger(pods)
	l.Propose(unitOf("victim", "n"))
	written(t, l, 2, time.Second)
	entry := l.Committed()[0]
	if l.Settle(); pods["victim"].on != "n" {
		t.Fatal("what is promised is not counted")
	}
	l.Over(entry.Seq)
	if l.Settle(); pods["victim"].on != "" {
		t.Error("it is counted, and nothing was sent")
	}
	if !l.Propose(unitOf("urgent", "n")) {
		t.Error("another cannot have its node")
	}
	if made := written(t, l, 3, 2*time.Second).Document.Entries; len(made) != 1 || made[0].UID != "urgent" {
		t.Error("written: ", made)
	}
}

func TestItRestsWhileItWaitsForAnAnswer(t *testing.T) {
	l := New("me", seenPods{}, 2*time.Second, 8*time.Second)
	resting := func(what string, now time.Duration) {
		t.Helper()
		if l.Next(now) != nil || l.Rest(now) <= 0 {
			t.Errorf("%s: nothing is to be written, and it rests %v", what, l.Rest(now))
		}
	}
	resting("nothing is read yet", 10*time.Second)
	l.HasRead(5, &Document{}, 11*time.Second)
	w := l.Next(11 * time.Second)
	resting("a write is under way", 16*time.Second)
	l.Answered(w, 0, 17*time.Second)
	resting("it is being read", 60*time.Second)
	l.HasRead(6, &Document{}, 61*time.Second)
	if l.Rest(61*time.Second) != 0 || l.Next(61*time.Second) == nil {
		t.Error("nothing is written though it is time")
	}
}

// gangOf is so many pods whose names are as long as names can be.
func gangOf(pods seenPods, name string, size int) *Unit {
	made := &Unit{}
	for i := range size {
		uid := types.UID(fmt.Sprintf("%s-%036d", name, i))
		pods[uid] = &seenPod{state: Waiting}
		long := strings.Repeat("x", 240)
		made.Entries = append(made.Entries, Entry{
			Namespace: "default", Name: long + string(uid)[:12], UID: uid, Node: fmt.Sprintf("%s%05d", long, i), Attempt: 1<<60 + uint64(i),
		})
	}
	return made
}

// A ConfigMap has a MiB at most: what does not fit waits, and what never will is given up.
func TestADocumentIsNotLargerThanWhatItIsKeptIn(t *testing.T) {
	pods := seenPods{}
	l := newLedger(pods)
	l.doc.Past = make([]Past, mostPast)
	for i := range l.doc.Past {
		l.doc.Past[i] = Past{1 << 60, strings.Repeat("y", 253)}
	}
	for _, unit := range []*Unit{gangOf(pods, "huge", 1300), gangOf(pods, "first", 1100), gangOf(pods, "second", 1000), unitOf("small", "n")} {
		if !l.Propose(unit) {
			t.Fatal("it is void")
		}
	}
	pods["small"] = &seenPod{state: Waiting}
	if refused := l.Refused(); len(refused) != 1 || len(refused[0].Entries) != 1300 {
		t.Error("refused: ", len(refused))
	}
	write := func(entries int, version uint64) {
		t.Helper()
		now := time.Duration(version) * time.Second
		w := l.Next(now)
		if w == nil || len(w.Document.Entries) != entries {
			t.Fatal("not as many entries: ", w != nil)
		}
		text, err := w.Document.Text()
		if err != nil || len(text) > mostText {
			t.Error(len(text), " bytes ", err)
		}
		l.Answered(w, version, now)
	}
	write(1100, 2)
	if l.Next(2500*time.Millisecond) != nil {
		t.Error("there is no room, and something is written")
	}
	for _, one := range l.Committed() {
		pods[one.UID].state = Bound
	}
	write(1001, 3)
	// The API server has another limit.
	l.Propose(gangOf(pods, "third", 30))
	l.Propose(gangOf(pods, "fourth", 20))
	for _, one := range l.Committed() {
		pods[one.UID].state = Bound
	}
	w := l.Next(4 * time.Second)
	l.TooLarge()
	l.Answered(w, 0, 4*time.Second)
	if refused := l.Refused(); len(refused) != 1 || len(refused[0].Entries) != 30 {
		t.Error("refused: ", len(refused))
	}
	l.HasRead(3, &w.Document, 4*time.Second)
	write(20, 5)
}

func TestWhatADocumentThatIsDeletedPromisedIsCounted(t *testing.T) {
	pods := seenPods{"p": {state: Waiting}}
	l := newLedger(pods)
	l.Hear(2, &Document{Seq: 5, Entries: []Entry{{UID: "p", Name: "p", Node: "n", Owner: "other", Seq: 5}}}, time.Second)
	l.Settle()
	l.Hear(3, &Document{}, 2*time.Second) // who made it anew has never heard of that
	if l.Settle(); pods["p"].on != "n" {
		t.Error("it is not counted, and may be bound at any time")
	}
}

// Nodes come and go, under ever new names.
func TestNodesThatAreGoneAreForgotten(t *testing.T) {
	l := newLedger(seenPods{"p": {state: Waiting}})
	l.Propose(unitOf("p", "gone-and-wanted"))
	version := uint64(1)
	touch := func(node string) {
		version++
		one := Entry{UID: types.UID(node), Name: "other", Node: node, Owner: "other", Seq: version - 1}
		l.Hear(version, &Document{Seq: one.Seq, Entries: []Entry{one}}, 0)
	}
	touch("kept")
	for i := range 5 * fewTouched {
		touch(fmt.Sprint("gone", i))
	}
	if len(l.touched) > fewTouched {
		t.Errorf("%d are remembered", len(l.touched))
	}
	if l.touched["kept"] == 0 {
		t.Error("one is forgotten that is there")
	}
	if l.Pending() != 1 {
		t.Fatal("it is not pending")
	}
	if touch("gone-and-wanted"); l.Pending() != 0 {
		t.Error("what is decided about it is not void")
	}
}
