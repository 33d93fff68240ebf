package io.agentsidecar.client;

import static java.lang.Double.NEGATIVE_INFINITY;
import static java.lang.Double.POSITIVE_INFINITY;
import static java.lang.Math.max;
import static java.lang.Math.min;

import com.google.protobuf.Message;
import io.agentsidecar.client.Directive.Reason;
import io.agentsidecar.client.Ending.Course;
import io.agentsidecar.client.Ring.Entry;
import io.agentsidecar.v1.*;
import io.grpc.Status;
import java.util.*;
import java.util.concurrent.*;
import java.util.function.*;

/**
 * The state of one client: turns out, decisions in. It is told what happens and what time it is,
 * in seconds of any clock that does not go back, and lists in {@link #todo} what is to be done. It
 * waits for nothing, and is guarded by its monitor, which its owner holds.
 *
 * <p>PAUSED, OPENING, OPEN, LEAVING (half-closed), PAUSED and so on; from each to STOPPED.
 */
final class Exchange {
  private enum Phase { PAUSED, OPENING, OPEN, LEAVING, STOPPED }

  private static final System.Logger LOG = System.getLogger("io.agentsidecar.client");
  private static final int ID_BYTES_MAX = 128;
  private static final double ATTEMPT = 3, HEALTHY = 5, LEAVING = 5, GRACE_MAX = 30, HEARTBEAT = 30;
  private static final double RETRY_DELAY_MAX = 3600, AWAY_MAX = 10, TIMEOUT_MAX = 60;
  // The sidecar itself says what a person's silence means, and looks once a second.
  private static final double LAST_WORD = 2.5;

  /** What is to be done, in order, once the monitor is left. */
  List<Runnable> todo = new ArrayList<>();
  final GiveUps giveUps = new GiveUps();
  final Open.Builder opening;
  private final BiConsumer<Stream, ObserveRequest> dial;
  private final Consumer<Reason> onGiveUp;
  private final String firstId;
  private final boolean enforcing;
  final Patience patience;
  private final Ring ring = new Ring();
  private final Held held = new Held();
  private final Waiters waiters = new Waiters();
  private Phase phase = Phase.PAUSED;
  private Stream stream, goodbyeOn; // goodbyeOn: that the goodbye was last said on
  final Outage outage = new Outage();
  private boolean heard, isRenewing, isReopening;
  private Close goodbye;
  private int seen, renames, expected, holeBefore;
  private int turnBytesMax = Texts.room(4 << 20); // gRPC's, until it is stated
  private double deadAt, heartbeat, connectAt = NEGATIVE_INFINITY, personUntil = NEGATIVE_INFINITY;
  private double since = POSITIVE_INFINITY, downSince = POSITIVE_INFINITY;

  Exchange(Options options, BiConsumer<Stream, ObserveRequest> dial) {
    this.dial = dial;
    onGiveUp = options.onGiveUp;
    double timeout = options.timeout.toSeconds() + options.timeout.toNanosPart() / 1e9;
    patience = new Patience(max(0, min(TIMEOUT_MAX, timeout)));
    String id = options.session.getSessionId(), random = UUID.randomUUID().toString();
    firstId = id.isEmpty() ? random : Texts.name(id, ID_BYTES_MAX);
    opening = tidy(options.session.toBuilder()).setSessionId(firstId)
        .setPreviousSessionId(Texts.name(options.session.getPreviousSessionId(), ID_BYTES_MAX))
        .setClientInstance(random.replace("-", ""));
    enforcing = opening.getMode() != Mode.MODE_OBSERVE;
  }

  // The caller's side.

  /** Takes a turn to be sent; completes with its directive. */
  CompletableFuture<Directive> report(Turn turn, double now) {
    Turn.Builder seeing = tidy(turn.toBuilder()).setDirectiveSeen(seen);
    Entry entry = new Entry(Texts.fit(seeing, turnBytesMax).build());
    if (!isOver()) ring.add(entry);
    double deadline = now + patience.timeout;
    DoubleSupplier until = () -> awaits(entry) ? deadline : NEGATIVE_INFINITY;
    return await(entry, until, at -> collect(entry, at), now);
  }

  /** Makes a message fit for the wire; what cannot be sent is counted. */
  private <B extends Message.Builder> B tidy(B message) {
    if (Texts.tidy(message)) count(Reason.INTERNAL);
    return message;
  }

  private <T> CompletableFuture<T> await(
      CompletableFuture<T> future, DoubleSupplier until, DoubleConsumer finish, double now) {
    waiters.add(future, until, finish);
    settle(now);
    return future;
  }

  private boolean isOver() { return goodbye != null || phase == Phase.STOPPED; }

  /** Whether waiting for the turn's decision can help. */
  private boolean awaits(Entry entry) {
    if (entry.answered || !enforcing || patience.isSpent() || isOver()) return false;
    if (phase == Phase.PAUSED) return outage.reason == null;
    return phase != Phase.LEAVING || entry.sentOn == stream || holeBefore > 0;
  }

  private void collect(Entry entry, double now) {
    Decision own = entry.decision;
    entry.decision = null;
    entry.collected = true;
    if (own == null && entry.isDone()) return; // cancelled
    Reason reason = own == null ? trouble() : null;
    if (reason != null && enforcing && goodbye == null) patience.missed();
    if (reason != null) count(reason);
    boolean isFinal = !entry.turn.getFinalAnswer().isEmpty(); // it is not told to change course
    if (own != null && !isFinal) held.add(own);
    Decision strongest = isFinal ? null : held.take(one -> true);
    Decision best = strongest == null ? own : strongest;
    handOver(entry, best, !Objects.equals(best, own) && !Held.isUnasked(best), reason, now);
  }

  /** Why a turn has no decision; null: none is due. */
  private Reason trouble() {
    if (goodbye != null) return Reason.INTERNAL; // a report after the end
    if (!enforcing) return outage.reason;
    if (phase == Phase.OPEN) return Reason.TIMEOUT;
    if (stream != null && stream.draining) return Reason.DRAINING;
    return outage.reason == null ? Reason.CONNECT : outage.reason;
  }

  void count(Reason reason) {
    giveUps.count(reason);
    todo.add(() -> onGiveUp.accept(reason));
  }

  private void handOver(CompletableFuture<Directive> taker, Decision decision, boolean late,
      Reason reason, double now) {
    Directive directive = Directive.of(decision, late, reason);
    if (decision != null) seen = max(seen, decision.getSequence());
    double wait = directive.waitMax().toMillis() / 1e3;
    personUntil = wait > 0 ? now + wait : NEGATIVE_INFINITY;
    todo.add(() -> {
      if (!taker.complete(directive) && decision != null) takeBack(decision);
    });
  }

  /** What was cancelled at the last moment is handed over later. */
  private synchronized void takeBack(Decision decision) { held.add(decision); }

  /** Waits for what no turn asked for, as long as the last directive said. */
  CompletableFuture<Directive> awaitOperator(double now) {
    CompletableFuture<Directive> taker = new CompletableFuture<>();
    return await(taker, this::operatorUntil, at -> collectOperator(taker, at), now);
  }

  private double operatorUntil() {
    boolean vain = personUntil == NEGATIVE_INFINITY || held.hasUnasked() || isOver();
    return vain ? NEGATIVE_INFINITY : min(personUntil + LAST_WORD, downSince + AWAY_MAX);
  }

  private void collectOperator(CompletableFuture<Directive> taker, double now) {
    if (taker.isDone()) return; // cancelled
    Decision decision = held.take(Held::isUnasked);
    Reason reason = decision != null || personUntil == NEGATIVE_INFINITY ? null
        : Objects.requireNonNullElse(trouble(), Reason.TIMEOUT);
    if (reason != null) count(reason);
    handOver(taker, decision, false, reason, now);
  }

  /** The run is over; completes with whether that was heard, within so many seconds. */
  CompletableFuture<Boolean> close(Close said, double within, double now) {
    if (!isOver()) goodbye = tidy(said.toBuilder()).build();
    CompletableFuture<Boolean> taker = new CompletableFuture<>();
    return await(taker, () -> hearsUntil(now + within),
        at -> todo.add(() -> taker.complete(heard)), now);
  }

  /** Until when a goodbye can be heard: a sidecar that is away hears none. */
  private double hearsUntil(double deadline) {
    if (phase == Phase.STOPPED) return NEGATIVE_INFINITY;
    // Who has opened a stream, or asks for another session, is there, whatever turns have missed.
    boolean isVain = stream == null || (phase == Phase.OPENING && patience.isSpent());
    if (isRenewing || isReopening || !isVain) return deadline;
    // Turns may have missed before the first attempt to connect has had its time.
    return outage.reason == null ? min(deadline, since + Patience.SILENCE) : NEGATIVE_INFINITY;
  }

  /** Never connects again; with a reason, it goes on without the sidecar for good. */
  void stop(Reason reason, String text, double now) {
    stream = null; // its call ends with the channel, on the loop: from here it could outlive that
    phase = Phase.STOPPED;
    if (reason != null) outage.goOn(reason, text, true);
    settle(now);
  }

  // Time.

  /** Does what is due. To be called after whatever happened, and at {@link #due}. */
  void advance(double now) {
    if (phase == Phase.PAUSED && now >= connectAt) begin(now);
    else if (phase == Phase.OPEN && now < silenceEnds()) transmit(now);
    else if (phase == Phase.OPEN) {
      patience.cut();
      cut(Ending.SILENCE, "turns stay unanswered", now);
    } else if (stream != null && now >= deadAt) cut("", "no answer, or no end", now);
    settle(now);
  }

  /** When to look again though nothing has happened. */
  double due() {
    return min(waiters.due(), switch (phase) {
      case PAUSED -> connectAt;
      case OPENING, LEAVING -> deadAt;
      case OPEN -> min(heartbeatAt(), silenceEnds());
      case STOPPED -> POSITIVE_INFINITY;
    });
  }

  /** Lets go of all who have nothing to wait for, and says what is news of an outage, once each. */
  void settle(double now) {
    waiters.settle(now);
    String news = outage.news();
    var level = outage.reason == null ? System.Logger.Level.INFO : System.Logger.Level.WARNING;
    if (!news.isEmpty()) todo.add(() -> LOG.log(level, news));
  }

  private double heartbeatAt() { return min(stream.sentAt + heartbeat, giveUps.dueAt()); }

  /** When the stream counts as dead if nothing comes. */
  private double silenceEnds() {
    if (!patience.isSpent()) return POSITIVE_INFINITY;
    OptionalDouble oldest = ring.unanswered(stream).mapToDouble(entry -> entry.sentAt).min();
    return max(oldest.orElse(POSITIVE_INFINITY), stream.receivedAt) + patience.silenceMax();
  }

  // What goes out.

  private void begin(double now) {
    Stream begun = new Stream();
    stream = begun;
    phase = Phase.OPENING;
    deadAt = now + ATTEMPT;
    begun.firstAvailable = max(ring.first(), holeBefore);
    holeBefore = 0;
    Open.Builder open = Texts.fit(opening.clone(), turnBytesMax).clearGiveUps()
        .setSessionId(opening.getSessionId()).setPreviousSessionId(opening.getPreviousSessionId())
        .setFirstAvailableSequence(begun.firstAvailable).addAllGiveUps(giveUps.tell(now));
    todo.add(() -> dial.accept(begun, ObserveRequest.newBuilder().setOpen(open).build()));
  }

  /** What went before was this process's own time: a JVM that has just started loads classes. */
  void dialled(double now) {
    since = now;
    if (phase == Phase.OPENING) deadAt = now + ATTEMPT;
  }

  private void transmit(double now) {
    for (Entry entry : ring) {
      if (entry.sentOn != stream && isWanted(entry) && !sent(entry, now)) return;
    }
    if (now >= heartbeatAt() || (goodbye != null && giveUps.isUntold)) {
      Heartbeat.Builder sign = Heartbeat.newBuilder().addAllGiveUps(giveUps.tell(now));
      send(ObserveRequest.newBuilder().setHeartbeat(sign), now);
    }
    if (goodbye == null) return;
    goodbyeOn = stream;
    send(ObserveRequest.newBuilder().setClose(Texts.fit(goodbye.toBuilder(), turnBytesMax)), now);
    leave(now + LEAVING);
  }

  /** What the sidecar holds goes again where it asks, or where its decision was lost on the way. */
  private boolean isWanted(Entry entry) {
    if (entry.sequence == 0 || entry.sequence < stream.firstAvailable) return entry.sequence == 0;
    return entry.sequence > stream.held || (enforcing && !entry.answered)
        || (expected > 0 && entry.sequence >= expected);
  }

  /** Sends a turn; false: those before it are lost, and only another open can say so. */
  private boolean sent(Entry entry, double now) {
    ring.number(entry);
    if (entry.sequence > stream.next) {
      holeBefore = entry.sequence;
      leave(now + LEAVING);
      return false;
    }
    Turn.Builder numbered = entry.turn.toBuilder().setSequence(entry.sequence);
    entry.turn = Texts.fit(numbered, turnBytesMax).build();
    stream.next = max(stream.next, entry.sequence + 1);
    entry.sentOn = stream;
    entry.sentAt = now;
    send(ObserveRequest.newBuilder().setTurn(entry.turn), now);
    return true;
  }

  private void send(ObserveRequest.Builder request, double now) {
    Stream to = stream;
    to.sentAt = now;
    todo.add(() -> to.call.sendMessage(request.build()));
  }

  private void leave(double until) {
    Stream left = stream;
    phase = Phase.LEAVING;
    deadAt = until;
    todo.add(() -> left.call.halfClose());
  }

  // What comes in.

  void received(Stream from, ObserveResponse response, double now) {
    if (from != stream) return;
    stream.receivedAt = now;
    switch (response.getMessageCase()) {
      case OPENED -> opened(response.getOpened(), now);
      case DECISION -> decided(response.getDecision(), now);
      case DRAINING -> {
        double grace = Patience.seconds(response.getDraining().getGrace());
        if (phase != Phase.LEAVING) leave(now + (grace > 0 ? min(grace, GRACE_MAX) : LEAVING));
        stream.draining = true;
      }
      case MESSAGE_NOT_SET -> {} // of a later version
    }
  }

  private void opened(Opened opened, double now) {
    if (phase != Phase.OPENING) return;
    if (opened.getLastSequence() < 0) { // above 2^31 on the wire
      cut(Ending.CLIENT_FAULT, "last_sequence leaves no numbers", now);
      return;
    }
    phase = Phase.OPEN;
    since = now;
    stream.sentAt = now;
    downSince = POSITIVE_INFINITY;
    if (!enforcing) outage.reason = null;
    stream.held = opened.getLastSequence();
    ring.skipTo(stream.held);
    stream.next = max(stream.held + 1, stream.firstAvailable);
    double idle = Patience.seconds(opened.getIdleTtl());
    heartbeat = idle > 0 ? min(HEARTBEAT, max(1, idle / 3)) : HEARTBEAT;
    int stated = opened.getTurnBytesMax();
    if (stated > 0) turnBytesMax = min(turnBytesMax, Texts.room(stated));
  }

  private void decided(Decision decision, double now) {
    if (Held.isUnasked(decision)) held.addUnasked(decision);
    else for (Entry entry : ring) {
      // One that no turn of this stream has answers nothing.
      boolean isMeant = entry.sequence == decision.getSequence() && entry.sentOn == stream;
      if (isMeant) answered(entry, decision, now);
    }
  }

  private void answered(Entry entry, Decision decision, double now) {
    stream.decided = true;
    outage.reason = null;
    patience.answered(now - entry.sentAt);
    if (entry.answered) return;
    entry.answered = true;
    if (!enforcing) return;
    if (entry.collected) held.add(decision); else entry.decision = decision;
  }

  private void cut(String reason, String text, double now) {
    Stream dead = stream;
    todo.add(() -> dead.call.cancel(text, null));
    ended(dead, Ending.of(reason, text), now);
  }

  void ended(Stream over, Ending ending, double now) {
    if (over != stream) return;
    Course course = ending.course();
    isRenewing = course == Course.REPLAY || course == Course.GO_ON;
    isReopening = holeBefore > 0 && ending.code() == Status.Code.OK; // by the client's own wish
    boolean lasted = phase != Phase.OPENING && now - since >= HEALTHY;
    if (isReopening || over.decided || lasted) patience.recovered();
    Reason reason = ending.counted(phase == Phase.OPENING, over.draining);
    if (reason == Reason.INTERNAL) count(reason);
    stream = null;
    downSince = min(downSince, now);
    heard = isRenewing ? goodbyeOn != null : goodbyeOn == over && ending.code() == Status.Code.OK;
    phase = heard || course == Course.STOP ? Phase.STOPPED : Phase.PAUSED;
    if (heard) return;
    if (!isReopening) outage.goOn(reason, ending.text(), course == Course.STOP);
    expected = ending.number("expected");
    turnBytesMax = ending.turnBytesMax(turnBytesMax);
    // One that is back is found within a second; one that said no will say so again.
    double pause = course == Course.LATER ? patience.pause(1, 30) : patience.pause(0.05, 1);
    connectAt = now + max(pause, min(ending.retryDelay(), RETRY_DELAY_MAX));
    if (isRenewing) rename(course);
  }

  private void rename(Course course) {
    String suffix = "." + opening.getClientInstance().substring(0, 8) + "." + ++renames;
    opening.setPreviousSessionId(course == Course.GO_ON ? opening.getSessionId() : "");
    opening.setSessionId(Texts.name(firstId, ID_BYTES_MAX - suffix.length()) + suffix);
    seen = max(0, seen - ring.renumber(course == Course.REPLAY));
    held.part();
    if (course == Course.GO_ON) personUntil = NEGATIVE_INFINITY; // nobody was asked in this one
  }
}
