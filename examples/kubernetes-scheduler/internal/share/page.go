package share

import (
	"context"
	"errors"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"
)

// Page is where the document is: a ConfigMap.
type Page struct {
	Client          kubernetes.Interface
	Namespace, Name string
	Timeout         time.Duration // of a request
}

const key = "document"

// Of is the document in an object, and its version. Error: it is none of ours.
func Of(object *corev1.ConfigMap) (uint64, *Document, error) {
	made, err := Parse(object.Data[key])
	version := Version(object.ResourceVersion)
	if err == nil && version == 0 {
		err = errors.New("its resource version is no number")
	}
	return version, made, err
}

// Write writes a version of the document, only over the one that it was made of, and returns its resource version. Error: it is not known to be written.
func (p *Page) Write(ctx context.Context, what *Write) (uint64, error) {
	limited, cancel := context.WithTimeout(ctx, p.Timeout)
	defer cancel()
	text, err := what.Document.Text()
	if err != nil {
		return 0, err
	}
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: p.Name, Namespace: p.Namespace}, Data: map[string]string{key: text}}
	maps := p.Client.CoreV1().ConfigMaps(p.Namespace)
	if what.Create {
		object, err = maps.Create(limited, object, metav1.CreateOptions{})
	} else {
		object.ResourceVersion = strconv.FormatUint(what.Expected, 10)
		object, err = maps.Update(limited, object, metav1.UpdateOptions{})
	}
	if err != nil {
		return 0, err
	}
	return Version(object.ResourceVersion), nil
}

// Read asks the API server, which reads from etcd: the document is not older than the request. nil: there is none.
func (p *Page) Read(ctx context.Context) (uint64, *Document, error) {
	limited, cancel := context.WithTimeout(ctx, p.Timeout)
	defer cancel()
	object, err := p.Client.CoreV1().ConfigMaps(p.Namespace).Get(limited, p.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return 0, nil, nil
	}
	if err != nil {
		return 0, nil, err
	}
	return Of(object)
}

// What is not answered is asked again after the first of these, and then later and later: a replica that may not read the document may not for long.
const (
	readPause    = 200 * time.Millisecond
	longestPause = 10 * time.Second
)

// Await is Read until there is an answer, or the context ends.
func (p *Page) Await(ctx context.Context) (uint64, *Document, error) {
	for pause := readPause; ; pause = min(2*pause, longestPause) {
		version, doc, err := p.Read(ctx)
		if err == nil || ctx.Err() != nil {
			return version, doc, err
		}
		klog.ErrorS(err, "it is not known what other replicas do")
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

// Leave tells the other replicas that this one ends, so that they need not wait for its expiry. It is tried once: they notice without it, later.
func (p *Page) Leave(ctx context.Context, replica string) {
	version, doc, err := p.Read(ctx)
	if err != nil || doc == nil || !doc.Leave(replica) {
		return
	}
	if _, err := p.Write(ctx, &Write{Expected: version, Document: *doc}); err != nil {
		klog.V(2).InfoS("the other replicas find out later that this one ends", "reason", err.Error())
	}
}
