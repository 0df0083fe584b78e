package settings

import (
	"strings"
	"testing"
	"time"

	"gangsched"
)

func TestAllReplicasAreActiveOnlyIfTheFileSaysSo(t *testing.T) {
	for text, active := range map[string]bool{"": false, "gangsched: {seed: 3}": false, "gangsched: {replicas: active-active}": true} {
		made, err := parse([]byte(text))
		if err != nil || made.Gangsched.ActiveActive() != active {
			t.Errorf("%q: %+v, %v", text, made, err)
		}
	}
	for _, text := range []string{"gangsched: {replicas: all}", "gangsched: {replicas: active-active, queues: true}"} {
		if _, err := parse([]byte(text)); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
}

func TestWhatIsThisProgramsIsNotTheLibrarys(t *testing.T) {
	made, err := parse([]byte(`
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {leaderElect: false, leaseDuration: 3s}
clientConnection: {qps: 5}
podMaxBackoffSeconds: 2
profiles: [{schedulerName: a}, {schedulerName: b}]
gangsched: {requestTimeout: 2s, parallelWrites: 7}
`))
	if err != nil {
		t.Fatal(err)
	}
	if made.LeaderElection.Elects() || made.LeaderElection.LeaseDuration.Duration != 3*time.Second || made.ClientConnection.QPS != 5 {
		t.Errorf("%+v", made)
	}
	if made.Gangsched.RequestTimeout.Duration != 2*time.Second || made.Gangsched.ParallelWrites != 7 || made.Gangsched.VolumeBindTimeout.Duration != 10*time.Minute {
		t.Errorf("%+v", made.Gangsched)
	}
	if names := made.SchedulerNames(); len(names) != 2 || !names["a"] || !names["b"] {
		t.Errorf("%v", names)
	}
	for _, ours := range []string{"gangsched", "leaderElection", "clientConnection"} {
		if strings.Contains(made.Library, ours) {
			t.Errorf("the library is handed %s", ours)
		}
	}
	cluster := gangsched.NewCluster()
	defer cluster.Close()
	scheduler, err := gangsched.NewScheduler(cluster, made.Options())
	if err != nil {
		t.Fatal(err)
	}
	scheduler.Close()
}

func TestAMisspeltSettingIsAnError(t *testing.T) {
	if _, err := parse([]byte("gangsched: {paralelWrites: 7}")); err == nil || !strings.Contains(err.Error(), "paralelWrites") {
		t.Error(err)
	}
}

func TestNoFileIsTheUsualScheduler(t *testing.T) {
	made, err := Read("")
	if err != nil {
		t.Fatal(err)
	}
	if !made.LeaderElection.Elects() || !made.SchedulerNames()["default-scheduler"] || made.Library != "" {
		t.Errorf("%+v", made)
	}
}

func TestWithQueuesTheRestOfTheFileCountsAsWell(t *testing.T) {
	for _, text := range []string{"gangsched: {queues: true}", `
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
podMaxBackoffSeconds: 2
gangsched: {queues: true}
`} {
		made, err := parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(made.Library, "FairShare") || strings.Contains(text, "Backoff") != strings.Contains(made.Library, "podMaxBackoffSeconds: 2") {
			t.Errorf("%q becomes %q", text, made.Library)
		}
		cluster := gangsched.NewCluster()
		scheduler, err := gangsched.NewScheduler(cluster, made.Options())
		if err != nil {
			t.Fatal(err)
		}
		scheduler.Close()
		cluster.Close()
	}
}

func TestReplicasOfOneFileBreakTiesDifferently(t *testing.T) {
	seeds := map[uint64]bool{}
	for range 10 {
		made, err := parse(nil)
		if err != nil {
			t.Fatal(err)
		}
		seeds[made.Gangsched.Seed] = true
	}
	if len(seeds) != 10 || seeds[0] {
		t.Errorf("%v", seeds)
	}
	if made, err := parse([]byte("gangsched: {seed: 3}")); err != nil || made.Gangsched.Seed != 3 {
		t.Errorf("%+v, %v", made, err)
	}
}
