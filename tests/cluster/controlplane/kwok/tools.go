//go:build tools

// Package kwok names the version of KWOK, which plays the kubelets; `go build sigs.k8s.io/kwok/cmd/kwok` here builds it.
package kwok

import _ "sigs.k8s.io/kwok/cmd/kwok"
