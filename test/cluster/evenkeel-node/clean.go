package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
)

// clean waits until its standard input ends, which happens when the process that made the
// site has ended, for whatever reason. All of the site's processes end with that process,
// but cgroups and files would remain; clean removes them.
func clean(args []string) error {
	flags := flag.NewFlagSet("clean", flag.ContinueOnError)
	dir := flags.String("dir", "", "folder of the site")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *dir == "" {
		return fmt.Errorf("clean: --dir is required")
	}
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	all, err := hierarchies()
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, os.Stdin)
	return errors.Join(err, removeGroups(all, filepath.Base(*dir)+"-*"), os.RemoveAll(*dir))
}
