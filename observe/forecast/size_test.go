package forecast

import (
	"testing"
	"unsafe"
)

// docs/forecast.md states the memory per pod.
func TestSize(t *testing.T) {
	if kept, read := unsafe.Sizeof(Trend{}), unsafe.Sizeof(Expected{}); kept+read > 80 {
		t.Errorf("a pod takes %d bytes, and %d in each reading; want at most 80", kept, read)
	}
}
