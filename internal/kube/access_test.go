package kube

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"

	"github.com/evenkeel/evenkeel/internal/exit"
)

const twoContexts = `apiVersion: v1
kind: Config
clusters:
- {name: a, cluster: {server: "https://a:6443"}}
- {name: b, cluster: {server: "https://b:6443"}}
contexts:
- {name: staging, context: {cluster: a}}
- {name: production, context: {cluster: b}}
current-context: staging
`

// An impersonating client sends the user and the user's groups.
func TestAs(t *testing.T) {
	var asked http.Header
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { asked = r.Header }))
	t.Cleanup(server.Close)
	client, err := (&Connection{REST: &rest.Config{Host: server.URL}}).As("jane", []string{"ops", "dev"})
	if err != nil {
		t.Fatal(err)
	}
	_, _ = client.Discovery().ServerVersion() // there is no server
	if diff := cmp.Diff([][]string{{"jane"}, {"ops", "dev"}}, [][]string{asked.Values("Impersonate-User"), asked.Values("Impersonate-Group")}); diff != "" {
		t.Errorf("impersonated (-want +got):\n%s", diff)
	}
}

// The API server is found in the way in which kubectl finds it.
func TestAccess(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(file, []byte(twoContexts), 0o600); err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		access   Access
		wantHost string
		wantAs   rest.ImpersonationConfig
		wantErr  string
	}{
		"the current context": {access: Access{Kubeconfig: file}, wantHost: "https://a:6443"},
		"another context":     {access: Access{Kubeconfig: file, Context: "production"}, wantHost: "https://b:6443"},
		"as somebody else": {
			access: Access{Kubeconfig: file, As: "jane", AsGroups: []string{"ops", "dev"}}, wantHost: "https://a:6443",
			wantAs: rest.ImpersonationConfig{UserName: "jane", Groups: []string{"ops", "dev"}},
		},
		"a misspelt context": {
			access:  Access{Kubeconfig: file, Context: "prodution"},
			wantErr: `--context: the kubeconfig has no context "prodution", did you mean "production"? (it has: ["production" "staging"])`,
		},
		"groups of nobody": {access: Access{Kubeconfig: file, AsGroups: []string{"ops"}}, wantErr: "--as-group goes with --as"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			config, err := tc.access.Config()
			if tc.wantErr != "" {
				if err == nil || err.Error() != tc.wantErr || exit.Code(err) != exit.Misuse {
					t.Errorf("exit code %d for %v, want %s", exit.Code(err), err, tc.wantErr)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if config.Host != tc.wantHost {
				t.Errorf("host %s, want %s", config.Host, tc.wantHost)
			}
			if diff := cmp.Diff(tc.wantAs, config.Impersonate); diff != "" {
				t.Errorf("impersonated (-want +got):\n%s", diff)
			}
		})
	}
}

// If no file names a cluster, the error lists the files that were tried and which of them are
// missing.
func TestAccessWithoutACluster(t *testing.T) {
	dir := t.TempDir()
	empty, missing := filepath.Join(dir, "empty"), filepath.Join(dir, "missing")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	t.Setenv("KUBECONFIG", empty+string(filepath.ListSeparator)+missing)
	for given, want := range map[string]string{
		"":    "finding the API server: invalid configuration: there is no cluster in " + empty + " or " + missing + " (which cannot be read); ",
		empty: "finding the API server in " + strconv.Quote(empty) + ": invalid configuration: there is no cluster in " + empty + "; ",
	} {
		_, err := (&Access{Kubeconfig: given}).Config()
		if want += "name a kubeconfig by --kubeconfig or $KUBECONFIG"; err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}
