package loop

import (
	"context"
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"

	"gangsched"
	"gangsched/examples/kubernetes-scheduler/internal/act"
	"gangsched/examples/kubernetes-scheduler/internal/mirror"
	"gangsched/examples/kubernetes-scheduler/internal/share"
)

// sharing is what a loop needs where several replicas schedule at once.
type sharing struct {
	ledger *share.Ledger
	page   *share.Page
	name   string
	units  map[string]*share.Unit // of a turn: the pods that are bound together
	order  []*share.Unit
	waits  map[gangsched.Attempt]waiting // pods that wait to be bound and were given a node, which others do not know of
	again  []*mirror.Pod                 // to be tried again at once
	pause  time.Duration                 // after a write that was refused, or not answered: longer each time, up to how often it writes at least
	period time.Duration
}

// waiting is since when a pod has its node, by the ledger.
type waiting struct {
	pod    gangsched.PodID
	moment uint64
}

// Share has it schedule beside other replicas, which know this one by its name. Before Run.
func (l *Loop) Share(page *share.Page, name string, period, expiry time.Duration) {
	l.sharing = &sharing{
		ledger: share.New(name, view{l.mirror}, period, expiry), page: page, name: name, units: map[string]*share.Unit{}, waits: map[gangsched.Attempt]waiting{}, pause: writePause, period: period,
	}
	l.mirror.Share(l.sharing.ledger.Ours)
}

// view is what the ledger asks the mirror.
type view struct{ *mirror.Mirror }

func (v view) find(one *share.Entry) *mirror.Pod {
	if p := v.Find(one.Pod()); p != nil && p.Object.UID == one.UID {
		return p
	}
	return nil
}

func (v view) State(one *share.Entry) (share.State, uint64) {
	p := v.find(one)
	switch {
	case p == nil:
		return share.Unknown, 0
	case p.Object.Spec.NodeName != "":
		return share.Bound, share.Version(p.Object.ResourceVersion)
	}
	return share.Waiting, 0
}

func (v view) Count(one *share.Entry) bool { return v.Hold(v.find(one), one.Node) }

func (v view) Release(one *share.Entry) { v.Mirror.Release(v.find(one), one.Node) }

// Hear takes in what replicas tell each other, in the loop's goroutine.
func (l *Loop) Hear(object *corev1.ConfigMap) {
	version, doc, err := share.Of(object)
	if err != nil {
		klog.ErrorS(err, "what replicas tell each other is not understood")
		return
	}
	l.sharing.ledger.Hear(version, doc, l.clock.Elapsed())
}

// settle does what was heard leads to, before anything is decided.
func (l *Loop) settle() {
	s := l.sharing
	if s == nil || !l.leads {
		return
	}
	if live, changed := s.ledger.Live(); changed {
		klog.InfoS("pods are shared anew", "replicas", live)
		l.mirror.Reshare()
	}
	for _, one := range s.ledger.Committed() {
		l.begin(one)
	}
	for _, one := range s.ledger.Adopted() {
		klog.InfoS("a bind of a replica that is dead is taken over", "pod", one.Pod(), "node", one.Node)
		b := &act.Bind{Pod: one.Pod(), UID: one.UID, Node: one.Node, Still: l.still(one.Seq)}
		l.writer.Finish(b, func(said act.Outcome) { l.box.Put(func() { l.finished(one, said) }) })
	}
	for _, unit := range s.ledger.Lost() {
		l.yield(unit, true)
	}
	l.refuse()
	s.ledger.Settle() // last: an attempt that is taken back may have counted for what another replica promises
}

// finished hears what became of a bind that was taken over.
func (l *Loop) finished(one share.Entry, said act.Outcome) {
	if !said.Bound && !said.Unsure {
		l.sharing.ledger.Over(one.Seq)
	}
}

// still is for binds: whether the entry is there and ours.
func (l *Loop) still(seq uint64) func(context.Context) bool {
	page, name := l.sharing.page, l.sharing.name
	return func(ctx context.Context) bool {
		_, doc, err := page.Await(ctx)
		return err == nil && doc != nil && doc.Owns(name, seq)
	}
}

// begin binds a pod whose entry is written.
func (l *Loop) begin(one share.Entry) {
	attempt := gangsched.Attempt(one.Attempt)
	f := l.flights[attempt]
	if f == nil || f.revoked {
		l.sharing.ledger.Over(one.Seq)
		delete(l.flights, attempt)
		return
	}
	f.seq, f.Still = one.Seq, l.still(one.Seq)
	l.send(f)
}

// note has a bind written with those that are decided with it, before it is sent.
func (s *sharing) note(f *flight, p *mirror.Pod) {
	key := p.Together()
	unit := s.units[key]
	if unit == nil {
		unit = &share.Unit{}
		s.units[key] = unit
		s.order = append(s.order, unit)
	}
	if since, waited := s.waits[f.attempt]; waited {
		unit.Decided(since.moment)
		delete(s.waits, f.attempt)
	}
	unit.Entries = append(unit.Entries, share.Entry{Namespace: f.Pod.Namespace, Name: f.Pod.Name, UID: f.UID, Node: f.Node, Attempt: uint64(f.attempt)})
}

// propose has what a turn decided written.
func (l *Loop) propose() {
	s := l.sharing
	if s == nil {
		return
	}
	for _, unit := range s.order {
		if !s.ledger.Propose(unit) {
			l.yield(unit, false)
		}
	}
	l.refuse()
	clear(s.units)
	s.order = s.order[:0]
	// (Of pods that the library knows no more it does not say what became of their attempts.)
	maps.DeleteFunc(s.waits, func(_ gangsched.Attempt, one waiting) bool { return l.mirror.Pod(one.pod) == nil })
}

// converse sends what is to be written, and asks what is to be known.
func (l *Loop) converse(ctx context.Context) {
	s := l.sharing
	if s == nil || !l.leads {
		return
	}
	if s.ledger.Reading() && !l.asking {
		l.asking = true
		go func() {
			version, doc, err := s.page.Await(ctx)
			l.box.Put(func() {
				l.asking = false
				if err == nil {
					s.ledger.HasRead(version, doc, l.clock.Elapsed())
				}
			})
		}()
	}
	if w := s.ledger.Next(l.clock.Elapsed()); w != nil {
		pause := s.pause
		go func() {
			version, err := s.page.Write(ctx, w)
			next := writePause
			if err != nil && !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) && ctx.Err() == nil {
				klog.ErrorS(err, "what this replica tells others is not known to be written")
				next = min(2*pause, max(writePause, s.period))
				select {
				case <-ctx.Done():
				case <-time.After(pause):
				}
			}
			l.box.Put(func() {
				s.pause = next
				if apierrors.IsInvalid(err) || apierrors.IsRequestEntityTooLargeError(err) {
					s.ledger.TooLarge()
				}
				s.ledger.Answered(w, version, l.clock.Elapsed())
				l.conflicts.Store(s.ledger.Conflicts)
			})
		}()
	}
}

// writePause is how long it rests after a write that was refused, or not answered, the first time.
const writePause = 200 * time.Millisecond

// mostAtOnce is how many attempts in a row may be lost before the pod waits for its backoff: pods that compete for the last nodes would go on and on.
const mostAtOnce = 8

// yield takes back attempts that lost to another replica. That is not written: the pods are tried again, at once if it is known what the other did.
func (l *Loop) yield(unit *share.Unit, known bool) {
	l.lost.Add(l.unsent(unit, func(p *mirror.Pod, attempt gangsched.Attempt) {
		l.takeBack(p, attempt, "another replica binds pods to the node")
		if p.Lost++; known && p.Lost%(mostAtOnce+1) != 0 {
			l.sharing.again = append(l.sharing.again, p)
		}
	}))
}

// refuse takes attempts back that cannot be told to other replicas. They are tried again some time: the group may be a smaller one by then.
func (l *Loop) refuse() {
	for _, unit := range l.sharing.ledger.Refused() {
		reason := fmt.Sprintf("%d pods that are bound together are more than active replicas can tell each other", len(unit.Entries))
		l.unsent(unit, func(p *mirror.Pod, attempt gangsched.Attempt) { l.fail(p, attempt, reason) })
	}
}

// unsent ends the flights of a unit that is not written, and says how many those are and whose attempt they were.
func (l *Loop) unsent(unit *share.Unit, of func(*mirror.Pod, gangsched.Attempt)) (count int64) {
	for i := range unit.Entries {
		attempt := gangsched.Attempt(unit.Entries[i].Attempt)
		f := l.flights[attempt]
		if f == nil {
			continue
		}
		delete(l.flights, attempt)
		l.mirror.ReleaseVolumes(f.choices)
		count++
		if p := l.mirror.Pod(f.id); p != nil && p.Attempt == attempt {
			of(p, attempt)
		}
	}
	return count
}

// decide decides: as much as there is to decide, or where others compete for nodes, as much as can be written soon.
func (l *Loop) decide() (decisions []gangsched.Decision, more bool, err error) {
	s := l.sharing
	if s == nil {
		decisions, err = l.scheduler.Run(l.now())
		return decisions, false, err
	}
	if l.room() <= 0 {
		return nil, true, nil
	}
	var again []gangsched.PodID
	for _, p := range s.again {
		if p.ID != 0 && l.mirror.Pod(p.ID) == p {
			again = append(again, p.ID)
		}
	}
	s.again = s.again[:0]
	if err := l.scheduler.Activate(l.now(), again...); err != nil {
		klog.ErrorS(err, "a pod that lost to another replica waits for its backoff")
	}
	return l.scheduler.RunSome(l.now(), l.room())
}

// promisedForEach bounds the entries of the document while more is decided: so many for each bind that can be under way. More would only wait to be
// sent or to be taken out. A gang is written as a whole.
const promisedForEach = 4

// room is how many binds more may be decided now.
func (l *Loop) room() int {
	switch s := l.sharing; {
	case s == nil:
		return 1
	case !s.ledger.Ready():
		return 0
	default:
		most := promisedForEach * l.writer.Parallel()
		window := max(8, l.mirror.Nodes()/16) // what is decided long before it is written is lost more often
		if s.ledger.Alone() {
			window = most
		}
		return min(window-s.ledger.Pending(), most-s.ledger.Promised())
	}
}

// Lost is how many attempts another replica was faster than, and Conflicts how often the document had changed when it was to be written; from any
// goroutine.
func (l *Loop) Lost() int64      { return l.lost.Load() }
func (l *Loop) Conflicts() int64 { return l.conflicts.Load() }

// Replicas is what replicas tell each other, for Ask; nil: no other one is active.
func (l *Loop) Replicas() *share.Document {
	if l.sharing == nil {
		return nil
	}
	return l.sharing.ledger.Document()
}

// Leave tells the others that this replica has ended. After Run, and when nothing is written any more.
func (l *Loop) Leave(ctx context.Context) { l.sharing.page.Leave(ctx, l.sharing.name) }
