package io.agentsidecar.driver;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.gson.JsonObject;
import com.google.gson.JsonParseException;
import com.google.gson.JsonParser;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.util.JsonFormat;
import io.agentsidecar.client.Directive;
import io.agentsidecar.client.Options;
import io.agentsidecar.client.SidecarClient;
import io.agentsidecar.v1.Close;
import io.agentsidecar.v1.Mode;
import io.agentsidecar.v1.Open;
import io.agentsidecar.v1.Turn;
import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Locale;

/**
 * Drives the client by JSON lines from standard input, as the README of the conformance tables says.
 */
public final class Driver {
  private static final JsonFormat.Parser PARSER = JsonFormat.parser().ignoringUnknownFields();
  private static final JsonFormat.Printer PRINTER =
      JsonFormat.printer().preservingProtoFieldNames().omittingInsignificantWhitespace();

  private SidecarClient client;

  private Driver() {}

  /** Answers requests until there are no more. */
  public static void main(String[] arguments) throws IOException {
    WarmUp.run();
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in, UTF_8));
    Driver driver = new Driver();
    try (FileOutputStream out = new FileOutputStream(FileDescriptor.out)) {
      for (String line = in.readLine(); line != null; line = in.readLine()) {
        out.write((driver.answer(line) + "\n").getBytes(UTF_8));
      }
    }
  }

  private String answer(String line) {
    try {
      JsonObject request = JsonParser.parseString(line).getAsJsonObject();
      return done(text(request, "do"), request);
    } catch (InvalidProtocolBufferException | JsonParseException | IllegalStateException e) {
      return reply("error", e.toString()).toString();
    }
  }

  private String done(String what, JsonObject request) throws InvalidProtocolBufferException {
    if (client == null && !what.equals("start")) {
      return reply("error", what + " before start").toString();
    }
    return switch (what) {
      case "start" -> start(request.getAsJsonObject("options")).toString();
      case "turn" -> turn(request.get("turn").toString());
      case "wait_for_operator" -> {
        long began = System.nanoTime();
        yield directive(client.waitForOperator(), began);
      }
      case "give_ups" -> giveUps().toString();
      case "close" -> close(request.has("close") ? request.get("close").toString() : "{}").toString();
      case "stop" -> stop().toString();
      default -> reply("error", "cannot do " + what).toString();
    };
  }

  private JsonObject start(JsonObject options) throws InvalidProtocolBufferException {
    if (client != null) {
      client.detach();
    }
    client = new SidecarClient(options(options));
    JsonObject reply = new JsonObject();
    reply.addProperty("ok", true);
    return reply;
  }

  private static Options options(JsonObject given) throws InvalidProtocolBufferException {
    Options options = new Options().address(text(given, "address")).session(session(given));
    if (given.has("timeout_ms")) {
      options.timeout(Duration.ofNanos((long) (given.get("timeout_ms").getAsDouble() * 1e6)));
    }
    if (given.has("token")) {
      options.token(text(given, "token"));
    }
    if (given.has("root_certificates")) {
      options.rootCertificates(Path.of(text(given, "root_certificates")));
    }
    if (given.has("certificate")) {
      options.certificate(Path.of(text(given, "certificate")));
    }
    if (given.has("private_key")) {
      options.privateKey(Path.of(text(given, "private_key")));
    }
    return options;
  }

  /** What the options say of the session has the names of the fields of Open. */
  private static Open session(JsonObject given) throws InvalidProtocolBufferException {
    JsonObject open = given.deepCopy();
    open.remove("mode");
    Open.Builder session = Open.newBuilder();
    PARSER.merge(open.toString(), session);
    if (text(given, "mode").equals("observe")) {
      session.setMode(Mode.MODE_OBSERVE);
    }
    return session.build();
  }

  private String turn(String json) throws InvalidProtocolBufferException {
    Turn.Builder turn = Turn.newBuilder();
    PARSER.merge(json, turn);
    long began = System.nanoTime();
    return directive(client.turn(turn.build()), began);
  }

  private JsonObject close(String json) throws InvalidProtocolBufferException {
    Close.Builder close = Close.newBuilder();
    PARSER.merge(json, close);
    long began = System.nanoTime();
    boolean heard = client.close(close.build());
    JsonObject reply = timed(began);
    reply.addProperty("heard", heard);
    return reply;
  }

  private JsonObject stop() {
    client.detach();
    client = null;
    JsonObject reply = new JsonObject();
    reply.addProperty("ok", true);
    reply.addProperty("left", left());
    return reply;
  }

  /** Threads of the client that are still there; gRPC's may be of the warm-up's server. */
  private static long left() {
    return Thread.getAllStackTraces().keySet().stream()
        .filter(thread -> thread.getName().startsWith("sidecar-"))
        .count();
  }

  private JsonObject giveUps() {
    JsonObject counts = new JsonObject();
    client.giveUps().forEach((reason, count) -> counts.addProperty(reason.toString(), count));
    JsonObject reply = new JsonObject();
    reply.add("give_ups", counts);
    return reply;
  }

  /** Put together as text: a decision may have megabytes, which are not to be read once more. */
  private static String directive(Directive directive, long began)
      throws InvalidProtocolBufferException {
    double elapsedMs = (System.nanoTime() - began) / 1e6;
    JsonObject body = new JsonObject();
    body.addProperty("kind", directive.kind().name().toLowerCase(Locale.ROOT));
    body.addProperty("instruction", directive.instruction());
    body.addProperty("late", directive.late());
    Directive.Reason reason = directive.failOpenReason();
    body.addProperty("fail_open_reason", reason == null ? "" : reason.toString());
    body.addProperty("wait_max_ms", directive.waitMax().toMillis());
    String text = body.toString();
    if (directive.decision() != null) {
      String decision = PRINTER.print(directive.decision());
      text = text.substring(0, text.length() - 1) + ",\"decision\":" + decision + "}";
    }
    return "{\"elapsed_ms\":" + elapsedMs + ",\"directive\":" + text + "}";
  }

  private static JsonObject timed(long began) {
    JsonObject reply = new JsonObject();
    reply.addProperty("elapsed_ms", (System.nanoTime() - began) / 1e6);
    return reply;
  }

  private static JsonObject reply(String name, String value) {
    JsonObject reply = new JsonObject();
    reply.addProperty(name, value);
    return reply;
  }

  private static String text(JsonObject object, String name) {
    return object.has(name) ? object.get(name).getAsString() : "";
  }
}
