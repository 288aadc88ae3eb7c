package redact

import (
	"bytes"
	"maps"
	"slices"
	"strings"
)

// program is how a program takes secrets in its arguments. Each word of takes is one way:
//
//	a:-p    attached to a flag: -pSECRET
//	s:-p    behind a flag: -p SECRET, -p=SECRET
//	e:-p    either of them
//	g:-p    behind a flag, where it looks like a secret: many write mysql -p SECRET, which is a database
//	l:-u    the second half of a login: user:SECRET, user%SECRET, user,SECRET
//	c:-b    cookies
//	v:-e    the value of a variable, NAME=VALUE
//	w:word  behind a word
//	2       the second word that is no flag
//	pass    pass:SECRET
//	named   what follows the name of a secret
//	echo    what is piped into it; stdin: if it has the flag -S
//
// and the manners of single programs: htpasswd, oracle, literal, iscsi.
type program struct {
	names string
	sub   string // a word that has to follow; empty for none
	takes string
}

// programs, as their manuals have it.
var programs = []program{
	{"mysql mysqldump mysqladmin mysqlshow mysqlimport mysqlcheck mysqlslap mysqlsh mariadb mariadb-dump mariadb-admin mariabackup xtrabackup innobackupex", "", "a:-p g:-p"},
	{"sshpass", "", "e:-p"},
	{"redis-cli keydb-cli valkey-cli", "", "s:-a s:--pass"},
	{"curl", "", "l:-u l:--user l:-U l:--proxy-user c:-b c:--cookie s:--oauth2-bearer s:--pass s:--proxy-pass"},
	{"mongo mongosh mongodump mongorestore mongoexport mongoimport mongostat mongotop", "", "e:-p"},
	{"ldapsearch ldapadd ldapmodify ldapdelete ldapwhoami ldapcompare ldapmodrdn", "", "e:-w"},
	{"ldappasswd", "", "e:-w e:-a e:-s"},
	{"smbclient rpcclient smbget smbmap winexe wmic nmblookup", "", "l:-U l:--user"},
	{"docker podman nerdctl buildah skopeo helm oras crane", "login", "e:-p"},
	{"docker podman nerdctl", "run", "v:-e v:--env"},
	{"docker podman nerdctl", "exec", "v:-e v:--env"},
	{"docker podman nerdctl", "create", "v:-e v:--env"},
	{"crictl", "", "l:--creds s:--auth"},
	{"ctr", "", "l:-u l:--user v:--env"},
	{"skopeo podman buildah", "", "l:--creds l:--src-creds l:--dest-creds"},
	{"az", "login", "s:-p"},
	{"openssl", "", "pass s:-k s:-K"},
	{"ipmitool ipmiutil", "", "e:-P"},
	{"snmpwalk snmpget snmpset snmpbulkwalk snmptrap", "", "s:-A s:-X s:-c"},
	{"sqlcmd bcp osql isql-fb", "", "e:-P"},
	{"cqlsh", "", "s:-p"},
	{"sqlplus sqlldr expdp impdp", "", "oracle"},
	{"7z 7za 7zr rar unrar", "", "a:-p a:-hp"},
	{"zip unzip", "", "s:-P"},
	{"lftp", "", "l:-u"},
	{"ncftpget ncftpput ncftp", "", "s:-p"},
	{"htpasswd", "", "htpasswd"},
	{"rabbitmqctl", "add_user", "2"},
	{"rabbitmqctl", "change_password", "2"},
	{"rabbitmqctl", "authenticate_user", "2"},
	{"etcdctl", "", "l:--user l:-u"},
	{"vault", "login", "1"},
	{"mc", "alias", "5"},
	{"mc", "config", "6"},
	{"aws", "configure", "named"},
	{"gcloud az oc kubectl", "", "literal"},
	{"git", "config", "named"},
	{"nmcli", "", "w:password named"},
	{"wpa_passphrase", "", "2"},
	{"xfreerdp wlfreerdp", "", "a:/p:"},
	{"rdesktop", "", "s:-p"},
	{"http https", "", "l:-a l:--auth"},
	{"iscsiadm", "", "iscsi"},
	{"chpasswd", "", "echo"},
	{"oc", "login", "s:-p"},
	{"argocd", "login", "s:--password"},
	{"wget", "", "s:--password"},
	{"psexec", "", "s:-p"},
	{"ansible ansible-playbook", "", "named"},
	{"kinit", "", "echo"},
	{"sudo", "", "stdin"},
	{"docker podman helm nerdctl", "login", "echo"},
	{"cryptsetup", "", "echo"},
	{"passwd", "", "echo"},
}

// programsByName has the rows of each program.
var programsByName = func() map[string][]*program {
	rows := map[string][]*program{}
	for i := range programs {
		for name := range strings.FieldsSeq(programs[i].names) {
			rows[name] = append(rows[name], &programs[i])
		}
	}
	return rows
}()

// programHints makes a hint of every name; of one that is too short with the space behind it.
func programHints() []hint {
	rows := programsByName
	var made []hint
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		find := func(l *search, at int) {
			for _, p := range rows[name] {
				l.findArguments(p, at, at+len(name))
			}
		}
		ends := []string{""}
		if len(name) < 3 {
			ends = []string{" ", "\"", "\\", "\x00"}
		}
		for _, end := range ends {
			made = append(made, hint{name + end, len(name+end) - 3, find})
		}
	}
	return made
}

// argument is a word of a command line, without quotes.
type argument struct{ from, to int }

// arguments splits what follows a program's name up to the end of its command. An array of JSON is
// split, too.
func arguments(b []byte, p int) (all []argument) {
	const enough = 200
	for p < len(b) && len(all) < enough {
		for p < len(b) && (is(b[p], isSpace) || b[p] == ',') && b[p] != '\n' {
			p++
		}
		if p >= len(b) || strings.IndexByte("|;&\n])}", b[p]) >= 0 {
			return all
		}
		n, escapes, mark := quoteAt(b, p)
		if n == 0 {
			end := argumentEnd(b, p)
			if end == p {
				return all
			}
			all, p = append(all, argument{p, end}), end
			continue
		}
		if endsString(b, p+n) {
			p += n
			continue
		}
		end, next := closeQuote(b, p+n, escapes, mark)
		all, p = append(all, argument{p + n, end}), max(next, p+1)
	}
	return all
}

// endsString says that the quote before p closed the text around the whole command.
func endsString(b []byte, p int) bool {
	return p >= len(b) || is(b[p], isSpace) || strings.IndexByte(",]})\\", b[p]) >= 0
}

// argumentEnd is where an unquoted argument ends. Quotes inside of it belong to it: -p'a b'.
func argumentEnd(b []byte, p int) int {
	for q := p; q < len(b); q++ {
		c := b[q]
		switch {
		case is(c, isSpace), c == '|', c == ';':
			return q
		case c == '"' || c == '\'':
			if endsString(b, q+1) {
				return q
			}
			if i := bytes.IndexByte(b[q+1:], c); i >= 0 {
				return q + 1 + i + 1
			}
			return q
		case c == '\\' && q+1 < len(b) && (b[q+1] == '"' || b[q+1] == '\'' || b[q+1] == '\\' || b[q+1] == 'n'):
			return q
		}
	}
	return len(b)
}

// findArguments finds what a program takes as secrets.
func (l *search) findArguments(p *program, at, end int) {
	b := l.line
	if l.isTired() || at > 0 && (is(b[at-1], isWord) && b[at-1] != '-' || at > 1 && b[at-1] == '-' && is(b[at-2], isWord)) || end >= len(b) {
		return
	}
	if n, _, _ := quoteAt(b, end); n > 0 {
		end += n
	} else if !is(b[end], isSpace) {
		return
	}
	args := arguments(b, end)
	if len(args) > 0 {
		l.spent += args[len(args)-1].to - end
	}
	if p.sub != "" {
		i := 0
		for i < len(args) && string(b[args[i].from:args[i].to]) != p.sub {
			i++
		}
		if i >= len(args) || i > 4 {
			return
		}
		args = args[i+1:]
	}
	for take := range strings.FieldsSeq(p.takes) {
		l.takeArguments(take, args, at)
	}
}

// takeArguments finds the secrets of one way to take them.
func (l *search) takeArguments(take string, args []argument, at int) {
	kind, flag, _ := strings.Cut(take, ":")
	switch kind {
	case "a", "s", "e", "g", "l", "c", "v", "w":
		l.takeFlag(kind, flag, args)
	case "1", "2", "5", "6":
		l.takePositional(int(kind[0]-'0'), args)
	case "pass":
		for _, a := range args {
			if text := l.text(a); bytes.HasPrefix(text, []byte("pass:")) {
				l.addArgument(a.from+len("pass:"), a.to)
			}
		}
	case "htpasswd":
		if len(args) >= 4 && l.text(args[0])[0] == '-' && bytes.IndexByte(l.text(args[0]), 'b') > 0 {
			l.addArgument(args[3].from, args[3].to)
		} else if len(args) >= 3 && l.text(args[0])[0] == '-' && bytes.IndexByte(l.text(args[0]), 'n') > 0 {
			l.addArgument(args[2].from, args[2].to)
		}
	case "named":
		for i, a := range args[:max(0, len(args)-1)] {
			if classOf(l.text(a)) != open {
				l.addArgument(args[i+1].from, args[i+1].to)
			}
		}
	case "oracle":
		l.takeOracle(args)
	case "literal":
		l.takeLiteral(args)
	case "iscsi":
		l.takeSetting(args)
	case "echo":
		l.takeEcho(at)
	case "stdin":
		if len(args) > 0 && string(l.text(args[0])) == "-S" {
			l.takeEcho(at)
		}
	}
}

func (l *search) text(a argument) []byte { return l.line[a.from:a.to] }

// addArgument adds a value, without the quotes around it.
func (l *search) addArgument(from, to int) {
	for from < to && (l.line[from] == '\'' || l.line[from] == '"' || l.line[from] == '=') {
		from++
	}
	for to > from && (l.line[to-1] == '\'' || l.line[to-1] == '"') {
		to--
	}
	text := l.line[from:to]
	if to > from && !bytes.HasPrefix(text, []byte(mark)) && (len(text) < 3 || !isPlaceholder(text)) && string(text) != "true" {
		l.add(Argument, from, to)
	}
}

// takeFlag finds the values of a flag.
func (l *search) takeFlag(kind, flag string, args []argument) {
	for i, a := range args {
		text := l.text(a)
		if endsInFlag(text, flag) && kind != "a" {
			text, a.from = []byte(flag), a.to-len(flag) // -su is -s -u
		}
		if !bytes.HasPrefix(text, []byte(flag)) {
			continue
		}
		from, to := a.from+len(flag), a.to
		attached := to > from
		switch {
		case !attached && kind != "a" && i+1 < len(args):
			from, to = args[i+1].from, args[i+1].to
			if l.line[from] == '-' && kind != "s" && kind != "e" {
				continue
			}
		case !attached, kind == "g", kind == "s" && l.line[from] != '=', strings.HasPrefix(flag, "--") && l.line[from] != '=':
			continue
		case attached && l.line[from] == '=':
			from++
		}
		switch kind {
		case "l":
			l.addLogin(from, to)
		case "c":
			l.findCookies(from)
		case "v":
			l.addVariable(from, to)
		case "g":
			if looksSecret(l.line[from:to]) {
				l.addArgument(from, to)
			}
		default:
			if attached && kind != "s" && strings.HasPrefix(flag, "-p") && isLongFlag(text) {
				continue
			}
			l.addArgument(from, to)
		}
	}
}

// endsInFlag says that a word is several flags of one letter, the last of which is meant.
func endsInFlag(text []byte, flag string) bool {
	const most = 6
	if len(flag) != 2 || len(text) < 3 || len(text) > most || text[0] != '-' || text[len(text)-1] != flag[1] {
		return false
	}
	return skipKind(text, 1, isUpper|isLowerCase) == len(text)
}

// isLongFlag says that a word is the name of another flag with a single dash, as -port of 7z's
// relatives.
func isLongFlag(text []byte) bool {
	return bytes.HasPrefix(text, []byte("-port")) || bytes.HasPrefix(text, []byte("-pipe"))
}

// addLogin adds the password of user:password, user%password or user,password.
func (l *search) addLogin(from, to int) {
	text := l.line[from:to]
	i := bytes.IndexAny(text, ":%,")
	if i > 0 && i+1 == len(text) && looksSecret(text[:i]) { // a token as the user
		l.addArgument(from, from+i)
	}
	if i < 0 || i+1 >= len(text) {
		return
	}
	l.addArgument(from+i+1, to)
}

// takePositional finds the n-th word that is no flag.
func (l *search) takePositional(n int, args []argument) {
	for _, a := range args {
		if l.line[a.from] == '-' {
			continue
		}
		if n--; n == 0 {
			l.addArgument(a.from, a.to)
			return
		}
	}
}

// takeOracle finds the password of user/password@database.
func (l *search) takeOracle(args []argument) {
	for _, a := range args {
		text := l.text(a)
		slash := bytes.IndexByte(text, '/')
		if text[0] == '-' || slash <= 0 || text[0] == '/' {
			continue
		}
		end := a.to
		if sign := bytes.LastIndexByte(text, '@'); sign > slash {
			end = a.from + sign
		}
		l.addArgument(a.from+slash+1, end)
		return
	}
}

// takeLiteral finds the values of kubectl create secret generic --from-literal=key=value.
func (l *search) takeLiteral(args []argument) {
	for i, a := range args {
		text := l.text(a)
		if !bytes.HasPrefix(text, []byte("--from-literal")) {
			continue
		}
		rest := bytes.TrimPrefix(text[len("--from-literal"):], []byte("="))
		from, to := a.to-len(rest), a.to
		if len(rest) == 0 && i+1 < len(args) {
			from, to = args[i+1].from, args[i+1].to
		}
		if eq := bytes.IndexByte(l.line[from:to], '='); eq > 0 {
			l.addArgument(from+eq+1, to)
		}
	}
}

// takeSetting finds the value of iscsiadm -n node.session.auth.password -v VALUE.
func (l *search) takeSetting(args []argument) {
	named := false
	for i, a := range args {
		text := string(l.text(a))
		named = named || classOf([]byte(text)) != open
		if named && (text == "-v" || text == "--value") && i+1 < len(args) {
			l.addArgument(args[i+1].from, args[i+1].to)
		}
	}
}

// takeEcho finds what is piped into a program: echo user:SECRET | chpasswd, echo SECRET | sudo -S.
func (l *search) takeEcho(at int) {
	b := l.line
	before := bytes.TrimRight(b[:at], " /usrlocabin")
	if len(before) == 0 || before[len(before)-1] != '|' {
		return
	}
	pipe := len(before) - 1
	text := near(b, pipe)
	start := max(bytes.LastIndex(text, []byte("echo ")), bytes.LastIndex(text, []byte("printf ")))
	if start < 0 {
		return
	}
	start += pipe - len(text)
	args := arguments(b[:pipe], start+bytes.IndexByte(b[start:], ' '))
	if len(args) == 0 {
		return
	}
	last := args[len(args)-1]
	if colon := bytes.IndexByte(l.text(last), ':'); colon > 0 && hasFold(b[at:], "chpasswd") {
		last.from += colon + 1
	}
	l.addArgument(last.from, last.to)
}
