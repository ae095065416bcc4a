// Package release keeps a program from mixing releases of this repository's modules. A package of another module refers
// to the constant if it imports internal packages of this one, and .ci/release renames the constant for each release:
//
//	const _ = release.ModulesMustBeOfOneReleaseV0_3_0
//
// The package does not compile with another release of this module, and the compiler's error gives the reason.
package release

// ModulesMustBeOfOneReleaseV0_3_0 has this module's version in its name.
const ModulesMustBeOfOneReleaseV0_3_0 = true
