package kubelets

import (
	"strings"
	"testing"
	"testing/synctest"
)

// A node ends although nobody reads its reports, of which a kubelet that does not stay up
// causes any number.
func TestNodeEndsWithUnreadReports(t *testing.T) {
	synctest.Test(t, func(*testing.T) {
		n := &Node{reports: make(chan string, 2)}
		n.follow(strings.NewReader(strings.Repeat("restarted kubelet\n", 5)))
	})
}
