package io.agentsidecar.driver;

import io.agentsidecar.client.Options;
import io.agentsidecar.client.SidecarClient;
import io.agentsidecar.v1.Cause;
import io.agentsidecar.v1.ConvergenceServiceGrpc;
import io.agentsidecar.v1.Decision;
import io.agentsidecar.v1.ObserveRequest;
import io.agentsidecar.v1.ObserveResponse;
import io.agentsidecar.v1.Opened;
import io.agentsidecar.v1.Turn;
import io.grpc.Server;
import io.grpc.netty.NettyServerBuilder;
import io.grpc.stub.StreamObserver;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;

/**
 * Has a machine that has just started load its classes, as an agent's first model call does: the
 * first turn of all takes half a second of loading, which says nothing of the client.
 */
final class WarmUp {
  private static final int TURNS = 50;

  private WarmUp() {}

  static void run() throws IOException {
    Server server =
        NettyServerBuilder.forAddress(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0))
            .addService(new Echo())
            .build()
            .start();
    Path nothing = Files.createTempFile("warm-up", ".sock");
    try {
      talk("127.0.0.1:" + server.getPort());
      talk("unix:" + nothing);
    } finally {
      server.shutdownNow();
      Files.delete(nothing);
    }
  }

  private static void talk(String address) {
    Options options = new Options().address(address).timeout(Duration.ofSeconds(5));
    try (SidecarClient client = new SidecarClient(options)) {
      for (int turn = 0; turn < TURNS; turn++) {
        client.turn(Turn.newBuilder().setText("a turn").build());
      }
    }
  }

  private static final class Echo extends ConvergenceServiceGrpc.ConvergenceServiceImplBase {
    @Override
    public StreamObserver<ObserveRequest> observe(StreamObserver<ObserveResponse> answers) {
      return new StreamObserver<>() {
        @Override
        public void onNext(ObserveRequest request) {
          ObserveResponse.Builder answer = ObserveResponse.newBuilder();
          if (request.hasOpen()) {
            answers.onNext(answer.setOpened(Opened.getDefaultInstance()).build());
          } else if (request.hasTurn()) {
            Decision.Builder decision = Decision.newBuilder().setCause(Cause.CAUSE_TURN);
            decision.setSequence(request.getTurn().getSequence());
            answers.onNext(answer.setDecision(decision).build());
          }
        }

        @Override
        public void onError(Throwable error) {}

        @Override
        public void onCompleted() {
          answers.onCompleted();
        }
      };
    }
  }
}
