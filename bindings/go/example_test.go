package gangsched_test

import (
	"fmt"
	"log"
	"os"
	"strings"
	"testing"

	"gangsched"
)

func must[T any](made T, err error) T {
	check(err)
	return made
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func Example() {
	// quickstart
	cluster := gangsched.NewCluster()
	defer cluster.Close()
	for _, name := range []string{"node-a", "node-b"} {
		room := gangsched.Resources("cpu", "16", "memory", "64Gi", "pods", "110", "nvidia.com/gpu", "2")
		must(cluster.AddNode(&gangsched.NodeSpec{Name: name, Allocatable: room}))
	}
	limit := gangsched.Quota{Limit: gangsched.Resources("nvidia.com/gpu", "3")}
	must(cluster.AddQueue(&gangsched.QueueSpec{Name: "research", Namespaces: []string{"default"}, Quotas: []gangsched.Quota{limit}}))
	train := must(cluster.AddGroup(&gangsched.GroupSpec{Name: "train", MinCount: 3}))
	worker := []gangsched.Container{{Requests: gangsched.Resources("cpu", "1500m", "nvidia.com/gpu", "1")}}
	for _, name := range []string{"train-0", "train-1", "train-2"} {
		must(cluster.AddPod(&gangsched.PodSpec{Name: name, Containers: worker, Group: train}))
	}
	must(cluster.AddPod(&gangsched.PodSpec{Name: "one-more", Containers: worker}))
	profiles := []gangsched.Profile{{Base: gangsched.WithQueues}}
	scheduler := must(gangsched.NewScheduler(cluster, gangsched.Options{Profiles: profiles}))
	defer scheduler.Close()
	for _, decision := range must(scheduler.Run(0)) { // a turn; 0 is the time on the host's clock
		fmt.Print(cluster.PodName(decision.Pod), ": ", decision.Kind)
		if decision.Kind == gangsched.Bind {
			fmt.Println(" to", cluster.NodeName(decision.Node))
			check(scheduler.Confirm(decision.Pod, decision.Attempt)) // the pod runs
		} else {
			fmt.Println(",", must(scheduler.Explain(decision.Pod)))
		}
	}
	// Output:
	// train-0: bind to node-a
	// train-1: bind to node-b
	// train-2: bind to node-a
	// one-more: reject, 0/2 nodes are available: 2 over the limit of its queue: queue research would use more nvidia.com/gpu than it may, 3: 1 would have to end
}

// What the README shows is the example, and what it says that this prints, word for word.
func TestReadmeShowsTheExample(t *testing.T) {
	source := string(must(os.ReadFile("example_test.go")))
	readme := string(must(os.ReadFile("README.md")))
	_, body, _ := strings.Cut(source, "\t// quickstart\n")
	body, output, _ := strings.Cut(body, "\t// Output:\n")
	output, _, _ = strings.Cut(output, "}\n")
	code := strings.ReplaceAll("\n"+body, "\n\t", "\n")[1:]
	if lines := strings.Count(code, "\n"); lines > 30 {
		t.Errorf("the quickstart has %d lines, more than 30", lines)
	}
	if !strings.Contains(readme, "```go\n"+code+"```\n") {
		t.Error("README.md does not show the example as it is")
	}
	if said := strings.ReplaceAll("\n"+output, "\n\t// ", "\n"); !strings.Contains(readme, "```"+said+"```\n") {
		t.Error("README.md does not show what it prints")
	}
}
