// Package harness runs a Kubernetes control plane on loopback, with fake kubelets: etcd, kube-apiserver, kube-controller-manager, KWOK, and if wanted
// kube-scheduler. What it starts ends with it, also if the program is killed.
package harness

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// Options of a control plane.
type Options struct {
	Binaries string // the folder with controlplane, kwok and stages
	Folder   string // for data, logs and the kubeconfig
	// Durable: etcd waits for the disk, as where it may be killed.
	Durable bool
	// Members of etcd; 0 is one. They are etcd-0, etcd-1 and so on.
	Members int
	// Gates are feature gates of the API server beside those of groups: ",WorkloadAwarePreemption=true".
	Gates string
	// Users beside the administrator, by name; each one's token is its name.
	Users []string
}

// Plane is a control plane that runs.
type Plane struct {
	Options
	Kubeconfig string
	Config     *rest.Config
	Client     kubernetes.Interface

	server    string // its address
	processes []*Process
}

const administrator = "administrator"

// Start starts one, and returns when the API server answers and nodes can come.
func Start(ctx context.Context, options Options) (*Plane, error) {
	p := &Plane{Options: options}
	if err := p.start(ctx); err != nil {
		p.Stop()
		return nil, err
	}
	return p, nil
}

func (p *Plane) start(ctx context.Context) error {
	ports, err := freePorts(1)
	if err != nil {
		return err
	}
	p.server = "https://127.0.0.1:" + ports[0]
	if err := p.files(); err != nil {
		return err
	}
	p.Config = &rest.Config{Host: p.server, BearerToken: administrator, TLSClientConfig: rest.TLSClientConfig{Insecure: true}, QPS: -1}
	if p.Client, err = kubernetes.NewForConfig(p.Config); err != nil {
		return err
	}
	etcd, err := p.etcd()
	if err != nil {
		return err
	}
	if _, err := p.Component("kube-apiserver", "--etcd-servers", etcd, "--secure-port", ports[0], "--bind-address", "127.0.0.1", "--cert-dir", p.path("certificates"),
		"--service-cluster-ip-range", "10.96.0.0/16", "--service-account-issuer", "https://kubernetes.default.svc",
		"--service-account-key-file", p.path("accounts.key"), "--service-account-signing-key-file", p.path("accounts.key"),
		"--token-auth-file", p.path("tokens.csv"), "--authorization-mode", "RBAC",
		"--disable-admission-plugins", "ServiceAccount", // pods need no account
		"--feature-gates", p.gates(), "--runtime-config", "scheduling.k8s.io/v1alpha2=true",
		"--max-requests-inflight", "3000", "--max-mutating-requests-inflight", "1000"); err != nil {
		return err
	}
	if err := p.Ready(ctx); err != nil {
		return err
	}
	if _, err := p.ControllerManager("*"); err != nil {
		return err
	}
	stages, err := filepath.Glob(filepath.Join(p.Binaries, "stages", "*.yaml"))
	if err != nil || len(stages) == 0 {
		return fmt.Errorf("no stages for kwok in %s: %w", p.Binaries, err)
	}
	arguments := []string{"--kubeconfig", p.Kubeconfig, "--manage-all-nodes=true"}
	for _, stage := range stages {
		arguments = append(arguments, "--config", stage)
	}
	_, err = p.Run("kwok", filepath.Join(p.Binaries, "kwok"), arguments...)
	return err
}

func (p *Plane) gates() string { return "GenericWorkload=true,GangScheduling=true" + p.Gates }

// ControllerManager starts kube-controller-manager with those of its controllers; "*": all that it has by default.
func (p *Plane) ControllerManager(controllers string) (*Process, error) {
	ports, err := freePorts(1)
	if err != nil {
		return nil, err
	}
	return p.Component("kube-controller-manager", "--kubeconfig", p.Kubeconfig, "--service-account-private-key-file", p.path("accounts.key"),
		"--root-ca-file", p.path("certificates/apiserver.crt"), "--bind-address", "127.0.0.1", "--secure-port", ports[0], "--leader-elect=false",
		"--kube-api-qps", "500", "--kube-api-burst", "1000", "--feature-gates", p.gates(), "--controllers", controllers)
}

// etcd starts its members, and returns their addresses.
func (p *Plane) etcd() (addresses string, err error) {
	count := max(1, p.Members)
	ports, err := freePorts(2 * count)
	if err != nil {
		return "", err
	}
	sync := "--unsafe-no-fsync"
	if p.Durable {
		sync = "--unsafe-no-fsync=false"
	}
	var clients, members []string
	for i := range count {
		clients = append(clients, "http://127.0.0.1:"+ports[2*i])
		members = append(members, fmt.Sprintf("etcd-%d=http://127.0.0.1:%s", i, ports[2*i+1]))
	}
	for i := range count {
		name, peer, _ := strings.Cut(members[i], "=")
		if _, err := p.Run(name, filepath.Join(p.Binaries, "controlplane"), "etcd", "--name", name, "--data-dir", p.path(name), "--log-level", "error", sync,
			"--listen-client-urls", clients[i], "--advertise-client-urls", clients[i],
			"--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", strings.Join(members, ",")); err != nil {
			return "", err
		}
	}
	return strings.Join(clients, ","), nil
}

func (p *Plane) path(name string) string { return filepath.Join(p.Folder, name) }

// files writes the key of service accounts, tokens, and the kubeconfig.
func (p *Plane) files() error {
	if err := os.MkdirAll(p.Folder, 0o700); err != nil {
		return err
	}
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return err
	}
	coded := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
	tokens := administrator + "," + administrator + "," + administrator + ",system:masters\n"
	for _, user := range p.Users {
		tokens += user + "," + user + "," + user + "\n"
	}
	p.Kubeconfig = p.path("kubeconfig")
	return errors.Join(
		os.WriteFile(p.path("accounts.key"), coded, 0o600),
		os.WriteFile(p.path("tokens.csv"), []byte(tokens), 0o600),
		WriteKubeconfig(p.Kubeconfig, p.server, administrator),
	)
}

// WriteKubeconfig writes how to reach a server with a token.
func WriteKubeconfig(file, server, token string) error {
	return os.WriteFile(file, fmt.Appendf(nil, `apiVersion: v1
kind: Config
clusters: [{name: local, cluster: {server: %q, insecure-skip-tls-verify: true}}]
users: [{name: user, user: {token: %q}}]
contexts: [{name: local, context: {cluster: local, user: user}}]
current-context: local
`, server, token), 0o600)
}

// Server is the address of the API server.
func (p *Plane) Server() string { return p.server }

// Component starts a program of the control plane.
func (p *Plane) Component(name string, arguments ...string) (*Process, error) {
	return p.Run(name, filepath.Join(p.Binaries, "controlplane"), append([]string{name}, arguments...)...)
}

// Run starts a program that ends with the control plane; what it says is in the folder.
func (p *Plane) Run(name, file string, arguments ...string) (*Process, error) {
	process := &Process{Name: name, file: file, arguments: arguments, log: p.path(name + ".log")}
	if err := process.Start(); err != nil {
		return nil, err
	}
	p.processes = append(p.processes, process)
	return process, nil
}

// Process is the program of that name; nil if there is none.
func (p *Plane) Process(name string) *Process {
	for _, one := range p.processes {
		if one.Name == name {
			return one
		}
	}
	return nil
}

// End ends one program before the others, for good.
func (p *Plane) End(process *Process) {
	process.Kill()
	p.processes = slices.DeleteFunc(p.processes, func(one *Process) bool { return one == process })
}

// KubeScheduler starts the scheduler of Kubernetes.
func (p *Plane) KubeScheduler(configuration string) (*Process, error) {
	ports, err := freePorts(1)
	if err != nil {
		return nil, err
	}
	arguments := []string{"--kubeconfig", p.Kubeconfig, "--bind-address", "127.0.0.1", "--secure-port", ports[0], "--leader-elect=false",
		"--feature-gates", "GenericWorkload=true,GangScheduling=true", "--kube-api-qps", "100000", "--kube-api-burst", "100000"}
	if configuration != "" {
		arguments = append(arguments, "--config", configuration)
	}
	return p.Component("kube-scheduler", arguments...)
}

const startTime = 5 * time.Minute // on a machine that is busy

// Ready waits until the API server answers.
func (p *Plane) Ready(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	for {
		said, err := p.Client.Discovery().RESTClient().Get().AbsPath("/readyz").DoRaw(limited)
		if err == nil && string(said) == "ok" {
			return nil
		}
		if server := p.Process("kube-apiserver"); server.Ended() {
			return fmt.Errorf("the API server ended: %s", server.log)
		}
		select {
		case <-limited.Done():
			return fmt.Errorf("the API server does not answer: %w", errors.Join(err, limited.Err()))
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// Stop ends everything, last come first.
func (p *Plane) Stop() {
	for i := len(p.processes) - 1; i >= 0; i-- {
		p.processes[i].Kill()
	}
	p.processes = nil
}

func freePorts(count int) ([]string, error) {
	var made []string
	for range count {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer listener.Close() // all at once, so that none comes twice
		_, port, err := net.SplitHostPort(listener.Addr().String())
		if err != nil {
			return nil, err
		}
		made = append(made, port)
	}
	return made, nil
}
