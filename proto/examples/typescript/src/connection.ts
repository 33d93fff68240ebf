/**
 * Where the sidecar is, how to speak to it, and what it means when a stream ends.
 *
 * By @grpc/grpc-js, not connect-node: it hands over the sidecar's status even where a write failed before that was
 * read (connect-node ends the call with the write's error, and a client whose session was taken over would take it
 * back), it writes when told to, with nothing left pending when a stream is cut, it knows Unix sockets, and it fails a
 * call the moment its connection fails. Every attempt gets a channel of its own, so gRPC's back-off never counts.
 */
import { lstatSync, readFileSync } from "node:fs";
import { addAbortSignal } from "node:stream";
import { fromBinary } from "@bufbuild/protobuf";
import { anyUnpack, durationMs } from "@bufbuild/protobuf/wkt";
import {
  Client, credentials, experimental, Metadata, status as Code, type ChannelOptions, type ClientDuplexStream,
  type StatusObject,
} from "@grpc/grpc-js";
import type { Reason } from "./decisions.js";
import { ErrorInfoSchema, RetryInfoSchema } from "./gen/google/rpc/error_details_pb.js";
import { StatusSchema } from "./gen/google/rpc/status_pb.js";
import { type ObserveResponse, ObserveResponseSchema } from "./gen/sidecar/v1/convergence_service_pb.js";
import { attempt } from "./turns.js";

type Uri = experimental.GrpcUri;

/** Where the sidecar is, and paths of PEM files, which are read anew for each connection, since certificates rotate. */
export interface Endpoint {
  /** `unix:PATH` or `HOST:PORT`; else $SIDECAR_ADDRESS, else the socket of a sidecar of the same user. */
  readonly address?: string | undefined;
  /** What the sidecar's certificate is checked against; turns TLS on. */
  readonly rootCertificates?: string | undefined;
  /** The client's own, for mutual TLS. */
  readonly certificate?: string | undefined; readonly privateKey?: string | undefined;
  /** Sent as a bearer token. */
  readonly token?: string | undefined;
}

const CHANNEL_OPTIONS = {
  "grpc.use_local_subchannel_pool": 1, "grpc.enable_channelz": 0, "grpc.enable_retries": 0,
  "grpc.enable_http_proxy": 0, // a sidecar is beside its agent; a proxy meant for the web is not in between
  "grpc.service_config_disable_resolution": 1,
  "grpc.keepalive_time_ms": 330_000, // servers cut clients that ping more often than every 5 minutes
  "grpc.max_receive_message_length": 16 * 1024 * 1024, // a decision has kilobytes; one of 5 MB is survived
};
/** sun_path of Linux less its final zero: a longer path would be cut, and be another one. */
const SOCKET_PATH_BYTES_MAX = 107;

/** The address that is given, else the environment's, else the own one, with its directory if anybody can make that. */
export function found(address: string | undefined): { address: string; privateDirectory: string } {
  const given = [address, process.env["SIDECAR_ADDRESS"]].find(Boolean);
  const shared = `/tmp/sidecar-${String(process.getuid?.())}`; // anybody can make it, so it is looked at before use
  const runtime = process.env["XDG_RUNTIME_DIR"] ?? "";
  const directory = runtime.startsWith("/") ? `${runtime}/sidecar` : shared;
  return { address: given ?? `unix:${directory}/agent.sock`, privateDirectory: given || directory !== shared ? "" : shared };
}

/** gRPC's target for an address. Throws TypeError if unusable. */
function targetOf(address: string): string {
  const path = /^(?:unix:(?:\/\/)?|(?=\/))([^\0]+)$/.exec(address)?.[1];
  const port = Number(/^(?:\[[0-9A-Fa-f:.%]+\]|[^\s:/[\]]+):([0-9]{1,5})$/.exec(address)?.[1]);
  const isUsable = path ? Buffer.byteLength(path) <= SOCKET_PATH_BYTES_MAX : port > 0 && port < 65_536;
  if (!isUsable) throw new TypeError("neither unix:PATH (at most 107 bytes) nor HOST:PORT");
  return path ? `sidecar://unix/${path}` : `sidecar://dns/${address}`;
}

/** Said in words: what is inferred names types of gRPC's own that do not go with every version of `@types/node`. */
type Call = ClientDuplexStream<Uint8Array, ObserveResponse> & { hangUp: () => void };

const DROPPED = "sidecar.dropped"; // the channel option that has the signal

/**
 * Finds `sidecar://unix/PATH` and `sidecar://dns/HOST:PORT` as gRPC does, and ties what connects there to a signal. A
 * channel that is closed leaves a connection behind that is not made yet: to a sidecar, or a host, that hangs, one more
 * with each attempt. gRPC hands an address to net.connect as it is, which ends a socket by its `signal`.
 */
class Tied implements experimental.Resolver {
  static getDefaultAuthority({ authority, path }: Uri): string {
    return authority === "unix" ? "localhost" : path;
  }
  readonly #found: experimental.Resolver;

  constructor({ authority, path }: Uri, listener: experimental.ResolverListener, options: ChannelOptions) {
    const signal = options[DROPPED] as AbortSignal;
    const tied = (each: experimental.Endpoint) => ({ addresses: each.addresses.map((one) => ({ ...one, signal })) });
    this.#found = experimental.createResolver({ scheme: authority ?? "", path }, (endpoints, ...rest) =>
      listener(endpoints.ok ? { ...endpoints, value: endpoints.value.map(tied) } : endpoints, ...rest), options);
  }

  updateResolution(): void { this.#found.updateResolution(); }
  destroy(): void { this.#found.destroy(); }
}
experimental.registerResolver("sidecar", Tied);

/**
 * Begins a stream on a channel of its own; `hangUp` is how to be rid of both. Requests are bytes: a turn is encoded
 * once, however often it is sent. Throws a TypeError for an address that cannot be used, an Error for want of a file.
 */
export function connect({ address: given, rootCertificates, certificate, privateKey, token }: Endpoint): Call {
  const { address, privateDirectory } = found(given);
  const target = targetOf(address);
  const directory = privateDirectory ? lstatSync(privateDirectory) : undefined;
  const isPrivate = directory?.isDirectory() && directory.uid === process.geteuid?.() && (directory.mode & 0o077) === 0;
  if (directory && !isPrivate) throw new Error(`${privateDirectory} is not this user's alone`);
  // Not left to gRPC: its error, which goes to the log, has the token in it.
  if (/[^ -~]/.test(token?.trim() ?? "")) throw new TypeError("the token has a character that cannot be sent");
  const read = (file: string | undefined) => (file ? readFileSync(file) : null);
  const [roots, key, chain] = [read(rootCertificates), read(privateKey), read(certificate)];
  if (!roots && (key ?? chain)) throw new Error("a client certificate needs rootCertificates, which turn TLS on");
  const secured = roots ? credentials.createSsl(roots, key, chain) : credentials.createInsecure();
  const dropped = new AbortController();
  // A channel that is closed may yet try again, and a socket made with a signal that is aborted stays. One that TLS has
  // taken over is told why it ended, and nobody else listens.
  const connectorOf = secured._createSecureConnector.bind(secured);
  secured._createSecureConnector = (...given) => {
    const connector = connectorOf(...given);
    const [readyFor, connectOver] = [connector.waitForReady.bind(connector), connector.connect.bind(connector)];
    connector.waitForReady = async () => { dropped.signal.throwIfAborted(); await readyFor(); };
    connector.connect = async (socket) => {
      const made = await connectOver(addAbortSignal(dropped.signal, socket.on("error", () => undefined)));
      Object.assign(made.socket.unref(), { ref: () => made.socket }); // gRPC asks for it with each call
      return made;
    };
    return connector;
  };
  const channel = new Client(target, secured, { ...CHANNEL_OPTIONS, [DROPPED]: dropped.signal });
  // For a call on a channel that does not get ready it keeps the process: that is for who waits to do.
  const inner = channel.getChannel() as { internalChannel?: object };
  Object.assign(inner.internalChannel ?? {}, { callRefTimerRef: () => undefined });
  const metadata = new Metadata();
  if (token?.trim()) metadata.set("authorization", `Bearer ${token.trim()}`); // read from a file it ends with a newline
  const parse = (bytes: Buffer) => fromBinary(ObserveResponseSchema, bytes);
  const write = ({ buffer, byteOffset, length }: Uint8Array) => Buffer.from(buffer, byteOffset, length);
  const call = channel.makeBidiStreamRequest("/sidecar.v1.ConvergenceService/Observe", write, parse, metadata);
  call.on("error", () => undefined); // its status tells
  return Object.assign(call, { hangUp: () => { call.cancel(); channel.close(); dropped.abort(); } });
}

/**
 * What to do after an ending. `soon`: reconnect and resume; `later`: the same, more slowly, to one that said no;
 * `replay`: tell the run again in a new session; `goOn`: go on from a closed one; `stop`: never again.
 */
export type Course = "soon" | "later" | "replay" | "goOn" | "stop";

const COURSES: readonly (readonly [RegExp, Course, Reason])[] = [
  [/^DRAINING$/, "soon", "draining"],
  [/^SEQUENCE_GAP$/, "soon", "rejected"],
  [/^(SEQUENCE_CONFLICT|SESSION_NOT_FOUND)$/, "replay", "rejected"],
  [/^SESSION_CLOSED$/, "goOn", "rejected"],
  [/^(SESSION_TAKEN_OVER|SESSION_STREAMING|OPEN_REQUIRED|ALREADY_OPEN|OPEN_MISMATCH|POLICY_UNKNOWN)$/, "stop", "rejected"],
];
/** A sidecar, or a proxy before it, that is alive and says no. */
const REFUSALS = [
  Code.NOT_FOUND, Code.ALREADY_EXISTS, Code.PERMISSION_DENIED, Code.RESOURCE_EXHAUSTED, Code.FAILED_PRECONDITION,
  Code.OUT_OF_RANGE, Code.UNIMPLEMENTED, Code.UNAUTHENTICATED,
];

/** What an ending means: the reason that turns count under meanwhile, and what the sidecar asks for (0: nothing). With
 * `messageBytesMax` a message was too large (0: for a limit that is not said). */
export interface Verdict {
  readonly course: Course; readonly reason: Reason; readonly isOk?: boolean;
  readonly expected?: number; readonly retryDelayMs?: number; readonly messageBytesMax?: number;
}

/** Reads the end of a stream by the sidecar's reason, else by the status. */
export function judge({ code, metadata, details: words }: StatusObject, wasOpen: boolean, draining: boolean): Verdict {
  const details = metadata.get("grpc-status-details-bin").flatMap((bytes) =>
    attempt(() => fromBinary(StatusSchema, Buffer.from(bytes)).details) ?? []);
  const info = details.map((any) => anyUnpack(any, ErrorInfoSchema)).find((one) => one?.domain === "sidecar");
  const retry = details.map((any) => anyUnpack(any, RetryInfoSchema)).find((one) => one?.retryDelay)?.retryDelay;
  // gRPC itself, in the sidecar or in a proxy, has a limit of its own and no reason but these words.
  const isGrpcs = code === Code.RESOURCE_EXHAUSTED && words.includes("larger than max");
  const number = (name: string) => Number(info?.metadata[name]) || 0;
  const asked = { expected: number("expected"), retryDelayMs: retry ? durationMs(retry) : 0,
    ...((isGrpcs || info?.reason === "MESSAGE_BYTES_MAX") && { messageBytesMax: number("message_bytes_max") }) };
  const [, course, reason] = COURSES.find(([pattern]) => pattern.test(info?.reason ?? "")) ?? [];
  if (course && reason) return { course, reason, ...asked };
  if (code === Code.INVALID_ARGUMENT) return { course: "stop", reason: "rejected" };
  if (REFUSALS.includes(code)) return { course: "later", reason: "rejected", ...asked };
  const broken = !wasOpen && code === Code.UNAVAILABLE ? "connect" : "stream";
  return { course: "soon", reason: draining ? "draining" : broken, isOk: code === Code.OK, ...asked };
}
