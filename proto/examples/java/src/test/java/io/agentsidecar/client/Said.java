package io.agentsidecar.client;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import java.util.logging.SimpleFormatter;

/** What is logged meanwhile, by whomever, as a host has it by default. */
final class Said extends Handler implements AutoCloseable {
  private static final Logger ROOT = Logger.getLogger("");

  final List<String> lines = new CopyOnWriteArrayList<>();

  Said() {
    setLevel(Level.INFO);
    setFormatter(new SimpleFormatter());
    ROOT.addHandler(this);
  }

  @Override
  public void publish(LogRecord said) {
    if (isLoggable(said)) {
      lines.add(said.getLevel() + " " + getFormatter().formatMessage(said));
    }
  }

  @Override
  public void flush() {}

  @Override
  public void close() {
    ROOT.removeHandler(this);
  }
}
