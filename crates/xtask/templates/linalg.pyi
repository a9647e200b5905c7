
class LinAlgError(ValueError, RuntimeError): ...

{{functions}}
