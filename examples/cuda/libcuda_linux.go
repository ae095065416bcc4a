//go:build amd64 || arm64

package main

import (
	"fmt"
	"reflect"

	"github.com/ebitengine/purego"
)

// loadDriver loads the machine's driver.
func loadDriver() (*driver, error) {
	library, err := purego.Dlopen("libcuda.so.1", purego.RTLD_NOW|purego.RTLD_GLOBAL)
	if err != nil {
		return nil, fmt.Errorf("%w: the driver's library cannot be loaded: %w", errNoDevice, err)
	}
	d := new(driver)
	v := reflect.ValueOf(d).Elem()
	for i := range v.NumField() {
		symbol, err := purego.Dlsym(library, v.Type().Field(i).Tag.Get("symbol"))
		if err != nil {
			return nil, fmt.Errorf("%w: the driver is too old: %w", errNoDevice, err)
		}
		purego.RegisterFunc(v.Field(i).Addr().Interface(), symbol)
	}
	return d, nil
}
