// Package serve answers over HTTP: whether the scheduler lives, what it counts, and why a pod waits.
package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/pprof"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/common/expfmt"
	"k8s.io/apimachinery/pkg/types"

	"gangsched"
	"gangsched/examples/kubernetes-scheduler/internal/loop"
	"gangsched/examples/kubernetes-scheduler/internal/mirror"
)

// State is what the probes ask.
type State struct {
	Loop  *loop.Loop
	Ready func() error // nil when the scheduler has heard what there is
	// Snapshot is what the API server has said, as a list of objects in JSON.
	Snapshot func() ([]byte, error)
}

const longestAnswer = 30 * time.Second

// Handler has all paths.
func Handler(s State) http.Handler {
	mux := http.NewServeMux()
	probe := func(checks ...func() error) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			for _, check := range checks {
				if err := check(); err != nil {
					http.Error(w, err.Error(), http.StatusServiceUnavailable)
					return
				}
			}
			fmt.Fprint(w, "ok")
		}
	}
	mux.HandleFunc("GET /livez", probe(s.Loop.Alive))
	mux.HandleFunc("GET /healthz", probe(s.Loop.Alive))
	mux.HandleFunc("GET /readyz", probe(s.Loop.Alive, s.Ready))
	mux.HandleFunc("GET /metrics", s.metrics(s.processMetrics()))
	mux.HandleFunc("GET /debug/explain/{namespace}/{pod}", s.explain)
	mux.HandleFunc("GET /debug/queue", s.queue)
	mux.HandleFunc("GET /debug/replicas", s.replicas)
	mux.HandleFunc("GET /debug/snapshot", s.snapshot)
	mux.HandleFunc("GET /debug/trace", answer(s, "application/json", func(_ *http.Request, _ *gangsched.Cluster, of *gangsched.Scheduler, _ *mirror.Mirror) (string, error) {
		return of.Trace()
	}))
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	return mux
}

// answer asks in the loop and writes what is said.
func answer(s State, kind string, question func(*http.Request, *gangsched.Cluster, *gangsched.Scheduler, *mirror.Mirror) (string, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), longestAnswer)
		defer cancel()
		said, err := loop.Ask(ctx, s.Loop, func(c *gangsched.Cluster, of *gangsched.Scheduler, m *mirror.Mirror) (string, error) {
			return question(r, c, of, m)
		})
		if err != nil {
			http.Error(w, err.Error(), http.StatusNotFound)
			return
		}
		w.Header().Set("Content-Type", kind)
		fmt.Fprint(w, said)
	}
}

// processMetrics are those of the program; the library has kube-scheduler's.
func (s State) processMetrics() *prometheus.Registry {
	made := prometheus.NewRegistry()
	made.MustRegister(collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), collectors.NewGoCollector(),
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "gangsched_decisions_cpu_seconds_total", Help: "Processor time that decisions took; process_cpu_seconds_total has the rest too.",
		}, func() float64 { return s.Loop.Decided().Seconds() }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "gangsched_lost_attempts_total", Help: "Attempts that another active replica was faster than, or may have been; where one leads there are none.",
		}, func() float64 { return float64(s.Loop.Lost()) }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "gangsched_replica_conflicts_total", Help: "How often what replicas tell each other had changed when this one wrote to it.",
		}, func() float64 { return float64(s.Loop.Conflicts()) }))
	return made
}

func (s State) metrics(process *prometheus.Registry) http.HandlerFunc {
	library := answer(s, string(expfmt.NewFormat(expfmt.TypeTextPlain)), func(_ *http.Request, _ *gangsched.Cluster, of *gangsched.Scheduler, _ *mirror.Mirror) (string, error) {
		return of.Metrics()
	})
	return func(w http.ResponseWriter, r *http.Request) {
		library(w, r)
		families, err := process.Gather()
		if err != nil {
			return
		}
		for _, family := range families {
			if _, err := expfmt.MetricFamilyToText(w, family); err != nil {
				return
			}
		}
	}
}

// explain says why a pod is where it is: as a line, or with ?nodes for each node.
func (s State) explain(w http.ResponseWriter, r *http.Request) {
	nodes := r.URL.Query().Has("nodes")
	kind := "text/plain; charset=utf-8"
	if nodes {
		kind = "application/json"
	}
	answer(s, kind, func(r *http.Request, c *gangsched.Cluster, of *gangsched.Scheduler, m *mirror.Mirror) (string, error) {
		name := types.NamespacedName{Namespace: r.PathValue("namespace"), Name: r.PathValue("pod")}
		p := m.Find(name)
		switch {
		case p == nil:
			return "", fmt.Errorf("no pod %s is scheduled here", name)
		case !p.Waits():
			return fmt.Sprintf("it runs on %s\n", c.NodeName(c.PodNode(p.ID))), nil
		case p.Refused != "":
			return p.Refused + "\n", nil
		case nodes:
			return of.ExplainJSON(p.ID)
		}
		said, err := of.Explain(p.ID)
		return said + "\n", err
	})(w, r)
}

// snapshot is for gangsched-simulate.
func (s State) snapshot(w http.ResponseWriter, _ *http.Request) {
	said, err := s.Snapshot()
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(said)
}

// replicas is what replicas that are all active tell each other: which of them live, and which pods are being bound where.
func (s State) replicas(w http.ResponseWriter, r *http.Request) {
	answer(s, "application/json", func(*http.Request, *gangsched.Cluster, *gangsched.Scheduler, *mirror.Mirror) (string, error) {
		said, err := json.MarshalIndent(s.Loop.Replicas(), "", "  ")
		return string(said) + "\n", err
	})(w, r)
}

// queue says how many stand where, and which pods wait.
func (s State) queue(w http.ResponseWriter, r *http.Request) {
	answer(s, "application/json", func(_ *http.Request, _ *gangsched.Cluster, of *gangsched.Scheduler, m *mirror.Mirror) (string, error) {
		said, err := json.MarshalIndent(struct {
			Counts  gangsched.Counts  `json:"counts"`
			Waiting map[string]string `json:"waiting"`
		}{of.Counts(), m.Waiting()}, "", "  ")
		return string(said) + "\n", err
	})(w, r)
}
