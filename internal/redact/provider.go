package redact

import (
	"bytes"
	"strings"
)

// provider is how a provider's tokens look: a prefix, and so many characters of a kind behind it.
// The prefixes are those that the providers document so that scanners find them.
type provider struct {
	prefix string
	of     string // characters: hex, digit, alnum, upper, word, base64 (either alphabet), dotted (and dots)
	least  int
}

// providers by service. A prefix that ends another word is none.
var providers = []provider{
	{"AKIA", "upper", 16},
	{"ASIA", "upper", 16},
	{"ABIA", "upper", 16},
	{"ACCA", "upper", 16},
	{"A3T", "upper", 17}, // AWS
	{"ABSK", "base64", 60},
	{"bedrock-api-key-", "base64", 20},
	{"LTAI", "alnum", 12}, // Alibaba Cloud
	{"AIza", "word", 35},
	{"ya29.", "dotted", 10},
	{"GOCSPX-", "word", 20}, // Google
	{"ghp_", "word", 20},
	{"gho_", "word", 20},
	{"ghu_", "word", 20}, // GitHub
	{"ghs_", "word", 20},
	{"ghr_", "word", 20},
	{"github_pat_", "word", 20}, //
	{"glpat-", "dotted", 16},
	{"gldt-", "word", 16},
	{"glrt-", "dotted", 16}, // GitLab
	{"glptt-", "word", 16},
	{"glcbt-", "word", 16},
	{"glft-", "word", 16}, //
	{"glimt-", "word", 16},
	{"glagent-", "word", 16},
	{"gloas-", "word", 16}, //
	{"glsoat-", "word", 16},
	{"glffct-", "word", 16},
	{"GR1348941", "word", 8},        //
	{"_gitlab_session=", "hex", 16}, //
	{"xoxb-", "word", 10},
	{"xoxa-", "word", 8},
	{"xoxp-", "word", 10},
	{"xoxo-", "word", 8},
	{"xoxr-", "word", 8},
	{"xoxs-", "word", 8},
	{"xoxe-", "word", 10},
	{"xoxe.", "dotted", 10},
	{"xapp-", "word", 10},
	{"xwfp-", "word", 10}, // Slack
	{"sk_live_", "alnum", 10},
	{"sk_test_", "alnum", 10},
	{"rk_live_", "alnum", 10},
	{"rk_test_", "alnum", 10}, // Stripe
	{"sk_prod_", "alnum", 10},
	{"rk_prod_", "alnum", 10},
	{"whsec_", "base64", 20},
	{"sk-proj-", "word", 20},
	{"sk-svcacct-", "word", 20},
	{"sk-admin-", "word", 20},
	{"sk-ant-", "word", 20},
	{"sk-or-", "word", 20},
	{"hf_", "alnum", 30},
	{"api_org_", "alnum", 30},
	{"pplx-", "alnum", 30},
	{"gsk_", "alnum", 30},
	{"r8_", "alnum", 30},
	{"xai-", "alnum", 40},
	{"npm_", "alnum", 30},
	{"pypi-", "word", 50},
	{"rubygems_", "hex", 32},
	{"oy2", "alnum", 40},
	{"CLOJARS_", "alnum", 40},
	{"dckr_pat_", "word", 16},
	{"dckr_oat_", "word", 16},
	{"dop_v1_", "hex", 32},
	{"doo_v1_", "hex", 32},
	{"dor_v1_", "hex", 32},  // DigitalOcean
	{"HRKU-AA", "word", 20}, // Heroku
	{"dapi", "hex", 32},
	{"dkea", "hex", 32},
	{"dose", "hex", 32}, // Databricks
	{"dt0c01.", "dotted", 60},
	{"dt0s01.", "dotted", 60}, // Dynatrace
	{"dp.pt.", "alnum", 30},
	{"dp.st.", "dotted", 30},
	{"dp.ct.", "alnum", 30}, // Doppler
	{"dp.sa.", "alnum", 30},
	{"dp.scim.", "alnum", 30},
	{"dp.audit.", "alnum", 30}, //
	{"duffel_live_", "base64", 30},
	{"duffel_test_", "base64", 30}, //
	{"EZAK", "alnum", 50},
	{"EZTK", "alnum", 50}, // EasyPost
	{"EAAC", "alnum", 80},
	{"EAAM", "alnum", 80},
	{"EAAA", "word", 22}, // Facebook, Square
	{"sq0atp-", "word", 20},
	{"sq0csp-", "word", 20}, //
	{"FLWSECK_TEST-", "word", 10},
	{"FLWPUBK_TEST-", "word", 10},
	{"FLWSECK-", "word", 10},
	{"fo1_", "word", 40},
	{"fm1a_", "base64", 40},
	{"fm1r_", "base64", 40},
	{"fm2_", "base64", 40}, // Fly.io
	{"fio-u-", "base64", 40},
	{"glc_", "base64", 20},
	{"glsa_", "word", 20},
	{"eyJrIjoi", "base64", 40},
	{"pat.", "dotted", 50},
	{"sat.", "dotted", 50}, // Harness
	{"hvs.", "word", 24},
	{"hvb.", "word", 24},
	{"hvr.", "word", 24},
	{"s.", "alnum", 24},
	{"atlasv1.", "base64", 40},
	{"ico-", "alnum", 30},
	{"AKCp", "alnum", 50},
	{"cmVmd", "alnum", 50},
	{"lin_api_", "alnum", 30},
	{"lin_oauth_", "alnum", 30},
	{"key-", "hex", 32},
	{"pubkey-", "hex", 32},
	{"pk.eyJ", "dotted", 30},
	{"sk.eyJ", "dotted", 30}, // Mapbox
	{"nfp_", "alnum", 30},
	{"NRAK-", "alnum", 20},
	{"NRII-", "word", 20},
	{"NRJS-", "hex", 16},
	{"NRRA-", "word", 20},
	{"ntn_", "alnum", 30},
	{"ops_eyJ", "base64", 60},
	{"A3-", "word", 30},
	{"pscale_tkn_", "dotted", 20},
	{"pscale_oauth_", "dotted", 20},
	{"pscale_pw_", "dotted", 20},
	{"PMAK-", "word", 40},
	{"PMAT-", "word", 20},
	{"pnu_", "alnum", 30},
	{"pul-", "hex", 32},
	{"rdme_", "alnum", 40},
	{"tk-us-", "word", 32},
	{"SG.", "dotted", 50},
	{"xkeysib-", "word", 60},
	{"xsmtpsib-", "word", 60},
	{"sntrys_", "base64", 40},
	{"sntryu_", "hex", 40},
	{"sm_aat_", "alnum", 12},
	{"sm_pat_", "alnum", 12},
	{"sm_sat_", "alnum", 12},
	{"shippo_live_", "hex", 30},
	{"shippo_test_", "hex", 30},
	{"shpat_", "hex", 24},
	{"shpca_", "hex", 24},
	{"shppa_", "hex", 24},
	{"shpss_", "hex", 24},
	{"sgp_", "word", 32},
	{"slk_", "hex", 40},
	{"squ_", "alnum", 30},
	{"sqp_", "alnum", 30},
	{"sqa_", "alnum", 30},
	{"tfp_", "base64", 40},
	{"AQVN", "word", 30},
	{"AGE-SECRET-KEY-1", "upper", 40},
	{"p8e-", "alnum", 30},
	{"4b1d", "alnum", 38},
	{"v1.0-", "word", 100},
	{"dnkey-", "word", 60},
	{"s-s4t2ud-", "hex", 40},
	{"s-s4t2af-", "hex", 40},
	{"sha256~", "word", 40},
	{"API-", "upper", 26},
	{"live_", "hex", 32},
	{"test_", "hex", 32},
	{"figd_", "word", 30},
	{"vercel_", "alnum", 20},
	{"tskey-", "word", 12},
	{"dG9rOg", "base64", 30},
	{"ATATT3", "base64", 60},
	{"ATCTT3", "base64", 60},
	{"ATBB", "alnum", 28},
	{"secret_", "alnum", 40},
	{"PKPYPI", "alnum", 40},
	{"lsv2_pt_", "word", 30},
	{"lsv2_sk_", "word", 30},
	{"hooks.slack.com/services/", "base64", 20},
	{"hooks.slack.com/workflows/", "base64", 20},
	{"hooks.slack.com/triggers/", "base64", 20},
	{"discord.com/api/webhooks/", "base64", 40},
	{"webhook.office.com/", "webhook", 60},
	{"api.telegram.org/bot", "token", 30},
	{"$1$", "crypt", 20},
	{"$5$", "crypt", 20},
	{"$6$", "crypt", 20},
	{"$y$", "crypt", 20},
	{"$2a$", "crypt", 50},
	{"$2b$", "crypt", 50},
	{"$2y$", "crypt", 50},
	{"$apr1$", "crypt", 20},
	{"$argon2id$", "crypt", 30},
	{"K10", "k3s", 60},
	{"SWMTKN-1-", "word", 40},
	{"ocid1.credential.", "dotted", 20},
	{"hcp.", "dotted", 60},
	{"CFPAT-", "word", 30},
	{"ZXlK", "base64", 40},
	{"SK", "sid", 32},
}

// charsOf are the sets of characters of providers, by name.
var charsOf = map[string]*[256]bool{
	"hex": charSet("0123456789abcdefABCDEF"), "sid": charSet("0123456789abcdefABCDEF"), "digit": charSet("0123456789"),
	"upper": charSet("0123456789" + upperCase), "alnum": charSet(alnum), "word": charSet(alnum + "_-"),
	"base64": charSet(alnum + "+/=_-"), "dotted": charSet(alnum + "_=.-"), "crypt": charSet(alnum + "./$=,"),
	"k3s": charSet(alnum + ":_-"), "token": charSet(alnum + ":_-"), "webhook": charSet(alnum + "/@-_."),
}

const (
	upperCase = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	alnum     = "0123456789abcdefghijklmnopqrstuvwxyz" + upperCase
)

func charSet(chars string) *[256]bool {
	set := new([256]bool)
	for i := range len(chars) {
		set[chars[i]] = true
	}
	return set
}

// providerHints makes a hint of every prefix. One that is too short gets a hint for each character
// that can follow.
func providerHints() []hint {
	made := []hint{
		{"eyj", 0, findJWT},
		{"-us", 0, findMailchimp},
		{":aa", 0, findTelegram},
		{".acc", 0, findAuthress},
		{"t3blbkfj", 2, findAround(20, "word")},
		{".atlasv1.", 3, findAround(10, "dotted")},
		{"t1.", 0, findYandex},
	}
	for c := '0'; c <= '9'; c++ {
		made = append(made, hint{string(c) + "q~", 0, findEntra})
	}
	for i := range providers {
		p := &providers[i]
		prefix := strings.ToLower(p.prefix)
		find := func(l *search, at int) { l.findProvider(p, at) }
		if len(prefix) > 2 {
			made = append(made, hint{prefix, len(prefix) - 3, find})
			continue
		}
		set := charsOf[p.of]
		for c := range 256 {
			if set[c] && lower(byte(c)) == byte(c) {
				made = append(made, hint{prefix + string(rune(c)), 0, find})
			}
		}
	}
	return made
}

// findProvider finds a provider's token by its prefix, written exactly so.
func (l *search) findProvider(p *provider, at int) {
	b := l.line
	if !bytes.HasPrefix(b[at:], []byte(p.prefix)) || !l.beginsToken(p, at) {
		return
	}
	set, end := charsOf[p.of], at+len(p.prefix)
	for end < len(b) && set[b[end]] {
		end++
	}
	n := end - at - len(p.prefix)
	if n < p.least || p.of == "sid" && (n != p.least || end < len(b) && is(b[end], isWord)) {
		return
	}
	if p.of == "upper" && end < len(b) && is(b[end], isLowerCase) {
		return
	}
	if body := b[at+len(p.prefix) : end]; len(p.prefix) <= 5 && !isMixed(body) || skipKind(b[:end], at, isHex) == end {
		return // a word, the id of a container
	}
	for end > at && (b[end-1] == '.' || b[end-1] == ',' || b[end-1] == ':') {
		end--
	}
	from := at
	if i := strings.IndexByte(p.prefix, '/'); i >= 0 || strings.HasSuffix(p.prefix, "=") {
		from += len(p.prefix) // the host, the name stay
	}
	l.add(Provider, from, end)
}

// isMixed says that a token is no word: it has a digit, or letters of both cases.
func isMixed(v []byte) bool {
	var seen uint8
	for _, c := range v {
		seen |= kinds[c]
	}
	return seen&isDigit != 0 || seen&isUpper != 0 && seen&isLowerCase != 0
}

// beginsToken says that no word ends where the prefix begins. An escape may: \nghp_….
func (l *search) beginsToken(p *provider, at int) bool {
	b := l.line
	if at == 0 || !is(b[at-1], isUpper|isLowerCase|isDigit) && b[at-1] != '_' {
		return at == 0 || b[at-1] != '-' && b[at-1] != '.' || len(p.prefix) > 4
	}
	return at > 1 && b[at-2] == '\\' && strings.IndexByte("ntr", b[at-1]) >= 0
}

// findJWT finds a JSON Web Token: base64url of {", twice, and a signature.
func findJWT(l *search, at int) {
	b := l.line
	if !bytes.HasPrefix(b[at:], []byte("eyJ")) || at > 0 && (is(b[at-1], isUpper|isLowerCase|isDigit) && !(at > 1 && b[at-2] == '\\')) {
		return
	}
	set, end, dots := charsOf["base64"], at, 0
	for end < len(b) && (set[b[end]] || b[end] == '.' && end+1 < len(b) && (set[b[end+1]] || b[end+1] == '.')) {
		if b[end] == '.' {
			dots++
		}
		end++
	}
	if dots == 0 && end-at < 60 || dots > 0 && end-at < 20 {
		return
	}
	l.add(Provider, at, end)
}

// findAround finds a token that is known by its middle.
func findAround(least int, of string) func(*search, int) {
	set := charsOf[of]
	return func(l *search, at int) {
		b := l.line
		const longest = 1024
		from, end := at, at
		for from > max(0, at-longest) && set[b[from-1]] {
			from--
		}
		for end < min(len(b), at+longest) && set[b[end]] {
			end++
		}
		if end-from >= least+20 && at > from && isMixed(b[from:end]) {
			l.add(Provider, from, end)
		}
	}
}

// findMailchimp finds 32 hexadecimal digits and a data centre: …-us13.
func findMailchimp(l *search, at int) {
	b := l.line
	from, end := at, skipKind(b, at+len("-us"), isDigit)
	for from > 0 && is(b[from-1], isHex) {
		from--
	}
	if at-from == 32 && end > at+len("-us") {
		l.add(Provider, from, end)
	}
}

// findTelegram finds the id and the secret of a bot: 123456:AA….
func findTelegram(l *search, at int) {
	b := l.line
	from := at
	for from > 0 && is(b[from-1], isDigit) {
		from--
	}
	end := at + 1
	for end < len(b) && charsOf["word"][b[end]] {
		end++
	}
	if at-from >= 5 && end-at >= 30 {
		l.add(Provider, from, end)
	}
}

// findEntra finds a client secret of Microsoft Entra: three characters, a digit, Q~ and 31 to 34
// more.
func findEntra(l *search, at int) {
	b := l.line
	const longest = 60
	set, end := charsOf["dotted"], at+1
	for end < min(len(b), at+longest) && (set[b[end]] || b[end] == '~') {
		end++
	}
	if n := end - at - 3; at >= 3 && b[at+1] == 'Q' && n >= 30 && n <= 36 {
		l.add(Provider, at-3, end)
	}
}

// findAuthress finds a client's access key of Authress: sc_….….acc_….….
func findAuthress(l *search, at int) {
	b := l.line
	if sep := at + len(".acc"); sep >= len(b) || b[sep] != '_' && b[sep] != '-' {
		return
	}
	findAround(30, "dotted")(l, at)
}

// findYandex finds an IAM token: t1.….….
func findYandex(l *search, at int) {
	b := l.line
	if at > 0 && is(b[at-1], isWord) {
		return
	}
	end := at
	for end < len(b) && charsOf["dotted"][b[end]] {
		end++
	}
	if end-at >= 80 {
		l.add(Provider, at, end)
	}
}
