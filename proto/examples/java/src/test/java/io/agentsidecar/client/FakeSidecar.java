package io.agentsidecar.client;

import com.google.protobuf.Any;
import com.google.rpc.Code;
import com.google.rpc.ErrorInfo;
import com.google.rpc.Status;
import io.agentsidecar.v1.Cause;
import io.agentsidecar.v1.ConvergenceServiceGrpc;
import io.agentsidecar.v1.Decision;
import io.agentsidecar.v1.ObserveRequest;
import io.agentsidecar.v1.ObserveResponse;
import io.agentsidecar.v1.Opened;
import io.agentsidecar.v1.Proceed;
import io.agentsidecar.v1.Rotate;
import io.grpc.Server;
import io.grpc.StatusRuntimeException;
import io.grpc.netty.NettyServerBuilder;
import io.grpc.protobuf.StatusProto;
import io.grpc.stub.StreamObserver;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;

/** A sidecar that does to each request what the test says, and keeps what it was sent. */
final class FakeSidecar implements AutoCloseable {
  private static final int WITHIN_S = 30;

  final BlockingQueue<ObserveRequest> requests = new LinkedBlockingQueue<>();
  private final Server server;

  FakeSidecar(BiConsumer<ObserveRequest, StreamObserver<ObserveResponse>> behaviour)
      throws IOException {
    this(InetAddress.getLoopbackAddress(), behaviour);
  }

  FakeSidecar(
      InetAddress at, BiConsumer<ObserveRequest, StreamObserver<ObserveResponse>> behaviour)
      throws IOException {
    server =
        NettyServerBuilder.forAddress(new InetSocketAddress(at, 0))
            .directExecutor()
            .addService(new Service(behaviour))
            .build()
            .start();
  }

  String address() {
    return "127.0.0.1:" + port();
  }

  int port() {
    return server.getPort();
  }

  /** The next turn that came; fails the test where none does. */
  ObserveRequest nextTurn() throws InterruptedException {
    for (; ; ) {
      ObserveRequest request = requests.poll(WITHIN_S, TimeUnit.SECONDS);
      if (request == null) {
        throw new AssertionError("no turn within " + WITHIN_S + " s");
      }
      if (request.hasTurn()) {
        return request;
      }
    }
  }

  @Override
  public void close() {
    server.shutdownNow();
  }

  /** Opens each session, and proceeds at each turn. */
  static void proceed(ObserveRequest request, StreamObserver<ObserveResponse> answers) {
    if (request.hasOpen()) {
      answers.onNext(opened());
    } else if (request.hasTurn()) {
      int sequence = request.getTurn().getSequence();
      answers.onNext(decision(decision(sequence).setProceed(Proceed.getDefaultInstance())));
    }
  }

  /** How a stream ends, with a reason of the sidecar's. */
  static StatusRuntimeException refusal(Code code, String reason) {
    ErrorInfo info = ErrorInfo.newBuilder().setDomain("sidecar").setReason(reason).build();
    return StatusProto.toStatusRuntimeException(
        Status.newBuilder().setCode(code.getNumber()).addDetails(Any.pack(info)).build());
  }

  static ObserveResponse opened() {
    return ObserveResponse.newBuilder().setOpened(Opened.getDefaultInstance()).build();
  }

  static Decision.Builder decision(int sequence) {
    return Decision.newBuilder().setSequence(sequence).setCause(Cause.CAUSE_TURN);
  }

  static ObserveResponse rotate(int sequence, String instruction) {
    return decision(
        decision(sequence).setRotate(Rotate.newBuilder().setInstruction(instruction)));
  }

  static ObserveResponse decision(Decision.Builder decision) {
    return ObserveResponse.newBuilder().setDecision(decision).build();
  }

  private final class Service extends ConvergenceServiceGrpc.ConvergenceServiceImplBase {
    private final BiConsumer<ObserveRequest, StreamObserver<ObserveResponse>> behaviour;

    Service(BiConsumer<ObserveRequest, StreamObserver<ObserveResponse>> behaviour) {
      this.behaviour = behaviour;
    }

    @Override
    public StreamObserver<ObserveRequest> observe(StreamObserver<ObserveResponse> answers) {
      return new StreamObserver<>() {
        @Override
        public void onNext(ObserveRequest request) {
          requests.add(request);
          behaviour.accept(request, answers);
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
