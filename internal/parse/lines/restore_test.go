package lines

import (
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRestore holds what was done to all lines of a text and is undone, and what only looks so.
func TestRestore(t *testing.T) {
	for text, want := range map[string]string{
		"`pleg was last seen`\n`active 3m ago`\n":                        "pleg was last seen\nactive 3m ago\n",
		"`one`\nand two\n":                                               "",
		"```\nfenced\n```\n":                                             "",
		"* pleg was last seen\n* active\n":                               "pleg was last seen\nactive\n",
		"* one\nand two\n":                                               "",
		"     1\tcpu: 0\n     2\n     3\tend\n":                          "cpu: 0\n\nend\n",
		"    1  ls\n    2  uptime\n":                                     "1  ls\n2  uptime\n", // an indentation; a shell's history
		"w-2.example: {\"a\":1}\nw-2.example:\nw-2.example: {\"b\":2}\n": "{\"a\":1}\n\n{\"b\":2}\n",
		"./top.txt:  1 root\n./top.txt:PID USER\n":                       "  1 root\nPID USER\n",
		"w-2.example: {\"a\":1}\n":                                       "",
		"4711\n4712\n4713\n":                                             "",
		"4102:[118.6] BUG: x\n4103-[118.7] #PF: y\n--\n4190:end\n":       "[118.6] BUG: x\n[118.7] #PF: y\n--\nend\n",
		"1: lo: <LOOPBACK>\n2: eth0: <UP>\n3: eth1: <UP>\n":              "", // of ip
		"10:02:11 up\n10:02:12 up\n10:02:13 up\n":                        "",
		"12:pids:/a\n11:cpu:/b\n10:memory:/c\n":                          "", // of /proc/PID/cgroup
	} {
		restore := FindRestorer(NewHead([]byte(text)))
		if want == "" {
			require.Nil(t, restore, text)
			continue
		}
		require.NotNil(t, restore, text)
		got, err := io.ReadAll(restore(strings.NewReader(text)))
		require.NoError(t, err)
		require.Equal(t, want, string(got))
	}
}

// TestWholeCode holds which lines of a page are code as a whole, and what is too short for a line
// of a log.
func TestWholeCode(t *testing.T) {
	const said = `unregister_netdevice: waiting for lo to become free. Usage count = 1`
	for _, line := range []string{
		"`" + said + "`", "- `" + said + "`", "> `" + said + "`.", "``" + said + "``", "{{" + said + "}}", "<code>" + said + "</code>", "  `" + said + "`\r",
	} {
		require.Equal(t, said, string(WholeCode([]byte(line))), line)
	}
	for _, line := range []string{
		"", said, "`kubectl get nodes`", "the log says `" + said + "`", "`" + said + "` and `no more`", "```" + said, "`" + said, "* ",
	} {
		require.Nil(t, WholeCode([]byte(line)), line)
	}
}
