package main

import (
	"fmt"
	"strconv"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// pod makes a running pod of a Deployment, with a sidecar.
func (f *fleet) pod(i, version int) *v1.Pod {
	grace, priority, links := int64(30), int32(0), true
	return &v1.Pod{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: f.podMeta(i, version),
		Spec: v1.PodSpec{
			NodeName: nodeName(i / f.podsPerNode), SchedulerName: "default-scheduler", ServiceAccountName: "service", DeprecatedServiceAccount: "service",
			RestartPolicy: v1.RestartPolicyAlways, DNSPolicy: v1.DNSClusterFirst, TerminationGracePeriodSeconds: &grace, Priority: &priority,
			EnableServiceLinks: &links, SecurityContext: &v1.PodSecurityContext{},
			Containers:  []v1.Container{f.container("main", i), f.container("proxy", i)},
			Volumes:     volumes(i),
			Tolerations: tolerations(),
			TopologySpreadConstraints: []v1.TopologySpreadConstraint{{
				MaxSkew: 1, TopologyKey: "topology.kubernetes.io/zone", WhenUnsatisfiable: v1.ScheduleAnyway,
				LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app.kubernetes.io/name": f.replicaSet(i)}},
			}},
		},
		Status: f.podStatus(i, version),
	}
}

func (f *fleet) podMeta(i, version int) metav1.ObjectMeta {
	yes := true
	return metav1.ObjectMeta{
		Name: f.podName(i), GenerateName: f.replicaSet(i) + "-", Namespace: f.namespace(i), UID: f.podUID(i),
		ResourceVersion: strconv.Itoa(version), CreationTimestamp: epoch(),
		Labels: map[string]string{
			"app.kubernetes.io/name": fmt.Sprintf("service-%05d", f.workload(i)), "app.kubernetes.io/instance": "production",
			"app.kubernetes.io/component": "backend", "app.kubernetes.io/version": "v1.42.0", "pod-template-hash": "6c9f4d7b8", "team": f.namespace(i),
		},
		Annotations: map[string]string{
			"checksum/config": fmt.Sprintf("%064x", i), "prometheus.io/scrape": "true", "prometheus.io/port": "8080",
			"kubectl.kubernetes.io/restartedAt": "2026-02-27T09:14:33Z",
		},
		OwnerReferences: []metav1.OwnerReference{{
			APIVersion: "apps/v1", Kind: "ReplicaSet", Name: f.replicaSet(i), UID: types.UID(uid("an owner", f.workload(i))),
			Controller: &yes, BlockOwnerDeletion: &yes,
		}},
		ManagedFields: managed("kube-controller-manager", "kubelet"),
	}
}

func (f *fleet) container(name string, i int) v1.Container {
	probe := &v1.Probe{
		ProbeHandler:  v1.ProbeHandler{HTTPGet: &v1.HTTPGetAction{Path: "/healthz", Port: intstr.FromString("http"), Scheme: v1.URISchemeHTTP}},
		PeriodSeconds: 10, TimeoutSeconds: 1, SuccessThreshold: 1, FailureThreshold: 3,
	}
	return v1.Container{
		Name: name, Image: "123456789012.dkr.ecr.eu-central-1.amazonaws.com/platform/" + name + ":v1.42.0", ImagePullPolicy: v1.PullIfNotPresent,
		Args: []string{"--listen=:8080", "--config=/etc/service/config.yaml"}, Env: f.environment(i),
		Ports:         []v1.ContainerPort{{Name: "http", ContainerPort: 8080, Protocol: v1.ProtocolTCP}},
		Resources:     v1.ResourceRequirements{Requests: quantities("cpu", "250m", "memory", "512Mi"), Limits: quantities("memory", "1Gi")},
		LivenessProbe: probe, ReadinessProbe: probe,
		TerminationMessagePath: "/dev/termination-log", TerminationMessagePolicy: v1.TerminationMessageReadFile,
		VolumeMounts: []v1.VolumeMount{
			{Name: "config", MountPath: "/etc/service", ReadOnly: true}, {Name: "tmp", MountPath: "/tmp"},
			{Name: access(i), MountPath: "/var/run/secrets/kubernetes.io/serviceaccount", ReadOnly: true},
		},
	}
}

func (f *fleet) environment(i int) []v1.EnvVar {
	env := []v1.EnvVar{
		{Name: "POD_NAME", ValueFrom: &v1.EnvVarSource{FieldRef: &v1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.name"}}},
		{Name: "DATABASE_PASSWORD", ValueFrom: &v1.EnvVarSource{SecretKeyRef: &v1.SecretKeySelector{
			LocalObjectReference: v1.LocalObjectReference{Name: "database"}, Key: "password",
		}}},
		{Name: "DATABASE_HOST", Value: fmt.Sprintf("postgres.%s.svc.cluster.local", f.namespace(i))},
	}
	for k := range 7 {
		env = append(env, v1.EnvVar{Name: fmt.Sprintf("FEATURE_SETTING_%d", k), Value: "enabled-for-all-tenants"})
	}
	return env
}

// access returns a name like the one that the API server gives the volume with a pod's
// token.
func access(i int) string { return fmt.Sprintf("kube-api-access-%05x", i) }

func volumes(i int) []v1.Volume {
	mode, seconds := int32(420), int64(3607)
	return []v1.Volume{
		{Name: "config", VolumeSource: v1.VolumeSource{ConfigMap: &v1.ConfigMapVolumeSource{
			LocalObjectReference: v1.LocalObjectReference{Name: "service-config"}, DefaultMode: &mode,
		}}},
		{Name: "tmp", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}},
		{Name: access(i), VolumeSource: v1.VolumeSource{Projected: &v1.ProjectedVolumeSource{DefaultMode: &mode, Sources: []v1.VolumeProjection{
			{ServiceAccountToken: &v1.ServiceAccountTokenProjection{ExpirationSeconds: &seconds, Path: "token"}},
			{ConfigMap: &v1.ConfigMapProjection{
				LocalObjectReference: v1.LocalObjectReference{Name: "kube-root-ca.crt"}, Items: []v1.KeyToPath{{Key: "ca.crt", Path: "ca.crt"}},
			}},
		}}}},
	}
}

func tolerations() []v1.Toleration {
	seconds := int64(300)
	return []v1.Toleration{
		{Key: "node.kubernetes.io/not-ready", Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoExecute, TolerationSeconds: &seconds},
		{Key: "node.kubernetes.io/unreachable", Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoExecute, TolerationSeconds: &seconds},
	}
}

func (f *fleet) podStatus(i, version int) v1.PodStatus {
	started := epoch()
	ip, host := fmt.Sprintf("100.%d.%d.%d", i>>16&255, i>>8&255, i&255), address(i/f.podsPerNode)
	status := v1.PodStatus{
		Phase: v1.PodRunning, QOSClass: v1.PodQOSBurstable, StartTime: &started, PodIP: ip, PodIPs: []v1.PodIP{{IP: ip}},
		HostIP: host, HostIPs: []v1.HostIP{{IP: host}},
	}
	changed := metav1.NewTime(started.Add(time.Duration(version) * time.Millisecond))
	for _, kind := range []v1.PodConditionType{v1.PodReadyToStartContainers, v1.PodInitialized, v1.PodReady, v1.ContainersReady, v1.PodScheduled} {
		status.Conditions = append(status.Conditions, v1.PodCondition{Type: kind, Status: v1.ConditionTrue, LastTransitionTime: changed})
	}
	for _, name := range []string{"main", "proxy"} {
		image := "123456789012.dkr.ecr.eu-central-1.amazonaws.com/platform/" + name
		status.ContainerStatuses = append(status.ContainerStatuses, v1.ContainerStatus{
			Name: name, Image: image + ":v1.42.0", ImageID: fmt.Sprintf("%s@sha256:%064x", image, 42), ContainerID: fmt.Sprintf("containerd://%064x", i),
			Ready: true, Started: new(true), State: v1.ContainerState{Running: &v1.ContainerStateRunning{StartedAt: started}},
		})
	}
	return status
}
