package harness

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Process is a program that can be killed and started again.
type Process struct {
	Name      string
	file, log string
	arguments []string

	mu   sync.Mutex
	run  *exec.Cmd
	over chan struct{} // closed when it has ended
}

// Start starts it; what it says is added to its log.
func (p *Process) Start() error {
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	run := exec.Command(p.file, p.arguments...)
	run.Stdout, run.Stderr = log, log
	run.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true} // a signal of the terminal is for us
	if err := run.Start(); err != nil {
		return err
	}
	over := make(chan struct{})
	p.mu.Lock()
	p.run, p.over = run, over
	p.mu.Unlock()
	go func() {
		_ = run.Wait() // how it ended is in its log
		close(over)
	}()
	return nil
}

// Kill ends it at once, as a machine that fails does.
func (p *Process) Kill() { p.signal(syscall.SIGKILL) }

// Terminate asks it to end, and waits until it has.
func (p *Process) Terminate() { p.signal(syscall.SIGTERM) }

// Pause stops it where it is, as a machine that hangs does.
func (p *Process) Pause() { p.send(syscall.SIGSTOP) }

// Resume has it go on.
func (p *Process) Resume() { p.send(syscall.SIGCONT) }

func (p *Process) signal(what syscall.Signal) {
	if over := p.send(what); over != nil {
		<-over
	}
}

// send sends a signal, and returns what is closed when the program has ended; nil if it never ran.
func (p *Process) send(what syscall.Signal) <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.run == nil {
		return nil
	}
	_ = p.run.Process.Signal(what) // it may have ended already
	return p.over
}

// Ended says whether it runs no more.
func (p *Process) Ended() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.over:
		return true
	default:
		return false
	}
}

// Log is what it said so far.
func (p *Process) Log() string {
	said, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	return string(said)
}

// Usage is what a process has used: processor time, the most memory that it had at once, and what it has.
type Usage struct {
	CPU            time.Duration
	Peak, Resident int64 // bytes
}

// Usage is that of the process so far.
func (p *Process) Usage() (Usage, error) {
	p.mu.Lock()
	id := p.run.Process.Pid
	p.mu.Unlock()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", id))
	if err != nil {
		return Usage{}, err
	}
	_, after, _ := strings.Cut(string(stat), ") ") // the name of the program may have blanks
	fields := strings.Fields(after)
	const user, system, ticks = 11, 12, 100
	var made Usage
	for _, field := range []int{user, system} {
		count, err := strconv.ParseInt(fields[field], 10, 64)
		if err != nil {
			return Usage{}, err
		}
		made.CPU += time.Duration(count) * time.Second / ticks
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", id))
	if err != nil {
		return Usage{}, err
	}
	for line := range strings.Lines(string(status)) {
		for name, to := range map[string]*int64{"VmHWM:": &made.Peak, "VmRSS:": &made.Resident} {
			if rest, ok := strings.CutPrefix(line, name); ok {
				kilobytes, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
				if err != nil {
					return Usage{}, err
				}
				*to = kilobytes << 10
			}
		}
	}
	return made, nil
}
