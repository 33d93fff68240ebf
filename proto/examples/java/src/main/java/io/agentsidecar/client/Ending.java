package io.agentsidecar.client;

import static java.util.stream.Collectors.joining;

import com.google.protobuf.Any;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.rpc.ErrorInfo;
import com.google.rpc.RetryInfo;
import io.agentsidecar.client.Directive.Reason;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.protobuf.StatusProto;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Stream;

/**
 * How a stream ended. Reasons are those of an ErrorInfo with the sidecar's domain, and two for
 * endings that this process makes itself.
 *
 * @param metadata what an ErrorInfo of the sidecar's says beside its reason
 * @param retryDelay seconds from RetryInfo
 */
record Ending(
    Status.Code code, String reason, Map<String, String> metadata, double retryDelay, String text) {

  static final String SILENCE = "SILENCE", CLIENT_FAULT = "CLIENT_FAULT";

  private static final int TEXT_MAX = 200;

  /**
   * Reconnect; the same, more slowly; tell the run again under a new name, since the sidecar's
   * session is another one; go on from a session that is over, under a new name; never ask again.
   */
  enum Course { SOON, LATER, REPLAY, GO_ON, STOP }

  /** As this process itself ends a stream; without a reason, there was none to be had. */
  static Ending of(String reason, String text) {
    return new Ending(Status.Code.UNAVAILABLE, reason, Map.of(), 0, text);
  }

  static Ending of(Status status, Metadata trailers) {
    ErrorInfo info = ErrorInfo.getDefaultInstance();
    RetryInfo retry = RetryInfo.getDefaultInstance();
    try {
      for (Any detail : StatusProto.fromStatusAndTrailers(status, trailers).getDetailsList()) {
        if (detail.is(ErrorInfo.class)) info = detail.unpack(ErrorInfo.class);
        if (detail.is(RetryInfo.class)) retry = detail.unpack(RetryInfo.class);
      }
    } catch (InvalidProtocolBufferException | IllegalArgumentException e) {
      // Garbled details: the status alone counts.
    }
    if (!info.getDomain().equals("sidecar")) info = ErrorInfo.getDefaultInstance();
    Throwable cause = status.getCause();
    // Some reasons are called like their code.
    String text = Stream.of(info.getReason(), status.getCode().name(), status.getDescription(),
        cause == null ? null : cause.getMessage()).filter(Objects::nonNull).distinct()
        .collect(joining(" ")).replaceAll("[^ -~]+", " ");
    text = text.substring(0, Math.min(text.length(), TEXT_MAX)).strip();
    double delay = Patience.seconds(retry.getRetryDelay());
    // What has a cause is no answer: this process could not connect, or could not read what came.
    Status.Code code = status.getCause() == null ? status.getCode() : Status.Code.UNAVAILABLE;
    return new Ending(code, info.getReason(), info.getMetadataMap(), delay, text);
  }

  /** What the metadata says under the key, of at most nine digits; else 0. */
  int number(String key) {
    String number = metadata.getOrDefault(key, "");
    return number.matches("[0-9]{1,9}") ? Integer.parseInt(number) : 0;
  }

  /** How large turns may be from now on. gRPC's own refusal has no reason but these words. */
  int turnBytesMax(int before) {
    if (!reason.equals("MESSAGE_BYTES_MAX") && !text.contains("larger than max")) return before;
    int stated = number("message_bytes_max");
    // Turns that were within what is stated, if anything is, would end every stream all the same.
    return Texts.room(0 < stated && stated < before ? stated : before / 4);
  }

  Course course() {
    return switch (reason) {
      case "DRAINING", "SEQUENCE_GAP", SILENCE -> Course.SOON;
      case "SEQUENCE_CONFLICT", "SESSION_NOT_FOUND" -> Course.REPLAY;
      case "SESSION_CLOSED" -> Course.GO_ON;
      case "SESSION_TAKEN_OVER", "SESSION_STREAMING", "OPEN_REQUIRED", "ALREADY_OPEN",
          "OPEN_MISMATCH", "POLICY_UNKNOWN" -> Course.STOP;
      case CLIENT_FAULT -> Course.LATER;
      default -> switch (code) {
        case INVALID_ARGUMENT -> Course.STOP;
        case NOT_FOUND, ALREADY_EXISTS, PERMISSION_DENIED, RESOURCE_EXHAUSTED, OUT_OF_RANGE,
            FAILED_PRECONDITION, UNIMPLEMENTED, UNAUTHENTICATED -> Course.LATER;
        default -> Course.SOON;
      };
    };
  }

  /** What turns count under until it is over. */
  Reason counted(boolean opening, boolean draining) {
    if (reason.equals(SILENCE)) return Reason.TIMEOUT;
    if (reason.equals(CLIENT_FAULT)) return Reason.INTERNAL;
    if (reason.equals("SEQUENCE_GAP") || course() != Course.SOON) return Reason.REJECTED;
    if (reason.equals("DRAINING") || draining) return Reason.DRAINING;
    return opening && code == Status.Code.UNAVAILABLE ? Reason.CONNECT : Reason.STREAM;
  }
}
