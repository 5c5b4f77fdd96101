package simulator

// record is what a device remembers of one commandId.
type record struct {
	running    bool // accepted, effect still to come; never outlives a reboot
	mute       bool // the device never says anything about it
	tombstoned bool
	answer     responseBody // the final one, without attempt
	report     []byte       // the state report as it was built, replayed byte for byte
	state      map[string]any
	appliedAt  string
}

// memory is the dedupe memory of class A and B, bounded like the flash of a real device: the oldest goes first.
type memory struct {
	size    int
	durable bool
	records map[string]*record
	order   []string
}

func newMemory(size int, durable bool) *memory {
	return &memory{size: size, durable: durable, records: map[string]*record{}}
}

func (m *memory) get(commandID string) *record { return m.records[commandID] }

func (m *memory) put(commandID string, r *record) {
	if _, known := m.records[commandID]; !known {
		m.order = append(m.order, commandID)
	}
	m.records[commandID] = r
	for len(m.order) > m.size {
		delete(m.records, m.order[0])
		m.order = m.order[1:]
	}
}

func (m *memory) forget(commandID string) {
	if _, known := m.records[commandID]; !known {
		return
	}
	delete(m.records, commandID)
	for i, id := range m.order {
		if id == commandID {
			m.order = append(m.order[:i:i], m.order[i+1:]...)
			return
		}
	}
}

// reboot keeps what was durable. A command that was accepted but not yet run was only in memory: a later copy of it
// runs for the first time.
func (m *memory) reboot() {
	if !m.durable {
		m.records, m.order = map[string]*record{}, nil
		return
	}
	kept := m.order[:0]
	for _, id := range m.order {
		if m.records[id].running {
			delete(m.records, id)
			continue
		}
		kept = append(kept, id)
	}
	m.order = kept
}
