package descheduler

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// document is a DeschedulerPolicy of v1alpha1 with every field that any release had.
type document struct {
	metav1.TypeMeta                `json:",inline"`
	Strategies                     map[string]strategy `json:"strategies"`
	NodeSelector                   *string             `json:"nodeSelector"`
	EvictFailedBarePods            bool                `json:"evictFailedBarePods"`
	EvictLocalStoragePods          bool                `json:"evictLocalStoragePods"`
	EvictSystemCriticalPods        bool                `json:"evictSystemCriticalPods"`
	EvictDaemonSetPods             bool                `json:"evictDaemonSetPods"`
	IgnorePvcPods                  bool                `json:"ignorePvcPods"`
	MaxNoOfPodsToEvictPerNode      *uint               `json:"maxNoOfPodsToEvictPerNode"`
	MaxNoOfPodsToEvictPerNamespace *uint               `json:"maxNoOfPodsToEvictPerNamespace"`
	MaxNoOfPodsToEvictTotal        *uint               `json:"maxNoOfPodsToEvictTotal"`
}

type strategy struct {
	Enabled bool    `json:"enabled"`
	Weight  int     `json:"weight"`
	Params  *params `json:"params"`
}

// params holds the parameters of all strategies. Each strategy uses some of them.
type params struct {
	NodeResourceUtilizationThresholds utilization           `json:"nodeResourceUtilizationThresholds"`
	NodeAffinityType                  []string              `json:"nodeAffinityType"`
	PodsHavingTooManyRestarts         restarts              `json:"podsHavingTooManyRestarts"`
	PodLifeTime                       lifeTime              `json:"podLifeTime"`
	MaxPodLifeTimeSeconds             *uint                 `json:"maxPodLifeTimeSeconds"` // only in 0.18 and 0.19
	RemoveDuplicates                  duplicates            `json:"removeDuplicates"`
	FailedPods                        failedPods            `json:"failedPods"`
	IncludeSoftConstraints            bool                  `json:"includeSoftConstraints"`
	Namespaces                        namespaces            `json:"namespaces"`
	ThresholdPriority                 *int32                `json:"thresholdPriority"`
	ThresholdPriorityClassName        string                `json:"thresholdPriorityClassName"`
	LabelSelector                     *metav1.LabelSelector `json:"labelSelector"`
	NodeFit                           bool                  `json:"nodeFit"`
	IncludePreferNoSchedule           bool                  `json:"includePreferNoSchedule"`
	ExcludedTaints                    []string              `json:"excludedTaints"`
	IncludedTaints                    []string              `json:"includedTaints"`
}

type utilization struct {
	UseDeviationThresholds bool               `json:"useDeviationThresholds"`
	Thresholds             map[string]float64 `json:"thresholds"`
	TargetThresholds       map[string]float64 `json:"targetThresholds"`
	NumberOfNodes          int                `json:"numberOfNodes"`
}

type restarts struct {
	PodRestartThreshold     int32 `json:"podRestartThreshold"`
	IncludingInitContainers bool  `json:"includingInitContainers"`
}

type lifeTime struct {
	MaxPodLifeTimeSeconds *uint    `json:"maxPodLifeTimeSeconds"`
	States                []string `json:"states"`
	PodStatusPhases       []string `json:"podStatusPhases"`
}

type duplicates struct {
	ExcludeOwnerKinds []string `json:"excludeOwnerKinds"`
}

type failedPods struct {
	ExcludeOwnerKinds       []string `json:"excludeOwnerKinds"`
	MinPodLifetimeSeconds   *uint    `json:"minPodLifetimeSeconds"`
	Reasons                 []string `json:"reasons"`
	IncludingInitContainers bool     `json:"includingInitContainers"`
}

type namespaces struct {
	Include []string `json:"include"`
	Exclude []string `json:"exclude"`
}
