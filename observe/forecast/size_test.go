package forecast

import (
	"testing"
	"unsafe"
)

// What a pod takes is stated in docs/forecast.md.
func TestSize(t *testing.T) {
	if kept, read := unsafe.Sizeof(Trend{}), unsafe.Sizeof(Expected{}); kept+read > 80 {
		t.Errorf("a pod takes %d bytes, and %d in each reading; want at most 80", kept, read)
	}
}
