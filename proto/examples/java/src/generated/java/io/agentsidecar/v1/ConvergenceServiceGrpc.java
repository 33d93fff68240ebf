package io.agentsidecar.v1;

import static io.grpc.MethodDescriptor.generateFullMethodName;

/**
 * <pre>
 * Watches runs. The protocol of Observe, in full:
 *  1. The agent opens the stream and sends `open`, within 10 s (`open_timeout_s`). Nothing else may
 *     come first.
 *  2. The sidecar answers `opened` with the last sequence N that it holds for the session, 0 if it
 *     is new. The agent sends, or sends again, the turns after N; it keeps its last 256 turns,
 *     answered ones too. Where the earliest that it still has (`open.first_available_sequence`) is
 *     above N + 1, the sidecar goes on from there: `opened.missing` says how many are lost, and
 *     what needs consecutive turns starts again.
 *  3. In MODE_ENFORCE every turn is answered by exactly one decision of the same sequence, in
 *     order (CAUSE_TURN). In MODE_OBSERVE no turn is answered.
 *  4. The sidecar may send a decision that no turn asked for (CAUSE_OPERATOR, CAUSE_IDLE). It
 *     repeats the sequence of the last turn. Until a turn follows it, it comes again after `opened`,
 *     since nobody may have listened.
 *  5. A turn sent twice with the same content gets the same decision again (the last 256 are kept;
 *     an older one gets the rejection DUPLICATE_TOO_OLD). Sent twice with different content it
 *     ends the stream (ABORTED, SEQUENCE_CONFLICT). Sequences begin at 1: a turn with 0 gets the
 *     rejection SEQUENCE_INVALID and uses up none.
 *  6. When its run is over the agent sends `close`, then half-closes. The sidecar closes the
 *     session and ends the stream with OK.
 *  7. A half-close without `close`, or a stream that breaks, only detaches: the session stays
 *     resumable for `opened.idle_ttl`. A second stream for a session takes it over from the first.
 *     On resume the first `open`'s policy, limits and mode stand; others are INVALID_ARGUMENT
 *     (OPEN_MISMATCH). An `open` that names no policy asks for no other.
 *  8. Before the sidecar shuts down it sends `draining`. The agent half-closes, reconnects and
 *     resumes. A `heartbeat` is never answered and renews the idle time.
 * An agent that has no decision within its own timeout, or gets any error, proceeds (fails open)
 * and counts it.
 * </pre>
 */
@io.grpc.stub.annotations.GrpcGenerated
public final class ConvergenceServiceGrpc {

  private ConvergenceServiceGrpc() {}

  public static final java.lang.String SERVICE_NAME = "sidecar.v1.ConvergenceService";

  // Static method descriptors that strictly reflect the proto.
  private static volatile io.grpc.MethodDescriptor<io.agentsidecar.v1.ObserveRequest,
      io.agentsidecar.v1.ObserveResponse> getObserveMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "Observe",
      requestType = io.agentsidecar.v1.ObserveRequest.class,
      responseType = io.agentsidecar.v1.ObserveResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.BIDI_STREAMING)
  public static io.grpc.MethodDescriptor<io.agentsidecar.v1.ObserveRequest,
      io.agentsidecar.v1.ObserveResponse> getObserveMethod() {
    io.grpc.MethodDescriptor<io.agentsidecar.v1.ObserveRequest, io.agentsidecar.v1.ObserveResponse> getObserveMethod;
    if ((getObserveMethod = ConvergenceServiceGrpc.getObserveMethod) == null) {
      synchronized (ConvergenceServiceGrpc.class) {
        if ((getObserveMethod = ConvergenceServiceGrpc.getObserveMethod) == null) {
          ConvergenceServiceGrpc.getObserveMethod = getObserveMethod =
              io.grpc.MethodDescriptor.<io.agentsidecar.v1.ObserveRequest, io.agentsidecar.v1.ObserveResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.BIDI_STREAMING)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "Observe"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.agentsidecar.v1.ObserveRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.agentsidecar.v1.ObserveResponse.getDefaultInstance()))
              .setSchemaDescriptor(new ConvergenceServiceMethodDescriptorSupplier("Observe"))
              .build();
        }
      }
    }
    return getObserveMethod;
  }

  private static volatile io.grpc.MethodDescriptor<io.agentsidecar.v1.RecordTurnRequest,
      io.agentsidecar.v1.RecordTurnResponse> getRecordTurnMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "RecordTurn",
      requestType = io.agentsidecar.v1.RecordTurnRequest.class,
      responseType = io.agentsidecar.v1.RecordTurnResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.UNARY)
  public static io.grpc.MethodDescriptor<io.agentsidecar.v1.RecordTurnRequest,
      io.agentsidecar.v1.RecordTurnResponse> getRecordTurnMethod() {
    io.grpc.MethodDescriptor<io.agentsidecar.v1.RecordTurnRequest, io.agentsidecar.v1.RecordTurnResponse> getRecordTurnMethod;
    if ((getRecordTurnMethod = ConvergenceServiceGrpc.getRecordTurnMethod) == null) {
      synchronized (ConvergenceServiceGrpc.class) {
        if ((getRecordTurnMethod = ConvergenceServiceGrpc.getRecordTurnMethod) == null) {
          ConvergenceServiceGrpc.getRecordTurnMethod = getRecordTurnMethod =
              io.grpc.MethodDescriptor.<io.agentsidecar.v1.RecordTurnRequest, io.agentsidecar.v1.RecordTurnResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "RecordTurn"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.agentsidecar.v1.RecordTurnRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.agentsidecar.v1.RecordTurnResponse.getDefaultInstance()))
              .setSchemaDescriptor(new ConvergenceServiceMethodDescriptorSupplier("RecordTurn"))
              .build();
        }
      }
    }
    return getRecordTurnMethod;
  }

  /**
   * Creates a new async stub that supports all call types for the service
   */
  public static ConvergenceServiceStub newStub(io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<ConvergenceServiceStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<ConvergenceServiceStub>() {
        @java.lang.Override
        public ConvergenceServiceStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new ConvergenceServiceStub(channel, callOptions);
        }
      };
    return ConvergenceServiceStub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports all types of calls on the service
   */
  public static ConvergenceServiceBlockingV2Stub newBlockingV2Stub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<ConvergenceServiceBlockingV2Stub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<ConvergenceServiceBlockingV2Stub>() {
        @java.lang.Override
        public ConvergenceServiceBlockingV2Stub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new ConvergenceServiceBlockingV2Stub(channel, callOptions);
        }
      };
    return ConvergenceServiceBlockingV2Stub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports unary and streaming output calls on the service
   */
  public static ConvergenceServiceBlockingStub newBlockingStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<ConvergenceServiceBlockingStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<ConvergenceServiceBlockingStub>() {
        @java.lang.Override
        public ConvergenceServiceBlockingStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new ConvergenceServiceBlockingStub(channel, callOptions);
        }
      };
    return ConvergenceServiceBlockingStub.newStub(factory, channel);
  }

  /**
   * Creates a new ListenableFuture-style stub that supports unary calls on the service
   */
  public static ConvergenceServiceFutureStub newFutureStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<ConvergenceServiceFutureStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<ConvergenceServiceFutureStub>() {
        @java.lang.Override
        public ConvergenceServiceFutureStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new ConvergenceServiceFutureStub(channel, callOptions);
        }
      };
    return ConvergenceServiceFutureStub.newStub(factory, channel);
  }

  /**
   * <pre>
   * Watches runs. The protocol of Observe, in full:
   *  1. The agent opens the stream and sends `open`, within 10 s (`open_timeout_s`). Nothing else may
   *     come first.
   *  2. The sidecar answers `opened` with the last sequence N that it holds for the session, 0 if it
   *     is new. The agent sends, or sends again, the turns after N; it keeps its last 256 turns,
   *     answered ones too. Where the earliest that it still has (`open.first_available_sequence`) is
   *     above N + 1, the sidecar goes on from there: `opened.missing` says how many are lost, and
   *     what needs consecutive turns starts again.
   *  3. In MODE_ENFORCE every turn is answered by exactly one decision of the same sequence, in
   *     order (CAUSE_TURN). In MODE_OBSERVE no turn is answered.
   *  4. The sidecar may send a decision that no turn asked for (CAUSE_OPERATOR, CAUSE_IDLE). It
   *     repeats the sequence of the last turn. Until a turn follows it, it comes again after `opened`,
   *     since nobody may have listened.
   *  5. A turn sent twice with the same content gets the same decision again (the last 256 are kept;
   *     an older one gets the rejection DUPLICATE_TOO_OLD). Sent twice with different content it
   *     ends the stream (ABORTED, SEQUENCE_CONFLICT). Sequences begin at 1: a turn with 0 gets the
   *     rejection SEQUENCE_INVALID and uses up none.
   *  6. When its run is over the agent sends `close`, then half-closes. The sidecar closes the
   *     session and ends the stream with OK.
   *  7. A half-close without `close`, or a stream that breaks, only detaches: the session stays
   *     resumable for `opened.idle_ttl`. A second stream for a session takes it over from the first.
   *     On resume the first `open`'s policy, limits and mode stand; others are INVALID_ARGUMENT
   *     (OPEN_MISMATCH). An `open` that names no policy asks for no other.
   *  8. Before the sidecar shuts down it sends `draining`. The agent half-closes, reconnects and
   *     resumes. A `heartbeat` is never answered and renews the idle time.
   * An agent that has no decision within its own timeout, or gets any error, proceeds (fails open)
   * and counts it.
   * </pre>
   */
  public interface AsyncService {

    /**
     * <pre>
     * Streams a run's turns and gets a decision for each.
     * </pre>
     */
    default io.grpc.stub.StreamObserver<io.agentsidecar.v1.ObserveRequest> observe(
        io.grpc.stub.StreamObserver<io.agentsidecar.v1.ObserveResponse> responseObserver) {
      return io.grpc.stub.ServerCalls.asyncUnimplementedStreamingCall(getObserveMethod(), responseObserver);
    }

    /**
     * <pre>
     * Records one turn, for callers that cannot hold a stream: hooks, shell scripts, serverless.
     * </pre>
     */
    default void recordTurn(io.agentsidecar.v1.RecordTurnRequest request,
        io.grpc.stub.StreamObserver<io.agentsidecar.v1.RecordTurnResponse> responseObserver) {
      io.grpc.stub.ServerCalls.asyncUnimplementedUnaryCall(getRecordTurnMethod(), responseObserver);
    }
  }

  /**
   * Base class for the server implementation of the service ConvergenceService.
   * <pre>
   * Watches runs. The protocol of Observe, in full:
   *  1. The agent opens the stream and sends `open`, within 10 s (`open_timeout_s`). Nothing else may
   *     come first.
   *  2. The sidecar answers `opened` with the last sequence N that it holds for the session, 0 if it
   *     is new. The agent sends, or sends again, the turns after N; it keeps its last 256 turns,
   *     answered ones too. Where the earliest that it still has (`open.first_available_sequence`) is
   *     above N + 1, the sidecar goes on from there: `opened.missing` says how many are lost, and
   *     what needs consecutive turns starts again.
   *  3. In MODE_ENFORCE every turn is answered by exactly one decision of the same sequence, in
   *     order (CAUSE_TURN). In MODE_OBSERVE no turn is answered.
   *  4. The sidecar may send a decision that no turn asked for (CAUSE_OPERATOR, CAUSE_IDLE). It
   *     repeats the sequence of the last turn. Until a turn follows it, it comes again after `opened`,
   *     since nobody may have listened.
   *  5. A turn sent twice with the same content gets the same decision again (the last 256 are kept;
   *     an older one gets the rejection DUPLICATE_TOO_OLD). Sent twice with different content it
   *     ends the stream (ABORTED, SEQUENCE_CONFLICT). Sequences begin at 1: a turn with 0 gets the
   *     rejection SEQUENCE_INVALID and uses up none.
   *  6. When its run is over the agent sends `close`, then half-closes. The sidecar closes the
   *     session and ends the stream with OK.
   *  7. A half-close without `close`, or a stream that breaks, only detaches: the session stays
   *     resumable for `opened.idle_ttl`. A second stream for a session takes it over from the first.
   *     On resume the first `open`'s policy, limits and mode stand; others are INVALID_ARGUMENT
   *     (OPEN_MISMATCH). An `open` that names no policy asks for no other.
   *  8. Before the sidecar shuts down it sends `draining`. The agent half-closes, reconnects and
   *     resumes. A `heartbeat` is never answered and renews the idle time.
   * An agent that has no decision within its own timeout, or gets any error, proceeds (fails open)
   * and counts it.
   * </pre>
   */
  public static abstract class ConvergenceServiceImplBase
      implements io.grpc.BindableService, AsyncService {

    @java.lang.Override public final io.grpc.ServerServiceDefinition bindService() {
      return ConvergenceServiceGrpc.bindService(this);
    }
  }

  /**
   * A stub to allow clients to do asynchronous rpc calls to service ConvergenceService.
   * <pre>
   * Watches runs. The protocol of Observe, in full:
   *  1. The agent opens the stream and sends `open`, within 10 s (`open_timeout_s`). Nothing else may
   *     come first.
   *  2. The sidecar answers `opened` with the last sequence N that it holds for the session, 0 if it
   *     is new. The agent sends, or sends again, the turns after N; it keeps its last 256 turns,
   *     answered ones too. Where the earliest that it still has (`open.first_available_sequence`) is
   *     above N + 1, the sidecar goes on from there: `opened.missing` says how many are lost, and
   *     what needs consecutive turns starts again.
   *  3. In MODE_ENFORCE every turn is answered by exactly one decision of the same sequence, in
   *     order (CAUSE_TURN). In MODE_OBSERVE no turn is answered.
   *  4. The sidecar may send a decision that no turn asked for (CAUSE_OPERATOR, CAUSE_IDLE). It
   *     repeats the sequence of the last turn. Until a turn follows it, it comes again after `opened`,
   *     since nobody may have listened.
   *  5. A turn sent twice with the same content gets the same decision again (the last 256 are kept;
   *     an older one gets the rejection DUPLICATE_TOO_OLD). Sent twice with different content it
   *     ends the stream (ABORTED, SEQUENCE_CONFLICT). Sequences begin at 1: a turn with 0 gets the
   *     rejection SEQUENCE_INVALID and uses up none.
   *  6. When its run is over the agent sends `close`, then half-closes. The sidecar closes the
   *     session and ends the stream with OK.
   *  7. A half-close without `close`, or a stream that breaks, only detaches: the session stays
   *     resumable for `opened.idle_ttl`. A second stream for a session takes it over from the first.
   *     On resume the first `open`'s policy, limits and mode stand; others are INVALID_ARGUMENT
   *     (OPEN_MISMATCH). An `open` that names no policy asks for no other.
   *  8. Before the sidecar shuts down it sends `draining`. The agent half-closes, reconnects and
   *     resumes. A `heartbeat` is never answered and renews the idle time.
   * An agent that has no decision within its own timeout, or gets any error, proceeds (fails open)
   * and counts it.
   * </pre>
   */
  public static final class ConvergenceServiceStub
      extends io.grpc.stub.AbstractAsyncStub<ConvergenceServiceStub> {
    private ConvergenceServiceStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected ConvergenceServiceStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new ConvergenceServiceStub(channel, callOptions);
    }

    /**
     * <pre>
     * Streams a run's turns and gets a decision for each.
     * </pre>
     */
    public io.grpc.stub.StreamObserver<io.agentsidecar.v1.ObserveRequest> observe(
        io.grpc.stub.StreamObserver<io.agentsidecar.v1.ObserveResponse> responseObserver) {
      return io.grpc.stub.ClientCalls.asyncBidiStreamingCall(
          getChannel().newCall(getObserveMethod(), getCallOptions()), responseObserver);
    }

    /**
     * <pre>
     * Records one turn, for callers that cannot hold a stream: hooks, shell scripts, serverless.
     * </pre>
     */
    public void recordTurn(io.agentsidecar.v1.RecordTurnRequest request,
        io.grpc.stub.StreamObserver<io.agentsidecar.v1.RecordTurnResponse> responseObserver) {
      io.grpc.stub.ClientCalls.asyncUnaryCall(
          getChannel().newCall(getRecordTurnMethod(), getCallOptions()), request, responseObserver);
    }
  }

  /**
   * A stub to allow clients to do synchronous rpc calls to service ConvergenceService.
   * <pre>
   * Watches runs. The protocol of Observe, in full:
   *  1. The agent opens the stream and sends `open`, within 10 s (`open_timeout_s`). Nothing else may
   *     come first.
   *  2. The sidecar answers `opened` with the last sequence N that it holds for the session, 0 if it
   *     is new. The agent sends, or sends again, the turns after N; it keeps its last 256 turns,
   *     answered ones too. Where the earliest that it still has (`open.first_available_sequence`) is
   *     above N + 1, the sidecar goes on from there: `opened.missing` says how many are lost, and
   *     what needs consecutive turns starts again.
   *  3. In MODE_ENFORCE every turn is answered by exactly one decision of the same sequence, in
   *     order (CAUSE_TURN). In MODE_OBSERVE no turn is answered.
   *  4. The sidecar may send a decision that no turn asked for (CAUSE_OPERATOR, CAUSE_IDLE). It
   *     repeats the sequence of the last turn. Until a turn follows it, it comes again after `opened`,
   *     since nobody may have listened.
   *  5. A turn sent twice with the same content gets the same decision again (the last 256 are kept;
   *     an older one gets the rejection DUPLICATE_TOO_OLD). Sent twice with different content it
   *     ends the stream (ABORTED, SEQUENCE_CONFLICT). Sequences begin at 1: a turn with 0 gets the
   *     rejection SEQUENCE_INVALID and uses up none.
   *  6. When its run is over the agent sends `close`, then half-closes. The sidecar closes the
   *     session and ends the stream with OK.
   *  7. A half-close without `close`, or a stream that breaks, only detaches: the session stays
   *     resumable for `opened.idle_ttl`. A second stream for a session takes it over from the first.
   *     On resume the first `open`'s policy, limits and mode stand; others are INVALID_ARGUMENT
   *     (OPEN_MISMATCH). An `open` that names no policy asks for no other.
   *  8. Before the sidecar shuts down it sends `draining`. The agent half-closes, reconnects and
   *     resumes. A `heartbeat` is never answered and renews the idle time.
   * An agent that has no decision within its own timeout, or gets any error, proceeds (fails open)
   * and counts it.
   * </pre>
   */
  public static final class ConvergenceServiceBlockingV2Stub
      extends io.grpc.stub.AbstractBlockingStub<ConvergenceServiceBlockingV2Stub> {
    private ConvergenceServiceBlockingV2Stub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected ConvergenceServiceBlockingV2Stub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new ConvergenceServiceBlockingV2Stub(channel, callOptions);
    }

    /**
     * <pre>
     * Streams a run's turns and gets a decision for each.
     * </pre>
     */
    @io.grpc.ExperimentalApi("https://github.com/grpc/grpc-java/issues/10918")
    public io.grpc.stub.BlockingClientCall<io.agentsidecar.v1.ObserveRequest, io.agentsidecar.v1.ObserveResponse>
        observe() {
      return io.grpc.stub.ClientCalls.blockingBidiStreamingCall(
          getChannel(), getObserveMethod(), getCallOptions());
    }

    /**
     * <pre>
     * Records one turn, for callers that cannot hold a stream: hooks, shell scripts, serverless.
     * </pre>
     */
    public io.agentsidecar.v1.RecordTurnResponse recordTurn(io.agentsidecar.v1.RecordTurnRequest request) throws io.grpc.StatusException {
      return io.grpc.stub.ClientCalls.blockingV2UnaryCall(
          getChannel(), getRecordTurnMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do limited synchronous rpc calls to service ConvergenceService.
   * <pre>
   * Watches runs. The protocol of Observe, in full:
   *  1. The agent opens the stream and sends `open`, within 10 s (`open_timeout_s`). Nothing else may
   *     come first.
   *  2. The sidecar answers `opened` with the last sequence N that it holds for the session, 0 if it
   *     is new. The agent sends, or sends again, the turns after N; it keeps its last 256 turns,
   *     answered ones too. Where the earliest that it still has (`open.first_available_sequence`) is
   *     above N + 1, the sidecar goes on from there: `opened.missing` says how many are lost, and
   *     what needs consecutive turns starts again.
   *  3. In MODE_ENFORCE every turn is answered by exactly one decision of the same sequence, in
   *     order (CAUSE_TURN). In MODE_OBSERVE no turn is answered.
   *  4. The sidecar may send a decision that no turn asked for (CAUSE_OPERATOR, CAUSE_IDLE). It
   *     repeats the sequence of the last turn. Until a turn follows it, it comes again after `opened`,
   *     since nobody may have listened.
   *  5. A turn sent twice with the same content gets the same decision again (the last 256 are kept;
   *     an older one gets the rejection DUPLICATE_TOO_OLD). Sent twice with different content it
   *     ends the stream (ABORTED, SEQUENCE_CONFLICT). Sequences begin at 1: a turn with 0 gets the
   *     rejection SEQUENCE_INVALID and uses up none.
   *  6. When its run is over the agent sends `close`, then half-closes. The sidecar closes the
   *     session and ends the stream with OK.
   *  7. A half-close without `close`, or a stream that breaks, only detaches: the session stays
   *     resumable for `opened.idle_ttl`. A second stream for a session takes it over from the first.
   *     On resume the first `open`'s policy, limits and mode stand; others are INVALID_ARGUMENT
   *     (OPEN_MISMATCH). An `open` that names no policy asks for no other.
   *  8. Before the sidecar shuts down it sends `draining`. The agent half-closes, reconnects and
   *     resumes. A `heartbeat` is never answered and renews the idle time.
   * An agent that has no decision within its own timeout, or gets any error, proceeds (fails open)
   * and counts it.
   * </pre>
   */
  public static final class ConvergenceServiceBlockingStub
      extends io.grpc.stub.AbstractBlockingStub<ConvergenceServiceBlockingStub> {
    private ConvergenceServiceBlockingStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected ConvergenceServiceBlockingStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new ConvergenceServiceBlockingStub(channel, callOptions);
    }

    /**
     * <pre>
     * Records one turn, for callers that cannot hold a stream: hooks, shell scripts, serverless.
     * </pre>
     */
    public io.agentsidecar.v1.RecordTurnResponse recordTurn(io.agentsidecar.v1.RecordTurnRequest request) {
      return io.grpc.stub.ClientCalls.blockingUnaryCall(
          getChannel(), getRecordTurnMethod(), getCallOptions(), request);
    }
  }

  /**
   * A stub to allow clients to do ListenableFuture-style rpc calls to service ConvergenceService.
   * <pre>
   * Watches runs. The protocol of Observe, in full:
   *  1. The agent opens the stream and sends `open`, within 10 s (`open_timeout_s`). Nothing else may
   *     come first.
   *  2. The sidecar answers `opened` with the last sequence N that it holds for the session, 0 if it
   *     is new. The agent sends, or sends again, the turns after N; it keeps its last 256 turns,
   *     answered ones too. Where the earliest that it still has (`open.first_available_sequence`) is
   *     above N + 1, the sidecar goes on from there: `opened.missing` says how many are lost, and
   *     what needs consecutive turns starts again.
   *  3. In MODE_ENFORCE every turn is answered by exactly one decision of the same sequence, in
   *     order (CAUSE_TURN). In MODE_OBSERVE no turn is answered.
   *  4. The sidecar may send a decision that no turn asked for (CAUSE_OPERATOR, CAUSE_IDLE). It
   *     repeats the sequence of the last turn. Until a turn follows it, it comes again after `opened`,
   *     since nobody may have listened.
   *  5. A turn sent twice with the same content gets the same decision again (the last 256 are kept;
   *     an older one gets the rejection DUPLICATE_TOO_OLD). Sent twice with different content it
   *     ends the stream (ABORTED, SEQUENCE_CONFLICT). Sequences begin at 1: a turn with 0 gets the
   *     rejection SEQUENCE_INVALID and uses up none.
   *  6. When its run is over the agent sends `close`, then half-closes. The sidecar closes the
   *     session and ends the stream with OK.
   *  7. A half-close without `close`, or a stream that breaks, only detaches: the session stays
   *     resumable for `opened.idle_ttl`. A second stream for a session takes it over from the first.
   *     On resume the first `open`'s policy, limits and mode stand; others are INVALID_ARGUMENT
   *     (OPEN_MISMATCH). An `open` that names no policy asks for no other.
   *  8. Before the sidecar shuts down it sends `draining`. The agent half-closes, reconnects and
   *     resumes. A `heartbeat` is never answered and renews the idle time.
   * An agent that has no decision within its own timeout, or gets any error, proceeds (fails open)
   * and counts it.
   * </pre>
   */
  public static final class ConvergenceServiceFutureStub
      extends io.grpc.stub.AbstractFutureStub<ConvergenceServiceFutureStub> {
    private ConvergenceServiceFutureStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected ConvergenceServiceFutureStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new ConvergenceServiceFutureStub(channel, callOptions);
    }

    /**
     * <pre>
     * Records one turn, for callers that cannot hold a stream: hooks, shell scripts, serverless.
     * </pre>
     */
    public com.google.common.util.concurrent.ListenableFuture<io.agentsidecar.v1.RecordTurnResponse> recordTurn(
        io.agentsidecar.v1.RecordTurnRequest request) {
      return io.grpc.stub.ClientCalls.futureUnaryCall(
          getChannel().newCall(getRecordTurnMethod(), getCallOptions()), request);
    }
  }

  private static final int METHODID_RECORD_TURN = 0;
  private static final int METHODID_OBSERVE = 1;

  private static final class MethodHandlers<Req, Resp> implements
      io.grpc.stub.ServerCalls.UnaryMethod<Req, Resp>,
      io.grpc.stub.ServerCalls.ServerStreamingMethod<Req, Resp>,
      io.grpc.stub.ServerCalls.ClientStreamingMethod<Req, Resp>,
      io.grpc.stub.ServerCalls.BidiStreamingMethod<Req, Resp> {
    private final AsyncService serviceImpl;
    private final int methodId;

    MethodHandlers(AsyncService serviceImpl, int methodId) {
      this.serviceImpl = serviceImpl;
      this.methodId = methodId;
    }

    @java.lang.Override
    @java.lang.SuppressWarnings("unchecked")
    public void invoke(Req request, io.grpc.stub.StreamObserver<Resp> responseObserver) {
      switch (methodId) {
        case METHODID_RECORD_TURN:
          serviceImpl.recordTurn((io.agentsidecar.v1.RecordTurnRequest) request,
              (io.grpc.stub.StreamObserver<io.agentsidecar.v1.RecordTurnResponse>) responseObserver);
          break;
        default:
          throw new AssertionError();
      }
    }

    @java.lang.Override
    @java.lang.SuppressWarnings("unchecked")
    public io.grpc.stub.StreamObserver<Req> invoke(
        io.grpc.stub.StreamObserver<Resp> responseObserver) {
      switch (methodId) {
        case METHODID_OBSERVE:
          return (io.grpc.stub.StreamObserver<Req>) serviceImpl.observe(
              (io.grpc.stub.StreamObserver<io.agentsidecar.v1.ObserveResponse>) responseObserver);
        default:
          throw new AssertionError();
      }
    }
  }

  public static final io.grpc.ServerServiceDefinition bindService(AsyncService service) {
    return io.grpc.ServerServiceDefinition.builder(getServiceDescriptor())
        .addMethod(
          getObserveMethod(),
          io.grpc.stub.ServerCalls.asyncBidiStreamingCall(
            new MethodHandlers<
              io.agentsidecar.v1.ObserveRequest,
              io.agentsidecar.v1.ObserveResponse>(
                service, METHODID_OBSERVE)))
        .addMethod(
          getRecordTurnMethod(),
          io.grpc.stub.ServerCalls.asyncUnaryCall(
            new MethodHandlers<
              io.agentsidecar.v1.RecordTurnRequest,
              io.agentsidecar.v1.RecordTurnResponse>(
                service, METHODID_RECORD_TURN)))
        .build();
  }

  private static abstract class ConvergenceServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoFileDescriptorSupplier, io.grpc.protobuf.ProtoServiceDescriptorSupplier {
    ConvergenceServiceBaseDescriptorSupplier() {}

    @java.lang.Override
    public com.google.protobuf.Descriptors.FileDescriptor getFileDescriptor() {
      return io.agentsidecar.v1.ConvergenceServiceOuterClass.getDescriptor();
    }

    @java.lang.Override
    public com.google.protobuf.Descriptors.ServiceDescriptor getServiceDescriptor() {
      return getFileDescriptor().findServiceByName("ConvergenceService");
    }
  }

  private static final class ConvergenceServiceFileDescriptorSupplier
      extends ConvergenceServiceBaseDescriptorSupplier {
    ConvergenceServiceFileDescriptorSupplier() {}
  }

  private static final class ConvergenceServiceMethodDescriptorSupplier
      extends ConvergenceServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoMethodDescriptorSupplier {
    private final java.lang.String methodName;

    ConvergenceServiceMethodDescriptorSupplier(java.lang.String methodName) {
      this.methodName = methodName;
    }

    @java.lang.Override
    public com.google.protobuf.Descriptors.MethodDescriptor getMethodDescriptor() {
      return getServiceDescriptor().findMethodByName(methodName);
    }
  }

  private static volatile io.grpc.ServiceDescriptor serviceDescriptor;

  public static io.grpc.ServiceDescriptor getServiceDescriptor() {
    io.grpc.ServiceDescriptor result = serviceDescriptor;
    if (result == null) {
      synchronized (ConvergenceServiceGrpc.class) {
        result = serviceDescriptor;
        if (result == null) {
          serviceDescriptor = result = io.grpc.ServiceDescriptor.newBuilder(SERVICE_NAME)
              .setSchemaDescriptor(new ConvergenceServiceFileDescriptorSupplier())
              .addMethod(getObserveMethod())
              .addMethod(getRecordTurnMethod())
              .build();
        }
      }
    }
    return result;
  }
}
