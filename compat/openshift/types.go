package openshift

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// document is a KubeDescheduler. Fields that do not affect which pods are evicted are
// accepted, because objects read from a cluster have them.
type document struct {
	metav1.TypeMeta `json:",inline"`

	Metadata map[string]any `json:"metadata"`
	Spec     spec           `json:"spec"`
	Status   map[string]any `json:"status"`
}

type spec struct {
	ManagementState            string         `json:"managementState"`
	LogLevel                   string         `json:"logLevel"`
	OperatorLogLevel           string         `json:"operatorLogLevel"`
	UnsupportedConfigOverrides map[string]any `json:"unsupportedConfigOverrides"`
	ObservedConfig             map[string]any `json:"observedConfig"`

	Profiles                    []string       `json:"profiles"`
	DeschedulingIntervalSeconds *int32         `json:"deschedulingIntervalSeconds"`
	EvictionLimits              limits         `json:"evictionLimits"`
	ProfileCustomizations       customizations `json:"profileCustomizations"`
	Mode                        string         `json:"mode"`
}

type limits struct {
	Total *int32 `json:"total"`
	Node  *int32 `json:"node"`
}

type customizations struct {
	PodLifetime                      *metav1.Duration `json:"podLifetime"`
	ThresholdPriority                *int32           `json:"thresholdPriority"`
	ThresholdPriorityClassName       string           `json:"thresholdPriorityClassName"`
	Namespaces                       namespaces       `json:"namespaces"`
	DevLowNodeUtilizationThresholds  string           `json:"devLowNodeUtilizationThresholds"`
	DevHighNodeUtilizationThresholds string           `json:"devHighNodeUtilizationThresholds"`
	DevDeviationThresholds           string           `json:"devDeviationThresholds"`
	DevActualUtilizationProfile      string           `json:"devActualUtilizationProfile"`
	DevEnableSoftTainter             bool             `json:"devEnableSoftTainter"`
	DevEnableEvictionsInBackground   bool             `json:"devEnableEvictionsInBackground"`
	DevMigrationCooldown             *metav1.Duration `json:"devMigrationCooldown"`
	DevMaxMigrationCooldown          *metav1.Duration `json:"devMaxMigrationCooldown"`
	DevMigrationHistoryWindow        *metav1.Duration `json:"devMigrationHistoryWindow"`
}

type namespaces struct {
	Included []string `json:"included"`
	Excluded []string `json:"excluded"`
}

const (
	automatic         = "Automatic"
	relieveAndMigrate = "KubeVirtRelieveAndMigrate"
)

// pair is a pair of thresholds, in percent or in percentage points from the mean. A node
// takes pods below low and gives pods away above high.
type pair struct{ low, high float64 }

// The pairs under the operator's names.
var (
	levels     = map[string]pair{"": {20, 50}, "Low": {10, 30}, "Medium": {20, 50}, "High": {40, 70}}
	deviations = map[string]pair{
		"Low": {10, 10}, "Medium": {20, 20}, "High": {30, 30},
		"AsymmetricLow": {0, 10}, "AsymmetricMedium": {0, 20}, "AsymmetricHigh": {0, 30},
	}
	compact = map[string]float64{"": 20, "Minimal": 10, "Modest": 20, "Moderate": 30}
)

// measured maps the operator's named queries to the resources whose usage replaces them.
var measured = map[string][]string{
	"PrometheusCPUUsage":                    {"cpu"},
	"PrometheusCPUPSIPressure":              {"cpu"},
	"PrometheusCPUPSIPressureByUtilization": {"cpu"},
	"PrometheusCPUCombined":                 {"cpu"},
	"PrometheusMemoryPSIPressure":           {"memory"},
	"PrometheusCPUMemoryCombinedProfile":    {"cpu", "memory"},
}
