package main

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/plegdiag/plegdiag/internal/incident"
	"github.com/plegdiag/plegdiag/internal/rules"
)

// evidence is what the commands that make an incident read, and what the user knows better about its clocks.
type evidence struct {
	inputs []string
	tz     string
	year   int
}

func (e *evidence) bind(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&e.tz, "tz", "", "`ZONE` of logs that do not say theirs, as Asia/Shanghai or +08:00; inferred from the logs when not given")
	flags.IntVar(&e.year, "year", 0, "year of logs that do not say theirs; inferred from the logs when not given")
}

// options checks the flags before the work begins.
func (e *evidence) options(s streams) (incident.Options, error) {
	zone, err := parseZone(e.tz)
	if err != nil {
		return incident.Options{}, err
	}
	if e.year != 0 && (e.year < 1970 || e.year > 9999) {
		return incident.Options{}, usage("a year has four digits", "--year %d is not a year of a log", e.year)
	}
	catalog, err := rules.Builtin()
	return incident.Options{Inputs: e.inputs, Stdin: s.in, Zone: zone, Year: e.year, Catalog: catalog}, err
}

// parseZone reads an IANA name or an offset. An empty text is nil: infer the zone.
func parseZone(s string) (*time.Location, error) {
	if s == "" {
		return nil, nil
	}
	if t, err := time.Parse("-07:00", s); err == nil {
		_, offset := t.Zone()
		return time.FixedZone(s, offset), nil
	}
	// Local is the zone of this machine, which has nothing to do with the node.
	zone, err := time.LoadLocation(s)
	if err != nil || s == "Local" {
		return nil, usage("as Asia/Shanghai, UTC or +08:00", "--tz %q is not a time zone", s)
	}
	return zone, nil
}
