package io.agentsidecar.client;

import io.agentsidecar.v1.Decision;
import io.agentsidecar.v1.Turn;
import java.util.ArrayDeque;
import java.util.Iterator;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;

/** The last turns of the run, at most 256 and 32 MiB, to be sent, or sent again. */
final class Ring implements Iterable<Ring.Entry> {
  private static final int TURNS_MAX = 256, BYTES_MAX = 32 << 20;

  /** One turn, what has become of it, and whoever waits for its directive. */
  static final class Entry extends CompletableFuture<Directive> {
    Turn turn;
    /** Its number on the wire, given when it is first sent; 0: none yet. */
    int sequence;
    /** The stream that it was last sent on. */
    Object sentOn;
    double sentAt;
    /** The answer, until it is handed over; collected: nobody waits for it any more. */
    Decision decision;
    boolean answered, collected;

    Entry(Turn turn) { this.turn = turn; }
  }

  private final ArrayDeque<Entry> entries = new ArrayDeque<>();
  private int lost, last;

  @Override public Iterator<Entry> iterator() { return entries.iterator(); }

  void add(Entry entry) {
    entries.add(entry);
    while (entries.size() > TURNS_MAX || (entries.size() > 1 && bytes() > BYTES_MAX)) {
      lost++;
      // One without a number keeps its place, so that the sidecar can tell that it is lost.
      if (entries.remove().sequence == 0) last++;
    }
  }

  private long bytes() { return entries.stream().mapToLong(e -> e.turn.getSerializedSize()).sum(); }

  /** The turns that have no answer on the stream. */
  Stream<Entry> unanswered(Object stream) {
    return entries.stream().filter(entry -> entry.sentOn == stream && !entry.answered);
  }

  /** The earliest sequence that can still be sent. */
  int first() {
    Entry first = entries.peek();
    return first == null || first.sequence == 0 ? last + 1 : first.sequence;
  }

  void number(Entry entry) {
    if (entry.sequence == 0) entry.sequence = ++last;
  }

  /** The sidecar holds turns up to here, whoever sent them. */
  void skipTo(int sequence) { last = Math.max(last, sequence); }

  /**
   * Numbers the turns anew for a new session: all of them, from 1 on and counting those lost, or
   * from the first that no decision has answered. Returns by how much the numbers fell.
   */
  int renumber(boolean all) {
    while (!all && !entries.isEmpty() && entries.peek().answered) entries.remove();
    if (!all) lost = 0;
    int fall = first() - (lost + 1);
    last = lost;
    for (Entry entry : entries) {
      entry.sequence = 0;
      int seen = Math.max(0, entry.turn.getDirectiveSeen() - fall);
      entry.turn = entry.turn.toBuilder().setDirectiveSeen(seen).build();
    }
    return fall;
  }
}
