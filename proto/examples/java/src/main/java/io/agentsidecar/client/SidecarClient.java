package io.agentsidecar.client;

import static java.util.concurrent.TimeUnit.MILLISECONDS;
import static java.util.concurrent.TimeUnit.NANOSECONDS;

import com.google.common.util.concurrent.Uninterruptibles;
import com.google.protobuf.Timestamp;
import io.agentsidecar.client.Directive.Reason;
import io.agentsidecar.v1.*;
import io.grpc.*;
import io.netty.channel.EventLoop;
import io.netty.util.concurrent.DefaultThreadFactory;
import java.io.IOException;
import java.time.Instant;
import java.util.*;
import java.util.concurrent.*;
import java.util.function.*;

/**
 * Reports one run of an agent, turn by turn, and hands over what the sidecar makes of it.
 *
 * <p>Nothing throws for what the sidecar does or fails to do, and {@link #turn} waits no longer
 * than the timeout: without a sidecar every directive is a plain proceed. Connecting goes on in the
 * background, on one daemon thread. May be used from several threads.
 */
public final class SidecarClient implements AutoCloseable {
  private static final System.Logger LOG = System.getLogger("io.agentsidecar.client");
  // The loop's timer ends the waiting; should it be late, the caller itself does so soon after.
  private static final double NEVER_S = 1e9, SLACK_S = 0.02;
  private static final long ORIGIN = System.nanoTime();
  private static final int ENDS_WITHIN_MS = 1000;
  // What close waits at least for its thread: one of a JVM that still loads classes ends by itself.
  private static final double LEAVES_WITHIN_S = 0.1;

  private final Options options;
  private final Exchange exchange;
  private final Thread thread = new Thread(this::live, "sidecar-client");
  private Timestamp reportedAt = timeOfDay();
  private Dialer dialer;
  private ManagedChannel channel;
  private EventLoop loop;
  private boolean isDetached, isLoopTold;
  private Future<?> timer;
  private double timerAt = Double.POSITIVE_INFINITY;

  /** Never fails, and connects in the background: an address that is no good is said in the log. */
  public SidecarClient(Options options) {
    this.options = Objects.requireNonNullElseGet(options, Options::new);
    exchange = new Exchange(this.options, this::dial);
    try {
      dialer = new Dialer(this.options);
      exchange.outage.where = " at " + dialer;
      thread.setDaemon(true);
      thread.start();
    } catch (IOException | IllegalArgumentException e) {
      run(at -> exchange.stop(Reason.CONNECT, e.getMessage(), at));
    }
  }

  /** Reports the turn that has just ended, without sequence; returns what to do now. */
  public Directive turn(Turn turn) {
    return await(turnAsync(turn), exchange.patience.timeout, SidecarClient::without);
  }

  /**
   * As {@link #turn}. Cancelling ends the waiting, not the stream: what answers the turn goes with
   * the next report. Completes on the client's own thread, which must not be blocked.
   */
  public CompletableFuture<Directive> turnAsync(Turn turn) {
    try {
      return tell(at -> exchange.report(timed(turn), at));
    } catch (RuntimeException e) { // the agent must not notice
      say("a turn was not reported", e);
      run(at -> exchange.count(Reason.INTERNAL));
      return CompletableFuture.completedFuture(without(Reason.INTERNAL));
    }
  }

  /** The turn with times: from the report before it until now, unless it has its own. */
  private Turn timed(Turn turn) {
    Timestamp began = reportedAt;
    reportedAt = timeOfDay();
    return turn.toBuilder().setStartTime(turn.hasStartTime() ? turn.getStartTime() : began)
        .setEndTime(turn.hasEndTime() ? turn.getEndTime() : reportedAt).build();
  }

  private static Timestamp timeOfDay() {
    Instant now = Instant.now();
    return Timestamp.newBuilder().setSeconds(now.getEpochSecond()).setNanos(now.getNano()).build();
  }

  /**
   * Waits for a person where the last directive says so, at most its {@code waitMax} and 2.5 s; no
   * longer once the session is closed, since no answer comes in the one that follows.
   */
  public Directive waitForOperator() {
    return await(waitForOperatorAsync(), NEVER_S, SidecarClient::without);
  }

  /** As {@link #waitForOperator}; can be cancelled. */
  public CompletableFuture<Directive> waitForOperatorAsync() {
    return tell(exchange::awaitOperator);
  }

  /** How often the client went on without the sidecar so far; reasons with 0 are left out. */
  public Map<Reason, Long> giveUps() {
    synchronized (exchange) { return exchange.giveUps.byReason(); }
  }

  /** The session's name; another one once the sidecar cannot go on with it. */
  public String sessionId() {
    synchronized (exchange) { return exchange.opening.getSessionId(); }
  }

  /** Closes with no outcome. */
  @Override public void close() { close(null); }

  /**
   * Ends the run and the client; whether the sidecar has heard it, within a second less what turns
   * without a decision have cost. One that is away is not waited for.
   */
  public boolean close(Close goodbye) {
    Close said = Objects.requireNonNullElse(goodbye, Close.getDefaultInstance());
    double within;
    synchronized (exchange) { within = exchange.patience.rest(); }
    double until = now() + within;
    boolean isInterrupted = Thread.interrupted(); // a run that ends so has a goodbye too
    boolean heard = await(tell(at -> exchange.close(said, within, at)), within, why -> false);
    detach(Math.max(until - now(), LEAVES_WITHIN_S));
    if (isInterrupted) Thread.currentThread().interrupt();
    return heard;
  }

  /** Ends the client without a word: the session can be resumed. */
  public void detach() { detach(ENDS_WITHIN_MS / 1e3); }

  private void detach(double within) {
    run(at -> {
      if (loop != null && !isDetached) loop.execute(this::leave);
      isDetached = true;
      exchange.stop(null, "", at);
    });
    if (Thread.currentThread() == thread) return;
    Uninterruptibles.joinUninterruptibly(thread, (long) (within * 1e3), MILLISECONDS);
  }

  private static Directive without(Reason reason) { return Directive.of(null, false, reason); }

  private <T> T await(CompletableFuture<T> future, double seconds, Function<Reason, T> otherwise) {
    Reason reason = null; // an interrupted caller asks no more
    try {
      return future.get((long) ((seconds + SLACK_S) * 1e9), NANOSECONDS);
    } catch (TimeoutException | ExecutionException e) {
      run(exchange::settle);
      reason = Reason.TIMEOUT;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    future.complete(otherwise.apply(reason));
    return future.join();
  }

  /** Tells the exchange, in the caller's thread; the loop does what follows, once for many. */
  private <T> T tell(DoubleFunction<T> event) {
    List<T> result = new ArrayList<>();
    run(at -> {
      result.add(event.apply(at));
      if (loop == null || isDetached || isLoopTold) return;
      isLoopTold = true;
      loop.execute(() -> step(now -> isLoopTold = false));
    });
    return result.get(0);
  }

  private static double now() { return (System.nanoTime() - ORIGIN) / 1e9; }

  private void run(DoubleConsumer event) {
    List<Runnable> todo;
    synchronized (exchange) {
      event.accept(now());
      todo = exchange.todo;
      exchange.todo = new ArrayList<>();
    }
    for (Runnable one : todo) {
      try {
        one.run();
      } catch (Throwable e) { // whatever a callback of the host's throws
        say("not done", e);
      }
    }
  }

  private static void say(String what, Throwable why) {
    try {
      LOG.log(System.Logger.Level.DEBUG, what, why);
    } catch (Throwable e) {
      // Of the host's own log, and there is nobody to tell.
    }
  }

  // The loop's thread.

  /** Becomes the loop, until it is shut down: its first task is run by whoever brings it. */
  private void live() {
    try {
      rehearse();
      EventLoop made = Dialer.loop(Runnable::run);
      made.execute(() -> step(at -> loop = made));
    } catch (RuntimeException | LinkageError e) { // a class path without Netty, or another's
      run(at -> exchange.stop(Reason.INTERNAL, e.toString(), at));
    }
  }

  /** Loads the classes that a turn needs: a first turn is not to wait for them under the lock. */
  private static void rehearse() {
    Exchange play = new Exchange(new Options(), (stream, open) -> {});
    play.advance(0);
    CompletableFuture<Directive> unused = play.report(Turn.getDefaultInstance(), 0);
    play.stop(null, "", play.due());
    play.todo.forEach(Runnable::run);
  }

  private void leave() {
    if (channel != null) channel.shutdownNow();
    Uninterruptibles.joinUninterruptibly(dialer.lookUp, ENDS_WITHIN_MS, MILLISECONDS);
    end(now() + ENDS_WITHIN_MS / 1e3);
  }

  /** Ends the loop once the last connection is closed: one that it has yet to make would stay open. */
  private void end(double within) {
    if (channel != null && !channel.isTerminated() && now() < within) {
      Future<?> unused = loop.schedule(() -> end(within), 1, MILLISECONDS);
    } else {
      Future<?> unused = loop.shutdownGracefully(0, ENDS_WITHIN_MS, MILLISECONDS);
    }
  }

  private void step(DoubleConsumer event) {
    run(at -> {
      event.accept(at);
      exchange.advance(at);
      if (isDetached) exchange.todo.add(this::leave);
      double due = exchange.due();
      if (due == timerAt || isDetached) return;
      if (timer != null) timer.cancel(false);
      timerAt = due;
      Runnable tick = () -> step(now -> timerAt = Double.POSITIVE_INFINITY);
      timer = loop.schedule(tick, (long) ((due - at) * 1e9), NANOSECONDS);
    });
  }

  private void dial(Stream stream, ObserveRequest open) {
    synchronized (exchange) { if (isDetached) return; }
    try {
      ManagedChannel own = dialer.channel(loop);
      channel = own;
      ClientCall<ObserveRequest, ObserveResponse> call =
          own.newCall(ConvergenceServiceGrpc.getObserveMethod(), CallOptions.DEFAULT);
      Metadata headers = new Metadata();
      var key = Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER);
      if (!options.token.isEmpty()) headers.put(key, "Bearer " + options.token);
      synchronized (exchange) { stream.call = call; }
      call.start(new ClientCall.Listener<>() {
        @Override public void onMessage(ObserveResponse response) {
          step(at -> exchange.received(stream, response, at));
          call.request(1);
        }

        @Override public void onClose(Status status, Metadata trailers) {
          own.shutdownNow();
          step(at -> exchange.ended(stream, Ending.of(status, trailers), at));
        }
      }, headers);
      call.request(1);
      call.sendMessage(open);
      step(exchange::dialled);
    } catch (IOException | RuntimeException | LinkageError e) {
      if (channel != null) channel.shutdownNow();
      // What throws IOException is not there; the rest is the client's own fault.
      String reason = e instanceof IOException ? "" : Ending.CLIENT_FAULT;
      step(at -> exchange.ended(stream, Ending.of(reason, e.toString()), at));
    }
  }
}
