package main

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"surehand/api"
	"surehand/internal/term"
)

type recoveryCommand struct {
	List    recoveryList    `cmd:"" help:"List the open questions with what record and machine say, and the answers."`
	Answer  recoveryAnswer  `cmd:"" help:"Answer a question, as it is shown before."`
	Confirm recoveryConfirm `cmd:"" help:"Bring the cell back into scheduling, when no question is open."`
}

type recoveryList struct {
	JSON bool `name:"json" help:"As the interface says it."`
}

func (r *recoveryList) Run(c *commands) error {
	var state api.Recovery
	data, err := c.get("/recovery", &state)
	if err != nil {
		return err
	}
	if r.JSON {
		return c.say("%s", data)
	}
	for _, q := range state.Findings {
		if err := c.say("%s\n", questionText(q, time.Now())); err != nil {
			return err
		}
	}
	open := fmt.Sprintf("%d questions are open.", len(state.Findings))
	switch {
	case state.Truncated:
		open = fmt.Sprintf("More than %d questions are open.", len(state.Findings))
	case len(state.Findings) == 1:
		open = "1 question is open."
	case len(state.Findings) == 0:
		open = "No question is open."
	}
	switch {
	case state.Held && state.Confirmable:
		open += " The cell is held: 'surehand recovery confirm' brings it back."
	case state.Held:
		open += " The cell is held until they are answered and the recovery is confirmed."
	}
	return c.say("%s\n", open)
}

// shortLength is how much of an id is shown: its end, since ids begin with the time.
const shortLength = 8

func shortID(id term.QuestionID) string { return string(id)[max(0, len(id)-shortLength):] }

// questionText is a question in one block.
func questionText(q api.ManualAction, now time.Time) string {
	b := &strings.Builder{}
	fmt.Fprintf(b, "%s  %s  about %s, asked %s ago\n", shortID(q.ID), q.Kind, q.Subject, age(q.OpenedAt, now))
	fmt.Fprintf(b, "  record   %s\n", q.Record)
	fmt.Fprintf(b, "  machine  %s\n", cmp.Or(q.Machine, "nothing was read"))
	for _, r := range q.Readings {
		fmt.Fprintf(b, "           %s has said the same for %s\n", r.Equipment, age(r.At, now)) // else the question would be another
	}
	wide := 0
	for _, a := range q.Answers {
		wide = max(wide, len(a.Word))
	}
	for _, a := range q.Answers {
		mark := " "
		if a.Word == q.Suggested {
			mark = "*"
		}
		fmt.Fprintf(b, " %s %-*s  %s\n", mark, wide, a.Word, a.Effect)
	}
	if q.Suggested != "" {
		b.WriteString(" * is what the evidence speaks for.\n")
	}
	return b.String()
}

// age is rounded as people say it; a clock that is a little behind makes no negative one.
func age(at, now time.Time) string {
	d := max(now.Sub(at), 0)
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	}
	return fmt.Sprintf("%dh%dm", int(d.Hours()), int(d.Minutes())%60)
}

type recoveryAnswer struct {
	ID     string `arg:"" help:"The question, as 'surehand recovery list' shows it."`
	Answer string `arg:"" help:"The word of one of its answers."`
	Reason string `required:"" help:"How you know; it stays in the record."`
	Yes    bool   `help:"Do not ask again. The question is still shown."`
}

func (r *recoveryAnswer) Run(c *commands) error {
	q, err := c.question(r.ID)
	if err != nil {
		return err
	}
	effect, words := "", []string{}
	for _, a := range q.Answers {
		if words = append(words, a.Word); a.Word == r.Answer {
			effect = a.Effect
		}
	}
	if effect == "" {
		return fmt.Errorf("%q is none of its answers: %s", r.Answer, strings.Join(words, ", "))
	}
	if err := c.say("%s\n%s: %s\n", questionText(q, time.Now()), r.Answer, effect); err != nil {
		return err
	}
	if err := c.agreed(r.Yes); err != nil {
		return err
	}
	// The answer is bound to what was just shown: if anything of it has changed, it is refused.
	answer, err := c.send("/manual-actions/"+url.PathEscape(string(q.ID))+"/answer",
		map[string]any{"version": q.Version, "hash": q.Hash, "answer": r.Answer, "reason": r.Reason})
	if answer.Current != nil {
		return fmt.Errorf("%w\nNothing was done. The question is now:\n\n%s", err, questionText(*answer.Current, time.Now()))
	}
	if err != nil {
		return err
	}
	return c.say("Answered.\n")
}

// agreed asks the person at the terminal. Without one, --yes has to say it.
func (c *commands) agreed(already bool) error {
	if already {
		return nil
	}
	if err := c.say("Answer it so? Type yes: "); err != nil {
		return err
	}
	line, err := bufio.NewReader(c.in).ReadString('\n')
	if strings.TrimSpace(line) == "yes" {
		return nil
	}
	if err != nil {
		return errors.New("nothing was done; without a terminal, --yes says that it is meant")
	}
	return errors.New("nothing was done")
}

// question finds an open question by its id, or by the end or beginning of it if that is of one only.
func (c *commands) question(id string) (api.ManualAction, error) {
	var found []api.ManualAction
	for cursor := ""; ; {
		var page api.List[api.ManualAction]
		if _, err := c.get("/manual-actions?limit=500&cursor="+url.QueryEscape(cursor), &page); err != nil {
			return api.ManualAction{}, err
		}
		for _, q := range page.Items {
			if text := string(q.ID); strings.HasSuffix(text, id) || strings.HasPrefix(text, id) {
				found = append(found, q)
			}
		}
		if cursor = page.Next; cursor == "" {
			break
		}
	}
	switch len(found) {
	case 0:
		return api.ManualAction{}, fmt.Errorf("no open question has the id %s; it may have been answered", id)
	case 1:
		return found[0], nil
	}
	return api.ManualAction{}, fmt.Errorf("%d open questions have an id with %s; give more of it", len(found), id)
}

type recoveryConfirm struct {
	Release bool   `negatable:"" default:"true" help:"Let the cell go on at once; with --no-release it stays paused."`
	Reason  string `required:"" help:"What was looked at; it stays in the record."`
}

func (r *recoveryConfirm) Run(c *commands) error {
	answer, err := c.send("/recovery/confirm", map[string]any{"release": r.Release, "reason": r.Reason})
	if err != nil {
		return err
	}
	if answer.State != "" { // paused, by this or before
		return c.say("Confirmed. The cell is still held: %s.\n", answer.State)
	}
	return c.say("Confirmed. The cell goes on.\n")
}
