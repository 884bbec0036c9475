"""Instructions as LLVM text on lanes: 8 samples or simulations side by side in one vector register, or a single one.

Every value is a vector of doubles and every operation one packed instruction, by construction rather than by the good will of a
loop vectoriser.  Multiply-adds are fused explicitly, so that lane counts, batches and machines with FMA agree bit for bit.  sin, cos,
exp, log are written out without branches (Cody-Waite reduction, fdlibm polynomials).
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from inertica.dynamics.llvm.native import has_fma

MAGIC = 6755399441055744.0  # 1.5 * 2^52: adding it rounds to a whole number held in the low bits
_SIN = (-1.66666666666666324348e-01, 8.33333333332248946124e-03, -1.98412698298579493134e-04, 2.75573137070700676789e-06,
        -2.50507602534068634195e-08, 1.58969099521155010221e-10)  # fmt: skip
_COS = (4.16666666666666019037e-02, -1.38888888888741095749e-03, 2.48015872894767294178e-05, -2.75573143513906633035e-07,
        2.08757232129817482790e-09, -1.13596475577881948265e-11)  # fmt: skip
_HALF_PI = (1.57079632673412561417e00, 6.07710050630396597660e-11, 2.02226624879595063154e-21)
_LN2 = (6.93147180369123816490e-01, 1.90821492927058770002e-10)
_LOG = (6.666666666666735130e-01, 3.999999999940941908e-01, 2.857142874366239149e-01, 2.222219843214978396e-01,
        1.818357216161805012e-01, 1.531383769920937332e-01, 1.479819860511658591e-01)  # fmt: skip


class Lanes:
    """Text of one function body, one line per operation.

    Args:
        count: lanes per vector; 1 gives plain doubles.
    """

    def __init__(self, count: int) -> None:
        self.count, self.fused = count, has_fma()
        self.real = f"<{count} x double>" if count > 1 else "double"
        self.whole = f"<{count} x i64>" if count > 1 else "i64"
        self.bit = f"<{count} x i1>" if count > 1 else "i1"
        self.lines: list[str] = []
        self._sincos: dict[str, tuple[str, str]] = {}

    def put(self, text: str) -> str:
        name = f"%x{len(self.lines)}"
        self.lines.append(f"  {name} = {text}")
        return name

    def constant(self, value: float) -> str:
        word = f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"
        return self._splat("double", word)

    def integer(self, value: int) -> str:
        return self._splat("i64", str(value - (1 << 64) if value >> 63 else value))

    def spread(self, scalar: str, kind: str) -> str:
        """A scalar value (double or i64) in every lane."""
        if self.count == 1:
            return scalar
        first = self.put(f"insertelement <{self.count} x {kind}> undef, {kind} {scalar}, i32 0")
        mask = f"<{self.count} x i32> zeroinitializer"
        return self.put(f"shufflevector <{self.count} x {kind}> {first}, <{self.count} x {kind}> undef, {mask}")

    def load(self, offset: int, base: str = "%at") -> str:
        address = self.put(f"getelementptr double, ptr {base}, i64 {offset}")
        return self.put(f"load {self.real}, ptr {address}, align 8")

    def load_shared(self, offset: int, base: str) -> str:
        """One number in every lane."""
        address = self.put(f"getelementptr double, ptr {base}, i64 {offset}")
        return self.spread(self.put(f"load double, ptr {address}, align 8"), "double")

    def store(self, value: str, offset: int, base: str = "%at") -> None:
        address = self.put(f"getelementptr double, ptr {base}, i64 {offset}")
        self.lines.append(f"  store {self.real} {value}, ptr {address}, align 8")

    def add(self, a: str, b: str) -> str:
        return self.put(f"fadd {self.real} {a}, {b}")

    def sub(self, a: str, b: str) -> str:
        return self.put(f"fsub {self.real} {a}, {b}")

    def mul(self, a: str, b: str) -> str:
        return self.put(f"fmul {self.real} {a}, {b}")

    def div(self, a: str, b: str) -> str:
        return self.put(f"fdiv {self.real} {a}, {b}")

    def neg(self, a: str) -> str:
        return self.put(f"fneg {self.real} {a}")

    def fma(self, a: str, b: str, c: str) -> str:
        """a b + c"""
        if not self.fused:
            return self.add(self.mul(a, b), c)
        return self._call("llvm.fma", a, b, c)

    def fnma(self, a: str, b: str, c: str) -> str:
        """c - a b"""
        return self.fma(self.neg(a), b, c) if self.fused else self.sub(c, self.mul(a, b))

    def absolute(self, a: str) -> str:
        return self._call("llvm.fabs", a)

    def sqrt(self, a: str) -> str:
        return self._call("llvm.sqrt", a)

    def minimum(self, a: str, b: str) -> str:
        return self.select(self.compare("olt", b, a), b, a)  # a NaN in the first place stays

    def maximum(self, a: str, b: str) -> str:
        return self.select(self.compare("ogt", b, a), b, a)

    def sign(self, a: str) -> str:
        one, zero = self.constant(1.0), self.constant(0.0)
        up, down = self.compare("ogt", a, zero), self.compare("olt", a, zero)
        return self.sub(self.select(up, one, zero), self.select(down, one, zero))

    def sin(self, x: str) -> str:
        return self._sine_and_cosine(x)[0]

    def cos(self, x: str) -> str:
        return self._sine_and_cosine(x)[1]

    def exp(self, x: str) -> str:
        """Accurate to about one unit in the last place for |x| < 708, clamped outside."""
        x = self.minimum(self.maximum(x, self.constant(-708.0)), self.constant(709.0))
        # 1 / ln 2: k is the nearest whole number of x / ln 2, so that |r| <= ln 2 / 2
        shifted = self.fma(x, self.constant(1.4426950408889634), self.constant(MAGIC))
        k = self.sub(shifted, self.constant(MAGIC))
        # ln 2 in two parts (Cody and Waite): k times the first is exact, so that r keeps its digits
        r = self.fnma(k, self.constant(_LN2[1]), self.fnma(k, self.constant(_LN2[0]), x))
        inverse_factorials = [1.0]
        for i in range(1, 14):
            inverse_factorials.append(inverse_factorials[-1] / i)
        scaled = self.polynomial(r, inverse_factorials)
        # times 2^k by adding k to the exponent bits
        exponent = self.put(f"shl {self.whole} {self.bits(shifted)}, {self.integer(52)}")
        return self.real_of(self.put(f"add {self.whole} {self.bits(scaled)}, {exponent}"))

    def log(self, x: str) -> str:
        """Natural logarithm of normal positive numbers."""
        offset = 0x3FF0000000000000 - 0x3FE6A09E667F3BCD  # mantissas in [sqrt(1/2), sqrt(2))
        # the exponent rolls over at sqrt(2) instead of 2, so that the mantissa lies about one
        b = self.put(f"add {self.whole} {self.bits(x)}, {self.integer(offset)}")
        raw = self.put(
            f"or {self.whole} {self.put(f'lshr {self.whole} {b}, {self.integer(52)}')}, {self.integer(0x4330000000000000)}"
        )
        # the integer sits in the low bits of 2^52; subtracting it converts without an instruction for 64-bit integers
        k = self.sub(self.real_of(raw), self.constant(4503599627370496.0 + 1023.0))
        mantissa = self.put(f"and {self.whole} {b}, {self.integer(0x000FFFFFFFFFFFFF)}")
        m = self.real_of(self.put(f"add {self.whole} {mantissa}, {self.integer(0x3FE6A09E667F3BCD)}"))
        f = self.sub(m, self.constant(1.0))
        s = self.div(f, self.add(f, self.constant(2.0)))
        z = self.mul(s, s)
        r = self.mul(z, self.polynomial(z, _LOG))
        # fdlibm's order of terms: f - f^2/2 is taken last, where it cancels least
        half = self.mul(self.constant(0.5), self.mul(f, f))
        low = self.fma(s, self.add(half, r), self.mul(k, self.constant(_LN2[1])))
        return self.fma(k, self.constant(_LN2[0]), self.sub(f, self.sub(half, low)))

    def tanh(self, x: str) -> str:
        # of -2|x|, which cannot overflow
        t = self.exp(self.mul(self.constant(-2.0), self.absolute(x)))
        one = self.constant(1.0)
        return self._call("llvm.copysign", self.div(self.sub(one, t), self.add(one, t)), x)

    def polynomial(self, x: str, coefficients: Sequence[float]) -> str:
        """Horner, lowest power first."""
        total = self.constant(coefficients[-1])
        for c in reversed(coefficients[:-1]):
            total = self.fma(total, x, self.constant(c))
        return total

    def bits(self, a: str) -> str:
        return self.put(f"bitcast {self.real} {a} to {self.whole}")

    def real_of(self, a: str) -> str:
        return self.put(f"bitcast {self.whole} {a} to {self.real}")

    def compare(self, how: str, a: str, b: str) -> str:
        return self.put(f"fcmp {how} {self.real} {a}, {b}")

    def select(self, condition: str, a: str, b: str) -> str:
        return self.put(f"select {self.bit} {condition}, {self.real} {a}, {self.real} {b}")

    def quadrant(self, magic_sum: str, r: str) -> tuple[str, str]:
        """Sine and cosine of an angle from its remainder |r| <= pi/4; the low bits of a sum hold the number of quarter turns."""
        z = self.mul(r, r)
        sine = self.fma(self.mul(r, z), self.polynomial(z, _SIN), r)
        cosine = self.fma(self.mul(z, z), self.polynomial(z, _COS), self.fma(z, self.constant(-0.5), self.constant(1.0)))
        j = self.bits(magic_sum)
        odd = self.put(f"icmp ne {self.whole} {self.put(f'and {self.whole} {j}, {self.integer(1)}')}, {self.integer(0)}")
        s, c = self.select(odd, cosine, sine), self.select(odd, sine, cosine)
        # cos x = sin(x + pi / 2): the same pair, one quarter turn on
        next_j = self.put(f"add {self.whole} {j}, {self.integer(1)}")
        return self._flip(s, j), self._flip(c, next_j)

    def _flip(self, a: str, quarter: str) -> str:
        """-a in the third and fourth quarter turn."""
        half = self.put(f"and {self.whole} {quarter}, {self.integer(2)}")
        signs = self.put(f"shl {self.whole} {half}, {self.integer(62)}")
        return self.real_of(self.put(f"xor {self.whole} {self.bits(a)}, {signs}"))

    def _sine_and_cosine(self, x: str) -> tuple[str, str]:
        """For |x| < 1e5."""
        if x not in self._sincos:
            t = self.fma(x, self.constant(0.63661977236758134308), self.constant(MAGIC))
            k = self.sub(t, self.constant(MAGIC))
            r = x
            # pi / 2 in three parts: the remainder has all digits up to 1e5
            for part in _HALF_PI:
                r = self.fnma(k, self.constant(part), r)
            self._sincos[x] = self.quadrant(t, r)
        return self._sincos[x]

    def _call(self, name: str, *arguments: str) -> str:
        suffix = f"v{self.count}f64" if self.count > 1 else "f64"
        return self.put(f"call {self.real} @{name}.{suffix}({', '.join(f'{self.real} {a}' for a in arguments)})")

    def _splat(self, kind: str, word: str) -> str:
        return word if self.count == 1 else "<" + ", ".join([f"{kind} {word}"] * self.count) + ">"

    def declarations(self) -> str:
        suffix = f"v{self.count}f64" if self.count > 1 else "f64"
        arity = {"llvm.fma": 3, "llvm.fabs": 1, "llvm.sqrt": 1, "llvm.copysign": 2}
        return "\n".join(f"declare {self.real} @{n}.{suffix}({', '.join([self.real] * k)})" for n, k in arity.items())


def function(name: str, lanes: Lanes) -> str:
    """A function that runs the written body for lanes 0 .. count - 1 of the array w."""
    body = "\n".join(lanes.lines)
    return f"""
define void @{name}(ptr noalias nocapture %w, i64 %count, i64 %step, ptr %reference)
    alignstack(64) nounwind "prefer-vector-width"="512" {{
entry:
  br label %loop
loop:
  %l = phi i64 [ 0, %entry ], [ %next, %loop ]
  %at = getelementptr double, ptr %w, i64 %l
{body}
  %next = add i64 %l, {lanes.count}
  %more = icmp ult i64 %next, %count
  br i1 %more, label %loop, label %done
done:
  ret void
}}
"""
