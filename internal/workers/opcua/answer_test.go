package opcua

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/gopcua/opcua/id"
	"github.com/gopcua/opcua/ua"
)

var (
	heads = &ua.ResponseHeader{Timestamp: time.Unix(1, 0), RequestHandle: 7, StringTable: []string{"a", ""},
		ServiceDiagnostics: &ua.DiagnosticInfo{EncodingMask: 0x7f, AdditionalInfo: "more", InnerDiagnosticInfo: &ua.DiagnosticInfo{}},
		AdditionalHeader:   ua.NewExtensionObject(&ua.AnonymousIdentityToken{PolicyID: "x"})}
	states = make([]uint16, 14)
)

// encoded is an answer as the library, which is another's, would send it.
func encoded(t testing.TB, kind uint16, answer ua.Response) []byte {
	t.Helper()
	answer.SetHeader(heads)
	name, err := ua.Encode(ua.NewFourByteNodeID(0, kind))
	if err != nil {
		t.Fatal(err)
	}
	body, err := ua.Encode(answer)
	if err != nil {
		t.Fatal(err)
	}
	return append(name, body...)
}

func endpoint(mode ua.MessageSecurityMode, tokens ...*ua.UserTokenPolicy) *ua.EndpointDescription {
	return &ua.EndpointDescription{EndpointURL: "opc.tcp://h", SecurityMode: mode, UserIdentityTokens: tokens, ServerCertificate: []byte("certificate"),
		Server: &ua.ApplicationDescription{ApplicationName: ua.NewLocalizedTextWithLocale("name", "en"), DiscoveryURLs: []string{"opc.tcp://h", "opc.tcp://g"}}}
}

func session(t testing.TB, endpoints ...*ua.EndpointDescription) []byte {
	return encoded(t, id.CreateSessionResponse_Encoding_DefaultBinary, &ua.CreateSessionResponse{SessionID: ua.NewStringNodeID(1, "session"),
		AuthenticationToken: ua.NewByteStringNodeID(2, []byte("token")), ServerNonce: []byte("nonce"), ServerEndpoints: endpoints, ServerSignature: &ua.SignatureData{}})
}

func values(t testing.TB, of ...any) []byte {
	var all []*ua.DataValue
	for _, v := range of {
		if d, is := v.(*ua.DataValue); is {
			all = append(all, d)
		} else {
			all = append(all, &ua.DataValue{EncodingMask: ua.DataValueValue, Value: ua.MustVariant(v)})
		}
	}
	return encoded(t, id.ReadResponse_Encoding_DefaultBinary, &ua.ReadResponse{Results: all})
}

func opened(t *testing.T, message []byte, want uint32) *reader {
	t.Helper()
	r := &reader{rest: message}
	if is, status := r.service(), r.header(); is != want || status != ua.StatusOK || r.broken {
		t.Fatalf("it is %d with %v, broken: %t", is, status, r.broken)
	}
	return r
}

func TestSessionIsReadAsAnotherWroteIt(t *testing.T) {
	anonymous := &ua.UserTokenPolicy{PolicyID: "anybody", TokenType: ua.UserTokenTypeAnonymous}
	named := &ua.UserTokenPolicy{PolicyID: "somebody", TokenType: ua.UserTokenTypeUserName}
	for _, c := range []struct {
		endpoints []*ua.EndpointDescription
		policy    string
		offered   bool
	}{
		{nil, "Anonymous", true},
		{[]*ua.EndpointDescription{endpoint(ua.MessageSecurityModeSign, anonymous), endpoint(ua.MessageSecurityModeNone, named, anonymous)}, "anybody", true},
		{[]*ua.EndpointDescription{endpoint(ua.MessageSecurityModeSign, anonymous), endpoint(ua.MessageSecurityModeNone, named)}, "", false},
	} {
		r := opened(t, session(t, c.endpoints...), id.CreateSessionResponse_Encoding_DefaultBinary)
		token, policy, offered := r.session()
		if r.broken || token.String() != ua.NewByteStringNodeID(2, []byte("token")).String() || policy != c.policy || offered != c.offered {
			t.Errorf("%v %q %t, broken: %t", token, policy, offered, r.broken)
		}
	}
}

func TestValuesAreReadAsAnotherWroteThem(t *testing.T) {
	timed := &ua.DataValue{EncodingMask: 0x3f, Value: ua.MustVariant([]uint16{1, 2}), Status: ua.StatusUncertain, SourceTimestamp: time.Unix(1, 0), ServerTimestamp: time.Unix(2, 0)}
	r := opened(t, values(t, states, uint16(9), []string{"a", "", "b"}, &ua.DataValue{EncodingMask: ua.DataValueStatusCode, Status: ua.StatusBad}, timed, 1.5), id.ReadResponse_Encoding_DefaultBinary)
	if err := r.results("values", 6); err != nil {
		t.Fatal(err)
	}
	for n, want := range []value{
		{kind: "Uint16", array: true, words: states},
		{kind: "Uint16", words: []uint16{9}},
		{kind: "String", array: true, texts: []string{"a", "", "b"}},
		{status: ua.StatusBad},
		{kind: "Uint16", array: true, words: []uint16{1, 2}, status: ua.StatusUncertain},
		{kind: "Double"},
	} {
		if got := r.value(); r.broken || !reflect.DeepEqual(got, want) {
			t.Errorf("%d: %+v, want %+v", n, got, want)
		}
	}
}

// taken takes everything apart that an answer could be, and tells whether more came out than was in it.
func taken(message []byte) bool {
	grew := false
	r := reader{rest: message}
	_, _ = r.service(), r.header()
	body := r
	_, _, _ = body.session()
	_ = r.results("values", 1)
	for range 16 {
		v := r.value()
		grew = grew || 2*len(v.words) > len(message) || 4*len(v.texts) > len(message)
	}
	return grew
}

// Whatever comes is read to its end at most. proves quality 16
func FuzzAnswer(f *testing.F) {
	honest := [][]byte{session(f, endpoint(ua.MessageSecurityModeNone, &ua.UserTokenPolicy{PolicyID: "anybody"})), values(f, states, uint16(1), []string{"a"}), values(f, []string{"urn:a", "urn:b"})}
	for _, message := range honest {
		f.Add(message)
		for n := range message {
			f.Add(message[:n])
		}
	}
	random := rand.New(rand.NewPCG(1, 2))
	for n := range 5000 {
		message := slices.Clone(honest[n%len(honest)])
		for range 1 + random.IntN(4) {
			message[random.IntN(len(message))] = byte(random.IntN(256))
		}
		f.Add(message)
	}
	f.Fuzz(func(t *testing.T, message []byte) {
		if taken(message) {
			t.Error("more came out than was in it")
		}
	})
}
