package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/plegdiag/plegdiag/internal/bundle"
	"github.com/plegdiag/plegdiag/internal/incident"
	"github.com/plegdiag/plegdiag/internal/report/show"
)

// Evidence is what the commands that make an incident read, and what the user knows better about
// its clocks.
type Evidence struct {
	Inputs []string
	tz     string
	node   string
	year   int
	limits map[string]string
	Rules  []string // directories of a user's own rules
}

// BindFlags gives cmd a flag for each field, but for the inputs and the rules.
func (e *Evidence) BindFlags(cmd *cobra.Command) {
	e.BindReading(cmd)
	cmd.Flags().StringVar(&e.node, "node", "", "the `NAME` of the node to look at, where the inputs hold several; the only one with a stall when not given")
}

// BindReading binds what changes how inputs are read, whatever node they are of.
func (e *Evidence) BindReading(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&e.tz, "tz", "", "`ZONE` of logs that do not say theirs, as Asia/Shanghai or +08:00; inferred from the logs when not given."+
		" Lines that carry both clocks are read by their own clocks, with a warning")
	flags.IntVar(&e.year, "year", 0, "year of logs that do not say theirs; inferred from the logs when not given")
	flags.StringToStringVar(&e.limits, "limit", nil, "change a limit, `LIMIT=N`, for hostile or huge inputs: bytes of all files (16G),"+
		" files (200000), name bytes (4096), depth of directories (64), nesting of archives (4), ratio of inflation (500)")
}

// limitsOf are the limits by their names.
func limitsOf(l *bundle.Limits) (whole map[string]*int, long map[string]*int64) {
	return map[string]*int{"files": &l.Files, "name": &l.Name, "depth": &l.Depth, "nesting": &l.Nesting},
		map[string]*int64{"bytes": &l.Bytes, "ratio": &l.Ratio}
}

// limitNames are the names of the limits, in one order.
func limitNames() []string {
	whole, long := limitsOf(&bundle.Limits{})
	return slices.Concat(slices.Sorted(maps.Keys(long)), slices.Sorted(maps.Keys(whole)))
}

// parseLimits reads --limit. A number may end in K, M, G or T, powers of 1024.
func parseLimits(given map[string]string) (l bundle.Limits, err error) {
	whole, long := limitsOf(&l)
	for name, text := range given {
		n, ok := ParseSize(text)
		switch {
		case !ok || n <= 0:
			return l, UsageError("as bytes=32G,files=500000", "--limit %s=%s is not a positive number", name, text)
		case whole[name] != nil && n <= math.MaxInt32:
			*whole[name] = int(n)
		case long[name] != nil:
			*long[name] = n
		default:
			hint := SuggestNames(limitNames(), name, "bytes, files, name, depth, nesting, ratio:")
			return l, UsageError(hint, "--limit %s=%s is not a limit", name, text)
		}
	}
	return l, nil
}

// ParseSize reads a number of bytes. It may end in K, M, G or T, powers of 1024; ok is false for
// any other text, and for a number that does not fit.
func ParseSize(text string) (size int64, ok bool) {
	shift := 0
	if i := strings.IndexAny(text, "KMGT"); i >= 0 && i == len(text)-1 {
		shift, text = 10*(strings.IndexByte("KMGT", text[i])+1), text[:i]
	}
	n, err := strconv.ParseInt(text, 10, 64)
	return n << shift, err == nil && n<<shift>>shift == n
}

// Reading are the flags, without dashes, that change how inputs are read, in one order.
func (e *Evidence) Reading() (flags []string) {
	if e.tz != "" {
		flags = append(flags, "tz="+e.tz)
	}
	if e.year != 0 {
		flags = append(flags, "year="+strconv.Itoa(e.year))
	}
	for _, limit := range limitNames() {
		if value, ok := e.limits[limit]; ok {
			flags = append(flags, "limit="+limit+"="+value)
		}
	}
	return flags
}

// IncidentOptions checks the flags before the work begins.
func (e *Evidence) IncidentOptions(s Streams) (incident.Options, error) {
	if err := CheckInputs(e.Inputs); err != nil {
		return incident.Options{}, err
	}
	zone, err := ParseZone("tz", e.tz)
	if err != nil {
		return incident.Options{}, err
	}
	if e.year != 0 && (e.year < 1970 || e.year > 9999) {
		return incident.Options{}, UsageError("a year has four digits", "--year %d is not a year of a log", e.year)
	}
	limits, err := parseLimits(e.limits)
	if err != nil {
		return incident.Options{}, err
	}
	catalog, err := LoadCatalog(e.Rules)
	inputs := s.Inputs(e.Inputs)
	inputs.Limits = limits
	return incident.Options{Inputs: inputs, Zone: zone, Year: e.year, Node: e.node, Catalog: catalog}, err
}

// LoadIncident makes an incident, with a bar on a terminal while it reads. That no line could be
// read is no error: [incident.Incident.Unread] says so.
func LoadIncident(ctx context.Context, o incident.Options, s Streams) (*incident.Incident, error) {
	done := func() {}
	if o.Progress == nil {
		o.Progress, done = startProgress(o.Paths, s.Err)
	}
	inc, err := incident.Load(ctx, o)
	done()
	if several, ok := errors.AsType[*incident.NodesError](err); ok {
		hint := "--node NAME chooses one; plegdiag ls says which file is of which"
		if several.Asked != "" {
			hint = SuggestNames(several.Nodes, several.Asked, "plegdiag ls")
		}
		return nil, &Failure{Status: StatusFailed, Err: several, Hint: hint}
	}
	if inc == nil {
		return nil, err
	}
	warnOfIgnoredFlags(s.Err, inc)
	return inc, nil
}

// warnOfWindow says that only a part of the evidence was analysed.
func warnOfWindow(w io.Writer, inc *incident.Incident) {
	if chosen := inc.Chosen; !chosen.IsZero() {
		spanned := spanOfEvidence(inc)
		Warn(w, "only a part of the evidence is analysed: "+show.Window(spanned))
	}
}

// warnOfNodes says which nodes were left out.
func warnOfNodes(w io.Writer, inc *incident.Incident) {
	if len(inc.LeftOut) > 0 {
		const text = "evidence of %d nodes: only that of %s is analysed; left out: %s (--node NAME chooses)"
		Warn(w, fmt.Sprintf(text, len(inc.LeftOut)+1, inc.Node, strings.Join(inc.LeftOut, ", ")))
	}
}

// warnOfIgnoredFlags names the files whose lines prove a flag wrong.
func warnOfIgnoredFlags(w io.Writer, inc *incident.Incident) {
	var all []string
	for _, c := range inc.Timeline.Clocks {
		if c.Ignored != "" {
			all = append(all, c.File+": "+c.Ignored)
		}
	}
	warnFirst(w, all, maxWarnings, "%d more warnings of this kind (the report's section on clocks has them)")
}

// ParseZone reads an IANA name or an offset, the value of a flag. An empty text is nil: no zone is
// given.
func ParseZone(flag, s string) (*time.Location, error) {
	if s == "" {
		return nil, nil
	}
	if t, err := time.Parse("-07:00", s); err == nil {
		_, offset := t.Zone()
		return time.FixedZone(s, offset), nil
	}
	// Local is the zone of this machine, not of the node.
	zone, err := time.LoadLocation(s)
	if err != nil || s == "Local" {
		return nil, UsageError("as Asia/Shanghai, UTC or +08:00", "--%s %q is not a time zone", flag, s)
	}
	return zone, nil
}
