// Every text of the page, in English. A translation is a module of the same form.

const plural = (n, one, many) => n + " " + (n === 1 ? one : many);

export const t = {
  page: "Surehand",
  tabs: { cell: "Cell", questions: "Questions", orders: "Orders", devices: "Devices", commands: "Commands", alarms: "Alarms", log: "Log", lab: "Lab" },

  link: {
    connecting: "CONNECTING", live: "LIVE", stale: "STALE", lost: "LOST",
    connectingBanner: (age) => "CONNECTING: nothing has been heard from the service for " + age + ".",
    staleBanner: (age) => "STALE: what you see is " + age + " old.",
    lostBanner: (age) => "LOST: no connection to the service. What you see is " + age + " old.",
    dead: "No control works. Nothing that you tap now is sent, neither now nor later.",
    
  },
  health: {
    database: "Database", broker: "Broker", life: "Process life", ok: "ok", away: "AWAY", up: "up", down: "DOWN", unknown: "unknown",
    databaseBanner: (since, age) => "DATABASE AWAY since " + since + " (" + age + "). Nothing is decided until it is back; what you see is the last that was stored.",
    loopBanner: (since, age) => "THE SERVICE DOES NOT DECIDE since " + since + " (" + age + "): its loop stands still. What you see may be old.",
    startingBanner: (age) => "THE SERVICE IS STARTING (" + age + "): it waits for the database to confirm it.",
    silentBanner: (since, age) => "THE SERVICE DOES NOT ANSWER since " + since + " (" + age + "), though its stream lives. What you see may be old.",
    brokerBanner: (which) => "BROKER LINK DOWN (" + which + "): devices may not be heard, and commands wait.",
  },
  counts: { questions: (n) => plural(n, "question", "questions"), alarms: (n) => plural(n, "new alarm", "new alarms") },

  act: {
    confirm: "Confirm", close: "Close", cancel: "Back", reason: "Reason", reasonNeeded: "A reason is needed; it stays in the record.", reasonFree: "Reason, if there is one",
    pending: "Sent, waiting for the answer …",
    accepted: (what) => "Accepted: " + what, underWay: (what) => "Accepted, under way: " + what, inProgress: (what) => "Taken, not decided yet: " + what,
    refused: (what, why) => "Refused: " + what + ". " + why,
    notSent: (what) => "Not sent: " + what + ". The page is not live, so nothing has left it.",
    unknown: (what) => "No answer: " + what + ". It may be carried out. Look at what is shown before you go on.",
    askAgain: "Ask what became of it", other: "Other reason …",
  },
  reasons: {
    usual: ["I looked", "Checked with the shift lead", "Material", "Maintenance", "Trial run"],
    recovery: ["I looked at every machine", "First start, I looked", "Checked with the shift lead"],
    answer: ["I looked", "I put it right by hand", "Checked with the shift lead"],
    verdict: ["I looked at the device", "The meter shows it", "Checked with the shift lead"],
    shelve: ["Known, repair is ordered", "Under maintenance", "Sensor is faulty"],
    equipment: ["Maintenance", "Faulty", "Repaired and tested", "Not needed today"],
  },

  section: {
    loading: "Reading …", failed: (why) => "Cannot be read: " + why, old: (age) => "Not up to date: could not be read for " + age + ".", empty: "Nothing.",
    noPlant: "No plant file has been imported, so there is no cell here.",
  },

  cell: {
    machines: "Machines", tools: "Tools", robot: "Robot", dock: "Dock", buffer: "Buffer", exit: "Exit", gripper: "Gripper", empty: "empty",
    now: "Now", waiting: "Waiting for", nothing: "nothing to do", why: (n) => "Why not something else (" + n + ")", leftOut: (n) => n + " more are not kept.",
    possible: "possible now", holds: "Holds", noHolds: "No hold. The cell may work.", idle: "stands still",
    held: { paused: "PAUSED", recovery: "RECOVERY: nothing moves", disabled: "DISABLED", parked: "PARKED MESSAGE", quarantine: "QUARANTINE", suspended: "SUSPENDED" },
    notCompared: "NOT COMPARED YET", by: (who, age) => "by " + who + ", " + age + " ago",
    lastKnown: "last known", offline: (age) => "OFFLINE for " + age, offlineUnknown: "OFFLINE", notWell: "see questions and alarms",
    pause: "Pause cell", pauseEffect: "No new action begins. What is under way ends. This is not an emergency stop.",
    release: "Release cell", releaseEffect: "The cell goes on: the robot may move at once.",
    confirm: "Confirm recovery", confirmEffect: "You have looked, and the record is as the machines are. The cell goes on: the robot may move at once.",
    confirmPaused: "Confirm, stay paused", confirmBlocked: (n) => plural(n, "question", "questions") + " must be answered before the recovery can be confirmed.",
    comparing: "The machines are being read and compared. Wait for it; questions may still come.",
    disable: "Run without it", disableEffect: (id) => id + " is not used until somebody enables it again. Its parts stay in it.",
    enable: "Use it again", enableEffect: (id) => id + " is compared with the record first, then used again.",
    refill: "Bring parts now", refillEffect: "Parts are brought from the dock, however few buffer places are free.",
    slot: { EMPTY: "empty", OCCUPIED: "loaded", DONE: "done" }, working: "working", started: "started", mark: { uncertain: "DOUBT", question: "ASKED", hold: "HELD" }, notStarted: "loaded", startedAt: (at) => "started " + at, over: "overdue", of: "of", program: "program", step: "step",
    kept: (where) => "kept · now " + where, expected: "expected", action: (n) => "action " + n, starting: (n) => "being started, action " + n, doubt: "MAY HAVE HAPPENED", overExpected: "longer than expected",
    completed: "good", scrapped: "scrap", cancelled: "cancelled", planned: "planned", pallet: (id) => "pallet " + id, noPallet: "no pallet", alsoHere: (n) => "+" + n,
    task: { MOVE: "moves", SCAN: "presents for reading", MARK: "presents for marking", START_MACHINE: "starts" },
    kind: { refill: "bring", load: "load", unload: "unload", swap: "swap", transfer: "pass on", place: "put down", tool: "tool", retire: "take out" },
    details: "Details", nothingKnown: "no reading yet", position: "place", group: "group", batch: "batch", driver: "driver", address: "address", slots: "slots",
  },
  equipmentStatus: { OFFLINE: "OFFLINE", IDLE: "idle", RUNNING: "running", DONE: "done", FAULT: "FAULT" },

  places: {
    ON_DOCK: (ref) => "dock " + ref, ON_BUFFER: (ref) => "buffer " + ref, ON_EQUIPMENT: (ref) => String(ref).replace(/:(\d+)$/, " slot $1"),
    ON_ROBOT: (ref) => ref && ref !== "1" ? ref + ", in the gripper" : "gripper",
    OUT: (ref) => ref === "pallet" ? "left on its pallet" : ref === "removed" ? "taken out by hand" : "exit", NONE: () => "not arrived",
  },
  jobState: {
    NOT_ARRIVED: "not arrived", QUEUED: "on the dock", WAITING: "waiting", MOVING: "moving", PROCESSING: "in work", WAITING_UNLOAD: "done, waits for the robot",
    WAITING_JUDGEMENT: "WAITS FOR A PERSON", COMPLETED: "good", SCRAPPED: "scrap", CANCELLED: "cancelled", SUSPENDED: "SUSPENDED", ERROR: "IN DOUBT",
  },
  orderState: { draft: "draft", ready: "ready", running: "running", stopping: "being cancelled", completed: "completed", cancelled: "cancelled" },

  questions: {
    none: "No question is open.", about: "About", record: "The record says", machine: "The machines say", machineNone: "nothing was read", steady: (id, age) => id + " has said this for " + age,
    asked: (age) => "asked " + age + " ago", blocks: "stops the recovery", suggested: "what the evidence speaks for", choose: "What is so?", chosen: "You chose",
    confirm: (word) => "Confirm: " + word, change: "Choose another", mayWiden: "Another answer appears when the machines and the place say so: reset the machine, or put the part where it belongs.",
    changed: "The question has changed since you looked. Nothing was done. Read it again; your reason is kept.", action: (n) => "action " + n,
    recoveryOpen: "The cell is held until the recovery is confirmed.", toCell: "To the cell",
  },
  finding: {
    job_slot_mismatch: "A part's place and the machine's slot contradict each other", slot_without_job: "A slot names a part that is elsewhere",
    shared_buffer_place: "Several parts on one buffer place", buffer_place_range: "A buffer place that does not exist", job_in_two_places: "One part in two places",
    counters_wrong: "The counters of an order are wrong", machine_not_running: "The record says in work, the machine stands", part_missing: "The record says a part, the machine has none",
    part_unknown: "A part where the record has none", gripper_part_unknown: "A part in the gripper that the record does not know", gripper_empty: "The record says a part in the gripper, it is empty",
    action_unknown: "An action may have happened, or not", echo_unknown: "A machine knows a number that was never given out", unreachable: "A machine cannot be reached",
    equipment_fault: "A machine reports a fault", signal_flapping: "A signal does not stand still", action_failed: "An action failed", done_for_other_job: "Done was said for another part",
    done_not_expected: "Done was said though nothing was started", step_overdue: "A machine has not finished in its time", judgement: "A part failed its inspection",
    part_reported: "Somebody said where a part is", late_success: "An action that was answered as not done happened after all", message_parked: "A message could not be decided",
  },
  answers: {
    done: "It happened", not_done: "It did not happen", in_gripper: "The part is in the gripper", removed: "The part was taken out", at_home: "It is on its own buffer place",
    is_there: "It is where the record says", retry: "Go on as before", scrap: "Scrap the part", good: "The part is good", finished: "The machine has finished it", restart: "Start it again",
    wait: "Give it more time", without: "Run without it", accept: "Take it over", recount: "Count anew", clear: "The slot is empty", dismiss: "Nothing of this matters any more",
    new_place: "Set on another place", mistaken: "The report was wrong",
  },

  orders: {
    none: "There is no order.", parts: (n) => plural(n, "part", "parts"), left: (n) => n + " to go", route: "route", priority: "priority", choose: "Choose an order to see its parts.",
    start: "Start", pause: "Pause", resume: "Resume", cancel: "Cancel order", startEffect: (id) => id + " may be worked on; the robot may move at once.",
    pauseEffect: (id) => "No part of " + id + " goes on. What is under way ends.", resumeEffect: (id) => id + " goes on.",
    cancelEffect: (id) => id + " ends. Parts that are not in the cell are cancelled at once.", inside: "Parts in the cell", retire: "are carried out as they are", finish: "go their whole route first",
    timeline: "What happened", jobs: "Parts", stops: (n) => plural(n, "question", "questions"), create: "New order", quantity: "Parts", orderId: "Number, or empty",
    arrived: "Pallet arrived", palletId: "Pallet", arrivedEffect: (id) => "Say this only when the pallet really stands at the dock: parts 1 to n of it are the next of " + id + ".", createEffect: "It is a draft until it is started.",
    more: "Older orders are not shown here.",
  },

  devices: {
    none: "No device has been imported.", name: "Device", heard: "Heard", values: "Values", command: "Command", never: "never heard", silent: (age) => "SILENT for " + age, ago: (age) => age + " ago",
    status: { active: "active", maintenance: "MAINTENANCE", retired: "RETIRED" }, noValue: "no value yet", old: (age) => age + " old", send: "Send", write: "Set by hand",
    sendEffect: (endpoint, value) => endpoint + " is set to " + value + ". It counts as done only with proof.", number: (min, max) => [min === undefined ? "" : "from " + min, max === undefined ? "" : "to " + max].filter(Boolean).join(" "),
    last: "Last commands", profile: "profile", klass: { A: "remembers commands", B: "remembers until it restarts", C: "plain output" }, find: "Find a device", shown: (n, all) => n + " of " + all, search: "name or id", on: "On", off: "Off", value: "Value",
    truncated: "More devices exist than are shown.",
  },
  commands: {
    none: "No command.", all: "All", open: "Under way", uncertain: "Uncertain", failed: "Not done", applied: "Applied", target: "set to", by: "by", rule: (id) => "rule " + id, hand: "by hand", attempts: (n, max) => "attempt " + n + " of " + max,
    proof: "Proof", noProof: "No proof, so not called done.", verdict: "Your verdict", sayApplied: "It was applied", sayFailed: "It was not applied", waits: (gate) => "waits: " + gate, holds: "holds its endpoint",
    appliedEffect: "You have looked: the device did it. The command is called applied by your word.", failedEffect: "You have looked: the device did not do it, and no copy of it can still come.",
    possibly: "It may have run.", story: "What happened", cancel: "Cancel command", cancelEffect: "If nothing has left yet, nothing will.", choose: "Choose a command to see its story.",
    states: {
      pending_dispatch: "waiting to be sent", dispatched: "sent", acknowledged: "accepted by the device, no proof yet", retrying: "waits to try again",
      applied: "APPLIED, proven", failed: "not done", expired: "given up", uncertain: "UNCERTAIN",
    },
    gates: { stopping: "the service is stopping", quarantine: "the device is in quarantine", device_not_fresh: "the device has not been heard", endpoint_busy: "another command holds the endpoint", link_down: "the broker link is down", no_worker_slot: "many commands are under way" },
    evidence: {
      state_report: "The device itself reported the target state, with this command's number.", telemetry: "A reading that was taken after the command shows the target value.",
      rpc_result: "The device reported the result of this command.", operator_verdict: "A person looked and said so.",
    },
    receipt: {
      rpc_ack: "the device answered", rpc_result: "the device reported a result", state_report: "the device reported its state", telemetry: "a reading came", timeout_mark: "the time was over",
      retry_mark: "it is tried again", publish_mark: "the broker was given it", operator_verdict: "a person gave a verdict", rejected: "an answer was not believed",
    },
    correlation: { timely: "", duplicate: "said before", late: "too late", foreign: "not ours", contradiction: "CONTRADICTS", earlier: "of an earlier attempt", none: "" },
  },
  timeline: {
    decided: "decided", attempt: (n) => "attempt " + n + " leaves", attempt_ended: { sent: "it has left", not_sent: "it surely did not leave", unknown: "it may have left" }, question: "question", none: "Nothing is kept.",
    by: (who) => "by " + who, bytes: "exact bytes",
  },

  alarms: {
    none: "No alarm.", unseen: "NEW", seen: "seen", over: "over, not seen", shelvedUntil: (at) => "shelved until " + at, firstOut: "FIRST OUT", firstOutMeans: "nothing else was active when it came", times: (n) => n + " times",
    acknowledge: "Acknowledge", shelve: "Shelve", unshelve: "Bring back", shelveEffect: "It is put aside for a time and comes back by itself. Its cause stays.", since: (age) => "for " + age, ended: (age) => "over since " + age,
    duration: "For how long", durations: { "15m": "15 min", "1h": "1 hour", "8h": "8 hours" }, unshelveEffect: "It is shown with the others again.", groupNew: "Not acknowledged", groupSeen: "Acknowledged", groupShelved: "Shelved",
    kind: {
      equipment_offline: "Equipment offline", equipment_fault: "Equipment fault", step_overdue: "Step overdue", action_failed: "Action failed", action_unknown: "Action in doubt", job_mismatch: "Done for another part",
      unexpected_signal: "Signal not expected", part_in_doubt: "Part in doubt", recovery: "Recovery", message_parked: "Message not decided", late_success: "Late success",
    },
  },

  log: { none: "Nothing has happened yet.", all: "everything", topics: { cell: "cell", questions: "questions", alarms: "alarms", commands: "commands", devices: "devices", links: "links", configuration: "configuration" }, find: "Text", newest: (n) => "The newest " + n + " rows.", hold: "Hold still", goOn: "Go on", held: (n) => n + " newer rows" },
  lab: { title: "Demo: break something", note: "This panel belongs to the simulated plant. A real plant has none.", on: "ON", off: "off", switchOn: "Switch on", switchOff: "Switch off", once: "Do it once", none: "Nothing can be broken here." },
};

// word looks a code up and shows the code itself when there is no text for it: a newer server knows more words.
export function word(table, code) {
  const found = table && Object.hasOwn(table, code) ? table[code] : undefined;
  return found === undefined ? String(code ?? "") : found;
}

// place says where something is.
export function place(p) {
  if (!p || !p.type) return "?";
  const say = Object.hasOwn(t.places, p.type) ? t.places[p.type] : null;
  return say ? say(p.ref) : p.type + " " + (p.ref || "");
}
