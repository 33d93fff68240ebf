package io.agentsidecar.client;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import com.google.protobuf.UnknownFieldSet;
import com.google.rpc.Code;
import io.agentsidecar.client.Directive.Kind;
import io.agentsidecar.client.Directive.Reason;
import io.agentsidecar.v1.Close;
import io.agentsidecar.v1.Mode;
import io.agentsidecar.v1.ObserveRequest;
import io.agentsidecar.v1.ObserveResponse;
import io.agentsidecar.v1.Open;
import io.agentsidecar.v1.ToolCall;
import io.agentsidecar.v1.Turn;
import io.agentsidecar.v1.Usage;
import io.grpc.stub.StreamObserver;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.logging.Filter;
import java.util.logging.Level;
import java.util.logging.Logger;
import java.util.stream.Collectors;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
final class SidecarClientTest {
  private static final Turn TURN = Turn.newBuilder().setText("a turn").build();
  // Long enough for a machine that loads its first classes: what is tested is what came, not when.
  private static final Duration PATIENT = Duration.ofSeconds(20);
  private static final Duration BETWEEN_TURNS = Duration.ofMillis(10);
  // Three timeouts, and the rest is for a busy machine: far less than the 20 s of a hundred.
  private static final int OUTAGE_MS_MAX = 6000;
  private static final int MIB = 1 << 20;

  @TempDir private Path directory;

  private static Options patient(FakeSidecar sidecar) {
    return new Options().address(sidecar.address()).timeout(PATIENT);
  }

  /** An attempt to connect ends after 3 s, and a cold machine may need that long for its classes. */
  @BeforeAll
  static void loadClasses() throws IOException {
    try (FakeSidecar sidecar = new FakeSidecar(FakeSidecar::proceed);
        SidecarClient client = new SidecarClient(patient(sidecar))) {
      while (client.turn(TURN).failOpenReason() != null) {
        LockSupport.parkNanos(BETWEEN_TURNS.toNanos()); // the client needs the processor too
      }
    }
  }

  @Test
  void aTurnGetsItsDecision() throws Exception {
    try (FakeSidecar sidecar = new FakeSidecar(SidecarClientTest::rotateAlways);
        SidecarClient client = new SidecarClient(patient(sidecar))) {
      Directive directive = client.turn(TURN);
      assertEquals(Kind.ROTATE, directive.kind());
      assertEquals("try 1", directive.instruction());
      assertFalse(directive.late());
      assertNull(directive.failOpenReason());
      assertEquals(1, directive.decision().getSequence());
    }
  }

  private static void rotateAlways(
      ObserveRequest request, StreamObserver<ObserveResponse> answers) {
    if (request.hasOpen()) {
      answers.onNext(FakeSidecar.opened());
    } else if (request.hasTurn()) {
      int sequence = request.getTurn().getSequence();
      answers.onNext(FakeSidecar.rotate(sequence, "try " + sequence));
    }
  }

  @Test
  void turnsAreNumberedAndSayWhatWasSeen() throws Exception {
    try (FakeSidecar sidecar = new FakeSidecar(FakeSidecar::proceed);
        SidecarClient client = new SidecarClient(patient(sidecar))) {
      for (int number = 1; number <= 3; number++) {
        client.turn(TURN);
        Turn sent = sidecar.nextTurn().getTurn();
        assertEquals(number, sent.getSequence());
        assertTrue(sent.hasDirectiveSeen());
        assertEquals(number - 1, sent.getDirectiveSeen());
      }
    }
  }

  @Test
  void manyThreadsMayReport() throws Exception {
    try (FakeSidecar sidecar = new FakeSidecar(FakeSidecar::proceed);
        SidecarClient client = new SidecarClient(patient(sidecar))) {
      List<CompletableFuture<Directive>> all = new ArrayList<>();
      for (int thread = 0; thread < 8; thread++) {
        all.add(
            CompletableFuture.supplyAsync(() -> client.turn(TURN))
                .thenApplyAsync(before -> client.turn(TURN)));
      }
      for (CompletableFuture<Directive> one : all) {
        assertNull(one.get().failOpenReason());
      }
      assertEquals(Map.of(), client.giveUps());
    }
  }

  @Test
  void cancellingEndsTheWaitingAndTheDecisionComesWithTheNextReport() throws Exception {
    CompletableFuture<StreamObserver<ObserveResponse>> stream = new CompletableFuture<>();
    try (FakeSidecar sidecar =
            new FakeSidecar(
                (request, answers) -> {
                  if (request.hasTurn() && request.getTurn().getSequence() == 1) {
                    stream.complete(answers);
                  } else {
                    FakeSidecar.proceed(request, answers);
                  }
                });
        SidecarClient client = new SidecarClient(patient(sidecar))) {
      CompletableFuture<Directive> first = client.turnAsync(TURN);
      StreamObserver<ObserveResponse> answers = stream.get();
      assertTrue(first.cancel(true));
      assertThrows(CancellationException.class, first::join);
      answers.onNext(FakeSidecar.rotate(1, "too late"));
      Directive second = client.turn(TURN);
      assertEquals("too late", second.instruction());
      assertTrue(second.late());
      assertEquals(Map.of(), client.giveUps());
      assertEquals(1, sidecar.requests.stream().filter(ObserveRequest::hasOpen).count());
    }
  }

  @Test
  void anInterruptedThreadProceedsAndStaysInterrupted() throws Exception {
    try (FakeSidecar sidecar =
            new FakeSidecar((request, answers) -> answers.onNext(FakeSidecar.opened()));
        SidecarClient client = new SidecarClient(patient(sidecar))) {
      Thread.currentThread().interrupt();
      Directive directive = client.turn(TURN);
      assertTrue(Thread.interrupted());
      assertEquals(Kind.PROCEED, directive.kind());
      assertNull(directive.failOpenReason());
      assertEquals(Map.of(), client.giveUps());
    }
  }

  @Test
  void anInterruptedThreadIsHeardToCloseAndLeavesNothing() throws Exception {
    try (FakeSidecar sidecar = new FakeSidecar(FakeSidecar::proceed);
        SidecarClient client = new SidecarClient(patient(sidecar))) {
      client.turn(TURN);
      Thread.currentThread().interrupt();
      boolean heard = client.close(Close.getDefaultInstance());
      assertTrue(Thread.interrupted());
      assertTrue(heard);
      assertEquals(Set.of(), threads());
    }
  }

  /** Three turns miss their answer while the stream opens, and the goodbye comes just after. */
  @Test
  void aGoodbyeRightAfterTheStreamHasOpenedIsHeardWhateverTurnsHaveMissed() throws Exception {
    for (int run = 0; run < 60; run++) {
      // A warm machine opens a stream in some milliseconds.
      Duration timeout = Duration.ofMillis(1 + run % 3);
      try (FakeSidecar sidecar = new FakeSidecar(FakeSidecar::proceed);
          SidecarClient client = new SidecarClient(patient(sidecar).timeout(timeout))) {
        for (int turn = 0; turn < 4; turn++) {
          client.turn(TURN);
        }
        assertTrue(client.close(Close.getDefaultInstance()), "run " + run);
        assertEquals(4, sidecar.requests.stream().filter(ObserveRequest::hasTurn).count());
      }
    }
  }

  @Test
  void theNameOfAClosedSessionLosesNoTurnAndNoGoodbye() throws Exception {
    for (int turns : new int[] {1, 4}) { // so many are not waited for any more
      try (FakeSidecar sidecar = new FakeSidecar(SidecarClientTest::closedBefore);
          SidecarClient client = new SidecarClient(patient(sidecar).session(NAMED))) {
        for (int turn = 0; turn < turns; turn++) {
          assertEquals(Reason.REJECTED, client.turn(TURN).failOpenReason());
        }
        assertTrue(client.close(Close.getDefaultInstance()));
        assertEquals(turns, sidecar.requests.stream().filter(ObserveRequest::hasTurn).count());
        assertEquals(1, sidecar.requests.stream().filter(ObserveRequest::hasClose).count());
      }
    }
  }

  private static final Open NAMED = Open.newBuilder().setSessionId("run").build();

  /** Only a session that follows the one that was closed is opened. */
  private static void closedBefore(
      ObserveRequest request, StreamObserver<ObserveResponse> answers) {
    if (request.hasOpen() && request.getOpen().getPreviousSessionId().isEmpty()) {
      answers.onError(FakeSidecar.refusal(Code.FAILED_PRECONDITION, "SESSION_CLOSED"));
    } else {
      FakeSidecar.proceed(request, answers);
    }
  }

  @Test
  void nothingIsLeftBehind() throws Exception {
    try (FakeSidecar sidecar = new FakeSidecar(FakeSidecar::proceed)) {
      for (int round = 0; round < 20; round++) {
        SidecarClient client = new SidecarClient(patient(sidecar));
        client.turn(TURN);
        assertTrue(client.close(Close.getDefaultInstance()));
        assertEquals(Set.of(), threads());
      }
      for (int round = 0; round < 20; round++) { // while a name is looked up
        new SidecarClient(patient(sidecar)).detach();
        assertEquals(Set.of(), threads());
      }
    }
  }

  private static Set<String> threads() {
    return Thread.getAllStackTraces().keySet().stream()
        .map(Thread::getName)
        .filter(name -> name.startsWith("sidecar-") || name.contains("DelayScheduler"))
        .collect(Collectors.toSet());
  }

  @Test
  void aClosedClientProceedsAndClosesOnlyOnce() throws Exception {
    try (FakeSidecar sidecar = new FakeSidecar(FakeSidecar::proceed);
        SidecarClient client = new SidecarClient(patient(sidecar))) {
      client.turn(TURN);
      assertTrue(client.close(Close.getDefaultInstance()));
      assertTrue(client.close(Close.getDefaultInstance()));
      assertEquals(Reason.INTERNAL, client.turn(TURN).failOpenReason());
      assertEquals(1, sidecar.requests.stream().filter(ObserveRequest::hasClose).count());
    }
  }

  @Test
  void theClientMayBeClosedOnItsOwnThread() throws Exception {
    try (FakeSidecar sidecar = new FakeSidecar(FakeSidecar::proceed);
        SidecarClient client = new SidecarClient(patient(sidecar))) {
      CompletableFuture<Void> closed = client.turnAsync(TURN).thenAccept(given -> client.detach());
      closed.get();
      assertEquals(Reason.CONNECT, client.turn(TURN).failOpenReason());
    }
  }

  @Test
  void anOutageCostsASecondAtMost() {
    List<Reason> told = new ArrayList<>();
    Options options = new Options().address("unix:" + directory + "/none").onGiveUp(told::add);
    assertOutage(options, Reason.CONNECT);
    assertEquals(100, told.size());
  }

  @Test
  void aSocketThatIsADirectoryIsAnOutage() {
    assertOutage(new Options().address("unix:" + directory), Reason.CONNECT);
  }

  @Test
  void anAddressThatCannotBeUsedIsAnOutage() {
    for (String address : List.of("unix:/" + "x".repeat(107), "unix:", "here", "host:0", "h:65536")) {
      assertOutage(new Options().address(address), Reason.CONNECT);
    }
  }

  @Test
  void aCertificateWithoutAuthoritiesIsAnOutage() throws IOException {
    Path file = Files.createFile(directory.resolve("client.pem"));
    Options options = new Options().address("127.0.0.1:1");
    assertOutage(options.certificate(file), Reason.CONNECT);
    assertOutage(options.certificate(null).privateKey(file), Reason.CONNECT);
  }

  @Test
  void nullIsTheDefaultOfAllOptionsAndOfAGoodbye() {
    SidecarClient client = new SidecarClient(null);
    assertEquals(Kind.PROCEED, client.turn(TURN).kind());
    client.close(null);
    assertEquals(Set.of(), threads());
  }

  @Test
  void nullIsTheDefaultAndNoTimeoutIsTooLong() {
    new SidecarClient(new Options().address(null).session(null).timeout(null).token(null)).detach();
    for (Duration timeout : List.of(Duration.ofSeconds(Long.MAX_VALUE), Duration.ofSeconds(-1))) {
      assertOutage(new Options().address("here").timeout(timeout), Reason.CONNECT);
    }
  }

  @Test
  void aServerThatSpeaksHttp1IsAnOutage() throws Exception {
    try (ServerSocket listener = new ServerSocket(0, 50, InetAddress.getLoopbackAddress())) {
      Thread server = new Thread(() -> answerAll(listener), "http1");
      server.setDaemon(true);
      server.start();
      assertOutage(new Options().address("127.0.0.1:" + listener.getLocalPort()), Reason.CONNECT);
    }
  }

  private static void answerAll(ServerSocket listener) {
    while (!listener.isClosed()) {
      try (Socket socket = listener.accept();
          OutputStream out = socket.getOutputStream()) {
        out.write("HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n".getBytes(UTF_8));
      } catch (IOException e) {
        System.getLogger("http1").log(System.Logger.Level.DEBUG, "the client hung up", e);
      }
    }
  }

  private static void assertOutage(Options options, Reason reason) {
    try (SidecarClient client = new SidecarClient(options)) {
      long began = System.nanoTime();
      for (int turn = 0; turn < 100; turn++) {
        Directive directive = client.turn(TURN);
        assertEquals(Kind.PROCEED, directive.kind());
        assertEquals(reason, directive.failOpenReason());
      }
      long tookMs = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - began);
      assertTrue(tookMs <= OUTAGE_MS_MAX, tookMs + " ms");
      assertEquals(Map.of(reason, 100L), client.giveUps());
      assertFalse(client.close(Close.getDefaultInstance()));
    }
  }

  @Test
  void aDecisionOf5MibIsHandedOver() throws Exception {
    String instruction = "x".repeat(5 * MIB);
    try (FakeSidecar sidecar =
            new FakeSidecar(
                (request, answers) -> {
                  if (request.hasTurn() && request.getTurn().getSequence() == 1) {
                    answers.onNext(FakeSidecar.rotate(1, instruction));
                  } else {
                    FakeSidecar.proceed(request, answers);
                  }
                });
        SidecarClient client = new SidecarClient(patient(sidecar))) {
      assertEquals(instruction, client.turn(TURN).instruction());
      assertNull(client.turn(TURN).failOpenReason());
    }
  }

  @Test
  void aDirectiveAndAMessageOfTheFutureMeanNothing() throws Exception {
    try (FakeSidecar sidecar =
            new FakeSidecar(
                (request, answers) -> {
                  if (request.hasTurn()) {
                    answers.onNext(ObserveResponse.getDefaultInstance());
                    answers.onNext(FakeSidecar.rotate(77, "of another turn"));
                    answers.onNext(FakeSidecar.decision(FakeSidecar.decision(1)));
                  } else {
                    FakeSidecar.proceed(request, answers);
                  }
                });
        SidecarClient client = new SidecarClient(patient(sidecar))) {
      Directive directive = client.turn(TURN);
      assertEquals(Kind.PROCEED, directive.kind());
      assertNull(directive.failOpenReason());
    }
  }

  @Test
  void longTextsAreCutAndLongArgumentsAreDigested() throws Exception {
    ToolCall.Builder call =
        ToolCall.newBuilder()
            .setArgumentsJson("{\"a\": \"" + "ä".repeat(MIB) + "\"}")
            .setResultText("begin" + "ä".repeat(MIB) + "end");
    try (FakeSidecar sidecar = new FakeSidecar(FakeSidecar::proceed);
        SidecarClient client = new SidecarClient(patient(sidecar))) {
      assertNull(client.turn(Turn.newBuilder().addToolCalls(call).build()).failOpenReason());
      ToolCall sent = sidecar.nextTurn().getTurn().getToolCalls(0);
      assertEquals(16, sent.getArgumentsDigest().length());
      String result = sent.getResultText();
      assertTrue(result.startsWith("begin") && result.endsWith("end"));
      assertTrue(result.getBytes(UTF_8).length <= 64 * 1024);
      assertFalse(result.contains("\uFFFD"));
    }
  }

  @Test
  void aTurnOfManyCallsIsCutUntilItFits() {
    Turn.Builder turn = Turn.newBuilder().setApproach("a");
    for (int call = 0; call < 300; call++) {
      turn.addToolCalls(ToolCall.newBuilder().setName("tool").setResultText("x".repeat(2000)));
    }
    Turn cut = Texts.fit(turn, 4096).build();
    assertTrue(cut.getSerializedSize() <= 4096);
    assertTrue(cut.getToolCallsCount() > 5);
    assertEquals("a", cut.getApproach());
  }

  @Test
  void noTurnIsAboveTheLeastThatASidecarCanState() {
    Turn.Builder turn = Turn.newBuilder().setUsage(Usage.newBuilder().setInputTokens(7));
    String text = "ä".repeat(1000);
    turn.setId(text).setTraceparent(text).setActor(text).setApproach(text).setText(text);
    for (int call = 0; call < 256; call++) {
      turn.addToolCalls(ToolCall.newBuilder().setId(text).setName(text).setArgumentsJson(text));
    }
    Turn cut = Texts.fit(turn.setFinalAnswer(text), 1024).build();
    assertTrue(cut.getSerializedSize() <= 1024);
    assertTrue(cut.getToolCallsCount() > 0);
    assertEquals(7, cut.getUsage().getInputTokens());
  }

  @Test
  void halfOfASurrogatePairIsReplacedAndCountedOnce() throws Exception {
    ToolCall call = ToolCall.newBuilder().setName("a\ud800").setArgumentsJson("\udc00").build();
    try (FakeSidecar sidecar = new FakeSidecar(FakeSidecar::proceed);
        SidecarClient client = new SidecarClient(patient(sidecar))) {
      assertNull(client.turn(Turn.newBuilder().addToolCalls(call).build()).failOpenReason());
      assertEquals("a?", sidecar.nextTurn().getTurn().getToolCalls(0).getName());
      assertEquals(Map.of(Reason.INTERNAL, 1L), client.giveUps());
    }
  }

  @Test
  void aTurnThatIsNoneProceedsAndIsCounted() throws Exception {
    try (FakeSidecar sidecar = new FakeSidecar(FakeSidecar::proceed);
        SidecarClient client = new SidecarClient(patient(sidecar))) {
      assertEquals(Reason.INTERNAL, client.turn(null).failOpenReason());
      assertEquals(Map.of(Reason.INTERNAL, 1L), client.giveUps());
      assertNull(client.turn(TURN).failOpenReason());
    }
  }

  @Test
  void nothingIsWaitedForInObserveMode() throws Exception {
    Open session = Open.newBuilder().setMode(Mode.MODE_OBSERVE).build();
    try (FakeSidecar sidecar = new FakeSidecar(FakeSidecar::proceed);
        SidecarClient client = new SidecarClient(patient(sidecar).session(session))) {
      for (int turn = 0; turn < 3; turn++) {
        assertTrue(client.turnAsync(TURN).isDone());
      }
      assertEquals(3, List.of(sidecar.nextTurn(), sidecar.nextTurn(), sidecar.nextTurn()).size());
      assertEquals(Map.of(), client.giveUps());
    }
  }

  @Test
  void waitingForAnOperatorWhoIsNotDueEndsAtOnce()
      throws IOException, InterruptedException, ExecutionException {
    try (FakeSidecar sidecar = new FakeSidecar(FakeSidecar::proceed);
        SidecarClient client = new SidecarClient(patient(sidecar))) {
      client.turn(TURN);
      assertEquals(Kind.PROCEED, client.waitForOperatorAsync().get().kind());
      assertEquals(Map.of(), client.giveUps());
    }
  }

  @Test
  void aFailingCallbackHarmsNothing() throws IOException {
    Options options = new Options().address("unix:" + Files.createFile(directory.resolve("file")));
    options.onGiveUp(
        reason -> {
          throw new NoClassDefFoundError("the host's own");
        });
    assertOutage(options, Reason.CONNECT);
    assertOutage(options.onGiveUp(null), Reason.CONNECT);
  }

  /** A log that tells of all, and throws whatever it is told. */
  @Test
  void aFailingLogHarmsNothing() throws IOException {
    Logger log = Logger.getLogger("io.agentsidecar.client");
    Filter failing =
        line -> {
          throw new IllegalStateException("the host's own");
        };
    log.setLevel(Level.ALL);
    log.setFilter(failing);
    try (FakeSidecar sidecar = new FakeSidecar(FakeSidecar::proceed)) {
      assertOutage(new Options().address("here"), Reason.CONNECT);
      try (SidecarClient client = new SidecarClient(patient(sidecar))) {
        assertEquals(Reason.INTERNAL, client.turn(null).failOpenReason());
        assertNull(client.turn(TURN).failOpenReason());
      }
    } finally {
      log.setFilter(null);
      log.setLevel(null);
    }
  }

  /** Read whole, these would take a minute, and more memory than there is. */
  @Test
  @Timeout(20)
  void aLongTextThatIsInManyCallsIsNotReadWhole() {
    String text = "x".repeat(100 * MIB);
    ToolCall call = ToolCall.newBuilder().setArgumentsJson(text).setResultText(text).build();
    Turn.Builder turn = Turn.newBuilder().addAllToolCalls(Collections.nCopies(1000, call));
    assertTrue(Texts.tidy(turn));
    assertEquals(256, turn.getToolCallsCount());
    ToolCall sent = turn.getToolCalls(255);
    assertTrue(sent.getResultText().contains("of " + text.length() + " characters"));
    ToolCall.Builder other = ToolCall.newBuilder().setArgumentsJson(text + "x");
    assertFalse(Texts.tidy(other));
    assertNotEquals(sent.getArgumentsDigest(), other.getArgumentsDigest());
  }

  @Test
  void whatTheClientDoesNotKnowIsLeftOut() throws Exception {
    ByteString large = ByteString.copyFrom(new byte[8 * MIB]);
    UnknownFieldSet.Field field =
        UnknownFieldSet.Field.newBuilder().addLengthDelimited(large).build();
    UnknownFieldSet unknown = UnknownFieldSet.newBuilder().addField(7000, field).build();
    ToolCall call = ToolCall.newBuilder().setName("ls").setUnknownFields(unknown).build();
    Turn turn = Turn.newBuilder().addToolCalls(call).setUnknownFields(unknown).build();
    try (FakeSidecar sidecar = new FakeSidecar(FakeSidecar::proceed);
        SidecarClient client = new SidecarClient(patient(sidecar))) {
      assertNull(client.turn(turn).failOpenReason());
      assertEquals("ls", sidecar.nextTurn().getTurn().getToolCalls(0).getName());
      assertEquals(Map.of(Reason.INTERNAL, 1L), client.giveUps());
    }
  }
}
