package mirror

import (
	"maps"
	"slices"

	resourcev1 "k8s.io/api/resource/v1"
	resourcev1beta2 "k8s.io/api/resource/v1beta2"
)

// SetTaintRule says that a DeviceTaintRule came or changed, or with gone that it is no more.
func (m *Mirror) SetTaintRule(rule *resourcev1beta2.DeviceTaintRule, gone bool) {
	before := m.devices.rules[rule.Name]
	keep(m.devices.rules, rule.Name, rule, gone)
	for node, all := range m.devices.slices {
		n := m.nodes[node]
		for _, slice := range all {
			if n != nil && (before != nil && isAbout(before, slice) || isAbout(rule, slice)) {
				m.tellNode(n)
				break
			}
		}
	}
	m.changed = true
}

// taintRules are those that there are, in one order.
func (d *devices) taintRules() (made []*resourcev1beta2.DeviceTaintRule) {
	for _, name := range slices.Sorted(maps.Keys(d.rules)) {
		made = append(made, d.rules[name])
	}
	return made
}

// isAbout says whether a rule is about some device of a slice. One without a selector is about all devices in kube-scheduler 1.36, although the API says
// that it is about none.
func isAbout(rule *resourcev1beta2.DeviceTaintRule, slice *resourcev1.ResourceSlice) bool {
	which := rule.Spec.DeviceSelector
	return which == nil || selects(which.Driver, slice.Spec.Driver) && selects(which.Pool, slice.Spec.Pool.Name)
}

// tainted is a slice with the taints that DeviceTaintRules give its devices, too: a copy, if one does.
func tainted(slice *resourcev1.ResourceSlice, rules []*resourcev1beta2.DeviceTaintRule) *resourcev1.ResourceSlice {
	made := slice
	for _, rule := range rules {
		if !isAbout(rule, slice) {
			continue
		}
		for i := range slice.Spec.Devices {
			if which := rule.Spec.DeviceSelector; which != nil && !selects(which.Device, slice.Spec.Devices[i].Name) {
				continue
			}
			if made == slice {
				made = slice.DeepCopy()
			}
			made.Spec.Devices[i].Taints = append(made.Spec.Devices[i].Taints, resourcev1.DeviceTaint{
				Key: rule.Spec.Taint.Key, Value: rule.Spec.Taint.Value, Effect: resourcev1.DeviceTaintEffect(rule.Spec.Taint.Effect), TimeAdded: rule.Spec.Taint.TimeAdded,
			})
		}
	}
	return made
}

// selects says whether a part of a selector, if it is there, is about something of that name.
func selects(wanted *string, name string) bool { return wanted == nil || *wanted == name }
