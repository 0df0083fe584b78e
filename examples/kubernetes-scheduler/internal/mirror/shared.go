package mirror

import "gangsched/examples/kubernetes-scheduler/internal/share"

// Share has the mirror hand only those pods without a node to the library whose key is this replica's.
func (m *Mirror) Share(ours func(key string) bool) { m.mine = ours }

// SawPods says that all changes of pods up to a resource version have come.
func (m *Mirror) SawPods(version string) { m.seen = max(m.seen, share.Version(version)) }

// Seen is that version.
func (m *Mirror) Seen() uint64 { return m.seen }

// theirs says whether a pod without a node is another replica's to schedule.
func (m *Mirror) theirs(p *Pod) bool { return m.mine != nil && p.Waits() && !m.mine(p.shareKey()) }

// shareKey is what pods have in common that one replica has to schedule: members of a group; and all pods with claims of devices, since it is
// written nowhere which claim has which device before the claim is allocated.
func (p *Pod) shareKey() string {
	if len(p.Object.Spec.ResourceClaims) != 0 {
		return "claims"
	}
	return p.Together()
}

// Together is what members of a group have in common, and no other pod has.
func (p *Pod) Together() string {
	if group := groupOf(p.Object); group != "" {
		return "group/" + p.Name.Namespace + "/" + group
	}
	return string(p.Object.UID)
}

// Yield gives a pod up that waits again, if another replica schedules it by now.
func (m *Mirror) Yield(p *Pod) {
	if p.ID != 0 && m.theirs(p) {
		m.tell(p)
	}
}

// Reshare hands pods over that other replicas had before, and gives up those that others have now.
func (m *Mirror) Reshare() {
	for _, p := range m.pods {
		if p.Waits() && m.theirs(p) == (p.ID != 0) {
			m.tell(p)
		}
	}
}
