package mirror

import (
	"fmt"
	"slices"
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

func sliceOf(node string, devices ...string) *resourcev1.ResourceSlice {
	made := &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: node}}
	made.Spec = resourcev1.ResourceSliceSpec{Driver: "cards", NodeName: &node, Pool: resourcev1.ResourcePool{Name: node, ResourceSliceCount: 1}}
	for _, name := range devices {
		model := strings.TrimRight(name, "0123456789")
		made.Spec.Devices = append(made.Spec.Devices, resourcev1.Device{Name: name, Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{"model": {StringValue: &model}}})
	}
	return made
}

func cel(expression string) []resourcev1.DeviceSelector {
	return []resourcev1.DeviceSelector{{CEL: &resourcev1.CELDeviceSelector{Expression: expression}}}
}

func classOf(name, model string) *resourcev1.DeviceClass {
	made := &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: name}}
	made.Spec.Selectors = cel(`device.driver == "cards"`)
	if model != "" {
		made.Spec.Selectors = append(made.Spec.Selectors, cel(fmt.Sprintf(`device.attributes["cards"].model == %q`, model))...)
	}
	return made
}

// claimOf is a claim of one device; uid tells one of a name from the next.
func claimOf(name, uid string) *resourcev1.ResourceClaim {
	made := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(uid)}}
	made.Spec.Devices.Requests = []resourcev1.DeviceRequest{{Name: "r", Exactly: &resourcev1.ExactDeviceRequest{
		DeviceClassName: "card", AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: 1}}}
	return made
}

func allocated(claim *resourcev1.ResourceClaim, node, device string) *resourcev1.ResourceClaim {
	claim = claim.DeepCopy()
	claim.Status.Allocation = &resourcev1.AllocationResult{NodeSelector: onlyNode(node)}
	claim.Status.Allocation.Devices.Results = []resourcev1.DeviceRequestAllocationResult{{Request: "r", Driver: "cards", Pool: node, Device: device}}
	return claim
}

func claiming(name string, claims ...string) *corev1.Pod {
	made := podOf(name, "1")
	for _, one := range claims {
		made.Spec.ResourceClaims = append(made.Spec.ResourceClaims, corev1.PodResourceClaim{Name: one, ResourceClaimName: &one})
	}
	return made
}

// devices are what the claims of a pod get where it was placed.
func (w *world) devices(pod *corev1.Pod) (made []string) {
	w.Helper()
	p := w.Find(nameOf(pod))
	allocations, err := w.Allocations(p, p.Node)
	if err != nil {
		w.Error(err)
	}
	for _, one := range allocations {
		for _, result := range one.Allocation.Devices.Results {
			made = append(made, result.Pool+"/"+result.Device)
		}
	}
	return made
}

// fail says that a bind came to nothing.
func (w *world) fail(pod *corev1.Pod) {
	w.Helper()
	p := w.Find(nameOf(pod))
	attempt := p.Attempt
	p.Attempt, p.Node = 0, ""
	if err := w.scheduler.Fail(p.ID, attempt, "it failed"); err != nil {
		w.Fatal(err)
	}
}

func cards(t *testing.T) *world {
	w := newWorld(t)
	w.SetDeviceClass(classOf("card", ""), false)
	for _, name := range []string{"a", "b"} {
		w.SetNode(nodeOf(name, "4"))
	}
	return w
}

// A claim that is deleted while a pod of ours is being bound to it leaves the library when the pod does not use it any more, and one of its name that
// came since takes its place.
func TestAClaimThatGoesWhileAPodUsesItIsTakenOutLater(t *testing.T) {
	for name, renewed := range map[string]bool{"gone": false, "renewed": true} {
		t.Run(name, func(t *testing.T) {
			w := cards(t)
			w.SetSlice(sliceOf("a", "small0"), false)
			claim, pod := claimOf("c", "1"), claiming("p", "c")
			w.SetClaim(claim)
			w.SetPod(pod)
			w.want(w.turn(), "[p bind]")
			w.want(w.devices(pod), "[a/small0]")
			w.RemoveClaim(claim)
			if renewed {
				w.SetClaim(claimOf("c", "2"))
			}
			other := claiming("q", "c")
			w.SetPod(other) // it cannot use what is gone
			w.want(w.turn(), "[]")
			if made, err := w.Allocations(w.Find(nameOf(pod)), "a"); err == nil {
				t.Error("allocated: ", made)
			}
			w.fail(pod)
			w.RemovePod(other)
			if !renewed {
				w.want(w.turn(), "[]")
				w.want(w.cluster.FindResourceClaim("default", "c"), "0")
				return
			}
			w.want(w.turn(), "[p bind]")
			w.want(w.devices(pod), "[a/small0]")
			w.want(w.uidOf("c"), "2")
		})
	}
}

// uidOf is the uid of the claim that the library has by a name.
func (w *world) uidOf(name string) types.UID {
	c := w.Mirror.devices.claims[types.NamespacedName{Namespace: "default", Name: name}]
	if c.id == 0 || c.id != w.cluster.FindResourceClaim("default", name) {
		w.Error("the library has another one")
	}
	return c.object.UID
}

// A claim that somebody else allocates while a pod of ours is being bound to it is where they have it.
func TestAClaimThatOthersAllocateIsWhereTheyHaveIt(t *testing.T) {
	w := cards(t)
	w.SetSlice(sliceOf("a", "small0"), false)
	claim, pod := claimOf("c", "1"), claiming("p", "c")
	w.SetClaim(claim)
	w.SetPod(pod)
	w.want(w.turn(), "[p bind]")
	w.SetSlice(sliceOf("b", "small0", "small1"), false)
	w.SetClaim(allocated(claim, "b", "small1"))
	w.want(w.turn(), "[]")
	w.fail(pod)
	w.want(w.turn(), "[p bind]")
	w.want(w.Find(nameOf(pod)).Node, "b")
	w.want(w.devices(pod), "[b/small1]")
	w.Confirm(w.Find(nameOf(pod)))
	w.SetClaim(allocated(claim, "b", "small1"))
	w.want(len(w.Mirror.devices.late), "0")
}

func TestDevicesThatNoRequestIsForAreNotAllocated(t *testing.T) {
	asked := []chosenRequest{{name: "r", class: "card"}, {name: "of no alternative"}}
	for name, device := range map[string]gangsched.Device{
		"no alternative":  {ID: "cards/a/small0", Request: 1},
		"no such request": {ID: "cards/a/small0", Request: 2},
		"none":            {ID: "cards/a/small0", Request: -1},
		"no pool":         {ID: "cards/small0"},
		"no driver":       {ID: "small0"},
	} {
		if made, ok := deviceResult(asked, device); ok {
			t.Error(name, made)
		}
	}
}

// Claims that have nothing yet ask for what their class says now; those that have something keep it.
func TestAClassThatChangesCountsForWhatIsNotAllocated(t *testing.T) {
	for name, now := range map[string]struct {
		class *resourcev1.DeviceClass
		gone  bool
		want  string
	}{
		"as it was": {class: classOf("card", "small"), want: "[a/small0]"},
		"changed":   {class: classOf("card", "large"), want: "[b/large0]"},
		"another":   {class: classOf("other", "large"), want: "[a/small0]"},
		"gone":      {class: classOf("card", ""), gone: true, want: ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := cards(t)
			w.SetDeviceClass(classOf("card", "small"), false)
			w.SetSlice(sliceOf("a", "small0", "small1"), false)
			w.SetSlice(sliceOf("b", "large0"), false)
			w.SetClaim(allocated(claimOf("has", "1"), "a", "small1"))
			w.SetClaim(claimOf("c", "2"))
			pod := claiming("p", "c")
			w.SetPod(pod)
			w.SetDeviceClass(now.class, now.gone)
			if now.want == "" {
				w.want(w.turn(), "[]")
			} else {
				w.want(w.turn(), "[p bind]")
				w.want(w.devices(pod), now.want)
			}
			user := claiming("q", "has")
			w.SetPod(user)
			w.want(w.turn(), "[q bind]")
			w.want(w.devices(user), "[a/small1]")
		})
	}
}

// A pod that is being bound meanwhile gets what was decided; if that comes to nothing, what the class says now.
func TestAClassThatChangesCountsForWhatIsNotBound(t *testing.T) {
	w := cards(t)
	w.SetDeviceClass(classOf("card", "small"), false)
	w.SetSlice(sliceOf("a", "small0", "large0"), false)
	w.SetClaim(claimOf("c", "1"))
	pod := claiming("p", "c")
	w.SetPod(pod)
	w.want(w.turn(), "[p bind]")
	w.want(w.devices(pod), "[a/small0]")
	w.SetDeviceClass(classOf("card", "large"), false)
	w.want(w.turn(), "[]")
	w.fail(pod)
	w.want(w.turn(), "[p bind]")
	w.want(w.devices(pod), "[a/large0]")
}

// What is allocated is in use, whoever asked for it and in whatever words.
func TestDevicesOfClaimsThatCannotBeReadAreInUse(t *testing.T) {
	for name, change := range map[string]func(*resourcev1.ResourceClaim){
		"as the library takes it": func(*resourcev1.ResourceClaim) {},
		"alternatives": func(c *resourcev1.ResourceClaim) {
			c.Spec.Devices.Requests[0] = resourcev1.DeviceRequest{Name: "r", FirstAvailable: []resourcev1.DeviceSubRequest{{Name: "one", DeviceClassName: "card", Count: 1}}}
			c.Status.Allocation.Devices.Results[0].Request = "r/one"
		},
		"a class that is gone": func(c *resourcev1.ResourceClaim) { c.Spec.Devices.Requests[0].Exactly.DeviceClassName = "gone" },
		"unknown words": func(c *resourcev1.ResourceClaim) {
			c.Spec.Devices.Requests[0].Exactly.Selectors = cel(`device.attributes["cards"].model.matches("s.*")`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := cards(t)
			w.SetSlice(sliceOf("a", "small0", "small1"), false)
			claim := allocated(claimOf("has", "1"), "a", "small0")
			change(claim)
			w.SetClaim(claim)
			w.SetClaim(claimOf("c", "2"))
			w.SetClaim(claimOf("d", "3"))
			w.SetPod(on("a", claiming("running", "has")))
			if p := w.Find(types.NamespacedName{Namespace: "default", Name: "running"}); p.ID == 0 || p.Refused != "" {
				t.Error(p.Refused)
			}
			first, second := claiming("p", "c"), claiming("q", "d")
			w.SetPod(first)
			w.want(w.turn(), "[p bind]")
			w.want(w.devices(first), "[a/small1]")
			w.SetPod(second)
			w.want(w.turn(), "[q reject]")
			user := claiming("user", "has")
			w.SetPod(user)
			w.want(w.turn(), "[user bind]")
			w.want(w.devices(user), "[a/small0]")
			// Who is not allocated any more, and cannot be read, nobody can use.
			w.RemovePod(user)
			w.RemovePod(on("a", claiming("running", "has")))
			claim = claim.DeepCopy()
			claim.Status.Allocation = nil
			w.SetClaim(claim)
			w.want(w.turn(), "[q bind]")
			w.RemovePod(first)
			last := claiming("last", "has")
			w.SetPod(last)
			readable := name == "as the library takes it" || name == "alternatives"
			w.want(len(w.turn()) == 1, fmt.Sprint(readable))
			w.want(w.Find(nameOf(last)).Refused == "", fmt.Sprint(readable))
		})
	}
}

// Devices that are shared are allocated as shares, with what each has of their capacities.
func TestSharesOfDevicesAreAllocated(t *testing.T) {
	w := cards(t)
	yes := true
	slice := sliceOf("a", "card0")
	slice.Spec.Devices[0].AllowMultipleAllocations = &yes
	slice.Spec.Devices[0].Capacity = map[resourcev1.QualifiedName]resourcev1.DeviceCapacity{}
	for name, amount := range map[resourcev1.QualifiedName]string{"memory": "40Gi", "cores": "8", "a.b/links": "4"} {
		value, one := resource.MustParse(amount), resource.MustParse("1")
		policy := &resourcev1.CapacityRequestPolicy{Default: &one, ValidRange: &resourcev1.CapacityRequestPolicyRange{Min: &one}}
		slice.Spec.Devices[0].Capacity[name] = resourcev1.DeviceCapacity{Value: value, RequestPolicy: policy}
	}
	w.SetSlice(slice, false)
	for i, wanted := range []string{"a.b/links=1 cores=3 memory=24Gi", ""} {
		name := fmt.Sprint("c", i)
		claim := claimOf(name, name)
		claim.Spec.Devices.Requests[0].Exactly.Capacity = &resourcev1.CapacityRequirements{Requests: map[resourcev1.QualifiedName]resource.Quantity{
			"memory": resource.MustParse("24Gi"), "cores": resource.MustParse("3")}}
		w.SetClaim(claim)
		pod := claiming("p-"+name, name)
		w.SetPod(pod)
		if wanted == "" {
			w.want(w.turn(), "[p-c1 reject]")
			continue
		}
		w.want(w.turn(), "[p-c0 bind]")
		made, err := w.Allocations(w.Find(nameOf(pod)), "a")
		if err != nil || len(made) != 1 || len(made[0].Allocation.Devices.Results) != 1 {
			t.Fatal(made, err)
		}
		result := made[0].Allocation.Devices.Results[0]
		var said []string
		for name, amount := range result.ConsumedCapacity {
			said = append(said, fmt.Sprint(name, "=", amount.String()))
		}
		slices.Sort(said)
		w.want(strings.Join(said, " "), wanted)
		if result.ShareID == nil || *result.ShareID == "" {
			t.Error("no share")
		}
	}
}

// A claim with tolerations that nobody had before gets the devices that it tolerates, and none of the others.
func TestTaintedDevicesAreForClaimsThatTolerateThem(t *testing.T) {
	w := cards(t)
	slice := sliceOf("a", "small0", "small1")
	slice.Spec.Devices[0].Taints = []resourcev1.DeviceTaint{{Key: "broken", Effect: resourcev1.DeviceTaintEffectNoSchedule}}
	slice.Spec.Devices[1].Taints = []resourcev1.DeviceTaint{{Key: "leased", Effect: resourcev1.DeviceTaintEffectNoExecute}}
	w.SetSlice(slice, false)
	for i, step := range []struct{ tolerates, want string }{{"", ""}, {"leased", "[a/small1]"}, {"broken", "[a/small0]"}} {
		name := fmt.Sprint("c", i)
		claim := claimOf(name, name)
		if step.tolerates != "" {
			claim.Spec.Devices.Requests[0].Exactly.Tolerations = []resourcev1.DeviceToleration{{Key: step.tolerates, Operator: resourcev1.DeviceTolerationOpExists}}
		}
		w.SetClaim(claim)
		pod := claiming("p-"+name, name)
		w.SetPod(pod)
		if step.want == "" {
			w.want(w.turn(), "[p-c0 reject]")
			continue
		}
		w.want(slices.Contains(w.turn(), "p-"+name+" bind"), "true")
		w.want(w.devices(pod), step.want)
	}
}

func TestTolerationsOfClaimsThatAreGoneAreForgotten(t *testing.T) {
	w := cards(t)
	for i := range 10 * mostTolerated {
		name := fmt.Sprint("c", i)
		claim := claimOf(name, name)
		claim.Spec.Devices.Requests[0].Exactly.Tolerations = []resourcev1.DeviceToleration{{Key: name, Operator: resourcev1.DeviceTolerationOpExists}}
		w.SetClaim(claim)
		if _, known := w.Mirror.devices.tolerated[kube.TolerationsOf(claim)[0].Attribute()]; !known {
			t.Fatal(name)
		}
		if i != 0 {
			w.RemoveClaim(claim)
		}
	}
	w.want(len(w.Mirror.devices.tolerated) <= mostTolerated+1, "true")
	first := w.Mirror.devices.claims[types.NamespacedName{Namespace: "default", Name: "c0"}].object
	w.want(len(w.Mirror.devices.tolerated[kube.TolerationsOf(first)[0].Attribute()].List), "1")
}

// Of nodes that come and go nothing is kept when their slices are gone.
func TestNothingIsKeptOfNodesWithoutSlices(t *testing.T) {
	w := cards(t)
	second := sliceOf("a", "small1")
	second.Name = "second"
	for _, step := range []struct {
		slice *resourcev1.ResourceSlice
		gone  bool
		nodes int
	}{
		{sliceOf("unknown"), true, 0},
		{sliceOf("a", "small0"), false, 1},
		{second, false, 1},
		{sliceOf("a", "small0"), true, 1},
		{second, true, 0},
	} {
		w.SetSlice(step.slice, step.gone)
		w.want(len(w.Mirror.devices.slices), fmt.Sprint(step.nodes))
		w.want(len(w.Mirror.devices.pools), fmt.Sprint(step.nodes))
		w.want(len(w.Mirror.devices.drivers), fmt.Sprint(step.nodes))
	}
}

// Objects come in any order: what is allocated counts when the last of them is there.
func TestAllocatedDevicesAreInUseInWhateverOrderObjectsCome(t *testing.T) {
	claim := allocated(claimOf("has", "1"), "a", "small0")
	claim.Status.ReservedFor = []resourcev1.ResourceClaimConsumerReference{{Resource: "pods", Name: "running", UID: "running"}}
	steps := map[string]func(*world){
		"node":  func(w *world) { w.SetNode(nodeOf("a", "4")) },
		"slice": func(w *world) { w.SetSlice(sliceOf("a", "small0", "small1"), false) },
		"claim": func(w *world) { w.SetClaim(claim) },
		"pod":   func(w *world) { w.SetPod(on("a", claiming("running", "has"))) },
		"class": func(w *world) { w.SetDeviceClass(classOf("card", ""), false) },
	}
	var try func(done []string)
	try = func(done []string) {
		for _, name := range []string{"node", "slice", "claim", "pod", "class"} {
			if !slices.Contains(done, name) {
				try(append(done[:len(done):len(done)], name))
			}
		}
		if len(done) < len(steps)-1 || len(done) == len(steps)-1 && slices.Index(done, "pod") >= 0 {
			return // without the pod the claim is allocated all the same
		}
		t.Run(strings.Join(done, " "), func(t *testing.T) {
			w := newWorld(t)
			for _, name := range done {
				steps[name](w)
				if len(done)%2 == 0 {
					w.Settle()
				}
			}
			w.SetClaim(claimOf("c", "2"))
			w.SetClaim(claimOf("d", "3"))
			w.SetPod(claiming("p", "c"))
			w.turn()
			w.SetPod(claiming("q", "d"))
			w.turn()
			p, q := w.Find(types.NamespacedName{Namespace: "default", Name: "p"}), w.Find(types.NamespacedName{Namespace: "default", Name: "q"})
			w.want(p.Node, "a")
			w.want(q.Node, "")
		})
	}
	try(nil)
}

// Of alternatives the first one that there are devices for is allocated, and written by its name, with what its class says to the driver.
func TestAlternativesAreTriedInOrder(t *testing.T) {
	w := cards(t)
	for _, model := range []string{"huge", "large", "small"} {
		class := classOf(model, model)
		class.Spec.Config = []resourcev1.DeviceClassConfiguration{{DeviceConfiguration: resourcev1.DeviceConfiguration{Opaque: &resourcev1.OpaqueDeviceConfiguration{Driver: model}}}}
		w.SetDeviceClass(class, false)
	}
	w.SetSlice(sliceOf("a", "large0", "small0", "small1"), false)
	claim := claimOf("c", "1")
	alternative := func(name string, count int64) resourcev1.DeviceSubRequest {
		return resourcev1.DeviceSubRequest{Name: name, DeviceClassName: name, AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: count}
	}
	claim.Spec.Devices.Requests = []resourcev1.DeviceRequest{
		{Name: "r", FirstAvailable: []resourcev1.DeviceSubRequest{alternative("huge", 1), alternative("large", 2), alternative("small", 1)}},
		{Name: "s", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "small", AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: 1}},
	}
	opaque := func(driver string) resourcev1.DeviceConfiguration {
		return resourcev1.DeviceConfiguration{Opaque: &resourcev1.OpaqueDeviceConfiguration{Driver: driver}}
	}
	claim.Spec.Devices.Config = []resourcev1.DeviceClaimConfiguration{
		{Requests: []string{"r/large"}, DeviceConfiguration: opaque("not chosen")}, {Requests: []string{"r/small"}, DeviceConfiguration: opaque("chosen")}, {DeviceConfiguration: opaque("all")},
	}
	w.SetClaim(claim)
	pod := claiming("p", "c")
	w.SetPod(pod)
	w.want(w.turn(), "[p bind]")
	p := w.Find(nameOf(pod))
	allocations, err := w.Allocations(p, p.Node)
	if err != nil || len(allocations) != 1 {
		t.Fatal(allocations, err)
	}
	said := ""
	for _, one := range allocations[0].Allocation.Devices.Results {
		said += one.Request + "=" + one.Device + " "
	}
	for _, one := range allocations[0].Allocation.Devices.Config {
		said += fmt.Sprint(one.Source, one.Requests, one.Opaque.Driver, " ")
	}
	w.want(said, "r/small=small0 s=small1 FromClass[r/small s]small FromClaim[r/small]chosen FromClaim[]all ")

	allocatedAs := claim.DeepCopy()
	allocatedAs.Status.Allocation = allocations[0].Allocation
	w.SetClaim(allocatedAs)
	w.want(w.turn(), "[]")
	w.want(w.devices(pod), "[a/small0 a/small1]")
}

// A claim that was made of a template is for the pod, or the group, that it was made for.
func TestAClaimThatWasMadeForAnotherPodIsNotUsed(t *testing.T) {
	yes, template := true, "template"
	for name, now := range map[string]struct {
		owners []metav1.OwnerReference
		fits   bool
	}{
		"its own":            {[]metav1.OwnerReference{{Kind: "Pod", Name: "p", UID: "p", Controller: &yes}}, true},
		"its group's":        {[]metav1.OwnerReference{{Kind: "PodGroup", Name: "g", UID: "g", Controller: &yes}}, true},
		"another group's":    {[]metav1.OwnerReference{{Kind: "PodGroup", Name: "h", UID: "h", Controller: &yes}}, false},
		"another pod's":      {[]metav1.OwnerReference{{Kind: "Pod", Name: "p", UID: "before", Controller: &yes}}, false},
		"not a controller's": {[]metav1.OwnerReference{{Kind: "Pod", Name: "p", UID: "p"}}, false},
		"nobody's":           {nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := cards(t)
			w.SetSlice(sliceOf("a", "small0"), false)
			claim, pod := claimOf("c", "1"), podOf("p", "1")
			claim.OwnerReferences = now.owners
			pod.Labels = map[string]string{"scheduling.x-k8s.io/pod-group": "g", "pod-group.scheduling.sigs.k8s.io/min-available": "1"}
			pod.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "card", ResourceClaimTemplateName: &template}}
			pod.Status.ResourceClaimStatuses = []corev1.PodResourceClaimStatus{{Name: "card", ResourceClaimName: &claim.Name}}
			w.SetClaim(claim)
			w.SetPod(pod)
			if now.fits {
				w.want(w.turn(), "[p bind]")
				return
			}
			w.want(w.turn(), "[]")
			w.want(w.Find(nameOf(pod)).Refused, "ResourceClaim default/c was not created for Pod default/p (Pod is not owner)")
		})
	}
}

// A device that only an older generation of its pool has is gone, in whatever order slices are looked at.
func TestADeviceOfAnOlderGenerationIsGone(t *testing.T) {
	d := newDevices()
	for i := range 20 {
		slice := sliceOf("a", "small0")
		if i == 10 {
			slice = sliceOf("a", "large0")
		}
		slice.Spec.Pool.Generation = int64(min(i, 10))
		if i > 10 {
			slice.Spec.Pool.Generation = int64(i - 11)
		}
		slice.Name = fmt.Sprint(i)
		keepIn(d.slices, "a", slice.Name, slice, false)
	}
	if d.find("a", &resourcev1.DeviceRequestAllocationResult{Driver: "cards", Pool: "a", Device: "small0"}) != nil {
		t.Error("it is there")
	}
	if d.find("a", &resourcev1.DeviceRequestAllocationResult{Driver: "cards", Pool: "a", Device: "large0"}) == nil {
		t.Error("the newest one is not")
	}
}

// A node with more devices than the library takes has its pods, and none of the devices.
func TestANodeWhoseDevicesAreRefusedHasItsPods(t *testing.T) {
	w := cards(t)
	w.SetPod(on("a", podOf("runs", "3")))
	for _, node := range []string{"a", "c"} {
		var names []string
		for i := range 1025 {
			names = append(names, fmt.Sprint("small", i))
		}
		w.SetSlice(sliceOf(node, names...), false)
	}
	w.SetNode(nodeOf("c", "2"))
	w.RemoveNode("b")
	w.SetPod(podOf("p", "2"))
	w.want(w.turn(), "[p bind]")
	w.want(w.Find(types.NamespacedName{Namespace: "default", Name: "p"}).Node, "c")
	w.SetSlice(sliceOf("c", "small0"), false)
	w.SetClaim(claimOf("card", "1"))
	w.RemovePod(podOf("p", "2"))
	pod := claiming("q", "card")
	w.SetPod(pod)
	w.want(w.turn(), "[q bind]")
	w.want(w.devices(pod), "[c/small0]")
}

// As in Kubernetes a pod waits while a claim of its is being deleted, also if it was known before.
func TestAClaimThatIsBeingDeletedIsForNoPodMore(t *testing.T) {
	w := cards(t)
	w.SetSlice(sliceOf("a", "small0"), false)
	claim, first := claimOf("c", "1"), claiming("p", "c")
	w.SetClaim(claim)
	w.SetPod(first)
	w.want(w.turn(), "[p bind]")
	second := claiming("q", "c")
	w.SetPod(second)
	ends := allocated(claim, "a", "small0")
	at := metav1.Now()
	ends.DeletionTimestamp = &at
	w.SetClaim(ends)
	w.want(w.turn(), "[]")
	if q := w.Find(nameOf(second)); q.ID != 0 || !strings.Contains(q.Refused, "is being deleted") {
		t.Error(q.ID, q.Refused)
	}
}

// The controller of claims has made the claim of a pod anew; what comes of that comes in any order.
func TestAPodNamesAnotherClaimThanBefore(t *testing.T) {
	for _, first := range []string{"claims", "pod"} {
		t.Run("first come the "+first, func(t *testing.T) {
			w := cards(t)
			w.SetSlice(sliceOf("a", "small0"), false)
			generated := func(name string) *resourcev1.ResourceClaim {
				claim, controls := claimOf(name, name), true
				claim.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: "p", UID: "p", Controller: &controls}}
				return claim
			}
			naming := func(claim string) *corev1.Pod {
				pod, template := podOf("p", "1"), "t"
				pod.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "r", ResourceClaimTemplateName: &template}}
				pod.Status.ResourceClaimStatuses = []corev1.PodResourceClaimStatus{{Name: "r", ResourceClaimName: &claim}}
				return pod
			}
			w.SetClaim(generated("one"))
			w.SetPod(naming("one"))
			w.Settle()
			if first == "pod" {
				w.SetPod(naming("two"))
			}
			w.RemoveClaim(generated("one"))
			w.SetClaim(generated("two"))
			if first == "claims" {
				w.SetPod(naming("two"))
			}
			w.want(w.turn(), "[p bind]")
			w.want(w.devices(naming("two")), "[a/small0]")
			w.want(w.cluster.FindResourceClaim("default", "one"), "0")
		})
	}
}

// A slice that is deleted and made anew while a watch is lost comes as a change.
func TestASliceIsMadeAnewElsewhere(t *testing.T) {
	for name, one := range map[string]struct {
		change func(*resourcev1.ResourceSlice)
		want   string
	}{
		"node":   {func(slice *resourcev1.ResourceSlice) { slice.Spec.NodeName = sliceOf("b").Spec.NodeName }, "[p bind] [a/small0] on b"},
		"driver": {func(slice *resourcev1.ResourceSlice) { slice.Spec.Driver = "others" }, "[p reject] [] on "},
		"pool":   {func(slice *resourcev1.ResourceSlice) { slice.Spec.Pool.Name = "other" }, "[p bind] [other/small0] on a"},
	} {
		t.Run(name, func(t *testing.T) {
			w := cards(t)
			w.SetSlice(sliceOf("a", "small0"), false)
			anew := sliceOf("a", "small0")
			one.change(anew)
			w.SetSlice(anew, false)
			w.want(w.kept(), "[1 1 1 1]")
			w.SetClaim(claimOf("c", "1"))
			pod := claiming("p", "c")
			w.SetPod(pod)
			w.want(fmt.Sprint(w.turn(), w.devices(pod), " on ", w.Find(nameOf(pod)).Node), one.want)
			w.SetSlice(anew, true)
			w.want(w.kept(), "[0 0 0 0]")
		})
	}
}

// kept is how much is kept of slices.
func (w *world) kept() string {
	d := &w.Mirror.devices
	return fmt.Sprint([]int{len(d.named), len(d.slices), len(d.pools), len(d.drivers)})
}

// A scheduler was stopped after a claim was allocated and before its pod was bound. Then the node went.
func TestAPodWaitsWhileItsClaimIsAllocatedOnANodeThatIsGone(t *testing.T) {
	for _, seen := range []bool{false, true} {
		t.Run(fmt.Sprint("it was seen: ", seen), func(t *testing.T) {
			w := newWorld(t)
			w.SetDeviceClass(classOf("card", ""), false)
			w.SetNode(nodeOf("b", "4"))
			w.SetSlice(sliceOf("b", "small0"), false)
			if seen {
				w.SetNode(nodeOf("a", "0"))
				w.SetSlice(sliceOf("a", "small0"), false)
			}
			w.SetClaim(allocated(claimOf("c", "1"), "a", "small0"))
			pod := claiming("p", "c")
			w.SetPod(pod)
			p := w.Find(nameOf(pod))
			if seen {
				w.want(w.turn(), "[p reject]")
				w.RemoveNode("a")
			}
			w.want(w.turn(), "[]")
			w.want(p.Refused, `pod default/p: resourceclaim "c" is allocated on node "a", which is not there`)
			w.want(w.LeftOver(p) != nil, "true")
			w.SetNode(nodeOf("a", "0"))
			w.SetSlice(sliceOf("a", "small0"), false)
			w.want(w.turn(), "[p reject]") // only there
			w.RemoveNode("a")
			w.SetClaim(claimOf("c", "1")) // it is deallocated
			w.want(w.turn(), "[p bind]")
			w.want(w.devices(pod), "[b/small0]")
		})
	}
}

// A pod that waits for something else keeps a claim that is allocated on a node which is there.
func TestAClaimOfAPodThatCannotBeToldOfIsNotLeftOver(t *testing.T) {
	w := cards(t)
	w.SetSlice(sliceOf("a", "small0"), false)
	w.SetClaim(allocated(claimOf("c", "1"), "a", "small0"))
	pod := claiming("p", "c", "missing")
	w.SetPod(pod)
	w.want(w.turn(), "[]")
	w.want(w.LeftOver(w.Find(nameOf(pod))) == nil, "true")
}
