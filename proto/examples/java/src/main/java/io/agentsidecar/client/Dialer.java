package io.agentsidecar.client;

import static java.nio.charset.StandardCharsets.UTF_8;
import static java.util.concurrent.TimeUnit.SECONDS;

import com.google.common.net.HostAndPort;
import io.grpc.*;
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
import java.net.*;
import java.nio.file.*;
import java.util.*;
import java.util.concurrent.Executor;

/** How the sidecar is reached. Every attempt has a channel of its own, on the client's one loop. */
final class Dialer {
  // sun_path of Linux less its final zero.
  private static final int PATH_BYTES_MAX = 107;
  private static final int DECISION_BYTES_MAX = 16 * 1024 * 1024;
  private static final int CONNECT_MS = 1500; // half an attempt: a name may have two addresses
  // Servers cut clients that ping more often than every 5 minutes, unless told otherwise.
  private static final int KEEPALIVE_S = 330;
  private static final int DIRECTORY_0700 = 0040700;

  /** The last one; gRPC needs its loop for as long as it is alive. */
  volatile Thread lookUp = new Thread();
  private final Options options;
  private final String address;
  private final boolean isPath;
  private final HostAndPort server;
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
    server = HostAndPort.fromString(isPath ? "localhost:1" : address);
    boolean isNone =
        address.isEmpty() || server.getHost().isEmpty() || server.getPortOrDefault(0) == 0;
    if (isNone || (isPath && address.getBytes(UTF_8).length > PATH_BYTES_MAX)) {
      throw new IllegalArgumentException(
          "neither unix:PATH of at most 107 bytes nor HOST:PORT: " + given);
    }
    if (!options.token.matches("[ -~]*")) { // gRPC would leave it out, and log it
      throw new IllegalArgumentException("the token has characters that no header can have");
    }
    if ((options.certificate == null) != (options.privateKey == null)) {
      throw new IllegalArgumentException("a client certificate and its privateKey: both or neither");
    }
    if (options.roots == null && options.certificate != null) {
      throw new IllegalArgumentException(
          "a client certificate needs rootCertificates, which turn TLS on");
    }
  }

  @Override public String toString() { return address; }

  /** What runs channels, timers and callbacks of a client, in one thread of the executor. */
  static EventLoop loop(Executor executor) {
    return new SingleThreadIoEventLoop(null, executor,
        Epoll.isAvailable() ? EpollIoHandler.newFactory() : NioIoHandler.newFactory());
  }

  /** A channel that connects when it is first used. Throws IOException for what is not there. */
  ManagedChannel channel(EventLoop loop) throws IOException {
    NettyChannelBuilder builder = isPath ? unix() : tcp();
    if (options.roots == null) builder.usePlaintext();
    else builder.sslContext(tls().build());
    return builder.eventLoopGroup(loop).executor(loop).offloadExecutor(loop).disableRetry()
        .maxInboundMessageSize(DECISION_BYTES_MAX)
        .withOption(ChannelOption.CONNECT_TIMEOUT_MILLIS, CONNECT_MS)
        .keepAliveTime(KEEPALIVE_S, SECONDS).build();
  }

  @SuppressWarnings("deprecation") // what gRPC has in its stead is for all channels of a process
  private NettyChannelBuilder tcp() {
    return NettyChannelBuilder.forTarget("sidecar").nameResolverFactory(new Names())
        .channelType(Epoll.isAvailable() ? EpollSocketChannel.class : NioSocketChannel.class);
  }

  /** gRPC's own log each name that they do not find, and ask proxies that are meant for the web. */
  private final class Names extends NameResolver.Factory {
    @Override public String getDefaultScheme() { return "sidecar"; }

    @Override public NameResolver newNameResolver(URI target, NameResolver.Args args) {
      return new NameResolver() {
        @Override public String getServiceAuthority() { return address; }

        /** In a thread of its own: the loop is not to wait for a name server. */
        @Override public void start(Listener2 listener) {
          ResolutionResult.Builder result = ResolutionResult.newBuilder();
          lookUp = new DefaultThreadFactory("sidecar-names", true).newThread(() -> listener
              .onResult(result.setAddressesOrError(StatusOr.fromValue(addresses())).build()));
          lookUp.start();
        }

        @Override public void shutdown() {}
      };
    }
  }

  /** Of a name that is not known the name itself: connecting to that fails, as to the others. */
  private List<EquivalentAddressGroup> addresses() {
    List<SocketAddress> found = new ArrayList<>();
    try {
      for (InetAddress each : InetAddress.getAllByName(server.getHost())) {
        found.add(new InetSocketAddress(each, server.getPort()));
      }
    } catch (UnknownHostException e) {
      found.add(InetSocketAddress.createUnresolved(server.getHost(), server.getPort()));
    }
    return List.of(new EquivalentAddressGroup(found));
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
