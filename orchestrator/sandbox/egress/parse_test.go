package egress

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/dns/dnsmessage"
)

// TestForbidden: the address of a cloud's keys is not reached in any of its forms, whoever has named it.
func TestForbidden(t *testing.T) {
	t.Parallel()
	own := []netip.Addr{netip.MustParseAddr("198.51.100.7")}
	for address, want := range map[string][2]bool{ // forbidden where it is allowed, and where the person has named it
		"198.51.100.8": {false, false}, "2001:db8::1": {false, false}, "198.51.100.7": {true, true}, "::ffff:198.51.100.7": {true, true},
		"127.9.9.9": {true, true}, "::1": {true, true}, "0.0.0.0": {true, true}, "::": {true, true}, "224.0.0.1": {true, true}, "ff02::1": {true, true}, "255.255.255.255": {true, true},
		"169.254.169.254": {true, true}, "169.254.1.1": {true, true}, "fe80::1": {true, true}, "fe80::1%eth0": {true, true}, "fd00:ec2::254": {true, true}, "::ffff:169.254.169.254": {true, true},
		"64:ff9b::169.254.169.254": {true, true}, "2002:a9fe:a9fe::1": {true, true}, "::169.254.169.254": {true, true}, "100.100.100.200": {true, true},
		"10.0.0.1": {true, false}, "172.16.0.1": {true, false}, "192.168.0.1": {true, false}, "fd12::1": {true, false}, "100.64.0.1": {true, false},
	} {
		a := netip.MustParseAddr(address)
		require.Equal(t, want[0], forbidden(a, false, own) != "", address)
		require.Equal(t, want[1], forbidden(a, true, own) != "", address)
	}
}

// FuzzForbidden: no form of version 6 reaches what the address in it may not be.
func FuzzForbidden(f *testing.F) {
	f.Add([]byte{169, 254, 169, 254})
	f.Fuzz(func(t *testing.T, b []byte) {
		a, ok := netip.AddrFromSlice(b)
		if !ok || !a.Is4() || forbidden(a, false, nil) == "" {
			return
		}
		four := a.As4()
		for _, prefix := range []string{"::ffff:0:0", "64:ff9b::"} {
			six := netip.MustParseAddr(prefix).As16()
			copy(six[12:], four[:])
			require.NotEmpty(t, forbidden(netip.AddrFrom16(six), false, nil), "%s in %s", a, prefix)
		}
	})
}

// FuzzRefuseName answers what is a question with a refusal of it, and nothing else.
func FuzzRefuseName(f *testing.F) {
	q := dnsmessage.Message{Header: dnsmessage.Header{ID: 7}, Questions: []dnsmessage.Question{{Name: dnsmessage.MustNewName("a.test."), Type: dnsmessage.TypeA, Class: dnsmessage.ClassINET}}}
	packet, err := q.Pack()
	require.NoError(f, err)
	f.Add(packet)
	f.Add(append([]byte{0, 1, 0x80}, packet[3:]...))
	f.Fuzz(func(t *testing.T, packet []byte) {
		name, answer, ok := refuseName(packet)
		if !ok {
			return
		}
		var m dnsmessage.Message
		require.NoError(t, m.Unpack(answer))
		require.True(t, m.Response)
		require.Equal(t, dnsmessage.RCodeRefused, m.RCode)
		require.Equal(t, name, m.Questions[0].Name.String())
		require.Empty(t, m.Answers)
	})
}

// FuzzMatches: a pattern stands for a name, or for all below one, and never for the name of another.
func FuzzMatches(f *testing.F) {
	f.Add("a.example", "*.example")
	f.Add("aexample", "*.example")
	f.Fuzz(func(t *testing.T, host, pattern string) {
		if pattern == "" || pattern[0] == '*' {
			require.False(t, matches("other."+host, []string{pattern}) && len(pattern) < 3, "a * alone stands for nothing")
			return
		}
		require.False(t, matches("x"+host, []string{host}) && host != "" && host[0] != '*')
	})
}
