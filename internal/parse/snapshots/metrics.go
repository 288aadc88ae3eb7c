package snapshots

import (
	"bytes"
	"fmt"
	"iter"
	"regexp"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/parse/lines"
)

// ReadMetrics reads the Prometheus text format, as the /metrics of the kubelet and of containerd
// have it:
//
//	kubelet_runtime_operations_duration_seconds_bucket{operation_type="list_containers",le="0.005"} 3292
//
// One sample is one datum: its name is the path, its labels are the fields. Series that belong
// together (_bucket, _sum, _count) are not put together here. Input.Want chooses lines; others are
// accounted for without being read.
func ReadMetrics(in lines.Input) iter.Seq2[Datum, error] {
	broken := ""
	text := expfmt.NewTextParser(model.UTF8Validation)
	rows := lineData(in, func(line []byte) (Datum, bool) {
		if line[0] == '#' || !in.Wants(line) {
			return Datum{}, true
		}
		families, err := text.TextToMetricFamilies(bytes.NewReader(append(bytes.Clone(bytes.TrimRight(line, " \t")), '\n')))
		if err != nil {
			broken = strings.TrimSpace(err.Error())
			return Datum{}, false
		}
		for name, f := range families {
			if e, ok := metricDatum(name, f); ok {
				return e, true
			}
		}
		return Datum{}, true
	})
	return func(yield func(Datum, error) bool) {
		for e, err := range rows {
			if err == nil && broken != "" && e.Text != "" {
				e, err = Datum{}, in.Skip(e.Pos.Line, e.Lines, "not a metric: %.200q", broken)
			}
			broken = ""
			if !yield(e, err) {
				return
			}
		}
	}
}

// metricDatum is the one sample of a family that one line makes; without a TYPE it is untyped.
func metricDatum(name string, f *dto.MetricFamily) (Datum, bool) {
	if len(f.Metric) == 0 {
		return Datum{}, false
	}
	m := f.Metric[0]
	e := Datum{Path: []string{name}, Value: fmt.Sprint(m.GetUntyped().GetValue())}
	for _, l := range m.Label {
		e.Fields = append(e.Fields, event.Pair{Key: l.GetName(), Value: l.GetValue()})
	}
	return e, true
}

// SniffMetrics wants a comment with a type, or samples of programs that are known, and nothing
// else.
func SniffMetrics(head *lines.Head) float64 {
	if !head.MayHold("# HELP ", "# TYPE ", "kubelet_", "containerd_", "node_", "container_cpu_") {
		return 0
	}
	return lines.Share(head, func(line []byte) lines.Sign {
		if lines.StartsWith(line, "# HELP ", "# TYPE ") {
			return lines.Proves
		}
		line = bytes.TrimRight(line, " \t")
		m := sampleStart.FindSubmatch(line[:min(len(line), 256)])
		switch {
		case m == nil || !isNumber(line[bytes.LastIndexByte(line, ' ')+1:]):
			return lines.Foreign
		case len(m[1]) > 0:
			return lines.Proves
		}
		return lines.Fits
	})
}

// sampleStart is the name of a metric and what follows it: 1 the program, where it is known.
var sampleStart = regexp.MustCompile(`^(kubelet_|containerd_|node_|container_cpu_)?[a-zA-Z0-9_:]+[{ ].`)
