// Package device says which device an operation ran on, and tells devices of one name apart.
//
// A [Key] is a device: its name with the rank, or with the service and the host where no rank
// is stated. Rows of figures about a device embed it.
package device
