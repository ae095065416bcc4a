// Package device identifies the devices of operations and tells devices of one name apart.
//
// A [Key] is a device: its name with the rank, or with service and host if the rank is unknown. Rows of figures
// about a device embed it.
package device
