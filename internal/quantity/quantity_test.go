package quantity

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// hostile are amounts that take seconds to hours to parse.
var hostile = []string{
	"1e-99999999", "1E-99999999", "-1e-99999999", "+1e-099999999", "1e99999999", "1.5e-2147483647", "1e-1000000", " 1e-99999999 ",
	strings.Repeat("9", 1<<20), "0." + strings.Repeat("0", 1<<20) + "1",
}

func TestHostileAmountsAreNotParsed(t *testing.T) {
	begun := time.Now()
	for _, text := range hostile {
		if q, err := Parse(text); !IsBounds(err) {
			t.Errorf("%.20q is %v, error %v", text, q.String(), err)
		}
		var list List
		quoted, err := json.Marshal(map[string]string{"cpu": text})
		if err != nil {
			t.Fatal(err)
		}
		for _, data := range []string{string(quoted), `{"cpu": ` + strings.Trim(text, "+ ") + `}`, strings.TrimSuffix(string(quoted), "}") + `, "cpu": "1"}`} {
			err := json.Unmarshal([]byte(data), &list)
			if strings.HasSuffix(data, `"1"}`) && err == nil && list["cpu"] == resource.MustParse("1") {
				continue // the last of two values counts, and the first is not parsed
			}
			if err == nil {
				t.Errorf("%.40s is accepted", data)
			}
		}
	}
	if took := time.Since(begun); took > 5*time.Second {
		t.Errorf("it took %v", took)
	}
}

func TestAmounts(t *testing.T) {
	var got List
	if err := json.Unmarshal([]byte(`{"cpu": "250m", "memory": 1024, "pods": "1e3", "x": "1E", "none": null}`), &got); err != nil {
		t.Fatal(err)
	}
	var want v1.ResourceList
	if err := json.Unmarshal([]byte(`{"cpu": "250m", "memory": 1024, "pods": "1e3", "x": "1E", "none": null}`), &want); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, v1.ResourceList(got)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	for _, bad := range []string{`{"cpu": "x"}`, `{"cpu": {}}`, `[]`, `{"cpu": true}`} {
		if err := json.Unmarshal([]byte(bad), &got); err == nil {
			t.Errorf("%s is accepted", bad)
		}
	}
}

// No list takes long to read, and an accepted one has the same value as in Kubernetes' own decoder.
func FuzzList(f *testing.F) {
	for _, text := range hostile[:8] {
		f.Add(`{"cpu": "` + text + `"}`)
	}
	f.Add(`{"cpu": "250m", "memory": 1024}`)
	f.Fuzz(func(t *testing.T, data string) {
		var got List
		begun := time.Now()
		err := json.Unmarshal([]byte(data), &got)
		if took := time.Since(begun); took > time.Second {
			t.Fatalf("it took %v", took)
		}
		if err != nil {
			return
		}
		var want v1.ResourceList
		if err := json.Unmarshal([]byte(data), &want); err == nil && len(want) != len(got) {
			t.Errorf("%v, want %v", got, want)
		}
	})
}
