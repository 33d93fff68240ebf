/** Turns: made sound, cut to size, and the last of them kept to be sent, or sent again. */
import { createHash } from "node:crypto";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import type { DescMessage, MessageInitShape, MessageShape } from "@bufbuild/protobuf";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { timestampFromDate, timestampMs, type Timestamp } from "@bufbuild/protobuf/wkt";
import { ObserveRequestSchema } from "./gen/sidecar/v1/convergence_service_pb.js";
import { TurnSchema, type Decision, type Turn } from "./gen/sidecar/v1/run_pb.js";
import { TURN_BYTES } from "./stream.js";

/** The protocol: an agent keeps its last 256 turns, answered ones too; huge ones must not fill its memory. */
const TURNS_MAX = 256;
const TURN_BYTES_SUM_MAX = 32 * 1024 * 1024;
/** The protocol's bound for an id. */
const ID_BYTES_MAX = 128;
const [LABELS_MAX, LABEL_BYTES_MAX] = [1024, 1024];
/** The sidecar reads 64 KiB of a text. */
const TEXT_BYTES_MAX = 64 * 1024;
/** Bytes of a text, and tool calls and failures, at most (the sidecar counts no turn with more of these than 256);
 * a turn that is too large goes down the list. Its measurements stay to the last. */
const STEPS = [[TEXT_BYTES_MAX, 256], [16384, 256], [4096, 256], [1024, 256], [256, 256], [64, 32], [64, 0]] as const;
const ITEMS_MAX = STEPS[0][1];
/** What is looked at of a report that cannot go as it is given: parts of it, of each part, and of each of its parts. */
const [PARTS_MAX, CHARS_MAX, DEPTH_MAX, SHORT_TEXT] = [[256, 2048, 512], 16 * 1024 * 1024, 6, 1024];
/** Bytes of each text, where there are so many. */
const roomFor = (texts: number) => Math.floor(Math.max(SHORT_TEXT, Math.min(TEXT_BYTES_MAX, CHARS_MAX / 2 / texts)));
/** One turn and what has become of it. */
export class Entry {
  /** Numbered when first sent, since a resumed session tells only then where it stands; 0: not yet. */
  sequence = 0; directiveSeen = 0;
  /** Number of the stream that it was last sent on (0: not sent), and when. */
  stream = 0; sentAt = 0;
  /** `decision`: the answer, until somebody takes it; `givenUp`: nobody waits for it any more. */
  answered = false; decision: Decision | undefined; givenUp = false;
  /** `body`: on the wire, but for sequence and directive_seen; `final`: whether it has the run's answer. */
  constructor(public body: Uint8Array, readonly final: boolean) {}
}

/** The turns kept, the oldest first. */
export class Ring {
  entries: Entry[] = [];
  /** The last number that was given to a turn, or that the sidecar has. */
  lastSequence = 0;
  #lost = 0;

  /** Takes a turn in; the oldest may fall out. One without a number keeps its place, so that its loss can be told. */
  add(entry: Entry): void {
    this.entries.push(entry);
    let bytes = this.entries.reduce((sum, { body }) => sum + body.length, 0);
    while (this.entries.length > TURNS_MAX || (bytes > TURN_BYTES_SUM_MAX && this.entries.length > 1)) {
      const first = this.entries.shift();
      bytes -= first?.body.length ?? 0;
      this.#lost += 1;
      if (!first?.sequence) this.lastSequence += 1;
    }
  }

  /** The earliest sequence that can still be sent. */
  get firstSequence(): number {
    return [this.entries[0]?.sequence].find(Boolean) ?? this.lastSequence + 1;
  }

  /** Numbers all turns anew, or the unanswered alone, for a new session; returns by how much the numbers fell. */
  beginAgain(which: "all" | "unanswered"): number {
    if (which === "unanswered") [this.entries, this.#lost] = [this.entries.filter((one) => !one.answered), 0];
    const fall = this.firstSequence - this.#lost - 1;
    this.lastSequence = this.#lost;
    for (const entry of this.entries) {
      entry.sequence = 0;
      entry.directiveSeen = Math.max(0, entry.directiveSeen - fall);
    }
    return fall;
  }
}

/** A turn to be kept; `faults`: what of it could not be sent and was left out. Never throws. */
export function entryOf(report: MessageInitShape<typeof TurnSchema>, began: Date, ended: Date) {
  // A message that is given whole is the caller's own: its times go into a copy. Else into what was made: as a part
  // of what it is made from, or spread, it would have a shape of its own, which takes twice as long to encode.
  const timed = (made: Turn) => Object.assign(made === report ? { ...made } : made, {
    startTime: made.startTime ?? timestampFromDate(began), endTime: made.endTime ?? timestampFromDate(ended) });
  const { message: turn, bytes, faults } = sound(TurnSchema, report, timed);
  const body = bytes.length > TEXT_BYTES_MAX ? fit(turn, TURN_BYTES[1]) : bytes;
  return { entry: new Entry(body, turn.finalAnswer !== ""), faults };
}

/** What goes out for a turn: the bytes of an ObserveRequest. */
export function requestOf({ body, sequence, directiveSeen }: Entry): Uint8Array {
  // Written out, since an encoder walks all fields of a turn for these two. They win over any in the body.
  return new BinaryWriter().tag(ObserveRequestSchema.field.turn.number, WireType.LengthDelimited).fork().raw(body)
    .tag(TurnSchema.field.sequence.number, WireType.Varint).uint32(sequence)
    .tag(TurnSchema.field.directiveSeen.number, WireType.Varint).uint32(directiveSeen).join().finish();
}

/** Cuts a turn that is kept down to so many bytes on the wire. */
export function shrink(entry: Entry, bytesMax: number): void {
  if (entry.body.length > bytesMax) entry.body = fit(fromBinary(TurnSchema, entry.body), bytesMax);
}

/** A message of what the caller gives, less what of it cannot be sent (`faults`: the paths of that), and completed by
 * what must not be missing. Never throws. */
export function sound<D extends DescMessage>(schema: D, given: MessageInitShape<D>, complete = (one: MessageShape<D>) => one) {
  const taken = (part: object, finish = (one: MessageShape<D>) => one) => {
    const bytes = toBinary(schema, finish(checked(create(schema, part as MessageInitShape<D>))));
    const message = fromBinary(schema, bytes);
    const missing = lost(part, message, schema.name);
    if (missing.some(([, given]) => typeof given === "object")) throw new TypeError();
    return { message, bytes, missing };
  };
  const isLong = (part: unknown) => Array.isArray(part) && part.length > ITEMS_MAX;
  const whole = attempt(() => (Object.values(given as object).some(isLong) ? undefined : taken(given, complete)));
  const told = { unread: new Array<string>(), texts: 0 };
  const short = attempt(() => (whole ? given : cutTexts(copied(given, schema.name, told) as object, roomFor(told.texts))));
  const copy = short ?? given;
  const { message } = whole ?? attempt(() => taken(copy)) ?? attempt(() => taken(pruned(copy, taken))) ?? taken({});
  const faults = whole?.missing ?? attempt(() => lost(copy, message, schema.name)) ?? [["what cannot be read"]];
  const bytes = whole?.bytes ?? toBinary(schema, complete(message));
  return { message, bytes, faults: [...faults.map(([path]) => path), ...told.unread] };
}

/** A copy of plain objects and lists, of as many parts as a turn can have use for. Throws for what is beyond that, for
 * bytes, and for what cannot be read; within the copy such a part is left out, and its path told. */
function copied(given: unknown, path: string, told: { unread: string[]; texts: number }, depth = 0, left = { parts: 1 }): unknown {
  if ((left.parts -= 1) < 0 || depth > DEPTH_MAX || ArrayBuffer.isView(given)) throw new RangeError();
  if (typeof given === "string" && given.length > SHORT_TEXT) told.texts += 1;
  if (typeof given !== "object" || given === null || given instanceof Date) return given;
  const from: object = Array.isArray(given) ? (given as unknown[]).slice(0, ITEMS_MAX) : given;
  if (Array.isArray(given) && given.length > ITEMS_MAX) told.unread.push(`over ${String(ITEMS_MAX)} in a list`);
  const own = depth < PARTS_MAX.length ? { parts: PARTS_MAX[depth] ?? 0 } : left;
  const kept = Object.keys(from).flatMap((name): [string, unknown][] => {
    const at = Array.isArray(given) ? path : `${path}.${name}`;
    try { return [[name, copied((from as Record<string, unknown>)[name], at, told, depth + 1, own)]]; } catch { told.unread.push(at); }
    return [];
  });
  return Array.isArray(given) ? kept.map(([, part]) => part) : Object.fromEntries(kept);
}

/** Throws for a number that no turn can have, for a choice (all are of texts) without its text, and for too much. */
function checked<T>(part: T, left = { parts: 65_536, chars: CHARS_MAX }): T {
  if (typeof part === "bigint" ? part < 0n : typeof part === "number" && !Number.isFinite(part)) throw new RangeError();
  if ((left.parts -= 1) < 0 || (left.chars -= typeof part === "string" ? part.length : 0) < 0 || ArrayBuffer.isView(part)) throw new RangeError();
  if (typeof part !== "object" || part === null) return part;
  if ("case" in part && part.case && "value" in part && typeof part.value !== "string") throw new TypeError();
  Object.values(part).forEach((one: unknown) => { checked(one, left); });
  return part;
}

/** What is given and not sent, or not as it is, each after its path: no field of the message, half a character. */
function lost(given: unknown, sent: unknown, path: string): [path: string, given?: unknown][] {
  if (given === undefined || given === null || (typeof given !== "object" && given == sent)) return []; // 5 goes as 5n
  const isTime = !(given instanceof Date) || attempt(() => timestampMs(sent as Timestamp)) === given.getTime();
  if (typeof given !== "object" || typeof sent !== "object" || !isTime || ArrayBuffer.isView(given)) return [[path, given]];
  return Object.entries(given).flatMap(([name, part]: [string, unknown]) => name.startsWith("$") ? [] :
    lost(part, (sent as Record<string, unknown>)[name], Array.isArray(given) ? path : `${path}.${name}`));
}

/** The parts of an object or list, down to the leaves, that can be encoded; a Date as the time that it is. */
function pruned(value: object, encode: (part: object) => unknown, depth = 8): object {
  const wrap = (name: string, part: unknown) => (Array.isArray(value) ? [part] : { [name]: part });
  const kept = Object.entries(value).flatMap(([name, part]: [string, unknown]): [string, unknown][] => {
    if (attempt(() => encode(wrap(name, part)))) return name.startsWith("$") ? [] : [[name, part]];
    // A choice is of texts: nothing within a Buffer, or within an object that was to be one, can be sent.
    if (typeof part !== "object" || part === null || depth === 0 || ArrayBuffer.isView(part) || "case" in value) return [];
    const within = (inner: object) => encode(wrap(name, inner));
    if (!attempt(() => within(Array.isArray(part) ? [] : {}))) return []; // nothing in it has a place
    const rest = part instanceof Date ? attempt(() => timestampFromDate(part)) : pruned(part, within, depth - 1);
    return rest && attempt(() => within(rest)) ? [[name, rest]] : [];
  });
  return Array.isArray(value) ? kept.map(([, part]) => part) : Object.fromEntries(kept);
}

/** What somebody else's code makes; undefined: it threw, and there is nobody who could do anything about that. */
export function attempt<T>(make: () => T): T | undefined {
  try { return make(); } catch { return undefined; }
}

/** Says something to the host, once the client is done: it may be asked. What that throws, or rejects with, is its own. */
export function tell(say: () => unknown): void {
  Promise.resolve().then(say).catch(() => undefined);
}

function fit(turn: Turn, bytesMax: number): Uint8Array {
  for (const [textMax, itemsMax] of STEPS) {
    cutTexts(turn, textMax);
    for (const list of [turn.toolCalls, turn.failures]) list.splice(itemsMax);
    if (toBinary(TurnSchema, turn).length <= bytesMax) break;
  }
  return toBinary(TurnSchema, turn);
}

const isLonger = (text: unknown, bytesMax: number): text is string =>
  typeof text === "string" && (text.length > bytesMax || Buffer.byteLength(text) > bytesMax);

/** Cuts every text of a message; arguments become a digest, since cut JSON would not be JSON. */
export function cutTexts<T extends object>(node: T, bytesMax = TEXT_BYTES_MAX): T {
  const fields = node as Record<string, unknown>;
  for (const [name, value] of Object.entries(fields)) {
    if (name === "labels" && typeof value === "object" && value !== null) fields[name] = labelsOf(value as Record<string, string>);
    else if (typeof value === "object" && value !== null) cutTexts(value, bytesMax);
    if (!isLonger(value, bytesMax)) continue;
    const isArguments = fields["case"] === "argumentsJson";
    if (isArguments) fields["case"] = "argumentsDigest";
    fields[name] = isArguments ? digestOf(value) : cut(value, bytesMax);
  }
  return node;
}

/** No sidecar keeps more labels, or more of one; the first stay, in the order of their keys, as in the sidecar. */
function labelsOf(given: Record<string, string>): Record<string, string> {
  const fit = (text: string) => (isLonger(text, LABEL_BYTES_MAX) ? cut(text, LABEL_BYTES_MAX) : text);
  const kept = Object.entries(given).sort(([one], [other]) => (one < other ? -1 : 1)).slice(0, LABELS_MAX);
  return Object.fromEntries(kept.map(([key, text]) => [fit(key), fit(text)] as const));
}

/** The beginning and the end of a text: errors tend to stand at one of the two. */
function cut(text: string, bytesMax: number): string {
  const [bytes, last] = [Buffer.from(text.slice(0, bytesMax)), Buffer.from(text.slice(-bytesMax))];
  const mark = `\n[... of ${String(text.length)} characters the middle is left out ...]\n`;
  const tail = bytesMax > 2 * mark.length ? (bytesMax - mark.length) >> 2 : 0;
  const head = bytes.toString("utf8", 0, tail ? bytesMax - mark.length - tail : bytesMax).replace(/\uFFFD+$/, "");
  return tail ? head + mark + last.toString("utf8", last.length - tail).replace(/^\uFFFD+/, "") : head;
}

/** The name, or its beginning and a digest of it all (long names that differ stay different), and what follows it. */
export function fitName(given: unknown, suffix = ""): string {
  const name = typeof given === "string" || typeof given === "number" ? String(given) : "";
  const bytes = Buffer.from(name);
  if (bytes.length + suffix.length <= ID_BYTES_MAX) return name + suffix;
  const head = bytes.toString("utf8", 0, ID_BYTES_MAX - suffix.length - 17).replace(/\uFFFD+$/, "");
  return `${head}~${digestOf(name)}${suffix}`;
}

/** 16 hex digits that stand in for a text, of a very long one for its ends and its length. */
function digestOf(text: string): string {
  const ends = text.length > CHARS_MAX / 16 ? `${text.slice(0, CHARS_MAX / 32)}${String(text.length)}${text.slice(-CHARS_MAX / 32)}` : text;
  return createHash("sha256").update(ends).digest("hex").slice(0, 16);
}
