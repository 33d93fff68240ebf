package io.agentsidecar.client;

import static io.agentsidecar.client.Directive.kindOf;

import io.agentsidecar.client.Directive.Kind;
import io.agentsidecar.v1.Cause;
import io.agentsidecar.v1.Decision;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.function.Predicate;

/**
 * Decisions that came when nobody was waiting for them: at most one of each kind that turns asked
 * for, and one of each that no turn asked for. The newer takes the place of the older.
 */
final class Held {
  private static final Comparator<Decision> RANK =
      Comparator.<Decision, Kind>comparing(Directive::kindOf).thenComparing(Held::isUnasked)
          .thenComparing(Decision::getSequence);
  private final List<Decision> decisions = new ArrayList<>();
  private String unaskedSeen = ""; // the id of the last one handed over

  static boolean isUnasked(Decision decision) {
    Cause cause = decision.getCause();
    return cause != Cause.CAUSE_TURN && cause != Cause.CAUSE_UNSPECIFIED;
  }

  /** One that no turn asked for: the sidecar says it again on each stream until a turn follows. */
  void addUnasked(Decision one) {
    boolean isAgain = one.getDecisionId().equals(unaskedSeen) && !unaskedSeen.isEmpty();
    if (!isAgain) add(one);
  }

  void add(Decision one) {
    boolean proceeds = kindOf(one) == Kind.PROCEED;
    // A plain proceed of a turn nobody misses.
    if (proceeds && !isUnasked(one) && one.getProceed().getNotice().isEmpty()) return;
    Predicate<Decision> older = other -> other.getSequence() <= one.getSequence();
    Predicate<Decision> twin =
        other -> kindOf(other) == kindOf(one) && isUnasked(other) == isUnasked(one);
    // Somebody let the run go on: what turns were told before it is settled.
    decisions.removeIf(older.and(proceeds && isUnasked(one) ? other -> !isUnasked(other) : twin));
    decisions.removeIf(older.and(twin));
    if (decisions.stream().noneMatch(twin)) decisions.add(one);
  }

  /** Takes the strongest that the filter lets through, or null; what it outdoes is dropped. */
  Decision take(Predicate<Decision> filter) {
    Decision best = decisions.stream().filter(filter).max(RANK).orElse(null);
    decisions.removeIf(one -> best != null && one.getSequence() <= best.getSequence()
        && kindOf(one).compareTo(kindOf(best)) <= 0);
    if (best != null && isUnasked(best)) unaskedSeen = best.getDecisionId();
    return best;
  }

  boolean hasUnasked() { return decisions.stream().anyMatch(Held::isUnasked); }

  /** The session is another now: what is held stays of use, but answers no turn of it. */
  void part() { decisions.replaceAll(one -> one.toBuilder().setSequence(0).build()); }
}
