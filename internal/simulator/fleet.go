package simulator

import (
	"context"
	"fmt"
	"sync"
)

// maxFleet bounds a fleet: every device holds a TCP connection and a few goroutines of its own.
const maxFleet = 2000

// Fleet is a number of devices that are switched together.
type Fleet struct {
	devices  []*Device
	bySerial map[string]*Device
}

// NewFleet builds the devices; serials must differ, or two devices would throw each other off the broker.
func NewFleet(options []Options) (*Fleet, error) {
	if len(options) > maxFleet {
		return nil, fmt.Errorf("a fleet has at most %d devices, not %d", maxFleet, len(options))
	}
	f := &Fleet{bySerial: map[string]*Device{}}
	for _, o := range options {
		d, err := NewDevice(o)
		if err != nil {
			return nil, err
		}
		if f.bySerial[o.Serial] != nil {
			return nil, fmt.Errorf("serial %q is used twice", o.Serial)
		}
		f.bySerial[o.Serial] = d
		f.devices = append(f.devices, d)
	}
	return f, nil
}

// Start switches all devices on.
func (f *Fleet) Start() {
	for _, d := range f.devices {
		d.Start()
	}
}

// Connected waits until every device is online.
func (f *Fleet) Connected(ctx context.Context) error {
	for _, d := range f.devices {
		if err := d.Connected(ctx); err != nil {
			return fmt.Errorf("device %s: %w", d.Serial(), err)
		}
	}
	return nil
}

// Stop says goodbye for all devices at once and ends them.
func (f *Fleet) Stop() { f.each((*Device).Stop) }

// Kill ends all devices as a power cut does.
func (f *Fleet) Kill() { f.each((*Device).Kill) }

func (f *Fleet) each(do func(*Device)) {
	var all sync.WaitGroup
	for _, d := range f.devices {
		all.Go(func() { do(d) })
	}
	all.Wait()
}

// Device returns the device of a serial, nil if there is none.
func (f *Fleet) Device(serial string) *Device { return f.bySerial[serial] }

// Devices returns all devices in the order they were given.
func (f *Fleet) Devices() []*Device { return append([]*Device(nil), f.devices...) }

// SetFaults gives every device the same faults; their chances still differ by serial.
func (f *Fleet) SetFaults(faults Faults) {
	for _, d := range f.devices {
		d.SetFaults(faults)
	}
}

// Truth returns the truth of every device by serial.
func (f *Fleet) Truth() map[string]Truth {
	out := make(map[string]Truth, len(f.devices))
	for _, d := range f.devices {
		out[d.Serial()] = d.Truth()
	}
	return out
}
