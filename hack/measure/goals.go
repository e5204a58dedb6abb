package measure

// Comparison compares how many pods per second two variants of kube-scheduler bind.
// AtLeast is the required ratio; 0 means no goal.
type Comparison struct {
	Of, Beside string
	AtLeast    float64
}

// SchedulerGoals returns the comparisons that have a goal.
func SchedulerGoals() []Comparison {
	return []Comparison{
		{Of: "evenkeel", Beside: "neutral", AtLeast: 0.95},
		{Of: "evenkeel", Beside: "echo", AtLeast: 0.95},
		{Of: "evenkeel-prioritize", Beside: "neutral-prioritize", AtLeast: 0.95},
		{Of: "evenkeel-prioritize", Beside: "echo-prioritize", AtLeast: 0.95},
		{Of: "tls", Beside: "plain", AtLeast: 0.95},
		{Of: "admission", Beside: "alone", AtLeast: 0.98},
		{Of: "managed", Beside: "none", AtLeast: 1},
		{Of: "plugin", Beside: "stock", AtLeast: 0.9},
	}
}
