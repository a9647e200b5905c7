from . import attention as attention
from . import functional as functional
from . import hooks as hooks
from . import init as init
from . import parameter as parameter
from . import serialization as serialization
from . import utils as utils
from .activation import *
from .adaptive import *
from .attention import *
from .container import *
from .conv import *
from .dropout import *
from .embedding import *
from .lazy import *
from .linear import *
from .loss import *
from .margin import *
from .module import Module as Module
from .normalization import *
from .padding import *
from .parameter import *
from .pooling import *
from .report import *
from .rnn import *
from .shape import *
from .transformer import *
from .upsampling import *
