package io.agentsidecar.driver;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.agentsidecar.client.Directive;
import io.agentsidecar.client.Options;
import io.agentsidecar.client.SidecarClient;
import io.agentsidecar.v1.ConvergenceServiceGrpc;
import io.agentsidecar.v1.ObserveRequest;
import io.agentsidecar.v1.ObserveResponse;
import io.agentsidecar.v1.Open;
import io.agentsidecar.v1.ToolCall;
import io.agentsidecar.v1.Turn;
import io.grpc.ManagedChannel;
import io.grpc.netty.NettyChannelBuilder;
import io.grpc.stub.StreamObserver;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.epoll.EpollDomainSocketChannel;
import io.netty.channel.epoll.EpollIoHandler;
import io.netty.channel.unix.DomainSocketAddress;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.locks.LockSupport;

/**
 * What {@code make bench-clients} measures from outside: sessions in one process, each by a client
 * or, to compare, by a bare stream of gRPC. Arguments: a Unix socket's address, {@code client} or
 * {@code bare}, and how many sessions. For each line on standard input, a number, every session
 * takes so many turns, one at a time; then it says "done".
 */
public final class Bench {
  private static final int RESULT_LINES = 36;
  // How long a decision is waited for: what is measured is cost, not time.
  private static final Duration PATIENCE = Duration.ofSeconds(20);
  // A machine that has just started may need more than one attempt, of 3 s, to load gRPC.
  private static final Duration LOADING = Duration.ofMillis(10);

  private Bench() {}

  /** Takes turns until there are no more lines. */
  public static void main(String[] arguments) throws IOException, InterruptedException {
    boolean isBare = arguments[1].equals("bare");
    List<Taker> takers = new ArrayList<>();
    while (takers.size() < Integer.parseInt(arguments[2])) {
      takers.add(isBare ? bare(arguments[0]) : client(arguments[0]));
    }
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in, UTF_8));
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      for (int turns = Integer.parseInt(line); turns > 0; turns--) {
        for (Taker taker : takers) {
          taker.take();
        }
      }
      System.out.println("done");
    }
    System.exit(0); // bare streams have threads that stay
  }

  /** Takes a turn and waits for what is decided. */
  private interface Taker {
    void take() throws InterruptedException;
  }

  private static Taker client(String address) {
    SidecarClient client = new SidecarClient(new Options().address(address).timeout(PATIENCE));
    while (client.turn(turn().build()).failOpenReason() != null) {
      LockSupport.parkNanos(LOADING.toNanos());
    }
    return () -> {
      Directive.Reason reason = client.turn(turn().build()).failOpenReason();
      if (reason != null) {
        throw new IllegalStateException("no decision: " + reason);
      }
    };
  }

  private static Taker bare(String address) throws InterruptedException {
    EventLoopGroup group = new MultiThreadIoEventLoopGroup(1, EpollIoHandler.newFactory());
    ManagedChannel channel =
        NettyChannelBuilder.forAddress(new DomainSocketAddress(address.replaceFirst("^unix:", "")))
            .eventLoopGroup(group)
            .channelType(EpollDomainSocketChannel.class)
            .withOption(ChannelOption.SO_KEEPALIVE, null)
            .overrideAuthority("localhost")
            .usePlaintext()
            .directExecutor()
            .build();
    BlockingQueue<ObserveResponse> answers = new LinkedBlockingQueue<>();
    StreamObserver<ObserveRequest> requests =
        ConvergenceServiceGrpc.newStub(channel).observe(new Queueing(answers));
    requests.onNext(ObserveRequest.newBuilder().setOpen(Open.getDefaultInstance()).build());
    answers.take();
    int[] sequence = {0};
    return () -> {
      Turn turn = turn().setSequence(++sequence[0]).build();
      requests.onNext(ObserveRequest.newBuilder().setTurn(turn).build());
      answers.take();
    };
  }

  /** A turn of about 2 kB, as a coding agent makes it. */
  private static Turn.Builder turn() {
    String line = "tests/test_part.py::test_case PASSED [50 %] in 0.01 s\n";
    ToolCall.Builder call =
        ToolCall.newBuilder()
            .setName("bash")
            .setArgumentsJson("{\"command\": \"pytest\"}")
            .setResultText(line.repeat(RESULT_LINES));
    return Turn.newBuilder().setText("The tests fail. I will run them again.").addToolCalls(call);
  }

  private record Queueing(BlockingQueue<ObserveResponse> answers)
      implements StreamObserver<ObserveResponse> {
    @Override
    public void onNext(ObserveResponse answer) {
      answers.add(answer);
    }

    @Override
    public void onError(Throwable error) {
      throw new IllegalStateException(error);
    }

    @Override
    public void onCompleted() {}
  }
}
