package parse

// Origins are all that are looked for.
func Origins() (all []*Origin) {
	for _, o := range origins {
		all = append(all, &Origin{end: o.end, times: o.times, seen: map[string]bool{}})
	}
	return all
}
