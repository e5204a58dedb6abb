package scheduler

// legacyPolicy is kube-scheduler's Policy of apiVersion v1, which Kubernetes
// 1.23 removed.
type legacyPolicy struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Metadata was allowed but had no meaning.
	Metadata map[string]any `json:"metadata"`

	Predicates                     []namedPart `json:"predicates"`
	Priorities                     []namedPart `json:"priorities"`
	Extenders                      []legacy    `json:"extenders"`
	HardPodAffinitySymmetricWeight int32       `json:"hardPodAffinitySymmetricWeight"`
	AlwaysCheckAllPredicates       bool        `json:"alwaysCheckAllPredicates"`
}

// namedPart is a predicate or a priority. Its argument is dropped.
type namedPart struct {
	Name     string         `json:"name"`
	Weight   int64          `json:"weight"`
	Argument map[string]any `json:"argument"`
}

// legacy is an extender of a Policy.
type legacy struct {
	URLPrefix        string     `json:"urlPrefix,omitempty"`
	FilterVerb       string     `json:"filterVerb,omitempty"`
	PreemptVerb      string     `json:"preemptVerb,omitempty"`
	PrioritizeVerb   string     `json:"prioritizeVerb,omitempty"`
	Weight           int64      `json:"weight,omitempty"`
	BindVerb         string     `json:"bindVerb,omitempty"`
	EnableHTTPS      bool       `json:"enableHttps,omitempty"`
	TLSConfig        *tls       `json:"tlsConfig,omitempty"`
	HTTPTimeout      int64      `json:"httpTimeout,omitempty"` // nanoseconds
	NodeCacheCapable bool       `json:"nodeCacheCapable,omitempty"`
	ManagedResources []resource `json:"managedResources,omitempty"`
	Ignorable        bool       `json:"ignorable,omitempty"`
}

type tls struct {
	Insecure   bool   `json:"insecure,omitempty"`
	ServerName string `json:"serverName,omitempty"`
	CertFile   string `json:"certFile,omitempty"`
	KeyFile    string `json:"keyFile,omitempty"`
	CAFile     string `json:"caFile,omitempty"`
	CertData   string `json:"certData,omitempty"` // in base64
	KeyData    string `json:"keyData,omitempty"`
	CAData     string `json:"caData,omitempty"`
}

type resource struct {
	Name               string `json:"name,omitempty"`
	IgnoredByScheduler bool   `json:"ignoredByScheduler,omitempty"`
}
