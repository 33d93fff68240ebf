package io.agentsidecar.client;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.common.hash.Hashing;
import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.Message;
import io.agentsidecar.v1.ToolCall;
import io.agentsidecar.v1.Turn;

/** Texts and turns cut to what the sidecar takes, so that no turn ever ends a stream. */
final class Texts {
  private static final int TEXT_BYTES_MAX = 64 * 1024;
  // When a whole turn is too large its texts are cut harder, step by step.
  private static final int[] STEPS = {TEXT_BYTES_MAX, 16 * 1024, 4 * 1024, 1024, 256};

  private Texts() {}

  /** The turn with no text above 64 KiB, and no more than so many bytes in all. */
  static Turn fit(Turn turn, int bytesMax) {
    if (turn.getSerializedSize() <= Math.min(bytesMax, TEXT_BYTES_MAX)) return turn;
    Turn.Builder cut = turn.toBuilder();
    for (int step : STEPS) {
      if (step == TEXT_BYTES_MAX || cut.build().getSerializedSize() > bytesMax) cutAll(cut, step);
    }
    while (cut.build().getSerializedSize() > bytesMax) {
      int calls = cut.getToolCallsCount();
      int failures = cut.getFailuresCount();
      if (calls + failures == 0) return cut.clearSaid().clearFinalAnswer().build();
      if (calls > failures) cut.removeToolCalls(calls - 1); else cut.removeFailures(failures - 1);
    }
    return cut.build();
  }

  /** Cuts every text of the message, whatever its field. Cut JSON would be none: it is digested. */
  private static void cutAll(Message.Builder message, int bytesMax) {
    for (FieldDescriptor field : message.getAllFields().keySet()) {
      if (field.getJavaType() == FieldDescriptor.JavaType.STRING) {
        message.setField(field, cut((String) message.getField(field), bytesMax));
      }
      for (int i = 0; field.isRepeated() && i < message.getRepeatedFieldCount(field); i++) {
        Message.Builder item = ((Message) message.getRepeatedField(field, i)).toBuilder();
        if (item instanceof ToolCall.Builder call
            && call.getArgumentsJsonBytes().size() > bytesMax) {
          call.setArgumentsDigest(digest(call.getArgumentsJson()));
        }
        cutAll(item, bytesMax);
        message.setRepeatedField(field, i, item.build());
      }
    }
  }

  /** The text, or its beginning and its end: errors tend to stand at one of the two. */
  private static String cut(String text, int bytesMax) {
    byte[] all = text.getBytes(UTF_8);
    if (all.length <= bytesMax) return text;
    int characters = text.codePointCount(0, text.length());
    String mark = "\n[... of " + characters + " characters the middle is left out ...]\n";
    int room = bytesMax - mark.length();
    int tail = all.length - room / 4;
    while ((all[tail] & 0xC0) == 0x80) tail++; // not within a character
    return head(all, room - room / 4) + mark + new String(all, tail, all.length - tail, UTF_8);
  }

  private static String head(byte[] all, int length) {
    int end = length;
    while ((all[end] & 0xC0) == 0x80) end--;
    return new String(all, 0, end, UTF_8);
  }

  /** The name, or its beginning and a digest of it all: long names that differ stay different. */
  static String name(String name, int bytesMax) {
    byte[] all = name.getBytes(UTF_8);
    return all.length <= bytesMax ? name : head(all, bytesMax - 17) + "~" + digest(name);
  }

  private static String digest(String text) {
    return Hashing.sha256().hashString(text, UTF_8).toString().substring(0, 16);
  }
}
