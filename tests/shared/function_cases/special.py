"""``ct.scipy.special`` against SciPy. `test_scipy_special.py` has the whole range of the arguments."""

from __future__ import annotations

import numpy as np
import scipy.special as theirs

from function_cases import Family, draw

special = Family("jax.scipy.special")
X = draw(2, 3)
POSITIVE = draw(2, 3, domain=(0.4, 3.0))
UNIT = draw(2, 3, domain=(0.1, 0.9))
SHORT = ("float32", "float64", "float16", "bfloat16")

for name in ["erf", "erfc", "expit", "log_ndtr", "ndtr", "i0", "i0e", "i1", "i1e", "dawsn", "erfcx", "sici", "fresnel"]:
    special.elements(name, POSITIVE if name == "sici" else X, dtypes=SHORT, oracle=getattr(theirs, name), tolerance=16)
for name in ["j0", "j1", "rgamma"]:
    special.elements(name, X, dtypes=SHORT, oracle=getattr(theirs, name), tolerance=16)
for name in ["y0", "y1", "erfcinv"]:
    special.elements(name, UNIT, dtypes=SHORT, oracle=getattr(theirs, name), tolerance=32)
for name in ["iv", "ive"]:
    special.elements(
        name, POSITIVE, POSITIVE, dtypes=("float32", "float64"), oracle=getattr(theirs, name), tolerance=64
    )
for name in ["jn", "jv", "yn"]:
    special.record(
        name, 2, draw(3, domain=(0.4, 3)), dtypes=("float32", "float64"), oracle=getattr(theirs, name), tolerance=32
    )
for name in ["digamma", "entr", "exp1", "expi", "gamma", "gammaln", "spence", "loggamma"]:
    special.elements(name, POSITIVE, dtypes=SHORT, oracle=getattr(theirs, name), tolerance=16)
for name in ["ndtri", "logit"]:
    special.elements(name, UNIT, dtypes=SHORT, oracle=getattr(theirs, name), tolerance=16)
special.elements("erfinv", draw(2, 3, domain=(-0.9, 0.9)), dtypes=SHORT, oracle=theirs.erfinv, tolerance=16)
special.elements("gammasgn", X, dtypes=SHORT, oracle=theirs.gammasgn)
special.elements(
    "factorial", draw(2, 3, integers=(0, 5)), dtypes=("int32", "int8"), oracle=lambda n: theirs.gamma(n + 1), loose=True
)
for name in [
    "beta",
    "betaln",
    "gammainc",
    "gammaincc",
    "kl_div",
    "rel_entr",
    "xlogy",
    "xlog1py",
    "boxcox",
    "boxcox1p",
    "poch",
    "owens_t",
]:
    special.elements(
        name, POSITIVE, POSITIVE, dtypes=("float32", "float64", "bfloat16"), oracle=getattr(theirs, name), tolerance=32
    )
special.elements(
    "comb", draw(2, 3, domain=(3, 6)), POSITIVE, dtypes=("float32", "float64"), oracle=theirs.comb, tolerance=32
)
special.elements(
    "zeta", draw(2, 3, domain=(1.5, 4)), POSITIVE, dtypes=("float32", "float64"), oracle=theirs.zeta, tolerance=32
)
special.elements(
    "betainc", POSITIVE, POSITIVE, UNIT, dtypes=("float32", "float64"), oracle=theirs.betainc, tolerance=32
)
special.elements("polygamma", 1, POSITIVE, dtypes=("float32", "float64"), oracle=theirs.polygamma, tolerance=32)
special.elements("expn", 2, POSITIVE, dtypes=("float32", "float64"), oracle=theirs.expn, tolerance=32)
special.elements(
    "multigammaln",
    draw(2, 3, domain=(2, 5)),
    2,
    dtypes=("float32", "float64"),
    oracle=theirs.multigammaln,
    tolerance=32,
    shapes=((),),
)
special.elements("hyp1f1", POSITIVE, POSITIVE, X, dtypes=("float32", "float64"), oracle=theirs.hyp1f1, tolerance=64)
special.elements(
    "hyp2f1", POSITIVE, POSITIVE, POSITIVE, UNIT, dtypes=("float32", "float64"), oracle=theirs.hyp2f1, tolerance=128
)
special.elements("wofz", X, dtypes=("complex64", "complex128"), oracle=theirs.wofz, tolerance=16)
special.record(
    "bessel_jn",
    draw(3, domain=(0.4, 3)),
    v=2,
    dtypes=("float32", "float64"),
    oracle=lambda z: np.stack([theirs.jv(k, z) for k in range(3)]),
    tolerance=32,
)
special.record(
    "sph_harm_y", np.array([2]), np.array([1]), draw(1, domain=(0.4, 2)), draw(1, domain=(0.4, 2)), n_max=2,
    oracle=lambda n, m, t, p: theirs.sph_harm_y(n, m, t, p), tolerance=16, ragged=(), loose=True,
)  # fmt: skip
special.record(
    "softmax log_softmax",
    draw(3, 4),
    axis=1,
    oracle=lambda x: (theirs.softmax(x, 1), theirs.log_softmax(x, 1)),
    tolerance=8,
)
special.record("logsumexp", draw(3, 4), axis=0, oracle=lambda x: theirs.logsumexp(x, 0), tolerance=8)
special.record("bernoulli", 6, oracle=theirs.bernoulli, tolerance=8)
