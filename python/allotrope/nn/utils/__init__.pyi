from . import parametrizations as parametrizations
from . import parametrize as parametrize
from . import prune as prune
from . import rnn as rnn
from . import stateless as stateless
from .clip_grad import *
from .convert_parameters import *
from .fusion import *
from .parametrizations import remove_spectral_norm as remove_spectral_norm
from .parametrizations import remove_weight_norm as remove_weight_norm
from .parametrizations import spectral_norm as spectral_norm
from .parametrizations import weight_norm as weight_norm
from .stateless import *
