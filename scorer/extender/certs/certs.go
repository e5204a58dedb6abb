// Package certs serves HTTPS with certificate files that may change while a server runs.
// It decides when changed files take effect, and keeps the previous certificates while
// the new ones are unusable. It opens no listener and registers no metrics.
package certs

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/klog/v2"
)

// rereadInterval is the time between two readings of the certificate files. A
// changed file takes effect with the second reading.
const rereadInterval = 5 * time.Second

// Files holds the names of the files with which HTTPS is served. If all are empty, plain
// HTTP is served.
type Files struct {
	CertFile, KeyFile string
	// ClientCAFile, if set, requires clients to present a certificate signed by this CA.
	ClientCAFile string
}

// Validate reports what is missing.
func (f Files) Validate() error {
	if (f.CertFile == "") != (f.KeyFile == "") {
		return errors.New("TLS needs both a certificate and a key")
	}
	if f.ClientCAFile != "" && f.CertFile == "" {
		return errors.New("a client CA needs a certificate and a key to serve with")
	}
	return nil
}

// reading is the content of the files (certificate, key and client CA), or the error if
// they cannot be read.
type reading struct {
	content [3]string
	failure string
}

func (f Files) read() (found reading) {
	for i, file := range []string{f.CertFile, f.KeyFile, f.ClientCAFile} {
		if file == "" {
			continue
		}
		content, err := os.ReadFile(file)
		if err != nil {
			return reading{failure: err.Error()}
		}
		found.content[i] = string(content)
	}
	return found
}

// Identity holds the server's certificate and defines which clients it answers. It is
// immutable; changed files result in a new Identity.
type Identity struct {
	from   reading
	config *tls.Config
	// servingEnds and clientCAEnds are the times at which the first certificate in the
	// respective file expires. clientCAEnds is zero without a client CA.
	servingEnds, clientCAEnds time.Time
}

// identity returns the Identity of a reading, or an error that names the file.
func (f Files) identity(from reading) (*Identity, error) {
	if from.failure != "" {
		return nil, errors.New("reading the certificate files: " + from.failure)
	}
	pair, err := tls.X509KeyPair([]byte(from.content[0]), []byte(from.content[1]))
	if err != nil {
		return nil, fmt.Errorf("loading the serving certificate %q with its key %q: %w", f.CertFile, f.KeyFile, err)
	}
	id := &Identity{from: from, config: &tls.Config{
		MinVersion:   tls.VersionTLS12,
		Certificates: []tls.Certificate{pair},
		// Over HTTP/2, kube-scheduler would use one connection for everything, and keep
		// it for 45 s after losing the network.
		NextProtos: []string{"http/1.1"},
		// A resumed session would not be checked against a CA that has changed since.
		SessionTicketsDisabled: true,
		// Small records let a long reply start early, but most replies are sent in
		// one piece.
		DynamicRecordSizingDisabled: true,
	}}
	if _, id.servingEnds, err = certificates(from.content[0]); err != nil {
		return nil, fmt.Errorf("reading the serving certificate %q: %w", f.CertFile, err)
	}
	if f.ClientCAFile == "" {
		return id, nil
	}
	id.config.ClientAuth = tls.RequireAndVerifyClientCert
	if id.config.ClientCAs, id.clientCAEnds, err = certificates(from.content[2]); err != nil {
		return nil, fmt.Errorf("reading the client CA %q: %w", f.ClientCAFile, err)
	}
	return id, nil
}

// certificates returns the certificates of a PEM file, at least one, and when
// the first of them expires.
func certificates(content string) (pool *x509.CertPool, ends time.Time, err error) {
	pool = x509.NewCertPool()
	blocks := 0
	for block, rest := pem.Decode([]byte(content)); block != nil; block, rest = pem.Decode(rest) {
		if blocks++; block.Type != "CERTIFICATE" {
			continue
		}
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, ends, fmt.Errorf("parsing a certificate: %w", err)
		}
		pool.AddCert(cert)
		if ends.IsZero() || cert.NotAfter.Before(ends) {
			ends = cert.NotAfter
		}
	}
	if ends.IsZero() {
		return nil, ends, errors.New("it has no certificate")
	}
	if strings.Count(content, "-----BEGIN ") > blocks {
		return nil, ends, errors.New("a part of it cannot be decoded") // which Decode silently skips
	}
	return pool, ends, nil
}

// Keeper holds the Identity of the last usable version of the files. apiserver's dynamiccertificates does the same, but
// requires three controllers with queues.
type Keeper struct {
	files   Files
	current atomic.Pointer[Identity]

	reloads prometheus.Counter
	stale   prometheus.Gauge
	expiry  []prometheus.Collector

	mu sync.Mutex
	// last is the previous reading, and judged the one that was last judged.
	last, judged reading
}

// NewKeeper reads the files. It returns nil if there are none. subsystem is the
// part of the metrics' names that identifies the server.
func NewKeeper(files Files, subsystem string) (*Keeper, error) {
	if files.CertFile == "" {
		return nil, nil
	}
	found := files.read()
	id, err := files.identity(found)
	if err != nil {
		return nil, err
	}
	k := &Keeper{files: files, last: found, judged: found}
	k.current.Store(id)
	k.reloads = prometheus.NewCounter(prometheus.CounterOpts{
		Namespace: "evenkeel", Subsystem: subsystem, Name: "certificate_reloads_total",
		Help: "How often changed certificate files took effect.",
	})
	k.stale = prometheus.NewGauge(prometheus.GaugeOpts{
		Namespace: "evenkeel", Subsystem: subsystem, Name: "certificate_files_unusable",
		Help: "1 while the certificate files cannot be used and the previous certificates stay in use.",
	})
	ends := func(certificate string, of func(*Identity) time.Time) {
		k.expiry = append(k.expiry, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Namespace: "evenkeel", Subsystem: subsystem, Name: "certificate_expiry_timestamp_seconds",
			Help:        "When the first certificate of a file expires, in seconds since 1970.",
			ConstLabels: prometheus.Labels{"certificate": certificate},
		}, func() float64 { return float64(of(k.Current()).Unix()) }))
	}
	ends("serving", func(id *Identity) time.Time { return id.servingEnds })
	if files.ClientCAFile != "" {
		ends("client_ca", func(id *Identity) time.Time { return id.clientCAEnds })
	}
	return k, nil
}

// Metrics returns the metrics; none for a nil Keeper.
func (k *Keeper) Metrics() []prometheus.Collector {
	if k == nil {
		return nil
	}
	return append([]prometheus.Collector{k.reloads, k.stale}, k.expiry...)
}

// Current returns the Identity now.
func (k *Keeper) Current() *Identity { return k.current.Load() }

// Config returns the configuration for a listener, which follows the files.
func (k *Keeper) Config() *tls.Config {
	config := k.Current().config.Clone()
	config.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) { return k.Current().config, nil }
	return config
}

// Follow rereads the files periodically until the context ends.
func (k *Keeper) Follow(ctx context.Context) error {
	ticker := time.NewTicker(rereadInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			k.Reread(ctx)
		}
	}
}

// Reread adopts changed files once they have been read twice in a row with the same
// content, because a new certificate may be written before its key. Follow calls it, and
// so do tests that do not run Follow.
func (k *Keeper) Reread(ctx context.Context) {
	k.mu.Lock()
	defer k.mu.Unlock()
	found := k.files.read()
	if found == k.last && found != k.judged {
		k.judge(ctx, found)
		k.judged = found
	}
	k.last = found
}

// judge serves with the new files, or continues with the previous ones.
func (k *Keeper) judge(ctx context.Context, found reading) {
	logger, current := klog.FromContext(ctx), k.Current()
	id, err := k.files.identity(found)
	if err != nil {
		k.stale.Set(1)
		logger.Error(err, "Continuing with the previous certificates", "expires", current.servingEnds)
		return
	}
	k.stale.Set(0)
	if found == current.from {
		return // the files were unusable for a while
	}
	k.current.Store(id)
	k.reloads.Inc()
	logger.Info("Serving with changed certificates", "expires", id.servingEnds)
}
