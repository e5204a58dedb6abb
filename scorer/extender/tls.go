package extender

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"
)

// certificateAge is how long a loaded certificate is used before its file is
// read again. Rotated certificates take effect without a restart.
const certificateAge = time.Minute

// TLS names the files to serve HTTPS with; all empty serves plain HTTP.
type TLS struct {
	CertFile, KeyFile string
	// ClientCAFile requires clients to present a certificate signed by this CA.
	ClientCAFile string
}

func (t TLS) enabled() bool { return t.CertFile != "" }

func (t TLS) validate() error {
	if (t.CertFile == "") != (t.KeyFile == "") {
		return errors.New("extender: TLS needs both a certificate and a key")
	}
	if t.ClientCAFile != "" && !t.enabled() {
		return errors.New("extender: a client CA needs a certificate and a key to serve with")
	}
	return nil
}

// config reads the files. It returns nil if TLS is not enabled.
func (t TLS) config() (*tls.Config, error) {
	if !t.enabled() {
		return nil, nil
	}
	source := &certificateSource{files: t}
	if _, err := source.get(nil); err != nil {
		return nil, err
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: source.get}
	if t.ClientCAFile == "" {
		return c, nil
	}
	pem, err := os.ReadFile(t.ClientCAFile)
	if err != nil {
		return nil, fmt.Errorf("reading the client CA: %w", err)
	}
	c.ClientCAs = x509.NewCertPool()
	if !c.ClientCAs.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("reading the client CA: no certificate in %q", t.ClientCAFile)
	}
	c.ClientAuth = tls.RequireAndVerifyClientCert
	return c, nil
}

// certificateSource loads the certificate and reloads it when it is old.
// apiserver's dynamiccertificates does that too, but needs controllers that run
// with the server.
type certificateSource struct {
	files TLS

	mu     sync.Mutex
	loaded time.Time
	cert   *tls.Certificate
}

// get returns the certificate. While the files cannot be read, such as in the
// middle of a rotation, it returns the one loaded before.
func (s *certificateSource) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cert != nil && time.Since(s.loaded) < certificateAge {
		return s.cert, nil
	}
	cert, err := tls.LoadX509KeyPair(s.files.CertFile, s.files.KeyFile)
	switch {
	case err == nil:
		s.cert = &cert
	case s.cert == nil:
		return nil, fmt.Errorf("loading the serving certificate: %w", err)
	}
	s.loaded = time.Now()
	return s.cert, nil
}
