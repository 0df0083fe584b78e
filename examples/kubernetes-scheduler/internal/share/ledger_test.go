package share

import (
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
