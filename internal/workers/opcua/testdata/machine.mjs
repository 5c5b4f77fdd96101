// Machines that somebody else built, from "Machine (OPC UA)" in docs/drivers.md alone, on a server that has nothing of
// Surehand in it. Each machine is a scan cycle over its own memory; the server shows that memory and writes into it.
//
//   node machine.mjs FOLDER COUNT
//
// The first line on stdout is {"ready": true}. Lines of JSON on stdin ask ({"id", "machine", "do", ...}), lines on stdout
// answer ({"id", ...}) and tell what begins ({"machine", "began"}). FOLDER takes the keys that the server makes for itself;
// COUNT machines may have a server of their own, which can be restarted.

import net from "node:net";
import { createInterface } from "node:readline";
import { OPCUACertificateManager } from "node-opcua-certificate-manager";
import { DataValue } from "node-opcua-data-value";
import { OPCUAServer } from "node-opcua-server";
import { StatusCodes } from "node-opcua-status-code";
import { DataType, VariantArrayType } from "node-opcua-variant";

const folder = process.argv[2];
const URI = "urn:example:machines";
const SCAN = 10; // ms
const BEAT = 3; // scans between two heartbeats
const LATE = 1500; // ms: longer than anybody waits for an answer
const SLOW = 200;
const GIVEN_UP = 4000; // ms: longer than it takes to withdraw a start whose answer is missing

const say = (line) => process.stdout.write(JSON.stringify(line) + "\n");
const bit = (slot) => 1 << (slot - 1);
const high = (n) => n >>> 16;
const low = (n) => n & 0xffff;
const newer = (a, b) => a === 0 || (a !== b && ((b - a) >>> 0) < 0x80000000);

class Machine {
  constructor(name, slots, shapes) {
    Object.assign(this, { name, slots, shapes });
    // Kept over a restart.
    Object.assign(this, { echo: 0, cycle: 0, occupied: 2 ** slots - 1, running: 0, ended: [], done: 0, doneSlot: 0, pass: 0, result: 0 });
    this.truth = { begun: [], ignored: [], raised: {}, violations: [], writes: 0 };
    this.stopped = false; // the program
    this.beat = 0;
    this.quality = StatusCodes.Good;
    this.silent = false;
    this.unanswered = [];
    this.boot();
    setInterval(() => this.stopped || this.scan(), SCAN);
  }

  // boot is what a loss of power leaves of the command block: nothing.
  boot() {
    this.command = new Uint16Array(4);
    this.go = this.doneAck = this.goBefore = 0;
  }

  scan() {
    if (this.go === 1 && this.goBefore === 0) this.edge();
    this.goBefore = this.go;
    if (this.done === 1 && this.doneAck === 1 && !this.keepsDone) this.done = this.doneSlot = this.pass = 0;
    if (this.done === 0 && this.doneAck === 0 && this.ended.length > 0) {
      this.cycle = (this.cycle + 1) >>> 0;
      this.doneSlot = this.ended.shift();
      this.pass = 1;
      this.done = 1;
      this.truth.raised[this.doneSlot] = (this.truth.raised[this.doneSlot] ?? 0) + 1;
    }
    this.scans = (this.scans ?? 0) + 1;
    if (this.scans % BEAT === 0) this.beat = (this.beat + 1) & 0xffff;
  }

  edge() {
    const number = ((this.command[0] << 16) | this.command[1]) >>> 0;
    const slot = this.command[2];
    if (!newer(this.echo, number)) {
      this.truth.ignored.push(number);
      return;
    }
    this.echo = number;
    const can = slot >= 1 && slot <= this.slots && this.occupied & bit(slot) && !(this.running & bit(slot));
    if (!can || this.refuses) {
      this.refuses = false;
      this.result = 2;
      return;
    }
    this.result = 1;
    this.running |= bit(slot);
    if (this.truth.begun.some((b) => b.number === number)) this.truth.violations.push(`number ${number} was begun twice`);
    const began = { number, slot, program: this.command[3] };
    this.truth.begun.push(began);
    say({ machine: this.name, began });
  }

  finish(slot) {
    if (!(this.running & bit(slot))) throw new Error(`slot ${slot} does not run`);
    this.running &= ~bit(slot);
    this.ended.push(slot);
  }

  status() {
    const state = this.running ? 2 : this.done ? 3 : 1;
    return Uint16Array.of(high(this.echo), low(this.echo), state, this.running, this.done, this.doneSlot, high(this.cycle), low(this.cycle),
      this.occupied, 0, this.beat, this.pass, this.result, this.occupied & ~this.running);
  }

  read(of) {
    switch (of) {
      case "command": return Uint16Array.from(this.command);
      case "go": return this.go;
      case "done_ack": return this.doneAck;
      default: return this.status();
    }
  }

  take(of, value) {
    if (of === "command") this.command = Uint16Array.from(value);
    else if (value > 1) this.truth.violations.push(`${of} was set to ${value}`);
    else if (of === "go") this.go = value;
    else this.doneAck = value;
  }

  // written takes a write, and answers it, or does what the next fault says.
  written(of, value, answer) {
    this.truth.writes++;
    const first = this.next;
    const raises = of === "go" && value === 1;
    if (raises && first) this.next = undefined;
    const turn = (this.turns = (this.turns ?? 0) + 1) % 2 === 1;
    if (this.loses === "writes" && turn) return;
    if (this.loses === "lowering" && of === "done_ack" && value === 0) return;
    if (this.silent || (this.loses === "answers" && turn)) {
      this.take(of, value);
      this.unanswered.push(answer);
      return;
    }
    switch (raises && first) {
      case "slow start":
        setTimeout(() => { this.take(of, value); answer(); }, SLOW);
        return;
      case "late write":
        setTimeout(() => this.take(of, value), GIVEN_UP);
        return;
      case "lost write":
        return;
      case "lost write, and the program stops":
        this.stopped = true;
        return;
      case "late answer":
        setTimeout(answer, LATE);
        break;
      case "held":
        this.silent = true; // and falls through to the lost answer
      case "lost answer":
        break;
      case "refused":
        this.refuses = true;
      default:
        answer();
    }
    this.take(of, value);
  }

  // free answers everything from now on; what was not answered stays so.
  free() {
    this.silent = false;
    for (const answer of this.unanswered.splice(0)) answer();
    this.loses = undefined;
  }

  // show puts the machine's nodes on a server.
  show(server) {
    const space = server.engine.addressSpace;
    const namespace = space.registerNamespace(URI);
    const object = namespace.addObject({ organizedBy: space.rootFolder.objects, browseName: this.name, nodeId: `s=${this.name}` });
    const id = (of) => (this.name.endsWith('"') ? `${this.name}."${of}"` : `${this.name}.${of}`);
    const variable = (of, words, writable) => {
      const shape = { type: "UInt16", words, ...this.shapes[of] };
      if (shape.missing) return;
      const dataType = DataType[shape.type];
      const made = () => {
        if (shape.type === "Boolean") return false;
        if (shape.type !== "UInt16") return shape.words ? new Array(shape.words).fill(0) : 0;
        const value = this.read(of);
        return shape.words ? Uint16Array.from({ length: shape.words }, (_, n) => value[n] ?? 0) : value;
      };
      namespace.addVariable({
        componentOf: object, browseName: of, nodeId: `s=${id(of)}`, dataType: shape.type,
        valueRank: shape.words ? 1 : -1, arrayDimensions: shape.words ? [shape.words] : undefined, minimumSamplingInterval: 100,
        accessLevel: writable ? "CurrentRead | CurrentWrite" : "CurrentRead",
        value: {
          timestamped_get: (callback) => {
            const answer = () => callback(null, new DataValue({
              value: { dataType, arrayType: shape.words ? VariantArrayType.Array : VariantArrayType.Scalar, value: made() },
              statusCode: of === "status" ? this.quality : StatusCodes.Good, sourceTimestamp: new Date(), serverTimestamp: new Date(),
            }));
            if (this.silent) this.unanswered.push(answer);
            else answer();
          },
          timestamped_set: (value, callback) => this.written(of, value.value.value, () => callback(null, StatusCodes.Good)),
        },
      });
    };
    variable("command", 4, true);
    variable("go", 0, true);
    variable("done_ack", 0, true);
    variable("status", 14, false);
  }
}

const keys = new OPCUACertificateManager({ rootFolder: `${folder}/keys`, automaticallyAcceptUnknownCertificate: true });
await keys.initialize();

const freePort = () => new Promise((resolve) => {
  const probe = net.createServer().listen(0, "127.0.0.1", () => {
    const { port } = probe.address();
    probe.close(() => resolve(port));
  });
});

async function makeServer(port, more = {}) {
  const server = new OPCUAServer({
    port, host: "127.0.0.1", hostname: "127.0.0.1", nodesets: [], serverCertificateManager: keys, userCertificateManager: keys,
    certificateFile: `${folder}/certificate.pem`, maxConnectionsPerEndpoint: 200, serverCapabilities: { maxSessions: 200 }, ...more,
  });
  await server.initialize(); // takes a good part of a second, in which nothing else goes on here
  return { server, port };
}

// One server has most of the machines; those that restart have one each, and the one that they come back on is made
// beforehand as well.
const shared = await makeServer(await freePort());
await shared.server.start();
const locked = await makeServer(await freePort(), { allowAnonymous: false });
await locked.server.start();
const owned = [];
for (let n = 0; n < Number(process.argv[3] ?? 0); n++) {
  const port = await freePort();
  owned.push([await makeServer(port), await makeServer(port)]);
}

const machines = new Map();

const actions = {
  async open(_, { machine, own, locked: wantsName, slots = 16, shapes = {} }) {
    const m = new Machine(machine, slots, shapes);
    machines.set(machine, m);
    const [first, second] = own ? owned.pop() : [wantsName ? locked : shared];
    Object.assign(m, { at: first, later: second });
    m.show(first.server);
    if (own) await first.server.start();
    return { port: first.port, uri: URI };
  },
  // restart is a loss of power: the server ends, and comes back with what the machine keeps. before are namespaces that a
  // newer program brings along.
  async restart(m, { before = [] }) {
    m.stopped = true;
    await m.at.server.shutdown(0);
    m.boot();
    for (const uri of before) m.later.server.engine.addressSpace.registerNamespace(uri);
    m.at = m.later;
    m.show(m.at.server);
    await m.at.server.start();
    m.stopped = false;
    return {};
  },
  next(m, { fault }) { m.next = fault; return {}; },
  lose(m, { what }) { Object.assign(m, { loses: what, turns: 0 }); return {}; },
  free(m) { m.free(); return {}; },
  finish(m, { slot }) { m.finish(slot); return {}; },
  program(m, { runs }) { m.stopped = !runs; return {}; },
  keepDone(m) { m.keepsDone = true; return {}; },
  quality(m, { status }) { m.quality = StatusCodes[status]; return {}; },
  truth(m) { return { truth: { ...m.truth, sessions: m.at.server.engine.currentSessionCount } }; },
};

say({ ready: true });
for await (const line of createInterface({ input: process.stdin })) {
  const request = JSON.parse(line);
  try {
    say({ id: request.id, ...(await actions[request.do](machines.get(request.machine), request)) });
  } catch (error) {
    say({ id: request.id, error: String(error.stack ?? error) });
  }
}
process.exit(0);
