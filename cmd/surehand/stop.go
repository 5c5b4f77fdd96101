package main

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"time"

	"surehand/api"
)

type stopCommand struct {
	Drain bool          `help:"Send nothing new and wait until what is under way has ended or is uncertain."`
	Wait  time.Duration `help:"How long a drain is watched. When the time is over, it goes on all the same. 0s: do not watch it." default:"60s"`
}

func (s *stopCommand) Run(c *commands) error {
	watch := s.Drain && s.Wait > 0
	var before api.System
	if watch {
		if _, err := c.get("/system", &before); err != nil {
			return err
		}
	}
	if _, err := c.send("/system/stop", map[string]bool{"drain": s.Drain}); err != nil {
		return err
	}
	if !watch {
		return c.say("Asked to stop. The log says when it has.\n")
	}
	for end := time.Now().Add(s.Wait); ; time.Sleep(min(stopPoll, time.Until(end))) {
		var now api.System
		_, err := c.get("/system", &now)
		switch {
		case errors.Is(err, syscall.ECONNREFUSED): // nobody listens; any other fault may be one of a moment
			return c.say("Stopped.\n")
		case err == nil && now.Epoch != before.Epoch:
			return c.say("Stopped, and started again by something else.\n")
		}
		if !time.Now().Before(end) {
			return fmt.Errorf("it still drains after %s, and goes on with it; it waits for %s", s.Wait, c.underWay())
		}
	}
}

// stopPoll is how often a drain is looked at.
const stopPoll = 300 * time.Millisecond

// underWay says what a drain waits for. What cannot be read is left out: the process may be at its end.
func (c *commands) underWay() string {
	var what []string
	if cell, err := c.cell(); err == nil && cell != nil {
		if cell.RobotTask != nil {
			what = append(what, taskText(cell.RobotTask))
		}
		for n := range cell.Starts {
			what = append(what, taskText(&cell.Starts[n]))
		}
	}
	if open, err := all[api.Command](c, "/commands?limit=500&state=dispatched,acknowledged,retrying"); err == nil && len(open) > 0 {
		what = append(what, count(len(open), "command")+" to devices")
	}
	if len(what) == 0 {
		return "nothing that can be seen; look at the log"
	}
	return strings.Join(what, ", ")
}
