package io.agentsidecar.client;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.common.hash.Hashing;
import com.google.protobuf.Message;
import com.google.protobuf.UnknownFieldSet;
import io.agentsidecar.v1.ToolCall;
import java.util.List;

/** Messages made fit for the wire, so that none ever ends a stream, and no turn goes uncounted. */
final class Texts {
  // What the sidecar takes: bytes of a text; tool calls, and failures, of a turn; of labels fewer.
  private static final int TEXT_BYTES_MAX = 64 * 1024, ITEMS_MAX = 256, DIGEST_MAX = 1 << 20;
  // A text that is cut has room for what says so, and a turn for its measurements.
  private static final int TEXT_BYTES_MIN = 64, TURN_BYTES_MIN = 1024;

  private final int bytesMax, itemsMax;
  private boolean isFaulty;

  private Texts(int bytesMax, int itemsMax) {
    this.bytesMax = bytesMax;
    this.itemsMax = itemsMax;
  }

  /** Cuts what is too long; whether more than the middle of a text had to be left out. */
  static boolean tidy(Message.Builder message) {
    Texts texts = new Texts(TEXT_BYTES_MAX, ITEMS_MAX);
    texts.tidied(message);
    return texts.isFaulty;
  }

  /** Cuts a message to so many bytes, at least 1024; its measurements stay to the last. */
  static <B extends Message.Builder> B fit(B message, int bytesMax) {
    for (int size = TEXT_BYTES_MAX; size > 0 && bytes(message) > bytesMax; ) {
      size /= 4;
      new Texts(Math.max(size, TEXT_BYTES_MIN), size).tidied(message);
    }
    return message;
  }

  private static int bytes(Message.Builder message) { return message.build().getSerializedSize(); }

  /** Bytes of a turn, where a whole request may have so many. */
  static int room(int requestBytesMax) { return Math.max(TURN_BYTES_MIN, requestBytesMax - 16); }

  private Message.Builder tidied(Message.Builder message) {
    if (message instanceof ToolCall.Builder call && isLong(call.getArgumentsJson())) {
      call.setArgumentsDigest(digest(call.getArgumentsJson())); // cut JSON would be none
    }
    isFaulty |= !message.getUnknownFields().asMap().isEmpty(); // of any length
    message.setUnknownFields(UnknownFieldSet.getDefaultInstance());
    message.getAllFields().forEach((field, value) -> {
      boolean isNone = (value instanceof Double measure && !Double.isFinite(measure))
          || (value instanceof Long count && count < 0);
      isFaulty |= isNone;
      if (isNone) message.clearField(field); else message.setField(field, tidied(value));
    });
    return message;
  }

  private Object tidied(Object value) {
    if (value instanceof Message part) return tidied(part.toBuilder()).build();
    if (value instanceof List<?> items) {
      isFaulty |= items.size() > itemsMax;
      return items.stream().limit(itemsMax).map(this::tidied).toList();
    }
    if (!(value instanceof String given)) return value;
    // Its ends, where it is long: nobody waits until all of it is read.
    int size = given.length();
    String text = size <= 2 * bytesMax ? given
        : given.substring(0, bytesMax) + given.substring(size - bytesMax);
    byte[] all = text.getBytes(UTF_8);
    String sound = new String(all, UTF_8);
    isFaulty |= !sound.equals(text); // half of a surrogate pair
    return all.length <= bytesMax ? sound : cut(size, all);
  }

  private boolean isLong(String text) {
    return text.length() > bytesMax || text.getBytes(UTF_8).length > bytesMax;
  }

  /** The beginning and the end of a text: errors tend to stand at one of the two. */
  private String cut(int characters, byte[] all) {
    String mark = "\n[... of " + characters + " characters the middle is left out ...]\n";
    int room = bytesMax - mark.length(), tail = room / 4;
    return part(all, 0, room - tail) + mark + part(all, all.length - tail, tail);
  }

  /** The whole characters of a part. */
  private static String part(byte[] all, int from, int length) {
    return new String(all, from, length, UTF_8).replaceAll("^\uFFFD+|\uFFFD+$", "");
  }

  /** The name, or its beginning and a digest of it all: long names that differ stay different. */
  static String name(String name, int bytesMax) {
    byte[] all = name.getBytes(UTF_8);
    String sound = new String(all, UTF_8);
    return all.length <= bytesMax ? sound : part(all, 0, bytesMax - 17) + "~" + digest(name);
  }

  /** Stands in for a text; a very long one is told from others by its ends and its length. */
  private static String digest(String text) {
    int size = text.length(), end = DIGEST_MAX / 2;
    String ends = size <= DIGEST_MAX ? text
        : text.substring(0, end) + size + text.substring(size - end);
    return Hashing.sha256().hashString(ends, UTF_8).toString().substring(0, 16);
  }
}
