// Package message is the vocabulary of the loop's one inbox: what can be asked, what can be reported, and
// what the loop answers.
//
// Three kinds of payload exist: commands of people, external events (devices, links, timers), and results
// of workers. The set is sealed; the loop decides every type in one exhaustive switch. A message's id is its
// dedupe identity. A message carries facts already parsed and bounded by whoever received them; nothing here
// parses, decides or waits.
//
// Need and Known are the one question a turn may ask the store before it decides, and the answer.
package message
