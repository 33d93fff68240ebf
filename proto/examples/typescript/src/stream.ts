/** One stream of a client, and the numbers that bound it. */
import { durationMs } from "@bufbuild/protobuf/wkt";
import type { Verdict } from "./connection.js";
import type { Opened } from "./gen/sidecar/v1/convergence_service_pb.js";
import type { Entry, Ring } from "./turns.js";

/** An outage costs so many timeouts, once. */
export const MISSES_MAX = 3;
/** Half of what the wire's uint32 can count: whoever says more leaves no room for this run's turns. */
export const SEQUENCE_MAX = 2 ** 31;
/** What an ObserveRequest adds to its turn, and a little more. */
const ENVELOPE_BYTES = 64;
/** A lower limit is not heeded: it would let no measurement through. The upper is gRPC's default for a message. */
export const TURN_BYTES = [1024, 4 * 1024 * 1024 - ENVELOPE_BYTES] as const;
/** Milliseconds. */
export const MS = {
  // A model call takes ten times as long.
  timeout: 200, timeoutMax: 60_000,
  // A silent stream is cut after what three missed turns take; doubled with every cut, to spare one that is slow.
  silence: 600, silenceMax: 10_000,
  // Pauses between attempts, doubled each time. A sidecar that is back is found within a second; one that answered
  // "no" will say so again.
  soon: [50, 1000], later: [1000, 30_000], retryDelayMax: 3_600_000,
  // To connect and open: a lost SYN is sent again after 1 s (RFC 6298). A stream that was open for 5 s was no failure.
  attempt: 3000, healthy: 5000,
  // What a half-closed stream may take to end: a sidecar stops within 5 s unless it says otherwise.
  leaving: 5000, leavingMax: 30_000,
  // An idle agent is heard of twice a minute, and three times within the idle time; of give-ups sooner.
  heartbeat: 30_000, heartbeatMin: 1000, giveUpsTold: 5000,
  // When nobody has spoken in time the sidecar says so, and it looks once a second whether time is up. A sidecar that
  // restarts is back within 6 s; one that is away for longer will not bring a person's answer.
  lastWord: 2500, operatorOutageMax: 10_000,
  // A goodbye is worth a second, if the sidecar is there. An outage costs no more in all, turns and goodbye together.
  close: 1000, closeMin: 400,
} as const;

/** One stream, from `open` to its end. Times are of `performance.now()`. */
export class Stream {
  /** `leaving`: half-closed; answers may still come. */
  stage: "new" | "opening" | "open" | "leaving" = "new";
  /** When it counts as dead, unless it is open by then or has ended. */
  dueAt = performance.now() + MS.attempt;
  openedAt = Infinity; receivedAt = 0; sentAt = performance.now(); heartbeatMs: number = MS.heartbeat;
  /** `hasDecided`: whether a turn was answered on it. */
  isWritable = true; isDraining = false; hasDecided = false;
  /** The last sequence that the sidecar held when it opened, the next that leaves no gap, and that after a gap. */
  held = 0; next = 0; afterGap = 0;
  /** Turns before `firstAvailable` are not sent; those from `expected` on are sent again (0: not asked for). */
  constructor(
    readonly number: number, readonly firstAvailable: number, readonly expected: number, public turnBytesMax: number,
  ) {}

  opened({ lastSequence, idleTtl, turnBytesMax }: Opened): void {
    [this.stage, this.openedAt, this.held] = ["open", performance.now(), lastSequence];
    this.next = Math.max(lastSequence + 1, this.firstAvailable);
    const idle = idleTtl ? Math.max(0, durationMs(idleTtl) / 3) : 0;
    this.heartbeatMs = Math.min(MS.heartbeat, Math.max(MS.heartbeatMin, idle || MS.heartbeat));
    const stated = turnBytesMax ? turnBytesMax - ENVELOPE_BYTES : Infinity;
    this.turnBytesMax = Math.min(this.turnBytesMax, Math.max(TURN_BYTES[0], stated));
  }

  /** Half-closes; what the sidecar still has to say may take so long. */
  leave(forMs: number): void {
    [this.stage, this.dueAt] = ["leaving", performance.now() + forMs];
  }

  /** The sidecar is about to stop; 0: it does not say when. */
  drains(graceMs: number): void {
    if (this.stage === "leaving") return;
    this.isDraining = true;
    this.leave(graceMs > 0 ? Math.min(graceMs, MS.leavingMax) : MS.leaving);
  }

  /** The next turn to send. Those that the sidecar holds go again where their decision was lost on the way: it gives
   * the same again. */
  nextEntry({ entries }: Ring, enforcing: boolean): Entry | undefined {
    return entries.find(({ sequence, stream, answered }) => {
      if (stream === this.number || (sequence > 0 && sequence < this.firstAvailable)) return false;
      const isNew = sequence === 0 || sequence > this.held;
      return isNew || (enforcing && !answered) || (this.expected > 0 && sequence >= this.expected);
    });
  }

  /** Bytes of a turn on the next stream. Where one was too large and the limit is not said, or no news, a quarter: the
   * same again would end each stream. */
  turnBytesMaxAfter({ messageBytesMax }: Verdict): number {
    if (messageBytesMax === undefined) return this.turnBytesMax;
    const stated = messageBytesMax - ENVELOPE_BYTES;
    return Math.max(TURN_BYTES[0], stated > 0 && stated < this.turnBytesMax ? stated : this.turnBytesMax >> 2);
  }

  /** What its end means where the client has cut it, since no answer came. */
  get silence(): Verdict {
    const byStage = { new: "connect", opening: "connect", open: "timeout", leaving: "stream" } as const;
    return { course: "soon", reason: this.isDraining ? "draining" : byStage[this.stage] };
  }
}
