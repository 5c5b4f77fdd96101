package service

import (
	"context"
	"fmt"

	"surehand/internal/plant"
	"surehand/internal/term"
	"surehand/internal/workers"
	"surehand/internal/workers/modbus"
	"surehand/internal/workers/plc"
	"surehand/internal/workers/robot"
	"surehand/internal/workers/tool"
)

// drivers makes the driver of an equipment by the type that its plant file names. The loop watches equipment only
// after the database has confirmed this process life, so the fence is there when a driver asks for it.
func (s *Service) drivers(e plant.WatchedEquipment) (workers.Driver, error) {
	wire := modbus.Options{Config: e.Config.Driver, Clock: s.clock, Confirm: s.confirmLife, Log: s.log.With("equipment", string(e.ID))}
	switch e.Config.Driver.Type {
	case "modbus-machine":
		return plc.New(wire)
	case "modbus-robot":
		return robot.New(wire)
	case "tcp-scanner":
		return tool.New(tool.Options{Config: e.Config.Driver, Clock: s.clock, Confirm: s.confirmLife})
	}
	return nil, fmt.Errorf("%s: no driver is called %q; there are %v", e.ID, e.Config.Driver.Type, term.DriverTypes(e.Type))
}

// confirmLife asks the database whether this process life is still the current one.
func (s *Service) confirmLife(ctx context.Context) error {
	life := s.life.Load()
	if life == nil {
		fence, err := s.fence(ctx)
		if err != nil {
			return err
		}
		if fence.Epoch != s.loop.Health().Epoch {
			return fmt.Errorf("process life %d is over: the database belongs to life %d", s.loop.Health().Epoch, fence.Epoch)
		}
		s.life.Store(&fence)
		return nil
	}
	return s.confirm(ctx, *life)
}
