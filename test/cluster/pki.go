package cluster

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// certificateLife is much longer than the lifetime of a test cluster.
const certificateLife = 30 * 24 * time.Hour

// authority signs certificates with a key that is never written to a file.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	pem         []byte
}

func newAuthority(name string) (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("generating the key of %s: %w", name, err)
	}
	template := certificateTemplate(name, 1)
	template.IsCA, template.BasicConstraintsValid = true, true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, fmt.Errorf("signing %s: %w", name, err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	return &authority{certificate: certificate, key: key, pem: encodePEM("CERTIFICATE", der)}, nil
}

// issue writes path.crt and path.key.
func (a *authority) issue(path string, template *x509.Certificate) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("generating %s.key: %w", path, err)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, &key.PublicKey, a.key)
	if err != nil {
		return fmt.Errorf("signing %s.crt: %w", path, err)
	}
	if err := os.WriteFile(path+".crt", encodePEM("CERTIFICATE", der), 0o644); err != nil {
		return fmt.Errorf("writing a certificate: %w", err)
	}
	return writePrivateKey(path+".key", key)
}

func certificateTemplate(name string, serial int64) *x509.Certificate {
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: big.NewInt(serial),
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    now.Add(-time.Minute),
		NotAfter:     now.Add(certificateLife),
		KeyUsage:     x509.KeyUsageDigitalSignature,
	}
}

// writePKI makes all keys and certificates that the parts need in dir: ca.crt,
// serving.{crt,key} for all listeners, front-proxy-ca.crt and front-proxy.{crt,key} for
// aggregated APIs, service-account.{pub,key} for tokens. It returns the PEM of ca.crt.
func writePKI(dir string) ([]byte, error) {
	ca, err := newAuthority("evenkeel-test-ca")
	if err != nil {
		return nil, err
	}
	serving := certificateTemplate("localhost", 2)
	serving.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	serving.DNSNames = []string{"localhost", "kubernetes.default.svc", "metrics-server.kube-system.svc"}
	serving.IPAddresses = []net.IP{net.ParseIP(loopback), net.IPv6loopback}
	if err := ca.issue(filepath.Join(dir, "serving"), serving); err != nil {
		return nil, err
	}

	// This authority is separate, because whoever has one of its certificates may act as any
	// user.
	proxyCA, err := newAuthority("evenkeel-test-front-proxy-ca")
	if err != nil {
		return nil, err
	}
	proxy := certificateTemplate("front-proxy-client", 2)
	proxy.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	if err := proxyCA.issue(filepath.Join(dir, "front-proxy"), proxy); err != nil {
		return nil, err
	}
	for name, content := range map[string][]byte{"ca.crt": ca.pem, "front-proxy-ca.crt": proxyCA.pem} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
			return nil, fmt.Errorf("writing a certificate: %w", err)
		}
	}
	return ca.pem, writeServiceAccountKeys(filepath.Join(dir, "service-account"))
}

func writeServiceAccountKeys(path string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("generating the service account key: %w", err)
	}
	der, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		return fmt.Errorf("encoding the service account key: %w", err)
	}
	if err := os.WriteFile(path+".pub", encodePEM("PUBLIC KEY", der), 0o644); err != nil {
		return fmt.Errorf("writing the service account key: %w", err)
	}
	return writePrivateKey(path+".key", key)
}

func writePrivateKey(path string, key *ecdsa.PrivateKey) error {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return fmt.Errorf("encoding %s: %w", path, err)
	}
	if err := os.WriteFile(path, encodePEM("EC PRIVATE KEY", der), 0o600); err != nil {
		return fmt.Errorf("writing a private key: %w", err)
	}
	return nil
}

func encodePEM(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}
