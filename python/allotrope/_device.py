"""The class `device`: what a tensor says of where it is."""

from . import _core


class device(str):
    """A device by its name, which it equals: it is accepted wherever a name is.

    >>> al.zeros(1).device
    device(type='cpu')
    >>> al.device("cuda", 1).index
    1
    """

    __slots__ = ()
    __module__ = "allotrope"

    def __new__(cls, type: str, index: int | None = None) -> "device":
        name = str(type) if index is None else f"{type}:{index}"
        _core._check_device_name(name)
        return super().__new__(cls, name)

    @property
    def type(self) -> str:
        """The kind of device.

        >>> al.device("gpu", 1).type
        'gpu'
        """
        return str(self).partition(":")[0]

    @property
    def index(self) -> int | None:
        """The number among devices of a kind, if it was given.

        >>> al.device("gpu", 1).index, al.device("cpu").index
        (1, None)
        """
        number = self.partition(":")[2]
        return int(number) if number else None

    def __repr__(self) -> str:
        index = "" if self.index is None else f", index={self.index}"
        return f"device(type='{self.type}'{index})"
