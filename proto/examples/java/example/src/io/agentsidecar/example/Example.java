package io.agentsidecar.example;

import io.agentsidecar.client.Directive;
import io.agentsidecar.client.Options;
import io.agentsidecar.client.SidecarClient;
import io.agentsidecar.v1.Close;
import io.agentsidecar.v1.Open;
import io.agentsidecar.v1.RunOutcome;
import io.agentsidecar.v1.ToolCall;
import io.agentsidecar.v1.Turn;
import io.agentsidecar.v1.Usage;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.locks.LockSupport;

/**
 * An agent with tools that lead nowhere: it does the same thing again and again, until the sidecar
 * tells it so. The first argument is an address; without it the sidecar of this user is asked. The
 * second is how many milliseconds a decision is waited for.
 */
public final class Example {
  private static final int TURNS_MAX = 60;
  private static final Duration THINKING = Duration.ofMillis(300);
  private static final int TOKENS_FIRST = 2000;
  private static final int TOKENS_MORE = 100;

  /** What the agent tries, one after the other as it is told to. */
  private record Approach(String name, String tool, String arguments, String result) {}

  private static final List<Approach> APPROACHES =
      List.of(
          new Approach("run the tests", "bash", "{\"command\": \"mvn test\"}", "1 test failed"),
          new Approach("read the code", "read", "{\"path\": \"Cart.java\"}", "class Cart {}"),
          new Approach("search the log", "bash", "{\"command\": \"grep ERROR log\"}", "no match"));

  private Example() {}

  /** Runs the agent until it is told to stop. */
  public static void main(String[] arguments) {
    Open session = Open.newBuilder().setAgentName("looping-example").setModel("none").build();
    Options options = new Options().session(session);
    if (arguments.length > 0) {
      options.address(arguments[0]);
    }
    if (arguments.length > 1) {
      options.timeout(Duration.ofMillis(Long.parseLong(arguments[1])));
    }
    try (SidecarClient sidecar = new SidecarClient(options)) {
      RunOutcome outcome = run(sidecar);
      boolean heard = sidecar.close(Close.newBuilder().setOutcome(outcome).build());
      System.out.printf("closed, heard: %s, give-ups: %s%n", heard, sidecar.giveUps());
    }
  }

  private static RunOutcome run(SidecarClient sidecar) {
    int trying = 0;
    for (int number = 1; number <= TURNS_MAX; number++) {
      Approach approach = APPROACHES.get(trying % APPROACHES.size());
      think();
      Turn turn = turn(approach, number);
      long began = System.nanoTime();
      Directive directive = sidecar.turn(turn);
      System.out.printf(
          Locale.ROOT,
          "turn %2d  %-14s  %-7s  %5.1f ms  %s%n",
          number,
          approach.name,
          directive.kind().name().toLowerCase(Locale.ROOT),
          (System.nanoTime() - began) / 1e6,
          directive.instruction());
      switch (directive.kind()) {
        case PROCEED -> {}
        case ROTATE -> trying++;
        case COMMIT -> {
          return RunOutcome.RUN_OUTCOME_SUCCEEDED;
        }
        case HALT -> {
          return RunOutcome.RUN_OUTCOME_FAILED;
        }
      }
    }
    return RunOutcome.RUN_OUTCOME_CANCELLED;
  }

  /** In place of a model, which takes longer. */
  private static void think() {
    LockSupport.parkNanos(THINKING.toNanos());
  }

  private static Turn turn(Approach approach, int number) {
    ToolCall.Builder call =
        ToolCall.newBuilder()
            .setName(approach.tool)
            .setArgumentsJson(approach.arguments)
            .setResultText(approach.result);
    return Turn.newBuilder()
        .setApproach(approach.name)
        .addToolCalls(call)
        .setUsage(Usage.newBuilder().setInputTokens(TOKENS_FIRST + TOKENS_MORE * number))
        .build();
  }
}
