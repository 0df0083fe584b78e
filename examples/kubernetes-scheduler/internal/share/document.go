package share

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/types"
)

// Entry is a pod that is being bound to a node, and the replica that does it. It promises the node's room.
type Entry struct {
	Namespace string    `json:"ns"`
	Name      string    `json:"pod"`
	UID       types.UID `json:"uid"`
	Node      string    `json:"node"`
	Owner     string    `json:"by"`            // the replica that works on it
	Attempt   uint64    `json:"try,omitempty"` // the owner's own number of it; 0: it was taken over
	Seq       uint64    `json:"seq"`           // no other entry has or had it
}

// Pod is its name.
func (e *Entry) Pod() types.NamespacedName {
	return types.NamespacedName{Namespace: e.Namespace, Name: e.Name}
}

func (e *Entry) same(as *Entry) bool { return e.UID == as.UID && e.Node == as.Node }

// Row is a replica that lives, or did.
type Row struct {
	Name string `json:"name"`
	Beat uint64 `json:"beat"` // how often it has written
}

// Document is all that replicas tell each other.
type Document struct {
	// Seq is that of the entry that was added last.
	Seq uint64 `json:"seq"`
	// Watermark is a resource version of pods. A replica that has seen all changes up to it has seen each pod that was taken out as bound: bound, or gone.
	Watermark uint64  `json:"watermark"`
	Rows      []Row   `json:"replicas"`
	Entries   []Entry `json:"entries"`
	// Past are the entries that were taken out last, so that a replica that has missed them knows which nodes they were about.
	Past []Past `json:"past,omitempty"`
}

// Past is an entry that is there no more.
type Past struct {
	Seq  uint64 `json:"seq"`
	Node string `json:"node"`
}

// mostPast is how many of them are kept.
const mostPast = 512

func (d *Document) remember(one *Entry, most int) {
	d.Past = append(d.Past, Past{one.Seq, one.Node})
	d.Past = d.Past[max(0, len(d.Past)-most):]
}

func (d *Document) clone() Document {
	made := *d
	made.Rows, made.Entries, made.Past = slices.Clone(d.Rows), slices.Clone(d.Entries), slices.Clone(d.Past)
	return made
}

// A ConfigMap has a MiB at most. Documents stay below mostText bytes, and none that promises only one unit is as large: a larger one is never written.
const (
	mostText = 900_000
	mostUnit = 800_000
	mostName = 64 // of a replica
)

// text is how many bytes it takes in a document at most, whichever replica owns it.
func (e *Entry) text() int {
	return 110 + len(e.Namespace) + len(e.Name) + len(e.UID) + len(e.Node) + max(mostName, len(e.Owner))
}

// text is how many bytes all but the past takes at most.
func (d *Document) text() int {
	sum := 150
	for i := range d.Rows {
		sum += 50 + len(d.Rows[i].Name)
	}
	for i := range d.Entries {
		sum += d.Entries[i].text()
	}
	return sum
}

// forget drops past entries until they take at most so many bytes. A replica that missed a dropped entry takes more nodes for changed than were.
func (d *Document) forget(most int) {
	for i, one := range slices.Backward(d.Past) {
		if most -= 50 + len(one.Node); most < 0 {
			d.Past = d.Past[i+1:]
			return
		}
	}
}

// Owns says whether an entry is there and a replica's own.
func (d *Document) Owns(owner string, seq uint64) bool {
	return slices.ContainsFunc(d.Entries, func(one Entry) bool { return one.Seq == seq && one.Owner == owner })
}

func (d *Document) about(uid types.UID) *Entry {
	for i := range d.Entries {
		if d.Entries[i].UID == uid {
			return &d.Entries[i]
		}
	}
	return nil
}

func (d *Document) has(entry *Entry) bool {
	return slices.ContainsFunc(d.Entries, func(one Entry) bool { return one.same(entry) })
}

// beat counts a write of a replica.
func (d *Document) beat(replica string) {
	at, found := slices.BinarySearchFunc(d.Rows, replica, func(row Row, name string) int { return cmp.Compare(row.Name, name) })
	if !found {
		d.Rows = slices.Insert(d.Rows, at, Row{Name: replica})
	}
	d.Rows[at].Beat++
}

// Leave takes the row of a replica out that ends. False: it has entries, which another replica has to see to.
func (d *Document) Leave(replica string) bool {
	if slices.ContainsFunc(d.Entries, func(one Entry) bool { return one.Owner == replica }) {
		return false
	}
	d.Rows = slices.DeleteFunc(d.Rows, func(row Row) bool { return row.Name == replica })
	return true
}

// Text is how it is written; Parse reads it.
func (d *Document) Text() (string, error) {
	text, err := json.Marshal(d)
	return string(text), err
}

// Version is a resource version as a number, by which versions of one resource can be compared; 0: it is none.
func Version(text string) uint64 {
	number, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0
	}
	return number
}

// Parse reads what Text wrote.
func Parse(text string) (*Document, error) {
	made := &Document{}
	return made, json.Unmarshal([]byte(text), made)
}
