package share

import (
	"hash/fnv"
	"slices"
	"time"
)

// Next is what is to be written now, if anything; Answered has to be told what became of it.
func (l *Ledger) Next(now time.Duration) *Write {
	if !l.known || l.flying != nil || l.reading {
		return nil
	}
	made := l.doc.clone()
	changed := l.tidy(&made)
	units := l.add(&made)
	since := now - l.written
	if !units && since < l.period && !(changed && since >= tidying) {
		return nil
	}
	made.beat(l.me)
	made.Rows = slices.DeleteFunc(made.Rows, func(row Row) bool {
		return l.Dead(row.Name) && !slices.ContainsFunc(made.Entries, func(one Entry) bool { return one.Owner == row.Name })
	})
	l.written = now
	l.flying = &Write{Expected: l.version, Create: l.create, Document: made}
	return l.flying
}

// Rest is how long Next has nothing to write if nothing happens. An answer that it waits for is something that happens.
func (l *Ledger) Rest(now time.Duration) time.Duration {
	if !l.known || l.flying != nil || l.reading {
		return l.period
	}
	rest := l.period
	if made := l.doc.clone(); l.tidy(&made) {
		rest = tidying
	}
	return max(0, l.written+rest-now)
}

// tidy takes out entries that are done, ours and those of replicas which are dead, and takes the others of those over.
func (l *Ledger) tidy(made *Document) (changed bool) {
	kept := made.Entries[:0]
	for _, one := range made.Entries {
		dead := l.Dead(one.Owner)
		if one.Owner != l.me && !dead {
			kept = append(kept, one)
			continue
		}
		state, version := l.view.State(&one)
		switch {
		case state == Bound:
			made.Watermark = max(made.Watermark, version)
			made.remember(&one, l.past)
			changed = true
			continue
		case state == Unknown && l.met[one.UID], one.Owner == l.me && l.over[one.Seq]:
			made.remember(&one, l.past)
			changed = true
			continue
		case dead:
			made.Seq++
			one.Owner, one.Attempt, one.Seq = l.me, 0, made.Seq
			changed = true
		}
		kept = append(kept, one)
	}
	made.Entries = kept
	return changed
}

// add adds what is pending and has room. What has none goes before all that came after it.
func (l *Ledger) add(made *Document) (some bool) {
	l.pending = slices.DeleteFunc(l.pending, func(unit *Unit) bool {
		void := slices.ContainsFunc(unit.Entries, func(one Entry) bool { return made.about(one.UID) != nil })
		if void {
			l.lost = append(l.lost, unit)
		}
		return void
	})
	text := made.text()
	for _, unit := range l.pending {
		if text += unit.text(); text > mostText {
			break
		}
		made.forget(mostText - text)
		for _, one := range unit.Entries {
			made.Seq++
			one.Owner, one.Seq = l.me, made.Seq
			made.Entries = append(made.Entries, one)
			some = true
		}
	}
	return some
}

// TooLarge says that the API server does not take a write for its size: the largest unit is given up.
func (l *Ledger) TooLarge() {
	if len(l.pending) == 0 {
		return
	}
	largest := slices.MaxFunc(l.pending, func(a, b *Unit) int { return a.text() - b.text() })
	l.pending = slices.DeleteFunc(l.pending, func(unit *Unit) bool { return unit == largest })
	l.refused = append(l.refused, largest)
}

// Answered says what became of a write: that it is this version now, or 0 if it was refused or no answer came.
func (l *Ledger) Answered(of *Write, version uint64, now time.Duration) {
	if version != 0 {
		l.Hear(version, &of.Document, now)
	} else {
		l.Conflicts++
	}
	if l.flying == of {
		l.flying, l.reading = nil, version == 0
	}
}

// Reading says whether the document has to be read; HasRead has to be told of it.
func (l *Ledger) Reading() bool { return l.reading }

// HasRead says what the document is, or with nil that there is none. It has to have been read, and not from a cache, after Reading asked for it.
func (l *Ledger) HasRead(version uint64, doc *Document, now time.Duration) {
	l.reading = false
	if doc == nil {
		l.create = true // as we know it: what others are about to do stays in it
		l.known = true
		return
	}
	l.create = false
	l.Hear(version, doc, now)
	if version == l.version {
		l.listen(now)
	}
}

// Live are the replicas that are thought to live, sorted, and whether they are others than when it was asked last.
func (l *Ledger) Live() (live []string, changed bool) {
	live = []string{l.me}
	for _, row := range l.doc.Rows {
		if row.Name != l.me && !l.Dead(row.Name) {
			live = append(live, row.Name)
		}
	}
	slices.Sort(live)
	changed = !slices.Equal(live, l.live)
	l.live = live
	return live, changed
}

// Alone says whether no other replica lived when Live was asked last: what is decided is lost to none then.
func (l *Ledger) Alone() bool { return len(l.live) == 1 }

// Ours says whether what has this key is this replica's to schedule: that with the highest hash of both, of those that were live when it was asked
// last. When one goes only what was its own moves. That two replicas think so of one pod, or none does, for a while, costs time and nothing else.
func (l *Ledger) Ours(key string) bool {
	best, most := "", uint64(0)
	for _, replica := range l.live {
		hash := fnv.New64a()
		_, _ = hash.Write([]byte(key + "\x00" + replica))
		mixed := hash.Sum64()
		mixed ^= mixed >> 33 // fnv's upper bits hardly know of the last bytes
		mixed *= 0xff51afd7ed558ccd
		mixed ^= mixed >> 33
		if best == "" || mixed > most {
			best, most = replica, mixed
		}
	}
	return best == l.me
}

// Document is as it was heard of last.
func (l *Ledger) Document() *Document { return &l.doc }
