//go:build !linux

package main

import "errors"

func apart() error { return errors.New("--apart: needs Linux") }
