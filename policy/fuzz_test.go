package policy

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// FuzzLoad verifies that Load never panics, that its errors name the file, and that a policy that
// it accepts is complete: the policy validates, and stays the same when it is written and loaded
// again.
func FuzzLoad(f *testing.F) {
	files, err := filepath.Glob("testdata/invalid/*.yaml")
	if err != nil {
		f.Fatal(err)
	}
	examples, err := filepath.Glob("testdata/examples/*.yaml")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range append(append(files, examples...), "../policy.yaml") {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte("%YAML 1.1\n--- !!map\n? &a kind\n: *a\n<<: {apiVersion: evenkeel.io/v1alpha1}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := Load("policy.yaml", data, known)
		if err != nil {
			if !IsInvalid(err) || err.Error() == "" {
				t.Fatalf("error %q is not about the file", err)
			}
			return
		}
		if errs := Validate(&file.Load, known); len(errs) > 0 {
			t.Fatalf("accepted, yet invalid: %v", errs)
		}
		written, err := yaml.Marshal(file.Load)
		if err != nil {
			t.Fatal(err)
		}
		again, err := Load("policy.yaml", written, known)
		if err != nil {
			t.Fatalf("loading it again: %v\n%s", err, written)
		}
		if diff := cmp.Diff(file.Load, again.Load); diff != "" {
			t.Fatalf("loaded again (-first +second):\n%s", diff)
		}
	})
}

// FuzzCalendar verifies that no schedule panics, and that the answer changes exactly when Open
// predicts.
func FuzzCalendar(f *testing.F) {
	for _, schedule := range append(someSchedules, "@daily", "0/7 ? * DEC sun-sat/2", "TZ=", ", , , , ,", "@every 1s") {
		for _, zone := range someZones {
			f.Add(schedule, zone, int64(90), int64(1792893600))
		}
	}
	f.Fuzz(func(t *testing.T, schedule, zone string, minutes, unix int64) {
		p := Default(known)
		p.Eviction.Windows = []Period{{Schedule: schedule, Duration: duration(time.Duration(minutes) * time.Minute), TimeZone: zone}}
		calendar, err := p.Eviction.Calendar()
		if valid := len(Validate(&p, known)) == 0; valid != (err == nil) {
			t.Fatalf("valid: %v, calendar: %v", valid, err)
		}
		if err != nil {
			return
		}
		now := time.Unix(unix, 0)
		open, why, changes := calendar.Open(now)
		if (why == "") != open {
			t.Fatalf("open at %s is %v because %q", now, open, why)
		}
		if changes.IsZero() {
			return
		}
		before, _, _ := calendar.Open(changes.Add(-1))
		after, _, _ := calendar.Open(changes)
		if !changes.After(now) || before != open || after == open {
			t.Fatalf("asked at %s it changes at %s, from %v over %v to %v", now, changes, open, before, after)
		}
	})
}
