/**
 * What `make bench-clients` measures from outside: sessions in one process, each by a client or, to compare, by a bare
 * stream of gRPC.
 *
 *     node dist/bench/bench.js ADDRESS client|bare SESSIONS
 *
 * For each line on standard input, a number, every session takes so many turns, one at a time; then it says "done".
 */
import { once } from "node:events";
import { createInterface } from "node:readline";
import { create, fromBinary, toBinary, type MessageInitShape } from "@bufbuild/protobuf";
import { Client as Channel, credentials } from "@grpc/grpc-js";
import { ObserveRequestSchema, ObserveResponseSchema } from "../src/gen/sidecar/v1/convergence_service_pb.js";
import { Client, type TurnSchema } from "../src/client.js";

type Request = MessageInitShape<typeof ObserveRequestSchema>;
type Taker = () => Promise<void>;

/** How long a decision is waited for: what is measured is cost, not time. */
const PATIENCE_MS = 20_000;

/** A turn of about 2 kB, as a coding agent makes it. */
function turn(): MessageInitShape<typeof TurnSchema> {
  return {
    said: { case: "text", value: "The tests fail. I will run them again." },
    toolCalls: [{
      name: "bash", arguments: { case: "argumentsJson", value: '{"command": "pytest"}' },
      result: { case: "resultText", value: "tests/test_part.py::test_case PASSED [50 %] in 0.01 s\n".repeat(36) },
    }],
  };
}

function byClient(address: string): Taker {
  const client = new Client({ address, timeoutMs: PATIENCE_MS });
  return async () => {
    const { failOpenReason } = await client.turn(turn());
    if (failOpenReason) throw new Error(`no decision: ${failOpenReason}`);
  };
}

async function byBareStream(address: string): Promise<Taker> {
  const call = new Channel(address, credentials.createInsecure()).makeBidiStreamRequest(
    "/sidecar.v1.ConvergenceService/Observe",
    (request: Request) => Buffer.from(toBinary(ObserveRequestSchema, create(ObserveRequestSchema, request))),
    (bytes: Buffer) => fromBinary(ObserveResponseSchema, bytes),
  );
  const exchange = async (request: Request) => {
    call.write(request);
    await once(call, "data");
  };
  await exchange({ message: { case: "open", value: {} } });
  let sequence = 0;
  return () => exchange({ message: { case: "turn", value: { ...turn(), sequence: (sequence += 1) } } });
}

const [address = "", kind, sessions] = process.argv.slice(2);
const takers: Taker[] = [];
while (takers.length < Number(sessions)) {
  takers.push(kind === "bare" ? await byBareStream(address) : byClient(address));
}
for await (const line of createInterface({ input: process.stdin })) {
  for (let turns = Number(line); turns > 0; turns -= 1) {
    for (const take of takers) await take();
  }
  process.stdout.write("done\n");
}
process.exit();
