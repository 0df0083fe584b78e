package harness

import (
	"context"
	"crypto/tls"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Proxy stands between a scheduler and the API server, and does to binds what networks and servers do.
type Proxy struct {
	*httptest.Server
	// Faulty is how many of a hundred binds go wrong.
	Faulty atomic.Int32
	// Wrong is how many did.
	Wrong atomic.Int32

	forward http.Handler
	patient time.Duration
	mu      sync.Mutex
	bound   map[string]int // by path: binds that the API server has accepted
}

// NewProxy makes one that does no harm yet. A request that is lost is let through only when the client has surely given up.
func NewProxy(server string, patient time.Duration) (*Proxy, error) {
	to, err := url.Parse(server)
	if err != nil {
		return nil, err
	}
	forward := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(to) },
		Transport:     &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, MaxIdleConnsPerHost: 256}, // the control plane's own certificate
		FlushInterval: -1,                                                                                                // watches
		ErrorHandler:  func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}
	p := &Proxy{forward: forward, patient: patient, bound: map[string]int{}}
	p.Server = httptest.NewTLSServer(p) // clients keep tokens to themselves where nothing is encrypted
	return p, nil
}

// ServeHTTP lets a request through, or does not.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/binding") {
		p.forward.ServeHTTP(w, r)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	again := func(ctx context.Context) *http.Request {
		made := r.Clone(ctx)
		made.Body = io.NopCloser(strings.NewReader(string(body)))
		return made
	}
	if rand.Int32N(100) >= p.Faulty.Load() {
		p.bind(w, again(r.Context()))
		return
	}
	p.Wrong.Add(1)
	switch rand.IntN(5) {
	case 0: // somebody else was faster, it says
		fail(w, http.StatusConflict, "Conflict")
	case 1:
		fail(w, http.StatusInternalServerError, "InternalError")
	case 2: // it is bound, and the answer says that it is not known
		p.bind(httptest.NewRecorder(), again(context.WithoutCancel(r.Context())))
		fail(w, http.StatusInternalServerError, "InternalError")
	case 3: // it is bound, and no answer comes
		p.bind(httptest.NewRecorder(), again(context.WithoutCancel(r.Context())))
		<-r.Context().Done()
	case 4: // it arrives when nobody waits for it any more
		late := again(context.WithoutCancel(r.Context()))
		time.AfterFunc(p.patient, func() { p.bind(httptest.NewRecorder(), late) })
		<-r.Context().Done()
	}
}

func (p *Proxy) bind(w http.ResponseWriter, r *http.Request) {
	seen := &status{ResponseWriter: w}
	p.forward.ServeHTTP(seen, r)
	if seen.code == http.StatusCreated {
		p.mu.Lock()
		p.bound[r.URL.Path]++
		p.mu.Unlock()
	}
}

// Twice are the pods that were bound more than once.
func (p *Proxy) Twice() (made []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for path, count := range p.bound {
		if count > 1 {
			made = append(made, path)
		}
	}
	return made
}

func fail(w http.ResponseWriter, code int, reason string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"`+reason+`","message":"said by a test"}`)
}

// status remembers what code was answered.
type status struct {
	http.ResponseWriter
	code int
}

func (s *status) WriteHeader(code int) {
	s.code = code
	s.ResponseWriter.WriteHeader(code)
}

func (s *status) Flush() { s.ResponseWriter.(http.Flusher).Flush() }
