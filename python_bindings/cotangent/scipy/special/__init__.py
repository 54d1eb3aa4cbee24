"""Special functions under their names in `scipy.special`, of real arrays unless said otherwise."""

from cotangent._base.arguments import adopt_members as _adopt_members
from cotangent._base.names import suggest_names
from cotangent._special import (
    betainc,
    digamma,
    erf,
    erfc,
    erfcinv,
    erfinv,
    gammainc,
    gammaincc,
    gammaln,
    i0,
    i0e,
    i1,
    i1e,
    ndtri,
)
from cotangent._special.exponential_integrals import exp1, expi, expn
from cotangent._special.integrals import dawsn, fresnel, sici, spence, wofz
from cotangent._special.normal import ndtr, owens_t
from cotangent._special.orders import iv, ive
from cotangent._special.series import bessel_jn, hyp1f1, hyp2f1, sph_harm_y
from cotangent._special.waves import j0, j1, jn, jv, y0, y1, yn
from cotangent.nn.normalization import logsumexp
from cotangent.scipy.special.entropies import boxcox, boxcox1p, entr, expit, kl_div, logit, rel_entr, xlog1py, xlogy
from cotangent.scipy.special.gammas import (
    bernoulli,
    beta,
    betaln,
    comb,
    factorial,
    gamma,
    gammasgn,
    loggamma,
    multigammaln,
    poch,
    polygamma,
    rgamma,
    zeta,
)
from cotangent.scipy.special.normal import erfcx, log_ndtr
from cotangent.scipy.special.softmaxes import log_softmax, softmax

psi = digamma

__all__ = [
    "bernoulli",
    "bessel_jn",
    "beta",
    "betainc",
    "betaln",
    "boxcox",
    "boxcox1p",
    "comb",
    "dawsn",
    "digamma",
    "entr",
    "erf",
    "erfc",
    "erfcinv",
    "erfcx",
    "erfinv",
    "exp1",
    "expi",
    "expit",
    "expn",
    "factorial",
    "fresnel",
    "gamma",
    "gammainc",
    "gammaincc",
    "gammaln",
    "gammasgn",
    "hyp1f1",
    "hyp2f1",
    "i0",
    "i0e",
    "i1",
    "i1e",
    "iv",
    "ive",
    "j0",
    "j1",
    "jn",
    "jv",
    "kl_div",
    "log_ndtr",
    "log_softmax",
    "loggamma",
    "logit",
    "logsumexp",
    "multigammaln",
    "ndtr",
    "ndtri",
    "owens_t",
    "poch",
    "polygamma",
    "psi",
    "rel_entr",
    "rgamma",
    "sici",
    "softmax",
    "spence",
    "sph_harm_y",
    "wofz",
    "xlog1py",
    "xlogy",
    "y0",
    "y1",
    "yn",
    "zeta",
]

_adopt_members(globals())

suggest_names(globals())
