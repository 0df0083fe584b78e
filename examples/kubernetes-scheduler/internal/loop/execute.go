package loop

import (
	"context"
	"errors"
	"fmt"

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
		return
	}
	switch d.Kind {
	case gangsched.Bind:
		l.bind(d, p)
	case gangsched.Revoke:
		if b := l.binds[d.Attempt]; b != nil {
			b.Cancel()
		}
		if p.Attempt == d.Attempt {
			p.Attempt, p.Node = 0, ""
		}
	case gangsched.Nominate:
		p.Nominated = l.cluster.NodeName(d.Node)
	case gangsched.Reject:
		p.Nominated = ""
	case gangsched.Evict:
		l.evict(p, said.by[d.Pod])
	case gangsched.Wait: // its node is reserved; what becomes of it is decided later
	}
}

func (l *Loop) bind(d *gangsched.Decision, p *mirror.Pod) {
	node := l.cluster.NodeName(d.Node)
	choices, err := l.mirror.ChooseVolumes(p, node)
	if err != nil {
		l.fail(p, d.Attempt, err.Error())
		return
	}
	b := &act.Bind{Pod: p.Name, UID: p.Object.UID, ResourceVersion: p.Object.ResourceVersion, Node: node}
	l.prepare(b, p, node, choices)
	p.Attempt, p.Node, p.Nominated = d.Attempt, node, ""
	l.binds[d.Attempt] = b
	id, attempt := d.Pod, d.Attempt
	l.writer.Bind(b, func(said act.Outcome) {
		l.box.Put(func() { l.answered(id, attempt, node, said, choices) })
	})
}

// prepare has what the pod claims written before it is bound, and taken back if it is not.
func (l *Loop) prepare(b *act.Bind, p *mirror.Pod, node string, choices []mirror.VolumeChoice) {
	allocations := l.mirror.Allocations(p, node)
	if len(choices) == 0 && len(allocations) == 0 {
		return
	}
	b.Before = func(ctx context.Context) error {
		for _, one := range allocations {
			if err := l.writer.Reserve(ctx, one.Claim, one.Allocation, b.Pod, b.UID); err != nil {
				return err
			}
		}
		for _, one := range choices {
			var err error
			if one.Volume != nil {
				err = l.writer.TakeVolume(ctx, one.Claim, one.Volume)
			} else {
				err = l.writer.MakeVolume(ctx, one.Claim, node)
			}
			if err != nil {
				return err
			}
		}
		for _, one := range choices {
			if err := l.writer.AwaitVolume(ctx, one.Claim, l.volumes); err != nil {
				return err
			}
		}
		return nil
	}
	b.After = func(ctx context.Context) {
		for _, one := range allocations {
			if err := l.writer.Unreserve(ctx, one.Claim, b.UID); err != nil {
				klog.ErrorS(err, "a claim stays reserved until its controller sees that the pod does not run", "claim", klog.KObj(one.Claim))
			}
		}
		for _, one := range choices {
			if one.Volume == nil {
				if err := l.writer.MakeVolume(ctx, one.Claim, ""); err != nil {
					klog.ErrorS(err, "a volume may be made for nobody", "claim", klog.KObj(one.Claim))
				}
			}
		}
	}
}

// answered hears what became of a bind. The pod may have another attempt by now, or be gone.
func (l *Loop) answered(id gangsched.PodID, attempt gangsched.Attempt, node string, said act.Outcome, choices []mirror.VolumeChoice) {
	delete(l.binds, attempt)
	if !said.Bound {
		l.mirror.ReleaseVolumes(choices)
	}
	p := l.mirror.Pod(id)
	if p == nil || p.Attempt != attempt { // it was confirmed by what the API server said of the pod, or the attempt is void
		if p != nil && said.Bound {
			l.mirror.Ran(p, node)
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
	p.Attempt, p.Node = 0, ""
	if err := l.scheduler.Fail(p.ID, attempt, reason); err != nil && !errors.Is(err, gangsched.ErrOutdated) {
		klog.ErrorS(err, "a bind that failed cannot be taken back", "pod", p.Name)
	}
	l.writer.SetStatus(p.Name, act.Status{UID: p.Object.UID, Condition: unscheduled(p, corev1.PodReasonSchedulerError, reason)})
	l.recorder.Eventf(p.Object, nil, corev1.EventTypeWarning, "FailedScheduling", "Scheduling", reason)
}

func (l *Loop) evict(victim *mirror.Pod, by *mirror.Pod) {
	message := "preempting to accommodate a higher priority pod"
	if by != nil {
		message = fmt.Sprintf("%s: %s", by.Object.Spec.SchedulerName, message)
	}
	l.writer.Evict(act.Victim{Pod: victim.Name, UID: victim.Object.UID, Condition: corev1.PodCondition{
		Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: corev1.PodReasonPreemptionByScheduler, Message: message,
		ObservedGeneration: victim.Object.Generation, LastTransitionTime: metav1.Now(),
	}})
}
