from . import functional as functional
from . import init as init
from . import parameter as parameter
from .activation import *
from .container import *
from .conv import *
from .dropout import *
from .embedding import *
from .linear import *
from .loss import *
from .module import Module as Module
from .normalization import *
from .padding import *
from .parameter import *
from .pooling import *
from .report import *
from .shape import *
from .upsampling import *
