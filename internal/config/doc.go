// Package config reads what people write: the product's own configuration, the device half of a plant
// (organisations, farms, profiles, devices, rules) as one YAML file, and its production half (cell, equipment,
// routes) as another, the plant file.
//
// It checks form only: known keys, types, enums, durations, bounds, things named twice in one file. Whether
// names refer to something and values make sense is decided by the loop, which answers with the same line
// numbers, because every imported thing carries the line on which it starts. Print writes the devices back in
// the form that Devices reads.
//
// YAML is read as a small tree of our own (yaml.go, the only file that knows the YAML library). Anchors,
// aliases, tags, merge keys and several documents are refused: what is written is what is meant, and a small
// file cannot become a large one. "on" is a key like any other; as a value, bare on, off, yes and no are refused,
// since some read them as booleans and some as text.
//
// Secrets come from files or the environment, are held as Secret, and are never printed.
package config
