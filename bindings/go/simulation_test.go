package gangsched_test

import (
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"gangsched"
)

const simulatedNode = `{apiVersion: v1, kind: Node, metadata: {name: a}, status: {allocatable: {cpu: 4, pods: 110}}}`
const simulatedPods = `{apiVersion: v1, kind: Pod, metadata: {name: small}, spec: {containers: [{name: c, resources: {requests: {cpu: 1}}}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: large}, spec: {hostnam: x, containers: [{name: c, resources: {requests: {cpu: 4}}}]}}
`

type simulated struct {
	Pods []struct {
		Name, Status, Node string
		PlacedSeconds      float64 `json:"placed_seconds"`
	}
	Errors []struct{ Object, Field, Reason string }
	Diff   *struct {
		Pods []struct{ Name, Before, Now string }
	}
}

func simulate(t *testing.T, options gangsched.SimulationOptions, files ...gangsched.Source) (simulated, []byte, []string, error) {
	t.Helper()
	text, warnings, err := gangsched.Simulate(files, options)
	var made simulated
	want(t, json.Unmarshal(text, &made), nil)
	return made, text, warnings, err
}

func TestASimulationSaysWhoGoesWhere(t *testing.T) {
	node := gangsched.Source{Name: "node.yaml", Text: []byte(simulatedNode)}
	pods := gangsched.Source{Name: "pods.yaml", Text: []byte(simulatedPods)}
	made, before, warnings, err := simulate(t, gangsched.SimulationOptions{}, node, pods)
	want(t, err, nil)
	want(t, len(made.Pods), 2)
	want(t, made.Pods[0].Node, "a")
	want(t, made.Pods[1].Status, "unscheduled")
	want(t, len(warnings), 1)
	want(t, strings.Contains(warnings[0], "hostnam"), true)

	// The large one has the node to itself once the small one has run, and the small one comes later.
	options := gangsched.SimulationOptions{
		Arrivals: []gangsched.Arrival{{Name: "small", Arrives: 5 * time.Second}, {Name: "large", Runs: time.Minute}},
		Compare:  gangsched.Source{Name: "before.json", Text: before},
	}
	made, _, _, err = simulate(t, options, node, pods)
	want(t, err, nil)
	want(t, made.Pods[1].Status, "ended")
	want(t, made.Pods[0].Status, "placed")
	want(t, made.Pods[0].PlacedSeconds, 60.0)
	want(t, made.Diff != nil && len(made.Diff.Pods) == 1, true)
	want(t, made.Diff.Pods[0].Now, "ended on a")
}

func TestSimulationsRunSideBySide(t *testing.T) {
	files := []gangsched.Source{{Name: "node.yaml", Text: []byte(simulatedNode)}, {Name: "pods.yaml", Text: []byte(simulatedPods)}}
	alone, _, err := gangsched.Simulate(files, gangsched.SimulationOptions{})
	want(t, err, nil)
	var all sync.WaitGroup
	said := make([]string, 4)
	for i := range said {
		all.Add(1)
		go func() {
			defer all.Done()
			text, _, _ := gangsched.Simulate(files, gangsched.SimulationOptions{})
			said[i] = string(text)
		}()
	}
	all.Wait()
	for _, one := range said {
		want(t, one, string(alone))
	}
}

func TestMistakesOfASimulationAreAllSaid(t *testing.T) {
	bad := gangsched.Source{Name: "bad.yaml", Text: []byte("{apiVersion: v1, kind: Pod, metadata: {name: x}, spec: {containers: 7}}\n---\n{apiVersion: v1, kind: Pod, metadata: {name: z}, spec: {containers: 7}}\n")}
	made, _, _, err := simulate(t, gangsched.SimulationOptions{}, bad)
	want(t, errors.Is(err, gangsched.ErrMalformed), true)
	want(t, len(made.Errors), 2)
	want(t, made.Errors[1].Object, "bad.yaml:3: Pod default/z")

	late := gangsched.SimulationOptions{Arrivals: []gangsched.Arrival{{Name: "small", Runs: -time.Second}}}
	_, _, _, err = simulate(t, late, gangsched.Source{Name: "pods.yaml", Text: []byte(simulatedPods)})
	want(t, errors.Is(err, gangsched.ErrMalformed), true)
	_, _, _, err = simulate(t, gangsched.SimulationOptions{Until: "soon"}, bad)
	want(t, errors.Is(err, gangsched.ErrMalformed), true)
	_, _, err = gangsched.Simulate(nil, gangsched.SimulationOptions{Until: "s\x00oon"})
	want(t, errors.Is(err, gangsched.ErrMalformed), true)
	made, _, _, err = simulate(t, gangsched.SimulationOptions{}, gangsched.Source{Name: "empty.yaml"})
	want(t, errors.Is(err, gangsched.ErrMalformed), true)
	want(t, len(made.Errors), 1)
}
