/**
 * A small agent with a tool that loops: it runs the same failing tests again and again, until the sidecar has it try
 * another approach, answer, or stop. With a sidecar (`sidecar serve`) listening where the client looks first:
 *
 *     npm run example            # or SIDECAR_ADDRESS=unix:/path npm run example
 *
 * The one argument is how many milliseconds a decision is waited for; without it the client's own default is.
 */
import { Client, Outcome, RunOutcome } from "../src/client.js";

const TURNS_MAX = 12;
/** What the "model" asks for, approach by approach. */
const APPROACHES = ["run the tests again", "read the failing test"];

/** The tool: it says the same every time. */
function runTests(): string {
  return "2 failed, 14 passed: test_parse, test_render";
}

const [timeoutMs] = process.argv.slice(2);
const run = new Client({
  agentName: "looping-agent",
  timeoutMs: timeoutMs === undefined ? undefined : Number(timeoutMs),
  onGiveUp: (reason) => { console.log(`  (no decision: ${reason})`); },
});
let approach = 0;
let outcome = RunOutcome.FAILED;
for (let turn = 1; turn <= TURNS_MAX; turn += 1) {
  const name = APPROACHES[approach % APPROACHES.length] ?? "";
  const result = runTests();
  console.log(`turn ${String(turn)}: ${name}: ${result}`);
  const directive = await run.turn({
    approach: name,
    toolCalls: [{
      name: "pytest", outcome: Outcome.ERROR,
      arguments: { case: "argumentsJson", value: "{}" }, result: { case: "resultText", value: result },
    }],
    usage: { inputTokens: 1000n, outputTokens: 50n },
  });
  if (directive.kind !== "proceed") console.log(`  ${directive.kind}: ${directive.instruction}`);
  if (directive.kind === "rotate") approach += 1;
  if (directive.kind === "commit") outcome = RunOutcome.SUCCEEDED;
  if (directive.kind === "commit" || directive.kind === "halt") break;
}
const heard = await run.close({ outcome, finalAnswer: outcome === RunOutcome.SUCCEEDED ? "two tests fail" : "" });
console.log(heard ? "closed" : "not closed: no sidecar has heard it");
