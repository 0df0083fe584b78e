// operator makes the pods of Gangs when the library says that all of them fit, and says in their status why they wait as long as they do not.
package main

import (
	"fmt"
	"os"

	"k8s.io/apimachinery/pkg/runtime"
	clientgo "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"gangsched/examples/operator/internal/api"
	"gangsched/examples/operator/internal/controller"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "operator:", err)
		os.Exit(1)
	}
}

func run() error {
	ctrl.SetLogger(zap.New())
	scheme := runtime.NewScheme()
	if err := clientgo.AddToScheme(scheme); err != nil {
		return err
	}
	if err := api.AddToScheme(scheme); err != nil {
		return err
	}
	config, err := ctrl.GetConfig() // --kubeconfig, $KUBECONFIG, or that of the pod
	if err != nil {
		return err
	}
	manager, err := ctrl.NewManager(config, ctrl.Options{Scheme: scheme})
	if err != nil {
		return err
	}
	if err := (&controller.Reconciler{Client: manager.GetClient()}).Setup(manager); err != nil {
		return err
	}
	return manager.Start(ctrl.SetupSignalHandler())
}
