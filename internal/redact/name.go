package redact

import (
	"strings"
)

// class is what a name says about the value behind it.
type class uint8

const (
	open     class = iota // no secret
	keyLike               // a key, a signature
	object                // a secret, or the name of an object of Kubernetes
	secret                // a secret
	token                 // a token
	password              // a password
)

// bare are whole names of secrets that hold none of the words of cores.
var bare = map[string]class{
	"secret": object, "secrets": object, "credential": object, "credentials": object, "imagepullsecret": object,
	"imagepullsecrets": object,
	"rocommunity":      password, "rwcommunity": password, "rocommunity6": password, "rwcommunity6": password,
	"pass": password, "pwd": password, "pw": open, "auth": open, "sig": keyLike, "identified by": password,
	"dockerconfigjson": secret, ".dockerconfigjson": secret, "dockercfg": secret, ".dockercfg": secret,
	"requirepass": password, "masterauth": password, "_auth": token, "tls.key": secret,
	"ssh-privatekey": secret, "psk": password, "wpa_psk": password, "sentinel_auth": password,
}

// cores are the words that make a name one of a secret, in the order in which they count.
var cores = []struct {
	text string
	is   class
}{
	{"passphrase", password},
	{"password", password},
	{"passwd", password},
	{"passw", password},
	{"secret", secret},
	{"credential", secret},
	{"creds", secret},
	{"token", token},
	{"signature", keyLike},
	{"apikey", keyLike},
	{"accesskey", keyLike},
	{"privatekey", keyLike},
	{"authkey", keyLike},
	{"clientkey", keyLike},
	{"saskey", keyLike},
	{"accountkey", keyLike},
	{"masterkey", keyLike},
	{"encryptionkey", keyLike},
	{"signingkey", keyLike},
	{"subscriptionkey", keyLike},
	{"storagekey", keyLike},
	{"licensekey", keyLike},
	{"sharedkey", keyLike},
	{"sshkey", keyLike},
	{"hostkey", keyLike},
	{"secretkey", keyLike},
	{"appkey", keyLike},
	{"integrationkey", keyLike},
	{"routingkey", keyLike},
	{"servicekey", keyLike},
	{"deploykey", keyLike},
	{"sessionkey", keyLike},
	{"unsealkey", keyLike},
	{"rootkey", keyLike},
	{"joinkey", keyLike},
	{"hmackey", keyLike},
	{"aeskey", keyLike},
}

// about are last words of names of what is only about a secret: secretName, token-ttl,
// password_file.
var about = func() map[string]bool {
	words := map[string]bool{}
	for w := range strings.FieldsSeq(`name names ref refs file files filename path paths dir directory type types namespace ns
		count counts total len length size ttl expiration expiry expires expire seconds secs minutes hours days timeout duration
		interval policy policies alg algorithm version mode rotation provider providers manager enabled disabled enable disable
		required usage usages store class format index limit limits audience audiences issuer url uri endpoint cache webhook
		bin lookup reader source sources state status error err errors review reviews request requests controller cleaner
		signer plugin plugins driver prefix suffix group groups scope scopes owner date time timestamp at age update updated
		updates created changed change strength min max attempts retries prompt hint help go py sh html js txt log service svc
		socket sock mount volume volumes api method methods informer lister watcher client server handler authenticator
		authentication authorizer authorization generator getter cleanup resource resources bucket buckets latency limiter
		projection key_name field schema kind hash_algorithm agent template pattern regex title label labels
		annotation annotations prefixes host port address user username login email ready failed failure failures success
		succeeded not found used usable valid invalid validation verification verify verified sync synced syncer queue worker
		workers rate rates burst config configs configuration settings options option fn func function size bytes`) {
		words[w] = true
	}
	return words
}()

// squeezer takes out what stands between the words of a name.
var squeezer = strings.NewReplacer("_", "", "-", "", ".", "")

// classOf says what a name says about the value behind it.
func classOf(name []byte) class {
	if len(name) > 120 {
		return open
	}
	text := strings.ToLower(string(name))
	trimmed := strings.Trim(text, "-.")
	if c, ok := bare[trimmed]; ok {
		return c
	}
	if c, ok := bare[text]; ok {
		return c
	}
	squeezed := squeezer.Replace(trimmed)
	found := open
	for _, core := range cores {
		if strings.Contains(squeezed, core.text) {
			found = core.is
			break
		}
	}
	if found == open {
		return endsInPass(trimmed)
	}
	if isAbout(name) || found == token && isPaging(squeezed) {
		return open
	}
	return found
}

// isPaging says that a name is of a token that only says where a list goes on.
func isPaging(squeezed string) bool {
	return strings.HasPrefix(squeezed, "next") || strings.HasPrefix(squeezed, "page") || strings.HasPrefix(squeezed, "continu")
}

// endsInPass is for DB_PASS, dbPass, mysql.pwd and the like.
func endsInPass(lower string) class {
	switch {
	case strings.HasSuffix(lower, "bypass"), strings.HasSuffix(lower, "compass"), strings.HasSuffix(lower, "surpass"),
		strings.HasSuffix(lower, "encompass"), strings.HasSuffix(lower, "oldpwd"):
		return open
	case strings.HasSuffix(lower, "pass"), strings.HasSuffix(lower, "pwd"), strings.HasSuffix(lower, "_pw"), strings.HasSuffix(lower, "-pw"):
		return password
	case strings.HasSuffix(lower, "_psk"), strings.HasSuffix(lower, "_auth"):
		return token
	}
	return open
}

// isAbout says that a name ends in a word of about, or that such a word begins it behind the word
// of the secret: tokenExpirationSeconds.
func isAbout(name []byte) bool {
	last := lastWord(name)
	if about[last] {
		return true
	}
	return len(last) > 1 && strings.HasSuffix(last, "s") && about[last[:len(last)-1]]
}

// lastWord is the last word of a name in lower case: of max_token_age, maxTokenAge, MAX-TOKEN-AGE.
func lastWord(name []byte) string {
	end := len(name)
	for end > 0 && !is(name[end-1], isUpper|isLowerCase|isDigit) {
		end--
	}
	from := end
	for from > 0 && is(name[from-1], isUpper|isLowerCase|isDigit) {
		from--
		hump := is(name[from], isUpper) && from > 0 && is(name[from-1], isLowerCase|isDigit)
		if hump {
			break
		}
	}
	return strings.ToLower(string(name[from:end]))
}
