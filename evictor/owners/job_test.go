package owners

import (
	"math"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/evenkeel/evenkeel/reasons"
)

// work returns a Job of 10 pods, 3 at a time, without any failure yet.
func work(change ...func(*batchv1.Job)) *batchv1.Job {
	job := &batchv1.Job{
		Spec:   batchv1.JobSpec{Parallelism: new(int32(3)), Completions: new(int32(10)), BackoffLimit: new(int32(6))},
		Status: batchv1.JobStatus{Active: 3, Succeeded: 2, StartTime: &metav1.Time{Time: noon.Add(-time.Hour)}},
	}
	for _, c := range change {
		c(job)
	}
	return job
}

func failedSoFar(n int32) func(*batchv1.Job) {
	return func(job *batchv1.Job) { job.Status.Failed = n }
}

func withPolicy(rules ...batchv1.PodFailurePolicyRule) func(*batchv1.Job) {
	return func(job *batchv1.Job) { job.Spec.PodFailurePolicy = &batchv1.PodFailurePolicy{Rules: rules} }
}

func onDisruption(action batchv1.PodFailurePolicyAction) batchv1.PodFailurePolicyRule {
	return batchv1.PodFailurePolicyRule{Action: action, OnPodConditions: []batchv1.PodFailurePolicyOnPodConditionsPattern{{Type: v1.DisruptionTarget, Status: v1.ConditionTrue}}}
}

func onExit(action batchv1.PodFailurePolicyAction) batchv1.PodFailurePolicyRule {
	return batchv1.PodFailurePolicyRule{Action: action, OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{Operator: batchv1.PodFailurePolicyOnExitCodesOpNotIn, Values: []int32{0}}}
}

func perIndex(limit int32) func(*batchv1.Job) {
	return func(job *batchv1.Job) {
		job.Spec.CompletionMode = new(batchv1.IndexedCompletion)
		job.Spec.BackoffLimit, job.Spec.BackoffLimitPerIndex = nil, &limit
	}
}

func deadline(after time.Duration) func(*batchv1.Job) {
	return func(job *batchv1.Job) { job.Spec.ActiveDeadlineSeconds = new(int64(after.Seconds())) }
}

func condition(kind batchv1.JobConditionType) func(*batchv1.Job) {
	return func(job *batchv1.Job) {
		job.Status.Conditions = []batchv1.JobCondition{{Type: kind, Status: v1.ConditionTrue}}
	}
}

// worker returns a pod of the Job that has run for 20 minutes.
func worker(change ...func(*v1.Pod)) *v1.Pod {
	pod := member(0)
	pod.Status.StartTime = &metav1.Time{Time: noon.Add(-20 * time.Minute)}
	for _, c := range change {
		c(pod)
	}
	return pod
}

func ofIndex(index, failures string) func(*v1.Pod) {
	return func(pod *v1.Pod) {
		pod.Labels = map[string]string{batchv1.JobCompletionIndexAnnotation: index}
		pod.Annotations = map[string]string{batchv1.JobIndexFailureCountAnnotation: failures}
	}
}

// unlabelled gives a pod its index only in an annotation, as in a cluster that does not label pods.
func unlabelled(index string) func(*v1.Pod) {
	return func(pod *v1.Pod) {
		pod.Annotations = map[string]string{batchv1.JobCompletionIndexAnnotation: index}
	}
}

// An evicted pod of a Job counts as failed unless the Job's own policy excludes it, and a Job needs
// further pods only until it is done.
func TestJobs(t *testing.T) {
	const ignore, count = batchv1.PodFailurePolicyActionIgnore, batchv1.PodFailurePolicyActionCount
	const failJob, failIndex = batchv1.PodFailurePolicyActionFailJob, batchv1.PodFailurePolicyActionFailIndex
	noLimit := func(job *batchv1.Job) { job.Spec.BackoffLimit = nil }
	queue := func(succeeded int32) func(*batchv1.Job) {
		return func(job *batchv1.Job) { job.Spec.Completions, job.Status.Succeeded = nil, succeeded }
	}
	done := func(succeeded, active int32) func(*batchv1.Job) {
		return func(job *batchv1.Job) { job.Status.Succeeded, job.Status.Active = succeeded, active }
	}
	uncounted := func(job *batchv1.Job) {
		job.Status.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{Failed: []types.UID{"a"}}
	}
	for name, tc := range map[string]struct {
		job     *batchv1.Job
		pod     *v1.Pod
		leaving int // other pods that have already been evicted
		failed  int // other pods that have failed and still exist
		want    reasons.Reason
	}{
		"no failure yet":                     {job: work()},
		"its last retry":                     {job: work(failedSoFar(5))},
		"no retry is left":                   {job: work(failedSoFar(6)), want: reasons.JobWouldFail},
		"a failure that is not counted yet":  {job: work(failedSoFar(5), uncounted), want: reasons.JobWouldFail},
		"its last retry, and another leaves": {job: work(failedSoFar(5)), leaving: 1, want: reasons.JobWouldFail},
		"two retries, and another leaves":    {job: work(failedSoFar(4)), leaving: 1},
		"its last retry, and another failed": {job: work(failedSoFar(5)), failed: 6, want: reasons.JobWouldFail},
		"one leaves, another failed":         {job: work(failedSoFar(4)), leaving: 1, failed: 5, want: reasons.JobWouldFail},
		"all that failed are counted":        {job: work(failedSoFar(5)), failed: 5},
		"all but one are counted as failed":  {job: work(failedSoFar(4), uncounted), failed: 5},
		"it may never fail":                  {job: work(func(job *batchv1.Job) { job.Spec.BackoffLimit = new(int32(0)) }), want: reasons.JobWouldFail},
		"no limit is stated":                 {job: work(noLimit, failedSoFar(5))},
		"no limit is stated, six failures":   {job: work(noLimit, failedSoFar(6)), want: reasons.JobWouldFail},

		"disruptions do not count":                    {job: work(failedSoFar(6), withPolicy(onDisruption(ignore)))},
		"disruptions count":                           {job: work(failedSoFar(6), withPolicy(onDisruption(count))), want: reasons.JobWouldFail},
		"disruptions count, retries are left":         {job: work(withPolicy(onDisruption(count)))},
		"disruptions fail the Job":                    {job: work(withPolicy(onDisruption(failJob))), want: reasons.JobWouldFail},
		"disruptions fail the index":                  {job: work(withPolicy(onDisruption(failIndex))), want: reasons.JobWouldFail},
		"an exit code may fail the Job":               {job: work(withPolicy(onExit(failJob))), want: reasons.JobWouldFail},
		"an exit code may fail the index":             {job: work(withPolicy(onExit(failIndex))), want: reasons.JobWouldFail},
		"an exit code before disruptions":             {job: work(withPolicy(onExit(failJob), onDisruption(ignore))), want: reasons.JobWouldFail},
		"an exit code may count before disruptions":   {job: work(failedSoFar(6), withPolicy(onExit(count), onDisruption(ignore))), want: reasons.JobWouldFail},
		"an exit code that counts, retries are left":  {job: work(withPolicy(onExit(count), onDisruption(ignore)))},
		"an exit code that counts, then disruptions":  {job: work(withPolicy(onExit(count), onDisruption(failJob))), want: reasons.JobWouldFail},
		"disruptions are ignored, then an exit code":  {job: work(failedSoFar(6), withPolicy(onDisruption(ignore), onExit(count)))},
		"disruptions before an exit code":             {job: work(withPolicy(onDisruption(ignore), onExit(failJob)))},
		"an exit code that may be ignored is no help": {job: work(failedSoFar(6), withPolicy(onExit(ignore))), want: reasons.JobWouldFail},
		"a policy for other failures":                 {job: work(withPolicy(batchv1.PodFailurePolicyRule{Action: failJob, OnPodConditions: []batchv1.PodFailurePolicyOnPodConditionsPattern{{Type: "ConfigIssue", Status: v1.ConditionTrue}}}))},

		"the index has a retry":               {job: work(perIndex(2)), pod: worker(ofIndex("4", "1"))},
		"the index has none":                  {job: work(perIndex(2)), pod: worker(ofIndex("4", "2")), want: reasons.JobWouldFail},
		"the index has none, others may fail": {job: work(perIndex(1), func(job *batchv1.Job) { job.Spec.MaxFailedIndexes = new(int32(9)) }), pod: worker(ofIndex("4", "1")), want: reasons.JobWouldFail},
		"the index has one, the Job has none": {job: work(perIndex(2), failedSoFar(3), func(job *batchv1.Job) { job.Spec.BackoffLimit = new(int32(3)) }), pod: worker(ofIndex("4", "0")), want: reasons.JobWouldFail},
		"it is not, and has no label for it":  {job: work(perIndex(2)), pod: worker(unlabelled("10")), want: reasons.OwnerScaledDown},
		"wanted, without a label":             {job: work(perIndex(2)), pod: worker(unlabelled("9"))},
		"an index that is no longer wanted":   {job: work(perIndex(2)), pod: worker(ofIndex("10", "0")), want: reasons.OwnerScaledDown},

		"plenty of time":               {job: work(deadline(3 * time.Hour))},
		"more than time can hold":      {job: work(func(job *batchv1.Job) { job.Spec.ActiveDeadlineSeconds = new(int64(math.MaxInt64 / 1000)) })},
		"as much time as it has had":   {job: work(deadline(80 * time.Minute))},
		"too little time":              {job: work(deadline(79 * time.Minute)), want: reasons.JobWouldFail},
		"the deadline has passed":      {job: work(deadline(time.Minute)), want: reasons.JobWouldFail},
		"suspended":                    {job: work(func(job *batchv1.Job) { job.Spec.Suspend = new(true) }), want: reasons.OwnerScaledDown},
		"suspended earlier":            {job: work(condition(batchv1.JobSuspended))},
		"complete":                     {job: work(condition(batchv1.JobComplete)), want: reasons.OwnerScaledDown},
		"failed":                       {job: work(condition(batchv1.JobFailed)), want: reasons.OwnerScaledDown},
		"about to fail":                {job: work(condition(batchv1.JobFailureTarget)), want: reasons.OwnerScaledDown},
		"it has succeeded by its rule": {job: work(condition(batchv1.JobSuccessCriteriaMet)), want: reasons.OwnerScaledDown},
		"all have succeeded":           {job: work(done(10, 0)), want: reasons.OwnerScaledDown},
		"the last two of ten":          {job: work(done(8, 2))},
		"one more than are needed":     {job: work(done(8, 3)), want: reasons.OwnerScaledDown},
		"a queue with work":            {job: work(queue(0))},
		"a queue that ends":            {job: work(queue(1)), want: reasons.OwnerScaledDown},
		"of another controller":        {job: work(func(job *batchv1.Job) { job.Spec.ManagedBy = new("kueue.x-k8s.io/multikueue") }), want: reasons.OwnerUnknown},
		"of Kubernetes, as stated":     {job: work(func(job *batchv1.Job) { job.Spec.ManagedBy = new(batchv1.JobControllerName) })},
	} {
		t.Run(name, func(t *testing.T) {
			pod := tc.pod
			if pod == nil {
				pod = worker()
			}
			pods := []*v1.Pod{pod}
			for i := range tc.leaving {
				other := member(1 + i)
				terminating(other)
				pods = append(pods, other)
			}
			for i := range tc.failed {
				other := member(4 + i)
				failed(other)
				pods = append(pods, other)
			}
			o := OfJob(tc.job, pod, noon)
			got := refuses(o)
			if got == "" {
				got = o.Recreates(pod, o.Count(pods, func(string) bool { return false }, noon))
			}
			if got != tc.want {
				t.Errorf("refused for %q, want %q", got, tc.want)
			}
		})
	}
}

// After each consecutive failure, the Job controller waits twice as long as after the previous one.
// How many other pods will fail is not known in advance.
func TestJobsWaitBeforeTheNextPod(t *testing.T) {
	single := func(job *batchv1.Job) { job.Spec.Parallelism = new(int32(1)) }
	uncounted := func(job *batchv1.Job) {
		job.Status.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{Failed: []types.UID{"a", "b"}}
	}
	indexed := func(failed, ignored string) *v1.Pod {
		return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{
			batchv1.JobIndexFailureCountAnnotation: failed, batchv1.JobIndexIgnoredFailureCountAnnotation: ignored,
		}}}
	}
	for name, tc := range map[string]struct {
		job  *batchv1.Job
		pod  *v1.Pod
		want time.Duration
	}{
		"a single pod's first failure":      {work(single), &v1.Pod{}, 10 * time.Second},
		"its second":                        {work(single, failedSoFar(1)), &v1.Pod{}, 20 * time.Second},
		"failures that are not counted yet": {work(single, uncounted), &v1.Pod{}, 40 * time.Second},
		"its sixth":                         {work(single, failedSoFar(5)), &v1.Pod{}, 320 * time.Second},
		"its seventh":                       {work(single, failedSoFar(6)), &v1.Pod{}, 10 * time.Minute},
		"after two billion":                 {work(single, failedSoFar(2_000_000_000)), &v1.Pod{}, 10 * time.Minute},
		"one of three":                      {work(), &v1.Pod{}, 40 * time.Second},
		"one of many":                       {work(func(job *batchv1.Job) { job.Spec.Parallelism = new(int32(9)) }), &v1.Pod{}, 10 * time.Minute},
		"ignored failures are counted, too": {work(single, withPolicy(onDisruption(batchv1.PodFailurePolicyActionIgnore))), &v1.Pod{}, 10 * time.Minute},
		"the first failure of an index":     {work(perIndex(5), failedSoFar(4)), indexed("", ""), 10 * time.Second},
		"the fourth failure of an index":    {work(perIndex(5)), indexed("2", "1"), 80 * time.Second},
		"an unreadable index":               {work(perIndex(5)), indexed("-7", "many"), 10 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			if got := OfJob(tc.job, tc.pod, noon).Backoff; got != tc.want {
				t.Errorf("waits %v, want %v", got, tc.want)
			}
		})
	}
	replaces := func(policy batchv1.PodReplacementPolicy) func(*batchv1.Job) {
		return func(job *batchv1.Job) { job.Spec.PodReplacementPolicy = &policy }
	}
	for name, tc := range map[string]struct {
		job  *batchv1.Job
		want bool
	}{
		"by default":             {work(), false},
		"those that terminate":   {work(replaces(batchv1.TerminatingOrFailed)), false},
		"only those that failed": {work(replaces(batchv1.Failed)), true},
		"with a failure policy":  {work(withPolicy(onExit(batchv1.PodFailurePolicyActionCount))), true},
	} {
		if got := OfJob(tc.job, &v1.Pod{}, noon).Waits; got != tc.want {
			t.Errorf("%s: waits %v, want %v", name, got, tc.want)
		}
	}
}
