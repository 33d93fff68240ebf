/** The client against real servers: good ones, bad ones, and none. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { getMaxListeners, setMaxListeners } from "node:events";
import { createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, test } from "node:test";
import { setImmediate as turnOfLoop } from "node:timers/promises";
import { promisify } from "node:util";
import { create, toJsonString } from "@bufbuild/protobuf";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { timestampMs } from "@bufbuild/protobuf/wkt";
import { status as Code } from "@grpc/grpc-js";
import {
  Cause, Client, DecisionSchema, Outcome, RunOutcome, TurnSchema,
  type ClientOptions, type Directive, type Report, type ReportedCall, type ReportedFailure,
} from "../src/client.js";
import { MS } from "../src/stream.js";
import { answering, decision, FakeSidecar, opened, proceeding, refuse, send, type Behaviour, type Stream } from "./server.js";

const TURN = { toolCalls: [{ name: "pytest", outcome: Outcome.ERROR }], usage: { inputTokens: 1000n } };
/** What is asserted is what came, not when: a busy machine has all the time that a client can wait. */
const PATIENT_MS = 60_000;
/** Three timeouts, and the rest is for a busy machine: far less than the twenty seconds of a hundred. */
const OUTAGE_MS_MAX = 6000;

const BOUNDS = { ...MS };
afterEach(() => { Object.assign(MS, BOUNDS); });

function quiet(options: ClientOptions): Client {
  return new Client({ log: () => undefined, ...options });
}

async function started(behaviour: Behaviour): Promise<FakeSidecar> {
  return new FakeSidecar(behaviour).start();
}

function folder(): string {
  return mkdtempSync(join(tmpdir(), "client-"));
}

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await turnOfLoop();
}

/** Reports turns; the reasons of those that had no decision, and what it all took. */
async function reported(client: Client, count: number): Promise<{ reasons: Set<string>; tookMs: number }> {
  const began = performance.now();
  const directives: Directive[] = [];
  for (let turn = 0; turn < count; turn += 1) directives.push(await client.turn(TURN));
  const reasons = directives.map(({ kind, failOpenReason }) => `${kind} ${failOpenReason ?? "decided"}`);
  return { reasons: new Set(reasons), tookMs: performance.now() - began };
}

test("a turn gets the decision of its own sequence", async () => {
  await using sidecar = await started(answering(({ sequence }) =>
    ({ case: "rotate", value: { instruction: `other than ${String(sequence)}` } })));
  await using client = quiet({ address: sidecar.address, timeoutMs: PATIENT_MS });
  await client.turn(TURN);
  const directive = await client.turn(TURN);
  assert.equal(directive.kind, "rotate");
  assert.equal(directive.instruction, "other than 2");
  assert.equal(directive.failOpenReason, undefined);
  assert.deepEqual(sidecar.turns.map(({ sequence, directiveSeen }) => [sequence, directiveSeen]), [[1, 0], [2, 1]]);
});

test("a turn carries its time where the agent does not say one", async () => {
  await using sidecar = await started(proceeding);
  await using client = quiet({ address: sidecar.address, timeoutMs: PATIENT_MS });
  await client.turn(TURN);
  assert.ok(sidecar.turns[0]?.startTime && sidecar.turns[0].endTime);
});

test("a whole message stays the caller's, and has another time each time that it is reported", async () => {
  await using sidecar = await started(proceeding);
  await using client = quiet({ address: sidecar.address, timeoutMs: PATIENT_MS });
  const turn = create(TurnSchema, TURN);
  for (let report = 0; report < 2; report += 1) await client.turn(turn);
  assert.deepEqual(turn, create(TurnSchema, TURN));
  const [first, second] = sidecar.turns;
  assert.ok(first?.endTime && second?.startTime);
  assert.deepEqual(second.startTime, first.endTime);
});

test("close says how the run ended and is heard", async () => {
  await using sidecar = await started(proceeding);
  const client = quiet({ address: sidecar.address, timeoutMs: PATIENT_MS });
  await client.turn(TURN);
  assert.equal(await client.close({ outcome: RunOutcome.SUCCEEDED }), true);
  const last = sidecar.seen.at(-1);
  assert.ok(last?.case === "close" && last.value.outcome === RunOutcome.SUCCEEDED);
  assert.equal((await client.turn(TURN)).failOpenReason, "internal");
});

test("an abort ends the waiting, and the decision goes with the next report", async () => {
  let answer = () => undefined as unknown;
  await using sidecar = await started((stream, message) => {
    if (message.case === "open") opened(stream);
    if (message.case !== "turn") return;
    const { sequence } = message.value;
    if (sequence === 1) answer = () => { decision(stream, sequence, { case: "halt", value: { reason: "enough" } }); };
    else decision(stream, sequence, { case: "proceed", value: {} });
  });
  await using client = quiet({ address: sidecar.address, timeoutMs: PATIENT_MS });
  const abort = new AbortController();
  const first = client.turn(TURN, { signal: abort.signal });
  await until(() => sidecar.turns.length === 1);
  abort.abort(new Error("the user is gone"));
  await assert.rejects(first, /the user is gone/);
  answer();
  const directive = await client.turn(TURN);
  assert.deepEqual([directive.kind, directive.late, directive.instruction], ["halt", true, "enough"]);
  assert.equal(sidecar.streams, 1);
});

test("an aborted signal still has the turn reported", async () => {
  await using sidecar = await started(proceeding);
  await using client = quiet({ address: sidecar.address, timeoutMs: PATIENT_MS });
  await assert.rejects(client.turn(TURN, { signal: AbortSignal.abort() }), { name: "AbortError" });
  await client.turn(TURN);
  assert.equal(sidecar.turns.length, 2);
});

test("a directive from the future is a proceed, and has its decision", async () => {
  const data = new BinaryWriter().string("leap").finish();
  await using sidecar = await started((stream, message) => {
    if (message.case === "open") opened(stream);
    const future = create(DecisionSchema, { sequence: 1, cause: Cause.TURN });
    future.$unknown = [{ no: 77, wireType: WireType.LengthDelimited, data }];
    if (message.case === "turn") send(stream, future);
  });
  await using client = quiet({ address: sidecar.address, timeoutMs: PATIENT_MS });
  const { kind, failOpenReason, decision: message } = await client.turn(TURN);
  assert.deepEqual([kind, failOpenReason, message?.sequence], ["proceed", undefined, 1]);
});

test("a decision of 5 MB is survived", async () => {
  const instruction = "x".repeat(5 * 1024 * 1024);
  await using sidecar = await started(answering(({ sequence }) =>
    ({ case: "rotate", value: { instruction: sequence === 1 ? instruction : "" } })));
  await using client = quiet({ address: sidecar.address, timeoutMs: PATIENT_MS });
  assert.equal((await client.turn(TURN)).instruction.length, instruction.length);
  assert.equal((await client.turn(TURN)).failOpenReason, undefined);
});

test("a turn of 20 MB is cut until it fits", async () => {
  await using sidecar = await started(proceeding);
  await using client = quiet({ address: sidecar.address, timeoutMs: PATIENT_MS });
  const call = { name: "cat", result: { case: "resultText", value: `a${"é".repeat(200_000)}z` } } as const;
  const args = { case: "argumentsJson", value: JSON.stringify("y".repeat(100_000)) } as const;
  await client.turn({ toolCalls: Array.from({ length: 50 }, () => ({ ...call, arguments: args })), usage: { inputTokens: 7n } });
  const [first] = sidecar.turns[0]?.toolCalls ?? [];
  assert.equal(sidecar.turns[0]?.usage?.inputTokens, 7n);
  assert.match(first?.arguments.value ?? "", /^[0-9a-f]{16}$/);
  const text = first?.result.value ?? "";
  assert.ok(Buffer.byteLength(text) <= 64 * 1024 && text.startsWith("aé") && text.endsWith("éz") && !text.includes("\uFFFD"));
});

test("what cannot be sent is left out and counted, and the rest goes", async () => {
  await using sidecar = await started(proceeding);
  const told: string[] = [];
  await using client = quiet({ address: sidecar.address, timeoutMs: PATIENT_MS, onGiveUp: (reason) => { told.push(reason); throw new Error("x"); } });
  const report = { approach: "a", usage: { inputTokens: "many", outputTokens: 5n }, toolCalls: [{ name: 7 }, { name: "ls" }] };
  const directive = await client.turn(report as never);
  assert.equal(directive.failOpenReason, undefined);
  assert.deepEqual(told, ["internal"]);
  const [turn] = sidecar.turns;
  assert.deepEqual([turn?.approach, turn?.usage?.outputTokens, turn?.toolCalls.at(-1)?.name], ["a", 5n, "ls"]);
});

test("a number that no turn can have is left out and counted, once a turn", async () => {
  await using sidecar = await started(proceeding);
  await using client = quiet({ address: sidecar.address, timeoutMs: PATIENT_MS });
  await client.turn({ confidence: NaN, usage: { inputTokens: -5n, outputTokens: 5n, costUsd: Infinity } });
  const [turn] = sidecar.turns;
  const { inputTokens, outputTokens, costUsd } = turn?.usage ?? {};
  assert.deepEqual([turn?.confidence, inputTokens, outputTokens, costUsd], [undefined, undefined, 5n, undefined]);
  assert.equal(client.giveUps.internal, 1);
});

test("half a character goes as U+FFFD and is counted", async () => {
  await using sidecar = await started(proceeding);
  await using client = quiet({ address: sidecar.address, timeoutMs: PATIENT_MS });
  await client.turn({ toolCalls: [{ name: "a\ud800b" }, { name: "ls" }], said: { case: "text", value: "\udc00" } });
  const [turn] = sidecar.turns;
  assert.deepEqual([turn?.toolCalls.map(({ name }) => name), turn?.said.value], [["a\uFFFDb", "ls"], "\uFFFD"]);
  assert.equal(client.giveUps.internal, 1);
});

for (const [what, report, path] of [
  ["a key that is no field", { tool_calls: [{ name: "x" }] }, "Turn.tool_calls"],
  ["a key of a call that is no field", { toolCalls: [{ name: "x", args: {} }, { args: {} }] }, "Turn.toolCalls.args"],
  ["a key of a whole message that is no field", Object.assign(create(TurnSchema), { calls: 1 }), "Turn.calls"],
  ["a choice by a text alone", { toolCalls: [{ arguments: "{}" }] }, "Turn.toolCalls.arguments"],
  ["a choice of what is not known", { said: { case: "words" } }, "Turn.said.case"],
  ["a choice without a case", { said: { text: "x" } }, "Turn.said.text"],
  ["arguments that are no JSON yet", { toolCalls: [{ arguments: { case: "argumentsJson", value: { q: 1 } } }] },
    "Turn.toolCalls.arguments.case, Turn.toolCalls.arguments.value"],
  ["a choice without its value", { said: { case: "text" } }, "Turn.said.case"],
  ["a list that is none", { toolCalls: 5 }, "Turn.toolCalls"],
  ["a message that is none", { usage: 5 }, "Turn.usage"],
  ["a name that is none", { failures: [{ kind: {} }] }, "Turn.failures.kind"],
  ["an object in place of a text", { finalAnswer: { answer: 42 }, actor: ["x"] }, "Turn.finalAnswer, Turn.actor"],
  ["a text that is a time", { model: 5, approach: "a", actor: new Date() }, "Turn.model, Turn.actor"],
  ["a time that is none", { startTime: new Date(NaN), endTime: "now" }, "Turn.startTime, Turn.endTime"],
  ["a report that is none", "ls", "Turn"],
] as const) {
  test(`${what} is counted each time, told once, and the rest goes`, async () => {
    await using sidecar = await started(proceeding);
    const lines: string[] = [];
    await using client = quiet({ address: sidecar.address, timeoutMs: PATIENT_MS, log: (line) => lines.push(line) });
    const given: unknown = typeof report === "string" ? report : Object.assign(report, { approach: "a" });
    for (let turn = 0; turn < 2; turn += 1) await client.turn(given as Report);
    assert.equal(client.giveUps.internal, 2);
    assert.deepEqual(lines, [`agent-sidecar-client (${sidecar.address}): cannot be sent as given: ${path}`]);
    assert.deepEqual(sidecar.turns.map(({ approach }) => approach), Array(2).fill(typeof report === "string" ? "" : "a"));
    assert.deepEqual(sidecar.turns.map(({ said }) => said.case), [undefined, undefined]);
    assert.ok(sidecar.turns.every((turn) => !toJsonString(TurnSchema, turn).includes("[object ")));
    assert.ok(sidecar.turns.every(({ startTime }) => startTime && startTime.seconds > 0n));
  });
}

test("a Date is the time that it is", async () => {
  await using sidecar = await started(proceeding);
  await using client = quiet({ address: sidecar.address, timeoutMs: PATIENT_MS });
  await client.turn({ startTime: new Date(1_700_000_000_500), endTime: new Date(1_700_000_001_000), approach: "a" } as never);
  const [turn] = sidecar.turns;
  assert.ok(turn?.startTime && turn.endTime);
  const { startTime, endTime, approach } = turn;
  assert.deepEqual([timestampMs(startTime), timestampMs(endTime), approach], [1_700_000_000_500, 1_700_000_001_000, "a"]);
  assert.equal(client.giveUps.internal, 0);
});

test("a label and a final answer that are objects are told, not sent", async () => {
  await using sidecar = await started(proceeding);
  const lines: string[] = [];
  const options = { address: sidecar.address, timeoutMs: PATIENT_MS, labels: { team: {}, env: "x" }, log: (line: string) => lines.push(line) };
  const client = quiet(options as unknown as ClientOptions);
  await client.turn(TURN);
  assert.equal(await client.close({ finalAnswer: {} } as never), true);
  const [first, last] = [sidecar.seen[0], sidecar.seen.at(-1)];
  assert.ok(first?.case === "open" && last?.case === "close");
  assert.deepEqual([first.value.labels, last.value.finalAnswer], [{ env: "x" }, ""]);
  assert.deepEqual(lines.map((line) => line.split(": ").at(-1)), ["Open.labels.team", "Close.finalAnswer"]);
});

test("what is left out, unset or another kind of number is no fault", async () => {
  await using sidecar = await started(proceeding);
  await using client = quiet({ address: sidecar.address, timeoutMs: PATIENT_MS, labels: { case: "seven", $id: "1" } });
  const usage = { inputTokens: 1200, outputTokens: "5", costUsd: 0.1 };
  const toolCalls = [{ name: "ls", arguments: { case: "argumentsJson", value: "" }, result: { case: undefined }, outcome: 0 }];
  await client.turn({ usage, toolCalls, failures: [], said: undefined, approach: null, userInput: false, endTime: {} } as never);
  await client.turn(sidecar.turns[0]);
  assert.equal(client.giveUps.internal, 0);
  assert.equal(sidecar.turns[0]?.usage?.inputTokens, 1200n);
  assert.ok(sidecar.seen[0]?.case === "open" && sidecar.seen[0].value.labels["case"] === "seven");
});

test("an option that is none is counted and told", async () => {
  await using sidecar = await started(proceeding);
  const lines: string[] = [];
  const options = { address: sidecar.address, timeoutMs: PATIENT_MS, agent_name: "x", agentName: "y", model: undefined };
  await using client = quiet({ ...options, onGiveUp: undefined, token: "t", log: (line) => lines.push(line) });
  await client.turn(TURN);
  assert.deepEqual([client.giveUps.internal, lines.length], [1, 1]);
  assert.match(lines[0] ?? "", /: cannot be sent as given: Open\.agent_name$/);
  assert.ok(sidecar.seen[0]?.case === "open" && sidecar.seen[0].value.agentName === "y");
});

/** A sidecar whose first session was closed before; it says so once it may. */
function closedBefore(may: Promise<void>): Behaviour {
  return (stream, message) => {
    if (message.case !== "open" || message.value.previousSessionId === "run") { proceeding(stream, message); return; }
    void may.then(() => { refuse(stream, Code.FAILED_PRECONDITION, "SESSION_CLOSED"); });
  };
}

for (const turns of [1, 4]) { // so many are not waited for any more
  test(`the name of a closed session loses no turn and no goodbye (turns: ${String(turns)})`, async () => {
    Object.assign(MS, { closeMin: PATIENT_MS });
    await using sidecar = await started(closedBefore(Promise.resolve()));
    const client = quiet({ address: sidecar.address, timeoutMs: PATIENT_MS, sessionId: "run" });
    const { reasons } = await reported(client, turns);
    assert.deepEqual(reasons, new Set(["proceed rejected"]));
    assert.equal(await client.close(), true);
    assert.deepEqual([sidecar.turns.length, sidecar.seen.at(-1)?.case], [turns, "close"]);
  });
}

test("a goodbye that was not said is said in the session that follows", async () => {
  let allow = () => undefined as unknown;
  await using sidecar = await started(closedBefore(new Promise((resolve) => { allow = resolve; })));
  const client = quiet({ address: sidecar.address, timeoutMs: 0, sessionId: "run" });
  await client.turn(TURN);
  const closing = client.close();
  await until(() => sidecar.seen.length === 1);
  allow();
  assert.equal(await closing, true);
  assert.deepEqual([sidecar.turns.length, sidecar.seen.at(-1)?.case], [1, "close"]);
});

test("an open stream is worth a goodbye, whatever turns have missed", async () => {
  await using sidecar = await started(proceeding);
  const client = quiet({ address: sidecar.address, timeoutMs: 0 });
  await reported(client, 4);
  await until(() => sidecar.turns.length === 4);
  assert.equal(await client.close(), true);
});

test("nothing follows the goodbye, though it fills the stream", async () => {
  await using sidecar = await started(proceeding);
  for (const turns of [14, 15, 16]) { // Node.js lets 16 messages wait to be written
    const client = quiet({ address: sidecar.address, timeoutMs: PATIENT_MS });
    await client.turn(TURN);
    sidecar.seen.length = 0;
    const all = Array.from({ length: turns }, () => client.turn(TURN)); // give-ups, once the goodbye is said
    assert.equal(await client.close(), true);
    await Promise.all(all);
    assert.equal(sidecar.seen.at(-1)?.case, "close");
    assert.equal(sidecar.turns.length, turns);
  }
});

test("reports after the goodbye do not keep it from being heard", async () => {
  await using sidecar = await started(proceeding);
  const client = quiet({ address: sidecar.address, timeoutMs: PATIENT_MS });
  await client.turn(TURN);
  const closing = client.close();
  const { reasons } = await reported(client, 4);
  assert.deepEqual(reasons, new Set(["proceed internal"]));
  assert.equal(await closing, true);
});

test("what is reported has a type of its own, and an option may be undefined", async () => {
  const toolCalls: ReportedCall[] = [];
  const failures: ReportedFailure[] = [];
  toolCalls.push({ name: "ls", arguments: { case: "argumentsJson", value: "{}" } });
  failures.push({ kind: "TypeError" });
  const client = quiet({ address: "unix:/nowhere/agent.sock", agentName: undefined, labels: undefined, limits: undefined });
  assert.equal((await client.turn({ toolCalls, failures })).kind, "proceed");
  assert.equal(client.giveUps.internal, 0);
  client.detach();
});

test("many turns share a signal without a warning, and a limit that the host has set stays", async () => {
  const warnings: Error[] = [];
  const noted = (warning: Error) => warnings.push(warning);
  process.on("warning", noted);
  await using client = quiet({ address: "unix:/nowhere/agent.sock" });
  const { signal } = new AbortController();
  await Promise.all(Array.from({ length: 20 }, () => client.turn(TURN, { signal })));
  const own = new AbortController().signal;
  for (const limit of [0, 50]) {
    setMaxListeners(limit, own);
    await client.turn(TURN, { signal: own });
  }
  await turnOfLoop(); // warnings are told between two of them
  process.off("warning", noted);
  assert.deepEqual(warnings, []);
  assert.equal(getMaxListeners(own), 50);
});

test("a callback that rejects ends nothing", async () => {
  const rejections: unknown[] = [];
  const noted = (reason: unknown) => rejections.push(reason);
  process.on("unhandledRejection", noted);
  const rejecting = async () => { await turnOfLoop(); throw new Error("the host's own"); };
  const client = new Client({ address: "unix:/nowhere/agent.sock", log: rejecting, onGiveUp: rejecting });
  await client.turn(TURN);
  client.detach();
  for (let round = 0; round < 3; round += 1) await turnOfLoop(); // rejections are told between two of them
  process.off("unhandledRejection", noted);
  assert.deepEqual(rejections, []);
});

test("no option makes the making of a client fail", async () => {
  for (const options of [{ address: 5 }, { sessionId: 5 }, { labels: null }, { timeoutMs: "x" }, { limits: 7 }, { log: 1 }]) {
    const client = quiet({ address: "unix:/nowhere/agent.sock", ...(options as unknown as ClientOptions) });
    assert.equal((await client.turn(TURN)).kind, "proceed");
    client.detach();
  }
});

test("nothing that is reported makes a report fail", async () => {
  await using client = quiet({ address: "unix:/nowhere/agent.sock" });
  for (const report of [null, 5, "x", [], { toolCalls: 5 }, { said: { case: "text", value: 9 } }]) {
    assert.equal((await client.turn(report as never)).kind, "proceed");
  }
});

test("an operator's word is waited for", async () => {
  await using sidecar = await started((stream, message) => {
    if (message.case === "open") opened(stream);
    if (message.case !== "turn") return;
    decision(stream, 1, { case: "rotate", value: { instruction: "ask", waitMax: { seconds: 60n } } });
    decision(stream, 1, { case: "proceed", value: { notice: "go on" } }, Cause.OPERATOR);
  });
  await using client = quiet({ address: sidecar.address, timeoutMs: PATIENT_MS });
  let directive = await client.turn(TURN);
  if (directive.kind === "rotate") directive = await client.waitForOperator();
  assert.deepEqual([directive.kind, directive.instruction, directive.late], ["proceed", "go on", false]);
});

/** Asks for an hour's wait for a person, and gives the stream of each session to end. */
function pausing(streams: Stream[], opens: string[] = []): Behaviour {
  return (stream, message) => {
    if (message.case === "open") opens.push(message.value.previousSessionId);
    if (message.case === "open") opened(stream);
    if (message.case !== "turn") return;
    streams.push(stream);
    decision(stream, message.value.sequence, { case: "rotate", value: { instruction: "ask", waitMax: { seconds: 3600n } } });
  };
}

for (const asks of ["before", "after"] as const) {
  test(`nobody is waited for in a session that was closed (the agent asks ${asks} it)`, async () => {
    const [streams, opens]: [Stream[], string[]] = [[], []];
    await using sidecar = await started(pausing(streams, opens));
    await using client = quiet({ address: sidecar.address, timeoutMs: PATIENT_MS, sessionId: "run" });
    await client.turn(TURN);
    const early = asks === "before" ? client.waitForOperator() : undefined;
    for (const stream of streams) refuse(stream, Code.FAILED_PRECONDITION, "SESSION_CLOSED");
    await until(() => opens.length === 2);
    const { kind, failOpenReason } = await (early ?? client.waitForOperator());
    assert.deepEqual([kind, failOpenReason, opens[1]], ["proceed", undefined, "run"]);
    assert.deepEqual(Object.values(client.giveUps), [0, 0, 0, 0, 0, 0]);
  });
}

for (const reason of ["SESSION_NOT_FOUND", "SEQUENCE_CONFLICT"]) {
  test(`a person is waited for in a session that is told all turns again (${reason})`, async () => {
    const streams: Stream[] = [];
    await using sidecar = await started(pausing(streams));
    await using client = quiet({ address: sidecar.address, timeoutMs: PATIENT_MS });
    await client.turn(TURN);
    const waiting = client.waitForOperator();
    for (const stream of streams) refuse(stream, Code.NOT_FOUND, reason);
    await until(() => streams.length === 2);
    for (const stream of streams.slice(1)) decision(stream, 1, { case: "halt", value: { reason: "enough" } }, Cause.OPERATOR);
    assert.equal((await waiting).instruction, "enough");
  });
}

test("what a turn has missed is taken off the time of the goodbye", async () => {
  // A minute, so that a busy machine tells it from what must remain. The second stream is not answered.
  Object.assign(MS, { close: PATIENT_MS, attempt: PATIENT_MS });
  await using sidecar = await started((stream, message) => {
    if (message.case === "open" && sidecar.streams === 1) opened(stream);
    if (message.case === "turn") refuse(stream, Code.UNAVAILABLE, "");
  });
  const client = quiet({ address: sidecar.address, timeoutMs: PATIENT_MS });
  assert.equal((await client.turn(TURN)).failOpenReason, "stream");
  await until(() => sidecar.seen.length === 3);
  const began = performance.now();
  assert.equal(await client.close(), false);
  const tookMs = performance.now() - began;
  assert.ok(tookMs > 350 && tookMs < OUTAGE_MS_MAX, `${String(tookMs)} ms`);
});

test("turns that were reported while the sidecar was away are sent once it is back", async () => {
  const sidecar = new FakeSidecar(proceeding);
  await using client = quiet({ address: sidecar.address });
  const { reasons } = await reported(client, 5);
  assert.deepEqual(reasons, new Set(["proceed connect"]));
  await sidecar.start();
  await until(() => sidecar.turns.length === 5);
  assert.deepEqual(sidecar.turns.map(({ sequence }) => sequence), [1, 2, 3, 4, 5]);
  await sidecar[Symbol.asyncDispose]();
});

test("within an outage the log tells of a refusal once, and of an end for good", async () => {
  const codes = [Code.UNAVAILABLE, Code.UNAVAILABLE, Code.UNAUTHENTICATED, Code.INVALID_ARGUMENT];
  await using sidecar = await started((stream, message) => {
    if (message.case === "open") refuse(stream, codes.shift() ?? Code.INVALID_ARGUMENT, "");
  });
  const lines: string[] = [];
  await using client = quiet({ address: sidecar.address, log: (line) => lines.push(line) });
  await client.turn(TURN);
  await until(() => codes.length === 0 && lines.length === 3);
  assert.deepEqual(lines.map((line) => /\((\w+):/.exec(line.split(": ").slice(1).join(": "))?.[1]), ["connect", "rejected", "rejected"]);
});

const DIRECTORY = folder();
mkdirSync(join(DIRECTORY, "agent.sock"));
writeFileSync(join(DIRECTORY, "file"), "");
for (const [what, address] of [
  ["a socket that is not there", "unix:/nowhere/agent.sock"],
  ["a socket that is a directory", `unix:${DIRECTORY}/agent.sock`],
  ["a socket that is a file", `unix:${DIRECTORY}/file`],
  ["a path of 108 bytes", `unix:/${"x".repeat(107)}`],
  ["no address at all", "nonsense"],
  ["a port that nobody listens on", "127.0.0.1:1"],
] as const) {
  test(`${what} is a connect give-up of each turn, and costs next to nothing`, async () => {
    const lines: string[] = [];
    const client = new Client({ address, log: (line) => lines.push(line) });
    const { reasons, tookMs } = await reported(client, 100);
    assert.deepEqual(reasons, new Set(["proceed connect"]));
    assert.ok(tookMs < OUTAGE_MS_MAX, `${String(tookMs)} ms`);
    assert.equal(client.giveUps.connect, 100);
    assert.equal(lines.length, 1);
    assert.ok(lines[0]?.startsWith(`agent-sidecar-client (${address}): `) && !lines[0].includes("Resolution note"), lines[0]);
    assert.equal(await client.close(), false);
  });
}

for (const [what, greet] of [
  ["a server that speaks HTTP/1", (socket: Socket) => socket.end("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")],
  ["a server that says nothing", () => undefined],
  ["a server that hangs up", (socket: Socket) => socket.destroy()],
] as const) {
  test(`${what} costs an agent a second in all, and is let go of`, async () => {
    const sockets = new Set<Socket>();
    const server = createServer((socket) => {
      sockets.add(socket.on("close", () => sockets.delete(socket)).on("error", () => undefined));
      greet(socket.resume());
    });
    const path = join(folder(), "agent.sock");
    await listening(server, path);
    const client = quiet({ address: `unix:${path}` });
    const { reasons, tookMs } = await reported(client, 100);
    assert.deepEqual(reasons, new Set(["proceed connect"]));
    assert.ok(tookMs < OUTAGE_MS_MAX, `${String(tookMs)} ms`);
    client.detach();
    await until(() => sockets.size === 0);
    server.close();
  });
}

async function listening(server: Server, path: string): Promise<void> {
  await new Promise<void>((resolve) => { server.listen(path, resolve); });
}

for (const isThere of [true, false]) {
  test(`an agent that forgets to close ends all the same (a sidecar: ${String(isThere)})`, async () => {
    await using sidecar = await started(proceeding);
    const address = isThere ? sidecar.address : `unix:${folder()}/agent.sock`;
    const agent = `
      import { Client } from ${JSON.stringify(new URL("../src/client.js", import.meta.url))};
      const client = new Client({ address: ${JSON.stringify(address)}, timeoutMs: ${String(PATIENT_MS)} });
      const { failOpenReason } = await client.turn();
      process.stdout.write(String(failOpenReason));`;
    const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", agent]);
    assert.equal(stdout, isThere ? "undefined" : "connect");
  });
}

test("an agent that forgets to close ends at once where the sidecar has frozen", async () => {
  const directory = folder();
  await using frozen = createServer((socket) => { socket.resume(); }); // accepts, and says nothing
  await listening(frozen, `${directory}/agent.sock`);
  const agent = `
    import { Client } from ${JSON.stringify(new URL("../src/client.js", import.meta.url))};
    const client = new Client({ address: ${JSON.stringify(`unix:${directory}/agent.sock`)}, timeoutMs: 50 });
    await client.turn();
    const began = performance.now();
    process.on("exit", () => { process.stdout.write(String(performance.now() - began)); });`;
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", agent]);
  assert.ok(Number(stdout) < 2500, stdout); // the attempt would take 3 s
});

test("nothing is left behind: no socket, no timer, no listener on the signal", async () => {
  await using sidecar = await started(proceeding);
  const before = process.getActiveResourcesInfo().length;
  const { signal } = new AbortController();
  let listeners = 0;
  const [add, remove] = [signal.addEventListener.bind(signal), signal.removeEventListener.bind(signal)];
  signal.addEventListener = (...given: unknown[]) => { listeners += 1; add(...(given as Parameters<typeof add>)); };
  signal.removeEventListener = (...given: unknown[]) => { listeners -= 1; remove(...(given as Parameters<typeof remove>)); };
  for (let run = 0; run < 20; run += 1) {
    const client = quiet({ address: run % 2 ? sidecar.address : "unix:/nowhere/agent.sock", timeoutMs: PATIENT_MS });
    await client.turn(TURN, { signal });
    if (run % 4 < 2) await client.close();
    else client.detach();
  }
  // The server's side of the connections goes too.
  await until(() => process.getActiveResourcesInfo().length <= before);
  assert.equal(listeners, 0);
});
