package gangsched

/*
#include "binding.h"
*/
import "C"

import (
	"strings"
	"time"
	"unsafe"
)

// Source is a file of manifests as the caller read it. Name is what errors call it, and decides the format if it ends in .json, .jsonl, .yaml or .yml.
type Source struct {
	Name string
	Text []byte
}

// Arrival says when pods come and how long they run, at most 100 years both.
type Arrival struct {
	Name    string // of a pod, of its controller or of its group, with or without "namespace/"
	Arrives time.Duration
	Runs    time.Duration // 0: they stay
}

// SimulationOptions are those of gangsched-simulate that are called so (docs/simulate.md).
type SimulationOptions struct {
	Namespace       string // of objects that name none
	Configuration   Source // a KubeSchedulerConfiguration; no text: kube-scheduler's defaults
	QueuesPolicy    string
	AllSchedulers   bool
	KeepGoing       bool
	NoGrace         bool
	LiveControllers bool
	Start, Until    string
	Arrivals        []Arrival // of several that mean the same pod the last one counts
	MostMadePods    uint64    // by live controllers while time passes, which make no more then; 0: 250,000
	Drain, Lose     []string
	Shapes          Source // nodes that may be added (--scale-up)
	ScaleDown       bool
	Explain         string // a pod or a group
	Compare         Source // the JSON of an earlier run (--diff)
	Timeline        bool
	Seed            uint64
	All             bool // also pods that ran before and still do
	GPUs            bool // how full each GPU is in the end
	Queues          bool // what each queue has in the end
}

// Simulate says what kube-scheduler would do with manifests, in virtual time, like the program gangsched-simulate. It needs no cluster, and several
// goroutines may call it. It returns what the program prints with --output json; warnings are what was left out and which pods are no longer re-created.
// If files or options have mistakes, the error is the first one, and the field "errors" of the JSON has all of them.
func Simulate(files []Source, options SimulationOptions) (json []byte, warnings []string, err error) {
	call := newCall()
	a := &call.arena
	given := list[C.gangsched_source](a, len(files))
	for i, file := range files {
		given[i] = a.source(file)
		if given[i].text == nil { // it counts, though it is empty
			given[i].text = a.document(nil)
		}
	}
	arrivals := list[C.gangsched_arrival](a, len(options.Arrivals))
	for i, arrival := range options.Arrivals {
		arrivals[i] = C.gangsched_arrival{name: a.text(arrival.Name), arrives: C.int64_t(arrival.Arrives), runs: C.int64_t(arrival.Runs)}
	}
	how := one[C.gangsched_simulation_options](a)
	*how = C.gangsched_simulation_options{
		struct_size:       C.size_t(unsafe.Sizeof(*how)),
		flags:             options.flags(),
		seed:              C.uint64_t(options.Seed),
		configuration:     a.source(options.Configuration),
		default_namespace: a.text(options.Namespace),
		queues_policy:     a.text(options.QueuesPolicy),
		explain:           a.text(options.Explain),
		start:             a.text(options.Start),
		until:             a.text(options.Until),
		drain:             a.texts(options.Drain),
		lose:              a.texts(options.Lose),
		shapes:            a.source(options.Shapes),
		compare_with:      a.source(options.Compare),
		arrivals:          (*C.gangsched_arrival)(first(arrivals)),
		arrival_count:     C.size_t(len(arrivals)),
		most_made_pods:    C.uint64_t(options.MostMadePods),
	}
	if err := a.check(); err != nil {
		return nil, nil, err
	}
	var text, told *C.char
	code := C.gangsched_simulate((*C.gangsched_source)(first(given)), C.size_t(len(given)), how, &text, &told, call.failure)
	defer C.gangsched_free(text)
	defer C.gangsched_free(told)
	if lines := strings.TrimSuffix(C.GoString(told), "\n"); lines != "" {
		warnings = strings.Split(lines, "\n")
	}
	return []byte(C.GoString(text)), warnings, call.said(code)
}

func (o *SimulationOptions) flags() C.uint32_t {
	var all C.uint32_t
	for _, one := range []struct {
		asked bool
		flag  C.uint32_t
	}{
		{o.LiveControllers, C.GANGSCHED_SIMULATE_LIVE_CONTROLLERS},
		{o.AllSchedulers, C.GANGSCHED_SIMULATE_ALL_SCHEDULERS},
		{o.KeepGoing, C.GANGSCHED_SIMULATE_KEEP_GOING},
		{o.NoGrace, C.GANGSCHED_SIMULATE_NO_GRACE},
		{o.ScaleDown, C.GANGSCHED_SIMULATE_SCALE_DOWN},
		{o.Timeline, C.GANGSCHED_SIMULATE_TIMELINE},
		{o.All, C.GANGSCHED_SIMULATE_SAY_ALL},
		{o.GPUs, C.GANGSCHED_SIMULATE_SAY_GPUS},
		{o.Queues, C.GANGSCHED_SIMULATE_SAY_QUEUES},
	} {
		if one.asked {
			all |= one.flag
		}
	}
	return all
}

// source is a file as C reads it; no text is no file.
func (a *arena) source(file Source) C.gangsched_source {
	made := C.gangsched_source{name: a.text(file.Name), size: C.size_t(len(file.Text))}
	if len(file.Text) > 0 {
		made.text = a.document(file.Text)
	}
	return made
}
