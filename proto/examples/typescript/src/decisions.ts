/** What the sidecar decides, read, and kept where nobody was waiting for it. */
import { clone } from "@bufbuild/protobuf";
import { durationMs } from "@bufbuild/protobuf/wkt";
import { Cause, DecisionSchema, type Decision } from "./gen/sidecar/v1/run_pb.js";

/** What an agent is to do, the weakest first: go on, try another approach, answer now, stop. */
const KINDS = ["proceed", "rotate", "commit", "halt"] as const;
export type Kind = (typeof KINDS)[number];
/**
 * Why an agent went on without the sidecar. `connect`: no session could be opened; `timeout`: no decision came in
 * time; `stream`: the stream broke; `rejected`: the sidecar refuses this client; `draining`: it is stopping;
 * `internal`: the client's own fault, or a value that could not be sent.
 */
export type Reason = "connect" | "timeout" | "stream" | "rejected" | "draining" | "internal";

/** What the agent should do now. Without a sidecar it is a plain proceed. */
export interface Directive {
  /** `instruction`: ready for the agent's context: what to do (rotate, commit), why (halt), a notice (proceed), or "". */
  readonly kind: Kind; readonly instruction: string;
  /** `late`: it answers an earlier turn. `failOpenReason`: why the turn just reported has no decision, if one is due. */
  readonly late: boolean; readonly failOpenReason: Reason | undefined;
  /** Above 0: call `waitForOperator` before going on, which waits about this long at most. */
  readonly waitMaxMs: number;
  /** The message as it came, with suggestions, readings, cause and state; undefined: there is none. */
  readonly decision: Decision | undefined;
}

/** Nobody waits longer than a day for a person, whatever the message says. */
const WAIT_MAX_MS = 86_400_000;

/** The directive as the agent gets it. What this client does not know means proceed. */
export function directiveOf(decision: Decision | undefined, late: boolean, reason: Reason | undefined): Directive {
  const said = decision?.directive;
  const wait = said?.case === "rotate" && said.value.waitMax ? durationMs(said.value.waitMax) : 0;
  const [kind, waitMaxMs] = [said?.case ?? "proceed", Math.min(WAIT_MAX_MS, Math.max(0, wait))];
  return { kind, instruction: textOf(decision), late, failOpenReason: reason, waitMaxMs, decision };
}

function textOf(decision: Decision | undefined): string {
  const said: { instruction?: string; reason?: string; notice?: string } = decision?.directive.value ?? {};
  return said.instruction ?? said.reason ?? said.notice ?? "";
}

/** Whether no turn asked for it. */
export const isUnasked = ({ cause }: Decision) => cause !== Cause.TURN && cause !== Cause.UNSPECIFIED;
const strengthOf = ({ directive }: Decision) => KINDS.indexOf(directive.case ?? "proceed");
/** At equal strength what no turn asked for goes first. */
const rankOf = (decision: Decision) => 2 * strengthOf(decision) + Number(isUnasked(decision));

/** At most one decision of each kind that turns got, and one of each that no turn asked for. */
export class Held {
  #decisions: Decision[] = [];
  /** The id of the last one handed over that no turn asked for. */
  #unaskedSeen = "";

  /** Keeps one that no turn asked for; what was handed over the sidecar says again until a turn follows it. */
  addUnasked(decision: Decision): void {
    if (decision.decisionId === "" || decision.decisionId !== this.#unaskedSeen) this.add(decision);
  }

  /** Keeps a decision for the next report, unless it says nothing. */
  add(decision: Decision): void {
    const isProceed = strengthOf(decision) === 0;
    if (isProceed && !isUnasked(decision) && textOf(decision) === "") return;
    // A proceed that no turn asked for lets the run go on: what turns were told before is settled.
    const settles = (one: Decision) => isProceed && isUnasked(decision) && !isUnasked(one);
    const kept = this.#decisions.filter((one) => one.sequence > decision.sequence || !settles(one));
    const isOld = kept.some((one) => rankOf(one) === rankOf(decision) && one.sequence > decision.sequence);
    this.#decisions = isOld ? kept : [...kept.filter((one) => rankOf(one) !== rankOf(decision)), decision];
  }

  /** Takes the strongest of those held and the turn's own, which is held if it is not it. */
  take(own: Decision | undefined): Decision | undefined {
    if (own) this.add(own);
    return this.#strongest(this.#decisions) ?? own;
  }

  /** Takes the strongest that no turn asked for. */
  takeUnasked(): Decision | undefined { return this.#strongest(this.#decisions.filter(isUnasked)); }

  get hasUnasked(): boolean { return this.#decisions.some(isUnasked); }

  /** The session is another now: what is held stays of use, but answers no turn of it. */
  part(): void {
    this.#decisions = this.#decisions.map((one) => Object.assign(clone(DecisionSchema, one), { sequence: 0 }));
  }

  #strongest(among: Decision[]): Decision | undefined {
    const best = [...among].sort((one, other) => rankOf(other) - rankOf(one) || other.sequence - one.sequence)[0];
    // One that is weaker and older than one handed over is of no use any more.
    const outlives = (one: Decision) => !best || one.sequence > best.sequence || strengthOf(one) > strengthOf(best);
    this.#decisions = this.#decisions.filter((one) => one !== best && outlives(one));
    if (best && isUnasked(best)) this.#unaskedSeen = best.decisionId;
    return best;
  }
}
