package e2e

import (
	"context"
	"crypto/tls"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/evenkeel/evenkeel/test/cluster"
	"github.com/evenkeel/evenkeel/test/cluster/e2e/stage"
	"github.com/evenkeel/evenkeel/test/cluster/evenkeel"
	"github.com/evenkeel/evenkeel/test/cluster/manifests"
)

// secured is an `evenkeel serve` that is started like the shipped Deployment during an upgrade:
// with mutual TLS at one address, and plain HTTP at the address that kube-scheduler used before.
type secured struct {
	*evenkeel.Process
	certificates    *stage.Certificates
	listen, metrics string
	// logged is how long kube-scheduler's log was when it began to use TLS.
	logged int
}

// serveShipped runs the command of the shipped Deployment with the component for upgrades. Its
// mounts are in other folders here, and its cycles are short.
func (f *fixture) serveShipped(policy string) *secured {
	f.T.Helper()
	s := &secured{certificates: f.Certificates(), listen: f.FreeAddress(), metrics: f.FreeAddress()}
	places := strings.NewReplacer(
		"/etc/evenkeel-tls/", s.certificates.Mounted+"/", "/etc/evenkeel/policy.yaml", policy,
		"--listen-address=:8443", "--listen-address="+s.listen,
	)
	shipped := manifests.Templates(f.T)["Deployment/evenkeel"].Spec.Containers[0].Args
	if !slices.Contains(shipped, "--client-ca-file=/etc/evenkeel-tls/ca.crt") {
		f.T.Errorf("the shipped Deployment answers clients without a certificate: %q", shipped)
	}
	var args []string
	for _, arg := range shipped[1:] {
		args = append(args, places.Replace(arg))
	}
	component := string(manifests.Read(f.T, filepath.Join(manifests.Dir(f.T), "components", "insecure-http", "kustomization.yaml")))
	const plain = "--insecure-listen-address=:8888"
	if !strings.Contains(component, "value: "+plain+"\n") {
		f.T.Errorf("the component for upgrades does not add %s", plain)
	}
	args = append(args, strings.Replace(plain, ":8888", stage.Listen(), 1),
		"--descheduling-interval", "3s", "--leader-elect=false", "--metrics-address", s.metrics, "--metrics-access", "open")
	f.T.Cleanup(evenkeel.ReportBehind(stage.Listen(), s.listen))
	s.Process = f.Start(shipped[0], args...)
	if err := s.WaitServing(f.T.Context(), "http://"+stage.Listen()+"/livez"); err != nil {
		f.T.Fatal(err)
	}
	return s
}

// filters is the metric of successful filter requests.
const filters = `evenkeel_extender_responses_total{result="ok",verb="filter"}`

// upgrade switches kube-scheduler from plain HTTP to mutual TLS.
func (f *fixture) upgrade(s *secured) {
	f.T.Helper()
	early := stage.Workload("new-early", cluster.Resources{CPU: "100m"}, cluster.Resources{CPU: "50m"})
	early.Replicas = 1
	if err := f.Deploy(f.T.Context(), early); err != nil {
		f.T.Fatal(err)
	}
	f.Eventually(20*time.Second, "the old configuration of kube-scheduler is answered", func(context.Context) bool {
		return f.Metric(s.metrics, filters) > 0
	})
	s.logged = len(f.schedulerLog())
	if err := f.RestartScheduler(f.T.Context(), s.certificates.Extender(s.listen)); err != nil {
		f.T.Fatal(err)
	}
}

// renew replaces the certificates of both sides while kube-scheduler asks, and waits until the
// server uses the new ones.
func (f *fixture) renew(s *secured) {
	f.T.Helper()
	s.certificates.Renew()
	f.Eventually(30*time.Second, "the server uses the renewed certificates", func(context.Context) bool {
		return f.Metric(s.metrics, "evenkeel_extender_certificate_reloads_total") == 1
	})
}

// extenderFailed is kube-scheduler's log message about a failed request.
const extenderFailed = "returned error and has ignorable flag set"

func (f *fixture) schedulerLog() string {
	f.T.Helper()
	content, err := os.ReadFile(f.LogPath(cluster.Scheduler))
	if err != nil {
		f.T.Fatal(err)
	}
	return string(content)
}

// checkNoFailures checks that no request over TLS has failed, both by kube-scheduler's log and by
// Evenkeel's metrics.
func (f *fixture) checkNoFailures(s *secured) {
	f.T.Helper()
	log := f.schedulerLog()
	if since := log[min(s.logged, len(log)):]; strings.Contains(since, extenderFailed) {
		f.T.Errorf("kube-scheduler had failed requests:\n%s", linesWith(since, extenderFailed))
	}
	for _, verb := range []string{"filter", "prioritize"} {
		for _, result := range []string{"invalid", "too_large", "overloaded", "client_gone", "panic"} {
			series := `evenkeel_extender_responses_total{result="` + result + `",verb="` + verb + `"}`
			if n := f.Metric(s.metrics, series); n > 0 {
				f.T.Errorf("%s is %v", series, n)
			}
		}
	}
	if failed := linesWith(s.Log(), "TLS handshake error"); failed != "" {
		f.T.Errorf("handshakes failed:\n%s", failed)
	}
	stranger := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	if answer, err := stranger.Get("https://" + s.listen + "/livez"); err == nil { //nolint:noctx // it has a timeout
		_ = answer.Body.Close()
		f.T.Errorf("a client without a certificate is answered: %s", answer.Status)
	}
	f.T.Logf("%v filter requests answered, none failed; certificates renewed once", f.Metric(s.metrics, filters))
}

func linesWith(text, part string) string {
	var found []string
	for line := range strings.Lines(text) {
		if strings.Contains(line, part) {
			found = append(found, line)
		}
	}
	return strings.Join(found, "")
}
