// A production cell by the npm package modbus-serial: node cell.mjs. It is written from docs/drivers.md and
// docs/examples/plant.yaml alone, by somebody who had not read the drivers; the
// marker came later, by somebody who had.
//
// It is a small world with a truth of its own: places, parts with codes, a lathe, a mill, an oven, a scanner, a
// marker and a robot that really carries parts. Machines and robot are PLC programs: each scan takes the command block as
// it stands, works, and shows the status block in one piece. What could not happen in a real cell is not done
// and kept as a violation.
//
// Lines on standard input: {"arrive": n} puts n raw parts on the first places of the dock, {"truth": true} asks
// for all there is to know. What it tells it prints, one JSON object a line; the first line has its ports.
import net from 'node:net';
import readline from 'node:readline';
import { createRequire } from 'node:module';

const { ServerTCP } = createRequire(import.meta.url)('modbus-serial');
const print = (line) => console.log(JSON.stringify(line));
const SCAN = 5; // ms

// The world.

const slots = (name, first, count) => Array.from({ length: count }, (_, n) => [first + n, `${name} ${n + 1}`]);
const names = new Map([
  ...slots('dock', 1, 12), ...slots('buffer', 21, 8), ...slots('lathe', 31, 1), ...slots('mill', 41, 2), ...slots('oven', 51, 4),
  ...slots('station', 81, 2), [90, 'exit'],
]);
const holds = new Map(); // number of the place → part
const parts = [];
const scans = [];
const commands = []; // every rising edge of go: whose, its number, and whether it was begun
const links = {}; // connections that were opened, by equipment
const violations = [];
const machines = [];

const violated = (text) => { violations.push(text); return false; };
const machineAt = (place) => machines.find((m) => place >= m.first && place < m.first + m.slots);

// Serial numbers: b is newer than a when (b − a) mod 2³² lies in 1 … 2³¹ − 1.
const newer = (b, a) => { const d = (b - a) >>> 0; return d >= 1 && d <= 0x7fffffff; };

function arrive(count) {
  for (let n = 1; n <= count; n++) {
    const part = { code: `HS-${1000 + 37 * (parts.length + 1)}`, at: names.get(n), history: [names.get(n)] };
    if (holds.has(n)) violated(`arrived at ${names.get(n)}, where ${holds.get(n).code} stands`);
    holds.set(n, part);
    parts.push(part);
  }
}

// One equipment on Modbus TCP: its registers, and a program that runs every few milliseconds.

class Controller {
  constructor(name, { unit, command, status, low }) {
    Object.assign(this, { name, command, status, low });
    this.registers = new Map();
    this.beats = 0;
    this.begun = new Set();
    this.server = new ServerTCP({
      getHoldingRegister: (address) => this.registers.get(address) ?? this.illegal(`reads ${address}`),
      getMultipleHoldingRegisters: (address, length) => Array.from({ length }, (_, n) => this.registers.get(address + n) ?? this.illegal(`reads ${address + n}`)),
      setRegister: (address, value) => this.write(address, value),
    }, { host: '127.0.0.1', port: '0', unitID: unit }); // the number 0 it takes for its default, 502
    this.listens = new Promise((resolve) => { this.server.once('initialized', resolve); });
    this.server.on('serverError', (error) => { print({ error: `${name}: ${error}` }); process.exit(1); });
    this.server._server.on('connection', () => { links[name] = (links[name] ?? 0) + 1; });
    for (let n = 0; n < 6; n++) this.registers.set(command + n, 0);
  }

  async run() {
    await this.listens;
    this.scan();
    this.timer = setInterval(() => this.scan(), SCAN);
    return this.server._server.address().port;
  }

  illegal(what) {
    violated(`${this.name}: somebody ${what}`);
    throw Object.assign(new Error('illegal data address'), { modbusErrorCode: 2 });
  }

  write(address, value) {
    if (address < this.command || address > this.command + 5) this.illegal(`writes ${address}`);
    this.registers.set(address, value);
  }

  words(number) {
    const [high, low] = [number >>> 16, number & 0xffff];
    return this.low ? [low, high] : [high, low];
  }

  scan() {
    const c = Array.from({ length: 6 }, (_, n) => this.registers.get(this.command + n));
    c.number = (this.low ? c[1] * 0x10000 + c[0] : c[0] * 0x10000 + c[1]) >>> 0;
    const go = c[this.goAt];
    if (go === 1 && this.go === 0) this.edge(c);
    this.go = go; // at power on there is no edge, whatever stands there
    this.work(c, go);
    this.show().forEach((value, n) => this.registers.set(this.status + n, value));
  }

  // edge: go has become 1. Returns whether the number is one that may be begun.
  edge(c) {
    const entry = { who: this.name, number: c.number, begun: newer(c.number, this.echo) };
    commands.push(entry);
    if (!entry.begun) return;
    this.echo = c.number;
    if (this.begun.has(c.number)) violated(`${this.name}: number ${c.number} is begun twice`);
    this.begun.add(c.number);
    this.begin(c, entry);
  }

  heartbeat() { return Math.floor(++this.beats * SCAN / 100) & 0xffff; }

  stop() { clearInterval(this.timer); return new Promise((resolve) => { this.server.close(resolve); }); }
}

class Machine extends Controller {
  constructor(name, { first, count, batch, program, takes, ...wire }) {
    super(name, wire);
    Object.assign(this, { first, slots: count, batch, program, takes, goAt: 4, echo: 0, result: 0, cycle: 0, done: 0, doneSlot: 0, pass: 0 });
    this.running = []; // {slot, ends}; slot 0: all
    this.ended = []; // slots whose cycle has ended and is not told yet
    machines.push(this);
  }

  part(slot) { return holds.get(this.first + slot - 1); }
  all() { return Array.from({ length: this.slots }, (_, n) => n + 1); }
  bits(has) { return this.all().reduce((bits, slot) => bits | (has(slot) ? 1 << (slot - 1) : 0), 0); }
  runs(slot) { return this.running.some((r) => r.slot === 0 || r.slot === slot); }

  // work: is a slot being processed, or is the end of its cycle still to be told?
  busy(slot) { return this.runs(slot) || this.ended.some((e) => e === 0 || e === slot); }

  begin(c, entry) {
    const [slot, program] = [c[2], c[3]];
    Object.assign(entry, { slot, program });
    this.result = this.possible(slot, program) ? 1 : 2;
    if (this.result === 1) {
      this.running.push({ slot, ends: Date.now() + this.takes });
      this.inSlots(slot, (part) => part.history.push(`${this.name} starts`));
    }
  }

  possible(slot, program) {
    const says = (text) => violated(`${this.name}: start of slot ${slot}: ${text}`);
    if (this.batch ? slot !== 0 : slot < 1 || slot > this.slots) return says('there is no such slot');
    if (program !== this.program) return says(`there is no program ${program}`);
    if (this.done === 1 && (slot === 0 || slot === this.doneSlot)) return says('done is not acknowledged yet');
    const meant = this.all().filter((n) => (slot === 0 || n === slot) && this.part(n));
    if (meant.length === 0) return says('it is empty');
    if (meant.some((n) => this.busy(n))) return says('it is running');
    if (robot.action && machineAt(robot.reaches) === this && (this.batch || robot.reaches === this.first + slot - 1)) return says('the robot reaches into it');
    for (const n of meant) {
      if (this.part(n).history.includes(`${this.name} starts`)) return says(`${this.part(n).code} was worked on here before`);
    }
    return true;
  }

  inSlots(slot, f) { for (const n of this.all()) if ((slot === 0 || n === slot) && this.part(n)) f(this.part(n)); }

  work(c) {
    const acknowledged = c[5];
    if (this.done === 1 && acknowledged === 1) this.done = 0;
    else if (this.done === 0 && acknowledged === 0 && this.ended.length > 0) {
      this.cycle = (this.cycle + 1) >>> 0;
      this.doneSlot = this.ended.shift();
      this.done = 1;
    }
    for (const r of this.running.filter((r) => r.ends <= Date.now())) {
      this.running.splice(this.running.indexOf(r), 1);
      this.ended.push(r.slot);
      this.inSlots(r.slot, (part) => part.history.push(`${this.name} ends`));
    }
  }

  show() {
    const state = this.running.length > 0 ? 2 : this.done === 1 || this.ended.length > 0 ? 3 : 1;
    return [...this.words(this.echo), state, this.bits((n) => this.part(n) && this.runs(n)), this.done, this.doneSlot, ...this.words(this.cycle),
      this.bits((n) => this.part(n)), 0, this.heartbeat(), this.pass, this.result, this.bits((n) => !this.runs(n))];
  }
}

class Robot extends Controller {
  constructor(name, { takes, ...wire }) {
    super(name, wire);
    Object.assign(this, { takes, goAt: 5, echo: 0, done: 0, error: 0, partAt: 0, position: 0, reaches: 0, action: null, gripper: null });
  }

  begin(c, entry) {
    const [code, from, to] = [c[2], c[3], c[4]];
    Object.assign(entry, { code, from, to });
    if (this.action) violated(`robot: ${c.number} begins while ${this.action.number} is under way`);
    Object.assign(this, { done: 0, error: 0, partAt: 0, position: 0 });
    const pick = () => this.pick(from);
    const place = () => this.place(to);
    const hold = () => this.hold(to);
    const steps = { 1: [pick, place], 2: [pick, hold], 3: [place] }[code] ?? [() => this.fails(9, 0, `there is no code ${code}`)];
    this.action = { number: c.number, to, steps, next: Date.now() + this.takes };
    this.reaches = code === 3 ? to : from;
  }

  fails(error, partAt, text) {
    violated(`robot: action ${this.echo}: ${text}`);
    Object.assign(this, { error, partAt });
    return false;
  }

  // reach: may the hand go there?
  reach(place, partAt) {
    if (!names.has(place)) return this.fails(1, partAt, `there is no place ${place}`);
    const m = machineAt(place);
    if (m?.runs(m.batch ? 0 : place - m.first + 1) || m?.running.some((r) => r.slot === 0)) return this.fails(2, partAt, `${names.get(place)} is not ready`);
    this.position = place;
    return true;
  }

  pick(from) {
    if (!this.reach(from, 1)) return false;
    if (this.gripper) return this.fails(3, 1, `picks at ${names.get(from)} with ${this.gripper.code} in the gripper`);
    const part = holds.get(from);
    if (!part) return this.fails(4, 1, `nothing to pick at ${names.get(from)}`);
    holds.delete(from);
    this.gripper = part;
    part.at = 'gripper';
    this.partAt = 2;
    return true;
  }

  place(to) {
    if (!this.reach(to, 2)) return false;
    if (!this.gripper) return this.fails(5, 0, `nothing to place at ${names.get(to)}`);
    if (holds.has(to) || names.get(to).startsWith('station')) return this.fails(6, 2, `no room at ${names.get(to)}`);
    const part = this.gripper;
    this.gripper = null;
    part.at = names.get(to);
    part.history.push(part.at);
    if (part.at !== 'exit') holds.set(to, part); // the belt there takes it away
    this.partAt = 3;
    return true;
  }

  hold(to) {
    if (!this.reach(to, 2)) return false;
    if (!names.get(to).startsWith('station')) return this.fails(7, 2, `${names.get(to)} is no tool station`);
    this.gripper.history.push(names.get(to));
    return true;
  }

  work(c, go) {
    if (go === 0 && !this.action) Object.assign(this, { done: 0, error: 0 });
    if (!this.action || this.action.next > Date.now()) return;
    const good = this.action.steps.shift()();
    this.action.next = Date.now() + this.takes;
    this.reaches = this.action.to;
    if (good && this.action.steps.length > 0) return;
    if (good) this.done = 1;
    this.action = null;
    this.reaches = 0;
  }

  show() {
    return [...this.words(this.echo), this.action ? 1 : 0, this.done, this.error, this.action ? 0 : this.partAt, this.gripper ? 1 : 0, this.position,
      this.heartbeat(), 1];
  }
}

// The scanner: one connection for each reading.

const sockets = new Set();
const scanner = net.createServer((socket) => {
  links.scanner = (links.scanner ?? 0) + 1;
  sockets.add(socket);
  socket.on('close', () => sockets.delete(socket));
  socket.on('error', () => {}); // the other side may go at any time
  let line = '';
  socket.setEncoding('utf8').on('data', (data) => {
    line += data;
    if (!line.endsWith('\n')) return;
    if (line !== 'TRIG\n') violated(`scanner: hears ${JSON.stringify(line)}`);
    const part = robot.gripper;
    const sees = part && !robot.action && names.get(robot.position) === 'station 1';
    if (!sees) violated('scanner: nothing is held before it');
    else part.history.push('scan');
    const code = sees ? part.code : 'NOREAD';
    scans.push(code);
    socket.end(`${code}\n`);
  });
});

// The marker: one connection for each request. Its last number and how it ended are all that it keeps.

const marker = { last: 0, ended: 'NONE' };
const said = () => (marker.ended === 'NONE' ? 'NONE' : `${marker.ended} ${marker.last}`);

function mark(number, text, answer) {
  const entry = { who: 'marker', number, begun: marker.ended !== 'BUSY' && (marker.last === 0 || newer(number, marker.last)) };
  commands.push(entry);
  if (!entry.begun) return answer(`${marker.ended === 'BUSY' ? 'BUSY' : 'OLD'} ${marker.last}`);
  Object.assign(marker, { last: number, ended: 'BUSY' });
  const part = robot.gripper;
  const held = () => part && robot.gripper === part && !robot.action && names.get(robot.position) === 'station 2';
  if (!held()) violated(`marker: nothing is held before it at number ${number}`);
  setTimeout(() => {
    if (!held()) violated(`marker: the part was moved during number ${number}`);
    else if (part.mark) violated(`marker: ${part.code} has a mark already`);
    else Object.assign(part, { mark: text }).history.push('mark');
    marker.ended = 'DONE';
    answer(said());
  }, 60);
}

const marking = net.createServer((socket) => {
  sockets.add(socket);
  socket.on('close', () => sockets.delete(socket));
  socket.on('error', () => {});
  let line = '';
  socket.setEncoding('ascii').on('data', (data) => {
    line += data;
    if (!line.endsWith('\n')) return;
    const answer = (words) => socket.end(`${words}\r\n`);
    const [, word, number, text] = /^(LAST|MARK|VOID)(?: (\d+))?(?: ([ -~]+))?\r?\n$/.exec(line) ?? [];
    if (word === 'LAST') answer(said());
    else if (word === 'MARK' && number && text) mark(Number(number), text, answer);
    else if (word === 'VOID' && number) {
      if (marker.ended !== 'BUSY' && (marker.last === 0 || newer(Number(number), marker.last))) Object.assign(marker, { last: Number(number), ended: 'VOID' });
      answer(said());
    } else violated(`marker: hears ${JSON.stringify(line)}`);
  });
});

const robot = new Robot('robot', { takes: 15, unit: 7, command: 40, status: 300 });
const controllers = [
  robot,
  new Machine('lathe', { first: 31, count: 1, program: 7, takes: 150, unit: 1, command: 0, status: 100 }),
  new Machine('mill', { first: 41, count: 2, program: 12, takes: 400, unit: 0, command: 0, status: 100, low: true }),
  new Machine('oven', { first: 51, count: 4, batch: true, program: 1, takes: 300, unit: 0, command: 10, status: 16 }),
];
const ports = {};
for (const c of controllers) ports[c.name] = await c.run();
await new Promise((resolve) => { scanner.listen(0, '127.0.0.1', resolve); });
ports.scanner = scanner.address().port;
await new Promise((resolve) => { marking.listen(0, '127.0.0.1', resolve); });
ports.marker = marking.address().port;
print({ ports });

for await (const line of readline.createInterface({ input: process.stdin })) {
  const request = JSON.parse(line);
  if (request.arrive) arrive(request.arrive);
  print({ truth: { parts, scans, commands, links, violations } });
}
for (const socket of sockets) socket.destroy();
scanner.close();
marking.close();
await Promise.all(controllers.map((c) => c.stop()));
