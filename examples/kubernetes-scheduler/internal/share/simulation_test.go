package share

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

var seeds = flag.Int("seeds", 3000, "how many worlds TestReplicasNeverPromiseMoreThanThereIs plays")

// The API server, as far as this goes: pods, the document, one counter of versions, and all that ever changed.
type server struct {
	t       testing.TB
	version uint64
	pods    map[types.UID]*podVersion
	changes []podVersion
	doc     Document
	docAt   uint64
	docs    []docVersion
	cores   map[string]int
	refused int // binds that came with an old version
}

type podVersion struct {
	uid     types.UID
	version uint64
	node    string
	cores   int
	gone    bool
	gang    string
	claims  bool
}

type docVersion struct {
	version uint64
	doc     Document
}

func (s *server) change(p *podVersion) {
	s.version++
	p.version = s.version
	s.changes = append(s.changes, *p)
	s.check()
}

// check is the point of it all.
func (s *server) check() {
	used, counted := map[string]int{}, map[string]bool{}
	for _, p := range s.pods {
		if p.node != "" {
			used[p.node] += p.cores
			counted[string(p.uid)+"@"+p.node] = true
		}
	}
	for i := range s.doc.Entries {
		one := &s.doc.Entries[i]
		if p := s.pods[one.UID]; p != nil && !counted[string(one.UID)+"@"+one.Node] && p.node == "" {
			used[one.Node] += p.cores
		}
	}
	for node, sum := range used {
		if sum > s.cores[node] {
			s.t.Fatalf("node %s has %d cores, and %d are bound or promised: %+v", node, s.cores[node], sum, s.doc.Entries)
		}
	}
}

type answer int

const (
	fine answer = iota
	conflict
	notFound
	forbidden
	silence
)

func (s *server) bind(uid types.UID, node string, version uint64, forbid bool) answer {
	p := s.pods[uid]
	switch {
	case p == nil:
		return notFound
	case forbid:
		return forbidden
	case p.node != "" || p.version != version:
		s.refused++
		return conflict
	}
	p.node = node
	s.change(p)
	return fine
}

func (s *server) write(w *Write) (uint64, answer) {
	if w.Create != (s.docAt == 0) || !w.Create && w.Expected != s.docAt {
		return 0, conflict
	}
	s.version++
	s.doc, s.docAt = w.Document.clone(), s.version
	s.docs = append(s.docs, docVersion{s.version, s.doc})
	s.check()
	return s.version, fine
}

// request is on its way to the server, or its answer on the way back. One whose answer was given up may still arrive.
type request struct {
	from   *replica
	arrive func() (back func())
	back   func()
	lost   func() // what its sender does when it has waited for long enough
}

// replica is a scheduler, as far as this goes: the ledger is the one that the real one has.
type replica struct {
	*simulation
	name     string
	ledger   *Ledger
	cursor   int // of changes of pods
	docs     int
	seen     uint64
	pods     map[types.UID]podVersion
	attempts map[types.UID]try
	holds    map[types.UID]string
	waiting  []*Unit
	versions map[types.UID]uint64 // at which the pods of attempts were seen
	next     uint64
	sleeps   int // steps that it stands still for
	dead     bool
}

type try struct {
	node   string
	number uint64
}

func (r *replica) Seen() uint64 { return r.seen }

func (r *replica) HasNode(name string) bool { return slices.Contains(r.nodes, name) }

func (r *replica) State(entry *Entry) (State, uint64) {
	p, there := r.pods[entry.UID]
	switch {
	case !there:
		return Unknown, 0
	case p.node != "":
		return Bound, p.version
	}
	return Waiting, 0
}

func (r *replica) Count(entry *Entry) bool {
	if at, some := r.attempts[entry.UID]; some {
		return at.node == entry.Node
	}
	if at, some := r.holds[entry.UID]; some {
		return at == entry.Node
	}
	r.holds[entry.UID] = entry.Node
	return true
}

func (r *replica) Release(entry *Entry) {
	if r.holds[entry.UID] == entry.Node {
		delete(r.holds, entry.UID)
	}
}

func (r *replica) room(node string) int {
	left := r.api.cores[node]
	for uid, p := range r.pods {
		at := p.node
		if at == "" {
			at = r.attempts[uid].node
		}
		if at == "" {
			at = r.holds[uid]
		}
		if at == node {
			left -= p.cores
		}
	}
	return left
}

func (r *replica) hearPods(most int) {
	for ; most > 0 && r.cursor < len(r.api.changes); most-- {
		one := r.api.changes[r.cursor]
		r.cursor++
		r.take(one)
		r.seen = one.version
	}
}

func (r *replica) take(one podVersion) {
	if one.gone || one.node != "" {
		delete(r.attempts, one.uid)
		delete(r.holds, one.uid)
	}
	if one.gone {
		delete(r.pods, one.uid)
		return
	}
	r.pods[one.uid] = one
}

// relist is what a watch that was lost for long ends in.
func (r *replica) relist() {
	for uid := range r.pods {
		if r.api.pods[uid] == nil {
			r.take(podVersion{uid: uid, gone: true})
		}
	}
	for _, p := range r.api.pods {
		r.take(*p)
	}
	r.cursor, r.seen = len(r.api.changes), r.api.version
}

func (r *replica) hearDocument(skip bool) {
	if r.docs >= len(r.api.docs) {
		return
	}
	at := r.docs
	if skip {
		at += r.dice.IntN(len(r.api.docs) - at)
	}
	r.docs = at + 1
	r.ledger.Hear(r.api.docs[at].version, &r.api.docs[at].doc, r.now)
}

// turn is a turn of the loop.
func (r *replica) turn() {
	r.ledger.Settle()
	if r.ledger.Ready() {
		r.decide()
	}
	if r.ledger.Reading() && !r.asked(r) {
		r.read()
	}
	if w := r.ledger.Next(r.now); w != nil {
		made := Write{w.Expected, w.Create, w.Document.clone()}
		r.send(r, func() func() {
			version, said := r.api.write(&made)
			if said != fine {
				version = 0
			}
			return func() { r.ledger.Answered(w, version, r.now) }
		}, func() { r.ledger.Answered(w, 0, r.now) })
	}
	for _, one := range r.ledger.Committed() {
		if r.attempts[one.UID].number != one.Attempt { // revoked, and nothing was sent
			r.ledger.Over(one.Seq)
			continue
		}
		r.bind(one, r.versions[one.UID], false)
	}
	for _, one := range r.ledger.Adopted() {
		if p := r.api.pods[one.UID]; p != nil && p.claims {
			r.fence(one)
		} else {
			r.look(one, true)
		}
	}
	for _, unit := range r.ledger.Lost() {
		r.fail(unit)
	}
}

func (r *replica) asked(by *replica) bool {
	return slices.ContainsFunc(r.ways, func(one *request) bool { return one.from == by && one.lost == nil })
}

func (r *replica) read() {
	r.ways = append(r.ways, &request{from: r, arrive: func() func() {
		if r.api.docAt == 0 {
			return func() { r.ledger.HasRead(0, nil, r.now) }
		}
		version, doc := r.api.docAt, r.api.doc.clone()
		return func() { r.ledger.HasRead(version, &doc, r.now) }
	}})
}

func (r *replica) fail(unit *Unit) {
	for i := range unit.Entries {
		if one := &unit.Entries[i]; r.attempts[one.UID].number == one.Attempt {
			delete(r.attempts, one.UID)
		}
	}
}

func (r *replica) decide() {
	if len(r.waiting) != 0 && r.dice.IntN(3) == 0 {
		unit := r.waiting[0]
		r.waiting = r.waiting[1:]
		unit.Entries = slices.DeleteFunc(unit.Entries, func(one Entry) bool { return r.attempts[one.UID].number != one.Attempt })
		if len(unit.Entries) != 0 && !r.ledger.Propose(unit) {
			r.fail(unit)
		}
		r.ledger.Settle()
	}
	most := 1 + r.dice.IntN(4)
	units := map[string]*Unit{}
	var order []string
	for _, uid := range r.sorted(r.pods) {
		p := r.pods[uid]
		_, tried := r.attempts[uid]
		_, held := r.holds[uid]
		if p.node != "" || tried || held || !r.ledger.Ours(p.gang) && r.dice.IntN(20) != 0 {
			continue
		}
		if units[p.gang] == nil {
			if len(order) == most {
				continue
			}
			units[p.gang] = &Unit{}
			order = append(order, p.gang)
		}
		var fits []string
		for _, node := range r.nodes {
			if r.room(node) >= p.cores {
				fits = append(fits, node)
			}
		}
		if len(fits) == 0 {
			continue
		}
		node := fits[r.dice.IntN(len(fits))]
		r.next++
		r.attempts[uid], r.versions[uid] = try{node, r.next}, p.version
		unit := units[p.gang]
		unit.Entries = append(unit.Entries, Entry{UID: uid, Name: string(uid), Node: node, Attempt: r.next})
	}
	for _, gang := range order {
		if unit := units[gang]; len(unit.Entries) != 0 {
			if r.dice.IntN(6) == 0 { // it has its nodes, and waits for others
				for i := range unit.Entries {
					unit.Decided(r.ledger.Moment(unit.Entries[i].Node))
				}
				r.waiting = append(r.waiting, unit)
			} else if !r.ledger.Propose(unit) {
				r.fail(unit)
			}
		}
	}
}

// What follows is act.Writer's: how an entry becomes a bind, and what its answers lead to.

func (r *replica) bind(one Entry, version uint64, adopted bool) {
	odds := 30
	if adopted {
		odds = 3
	}
	forbid := r.dice.IntN(odds) == 0 && !r.calm
	r.send(r, func() func() {
		said := r.api.bind(one.UID, one.Node, version, forbid)
		return func() {
			switch {
			case said == fine:
			case said == notFound:
				r.notBound(one)
			case said == conflict:
				r.look(one, adopted)
			case adopted:
				r.fence(one)
			default:
				r.notBound(one)
			}
		}
	}, func() { r.fence(one) })
}

// look reads the pod, and then whether the entry is there still, and binds it if so.
func (r *replica) look(one Entry, adopted bool) {
	r.send(r, func() func() {
		p := r.api.pods[one.UID]
		var now podVersion
		if p != nil {
			now = *p
		}
		return func() {
			switch {
			case p == nil:
				r.notBound(one)
			case now.node != "":
				if now.node != one.Node {
					r.notBound(one)
				}
			default:
				r.still(one, now.version, adopted)
			}
		}
	}, func() { r.look(one, adopted) })
}

func (r *replica) still(one Entry, version uint64, adopted bool) {
	r.send(r, func() func() {
		owns := r.api.doc.Owns(r.name, one.Seq)
		return func() {
			if owns {
				r.bind(one, version, adopted)
			} else {
				r.notBound(one)
			}
		}
	}, func() { r.still(one, version, adopted) })
}

// fence changes the pod, so that what is on its way is refused.
func (r *replica) fence(one Entry) {
	r.send(r, func() func() {
		p := r.api.pods[one.UID]
		if p != nil && p.node == "" {
			r.api.change(p)
		}
		gone, node := p == nil, ""
		if p != nil {
			node = p.node
		}
		return func() {
			if gone || node != one.Node {
				r.notBound(one)
			}
		}
	}, func() { r.fence(one) })
}

func (r *replica) notBound(one Entry) {
	if r.attempts[one.UID].number == one.Attempt && one.Attempt != 0 {
		delete(r.attempts, one.UID)
	}
	r.ledger.Over(one.Seq)
}

// simulation is a world of its own seed.
type simulation struct {
	t     testing.TB
	dice  *rand.Rand
	api   *server
	nodes []string
	all   []*replica
	ways  []*request
	now   time.Duration
	born  int
	past  int
	calm  bool // nothing goes wrong any more
}

// sorted are the keys of a map, in an order that is the same each time.
func (s *simulation) sorted(of map[types.UID]podVersion) []types.UID {
	made := make([]types.UID, 0, len(of))
	for uid := range of {
		made = append(made, uid)
	}
	slices.Sort(made)
	return made
}

func (s *simulation) send(from *replica, arrive func() func(), lost func()) {
	s.ways = append(s.ways, &request{from: from, arrive: arrive, lost: lost})
}

// move has a request arrive, or its answer, or neither.
func (s *simulation) move() {
	if len(s.ways) == 0 {
		return
	}
	at := s.dice.IntN(len(s.ways))
	one := s.ways[at]
	remove := func() { s.ways = slices.Delete(s.ways, at, at+1) }
	awake := !one.from.dead && one.from.sleeps == 0
	switch fate := s.dice.IntN(20); {
	case one.arrive != nil && one.lost != nil && awake && fate == 0 && !s.calm: // its sender gives up; it arrives some time, or never
		lost := one.lost
		one.lost = func() {}
		one.back = nil
		arrive := one.arrive
		one.arrive = func() func() { arrive(); return func() {} }
		if s.dice.IntN(3) == 0 {
			remove()
		}
		lost()
	case one.arrive != nil:
		one.back, one.arrive = one.arrive(), nil
	case one.lost != nil && awake && fate == 1 && !s.calm: // it was done, and the answer is lost
		remove()
		one.lost()
	case one.from.dead:
		remove()
	case awake:
		remove()
		one.back()
	}
}

func (s *simulation) start() {
	s.born++
	r := &replica{
		simulation: s, name: fmt.Sprintf("r%d", s.born), pods: map[types.UID]podVersion{}, attempts: map[types.UID]try{},
		holds: map[types.UID]string{}, versions: map[types.UID]uint64{},
	}
	r.ledger = New(r.name, r, 2*time.Second, 8*time.Second)
	r.ledger.past = s.past
	r.relist()
	if s.dice.IntN(2) == 0 { // from a cache, which may be behind
		back := s.dice.IntN(len(s.api.changes) + 1)
		*r = replica{simulation: s, name: r.name, ledger: r.ledger, pods: map[types.UID]podVersion{}, attempts: r.attempts, holds: r.holds, versions: r.versions}
		r.hearPods(back)
	}
	s.all = append(s.all, r)
}

func (s *simulation) create(count int) {
	for range count {
		uid := types.UID(fmt.Sprintf("p%03d", len(s.api.changes)))
		p := &podVersion{uid: uid, cores: 1, gang: string(uid), claims: s.dice.IntN(6) == 0}
		if s.dice.IntN(3) == 0 {
			p.gang = fmt.Sprintf("g%d", s.dice.IntN(4))
		}
		s.api.pods[uid] = p
		s.api.change(p)
	}
}

func (s *simulation) step() {
	r := s.all[s.dice.IntN(len(s.all))]
	if r.sleeps > 0 {
		r.sleeps--
		s.move()
		return
	}
	switch what := s.dice.IntN(100); {
	case what < 45:
		s.move()
	case what < 60:
		r.hearPods(1 + s.dice.IntN(3))
	case what < 70:
		r.hearDocument(s.dice.IntN(3) == 0)
	case what < 92:
		r.turn()
	case what < 96:
		s.now += time.Duration(s.dice.IntN(1000)) * time.Millisecond
	case s.calm:
	case what == 96:
		s.trouble(r)
	case what == 97: // somebody else writes to a pod's status
		for uid, p := range s.api.pods {
			if uid = s.any(); uid != "" {
				p = s.api.pods[uid]
				s.api.change(p)
			}
			break
		}
	case what == 98: // an attempt is revoked
		for _, uid := range s.sorted(r.pods) {
			if _, some := r.attempts[uid]; some && s.dice.IntN(2) == 0 {
				delete(r.attempts, uid)
				r.ledger.Withdraw(uid)
				break
			}
		}
	case what == 99:
		if uid := s.any(); uid != "" && s.dice.IntN(3) == 0 {
			p := s.api.pods[uid]
			delete(s.api.pods, uid)
			p.gone, p.node = true, ""
			s.api.change(p)
			s.create(1)
		}
	}
}

func (s *simulation) any() types.UID {
	all := map[types.UID]podVersion{}
	for uid, p := range s.api.pods {
		all[uid] = *p
	}
	keys := s.sorted(all)
	if len(keys) == 0 {
		return ""
	}
	return keys[s.dice.IntN(len(keys))]
}

func (s *simulation) trouble(r *replica) {
	switch s.dice.IntN(5) {
	case 0: // it is killed, and perhaps started again
		r.dead = true
		s.all = slices.DeleteFunc(s.all, func(one *replica) bool { return one == r })
		if len(s.all) == 0 || s.dice.IntN(2) == 0 {
			s.start()
		}
	case 1, 2: // it stands still, so long perhaps that others take it for dead
		r.sleeps = s.dice.IntN(120)
		s.now += time.Duration(s.dice.IntN(12)) * time.Second
	case 3:
		r.relist()
	case 4:
		if len(s.all) < 4 {
			s.start()
		}
	}
}

func (s *simulation) waiting() (count int) {
	for _, p := range s.api.pods {
		if p.node == "" {
			count++
		}
	}
	return count
}

func play(t testing.TB, seed uint64) *simulation {
	s := &simulation{t: t, dice: rand.New(rand.NewPCG(seed, 1))}
	s.api = &server{t: t, pods: map[types.UID]*podVersion{}, cores: map[string]int{}}
	s.past = s.dice.IntN(12)
	room := 0
	for i := range 2 + s.dice.IntN(4) {
		node := fmt.Sprintf("n%d", i)
		s.nodes = append(s.nodes, node)
		s.api.cores[node] = 1 + s.dice.IntN(4)
		room += s.api.cores[node]
	}
	s.create(room) // to the last core
	for range 1 + s.dice.IntN(3) {
		s.start()
	}
	for range 600 {
		s.step()
	}
	s.calm = true
	for steps := 0; s.waiting() != 0 || len(s.api.doc.Entries) != 0; steps++ {
		if steps == 60000 {
			for _, r := range s.all {
				t.Logf("%s: ready %v open %v held %v pending %d flying %v reading %v holds %v attempts %v seen %d need %d over %v working %v", r.name, r.ledger.Ready(), r.ledger.open,
					r.ledger.held, len(r.ledger.pending), r.ledger.flying != nil, r.ledger.reading, r.holds, r.attempts, r.seen, r.ledger.need, r.ledger.over, r.ledger.working)
			}
			t.Fatalf("seed %d: %d pods wait for ever, %+v", seed, s.waiting(), s.api.doc)
		}
		s.step()
	}
	return s
}

// Whatever is lost, late, killed or stands still: no node is promised more than it has, and in the end everybody has a node.
func TestReplicasNeverPromiseMoreThanThereIs(t *testing.T) {
	conflicts, refused := int64(0), 0
	for seed := range uint64(*seeds) {
		if !t.Run(fmt.Sprint(seed), func(t *testing.T) {
			s := play(t, seed)
			refused += s.api.refused
			for _, r := range s.all {
				conflicts += r.ledger.Conflicts
			}
		}) {
			break
		}
	}
	if conflicts == 0 || refused == 0 {
		t.Errorf("%d writes lost a race and %d binds were refused: this tests nothing", conflicts, refused)
	}
}
