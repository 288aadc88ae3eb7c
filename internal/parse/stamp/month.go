package stamp

import (
	"bytes"
	"cmp"
	"regexp"
	"time"
	"unicode/utf8"

	"github.com/plegdiag/plegdiag/internal/event"
	"github.com/plegdiag/plegdiag/internal/parse/lines"
)

// readForeignMonth reads the month that a stamp of journalctl or dmesg -T starts with when its
// user's language is not English, "nov. " or "11月 ": strftime's %b is the locale's. N is the length
// with the blank behind it.
func readForeignMonth(b []byte) (month, n int) {
	n = bytes.IndexByte(b[:min(len(b), 24)], ' ') + 1
	// Only what goes on as " 8 09:30:11" costs a look-up.
	if n < 3 || len(b) < n+11 || b[n+2] != ' ' || b[n+5] != ':' || b[n+8] != ':' {
		return 0, 0
	}
	word := b[:n-1]
	if num, d := lines.Digits(word); d > 0 && d < 3 {
		if r, size := utf8.DecodeRune(word[d:]); (r == '月' || r == '월') && d+size == len(word) {
			return int(num), n
		}
		return 0, 0
	}
	return foreignMonths[string(word)], n
}

// foreignMonths are the abbreviated months of glibc's locales (abmon and ab_alt_mon, glibc 2.36),
// for the languages of a node's users. Words that are two months in two of them are left out: no
// month is better than a wrong one. Of Polish and Czech these are lip (July, in Croatian June), lis
// (November, in Croatian October) and srp (August, in Croatian July).
var foreignMonths = monthTable(
	"Jan Feb Mär Apr Mai Jun Jul Aug Sep Okt Nov Dez",                      // de
	"Jän Feb Mär Apr Mai Jun Jul Aug Sep Okt Nov Dez",                      // de_AT
	"janv. févr. mars avril mai juin juil. août sept. oct. nov. déc.",      // fr
	"janv. févr. mars avr. mai juin juil. août sept. oct. nov. déc.",       // fr, other releases
	"ene feb mar abr may jun jul ago sep oct nov dic",                      // es
	"gen feb mar apr mag giu lug ago set ott nov dic",                      // it
	"jan fev mar abr mai jun jul ago set out nov dez",                      // pt
	"jan feb mrt apr mei jun jul aug sep okt nov dec",                      // nl
	"jan feb mar apr maj jun jul aug sep okt nov dec",                      // sv, da
	"jan. feb. mars april mai juni juli aug. sep. okt. nov. des.",          // nb
	"tammi helmi maalis huhti touko kesä heinä elo syys loka marras joulu", // fi
	// pl; not "lip" and "lis"
	"sty lut mar kwi maj cze - sie wrz paź - gru",
	"led úno bře dub kvě čen čec - zář říj - pro",                    // cs; not "srp"
	"jan feb mar apr máj jún júl aug sep okt nov dec",                // sk
	"jan febr márc ápr máj jún júl aug szept okt nov dec",            // hu
	"ian feb mar apr mai iun iul aug sep oct nov dec",                // ro
	"Oca Şub Mar Nis May Haz Tem Ağu Eyl Eki Kas Ara",                // tr
	"янв фев мар апр мая июн июл авг сен окт ноя дек",                // ru
	"янв фев мар апр май июн июл авг сен окт ноя дек",                // ru, nominative
	"янв. февр. марта апр. мая июня июля авг. сент. окт. нояб. дек.", // ru, older
	"січ лют бер кві тра чер лип сер вер жов лис гру",                // uk
	"яну фев мар апр май юни юли авг сеп окт ное дек",                // bg
	"Ιαν Φεβ Μαρ Απρ Μαΐ Ιουν Ιουλ Αυγ Σεπ Οκτ Νοε Δεκ",              // el
	"Ιαν Φεβ Μάρ Απρ Μάι Ιούν Ιούλ Αύγ Σεπ Οκτ Νοέ Δεκ",              // el, nominative
	"Jan Feb Mar Apr Mei Jun Jul Agu Sep Okt Nov Des",                // id
	"ינו פבר מרץ אפר מאי יונ יול אוג ספט אוק נוב דצמ",                // he
	"ม.ค. ก.พ. มี.ค. เม.ย. พ.ค. มิ.ย. ก.ค. ส.ค. ก.ย. ต.ค. พ.ย. ธ.ค.", // th
	"ينا فبر مار أبر ماي يون يول أغس سبت أكت نوف ديس",                // ar
	"Ene Peb Mar Abr May Hun Hul Ago Set Okt Nob Dis",                // fil
	"1月 2月 3月 4月 5月 6月 7月 8月 9月 10月 11月 12月",                         // zh, ja
	"1월 2월 3월 4월 5월 6월 7월 8월 9월 10월 11월 12월",                         // ko
)

// monthTable numbers the words of each language.
func monthTable(languages ...string) map[string]int {
	all := map[string]int{}
	for _, words := range languages {
		for i, word := range bytes.Fields([]byte(words)) {
			all[string(word)] = i + 1
		}
	}
	delete(all, "-")
	return all
}

// minuteStamp is a stamp without seconds: 1 the month, 2 the day, 3 the hour, 4 the minute.
var minuteStamp = regexp.MustCompile(`^\[(\S{1,16}?) *([ \d]\d) (\d\d):(\d\d)\] `)

// WithoutSeconds reads "[Nov 8 09:30] " and "[Nov22 06:51] ", and returns its length, which is 0
// without one.
func WithoutSeconds(b []byte) (t event.Time, n int) {
	m := minuteStamp.FindSubmatch(b)
	if m == nil {
		return t, 0
	}
	month := foreignMonths[string(m[1])]
	if len(m[1]) == 3 {
		month = cmp.Or(Month(m[1]), month)
	}
	day, ok := Days(0, month, TwoDigits(m[2][0], m[2][1]))
	hour, minute := TwoDigits(m[3][0], m[3][1]), TwoDigits(m[4][0], m[4][1])
	if !ok || hour > 23 || minute > 59 {
		return t, 0
	}
	return Moment(day, time.Duration(hour*60+minute)*time.Minute, time.Minute, NoYear), len(m[0])
}
