// Package web is the page of a running Surehand: plain HTML, CSS and JavaScript modules, embedded in the binary.
//
// It owns what a person at the cell sees and taps, and the headers that keep the page from running anything but its
// own files. One file owns the event stream (assets/stream.js), one the requests (assets/requests.js), one each
// section; every text is in assets/texts.js.
//
// It must never look live when it is not: without a sign of life for three seconds everything is grey and no control
// works. It must never send later what was tapped while it was not live, never show a change before the server has told
// it, and never make markup out of a text. It needs no build step, no framework and nothing from another host.
package web
