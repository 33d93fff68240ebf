package io.agentsidecar.client;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.util.Durations;
import com.google.rpc.Code;
import io.agentsidecar.client.Directive.Kind;
import io.agentsidecar.client.Directive.Reason;
import io.agentsidecar.v1.Cause;
import io.agentsidecar.v1.Close;
import io.agentsidecar.v1.ObserveRequest;
import io.agentsidecar.v1.ObserveResponse;
import io.agentsidecar.v1.Open;
import io.agentsidecar.v1.Opened;
import io.agentsidecar.v1.Rotate;
import io.agentsidecar.v1.Turn;
import io.grpc.ClientCall;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.logging.Level;
import org.junit.jupiter.api.Test;

/** The exchange by itself: the tests say what time it is. */
final class ExchangeTest {
  private static final Turn TURN = Turn.newBuilder().setText("a turn").build();
  private static final Close GOODBYE = Close.getDefaultInstance();
  private static final Ending CLOSED = refusal("SESSION_CLOSED");
  private static final int MIB = 1 << 20;

  private final List<ObserveRequest> sent = new ArrayList<>();
  private Stream dialled;
  private Open opened;

  private static Ending refusal(String reason) {
    return new Ending(Status.Code.FAILED_PRECONDITION, reason, Map.of(), 0, "as the test says");
  }

  /** One whose first stream is dialled, at 0 s. */
  private Exchange conversing(Options options) {
    Exchange exchange = new Exchange(options, this::dial);
    exchange.advance(0);
    run(exchange);
    exchange.dialled(0);
    return exchange;
  }

  private void dial(Stream stream, ObserveRequest request) {
    dialled = stream;
    dialled.call = new Mute();
    opened = request.getOpen();
  }

  /** Keeps whatever is sent, and answers nothing. */
  private final class Mute extends ClientCall<ObserveRequest, ObserveResponse> {
    @Override
    public void start(Listener<ObserveResponse> listener, Metadata headers) {}

    @Override
    public void request(int messages) {}

    @Override
    public void cancel(String message, Throwable cause) {}

    @Override
    public void halfClose() {}

    @Override
    public void sendMessage(ObserveRequest message) {
      sent.add(message);
    }
  }

  private static void run(Exchange exchange) {
    List<Runnable> todo = exchange.todo;
    exchange.todo = new ArrayList<>();
    todo.forEach(Runnable::run);
  }

  /** Three turns, one after the other, miss their decision; returns what time it is then. */
  private static double missThree(Exchange exchange) {
    double now = 0;
    for (int turn = 0; turn < 3; turn++) {
      CompletableFuture<Directive> directive = exchange.report(TURN, now);
      exchange.advance(now);
      run(exchange);
      assertFalse(directive.isDone());
      now += exchange.patience.timeout;
      exchange.advance(now);
      run(exchange);
      assertTrue(directive.isDone());
    }
    return now;
  }

  @Test
  void closingDoesNotWaitForAFirstStreamThatHasOpenedForNobodyWhileTurnsMissed() {
    Exchange exchange = conversing(new Options());
    double now = missThree(exchange);
    CompletableFuture<Boolean> heard = exchange.close(GOODBYE, exchange.patience.rest(), now);
    run(exchange);
    assertFalse(heard.getNow(true));
  }

  @Test
  void closingLeavesTheFirstAttemptItsTimeHoweverSoonTurnsMissed() {
    Exchange exchange = conversing(new Options().timeout(Duration.ofMillis(1)));
    double now = missThree(exchange);
    CompletableFuture<Boolean> heard = exchange.close(GOODBYE, 1, now);
    exchange.advance(0.59);
    run(exchange);
    assertFalse(heard.isDone());
    exchange.advance(0.6);
    run(exchange);
    assertFalse(heard.getNow(true));
  }

  @Test
  void whatFailedBeforeDoesNotDelayTheStreamThatTellsOfTurnsThatFellOut() {
    Exchange exchange = conversing(new Options());
    double now = 0;
    for (int attempt = 0; attempt < 10; attempt++) {
      exchange.ended(dialled, Ending.of("UNAVAILABLE", "as the test says"), now);
      now = exchange.due();
      exchange.advance(now);
      run(exchange);
      exchange.dialled(now);
    }
    for (int turn = 0; turn < 300; turn++) exchange.report(TURN, now).complete(null);
    exchange.received(dialled, FakeSidecar.opened(), now);
    exchange.advance(now);
    run(exchange);
    exchange.ended(dialled, new Ending(Status.Code.OK, "", Map.of(), 0, ""), now);
    double pause = exchange.due() - now;
    assertTrue(pause <= 0.05, () -> pause + " s");
  }

  @Test
  void withinAnOutageTheLogTellsOfARefusalOnceAndOfAnEndForGood() {
    try (Said said = new Said()) {
      Exchange exchange = conversing(new Options());
      var codes = List.of(Status.Code.UNAVAILABLE, Status.Code.UNAVAILABLE,
          Status.Code.UNAUTHENTICATED, Status.Code.UNAUTHENTICATED, Status.Code.INVALID_ARGUMENT);
      double now = 0;
      for (Status.Code code : codes) {
        exchange.ended(dialled, new Ending(code, "", Map.of(), 0, "why"), now);
        now = exchange.due();
        exchange.advance(now);
        run(exchange);
      }
      String away = "WARNING the agent goes on without the sidecar";
      assertEquals(
          List.of(away + ": connect, why", away + ": rejected, why",
              away + " for good: rejected, why"),
          said.lines);
    }
  }

  @Test
  void whatThisProcessTakesToDialIsNotTheSidecarsSilence() {
    Exchange exchange = new Exchange(new Options(), this::dial);
    exchange.advance(0);
    run(exchange);
    double now = missThree(exchange);
    CompletableFuture<Boolean> heard = exchange.close(GOODBYE, 1, now);
    run(exchange);
    assertFalse(heard.isDone());
    exchange.dialled(now);
    exchange.advance(now + 0.6);
    run(exchange);
    assertFalse(heard.getNow(true));
  }

  @Test
  void closingDoesNotWaitForAnotherAttemptInAnOutage() {
    Exchange exchange = conversing(new Options());
    missThree(exchange);
    exchange.ended(dialled, Ending.of("", "gone"), 0.6);
    exchange.advance(exchange.due());
    run(exchange);
    CompletableFuture<Boolean> heard = exchange.close(GOODBYE, 1, 0.7);
    run(exchange);
    assertFalse(heard.getNow(true));
  }

  @Test
  void anOpenStreamIsWorthAGoodbyeWhateverTurnsHaveMissed() {
    Exchange exchange = conversing(new Options());
    double now = missThree(exchange);
    exchange.received(dialled, FakeSidecar.opened(), now);
    CompletableFuture<Boolean> heard = exchange.close(GOODBYE, 1, now);
    run(exchange);
    assertFalse(heard.isDone());
  }

  @Test
  void turnsThatAreReportedAfterTheEndDoNotCutItShort() {
    Exchange exchange = conversing(new Options());
    CompletableFuture<Boolean> heard = exchange.close(GOODBYE, 1, 0);
    for (int turn = 0; turn < 4; turn++) {
      CompletableFuture<Directive> late = exchange.report(TURN, 0.7);
      run(exchange);
      assertEquals(Reason.INTERNAL, late.getNow(null).failOpenReason());
    }
    assertFalse(heard.isDone());
  }

  @Test
  void anOutageCostsASecondWithItsGoodbye() {
    assertEquals(1, new Patience(0.2).rest());
    assertEquals(0.7, restAfter(3, 0.1), 1e-9);
    assertEquals(0.4, restAfter(3, 0.2), 1e-9);
    assertEquals(0.4, restAfter(1, 20), 1e-9);
    // No more are waited for.
    assertEquals(0.7, restAfter(100, 0.1), 1e-9);
  }

  private static double restAfter(int misses, double timeout) {
    Patience patience = new Patience(timeout);
    for (int miss = 0; miss < misses; miss++) {
      patience.missed();
    }
    return patience.rest();
  }

  @Test
  void aGoodbyeThatWasNotSaidIsSaidInTheSessionThatFollows() {
    Exchange exchange = conversing(new Options());
    assertFalse(exchange.report(TURN, 0).isDone());
    CompletableFuture<Boolean> heard = exchange.close(GOODBYE, 1, 0);
    exchange.ended(dialled, CLOSED, 0);
    exchange.settle(0);
    run(exchange);
    assertFalse(heard.isDone());
    assertTrue(exchange.due() < 1);
  }

  @Test
  void aGoodbyeIsCutUntilItFitsWhatTheSidecarTakes() {
    Exchange exchange = conversing(new Options());
    Opened small = Opened.newBuilder().setTurnBytesMax(4096).build();
    exchange.received(dialled, ObserveResponse.newBuilder().setOpened(small).build(), 0);
    Close goodbye = Close.newBuilder().setFinalAnswer("x".repeat(MIB)).build();
    CompletableFuture<Boolean> heard = exchange.close(goodbye, 1, 0);
    exchange.advance(0);
    run(exchange);
    assertFalse(heard.isDone());
    Close said = sent.get(sent.size() - 1).getClose();
    assertTrue(said.getFinalAnswer().startsWith("xxx"));
    assertTrue(said.getSerializedSize() <= 4096);
  }

  @Test
  void namesOfTheSessionBeforeAreShortenedAsItsOwn() {
    Open session =
        Open.newBuilder()
            .setSessionId("s".repeat(300))
            .setPreviousSessionId("s".repeat(300))
            .build();
    Exchange exchange = conversing(new Options().session(session));
    assertEquals(128, opened.getSessionId().length());
    assertEquals(opened.getSessionId(), opened.getPreviousSessionId());
    assertEquals(Map.of(), exchange.giveUps.byReason());
  }

  @Test
  void whatTheHostSaysOfTheRunIsMadeFitForTheWire() {
    Open session =
        Open.newBuilder()
            .setAgentName("x".repeat(6 * MIB))
            .setModel("a\ud800")
            .setSessionId("\udc00")
            .putLabels("long", "ä".repeat(3 * MIB))
            .putLabels("half", "\ud800b")
            .build();
    Exchange exchange = conversing(new Options().session(session));
    assertTrue(opened.getAgentName().length() <= 64 * 1024);
    assertEquals("a?", opened.getModel());
    assertEquals("?", opened.getSessionId());
    assertTrue(opened.getLabelsOrThrow("long").getBytes(UTF_8).length <= 64 * 1024);
    assertEquals("?b", opened.getLabelsOrThrow("half"));
    assertEquals(Map.of(Reason.INTERNAL, 1L), exchange.giveUps.byReason());
  }

  @Test
  void manyLabelsAreCutUntilTheyFitWhatTheSidecarTakes() {
    Open.Builder session = Open.newBuilder().setSessionId("s".repeat(100)).setPolicy("strict");
    for (int label = 0; label < 1000; label++) {
      session.putLabels("label " + label, "x".repeat(64 * 1024));
    }
    Exchange exchange = conversing(new Options().session(session.build()));
    assertTrue(opened.getSerializedSize() < 4 * MIB);
    assertEquals(256, opened.getLabelsCount());
    assertEquals(Map.of(Reason.INTERNAL, 1L), exchange.giveUps.byReason());

    Map<String, String> stated = Map.of("message_bytes_max", "4096");
    Ending tooLarge =
        new Ending(Status.Code.RESOURCE_EXHAUSTED, "MESSAGE_BYTES_MAX", stated, 0, "too large");
    exchange.ended(dialled, tooLarge, 0);
    exchange.advance(exchange.due());
    run(exchange);
    assertTrue(opened.getSerializedSize() <= 4096);
    assertEquals("s".repeat(100), opened.getSessionId());
    assertEquals("strict", opened.getPolicy());
  }

  /** A turn's decision asks to wait for a person, and the client does. */
  private CompletableFuture<Directive> waiting(Exchange exchange) {
    exchange.received(dialled, FakeSidecar.opened(), 0);
    CompletableFuture<Directive> turn = exchange.report(TURN, 0);
    exchange.advance(0);
    Rotate rotate = Rotate.newBuilder().setWaitMax(Durations.fromSeconds(60)).build();
    exchange.received(
        dialled, FakeSidecar.decision(FakeSidecar.decision(1).setRotate(rotate)), 0);
    exchange.settle(0);
    run(exchange);
    assertTrue(turn.isDone());
    assertEquals(Duration.ofMinutes(1), turn.join().waitMax());
    CompletableFuture<Directive> person = exchange.awaitOperator(0);
    run(exchange);
    assertFalse(person.isDone());
    return person;
  }

  private static void end(Exchange exchange, Stream stream, Ending ending) {
    exchange.ended(stream, ending, 1);
    exchange.advance(1);
    run(exchange);
  }

  @Test
  void nobodyIsWaitedForInTheSessionAfterOneThatWasClosed() {
    Exchange exchange = conversing(new Options());
    CompletableFuture<Directive> person = waiting(exchange);
    end(exchange, dialled, CLOSED);
    assertTrue(person.isDone());
    assertEquals(Kind.PROCEED, person.join().kind());
    assertNull(person.join().failOpenReason());
    CompletableFuture<Directive> again = exchange.awaitOperator(1);
    run(exchange);
    assertTrue(again.isDone());
    assertEquals(Map.of(), exchange.giveUps.byReason());
  }

  @Test
  void whatThePersonSaidBeforeTheSessionWasClosedCounts() {
    Exchange exchange = conversing(new Options());
    CompletableFuture<Directive> person = waiting(exchange);
    exchange.received(
        dialled,
        FakeSidecar.decision(
            FakeSidecar.decision(1)
                .setCause(Cause.CAUSE_OPERATOR)
                .setRotate(Rotate.newBuilder().setInstruction("do this"))),
        1);
    end(exchange, dialled, CLOSED);
    assertTrue(person.isDone());
    assertEquals("do this", person.join().instruction());
  }

  @Test
  void aPersonIsWaitedForInASessionThatIsToldTheTurnsAgain() {
    for (String reason : List.of("SESSION_NOT_FOUND", "SEQUENCE_CONFLICT")) {
      Exchange exchange = conversing(new Options());
      CompletableFuture<Directive> person = waiting(exchange);
      end(exchange, dialled, refusal(reason));
      assertFalse(person.isDone());
    }
  }

  @Test
  void theLogWarnsOfAnOutageAndTellsThatItIsOver() {
    try (Said said = new Said()) {
      Exchange exchange = conversing(new Options());
      end(exchange, dialled, Ending.of("", "gone"));
      exchange.advance(exchange.due());
      run(exchange);
      exchange.received(dialled, FakeSidecar.opened(), 2);
      exchange.report(TURN, 2).complete(null);
      exchange.advance(2);
      exchange.received(dialled, FakeSidecar.decision(FakeSidecar.decision(1)), 2);
      exchange.settle(2);
      run(exchange);
      assertEquals(
          List.of(
              Level.WARNING + " the agent goes on without the sidecar: connect, gone",
              Level.INFO + " the sidecar is back"),
          said.lines);
    }
  }

  @Test
  void anEndingSaysNothingTwice() {
    StatusRuntimeException refused = FakeSidecar.refusal(Code.UNAUTHENTICATED, "UNAUTHENTICATED");
    Status.Code code = Status.Code.UNAUTHENTICATED;
    assertEquals("UNAUTHENTICATED", Ending.of(refused.getStatus(), refused.getTrailers()).text());
    Status named = refused.getStatus().withDescription("the token is none");
    Ending ending = Ending.of(named, refused.getTrailers());
    assertEquals("UNAUTHENTICATED the token is none", ending.text());
    assertEquals(code, ending.code());
    Status lost = Status.UNAVAILABLE.withDescription("io exception").withCause(new IOException());
    assertEquals("UNAVAILABLE io exception", Ending.of(lost, new Metadata()).text());
  }
}
