package cluster

import (
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// AdminUser is the name of Client's user in the audit log.
const AdminUser = "admin"

// serviceAccountTokenSeconds is longer than any test.
const serviceAccountTokenSeconds = 24 * 60 * 60

// user is one line of the API server's token file.
type user struct {
	name  string
	token string
	// master lets the user bypass RBAC.
	master bool
}

// newUsers gives each part its own identity, so that the audit log distinguishes them.
// kube-scheduler has only the role that Kubernetes ships for it. All others are in
// system:masters.
func newUsers() map[Part]user {
	users := map[Part]user{
		adminPart:         {name: AdminUser, master: true},
		ControllerManager: {name: "system:kube-controller-manager", master: true},
		Scheduler:         {name: "system:kube-scheduler"},
		Kwok:              {name: "kwok", master: true},
		MetricsServer:     {name: "metrics-server", master: true},
		kubeletPart:       {name: "kubelet", master: true},
	}
	for part, u := range users {
		u.token = rand.Text()
		users[part] = u
	}
	return users
}

// adminPart is the administrator's key in Cluster.users.
const adminPart Part = "admin"

// kubeletPart is the key of real kubelets in Cluster.users.
const kubeletPart Part = "kubelet"

func tokenFile(users map[Part]user) string {
	var lines strings.Builder
	for _, u := range users {
		fmt.Fprintf(&lines, "%s,%s,%s", u.token, u.name, u.name)
		if u.master {
			lines.WriteString(",system:masters")
		}
		lines.WriteByte('\n')
	}
	return lines.String()
}

// Kubeconfig returns the path of the administrator's kubeconfig file.
func (c *Cluster) Kubeconfig() string { return c.kubeconfigOf(adminPart) }

// WriteKubeletKubeconfig writes the kubeconfig file of real kubelets, which reach this
// machine at the given address.
func (c *Cluster) WriteKubeletKubeconfig(path, address string) error {
	config, err := clientcmd.LoadFromFile(c.kubeconfigOf(kubeletPart))
	if err != nil {
		return fmt.Errorf("reading the kubelets' kubeconfig: %w", err)
	}
	for _, server := range config.Clusters {
		server.Server = "https://" + net.JoinHostPort(address, strconv.Itoa(c.ports[APIServer]))
		server.TLSServerName = "localhost"
	}
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		return fmt.Errorf("writing kubeconfig %q: %w", path, err)
	}
	return nil
}

func (c *Cluster) kubeconfigOf(part Part) string {
	return filepath.Join(c.dir, string(part)+".kubeconfig")
}

// KubeconfigFor writes a kubeconfig file for a ServiceAccount, with a token
// from the TokenRequest API, and returns its path.
func (c *Cluster) KubeconfigFor(ctx context.Context, namespace, serviceAccount string) (string, error) {
	seconds := int64(serviceAccountTokenSeconds)
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds}}
	granted, err := c.client.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, serviceAccount, request, metav1.CreateOptions{})
	if err != nil {
		return "", fmt.Errorf("requesting a token for service account %s/%s: %w", namespace, serviceAccount, err)
	}
	path := filepath.Join(c.dir, fmt.Sprintf("%s.%s.kubeconfig", namespace, serviceAccount))
	return path, c.writeKubeconfig(path, serviceAccount, granted.Status.Token)
}

func (c *Cluster) writeKubeconfig(path, userName, token string) error {
	const name = "evenkeel-test"
	config := clientcmdapi.NewConfig()
	config.Clusters[name] = &clientcmdapi.Cluster{Server: c.urlOf(APIServer), CertificateAuthorityData: c.caPEM}
	config.AuthInfos[userName] = &clientcmdapi.AuthInfo{Token: token}
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: userName}
	config.CurrentContext = name
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		return fmt.Errorf("writing kubeconfig %q: %w", path, err)
	}
	return nil
}

func (c *Cluster) writeAccess(users map[Part]user) error {
	if err := os.WriteFile(filepath.Join(c.dir, "tokens.csv"), []byte(tokenFile(users)), 0o600); err != nil {
		return fmt.Errorf("writing the token file: %w", err)
	}
	for part, u := range users {
		if err := c.writeKubeconfig(c.kubeconfigOf(part), u.name, u.token); err != nil {
			return err
		}
	}
	return nil
}
