package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"gangsched/tests/cluster/harness"
)

type show struct {
	binaries, scheduler, kubeconfig string

	plane     *harness.Plane // one of its own, or how to reach the user's
	client    kubernetes.Interface
	running   *harness.Scheduler
	namespace string
}

// name is the scheduler's on a cluster of the user's, where there is another one.
const name = "gangsched-showcase"

func (s *show) run(ctx context.Context) (err error) {
	folder, err := os.MkdirTemp("", "gangsched-cluster-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	if s.kubeconfig != "" {
		s.plane, err = harness.Reach(s.kubeconfig, folder)
	} else {
		fmt.Println("starting etcd, kube-apiserver, kube-controller-manager and 100 fake nodes")
		s.plane, err = harness.Start(ctx, harness.Options{Binaries: s.binaries, Folder: folder})
	}
	if err != nil {
		return err
	}
	defer s.plane.Stop()
	s.client = s.plane.Client
	configuration := "profiles: [{schedulerName: " + name + "}]\n"
	if s.kubeconfig == "" {
		configuration = "gangsched: {queues: true}\n"
		if err := s.furnish(ctx); err != nil {
			return err
		}
	}
	if s.running, err = s.plane.Gangsched(ctx, s.scheduler, configuration, ""); err != nil {
		return err
	}
	defer s.running.Terminate()
	if s.namespace, err = harness.Namespace(ctx, s.client, "showcase"); err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, s.client.CoreV1().Namespaces().Delete(context.WithoutCancel(ctx), s.namespace, metav1.DeleteOptions{}))
	}()
	if err := s.gangs(ctx); err != nil || s.kubeconfig != "" {
		return err
	}
	if err := s.urgent(ctx); err != nil {
		return err
	}
	return s.queue(ctx)
}

// add creates pods for the scheduler that is shown.
func (s *show) add(ctx context.Context, pods ...*corev1.Pod) error {
	if s.kubeconfig != "" {
		for _, pod := range pods {
			pod.Spec.SchedulerName = name
		}
	}
	return harness.AddPods(ctx, s.client, pods...)
}

// await waits until so many of the pods whose names begin so run, and no more of them change.
func (s *show) await(ctx context.Context, begins string, running int) error {
	limited, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		pods, err := s.pods(limited, begins)
		if err != nil {
			return err
		}
		count, undecided := 0, 0
		for i := range pods {
			switch {
			case pods[i].Status.Phase == corev1.PodRunning:
				count++
			case why(&pods[i]) == "":
				undecided++
			}
		}
		if count == running && undecided == 0 {
			return nil
		}
		select {
		case <-limited.Done():
			return errors.Join(fmt.Errorf("%d of %d pods %s… run", count, running, begins), s.print(ctx, begins))
		case <-time.After(200 * time.Millisecond):
		}
	}
}

func (s *show) pods(ctx context.Context, begins string) (made []corev1.Pod, err error) {
	list, err := s.client.CoreV1().Pods(s.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	for _, pod := range list.Items {
		if strings.HasPrefix(pod.Name, begins) {
			made = append(made, pod)
		}
	}
	return made, nil
}

func why(pod *corev1.Pod) string {
	for _, one := range pod.Status.Conditions {
		if one.Type == corev1.PodScheduled && one.Status == corev1.ConditionFalse {
			return one.Message
		}
	}
	return ""
}

// print shows pods as the API server has them.
func (s *show) print(ctx context.Context, begins string) error {
	pods, err := s.pods(ctx, begins)
	if err != nil {
		return err
	}
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "POD\tSTATUS\tNODE")
	for i := range pods {
		node := pods[i].Spec.NodeName
		if node == "" {
			node = "-"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\n", pods[i].Name, pods[i].Status.Phase, node)
	}
	return table.Flush()
}

// explain asks the scheduler why a pod waits.
func (s *show) explain(ctx context.Context, pod string) error {
	path := "/debug/explain/" + s.namespace + "/" + pod
	said, err := s.running.Get(ctx, path)
	if err == nil {
		fmt.Printf("\nGET %s\n%s", path, said)
	}
	return err
}
