package slim_test

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evenkeel/evenkeel/cluster/slim"
)

// Only these fields are dropped from a pod that has every field of the API. A field of a new API
// version is kept until it is known that nothing reads it.
func TestOnlyTheseFieldsOfAPodAreDropped(t *testing.T) {
	before := full("a")
	got := slimmed(t, slim.New(), before.DeepCopy())
	container := []string{
		"Args", "Command", "Env", "EnvFrom", "ImagePullPolicy", "Lifecycle", "LivenessProbe", "ReadinessProbe", "StartupProbe",
		"TerminationMessagePath", "TerminationMessagePolicy", "VolumeMounts", "WorkingDir",
	}
	status := []string{
		"ContainerID", "Image", "ImageID", "LastTerminationState.Terminated.ContainerID",
		"LastTerminationState.Terminated.Message", "LastTerminationState.Terminated.StartedAt", "LastTerminationState.Waiting.Message",
		"State.Running.StartedAt", "State.Terminated.ContainerID", "State.Terminated.Message", "State.Terminated.StartedAt",
		"State.Waiting.Message", "User", "VolumeMounts",
	}
	want := []string{
		"ObjectMeta.Annotations", "ObjectMeta.GenerateName", "ObjectMeta.ManagedFields", "ObjectMeta.SelfLink",
		"Spec.AutomountServiceAccountToken", "Spec.DNSConfig", "Spec.DeprecatedServiceAccount", "Spec.EnableServiceLinks", "Spec.HostAliases",
		"Spec.ImagePullSecrets", "Spec.SetHostnameAsFQDN", "Spec.ShareProcessNamespace", "Spec.Subdomain",
		"Status.Conditions[0].LastProbeTime", "Status.Conditions[0].Message", "Status.Conditions[0].ObservedGeneration",
		"Status.HostIP", "Status.HostIPs", "Status.Message", "Status.PodIP", "Status.PodIPs",
	}
	for _, of := range []string{"Spec.Containers", "Spec.InitContainers"} {
		want = append(want, prefixed(of+"[0].", container)...)
	}
	for _, of := range []string{"Status.ContainerStatuses", "Status.InitContainerStatuses", "Status.EphemeralContainerStatuses"} {
		want = append(want, prefixed(of+"[0].", status)...)
	}
	slices.Sort(want)
	dropped := changes("", reflect.ValueOf(*before), reflect.ValueOf(*got))
	slices.Sort(dropped)
	if diff := cmp.Diff(want, dropped); diff != "" {
		t.Errorf("dropped fields (-want +got):\n%s", diff)
	}
}

func prefixed(with string, names []string) []string {
	out := make([]string, len(names))
	for i, name := range names {
		out[i] = with + name
	}
	return out
}

// Annotations that protect pods, request their eviction or exempt them are kept.
func TestAnnotationsThatAreReadAreKept(t *testing.T) {
	kept := map[string]string{
		"descheduler.alpha.kubernetes.io/evict": "true", "descheduler.alpha.kubernetes.io/prefer-no-eviction": "true",
		"descheduler.alpha.kubernetes.io/request-evict-only": "", "descheduler.alpha.kubernetes.io/eviction-in-progress": "",
		"cluster-autoscaler.kubernetes.io/safe-to-evict": "false", "karpenter.sh/do-not-disrupt": "1h", v1.PodDeletionCost: "1",
		"batch.kubernetes.io/job-index-failure-count": "1",
		"scheduling.k8s.io/group-name":                "a", "jobset.sigs.k8s.io/jobset-name": "a",
		"evenkeel.io/surge": "true", "evenkeel.io/min-available": "2", v1.MirrorPodAnnotationKey: "0123", "kubernetes.io/config.source": "file",
	}
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{
		"kubectl.kubernetes.io/last-applied-configuration": "{}", "prometheus.io/port": "8080", "kubernetes.io/psp": "x",
	}}}
	maps.Copy(pod.Annotations, kept)
	if diff := cmp.Diff(kept, slimmed(t, slim.New(), pod).Annotations); diff != "" {
		t.Errorf("annotations (-want +got):\n%s", diff)
	}
}

// A volume is kept if it restricts where a pod can run, or protects the pod.
func TestVolumesThatAreReadAreKept(t *testing.T) {
	cases := map[string]struct {
		source v1.VolumeSource
		kept   bool
	}{
		"a claim":                  {v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}, true},
		"a claim of the pod's own": {v1.VolumeSource{Ephemeral: &v1.EphemeralVolumeSource{}}, true},
		"local storage":            {v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}, true},
		"the node's own folder":    {v1.VolumeSource{HostPath: &v1.HostPathVolumeSource{Path: "/data"}}, true},
		"a cloud disk":             {v1.VolumeSource{AWSElasticBlockStore: &v1.AWSElasticBlockStoreVolumeSource{VolumeID: "v"}}, true},
		"a driver":                 {v1.VolumeSource{CSI: &v1.CSIVolumeSource{Driver: "secrets"}}, true},
		"one that this API lacks":  {v1.VolumeSource{}, true},
		"configuration":            {v1.VolumeSource{ConfigMap: &v1.ConfigMapVolumeSource{}}, false},
		"a secret":                 {v1.VolumeSource{Secret: &v1.SecretVolumeSource{}}, false},
		"the token of its account": {v1.VolumeSource{Projected: &v1.ProjectedVolumeSource{}}, false},
		"the pod's own fields":     {v1.VolumeSource{DownwardAPI: &v1.DownwardAPIVolumeSource{}}, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			pod := &v1.Pod{Spec: v1.PodSpec{Volumes: []v1.Volume{{Name: "v", VolumeSource: tc.source}}}}
			if got := len(slimmed(t, slim.New(), pod).Spec.Volumes) == 1; got != tc.kept {
				t.Errorf("kept %t, want %t", got, tc.kept)
			}
		})
	}
}

func slimmed(t *testing.T, s *slim.Slimmer, object any) *v1.Pod {
	t.Helper()
	out, err := s.Transform(object)
	pod, ok := out.(*v1.Pod)
	if err != nil || !ok {
		t.Fatalf("got %T, error %v", out, err)
	}
	return pod
}

// full returns a pod with a value in every field, except the sources of volumes that are dropped.
// which distinguishes pods.
func full(which string) *v1.Pod {
	pod := &v1.Pod{}
	fill(reflect.ValueOf(pod).Elem(), 0)
	source := &pod.Spec.Volumes[0].VolumeSource
	source.ConfigMap, source.Secret, source.Projected, source.DownwardAPI = nil, nil, nil, nil
	pod.Name = which
	return pod
}

// fill sets every field to some value.
func fill(v reflect.Value, depth int) {
	if !v.CanSet() || depth > 12 {
		return
	}
	switch set := v.Addr().Interface().(type) {
	case *metav1.Time:
		set.Time = time.Unix(1_800_000_000, 0)
		return
	case *resource.Quantity:
		*set = resource.MustParse("7")
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), depth+1)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 4))
		fill(v.Index(0), depth+1)
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key, depth+1)
		fill(value, depth+1)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Struct:
		for _, field := range v.Fields() {
			fill(field, depth+1)
		}
	case reflect.String:
		v.SetString("a")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int32, reflect.Int64, reflect.Int:
		v.SetInt(1)
	case reflect.Uint8:
		v.SetUint(1)
	default:
	}
}

// changes returns the paths at which two values differ. For values that are empty afterwards, it
// returns only the outermost path.
func changes(path string, before, after reflect.Value) []string {
	if !after.IsValid() || after.IsZero() && !before.IsZero() {
		return []string{path}
	}
	return inside(path, before, after)
}

func inside(path string, before, after reflect.Value) (found []string) {
	switch before.Kind() {
	case reflect.Pointer:
		if !before.IsNil() {
			found = inside(path, before.Elem(), after.Elem())
		}
	case reflect.Slice:
		for i := range before.Len() {
			if i >= after.Len() {
				return append(found, path)
			}
			found = append(found, changes(path+"["+strconv.Itoa(i)+"]", before.Index(i), after.Index(i))...)
		}
	case reflect.Map:
		for _, key := range before.MapKeys() {
			found = append(found, changes(fmt.Sprintf("%s[%v]", path, key), before.MapIndex(key), after.MapIndex(key))...)
		}
	case reflect.Struct:
		for i := range before.NumField() {
			if field := before.Type().Field(i); field.IsExported() {
				found = append(found, changes(join(path, &field), before.Field(i), after.Field(i))...)
			}
		}
	default:
		if !before.Equal(after) {
			found = append(found, path)
		}
	}
	return found
}

func join(path string, field *reflect.StructField) string {
	switch {
	case path == "":
		return field.Name
	case field.Anonymous:
		return path
	}
	return path + "." + field.Name
}

// A container's start time is kept only if the container did not start promptly after its pod.
// Otherwise, the two starts are not distinguished.
func TestLateStartsAreKept(t *testing.T) {
	began := time.Unix(1_800_000_000, 0)
	for after, kept := range map[time.Duration]bool{0: false, 10 * time.Second: false, 11 * time.Second: true, time.Hour: true} {
		pod := full("a")
		pod.Status.StartTime = &metav1.Time{Time: began}
		pod.Status.ContainerStatuses[0].State.Running.StartedAt.Time = began.Add(after)
		got := slimmed(t, slim.New(), pod).Status.ContainerStatuses[0].State.Running
		if got == nil || !got.StartedAt.IsZero() != kept {
			t.Errorf("after %v: %v, want it kept: %v", after, got, kept)
		}
	}
}
