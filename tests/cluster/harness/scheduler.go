package harness

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"
)

// Scheduler is a kubernetes-scheduler that runs.
type Scheduler struct {
	*Process
	Address string // where it answers
}

// noElection is the configuration of a scheduler that is alone.
const noElection = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nleaderElection: {leaderElect: false}\n"

// Gangsched starts the scheduler that is tested, alone: without an election of a leader. A configuration says what else is not as usual, and a
// kubeconfig how it reaches the API server; both may be empty.
func (p *Plane) Gangsched(ctx context.Context, binary, configuration, kubeconfig string) (*Scheduler, error) {
	return p.Scheduler(ctx, binary, noElection+configuration, kubeconfig)
}

// Scheduler is the same with a whole configuration.
func (p *Plane) Scheduler(ctx context.Context, binary, configuration, kubeconfig string) (*Scheduler, error) {
	return p.Replica(ctx, "gangsched", binary, configuration, kubeconfig)
}

// Replica is the same with a name of its own.
func (p *Plane) Replica(ctx context.Context, name, binary, configuration, kubeconfig string) (*Scheduler, error) {
	ports, err := freePorts(1)
	if err != nil {
		return nil, err
	}
	if kubeconfig == "" {
		kubeconfig = p.Kubeconfig
	}
	file := p.path(name + ".yaml")
	if err := os.WriteFile(file, []byte(configuration), 0o600); err != nil {
		return nil, err
	}
	made := &Scheduler{Address: "127.0.0.1:" + ports[0]}
	made.Process, err = p.Run(name, binary, "--config", file, "--kubeconfig", kubeconfig, "--bind-address", made.Address)
	if err != nil {
		return nil, err
	}
	return made, made.Ready(ctx)
}

// Get is what it answers to a path.
func (s *Scheduler) Get(ctx context.Context, path string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.Address+path, nil)
	if err != nil {
		return "", err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	said, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s: %s", path, answer.Status, said)
	}
	return string(said), err
}

// Ready waits until it knows what there is.
func (s *Scheduler) Ready(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	for {
		_, err := s.Get(limited, "/readyz")
		if err == nil {
			return nil
		}
		if s.Ended() {
			return fmt.Errorf("the scheduler ended: %s", s.Log())
		}
		select {
		case <-limited.Done():
			return errors.Join(err, limited.Err())
		case <-time.After(50 * time.Millisecond):
		}
	}
}
