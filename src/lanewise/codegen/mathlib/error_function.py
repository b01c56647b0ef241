"""The error function and its relatives.

**erf** is ``x P(x**2)`` up to 1, and ``1 - exp(-Q(x))`` beyond, where ``Q = -log(erfc(x))`` is
nearly a parabola: its error is multiplied by erfc, which is small.

**erfc** is ``exp(-x**2) R(x) / (x + 4)``, with the square as a sum of two floats, and R a
polynomial in ``(x - 4) / (x + 4)`` (M. Shepherd and J. Laframboise, Chebyshev approximation of
(1 + 2x) exp(x**2) erfc x, Mathematics of Computation 36, 1981).

**erfinv** is x times a function of ``-log(1 - x**2)`` (M. Giles, Approximating the erfinv function,
GPU Computing Gems, 2011).

The polynomials are minimax ones, by `tests/support/minimax.py`.
"""

from __future__ import annotations

from collections.abc import Callable

from lanewise.codegen.mathlib.arithmetic import in_pairs, of_kinds, side_by_side
from lanewise.codegen.mathlib.exponential import clamp, exp, exp_of_sum, log
from lanewise.codegen.vector import Vec, select

# erf(x) / x - 1 for abs(x) < 1, in powers of x**2: to 2**-56.7 and 2**-29.3 of erf(x) / x.
_ERF = of_kinds(
    (0.12837916709551256, 0.12837916612625122),
    (-0.3761263890318346, -0.3761262595653534),
    (0.11283791670942668, 0.1128358319401741),
    (-0.02686617064293327, -0.026853691786527634),
    (0.00522397760495093, 0.005188073962926865),
    (-0.000854832588245781, -0.0008007878204807639),
    (0.00012055292366906808, 7.846108201192692e-05),
    (-1.492469178941684e-05,),
    (1.644690456999638e-06,),
    (-1.6204734801583365e-07,),
    (1.3704714715940911e-08,),
    (-7.768650088076284e-10,),
)
# -log(erfc(x)) from 1 to _END: such that erf is good to 2**-57 and 2**-29.8.
_MINUS_LOG_ERFC = of_kinds(
    (5.143720996557043e-07, 0.00035289378138259053),
    (1.128373981225283, 1.12704336643219),
    (0.6366441001363857, 0.6382200717926025),
    (0.10270217089367656, 0.10304242372512817),
    (-0.018987826045616312, -0.021807895973324776),
    (-0.0004138228365939706, 0.002940310398116708),
    (0.0019192320641905805, -0.00018565382924862206),
    (-0.0007732639010840255,),
    (0.00013668683540362587,),
    (1.946144588610553e-05,),
    (-2.2510343805023435e-05,),
    (8.572369557818407e-06,),
    (-2.113405429434161e-06,),
    (3.6933936087965817e-07,),
    (-4.590696241264817e-08,),
    (3.887972961285539e-09,),
    (-2.019407883344773e-10,),
    (4.863248235397371e-12,),
)
#: From here on erf is 1.
_END = {"f64": 6.0, "f32": 4.0}
# (x + 4) exp(x**2) erfc(x) in powers of (x - 4) / (x + 4), from _STEEP to _NOTHING: to 2**-54.0 and
# 2**-32.0 of it. It is nearly even, from 2.3 to 0.6, so that its terms do not cancel.
_ERFCX = of_kinds(
    (1.095995661000491, 1.0959956612151889),
    (-0.9765487290808817, -0.9765487319487948),
    (0.7732087022652379, 0.7732086604173027),
    (-0.5408538313133008, -0.5408536359036383),
    (0.3308515878783009, 0.3308529981025435),
    (-0.17401093723704983, -0.1740140523277798),
    (0.07638151489795617, 0.07636345448742743),
    (-0.02637005339134607, -0.026356517520096802),
    (0.006112055832159845, 0.006212908581874916),
    (-0.0002809584001438838, -0.00025948961814881903),
    (-0.00045505413506029567, -0.000661319786028609),
    (0.00017681039009702858,),
    (-3.6281759455555174e-06,),
    (-1.885335550429418e-05,),
    (4.673938590272063e-06,),
    (1.4104896776525311e-06,),
    (-8.102560901386266e-07,),
    (-6.207069265733478e-08,),
    (8.89824099878005e-08,),
    (-4.539766033468093e-09,),
)
#: From here on erfc is small enough to be computed by itself.
_STEEP = 0.65
#: From here on erfc is 0.
_NOTHING = {"f64": 27.3, "f32": 10.1}
# erfinv(x) / x: in powers of w - 3.125 for w = -log(1 - x**2) up to 6.25, then of sqrt(w) - 3.25 up
# to sqrt(w) = 4, then of sqrt(w) - 5 to the end: to 2**-54 of it.
_ERFINV, _ERFINV_MIDDLE, _ERFINV_END = side_by_side(
    (1.6536545626831027, 3.0838856104922208, 4.849906401408584),
    (0.24015818242558826, 1.0052589676941655, 1.010300464864545),
    (-0.006033670871427698, 0.005370914553553952, -0.0001387193183813942),
    (-0.0007407025341538795, -0.003751208508243188, -0.0002150301198230533),
    (0.00018673420802411787, 0.002491442097592719, 7.599527805704906e-05),
    (-1.3882523395982166e-05, -0.0016882755346894977, -1.968177071116645e-05),
    (-1.3654691842770875e-06, 0.0009532893545319501, 4.526053284680927e-06),
    (4.2347881930440965e-07, -0.000355037826190751, -9.930295047654393e-07),
    (-2.9070382874856902e-08, 2.4031330892406436e-05, 2.2904787437906897e-07),
    (-4.1126621290891165e-09, 6.828722142310283e-05, -6.755542596546085e-08),
    (1.0512184372078327e-09, -4.731932856760397e-05, 2.9034832414169966e-08),
    (-5.414232798746774e-11, 1.2464529578620481e-05, -1.525695053277771e-08),
    (-1.2976967970808653e-11, 2.926693417248591e-06, 7.791848350344724e-09),
    (2.6303382153643e-12, -3.984284123891613e-06, -3.4690334427312718e-09),
    (-8.116849748701496e-14, 1.4971162538504037e-06, 1.3466605975560336e-09),
    (-3.9986942310344365e-14, -3.0002285232842655e-08, -4.3895057751309154e-10),
    (6.594529595975855e-15, -2.699036634551276e-07, 5.271111528050034e-11),
    (-4.3186795402811745e-17, 1.3375984691077914e-07, 4.320016902026788e-11),
    (-1.3002757942071043e-16, 1.5040042820055954e-10, -1.6572191328267468e-11),
    (1.5782649377614465e-17, -1.6135116912725824e-08),
    (1.1439690981307455e-18,),
    (-3.584792177256503e-19,),
    (-1.0016621948121902e-21,),
    (3.392184194482769e-21,),
)
# The same further on, for erfcinv: in powers of sqrt(w) - 9 from sqrt(w) = 6 to 12.5, and then of
# sqrt(w) - 20 to 27.4.
_ERFCINV_TAIL, _ERFCINV_END = side_by_side(
    (8.884270510145466, 19.92805556415854),
    (1.0067273648820416, 1.0023513642399915),
    (-0.0004089375548163693, -8.65215818376782e-05),
    (2.055535377286597e-05, 3.293898582587315e-06),
    (-2.3678757968479996e-07, -1.26069939861729e-07),
    (-1.5185738710749437e-07, 4.761392002095739e-09),
    (3.283935554081701e-08, -1.739411245586432e-10),
    (-5.098585541114323e-09, 5.955282789817033e-12),
    (6.983716085542563e-10, -1.7820811507251149e-13),
    (-8.94957567501801e-11, 3.619296736175986e-15),
    (1.0998663393229254e-11, 5.670783181588216e-17),
    (-1.311629762679131e-12, -1.3532768535104785e-17),
    (1.5278123864357822e-13, 1.1260004357458922e-18),
    (-1.7639858263796022e-14, -7.784780198258782e-20),
    (2.0324630663996685e-15, 5.7546229244771956e-21),
    (-2.1423607344157848e-16, -3.4478870155971164e-22),
    (2.001789380791203e-17, 6.887714672490437e-24),
    (-2.836195550682749e-18, -3.2884243228509997e-25),
    (4.847954538025496e-19, 1.2291195312506958e-25),
    (-3.689659773078516e-20, -6.894306931651215e-27),
)
#: sqrt(1/2), and what its float leaves out.
_ROOT_HALF = (0.7071067811865476, -4.833646656726457e-17)


def erf(x: Vec) -> Vec:
    """Return the error function, within 1.1 ULP (1 ULP in single precision).

    >>> import numpy as np
    >>> from support.driver import compile_elementwise
    >>> compile_elementwise(erf, (float,))(np.array([-np.inf, 0.0, 0.5]))
    array([-1.        ,  0.        ,  0.52049988])
    """
    size = x.abs()
    end = _END[x.kind]
    near = size.fma(in_pairs(size * size, _ERF[x.kind]), size)
    limited = select(size > end, end, size)
    if x.kind == "f32":
        far = 1.0 - exp(-in_pairs(limited, _MINUS_LOG_ERFC[x.kind]))
    else:  # the exponent with what its last rounding leaves
        first, *others = _MINUS_LOG_ERFC[x.kind]
        slope = in_pairs(limited, others)
        exponent = limited.fma(slope, first)
        far = 1.0 - exp_of_sum(-exponent, limited.fma(-slope, exponent - first))
    return select(size > 1.0, far, near).copysign(x)


def erfc(x: Vec) -> Vec:
    """Return 1 - erf(x), within 4 ULP (1 ULP in single precision), however small it is."""
    return _erfc(x.to("f64"), None, x.kind).to(x.kind)


def ndtr(x: Vec) -> Vec:
    """Return the normal distribution's cumulative one, within 4 ULP (1 ULP in single precision)."""
    wide = clamp(-x.to("f64"), -50.0, 50.0)
    high, low = _ROOT_HALF
    scaled = wide * high
    rest = wide.fma(low, wide.fma(high, -scaled))
    return (0.5 * _erfc(scaled, rest, x.kind)).to(x.kind)


def _erfc(x: Vec, low: Vec | None, kind: str) -> Vec:
    """Return erfc(x + low); `low` must not be more than rounding x may leave."""
    size = x.abs()
    near = 1.0 - x.fma(in_pairs(x * x, _ERF[kind]), x)
    limited = clamp(size, _STEEP, _NOTHING[kind])
    square = limited * limited
    rest = limited.fma(limited, -square)
    below = limited + 4.0
    inverse = 1.0 / below
    if low is not None:
        # The derivatives of the square and of the logarithm of exp(x**2) erfc(x), which is roughly
        # this polynomial; it is all that a last bit needs.
        slope = inverse * inverse.fma(inverse.fma(50.0, 1.1), 1.0)
        rest = (limited + limited + slope).fma(select(x < 0.0, -low, low), rest)
    power = exp_of_sum(-square, -rest)
    t = inverse.fma(-8.0, 1.0)  # (x - 4) / (x + 4)
    if kind == "f32":
        value = in_pairs(t, _ERFCX[kind]) * power * inverse
    else:
        lost = inverse.fma(-below, 1.0) - inverse * (limited - (below - 4.0))
        value = _product(inverse, lost, (inverse * -8.0).fma(lost, t), power)
    return select(size < _STEEP, near, select(x < 0.0, 2.0 - value, value))


def _product(inverse: Vec, lost: Vec, t: Vec, power: Vec) -> Vec:
    """Return ``_ERFCX(t) * inverse * (1 + lost) * power``, with what rounding the first leaves."""
    first, second, *others = _ERFCX["f64"]
    inner = in_pairs(t, others)
    slope = t.fma(inner, second)
    slope_low = t.fma(inner, second - slope)
    value = t.fma(slope, first)
    low = t.fma(slope_low, t.fma(slope, first - value))
    factor = inverse * power
    return value.fma(factor, value.fma(lost, low) * factor)


def erfinv(x: Vec) -> Vec:
    """Return the inverse of erf, within 3 ULP (1 ULP in single precision)."""
    wide = x.to("f64") + 0.0  # SciPy's has no negative zero
    size = wide.abs()
    return _inverse(wide, (1.0 - size) * (1.0 + size), "erfinv", _erfinv_far).to(x.kind)


def _inverse(x: Vec, rest: Vec, name: str, far: Callable[[Vec], Vec]) -> Vec:
    """Return the inverse of erf, where `rest` is ``1 - x**2``; code out of line if it is small."""
    w = -log(rest)
    usual = x * in_pairs(w - 3.125, _ERFINV)
    value = x.e.patched(usual, w > 6.25, lambda: x * x.e.call(f"{name}.far", far, w))
    return select(rest.eq(0.0), x * float("inf"), value)


def _erfinv_far(w: Vec) -> Vec:
    root = w.sqrt()
    middle, end = in_pairs(root - 3.25, _ERFINV_MIDDLE), in_pairs(root - 5.0, _ERFINV_END)
    return select(root < 4.0, middle, end)


def erfcinv(y: Vec) -> Vec:
    """Return the inverse of erfc, within 3 ULP (1 ULP in single precision), however small y is."""
    return (-_minus_erfcinv(y.to("f64"))).to(y.kind)


def ndtri(p: Vec) -> Vec:
    """Return the inverse of ndtr, within 3 ULP (1 ULP in single precision), however small p is."""
    wide = p.to("f64")
    return (2.0**0.5 * _minus_erfcinv(wide + wide)).to(p.kind)


def _minus_erfcinv(y: Vec) -> Vec:
    """Return ``erfinv(y - 1)``, with ``1 - (1 - y)**2 = y (2 - y)``; at 1 it is 0, as SciPy's."""
    return _inverse(y - 1.0, y * (2.0 - y), "erfcinv", _erfcinv_far)


def _erfcinv_far(w: Vec) -> Vec:
    root = w.sqrt()
    tail, end = in_pairs(root - 9.0, _ERFCINV_TAIL), in_pairs(root - 20.0, _ERFCINV_END)
    return select(root < 6.0, _erfinv_far(w), select(root < 12.5, tail, end))
