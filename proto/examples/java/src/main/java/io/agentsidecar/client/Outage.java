package io.agentsidecar.client;

import io.agentsidecar.client.Directive.Reason;

/** Why the agent goes on without the sidecar, and what of it is news to who reads the log. */
final class Outage {
  /** Null: there is no outage. */
  Reason reason;
  /** Of the sidecar, once it is known: words for the log. */
  String where = "";
  private String text = "";
  private boolean isForGood, wasForGood;
  private Reason told;

  void goOn(Reason why, String words, boolean forGood) {
    reason = why;
    text = words;
    isForGood = forGood;
  }

  /** A line when it begins, is refused or is for good, and when it is over; else empty. */
  String news() {
    boolean isOther = reason != told
        && (reason == null || told == null || reason == Reason.REJECTED);
    boolean isNews = isOther || isForGood != wasForGood;
    told = reason;
    wasForGood = isForGood;
    if (!isNews) return "";
    if (reason == null) return "the sidecar is back";
    String length = isForGood ? " for good" : "";
    return "the agent goes on without the sidecar" + length + where + ": " + reason + ", " + text;
  }
}
