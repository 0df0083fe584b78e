// Package share lets several replicas schedule at once, by optimistic commit: each decides by what it knows, and then writes into one document
// which pods it is about to bind where, if no other has touched those nodes since. The API server does the comparing: the document's resource version
// is the precondition. It binds a pod once, but does not look whether its node has room; the document does that.
//
// # What is always so
//
// Of each node, the pods that replicas have bound to it and those that the document promises it together have room (as far as pods that others bind
// are known). That follows from these:
//
//  1. A bind is sent only while the document has its entry. It carries a resource version of the pod that was read before the entry was known to be
//     there and its owner's own: by the write itself, or when the pod was read again by another look at the document.
//  2. An entry is taken out only when (a) the pod was seen with a node: then the watermark is raised to the version of the pod that showed it; or
//     (b) the pod is gone; or (c) it is its owner's own and can never be bound by it any more: nothing was sent, the API server has refused what was
//     sent, or the pod was changed since, so that what may still be on its way is refused. A replica that took an entry over always
//     changes the pod before (c), and does so after it took it over: what the owner before sent, or sends when it wakes up, carries a version from
//     before, by 1.
//  3. An entry is added only by a replica that counted, when it decided, all pods that were bound to the node or promised it, and if no entry was
//     added to the node since (its own apart, which it counted). It knows by the numbers of entries whether one was added that it has not heard of;
//     if so it decides nothing until it has seen all changes of pods up to the watermark, and what it has decided before about that node is void, or
//     about any node if it is not known which.
//  4. What was counted for an entry is counted until the pod is seen with a node or gone, or the entry is out and all changes of pods up to the
//     watermark of that version are seen.
//
// No clock is needed for that. Which replicas are thought to live matters only for which of them schedules which pod, and when entries are taken over.
package share

import (
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// State is what a replica has seen of a pod by its watch.
type State int

const (
	Unknown State = iota // nothing, or it is gone
	Waiting              // it has no node
	Bound                // it has one
)

// View is what a replica knows and counts. It belongs to the same goroutine as the ledger.
type View interface {
	// Seen is the resource version up to which it has seen all changes of pods.
	Seen() uint64
	// State is what it has seen of a pod, and if that is bound, a resource version that shows it.
	State(entry *Entry) (State, uint64)
	// Count has a pod that waits counted on the node of its entry. False: that cannot be.
	Count(entry *Entry) bool
	// Release says that a pod that waits need not be counted there any more.
	Release(entry *Entry)
	// HasNode says whether it knows a node. Of one that it does not know nothing is decided, and what was is void.
	HasNode(name string) bool
}

// Unit is pods that are bound together or not at all: a pod, or what of a gang was decided at once.
type Unit struct {
	Entries []Entry // without owner and number
	moment  uint64  // when the first of it was decided
	decided bool
}

func (u *Unit) text() (sum int) {
	for i := range u.Entries {
		sum += u.Entries[i].text()
	}
	return sum
}

// Decided says that one of it was decided at a moment of the ledger's before it is proposed: it holds its node since then.
func (u *Unit) Decided(moment uint64) {
	if !u.decided || moment < u.moment {
		u.moment, u.decided = moment, true
	}
}

// Write is a version of the document that is to be written, if it is of a version still.
type Write struct {
	Expected uint64
	Create   bool // there is none
	Document Document
}

// Ledger is what a replica knows of the document, and what it wants written. It sends nothing itself: Next says what to write, Read when to read.
// All of it is deterministic; time is whatever clock that never goes back it is told of.
type Ledger struct {
	me             string
	view           View
	period, expiry time.Duration
	past           int // how many entries that are out the document keeps

	known   bool // the document was read once
	create  bool
	version uint64
	doc     Document
	moment  uint64 // counts versions that were heard
	need    uint64 // nothing is decided before the view has seen this
	touched map[string]uint64
	prune   int                // how many touched nodes make it look which of them are still there
	all     uint64             // when every node counted as touched
	open    map[string]bool    // nodes that have more than the view counts
	met     map[types.UID]bool // pods of entries that the view knew
	held    []departed

	pending   []*Unit
	flying    *Write
	reading   bool
	working   map[uint64]bool // entries of ours that are being bound
	over      map[uint64]bool // entries of ours that will never be bound
	committed []Entry
	adopted   []Entry
	lost      []*Unit
	refused   []*Unit

	beats     map[string]*pulse
	fresh     time.Duration // when the document was heard of last
	written   time.Duration // when we wrote last
	live      []string
	Conflicts int64 // writes that others were faster than
}

// departed is an entry that is out; its room is counted until all changes of pods up to a version are seen.
type departed struct {
	Entry
	until uint64
}

type pulse struct {
	beat  uint64
	since time.Duration
}

// tidying is how long entries that are done may stay if there is nothing else to write.
const tidying = 200 * time.Millisecond

// New makes the ledger of a replica, which writes at least once in a period, and is taken for dead by others that have heard nothing for an expiry.
// No two replicas ever have the same name.
func New(name string, view View, period, expiry time.Duration) *Ledger {
	return &Ledger{
		me: name, view: view, period: period, expiry: expiry, past: mostPast, prune: fewTouched, reading: true, live: []string{name},
		touched: map[string]uint64{}, open: map[string]bool{}, met: map[types.UID]bool{},
		working: map[uint64]bool{}, over: map[uint64]bool{}, beats: map[string]*pulse{},
	}
}

// Hear takes in a version of the document, from a watch, a read or an answer. Older ones than it knows are passed over.
func (l *Ledger) Hear(version uint64, doc *Document, now time.Duration) {
	if version <= l.version {
		return
	}
	if l.flying != nil && version > l.flying.Expected {
		l.flying = nil // it is in this version, or will never be written
	}
	l.moment++
	until := doc.Watermark
	if doc.Seq < l.doc.Seq { // the document was deleted, and with it what it said of pods that were bound: they may be on their way still
		until = max(until, l.doc.Watermark, l.view.Seen()+1)
	}
	fresh := uint64(0)
	for i := range doc.Entries {
		one := &doc.Entries[i]
		if one.Seq <= l.doc.Seq {
			continue
		}
		fresh++
		if one.Owner != l.me {
			l.touched[one.Node] = l.moment
		}
	}
	if !l.known || doc.Seq-l.doc.Seq != fresh { // entries came and went unheard of
		l.need = max(l.need, doc.Watermark)
		for _, one := range doc.Past {
			if one.Seq > l.doc.Seq {
				l.touched[one.Node] = l.moment
				fresh++
			}
		}
	}
	if !l.known || doc.Seq-l.doc.Seq != fresh { // so many that it is not known where
		l.all = l.moment
	}
	for i := range l.doc.Entries {
		if one := l.doc.Entries[i]; !doc.has(&one) {
			l.held = append(l.held, departed{one, until})
		}
	}
	l.held = slices.DeleteFunc(l.held, func(one departed) bool { return doc.has(&one.Entry) }) // it came again
	l.version, l.doc, l.known, l.create = version, doc.clone(), true, false
	l.forget()
	l.resolve()
	l.listen(now)
}

// fewTouched nodes are remembered whether they are there or not.
const fewTouched = 256

// forgetNodes drops what is remembered of nodes that are not there, and that nothing was decided about which is to be written still.
func (l *Ledger) forgetNodes() {
	if len(l.touched) < l.prune {
		return
	}
	wanted := map[string]bool{}
	for _, unit := range l.pending {
		for i := range unit.Entries {
			wanted[unit.Entries[i].Node] = true
		}
	}
	maps.DeleteFunc(l.touched, func(name string, _ uint64) bool { return !wanted[name] && !l.view.HasNode(name) })
	l.prune = max(fewTouched, 2*len(l.touched))
}

// forget drops what is remembered of entries that are out.
func (l *Ledger) forget() {
	l.forgetNodes()
	there := map[uint64]bool{}
	for i := range l.doc.Entries {
		there[l.doc.Entries[i].Seq] = true
	}
	out := func(seq uint64, _ bool) bool { return !there[seq] }
	maps.DeleteFunc(l.working, out)
	maps.DeleteFunc(l.over, out)
	maps.DeleteFunc(l.met, func(uid types.UID, _ bool) bool {
		return l.doc.about(uid) == nil && !slices.ContainsFunc(l.held, func(one departed) bool { return one.UID == uid })
	})
}

// resolve finds out which units are in the document, and which never will be.
func (l *Ledger) resolve() {
	mine := map[types.UID]*Entry{}
	for i := range l.doc.Entries {
		if one := &l.doc.Entries[i]; one.Owner == l.me && !l.working[one.Seq] && !l.over[one.Seq] {
			mine[one.UID] = one
		}
	}
	l.pending = slices.DeleteFunc(l.pending, func(unit *Unit) bool {
		written := len(unit.Entries) != 0
		for i := range unit.Entries {
			one := mine[unit.Entries[i].UID]
			written = written && one != nil && one.Node == unit.Entries[i].Node && one.Attempt == unit.Entries[i].Attempt
		}
		if written {
			for i := range unit.Entries {
				one := mine[unit.Entries[i].UID]
				l.working[one.Seq] = true
				l.committed = append(l.committed, *one)
				delete(mine, one.UID)
			}
		}
		return written || len(unit.Entries) == 0
	})
	for _, one := range mine {
		if one.Attempt == 0 {
			l.working[one.Seq] = true
			l.adopted = append(l.adopted, *one)
		} else {
			l.over[one.Seq] = true // it was given up before it was written: no bind of it was sent
		}
	}
	slices.SortFunc(l.adopted, func(a, b Entry) int { return int(a.Seq) - int(b.Seq) })
	l.pending = slices.DeleteFunc(l.pending, func(unit *Unit) bool {
		void := l.void(unit)
		if void {
			l.lost = append(l.lost, unit)
		}
		return void
	})
}

// listen notes which replicas have written.
func (l *Ledger) listen(now time.Duration) {
	l.fresh = now
	there := map[string]bool{}
	for _, row := range l.doc.Rows {
		there[row.Name] = true
		if p := l.beats[row.Name]; p == nil || p.beat != row.Beat {
			l.beats[row.Name] = &pulse{row.Beat, now}
		}
	}
	for i := range l.doc.Entries {
		owner := l.doc.Entries[i].Owner
		there[owner] = true
		if l.beats[owner] == nil {
			l.beats[owner] = &pulse{0, now}
		}
	}
	maps.DeleteFunc(l.beats, func(name string, _ *pulse) bool { return !there[name] })
}

// Dead says whether a replica has written nothing for an expiry, in which we have heard of the document.
func (l *Ledger) Dead(replica string) bool {
	p := l.beats[replica]
	return replica != l.me && p != nil && l.fresh-p.since >= l.expiry
}

// Settle compares what the document promises with what the view counts. Call it when either may have changed, before anything is decided. An attempt
// of ours on the node of another replica's entry for the same pod counts for that entry, too: taking it back changes both. Entries that are over need
// not be counted: whatever is written next is written without them.
func (l *Ledger) Settle() {
	clear(l.open)
	for i := range l.doc.Entries {
		one := &l.doc.Entries[i]
		switch state, _ := l.view.State(one); {
		case state == Waiting && one.Owner == l.me && l.over[one.Seq]:
			l.met[one.UID] = true
			l.view.Release(one)
		case state == Unknown && !l.met[one.UID], state == Waiting && !l.view.Count(one):
			l.open[one.Node] = true
			l.met[one.UID] = l.met[one.UID] || state == Waiting
		case state != Unknown:
			l.met[one.UID] = true
		}
	}
	seen := l.view.Seen()
	l.held = slices.DeleteFunc(l.held, func(one departed) bool {
		state, _ := l.view.State(&one.Entry)
		switch {
		case state == Bound, state == Unknown && (l.met[one.UID] || seen >= one.until):
			return true
		case state == Waiting && seen >= one.until:
			l.view.Release(&one.Entry)
			return true
		case state == Unknown || !l.view.Count(&one.Entry):
			l.open[one.Node] = true
		}
		return false
	})
}

// Ready says whether decisions may be made: the view counts all that there may be.
func (l *Ledger) Ready() bool { return l.known && l.view.Seen() >= l.need }

// Open says whether a node has more than the view counts, so that nothing may be decided about it.
func (l *Ledger) Open(node string) bool { return l.open[node] }

// Propose wants a unit written. The unit was decided after the last Settle, with nothing heard since, or at the moment given to Decided. False: the
// unit is void. A unit that is too large for the document will be among the Refused.
func (l *Ledger) Propose(unit *Unit) bool {
	unit.Decided(l.moment)
	if !l.Ready() || l.void(unit) || slices.ContainsFunc(unit.Entries, func(one Entry) bool { return l.open[one.Node] }) {
		return false
	}
	if unit.text() > mostUnit {
		l.refused = append(l.refused, unit)
	} else {
		l.pending = append(l.pending, unit)
	}
	return true
}

// Moment is now, for Decided of a pod that was given a node; 0, at which nothing holds, if not all of it is counted.
func (l *Ledger) Moment(node string) uint64 {
	if !l.Ready() || l.open[node] {
		return 0
	}
	return l.moment
}

// void says whether others have added an entry for a node of a unit since it was decided.
func (l *Ledger) void(unit *Unit) bool {
	return l.all > unit.moment || slices.ContainsFunc(unit.Entries, func(one Entry) bool { return l.touched[one.Node] > unit.moment })
}

// Withdraw gives up an entry of a unit that is not known to be written.
func (l *Ledger) Withdraw(uid types.UID) {
	for _, unit := range l.pending {
		unit.Entries = slices.DeleteFunc(unit.Entries, func(one Entry) bool { return one.UID == uid })
	}
}

// Over says that an entry of ours can never be bound: nothing was sent, or what was sent is known to be refused.
func (l *Ledger) Over(seq uint64) {
	if l.doc.Owns(l.me, seq) {
		l.over[seq] = true
	}
}

// Committed are the entries of ours that are to be bound now, each once; Adopted those that were taken over from replicas which are dead; Lost the
// units that came to nothing; Refused those that are too large to be written.
func (l *Ledger) Committed() []Entry { return take(&l.committed) }
func (l *Ledger) Adopted() []Entry   { return take(&l.adopted) }
func (l *Ledger) Lost() []*Unit      { return take(&l.lost) }
func (l *Ledger) Refused() []*Unit   { return take(&l.refused) }

func take[T any](all *[]T) []T {
	taken := *all
	*all = nil
	return taken
}

// Pending is how many pods of ours are to be written, and Promised how many the document has.
func (l *Ledger) Pending() (count int) {
	for _, unit := range l.pending {
		count += len(unit.Entries)
	}
	return count
}

func (l *Ledger) Promised() int { return len(l.doc.Entries) }
