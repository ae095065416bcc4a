// Package record compares what recording one operation costs the application.
package record
