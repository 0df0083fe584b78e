// showcase runs the scheduler on a control plane with a hundred fake nodes, or on a cluster of the user's, and shows what it does with a gang, with
// somebody urgent, and with a queue that has used what it may. scripts/cluster builds what it needs.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	var s show
	flag.StringVar(&s.binaries, "binaries", "", "the folder with controlplane, kwok and stages")
	flag.StringVar(&s.scheduler, "scheduler", "", "the binary of kubernetes-scheduler")
	flag.StringVar(&s.kubeconfig, "kubeconfig", "", "a cluster to use in place of one of its own")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := s.run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "cluster:", err)
		os.Exit(1)
	}
}
