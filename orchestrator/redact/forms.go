package redact

import (
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf16"
)

const (
	minBase64 = 12       // bytes of a value that is looked for in base64
	minLine   = 12       // bytes of a line of a value that is looked for by itself
	maxLine   = 16 << 10 // bytes that are looked for as one; what is longer is looked for in parts
)

// forms are the ways in which programs print a value, each as its lines.
func forms(value string) (out [][][]byte) {
	seen := map[string]bool{}
	add := func(text string) {
		if len(text) >= minValue && !seen[text] {
			seen[text] = true
			out = append(out, linesOf(text)...)
		}
	}
	add(value)
	for _, escaped := range []bool{false, true} {
		once := inJSON(value, escaped)
		add(once)
		add(inJSON(once, false)) // an event that quotes an event
	}
	add(unquote(strconv.Quote(value)))
	add(unquote(strconv.QuoteToASCII(value)))
	add(strings.ReplaceAll(value, "'", `'\''`))
	add(inShell(value))
	if strings.ContainsAny(value, "&<>\"'/`=") {
		for _, entities := range inHTML() {
			add(strings.NewReplacer(entities...).Replace(value))
		}
	}
	for _, before := range []string{"%", `\x`} {
		low := eachByte(value, before, 16)
		add(low)
		add(strings.ReplaceAll(strings.ToUpper(low), strings.ToUpper(before), before))
	}
	add(eachByte(value, `\`, 8))
	add(eachRune(value, "&#", 10, 0))
	add(eachRune(value, "&#", 10, 3))
	inHex := eachRune(value, "&#x", 16, 0)
	add(inHex)
	add(strings.ReplaceAll(strings.ToUpper(inHex), "X", "x"))
	add(strings.TrimRight(base32.StdEncoding.EncodeToString([]byte(value)), "="))
	add(inUnicodeEscapes(value, false))
	add(inUnicodeEscapes(value, true))
	for _, sep := range []string{" ", ":"} { // as od and openssl print bytes
		add(inHexBytes(value, sep))
		add(strings.ToUpper(inHexBytes(value, sep)))
	}
	for _, text := range []string{url.QueryEscape(value), url.PathEscape(value), strings.ReplaceAll(url.QueryEscape(value), "%2F", "/"),
		strings.ReplaceAll(strings.ReplaceAll(url.QueryEscape(value), "%2F", "/"), "+", "%20"), strings.ReplaceAll(url.QueryEscape(value), "+", "%20")} {
		add(text)
		add(lowerHex(text))
	}
	add(hex.EncodeToString([]byte(value)))
	add(strings.ToUpper(hex.EncodeToString([]byte(value))))
	if len(value) >= minBase64 {
		for at := range 3 {
			for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
				add(inBase64(enc, value, at))
			}
		}
	}
	for line := range strings.Lines(value) { // which a log may put something before
		if line = strings.TrimSpace(line); len(line) >= minLine && len(line) < len(value) && strings.Trim(line, base64Bytes) == "" {
			add(line)
		}
	}
	return out
}

const base64Bytes = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=_-."

// linesOf splits a text at its line ends, written out or escaped, and one that is too long in
// parts.
func linesOf(text string) (out [][][]byte) {
	for len(text) > maxLine {
		out = append(out, linesOf(text[:maxLine])...)
		text = text[maxLine:]
	}
	if !strings.Contains(text, "\n") && !strings.Contains(text, `\n`) {
		if len(text) < minValue {
			return out
		}
		return append(out, [][]byte{[]byte(text)})
	}
	var lines [][]byte
	for line := range strings.FieldsFuncSeq(breaks.Replace(text), func(r rune) bool { return r == '\n' }) {
		if line = strings.TrimSpace(line); line != "" && (len(lines) > 0 || len(line) > 3) {
			lines = append(lines, []byte(line))
		}
	}
	if n := totalBytes(lines); n < minValue {
		return out
	}
	return append(out, lines)
}

var breaks = strings.NewReplacer(`\\r`, "\n", `\\n`, "\n", `\r`, "\n", `\n`, "\n", "\r", "\n")

func totalBytes(lines [][]byte) (n int) {
	for _, line := range lines {
		n += len(line)
	}
	return n
}

func unquote(quoted string) string { return quoted[1 : len(quoted)-1] }

func inJSON(value string, html bool) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(html)
	if err := enc.Encode(value); err != nil {
		panic(err) // text always has JSON
	}
	return unquote(strings.TrimSuffix(b.String(), "\n"))
}

// inShell has a backslash before all that means something to a shell.
func inShell(value string) string {
	var b strings.Builder
	for i := range len(value) {
		if c := value[i]; c < 0x80 && classes[c]&dotted == 0 && !strings.ContainsRune("/:@%+,=\n", rune(c)) {
			b.WriteByte('\\')
		}
		b.WriteByte(value[i])
	}
	return b.String()
}

// inHTML are the ways in which libraries write characters that mean something to HTML, as pairs of what is replaced:
// none, both or one kind of the quotes, and some what could end a tag.
func inHTML() (all [][]string) {
	add := func(pairs ...string) {
		all = append(all, append([]string{"&", "&amp;", "<", "&lt;", ">", "&gt;"}, pairs...))
	}
	add()
	for _, quot := range []string{"&quot;", "&#34;", "&#x22;"} {
		add(`"`, quot)
		for _, apos := range []string{"&#39;", "&#039;", "&#x27;", "&apos;"} {
			add(`"`, quot, "'", apos)
		}
	}
	for _, slash := range []string{"&#x2F;", "&#x2f;", "&#47;"} {
		for _, apos := range []string{"&#39;", "&#x27;"} {
			add(`"`, "&quot;", "'", apos, "/", slash)
			add(`"`, "&quot;", "'", apos, "/", slash, "`", "&#x60;", "=", "&#x3D;")
			add(`"`, "&quot;", "'", apos, "/", slash, "`", "&#x60;", "=", "&#x3d;")
		}
	}
	return all
}

// eachByte writes each byte of a value with something before it, in a base: two digits of 16, three of 8.
func eachByte(value, before string, base int) string {
	var b []byte
	for i := range len(value) {
		b = append(b, before...)
		if base == 8 {
			b = append(b, '0'+value[i]>>6, '0'+value[i]>>3&7, '0'+value[i]&7)
			continue
		}
		b = hex.AppendEncode(b, []byte{value[i]})
	}
	return string(b)
}

// eachRune writes each character of a value as an entity, in a base and with so many digits at least.
func eachRune(value, before string, base, digits int) string {
	var b []byte
	for _, r := range value {
		b = append(b, before...)
		number := strconv.FormatInt(int64(r), base)
		for range digits - len(number) {
			b = append(b, '0')
		}
		b = append(append(b, number...), ';')
	}
	return string(b)
}

// lowerHex writes the escapes of a URL in lower case.
func lowerHex(text string) string {
	b := []byte(text)
	for i := 0; i+2 < len(b); i++ {
		if b[i] == '%' {
			copy(b[i:], strings.ToLower(text[i:i+3]))
		}
	}
	return string(b)
}

// inUnicodeEscapes writes characters as \uXXXX: all of them, or those alone that are not ASCII.
func inUnicodeEscapes(value string, all bool) string {
	var b strings.Builder
	for _, unit := range utf16.Encode([]rune(value)) {
		if !all && unit < 0x80 {
			b.WriteByte(byte(unit))
			continue
		}
		fmt.Fprintf(&b, `\u%04x`, unit)
	}
	return b.String()
}

// inHexBytes writes bytes in hexadecimal, sixteen a line.
func inHexBytes(value, sep string) string {
	var b strings.Builder
	for i := range len(value) {
		switch {
		case i == 0:
		case i%16 == 0:
			b.WriteByte('\n')
		default:
			b.WriteString(sep)
		}
		fmt.Fprintf(&b, "%02x", value[i])
	}
	return b.String()
}

// inBase64 is what a value always becomes when it stands at bytes from a multiple of three,
// whatever is around it.
func inBase64(enc *base64.Encoding, value string, at int) string {
	text := enc.EncodeToString(append(make([]byte, at), value...))
	from := [3]int{0, 2, 3}[at]
	return text[from : (at+len(value))*8/6]
}
