package api

import (
	"bytes"
	"encoding/json"
	"flag"
	"math"
	"net/http"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"surehand/internal/plant"
	"surehand/internal/term"
)

var update = flag.Bool("update", false, "write openapi.json anew")

// TestDocument makes openapi.json from the table of operations and the JSON types, so that it cannot be wrong about them.
func TestDocument(t *testing.T) {
	const file = "openapi.json"
	d := assemble(t)
	var made bytes.Buffer
	e := json.NewEncoder(&made)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	require.NoError(t, e.Encode(d))
	if *update {
		require.NoError(t, os.WriteFile(file, made.Bytes(), 0o644))
	}
	have, err := os.ReadFile(file)
	require.NoError(t, err)
	require.True(t, bytes.Equal(made.Bytes(), have), "openapi.json is not what its sources say; write it anew: go generate ./api")
}

// TestIdsOfOperationsAreUnique, for they become names of functions in other languages.
func TestIdsOfOperationsAreUnique(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range slices.Concat(gets, outside, posts) {
		require.False(t, seen[r.id], r.id)
		seen[r.id] = true
	}
}

func assemble(t *testing.T) document {
	t.Helper()
	g := &reflector{comments: readComments(t), components: map[string]*schema{}, refine: refinements, refined: map[string]bool{}, used: map[string]bool{}}
	d := document{OpenAPI: "3.1.0", Info: info, Servers: []map[string]any{{"url": "/", "description": "This machine. Loopback only until users and roles exist."}},
		Security: []any{}, Tags: tags, Paths: map[string]map[string]*operation{}}
	for _, r := range slices.Concat(gets, outside, posts) {
		at := d.Paths[r.full()]
		if at == nil {
			at = map[string]*operation{}
			d.Paths[r.full()] = at
		}
		at[strings.ToLower(methodOf(r))] = g.operation(r)
	}
	for _, v := range streamed {
		g.of(reflect.TypeOf(v))
	}
	g.of(reflect.TypeFor[Problem]())
	g.components["Value"] = value()
	g.components["StreamEvent"] = streamEvent()
	for key := range usual {
		require.True(t, g.used[key], "nothing is described by %s", key)
	}
	require.Empty(t, g.silent, "say what these are, where their type is, or in document_words_test.go")
	d.Components = map[string]any{"schemas": g.components, "parameters": sharedParameters(), "headers": sharedHeaders(), "responses": sharedResponses()}
	for key := range refinements {
		require.True(t, g.refined[key], "nothing is refined by %s", key)
	}
	return d
}

func shared(kind, name string) string { return "#/components/" + kind + "/" + name }

func schemaNamed(name string) *schema { return &schema{Ref: shared("schemas", name)} }

func (g *reflector) operation(r row) *operation {
	o := &operation{OperationID: r.id, Tags: []string{r.tag}, Summary: r.summary, Description: r.about, Responses: map[string]*response{}}
	if r.thing != nil {
		o.Parameters = append(o.Parameters, r.thing)
	}
	o.Parameters = append(o.Parameters, r.query...)
	for _, status := range statuses(r) {
		o.Responses[strconv.Itoa(status)] = &response{Ref: shared("responses", responseNames[status])}
	}
	if methodOf(r) == http.MethodPost {
		g.post(r, o)
		return o
	}
	switch r.id {
	case "getOpenAPI":
		o.Responses["200"] = answered("An OpenAPI 3.1 document.", "application/json", &media{Schema: &schema{Type: "object", AdditionalProperties: true}})
	case "streamEvents":
		o.Description, o.Responses["200"] = aboutStream, streaming()
	case "getMetrics":
		o.Responses["200"] = answered("Prometheus text format.", "text/plain", &media{Schema: &schema{Type: "string"}})
		for _, name := range []string{"Vary", "Content-Encoding"} {
			o.Responses["200"].Headers[name] = &headerDoc{Schema: &schema{Type: "string"}}
		}
	default:
		found := g.of(reflect.TypeOf(r.answer))
		o.Responses["200"] = answered("As it is now.", "application/json", &media{Schema: found})
		if r.id == "getHealth" || r.id == "getReadiness" {
			o.Responses["503"] = answered("It is not.", "application/json", &media{Schema: found})
		}
	}
	return o
}

// statuses are those of the shared problems that a row can answer with.
func statuses(r row) []int {
	list := []int{http.StatusMisdirectedRequest}
	if r.id != "getOpenAPI" { // it is made of nothing that could break
		list = append(list, http.StatusInternalServerError)
	}
	if methodOf(r) == http.MethodPost {
		list = append(list, http.StatusBadRequest, http.StatusForbidden, http.StatusConflict, http.StatusRequestEntityTooLarge,
			http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity, http.StatusServiceUnavailable)
	} else if strings.HasPrefix(r.full(), Root) {
		if r.query != nil { // else the address has no more to say than the id
			list = append(list, http.StatusUnprocessableEntity)
		}
		if r.id != "getSystem" && r.id != "getOpenAPI" { // both answer without a database
			list = append(list, http.StatusServiceUnavailable)
		}
	}
	if r.thing != nil || r.unknown {
		list = append(list, http.StatusNotFound)
	}
	if r.id == "importPlant" {
		list = append(list, http.StatusNotImplemented)
	}
	return list
}

// post adds what all that post have in common.
func (g *reflector) post(r row, o *operation) {
	o.Parameters = append(o.Parameters, &parameter{Ref: shared("parameters", "IdempotencyKey")}, &parameter{Ref: shared("parameters", "Prefer")})
	o.RequestBody = &requestBody{Required: !r.optional && r.body != nil, Content: map[string]*media{}}
	switch r.id {
	case "importPlant":
		for _, mediaType := range []string{"application/yaml", "text/yaml"} {
			o.RequestBody.Content[mediaType] = &media{Schema: &schema{Type: "string", Description: "A plant file, UTF-8, at most 1 MiB."}}
		}
		g.of(reflect.TypeFor[PlantCheck]())
		o.Responses["200"] = answered("Applied; with `check=true`, what the file has.", "application/json",
			&media{Schema: &schema{OneOf: []*schema{g.of(reflect.TypeFor[posted]()), schemaNamed("PlantCheck")}}})
		o.Responses["200"].Headers = postHeaders()
		o.Responses["202"] = &response{Ref: shared("responses", "InProgress")}
		return
	case "importConfiguration":
		for _, mediaType := range []string{"application/yaml", "text/yaml", "application/json"} {
			o.RequestBody.Content[mediaType] = &media{Schema: g.of(reflect.TypeOf(r.body))}
		}
		o.RequestBody.Content["application/json"].Example = r.example
		o.RequestBody.Description = "A device file, UTF-8, at most 1 MiB. A server without a reader for files takes JSON only."
	default:
		taken := &schema{Type: "object", AdditionalProperties: false}
		if r.body != nil {
			taken = g.of(reflect.TypeOf(r.body))
		}
		if _, isReason := r.body.(ReasonRequest); isReason && !r.optional {
			taken = &schema{Ref: taken.Ref, Required: []string{"reason"}, Properties: properties{{"reason", &schema{MinLength: 1}}}}
		}
		o.RequestBody.Content["application/json"] = &media{Schema: taken, Example: r.example}
	}
	o.Responses["200"] = &response{Ref: shared("responses", "Done")}
	o.Responses["202"] = &response{Ref: shared("responses", "InProgress")}
	codes := append(strings.Fields(r.refusals), "idempotency_conflict")
	conflict := sharedResponses()["Conflict"]
	conflict.Description = "Refused; nothing was done. `code`: `" + strings.Join(codes, "`, `") + "`."
	if r.id == "reportPalletArrived" || r.id == "resumePart" {
		conflict.Description += " Also `order_` and the state of an order that takes no more work, such as `order_completed`."
	}
	o.Responses["409"] = conflict
}

func answered(what, mediaType string, m *media) *response {
	return &response{Description: what, Headers: map[string]*headerDoc{"X-Request-Id": headerNamed("RequestId")}, Content: map[string]*media{mediaType: m}}
}

// refinements say what a Go type cannot: bounds, which are those that the handlers hold.
var refinements = map[string]func(*schema){
	"CommandRequest.endpoint": func(s *schema) { s.MinLength = 1 },
	"CommandRequest.value": func(s *schema) {
		s.Type, s.Minimum, s.Maximum, s.MaxLength = []string{"boolean", "number", "string"}, -math.MaxFloat64, math.MaxFloat64, term.MaxTextBytes
	},
	"CommandRequest.reason":      reasonBound,
	"VerdictRequest.verdict":     func(s *schema) { *s = schema{Type: "string", Enum: strs(verdicts), Description: s.Description} },
	"VerdictRequest.reason":      reasonNeeded,
	"ReasonRequest.reason":       reasonBound,
	"ReleaseHoldRequest.subject": func(s *schema) { s.MinLength = 1 },
	"ReleaseHoldRequest.hold":    func(s *schema) { *s = schema{Type: "string", Enum: strs(releasable), Description: s.Description} },
	"ReleaseHoldRequest.reason":  reasonNeeded,
	"OrderRequest.id":            func(s *schema) { s.Pattern = "^(" + someName + ")?$" },
	"OrderRequest.product":       reasonBound,
	"OrderRequest.route":         named,
	"OrderRequest.quantity":      between(1, plant.MaxParts),
	"OrderRequest.priority":      between(-maxPriority, maxPriority),
	"CancelOrderRequest.inside": func(s *schema) {
		*s = schema{Type: "string", Enum: append(term.InsideRetire.Values(), ""), Description: s.Description}
	},
	"CancelOrderRequest.reason": reasonBound,
	"PalletRequest.pallet":      named,
	"PalletRequest.quantity":    between(1, plant.MaxPlaces),
	"ReworkRequest.step":        between(1, plant.MaxSteps),
	"ReworkRequest.reason":      reasonNeeded,
	"ReportRequest.place":       func(s *schema) { *s = reportedPlace() },
	"ReportRequest.reason":      reasonNeeded,
	"ConfirmRequest.reason":     reasonBound,
	"AnswerRequest.version":     func(s *schema) { s.Minimum = 1 },
	"AnswerRequest.hash":        func(s *schema) { s.MinLength, s.MaxLength = 1, maxWord },
	"AnswerRequest.answer":      func(s *schema) { s.MinLength, s.MaxLength = 1, maxWord },
	"AnswerRequest.reason":      reasonNeeded,
	"ShelveRequest.reason":      reasonNeeded,
	"ImportDevices":             imported,
	"ImportOrganisation":        imported,
	"ImportFarm":                imported,
	"ImportProfile":             imported,
	"ImportDevice":              imported,
	"ImportEndpoint":            imported,
	"ImportRule":                imported,
}

func strs[W ~string](words []W) (list []string) {
	for _, w := range words {
		list = append(list, string(w))
	}
	return list
}

func reasonBound(s *schema)  { s.MaxLength = maxReason }
func reasonNeeded(s *schema) { s.MinLength, s.MaxLength = 1, maxReason }
func named(s *schema)        { s.Pattern = "^" + someName + "$" }

// imported: a file is judged as a whole, by what is there already, so that no field has to be there by its form alone.
// The line of the file is ours.
func imported(s *schema) {
	s.Required = nil
	s.Properties = slices.DeleteFunc(s.Properties, func(p property) bool { return p.name == "line" })
}

func between(low, high int) func(*schema) {
	return func(s *schema) { s.Minimum, s.Maximum = low, high }
}

// reportedPlace is a place that a person may name.
func reportedPlace() schema {
	place := func(what string, types []string, ref *schema, refNeeded bool) *schema {
		s := &schema{Type: "object", Description: what, AdditionalProperties: false, Required: []string{"type"},
			Properties: properties{{"type", &schema{Type: "string", Enum: types}}, {"ref", ref}}}
		if refNeeded {
			s.Required = append(s.Required, "ref")
		}
		return s
	}
	numbers := "([1-9]|[1-5][0-9]|6[0-" + strconv.Itoa(plant.MaxPlaces%10) + "])"
	slots := "([1-9]|1[0-" + strconv.Itoa(plant.MaxSlots%10) + "])"
	return schema{OneOf: []*schema{
		place("A place of the dock or the buffer, by its number from 1.", []string{"ON_DOCK", "ON_BUFFER"}, &schema{Type: "string", Pattern: "^" + numbers + "$"}, true),
		place("A slot, as equipment:n.", []string{"ON_EQUIPMENT"}, &schema{Type: "string", Pattern: "^" + someName + ":" + slots + "$", Examples: []any{"mill:1"}}, true),
		place("The gripper.", []string{"ON_ROBOT"}, &schema{Type: "string", Enum: []string{term.GripperPlace().Ref}}, false),
		place("Taken out of the cell.", []string{"OUT"}, &schema{Type: "string", Enum: []string{term.OutRemoved}}, false),
	}}
}

// value is one typed scalar.
func value() *schema {
	return &schema{Type: []string{"boolean", "number", "string", "null"},
		Description: "One value of an endpoint, in its unit: true or false, a number, or a text. A number with a point or an exponent is a float, one without is a whole number. null: never observed."}
}
