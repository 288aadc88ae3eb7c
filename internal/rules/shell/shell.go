// Package shell reads the commands that a rule tells a person to paste into bash: whether they can
// be pasted as they stand, what the reader has to fill in, whether they change the node. It runs
// none of them.
package shell

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Command is one parsed line of bash.
type Command struct{ file *syntax.File }

// Parse reads a command. The error says why it cannot be pasted as it stands: bash would refuse
// it, it has several lines, or it holds a prompt or a comment, which would be pasted, too.
func Parse(command string) (*Command, error) {
	switch {
	case strings.TrimSpace(command) == "":
		return nil, errors.New("the command is empty")
	case strings.ContainsAny(command, "\r\n"):
		return nil, errors.New("a command is one line")
	case strings.HasPrefix(command, "$ "):
		return nil, errors.New("a command begins without a prompt")
	}
	parser := syntax.NewParser(syntax.Variant(syntax.LangBash), syntax.KeepComments(true))
	file, err := parser.Parse(strings.NewReader(command), "")
	if wrong, ok := errors.AsType[syntax.ParseError](err); ok {
		return nil, fmt.Errorf("bash refuses it: %s at column %d", wrong.Text, wrong.Pos.Col())
	}
	if err != nil {
		return nil, fmt.Errorf("bash refuses it: %w", err)
	}
	comments := len(file.Last)
	syntax.Walk(file, func(n syntax.Node) bool {
		if _, ok := n.(*syntax.Comment); ok {
			comments++
		}
		return true
	})
	if comments > 0 {
		return nil, errors.New("a command holds no comment: what is to be said of it stands beside it")
	}
	return &Command{file}, nil
}

// blank is a word that stands for what only the reader knows: PID, SHIM_PID. Other words in capital
// letters are names of signals, units of systemd, patterns of grep.
var blank = regexp.MustCompile(`\b(?:[A-Z]+_)*(?:PID|TID|ID|CID|CONTAINER|SANDBOX|POD|NAMESPACE|IMAGE|UNIT|SERVICE|NODE|HOST|SERVER|ADDRESS|` +
	`DEVICE|DISK|VOLUME|MOUNT|DIR|FILE|COOKIE|KEY|VALUE|NAME|N)\b`)

// ListBlanks returns the words that the reader has to replace, each once, in their order.
func (c *Command) ListBlanks() []string {
	var all []string
	add := func(text string) {
		for _, word := range blank.FindAllString(text, -1) {
			if !slices.Contains(all, word) {
				all = append(all, word)
			}
		}
	}
	syntax.Walk(c.file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.ParamExp:
			return false // the name of a variable
		case *syntax.Assign:
			if n.Value != nil {
				syntax.Walk(n.Value, func(inner syntax.Node) bool { return addLiteral(inner, add) })
			}
			return false
		}
		return addLiteral(n, add)
	})
	return all
}

// addLiteral adds the text of a node; false for one whose parts are no text.
func addLiteral(n syntax.Node, add func(string)) bool {
	switch n := n.(type) {
	case *syntax.ParamExp:
		return false
	case *syntax.Lit:
		add(n.Value)
	case *syntax.SglQuoted:
		add(n.Value)
	}
	return true
}

// environment are variables that every shell has.
var environment = []string{"HOME", "HOSTNAME", "PATH", "PWD", "USER"}

// ListVariables returns the variables that the command sets, and those that it reads and neither it
// nor the shell has set.
func (c *Command) ListVariables() (sets, reads []string) {
	syntax.Walk(c.file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Assign:
			if n.Name != nil {
				sets = append(sets, n.Name.Value)
			}
		case *syntax.WordIter:
			sets = append(sets, n.Name.Value)
		case *syntax.CallExpr:
			if len(n.Args) > 1 && n.Args[0].Lit() == "read" {
				for _, word := range n.Args[1:] {
					sets = append(sets, word.Lit())
				}
			}
		case *syntax.ParamExp:
			name := n.Param.Value
			if syntax.ValidName(name) && !slices.Contains(environment, name) && !slices.Contains(reads, name) {
				reads = append(reads, name)
			}
		}
		return true
	})
	return sets, slices.DeleteFunc(reads, func(name string) bool { return slices.Contains(sets, name) })
}

// changing are the programs that change the node, with the words after them that do; none for any.
var changing = map[string][]string{
	"kill": nil, "pkill": nil, "killall": nil, "reboot": nil, "shutdown": nil, "poweroff": nil, "halt": nil, "init": nil,
	"mount": nil, "umount": nil, "fsck": nil, "swapoff": nil, "swapon": nil, "dd": nil, "fsfreeze": nil,
	"rm": nil, "rmdir": nil, "mv": nil, "cp": nil, "ln": nil, "touch": nil, "mkdir": nil, "tee": nil, "truncate": nil, "chmod": nil, "chown": nil,
	"strace": nil, "gdb": nil, "dlv": nil, "gcore": nil, "modprobe": nil, "rmmod": nil, "renice": nil, "kubeadm": nil,
	"systemctl": {
		"start", "stop", "restart", "try-restart", "reload", "kill", "daemon-reexec", "daemon-reload", "set-property",
		"reset-failed", "enable", "disable", "mask", "unmask", "isolate", "reboot", "poweroff", "freeze", "thaw",
	},
	"sysctl":     {"-w", "-p", "--system"},
	"chronyc":    {"makestep"},
	"dmsetup":    {"udevcomplete", "udevcomplete_all", "remove", "suspend", "resume"},
	"crictl":     {"rm", "rmp", "rmi", "stop", "stopp", "exec"},
	"ctr":        {"rm", "delete", "del", "kill", "exec", "pause", "resume"},
	"docker":     {"rm", "rmi", "stop", "kill", "restart", "start", "exec", "unpause", "pause", "prune"},
	"nerdctl":    {"rm", "rmi", "stop", "kill", "restart", "exec", "prune"},
	"kubectl":    {"drain", "cordon", "uncordon", "delete", "apply", "patch", "taint", "rollout", "scale", "exec", "debug"},
	"journalctl": {"--vacuum-size", "--vacuum-time", "--rotate", "--flush"},
	"ip":         {"del", "delete", "set", "add"},
}

// prefixes are programs that run the rest of their line.
var prefixes = []string{"sudo", "timeout", "nice", "ionice", "xargs", "command", "env", "nohup", "time"}

// FindChange names what in a command changes the node or a process: "systemctl restart"; empty for
// a command that only reads.
func (c *Command) FindChange() string {
	found := ""
	syntax.Walk(c.file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CallExpr:
			if change := findChange(n.Args); found == "" {
				found = change
			}
		case *syntax.Redirect:
			if found == "" && writesKernelFile(n) {
				found = "a redirection into the kernel's files"
			}
		}
		return found == ""
	})
	return found
}

func findChange(args []*syntax.Word) string {
	words := make([]string, len(args))
	for i, word := range args {
		words[i] = word.Lit()
	}
	// What stands before the program: "timeout 10", "xargs -r -n 20".
	for len(words) > 0 && slices.Contains(prefixes, words[0]) {
		words = words[1:]
		for len(words) > 0 && isOption(words[0]) {
			words = words[1:]
		}
	}
	if len(words) == 0 {
		return ""
	}
	verbs, known := changing[words[0]]
	if known && verbs == nil {
		return words[0]
	}
	for _, word := range words[1:] {
		word, _, _ = strings.Cut(word, "=")
		if slices.Contains(verbs, word) {
			return words[0] + " " + word
		}
	}
	return ""
}

// isOption says that a word is an option or its number, or is made by the shell.
func isOption(word string) bool {
	return word == "" || word[0] == '-' || word[0] >= '0' && word[0] <= '9'
}

// writesKernelFile says that a redirection writes into a file of the kernel, or into one that only
// the shell knows. What a command prints may be kept in a file of the reader's.
func writesKernelFile(r *syntax.Redirect) bool {
	if r.Op != syntax.RdrOut && r.Op != syntax.AppOut && r.Op != syntax.RdrClob && r.Op != syntax.RdrAll {
		return false
	}
	target := ""
	if len(r.Word.Parts) > 0 {
		first, ok := r.Word.Parts[0].(*syntax.Lit)
		if !ok {
			return true
		}
		target = first.Value
	}
	return strings.HasPrefix(target, "/proc/") || strings.HasPrefix(target, "/sys/")
}
