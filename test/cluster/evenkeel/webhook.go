package evenkeel

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/evenkeel/evenkeel/test/cluster"
)

// webhookService is the name of the webhook's Service in Namespace.
const webhookService = "evenkeel"

// AskWebhook makes the API server call the shipped webhook, which must already be
// applied, at an address of this machine. The call uses the Service's name and the CA
// that `evenkeel certificates` has written to the folder.
func AskWebhook(ctx context.Context, c *cluster.Cluster, certificates, address string) error {
	// There is no kube-proxy in this cluster.
	service := &v1.Service{ObjectMeta: metav1.ObjectMeta{Name: webhookService}, Spec: v1.ServiceSpec{Type: v1.ServiceTypeExternalName, ExternalName: "localhost"}}
	if _, err := c.Client().CoreV1().Services(Namespace).Create(ctx, service, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("creating the Service of the webhook: %w", err)
	}
	ca, err := os.ReadFile(filepath.Join(certificates, "webhook.yaml"))
	if err != nil {
		return fmt.Errorf("reading the CA of the webhook: %w", err)
	}
	port, err := portPatch(address)
	return errors.Join(err, patchWebhook(ctx, c, ca), patchWebhook(ctx, c, port))
}

// ForgetWebhook deletes what AskWebhook created.
func ForgetWebhook(ctx context.Context, c *cluster.Cluster) error {
	return c.Client().CoreV1().Services(Namespace).Delete(ctx, webhookService, metav1.DeleteOptions{})
}

func portPatch(address string) ([]byte, error) {
	_, text, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("reading the webhook's address: %w", err)
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		return nil, fmt.Errorf("reading the webhook's port: %w", err)
	}
	return json.Marshal(map[string]any{"webhooks": []any{map[string]any{
		"name": "steer.evenkeel.io", "clientConfig": map[string]any{"service": map[string]any{"port": port}},
	}}})
}

// patchWebhook changes the configuration as `kubectl patch` does.
func patchWebhook(ctx context.Context, c *cluster.Cluster, text []byte) error {
	text, err := yaml.YAMLToJSON(text)
	if err == nil {
		hooks := c.Client().AdmissionregistrationV1().MutatingWebhookConfigurations()
		_, err = hooks.Patch(ctx, "evenkeel-steer", types.StrategicMergePatchType, text, metav1.PatchOptions{})
	}
	if err != nil {
		return fmt.Errorf("patching the webhook: %w", err)
	}
	return nil
}
