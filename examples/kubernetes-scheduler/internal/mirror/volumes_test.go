package mirror

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gangsched"
)

// A driver that says where it has how much room makes volumes nowhere else.
func TestAVolumeIsMadeWhereItsDriverHasRoom(t *testing.T) {
	w := newWorld(t)
	for _, zone := range []string{"a", "b"} {
		node := nodeOf("n-"+zone, "4")
		node.Labels = map[string]string{"zone": zone}
		w.SetNode(node)
	}
	waits, limited, class := storagev1.VolumeBindingWaitForFirstConsumer, true, "fast"
	w.SetStorageClass(&storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: class}, Provisioner: "disks", VolumeBindingMode: &waits}, false)
	driver := &storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: "disks"}, Spec: storagev1.CSIDriverSpec{StorageCapacity: &limited}}
	w.SetCSIDriver(driver, false)
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "data"}}
	claim.Spec.StorageClassName = &class
	claim.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("10Gi")}
	w.SetClaimOfVolume(claim, false)
	pod := podOf("p", "1")
	pod.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}}}
	capacity := func(name, zone, room, most string) *storagev1.CSIStorageCapacity {
		made := &storagev1.CSIStorageCapacity{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, StorageClassName: class,
			NodeTopology: &metav1.LabelSelector{MatchLabels: map[string]string{"zone": zone}},
		}
		free := resource.MustParse(room)
		made.Capacity = &free
		if most != "" {
			limit := resource.MustParse(most)
			made.MaximumVolumeSize = &limit
		}
		return made
	}
	w.SetPod(pod)
	w.want(w.turn(), "[p reject]")
	w.SetStorageCapacity(capacity("a", "a", "5Gi", ""), false)
	w.want(w.turn(), "[]")
	w.SetStorageCapacity(capacity("b", "b", "50Gi", "5Gi"), false) // much, but no volume as large
	w.want(w.turn(), "[]")
	again := capacity("b", "b", "51Gi", "5Gi")
	again.ResourceVersion = "2"
	if w.SetStorageCapacity(again, false); w.changed {
		t.Error("it says what it said before, and pods are told anew")
	}
	w.SetStorageCapacity(capacity("b", "b", "50Gi", "20Gi"), false)
	w.want(w.turn(), "[p bind]")
	w.want(w.Find(nameOf(pod)).Node, "n-b")
	// Without that word of the driver it makes them everywhere its class says.
	w.SetStorageCapacity(capacity("b", "b", "50Gi", ""), true)
	other := pod.DeepCopy()
	other.Name, other.UID = "q", "q"
	w.SetPod(other)
	w.want(w.turn(), "[q reject]")
	w.SetCSIDriver(driver, true)
	w.want(w.turn(), "[q bind]")
}

// What a capacity says of nodes is read when it comes, not for each claim and node.
func TestCapacitiesAreReadOnce(t *testing.T) {
	made := newStorage()
	made.limited["disks"] = true
	nodes := map[string]*node{}
	w := Mirror{storage: made}
	room := resource.MustParse("10Gi")
	for i := range 100 {
		name := fmt.Sprint("n", i)
		nodes[name] = &node{object: nodeOf(name, "4")}
		nodes[name].object.Labels = map[string]string{"name": name}
		w.SetStorageCapacity(&storagev1.CSIStorageCapacity{
			ObjectMeta: metav1.ObjectMeta{Name: name}, StorageClassName: "fast", Capacity: &room,
			NodeTopology: &metav1.LabelSelector{MatchLabels: map[string]string{"name": name}},
		}, i == 7)
	}
	waits, class := storagev1.VolumeBindingWaitForFirstConsumer, "fast"
	made.classes[class] = &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: class}, Provisioner: "disks", VolumeBindingMode: &waits}
	claim := &corev1.PersistentVolumeClaim{}
	claim.Spec.StorageClassName = &class
	claim.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("10Gi")}
	asked := &bindable{Storage: &made, nodes: nodes}
	if where, _ := asked.Bindable(claim); len(where) != 99 {
		t.Error(len(where), " nodes")
	}
	if count := testing.AllocsPerRun(3, func() { asked.Bindable(claim) }); count > 1000 {
		t.Errorf("%v allocations for a hundred nodes", count)
	}
}

// A claim whose volume is being made somewhere gets none elsewhere, though there is one that is free.
func TestAClaimWithASelectedNodeGetsItsVolumeThere(t *testing.T) {
	for name, now := range map[string]struct {
		selected map[string]string
		where    string
		taken    bool
	}{
		"none":          {nil, "[a b]", true},
		"one":           {map[string]string{selectedNode: "b"}, "[b]", false},
		"one not there": {map[string]string{selectedNode: "c"}, "[]", false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.SetNode(nodeOf("a", "4"))
			w.SetNode(nodeOf("b", "4"))
			waits, class := storagev1.VolumeBindingWaitForFirstConsumer, "fast"
			w.SetStorageClass(&storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: class}, Provisioner: "disks", VolumeBindingMode: &waits}, false)
			volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "v"}}
			volume.Spec.StorageClassName, volume.Status.Phase = class, corev1.VolumeAvailable
			w.SetVolume(volume, false)
			claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "data", Annotations: now.selected}}
			claim.Spec.StorageClassName = &class
			w.SetClaimOfVolume(claim, false)
			where, possible := (&bindable{Storage: &w.storage, nodes: w.nodes}).Bindable(claim)
			w.want(possible, "true")
			w.want(where, now.where)
			pod := podOf("p", "1")
			pod.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}}}
			w.SetPod(pod)
			for _, node := range []string{"a", "b"} {
				choices, err := w.ChooseVolumes(w.Find(nameOf(pod)), node)
				fits := slices.Contains(where, node)
				if (err == nil) != fits || fits && (len(choices) != 1 || (choices[0].Volume != nil) != now.taken || choices[0].Node.Name != node) {
					t.Error(node, choices, err)
				}
			}
		})
	}
}

// A volume that is still to be made counts against the limit of its driver.
func TestAVolumeThatIsToBeMadeIsAttached(t *testing.T) {
	w := newWorld(t)
	most, waits, class := int32(1), storagev1.VolumeBindingWaitForFirstConsumer, "made"
	w.SetNode(nodeOf("n", "4"))
	w.SetCSINode(&storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: "n"}, Spec: storagev1.CSINodeSpec{
		Drivers: []storagev1.CSINodeDriver{{Name: "disks", NodeID: "n", Allocatable: &storagev1.VolumeNodeResources{Count: &most}}}}}, false)
	w.SetStorageClass(&storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: class}, Provisioner: "disks", VolumeBindingMode: &waits}, false)
	claim := func(name string) *corev1.PersistentVolumeClaim {
		made := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
		made.Spec.StorageClassName = &class
		return made
	}
	with := func(name, claim string) *corev1.Pod {
		made := podOf(name, "1")
		made.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim}}}}
		return made
	}
	w.SetClaimOfVolume(claim("c"), false)
	w.SetClaimOfVolume(claim("d"), false)
	w.SetPod(with("p", "c"))
	w.want(w.turn(), "[p bind]")
	w.SetPod(with("q", "d"))
	w.want(w.turn(), "[q reject]")
	w.RemovePod(with("q", "d"))
	w.SetPod(with("r", "c"))
	w.want(w.turn(), "[r bind]")
	// When it is made it is one with what was to be made.
	w.SetPod(on("n", with("p", "c")))
	w.SetPod(on("n", with("r", "c")))
	volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "made"}}
	volume.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: "disks", VolumeHandle: "made"}
	w.SetVolume(volume, false)
	bound := claim("c")
	bound.Spec.VolumeName, bound.Annotations = "made", map[string]string{"pv.kubernetes.io/bind-completed": "yes"}
	w.SetClaimOfVolume(bound, false)
	w.SetPod(with("s", "c"))
	w.want(w.turn(), "[s bind]")
}

// A volume does for a claim if it is as the claim asks; one that is meant for the claim is taken before all others.
func TestAVolumeIsChosenByWhatTheClaimAsks(t *testing.T) {
	block, fast, slow, class := corev1.PersistentVolumeBlock, "fast", "slow", "local"
	for name, now := range map[string]struct {
		claim, volume func(*corev1.PersistentVolumeSpec, *corev1.PersistentVolumeClaimSpec)
		want          string
	}{
		"as it is": {want: "v"},
		"another mode": {claim: func(_ *corev1.PersistentVolumeSpec, claim *corev1.PersistentVolumeClaimSpec) {
			claim.VolumeMode = &block
		}},
		"of its attributes": {
			claim: func(_ *corev1.PersistentVolumeSpec, claim *corev1.PersistentVolumeClaimSpec) {
				claim.VolumeAttributesClassName = &fast
			},
			volume: func(volume *corev1.PersistentVolumeSpec, _ *corev1.PersistentVolumeClaimSpec) {
				volume.VolumeAttributesClassName = &fast
			}, want: "v",
		},
		"of other attributes": {
			claim: func(_ *corev1.PersistentVolumeSpec, claim *corev1.PersistentVolumeClaimSpec) {
				claim.VolumeAttributesClassName = &fast
			},
			volume: func(volume *corev1.PersistentVolumeSpec, _ *corev1.PersistentVolumeClaimSpec) {
				volume.VolumeAttributesClassName = &slow
			},
		},
		"of none": {claim: func(_ *corev1.PersistentVolumeSpec, claim *corev1.PersistentVolumeClaimSpec) {
			claim.VolumeAttributesClassName = &fast
		}},
		"it asks for none": {
			volume: func(volume *corev1.PersistentVolumeSpec, _ *corev1.PersistentVolumeClaimSpec) {
				volume.VolumeAttributesClassName = &fast
			},
		},
	} {
		for _, meant := range []bool{false, true} {
			t.Run(fmt.Sprint(name, " ", meant), func(t *testing.T) {
				w := newWorld(t)
				w.SetNode(nodeOf("n", "4"))
				claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "data", UID: "data"}}
				claim.Spec.StorageClassName = &class
				volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "v"}}
				volume.Spec.StorageClassName, volume.Status.Phase = class, corev1.VolumeAvailable
				volume.Spec.Capacity = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("5Gi")}
				for _, change := range []func(*corev1.PersistentVolumeSpec, *corev1.PersistentVolumeClaimSpec){now.claim, now.volume} {
					if change != nil {
						change(&volume.Spec, &claim.Spec)
					}
				}
				if meant {
					volume.Spec.ClaimRef = &corev1.ObjectReference{Namespace: "default", Name: "data"}
				}
				w.SetVolume(volume, false)
				chosen := ""
				if one := w.storage.choose(claim, "n", w.nodes); one != nil {
					chosen = one.Name
				}
				if chosen != now.want {
					t.Errorf("it is %q", chosen)
				}
				if !meant || now.want == "" {
					return
				}
				smaller := volume.DeepCopy()
				smaller.Name, smaller.Spec.ClaimRef = "smaller", nil
				smaller.Spec.Capacity = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
				w.SetVolume(smaller, false)
				w.want(w.storage.choose(claim, "n", w.nodes).Name, "v")
			})
		}
	}
}

// Of a claim without a class nothing can be chosen: it has to be bound first.
func TestAClaimWithoutAClassIsGivenNothing(t *testing.T) {
	w := newWorld(t)
	w.SetNode(nodeOf("n", "4"))
	volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "v"}}
	volume.Status.Phase = corev1.VolumeAvailable
	w.SetVolume(volume, false)
	w.SetClaimOfVolume(&corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "data"}}, false)
	pod := podOf("p", "1")
	pod.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}}}
	w.SetPod(pod)
	w.want(w.turn(), "[p reject]")
	if choices, err := w.ChooseVolumes(w.Find(nameOf(pod)), "n"); err == nil {
		t.Error(choices)
	}
}

// A pod that runs counts with the volumes and claims that are known, whatever is missing beside them.
func TestOfAPodThatRunsAllIsCountedThatIsKnown(t *testing.T) {
	w := newWorld(t)
	most := int32(1)
	w.SetCSINode(&storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: "n"}, Spec: storagev1.CSINodeSpec{
		Drivers: []storagev1.CSINodeDriver{{Name: "disks", NodeID: "n", Allocatable: &storagev1.VolumeNodeResources{Count: &most}}}}}, false)
	w.SetNode(nodeOf("n", "4"))
	w.SetSlice(sliceOf("n", "small0"), false)
	w.SetDeviceClass(classOf("card", ""), false)
	w.SetClaim(allocated(claimOf("cards", "1"), "n", "small0"))
	for _, name := range []string{"a", "b"} {
		claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Annotations: map[string]string{"pv.kubernetes.io/bind-completed": "yes"}}}
		claim.Spec.VolumeName = name
		w.SetClaimOfVolume(claim, false)
		volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name}}
		volume.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: "disks", VolumeHandle: name}
		w.SetVolume(volume, false)
	}
	with := func(pod *corev1.Pod, claims ...string) *corev1.Pod {
		for _, name := range claims {
			pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{
				PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name}}})
		}
		return pod
	}
	runs := with(on("n", podOf("runs", "1")), "unknown", "a")
	for _, name := range []string{"none", "cards"} {
		runs.Spec.ResourceClaims = append(runs.Spec.ResourceClaims, corev1.PodResourceClaim{Name: name, ResourceClaimName: &name})
	}
	w.SetPod(runs)
	w.want(w.uidOf("cards"), "1")
	if err := w.cluster.RemoveResourceClaim(w.cluster.FindResourceClaim("default", "cards")); !errors.Is(err, gangsched.ErrWrongState) {
		t.Error("no pod uses the claim: ", err)
	}
	w.SetPod(with(podOf("p", "1"), "b"))
	w.want(w.turn(), "[p reject]")
	w.RemovePod(runs)
	w.want(w.turn(), "[p bind]")
}

// What selectors of volumes say of nodes is found out once, not for each claim that waits, and follows volumes and nodes.
func TestWhereVolumesAreIsKnown(t *testing.T) {
	w := newWorld(t)
	waits, class := storagev1.VolumeBindingWaitForFirstConsumer, "local"
	w.SetStorageClass(&storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: class}, Provisioner: noProvisioner, VolumeBindingMode: &waits}, false)
	volume := func(name, host, large string) *corev1.PersistentVolume {
		made := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name}}
		made.Spec.StorageClassName, made.Status.Phase = class, corev1.VolumeAvailable
		made.Spec.Capacity = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(large)}
		made.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "host", Operator: corev1.NodeSelectorOpIn, Values: []string{host}}}}}}}
		return made
	}
	node := func(name, host string) *corev1.Node {
		made := nodeOf(name, "4")
		made.Labels = map[string]string{"host": host}
		return made
	}
	const many = 200
	for i := range many {
		w.SetNode(node(fmt.Sprintf("n%03d", i), fmt.Sprint(i)))
		w.SetVolume(volume(fmt.Sprint("v", i), fmt.Sprint(i), "5Gi"), i%2 == 1)
	}
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "data", UID: "data"}}
	claim.Spec.StorageClassName = &class
	claim.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("5Gi")}
	asked := &bindable{Storage: &w.storage, nodes: w.nodes}
	where := func() []string {
		made, _ := asked.Bindable(claim)
		return made
	}
	w.want(len(where()), fmt.Sprint(many/2))
	if count := testing.AllocsPerRun(3, func() { where() }); count > 5*many {
		t.Errorf("%v allocations", count)
	}
	for i := range many {
		w.SetVolume(volume(fmt.Sprint("v", i), "", "1"), true)
	}
	w.want(where(), "[]")
	w.want(len(w.storage.free)+len(w.storage.reaches), "0")
	taken := volume("taken", "3", "5Gi")
	taken.Spec.ClaimRef = &corev1.ObjectReference{Namespace: "default", Name: "other"}
	ours := volume("ours", "4", "5Gi")
	ours.Spec.ClaimRef = &corev1.ObjectReference{Namespace: "default", Name: "data"}
	for _, step := range []struct {
		what func()
		want string
	}{
		{func() { w.SetVolume(volume("small", "1", "4Gi"), false) }, "[]"},
		{func() { w.SetVolume(volume("v", "1", "6Gi"), false) }, "[n001]"},
		{func() { w.SetVolume(volume("u", "1", "5Gi"), false) }, "[n001]"},
		{func() { w.want(w.storage.choose(claim, "n001", w.nodes).Name, "u") }, "[n001]"},
		{func() { w.SetVolume(taken, false) }, "[n001]"},
		{func() { w.SetNode(node("n005", "1")) }, "[n001 n005]"},
		{func() { w.SetNode(node("n005", "5")) }, "[n001]"},
		{func() { w.RemoveNode("n001") }, "[]"},
		{func() { w.SetNode(node("n001", "1")) }, "[n001]"},
		{func() { w.SetVolume(volume("v", "2", "6Gi"), false) }, "[n001 n002]"},
		{func() { w.SetVolume(ours, false) }, "[n004]"}, // no other does
		{func() { w.RemoveNode("n004") }, "[]"},
		{func() { w.SetNode(node("n004", "4")) }, "[n004]"},
		{func() { w.SetVolume(ours, true) }, "[n001 n002]"},
		{func() { w.SetVolume(volume("u", "1", "5Gi"), true) }, "[n002]"},
		{func() {
			w.SetVolume(&corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "v"}, Spec: ours.Spec, Status: ours.Status}, false)
		}, "[n004]"},
	} {
		step.what()
		w.want(where(), step.want)
		for _, one := range []*corev1.PersistentVolume{ours, taken} {
			w.want(asked.Matching(one.Spec.NodeAffinity.Required), asList(w, one.Spec.NodeAffinity.Required.NodeSelectorTerms[0].MatchExpressions[0].Values[0]))
		}
	}
}

// asList are the nodes of a host, as they are now.
func asList(w *world, host string) string {
	made := []string{}
	for name, n := range w.nodes {
		if n.object.Labels["host"] == host {
			made = append(made, name)
		}
	}
	slices.Sort(made)
	return fmt.Sprint(made)
}
