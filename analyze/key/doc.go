// Package key defines the properties that group operations, such as operation, shape or attr:region.
//
//	keys, err := key.Parse("operation,shape")
//
// A [Key] is one property, a [Value] an operation's value of it, and a [Group] the values of several keys. The table
// properties in key.go lists all keys. Package profile sums up operations by keys, and package trace stores their
// groups.
package key
