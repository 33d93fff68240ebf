"""The descriptors that reflection looks in, methods of services among them.

Tools may ask for `<package>.<service>.<method>` (grpc/reflection/v1alpha/reflection.proto,
file_containing_symbol), and grpcio-reflection 1.85 hands that to
`DescriptorPool.FindFileContainingSymbol`, which knows no methods in protobuf 7.36. Without the look
for methods here, `grpcurl describe SERVICE.METHOD` finds nothing.
"""

from typing import Any

from google.protobuf.descriptor_pool import DescriptorPool


class Symbols:
    """What grpcio-reflection asks of a descriptor pool. Each raises KeyError for what is not
    there."""

    def __init__(self, pool: DescriptorPool) -> None:
        self._pool: Any = pool

    def FindFileByName(self, file_name: str) -> Any:  # noqa: N802 - the names are the pool's
        """The file."""
        return self._pool.FindFileByName(file_name)

    def FindFileContainingSymbol(self, symbol: str) -> Any:  # noqa: N802
        """The file that a message, enum, field, service or method of that full name is in."""
        try:
            return self._pool.FindFileContainingSymbol(symbol)
        except KeyError:
            return self._pool.FindMethodByName(symbol).containing_service.file

    def FindMessageTypeByName(self, full_name: str) -> Any:  # noqa: N802
        """The message."""
        return self._pool.FindMessageTypeByName(full_name)

    def FindExtensionByNumber(self, message: Any, number: int) -> Any:  # noqa: N802
        """The extension of a message."""
        return self._pool.FindExtensionByNumber(message, number)

    def FindAllExtensions(self, message: Any) -> Any:  # noqa: N802
        """All of a message's."""
        return self._pool.FindAllExtensions(message)
