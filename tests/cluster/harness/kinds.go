package harness

import (
	"context"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Reach is a cluster that somebody else runs. Programs that are started keep their files in the folder.
func Reach(kubeconfig, folder string) (*Plane, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	client, err := kubernetes.NewForConfig(config)
	return &Plane{Options: Options{Folder: folder}, Kubeconfig: kubeconfig, Config: config, Client: client, server: config.Host}, err
}

// InstallKind makes a kind of objects that say anything, with such subresources, and waits until the API server has it.
func InstallKind(ctx context.Context, config *rest.Config, kind schema.GroupVersionResource, name string, namespaced bool, subresources ...string) error {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	scope := "Cluster"
	if namespaced {
		scope = "Namespaced"
	}
	parts := map[string]any{}
	for _, one := range subresources {
		parts[one] = map[string]any{}
	}
	definition := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": kind.Resource + "." + kind.Group},
		"spec": map[string]any{
			"group": kind.Group, "scope": scope,
			"names": map[string]any{"kind": name, "plural": kind.Resource, "singular": strings.ToLower(name), "listKind": name + "List"},
			"versions": []any{map[string]any{
				"name": kind.Version, "served": true, "storage": true, "subresources": parts,
				"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
			}},
		},
	}}
	definitions := client.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	if _, err := definitions.Create(ctx, definition, metav1.CreateOptions{}); err != nil {
		return err
	}
	for ctx.Err() == nil {
		if _, err = client.Resource(kind).List(ctx, metav1.ListOptions{}); !apierrors.IsNotFound(err) {
			return err
		}
		time.Sleep(100 * time.Millisecond)
	}
	return ctx.Err()
}
