package commands

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/evenkeel/evenkeel/internal/exit"
	"github.com/evenkeel/evenkeel/internal/flags"
)

// With --exit-code, 1 means that pods would be evicted, so failures have another exit code, as with diff.
func TestPlanThatFails(t *testing.T) {
	options := flags.Options{Kubeconfig: kubeconfigOf(t, nobody)}
	for exitCode, want := range map[bool]int{false: exit.Failure, true: exit.Misuse} {
		err := Plan(t.Context(), options, PlanOptions{Format: "table", ExitCode: exitCode, Progress: io.Discard}, io.Discard)
		if got := exit.Code(err); got != want {
			t.Errorf("--exit-code=%v: exit code %d, want %d: %v", exitCode, got, want, err)
		}
	}
}

// nobody is the address of a server that does not exist.
const nobody = "http://127.0.0.1:1"

// kubeconfigOf returns a kubeconfig for an API server.
func kubeconfigOf(t *testing.T, server string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf("apiVersion: v1\nkind: Config\nclusters: [{name: c, cluster: {server: %q}}]\n"+
		"contexts: [{name: c, context: {cluster: c}}]\ncurrent-context: c\n", server)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
