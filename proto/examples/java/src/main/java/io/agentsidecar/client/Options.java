package io.agentsidecar.client;

import com.google.common.base.Strings;
import io.agentsidecar.v1.Open;
import java.nio.file.Path;
import java.time.Duration;
import java.util.function.Consumer;

/** How the sidecar is reached, and what the run is. Everything has a default, and null means it. */
public final class Options {
  private static final Duration TIMEOUT = Duration.ofMillis(200);
  private static final Open NONE = Open.getDefaultInstance();

  String address = "";
  Open session = NONE;
  Duration timeout = TIMEOUT;
  String token = "";
  Path roots, certificate, privateKey;
  Consumer<Directive.Reason> onGiveUp = reason -> {};

  /**
   * {@code unix:PATH} or {@code HOST:PORT}. By default $SIDECAR_ADDRESS, else agent.sock in
   * $XDG_RUNTIME_DIR/sidecar, else in /tmp/sidecar-UID, if that is this user's own with mode 0700.
   */
  public Options address(String value) { address = Strings.nullToEmpty(value); return this; }

  /** The run: session_id (a random one if empty), agent, model, policy, limits, mode, labels. */
  public Options session(Open value) { session = value == null ? NONE : value; return this; }

  /** Longest wait for a decision: 200 ms by default, from 0 (never wait) to 60 s. */
  public Options timeout(Duration value) { timeout = value == null ? TIMEOUT : value; return this; }

  /** Sent as a bearer token, without the white space around it; of printable ASCII. */
  public Options token(String value) { token = Strings.nullToEmpty(value).strip(); return this; }

  /** PEM file that the sidecar's certificate is checked against; turns TLS on. */
  public Options rootCertificates(Path value) { roots = value; return this; }

  /** The client's own PEM file, for mutual TLS. All PEM files are read anew for each connection. */
  public Options certificate(Path value) { certificate = value; return this; }

  /** The key of that certificate, PKCS 8 in a PEM file. */
  public Options privateKey(Path value) { privateKey = value; return this; }

  /** Called once for each give-up, for the host's own metrics; must not block. */
  public Options onGiveUp(Consumer<Directive.Reason> value) { onGiveUp = value; return this; }
}
