package gangsched

/*
#include "binding.h"
*/
import "C"

import "unsafe"

// arena is C memory for the arguments of one call. The next call uses it again, so that repeated calls of one kind do not allocate.
type arena struct {
	*chunks
	at, used int
	torn     bool // a text had a zero byte
}

type chunks struct {
	all   []unsafe.Pointer
	sizes []int
}

const leastChunk = 16 << 10

func (a *arena) init() *chunks {
	a.chunks = &chunks{}
	return a.chunks
}

func (c *chunks) free() {
	for _, one := range c.all {
		C.free(one)
	}
	c.all = nil
}

func (a *arena) reset() { a.at, a.used, a.torn = 0, 0, false }

func (a *arena) bytes(count int) unsafe.Pointer {
	count = (count + 7) &^ 7
	for a.at < len(a.all) && a.used+count > a.sizes[a.at] {
		a.at, a.used = a.at+1, 0
	}
	if a.at == len(a.all) {
		room := max(leastChunk<<min(a.at, 10), count)
		a.all = append(a.all, C.malloc(C.size_t(room)))
		a.sizes = append(a.sizes, room)
		a.used = 0
	}
	place := unsafe.Add(a.all[a.at], a.used)
	a.used += count
	return place
}

// list is room for count zeroes of a type of C.
func list[T any](a *arena, count int) []T {
	if count == 0 {
		return nil
	}
	var one T
	made := unsafe.Slice((*T)(a.bytes(count*int(unsafe.Sizeof(one)))), count)
	clear(made)
	return made
}

func one[T any](a *arena) *T { return &list[T](a, 1)[0] }

// text is a copy that ends with a zero byte; null if it is empty.
func (a *arena) text(s string) *C.char {
	if s == "" {
		return nil
	}
	place := unsafe.Slice((*byte)(a.bytes(len(s)+1)), len(s)+1)
	copy(place, s)
	place[len(s)] = 0
	for i := range len(s) {
		if s[i] == 0 {
			a.torn = true
		}
	}
	return (*C.char)(unsafe.Pointer(&place[0]))
}

func (a *arena) texts(all []string) C.gangsched_texts {
	made := list[*C.char](a, len(all))
	for i, s := range all {
		if made[i] = a.text(s); made[i] == nil {
			made[i] = (*C.char)(unsafe.Pointer(one[uint64](a)))
		}
	}
	return C.gangsched_texts{items: (**C.char)(first(made)), count: C.size_t(len(all))}
}

func (a *arena) pairs(all map[string]string) C.gangsched_pairs {
	made := list[C.gangsched_pair](a, len(all))
	i := 0
	for key, value := range all {
		made[i] = C.gangsched_pair{key: a.text(key), value: a.text(value)}
		i++
	}
	return C.gangsched_pairs{items: (*C.gangsched_pair)(first(made)), count: C.size_t(len(all))}
}

// first is where a list begins; null if it is empty.
func first[T any](all []T) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(all)) }

func (a *arena) check() error {
	if a.torn {
		return &Error{Code: Malformed, Reason: "a text has a zero byte", message: "a text has a zero byte"}
	}
	return nil
}
