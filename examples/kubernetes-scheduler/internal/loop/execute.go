package loop

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"gangsched"
	"gangsched/examples/kubernetes-scheduler/internal/act"
	"gangsched/examples/kubernetes-scheduler/internal/mirror"
)

func (l *Loop) execute(d *gangsched.Decision, said *news) {
	p := l.mirror.Pod(d.Pod)
	if p == nil {
		l.reserve(d)
		return
	}
	switch d.Kind {
	case gangsched.Bind:
		l.bind(d, p)
	case gangsched.Revoke:
		if f := l.flights[d.Attempt]; f != nil {
			l.revoke(f)
		}
		if l.sharing != nil {
			delete(l.sharing.waits, d.Attempt)
		}
		if p.Attempt == d.Attempt {
			p.Attempt, p.Node = 0, ""
		}
	case gangsched.Nominate:
		p.Nominated = l.cluster.NodeName(d.Node)
	case gangsched.Reject: // it keeps its node while those that were preempted for it end
		p.Nominated = l.cluster.NodeName(l.cluster.NominatedNode(p.ID))
	case gangsched.Evict:
		l.evict(p, said.by[d.Pod])
	case gangsched.Wait: // its node is reserved; what becomes of it is decided later
		if l.sharing != nil {
			l.sharing.waits[d.Attempt] = waiting{d.Pod, l.sharing.ledger.Moment(l.cluster.NodeName(d.Node))}
		}
	}
}

// reserve is execute for Koordinator's reservations.
func (l *Loop) reserve(d *gangsched.Decision) {
	r := l.mirror.Reservation(d.Pod)
	if r == nil {
		return
	}
	switch d.Kind {
	case gangsched.Bind:
		object, attempt := r.Object, d.Attempt
		r.Attempt, r.Node = attempt, l.cluster.NodeName(d.Node)
		l.writer.Place(object, r.Node, func(err error) {
			l.box.Put(func() {
				if r := l.mirror.FindReservation(object); r != nil && r.Attempt == attempt {
					l.mirror.Placed(r, err)
				}
			})
		})
	case gangsched.Revoke:
		if r.Attempt == d.Attempt {
			r.Attempt, r.Node = 0, ""
		}
	case gangsched.Evict:
		l.writer.Expire(r.Object)
	default: // what is meant for it later is not written
	}
}

func (l *Loop) bind(d *gangsched.Decision, p *mirror.Pod) {
	node := l.cluster.NodeName(d.Node)
	if l.unsure[node] {
		l.takeBack(p, d.Attempt, "a bind to the node that is void is not answered yet")
		return
	}
	choices, err := l.mirror.ChooseVolumes(p, node)
	if err != nil {
		l.fail(p, d.Attempt, err.Error())
		return
	}
	allocations, err := l.mirror.Allocations(p, node)
	if err != nil {
		l.mirror.ReleaseVolumes(choices)
		l.fail(p, d.Attempt, err.Error())
		return
	}
	f := &flight{
		Bind: act.Bind{
			Pod: p.Name, UID: p.Object.UID, ResourceVersion: p.Object.ResourceVersion, Node: node, Annotations: l.mirror.AllocatedFrom(p),
		},
		id: d.Pod, attempt: d.Attempt, choices: choices,
	}
	l.prepare(&f.Bind, node, choices, allocations)
	if slices.ContainsFunc(allocations, func(one mirror.ClaimAllocation) bool { return act.Waits(one.Allocation) }) {
		l.recorder.Eventf(p.Object, nil, corev1.EventTypeNormal, "BindingConditionsPending", "Scheduling", "waiting for binding conditions for device on node "+node)
	}
	p.Attempt, p.Node, p.Nominated = d.Attempt, node, ""
	l.flights[d.Attempt] = f
	if l.sharing != nil {
		l.sharing.note(f, p)
	} else {
		l.send(f)
	}
}

// flight is a bind that was decided and is not answered.
type flight struct {
	act.Bind
	id      gangsched.PodID
	attempt gangsched.Attempt
	choices []mirror.VolumeChoice
	queued  bool // the writer has it
	revoked bool
	bound   bool   // it happened
	seq     uint64 // by which other replicas know it
}

func (l *Loop) send(f *flight) {
	f.queued = true
	if p := l.mirror.Find(f.Pod); p != nil && p.Object.UID == f.UID {
		l.sayScheduled(p)
	}
	l.writer.Bind(&f.Bind, func(said act.Outcome) { l.box.Put(func() { l.answered(f, said) }) })
}

// revoke says that the attempt is void. A bind that was sent may still happen: its room is held until the bind is answered.
func (l *Loop) revoke(f *flight) {
	f.revoked = true
	if !f.Cancel() {
		l.void[f.attempt] = f
		return
	}
	delete(l.flights, f.attempt)
	switch {
	case !f.queued:
		l.sharing.ledger.Withdraw(f.UID)
		l.mirror.ReleaseVolumes(f.choices)
	case l.sharing != nil:
		l.sharing.ledger.Over(f.seq)
	}
}

// hold counts the room of void binds that are not answered, or that happened and are not counted otherwise, until the watch says where the pod is. The
// pod may have another attempt by then, which will come to nothing. Where other replicas know of these binds, the ledger does that.
func (l *Loop) hold() {
	clear(l.unsure)
	for _, attempt := range l.mirror.Forgotten() {
		if f := l.flights[attempt]; f != nil {
			l.revoke(f)
		}
	}
	for attempt, f := range l.void {
		p := l.mirror.Find(f.Pod)
		waits := p != nil && p.Object.UID == f.UID && p.Object.Spec.NodeName == ""
		if l.flights[attempt] != f && !(f.bound && waits) || l.sharing != nil {
			delete(l.void, attempt)
			continue
		}
		if waits && !l.mirror.Hold(p, f.Node) {
			l.unsure[f.Node] = true
		}
	}
}

// doubt notes nodes for which a turn took back a bind that was sent: decisions about them after that have counted room as free that may not be.
func (l *Loop) doubt(decisions []gangsched.Decision) {
	for i := range decisions {
		if f := l.flights[decisions[i].Attempt]; f != nil && decisions[i].Kind == gangsched.Revoke && !f.Cancel() {
			l.unsure[f.Node] = true
		}
	}
}

// longestBinding is how long the drivers of the devices of a pod's claims may take until it can be bound: kube-scheduler's default.
const longestBinding = 10 * time.Minute

// prepare has what the pod claims written before it is bound, and taken back if it is not.
func (l *Loop) prepare(b *act.Bind, node string, choices []mirror.VolumeChoice, allocations []mirror.ClaimAllocation) {
	if len(choices) == 0 && len(allocations) == 0 {
		return
	}
	// What may have been written, and so is taken back. (A request that is lost may have come through; one that is refused has not.)
	var reserved []mirror.ClaimAllocation
	var asked []mirror.VolumeChoice
	b.Before = func(ctx context.Context) error {
		for _, one := range allocations {
			err := l.writer.Reserve(ctx, one.Claim, one.Allocation, b.Pod, b.UID)
			if !errors.Is(err, act.ErrDeclined) {
				reserved = append(reserved, one)
			}
			if err != nil {
				return err
			}
		}
		for _, one := range choices {
			var err error
			if one.Volume != nil {
				err = l.writer.TakeVolume(ctx, one.Claim, one.Volume)
			} else {
				asked = append(asked, one)
				err = l.writer.MakeVolume(ctx, one.Claim, node)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	b.Await = func(ctx context.Context) error {
		for _, one := range choices {
			if err := l.writer.AwaitVolume(ctx, one.Claim, one.Volume, one.Node, l.volumes); err != nil {
				return err
			}
		}
		until := time.Now().Add(longestBinding)
		for _, one := range allocations {
			if act.Waits(one.Allocation) {
				if err := l.writer.AwaitDevices(ctx, one.Claim, until); err != nil {
					return err
				}
			}
		}
		return nil
	}
	b.After = func(ctx context.Context) {
		for _, one := range reserved {
			if err := l.writer.Unreserve(ctx, one.Claim, one.Allocation, b.UID); err != nil {
				klog.ErrorS(err, "a claim stays reserved until its controller sees that the pod does not run", "claim", klog.KObj(one.Claim))
			}
		}
		for _, one := range asked {
			if err := l.writer.MakeVolume(ctx, one.Claim, ""); err != nil {
				klog.ErrorS(err, "a volume may be made that no pod needs", "claim", klog.KObj(one.Claim))
			}
		}
	}
}

// answered hears what became of a bind. The pod may have another attempt by now, or be gone.
func (l *Loop) answered(f *flight, said act.Outcome) {
	if said.Unsure {
		return
	}
	attempt := f.attempt
	_, held := l.void[attempt]
	f.bound = said.Bound
	delete(l.flights, attempt)
	if !said.Bound {
		l.mirror.ReleaseVolumes(f.choices)
		if l.sharing != nil {
			l.sharing.ledger.Over(f.seq)
		}
	}
	p := l.mirror.Find(f.Pod)
	if p == nil || p.Object.UID != f.UID {
		return
	}
	if p.Attempt != attempt { // it was confirmed by what the API server said of the pod, or the attempt is void
		if said.Bound {
			l.mirror.Ran(p, f.Node)
		} else if held && l.sharing == nil {
			l.mirror.Release(p, f.Node)
		}
		return
	}
	if said.Bound {
		l.mirror.Confirm(p)
		return
	}
	if !said.Gone { // if it is, the watch says so, and the pod is not tried again before
		klog.V(2).InfoS("a pod is not bound", "pod", p.Name, "node", p.Node, "reason", said.Reason)
	}
	l.fail(p, attempt, said.Reason)
}

func (l *Loop) fail(p *mirror.Pod, attempt gangsched.Attempt, reason string) {
	l.takeBack(p, attempt, reason)
	l.writer.SetStatus(p.Name, act.Status{UID: p.Object.UID, Condition: l.unscheduled(p, corev1.PodReasonSchedulerError, reason)})
	l.recorder.Eventf(p.Object, nil, corev1.EventTypeWarning, "FailedScheduling", "Scheduling", reason)
}

func (l *Loop) takeBack(p *mirror.Pod, attempt gangsched.Attempt, reason string) {
	p.Attempt, p.Node = 0, ""
	if err := l.scheduler.Fail(p.ID, attempt, reason); err != nil && !errors.Is(err, gangsched.ErrOutdated) {
		klog.ErrorS(err, "a bind that failed cannot be taken back", "pod", p.Name)
	}
	l.mirror.Yield(p)
}

func (l *Loop) evict(victim *mirror.Pod, by *mirror.Pod) {
	message, preemption := "preempting to accommodate a higher priority pod", ""
	if by != nil {
		preemption = preemptionOf(by, victim)
		message = fmt.Sprintf("%s: %s", by.Object.Spec.SchedulerName, message)
	}
	l.sayDisrupted(victim, message)
	l.writer.Evict(act.Victim{Pod: victim.Name, UID: victim.Object.UID, Condition: corev1.PodCondition{
		Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: corev1.PodReasonPreemptionByScheduler, Message: message,
		ObservedGeneration: victim.Object.Generation, LastTransitionTime: metav1.NewTime(l.clock.Wall()),
	}}, preemption, func(err error) { l.box.Put(func() { l.stays(victim, by, err) }) })
}

// preemptionOf names what a victim is evicted for: that a pod, or its group, is nominated to the victim's node.
func preemptionOf(by, victim *mirror.Pod) string { return by.Together() + " on " + victim.On() }

// stays is called when a victim is not evicted. What preempted on its node has no nomination there any more, and its other victims there stay, if they are
// not deleted yet. What the API server denies it would deny again: then the preemptor waits as if it had found no node; else it is tried again at once.
func (l *Loop) stays(victim, by *mirror.Pod, why error) {
	reason := fmt.Sprintf("pod %s cannot be preempted: %v", victim.Name, why)
	if l.mirror.Find(victim.Name) == victim {
		l.recorder.Eventf(victim.Object, nil, corev1.EventTypeWarning, "FailedPreemption", "Preempting", reason)
	}
	if by == nil {
		return
	}
	l.writer.Withdraw(preemptionOf(by, victim))
	if l.mirror.Find(by.Name) != by {
		return
	}
	none := ""
	var again []gangsched.PodID
	for _, p := range l.mirror.Unnominate(by, victim.On()) {
		l.setStatus(p, l.unscheduled(p, corev1.PodReasonUnschedulable, reason), &none)
		if p.ID != 0 && !act.Denied(why) {
			again = append(again, p.ID)
		}
	}
	if err := l.scheduler.Activate(l.now(), again...); err != nil {
		klog.ErrorS(err, "a pod cannot be tried again", "pod", by.Name)
	}
}
