// A robot on MQTT by the npm package mqtt: node robot.mjs BROKER TOPIC MEMORY. It is written from docs/drivers.md alone.
//
// It carries parts between numbered places 1 to 16 and 101 to 116, and holds them at station 200. Its echo is kept in the
// file MEMORY over a restart. Lines on standard input: {"refuse": true} refuses the next action, {"deaf": true} drops it.
// What it begins it prints, one JSON object a line; the first line says that it is there.
import fs from 'node:fs';
import readline from 'node:readline';
import mqtt from 'mqtt';

const [broker, topic, memory] = process.argv.slice(2);
const print = (line) => console.log(JSON.stringify(line));
const remembered = fs.existsSync(memory) ? JSON.parse(fs.readFileSync(memory, 'utf8')) : { echo: 0, parts: Array.from({ length: 16 }, (_, n) => n + 1) };
const parts = new Set(remembered.parts); // numbers of the places that hold a part; 0: the gripper
const s = { echo: remembered.echo, busy: false, result: 'none', error: 0, partAt: 'unknown', position: 0, ready: true, seq: 0, bootId: `boot ${process.pid}` };
const next = { refuse: false, deaf: false };

// Serial numbers: b is newer than a when (b − a) mod 2³² lies in 1 … 2³¹ − 1. Every number is newer than 0.
const newer = (b, a) => { const d = (b - a) >>> 0; return a === 0 || d >= 1 && d <= 0x7fffffff; };
const exists = (place) => place >= 1 && place <= 16 || place >= 101 && place <= 116 || place === 200;

const client = mqtt.connect(broker, { protocolVersion: 5, clientId: `npm ${topic}`, clean: true });
client.on('error', (error) => { print({ error: String(error) }); process.exit(1); });

const show = () => client.publish(`${topic}/state`, JSON.stringify({ ...s, gripper: parts.has(0), seq: ++s.seq }), { qos: 1 });
const keep = () => fs.writeFileSync(memory, JSON.stringify({ echo: s.echo, parts: [...parts] }));

function end(error, partAt) {
  Object.assign(s, { busy: false, result: error ? 'error' : 'done', error, partAt });
  keep();
  show();
}

function carry({ method, from, to }) {
  const source = method === 'place' ? 0 : from;
  const target = method === 'present' ? 0 : to;
  if (!['move', 'present', 'place'].includes(method) || !exists(to) || method !== 'place' && !exists(from)) return end(1, method === 'place' ? 'gripper' : 'from');
  if (!parts.has(source)) return end(2, 'unknown');
  if (parts.has(target)) return end(3, source === 0 ? 'gripper' : 'from');
  parts.delete(source);
  parts.add(target);
  s.position = to;
  return end(0, target === 0 ? 'gripper' : 'to');
}

function refused(q) {
  if (!newer(q.actionNo, s.echo)) return `${q.actionNo} is not newer than ${s.echo}`;
  if (s.busy) return 'busy';
  if (q.method === 'void') return undefined;
  if (q.notAfter && Date.now() > Date.parse(q.notAfter)) return 'too late';
  if (next.refuse) { next.refuse = false; return 'I do not want to'; }
  return undefined;
}

function look(q) {
  s.answers = { token: q.token };
  if (q.method === 'ask') return;
  if (q.method === 'release') {
    if (q.actionNo === s.echo && !s.busy && ['done', 'error'].includes(s.result)) Object.assign(s, { result: 'none', error: 0 });
    return;
  }
  const why = refused(q);
  if (why) { s.answers.refused = why; return; }
  Object.assign(s, { echo: q.actionNo, result: q.method === 'void' ? 'void' : 'none', error: 0, partAt: 'unknown' });
  keep();
  if (q.method === 'void') return;
  s.busy = true;
  print({ begun: q.actionNo, method: q.method });
  setTimeout(() => carry(q), 20);
}

client.on('message', (_, payload, packet) => {
  if (packet.retain) return;
  const q = JSON.parse(payload);
  if (next.deaf && !['ask', 'void', 'release'].includes(q.method)) { next.deaf = false; return; }
  look(q);
  show();
});
await new Promise((resolve) => { client.once('connect', resolve); });
await client.subscribeAsync(`${topic}/request`, { qos: 1 });
setInterval(show, 200);
show();
print({ there: true });
for await (const line of readline.createInterface({ input: process.stdin })) {
  Object.assign(next, JSON.parse(line));
  print({ told: true });
}
