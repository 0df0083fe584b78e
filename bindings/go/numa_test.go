package gangsched_test

import (
	"strings"
	"testing"

	"gangsched"
)

// twoCells is a node with two cells of two cores of two threads each.
func twoCells(numa gangsched.NodeNUMA) *gangsched.NodeSpec {
	for cell := range uint32(2) {
		made := gangsched.NUMACell{ID: cell, MemoryBytes: 8 << 30, Distances: []uint32{10 + 10*cell, 20 - 10*cell}}
		for i := range uint32(4) {
			made.CPUs = append(made.CPUs, gangsched.NUMACPU{ID: 4*cell + i, Core: 2*cell + i/2, Socket: cell, UncoreCache: cell})
		}
		numa.Cells = append(numa.Cells, made)
	}
	return &gangsched.NodeSpec{Name: "n", Allocatable: gangsched.Resources("cpu", "8", "memory", "16Gi", "pods", "110"), Devices: &gangsched.NodeDevices{NUMA: &numa}}
}

// guaranteed has CPUs of its own where kubelet's CPU manager is static.
func guaranteed(name, cpus string) *gangsched.PodSpec {
	amounts := gangsched.Resources("cpu", cpus)
	return &gangsched.PodSpec{Name: name, Guaranteed: true, Containers: []gangsched.Container{{Requests: amounts, Limits: amounts}}}
}

func TestPodsStayInOneCell(t *testing.T) {
	for _, policy := range []gangsched.NUMAPolicy{gangsched.NUMANone, gangsched.NUMASingleCell} {
		w := newWorld(t, gangsched.Options{}, 0)
		_, err := w.cluster.AddNode(twoCells(gangsched.NodeNUMA{Policy: policy, WholePods: true, StaticCPUs: true, ReservedCPUs: []uint32{0}}))
		want(t, err, nil)
		for _, pod := range []*gangsched.PodSpec{guaranteed("five", "5"), guaranteed("four", "4")} { // of three and four that are not the system's
			_, err := w.cluster.AddPod(pod)
			want(t, err, nil)
		}
		if policy == gangsched.NUMASingleCell {
			want(t, w.run(0), "five reject; four bind n")
		} else {
			want(t, w.run(0), "five bind n; four reject")
		}
	}
}

func TestCPUsAreBound(t *testing.T) {
	w := newWorld(t, gangsched.Options{}, 0)
	_, err := w.cluster.AddNode(twoCells(gangsched.NodeNUMA{MostAllocatedCells: true}))
	want(t, err, nil)
	for _, name := range []string{"bound", "free"} {
		pod := podOf(name, 0)
		pod.Containers[0].Requests = gangsched.Resources("cpu", "1500m")
		if name == "bound" {
			pod.CPUBind, pod.CPUBindRequired = gangsched.CPUsFullCores, true // no whole number of CPUs can be
		}
		_, err := w.cluster.AddPod(pod)
		want(t, err, nil)
	}
	want(t, w.run(0), "bound reject; free bind n")
}

func TestWhatIsToldOfNUMAIsTheClusters(t *testing.T) {
	digest := func(change func(*gangsched.NodeNUMA, *gangsched.PodSpec)) uint64 {
		cluster := gangsched.NewCluster()
		defer cluster.Close()
		spec, pod := twoCells(gangsched.NodeNUMA{StaticCPUs: true}), podOf("p", 1)
		change(spec.Devices.NUMA, pod)
		_, err := cluster.AddNode(spec)
		want(t, err, nil)
		_, err = cluster.AddPod(pod)
		want(t, err, nil)
		return cluster.Digest()
	}
	seen := map[uint64]int{digest(func(*gangsched.NodeNUMA, *gangsched.PodSpec) {}): -1}
	for i, change := range []func(*gangsched.NodeNUMA, *gangsched.PodSpec){
		func(n *gangsched.NodeNUMA, _ *gangsched.PodSpec) { n.Policy = gangsched.NUMABestEffort },
		func(n *gangsched.NodeNUMA, _ *gangsched.PodSpec) { n.Policy = gangsched.NUMARestricted },
		func(n *gangsched.NodeNUMA, _ *gangsched.PodSpec) { n.WholePods = true },
		func(n *gangsched.NodeNUMA, _ *gangsched.PodSpec) { n.PreferClosest = true },
		func(n *gangsched.NodeNUMA, _ *gangsched.PodSpec) { n.StaticCPUs = false },
		func(n *gangsched.NodeNUMA, _ *gangsched.PodSpec) { n.FullPCPUsOnly = true },
		func(n *gangsched.NodeNUMA, _ *gangsched.PodSpec) { n.DistributeCPUsAcrossNUMA = true },
		func(n *gangsched.NodeNUMA, _ *gangsched.PodSpec) { n.AlignBySocket = true },
		func(n *gangsched.NodeNUMA, _ *gangsched.PodSpec) { n.DistributeCPUsAcrossCores = true },
		func(n *gangsched.NodeNUMA, _ *gangsched.PodSpec) { n.StrictCPUReservation = true },
		func(n *gangsched.NodeNUMA, _ *gangsched.PodSpec) { n.PreferAlignCPUsByUncoreCache = true },
		func(n *gangsched.NodeNUMA, _ *gangsched.PodSpec) { n.StaticMemory = true },
		func(n *gangsched.NodeNUMA, _ *gangsched.PodSpec) { n.ReservedCPUs = []uint32{0, 1} },
		func(n *gangsched.NodeNUMA, _ *gangsched.PodSpec) { n.CPUBind = gangsched.CPUsSpreadByCores },
		func(n *gangsched.NodeNUMA, _ *gangsched.PodSpec) { n.MostAllocatedCells = true },
		func(n *gangsched.NodeNUMA, _ *gangsched.PodSpec) { n.CPUAmplificationPercent = 150 },
		func(n *gangsched.NodeNUMA, _ *gangsched.PodSpec) { n.Cells[1].ID = 7 },
		func(n *gangsched.NodeNUMA, _ *gangsched.PodSpec) { n.Cells[1].MemoryBytes = 1 << 30 },
		func(n *gangsched.NodeNUMA, _ *gangsched.PodSpec) {
			n.Cells[1].HugePages = []gangsched.HugePages{{PageBytes: 2 << 20, Bytes: 64 << 20}}
		},
		func(n *gangsched.NodeNUMA, _ *gangsched.PodSpec) {
			n.Cells[1].CPUs[2].UncoreCache, n.Cells[1].CPUs[3].UncoreCache = 5, 5
		},
		func(n *gangsched.NodeNUMA, _ *gangsched.PodSpec) {
			n.Cells[0].Distances[1], n.Cells[1].Distances[0] = 30, 30
		},
		func(_ *gangsched.NodeNUMA, p *gangsched.PodSpec) { p.CPUBind = gangsched.CPUsFullCores },
		func(_ *gangsched.NodeNUMA, p *gangsched.PodSpec) {
			p.CPUBind, p.CPUBindRequired = gangsched.CPUsFullCores, true
		},
		func(_ *gangsched.NodeNUMA, p *gangsched.PodSpec) {
			p.CPUBind, p.CPUExclusive = gangsched.CPUsFullCores, gangsched.CPUsApartByCore
		},
		func(_ *gangsched.NodeNUMA, p *gangsched.PodSpec) {
			p.CPUBind, p.CPUExclusive = gangsched.CPUsFullCores, gangsched.CPUsApartByCell
		},
	} {
		of := digest(change)
		if other, there := seen[of]; there {
			t.Errorf("change %d leaves the cluster as %d", i, other)
		}
		seen[of] = i
	}
}

func TestSharesOfMemoryByTheNodesRule(t *testing.T) {
	for rule, said := range map[gangsched.GPUMemoryRule]string{
		gangsched.GPUMemoryMiB: "a bind n; b reject", gangsched.GPUMemoryAsAsked: "a bind n; b bind n"} {
		w := newWorld(t, gangsched.Options{}, 0)
		spec := gpuNode("n", gangsched.GPU{ID: "G0"})
		spec.Devices.MemoryMiB, spec.Devices.MemoryRule = 24576, rule
		_, err := w.cluster.AddNode(spec)
		want(t, err, nil)
		_, err = w.cluster.AddPod(asking("a", gangsched.DeviceRequest{Milli: number(0), MemoryMiB: 17408})) // 70.8 hundredths
		want(t, err, nil)
		_, err = w.cluster.AddPod(asking("b", gangsched.DeviceRequest{Milli: number(0), MemoryPercent: 30}))
		want(t, err, nil)
		want(t, w.run(0), said)
	}
}

func TestTheHostsMIGTable(t *testing.T) {
	w := newWorld(t, gangsched.Options{}, 0)
	spec := gpuNode("n", gangsched.GPU{ID: "G0", MIG: gangsched.MIGDynamic})
	spec.Devices.Model = "Example X900"
	table := &gangsched.MIGTable{Name: "X900", ComputeSlices: 4, MemorySlices: 4, Profiles: []gangsched.MIGProfile{
		{Name: "1g.9gb", ComputeSlices: 1, MemorySlices: 1, Starts: 0b1111},
		{Name: "4g.36gb", ComputeSlices: 4, MemorySlices: 4, Starts: 0b0001, Media: gangsched.MediaAll, MaxInstances: 1, Multiprocessors: 96, MemoryMiB: 36000},
	}}
	spec.Devices.MIGTable = table
	_, err := w.cluster.AddNode(spec)
	want(t, err, nil)
	small, err := w.cluster.AddPod(asking("small", gangsched.DeviceRequest{MIGProfile: "1g.9gb"}))
	want(t, err, nil)
	_, err = w.cluster.AddPod(asking("large", gangsched.DeviceRequest{MIGProfile: "4g.36gb"}))
	want(t, err, nil)
	want(t, w.run(0), "small bind n; large reject")
	has := w.cluster.Devices(small)
	want(t, len(has) == 1 && has[0].ID == "G0" && has[0].Profile == "1g.9gb", true)

	spec.Name = "m"
	refused := func(says string) {
		t.Helper()
		if _, err := w.cluster.AddNode(spec); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v: does not say %q", err, says)
		}
	}
	table.Profiles[1].Name = "1g.9gb"
	refused("node m: devices.mig_table: ")
	spec.Devices.MIGTable = nil
	spec.Devices.NUMA = &gangsched.NodeNUMA{Policy: 4}
	refused("node m: devices.numa.policy: 4 is none of them")
}
