"""Special functions under the names of torch.special."""

from . import digamma as digamma
from . import erf as erf
from . import erfc as erfc
from . import erfinv as erfinv
from . import exp2 as exp2
from . import sigmoid as expit
from . import expm1 as expm1
from . import lgamma as gammaln
from . import log1p as log1p
from . import log_softmax as log_softmax
from . import logit as logit
from . import logsumexp as logsumexp
from . import digamma as psi
from . import round as round
from . import sinc as sinc
from . import softmax as softmax
from . import xlogy as xlogy
