package rows

import (
	"bytes"
	"encoding/json"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/incident"
	"github.com/plegdiag/plegdiag/internal/rules"
	"github.com/plegdiag/plegdiag/internal/rules/catalog"
	"github.com/plegdiag/plegdiag/internal/story"
	"github.com/plegdiag/plegdiag/internal/timeline"
)

var update = flag.Bool("update", false, "rewrite testdata")

// Incidents of every kind: several findings, none, a year that nothing tells, a stall without a
// cause.
func TestIncidents(t *testing.T) {
	catalog, err := catalog.Builtin()
	require.NoError(t, err)
	for _, input := range []string{
		"lab-umount2/bundle.tgz", "lab-two-incidents/bundle.tgz", "lab-healthy/bundle", "lab-cluster-dbus-stall/bundle.tgz",
		"synthetic_hung-nfs/bundle", "tickets/k8s-45419-runtime/bundle", "tickets/icinga2-4918/bundle",
	} {
		name, _, _ := strings.Cut(strings.TrimPrefix(input, "tickets/"), "/")
		t.Run(name, func(t *testing.T) {
			options := incident.Options{Inputs: incident.Inputs{Paths: []string{filepath.Join("../../../testdata", input)}}, Catalog: catalog}
			inc, err := incident.Load(t.Context(), options)
			require.NoError(t, err)
			all := Of(inc)
			require.Len(t, all, max(1, len(inc.Result.Findings)))
			var got bytes.Buffer
			require.NoError(t, Write(&got, all))
			golden := filepath.Join("testdata", name+".jsonl")
			if *update {
				require.NoError(t, os.WriteFile(golden, got.Bytes(), 0o644))
			}
			want, err := os.ReadFile(golden)
			require.NoError(t, err)
			require.Equal(t, string(want), got.String(), "accept with -update")
			require.NotContains(t, got.String(), `"2000-`, "a placeholder is no year")
			require.NotContains(t, got.String(), `""`, "what is not known is null")
			again, err := Read(&got)
			require.NoError(t, err)
			require.Equal(t, all, again, "what is written is read")
		})
	}
}

func TestUnknownIsNull(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, Write(&out, []Row{NewFailed("no \x1b[31m such\u202e file\n")}))
	require.NotContains(t, out.String(), "\u202e")
	var columns map[string]any
	require.NoError(t, json.Unmarshal(out.Bytes(), &columns))
	for name, value := range columns {
		switch name {
		case "schema":
			require.Equal(t, Schema, value)
		case "state":
			require.Equal(t, Failed, value)
		case "reason":
			require.Equal(t, "no \x1b[31m such\u202e file", value)
		default:
			require.Nil(t, value, name)
		}
	}
}

func TestTypes(t *testing.T) {
	text, err := json.Marshal([]any{Float(1), Float(1.5), Float(1e30), moment(time.Date(2000, 9, 16, 0, 0, 0, 0, time.UTC)), moment(time.Date(2026, 1, 2, 3, 4, 5, 6, time.FixedZone("", 3600)))})
	require.NoError(t, err)
	require.Equal(t, `[1.0,1.5,1e+30,null,"2026-01-02T02:04:05.000000006Z"]`, string(text))
	require.Nil(t, seconds(time.Time{}, time.Unix(1, 0)))
	require.Nil(t, seconds(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)))
}

// Text of a bundle is bounded wherever it gets into a row.
func TestHostileText(t *testing.T) {
	long := strings.Repeat("é\xff", 100_000)
	inc := &incident.Incident{Node: long, Timeline: &timeline.Timeline{Facts: map[string]timeline.Fact{"kernel.version": {Value: long}}}}
	inc.Timeline.Events = []*event.Event{{Kind: event.KindCRIError, Fields: []event.Field{event.FieldMethod.Text(long)}}}
	inc.Result.Findings = []story.Finding{{Finding: rules.Finding{Rule: long, Container: long, Missing: []rules.Missing{{Source: long}}}}}
	inc.Result.Headline = long
	var out bytes.Buffer
	require.NoError(t, Write(&out, Of(inc)))
	require.Less(t, out.Len(), 10_000)
	_, err := Read(&out)
	require.NoError(t, err)
}

func TestReadRefuses(t *testing.T) {
	for _, text := range []string{"", "{}", "{\"schema\":\"plegdiag.rows/v1\"}", "{", "[]", "{\"schema\":\"plegdiag.report/v1\",\"state\":\"likely\"}"} {
		_, err := Read(strings.NewReader(text))
		require.Error(t, err, text)
	}
	_, err := Read(io.MultiReader())
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
}
