package e2e

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/evenkeel/evenkeel/test/cluster/evenkeel"
)

// flood sends requests that never end to an address until the case ends. From each of eight other
// addresses, it keeps eight slow requests open, which together is as many as the server handles
// concurrently, and sends two requests of 31 MiB per second.
func (f *fixture) flood(address string) {
	f.T.Helper()
	const clients, slowEach, large = 8, 8, 31 << 20
	ctx, stop := context.WithCancel(context.WithoutCancel(f.T.Context()))
	var strangers sync.WaitGroup
	f.T.Cleanup(func() { stop(); strangers.Wait() })
	body := bytes.Repeat([]byte{' '}, large-2)
	for i := range clients {
		dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, byte(2+i))}}
		for range slowEach {
			strangers.Go(func() { pester(ctx, dialer, address, nil, 0) })
		}
		strangers.Go(func() { pester(ctx, dialer, address, body, 500*time.Millisecond) })
	}
}

// pester sends one unfinished request after another, as far as the server accepts them, with
// pauses. It closes a connection when the server does, or after a second.
func pester(ctx context.Context, dialer *net.Dialer, address string, body []byte, pause time.Duration) {
	head := fmt.Sprintf("POST /filter HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n{", len(body)+1000)
	for ctx.Err() == nil {
		if conn, err := dialer.DialContext(ctx, "tcp", address); err == nil {
			_ = conn.SetDeadline(time.Now().Add(time.Second))
			unblock := context.AfterFunc(ctx, func() { _ = conn.Close() })
			_, _ = io.WriteString(conn, head)
			_, _ = conn.Write(body)
			_, _ = io.Copy(io.Discard, conn)
			unblock()
			_ = conn.Close()
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause + 10*time.Millisecond):
		}
	}
}

// checkFlooded checks that a process was flooded and stayed within its memory limit.
func (f *fixture) checkFlooded(p *evenkeel.Process, metrics string) {
	f.T.Helper()
	const mostMemory = 512 << 20
	count := func(result string) float64 {
		return f.Metric(metrics, `evenkeel_extender_responses_total{result="`+result+`",verb="filter"}`)
	}
	peak, err := p.PeakMemory()
	if err != nil {
		f.T.Fatal(err)
	}
	f.T.Logf("flooded: %v filter requests answered, %v refused, %v unfinished; %d MiB of memory at most",
		count("ok"), count("overloaded"), count("invalid"), peak>>20)
	if count("overloaded")+count("invalid") < 100 {
		f.T.Error("hardly a stranger's request came: the case was not put to the test")
	}
	if peak > mostMemory {
		f.T.Errorf("it used %d bytes of memory, want no more than %d", peak, mostMemory)
	}
}

// letReadMetrics allows only Evenkeel's ServiceAccount to get /metrics until the case ends.
func (f *fixture) letReadMetrics() {
	f.T.Helper()
	ctx, roles := context.WithoutCancel(f.T.Context()), f.Client().RbacV1()
	name := metav1.ObjectMeta{Name: "reads-metrics"}
	_, err := roles.ClusterRoles().Create(ctx, &rbacv1.ClusterRole{
		ObjectMeta: name, Rules: []rbacv1.PolicyRule{{NonResourceURLs: []string{"/metrics"}, Verbs: []string{"get"}}},
	}, metav1.CreateOptions{})
	if err != nil {
		f.T.Fatal(err)
	}
	_, err = roles.ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: name, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name.Name},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: evenkeel.Namespace, Name: "evenkeel"}},
	}, metav1.CreateOptions{})
	if err != nil {
		f.T.Fatal(err)
	}
	f.T.Cleanup(func() {
		for _, err := range []error{roles.ClusterRoleBindings().Delete(ctx, name.Name, metav1.DeleteOptions{}), roles.ClusterRoles().Delete(ctx, name.Name, metav1.DeleteOptions{})} {
			if err != nil {
				f.T.Error(err)
			}
		}
	})
}

// getAs fetches a page over HTTPS with the token in a kubeconfig file, or without a token if
// kubeconfig is empty.
func (f *fixture) getAs(kubeconfig, url string) (status int, body string) {
	f.T.Helper()
	request, err := http.NewRequestWithContext(f.T.Context(), http.MethodGet, url, nil)
	if err != nil {
		f.T.Fatal(err)
	}
	if kubeconfig != "" {
		config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
		if err != nil {
			f.T.Fatal(err)
		}
		request.Header.Set("Authorization", "Bearer "+config.BearerToken)
	}
	client := &http.Client{
		Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}, Timeout: 10 * time.Second,
	}
	response, err := client.Do(request)
	if err != nil {
		return 0, err.Error()
	}
	defer response.Body.Close()
	page, _ := io.ReadAll(io.LimitReader(response.Body, 16<<20))
	return response.StatusCode, string(page)
}
