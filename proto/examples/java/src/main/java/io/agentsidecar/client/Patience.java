package io.agentsidecar.client;

import static java.lang.Math.max;
import static java.lang.Math.min;

import com.google.protobuf.Duration;
import java.util.concurrent.ThreadLocalRandom;

/** Whether a decision is still worth waiting for, and when to try the sidecar again. */
final class Patience {
  private static final int MISSES_MAX = 3;
  static final double SILENCE = 0.6, SILENCE_MAX = 10, OUTAGE_MAX = 1;

  /** Longest wait for a decision. */
  final double timeout;

  private int misses, cuts, failures;

  Patience(double timeout) { this.timeout = timeout; }

  static double seconds(Duration duration) {
    return max(0, duration.getSeconds() + duration.getNanos() / 1e9);
  }

  /** Whether waiting has been in vain too often. */
  boolean isSpent() { return misses >= MISSES_MAX; }

  void missed() { misses++; }

  /** What is left for the goodbye of the time that an outage may cost the agent in all. */
  double rest() { return OUTAGE_MAX - min(SILENCE, min(misses, MISSES_MAX) * timeout); }

  void cut() { cuts++; }

  /** A decision came so long after its turn was sent; only one in time restores patience. */
  void answered(double after) {
    if (after > timeout) return;
    misses = 0;
    cuts = 0;
  }

  /** How long a stream with turns unanswered may be silent before it counts as dead. */
  double silenceMax() {
    double first = max(SILENCE, MISSES_MAX * timeout);
    return min(max(SILENCE_MAX, first), first * Math.pow(2, cuts));
  }

  void recovered() { failures = 0; }

  /** Pause before the next attempt: half of it random, doubled with each failure. */
  double pause(double first, double most) {
    double pause = min(most, first * Math.pow(2, failures++));
    return pause * (0.5 + 0.5 * ThreadLocalRandom.current().nextDouble());
  }
}
