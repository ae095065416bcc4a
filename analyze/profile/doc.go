// Package profile sums up operations by name, by device and by group of keys.
//
// A [Profile] sums up entries in one pass. Its memory grows with the number of rows, not with the number of entries.
// Its sums are exact, so profiles of parts merge to the profile of the whole. [Settle] recomputes sums from the
// structure of the run if necessary. [Profile.EachLine] and [Profile.AddLine] convert them to lines of partial results
// and back.
//
//	p := profile.New(profile.Options{})
//	p.Add(entry)
//	fmt.Println(p.Sums().Total.SumNS)
//
// Package analyze makes reports from profiles; package key defines the keys of groups.
package profile
