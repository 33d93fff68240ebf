package io.agentsidecar.client;

import io.agentsidecar.v1.Decision;
import java.time.Duration;
import java.util.Locale;

/**
 * What the agent should do now. Without a sidecar it is a plain proceed.
 *
 * @param instruction ready for the agent's context: a rotate's or commit's instruction, the reason
 *     of a halt, the notice of a proceed; else empty
 * @param late whether it answers an earlier turn, whose own answer did not come in time
 * @param failOpenReason why the turn just reported has no decision; null: it has, or none is due
 * @param waitMax when not zero, call {@link SidecarClient#waitForOperator} before going on
 * @param decision the message as it came; null: there is none
 */
public record Directive(
    Kind kind, String instruction, boolean late, Reason failOpenReason, Duration waitMax,
    Decision decision) {

  /** Go on; try another approach; answer now with what is known; stop. The weakest first. */
  public enum Kind { PROCEED, ROTATE, COMMIT, HALT }

  /**
   * Why the client went on without the sidecar: no session could be opened; the session is open and
   * no decision came in time; the stream broke; the sidecar refuses this client; the sidecar is
   * stopping; the client's own fault.
   */
  public enum Reason {
    CONNECT, TIMEOUT, STREAM, REJECTED, DRAINING, INTERNAL;

    /** The reason as it stands on the wire. */
    @Override public String toString() { return name().toLowerCase(Locale.ROOT); }
  }

  // Nobody waits longer than a day for a person, whatever the message says.
  private static final double WAIT_MAX_S = 86_400;

  static Directive of(Decision decision, boolean late, Reason reason) {
    Decision said = decision == null ? Decision.getDefaultInstance() : decision;
    // One of these four at most is there.
    String text = said.getProceed().getNotice() + said.getRotate().getInstruction()
        + said.getCommit().getInstruction() + said.getHalt().getReason();
    double wait = Math.min(Patience.seconds(said.getRotate().getWaitMax()), WAIT_MAX_S);
    Duration waitMax = Duration.ofMillis((long) (wait * 1000));
    return new Directive(kindOf(said), text, late, reason, waitMax, decision);
  }

  /** The kind by the number of its field; one that is unset or not known is a proceed. */
  static Kind kindOf(Decision decision) {
    int number = decision.getDirectiveCase().getNumber();
    return Kind.values()[Math.max(0, number - Decision.PROCEED_FIELD_NUMBER)];
  }
}
