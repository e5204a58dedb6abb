// Package certificates makes the certificates of mutual TLS between kube-scheduler and
// the extender: a CA used only for this purpose, and a leaf certificate for each side.
//
// It determines names, usages and lifetimes, and does not access files. A CA outlives its
// leaf certificates by years, because kube-scheduler rereads the client certificate at
// each handshake, but its CA only when it starts.
package certificates

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"time"
)

const (
	// authorityYears is the lifetime of a CA in years.
	authorityYears = 10
	// clockDifference is how far certificates are backdated, for machines whose clocks are
	// slow.
	clockDifference = time.Hour
)

// Pair is a certificate and its private key, both as PEM.
type Pair struct {
	Cert, Key []byte
	// Expires is when the certificate expires.
	Expires time.Time
}

// Authority is a CA with its key.
type Authority struct {
	Pair
	certificate *x509.Certificate
	key         any
}

// NewAuthority makes a CA that is valid from now for ten years.
func NewAuthority(now time.Time) (*Authority, error) {
	template := &x509.Certificate{
		Subject:  pkix.Name{CommonName: "evenkeel-ca"},
		NotAfter: now.AddDate(authorityYears, 0, 0), KeyUsage: x509.KeyUsageCertSign,
		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true,
	}
	pair, err := sign(template, nil, now)
	if err != nil {
		return nil, err
	}
	return ParseAuthority(pair.Cert, pair.Key, now)
}

// ParseAuthority reads a CA from PEM. If there are several certificates, the first one
// belongs to the key; the others are only trusted.
func ParseAuthority(cert, key []byte, now time.Time) (*Authority, error) {
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, fmt.Errorf("reading the CA: %w", err)
	}
	switch leaf := pair.Leaf; {
	case !leaf.IsCA || leaf.KeyUsage != 0 && leaf.KeyUsage&x509.KeyUsageCertSign == 0:
		return nil, errors.New("reading the CA: its certificate may not sign others")
	case now.After(leaf.NotAfter):
		return nil, fmt.Errorf("reading the CA: it expired at %s", leaf.NotAfter.Format(time.RFC3339))
	}
	return &Authority{
		Pair:        Pair{Cert: cert, Key: key, Expires: pair.Leaf.NotAfter},
		certificate: pair.Leaf, key: pair.PrivateKey,
	}, nil
}

// Server issues a serving certificate for the given names and addresses, valid
// for the given duration.
func (a *Authority) Server(names []string, addresses []net.IP, validity time.Duration, now time.Time) (Pair, error) {
	return a.leaf(&x509.Certificate{
		Subject:  pkix.Name{CommonName: "evenkeel"},
		DNSNames: names, IPAddresses: addresses,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}, validity, now)
}

// Client issues a client certificate for the given name, valid for the given
// duration.
func (a *Authority) Client(name string, validity time.Duration, now time.Time) (Pair, error) {
	return a.leaf(&x509.Certificate{
		Subject:     pkix.Name{CommonName: name},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}, validity, now)
}

func (a *Authority) leaf(template *x509.Certificate, validity time.Duration, now time.Time) (Pair, error) {
	template.NotAfter, template.KeyUsage = now.Add(validity), x509.KeyUsageDigitalSignature
	if template.NotAfter.After(a.Expires) {
		return Pair{}, fmt.Errorf("a certificate that is valid for %v would outlive its CA, which expires at %s", validity, a.Expires.Format(time.RFC3339))
	}
	return sign(template, a, now)
}

// sign makes a key and its certificate; without an Authority the certificate is
// self-signed.
func sign(template *x509.Certificate, by *Authority, now time.Time) (Pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Pair{}, fmt.Errorf("generating a key: %w", err)
	}
	template.NotBefore = now.Add(-clockDifference)
	parent, signer := template, any(key)
	if by != nil {
		parent, signer = by.certificate, by.key
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	if err != nil {
		return Pair{}, fmt.Errorf("signing a certificate: %w", err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return Pair{}, fmt.Errorf("encoding a key: %w", err)
	}
	return Pair{
		Cert: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert}),
		Key:  pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}), Expires: template.NotAfter,
	}, nil
}
