package policyfile

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// tempDocument returns a path to data without writing to a file system, because
// the image's root is read-only.
func tempDocument(data []byte) (path string, remove func(), err error) {
	fd, err := unix.MemfdCreate("descheduler-policy", unix.MFD_CLOEXEC)
	if err != nil {
		return "", nil, fmt.Errorf("making a memory file: %w", err)
	}
	file := os.NewFile(uintptr(fd), "descheduler-policy")
	if _, err := file.Write(data); err != nil {
		_ = file.Close()
		return "", nil, fmt.Errorf("writing a memory file: %w", err)
	}
	return fmt.Sprintf("/proc/self/fd/%d", fd), func() { _ = file.Close() }, nil
}
