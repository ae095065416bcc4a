//go:build !linux

package main

import "errors"

func mount(string) error { return errors.ErrUnsupported }

func unmount(string) error { return nil }
