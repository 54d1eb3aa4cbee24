"""Special functions, one family a module; each promotes its arguments and takes float arrays of any precision.

They are programs of one element (`_elementwise.Elementwise`) with exact derivatives: `error` (error functions), `gammas` (gamma,
its logarithm and derivatives, Hurwitz' zeta), `incomplete` (incomplete gamma and beta), `bessel`.
"""

from cotangent._special.bessel import *
from cotangent._special.error import *
from cotangent._special.gammas import *
from cotangent._special.incomplete import *
