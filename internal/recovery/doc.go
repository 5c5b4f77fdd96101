// Package recovery compares what the database says with what the machines say, and takes the answers of people.
//
// After a start nothing moves until every equipment has been read, every difference has become a question, and a
// person has confirmed (or nobody has to, by the plant file or after a clean drain). Compare is a pure function with
// one table of differences; Look keeps the open questions equal to what it finds: a difference that is gone closes its
// question, a changed one revises it, so that an answer to what was seen before is refused. An answer is bound to the
// version and the hash of its question and to readings that have stood still for a second.
//
// It must never move anything in the plant, and never change a place without an answer that says so.
package recovery
