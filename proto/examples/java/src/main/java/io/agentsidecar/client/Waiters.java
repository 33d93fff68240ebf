package io.agentsidecar.client;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Future;
import java.util.function.DoubleConsumer;
import java.util.function.DoubleSupplier;

/** Those who wait: each until a time that may change, or is -infinity for nothing to wait for. */
final class Waiters {
  private record Waiter(Future<?> future, DoubleSupplier until, DoubleConsumer finish) {}

  private final List<Waiter> waiters = new ArrayList<>();

  void add(Future<?> future, DoubleSupplier until, DoubleConsumer finish) {
    waiters.add(new Waiter(future, until, finish));
  }

  /** The first time at which somebody waits no longer. */
  double due() {
    return waiters.stream().mapToDouble(waiter -> waiter.until.getAsDouble()).min()
        .orElse(Double.POSITIVE_INFINITY);
  }

  /** Lets go of all whose time is up, and of those who were cancelled. */
  void settle(double now) {
    for (Waiter waiter : List.copyOf(waiters)) {
      if (waiter.future.isDone() || waiter.until.getAsDouble() <= now) {
        waiters.remove(waiter);
        waiter.finish.accept(now);
      }
    }
  }
}
