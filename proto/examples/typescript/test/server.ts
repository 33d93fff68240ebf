/** A real gRPC server that the tests tell what to do, turn by turn. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { create, fromBinary, toBinary, type MessageInitShape } from "@bufbuild/protobuf";
import { anyPack } from "@bufbuild/protobuf/wkt";
import { Metadata, Server, ServerCredentials, type ServerDuplexStream, type status as Code } from "@grpc/grpc-js";
import { ErrorInfoSchema } from "../src/gen/google/rpc/error_details_pb.js";
import { StatusSchema } from "../src/gen/google/rpc/status_pb.js";
import {
  ObserveRequestSchema, ObserveResponseSchema, type ObserveRequest, type ObserveResponse,
} from "../src/gen/sidecar/v1/convergence_service_pb.js";
import { Cause, DecisionSchema, type Decision, type Turn } from "../src/client.js";

type Message = ObserveRequest["message"];
export type Stream = ServerDuplexStream<ObserveRequest, ObserveResponse>;

/** What the server does with each message that an agent sends. */
export type Behaviour = (stream: Stream, message: Message) => void;

type Directive = NonNullable<MessageInitShape<typeof DecisionSchema>["directive"]>;

/** Answers `open` with `opened`, and each turn with what `decide` makes of it. */
export function answering(decide: (turn: Turn) => Directive): Behaviour {
  return (stream, message) => {
    if (message.case === "open") opened(stream);
    if (message.case === "turn") decision(stream, message.value.sequence, decide(message.value));
  };
}

/** A plain proceed for each turn. */
export const proceeding = answering(() => ({ case: "proceed", value: {} }));

export function opened(stream: Stream, lastSequence = 0): void {
  const value = { sessionId: "run", lastSequence, turnBytesMax: 4_000_000 };
  stream.write(create(ObserveResponseSchema, { message: { case: "opened", value } }));
}

export function decision(stream: Stream, sequence: number, directive: Directive, cause = Cause.TURN): void {
  send(stream, create(DecisionSchema, { sequence, directive, cause }));
}

export function send(stream: Stream, value: Decision): void {
  stream.write(create(ObserveResponseSchema, { message: { case: "decision", value } }));
}

/** Ends a stream with a reason of the sidecar's. */
export function refuse(stream: Stream, code: Code, reason: string): void {
  const details = [anyPack(ErrorInfoSchema, create(ErrorInfoSchema, { domain: "sidecar", reason }))];
  const metadata = new Metadata();
  metadata.set("grpc-status-details-bin", Buffer.from(toBinary(StatusSchema, create(StatusSchema, { code, details }))));
  stream.emit("error", { code, metadata });
}

/** A server at a socket of its own; `seen` has what all streams brought. */
export class FakeSidecar {
  readonly directory = mkdtempSync(join(tmpdir(), "client-"));
  readonly address = `unix:${this.directory}/agent.sock`;
  readonly seen: Message[] = [];
  streams = 0;
  readonly #server = new Server({ "grpc.max_send_message_length": -1 });

  constructor(behaviour: Behaviour) {
    const read = (bytes: Buffer) => fromBinary(ObserveRequestSchema, bytes);
    const write = (response: ObserveResponse) => Buffer.from(toBinary(ObserveResponseSchema, response));
    const observe = {
      path: "/sidecar.v1.ConvergenceService/Observe", requestStream: true, responseStream: true,
      requestDeserialize: read, responseSerialize: write, requestSerialize: () => Buffer.alloc(0), responseDeserialize: read,
    };
    this.#server.addService({ observe }, {
      observe: (stream: Stream) => {
        this.streams += 1;
        stream.on("error", () => undefined);
        stream.on("end", () => { stream.end(); });
        stream.on("data", ({ message }: ObserveRequest) => {
          this.seen.push(message);
          behaviour(stream, message);
        });
      },
    });
  }

  async start(): Promise<this> {
    await new Promise<void>((resolve, reject) => {
      this.#server.bindAsync(this.address, ServerCredentials.createInsecure(), (error) => {
        if (error) reject(error);
        else resolve();
      });
    });
    return this;
  }

  /** The turns that it was sent, in order. */
  get turns(): Turn[] {
    return this.seen.flatMap((message) => (message.case === "turn" ? [message.value] : []));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.forceShutdown();
    rmSync(this.directory, { recursive: true, force: true });
    return Promise.resolve();
  }
}
