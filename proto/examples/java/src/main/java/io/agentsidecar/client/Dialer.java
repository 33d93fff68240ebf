package io.agentsidecar.client;

import static java.nio.charset.StandardCharsets.UTF_8;
import static java.util.concurrent.TimeUnit.SECONDS;

import io.grpc.ManagedChannel;
import io.grpc.netty.GrpcSslContexts;
import io.grpc.netty.NettyChannelBuilder;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoop;
import io.netty.channel.SingleThreadIoEventLoop;
import io.netty.channel.epoll.*;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioSocketChannel;
import io.netty.channel.unix.DomainSocketAddress;
import io.netty.handler.ssl.SslContextBuilder;
import io.netty.handler.ssl.SslProvider;
import io.netty.util.concurrent.DefaultThreadFactory;
import java.io.*;
import java.nio.file.*;
import java.util.Map;
import java.util.concurrent.Executor;
import java.util.regex.*;

/** How the sidecar is reached. Every attempt has a channel of its own, on the client's one loop. */
final class Dialer {
  // sun_path of Linux less its final zero.
  private static final int PATH_BYTES_MAX = 107;
  private static final int PORT_MAX = 65_535;
  private static final int DECISION_BYTES_MAX = 16 * 1024 * 1024;
  private static final int ATTEMPT_MS = 3000;
  // Servers cut clients that ping more often than every 5 minutes, unless told otherwise.
  private static final int KEEPALIVE_S = 330;
  private static final int DIRECTORY_0700 = 0040700;
  private static final Pattern HOST_AND_PORT =
      Pattern.compile("(?:\\[[0-9A-Fa-f:.%]+\\]|[^\\s:/\\[\\]]+):([0-9]{1,5})");

  /** The last one; gRPC needs its loop for as long as it is alive. */
  volatile Thread lookUp = new Thread();
  private final Options options;
  private final String address;
  private final boolean isPath;
  /** Whether the socket is where anybody can make one: turns are not told to a stranger. */
  private final boolean inTmp;

  /** Throws IOException or IllegalArgumentException for what cannot be connected with. */
  Dialer(Options options) throws IOException {
    this.options = options;
    Map<String, String> env = System.getenv();
    String own = options.address;
    String given = own.isEmpty() ? env.getOrDefault("SIDECAR_ADDRESS", "") : own;
    String runtime = env.getOrDefault("XDG_RUNTIME_DIR", "");
    inTmp = given.isEmpty() && !runtime.startsWith("/");
    String directory = inTmp ? "/tmp/sidecar-" + uid("/proc/self") : runtime + "/sidecar";
    if (given.isEmpty()) given = directory + "/agent.sock";
    isPath = given.startsWith("unix:") || given.startsWith("/");
    address = isPath ? given.replaceFirst("^unix:(//)?", "") : given;
    Matcher parts = HOST_AND_PORT.matcher(address);
    int measure = isPath ? address.getBytes(UTF_8).length
        : parts.matches() ? Integer.parseInt(parts.group(1)) : 0;
    if (measure < 1 || measure > (isPath ? PATH_BYTES_MAX : PORT_MAX)) {
      throw new IllegalArgumentException(
          "neither unix:PATH of at most 107 bytes nor HOST:PORT: " + given);
    }
    if (options.roots == null && (options.certificate != null || options.privateKey != null)) {
      throw new IllegalArgumentException(
          "a client certificate needs rootCertificates, which turn TLS on");
    }
  }

  /** What runs channels, timers and callbacks of a client, in one thread of the executor. */
  static EventLoop loop(Executor executor) {
    return new SingleThreadIoEventLoop(null, executor,
        Epoll.isAvailable() ? EpollIoHandler.newFactory() : NioIoHandler.newFactory());
  }

  /** A channel that connects when it is first used. Throws IOException for what is not there. */
  ManagedChannel channel(EventLoop loop) throws IOException {
    NettyChannelBuilder builder = isPath ? unix() : NettyChannelBuilder
        .forTarget("dns:///" + address)
        .channelType(Epoll.isAvailable() ? EpollSocketChannel.class : NioSocketChannel.class);
    if (options.roots == null) builder.usePlaintext();
    else builder.sslContext(tls().build());
    return builder.eventLoopGroup(loop).executor(loop)
        .offloadExecutor(this::lookUp)
        .disableRetry().disableServiceConfigLookUp()
        .proxyDetector(server -> null) // a proxy meant for the web is not in between
        .maxInboundMessageSize(DECISION_BYTES_MAX)
        .withOption(ChannelOption.CONNECT_TIMEOUT_MILLIS, ATTEMPT_MS)
        .keepAliveTime(KEEPALIVE_S, SECONDS).build();
  }

  /** Looks a name up in a thread of its own: the loop is not to wait for a name server. */
  private void lookUp(Runnable task) {
    lookUp = new DefaultThreadFactory("sidecar-names", true).newThread(task);
    lookUp.start();
  }

  private SslContextBuilder tls() throws IOException {
    SslContextBuilder tls = SslContextBuilder.forClient().trustManager(pem(options.roots));
    if (options.certificate != null) {
      tls.keyManager(pem(options.certificate), pem(options.privateKey));
    }
    return GrpcSslContexts.configure(tls, SslProvider.JDK);
  }

  private static InputStream pem(Path file) throws IOException {
    return new ByteArrayInputStream(Files.readAllBytes(file));
  }

  /** A channel costs milliseconds: none is made where no sidecar is installed. */
  private NettyChannelBuilder unix() throws IOException {
    if (!Epoll.isAvailable()) throw new IOException("Unix sockets need Linux");
    String directory = new File(address).getParent();
    if (inTmp && (!mode(directory).equals(DIRECTORY_0700)
        || !uid(directory).equals(uid("/proc/self")))) {
      throw new AccessDeniedException(directory + " is not this user's own, with mode 0700");
    }
    if (!new File(address).exists()) throw new NoSuchFileException(address);
    return NettyChannelBuilder.forAddress(new DomainSocketAddress(address))
        .channelType(EpollDomainSocketChannel.class).overrideAuthority("localhost")
        .withOption(ChannelOption.SO_KEEPALIVE, null); // gRPC sets it, and such sockets have none
  }

  private static Object mode(String path) throws IOException {
    return Files.getAttribute(Path.of(path), "unix:mode", LinkOption.NOFOLLOW_LINKS);
  }

  private static Object uid(String path) throws IOException {
    return Files.getAttribute(Path.of(path), "unix:uid");
  }
}
