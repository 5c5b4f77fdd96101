// Package browser tries the page of package web as the person at the panel does: a real Chromium, the shipped binary, a
// real PostgreSQL, a broker, and a simulated line on its wires. It has tests only.
//
// It owns one test for each thing that the page promises: it goes live, it shows what moves, it never looks live when
// it is not, nothing that is tapped then is sent, a question is answered by tapping, a text is never markup. It knows
// the page by its words and by the attributes that say what something is (data-…), never by its looks.
//
// Each error on the page's console, each exception and each violation of its policy fails the test that caused it. It
// must never wait for a span of time or say how fast something is: it waits for states, each with a deadline. It ends
// only processes that it started.
package browser
