package main

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"surehand/api"
	"surehand/internal/message"
	"surehand/internal/plant"
	"surehand/internal/term"
)

type recoveryCommand struct {
	List    recoveryList    `cmd:"" help:"List the open questions with what record and machine say, and the answers."`
	Answer  recoveryAnswer  `cmd:"" help:"Answer a question, as it is shown before."`
	Confirm recoveryConfirm `cmd:"" help:"Bring the cell back into scheduling, when everything has been compared and no question blocks it."`
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
		if err := c.say("%s\n", questionText(q, c.task(q.TaskID), time.Now())); err != nil {
			return err
		}
	}
	cell, err := c.cell()
	if err != nil {
		return err
	}
	text := c.openText(state, cell) + "\n"
	if cell != nil {
		text += why(cell, false, time.Now())
	}
	if len(state.Findings) > 0 {
		text += fmt.Sprintf("Answer: surehand recovery answer %s WORD --reason \"how you know\"\n", short(state.Findings[0].ID))
	}
	return c.say("%s", text)
}

// confirmLine is what to type when nothing is asked any more.
const confirmLine = `surehand recovery confirm --reason "what you looked at"`

// openText says how much is asked, and what the recovery waits for.
func (c *commands) openText(state api.Recovery, cell *api.Cell) string {
	text := count(len(state.Findings), "question") + " are open"
	switch {
	case state.Truncated:
		text = fmt.Sprintf("More than %d questions are open", len(state.Findings))
	case len(state.Findings) == 1:
		text = "1 question is open"
	case len(state.Findings) == 0:
		text = "No question is open"
	}
	if !state.Held {
		return text + "."
	}
	switch {
	case state.Blocking == 1:
		text += "; 1 blocks the recovery"
	case state.Blocking > 1:
		text += fmt.Sprintf("; %d block the recovery", state.Blocking)
	case len(state.Findings) > 0:
		text += "; none blocks the recovery"
	}
	switch {
	case c.comparing(state, time.Now()):
		return text + ". The machines are being compared; ask again in a few seconds."
	case state.Blocking > 0:
		return text + ". The cell is held until what blocks is answered and the recovery is confirmed."
	case !state.Confirmable || cell != nil && unread(cell):
		return text + ". Not every machine has been read and compared; the recovery cannot be confirmed yet."
	}
	return text + ". The cell is held; this brings it back: " + confirmLine
}

// compareTakes is how long a comparison may take: every machine is read, and has to stand still for a second.
const compareTakes = 5 * time.Second

// comparing tells whether a comparison has just begun: with the start of the process, or with the hold. Until it is
// over, that nothing is asked means nothing.
func (c *commands) comparing(state api.Recovery, now time.Time) bool {
	for _, h := range state.Holds {
		if h.Subject == plant.CellSubject && now.Sub(h.At) < compareTakes {
			return true
		}
	}
	var starts api.List[api.LogEntry] // a hold that a restart found is older than the start
	if _, err := c.get("/log?limit=1&type="+message.ProcessStarted{}.Type(), &starts); err != nil {
		return false // not to be known, and not worth an error: the loop itself refuses a confirmation that comes too early
	}
	return len(starts.Items) > 0 && now.Sub(starts.Items[0].At) < compareTakes
}

// task reads the action that a question is about; nil: it is about none, or it cannot be read.
func (c *commands) task(id term.TaskID) *api.Task {
	if id == "" {
		return nil
	}
	var t api.Task
	if _, err := c.get("/tasks/"+url.PathEscape(string(id)), &t); err != nil {
		return nil
	}
	return &t
}

// aboutText says what a question is about: the part, the action, or the equipment.
func aboutText(q api.ManualAction, t *api.Task) string {
	text := subjectText(q.Subject)
	switch {
	case q.JobID != "":
		text = string(q.JobID)
	case t != nil:
		text = string(t.EquipmentID)
	}
	if t != nil {
		text += fmt.Sprintf(", action %d", t.ActionNo)
	}
	return text
}

// subjectText is a subject as people name it: the name alone where it says what it is.
func subjectText(subject string) string {
	kind, id, _ := strings.Cut(subject, ":")
	switch {
	case subject == plant.CellSubject:
		return "the cell"
	case kind == "job", kind == "equipment":
		return id
	case id == "":
		return subject
	}
	return kind + " " + id
}

// widens are the findings whose answers follow what the machines say: more are offered when that rules out less.
var widens = []term.Finding{term.FindTaskUnknown, term.FindPartMissing, term.FindGripperEmpty, term.FindJobSlot, term.FindSlotJob, term.FindTwoPlaces,
	term.FindSharedPlace, term.FindPlaceRange, term.FindPartForeign, term.FindGripper, term.FindUnreachable, term.FindFault, term.FindFlapping, term.FindEchoUnknown,
	term.FindActionFailed}

// questionText is a question in one block.
func questionText(q api.ManualAction, t *api.Task, now time.Time) string {
	b := &strings.Builder{}
	fmt.Fprintf(b, "%s  %s  about %s, asked %s ago\n", short(q.ID), q.Kind, aboutText(q, t), age(q.OpenedAt, now))
	if q.BlocksRecovery {
		b.WriteString("  blocks a recovery\n")
	}
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
	if len(q.Answers) <= fewAnswers && slices.Contains(widens, q.Kind) {
		b.WriteString("   Another answer appears when the machines and the place say so: reset the machine, or put the part where it belongs.\n")
	}
	return b.String()
}

// fewAnswers may leave a person without the one that is true.
const fewAnswers = 2

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
	ID     string `arg:"" help:"The question, as 'surehand recovery list' shows it; only: the one that is open."`
	Answer string `arg:"" help:"The word of one of its answers."`
	Reason string `help:"How you know; it stays in the record. Needed."`
	Yes    bool   `help:"Do not ask again. The question is still shown."`
}

func (r *recoveryAnswer) Run(c *commands) error {
	if err := reasonFor(r.Reason, "how you know", "recovery", "answer", r.ID, r.Answer); err != nil {
		return err
	}
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
	if err := c.say("%s\n%s: %s\n", questionText(q, c.task(q.TaskID), time.Now()), r.Answer, effect); err != nil {
		return err
	}
	if err := c.agreed(r.Yes); err != nil {
		return err
	}
	// The answer is bound to what was just shown: if anything of it has changed, it is refused.
	answer, err := c.send("/manual-actions/"+url.PathEscape(string(q.ID))+"/answer",
		map[string]any{"version": q.Version, "hash": q.Hash, "answer": r.Answer, "reason": r.Reason})
	if answer.Current != nil {
		return fmt.Errorf("%w\nNothing was done. The question is now:\n\n%s", err, questionText(*answer.Current, c.task(answer.Current.TaskID), time.Now()))
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

// onlyQuestion names the one question that is open.
const onlyQuestion = "only"

// question finds an open question by its id, or by the end or beginning of it if that is of one only; "only" is the one
// that is open.
func (c *commands) question(id string) (api.ManualAction, error) {
	list, err := all[api.ManualAction](c, "/manual-actions?limit=500")
	if err != nil {
		return api.ManualAction{}, err
	}
	if id == onlyQuestion {
		if len(list) == 1 {
			return list[0], nil
		}
		return api.ManualAction{}, fmt.Errorf("%s are open; %q means the one that is: see surehand recovery list", count(len(list), "question"), onlyQuestion)
	}
	return one(list, "question", id, func(q api.ManualAction) string { return string(q.ID) })
}

type recoveryConfirm struct {
	Release bool   `negatable:"" default:"true" help:"Let the cell go on at once; with --no-release it stays paused."`
	Reason  string `help:"What was looked at; it stays in the record. Needed."`
}

func (r *recoveryConfirm) Run(c *commands) error {
	if strings.TrimSpace(r.Reason) == "" {
		return errors.New("a reason is missing: " + confirmLine)
	}
	answer, err := c.send("/recovery/confirm", map[string]any{"release": r.Release, "reason": r.Reason})
	if is(err, codeNotInRecovery) {
		return c.notInRecovery(err)
	}
	if err != nil {
		return err
	}
	if answer.State == string(term.HoldPaused) { // by this or before
		return c.say("Confirmed. The cell is still held: paused. 'surehand cell release' lets it go on.\n")
	}
	if answer.State != "" {
		return c.say("Confirmed. The cell is still held: %s.\n", answer.State)
	}
	return c.say("Confirmed. The cell goes on.\n")
}

// notInRecovery adds to the refusal that it is a pause that holds the cell, if it is.
func (c *commands) notInRecovery(refused error) error {
	cell, err := c.cell()
	if err != nil || cell == nil {
		return refused
	}
	if h, is := paused(cell); is {
		return fmt.Errorf("%w %s", refused, pausedText(h, time.Now()))
	}
	return refused
}
