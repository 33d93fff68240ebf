/**
 * The client: turns out, decisions in, and never in the agent's way. Start reading at `Client`.
 *
 * All state is in one place and moves on one thread. Whatever happens (a report, a message, an ending, time that
 * passed) changes it and calls `#advance`, which draws every conclusion: cuts, connects, sends, lets go of who waits
 * in vain, and sets the only timer. Times are of `performance.now()`.
 */
import { randomUUID } from "node:crypto";
import { EventEmitter, getMaxListeners, setMaxListeners } from "node:events";
import { create, toBinary, type MessageInitShape } from "@bufbuild/protobuf";
import { durationMs } from "@bufbuild/protobuf/wkt";
import { connect, found, judge, type Endpoint, type Verdict } from "./connection.js";
import { directiveOf, Held, isUnasked, type Directive, type Reason } from "./decisions.js";
import * as wire from "./gen/sidecar/v1/convergence_service_pb.js";
import * as pb from "./gen/sidecar/v1/run_pb.js";
import { MISSES_MAX, MS, SEQUENCE_MAX, Stream, TURN_BYTES } from "./stream.js";
import { attempt, cutTexts, entryOf, fitName, requestOf, Ring, shrink, sound, tell, type Entry } from "./turns.js";
export * from "./gen/sidecar/v1/run_pb.js";
export type { Directive, Kind, Reason } from "./decisions.js";

/** Ends the waiting of one call, which rejects, not the stream: what answers its turn goes with the next report. */
export interface WaitOptions { readonly signal?: AbortSignal | undefined }

/** What is reported of a turn, of a tool call and of a failure: fields of it, or a whole one. */
export type Report = MessageInitShape<typeof pb.TurnSchema>;
export type ReportedCall = MessageInitShape<typeof pb.ToolCallSchema>;
export type ReportedFailure = MessageInitShape<typeof pb.FailureSchema>;

type Optional<T> = { readonly [Name in keyof T]?: T[Name] | undefined };

/** All optional. Of `sidecar.v1.Open`: who runs, and how it is to be watched. A session that is held is gone on with. */
export interface ClientOptions extends Endpoint, Optional<Pick<pb.Open,
  "sessionId" | "previousSessionId" | "agentName" | "agentVersion" | "model" | "policy" | "labels">> {
  readonly limits?: MessageInitShape<typeof pb.LimitsSchema> | undefined;
  /** "observe": turns are recorded, nothing is answered or waited for. */
  readonly mode?: "enforce" | "observe" | undefined;
  /** Longest wait for a decision, from 0 (never wait) to 60,000 ms; 200 if left out. */
  readonly timeoutMs?: number | undefined;
  /** Called for each give-up as it happens, for the host's own metrics. What it throws, or rejects with, is dropped. */
  readonly onGiveUp?: ((reason: Reason) => unknown) | undefined;
  /** Takes the lines in which an outage begins, is a refusal and ends, and what cannot be sent; standard error if left out. */
  readonly log?: ((line: string) => unknown) | undefined;
}

/** Reports one run of an agent, turn by turn. Nothing here throws or rejects, but for an AbortSignal's sake. */
export class Client {
  readonly #options: ClientOptions; readonly #timeoutMs: number; readonly #enforcing: boolean;
  readonly #instance = randomUUID().replaceAll("-", ""); readonly #firstSessionId: string;
  readonly #ring = new Ring(); readonly #held = new Held();
  readonly #counts = { connect: 0, timeout: 0, stream: 0, rejected: 0, draining: 0, internal: 0 };
  readonly #waiters = new Set<{ until: () => number; settle: () => void }>();
  // The stream in use, and what became of those before it.
  #opening: pb.Open; #stream: Stream | undefined; #call: ReturnType<typeof connect> | undefined; #isRenewing = false; #isReopening = false;
  #sessions = 0; #streams = 0; #resumption = { firstAvailable: 0, expected: 0, turnBytesMax: TURN_BYTES[1] };
  #attempts = 0; #connectAt = 0; #outage: Reason | undefined; #downSince: number | undefined; #stopped = false;
  // What the agent and the sidecar have been told. The goodbye was said on the stream of that number.
  #misses = 0; #cuts = 0; #seen = 0; #personUntil: number | undefined; #turnBegan = new Date();
  #total = 0; #toldTotal = 0; #toldAt = 0; #goodbye: Uint8Array | undefined; #goodbyeOn = 0; #goodbyeHeard = false;
  readonly #told = new Set<string>(); #timer: NodeJS.Timeout | undefined; #timerAt = Infinity;

  /** Connects at once, in the background. With an address that cannot be used each turn is a `connect` give-up. */
  constructor(options: ClientOptions = {}) {
    const { timeoutMs = MS.timeout, log, onGiveUp, ...others } = attempt(() => ({ ...options })) ?? {};
    const { address, rootCertificates, certificate, privateKey, token, ...open } = others;
    this.#options = { log, onGiveUp, address, rootCertificates, certificate, privateKey, token };
    this.#timeoutMs = Number.isFinite(timeoutMs) && timeoutMs >= 0 && timeoutMs <= MS.timeoutMax ? timeoutMs : MS.timeout;
    this.#enforcing = open.mode !== "observe";
    this.#opening = this.#sound(pb.OpenSchema, {
      ...(open as object), mode: this.#enforcing ? pb.Mode.ENFORCE : pb.Mode.OBSERVE, clientInstance: this.#instance,
      sessionId: fitName(open.sessionId) || this.#instance, previousSessionId: fitName(open.previousSessionId),
    });
    this.#firstSessionId = this.sessionId;
    this.#advance();
  }

  /** How often the client went on without the sidecar so far. */
  get giveUps(): Readonly<Record<Reason, number>> { return { ...this.#counts }; }

  /** The session's name; another one once the sidecar cannot go on with it. */
  get sessionId(): string { return this.#opening.sessionId; }

  /** Reports the turn that has just ended, by fields of a Turn or a whole one; what to do now. */
  async turn(report: Report = {}, options: WaitOptions = {}): Promise<Directive> {
    const [deadline, began] = [performance.now() + this.#timeoutMs, this.#turnBegan];
    const { entry, faults } = entryOf(report, began, (this.#turnBegan = new Date()));
    this.#note(faults);
    entry.directiveSeen = this.#seen;
    if (!this.#isOver) this.#ring.add(entry);
    const signal = await this.#wait(() => (this.#awaits(entry) ? deadline : 0), options);
    const own = entry.decision;
    [entry.decision, entry.givenUp] = [undefined, true];
    if (signal?.aborted && own) this.#held.add(own);
    signal?.throwIfAborted();
    const reason = own ? undefined : this.#count(this.#trouble);
    if (reason && this.#enforcing && !this.#goodbye) this.#misses += 1; // the goodbye is still to be heard
    // A run that has its answer is not told to change course.
    const best = entry.final ? own : this.#held.take(own);
    return this.#handOver(directiveOf(best, best !== undefined && best !== own && !isUnasked(best), reason));
  }

  /** Waits for a person where the last directive asks for it (`waitMaxMs`): what was decided; a proceed if nothing. */
  async waitForOperator(options: WaitOptions = {}): Promise<Directive> {
    const signal = await this.#wait(() => {
      if (this.#personUntil === undefined || this.#held.hasUnasked || this.#isOver) return 0;
      return Math.min(this.#personUntil + MS.lastWord, (this.#downSince ?? Infinity) + MS.operatorOutageMax);
    }, options);
    signal?.throwIfAborted();
    const decision = this.#held.takeUnasked();
    const reason = decision || this.#personUntil === undefined ? undefined : this.#count(this.#trouble ?? "timeout");
    return this.#handOver(directiveOf(decision, false, reason));
  }

  /** Ends the session and the client; whether the sidecar has heard it, for which it waits a second at most, less what
   * turns that were missed have cost. */
  async close(close: MessageInitShape<typeof pb.CloseSchema> = {}): Promise<boolean> {
    const value = this.#sound(pb.CloseSchema, close);
    if (!this.#isOver) this.#goodbye = request({ case: "close", value });
    const deadline = performance.now() + Math.max(MS.closeMin, MS.close - this.#misses * this.#timeoutMs);
    // Who asks for another session is there, so is who is told of a gap, and who has opened one, whatever turns missed.
    const isAway = () => (this.#stream ? this.#misses >= MISSES_MAX && this.#stream.stage === "opening" : this.#outage);
    const isThere = () => this.#isRenewing || this.#isReopening || !isAway();
    await this.#wait(() => (!this.#stopped && isThere() ? deadline : 0));
    this.detach();
    return this.#goodbyeHeard;
  }

  /** Ends the client and lets go of the session, which can be gone on with. */
  detach(): void {
    [this.#stopped, this.#outage] = [true, this.#outage ?? "internal"];
    this.#drop();
    this.#advance();
  }

  /** At the end of an `await using` block: closes, without an outcome. */
  async [Symbol.asyncDispose](): Promise<void> { await this.close(); }

  // What callers wait for.

  get #isOver(): boolean { return this.#stopped || this.#goodbye !== undefined; }

  /** Whether waiting for the turn's decision can help. */
  #awaits(entry: Entry): boolean {
    if (entry.answered || !this.#enforcing || this.#misses >= MISSES_MAX || this.#isOver) return false;
    if (!this.#stream) return !this.#outage;
    return this.#stream.stage !== "leaving" || entry.stream === this.#stream.number || this.#stream.afterGap > 0;
  }

  /** Why a turn that has no decision has none; undefined: none is due. */
  get #trouble(): Reason | undefined {
    if (this.#goodbye) return "internal"; // a report after the end
    if (!this.#enforcing) return this.#outage;
    if (this.#stream?.stage === "open") return "timeout";
    return this.#stream?.isDraining ? "draining" : (this.#outage ?? "connect");
  }

  #handOver(directive: Directive): Directive {
    this.#seen = Math.max(this.#seen, directive.decision?.sequence ?? 0);
    this.#personUntil = directive.waitMaxMs > 0 ? performance.now() + directive.waitMaxMs : undefined;
    return directive;
  }

  /** Waits until then, which may change meanwhile, or until the signal, if there is one, is aborted. */
  async #wait(until: () => number, options?: WaitOptions): Promise<AbortSignal | undefined> {
    const signal = attempt(() => (options?.signal instanceof AbortSignal ? options.signal : undefined));
    const look = () => { this.#advance(); };
    // Many turns may share a signal, which is no leak: each stops listening. Node.js 20 cannot read a limit of 0.
    if (signal && attempt(() => getMaxListeners(signal)) === EventEmitter.defaultMaxListeners) setMaxListeners(Infinity, signal);
    signal?.addEventListener("abort", look);
    await new Promise<void>((settle) => {
      this.#waiters.add({ until: () => (signal?.aborted ? 0 : until()), settle });
      this.#advance();
    });
    signal?.removeEventListener("abort", look);
    return signal;
  }

  // The one place where conclusions are drawn.

  #advance(): void {
    const now = performance.now();
    if (this.#stream && now >= this.#deadAt(this.#stream)) this.#ended(this.#stream, this.#stream.silence, "no answer");
    if (!this.#stream && !this.#stopped && now >= this.#connectAt) this.#connect();
    if (this.#stream) this.#send(this.#stream);
    for (const waiter of this.#waiters) {
      if (waiter.until() <= now && this.#waiters.delete(waiter)) waiter.settle();
    }
    this.#arm();
  }

  /** Sets the timer for when something is due; one that comes earlier is left to look again. */
  #arm(): void {
    const stream = this.#stream;
    let at = this.#stopped ? Infinity : this.#connectAt;
    if (stream) at = Math.min(this.#deadAt(stream), stream.isWritable ? this.#heartbeatAt(stream) : Infinity);
    for (const waiter of this.#waiters) at = Math.min(at, waiter.until());
    if (at < this.#timerAt || at === Infinity) {
      clearTimeout(this.#timer);
      this.#timerAt = at;
      const look = () => { this.#timerAt = Infinity; this.#advance(); };
      this.#timer = at < Infinity ? setTimeout(look, Math.ceil(Math.max(0, at - performance.now()))) : undefined;
    }
    // The process stays for who waits, and for nothing else: an agent that forgets to close ends all the same.
    this.#timer?.[this.#waiters.size > 0 ? "ref" : "unref"]();
  }

  /** When the stream counts as dead if nothing comes. */
  #deadAt(stream: Stream): number {
    if (stream.stage !== "open") return stream.dueAt;
    if (this.#misses < MISSES_MAX || !this.#enforcing) return Infinity;
    const first = this.#ring.entries.find((entry) => entry.stream === stream.number && !entry.answered);
    const limit = Math.max(MS.silence, MISSES_MAX * this.#timeoutMs);
    const silence = Math.min(limit * 2 ** this.#cuts, Math.max(MS.silenceMax, limit));
    return Math.max(first?.sentAt ?? Infinity, stream.receivedAt) + silence;
  }

  // The stream: what goes out.

  #connect(): void {
    const { firstAvailable, expected, turnBytesMax } = this.#resumption;
    const first = Math.max(firstAvailable, this.#ring.firstSequence);
    const stream = (this.#stream = new Stream(++this.#streams, first, expected, turnBytesMax));
    try {
      this.#call = connect(this.#options);
    } catch (error) {
      this.#ended(stream, { course: error instanceof TypeError ? "stop" : "soon", reason: "connect" }, String(error));
      return;
    }
    this.#call.on("data", (response: wire.ObserveResponse) => { this.#received(stream, response); });
    this.#call.on("drain", () => { stream.isWritable = true; this.#advance(); });
    this.#call.on("status", (status) => {
      this.#ended(stream, judge(status, stream.openedAt < Infinity, stream.isDraining), status.details);
      this.#advance();
    });
  }

  #drop(): void {
    this.#stream = undefined;
    this.#call?.hangUp();
  }

  #send(stream: Stream): void {
    for (let next; stream.isWritable && (next = this.#next(stream)); stream.sentAt = performance.now()) {
      stream.isWritable = this.#call?.write(next) ?? false;
    }
    if (stream.stage === "leaving") this.#call?.end();
  }

  /** What to send next; undefined: nothing now or, when the stage is `leaving`, nothing more. */
  #next(stream: Stream): Uint8Array | undefined {
    if (stream.stage === "new") {
      stream.stage = "opening";
      const [firstAvailableSequence, giveUps] = [stream.firstAvailable, this.#tellGiveUps()];
      return request({ case: "open", value: { ...this.#opening, firstAvailableSequence, giveUps } });
    }
    if (stream.stage !== "open") return undefined;
    const entry = stream.nextEntry(this.#ring, this.#enforcing);
    if (entry) return this.#turnRequest(entry, stream);
    if (performance.now() >= this.#heartbeatAt(stream) || (this.#goodbye && this.#total > this.#toldTotal)) {
      return request({ case: "heartbeat", value: create(wire.HeartbeatSchema, { giveUps: this.#tellGiveUps() }) });
    }
    if (!this.#goodbye) return undefined;
    this.#goodbyeOn = stream.number;
    stream.leave(MS.leaving); // at once: nothing goes after it, whatever is reported while it waits to be written
    return this.#goodbye;
  }

  #turnRequest(entry: Entry, stream: Stream): Uint8Array | undefined {
    entry.sequence ||= ++this.#ring.lastSequence;
    if (entry.sequence > stream.next) {
      // Turns have fallen out since `open` said which was the first; only another one can tell.
      stream.afterGap = entry.sequence;
      stream.leave(MS.leaving);
      return undefined;
    }
    shrink(entry, stream.turnBytesMax);
    [stream.next, entry.stream, entry.sentAt] = [Math.max(stream.next, entry.sequence + 1), stream.number, performance.now()];
    return requestOf(entry);
  }

  #heartbeatAt(stream: Stream): number {
    const untoldAt = this.#total > this.#toldTotal ? this.#toldAt + MS.giveUpsTold : Infinity;
    return stream.stage === "open" ? Math.min(stream.sentAt + stream.heartbeatMs, untoldAt) : Infinity;
  }

  // The stream: what comes in, and its end.

  #received(stream: Stream, { message }: wire.ObserveResponse): void {
    if (stream !== this.#stream) return;
    stream.receivedAt = performance.now();
    if (message.case === "opened" && stream.stage === "opening") this.#opened(stream, message.value);
    if (message.case === "decision") this.#decided(stream, message.value);
    if (message.case === "draining") stream.drains(message.value.grace ? durationMs(message.value.grace) : 0);
    this.#advance();
  }

  #opened(stream: Stream, opened: wire.Opened): void {
    if (opened.lastSequence > SEQUENCE_MAX) {
      this.#count("internal");
      this.#ended(stream, { course: "later", reason: "internal" }, `last_sequence ${String(opened.lastSequence)}`);
      return;
    }
    stream.opened(opened);
    this.#ring.lastSequence = Math.max(this.#ring.lastSequence, opened.lastSequence);
    this.#downSince = undefined;
    if (!this.#enforcing) this.#recovered();
  }

  #decided(stream: Stream, decision: pb.Decision): void {
    const entry = this.#ring.entries.find(({ sequence }) => sequence === decision.sequence);
    if (isUnasked(decision)) this.#held.addUnasked(decision);
    if (isUnasked(decision) || entry?.stream !== stream.number) return; // an answer to nothing that was asked
    stream.hasDecided = true;
    this.#recovered();
    if (performance.now() - entry.sentAt <= this.#timeoutMs) this.#misses = this.#cuts = 0;
    if (!entry.answered && !entry.givenUp) entry.decision = decision;
    else if (!entry.answered && this.#enforcing) this.#held.add(decision);
    entry.answered = true;
  }

  #ended(stream: Stream, verdict: Verdict, description: string): void {
    if (stream !== this.#stream) return;
    const { course, reason, isOk = false, expected = 0, retryDelayMs = 0 } = verdict;
    this.#drop();
    const now = performance.now();
    this.#downSince ??= now;
    if (reason === "timeout") this.#cuts += 1; // the client's own doing, on an open stream
    this.#isRenewing = course === "replay" || course === "goOn";
    this.#goodbyeHeard = this.#isRenewing ? this.#goodbyeOn > 0 : isOk && this.#goodbyeOn === stream.number;
    if (this.#goodbyeHeard) { this.#stopped = true; return; }
    this.#resumption = { firstAvailable: stream.afterGap, expected, turnBytesMax: stream.turnBytesMaxAfter(verdict) };
    this.#isReopening = isOk && stream.afterGap > 0; // the client itself has asked for it
    if (this.#isReopening || stream.hasDecided || now - stream.openedAt >= MS.healthy) this.#attempts = 0;
    const [first, max] = course === "later" ? MS.later : MS.soon;
    // Half fixed, half random: agents that lost one sidecar together do not come back together.
    const pause = Math.min(max, first * 2 ** this.#attempts++) * (0.5 + Math.random() / 2);
    this.#connectAt = now + Math.max(pause, Math.min(retryDelayMs, MS.retryDelayMax));
    if (this.#isReopening) return;
    if (!this.#outage || course === "stop" || (reason === "rejected" && this.#outage !== reason)) this.#log(`goes on without a sidecar (${reason}: ${description})`);
    this.#outage = reason;
    this.#stopped = course === "stop";
    if (this.#isRenewing) this.#renew(course);
  }

  /** Goes on in another session, under a name that no other client has. */
  #renew(course: Verdict["course"]): void {
    const suffix = `.${this.#instance.slice(0, 8)}.${String(++this.#sessions)}`;
    const previousSessionId = course === "goOn" ? this.sessionId : "";
    if (course === "goOn") this.#personUntil = undefined; // in the new session nobody was asked
    this.#opening = { ...this.#opening, previousSessionId, sessionId: fitName(this.#firstSessionId, suffix) };
    this.#seen = Math.max(0, this.#seen - this.#ring.beginAgain(course === "replay" ? "all" : "unanswered"));
    this.#held.part();
  }

  #recovered(): void {
    if (this.#outage) this.#log("the sidecar is back");
    this.#outage = undefined;
  }

  // What is told of it.

  #count(reason: Reason | undefined): Reason | undefined {
    if (!reason) return undefined;
    this.#counts[reason] += 1;
    this.#total += 1;
    tell(() => this.#options.onGiveUp?.(reason));
    return reason;
  }

  /** What cannot be sent counts each time and is told once; its names are the caller's, so a hundred are told. */
  #note(faults: string[]): void {
    if (faults.length) this.#count("internal");
    const untold = faults.filter((path) => !this.#told.has(path) && this.#told.size < 100 && this.#told.add(path));
    if (untold.length) this.#log(`cannot be sent as given: ${untold.join(", ")}`);
  }

  /** One printable line, whatever a server's words are; gRPC's end in an empty note. */
  #log(line: string): void {
    const log: (line: string) => unknown = this.#options.log ?? console.warn;
    const printable = (said: string) => said.replace(/ Resolution note: (?=\)$)/, "").replace(/[^\x20-\x7e]+/g, " ");
    tell(() => log(printable(`agent-sidecar-client (${found(this.#options.address).address}): ${line}`).slice(0, 400)));
  }

  #tellGiveUps(): pb.GiveUp[] {
    [this.#toldTotal, this.#toldAt] = [this.#total, performance.now()];
    const told = Object.entries(this.#counts).filter(([, count]) => count > 0);
    return told.map(([reason, count]) => create(pb.GiveUpSchema, { reason, count: BigInt(count) }));
  }

  /** What of a message can be sent, texts cut. */
  #sound<D extends typeof pb.OpenSchema | typeof pb.CloseSchema>(schema: D, given: MessageInitShape<D>) {
    const { message, faults } = sound(schema, given);
    this.#note(faults);
    return cutTexts(message);
  }
}

function request(message: wire.ObserveRequest["message"]): Uint8Array {
  return toBinary(wire.ObserveRequestSchema, create(wire.ObserveRequestSchema, { message }));
}
