"""Special functions, one family a module; each promotes its arguments and takes float arrays of any precision.

They are programs of one element (`_elementwise.Elementwise`) with exact derivatives: `_special_error` (error functions),
`_special_gamma` (gamma, its logarithm and derivatives, Hurwitz' zeta), `_special_incomplete` (incomplete gamma and beta),
`_special_bessel`.
"""

from cotangent._special_bessel import *
from cotangent._special_error import *
from cotangent._special_gamma import *
from cotangent._special_incomplete import *
