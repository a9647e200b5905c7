
class LinAlgError(ValueError, RuntimeError): ...

{{functions}}
from ._ldl import ldl_factor as ldl_factor
from ._ldl import ldl_factor_ex as ldl_factor_ex
from ._ldl import ldl_solve as ldl_solve
