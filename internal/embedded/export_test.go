package embedded

// Abandon gives the folder free without stopping the server, as a process does
// that was killed on a system without last wills.
func (p *Postgres) Abandon() { p.cluster.release() }

// ElsewhereBase is where clusters are kept whose folder the server can not enter.
const ElsewhereBase = elsewhereBase
