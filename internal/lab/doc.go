// Package lab is the demo's world: a production line and greenhouses on real wires, the shift that brings pallets and
// creates orders, and everything that can go wrong with them, each by a name, from the command line and over HTTP.
//
// It lives in a process of its own, so that Surehand can be killed while the plant goes on, as in a real one. It talks to
// Surehand as an outsider does: devices over MQTT, machines over their wires, the shift over HTTP. What it keeps is where
// the parts are, in a file, for a plant does not lose its parts when somebody ends the demo.
//
// It is never part of the product.
package lab
