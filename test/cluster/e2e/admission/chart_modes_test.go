package admission

import (
	"context"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/evenkeel/evenkeel/test/cluster/e2e/stage"
	"github.com/evenkeel/evenkeel/test/cluster/evenkeel"
	"github.com/evenkeel/evenkeel/test/cluster/scenario"
)

// This case installs the chart for a kube-scheduler that is configured to ask. The command of its
// Deployment answers over mutual TLS and moves pods to their planned nodes, with only the chart's
// rights. A CronJob with an extender replaces the Deployment, and the Deployment the CronJob.
// Uninstalling leaves nothing.
//
//e2e:tier all
func TestChartServesTheExtender(t *testing.T) {
	f, story := untouched(t)
	h := newHelm(t, f)
	before := h.inventory()
	notes := h.run("install", "evenkeel", h.chart, "--create-namespace", "--set", "steering.by=extender,replicas=0,deschedulingInterval=3s",
		"--set-file", "policyFile="+f.Policy(stage.RealUsage, stage.Fast))
	made, mark := f.Certificates(), f.Mark()
	stop := h.start(f, "evenkeel")
	h.ask(f, made, notes, "evenkeel")
	f.Eventually(2*time.Minute, "no node above its line", func(ctx context.Context) bool {
		return len(f.Hot(ctx, story.EvictLinePercent)) == 0
	})
	onPlan(t, f, story, mark)
	allAsked(t, f)
	h.checkRights(f, mark, "evenkeel")
	stop()

	served, granted := h.lasting(), h.grants("evenkeel")
	mark = f.Mark()
	notes = h.run("upgrade", "evenkeel", h.chart, "--reset-then-reuse-values", "--set", "mode=cronjob,cronjob.suspend=true")
	stop = h.start(f, "evenkeel-extender")
	h.ask(f, made, notes, "evenkeel-extender")
	if evicted := h.cycle(f); evicted > 0 {
		t.Errorf("the first Job evicts %d pods that serve had left", evicted)
	}
	h.allowed(f, mark, "evenkeel")
	h.allowed(f, mark, "evenkeel-extender")
	stop()
	h.run("rollback", "evenkeel", "1")
	if diff := cmp.Diff(served, h.lasting()); diff != "" {
		t.Errorf("objects after the rollback (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(granted, h.grants("evenkeel")); diff != "" {
		t.Errorf("rights after the rollback (-want +got):\n%s", diff)
	}
	h.goes(f, made, before)
}

// Consecutive Jobs of the chart's CronJob even out request-skew, and the chart's extender sends
// each replacement to its planned node. Each of them has only the chart's rights, and uninstalling
// leaves nothing.
//
//e2e:tier all
func TestChartCronJobs(t *testing.T) {
	f, story := untouched(t)
	h := newHelm(t, f)
	before := h.inventory()
	notes := h.run("install", "evenkeel", h.chart, "--create-namespace", "--set", "mode=cronjob,steering.by=extender,replicas=0,cronjob.suspend=true",
		"--set-file", "policyFile="+f.Policy(stage.RealUsage, stage.Impatient))
	made, mark := f.Certificates(), f.Mark()
	stop := h.start(f, "evenkeel-extender")
	h.ask(f, made, notes, "evenkeel-extender")
	h.cycles(f, story)
	onPlan(t, f, story, mark)
	allAsked(t, f)
	h.checkRights(f, mark, "evenkeel")
	h.checkRights(f, mark, "evenkeel-extender")
	stop()
	h.goes(f, made, before)
}

// ask configures kube-scheduler as the chart's notes describe: with the shipped configuration,
// through the named Service, which leads to the Deployment.
func (h *helm) ask(f *stage.Fixture, made *stage.Certificates, notes, deployment string) {
	h.t.Helper()
	named := regexp.MustCompile(`(?m)^  kubectl -n evenkeel get service (\S+)$`).FindStringSubmatch(notes)
	if named == nil {
		h.t.Fatalf("the notes name no Service:\n%s", notes)
	}
	ctx, client := h.t.Context(), h.c.Client()
	service, err := client.CoreV1().Services(evenkeel.Namespace).Get(ctx, named[1], metav1.GetOptions{})
	if err != nil {
		h.t.Fatal(err)
	}
	installed, err := client.AppsV1().Deployments(evenkeel.Namespace).Get(ctx, deployment, metav1.GetOptions{})
	if err != nil {
		h.t.Fatal(err)
	}
	template, port := installed.Spec.Template, service.Spec.Ports[0]
	leads := slices.ContainsFunc(template.Spec.Containers[0].Ports, func(p v1.ContainerPort) bool {
		return intstr.FromString(p.Name) == port.TargetPort && p.ContainerPort == 8443
	})
	if !leads || port.Port != 8443 || !labels.SelectorFromSet(service.Spec.Selector).Matches(labels.Set(template.Labels)) {
		h.t.Errorf("the Service %s does not lead to port 8443 of %s: %+v", service.Name, deployment, service.Spec)
	}
	entry := made.Extender(stage.Listen()) // there is no kube-proxy here
	entry.TLSConfig.ServerName = service.Name + "." + evenkeel.Namespace + ".svc"
	if err := f.RestartScheduler(ctx, entry); err != nil {
		h.t.Fatal(err)
	}
}

// cycles runs one Job after another until a Job evicts nothing and no node is hot.
func (h *helm) cycles(f *stage.Fixture, story *scenario.Story) {
	h.t.Helper()
	const most = 5
	var evicted []int
	for idle := false; !idle; {
		if len(evicted) == most {
			h.t.Fatalf("after %d Jobs it is not over: %v evictions, %v are hot", most, evicted, f.Hot(h.t.Context(), story.EvictLinePercent))
		}
		if len(evicted) > 0 {
			select {
			case <-h.t.Context().Done():
				h.t.Fatal("the case was stopped")
			case <-time.After(2 * time.Second):
			}
		}
		n := h.cycle(f)
		evicted = append(evicted, n)
		idle = n == 0 && len(f.Hot(h.t.Context(), story.EvictLinePercent)) == 0
	}
	h.t.Logf("figures: evictions of the Jobs %v", evicted)
}

// cycle runs the command of one Job of the CronJob to its end, because no kubelet does.
func (h *helm) cycle(f *stage.Fixture) (evicted int) {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), 90*time.Second)
	defer cancel()
	scheduled, err := h.c.Client().BatchV1().CronJobs(evenkeel.Namespace).Get(ctx, "evenkeel", metav1.GetOptions{})
	if err != nil {
		h.t.Fatal(err)
	}
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{GenerateName: "evenkeel-"}, Spec: scheduled.Spec.JobTemplate.Spec}
	if _, err := h.c.Client().BatchV1().Jobs(evenkeel.Namespace).Create(ctx, job, dryRun); err != nil {
		h.t.Fatal(err)
	}
	mark := f.Mark()
	if code, err := h.runPod(f, job.Spec.Template.Spec).Wait(ctx); err != nil || code != 0 {
		h.t.Fatalf("the Job ended with code %d, %v", code, err)
	}
	return f.Evictions(mark)
}

// allAsked checks that kube-scheduler asked about each replacement.
func allAsked(t *testing.T, f *stage.Fixture) {
	t.Helper()
	for _, move := range f.Moves() {
		if move.State == "Landed" && !move.Asked {
			t.Errorf("%s: kube-scheduler did not ask about it", &move)
		}
	}
}

// lasting is the inventory without the objects that an upgrade replaces: Helm's release Secrets and
// the addresses of Services.
func (h *helm) lasting() map[string]bool {
	h.t.Helper()
	all := h.inventory()
	for object := range all {
		if strings.HasPrefix(object, "secrets evenkeel/sh.helm.release.") || strings.HasPrefix(object, "ipaddresses ") {
			delete(all, object)
		}
	}
	return all
}

// goes uninstalls the chart and deletes the certificates, which are the user's.
func (h *helm) goes(f *stage.Fixture, made *stage.Certificates, before map[string]bool) {
	h.t.Helper()
	h.uninstall(f)
	if err := evenkeel.Delete(h.t.Context(), h.c, filepath.Join(made.Dir, "secrets.yaml")); err != nil {
		h.t.Fatal(err)
	}
	h.leavesNothing(before)
}
