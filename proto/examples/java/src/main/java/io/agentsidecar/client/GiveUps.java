package io.agentsidecar.client;

import io.agentsidecar.client.Directive.Reason;
import io.agentsidecar.v1.GiveUp;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;

/** How often the client went on without the sidecar, by reason, and what was told of it. */
final class GiveUps {
  private static final double TOLD_WITHIN = 5;

  private final Map<Reason, Long> counts = new EnumMap<>(Reason.class);
  boolean isUntold;
  private double toldAt;

  void count(Reason reason) {
    counts.merge(reason, 1L, Long::sum);
    isUntold = true;
  }

  Map<Reason, Long> byReason() { return new EnumMap<>(counts); }

  /** When the sidecar is to be told; infinity: it knows all. */
  double dueAt() { return isUntold ? toldAt + TOLD_WITHIN : Double.POSITIVE_INFINITY; }

  List<GiveUp> tell(double now) {
    toldAt = now;
    isUntold = false;
    return counts.entrySet().stream().map(one -> GiveUp.newBuilder()
        .setReason(one.getKey().toString()).setCount(one.getValue()).build()).toList();
  }
}
