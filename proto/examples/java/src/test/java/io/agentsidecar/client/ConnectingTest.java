package io.agentsidecar.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.google.common.net.InetAddresses;
import io.agentsidecar.client.Directive.Reason;
import io.agentsidecar.v1.Close;
import io.agentsidecar.v1.Turn;
import java.io.IOException;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.net.ServerSocket;
import java.time.Duration;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
final class ConnectingTest {
  private static final Turn TURN = Turn.newBuilder().setText("a turn").build();
  // Long enough for a machine that loads its first classes: what is tested is what came, not when.
  private static final Duration PATIENT = Duration.ofSeconds(20);

  private static Options at(String address) {
    return new Options().address(address).timeout(PATIENT);
  }

  @Test
  void anAddressOfIpVersion6IsConnectedTo() throws IOException {
    InetAddress loopback = InetAddresses.forString("::1");
    assumeTrue(NetworkInterface.getByInetAddress(loopback) != null, "no ::1 on this machine");
    try (FakeSidecar sidecar = new FakeSidecar(loopback, FakeSidecar::proceed);
        SidecarClient client = new SidecarClient(at("[::1]:" + sidecar.port()))) {
      assertTrue(isAnswered(client));
      assertTrue(client.close(Close.getDefaultInstance()));
    }
  }

  @Test
  void aNameIsConnectedToWhicheverOfItsAddressesSomebodyIsAt() throws IOException {
    try (FakeSidecar sidecar = new FakeSidecar(FakeSidecar::proceed);
        SidecarClient client = new SidecarClient(at("localhost:" + sidecar.port()))) {
      assertTrue(isAnswered(client));
    }
  }

  /** An attempt ends after 3 s, and a cold machine may need that long for its classes. */
  private static boolean isAnswered(SidecarClient client) {
    for (int attempt = 0; attempt < 100; attempt++) {
      if (client.turn(TURN).failOpenReason() == null) {
        return true;
      }
      LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(50));
    }
    return false;
  }

  @Test
  void whereNobodyIsIsAnOutageAndNoFaultOfTheClients() {
    for (String address : List.of("[::1]:1", "[fe80::1%25nowhere]:1", "localhost:1")) {
      try (SidecarClient client = new SidecarClient(at(address))) {
        assertEquals(Reason.CONNECT, client.turn(TURN).failOpenReason(), address);
      }
    }
  }

  @Test
  void aNameThatIsNotKnownIsOneLineOfTheLogHoweverOftenItIsLookedUp() {
    try (Said said = new Said();
        SidecarClient client = new SidecarClient(at("no-such-host.invalid:1"))) {
      long began = System.nanoTime();
      while (System.nanoTime() - began < TimeUnit.MILLISECONDS.toNanos(500)) { // some attempts
        assertEquals(Reason.CONNECT, client.turn(TURN).failOpenReason());
        LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(10));
      }
      assertEquals(1, said.lines.size(), said.lines::toString);
      String line = said.lines.get(0);
      assertTrue(
          line.endsWith(" at no-such-host.invalid:1: connect, UNAVAILABLE unresolved address"), line);
    }
  }

  @Test
  void aTokenThatNoHeaderCanHaveIsAnOutageAndInNoLog() throws Exception {
    for (String token : List.of("a\nb", "sesame\u00e4", "a\u007fb")) {
      try (Said said = new Said();
          FakeSidecar sidecar = new FakeSidecar(FakeSidecar::proceed);
          SidecarClient client = new SidecarClient(at(sidecar.address()).token(token))) {
        assertEquals(Reason.CONNECT, client.turn(TURN).failOpenReason());
        assertEquals(Reason.CONNECT, client.turn(TURN).failOpenReason());
        assertEquals(Map.of(Reason.CONNECT, 2L), client.giveUps());
        assertEquals(0, sidecar.requests.size());
        assertEquals(
            List.of(
                "WARNING the agent goes on without the sidecar for good: connect, "
                    + "the token has characters that no header can have"),
            said.lines);
      }
    }
  }

  @Test
  void aCertificateWithoutItsKeyIsAnOutageThatSaysSo() throws Exception {
    Path pem = Path.of("pem");
    try (Said said = new Said();
        SidecarClient client = new SidecarClient(
            at("localhost:1").rootCertificates(pem).certificate(pem))) {
      assertEquals(Reason.CONNECT, client.turn(TURN).failOpenReason());
      assertEquals(
          List.of("WARNING the agent goes on without the sidecar for good: connect, "
              + "a client certificate and its privateKey: both or neither"),
          said.lines);
    }
  }

  /** It listens and says nothing. A busy machine may need more than one try. */
  @Test
  void closingDoesNotWaitForASidecarThatIsFrozen() throws IOException {
    try (ServerSocket frozen = new ServerSocket(0, 50, InetAddress.getLoopbackAddress())) {
      Options options = at("127.0.0.1:" + frozen.getLocalPort()).timeout(Duration.ofMillis(250));
      assertTrue(IntStream.range(0, 5).anyMatch(of -> msToCloseAfterThreeTurns(options) < 250));
    }
  }

  private static long msToCloseAfterThreeTurns(Options options) {
    try (SidecarClient client = new SidecarClient(options)) {
      for (int turn = 0; turn < 3; turn++) {
        assertEquals(Reason.CONNECT, client.turn(TURN).failOpenReason());
      }
      long began = System.nanoTime();
      assertFalse(client.close(Close.getDefaultInstance()));
      return TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - began);
    }
  }

  /** The turns have cost 0.57 s of it. */
  @Test
  void closingAfterTurnsThatMissedTakesWhatIsLeftOfASecond() throws IOException {
    CompletableFuture<Void> thawed = new CompletableFuture<>();
    try (FakeSidecar sidecar =
            new FakeSidecar(
                (request, answers) -> {
                  if (request.hasOpen()) {
                    answers.onNext(FakeSidecar.opened());
                  } else if (request.hasClose()) {
                    thawed.join(); // from here on it is frozen
                  }
                });
        SidecarClient client =
            new SidecarClient(at(sidecar.address()).timeout(Duration.ofMillis(190)))) {
      for (int turn = 0; turn < 3; turn++) {
        client.turn(TURN);
      }
      long began = System.nanoTime();
      assertFalse(client.close(Close.getDefaultInstance()));
      long tookMs = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - began);
      assertTrue(tookMs < 800, tookMs + " ms");
    } finally {
      thawed.complete(null);
    }
  }

  @Test
  void aTokenIsSentWithoutTheWhiteSpaceAroundIt() throws IOException {
    try (FakeSidecar sidecar = new FakeSidecar(FakeSidecar::proceed);
        SidecarClient client = new SidecarClient(at(sidecar.address()).token(" sesame\n"))) {
      assertTrue(isAnswered(client));
      assertNull(client.turn(TURN).failOpenReason());
    }
  }
}
