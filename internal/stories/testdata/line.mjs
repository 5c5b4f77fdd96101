// A small line by the npm packages node-opcua-server and mqtt: node line.mjs BROKER TOPIC FOLDER. One machine is on OPC UA, and
// one robot on MQTT carries the parts, as docs/drivers.md has it.
//
// It is a world with a truth of its own: places, and parts that are really carried. What could not happen in a real line is
// not done and kept as a violation. FOLDER takes the keys that the server makes for itself.
//
// Lines on standard input: {"arrive": n} puts n raw parts on the first places of the dock, {"hold": n} lets the robot stand
// still in the n-th action from now, with the part in its gripper, {"go": true} lets it go on. Each is answered with all
// there is to know, as one JSON object a line; the first line has the port of the server.
import net from 'node:net';
import readline from 'node:readline';
import mqtt from 'mqtt';
import { OPCUACertificateManager } from 'node-opcua-certificate-manager';
import { DataValue } from 'node-opcua-data-value';
import { OPCUAServer } from 'node-opcua-server';
import { StatusCodes } from 'node-opcua-status-code';
import { DataType, VariantArrayType } from 'node-opcua-variant';

const [broker, topic, folder] = process.argv.slice(2);
const print = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);
console.log = console.error; // the server's library has remarks

// The world.

const row = (name, first, count) => Array.from({ length: count }, (_, n) => [first + n, `${name} ${n + 1}`]);
const names = new Map([...row('dock', 1, 3), ...row('buffer', 21, 3), [41, 'mill'], [90, 'exit']]);
const holds = new Map(); // number of the place → part
const parts = [];
const commands = []; // every start and every move that was asked for, and whether it was begun
const begun = new Set();
const violations = [];
const violated = (text) => { violations.push(text); return false; };

// Serial numbers: b is newer than a when (b − a) mod 2³² lies in 1 … 2³¹ − 1. An echo of 0: every number is.
const newer = (b, a) => { const d = (b - a) >>> 0; return a === 0 || d >= 1 && d <= 0x7fffffff; };

function command(who, number, begins, more) {
  commands.push({ who, number, begun: begins, ...more });
  if (begins && begun.has(number)) violated(`${who}: number ${number} is begun twice`);
  if (begins) begun.add(number);
}

function arrive(count) {
  for (let n = 1; n <= count; n++) {
    const part = { code: `P-${parts.length + 1}`, at: names.get(n), history: [names.get(n)] };
    if (holds.has(n)) violated(`arrived at ${names.get(n)}, where ${holds.get(n).code} stands`);
    holds.set(n, part);
    parts.push(part);
  }
}

// The machine: one slot, a scan cycle over its own memory.

const mill = { command: new Uint16Array(4), go: 0, doneAck: 0, before: 0, echo: 0, result: 0, ends: 0, ended: false, done: 0, cycle: 0, beat: 0 };

function edge() {
  const [high, low, slot, program] = mill.command;
  const number = ((high << 16) | low) >>> 0;
  const begins = newer(number, mill.echo);
  command('mill', number, begins, { slot, program });
  if (!begins) return;
  const part = holds.get(41);
  const says = (text) => violated(`mill: start ${number}: ${text}`);
  mill.echo = number;
  mill.result = 2;
  if (slot !== 1 || program !== 12) return says(`slot ${slot}, program ${program}`);
  if (!part) return says('it is empty');
  if (mill.ends || mill.ended || mill.done) return says('the last cycle has not ended');
  if (robot.reaches === 41) return says('the robot reaches into it');
  if (part.history.includes('mill starts')) return says(`${part.code} was worked on before`);
  part.history.push('mill starts');
  Object.assign(mill, { result: 1, ends: Date.now() + 300 });
}

function scan() {
  if (mill.go === 1 && mill.before === 0) edge();
  mill.before = mill.go;
  if (mill.ends && mill.ends <= Date.now()) {
    Object.assign(mill, { ends: 0, ended: true });
    holds.get(41).history.push('mill ends');
  }
  if (mill.done === 1 && mill.doneAck === 1) mill.done = 0;
  else if (mill.done === 0 && mill.doneAck === 0 && mill.ended) Object.assign(mill, { ended: false, done: 1, cycle: (mill.cycle + 1) >>> 0 });
  mill.beat = Math.floor(Date.now() / 100) & 0xffff;
}

function status() {
  const state = mill.ends ? 2 : mill.done || mill.ended ? 3 : 1;
  return Uint16Array.of(mill.echo >>> 16, mill.echo & 0xffff, state, mill.ends ? 1 : 0, mill.done, mill.done, mill.cycle >>> 16, mill.cycle & 0xffff,
    holds.has(41) ? 1 : 0, 0, mill.beat, mill.done, mill.result, mill.ends ? 0 : 1);
}

async function serve() {
  const port = await new Promise((resolve) => {
    const probe = net.createServer().listen(0, '127.0.0.1', () => { const p = probe.address().port; probe.close(() => resolve(p)); });
  });
  const keys = new OPCUACertificateManager({ rootFolder: `${folder}/keys`, automaticallyAcceptUnknownCertificate: true });
  await keys.initialize();
  const server = new OPCUAServer({
    port, host: '127.0.0.1', hostname: '127.0.0.1', nodesets: [], serverCertificateManager: keys, userCertificateManager: keys, certificateFile: `${folder}/certificate.pem`,
  });
  await server.initialize();
  const space = server.engine.addressSpace;
  const namespace = space.registerNamespace('urn:example:line');
  const object = namespace.addObject({ organizedBy: space.rootFolder.objects, browseName: 'Mill', nodeId: 's=Mill' });
  const variable = (name, words, get, set) => namespace.addVariable({
    componentOf: object, browseName: name, nodeId: `s=Mill.${name}`, dataType: 'UInt16', valueRank: words ? 1 : -1, arrayDimensions: words ? [words] : undefined,
    minimumSamplingInterval: 100, accessLevel: set ? 'CurrentRead | CurrentWrite' : 'CurrentRead',
    value: {
      timestamped_get: (callback) => callback(null, new DataValue({
        value: { dataType: DataType.UInt16, arrayType: words ? VariantArrayType.Array : VariantArrayType.Scalar, value: get() }, sourceTimestamp: new Date(),
      })),
      timestamped_set: (value, callback) => { set(value.value.value); callback(null, StatusCodes.Good); },
    },
  });
  variable('command', 4, () => Uint16Array.from(mill.command), (value) => { mill.command = Uint16Array.from(value); });
  variable('go', 0, () => mill.go, (value) => { mill.go = value; });
  variable('done_ack', 0, () => mill.doneAck, (value) => { mill.doneAck = value; });
  variable('status', 14, status);
  await server.start();
  setInterval(scan, 10);
  return port;
}

// The robot.

const robot = { gripper: null, reaches: 0, hold: 0, holding: 0 };
const state = { echo: 0, busy: false, result: 'none', error: 0, partAt: 'unknown', position: 0, ready: true, seq: 0, bootId: `boot ${process.pid}` };
const client = mqtt.connect(broker, { protocolVersion: 5, clientId: 'robot of the line', clean: true });
client.on('error', (error) => { print({ error: String(error) }); process.exit(1); });
const show = () => client.publish(`${topic}/state`, JSON.stringify({ ...state, gripper: robot.gripper !== null, seq: ++state.seq }), { qos: 1 });

function end(error, partAt, why) {
  if (error) violated(`robot: action ${state.echo}: ${why}`);
  Object.assign(state, { busy: false, result: error ? 'error' : 'done', error, partAt });
  robot.reaches = 0;
  show();
}

const pause = (time) => new Promise((resolve) => { setTimeout(resolve, time); });

async function carry({ actionNo, method, from, to }) {
  if (!['move', 'place'].includes(method) || !names.has(to)) return end(1, method === 'place' ? 'gripper' : 'from', `${method} to ${to}`);
  if (method === 'move') {
    robot.reaches = from;
    await pause(20);
    if (robot.gripper) return end(2, 'from', `${robot.gripper.code} is in the gripper`);
    if (!holds.has(from)) return end(3, 'unknown', `nothing to pick at ${names.get(from)}`);
    if (from === 41 && mill.ends) return end(4, 'from', 'the mill is running');
    robot.gripper = holds.get(from);
    robot.gripper.at = 'gripper';
    holds.delete(from);
    show();
  }
  robot.reaches = to;
  if (robot.hold > 0 && --robot.hold === 0) robot.holding = actionNo;
  do await pause(20); while (robot.holding);
  if (!robot.gripper) return end(5, 'unknown', 'nothing to place');
  if (holds.has(to)) return end(6, 'gripper', `${holds.get(to).code} stands at ${names.get(to)}`);
  if (to === 41 && mill.ends) return end(4, 'gripper', 'the mill is running');
  const part = robot.gripper;
  robot.gripper = null;
  part.at = names.get(to);
  part.history.push(part.at);
  if (part.at !== 'exit') holds.set(to, part); // the belt there takes it away
  state.position = to;
  return end(0, 'to');
}

function look(q) {
  state.answers = { token: q.token };
  if (q.method === 'ask') return;
  if (q.method === 'release') {
    if (q.actionNo === state.echo && !state.busy && ['done', 'error'].includes(state.result)) Object.assign(state, { result: 'none', error: 0 });
    return;
  }
  const begins = newer(q.actionNo, state.echo) && !state.busy;
  if (q.method !== 'void') command('robot', q.actionNo, begins, { from: q.from, to: q.to });
  if (!begins) { state.answers.refused = state.busy ? 'busy' : `${q.actionNo} is not newer than ${state.echo}`; return; }
  Object.assign(state, { echo: q.actionNo, result: q.method === 'void' ? 'void' : 'none', error: 0, partAt: 'unknown' });
  if (q.method === 'void') return;
  state.busy = true;
  carry(q);
}

client.on('message', (_, payload, packet) => {
  if (packet.retain) return;
  look(JSON.parse(payload));
  show();
});
await new Promise((resolve) => { client.once('connect', resolve); });
await client.subscribeAsync(`${topic}/request`, { qos: 1 });
setInterval(show, 200);
print({ ports: { mill: await serve() } });

for await (const line of readline.createInterface({ input: process.stdin })) {
  const request = JSON.parse(line);
  if (request.arrive) arrive(request.arrive);
  if (request.hold) robot.hold = request.hold;
  if (request.go) robot.holding = 0;
  print({ truth: { parts, commands, holding: robot.holding, violations } });
}
process.exit(0);
