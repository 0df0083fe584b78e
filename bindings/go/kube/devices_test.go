package kube_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"gangsched"
	"gangsched/kube"
)

const driver = "gpu.example.com"

func meta(kind, name, namespace string) (metav1.TypeMeta, metav1.ObjectMeta) {
	version := "v1"
	if strings.HasPrefix(kind, "Resource") || kind == "DeviceClass" {
		version = "resource.k8s.io/v1"
	}
	return metav1.TypeMeta{Kind: kind, APIVersion: version}, metav1.ObjectMeta{Name: name, Namespace: namespace}
}

// slices of two nodes: four cards each, of which one in two is large; and an old one of the first.
func slices() (made []*resourcev1.ResourceSlice) {
	for i := range 3 {
		slice, node := &resourcev1.ResourceSlice{}, fmt.Sprint("node-", i%2)
		slice.TypeMeta, slice.ObjectMeta = meta("ResourceSlice", fmt.Sprint("slice-", i), "")
		slice.Spec = resourcev1.ResourceSliceSpec{Driver: driver, NodeName: &node, Pool: resourcev1.ResourcePool{Name: fmt.Sprint("pool-", i%2), Generation: int64(2 - i/2), ResourceSliceCount: 1}}
		for k := range 4 {
			model, version, cores := []string{"small", "large"}[k%2], "1.2.3", int64(4+4*(k%2))
			fast := k%2 == 1
			slice.Spec.Devices = append(slice.Spec.Devices, resourcev1.Device{Name: fmt.Sprint("card-", k),
				Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{
					"model": {StringValue: &model}, "cores": {IntValue: &cores}, "fast": {BoolValue: &fast}, "firmware": {VersionValue: &version},
				},
				Capacity: map[resourcev1.QualifiedName]resourcev1.DeviceCapacity{"memory": {Value: resource.MustParse(fmt.Sprint(40*(1+k%2), "Gi"))}},
			})
		}
		made = append(made, slice)
	}
	return made
}

func class() *resourcev1.DeviceClass {
	made := &resourcev1.DeviceClass{}
	made.TypeMeta, made.ObjectMeta = meta("DeviceClass", "card", "")
	made.Spec.Selectors = cel(`device.driver == "gpu.example.com"`)
	return made
}

func cel(expression string) []resourcev1.DeviceSelector {
	return []resourcev1.DeviceSelector{{CEL: &resourcev1.CELDeviceSelector{Expression: expression}}}
}

func claim(name string, requests ...resourcev1.DeviceRequest) *resourcev1.ResourceClaim {
	made := &resourcev1.ResourceClaim{}
	made.TypeMeta, made.ObjectMeta = meta("ResourceClaim", name, "team")
	for i := range requests {
		if requests[i].Exactly == nil {
			requests[i].Exactly = &resourcev1.ExactDeviceRequest{}
		}
		requests[i].Exactly.DeviceClassName = "card"
	}
	made.Spec.Devices.Requests = requests
	return made
}

func claimingPod(name string, claims ...string) *corev1.Pod {
	made := &corev1.Pod{}
	made.TypeMeta, made.ObjectMeta = meta("Pod", name, "team")
	made.Spec.Containers = []corev1.Container{container(quantities("cpu", "100m"))}
	for _, one := range claims {
		made.Spec.ResourceClaims = append(made.Spec.ResourceClaims, corev1.PodResourceClaim{Name: one, ResourceClaimName: &one})
	}
	return made
}

// lowestFirst makes a scheduler that takes the first of equally good nodes.
func lowestFirst(t *testing.T, cluster *gangsched.Cluster) *gangsched.Scheduler {
	t.Helper()
	scheduler, err := gangsched.NewScheduler(cluster, gangsched.Options{LowestRowTies: true})
	if err != nil {
		t.Fatal(err)
	}
	return scheduler
}

// What the slices, classes, claims and pods decide as JSON they decide typed.
func TestClaimsOfDevicesSayWhatTheirJSONSays(t *testing.T) {
	same := resourcev1.FullyQualifiedName(driver + "/model")
	pair := claim("pair", resourcev1.DeviceRequest{Name: "a"}, resourcev1.DeviceRequest{Name: "b"})
	pair.Spec.Devices.Constraints = []resourcev1.DeviceConstraint{{MatchAttribute: &same, Requests: []string{"a", "b"}}}
	claims := []*resourcev1.ResourceClaim{
		claim("shared", resourcev1.DeviceRequest{Name: "one", Exactly: &resourcev1.ExactDeviceRequest{Selectors: cel(`device.attributes["gpu.example.com"].model == "large"`)}}),
		claim("two", resourcev1.DeviceRequest{Name: "all", Exactly: &resourcev1.ExactDeviceRequest{Count: 2, Selectors: cel(`device.attributes["gpu.example.com"].cores >= 8`)}}),
		pair,
		claim("huge", resourcev1.DeviceRequest{Name: "one", Exactly: &resourcev1.ExactDeviceRequest{Selectors: cel(`device.capacity["gpu.example.com"].memory.compareTo(quantity("100Gi")) >= 0`)}}),
	}
	pods := []*corev1.Pod{claimingPod("p", "shared"), claimingPod("q", "shared"), claimingPod("r", "two"), claimingPod("s", "pair"), claimingPod("t", "huge")}
	typed, text := gangsched.NewCluster(), gangsched.NewCluster()
	defer typed.Close()
	defer text.Close()
	items := []any{class()}
	for i := range 2 {
		node := &corev1.Node{}
		node.TypeMeta, node.ObjectMeta = meta("Node", fmt.Sprint("node-", i), "")
		node.Status.Allocatable = quantities("cpu", "8", "pods", "20")
		items = append(items, node)
		spec := kube.Node(node)
		var its []*resourcev1.ResourceSlice
		for _, slice := range slices() {
			if *slice.Spec.NodeName == node.Name {
				its = append(its, slice)
			}
		}
		devices, err := kube.Devices(node.Name, its)
		if err != nil || len(devices.Others) != 4 {
			t.Fatal(devices, err)
		}
		spec.Devices = devices
		if _, err := typed.AddNode(spec); err != nil {
			t.Fatal(err)
		}
	}
	for _, slice := range slices() {
		items = append(items, slice)
	}
	classes := func(name string) *resourcev1.DeviceClass {
		if name == "card" {
			return class()
		}
		return nil
	}
	for _, one := range claims {
		items = append(items, one)
		spec, err := kube.Claim(one, classes, typed)
		if err == nil {
			_, err = typed.AddResourceClaim(spec)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, pod := range pods {
		items = append(items, pod)
		spec, err := kube.Pod(pod, typed, kube.Options{})
		if err == nil {
			_, err = typed.AddPod(spec)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	given, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": items})
	if err != nil {
		t.Fatal(err)
	}
	if warnings, err := text.AddManifests("all.json", given); err != nil {
		t.Fatal(warnings, err)
	}
	run := func(on *gangsched.Cluster) (told []string) {
		scheduler, err := gangsched.NewScheduler(on, gangsched.Options{LowestRowTies: true})
		if err != nil {
			t.Fatal(err)
		}
		defer scheduler.Close()
		decisions, err := scheduler.Run(0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range decisions {
			// As JSON a claim that one pod alone uses is the pod's own.
			has := on.Devices(d.Pod)
			for _, one := range pods {
				if one.Name == on.PodName(d.Pod) && len(has) == 0 {
					has = on.ClaimDevices(on.FindResourceClaim("team", one.Spec.ResourceClaims[0].Name))
				}
			}
			told = append(told, fmt.Sprint(on.PodName(d.Pod), " ", d.Kind, " ", on.NodeName(d.Node), " ", has))
		}
		return told
	}
	first, second := run(typed), run(text)
	for i := range first { // as JSON devices are called by their names alone, where those are different
		first[i] = strings.NewReplacer(driver+"/pool-0/", "", driver+"/pool-1/", "").Replace(first[i])
	}
	if len(first) != 5 || fmt.Sprint(first) != fmt.Sprint(second) {
		t.Errorf("%q\nis not\n%q", first, second)
	}
	if !strings.Contains(first[0], "card-1") || !strings.HasPrefix(first[4], "t reject") {
		t.Error(first)
	}
}

func TestAllocatedClaimsAreWhereTheirDevicesAre(t *testing.T) {
	cluster := gangsched.NewCluster()
	defer cluster.Close()
	devices, err := kube.Devices("node-1", slices()[1:2])
	if err != nil {
		t.Fatal(err)
	}
	node, err := cluster.AddNode(&gangsched.NodeSpec{Name: "node-1", Allocatable: gangsched.Resources("cpu", "8", "pods", "9"), Devices: devices})
	if err != nil {
		t.Fatal(err)
	}
	made := claim("shared", resourcev1.DeviceRequest{Name: "one"})
	made.Status.ReservedFor = []resourcev1.ResourceClaimConsumerReference{{Resource: "podgroups", Name: "train"}}
	made.Status.Allocation = &resourcev1.AllocationResult{
		Devices: resourcev1.DeviceAllocationResult{Results: []resourcev1.DeviceRequestAllocationResult{{Request: "one", Driver: driver, Pool: "pool-1", Device: "card-2"}}},
		NodeSelector: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchFields: []corev1.NodeSelectorRequirement{
			{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{"node-1"}}}}}},
	}
	spec, err := kube.Claim(made, func(string) *resourcev1.DeviceClass { return class() }, cluster)
	if err != nil || spec.Node != node || len(spec.HeldDevices) != 1 || *spec.HeldDevices[0].Request != 0 || *spec.MostPods != 0 {
		t.Fatal(spec, err)
	}
	id, err := cluster.AddResourceClaim(spec)
	if err != nil || id != cluster.FindResourceClaim("team", "shared") {
		t.Fatal(id, err)
	}
	pod := claimingPod("p")
	template, generated := "template", "shared"
	pod.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimTemplateName: &template}}
	if _, err := kube.Pod(pod, cluster, kube.Options{}); err == nil || !strings.Contains(err.Error(), "is not made yet") {
		t.Error(err)
	}
	pod.Status.ResourceClaimStatuses = []corev1.PodResourceClaimStatus{{Name: "gpu", ResourceClaimName: &generated}}
	converted, err := kube.Pod(pod, cluster, kube.Options{})
	if err != nil || len(converted.ResourceClaims) != 1 || converted.ResourceClaims[0] != id {
		t.Fatal(converted, err)
	}
	added, err := cluster.AddPod(converted)
	if err != nil {
		t.Fatal(err)
	}
	scheduler, err := gangsched.NewScheduler(cluster, gangsched.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer scheduler.Close()
	if _, err := scheduler.Run(0); err != nil {
		t.Fatal(err)
	}
	if cluster.PodNode(added) != node || cluster.ClaimNode(id) != node {
		t.Error(cluster.PodNode(added))
	}
	if has := cluster.ClaimDevices(id); len(has) != 1 || has[0].ID != driver+"/pool-1/card-2" {
		t.Error(has)
	}
}

// What is allocated can be told of though nothing else of the claim can.
func TestAllocatedClaimsAreKnownByTheirDevices(t *testing.T) {
	cluster := gangsched.NewCluster()
	defer cluster.Close()
	devices, err := kube.Devices("node-1", slices()[1:2])
	if err != nil {
		t.Fatal(err)
	}
	node, err := cluster.AddNode(&gangsched.NodeSpec{Name: "node-1", Allocatable: gangsched.Resources("cpu", "8", "pods", "9"), Devices: devices})
	if err != nil {
		t.Fatal(err)
	}
	made := claim("odd")
	made.Spec.Devices.Requests = []resourcev1.DeviceRequest{{Name: "any", FirstAvailable: []resourcev1.DeviceSubRequest{{Name: "a", DeviceClassName: "gone"}}}, {Name: "look"}}
	if spec := kube.AllocatedClaim(made, cluster); spec != nil {
		t.Error("nothing is allocated: ", spec)
	}
	admin := true
	made.Status.ReservedFor = []resourcev1.ResourceClaimConsumerReference{{Resource: "podgroups", Name: "train"}}
	made.Status.Allocation = &resourcev1.AllocationResult{
		Devices: resourcev1.DeviceAllocationResult{Results: []resourcev1.DeviceRequestAllocationResult{
			{Request: "any/a", Driver: driver, Pool: "pool-1", Device: "card-2"}, {Request: "look", Driver: driver, Pool: "pool-1", Device: "card-1", AdminAccess: &admin},
		}},
		NodeSelector: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchFields: []corev1.NodeSelectorRequirement{
			{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{"node-1"}}}}}},
	}
	spec := kube.AllocatedClaim(made, cluster)
	id, err := cluster.AddResourceClaim(spec)
	if err != nil || cluster.ClaimNode(id) != node || *spec.MostPods != 0 || !spec.Devices[1].Admin {
		t.Fatal(spec, err)
	}
	if has := cluster.ClaimDevices(id); len(has) != 2 || has[0].ID != driver+"/pool-1/card-2" || has[1].ID != driver+"/pool-1/card-1" || has[1].Amount != 0 {
		t.Error(has)
	}
}

func TestWhatIsWrongWithClaimsIsSaid(t *testing.T) {
	cluster := gangsched.NewCluster()
	defer cluster.Close()
	none := func(string) *resourcev1.DeviceClass { return nil }
	some := func(string) *resourcev1.DeviceClass { return class() }
	if _, err := kube.Claim(claim("c", resourcev1.DeviceRequest{Name: "r"}), none, cluster); err == nil || !strings.Contains(err.Error(), `no device class "card"`) {
		t.Error(err)
	}
	odd := claim("c", resourcev1.DeviceRequest{Name: "r", Exactly: &resourcev1.ExactDeviceRequest{Selectors: cel(`device.attributes["x"].y.matches("z")`)}})
	spec, err := kube.Claim(odd, some, cluster)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cluster.AddResourceClaim(spec); err == nil || !strings.Contains(err.Error(), "devices.cel") {
		t.Error(err)
	}
	lost := claim("c")
	attribute := resourcev1.FullyQualifiedName("a/b")
	lost.Spec.Devices.Constraints = []resourcev1.DeviceConstraint{{MatchAttribute: &attribute, Requests: []string{"r"}}}
	if _, err := kube.Claim(lost, some, cluster); err == nil {
		t.Error("a constraint was about nothing")
	}
	wide := slices()[:1]
	all := true
	wide[0].Spec.NodeName, wide[0].Spec.AllNodes = nil, &all
	if _, err := kube.Devices("node-0", wide); err == nil {
		t.Error("devices of all nodes were one's")
	}
	if _, err := kube.Pod(claimingPod("p", "nobody"), cluster, kube.Options{}); err == nil || !strings.Contains(err.Error(), `no claim "nobody"`) {
		t.Error(err)
	}
}

type storage struct {
	claims  map[string]*corev1.PersistentVolumeClaim
	volumes map[string]*corev1.PersistentVolume
}

func (s storage) Claim(_, name string) *corev1.PersistentVolumeClaim { return s.claims[name] }
func (s storage) Volume(name string) *corev1.PersistentVolume        { return s.volumes[name] }

// Matching: nodes are called like their hosts, and those of rack are r1 and b.
func (s storage) Matching(selector *corev1.NodeSelector) []string {
	if one := selector.NodeSelectorTerms[0].MatchExpressions[0]; one.Key == corev1.LabelHostname {
		return one.Values
	}
	return []string{"r1", "b"}
}

func (s storage) Bindable(claim *corev1.PersistentVolumeClaim) ([]string, bool) {
	return []string{"a"}, claim.Labels["waits"] != ""
}

func (s storage) Provisioner(claim *corev1.PersistentVolumeClaim) string {
	return claim.Labels["made-by"]
}

func onHosts(names ...string) *corev1.VolumeNodeAffinity {
	return &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
		MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: names}},
	}}}}
}

func TestVolumesSayWhereAPodCanBe(t *testing.T) {
	in := storage{map[string]*corev1.PersistentVolumeClaim{}, map[string]*corev1.PersistentVolume{}}
	for _, name := range []string{"local", "also", "zonal", "lost", "unbound", "late", "odd"} {
		in.claims[name], in.volumes[name] = &corev1.PersistentVolumeClaim{}, &corev1.PersistentVolume{}
		in.claims[name].Spec.VolumeName = name
		in.claims[name].Annotations = map[string]string{"pv.kubernetes.io/bind-completed": "yes"}
		in.volumes[name].Name = name
	}
	delete(in.volumes, "lost")
	in.claims["unbound"].Spec.VolumeName, in.claims["late"].Spec.VolumeName = "", ""
	in.claims["late"].Labels = map[string]string{"waits": "yes"}
	in.claims["also"].Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOncePod}
	in.volumes["local"].Spec.NodeAffinity = onHosts("a", "b", "c")
	in.volumes["also"].Spec.NodeAffinity = onHosts("d", "b", "c")
	in.volumes["zonal"].Labels = map[string]string{corev1.LabelTopologyZone: "z1__z2"}
	in.volumes["zonal"].Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: "csi.example.com", VolumeHandle: "vol-1"}
	in.volumes["odd"].Spec.NodeAffinity = onHosts("a")
	in.volumes["odd"].Spec.NodeAffinity.Required.NodeSelectorTerms[0].MatchExpressions[0].Key = "rack"
	with := func(claims ...string) *corev1.Pod {
		pod := claimingPod("p")
		for _, name := range claims {
			source := corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name}}
			pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: name, VolumeSource: source})
		}
		return pod
	}
	if none, err := kube.Volumes(with(), in); none != nil || err != nil {
		t.Error(none, err)
	}
	pod := with("local", "also", "zonal")
	said, err := kube.Volumes(pod, in)
	if err != nil {
		t.Fatal(err)
	}
	wanted := gangsched.PodVolumes{
		Nodes:           []string{"b", "c"},
		Zones:           []gangsched.VolumeZone{{Key: corev1.LabelTopologyZone, Values: []string{"z1", "z2"}}},
		ExclusiveClaims: []string{"also"},
		Attachments:     []gangsched.AttachedVolume{{Driver: "csi.example.com", ID: "vol-1"}},
	}
	if fmt.Sprint(*said) != fmt.Sprint(wanted) {
		t.Errorf("%v is not %v", *said, wanted)
	}
	if said, err := kube.Volumes(with("unbound"), in); err != nil || !said.UnboundClaims {
		t.Error(said, err)
	}
	if said, err := kube.Volumes(with("late"), in); err != nil || said.UnboundClaims || fmt.Sprint(said.BindableNodes) != "[a]" {
		t.Error(said, err)
	}
	in.claims["late"].Namespace, in.claims["late"].Name, in.claims["late"].Labels["made-by"] = "team", "late", "csi.example.com"
	if said, err := kube.Volumes(with("late", "zonal"), in); err != nil || fmt.Sprint(said.Attachments) != "[{csi.example.com claim/team/late} {csi.example.com vol-1}]" {
		t.Error(said, err)
	}
	if said, err := kube.Volumes(with("odd", "local"), in); err != nil || fmt.Sprint(said.Nodes) != "[b]" {
		t.Error(said, err)
	}
	for _, name := range []string{"lost", "nothing"} {
		if _, err := kube.Volumes(with(name), in); err == nil {
			t.Error(name)
		}
	}
	disks := claimingPod("p")
	disks.Spec.Volumes = []corev1.Volume{{Name: "d", VolumeSource: corev1.VolumeSource{RBD: &corev1.RBDVolumeSource{RBDPool: "p", RBDImage: "i", ReadOnly: true}}}}
	if said, err := kube.Volumes(disks, in); err != nil || fmt.Sprint(said.Disks) != "[{rbd/p/i true}]" {
		t.Error(said, err)
	}
	cluster := gangsched.NewCluster()
	defer cluster.Close()
	for _, name := range []string{"a", "b"} {
		labels := map[string]string{corev1.LabelTopologyZone: "z2"}
		if _, err := cluster.AddNode(&gangsched.NodeSpec{Name: name, Labels: labels, Allocatable: gangsched.Resources("cpu", "1", "pods", "9")}); err != nil {
			t.Fatal(err)
		}
	}
	spec, err := kube.Pod(pod, cluster, kube.Options{Volumes: said})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cluster.AddPod(spec); err != nil {
		t.Fatal(err)
	}
	scheduler, err := gangsched.NewScheduler(cluster, gangsched.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer scheduler.Close()
	decisions, err := scheduler.Run(0)
	if err != nil || len(decisions) != 1 || cluster.NodeName(decisions[0].Node) != "b" {
		t.Error(decisions, err)
	}
}

// Claims that kube-scheduler places nobody with, in its words; a pod that runs has its volumes all the same.
func TestClaimsOfVolumesWithWhichNobodyIsPlaced(t *testing.T) {
	at, yes := metav1.Now(), true
	type change = func(*corev1.PersistentVolumeClaim)
	owned := func(uid string) change {
		return func(c *corev1.PersistentVolumeClaim) {
			c.OwnerReferences = []metav1.OwnerReference{{Kind: "Pod", Name: "p", UID: types.UID(uid), Controller: &yes}}
		}
	}
	for name, now := range map[string]struct {
		ephemeral bool
		change    change
		unbound   bool
		problem   string
	}{
		"bound":         {change: func(*corev1.PersistentVolumeClaim) {}},
		"lost":          {change: func(c *corev1.PersistentVolumeClaim) { c.Status.Phase = corev1.ClaimLost }, problem: `persistentvolumeclaim "p-v" bound to non-existent persistentvolume "pv"`},
		"deleted":       {change: func(c *corev1.PersistentVolumeClaim) { c.DeletionTimestamp = &at }, problem: `persistentvolumeclaim "p-v" is being deleted`},
		"not owned":     {ephemeral: true, change: func(*corev1.PersistentVolumeClaim) {}, problem: "PVC team/p-v was not created for pod team/p (pod is not owner)"},
		"another's":     {ephemeral: true, change: owned("other"), problem: "PVC team/p-v was not created for pod team/p (pod is not owner)"},
		"its own":       {ephemeral: true, change: owned("u")},
		"not yet bound": {change: func(c *corev1.PersistentVolumeClaim) { c.Annotations = nil }, unbound: true},
		"not to be bound": {change: func(c *corev1.PersistentVolumeClaim) {
			c.Annotations, c.Labels = nil, map[string]string{"waits": "yes"}
		}, unbound: true},
	} {
		t.Run(name, func(t *testing.T) {
			claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "p-v", Annotations: map[string]string{"pv.kubernetes.io/bind-completed": "yes"}}}
			claim.Spec.VolumeName = "pv"
			now.change(claim)
			volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv"}}
			volume.Spec.NodeAffinity = onHosts("a")
			in := storage{map[string]*corev1.PersistentVolumeClaim{"p-v": claim}, map[string]*corev1.PersistentVolume{"pv": volume}}
			pod := claimingPod("p")
			pod.UID = "u"
			source := corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "p-v"}}
			if now.ephemeral {
				source = corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{}}
			}
			pod.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: source}}
			said, err := kube.Volumes(pod, in)
			if err != nil || said.ClaimProblem != now.problem || said.UnboundClaims != now.unbound {
				t.Error(said, err)
			}
			pod.Spec.NodeName = "b"
			if said, err := kube.Volumes(pod, in); err != nil || said.ClaimProblem != "" || said.UnboundClaims || fmt.Sprint(said.Nodes) != "[a]" {
				t.Error("it runs: ", said, err)
			}
			delete(in.claims, "p-v")
			wanted := `persistentvolumeclaim "p-v" not found`
			if now.ephemeral {
				wanted = `waiting for ephemeral volume controller to create the persistentvolumeclaim "p-v"`
			}
			if _, err := kube.Volumes(pod, in); err == nil || err.Error() != wanted {
				t.Error(err)
			}
		})
	}
}

// placed is which devices each claim has when its pod is placed, if it is, on one node with these slices.
func placed(t *testing.T, its []*resourcev1.ResourceSlice, claims ...*resourcev1.ResourceClaim) string {
	t.Helper()
	cluster := gangsched.NewCluster()
	defer cluster.Close()
	var tolerated []kube.Tolerations
	for _, one := range claims {
		tolerated = append(tolerated, kube.TolerationsOf(one)...)
	}
	devices, err := kube.Devices("node-0", its, tolerated...)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cluster.AddNode(&gangsched.NodeSpec{Name: "node-0", Allocatable: gangsched.Resources("cpu", "8", "pods", "9"), Devices: devices}); err != nil {
		t.Fatal(err)
	}
	for _, one := range claims {
		spec, err := kube.Claim(one, func(string) *resourcev1.DeviceClass { return class() }, cluster)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := cluster.AddResourceClaim(spec); err != nil {
			t.Fatal(err)
		}
		pod, err := kube.Pod(claimingPod("p-"+one.Name, one.Name), cluster, kube.Options{})
		if err == nil && one.Status.Allocation == nil {
			_, err = cluster.AddPod(pod)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	scheduler := lowestFirst(t, cluster)
	defer scheduler.Close()
	if _, err := scheduler.Run(0); err != nil {
		t.Fatal(err)
	}
	var made []string
	for _, one := range claims {
		has := []string{}
		for _, device := range cluster.ClaimDevices(cluster.FindResourceClaim("team", one.Name)) {
			if name := strings.TrimPrefix(device.ID, driver+"/pool-0/"); len(has) == 0 || has[len(has)-1] != name { // what is shared is there by each capacity, too
				has = append(has, name)
			}
		}
		made = append(made, fmt.Sprint(one.Name, has))
	}
	return strings.Join(made, " ")
}

// sliceOf is a slice of the pool of node-0.
func sliceOf(devices ...resourcev1.Device) *resourcev1.ResourceSlice {
	node, made := "node-0", &resourcev1.ResourceSlice{}
	made.TypeMeta, made.ObjectMeta = meta("ResourceSlice", "slice-0", "")
	made.Spec = resourcev1.ResourceSliceSpec{Driver: driver, NodeName: &node, Devices: devices, Pool: resourcev1.ResourcePool{Name: "pool-0", Generation: 1, ResourceSliceCount: 1}}
	return made
}

func counters(amount string) map[string]resourcev1.Counter {
	return map[string]resourcev1.Counter{"memory": {Value: resource.MustParse(amount)}}
}

// Devices that use the same counters are given only as long as there is some left.
func TestCountersOfDevicesCount(t *testing.T) {
	part := func(name, amount string) resourcev1.Device {
		return resourcev1.Device{Name: name, ConsumesCounters: []resourcev1.DeviceCounterConsumption{{CounterSet: "gpu-0", Counters: counters(amount)}}}
	}
	devices := sliceOf(part("half-0", "20Gi"), part("half-1", "20Gi"), part("whole", "40Gi"))
	sets := sliceOf()
	sets.Name = "sets"
	devices.Spec.Pool.ResourceSliceCount, sets.Spec.Pool.ResourceSliceCount = 2, 2
	sets.Spec.SharedCounters = []resourcev1.CounterSet{{Name: "gpu-0", Counters: counters("40Gi")}}
	three := []*resourcev1.ResourceClaim{claim("a", resourcev1.DeviceRequest{Name: "r"}), claim("b", resourcev1.DeviceRequest{Name: "r"}), claim("c", resourcev1.DeviceRequest{Name: "r"})}
	if said := placed(t, []*resourcev1.ResourceSlice{devices, sets}, three...); said != "a[half-0] b[half-1] c[]" {
		t.Error(said)
	}
	if _, err := kube.Devices("node-0", []*resourcev1.ResourceSlice{devices}); err == nil || !strings.Contains(err.Error(), "slice-0") || !strings.Contains(err.Error(), "counter") {
		t.Error("counters that nobody has: ", err)
	}
}

// Tainted devices are for requests that tolerate all their taints, and stay with the claims that have them.
func TestTaintedDevicesAreForThoseThatTolerateThem(t *testing.T) {
	taint := func(key, value string, effect resourcev1.DeviceTaintEffect) resourcev1.DeviceTaint {
		return resourcev1.DeviceTaint{Key: key, Value: value, Effect: effect}
	}
	broken, leased := taint("broken", "fan", resourcev1.DeviceTaintEffectNoSchedule), taint("leased", "", resourcev1.DeviceTaintEffectNoExecute)
	for name, now := range map[string]struct {
		taints    []resourcev1.DeviceTaint
		tolerates []resourcev1.DeviceToleration
		given     bool
	}{
		"no taint":      {given: true},
		"no effect":     {taints: []resourcev1.DeviceTaint{taint("old", "", "None")}, given: true},
		"NoSchedule":    {taints: []resourcev1.DeviceTaint{broken}},
		"NoExecute":     {taints: []resourcev1.DeviceTaint{leased}},
		"by its value":  {[]resourcev1.DeviceTaint{broken}, []resourcev1.DeviceToleration{{Key: "broken", Operator: "Equal", Value: "fan"}}, true},
		"another value": {[]resourcev1.DeviceTaint{broken}, []resourcev1.DeviceToleration{{Key: "broken", Operator: "Equal", Value: "memory"}}, false},
		"by its key":    {[]resourcev1.DeviceTaint{broken}, []resourcev1.DeviceToleration{{Key: "broken", Operator: "Exists", Effect: "NoSchedule"}}, true},
		"other effect":  {[]resourcev1.DeviceTaint{broken}, []resourcev1.DeviceToleration{{Key: "broken", Operator: "Exists", Effect: "NoExecute"}}, false},
		"one of two":    {[]resourcev1.DeviceTaint{broken, leased}, []resourcev1.DeviceToleration{{Key: "broken", Operator: "Exists"}}, false},
		"anything":      {[]resourcev1.DeviceTaint{broken, leased}, []resourcev1.DeviceToleration{{Operator: "Exists"}}, true},
	} {
		t.Run(name, func(t *testing.T) {
			its := []*resourcev1.ResourceSlice{sliceOf(resourcev1.Device{Name: "card", Taints: now.taints})}
			asks := claim("c", resourcev1.DeviceRequest{Name: "r", Exactly: &resourcev1.ExactDeviceRequest{Tolerations: now.tolerates}})
			wanted := "c[]"
			if now.given {
				wanted = "c[card]"
			}
			if said := placed(t, its, asks); said != wanted {
				t.Error(said)
			}
		})
	}
}

// Devices that are shared are given as long as their capacities last, by their rules.
func TestCapacitiesOfSharedDevicesCount(t *testing.T) {
	yes, some, step := true, resource.MustParse("10Gi"), resource.MustParse("4Gi")
	card := resourcev1.Device{Name: "card", AllowMultipleAllocations: &yes, Capacity: map[resourcev1.QualifiedName]resourcev1.DeviceCapacity{"memory": {
		Value: resource.MustParse("40Gi"), RequestPolicy: &resourcev1.CapacityRequestPolicy{Default: &some, ValidRange: &resourcev1.CapacityRequestPolicyRange{Min: &some, Step: &step}}}}}
	asks := func(name, amount string) *resourcev1.ResourceClaim {
		request := &resourcev1.ExactDeviceRequest{}
		if amount != "" {
			request.Capacity = &resourcev1.CapacityRequirements{Requests: map[resourcev1.QualifiedName]resource.Quantity{"memory": resource.MustParse(amount)}}
		}
		return claim(name, resourcev1.DeviceRequest{Name: "r", Exactly: request})
	}
	has := asks("has", "30Gi")
	has.Status.Allocation = &resourcev1.AllocationResult{NodeSelector: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchFields: []corev1.NodeSelectorRequirement{
		{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{"node-0"}}}}}}}
	has.Status.Allocation.Devices.Results = []resourcev1.DeviceRequestAllocationResult{{Request: "r", Driver: driver, Pool: "pool-0", Device: "card",
		ConsumedCapacity: map[resourcev1.QualifiedName]resource.Quantity{"memory": resource.MustParse("30Gi")}}}
	for wanted, claims := range map[string][]*resourcev1.ResourceClaim{
		"a[card] b[card] c[]":     {asks("a", "20Gi"), asks("b", "11Gi"), asks("c", "")}, // 22 and 14
		"a[card] b[card] c[card]": {asks("a", "14Gi"), asks("b", "11Gi"), asks("c", "")},
		"a[]":                     {asks("a", "41Gi")},
		"has[card] a[card] b[]":   {has, asks("a", ""), asks("b", "")},
	} {
		if said := placed(t, []*resourcev1.ResourceSlice{sliceOf(card)}, claims...); said != wanted {
			t.Errorf("%s, not %s", said, wanted)
		}
	}
	card.ConsumesCounters = []resourcev1.DeviceCounterConsumption{{CounterSet: "s", Counters: counters("1")}}
	if _, err := kube.Devices("node-0", []*resourcev1.ResourceSlice{sliceOf(card)}); err == nil || !strings.Contains(err.Error(), "slice-0") {
		t.Error(err)
	}
}

// Requests with alternatives, and constraints about one of them or about values that differ, are read as they are.
func TestAlternativesAndDistinctAttributesAreRead(t *testing.T) {
	cluster := gangsched.NewCluster()
	defer cluster.Close()
	same, other := resourcev1.FullyQualifiedName("a/same"), resourcev1.FullyQualifiedName("a/other")
	made := claim("c", resourcev1.DeviceRequest{Name: "one"})
	made.Spec.Devices.Requests = append(made.Spec.Devices.Requests, resourcev1.DeviceRequest{Name: "any", FirstAvailable: []resourcev1.DeviceSubRequest{
		{Name: "two", DeviceClassName: "card", Count: 2}, {Name: "all", DeviceClassName: "card", AllocationMode: resourcev1.DeviceAllocationModeAll},
	}})
	made.Spec.Devices.Constraints = []resourcev1.DeviceConstraint{{MatchAttribute: &same, Requests: []string{"one", "any/all"}}, {DistinctAttribute: &other, Requests: []string{"any"}}}
	some := func(string) *resourcev1.DeviceClass { return class() }
	spec, err := kube.Claim(made, some, cluster)
	if err != nil {
		t.Fatal(err)
	}
	if any := spec.Devices[1]; len(any.FirstOf) != 2 || any.FirstOf[0].Count != 2 || !any.FirstOf[1].All || len(any.FirstOf[0].CEL) == 0 {
		t.Error(any)
	}
	if said := fmt.Sprint(spec.Constraints); said != "[{a/same false [0] [{1 1}]} {a/other true [1] []} {gangsched.dev/tolerated-by false [] [{1 1}]}]" {
		t.Error(said)
	}
	if _, err := cluster.AddResourceClaim(spec); err != nil {
		t.Error(err)
	}
	made.Spec.Devices.Constraints[0].Requests[1] = "any/none"
	if _, err := kube.Claim(made, some, cluster); err == nil || !strings.Contains(err.Error(), "any/none") {
		t.Error(err)
	}
	made.Spec.Devices.Requests[1].FirstAvailable = nil
	if _, err := kube.Claim(made, some, cluster); err == nil || !strings.Contains(err.Error(), "asks for nothing") {
		t.Error(err)
	}
}

// A request for all devices is for none where it does not tolerate one.
func TestAllDevicesAreForThoseThatTolerateAllOfThem(t *testing.T) {
	broken := []resourcev1.DeviceTaint{{Key: "broken", Effect: resourcev1.DeviceTaintEffectNoSchedule}}
	tolerates := []resourcev1.DeviceToleration{{Key: "broken", Operator: "Exists"}}
	all := func(tolerations []resourcev1.DeviceToleration) *resourcev1.ResourceClaim {
		return claim("c", resourcev1.DeviceRequest{Name: "r", Exactly: &resourcev1.ExactDeviceRequest{AllocationMode: resourcev1.DeviceAllocationModeAll, Tolerations: tolerations}})
	}
	either := claim("c")
	either.Spec.Devices.Requests = []resourcev1.DeviceRequest{{Name: "r", FirstAvailable: []resourcev1.DeviceSubRequest{
		{Name: "all", DeviceClassName: "card", AllocationMode: resourcev1.DeviceAllocationModeAll}, {Name: "one", DeviceClassName: "card", Count: 1},
	}}}
	for name, now := range map[string]struct {
		taints []resourcev1.DeviceTaint
		claim  *resourcev1.ResourceClaim
		want   string
	}{
		"no taint":              {nil, all(nil), "c[a b]"},
		"a taint":               {broken, all(nil), "c[]"},
		"that is tolerated":     {broken, all(tolerates), "c[a b]"},
		"all, or else one":      {broken, either, "c[b]"},
		"all, and there is one": {nil, either, "c[a b]"},
	} {
		t.Run(name, func(t *testing.T) {
			its := []*resourcev1.ResourceSlice{sliceOf(resourcev1.Device{Name: "a", Taints: now.taints}, resourcev1.Device{Name: "b"})}
			if said := placed(t, its, now.claim); said != now.want {
				t.Error(said)
			}
		})
	}
}

// Nothing is given out of a pool until all its slices are there, wherever they are for, nor of one whose devices cannot be told apart.
func TestDevicesOfPoolsThatAreNotWholeAreNotGiven(t *testing.T) {
	slice := func(name, device, node string, generation int64) *resourcev1.ResourceSlice {
		made := sliceOf(resourcev1.Device{Name: device})
		made.Name, made.Spec.NodeName, made.Spec.Pool.Generation, made.Spec.Pool.ResourceSliceCount = name, &node, generation, 2
		return made
	}
	for name, now := range map[string]struct {
		slices []*resourcev1.ResourceSlice
		want   string
	}{
		"one of two":            {[]*resourcev1.ResourceSlice{slice("s", "a", "node-0", 1)}, "c[]"},
		"both":                  {[]*resourcev1.ResourceSlice{slice("s", "a", "node-0", 1), slice("t", "b", "node-0", 1)}, "c[a]"},
		"one of another node":   {[]*resourcev1.ResourceSlice{slice("s", "a", "node-0", 1), slice("t", "b", "node-1", 1)}, "c[a]"},
		"half of the new ones":  {[]*resourcev1.ResourceSlice{slice("s", "a", "node-0", 1), slice("t", "b", "node-0", 1), slice("u", "a", "node-0", 2)}, "c[]"},
		"new ones elsewhere":    {[]*resourcev1.ResourceSlice{slice("s", "a", "node-0", 1), slice("t", "b", "node-0", 1), slice("u", "a", "node-1", 2)}, "c[]"},
		"all of one of two":     {[]*resourcev1.ResourceSlice{slice("s", "a", "node-0", 1)}, "c[]"},
		"two devices of a name": {[]*resourcev1.ResourceSlice{slice("s", "a", "node-0", 1), slice("t", "a", "node-0", 1)}, "twice"},
	} {
		t.Run(name, func(t *testing.T) {
			if now.want == "twice" {
				devices, err := kube.Devices("node-0", now.slices)
				if err == nil || !strings.Contains(err.Error(), "slice t: device a") || len(devices.Others) != 1 || len(devices.Others[0].Attributes) != 1 {
					t.Error(devices, err)
				}
				return
			}
			asks := &resourcev1.ExactDeviceRequest{}
			if strings.HasPrefix(name, "all of") {
				asks.AllocationMode = resourcev1.DeviceAllocationModeAll
			}
			if said := placed(t, now.slices, claim("c", resourcev1.DeviceRequest{Name: "r", Exactly: asks})); said != now.want {
				t.Error(said)
			}
		})
	}
}

// What a claim has of a pool whose slices are being replaced it keeps.
func TestAClaimKeepsDevicesOfAPoolThatIsNotWhole(t *testing.T) {
	slice := sliceOf(resourcev1.Device{Name: "a"}, resourcev1.Device{Name: "b"})
	has, other := claim("has", resourcev1.DeviceRequest{Name: "r"}), claim("other", resourcev1.DeviceRequest{Name: "r"})
	has.Status.Allocation = &resourcev1.AllocationResult{NodeSelector: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchFields: []corev1.NodeSelectorRequirement{
		{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{"node-0"}}}}}}}
	has.Status.Allocation.Devices.Results = []resourcev1.DeviceRequestAllocationResult{{Request: "r", Driver: driver, Pool: "pool-0", Device: "a"}}
	cluster := gangsched.NewCluster()
	defer cluster.Close()
	var node gangsched.NodeID
	for _, count := range []int64{2, 1} {
		slice.Spec.Pool.ResourceSliceCount = count
		devices, err := kube.Devices("node-0", []*resourcev1.ResourceSlice{slice})
		if err != nil {
			t.Fatal(err)
		}
		spec := &gangsched.NodeSpec{Name: "node-0", Allocatable: gangsched.Resources("cpu", "8", "pods", "9"), Devices: devices}
		if node != 0 {
			err = cluster.UpdateNode(node, spec)
		} else {
			node, err = cluster.AddNode(spec)
		}
		if err != nil {
			t.Fatal(err)
		}
		if count == 1 {
			break
		}
		for _, one := range []*resourcev1.ResourceClaim{has, other} {
			spec, err := kube.Claim(one, func(string) *resourcev1.DeviceClass { return class() }, cluster)
			if err == nil {
				_, err = cluster.AddResourceClaim(spec)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	scheduler := lowestFirst(t, cluster)
	defer scheduler.Close()
	for _, name := range []string{"other", "has"} {
		spec, err := kube.Pod(claimingPod("p-"+name, name), cluster, kube.Options{})
		if err == nil {
			_, err = cluster.AddPod(spec)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := scheduler.Run(0); err != nil {
		t.Fatal(err)
	}
	for name, device := range map[string]string{"has": "a", "other": "b"} {
		if its := cluster.ClaimDevices(cluster.FindResourceClaim("team", name)); len(its) != 1 || its[0].ID != driver+"/pool-0/"+device {
			t.Error(name, its)
		}
	}
}

// A class whose selectors say nothing of a driver is for the devices of the only one; their capacities are that one's.
func TestARequestWithoutADriverIsForTheOnlyOne(t *testing.T) {
	cluster := gangsched.NewCluster()
	defer cluster.Close()
	memory := map[resourcev1.QualifiedName]resourcev1.DeviceCapacity{"memory": {Value: resource.MustParse("40Gi")}}
	devices, err := kube.Devices("node-0", []*resourcev1.ResourceSlice{sliceOf(resourcev1.Device{Name: "card", Capacity: memory})})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cluster.AddNode(&gangsched.NodeSpec{Name: "node-0", Allocatable: gangsched.Resources("cpu", "8", "pods", "9"), Devices: devices}); err != nil {
		t.Fatal(err)
	}
	anyones := class()
	anyones.Spec.Selectors = nil
	classes := func(string) *resourcev1.DeviceClass { return anyones }
	for amount, fits := range map[string]bool{"40Gi": true, "41Gi": false} {
		asks := claim("asks-"+amount[:2], resourcev1.DeviceRequest{Name: "r", Exactly: &resourcev1.ExactDeviceRequest{
			Capacity: &resourcev1.CapacityRequirements{Requests: map[resourcev1.QualifiedName]resource.Quantity{"memory": resource.MustParse(amount)}}}})
		for _, several := range [][]string{nil, {"one", "other"}} {
			if _, err := kube.Claim(asks, classes, cluster, several...); err == nil || !strings.Contains(err.Error(), "name no driver") {
				t.Error(several, err)
			}
		}
		spec, err := kube.Claim(asks, classes, cluster, driver)
		if err != nil {
			t.Fatal(err)
		}
		id, err := cluster.AddResourceClaim(spec)
		if err != nil {
			t.Fatal(err)
		}
		pod, err := kube.Pod(claimingPod("p-"+asks.Name, asks.Name), cluster, kube.Options{})
		if err == nil {
			_, err = cluster.AddPod(pod)
		}
		if err != nil {
			t.Fatal(err)
		}
		scheduler, err := gangsched.NewScheduler(cluster, gangsched.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := scheduler.Run(0); err != nil {
			t.Fatal(err)
		}
		scheduler.Close()
		if has := cluster.ClaimDevices(id); (len(has) == 1) != fits {
			t.Error(amount, has)
		}
	}
}

// A device that is not understood does not hide the others of its node.
func TestWhatIsWrongWithOneDeviceLeavesTheOthers(t *testing.T) {
	odd := slices()[:1]
	fine := len(odd[0].Spec.Devices)
	half := resourcev1.Device{Name: "half", Capacity: map[resourcev1.QualifiedName]resourcev1.DeviceCapacity{"memory": {Value: resource.MustParse("500m")}}}
	odd[0].Spec.Devices = append([]resourcev1.Device{half}, odd[0].Spec.Devices...)
	devices, err := kube.Devices("node-0", odd)
	if err == nil || !strings.Contains(err.Error(), "half") || devices == nil || len(devices.Others) != fine {
		t.Error(devices, err)
	}
}

// A template may be such that there is nothing to make of it for a pod.
func TestAClaimThatNeedNotBeMadeIsNotWaitedFor(t *testing.T) {
	cluster := gangsched.NewCluster()
	defer cluster.Close()
	template := "template"
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "p"}}
	pod.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "c", ResourceClaimTemplateName: &template}}
	if _, err := kube.Pod(pod, cluster, kube.Options{}); err == nil || !strings.Contains(err.Error(), "is not made yet") {
		t.Error(err)
	}
	pod.Status.ResourceClaimStatuses = []corev1.PodResourceClaimStatus{{Name: "c"}}
	if _, err := kube.Pod(pod, cluster, kube.Options{}); err != nil {
		t.Error(err)
	}
}
