package service

import (
	"context"
	"fmt"

	"surehand/internal/plant"
	"surehand/internal/term"
	"surehand/internal/workers"
	"surehand/internal/workers/handshake"
	"surehand/internal/workers/modbus"
	"surehand/internal/workers/opcua"
	"surehand/internal/workers/plc"
	"surehand/internal/workers/robot"
	"surehand/internal/workers/robotrpc"
	"surehand/internal/workers/tool"
)

// drivers makes the driver of an equipment by the type that its plant file names. The loop watches equipment only
// after the database has confirmed this process life, so the fence is there when a driver asks for it.
func (s *Service) drivers(e plant.WatchedEquipment) (workers.Driver, error) {
	numbered := handshake.Options{Config: e.Config.Driver, Clock: s.clock, Confirm: s.confirmLife, Log: s.log.With("equipment", string(e.ID))}
	switch e.Config.Driver.Type {
	case "modbus-machine":
		return plc.New(numbered, modbus.New(e.Config.Driver))
	case "opcua-machine":
		return plc.New(numbered, opcua.New(e.Config.Driver))
	case "modbus-robot":
		return robot.New(numbered, modbus.New(e.Config.Driver))
	case "mqtt-robot":
		broker := s.options.Config.MQTT
		return robotrpc.New(robotrpc.Options{Equipment: e.ID, Config: e.Config.Driver, URL: broker.URL, Username: broker.Username,
			Password: broker.Password.Reveal(), Prefix: broker.Prefix, Installation: func() string { return s.life.Load().Installation },
			InDoubt: e.InDoubt, Clock: s.clock, Confirm: s.confirmLife, Count: s.metrics.Count, Log: numbered.Log})
	case "tcp-scanner":
		return tool.New(tool.Options{Config: e.Config.Driver, Clock: s.clock, Confirm: s.confirmLife})
	case "tcp-marker":
		return tool.NewMarker(tool.MarkerOptions{Config: e.Config.Driver, Clock: s.clock, Confirm: s.confirmLife, InDoubt: e.InDoubt})
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
