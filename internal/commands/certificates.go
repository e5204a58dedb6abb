package commands

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/pflag"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"

	"github.com/evenkeel/evenkeel/internal/certificates"
	"github.com/evenkeel/evenkeel/internal/exit"
)

const (
	// serverSecret and clientSecret are the names of the Secrets that the shipped manifests use: the extender's
	// certificate and its clients' certificate.
	serverSecret = "evenkeel-server-tls"
	clientSecret = "evenkeel-client-tls"

	// clientName is the subject of a client certificate.
	clientName = "kube-scheduler"
	// caKey is the key of the CA in a Secret, as in cert-manager's Secrets.
	caKey = "ca.crt"

	// leafValidity is how long certificates are valid by default.
	leafValidity = 365 * 24 * time.Hour
	// minValidity leaves enough time to renew a certificate.
	minValidity = time.Hour

	privateFile, publicFile = 0o600, 0o644
)

// CertificatesOptions are the flags of `evenkeel certificates`.
type CertificatesOptions struct {
	// Directory is where everything is written, and where the CA is kept.
	Directory string
	// CAFile and CAKeyFile are an existing CA to sign with.
	CAFile, CAKeyFile string
	// Namespace, Names and Addresses define how clients reach the server: by Services in
	// Namespace, or directly. The server's certificate is valid for all of them.
	Namespace       string
	Services, Names []string
	Addresses       []net.IP
	// Validity is how long the leaf certificates are valid.
	Validity time.Duration
}

// AddTo adds the flags.
func (o *CertificatesOptions) AddTo(flags *pflag.FlagSet) {
	flags.StringVar(&o.Directory, "directory", "", "Directory to write to. A CA that already exists there is reused, so the same command renews the certificates.")
	flags.StringVar(&o.CAFile, "ca-file", "", "CA to sign with, instead of the one in --directory.")
	flags.StringVar(&o.CAKeyFile, "ca-key-file", "", "Private key of --ca-file.")
	flags.StringVarP(&o.Namespace, "namespace", "n", "evenkeel", "Namespace of the Services and Secrets.")
	flags.StringSliceVar(&o.Services, "service", []string{"evenkeel", "evenkeel-extender"}, "Services in front of the extender (repeatable).")
	flags.StringSliceVar(&o.Names, "dns", nil, "Further DNS names of the extender (repeatable).")
	flags.IPSliceVar(&o.Addresses, "ip", nil, "IP addresses of the extender (repeatable); not needed if tlsConfig.serverName names a Service.")
	flags.DurationVar(&o.Validity, "validity", leafValidity, "How long the certificates of server and client are valid; the CA lasts ten years.")
}

// validate reports the first error in the flags.
func (o *CertificatesOptions) validate() error {
	switch {
	case o.Directory == "":
		return exit.Usagef("--directory: name a directory to write to, such as pki")
	case (o.CAFile == "") != (o.CAKeyFile == ""):
		return exit.Usagef("--ca-file and --ca-key-file must be used together")
	case o.Validity < minValidity:
		return exit.Usagef("--validity: %v is less than %v", o.Validity, minValidity)
	}
	if problems := validation.IsDNS1123Label(o.Namespace); len(problems) > 0 {
		return exit.Usagef("--namespace: %q: %s", o.Namespace, strings.Join(problems, "; "))
	}
	for _, service := range o.Services {
		if problems := validation.IsDNS1035Label(service); len(problems) > 0 {
			return exit.Usagef("--service: %q: %s", service, strings.Join(problems, "; "))
		}
	}
	for _, name := range o.Names {
		if problems := validation.IsDNS1123Subdomain(name); len(problems) > 0 {
			return exit.Usagef("--dns: %q: %s", name, strings.Join(problems, "; "))
		}
	}
	return nil
}

// hosts returns every name and address of the server, including loopback for kubectl port-forward.
func (o *CertificatesOptions) hosts() (names []string, addresses []net.IP) {
	for _, service := range o.Services {
		within := service + "." + o.Namespace + ".svc"
		names = append(names, within, within+".cluster.local")
	}
	names = append(append(names, o.Names...), "localhost")
	return names, append([]net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}, o.Addresses...)
}

// Certificates runs `evenkeel certificates`: it creates a CA and certificates, or renews
// the certificates, and prints what to do with the files.
func Certificates(options CertificatesOptions, now time.Time, out io.Writer) error {
	if err := options.validate(); err != nil {
		return err
	}
	ca, kept, err := options.authority(now)
	if err != nil {
		return exit.Usage(err)
	}
	names, addresses := options.hosts()
	server, err := ca.Server(names, addresses, options.Validity, now)
	if err != nil {
		return exit.Usagef("--validity: %w", err)
	}
	client, err := ca.Client(clientName, options.Validity, now)
	if err != nil {
		return exit.Usagef("--validity: %w", err)
	}
	secrets, err := options.secrets(ca, map[string]certificates.Pair{serverSecret: server, clientSecret: client})
	if err != nil {
		return err
	}
	files := []file{
		{"server.key", server.Key, privateFile}, {"server.crt", server.Cert, publicFile},
		{"client.key", client.Key, privateFile}, {"client.crt", client.Cert, publicFile},
		{"secrets.yaml", secrets, privateFile}, {"webhook.yaml", webhookPatch(ca), publicFile},
	}
	if !kept {
		files = append(files, file{"ca.key", ca.Key, privateFile})
	}
	if !kept || options.CAFile != "" {
		files = append(files, file{caKey, ca.Cert, publicFile})
	}
	if err := options.write(files); err != nil {
		return err
	}
	return options.explain(out, ca, kept, server.Expires)
}

// authority returns the CA to sign with, and whether it already existed.
func (o *CertificatesOptions) authority(now time.Time) (ca *certificates.Authority, kept bool, err error) {
	certFile, keyFile := o.CAFile, o.CAKeyFile
	if certFile == "" {
		certFile, keyFile = filepath.Join(o.Directory, caKey), filepath.Join(o.Directory, "ca.key")
	}
	cert, err := os.ReadFile(certFile)
	key, keyErr := os.ReadFile(keyFile)
	if o.CAFile == "" && errors.Is(err, fs.ErrNotExist) && errors.Is(keyErr, fs.ErrNotExist) {
		ca, err = certificates.NewAuthority(now)
		return ca, false, err
	}
	if err := errors.Join(err, keyErr); err != nil {
		return nil, false, fmt.Errorf("reading the CA: %w", err)
	}
	if ca, err = certificates.ParseAuthority(cert, key, now); err != nil {
		return nil, false, fmt.Errorf("%s, %s: %w", certFile, keyFile, err)
	}
	return ca, true, nil
}

// secrets returns a manifest of Secrets with the same keys as cert-manager's.
func (o *CertificatesOptions) secrets(ca *certificates.Authority, pairs map[string]certificates.Pair) ([]byte, error) {
	var manifest bytes.Buffer
	for _, name := range []string{serverSecret, clientSecret} {
		text, err := yaml.Marshal(&v1.Secret{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: o.Namespace},
			Type:       v1.SecretTypeTLS,
			Data:       map[string][]byte{v1.TLSCertKey: pairs[name].Cert, v1.TLSPrivateKeyKey: pairs[name].Key, caKey: ca.Cert},
		})
		if err != nil {
			return nil, fmt.Errorf("encoding a Secret: %w", err)
		}
		manifest.WriteString("---\n")
		manifest.Write(text)
	}
	return manifest.Bytes(), nil
}

// webhookPatch returns a patch that adds the CA of the server's certificate to the
// shipped webhook.
func webhookPatch(ca *certificates.Authority) []byte {
	return []byte(`apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata:
  name: evenkeel-steer
webhooks:
  - name: steer.evenkeel.io
    clientConfig:
      caBundle: ` + base64.StdEncoding.EncodeToString(ca.Cert) + "\n")
}

// file is a file to write.
type file struct {
	name    string
	content []byte
	mode    fs.FileMode
}

// write writes all files and then moves them into place in quick succession, because a
// certificate does not work with the key of another one.
func (o *CertificatesOptions) write(files []file) error {
	if err := os.MkdirAll(o.Directory, 0o700); err != nil {
		return fmt.Errorf("writing the certificates: %w", err)
	}
	for _, f := range files {
		if err := create(o.unfinished(f), f.content, f.mode); err != nil {
			return fmt.Errorf("writing the certificates: %w", err)
		}
	}
	for _, f := range files {
		if err := os.Rename(o.unfinished(f), filepath.Join(o.Directory, f.name)); err != nil {
			return fmt.Errorf("writing the certificates: %w", err)
		}
	}
	return nil
}

// create writes a new file. It removes an existing file first, because that file's mode,
// owner or link target could expose a key.
func create(path string, content []byte, mode fs.FileMode) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	return errors.Join(err, f.Close())
}

func (o *CertificatesOptions) unfinished(f file) string {
	return filepath.Join(o.Directory, "."+f.name+".new")
}

// explain prints what was created and what to do with it.
func (o *CertificatesOptions) explain(out io.Writer, ca *certificates.Authority, kept bool, expires time.Time) error {
	origin := "made"
	if kept {
		origin = "kept"
	}
	_, err := fmt.Fprintf(out, `CA %s, expires %s; certificates of server and client expire %s.
1. In the cluster:      kubectl apply -f %s
2. On control planes:   copy ca.crt, client.crt and client.key from %s to /etc/kubernetes/evenkeel
3. In kube-scheduler's configuration: the extenders block of deploy/kube-scheduler.yaml; restart kube-scheduler unless only the certificates are new
In place of 2 and 3, for the webhook of deploy/components/admission-steering-webhook:
   kubectl patch mutatingwebhookconfiguration evenkeel-steer --patch-file %s
Keep ca.key secret: whoever has it can impersonate the extender and its clients. Run the same command again to renew.
`, origin, ca.Expires.Format(time.DateOnly), expires.Format(time.DateOnly), filepath.Join(o.Directory, "secrets.yaml"), o.Directory, filepath.Join(o.Directory, "webhook.yaml"))
	if err != nil {
		return fmt.Errorf("writing the result: %w", err)
	}
	return nil
}
