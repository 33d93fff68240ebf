/** Whatever the client is given: nothing throws, nothing is told that is a secret, and no more is read than is sent. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { status as Code } from "@grpc/grpc-js";
import { Client, type ClientOptions, type Report, type WaitOptions } from "../src/client.js";
import { entryOf } from "../src/turns.js";
import { FakeSidecar, proceeding, refuse } from "./server.js";

/** For the clients that are not told a usable one. */
process.env["SIDECAR_ADDRESS"] = "unix:/nowhere/agent.sock";
const PATIENT_MS = 60_000;

for (const options of [
  null, 5, "x", [], { token: 5 }, { address: Symbol("x") }, { address: Object.create(null) as object }, { rootCertificates: {} },
  { timeoutMs: 5n }, { timeoutMs: Symbol("x") }, { timeoutMs: "200" }, { timeoutMs: null },
  { get address() { throw new Error("x"); } },
] as const) {
  test(`a client can be made of anything: ${typeof options} ${options ? String(Object.keys(options)) : "null"}`, async () => {
    const client = new Client(options as ClientOptions);
    assert.equal((await client.turn()).kind, "proceed");
    assert.equal((await client.waitForOperator()).kind, "proceed");
    assert.equal(await client.close(null as never), false);
  });
}

test("a signal that is none is none", async () => {
  await using sidecar = await new FakeSidecar(proceeding).start();
  const client = new Client({ address: sidecar.address, timeoutMs: PATIENT_MS });
  const given = [null, 5, "x", {}, { signal: {} }, { signal: null }, { get signal() { throw new Error("x"); } }];
  for (const options of given as unknown as WaitOptions[]) {
    assert.equal((await client.turn({}, options)).failOpenReason, undefined);
    assert.equal((await client.waitForOperator(options)).kind, "proceed");
  }
  assert.deepEqual([sidecar.turns.length, client.giveUps.internal], [given.length, 0]);
  assert.equal(await client.close(), true);
});

for (const token of ["s3cret\u200b", "s3\ncret", "s3crét", "s3cret\x7f"]) {
  test(`a token that cannot be sent is told of, and not shown: ${JSON.stringify(token)}`, async () => {
    await using sidecar = await new FakeSidecar(proceeding).start();
    const lines: string[] = [];
    const client = new Client({ address: sidecar.address, token, log: (line) => lines.push(line) });
    const reasons = [await client.turn(), await client.turn()].map(({ failOpenReason }) => failOpenReason);
    client.detach();
    assert.deepEqual(reasons, ["connect", "connect"]);
    assert.equal(lines.length, 1);
    assert.match(lines[0] ?? "", /: the token has a character that cannot be sent\)$/);
    assert.doesNotMatch(lines[0] ?? "", /s3/);
  });
}

/** A list whose items tell that they are read. */
function watched<T>(length: number, item: T, read: (index: number) => void): T[] {
  const list = new Array<T>(length);
  for (let index = 0; index < length; index += 1) {
    Object.defineProperty(list, index, { enumerable: true, configurable: true, get: () => { read(index); return item; } });
  }
  return list;
}

for (const [name, item] of [["toolCalls", { name: "ls" }], ["failures", { kind: "TypeError" }]] as const) {
  test(`of 1,000 ${name} the first 256 are read and sent, and it counts once`, async () => {
    await using sidecar = await new FakeSidecar(proceeding).start();
    const lines: string[] = [];
    await using client = new Client({ address: sidecar.address, timeoutMs: PATIENT_MS, log: (line) => lines.push(line) });
    let last = 0;
    const report = { [name]: watched(1000, item, (index) => { last = Math.max(last, index); }), no_field: 1 };
    await client.turn(report as Report);
    assert.deepEqual([last, sidecar.turns[0]?.[name].length, client.giveUps.internal], [255, 256, 1]);
    assert.match(lines[0] ?? "", /: cannot be sent as given: Turn\.no_field, over 256 in a list$/);
    await client.turn({ [name]: Array.from({ length: 256 }, () => item) });
    assert.deepEqual([sidecar.turns[1]?.[name].length, client.giveUps.internal], [256, 1]);
  });
}

test("bytes where a text belongs are left out as one", { timeout: PATIENT_MS }, async () => {
  await using sidecar = await new FakeSidecar(proceeding).start();
  await using client = new Client({ address: sidecar.address, timeoutMs: PATIENT_MS, log: () => undefined });
  const value = Buffer.alloc(16_000_000, "x"); // as execSync gives it; to try each byte would take minutes
  const row = { name: "bash", result: { case: "resultText", value }, arguments: { case: "argumentsJson", value: { rows: [value] } } };
  await client.turn({ text: "t", toolCalls: [row] } as unknown as Report);
  await client.turn({ toolCalls: value } as unknown as Report);
  assert.deepEqual(sidecar.turns.map(({ toolCalls }) => toolCalls.map(({ name }) => name)), [["bash"], []]);
  assert.equal(client.giveUps.internal, 2);
});

test("labels fit into a message", async () => {
  await using sidecar = await new FakeSidecar(proceeding).start();
  const many = Array.from({ length: 5000 }, (_, at) => [`k${String(at).padStart(4, "0")}`, "v".repeat(2000)]);
  const labels = { ...(Object.fromEntries(many) as object), case: "argumentsJson", $typeName: "x", ["a".repeat(2000)]: "v" };
  await using client = new Client({ address: sidecar.address, timeoutMs: PATIENT_MS, labels });
  assert.equal((await client.turn({ said: { case: "text", value: "v".repeat(2000) } })).failOpenReason, undefined);
  const [open] = sidecar.seen.flatMap((message) => (message.case === "open" ? [message.value] : []));
  const sent = Object.entries(open?.labels ?? {});
  assert.deepEqual([sent.length, open?.labels["case"], sent.at(-1)?.[0]], [1024, "argumentsJson", "k1020"]);
  assert.ok(sent.every((label) => label.every((text) => text.length <= 1024)));
  assert.equal(sidecar.turns[0]?.said.value, "v".repeat(2000));
});

test("a session has a name, whatever is given for one", () => {
  for (const [given, name] of [["run", /^run$/], [12345, /^12345$/], ["", /^[0-9a-f]{32}$/], [{}, /^[0-9a-f]{32}$/]] as const) {
    const client = new Client({ sessionId: given as string, log: () => undefined });
    assert.match(client.sessionId, name);
    client.detach();
  }
});

const thrown = (): never => { throw new Error("the host's own"); };
const unreadable = { get: thrown, ownKeys: thrown, has: thrown, getPrototypeOf: thrown };

for (const [what, report] of [
  ["a getter that throws", { get actor() { return thrown(); }, toolCalls: [{ name: "ls", get result() { return thrown(); } }] }],
  ["a proxy that throws", { usage: new Proxy({}, unreadable), failures: new Proxy([], unreadable), toolCalls: [{ name: "ls" }] }],
  ["a list of 12 lists of 12 lists and so on", { usage: { x: nested(7) }, toolCalls: [{ name: "ls", arguments: nested(7) }] }],
  ["such a list where a text belongs", { actor: nested(7), toolCalls: [{ name: "ls" }] }],
] as const) {
  test(`what else is reported goes beside ${what}`, { timeout: PATIENT_MS }, async () => {
    await using sidecar = await new FakeSidecar(proceeding).start();
    await using client = new Client({ address: sidecar.address, timeoutMs: PATIENT_MS, log: () => undefined });
    await client.turn(report as unknown as Report);
    assert.deepEqual([sidecar.turns[0]?.toolCalls.map(({ name }) => name), client.giveUps.internal], [["ls"], 1]);
  });
}

function nested(depth: number): unknown {
  return depth ? Array<unknown>(12).fill(nested(depth - 1)) : "x";
}

test("of texts of 20 MB in each of 256 calls no more is copied than can be sent", { timeout: PATIENT_MS }, async () => {
  await using sidecar = await new FakeSidecar(proceeding).start();
  await using client = new Client({ address: sidecar.address, timeoutMs: PATIENT_MS });
  const long = "x".repeat(20 * 1024 * 1024);
  const call = { name: "ls", arguments: { case: "argumentsJson", value: long }, result: { case: "resultText", value: long } } as const;
  const directive = await client.turn({ toolCalls: Array<typeof call>(256).fill(call) });
  const calls = sidecar.turns[0]?.toolCalls ?? [];
  assert.deepEqual([directive.failOpenReason, calls.length, calls[255]?.arguments.value?.length], [undefined, 256, 16]);
  assert.match(calls[255]?.result.value ?? "", /^x+\n\[\.\.\. of [0-9]+ characters the middle is left out \.\.\.\]\nx+$/);
});

test("a turn that is kept is no larger than one that can be sent", () => {
  const value = "x".repeat(64 * 1024);
  const call = { id: value, name: value, result: { case: "resultText", value } } as const;
  const { entry } = entryOf({ toolCalls: Array<typeof call>(256).fill(call) }, new Date(), new Date());
  assert.ok(entry.body.length > 1024 * 1024 && entry.body.length < 4 * 1024 * 1024, String(entry.body.length));
});

test("a log may let go of the client, and is not waited for by who makes one", async () => {
  await using sidecar = await new FakeSidecar((stream) => { refuse(stream, Code.UNAVAILABLE, "DRAINING"); }).start();
  const told: string[] = [];
  const log = (line: string) => { told.push(line); client.detach(); void client.turn(); };
  const client = new Client({ address: sidecar.address, log });
  while (told.length === 0) await setTimeout(1);
  await setTimeout(200); // four times the pause before the next stream
  assert.deepEqual([sidecar.streams, told.length, client.giveUps.draining > 0], [1, 1, true]);
  const early = new Client({ address: "nowhere", log });
  assert.equal(told.length, 1);
  early.detach();
});
