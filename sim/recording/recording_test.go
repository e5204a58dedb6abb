package recording

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/cluster/slim"
)

// Reading returns what was written: which pod was on which node from when to when, and what each
// used, with unknown values left unknown.
func TestRoundTrip(t *testing.T) {
	rec, err := Read(bytes.NewReader(write(t, nil)))
	if err != nil {
		t.Fatal(err)
	}
	if rec.Readings != 3 || rec.AtFirst != 2 || rec.Cut != "" || !rec.Header.Start.Equal(start) || rec.Header.Hashed {
		t.Errorf("%d readings, %d nodes at first, cut by %q, header %+v", rec.Readings, rec.AtFirst, rec.Cut, rec.Header)
	}
	var got []string
	for i := range rec.Pods {
		p := &rec.Pods[i]
		got = append(got, strings.Join([]string{
			p.Name, rec.Nodes[p.Node].Name, rec.Templates[p.Template].OwnerName, string(rune('0' + p.From)), string(rune('0' + p.Until)), show(&p.Used),
		}, "|"))
	}
	want := []string{
		"secret-web-1|secret-a|secret-web|0|0|0:100/1 1:NaN/NaN 2:200/2",
		"secret-web-2|secret-b|secret-web|0|2|0:NaN/NaN 1:300/1",
		"secret-agent|secret-b|secret-agent|2|0|2:50/0.5",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("pods (-want +got):\n%s", diff)
	}
	if a, b := show(&rec.Nodes[0].Used), show(&rec.Nodes[1].Used); a != "0:1000/4 1:1001/4 2:1002/4" || b != "" {
		t.Errorf("the nodes used %q and %q", a, b)
	}
	if len(rec.Templates) != 2 {
		t.Errorf("%d templates, want one per owner", len(rec.Templates))
	}
	if diff := cmp.Diff(TemplateOf(aPod("x", "y", "ReplicaSet", "secret-web")), rec.Templates[0]); diff != "" {
		t.Errorf("the template (-written +read):\n%s", diff)
	}
}

// To kube-scheduler, a pod made from its template is the same as the recorded one.
func TestPodOfTemplate(t *testing.T) {
	object := aPod("secret-web-1", "secret-a", "ReplicaSet", "secret-web")
	of := TemplateOf(object)
	pod := of.Pod("u")
	if diff := cmp.Diff(of, TemplateOf(pod)); diff != "" {
		t.Errorf("recorded again (-once +again):\n%s", diff)
	}
	if diff := cmp.Diff(of, TemplateOf(slimmed(t, object))); diff != "" {
		t.Errorf("of what informers store (-whole +stored):\n%s", diff)
	}
}

// An owner keeps its own API group even if Kubernetes has a kind of the same name.
func TestOwnersKeepTheirGroups(t *testing.T) {
	object := aPod("p", "n", "StatefulSet", "s")
	object.OwnerReferences[0].APIVersion = "apps.kruise.io/v1beta1"
	of := TemplateOf(object)
	if got := of.Pod("u").OwnerReferences[0]; got.APIVersion != "apps.kruise.io/v1beta1" || got.Kind != "StatefulSet" {
		t.Errorf("owner %+v", got)
	}
	of = TemplateOf(aPod("p", "n", "StatefulSet", "s"))
	if got := of.Pod("u").OwnerReferences[0]; got.APIVersion != "apps/v1" || of.OwnerAPIVersion != "" {
		t.Errorf("owner %+v", got)
	}
}

// slimmed returns a pod as it is stored by the informers from which recordings are made.
func slimmed(t *testing.T, pod *v1.Pod) *v1.Pod {
	t.Helper()
	stored, err := slim.New().WithoutTransitions().Transform(pod.DeepCopy())
	if err != nil {
		t.Fatal(err)
	}
	return stored.(*v1.Pod)
}

func TestStays(t *testing.T) {
	with := func(change func(*v1.Pod)) *v1.Pod {
		pod := aPod("p", "n", "ReplicaSet", "r")
		change(pod)
		return pod
	}
	for name, tc := range map[string]struct {
		pod  *v1.Pod
		want Stays
	}{
		"a replica":           {aPod("p", "n", "ReplicaSet", "r"), ""},
		"a DaemonSet's":       {aPod("p", "n", "DaemonSet", "d"), DaemonSet},
		"a node's own":        {aPod("p", "n", "Node", "n"), Mirror},
		"a static pod's twin": {with(func(p *v1.Pod) { p.Annotations[v1.MirrorPodAnnotationKey] = "x" }), Mirror},
		"nobody's":            {aPod("p", "n", "", ""), NoOwner},
		"the system's":        {with(func(p *v1.Pod) { p.Spec.Priority = new(int32(2_000_000_000)) }), Critical},
		"one with a scratch volume": {with(func(p *v1.Pod) {
			p.Spec.Volumes = []v1.Volume{{VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}}}
		}), LocalStorage},
		"one with a configuration": {with(func(p *v1.Pod) {
			p.Spec.Volumes = []v1.Volume{{VolumeSource: v1.VolumeSource{ConfigMap: &v1.ConfigMapVolumeSource{}}}}
		}), ""},
		"one that is not safe to evict":   {with(func(p *v1.Pod) { p.Annotations["cluster-autoscaler.kubernetes.io/safe-to-evict"] = "false" }), Protected},
		"one not to be disrupted so soon": {with(func(p *v1.Pod) { p.Annotations["karpenter.sh/do-not-disrupt"] = "1h" }), Protected},
		"one of a group":                  {with(func(p *v1.Pod) { p.Labels["ray.io/cluster"] = "a" }), Protected},
		"one that runs once":              {with(func(p *v1.Pod) { p.Spec.RestartPolicy = v1.RestartPolicyNever }), Protected},
		"one of a controller that a policy may know": {with(func(p *v1.Pod) {
			p.OwnerReferences[0].APIVersion, p.OwnerReferences[0].Kind = "apps.kruise.io/v1beta1", "StatefulSet"
		}), ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := TemplateOf(tc.pod).Stays; got != tc.want {
				t.Errorf("stays for %q, want %q", got, tc.want)
			}
			if got := TemplateOf(slimmed(t, tc.pod)).Stays; got != tc.want {
				t.Errorf("as informers store it, it stays for %q, want %q", got, tc.want)
			}
		})
	}
}

// If names are hashed, none can be read, and what matched before still matches.
func TestHashedNames(t *testing.T) {
	packed := write(t, NewHasher([]byte("salt")))
	for line := range strings.SplitSeq(text(t, packed), "\n") {
		for _, readable := range []string{"secret", "10.11.12.13", "vendor"} {
			if strings.Contains(line, readable) {
				t.Errorf("%q can be read in %s", readable, line)
			}
		}
	}
	rec, err := Read(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	node, of := rec.Nodes[0].Object(), &rec.Templates[0]
	pod := of.Pod("u") // a comparison of numbers only requires that they exist
	if ok, err := nodeaffinity.GetRequiredNodeAffinity(pod).Match(node); !ok || err != nil {
		t.Errorf("a node selector no longer matches: %v", err)
	}
	if taint := &node.Spec.Taints[0]; taint.Key != of.Tolerations[0].Key || taint.Value != of.Tolerations[0].Value {
		t.Errorf("the taint %+v is not tolerated by %+v", node.Spec.Taints[0], of.Tolerations[0])
	}
	selector := of.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution[0].LabelSelector
	for key, value := range selector.MatchLabels {
		if of.Labels[key] != value || selector.MatchExpressions[0].Values[0] != value {
			t.Errorf("the selector %+v no longer matches %v", selector, of.Labels)
		}
	}
	for name := range of.Requests {
		if _, ok := node.Status.Allocatable[name]; !ok {
			t.Errorf("%q is requested and no node has it", name)
		}
	}
	if node.Labels[v1.LabelHostname] != node.Name || !rec.Header.Hashed {
		t.Errorf("node %q calls itself %q; header %+v", node.Name, node.Labels[v1.LabelHostname], rec.Header)
	}
	if other := NewHasher([]byte("other")).Name("secret-a"); other == node.Name {
		t.Error("another salt gives the same digits")
	}
}

// Hashed or not, ReplicaSets belong to the same Deployment or to none.
func TestHashedOwners(t *testing.T) {
	hasher := NewHasher([]byte("salt"))
	family := func(owner, hash string) cluster.Family {
		hidden := hasher.template(Template{
			Namespace: "shop", OwnerKind: "ReplicaSet", OwnerName: owner, Labels: map[string]string{"pod-template-hash": hash},
		})
		return cluster.FamilyOf(hidden.Namespace, cluster.Owner{Kind: hidden.OwnerKind, Name: hidden.OwnerName}, hidden.Labels["pod-template-hash"])
	}
	web := family("web-5d4f8", "5d4f8")
	if web == (cluster.Family{}) || family("web-77bc9", "77bc9") != web {
		t.Errorf("the next version of %+v is of %+v", web, family("web-77bc9", "77bc9"))
	}
	if other := family("api-5d4f8", "5d4f8"); other == web || other == (cluster.Family{}) {
		t.Errorf("another Deployment is %+v, as %+v", other, web)
	}
	if none := family("web-5d4f8", "77bc9"); none != (cluster.Family{}) {
		t.Errorf("a ReplicaSet without its hash is of %+v", none)
	}
	if strings.Contains(web.Name, "web") || strings.Contains(web.Namespace, "shop") {
		t.Errorf("%+v can be read", web)
	}
}

// A recording that is truncated anywhere after its first reading is read up to the last complete
// reading.
func TestCutShort(t *testing.T) {
	whole := text(t, write(t, nil))
	lines := strings.SplitAfter(whole, "\n")
	first := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, `{"reading"`) })
	enough := len(strings.Join(lines[:first+1], ""))
	readings := map[int]bool{}
	for n := range len(whole) {
		rec, err := Read(strings.NewReader(whole[:n]))
		if n < enough {
			if err == nil || !strings.Contains(err.Error(), "line ") {
				t.Fatalf("%d bytes: error %v", n, err)
			}
			continue
		}
		if err != nil {
			t.Fatalf("%d bytes: %v", n, err)
		}
		if ended := whole[n-1] == '\n'; (rec.Cut == "") != ended {
			t.Fatalf("%d bytes: cut by %q", n, rec.Cut)
		}
		readings[rec.Readings] = true
	}
	if got := slices.Sorted(maps.Keys(readings)); !slices.Equal(got, []int{1, 2, 3}[:len(got)]) || len(got) < 2 {
		t.Errorf("numbers of readings %v", got)
	}
	packed := write(t, nil)
	for n := 1; n < len(packed); n++ {
		if rec, err := Read(bytes.NewReader(packed[:n])); err == nil && rec.Cut == "" {
			t.Fatalf("%d of %d packed bytes are accepted as complete", n, len(packed))
		}
	}
}

// Each reading can be read as soon as it is written, even if nothing follows.
func TestReadingsAreFlushed(t *testing.T) {
	var out bytes.Buffer
	w, err := NewWriter(&out, Header{Start: start, IntervalSeconds: 60}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for number := range 3 {
		nodes := []NodeReading{{aNode("a"), uses(1, 1)}}
		if err := w.Reading(number, nodes, []PodReading{{aPod("p", "a", "ReplicaSet", "r"), uses(1, 1)}}); err != nil {
			t.Fatal(err)
		}
		rec, err := Read(bytes.NewReader(out.Bytes()))
		if err != nil || rec.Readings != number+1 || rec.Cut == "" {
			t.Fatalf("after reading %d: %+v, %v", number, rec, err)
		}
	}
	if err := w.Reading(2, nil, nil); err == nil {
		t.Error("a reading was written twice")
	}
}
