// Package settings reads a KubeSchedulerConfiguration, and the section `gangsched` that it may have for what kube-scheduler has no words for.
package settings

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"gangsched"
)

// Settings are those of the program; the library reads profiles, plugins and backoffs itself.
type Settings struct {
	LeaderElection   LeaderElection   `json:"leaderElection"`
	ClientConnection ClientConnection `json:"clientConnection"`
	Gangsched        Gangsched        `json:"gangsched"`
	Profiles         []struct {
		SchedulerName string `json:"schedulerName"`
	} `json:"profiles"`

	// Library is the file without what is only this program's.
	Library string `json:"-"`
}

// LeaderElection is component-base's LeaderElectionConfiguration.
type LeaderElection struct {
	LeaderElect       *bool           `json:"leaderElect"`
	LeaseDuration     metav1.Duration `json:"leaseDuration"`
	RenewDeadline     metav1.Duration `json:"renewDeadline"`
	RetryPeriod       metav1.Duration `json:"retryPeriod"`
	ResourceName      string          `json:"resourceName"`
	ResourceNamespace string          `json:"resourceNamespace"`
}

// ClientConnection is component-base's ClientConnectionConfiguration. A qps of 0 means no limit: the API server has priorities and fairness of its own.
type ClientConnection struct {
	Kubeconfig string  `json:"kubeconfig"`
	QPS        float32 `json:"qps"`
	Burst      int     `json:"burst"`
}

// Gangsched is what only this scheduler has.
type Gangsched struct {
	// Queues: quota by queues, where queue objects are installed. Without profiles of its own the file gets one that goes by them.
	Queues bool `json:"queues"`
	// ParallelWrites is how many requests to the API server may be under way at once. 0: 64.
	ParallelWrites int `json:"parallelWrites"`
	// RequestTimeout ends a request that is not answered. What became of a bind is found out then. 0: 10 s.
	RequestTimeout metav1.Duration `json:"requestTimeout"`
	// VolumeBindTimeout is how long a pod's claims of volumes may take to be bound. 0: 10 min, kube-scheduler's.
	VolumeBindTimeout metav1.Duration `json:"volumeBindTimeout"`
	// Seed of ties between equal nodes. Replicas that share a cluster have different ones, so that they seldom want the same node. 0: one by chance.
	Seed uint64 `json:"seed"`
	// TraceRecords: how many records of the time of calls are kept for /debug/trace. 0: none.
	TraceRecords int `json:"traceRecords"`
	// Replicas: "active-active" if all of them schedule at once, each its share of the pods; else one leads. What they tell each other is in a ConfigMap
	// that is called as the leader election's Lease.
	Replicas string `json:"replicas"`
}

// ActiveActive says whether all replicas schedule at once.
func (g *Gangsched) ActiveActive() bool { return g.Replicas == activeActive }

const activeActive = "active-active"

// ofProgram are the fields of the file that the library does not read.
var ofProgram = []string{"gangsched", "leaderElection", "clientConnection", "healthzBindAddress", "metricsBindAddress", "enableProfiling",
	"enableContentionProfiling", "delayCacheUntilActive", "parallelism"}

// Read reads a file; an empty name is the default configuration.
func Read(file string) (*Settings, error) {
	if file == "" {
		return parse(nil)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	made, err := parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return made, nil
}

func parse(text []byte) (*Settings, error) {
	made := &Settings{}
	if err := yaml.Unmarshal(text, made); err != nil {
		return nil, err
	}
	fields := map[string]any{}
	if err := yaml.Unmarshal(text, &fields); err != nil {
		return nil, err
	}
	if section, ok := fields["gangsched"]; ok {
		again, err := yaml.Marshal(section)
		if err != nil {
			return nil, err
		}
		if err := yaml.UnmarshalStrict(again, &Gangsched{}); err != nil {
			return nil, fmt.Errorf("gangsched: %w", err) // a setting that is misspelt would be silently without effect
		}
	}
	switch g := &made.Gangsched; {
	case g.Replicas != "" && !g.ActiveActive():
		return nil, fmt.Errorf("gangsched: replicas: %q is not %q", g.Replicas, activeActive)
	case g.ActiveActive() && g.Queues:
		return nil, errors.New("gangsched: queues: replicas that are all active do not know what the others take of a quota")
	}
	for _, field := range ofProgram {
		delete(fields, field)
	}
	if made.Gangsched.Queues && len(made.Profiles) == 0 {
		byQueues(fields)
	}
	if len(fields) != 0 {
		library, err := yaml.Marshal(fields)
		if err != nil {
			return nil, err
		}
		made.Library = string(library)
	}
	made.fill()
	return made, nil
}

// byQueues gives a configuration a profile that goes by queues.
func byQueues(fields map[string]any) {
	for field, value := range map[string]string{"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"} {
		if _, some := fields[field]; !some {
			fields[field] = value
		}
	}
	one := map[string]any{"enabled": []any{map[string]any{"name": "FairShare"}}}
	// (Named at postFilter as well it comes before DefaultPreemption, which has no word on pods in queues.)
	plugins := map[string]any{"multiPoint": one, "postFilter": one}
	fields["profiles"] = []any{map[string]any{"schedulerName": defaultName, "plugins": plugins}}
}

func (s *Settings) fill() {
	orElse(&s.LeaderElection.LeaseDuration.Duration, 15*time.Second)
	orElse(&s.LeaderElection.RenewDeadline.Duration, 10*time.Second)
	orElse(&s.LeaderElection.RetryPeriod.Duration, 2*time.Second)
	orElse(&s.LeaderElection.ResourceName, "gangsched")
	orElse(&s.LeaderElection.ResourceNamespace, metav1.NamespaceSystem)
	orElse(&s.Gangsched.ParallelWrites, 64)
	orElse(&s.Gangsched.RequestTimeout.Duration, 10*time.Second)
	orElse(&s.Gangsched.VolumeBindTimeout.Duration, 10*time.Minute)
	orElse(&s.Gangsched.Seed, rand.Uint64()|1) // (not 0)
}

func orElse[T comparable](value *T, otherwise T) {
	var none T
	if *value == none {
		*value = otherwise
	}
}

// Elects says whether there is an election of a leader: as for kube-scheduler there is, unless the file says otherwise.
func (l *LeaderElection) Elects() bool { return l.LeaderElect == nil || *l.LeaderElect }

// SchedulerNames are those whose pods are scheduled.
func (s *Settings) SchedulerNames() map[string]bool {
	names := map[string]bool{}
	for _, profile := range s.Profiles {
		if profile.SchedulerName == "" {
			names[defaultName] = true
		} else {
			names[profile.SchedulerName] = true
		}
	}
	if len(names) == 0 {
		names[defaultName] = true
	}
	return names
}

const defaultName = "default-scheduler"

// Options are those of the library's scheduler.
func (s *Settings) Options() gangsched.Options {
	made := gangsched.Options{
		Seed:          s.Gangsched.Seed,
		Configuration: s.Library,
		Metrics:       gangsched.TimedMetrics,
		EventsKept:    1 << 16,
		CountReasons:  true,
	}
	if s.Gangsched.TraceRecords > 0 {
		made.Trace, made.TraceRecords = gangsched.TimedTrace, s.Gangsched.TraceRecords
	}
	return made
}

// Connection applies the limits of the file to how the API server is reached.
func (c *ClientConnection) Connection(to *rest.Config) {
	to.QPS, to.Burst = c.QPS, c.Burst
	if c.QPS == 0 {
		to.QPS = -1
	}
}
