package loop

import (
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"gangsched"
	"gangsched/examples/kubernetes-scheduler/internal/act"
	"gangsched/examples/kubernetes-scheduler/internal/mirror"
)

// noNodes is what kube-scheduler says where there is no node at all.
const noNodes = "no nodes available to schedule pods"

// news is what the library says about pods in a turn, in kube-scheduler's words.
type news struct {
	all []gangsched.PodEvent
	by  map[gangsched.PodID]*mirror.Pod // of victims: the pod that preempts
}

func (l *Loop) listen() *news {
	all, err := l.scheduler.Events()
	if err != nil {
		klog.ErrorS(err, "the events of a turn are lost")
	}
	said := &news{all: all, by: map[gangsched.PodID]*mirror.Pod{}}
	for i := range all {
		if all[i].Reason == "Preempted" {
			said.by[all[i].About] = l.mirror.Pod(all[i].Related)
		}
	}
	return said
}

// publish writes events, and for pods that found no node the condition that says so, with the node that is meant for it. That a bind came to nothing is
// said where it is taken back, if it is to be said: another replica that was faster is no news.
func (l *Loop) publish(said *news) {
	for i := range said.all {
		one := &said.all[i]
		if one.Reason == "FailedScheduling" && l.mirror.Nodes() == 0 {
			one.Note = noNodes
		}
		p := l.mirror.Pod(one.About)
		if p == nil {
			l.publishReservation(one)
			continue
		}
		if one.Reason == "FailedScheduling" && one.Action != "Scheduling" {
			continue
		}
		if one.Reason == "FailedScheduling" && p.Waits() {
			nominated := p.Nominated
			l.setStatus(p, l.unscheduled(p, corev1.PodReasonUnschedulable, one.Note), &nominated)
			if nominated == "" {
				l.giveUp(p)
			}
		}
		if by := said.by[one.About]; one.Reason == "Preempted" && by != nil {
			l.recorder.Eventf(p.Object, by.Object, one.Type, one.Reason, one.Action, one.Note)
			continue
		}
		if one.Reason == "Scheduled" {
			l.recorder.Once(p.Object, one.Type, one.Reason, one.Action, one.Note)
			continue
		}
		l.recorder.Eventf(p.Object, nil, one.Type, one.Reason, one.Action, one.Note)
	}
}

// giveUp has a claim deallocated that keeps a pod from nodes and is for no other pod; if it still does after a while, again.
func (l *Loop) giveUp(p *mirror.Pod) {
	now := l.clock.Elapsed()
	maps.DeleteFunc(l.givenUp, func(_ types.UID, at time.Duration) bool { return now-at >= l.patience })
	claim := l.mirror.LeftOver(p)
	if claim == nil {
		return
	}
	if _, asked := l.givenUp[claim.UID]; asked {
		return
	}
	l.givenUp[claim.UID] = now
	l.writer.Deallocate(claim, p.Name, p.Object.UID)
}

// publishReservation is publish for Koordinator's reservations.
func (l *Loop) publishReservation(one *gangsched.PodEvent) {
	r := l.mirror.Reservation(one.About)
	if r == nil {
		return
	}
	if one.Reason == "FailedScheduling" && one.Action == "Scheduling" && r.Waits() {
		l.sayUnreserved(r, one.Note)
	}
	l.recorder.Eventf(r.Object, nil, one.Type, one.Reason, one.Action, one.Note)
}

// sayUnreserved writes why a reservation finds no node, unless it says so already and nothing else is on its way.
func (l *Loop) sayUnreserved(r *mirror.Reservation, why string) {
	if act.Refused(r.Object, why) && (r.Refused == "" || r.Refused == why) {
		return
	}
	r.Refused = why
	l.writer.Refuse(r.Object, why)
}

// setStatus writes a condition unless the pod has it already.
func (l *Loop) setStatus(p *mirror.Pod, condition corev1.PodCondition, nominated *string) {
	for i := range p.Object.Status.Conditions {
		had := &p.Object.Status.Conditions[i]
		if had.Type != condition.Type {
			continue
		}
		if had.Status == condition.Status {
			condition.LastTransitionTime = had.LastTransitionTime
			if had.Reason == condition.Reason && had.Message == condition.Message && (nominated == nil || *nominated == p.Object.Status.NominatedNodeName) {
				return
			}
		}
	}
	l.writer.SetStatus(p.Name, act.Status{UID: p.Object.UID, Condition: condition, Nominated: nominated})
}

// complain says of pods that the library cannot be told of yet why they wait, once.
func (l *Loop) complain() {
	for p := range l.told {
		if p.Refused == "" || l.mirror.Find(p.Name) != p {
			delete(l.told, p)
		}
	}
	l.mirror.Stuck(func(p *mirror.Pod) {
		if p.Object.Spec.NodeName != "" || len(p.Object.Spec.SchedulingGates) != 0 {
			return
		}
		l.giveUp(p)
		if l.told[p] == p.Refused {
			return
		}
		l.told[p] = p.Refused
		l.setStatus(p, l.unscheduled(p, corev1.PodReasonUnschedulable, p.Refused), nil)
		l.recorder.Eventf(p.Object, nil, corev1.EventTypeWarning, "FailedScheduling", "Scheduling", p.Refused)
	})
}

func (l *Loop) unscheduled(p *mirror.Pod, reason, message string) corev1.PodCondition {
	return corev1.PodCondition{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: reason, Message: message,
		ObservedGeneration: p.Object.Generation, LastTransitionTime: metav1.NewTime(l.clock.Wall()),
	}
}
