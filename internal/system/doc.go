// Package system is the real clock and the real chance of a process: the only place that reads the wall
// clock or draws random numbers for the loop. Everything that decides takes them as arguments, so that a
// simulation owns time and chance.
package system
