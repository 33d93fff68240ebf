/** The conformance driver: one JSON object a line in, one a line out (proto/conformance/README.md). */
import { createInterface } from "node:readline";
import { fromJson, toJson, type JsonObject, type JsonValue } from "@bufbuild/protobuf";
import { Client, CloseSchema, DecisionSchema, LimitsSchema, TurnSchema, type Directive } from "../src/client.js";

interface Request {
  readonly do?: string;
  readonly options?: JsonObject;
  readonly turn?: JsonValue;
  readonly close?: JsonValue;
}

/** What was let go of has so long to go. */
const SETTLING_MS = 2000;

/** What keeps this process alive: sockets, timers, requests. */
const resources = () => process.getActiveResourcesInfo().filter((name) => name !== "Immediate").length;

function clientOf(given: JsonObject): Client {
  const { limits, mode, labels, timeout_ms: timeoutMs, ...rest } = given;
  const texts = Object.entries(rest).filter(([, value]) => typeof value === "string");
  return new Client({
    ...(Object.fromEntries(texts.map(([name, value]) => [camelCase(name), value])) as object),
    ...(limits !== undefined && { limits: fromJson(LimitsSchema, limits) }),
    ...(typeof labels === "object" && { labels: labels as Record<string, string> }),
    ...(typeof timeoutMs === "number" && { timeoutMs }),
    mode: mode === "observe" ? "observe" : "enforce",
  });
}

function camelCase(name: string): string {
  return name.replace(/_[a-z]/g, (found) => found.slice(1).toUpperCase());
}

function directiveJson({ kind, instruction, late, failOpenReason, waitMaxMs, decision }: Directive): JsonObject {
  const said = decision && { decision: toJson(DecisionSchema, decision, { useProtoFieldName: true }) };
  return { kind, instruction, late, fail_open_reason: failOpenReason ?? "", wait_max_ms: waitMaxMs, ...said };
}

/** Answers the requests of many cases, one after another. */
class Driver {
  #client: Client | undefined;
  #resources = 0;

  async answer(request: Request): Promise<JsonObject> {
    if (request.do === "start") {
      this.#resources = resources();
      this.#client = clientOf(request.options ?? {});
      return { ok: true };
    }
    if (!this.#client) throw new Error("no client: start comes first");
    return this.#ask(this.#client, request);
  }

  async #ask(client: Client, request: Request): Promise<JsonObject> {
    switch (request.do) {
      case "turn": {
        const turn = fromJson(TurnSchema, request.turn ?? {});
        return timed(async () => ({ directive: directiveJson(await client.turn(turn)) }));
      }
      case "wait_for_operator":
        return timed(async () => ({ directive: directiveJson(await client.waitForOperator()) }));
      case "give_ups":
        return { give_ups: Object.fromEntries(Object.entries(client.giveUps).filter(([, count]) => count > 0)) };
      case "close": {
        const close = fromJson(CloseSchema, request.close ?? {});
        return timed(async () => ({ heard: await client.close(close) }));
      }
      case "stop":
        client.detach();
        return { ok: true, left: await this.#left() };
      default:
        throw new Error(`not known: ${String(request.do)}`);
    }
  }

  /** How much more than before the client keeps the process alive. */
  async #left(): Promise<number> {
    this.#client = undefined;
    const deadline = performance.now() + SETTLING_MS;
    while (resources() > this.#resources && performance.now() < deadline) {
      await new Promise((resolve) => setImmediate(resolve));
    }
    return Math.max(0, resources() - this.#resources);
  }
}

async function timed(call: () => Promise<JsonObject>): Promise<JsonObject> {
  const began = performance.now();
  const reply = await call();
  return { ...reply, elapsed_ms: performance.now() - began };
}

const driver = new Driver();
process.stdout.write(""); // its pipe is this program's, not the client's
for await (const line of createInterface({ input: process.stdin })) {
  let reply: JsonObject;
  try {
    reply = await driver.answer(JSON.parse(line) as Request);
  } catch (error) {
    reply = { error: String(error) };
  }
  process.stdout.write(`${JSON.stringify(reply)}\n`);
}
