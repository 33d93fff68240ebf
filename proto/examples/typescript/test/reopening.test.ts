/** What failed before does not delay the stream that follows one that was of use, or that the client asked to open anew. */
import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { setImmediate as turnOfLoop } from "node:timers/promises";
import { create } from "@bufbuild/protobuf";
import { status as Code } from "@grpc/grpc-js";
import { Client } from "../src/client.js";
import { ObserveResponseSchema } from "../src/gen/sidecar/v1/convergence_service_pb.js";
import { MS } from "../src/stream.js";
import { FakeSidecar, opened, proceeding, refuse, type Behaviour, type Stream } from "./server.js";

const PATIENT_MS = 60_000;
/** Doubled for each of so many attempts that fail, a pause of a millisecond is one of 16 s at least. */
const FAILURES = 15;
/** What opens anew after the first pause comes within this, on a busy machine too. */
const REOPENED_MS_MAX = 8000;
/** More than the 256 that a client keeps. */
const TURNS = 300;

const BOUNDS = { ...MS };
afterEach(() => { Object.assign(MS, BOUNDS); });

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await turnOfLoop();
}

function drain(stream: Stream): void {
  stream.write(create(ObserveResponseSchema, { message: { case: "draining", value: {} } }));
}

/** After as many attempts that failed at once: the client on the stream that waits for `opened`. */
async function failedBefore(sidecar: FakeSidecar, streams: Stream[], timeoutMs: number): Promise<Client> {
  Object.assign(MS, { soon: [1, 1], attempt: PATIENT_MS });
  const client = new Client({ address: sidecar.address, timeoutMs, log: () => undefined });
  await until(() => streams.length > FAILURES);
  Object.assign(MS, { soon: [1, PATIENT_MS] });
  return client;
}

/** Refuses the first streams, leaves the next to the test, and answers those after it; `streams` has them all. */
function refusing(streams: Stream[]): Behaviour {
  return (stream, message) => {
    if (message.case === "open") streams.push(stream);
    if (streams.length <= FAILURES) refuse(stream, Code.UNAVAILABLE, "");
    else if (message.case !== "open" || streams.length > FAILURES + 1) proceeding(stream, message);
  };
}

for (const [what, healthyMs, turns, end] of [
  ["drains, once it has answered a turn,", PATIENT_MS, 1, drain],
  ["ends with OK, once it has answered a turn,", PATIENT_MS, 1, (stream: Stream) => stream.end()],
  ["breaks, once it has answered a turn,", PATIENT_MS, 1, (stream: Stream) => { refuse(stream, Code.UNAVAILABLE, ""); }],
  ["drains, once it was open for long enough,", 0, 0, drain],
] as const) {
  test(`a stream that ${what} is made anew after the first pause`, async () => {
    const streams: Stream[] = [];
    await using sidecar = await new FakeSidecar(refusing(streams)).start();
    await using client = await failedBefore(sidecar, streams, PATIENT_MS);
    Object.assign(MS, { healthy: healthyMs });
    const last = streams.at(-1);
    assert.ok(last);
    opened(last);
    // The outage of before is one until a turn is answered, so nobody waits for this one.
    for (let turn = 0; turn < turns; turn += 1) await client.turn();
    await until(() => sidecar.turns.length === turns);
    const began = performance.now();
    end(last);
    await until(() => streams.length === FAILURES + 2);
    const tookMs = performance.now() - began;
    assert.ok(tookMs < REOPENED_MS_MAX, `${String(tookMs)} ms`);
  });
}

test("a stream that the client ends for turns that fell out is made anew after the first pause", async () => {
  const streams: Stream[] = [];
  await using sidecar = await new FakeSidecar(refusing(streams)).start();
  await using client = await failedBefore(sidecar, streams, 0);
  for (let turn = 0; turn < TURNS; turn += 1) await client.turn();
  const last = streams.at(-1);
  assert.ok(last);
  const began = performance.now();
  opened(last);
  await until(() => streams.length === FAILURES + 2);
  const tookMs = performance.now() - began;
  assert.ok(tookMs < REOPENED_MS_MAX, `${String(tookMs)} ms`);
});
