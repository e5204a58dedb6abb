package scheduler

// policy is kube-scheduler's Policy of apiVersion v1, which is gone since
// Kubernetes 1.23.
type legacyPolicy struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Metadata was allowed and meant nothing.
	Metadata map[string]any `json:"metadata"`

	Predicates                     []namedPart `json:"predicates"`
	Priorities                     []namedPart `json:"priorities"`
	Extenders                      []legacy    `json:"extenders"`
	HardPodAffinitySymmetricWeight int32       `json:"hardPodAffinitySymmetricWeight"`
	AlwaysCheckAllPredicates       bool        `json:"alwaysCheckAllPredicates"`
}

// namedPart is a predicate or a priority. Of its argument nothing is kept.
type namedPart struct {
	Name     string         `json:"name"`
	Weight   int64          `json:"weight"`
	Argument map[string]any `json:"argument"`
}

// legacy is an extender of a Policy.
type legacy struct {
	URLPrefix        string     `json:"urlPrefix"`
	FilterVerb       string     `json:"filterVerb"`
	PreemptVerb      string     `json:"preemptVerb"`
	PrioritizeVerb   string     `json:"prioritizeVerb"`
	Weight           int64      `json:"weight"`
	BindVerb         string     `json:"bindVerb"`
	EnableHTTPS      bool       `json:"enableHttps"`
	TLSConfig        *tls       `json:"tlsConfig"`
	HTTPTimeout      int64      `json:"httpTimeout"` // nanoseconds
	NodeCacheCapable bool       `json:"nodeCacheCapable"`
	ManagedResources []resource `json:"managedResources"`
	Ignorable        bool       `json:"ignorable"`
}

type tls struct {
	Insecure   bool   `json:"insecure"`
	ServerName string `json:"serverName"`
	CertFile   string `json:"certFile"`
	KeyFile    string `json:"keyFile"`
	CAFile     string `json:"caFile"`
	CertData   string `json:"certData"` // in base64
	KeyData    string `json:"keyData"`
	CAData     string `json:"caData"`
}

type resource struct {
	Name               string `json:"name"`
	IgnoredByScheduler bool   `json:"ignoredByScheduler"`
}
