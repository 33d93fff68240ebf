package io.agentsidecar.client;

import io.agentsidecar.v1.ObserveRequest;
import io.agentsidecar.v1.ObserveResponse;
import io.grpc.ClientCall;

/** One stream, as the exchange has it; its call is null until it is dialled. */
final class Stream {
  ClientCall<ObserveRequest, ObserveResponse> call;
  int firstAvailable, held, next;
  double receivedAt, sentAt;
  boolean decided, draining;
}
