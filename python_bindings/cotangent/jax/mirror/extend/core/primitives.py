"""``jax.extend.core.primitives``: the operations that programs are searched for."""

from __future__ import annotations

from cotangent.jax.internals.jaxprs import built_in, built_ins_named_in

__all__ = [
    "built_in",
    "call_p",
    "closed_call_p",
    "cond_p",
    "core_call_p",
    "custom_jvp_call_p",
    "custom_vjp_call_p",
    "jit_p",
    "pjit_p",
    "scan_p",
    "stop_gradient_p",
    "while_p",
]


# Calls of jitted functions, in programs that `make_jaxpr` shows.
jit_p = pjit_p = built_in("jit")
call_p, closed_call_p, core_call_p = built_in("call"), built_in("closed_call"), built_in("core_call")
custom_jvp_call_p, custom_vjp_call_p = built_in("custom_jvp_call"), built_in("custom_vjp_call")
cond_p, while_p, scan_p = built_in("cond"), built_in("while"), built_in("scan")
stop_gradient_p = built_in("stop_gradient")

_OTHERS = built_ins_named_in("jax.extend.core.primitives", besides=__all__)
globals().update(_OTHERS)
__all__ += list(_OTHERS)
