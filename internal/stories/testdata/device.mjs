// A device of wire contract 1 by the npm package mqtt: node device.mjs BROKER SERIAL...
//
// It remembers each command id with its answer, runs a command once, answers on the response topic with the
// correlation data it was given, then reports its real state. Its sensors speak when a line on standard input
// says so: {"serial": …, "values": {…}}. What it does it prints, one JSON object a line.
//
// "SERIAL:deaf" loses the first answer and report of each command, as a device on a bad line does.
import readline from 'node:readline';
import mqtt from 'mqtt';

const [broker, ...names] = process.argv.slice(2);
const print = (line) => console.log(JSON.stringify(line));
const devices = new Map();

class Device {
  constructor(serial, deaf) {
    this.serial = serial;
    this.deaf = deaf;
    this.root = `surehand/v1/${serial}`;
    this.bootId = `boot-${process.pid}`;
    this.seq = 0;
    this.state = {};
    this.done = new Map(); // command id → answer and report
    this.client = mqtt.connect(broker, {
      protocolVersion: 5,
      clientId: `npm-${serial}`,
      will: { topic: `${this.root}/status`, payload: JSON.stringify({ online: false, bootId: this.bootId }), qos: 1, retain: true },
    });
    this.client.on('error', (error) => { print({ serial, error: String(error) }); process.exit(1); });
    this.client.on('message', (topic, payload, packet) => this.request(payload, packet));
  }

  async start() {
    await new Promise((resolve) => this.client.once('connect', resolve));
    await this.client.subscribeAsync(`${this.root}/rpc/request`, { qos: 1 });
    const capabilities = ['dedupe', 'clock'];
    await this.publish('status', { online: true, bootId: this.bootId, capabilities }, { retain: true });
  }

  publish(channel, body, options) {
    return this.client.publishAsync(channel.includes('/') ? channel : `${this.root}/${channel}`, JSON.stringify(body), { qos: 1, ...options });
  }

  async request(payload, packet) {
    const command = JSON.parse(payload);
    const first = !this.done.has(command.commandId);
    if (first) this.done.set(command.commandId, this.run(command));
    print({ serial: this.serial, heard: command.commandId, attempt: command.attempt, ran: first, params: command.params, retained: packet.retain });
    if (first && this.deaf) return;
    const { answer, report } = this.done.get(command.commandId);
    const { responseTopic, correlationData } = packet.properties;
    await this.publish(responseTopic, { ...answer, attempt: command.attempt }, { properties: { correlationData } });
    if (report) await this.publish('state', { ...report, seq: ++this.seq, bootId: this.bootId });
  }

  run({ commandId, method, params, deadlineAt }) {
    const refuse = (resultCode, message) => ({ answer: { commandId, status: 'rejected', resultCode, message } });
    if (Date.now() > Date.parse(deadlineAt)) return refuse('busy', 'too late');
    if (method !== 'set') return refuse('not_supported', `no method ${method}`);
    if (params.level > 90) return refuse('invalid_param', 'this valve opens to 90 % at most');
    Object.assign(this.state, params);
    return {
      answer: { commandId, status: 'accepted', resultCode: 'ok' },
      report: { commandId, reportedState: params, appliedAt: new Date().toISOString() },
    };
  }

  sense(values) {
    return this.publish('telemetry', { ts: Date.now(), values, seq: ++this.seq, bootId: this.bootId });
  }
}

for (const name of names) {
  const [serial, habit] = name.split(':');
  const device = new Device(serial, habit === 'deaf');
  devices.set(serial, device);
  await device.start();
}
print({ ready: true });
for await (const line of readline.createInterface({ input: process.stdin })) {
  const { serial, values } = JSON.parse(line);
  await devices.get(serial).sense(values);
}
for (const device of devices.values()) await device.client.endAsync();
