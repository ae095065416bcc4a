// Package profile sums operations up: per operation, per device and per group of keys.
//
// A [Profile] sums up entries in one pass, in memory that grows with the number of rows and
// not with that of entries. Its sums are exact, so that profiles of parts merge to the profile
// of the whole. [Settle] makes the sums again from the structure where that tells more, and
// [Profile.EachLine] and [Profile.AddLine] write and read them as lines of partial results.
//
//	p := profile.New(profile.Options{})
//	p.Add(entry)
//	fmt.Println(p.Sums().Total.SumNS)
//
// Package analyze makes reports of profiles; package key has the keys of groups.
package profile
