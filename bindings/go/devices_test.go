package gangsched_test

import (
	"errors"
	"fmt"
	"testing"

	"gangsched"
)

func number(n int32) *int32 { return &n }

func gpuNode(name string, gpus ...gangsched.GPU) *gangsched.NodeSpec {
	devices := &gangsched.NodeDevices{Model: "NVIDIA-A100-SXM4-40GB", MemoryMiB: 40960, GPUs: gpus}
	return &gangsched.NodeSpec{Name: name, Allocatable: gangsched.Resources("cpu", "8", "pods", "110"), Devices: devices}
}

func asking(name string, requests ...gangsched.DeviceRequest) *gangsched.PodSpec {
	return &gangsched.PodSpec{Name: name, Devices: requests}
}

func TestGPUsAreHandedOut(t *testing.T) {
	w := newWorld(t, gangsched.Options{}, 0)
	node, err := w.cluster.AddNode(gpuNode("n", gangsched.GPU{ID: "G0", NUMA: number(0)}, gangsched.GPU{ID: "G1", MIG: gangsched.MIGDynamic}, gangsched.GPU{ID: "G2", Unhealthy: true}))
	want(t, err, nil)
	share, err := w.cluster.AddPod(asking("share", gangsched.DeviceRequest{Milli: number(300)}))
	want(t, err, nil)
	instance, err := w.cluster.AddPod(asking("instance", gangsched.DeviceRequest{MIGProfile: "1g.5gb"}))
	want(t, err, nil)
	whole, err := w.cluster.AddPod(asking("whole", gangsched.DeviceRequest{}))
	want(t, err, nil)
	want(t, w.run(0), "share bind n; instance bind n; whole reject")
	want(t, fmt.Sprint(w.cluster.Devices(share)), "[{G0  300 0 0}]")
	want(t, fmt.Sprint(w.cluster.Devices(instance)), "[{G1 1g.5gb 0 0 0}]")
	want(t, len(w.cluster.Devices(whole)), 0)
	none, err := w.cluster.SetDeviceHealth(node, "G2", true)
	want(t, err, nil)
	want(t, len(none), 0)
	want(t, w.run(60_000_000_000), "whole bind n")
	hit, err := w.cluster.SetDeviceHealth(node, "G0", false)
	want(t, err, nil)
	want(t, fmt.Sprint(hit), fmt.Sprint([]gangsched.PodID{share}))
	_, err = w.cluster.SetDeviceHealth(node, "G9", true)
	want(t, errors.Is(err, gangsched.ErrUnknown), true)
}

func TestLinksPartitionsAndCapacities(t *testing.T) {
	w := newWorld(t, gangsched.Options{}, 0)
	spec := gpuNode("n", gangsched.GPU{ID: "G0"}, gangsched.GPU{ID: "G1"}, gangsched.GPU{ID: "G2"}, gangsched.GPU{ID: "G3"})
	for row := range 4 {
		for column := range 4 {
			link := gangsched.Link{Path: gangsched.PathNODE}
			if row != column && row/2 == column/2 {
				link.NVLinks = 12
			}
			spec.Devices.Links = append(spec.Devices.Links, link)
		}
	}
	ten, forty := int64(10), int64(40)
	spec.Devices.Others = []gangsched.OtherDevice{{ID: "nic", Class: "nic", Shared: true, Capacities: []gangsched.Capacity{
		{Name: "nic/gbps", Amount: 100, Policy: &gangsched.CapacityPolicy{Standard: &ten, Least: &ten, Most: &forty, Step: &ten}}}}}
	_, err := w.cluster.AddNode(spec)
	want(t, err, nil)
	one, err := w.cluster.AddPod(asking("one", gangsched.DeviceRequest{}))
	want(t, err, nil)
	pair, err := w.cluster.AddPod(asking("pair", gangsched.DeviceRequest{Count: 2, Within: gangsched.ScopeNVLink}))
	want(t, err, nil)
	for i := range 4 { // 35 are 40, of 100
		_, err := w.cluster.AddPod(asking(fmt.Sprint("fast-", i), gangsched.DeviceRequest{Class: "nic", Capacities: []gangsched.NamedCount{{Name: "nic/gbps", Amount: 35}}}))
		want(t, err, nil)
	}
	want(t, w.run(0), "one bind n; pair bind n; fast-0 bind n; fast-1 bind n; fast-2 reject; fast-3 reject")
	first := w.cluster.Devices(one)
	both := w.cluster.Devices(pair)
	want(t, len(both), 2)
	want(t, both[0].ID[1]/2 == both[1].ID[1]/2 && both[0].ID[1]/2 != first[0].ID[1]/2, true)
	wrong := gpuNode("wrong", gangsched.GPU{}, gangsched.GPU{})
	wrong.Devices.Links = []gangsched.Link{{}, {NVLinks: 99}, {}, {}}
	_, err = w.cluster.AddNode(wrong)
	want(t, errors.Is(err, gangsched.ErrOutOfRange), true)
}

func TestClaimsAreShared(t *testing.T) {
	w := newWorld(t, gangsched.Options{}, 0)
	card := func(id, model string) gangsched.OtherDevice {
		return gangsched.OtherDevice{ID: id, Class: "gpu.example.com", Attributes: []gangsched.Attribute{{Name: "gpu.example.com/model", Value: gangsched.TextValue(model)}}}
	}
	devices := &gangsched.NodeDevices{Others: []gangsched.OtherDevice{card("small", "s"), card("large", "l")}}
	_, err := w.cluster.AddNode(&gangsched.NodeSpec{Name: "n", Allocatable: cpu(8), Devices: devices})
	want(t, err, nil)
	large := gangsched.DeviceRequest{CEL: []string{`device.driver == "gpu.example.com"`, `device.attributes["gpu.example.com"].model == "l"`}}
	claim, err := w.cluster.AddResourceClaim(&gangsched.ResourceClaimSpec{Name: "c", Devices: []gangsched.DeviceRequest{large}, MostPods: number(2)})
	want(t, err, nil)
	want(t, w.cluster.FindResourceClaim("", "c"), claim)
	var pods []gangsched.PodID
	for _, name := range []string{"p", "q", "r"} {
		pod, err := w.cluster.AddPod(&gangsched.PodSpec{Name: name, ResourceClaims: []gangsched.ResourceClaimID{claim}})
		want(t, err, nil)
		pods = append(pods, pod)
	}
	same := gangsched.DeviceRequest{Class: "gpu.example.com", Selectors: []gangsched.AttributeSelector{
		{Attribute: "gpu.example.com/model", Op: gangsched.Equal, Values: []gangsched.AttributeValue{gangsched.TextValue("l")}}}}
	_, err = w.cluster.AddPod(asking("own", same))
	want(t, err, nil)
	want(t, w.run(0), "p bind n; q bind n; r reject; own reject")
	want(t, len(w.cluster.Devices(pods[0])), 0)
	want(t, fmt.Sprint(w.cluster.ClaimDevices(claim)), "[{large  0 1 0}]")
	want(t, w.cluster.NodeName(w.cluster.ClaimNode(claim)), "n")
	want(t, errors.Is(w.cluster.RemoveResourceClaim(claim), gangsched.ErrWrongState), true)
	want(t, errors.Is(w.cluster.Deallocate(claim), gangsched.ErrWrongState), true)
	for _, pod := range pods {
		want(t, w.cluster.RemovePod(pod), nil)
	}
	want(t, w.cluster.RemoveResourceClaim(claim), nil)
	want(t, w.run(60_000_000_000), "own bind n")
}

func TestWhichAlternativeWasChosen(t *testing.T) {
	w := newWorld(t, gangsched.Options{}, 0)
	card := func(id string) gangsched.OtherDevice { return gangsched.OtherDevice{ID: id, Class: "card"} }
	devices := &gangsched.NodeDevices{Others: []gangsched.OtherDevice{card("a"), card("b"), card("c")}}
	_, err := w.cluster.AddNode(&gangsched.NodeSpec{Name: "n", Allocatable: cpu(8), Devices: devices})
	want(t, err, nil)
	two := gangsched.DeviceRequest{FirstOf: []gangsched.DeviceRequest{{Class: "card", Count: 2}, {Class: "card"}}}
	own, err := w.cluster.AddPod(asking("own", two))
	want(t, err, nil)
	want(t, w.cluster.Alternative(own, 0), int32(-1))
	claim, err := w.cluster.AddResourceClaim(&gangsched.ResourceClaimSpec{Name: "c", Devices: []gangsched.DeviceRequest{two}})
	want(t, err, nil)
	p, err := w.cluster.AddPod(&gangsched.PodSpec{Name: "p", ResourceClaims: []gangsched.ResourceClaimID{claim}})
	want(t, err, nil)
	want(t, w.run(0), "own bind n; p bind n")
	want(t, w.cluster.Alternative(own, 0), int32(0))
	want(t, w.cluster.ClaimAlternative(claim, 0), int32(1))
	want(t, w.cluster.ClaimAlternative(claim, 1), int32(-1))
	want(t, w.cluster.Alternative(p, 0), int32(-1))
}

func TestVolumes(t *testing.T) {
	w := newWorld(t, gangsched.Options{}, 2)
	volumes := &gangsched.PodVolumes{Nodes: []string{"n1"}, ExclusiveClaims: []string{"once"}}
	for _, name := range []string{"p", "q"} {
		_, err := w.cluster.AddPod(&gangsched.PodSpec{Name: name, Volumes: volumes})
		want(t, err, nil)
	}
	_, err := w.cluster.AddPod(&gangsched.PodSpec{Name: "r", Volumes: &gangsched.PodVolumes{Nodes: []string{}}})
	want(t, err, nil)
	_, err = w.cluster.AddPod(&gangsched.PodSpec{Name: "s", Volumes: &gangsched.PodVolumes{BindableNodes: []string{"n1"}}})
	want(t, err, nil)
	_, err = w.cluster.AddPod(&gangsched.PodSpec{Name: "t", Volumes: &gangsched.PodVolumes{ClaimProblem: "persistentvolumeclaim \"d\" not found"}})
	want(t, err, nil)
	want(t, w.run(0), "p bind n1; q reject; r reject; s bind n1; t reject")
}
