package config

import (
	"net"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"surehand/internal/message"
	"surehand/internal/term"
)

// wire is where a driver finds its equipment: of Modbus an address and a unit, of OPC UA a node of a server, which may
// have several machines, of others the address alone.
type wire struct {
	address         string
	unit            int
	namespace, node string
}

func (w wire) String() string {
	if w.node != "" {
		return w.address + " node " + w.node
	}
	return w.address + " unit " + strconv.Itoa(w.unit)
}

// wires are those taken, by whom.
type wires map[wire]term.EquipmentID

// take: two equipment behind one wire would be one machine under two names, each driven as if alone.
func (w wires) take(o object, e message.ImportEquipment) {
	d := e.Config.Driver
	at := wire{strings.ToLower(d.Address), d.Unit, d.Namespace, d.Node}
	if at.address == "" {
		return
	}
	if first, taken := w[at]; taken && first != e.ID { // that an id stands twice is said already
		o.fault("driver", "%s is the driver's address of %s already", at, first)
		return
	}
	w[at] = e.ID
}

// The keys of a driver beside these, by its type.
var (
	timingKeys = []string{"type", "poll", "stale", "timeout"}
	modbusKeys = []string{"address", "unit", "command", "status", "wordOrder"}
	driverKeys = map[string][]string{
		"modbus-machine": modbusKeys,
		"modbus-robot":   modbusKeys,
		"opcua-machine":  {"address", "namespace", "node"},
		"mqtt-robot":     {"topic"},
		"tcp-scanner":    {"address", "trigger", "format"},
		"tcp-marker":     {"address"},
	}
)

func driver(o object, kind term.EquipmentKind) term.DriverConfig {
	types := term.DriverTypes(kind)
	if !o.has("driver") {
		o.fault("driver", "is missing: its type is %s", strings.Join(types, " or "))
		return term.DriverConfig{}
	}
	speaks, every := o.driverType(types), slices.Clone(timingKeys)
	for _, t := range types {
		if t == speaks || speaks == "" {
			every = append(every, driverKeys[t]...)
		}
	}
	d := o.object("driver", every...)
	if !d.has("type") {
		d.fault("type", "is missing: %s", strings.Join(types, ", "))
	}
	c := term.DriverConfig{Type: d.word("type", types), Poll: d.lasting("poll", 10*time.Millisecond, 5*time.Second),
		Stale: d.lasting("stale", 100*time.Millisecond, 10*time.Minute), Timeout: d.lasting("timeout", 10*time.Millisecond, 30*time.Second)}
	if full := c.WithDefaults(); full.Stale <= full.Poll {
		d.fault("stale", "must be longer than poll (%s), or no reading is ever fresh", durationText(full.Poll))
	}
	switch c.Type {
	case "modbus-machine":
		c.Address = d.address("address")
		d.modbus(&c, statusRegisters)
	case "modbus-robot":
		c.Address = d.address("address")
		d.modbus(&c, robotStatusRegisters)
	case "opcua-machine":
		c.Address, c.Namespace, c.Node = d.endpoint("address"), d.required("namespace"), d.required("node")
	case "mqtt-robot":
		c.Topic = d.topic("topic")
	case "tcp-scanner":
		c.Address, c.Trigger, c.Format = d.address("address"), d.lineText("trigger"), d.pattern("format")
	case "tcp-marker":
		c.Address = d.address("address")
	}
	return c
}

// driverType is the type of the driver when it is one of these, before its keys are known.
func (o object) driverType(types []string) string {
	for _, p := range o.fields["driver"].value.pairs {
		if p.key == "type" && slices.Contains(types, p.value.text) {
			return p.value.text
		}
	}
	return ""
}

// modbus reads the two blocks of registers.
func (o object) modbus(c *term.DriverConfig, status int) {
	c.Unit, c.WordOrder = o.within("unit", 0, 255), o.word("wordOrder", []string{"high", "low"})
	before := len(o.f.problems)
	c.Command = o.must("command", 0, maxNumber+1-commandRegisters, "address of the command block")
	c.Status = o.must("status", 0, maxNumber+1-status, "address of the status block")
	if len(o.f.problems) == before && c.Command < c.Status+status && c.Status < c.Command+commandRegisters {
		o.fault("status", "%d to %d overlap the command block, which has %d to %d", c.Status, c.Status+status-1, c.Command, c.Command+commandRegisters-1)
	}
}

// Sizes of the blocks of docs/drivers.md, in registers.
const (
	commandRegisters     = 6
	statusRegisters      = 14
	robotStatusRegisters = 10
)

// address is host:port.
func (o object) address(key string) string {
	s := o.required(key)
	if s == "" {
		return ""
	}
	host, port, err := net.SplitHostPort(s)
	n, wrong := strconv.Atoi(port)
	if err != nil || host == "" || wrong != nil || n < 1 || n > 65535 || strings.ContainsAny(s, " \t\n/") {
		o.fault(key, "must be host:port with a port from 1 to 65535, not %q", s)
		return ""
	}
	return s
}

// endpoint is the URL of an OPC UA server.
func (o object) endpoint(key string) string {
	s := o.required(key)
	if s == "" {
		return ""
	}
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "opc.tcp" || u.Hostname() == "" || u.Port() == "" || u.User != nil || u.RawQuery != "" {
		o.fault(key, "must be opc.tcp://host:port, with or without a path, not %q", s)
		return ""
	}
	return s
}

// topic is what MQTT topics begin with.
func (o object) topic(key string) string {
	s := o.lineText(key)
	if strings.ContainsAny(s, "+#\x00") || strings.HasPrefix(s, "/") || strings.HasSuffix(s, "/") || strings.HasPrefix(s, "$") {
		o.fault(key, "must be a topic without +, #, a $ in front, and a / at either end, not %q", s)
		return ""
	}
	return s
}

func (o object) pattern(key string) string {
	s := o.lineText(key)
	if _, err := regexp.Compile(s); err != nil {
		o.fault(key, "is no regular expression: %v", err)
		return ""
	}
	return s
}
