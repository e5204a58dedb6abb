package cluster

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// Lock keeps other processes from building into binDir until release is called or this
// process ends. Test binaries run concurrently and share what they build.
func Lock(binDir string) (release func() error, err error) {
	if err := os.MkdirAll(binDir, 0o755); err != nil {
		return nil, fmt.Errorf("making the folder for binaries: %w", err)
	}
	file, err := os.OpenFile(filepath.Join(binDir, ".lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("locking the folder for binaries: %w", err)
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX); err != nil {
		return nil, errors.Join(fmt.Errorf("locking the folder for binaries: %w", err), file.Close())
	}
	return file.Close, nil
}
